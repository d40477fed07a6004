"""Simulation from the displayed configuration: released from rest, and the motion is played."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.base.errors import SarrusError
from sarrus.motion.simulate import simulate
from sarrus.pictures.browser.panel_host import PanelHost
from sarrus.pictures.browser.style import LONGEST_DURATION, SHORTEST_DURATION
from sarrus.pictures.scene.markup import Pane
from sarrus.pictures.scene.readout import small_print

_METHODS = ("rk4", "dop853", "dopri5", "rodas5p")


class RunPanel:
    """A button, the duration, and the method of integration."""

    def __init__(self, viewer: PanelHost, gui: Any) -> None:
        self.viewer = viewer
        with gui.add_folder("Simulate"):
            self.duration = gui.add_number(
                "duration [s]", 5.0, min=SHORTEST_DURATION, max=LONGEST_DURATION, step=0.1
            )
            self.method = gui.add_dropdown("method", _METHODS, initial_value="rk4")
            self.button = gui.add_button("Simulate from here")
            self.text = Pane(gui)
        self.button.on_click(lambda event: viewer.worker.post("simulate", self.run))

    def run(self) -> None:
        """Simulate from rest, without control, and play the motion."""
        viewer = self.viewer
        viewer.pause()
        self.button.disabled = True
        self.text.content = small_print("simulating …")
        try:
            run = simulate(
                viewer.system,
                viewer.q,
                np.zeros(viewer.system.nv),
                duration=float(self.duration.value),
                method=self.method.value,
                throw=False,
            )
        except SarrusError as error:
            self.text.content = small_print(str(error))
            return
        finally:
            self.button.disabled = False
        ended = "" if run.status.ok else f"; ended with {run.status}: {run.message}"
        self.text.content = small_print(
            f"{run.duration:.4g} s in {run.wall_seconds:.2g} s, "
            f"closure residual at most {run.residual.max(initial=0.0):.1e} m or rad, "
            f"{len(run.passages)} singular passages{ended}"
        )
        viewer.set_runs([run], ["simulated from here"])
        viewer.timeline.go(viewer.timeline.start)
        viewer.timeline.set_playing(True)
