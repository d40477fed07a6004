"""`Follower`: one coordinate is moved and the closed mechanism follows, on its branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.analysis.configurations.targets import scalar_coordinates
from sarrus.analysis.configurations.tolerances import (
    DATA_OPEN,
    DEAD_POINT,
    FOLLOW_OPEN,
    FOLLOW_STEPS,
    KICK,
    SAME_PLACE,
    SHORTEST_PART,
    STEP_ASIDE,
    STRAIGHT,
    THERE,
)
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.closing.branches import find_branches, tangents
from sarrus.dynamics.closing.manifold import (
    close,
    closed_start,
    difference,
    finite_jacobian,
    rank_cut,
    turning,
)
from sarrus.dynamics.closing.tolerances import WALK_STEP
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked


@dataclass(frozen=True, eq=False)
class Following:
    """The end of a walk: q (nq,), the value of the coordinate [m, rad], and whether it is the requested value.

    ``reached`` is False at the end of the range on this branch: a dead point, a stretched chain.
    """

    q: Array
    value: float
    reached: bool


class Follower:
    """Moves a mechanism through its closed configurations by one coordinate at a time.

    The other coordinates follow with the smallest velocity (Euclidean norm, radians and characteristic lengths κ) that
    the constraints allow, nonholonomic rows included. Steps go along the tangent and are closed across it, so that dead
    points are found and not jumped over; a step that turns too far, or whose loops do not close, is halved. At a
    singular configuration the motion continues along its incoming tangent; from a singular start it takes the branch
    that moves the coordinate most. The assembly mode never changes. Redundant rows change nothing.

    Parameters
    ----------
    locked : joints or coordinates that keep their values.
    t : time [s] of constraints that depend on it.
    """

    def __init__(self, system: System, locked: Sequence[str] = (), t: float = 0.0) -> None:
        self.system, self.t = system, t
        self.indices = scalar_coordinates(system)
        self.scale = system.characteristic.columns
        free = free_velocities(system, locked)
        self.held = np.eye(system.nv)[:, free == 0.0]
        self._tangent: Array | None = None
        self._place: Array | None = None

    def drag(self, q: Array, name: str, value: float) -> Following:
        """Return the `Following` after moving the coordinate ``name`` from q to ``value`` [rad, m], or as far as it
        goes.

        Loops open by up to 1e-5 at q are closed first. Wider ones, an unknown coordinate and a component of a
        quaternion are an `ArgumentError`.
        """
        check_known("scalar coordinate", name, self.indices)
        if not np.isfinite(value):
            raise ArgumentError(f"{name}: the value must be finite, got {value!r}", element=name)
        k, j = self.indices[name]
        q = closed_start(self.system, real_array(q), self.t)
        before = (
            self._tangent
            if self._place is not None and np.allclose(q, self._place, atol=SAME_PLACE)
            else None
        )
        allowed = max(FOLLOW_OPEN, DATA_OPEN * open_by(self.system, q, self.t))
        cut = rank_cut(self.system, q, self.t, LEAST_DIVISOR, even=True)
        q, tangent, reached = self._walk(q, k, j, float(value), before, allowed, cut)
        self._place, self._tangent = q, tangent
        return Following(read_only(q.copy()), float(q[k]), reached)

    def reach(self, q: Array, name: str, span: float = np.pi) -> tuple[float, float]:
        """Return the lowest and highest value that the coordinate reaches from q within ±``span`` of it."""
        value = float(q[self.indices[name][0]]) if name in self.indices else 0.0
        low, high = (Follower.drag(self._fresh(), q, name, value + side * span).value for side in (-1.0, 1.0))
        return low, high

    def turns(self, name: str) -> bool:
        """Return whether the coordinate is an angle that repeats after a full turn."""
        return self.indices[name][0] in turning(self.system)

    def _fresh(self) -> Follower:
        duplicate = Follower(self.system, (), self.t)
        duplicate.held = self.held
        return duplicate

    def _walk(
        self, q: Array, k: int, j: int, value: float, before: Array | None, allowed: float, cut: float
    ) -> tuple[Array, Array | None, bool]:
        """Return (q with q[k] nearest to the value, last tangent x̂ = scale · x, whether the value is reached)."""
        length, tangent, rank = WALK_STEP, before, 0
        for _ in range(FOLLOW_STEPS):
            gap = float(self.scale[j] * (value - q[k]))
            if abs(gap) <= THERE:
                return q, tangent, True
            side = float(np.sign(gap))
            way, rank = self._way(q, j, side, tangent, rank, cut)
            if way is None:
                return q, tangent, False
            while True:
                last = abs(gap) <= length * abs(way[j])
                p = self._step(q, way, j, gap if last else None, length, allowed)
                if p is not None:
                    ahead, _ = self._way(p, j, side, way, rank, cut)
                    if ahead is not None and ahead @ way > STRAIGHT and (p[k] - q[k]) * side > 0.0:
                        break
                length /= 2
                if length < SHORTEST_PART * WALK_STEP:
                    return q, way, False
            q, tangent, length = p, way, min(WALK_STEP, 2 * length)
            if last:
                q[k] = value if self.scale[j] * abs(q[k] - value) < THERE else q[k]
        return q, tangent, False

    def _way(
        self, q: Array, j: int, side: float, before: Array | None, rank: int, cut: float
    ) -> tuple[Array | None, int]:
        """Return the unit tangent x̂ that moves v_j in direction ``side``, and the rank; None if there is none."""
        parts = ranked(self._rows(q), cut)
        kernel = parts.null
        if kernel.shape[1] == 0:
            return None, parts.rank
        singular = parts.rank < (rank or self._rank_nearby(q, cut))
        if singular and before is None:
            before = self._branch(q, j)
        if singular and before is not None:
            way = kernel @ (kernel.T @ before)
            way *= side * np.sign(way[j]) if way[j] else 1.0
        else:
            way = kernel @ kernel[j]
            if np.linalg.norm(kernel[j]) < DEAD_POINT:  # at a dead point: as one came, or any way
                way = kernel @ (kernel.T @ before) if before is not None else kernel[:, 0]
            else:
                way *= side
        size = float(np.linalg.norm(way))
        return (way / size if size > 0.0 else None), max(rank, parts.rank)

    def _rank_nearby(self, q: Array, cut: float) -> int:
        """Return the rank of A and the held velocities beside q."""
        kick = np.random.default_rng(7).standard_normal(self.system.nv)
        kick -= self.held @ (self.held.T @ kick)
        beside = self.system.move(q, KICK * kick / np.linalg.norm(kick) / self.scale)
        return ranked(self._rows(close(self.system, beside, self.t, self.held)), cut).rank

    def _rows(self, q: Array) -> Array:
        """Return A in characteristic units with the rows of the held velocities below."""
        return np.vstack(
            [self.system.characteristic.scaled_rows(finite_jacobian(self.system, q, self.t)), self.held.T]
        )

    def _branch(self, q: Array, j: int) -> Array | None:
        """Return the unit tangent x̂ of the branch through a singular configuration that moves v_j most."""
        cut = rank_cut(self.system, q, self.t, LEAST_DIVISOR)
        branches, _ = find_branches(self.system, q, self.t, tangents(self.system, q, self.t, cut))
        ways = []
        for branch in branches:
            if branch.cone:
                ways.append(self.scale * difference(self.system, q, branch.q))
            else:
                basis, _ = np.linalg.qr(self.scale[:, None] * branch.tangents)
                ways.append(basis @ basis[j])
        ways = [way / np.linalg.norm(way) for way in ways if np.linalg.norm(way) > DEAD_POINT]
        return max(ways, key=lambda way: abs(way[j]), default=None)

    def _step(
        self, q: Array, way: Array, j: int, gap: float | None, length: float, allowed: float
    ) -> Array | None:
        """Return the closed configuration one step ahead, at ``gap`` along v_j if given; None if none is near."""
        arc = length if gap is None else gap / way[j]
        aim = self.system.move(q, arc * way / self.scale)
        across = (self.scale * way)[:, None] if gap is None else np.eye(len(way))[:, [j]]
        across, _ = np.linalg.qr(np.column_stack([self.held, across]))
        p = close(self.system, aim, self.t, across)
        aside = float(np.linalg.norm(self.scale * difference(self.system, aim, p)))
        return p if open_by(self.system, p, self.t) <= allowed and aside <= STEP_ASIDE * abs(arc) else None
