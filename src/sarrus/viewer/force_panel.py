"""The arrows of closure and contact forces in the browser, with their scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.simulation.trajectory import Trajectory
from sarrus.viewer.force_arrows import LONGEST, Forces, forces_of, forces_of_run, metres_per_newton
from sarrus.viewer.markup import Pane
from sarrus.viewer.panel_host import PanelHost
from sarrus.viewer.readout import small_print
from sarrus.viewer.scene_nodes import ArrowNodes
from sarrus.viewer.subjects import sample


class ForcePanel:
    """Draws the forces of the state or the run that is shown."""

    def __init__(self, viewer: PanelHost, gui: Any) -> None:
        self.viewer = viewer
        self.arrows = ArrowNodes(viewer.server.scene, viewer.drawing.parts.radius)
        self.shown: Forces | None = None
        self.unit = 1.0  # metres per newton at scale one
        constrained = viewer.system.nc > 0
        with gui.add_folder("Forces", visible=constrained):
            self.wanted = gui.add_checkbox("show closure and contact forces", constrained)
            self.scale = gui.add_slider("arrow scale", min=0.1, max=5.0, step=0.1, initial_value=1.0)
            self.text = Pane(gui)
        self.wanted.on_update(lambda event: viewer.worker.post("forces", self.draw))
        self.scale.on_update(lambda event: viewer.worker.post("forces", self.draw))
        self.rescale()

    def rescale(self) -> None:
        """Choose the scale by the largest force of the first run; without runs by what is shown first."""
        self.unit = metres_per_newton(self.viewer.drawing, self.viewer.runs[0]) if self.viewer.runs else 0.0

    def show(self, q: Array, multipliers: Array, determined: np.ndarray) -> None:
        """Show the forces at a configuration."""
        viewer = self.viewer
        self.shown = forces_of(viewer.drawing.mechanism, viewer.drawing.poses(q), multipliers, determined)
        self.draw()

    def show_run(self, run: Trajectory, time: float, q: Array) -> None:
        """Show the forces of a run at the sample before a time, where its bodies are at q."""
        if self.viewer.system.nc and self.wanted.value:
            self.shown = forces_of_run(self.viewer.drawing, run, sample(run, time), q)
            self.draw()

    def draw(self) -> None:
        """Draw the forces at hand."""
        forces = self.shown
        if forces is None:
            return
        if self.unit == 0.0 and forces.largest > 0.0:
            self.unit = LONGEST * self.viewer.drawing.size / forces.largest
        scale = self.unit * float(self.scale.value)
        self.arrows.show(forces, scale if self.wanted.value else 0.0)
        if scale > 0.0:
            unsure = bool(np.abs(forces.undetermined).max(initial=0.0) > 1e-9 * max(forces.largest, 1e-300))
            text = (
                f"1 m of arrow = {1.0 / scale:.3g} N; on body 2 of the closure, on the body of the contact."
            )
            if unsure:
                text += " Grey: shares of redundant rows, of which only the sum is determined."
            if self.text.content != small_print(text):
                self.text.content = small_print(text)
