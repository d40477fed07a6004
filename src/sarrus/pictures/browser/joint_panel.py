"""Sliders of the joints: one is dragged and the closed mechanism follows on the constraint manifold."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from sarrus.analysis.configurations.follow import Follower
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.printable import printable
from sarrus.dynamics.model.units import coordinate_units
from sarrus.pictures.browser.panel_host import PanelHost
from sarrus.pictures.browser.tolerances import NO_SLIDER

_STEPS = 4000  # of a slider over its range, at the least
_DIGITS = 4  # of a value that is shown


class JointPanel:
    """One slider for each scalar coordinate, over the range that it reaches from the initial configuration.

    The ranges are found one after the other once the page is open (``pending``: number still to find). Quaternions have
    no sliders. Joint limits bound the sliders. Joints ticked in "hold" keep their values; at the end of the range the
    mechanism stops, and a note says so.
    """

    def __init__(self, viewer: PanelHost, gui: Any, q: Array) -> None:
        self.viewer = viewer
        self.system = viewer.system
        self.follower = Follower(self.system)
        self.sliders: dict[str, Any] = {}
        units = dict(zip(self.system.coordinate_names, coordinate_units(self.system)))
        self.limits = _limits(self.system)
        self.start = q.copy()
        with gui.add_folder("Joints"):
            for name, (k, _) in self.follower.indices.items():
                low, high = self._within(name, *self._widest(name))
                slider = gui.add_slider(
                    printable(f"{name} [{units[name]}]" if units[name] else name),
                    min=low,
                    max=high,
                    step=_step(low, high),
                    initial_value=float(np.clip(round(float(q[k]), _DIGITS), low, high)),
                )
                slider.on_update(self._moved(name))
                self.sliders[name] = slider
        if len(self.sliders) > 1:
            with gui.add_folder("Hold while dragging", expand_by_default=False):
                self.held = {name: gui.add_checkbox(printable(name), False) for name in self.sliders}
                for box in self.held.values():
                    box.on_update(lambda event: self.viewer.worker.post("hold", self._hold))
        else:
            self.held = {}
        self.pending = len(self.sliders) if self.system.nh else 0
        if self.pending:
            viewer.worker.post("range", lambda: self._measure(0))

    def _measure(self, number: int) -> None:
        """Find the range of a slider, then schedule the next one."""
        name, slider = list(self.sliders.items())[number]
        value, (low, high) = self._value(self.start, name), self._widest(name)
        with suppress(SarrusError):  # else the slider stays as wide as it is
            low, high = Follower(self.system).reach(self.start, name, 0.5 * (high - low))
        if self.follower.turns(name) and high - low > 2 * np.pi - NO_SLIDER and abs(value) <= np.pi:
            low, high = -np.pi, np.pi
        slider.min, slider.max = self._within(name, low, high)
        slider.step = _step(slider.min, slider.max)
        self.pending -= 1
        self.follow(self.viewer.q)
        if self.pending:
            self.viewer.worker.post("range", lambda: self._measure(number + 1))

    def _widest(self, name: str) -> tuple[float, float]:
        """Return the range of an unbounded coordinate: a full turn, or twice the size to both sides."""
        value = self._value(self.start, name)
        if self.follower.turns(name):
            return (-np.pi, np.pi) if abs(value) <= np.pi else (value - np.pi, value + np.pi)
        span = max(2.0 * self.viewer.drawing.size, abs(value))
        return value - span, value + span

    def _within(self, name: str, low: float, high: float) -> tuple[float, float]:
        """Return a range within the joint's limits if it contains the start and is not empty."""
        value, limits = self._value(self.start, name), self.limits.get(name)
        if limits is not None and limits[0] <= value <= limits[1]:
            low, high = max(low, limits[0]), min(high, limits[1])
        return (float(low), float(high)) if high - low > NO_SLIDER else (value - NO_SLIDER, value + NO_SLIDER)

    def _value(self, q: Array, name: str) -> float:
        return float(q[self.follower.indices[name][0]])

    def drag(self, name: str, value: float) -> None:
        """Move a coordinate towards a value as far as it goes, and show it; on the worker thread."""
        try:
            found = self.follower.drag(self.viewer.q, name, value)
        except SarrusError as error:
            self.viewer.show(self.viewer.q, note=str(error))
            return
        note = (
            ""
            if found.reached
            else f"{name} goes no further than {found.value:.6g}: dead point of the closures"
        )
        self.viewer.show(found.q, note=note, keep=name if found.reached else None)

    def follow(self, q: Array, keep: str | None = None) -> None:
        """Set the sliders to q, except the one named ``keep``, which is being dragged."""
        for name, slider in self.sliders.items():
            value = self._value(q, name)
            if self.follower.turns(name) and not slider.min <= value <= slider.max:
                value -= 2 * np.pi * np.round((value - 0.5 * (slider.min + slider.max)) / (2 * np.pi))
            if name != keep:
                slider.value = float(np.clip(round(value, _DIGITS), slider.min, slider.max))

    def _moved(self, name: str) -> Any:
        def moved(event: Any) -> None:
            if event.client_id is not None:  # moved in the browser, not from here
                value = float(event.target.value)
                self.viewer.worker.post(("joint", name), lambda: self._dragged(name, value))

        return moved

    def _dragged(self, name: str, value: float) -> None:
        self.viewer.pause()
        if self.follower.turns(name):  # the slider shows the angle less full turns
            here = self._value(self.viewer.q, name)
            shown = float(self.sliders[name].value)
            value += 2 * np.pi * np.round((here - shown) / (2 * np.pi))
        self.drag(name, value)

    def _hold(self) -> None:
        locked = [name for name, box in self.held.items() if box.value]
        self.follower = Follower(self.system, locked)


def _step(low: float, high: float) -> float:
    return float(10.0 ** np.floor(np.log10((high - low) / _STEPS)))


def _limits(system: Any) -> dict[str, tuple[float, float]]:
    """Return the limits of the scalar coordinates that have limits."""
    out: dict[str, tuple[float, float]] = {}
    for joint in system.mechanism.joints():
        names = [name for name in joint.coordinate_names if name in joint.velocity_names]
        if len(names) == len(joint.limits):
            out |= {name: pair for name, pair in zip(names, joint.limits) if pair is not None}
    return out
