"""Limit crossings: the times at which joint coordinates leave their limits, also between the records of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.joint_limits import JointStops, digits_of_limits, joint_limits
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.motion.records.interpolation import coefficients, value_at
from sarrus.motion.records.records import LimitCrossing

# Places between two records where a limit is looked for, and halvings of the interval in which it is crossed.
_BETWEEN, _HALVINGS = 8, 40
_PLACES = np.linspace(0.0, 1.0, _BETWEEN + 2)[:, None]
# Records that are looked at together.
_BLOCK = 8192


class _Crossing(NamedTuple):
    """A crossing of a limit between two records: times before and after it, and the polynomial of the coordinate.

    The argument of the polynomial is (time − start) / step. ``sign`` is the sign of the limit.
    """

    limit: int
    before: float
    after: float
    start: float
    step: float
    polynomial: tuple[float, ...]


def has_limits(system: Workspace) -> bool:
    """Return whether a coordinate of the system has limits."""
    return bool(joint_limits(system).names)


def find_limit_crossings(
    system: Workspace, t: Array, q: Array, v: Array, a: Array, *, slack: float = 0.0
) -> tuple[LimitCrossing, ...]:
    """Return where coordinates leave the limits of their joints, in order of time.

    Between records a coordinate follows the polynomial of degree five through q, v and a, as in `Trajectory.at`. A
    coordinate may be beyond its limit by ``slack`` [characteristic lengths, rad]; with slack > 0, coordinates within
    the rounding of the model's digits count as at the limit.
    """
    own = limits = joint_limits(system)
    if slack > 0.0:
        wide = slack / system.characteristic.coordinates[limits.places]
        wide = np.maximum(wide, digits_of_limits(system))
        limits = limits._replace(bounds=limits.bounds + limits.signs * wide)
    if not limits.names or len(t) == 0:
        return ()
    beyond = limits.signs * q[0, limits.places] > limits.signs * limits.bounds
    found = [(float(t[0]), k, float(q[0, limits.places[k]])) for k in np.flatnonzero(beyond).tolist()]
    for first in range(0, len(t) - 1, _BLOCK):
        parts = [array[first : first + _BLOCK + 1] for array in (t, q, v, a)]
        for k in np.flatnonzero(_in_reach(limits, *parts)).tolist():
            found += [_located(limits, crossing) for crossing in _crossed(limits, k, *parts)]
    return tuple(LimitCrossing(own.names[k], time, x, float(own.bounds[k])) for time, k, x in sorted(found))


def limit_met(system: Workspace, time: float, limit: int, bound: float) -> LimitCrossing:
    """Return the `LimitCrossing` of a coordinate that was stopped at ``bound``: the limit, or a value beyond it."""
    limits = joint_limits(system)
    own = float(limits.bounds[limit])
    at = own if abs(bound - own) <= digits_of_limits(system)[limit] else bound
    return LimitCrossing(limits.names[limit], time, at, own)


def _reach(step: Array, speed: Array, acceleration: Array) -> Array:
    """Return the largest distance by which the polynomial between two records can leave the interval of the
    coordinates.

    It is a bound from the sums of magnitudes at both records. For s from 0 to 1, s (1 − s)³ (1 + 3 s) h v is at most
    0.2 h |v|, and s² (1 − s)³ / 2 h² a at most 0.02 h² |a|.
    """
    return step * speed + 0.02 * step * step * acceleration


def _in_reach(limits: JointStops, t: Array, q: Array, v: Array, a: Array) -> Array:
    """Return which limits coordinates can leave between some records, by bounds on their extremes."""
    step = np.maximum.reduce(np.diff(t))
    speed, acceleration = (2.0 * np.maximum.reduce(np.abs(rates)) for rates in (v, a))
    reach = _reach(step, speed, acceleration)[limits.rates]
    largest, smallest = np.maximum.reduce(q)[limits.places], np.minimum.reduce(q)[limits.places]
    inside = np.where(limits.signs > 0.0, largest + reach <= limits.bounds, smallest - reach >= limits.bounds)
    beyond = np.where(limits.signs > 0.0, smallest - reach > limits.bounds, largest + reach < limits.bounds)
    return ~(inside | beyond)  # so are those that are no numbers


def _crossed(limits: JointStops, limit: int, t: Array, q: Array, v: Array, a: Array) -> list[_Crossing]:
    """Return the crossings of a limit in outward direction between records."""
    sign = limits.signs[limit]
    bound, steps = sign * limits.bounds[limit], np.diff(t)
    i, j = limits.places[limit], limits.rates[limit]
    q, v, a = sign * q[:, i], sign * v[:, j], sign * a[:, j]
    reach = _reach(steps, *(np.abs(rate[:-1]) + np.abs(rate[1:]) for rate in (v, a)))
    high, low = np.maximum(q[:-1], q[1:]), np.minimum(q[:-1], q[1:])
    k = np.flatnonzero((high + reach > bound) & (low - reach <= bound) & (steps > 0.0))
    start, step = t[k], steps[k]
    polynomials = coefficients(step, *(array[m] for m in (k, k + 1) for array in (q, v, a)))
    times = start + _PLACES * step
    beyond = value_at((times - start) / step, *polynomials) > bound
    found = np.nonzero((~beyond[:-1] & beyond[1:]).T)
    return [
        _Crossing(
            limit, times.item(place, row), times.item(place + 1, row), start.item(row), step.item(row),
            tuple(c.item(row) for c in polynomials),
        )
        for row, place in zip(*(indices.tolist() for indices in found))
    ]  # fmt: skip


def _located(limits: JointStops, crossing: _Crossing) -> tuple[float, int, float]:
    """Return (time [s], number of the limit, coordinate [m, rad]) of a crossing, by bisection."""
    k, before, after, start, step, polynomial = crossing
    sign = float(limits.signs[k])
    bound = sign * float(limits.bounds[k])
    for _ in range(_HALVINGS):
        middle = 0.5 * (before + after)
        if value_at((middle - start) / step, *polynomial) > bound:
            after = middle
        else:
            before = middle
    return after, k, sign * value_at((after - start) / step, *polynomial)
