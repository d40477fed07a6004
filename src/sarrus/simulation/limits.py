"""Where joint coordinates leave their limits, between the records of a run too."""

from __future__ import annotations

from functools import partial

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.workspace import Workspace
from sarrus.simulation.interpolation import hermite
from sarrus.simulation.records import LimitCrossing

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
            for bound, sign in ((limit[0], -1.0), (limit[1], 1.0)):
                found = _exceeds(sign * bound, t, *(sign * array for array in (q[:, i], v[:, j], a[:, j])))
                crossings += [LimitCrossing(name, time, sign * x, float(bound)) for time, x in found]
    return tuple(sorted(crossings, key=lambda c: c.time))


def _exceeds(bound: float, t: Array, q: Array, v: Array, a: Array) -> list[tuple[float, float]]:
    """Return the times when a coordinate becomes larger than ``bound``, the start if it is so there, and its values."""
    found = [(float(t[0]), float(q[0]))] if q[0] > bound else []
    steps, inside = np.diff(t), np.linspace(0.0, 1.0, _BETWEEN + 2)
    reach = np.abs(steps) * (np.abs(v[:-1]) + np.abs(v[1:])) + np.abs(np.diff(q))
    for k in np.flatnonzero(np.maximum(q[:-1], q[1:]) + reach > bound).tolist():
        value = partial(_between, t[k], steps[k], [array[m] for m in (k, k + 1) for array in (q, v, a)])
        times = t[k] + inside * steps[k]
        beyond = value(times) > bound
        for c in np.flatnonzero(~beyond[:-1] & beyond[1:]):
            low, high = times[c], times[c + 1]
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if value(middle) > bound else (middle, high)
            found.append((float(high), float(value(high))))
    return found


def _between(start: Array, step: Array, ends: list[Array], time: Array) -> Array:
    """Return the values at times in a step from ``start`` on, with value, rate and acceleration at both ``ends``."""
    return hermite((time - start) / step if step > 0.0 else 0.0 * time, step, *ends)
