"""Constrained solves with forces that alone would do far more than the constraints allow, against 80 digits.

M is light and ill-conditioned, h large, and a small: what f would do in light directions of M cancels in the answer.
An answer with status OK must be as accurate as its data: errors are compared with what a last digit of M, h, A and γ
does. ``python tests/families/forces_far_above.py --cases 1000`` runs more.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from random_solves import Case, definite

SHAPES = ((10, 12, 10), (6, 6, 6), (6, 9, 6), (4, 5, 4), (8, 9, 7), (6, 5, 4))  # coordinates, rows, rank
DIGITS = 80


@dataclass(frozen=True)
class Judged:
    """The error of a, of the force of the constraints, and what a last digit of the data does, all relative."""

    status: str
    rank_found: bool
    error: float
    sensitivity: float

    @property
    def wrong(self) -> bool:
        """Whether an OK is said of an answer with fewer digits than its data have, and fewer than eight."""
        return self.status == "OK" and not self.error <= max(1e-8, 1e3 * self.sensitivity)


def draw(rng: np.random.Generator) -> Case:
    """Return a random problem."""
    n, m, rank = SHAPES[rng.integers(len(SHAPES))]
    condition = 10 ** rng.uniform(0, 7.5)
    mass = definite(rng, n, condition) * 10 ** rng.uniform(-4, 1)
    u, _, w = np.linalg.svd(rng.standard_normal((rank, n)), full_matrices=False)
    free = (u * rng.uniform(1.2, 7.6, rank)) @ w
    # Small integers are exact: rows that depend on others do so to the last digit of a sum.
    mix = np.vstack([np.eye(rank), rng.integers(-1, 2, (m - rank, rank))])
    free = np.round(free * 2**20) / 2**20
    a = np.round(rng.standard_normal(n) * 10 ** rng.uniform(-3, 1) * 2**30) / 2**30
    rows = mix @ free
    gamma = mix @ -(free @ a)
    h = rng.standard_normal(n) * 10 ** rng.uniform(0, 5)
    order = rng.permutation(m)
    return Case(mass, h, rows[order], gamma[order], rank, 0.0, condition, 6.0)


def exact(M: object, h: object, A: object, gamma: object, rank: int, m: int) -> mp.matrix:
    """Return a by independent rows alone: M a + h = Aᵀλ, A a + γ = 0, as one system of equations."""
    n = len(h)
    system, right = mp.zeros(n + rank), mp.zeros(n + rank, 1)
    for i in range(n):
        right[i] = -h[i]
        for c in range(n):
            system[i, c] = M[i][c]
    for j in range(rank):
        right[n + j] = -gamma[j]
        for c in range(n):
            system[n + j, c] = A[j][c]
            system[c, n + j] = -mp.mpf(A[j][c])
    return mp.lu_solve(system, right)[:n]


def judge(case: Case, rng: np.random.Generator) -> Judged:
    """Solve, and compare with 80 digits."""
    found = case.solve()
    # independent rows: a greedy choice is enough
    chosen: list[int] = []
    for j in range(len(case.gamma)):
        if np.linalg.matrix_rank(case.A[[*chosen, j]], tol=1e-6) == len(chosen) + 1:
            chosen.append(j)
    with mp.workdps(DIGITS):
        data = case.M, case.h, case.A[chosen], case.gamma[chosen]
        right = exact(*data, case.rank, len(chosen))
        moved = []
        for values in data:
            noise = rng.choice([-1.0, 1.0], values.shape) * 2.0**-53
            if values is case.M:
                noise = np.triu(noise) + np.triu(noise, 1).T
            flat = [mp.mpf(float(x)) * (1 + mp.mpf(float(e))) for x, e in zip(values.flat, noise.flat)]
            width = values.shape[-1]
            rows = [flat[k : k + width] for k in range(0, len(flat), width)]
            moved.append(rows if values.ndim == 2 else flat)
        other = exact(*moved, case.rank, len(chosen))
        scale = max(abs(x) for x in right)
        error = max(abs(mp.mpf(float(x)) - y) for x, y in zip(found.a, right)) / scale
        sensitivity = max(abs(x - y) for x, y in zip(other, right)) / scale
    return Judged(found.status.name, found.rank == case.rank, float(error), float(sensitivity))


def run(cases: int, seed: int = 0) -> list[Judged]:
    """Return what became of so many cases."""
    out = []
    for k in range(cases):
        rng = np.random.default_rng((seed, k))
        out.append(judge(draw(rng), rng))
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=400)
    results = run(parser.parse_args().cases)
    wrong = [(k, r) for k, r in enumerate(results) if r.wrong]
    print(
        f"{len(results)} cases, {len(wrong)} wrong with OK, {sum(r.status != 'OK' for r in results)} not OK"
    )
    print(
        max((r.error / max(r.sensitivity, 1e-12) for r in results if r.status == "OK"), default=0.0),
        wrong[:8],
    )
