"""`balance_forces`: the least forces of actuators and contacts that balance a load, each contact within its law.

    R u + C y = w,    y by blocks in friction cones, half-lines and intervals,    u within limits

u is the least, and of the y that go with it the least is taken. Both are cone programs, which prove their answer or
that there is none; where there is none, `ForceBalance` says what is in the way.
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
    """Forces that balance a load, or come nearest to it.

    Attributes
    ----------
    u, y : forces of actuators and of blocks.
    missing : w − R u − C y.
    determined : which y are the same in all balances with this u, laws left aside.
    friction : finds the least factor of all friction coefficients with which there is a balance, with any u: at most 1
        where there is one; inf where no friction is enough. Below 1e-3 it is not looked for any further.
    balances : tells whether there is one with all friction coefficients multiplied by a factor.
    pulling : blocks that would have to pull, even if friction were without limit; () where there is a balance.
    status : OK; INFEASIBLE (the laws allow no balance); NOT_ACHIEVABLE (nothing that acts reaches the
        load, laws left aside); ALMOST (to more than 1e-9).
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
    reach, ways, load : R (n × nu), C (n × k), w (n,), in coordinates in which the entries of w compare.
    contacts, dry : blocks of y, see `sarrus.dynamics.optimize.solve_contact_problem`.
    weights : (nu,) of the squares of u, positive. sizes : (k,) what entries of y are measured by; alike in a cone.
    limits : (2, nu) lower and upper, infinite where there is none.

    Redundant rows and columns are ordinary: u is unique, y the least, see ``determined``. Where there is no balance, u
    and y are those that miss w least.
    """
    problem = _Problem(reach, ways, load, Blocks.of(contacts, dry), weights, sizes, limits)
    return problem.answer()


class _Problem:
    """The balance in units in which weights, sizes and the load are one: x = (u, y without what friction cannot do)."""

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
        """Return the rows of the laws for the entries of x that are alive."""
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
        """Return which entries of x may differ from zero."""
        return np.concatenate([np.ones(self.nu, dtype=bool), ~blocks.idle])

    def program(self, costs: Array, factor: float = 1.0, fixed: Array | None = None) -> Array | None:
        """Return the x of least Σ costs x² that balances the load with this part of friction, None without any.

        ``fixed`` are the u, where they are given.
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
            if self.limits is not None:  # they are the last half-lines
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
        """Return the blocks with all friction coefficients multiplied."""
        return Blocks(self.blocks.owner, self.blocks.head, factor * self.blocks.friction, self.blocks.limit)

    def nearest(self, rows: ConeRows, alive: np.ndarray) -> ConeSolution:
        """Return the x that misses the load least within rows."""
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
        """Return the least forces, or those that miss the load least and why."""
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
        """Which y no change keeps the balance of."""
        alive = self.alive(self.blocks)[self.nu :]
        out = np.ones(len(alive), dtype=bool)
        null = ranked(self.matrix[:, self.nu :][:, alive], relative=FINE_RANK_CUT).null
        out[alive] = np.abs(null).max(axis=1, initial=0.0) < FORCE_OF_NONE
        return out

    @cached_property
    def unreachable(self) -> bool:
        """Whether the load has a part that nothing reaches, whatever the laws."""
        parts = ranked(self.matrix[:, self.alive(self.rough(1.0))], relative=FINE_RANK_CUT)
        return bool(np.linalg.norm(self.load - parts.left @ (parts.left.T @ self.load)) > BALANCED_LOAD)

    def balances(self, factor: float) -> bool:
        """Tell whether there is a balance with this part of friction."""
        return self.program(np.ones(len(self.unit)), factor) is not None

    def friction(self, balanced: bool) -> float:
        """Return the least factor of friction with which there is a balance."""
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
        """Return which blocks would have to pull for a balance with friction without limit.

        Of the pulls that do, those of the least sum: most are zero.
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
        """Return the rows of dry friction and of limits of u, for x and ``more`` variables behind it."""
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
