"""The arrows of closure and contact forces in the browser, with their scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.mechanism.pose import Array
from sarrus.plotting.style import FAINT, colour
from sarrus.solves import determined_rows
from sarrus.trajectory import Trajectory
from sarrus.viewer.forces import Forces, arrows, forces_of
from sarrus.viewer.parts import rgb
from sarrus.viewer.time_panel import sample

if TYPE_CHECKING:
    from sarrus.viewer.server import Viewer

_LONGEST = 0.35  # of the largest force, in sizes of the mechanism
_SAMPLES = 60  # of a run, in which the largest force is looked for
SURE, UNSURE = rgb(colour(2)), rgb(FAINT)


class ForcePanel:
    """Draws the forces of the state or the run that is shown."""

    def __init__(self, viewer: Viewer, gui: Any) -> None:
        self.viewer, self.nodes = viewer, {}
        self.shown: Forces | None = None
        self.unit = 1.0  # metres per newton at scale one
        constrained = viewer.system.nc > 0
        with gui.add_folder("Forces", visible=constrained):
            self.wanted = gui.add_checkbox("show closure and contact forces", constrained)
            self.scale = gui.add_slider("arrow scale", min=0.1, max=5.0, step=0.1, initial_value=1.0)
            self.text = gui.add_html("")
        self.wanted.on_update(lambda event: viewer.desk.post("forces", self.draw))
        self.scale.on_update(lambda event: viewer.desk.post("forces", self.draw))
        self.rescale()

    def rescale(self) -> None:
        """Choose the scale by the largest force of the first run; without runs by what is shown first."""
        largest = 0.0
        for run in self.viewer.runs[:1]:
            for k in np.linspace(0, len(run.t) - 1, _SAMPLES).astype(int):
                largest = max(largest, self._of_run(run, int(k), run.q[k]).largest)
        self.unit = _LONGEST * self.viewer.drawing.size / largest if largest > 0.0 else 0.0

    def show(self, q: Array, multipliers: Array, determined: np.ndarray) -> None:
        """Show the forces at a configuration."""
        viewer = self.viewer
        self.shown = forces_of(
            viewer.drawing.mechanism, viewer.drawing.poses(q), multipliers, determined
        )
        self.draw()

    def show_run(self, run: Trajectory, time: float, q: Array) -> None:
        """Show the forces of a run at the sample before a time, where its bodies are at q."""
        if self.viewer.system.nc and self.wanted.value:
            self.shown = self._of_run(run, sample(run, time), q)
            self.draw()

    def draw(self) -> None:
        """Draw the forces at hand."""
        forces = self.shown
        if forces is None:
            return
        if self.unit == 0.0 and forces.largest > 0.0:
            self.unit = _LONGEST * self.viewer.drawing.size / forces.largest
        scale = self.unit * float(self.scale.value)
        for name, part, shade in (
            ("determined", forces.determined, SURE),
            ("undetermined", forces.undetermined, UNSURE),
        ):
            ends = arrows(forces.points, part, scale, forces.largest)
            self._arrows(name, ends if self.wanted.value else ends[:0], shade)
        if scale > 0.0:
            unsure = bool(np.abs(forces.undetermined).max(initial=0.0) > 1e-9 * max(forces.largest, 1e-300))
            text = f"1 m of arrow = {1.0 / scale:.3g} N; on body 2 of the closure, on the body of the contact."
            if unsure:
                text += " Grey: shares of redundant rows, of which only the sum is determined."
            if self.text.content != _small(text):
                self.text.content = _small(text)

    def _arrows(self, name: str, ends: Array, shade: tuple[int, int, int]) -> None:
        node = self.nodes.get(name)
        if not len(ends):
            if node is not None:
                node.visible = False
            return
        if node is None:
            thick = 0.9 * self.viewer.drawing.parts.radius
            self.nodes[name] = self.viewer.server.scene.add_arrows(
                f"/forces/{name}",
                ends.astype(np.float32),
                shade,
                shaft_radius=0.5 * thick,
                head_radius=1.3 * thick,
                head_length=3.2 * thick,
            )
            return
        node.points, node.visible = ends.astype(np.float32), True

    def _of_run(self, run: Trajectory, k: int, q: Array) -> Forces:
        viewer = self.viewer
        jacobian = viewer.system.constraint_jacobian(run.q[k], float(run.t[k]), run.v[k])
        sure = determined_rows(jacobian, int(run.rank[k])) if viewer.system.nc else np.zeros(0, dtype=bool)
        return forces_of(viewer.drawing.mechanism, viewer.drawing.poses(q), run.multipliers[k], sure)


def _small(text: str) -> str:
    return f'<div style="font-size:0.8em;padding:0 0.7em 0.4em;color:#5b6770">{text}</div>'
