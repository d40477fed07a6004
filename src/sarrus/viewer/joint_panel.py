"""Sliders of the joints: drag one and the closed mechanism follows on its manifold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.analysis.follow import Follower
from sarrus.errors import SarrusError
from sarrus.mechanism.pose import Array
from sarrus.units import coordinate_units

if TYPE_CHECKING:
    from sarrus.viewer.server import Viewer

_STEPS = 4000  # of a slider over its range, at the least
_DIGITS = 4  # of a value that is shown
_SLACK = 1e-3  # limits within this of each other leave no room for a slider [rad, m]


class JointPanel:
    """One slider per scalar coordinate, over the values that it can reach from where the viewer was opened.

    Quaternions have none. Joint limits of the model bound the sliders where they are tighter. Joints ticked in
    "hold" keep their values; where the mechanism cannot follow any further it stays, and the note says so.
    """

    def __init__(self, viewer: Viewer, gui: Any, q: Array) -> None:
        self.viewer = viewer
        self.system = viewer.system
        self.follower = Follower(self.system)
        self.sliders: dict[str, Any] = {}
        units = dict(zip(self.system.coordinate_names, coordinate_units(self.system)))
        limits = _limits(self.system)
        with gui.add_folder("Joints"):
            for name, (k, _) in self.follower.indices.items():
                low, high = self.range(q, name, limits.get(name))
                step = 10.0 ** np.floor(np.log10((high - low) / _STEPS))
                slider = gui.add_slider(
                    f"{name} [{units[name]}]" if units[name] else name,
                    min=float(np.ceil(low / step) * step),
                    max=float(np.floor(high / step) * step),
                    step=float(step),
                    initial_value=float(np.clip(round(float(q[k]), _DIGITS), low, high)),
                    marks=((low, f"{low:.3g}"), (high, f"{high:.3g}")),
                )
                slider.on_update(self._moved(name))
                self.sliders[name] = slider
        if len(self.sliders) > 1:
            with gui.add_folder("Hold while dragging", expand_by_default=False):
                self.held = {name: gui.add_checkbox(name, False) for name in self.sliders}
                for box in self.held.values():
                    box.on_update(lambda event: self.viewer.desk.post("hold", self._hold))
        else:
            self.held = {}

    def range(self, q: Array, name: str, limits: tuple[float, float] | None) -> tuple[float, float]:
        """Return the values that a slider goes over: reachable ones, within the joint's limits if q is."""
        value = float(q[self.follower.indices[name][0]])
        turns = self.follower.turns(name)
        span = np.pi if turns else max(2.0 * self.viewer.drawing.size, abs(value))
        try:
            low, high = self.follower.reach(q, name, span)
        except SarrusError:
            low, high = value - span, value + span
        if turns and high - low > 2 * np.pi - _SLACK and abs(value) <= np.pi:
            low, high = -np.pi, np.pi
        if limits is not None and limits[0] <= value <= limits[1]:
            low, high = max(low, limits[0]), min(high, limits[1])
        return (low, high) if high - low > _SLACK else (value - _SLACK, value + _SLACK)

    def drag(self, name: str, value: float) -> None:
        """Take a coordinate as far towards a value as it goes, and show it; on the desk's thread."""
        try:
            found = self.follower.drag(self.viewer.q, name, value)
        except SarrusError as error:
            self.viewer.show(self.viewer.q, note=str(error))
            return
        note = (
            "" if found.reached else f"{name} goes no further than {found.value:.6g}: limit of the closures"
        )
        self.viewer.show(found.q, note=note, keep=name if found.reached else None)

    def follow(self, q: Array, keep: str | None = None) -> None:
        """Put the sliders where q is, but the one named ``keep``, which somebody holds."""
        for name, slider in self.sliders.items():
            value = float(q[self.follower.indices[name][0]])
            if self.follower.turns(name) and not slider.min <= value <= slider.max:
                value -= 2 * np.pi * np.round((value - 0.5 * (slider.min + slider.max)) / (2 * np.pi))
            if name != keep:
                slider.value = float(np.clip(round(value, _DIGITS), slider.min, slider.max))

    def _moved(self, name: str) -> Any:
        def moved(event: Any) -> None:
            if event.client_id is not None:  # moved in the browser, not from here
                value = float(event.target.value)
                self.viewer.desk.post(("joint", name), lambda: self._dragged(name, value))

        return moved

    def _dragged(self, name: str, value: float) -> None:
        self.viewer.pause()
        k = self.follower.indices[name][0]
        if self.follower.turns(name):  # the slider shows the angle less full turns
            here = float(self.viewer.q[k])
            shown = float(self.sliders[name].value)
            value += 2 * np.pi * np.round((here - shown) / (2 * np.pi))
        self.drag(name, value)

    def _hold(self) -> None:
        locked = [name for name, box in self.held.items() if box.value]
        self.follower = Follower(self.system, locked)


def _limits(system: Any) -> dict[str, tuple[float, float]]:
    """Return the limits of the scalar coordinates that have some."""
    out: dict[str, tuple[float, float]] = {}
    for joint in system.mechanism.joints():
        names = [name for name in joint.coordinate_names if name in joint.velocity_names]
        if len(names) == len(joint.limits):
            out |= {name: pair for name, pair in zip(names, joint.limits) if pair is not None}
    return out
