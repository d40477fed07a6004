"""`Curve`: the closed configurations along which one coordinate is driven, through its dead centres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.curve_trace import Trace
from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.analysis.configurations.targets import scalar_coordinates
from sarrus.analysis.configurations.tolerances import COORDINATE_RESTS
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is, check_known
from sarrus.base.numbers import real_array
from sarrus.dynamics.closing.manifold import closed_start
from sarrus.dynamics.model.units import coordinate_units
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class TurningPoint:
    """A dead centre of a coordinate: its ``value`` [m, rad] and the configuration ``q`` (nq,) at which it reverses.

    ``limit`` is "upper" if larger values cannot be reached on the curve there, "lower" if smaller ones cannot.
    """

    value: float
    q: Array
    limit: str


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """A curve of configurations along which one coordinate is driven (read-only arrays); ``print`` shows the ranges.

    Attributes
    ----------
    driven : name of the driven coordinate. values : (T,) its values [m, rad], which reverse at turning points.
    q : (T, nq) configurations. tangents : (T, nv) velocities along the curve, of length one in radians and κ.
    turning_points : dead centres of the driven coordinate, in order along the curve.
    closed : whether the curve returns to its start, modulo full turns and internal motions.
    t : time of the constraints [s]. system : the system of the curve.
    """

    driven: str
    values: Array
    q: Array
    tangents: Array
    turning_points: tuple[TurningPoint, ...]
    closed: bool
    t: float
    system: System
    trace: Trace = field(repr=False)

    def turning_points_of(self, name: str) -> tuple[TurningPoint, ...]:
        """Return the points at which a scalar coordinate reverses, to rounding: its dead centres if it were the driver.

        Those of the output of a mechanism are the dead centres of machine design, where crank and coupler are in line.
        A constant coordinate has none.
        """
        places = scalar_coordinates(self.system)
        check_known("scalar coordinate", name, places, self.system.name)
        k, j = places[name]
        scale = self.system.characteristic.coordinates[k]
        if np.ptp(self.q[:, k]) * scale < COORDINATE_RESTS:
            return ()
        found = self.trace.turning_points(self.q, self.tangents, j, self.closed)
        return tuple(
            TurningPoint(float(q[k]), read_only(q), "upper" if sign > 0.0 else "lower") for q, sign in found
        )

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest value of a scalar coordinate along the curve [m, rad].

        For a crank that rotates fully they are the first and the last value, a full turn apart.
        """
        values = [point.value for point in self.turning_points_of(name)]
        k = scalar_coordinates(self.system)[name][0]
        every = [*values, *map(float, self.q[:, k])]
        return min(every), max(every)

    def turns_of(self, name: str) -> int:
        """Return the number of full turns of a coordinate until the curve is closed; zero if it oscillates."""
        places = scalar_coordinates(self.system)
        check_known("scalar coordinate", name, places, self.system.name)
        k = places[name][0]
        if not self.closed or k not in self.trace.turns:
            return 0
        return abs(int(np.rint((self.q[-1, k] - self.q[0, k]) / (2 * np.pi))))

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.system.name}: curve along {self.driven}, {self.shape}", *self.range_lines()]
        )

    def __repr__(self) -> str:
        return f"Curve({self.system.name!r}: {self.driven}, {self.shape}, {len(self.q)} configurations)"

    @property
    def shape(self) -> str:
        """The word for tables: closed or open."""
        return "closed" if self.closed else "open"

    def range_lines(self) -> list[str]:
        """Return a line for every scalar coordinate that moves: range, full turns and dead centres, with units."""
        units = coordinate_units(self.system)
        places = scalar_coordinates(self.system)
        width = max(map(len, places), default=0)
        lines = []
        for name, (k, _) in places.items():
            lower, upper = self.range_of(name)
            if (upper - lower) * self.system.characteristic.coordinates[k] < COORDINATE_RESTS:
                continue
            turns = self.turns_of(name)
            points = self.turning_points_of(name)
            where = ", ".join(f"{point.value:.6g}" for point in points)
            how = f"goes round ({turns} ×)" if turns else f"from {lower:.6g} to {upper:.6g} {units[k]}"
            lines.append(f"  {name:<{width}}  {how}" + (f", turns round at {where}" if points else ""))
        return lines


@described()
def follow_curve(
    system: System,
    q: ArrayLike,
    driven: str,
    lower: float | None = None,
    upper: float | None = None,
    *,
    locked: Sequence[str] = (),
    t: float = 0.0,
) -> Curve:
    """Return the `Curve` of closed configurations from q while a coordinate goes from ``lower`` to ``upper``.

    Steps of 0.05 along the tangent (radians and characteristic lengths), corrected across it: at a turning point the
    curve continues and the driven coordinate reverses. Turning points are located to rounding. The curve is followed in
    both directions until it leaves the range or returns to its start, 4000 steps at most.

    Parameters
    ----------
    q : (nq,) start; loops open by up to 1e-5 [m, rad] are closed, wider ones are an `ArgumentError`.
    driven : scalar coordinate. lower, upper : its range [m, rad]; default: the limits of its joint, or none. A start
        outside of the range is an `ArgumentError`.
    locked : joints or coordinates that are held, so that one degree of freedom is left besides internal motions. Any
        other number is an `ArgumentError` that names it.

    Redundant rows change nothing. Through singular configurations the curve goes straight on; `mobility` returns its
    branches there. Inconsistent rows are met in the least-squares sense. Limits of other joints are not checked.
    """
    check_is("follow_curve", system, System)
    places = scalar_coordinates(system)
    check_known("scalar coordinate", driven, places, "driven")
    given = real_array(q)
    start = closed_start(system, given, t)
    within = SearchLimits.of_one(system, driven, lower, upper)
    within.require(given)
    trace = Trace(system, start, driven, locked, t)
    bounds = (float(within.lower[trace.coordinate]), float(within.upper[trace.coordinate]))
    ahead, ways, closed = trace.follow(trace.tangent, bounds)
    behind: list[Array] = []
    back: list[Array] = []
    if not closed:
        behind, back, _ = trace.follow(-trace.tangent, bounds)
    path = np.array([*behind[::-1], trace.start, *ahead])
    tangents = np.array([*(-way for way in back[::-1]), trace.tangent, *ways])
    curve = Curve(
        driven,
        read_only(path[:, trace.coordinate].copy()),
        read_only(path),
        read_only(tangents),
        (),
        closed,
        t,
        system,
        trace,
    )
    points = curve.turning_points_of(driven)
    object.__setattr__(curve, "turning_points", tuple(p for p in points if bounds[0] <= p.value <= bounds[1]))
    return curve
