"""`BalanceTable` and `ForceBalance`: the least forces of actuators and contacts that balance a load, within their laws.

    R u + C y = w,    y by blocks in friction cones, half-lines and intervals,    u within limits

u is minimal, then y is minimal for this u (`sarrus.kernels.states.force_balance`). Both are cone programs with a
certificate of the answer or of infeasibility; without a balance, `ForceBalance` gives the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.cone_program import ITERATIONS, solve_cone_program
from sarrus.dynamics.optimize.cone_rows import ConeRows, bounds, stack
from sarrus.dynamics.optimize.tolerances import (
    BALANCE_RIDGE,
    BALANCED_LOAD,
    FORCE_OF_NONE,
    FRICTION_FACTOR_FOUND,
    LEAST_FRICTION_FACTOR,
    MOST_FRICTION_FACTOR,
    PROGRAM_ACCEPTED,
    PROGRAM_TARGET,
    WARM_SHIFT,
)
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.kernels.memory import balance_layout as bl
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.platform.c_function import cone_program, force_balance


class BalanceTable:
    """The table of a balance with up to ``motions`` rows, ``controls`` of u and ``forces`` of y, and its arrays."""

    def __init__(self, motions: int, controls: int, forces: int) -> None:
        unknowns = controls + forces
        # each y has its own half-line or cone, of two rows for dry friction
        cones = 2 * forces + 2 * controls
        self.program = program = cl.ConeTable.zeros(cones + motions + cones + unknowns)
        program.variables, program.equalities, program.cones = unknowns, motions, cones
        program[cl.SIZES : cl.SIZES + cones] = 1
        self.storage = cl.program_storage(program)
        self.limits, self.tolerances = cl.Limits.zeros(), bl.BalanceTolerances.zeros()
        limits, tolerances = self.limits, self.tolerances
        limits.target, limits.accepted = PROGRAM_TARGET, PROGRAM_ACCEPTED
        limits.iterations, limits.warm_shift = ITERATIONS, WARM_SHIFT
        tolerances.balanced, tolerances.none, tolerances.cut = BALANCED_LOAD, FORCE_OF_NONE, FINE_RANK_CUT
        tolerances.ridge = BALANCE_RIDGE
        self.record = record = bl.Balance.zeros()
        record.motions, record.controls, record.forces = motions, controls, forces
        record.most_motions, record.most_unknowns = motions, unknowns

    def allocate(self) -> None:
        """Make the arrays and set the pointers of the table."""
        record, program = self.record, self.program
        f, n = record.most_motions, record.most_unknowns
        arrays = [np.zeros(size) for size in self.storage]
        program.program, program.work, program.answer = arrays
        room, order = np.zeros(sum(bl.balance_sizes(f, n))), np.zeros(f + 1, dtype=np.int64)
        self.limits_of_controls = np.zeros((2, record.controls))
        program.limits, record.room, record.order, record.program = self.limits, room, order, program
        record.tolerances, record.solver = self.tolerances, cone_program.address
        record.limits = self.limits_of_controls
        # the arrays by name
        self.room: bl.BalanceRoom = bl.view_fields(room, bl.balance_sizes(f, n))
        self._kept = arrays, room, order

    def restrict(self, limits: Array | None) -> None:
        """Set the limits of u (2, nu), lower and upper, or none."""
        self.record.limited = limits is not None
        if limits is not None:
            self.limits_of_controls[:] = limits

    def copy(self) -> ForceBalance:
        """Return the balance, in units in which the load has length one, for questions about it."""
        record, room = self.record, self.room
        f, nu, k = record.motions, record.controls, record.forces
        n, size = nu + k, float(room.size[0])
        unit, dry = room.units[:n] * size, room.dry[:k] != 0.0
        law = np.where(dry, room.law[:k] / unit[nu:], room.law[:k])
        limits = self.limits_of_controls / unit[:nu] if record.limited and nu else None
        matrix = room.matrix[: f * n].reshape(f, n).copy()
        return ForceBalance(matrix, room.load[:f].copy(), nu, room.block[:k].astype(int), law, dry, limits)


@dataclass(frozen=True, eq=False)
class ForceBalance:
    """A balance of forces of a state, R u + C y = w, in units in which w has length one.

    ``matrix`` (f × n) is [R C], ``load`` w, ``controls`` the number of u. Of each y: the number of its ``block``, whose
    y are consecutive, the normal force first; its friction coefficient, or largest dry friction, as ``law``; a mask of
    those that are ``dry`` friction. ``limits`` (2, nu) are those of u, None without limits.
    """

    matrix: Array
    load: Array
    controls: int
    block: np.ndarray
    law: Array
    dry: np.ndarray
    limits: Array | None

    @property
    def _heads(self) -> np.ndarray:
        """Mask of the y that are the first of their block."""
        return np.diff(self.block, prepend=-1) != 0

    def balances(self, factor: float) -> bool:
        """Tell whether a balance exists with all friction coefficients multiplied by a factor."""
        kept = self._heads | self.dry | (factor * self.law > 0.0)
        table = BalanceTable(len(self.load), self.controls, int(kept.sum()))
        table.allocate()
        table.restrict(self.limits)
        room = table.room
        room.matrix[:] = self.matrix[:, np.concatenate([np.ones(self.controls, dtype=bool), kept])].ravel()
        room.load[:], room.size[:], room.units[:] = self.load, 1.0, 1.0
        count = table.record.forces
        room.block[:count], room.dry[:count] = self.block[kept], self.dry[kept]
        room.law[:count] = np.where(self.dry, self.law, factor * self.law)[kept]
        return force_balance(table.record, table.limits_of_controls, bl.ANY) == bl.SUPPORTED

    @property
    def unreachable(self) -> bool:
        """Whether a part of the load is outside the range of [R C]."""
        parts = ranked(self.matrix, relative=FINE_RANK_CUT)
        return bool(np.linalg.norm(self.load - parts.left @ (parts.left.T @ self.load)) > BALANCED_LOAD)

    def friction(self, balanced: bool) -> float:
        """Return the least factor of all friction coefficients with which a balance exists, with any u.

        At most 1 if one exists (``balanced``); inf if no friction is enough. Values below 1e-3 are not resolved.
        """
        if not (self.law[~self.dry] > 0.0).any():
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
        n, heads = self.matrix.shape[1], self.controls + np.flatnonzero(self._heads & ~self.dry)
        count, dry = len(heads), self.controls + np.flatnonzero(self.dry)
        if count == 0:
            return ()
        # x, then pulls p ≥ 0 with x_head + p ≥ 0
        G = np.zeros((2 * count, n + count))
        G[np.arange(count), heads] = -1.0
        G[:count, n:] = -np.eye(count)
        G[count:, n:] = -np.eye(count)
        most = np.full((2, n), [[-np.inf], [np.inf]])
        most[:, dry] = np.array([[-1.0], [1.0]]) * self.law[self.dry]
        if self.limits is not None:
            most[:, : self.controls] = self.limits
        within = bounds(*most)
        more = ConeRows(np.hstack([within.G, np.zeros((len(within.G), count))]), within.h, within.linear)
        rows = stack([ConeRows(G, np.zeros(2 * count), 2 * count), more])
        parts = ranked(self.matrix, relative=FINE_RANK_CUT)
        found = solve_cone_program(
            BALANCE_RIDGE * np.eye(n + count),
            np.concatenate([np.zeros(n), np.ones(count)]),
            rows.G,
            rows.h,
            np.hstack([parts.kept[:, None] * parts.right.T, np.zeros((parts.rank, count))]),
            parts.left.T @ self.load,
            cones=rows.cones,
            throw=False,
        )
        if not found.status.ok:
            return ()
        return tuple(
            int(self.block[head - self.controls])
            for head, pull in zip(heads, found.x[n:])
            if pull > FORCE_OF_NONE
        )
