"""Where joint coordinates leave their limits, between the records of a run too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.simulation.interpolation import hermite
from sarrus.simulation.records import LimitCrossing

if TYPE_CHECKING:
    from sarrus.dynamics.workspace import Workspace

# Places between two records where a limit is looked for, and halvings of the interval in which it is crossed.
_BETWEEN, _HALVINGS = 8, 40


def find_limit_crossings(
    system: Workspace, t: Array, q: Array, v: Array, a: Array
) -> tuple[LimitCrossing, ...]:
    """Return where coordinates leave the limits of their joints, in order of time.

    Between records they follow the polynomial of degree five through q, v and a, as `Trajectory.at` has it.
    """
    if system.mechanism is None or len(t) == 0:
        return ()
    crossings = []
    place = {name: i for i, name in enumerate(system.coordinate_names)}
    rate = {name: i for i, name in enumerate(system.velocity_names)}
    for joint in system.mechanism.joints():
        for name, limit in zip(joint.velocity_names, joint.limits):
            if limit is None or name not in place:
                continue
            i, j = place[name], rate[name]
            motion = _Motion(t, q[:, i], v[:, j], a[:, j])
            for bound, sign in ((limit[0], -1.0), (limit[1], 1.0)):
                times = motion.exceeds(sign * bound, sign)
                crossings += [LimitCrossing(name, time, motion.at(time), float(bound)) for time in times]
    return tuple(sorted(crossings, key=lambda c: c.time))


class _Motion:
    """One coordinate over time."""

    def __init__(self, t: Array, q: Array, v: Array, a: Array) -> None:
        self.t, self.q, self.v, self.a = t, q, v, a

    def at(self, time: float) -> float:
        """Return its value."""
        return float(
            self._within(max(int(np.searchsorted(self.t, time, "left")) - 1, 0), np.array([time]))[0]
        )

    def _within(self, k: int, times: Array) -> Array:
        """Return its values in the interval after record k."""
        if k + 1 >= len(self.t):
            return np.full(len(times), self.q[-1])
        h = self.t[k + 1] - self.t[k]
        s = (times - self.t[k]) / h if h > 0.0 else np.zeros(len(times))
        ends = [array[m] for m in (k, k + 1) for array in (self.q, self.v, self.a)]
        return hermite(s, np.asarray(h), *ends)

    def exceeds(self, bound: float, sign: float) -> list[float]:
        """Return the times when sign × value becomes larger than ``bound``, the start if it is so there."""
        found = [float(self.t[0])] if sign * self.q[0] > bound else []
        inside = np.linspace(0.0, 1.0, _BETWEEN + 2)
        reach = np.abs(np.diff(self.t)) * (np.abs(self.v[:-1]) + np.abs(self.v[1:])) + np.abs(np.diff(self.q))
        near = sign * np.maximum(sign * self.q[:-1], sign * self.q[1:])
        for k in np.flatnonzero(sign * near + reach > bound).tolist():
            times = self.t[k] + inside * (self.t[k + 1] - self.t[k])
            beyond = sign * self._within(k, times) > bound
            for c in np.flatnonzero(~beyond[:-1] & beyond[1:]):
                low, high = times[c], times[c + 1]
                for _ in range(_HALVINGS):
                    middle = 0.5 * (low + high)
                    if sign * self._within(k, np.array([middle]))[0] > bound:
                        high = middle
                    else:
                        low = middle
                found.append(float(high))
        return found
