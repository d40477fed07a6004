"""Peers for contact problems, compiled: projected Gauss–Seidel and ADMM, from zero, as many rounds as they are given.

Both get rows of about size one in every contact, as the solver of sarrus gives them to itself, and return the forces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from benchmarks.contact_instances import Problem
from sarrus.base.arrays import Array

# Gauss–Seidel: projections in a contact at each visit, and the relative change that ends them.
LOCAL, LOCAL_CHANGE = 20, 1e-3
# ADMM: the proximal weight, the exponent of the step ρ = √(L m) (L / m)^p to begin with, by how much it changes, the
# ratio of the residuals from which on it does, the share τ of ρ: those of Pinocchio's solver, and as good as any of
# p = 0, 0.2, 0.4, changes of 0.02 and 0.05, ratios of 2 and 10.
PROXIMAL, POWER, POWER_STEP, RATIO, SHARE = 1e-6, 0.2, 0.05, 10.0, 0.5


class Scaled(NamedTuple):
    """A problem with rows of size one: H as rows of nonzeros, blocks, their numbers, and what the rows were divided by.

    ``cones`` blocks are contacts, the others dry friction.
    """

    rows: Array
    starts: Array
    columns: Array
    entries: Array
    velocities: Array
    ends: Array
    numbers: Array
    cones: int
    units: Array


def scaled(problem: Problem) -> Scaled:
    """Return the problem in the form that the peers take."""
    blocks = [*problem.contacts, *problem.dry]
    sizes = np.array([size for size, _ in blocks])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    square = np.add.reduceat((problem.rows**2).sum(axis=1), ends[:-1])
    unit = np.where(square > 0.0, np.sqrt(square), 1.0)
    units = np.repeat(unit, sizes)
    rows = problem.rows / units[:, None]
    numbers = np.array([number for _, number in blocks], dtype=float)
    numbers[len(problem.contacts) :] *= unit[len(problem.contacts) :]
    columns = [np.flatnonzero(row) for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(found) for found in columns])])
    entries = np.concatenate([row[found] for row, found in zip(rows, columns)])
    return Scaled(
        rows, starts, np.concatenate(columns), entries, problem.velocities / units, ends, numbers,
        len(problem.contacts), units,
    )  # fmt: skip


@njit(cache=True)
def _project(cone: bool, number: float, x: Array) -> None:
    """Replace a block of forces by the nearest allowed one."""
    first = 1 if cone else 0
    tail = np.sqrt(np.sum(x[first:] ** 2))
    if cone:
        if tail <= number * x[0] and x[0] >= 0.0:
            return
        if number * tail <= -x[0]:
            x[:] = 0.0
            return
        x[0] = (x[0] + number * tail) / (1.0 + number * number)
        radius = number * x[0]
    else:
        if tail <= number:
            return
        radius = number
    if tail > 0.0:
        x[first:] *= radius / tail


@njit(cache=True, fastmath=True)
def gauss_seidel(problem: Scaled, rounds: int) -> Array:
    """Return the forces after so many rounds of nonsmooth contact dynamics (Moreau 1988, Jean 1999).

    Every contact in turn is solved by projections r ← P_K(r − ω (u + μ ‖u_t‖ n)), ω = 1/‖W_kk‖ (Jourdan, Alart and Jean
    1998). What the forces do to the whole, Hᵀr, is kept, so that a visit costs the nonzeros of its rows and no more.
    """
    starts, columns, entries, ends, numbers = (
        problem.starts, problem.columns, problem.entries, problem.ends, problem.numbers,
    )  # fmt: skip
    rows, b, m, blocks = problem.rows, problem.velocities, len(problem.velocities), len(problem.numbers)
    change, r = np.zeros(rows.shape[1]), np.zeros(m)
    diagonal, steps = np.zeros((m, 4)), np.zeros(blocks)
    for k in range(blocks):
        first, n = ends[k], ends[k + 1] - ends[k]
        size = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                diagonal[first + i, j] = np.sum(rows[first + i] * rows[first + j])
                total += abs(diagonal[first + i, j])
            size = max(size, total)
        steps[k] = 1.0 / size if size > 0.0 else 0.0
    u, x, free = np.zeros(4), np.zeros(4), np.zeros(4)
    for _ in range(rounds):
        for k in range(blocks):
            first, n = ends[k], ends[k + 1] - ends[k]
            if steps[k] == 0.0:
                continue
            for i in range(n):
                total = b[first + i]
                for at in range(starts[first + i], starts[first + i + 1]):
                    total += entries[at] * change[columns[at]]
                for j in range(n):
                    total -= diagonal[first + i, j] * r[first + j]
                free[i], x[i] = total, r[first + i]
            for _visit in range(LOCAL):
                slip = 0.0
                for i in range(n):
                    u[i] = free[i]
                    for j in range(n):
                        u[i] += diagonal[first + i, j] * x[j]
                    if i > 0:
                        slip += u[i] * u[i]
                if k < problem.cones:
                    u[0] += numbers[k] * np.sqrt(slip)
                moved, largest = 0.0, 0.0
                for i in range(n):
                    u[i] = x[i] - steps[k] * u[i]
                _project(k < problem.cones, numbers[k], u[:n])
                for i in range(n):
                    moved, largest = max(moved, abs(u[i] - x[i])), max(largest, abs(u[i]))
                    x[i] = u[i]
                if moved <= LOCAL_CHANGE * largest or n == 1:
                    break
            for i in range(n):
                more = x[i] - r[first + i]
                r[first + i] = x[i]
                for at in range(starts[first + i], starts[first + i + 1]):
                    change[columns[at]] += entries[at] * more
    return r / problem.units


@njit(cache=True)
def _largest_eigenvalue(W: Array) -> float:
    x = np.ones(len(W)) / np.sqrt(len(W))
    size = 0.0
    for _ in range(20):
        y = np.dot(W, x)
        size = np.sqrt(np.sum(y * y))
        if size == 0.0:
            return 1.0
        x = y / size
    return size


@njit(cache=True, fastmath=True)
def _solve(lower: Array, upper: Array, x: Array) -> None:
    """Replace x by (L Lᵀ)⁻¹ x; upper = Lᵀ, so that both are read by rows."""
    m = len(x)
    for i in range(m):
        total = x[i]
        for j in range(i):
            total -= lower[i, j] * x[j]
        x[i] = total / lower[i, i]
    for i in range(m - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, m):
            total -= upper[i, j] * x[j]
        x[i] = total / upper[i, i]


@njit(cache=True)
def admm(problem: Scaled, rounds: int) -> Array:
    """Return the forces after so many rounds of proximal ADMM (Carpentier, Le Lidec and Montaut, RSS 2024).

    x minimises with W, y is in the cones, z is their velocity, and the shift of De Saxcé is that of z. The exponent of
    ρ goes with the ratio of the residuals; then W + (η + τρ) is factored again.
    """
    ends, numbers, blocks = problem.ends, problem.numbers, len(problem.numbers)
    W, b = np.dot(problem.rows, problem.rows.T), problem.velocities
    m, big = len(b), _largest_eigenvalue(W)
    power = POWER
    rho = np.sqrt(big * PROXIMAL) * (big / PROXIMAL) ** power
    x, y, z, shifted = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    lower = np.linalg.cholesky(W + (PROXIMAL + SHARE * rho) * np.eye(m))
    upper = lower.T.copy()
    before_x, before_y = np.zeros(m), np.zeros(m)
    for _ in range(rounds):
        before_x[:], before_y[:] = x, y
        shifted[:] = b
        for k in range(problem.cones):
            first, n = ends[k], ends[k + 1] - ends[k]
            if n > 1:
                shifted[first] += numbers[k] * np.sqrt(np.sum(z[first + 1 : first + n] ** 2))
        x[:] = z + SHARE * rho * y + PROXIMAL * x - shifted
        _solve(lower, upper, x)
        y[:] = x - z / (SHARE * rho)
        for k in range(blocks):
            _project(k < problem.cones, numbers[k], y[ends[k] : ends[k + 1]])
        z -= SHARE * rho * (x - y)
        primal = np.abs(x - y).max()
        dual = np.abs(PROXIMAL * (x - before_x) + SHARE * rho * (y - before_y)).max()
        wanted = power
        if primal > RATIO * dual:
            wanted = power + POWER_STEP
        elif dual > RATIO * primal:
            wanted = power - POWER_STEP
        if wanted != power:
            power = wanted
            rho = np.sqrt(big * PROXIMAL) * (big / PROXIMAL) ** power
            lower = np.linalg.cholesky(W + (PROXIMAL + SHARE * rho) * np.eye(m))
            upper = lower.T.copy()
    return y / problem.units
