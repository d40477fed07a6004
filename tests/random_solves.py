"""Random constrained solves whose matrices are parameters of one system, and what their answers ought to be.

``python tests/random_solves.py 5000`` judges so many of every shape and prints what it found.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import lru_cache

import casadi as ca
import mpmath as mp
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

import sarrus as sr
from sarrus import Status

Array = NDArray[np.float64]
# Rows that dependent data meet to this count as consistent, as `Options.inconsistent` says.
CONSISTENT, CONTRADICTORY = 1e-12, 1e-4


@lru_cache
def system_of(n: int, m: int) -> sr.System:
    """Return a system M a + h = Aᵀλ, A a + γ = 0 (m rows) whose numbers are all parameters."""
    lower = [(i, j) for i in range(n) for j in range(i + 1)]
    names = [f"M{i}_{j}" for i, j in lower] + [f"h{i}" for i in range(n)]
    names += [f"A{i}_{j}" for i in range(m) for j in range(n)] + [f"g{i}" for i in range(m)]
    values = {name: float(name[0] == "M" and name[1:].split("_")[0] == name.split("_")[-1]) for name in names}

    def mass(q: ca.SX, p: object) -> list[list[ca.SX]]:
        return [[getattr(p, f"M{max(i, j)}_{min(i, j)}") for j in range(n)] for i in range(n)]

    def rows(q: ca.SX, v: ca.SX, t: ca.SX, p: object) -> list[ca.SX]:
        return [
            sum(getattr(p, f"A{i}_{j}") * v[j] for j in range(n)) + getattr(p, f"g{i}") * t for i in range(m)
        ]

    return sr.System.from_equations(
        n,
        mass,
        lambda q, v, p: [getattr(p, f"h{i}") for i in range(n)],
        **({"velocity": rows} if m else {}),
        parameters=values,
        name=f"random {n} {m}",
    )


@dataclass(frozen=True)
class Case:
    """One problem. ``contradictory`` by how much, ``rank`` of A as it was made, ``condition`` of M."""

    M: Array
    h: Array
    A: Array
    gamma: Array
    rank: int
    contradiction: float
    condition: float
    row_condition: float

    def solve(self) -> sr.solves.ForwardDynamics:
        """Return the forward dynamics of the system that has these numbers."""
        n, m = len(self.h), len(self.gamma)
        system = system_of(n, m)
        numbers = [*self.M[np.tril_indices(n)], *self.h, *self.A.ravel(), *self.gamma]
        system.parameters.update(zip(system.parameters, map(float, numbers)))
        return system.forward_dynamics(np.zeros(n), np.zeros(n), throw=False)

    def residuals(self, a: Array, multipliers: Array) -> tuple[float, float]:
        """Return the largest residuals of M a + h = Aᵀλ and of A a + γ = 0 over the sums of their terms.

        Rounding of what cancels, 1e-13 of the largest force or acceleration in the kinetic metric, counts as a term.
        """
        M, A = self.M.astype(np.longdouble), self.A.astype(np.longdouble)
        unit = np.sqrt(np.diag(M))
        motion = M @ a + self.h - A.T @ multipliers
        terms = np.abs(M) @ np.abs(a) + np.abs(self.h) + np.abs(A.T) @ np.abs(multipliers)
        reach = max((terms / unit).max(), 1e-300)
        row = A @ a + self.gamma
        row_terms = np.abs(A) @ np.abs(a) + np.abs(self.gamma)
        length = np.sqrt(((A / unit) ** 2).sum(axis=1))
        return (
            float(np.max(np.abs(motion) / (terms + 1e-5 * unit * reach))),
            float(np.max(np.abs(row) / np.maximum(row_terms + 1e-5 * length * reach, 1e-300), initial=0.0)),
        )


def definite(rng: np.random.Generator, n: int, condition: float) -> Array:
    """Return a symmetric matrix with this condition number."""
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = np.logspace(0.0, -np.log10(condition), n) if n > 1 else np.ones(1)
    mass = (q * rng.permutation(values)) @ q.T
    return 0.5 * (mass + mass.T)


def draw(rng: np.random.Generator, n: int, m: int) -> Case:
    """Return a random problem: conditions of M to 1e12; dependent, zero, tiny, contradictory rows; mixed units."""
    condition = 10.0 ** rng.uniform(0.0, 12.0) if rng.random() < 0.5 else 10.0 ** rng.uniform(0.0, 6.0)
    M = definite(rng, n, condition)
    rank = int(rng.integers(0, min(m, n) + 1))
    if rng.random() < 0.5:
        rank = min(m, n)
    free = rng.standard_normal((rank, n))
    mix = np.vstack([np.eye(rank), rng.integers(-2, 3, (m - rank, rank))])
    wanted = rng.standard_normal(rank) * (rng.random() < 0.9)
    A, gamma = mix @ free, mix @ wanted
    contradiction = 0.0
    if m > rank and rng.random() < 0.3:
        contradiction = 1.0
        gamma[rank + int(rng.integers(m - rank))] += rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0)
    order = rng.permutation(m)
    A, gamma = A[order], gamma[order]
    h = rng.standard_normal(n) * 10.0 ** rng.uniform(-3.0, 4.0)
    units, row_units = np.ones(n), np.ones(m)
    if rng.random() < 0.4:
        units = 10.0 ** rng.uniform(-3.0, 3.0, n)
    if rng.random() < 0.3:
        row_units = 10.0 ** rng.uniform(-3.0, 3.0, m)
    size = 10.0 ** rng.uniform(-3.0, 3.0)
    M, h = size * units[:, None] * M * units, units * h
    A, gamma = row_units[:, None] * A * units, row_units * gamma
    values = np.linalg.svd(free, compute_uv=False) if rank else np.ones(1)
    return Case(M, h, A, gamma, rank, contradiction, condition, float(values[0] / values[-1]))


def truth(case: Case) -> Array:
    """Return a in fifty digits, from as many rows of A as were made independent."""
    n, scaled = len(case.h), case.A / np.sqrt(np.diag(case.M))
    scaled = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300)
    rows = qr(scaled.T, pivoting=True)[2][: case.rank] if case.rank else []
    with mp.workdps(50):
        whole, right = mp.zeros(n + len(rows)), mp.zeros(n + len(rows), 1)
        for i in range(n):
            right[i] = -mp.mpf(case.h[i])
            for j in range(n):
                whole[i, j] = mp.mpf(case.M[i, j])
        for k, j in enumerate(rows):
            right[n + k] = -mp.mpf(case.gamma[j])
            for i in range(n):
                whole[n + k, i] = whole[i, n + k] = mp.mpf(case.A[j, i])
        solution = mp.lu_solve(whole, right)
        return np.array([float(solution[i]) for i in range(n)])


def error(case: Case, a: Array) -> float:
    """Return how far a is from the truth in units 1/√M_kk, next to it and to 1e-10 of what forces alone would do."""
    unit, exact = np.sqrt(np.diag(case.M)), truth(case)
    values, vectors = np.linalg.eigh(case.M / np.outer(unit, unit))
    free = vectors @ ((vectors.T @ (case.h / unit)) / values)
    return float(np.abs((a - exact) * unit).max() / (np.abs(exact * unit).max() + 1e-10 * np.abs(free).max()))


@dataclass
class Tally:
    """What became of random solves: numbers of cases that were OK with a residual, or far from the truth, or refused
    though well-posed, or OK though their rows contradict each other.
    """

    solves: int = 0
    ok: int = 0
    well_posed: int = 0
    exact: int = 0
    wrong: list[int] = field(default_factory=list)
    far: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


def survey(shape: tuple[int, int], count: int, exact_every: int) -> Tally:
    """Judge so many random problems of a shape (n, m), every so many of them by the exact solution too."""
    rng, tally = np.random.default_rng(shape), Tally()
    for k in range(count):
        case = draw(rng, *shape)
        result = case.solve()
        tally.solves += 1
        if case.contradiction:
            if result.status not in (Status.INCONSISTENT, Status.ILL_CONDITIONED):
                tally.wrong.append(k)
            continue
        if result.status is Status.OK:
            tally.ok += 1
            if not max(case.residuals(result.a, result.multipliers)) < 1e-5:
                tally.wrong.append(k)
            if k % exact_every == 0:
                tally.exact += 1
                if not error(case, result.a) < 1e-3:
                    tally.far.append(k)
        if case.condition < 1e6 and case.row_condition < 1e6:
            tally.well_posed += 1
            if result.status is not Status.OK:
                tally.refused.append(k)
    return tally


SHAPES = (
    (1, 1),
    (2, 1),
    (2, 3),
    (3, 2),
    (4, 5),
    (6, 4),
    (8, 10),
    (10, 6),
    (12, 12),
    (16, 9),
    (20, 24),
    (25, 15),
    (30, 20),
)

if __name__ == "__main__":
    for shape in SHAPES:
        print(shape, survey(shape, int(sys.argv[1]), exact_every=max(20, shape[0] ** 2 // 10)), flush=True)
