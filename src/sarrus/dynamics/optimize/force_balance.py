"""`balance_forces`: the least forces of actuators and contacts that balance a load, each contact within its law.

    R u + C y = w,    y by blocks in friction cones, half-lines and intervals,    u within limits

u is minimal, then y is minimal for this u. Both are cone programs with a certificate of the answer or of infeasibility;
without a balance, `ForceBalance` gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.optimize.cone_program import ConeSolution, solve_cone_program
from sarrus.dynamics.optimize.cone_rows import ConeRows, bounds, stack
from sarrus.dynamics.optimize.friction_blocks import Blocks, allowed_rows
from sarrus.dynamics.optimize.tolerances import (
    BALANCE_RIDGE,
    BALANCED_LOAD,
    FORCE_OF_NONE,
    FRICTION_FACTOR_FOUND,
    LEAST_FRICTION_FACTOR,
    MOST_FRICTION_FACTOR,
)
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT


@dataclass(frozen=True, eq=False)
class ForceBalance:
    """Forces that balance a load, or have the smallest residual.

    Attributes
    ----------
    u, y : forces of actuators and of blocks.
    missing : w − R u − C y.
    determined : mask of the y that are unique for this u (without regard to the laws).
    friction : returns the least factor of all friction coefficients with which a balance exists, with any u: at most 1
        if one exists; inf if no friction is enough. Values below 1e-3 are not resolved.
    balances : tells whether a balance exists with all friction coefficients multiplied by a factor.
    pulling : blocks that would have to pull, even with unlimited friction; () if a balance exists.
    status : OK; INFEASIBLE (the laws allow no balance); NOT_ACHIEVABLE (no forces reach the load, even without the
        laws); ALMOST (residual above 1e-9).
    """

    u: Array
    y: Array
    missing: Array
    determined: np.ndarray
    friction: Callable[[], float]
    balances: Callable[[float], bool]
    pulling: tuple[int, ...]
    status: Status


def balance_forces(
    reach: Array,
    ways: Array,
    load: Array,
    contacts: Sequence[tuple[int, float]],
    dry: Sequence[tuple[int, float]] = (),
    *,
    weights: Array | None = None,
    sizes: Array | None = None,
    limits: Array | None = None,
) -> ForceBalance:
    """Return u and y with R u + C y = w.

    Parameters
    ----------
    reach, ways, load : R (n × nu), C (n × k), w (n,), in coordinates in which the entries of w are comparable.
    contacts, dry : blocks of y, see `sarrus.optimize.solve_contact_problem`.
    weights : (nu,) of the squares of u, positive. sizes : (k,) units of the entries of y; equal within a cone.
    limits : (2, nu) lower and upper limits of u, infinite without a limit.

    Redundant rows and columns are legal: u is unique, y the least, see ``determined``. Without a balance, u and y have
    the smallest residual.
    """
    problem = _Problem(reach, ways, load, Blocks.of(contacts, dry), weights, sizes, limits)
    return problem.answer()


class _Problem:
    """The balance in units of weights, sizes and load: x = (u, y without entries that friction cannot provide)."""

    def __init__(
        self,
        reach: Array,
        ways: Array,
        load: Array,
        blocks: Blocks,
        weights: Array | None,
        sizes: Array | None,
        limits: Array | None,
    ) -> None:
        nu, k = reach.shape[1], ways.shape[1]
        self.blocks, self.nu, self.given = blocks, nu, load
        self.unit = np.concatenate(
            [
                np.ones(nu) if weights is None else 1.0 / np.sqrt(weights),
                np.ones(k) if sizes is None else sizes,
            ]
        )
        self.matrix = np.hstack([reach, ways]) * self.unit
        self.size = float(np.linalg.norm(load)) or 1.0
        self.load = load / self.size
        self.limits = None
        if limits is not None and nu:
            lower, upper = (limit / self.unit[:nu] / self.size for limit in limits)
            self.limits = bounds(lower, upper)

    # --- programs ------------------------------------------------------------------------------------

    def rows(self, blocks: Blocks, alive: np.ndarray) -> ConeRows:
        """Return the rows of the laws for the entries of x selected by ``alive``."""
        along = (np.eye(len(self.unit)) * self.unit)[self.nu :, alive]
        limit = np.where(np.isinf(blocks.limit), np.inf, blocks.limit / self.size)
        scaled = Blocks(blocks.owner, blocks.head, blocks.friction, limit)
        parts = [ConeRows(np.zeros((0, along.shape[1])), np.zeros(0), 0)]
        if blocks.count:
            parts.append(allowed_rows(along, np.zeros(len(along)), scaled))
        if self.limits is not None:
            G = np.hstack([self.limits.G, np.zeros((len(self.limits.G), along.shape[1] - self.nu))])
            parts.append(ConeRows(G, self.limits.h, self.limits.linear))
        return stack(parts)

    def alive(self, blocks: Blocks) -> np.ndarray:
        """Return a mask of the entries of x that may be nonzero."""
        return np.concatenate([np.ones(self.nu, dtype=bool), ~blocks.idle])

    def program(self, costs: Array, factor: float = 1.0, fixed: Array | None = None) -> Array | None:
        """Return the x of least Σ costs x² that balances the load with friction times ``factor``, None without any.

        ``fixed`` are the u, if given.
        """
        blocks = self.rough(factor)
        alive = self.alive(blocks)
        x = np.zeros(len(self.unit))
        matrix, load = self.matrix[:, alive], self.load
        rows = self.rows(blocks, alive)
        if fixed is not None:
            x[: self.nu], load = fixed, load - self.matrix[:, : self.nu] @ fixed
            matrix, alive[: self.nu] = matrix[:, self.nu :], False
            G = rows.G[:, self.nu :]
            kept = np.ones(len(G), dtype=bool)
            if self.limits is not None:  # the last half-lines
                kept[rows.linear - self.limits.linear : rows.linear] = False
            rows = ConeRows(G[kept], rows.h[kept], int(kept[: rows.linear].sum()), rows.cones)
        parts = ranked(matrix, relative=FINE_RANK_CUT)
        if np.linalg.norm(load - parts.left @ (parts.left.T @ load)) > BALANCED_LOAD:
            return None
        if parts.rank == 0:
            return x
        found = solve_cone_program(
            np.diag(costs[alive]),
            np.zeros(int(alive.sum())),
            rows.G,
            rows.h,
            parts.kept[:, None] * parts.right.T,
            parts.left.T @ load,
            cones=rows.cones,
            throw=False,
        )
        if not found.status.ok:
            return None
        x[alive] = found.x + parts.solve(load - matrix @ found.x)
        return x

    def rough(self, factor: float) -> Blocks:
        """Return the blocks with all friction coefficients multiplied by a factor."""
        return Blocks(self.blocks.owner, self.blocks.head, factor * self.blocks.friction, self.blocks.limit)

    def nearest(self, rows: ConeRows, alive: np.ndarray) -> ConeSolution:
        """Return the x with the smallest residual within the rows."""
        matrix = self.matrix[:, alive]
        return solve_cone_program(
            matrix.T @ matrix + BALANCE_RIDGE * np.eye(matrix.shape[1]),
            -matrix.T @ self.load,
            rows.G,
            rows.h,
            cones=rows.cones,
            throw=False,
        )

    # --- the answer ----------------------------------------------------------------------------------

    def answer(self) -> ForceBalance:
        """Return the least forces, or those with the smallest residual and the reason."""
        nu = self.nu
        of_u = np.arange(len(self.unit)) < nu
        x = self.program(of_u.astype(float)) if nu else self.program(np.ones(len(self.unit)))
        if x is not None and nu and len(self.unit) > nu:
            least = self.program(np.ones(len(self.unit)), fixed=x[:nu])
            x = x if least is None else least
        status, balanced = Status.OK, x is not None
        pulling: tuple[int, ...] = ()
        if x is None:
            status = Status.NOT_ACHIEVABLE if self.unreachable else Status.INFEASIBLE
            pulling = () if self.unreachable else self.pulling()
            x = np.zeros(len(self.unit))
            if len(x):
                alive = self.alive(self.blocks)
                x[alive] = self.nearest(self.rows(self.blocks, alive), alive).x
            if np.linalg.norm(self.matrix @ x - self.load) <= BALANCED_LOAD:
                status, pulling, balanced = Status.OK, (), True
        if status is Status.OK and np.linalg.norm(self.matrix @ x - self.load) > BALANCED_LOAD:
            status = Status.ALMOST
        force = x * self.unit * self.size
        return ForceBalance(
            u=force[:nu],
            y=force[nu:],
            missing=(self.load - self.matrix @ x) * self.size,
            determined=self.determined,
            friction=partial(self.friction, balanced),
            balances=self.balances,
            pulling=pulling,
            status=status,
        )

    @property
    def determined(self) -> np.ndarray:
        """Mask of the y that no change without effect on the load alters."""
        alive = self.alive(self.blocks)[self.nu :]
        out = np.ones(len(alive), dtype=bool)
        null = ranked(self.matrix[:, self.nu :][:, alive], relative=FINE_RANK_CUT).null
        out[alive] = np.abs(null).max(axis=1, initial=0.0) < FORCE_OF_NONE
        return out

    @cached_property
    def unreachable(self) -> bool:
        """Whether a part of the load is outside the range of [R C]."""
        parts = ranked(self.matrix[:, self.alive(self.rough(1.0))], relative=FINE_RANK_CUT)
        return bool(np.linalg.norm(self.load - parts.left @ (parts.left.T @ self.load)) > BALANCED_LOAD)

    def balances(self, factor: float) -> bool:
        """Tell whether a balance exists with friction times ``factor``."""
        return self.program(np.ones(len(self.unit)), factor) is not None

    def friction(self, balanced: bool) -> float:
        """Return the least factor of friction with which a balance exists."""
        if not (self.blocks.friction > 0.0).any():
            return 0.0 if balanced else float("inf")
        low, high = 0.0, 1.0
        if not balanced:
            low, high = 1.0, MOST_FRICTION_FACTOR
            if self.unreachable or not self.balances(high):
                return float("inf")
        elif self.balances(0.0):
            return 0.0
        while high - low > FRICTION_FACTOR_FOUND * high and high > LEAST_FRICTION_FACTOR:
            middle = np.sqrt(low * high) if low > 0.0 and high > 2.0 * low else 0.5 * (low + high)
            low, high = (low, middle) if self.balances(middle) else (middle, high)
        return float(high)

    def pulling(self) -> tuple[int, ...]:
        """Return the blocks that would have to pull for a balance with unlimited friction.

        Pulling forces with the least sum are taken, of which most are zero.
        """
        blocks = self.blocks
        n, cones = len(self.unit), np.flatnonzero(blocks.cone)
        alive = self.alive(blocks)
        heads = np.array([int(np.flatnonzero(blocks.owner == k)[0]) for k in cones], dtype=int) + self.nu
        count = len(cones)
        if count == 0:
            return ()
        # x, then pulls p ≥ 0 with x_head + p ≥ 0
        G = np.zeros((2 * count, n + count))
        G[np.arange(count), heads] = -1.0
        G[:count, n:] = -np.eye(count)
        G[count:, n:] = -np.eye(count)
        balls = [self.rows_of_limits(n, count)]
        rows = stack([ConeRows(G, np.zeros(2 * count), 2 * count), *balls])
        columns = np.concatenate([alive, np.ones(count, dtype=bool)])
        parts = ranked(self.matrix[:, alive], relative=FINE_RANK_CUT)
        equal = np.hstack([parts.kept[:, None] * parts.right.T, np.zeros((parts.rank, count))])
        found = solve_cone_program(
            np.diag(BALANCE_RIDGE * np.ones(int(columns.sum()))),
            np.concatenate([np.zeros(int(alive.sum())), np.ones(count)]),
            rows.G[:, columns],
            rows.h,
            equal,
            parts.left.T @ self.load,
            cones=rows.cones,
            throw=False,
        )
        if not found.status.ok:
            return ()
        pulls = found.x[-count:]
        return tuple(int(k) for k, pull in zip(cones, pulls) if pull > FORCE_OF_NONE)

    def rows_of_limits(self, n: int, more: int) -> ConeRows:
        """Return the rows of dry friction and of limits of u, for x followed by ``more`` variables."""
        dry = np.flatnonzero(~self.blocks.cone)
        parts = [ConeRows(np.zeros((0, n + more)), np.zeros(0), 0)]
        for k in dry:
            place = self.nu + int(np.flatnonzero(self.blocks.owner == k)[0])
            G = np.zeros((2, n + more))
            G[:, place] = self.unit[place], -self.unit[place]
            parts.append(ConeRows(G, np.full(2, self.blocks.limit[k] / self.size), 2))
        if self.limits is not None:
            G = np.hstack([self.limits.G, np.zeros((len(self.limits.G), n - self.nu + more))])
            parts.append(ConeRows(G, self.limits.h, self.limits.linear))
        return stack(parts)
