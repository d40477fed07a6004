"""`Trace`: the curve of closed configurations through a start, its tangents, and points between its stations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice, pairwise

import numpy as np
from scipy.optimize import brentq

from sarrus.analysis.configurations.targets import scalar_coordinates
from sarrus.analysis.configurations.tolerances import BRACKET_END, NO_RATE
from sarrus.analysis.mobility.internal_motions import internal_motions
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.closing.branches import tangents
from sarrus.dynamics.closing.manifold import (
    came_back,
    close,
    comparable,
    difference,
    holonomic_jacobian,
    rank_cut,
    turning,
    walk,
)
from sarrus.dynamics.closing.tolerances import WALK_STEP
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT, RANK_CUT

# Steps at most each way.
_STEPS = 4000


class Trace:
    """The curve of closed configurations through a start, with the locked coordinates held.

    Steps and unit tangents are measured in characteristic units: metres over κ, and radians.
    """

    def __init__(self, system: System, start: Array, driven: str, locked: Sequence[str], t: float) -> None:
        self.system, self.start, self.t = system, start, t
        self.coordinate, self.velocity = scalar_coordinates(system)[driven]
        free = free_velocities(system, locked)
        self.scale = system.characteristic.columns
        self.hold = np.eye(system.nv)[:, free == 0.0]
        self.cut = rank_cut(system, start, t, 1.0)
        self.turns = turning(system)
        lasting = tangents(system, start, t, self.cut).space
        ways = lasting @ ranked(self.hold.T @ lasting, RANK_CUT).null
        internal = [m.velocity for m in internal_motions(system, start, t, self.cut)]
        resting = [x for x in internal if x[self.velocity] == 0.0 and not np.any(self.hold.T @ x)]
        left = ways.shape[1] - len(resting)
        if left != 1:
            advice = (
                "unlock coordinates, or start beside a singular configuration"
                if left < 1
                else "lock coordinates"
            )
            raise ArgumentError(
                f"{system.name}: a curve along {driven!r} needs one degree of freedom, and the mechanism has "
                f"{max(left, 0)}; {advice}",
                element="locked",
            )
        others = np.array(resting).reshape(len(resting), system.nv)
        moved = {system.velocity_names[i] for i in np.flatnonzero(np.abs(others).max(axis=0, initial=0.0))}
        joints = {name.rpartition(".")[0] or name for name in moved}
        self.counted = free_velocities(system, sorted(joints))
        tangent = ways @ ranked(others @ ways, FINE_RANK_CUT).null[:, 0]
        tangent = tangent / np.linalg.norm(self.scale * tangent)
        self.tangent = -tangent if tangent[self.velocity] < 0.0 else tangent

    def kernel(self, q: Array) -> Array:
        """Return a basis of the motions (nv, k) with the locked velocities at rest."""
        rows = comparable(self.system, holonomic_jacobian(self.system, q, self.t))
        rows = np.vstack([rows, self.hold.T])
        return ranked(rows, self.cut).null

    def ahead(self, q: Array, way: Array) -> Array:
        """Return the unit tangent (nv,) at q that continues the direction ``way``."""
        basis, _ = np.linalg.qr(self.scale[:, None] * self.kernel(q))
        found = basis @ (basis.T @ (self.scale * way)) / self.scale
        return np.asarray(found / np.linalg.norm(self.scale * found))

    def follow(self, tangent: Array, bounds: tuple[float, float]) -> tuple[list[Array], list[Array], bool]:
        """Return (configurations, tangents, whether the curve returned to its start) in one direction."""
        lower, upper = bounds
        path: list[Array] = []
        ways: list[Array] = []
        last, way = self.start, tangent
        steps = walk(
            self.system,
            last,
            tangent,
            t=self.t,
            step=WALK_STEP,
            cut=self.cut,
            hold=self.hold,
            scale=self.scale,
        )
        for q, ahead in islice(steps, _STEPS):
            value = float(q[self.coordinate])
            if not lower <= value <= upper:
                bound = lower if value < lower else upper
                inside = float(last[self.coordinate])
                if (inside - bound) * (value - bound) < 0.0:
                    end = self.between(last, way, q, self._beyond(bound))
                    path.append(end)
                    ways.append(self.ahead(end, way))
                break
            counted = self.counted * self.scale
            if len(path) > 4 and came_back(self.system, self.start, tangent, q, ahead, self.turns, counted):
                if not self.counted.all():
                    return [*path, q], [*ways, ahead], True
                end = self.start.copy()
                end[self.turns] += 2 * np.pi * np.rint((q - self.start)[self.turns] / (2 * np.pi))
                return [*path, end], [*ways, tangent], True
            path.append(q)
            ways.append(ahead)
            last, way = q, ahead
        return path, ways, False

    def _beyond(self, bound: float) -> Callable[[Array], float]:
        return lambda q: float(q[self.coordinate] - bound)

    def chord(self, start: Array, end: Array, whole: bool = True) -> Array:
        """Return the velocity (nv,) from one configuration to another; full turns count unless ``whole`` is false."""
        return difference(self.system, start, end, None if whole else self.turns)

    def place(self, last: Array, way: Array, length: float) -> Array:
        """Return the configuration on the curve whose component along ``way`` is ``length`` beyond ``last`` [rad,
        κ].
        """
        step = way * (length / np.linalg.norm(self.scale * way))
        level = self.scale**2 * way
        across = np.column_stack([self.hold, level / np.linalg.norm(level)])
        return close(self.system, self.system.move(last, step), self.t, across)

    def along(self, way: Array, x: Array) -> float:
        """Return the component along ``way`` of a velocity or chord x (nv,) [rad, κ]."""
        return float((self.scale * way) @ (self.scale * x) / np.linalg.norm(self.scale * way))

    def between(self, last: Array, way: Array, q: Array, missing: Callable[[Array], float]) -> Array:
        """Return the configuration between two stations at which ``missing``, of opposite signs at the stations,
        vanishes.
        """
        reach = self.along(way, self.chord(last, q))
        xtol = BRACKET_END * abs(reach)
        found = brentq(lambda length: missing(self.place(last, way, length)), 0.0, reach, xtol=xtol)
        return self.place(last, way, float(found))

    def turning_points(self, q: Array, ways: Array, velocity: int, closed: bool) -> list[tuple[Array, float]]:
        """Return the configurations at which a velocity changes its sign along the stations, each with the sign before.

        Velocities that are zero up to rounding at a station have no sign, so that a station may lie on a turning point.
        """
        rates = ways[:, velocity]
        size = np.abs(rates).max()
        if size < NO_RATE:
            return []
        signed = [k for k in range(len(rates)) if abs(rates[k]) > NO_RATE * size]
        found = []
        for i, j in pairwise(signed):
            if rates[i] * rates[j] < 0.0:
                found.append((self._turn(q[i], ways[i], q[j], velocity), float(np.sign(rates[i]))))
        i, j = signed[-1], signed[0]
        if closed and rates[i] * rates[j] < 0.0:
            end = q[-1] if j == 0 else self.place(q[-1], ways[-1], WALK_STEP)
            found.append((self._turn(q[i], ways[i], end, velocity), float(np.sign(rates[i]))))
        return found

    def _turn(self, last: Array, way: Array, q: Array, velocity: int) -> Array:
        return self.between(last, way, q, lambda p: float(self.ahead(p, way)[velocity]))
