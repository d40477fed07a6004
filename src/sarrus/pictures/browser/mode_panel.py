"""Panel of vibration modes at an equilibrium, shown on the constraint manifold."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.analysis.configurations.equilibrium import equilibrium
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.linearize import linearize
from sarrus.analysis.linear.tolerances import NO_DAMPING, NO_OSCILLATION
from sarrus.analysis.linear.vibration_mode import VibrationMode
from sarrus.base.errors import SarrusError
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.pictures.browser.panel_host import PanelHost
from sarrus.pictures.browser.style import SMALLEST_AMPLITUDE, SWING_FRAMES, SWING_SECONDS
from sarrus.pictures.browser.tolerances import MODE_LEFT
from sarrus.pictures.scene.markup import Pane
from sarrus.pictures.scene.readout import small_print

_PICK = "pick a mode"


class ModePanel:
    """Lists the modes at an equilibrium; elsewhere it offers to go to the equilibrium."""

    def __init__(self, viewer: PanelHost, gui: Any) -> None:
        self.viewer = viewer
        self.playing, self.phase = False, 0.0
        self.model: LinearSystem | None = None
        self.motion: VibrationMode | None = None
        self._showing = False
        with gui.add_folder("Modes", expand_by_default=False):
            self.stable = gui.add_checkbox("a stable one", True)
            self.rest = gui.add_button("Go to equilibrium")
            self.find = gui.add_button("Find modes here")
            self.choice = gui.add_dropdown("mode", (_PICK,), initial_value=_PICK, visible=False)
            self.amplitude = gui.add_slider(
                "amplitude [rad, m]",
                min=SMALLEST_AMPLITUDE,
                max=1.0,
                step=SMALLEST_AMPLITUDE,
                initial_value=0.2,
                visible=False,
            )
            self.text = Pane(gui)
        post = viewer.worker.post
        self.rest.on_click(lambda event: post("rest", self.go_to_rest))
        self.find.on_click(lambda event: post("modes", self.find_modes))
        for element in (self.choice, self.amplitude):
            element.on_update(lambda event: post("mode", self.start) if event.client_id is not None else None)

    def go_to_rest(self) -> None:
        """Show the equilibrium near the present configuration, or a stable one, and its modes."""
        try:
            found = equilibrium(
                self.viewer.system, self.viewer.q, stable=bool(self.stable.value), contacts=False
            )
        except SarrusError as error:
            self.text.content = small_print(str(error))
            return
        self.viewer.pause()
        self.viewer.show(found.q)
        self.find_modes()

    def find_modes(self) -> None:
        """Linearize at the present configuration, or show why there is no linear model."""
        self.viewer.pause()
        try:
            model = linearize(self.viewer.system, self.viewer.q)
        except SarrusError as error:
            self.text.content = small_print(f"no modes here: {error}")
            return
        self.model = model
        names = []
        for k, s in enumerate(model.eigenvalues):
            if s.imag >= -NO_OSCILLATION * max(abs(s), LEAST_DIVISOR):
                names.append(f"{k}: {_words(complex(s))}")
        self.choice.options = (_PICK, *names)
        self.choice.value = _PICK
        self.choice.visible = self.amplitude.visible = True
        self.text.content = small_print(f"{len(names)} modes, shown without growth and decay")

    def start(self) -> None:
        """Show the oscillation of the chosen mode."""
        self.viewer.timeline.set_playing(False)
        self.playing = False
        if self.model is None or self.choice.value == _PICK:
            return
        mode = int(str(self.choice.value).partition(":")[0])
        try:
            self.motion = self.model.vibration_mode(mode, float(self.amplitude.value), SWING_FRAMES)
        except SarrusError as error:
            self.text.content = small_print(str(error))
            return
        self.text.content = small_print(f"mode {mode}: {self.motion}")
        self.playing = True

    def tick(self, seconds: float) -> None:
        """Swing on."""
        if self.motion is None:
            return
        self.phase = (self.phase + seconds / SWING_SECONDS) % 1.0
        self._showing = True
        self.viewer.show(self.motion.q[int(self.phase * len(self.motion.q)) % len(self.motion.q)])
        self._showing = False

    def moved(self) -> None:
        """Forget the modes when the mechanism has moved from their configuration."""
        if self._showing or self.model is None:
            return
        if np.abs(self.viewer.q - self.model.q).max(initial=0.0) > MODE_LEFT:
            self.model, self.motion, self.playing = None, None, False
            self.choice.visible = self.amplitude.visible = False
            self.text.content = ""

    def stop(self) -> None:
        """Stop the oscillation, back at the equilibrium."""
        if self.playing and self.model is not None:
            self.playing = False
            self.viewer.show(self.model.q)
        self.playing = False


def _words(s: complex) -> str:
    if abs(s.imag) > NO_OSCILLATION * max(abs(s), LEAST_DIVISOR):
        damping = -s.real / abs(s)
        return f"{abs(s) / (2 * np.pi):.4g} Hz" + (
            f", damping {damping:.2g}" if abs(damping) > NO_DAMPING else ""
        )
    return f"s = {s.real:.4g} 1/s"
