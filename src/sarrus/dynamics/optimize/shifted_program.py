"""`ShiftedProgram`: the cone program of a contact problem with given shift, with forces or motions as unknowns.

The forces r of ½ rᵀW r + (b + s)ᵀr → min in their cones are the multipliers of the motions v = Hᵀ r of ½ vᵀv → min with
H v + b + s in the dual cones, and dry friction adds limit · ‖u‖ (Acary, Cadoux, Lemaréchal and Malick, ZAMM 91, 2011).
With redundant rows there are fewer motions than forces, and the motions are unique.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.cone_program import ConeProgram
from sarrus.dynamics.optimize.friction_blocks import Blocks, allowed_rows
from sarrus.dynamics.optimize.tolerances import SHIFTED_RIDGE
from sarrus.kernels.linalg import dense


class ShiftedProgram:
    """Solves the program of rows H (m, k), W = H Hᵀ, for a sequence of shifts."""

    def __init__(self, H: Array, W: Array, blocks: Blocks) -> None:
        self.H, self.W, self.blocks = H, W, blocks
        self.balls = np.flatnonzero(~blocks.cone & (blocks.limit > 0.0))
        self.by_motion = H.shape[1] + len(self.balls) < (~blocks.idle).sum()

    def solve(self, shifted: Array) -> Array:
        """Return the forces (m,) for b + s; without a solution those of the last iterate."""
        if self.by_motion:
            G, rows, scale, program = self._motions
            cost = np.zeros(program.variables)
            cost[self.H.shape[1] :] = self.blocks.limit[self.balls]
            own = rows >= 0
            found = program.solve(
                self._inertia, cost, G, np.where(own, shifted[rows] * scale, 0.0), throw=False
            )
            if found.status.ok:
                forces = np.zeros(len(shifted))
                forces[rows[own]] = (scale * found.dual)[own]
                return forces
        return self._of_forces(shifted)

    def _of_forces(self, shifted: Array) -> Array:
        """Return the solution with forces as unknowns."""
        if self.blocks.idle.all():
            return np.zeros(len(shifted))
        along, W, G, h, program = self._forces
        return dense.product(along, program.solve(W, dense.product(along.T, shifted), G, h, throw=False).x)

    @cached_property
    def _inertia(self) -> Array:
        return np.diag(np.repeat([1.0, 0.0], [self.H.shape[1], len(self.balls)]))

    @cached_property
    def _motions(self) -> tuple[Array, np.ndarray, Array, ConeProgram]:
        """G, the row of the problem for each row (−1 for the bound of a ball), its scale, and the program.

        The tails of a contact are scaled by μ.
        """
        blocks, k = self.blocks, self.H.shape[1]
        lines: list[int] = []
        cones: list[list[int]] = []
        for j in range(blocks.count):
            own = np.flatnonzero((blocks.owner == j) & ~blocks.idle).tolist()
            if len(own) == 1 and blocks.cone[j]:
                lines += own
            elif own:
                cones.append(own if blocks.cone[j] else [-1, *own])
        rows = np.array([*lines, *(row for own in cones for row in own)], dtype=int)
        owner = blocks.owner[rows]
        tails = (rows >= 0) & ~blocks.head[rows] & blocks.cone[owner]
        scale = np.where(tails, blocks.friction[owner], 1.0)
        G = np.zeros((len(rows), k + len(self.balls)))
        G[:, :k] = np.where((rows >= 0)[:, None], -scale[:, None] * self.H[rows], 0.0)
        G[rows < 0, k + np.arange(len(self.balls))] = -1.0
        program = ConeProgram(G.shape[1], linear=len(lines), cones=[len(own) for own in cones])
        return G, rows, scale, program

    @cached_property
    def _forces(self) -> tuple[Array, Array, Array, Array, ConeProgram]:
        """The admissible forces by columns, W and the rows of the program for them."""
        along = np.eye(len(self.W))[:, ~self.blocks.idle]
        rows = allowed_rows(along, np.zeros(len(self.W)), self.blocks)
        W = dense.product(along.T, self.W, along) + SHIFTED_RIDGE * np.eye(along.shape[1])
        program = ConeProgram(along.shape[1], linear=len(rows.h) - sum(rows.cones), cones=rows.cones)
        return along, W, rows.G, rows.h, program
