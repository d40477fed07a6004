"""Curve: drive one coordinate along the curve of closed configurations, round its turning points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from sarrus.analysis.internal_motions import internal_motions
from sarrus.analysis.inverse_kinematics import coordinate_limits
from sarrus.analysis.targets import scalar_coordinates
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.dynamics.assembly import free_velocities
from sarrus.dynamics.branches import tangents
from sarrus.dynamics.manifold import (
    STEP,
    came_back,
    close,
    closed_start,
    difference,
    holonomic_jacobian,
    rank_cut,
    turning,
    walk,
)
from sarrus.dynamics.system import System
from sarrus.linalg.ranked import CUT, ROUNDING, ranked

# Steps at most each way.
_STEPS = 4000
# A driven coordinate that moves less than this along the curve rests: it has no turning points.
_RESTS = 1e-9


@dataclass(frozen=True, eq=False)
class TurningPoint:
    """Where a driven coordinate turns round: its ``value`` there and the configuration ``q``.

    ``limit`` is "upper" where larger values cannot be reached from here, "lower" where smaller ones cannot.
    """

    value: float
    q: Array
    limit: str


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve of configurations along which one coordinate is driven (arrays read-only).

    Attributes
    ----------
    driven : its name. values : (T,) its values; they go back and forth where there are turning points.
    q : (T, nq) configurations. turning_points : in the order of the curve.
    closed : whether the curve comes back to its start, full turns and internal motions aside.
    """

    driven: str
    values: Array
    q: Array
    turning_points: tuple[TurningPoint, ...]
    closed: bool


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
    """Follow the closed configurations from q while a coordinate goes from ``lower`` to ``upper``.

    Steps of 0.05 along the tangent, corrected across it, so that turning points are no obstacle: there the
    curve goes on while the driven coordinate goes back. They are located to rounding. The curve is followed
    both ways until it leaves the range or is back where it started.

    Parameters
    ----------
    q : (nq,) start; loops open by up to 1e-5 are closed, by more are an `ArgumentError`.
    driven : scalar coordinate. lower, upper : its range [m, rad]; by default the limits of its joint, or none.
    locked : joints or coordinates that rest, so that one motion is left besides internal ones. More or none are an
        `ArgumentError` that says how many.

    Redundant rows are ordinary. Through singular configurations the curve goes straight on; its branches are
    those of `mobility` there. Inconsistent rows are met as well as they can be.
    """
    check_known("scalar coordinate", driven, scalar_coordinates(system), "driven")
    curve = _Curve(system, closed_start(system, real_array(q), t), driven, locked, t)
    limits = [float(side[curve.coordinate]) for side in coordinate_limits(system)]
    bounds = (limits[0] if lower is None else lower, limits[1] if upper is None else upper)
    ahead, turns, closed = curve.follow(curve.tangent, bounds)
    behind: list[Array] = []
    before: list[TurningPoint] = []
    if not closed:
        behind, before, _ = curve.follow(-curve.tangent, bounds)
    path = np.array([*behind[::-1], curve.start, *ahead])
    return Curve(
        driven,
        read_only(path[:, curve.coordinate].copy()),
        read_only(path),
        (*before[::-1], *turns),
        closed,
    )


class _Curve:
    """The curve of closed configurations through a start, with the locked coordinates at rest."""

    def __init__(self, system: System, start: Array, driven: str, locked: Sequence[str], t: float) -> None:
        self.system, self.start, self.t = system, start, t
        self.coordinate, self.velocity = scalar_coordinates(system)[driven]
        free = free_velocities(system, locked)
        self.hold = np.eye(system.nv)[:, free == 0.0]
        self.cut = rank_cut(system, start, t, 1.0)
        self.turns = turning(system)
        lasting = tangents(system, start, t, self.cut).space
        ways = lasting @ ranked(self.hold.T @ lasting, CUT).null
        internal = [m.velocity for m in internal_motions(system, start, t, self.cut)]
        resting = [x for x in internal if x[self.velocity] == 0.0 and not np.any(self.hold.T @ x)]
        left = ways.shape[1] - len(resting)
        if left != 1:
            advice = (
                "unlock coordinates, or start beside a singular configuration" if left < 1 else "lock others"
            )
            raise ArgumentError(
                f"{system.name}: a curve along {driven!r} needs one motion, but {max(left, 0)} are left; {advice}",
                element="locked",
            )
        others = np.array(resting).reshape(len(resting), system.nv)
        moved = {system.velocity_names[i] for i in np.flatnonzero(np.abs(others).max(axis=0, initial=0.0))}
        joints = {name.rpartition(".")[0] or name for name in moved}
        self.counted = free_velocities(system, sorted(joints))
        tangent = ways @ ranked(others @ ways, ROUNDING).null[:, 0]
        self.tangent = -tangent if tangent[self.velocity] < 0.0 else tangent

    def kernel(self, q: Array) -> Array:
        """Return the motions (nv × k) with the locked velocities at rest."""
        rows = np.vstack([holonomic_jacobian(self.system, q, self.t), self.hold.T])
        return ranked(rows, self.cut).null

    def follow(
        self, tangent: Array, bounds: tuple[float, float]
    ) -> tuple[list[Array], list[TurningPoint], bool]:
        """Return configurations and turning points one way, and whether the curve came back."""
        lower, upper = bounds
        path: list[Array] = []
        turns: list[TurningPoint] = []
        last, way = self.start, tangent
        steps = walk(self.system, last, tangent, t=self.t, step=STEP, cut=self.cut, hold=self.hold)
        for q, ahead in islice(steps, _STEPS):
            rates = way[self.velocity], ahead[self.velocity]
            if rates[0] * rates[1] < 0.0 and max(map(abs, rates)) > _RESTS:
                p = self.between(last, way, q, None)
                value = float(p[self.coordinate])
                if lower <= value <= upper:
                    turns.append(TurningPoint(value, read_only(p), "upper" if rates[0] > 0.0 else "lower"))
            value = float(q[self.coordinate])
            if not lower <= value <= upper:
                bound = lower if value < lower else upper
                inside = float(last[self.coordinate])
                if (inside - bound) * (value - bound) < 0.0:
                    path.append(self.between(last, way, q, bound))
                break
            if len(path) > 4 and came_back(
                self.system, self.start, tangent, q, ahead, self.turns, self.counted
            ):
                if not self.counted.all():
                    return [*path, q], turns, True
                end = self.start.copy()
                end[self.turns] += 2 * np.pi * np.rint((q - self.start)[self.turns] / (2 * np.pi))
                return [*path, end], turns, True
            path.append(q)
            last, way = q, ahead
        return path, turns, False

    def between(self, last: Array, way: Array, q: Array, value: float | None) -> Array:
        """Return where, between two steps, the driven coordinate has a value, or turns round (None)."""
        across = np.column_stack([self.hold, way])

        def place(length: float) -> Array:
            return close(self.system, self.system.move(last, length * way), self.t, across)

        def missing(length: float) -> float:
            p = place(length)
            if value is not None:
                return float(p[self.coordinate] - value)
            kernel = self.kernel(p)
            return float(kernel[self.velocity] @ (kernel.T @ way))

        reach = float(way @ difference(self.system, last, q))
        return place(float(brentq(missing, 0.0, reach, xtol=1e-15)))
