"""Contact problems by cone programs with given shift, where the solver finds no answer: a few of ten thousand problems.

Each program has the shift μ ‖u_t‖ of the last answer (Acary, Cadoux, Lemaréchal and Malick, ZAMM 91, 2011). Its answer
comes near the solution, and Newton's method with dense W goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.friction_blocks import Blocks
from sarrus.dynamics.optimize.shifted_program import ShiftedProgram
from sarrus.dynamics.optimize.tolerances import (
    PROGRAMS_MET,
    PROGRAMS_TARGET,
)
from sarrus.kernels.contact.tolerances import RESIDUAL_ACCEPTED, VANISHING_VELOCITY
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.platform.c_function import contact_problem

# Counts: starts by sweeps before cone programs; largest number of cone programs; residual of a good answer with forces
# of size one, and of any accepted answer; number of cone programs without progress that ends; number from which on the
# shift is the mean of the last two.
BEGINNINGS, ROUNDS, ENOUGH, MANY, PATIENCE, TURNS = 4, 100, 4, 60, 15, 10


def powers_of_two(sizes: ArrayLike) -> Array:
    """Return the nearest powers of two, 1 for zero: division by them costs no digit."""
    return np.asarray(np.exp2(np.rint(np.log2(np.where(np.greater(sizes, 0.0), sizes, 1.0)))))


class ContactPrograms:
    """A problem with rows H (m, k), W = H Hᵀ, every block of rows and b scaled to about size one."""

    def __init__(self, H: Array, b: Array, blocks: Blocks) -> None:
        sizes = np.sqrt(np.bincount(blocks.owner, (H * H).sum(axis=1), blocks.count))
        sizes = powers_of_two(sizes)
        self.factors = 1.0 / sizes[blocks.owner]
        self.H = H * self.factors[:, None]
        size = float(np.abs(b * self.factors).max(initial=0.0))
        self.size = float(powers_of_two(size)) if size > VANISHING_VELOCITY else 1.0
        self.b = b * self.factors / self.size
        self.W = dense.product(self.H, self.H.T)
        self.blocks = replace(blocks, limit=blocks.limit * sizes / self.size)
        self.program = ShiftedProgram(self.H, self.W, self.blocks)

    def solve(self, over: Callable[[], bool]) -> tuple[Array, float]:
        """Return forces and their residual, from zero forces; the search ends when ``over`` is True."""
        best, least = self.newton(np.zeros(len(self.b)), BEGINNINGS)
        programs, found, shifted = 0, 0, self.b
        while least > PROGRAMS_TARGET and programs < ROUNDS and not over():
            r = self.program.solve(shifted)
            programs += 1
            if not np.isfinite(r).all():
                break
            ended, left = self.newton(r, -(programs % 2) * (programs % 7))
            if left < least:
                best, least, found = ended, left, programs
            if least <= RESIDUAL_ACCEPTED and programs > found + PATIENCE:
                break
            size = 1.0 if programs >= MANY else max(1.0, np.abs(best).max(initial=0.0))
            if least * size <= PROGRAMS_MET and programs >= ENOUGH:
                break
            u = dense.product(self.W, r) + self.b
            ahead = self.b + (self.blocks.shift(u) - u)
            shifted = ahead if programs < TURNS else 0.5 * (shifted + ahead)
        if least > RESIDUAL_ACCEPTED and np.isfinite(best).all():
            ended, left = self.newton(best, BEGINNINGS)
            best, least = (ended, left) if left < least else (best, least)
        return best * self.factors * self.size, least

    def newton(self, r: Array, beginnings: int) -> tuple[Array, float]:
        """Return the best forces of Newton's method and their residual."""
        m, blocks = len(r), self.blocks
        table, best = cp.ContactProblem.zeros(), np.array(r)
        work = np.zeros(sum(cp.contact_sizes(m, blocks.count, m * m)))
        sizes = np.bincount(blocks.owner, minlength=blocks.count)
        numbers = np.where(blocks.cone, blocks.friction, blocks.limit)
        table.rows, table.blocks, table.contacts = m, blocks.count, int(blocks.cone.sum())
        table.sizes, table.numbers, table.delassus, table.velocities = sizes, numbers, self.W, self.b
        table.forces, table.work = best, work
        contact_problem.entry(table.ctypes.data, best.ctypes.data, beginnings)
        return best, float(work.view(cp.ContactFacts).residual)
