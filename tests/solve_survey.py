"""Random constrained problems of every kind, what is known of each, and an independent judge of answers.

Residuals are judged in extended precision where the machine has it, each row against the sum of its terms' sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np

Array = Any
Rng = np.random.Generator

# A relative residual above this is wrong in an answer called OK.
TOLERANCE = 1e-6
# Rows that contradict each other by less than this multiple of the terms of A a are hidden by the rounding of these: of
# some 65 terms in each of up to 30 rows that a dependent one combines.
HIDDEN = 1e-11
# Rows below this multiple of the largest terms cannot be told from rounding of the others.
ROUNDING = 1e-13
# Condition numbers of M and of A below which a problem counts as well-posed, together with rows that agree.
WELL_POSED = 1e6
# An answer called OK, of the right rank, is far at this relative distance from the exact acceleration, in the
# diagonal of M.
FAR = 1e-3


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem M a + h = τ + Aᵀλ, A a + γ = 0, and what is known of it.

    ``kind`` names the family; ``rank`` is that of A, ``rows`` are independent rows of it; ``consistent`` tells
    whether all rows can be met; ``condition`` is the larger one of those of M and of A on its range.
    """

    kind: str
    M: Array
    h: Array
    A: Array
    gamma: Array
    tau: Array
    rank: int
    rows: Array
    consistent: bool
    condition: float

    @property
    def matrices(self) -> tuple[Array, ...]:
        """Arguments of a formulation."""
        return self.M, self.h, self.A, self.gamma, self.tau

    @property
    def well_posed(self) -> bool:
        """True where nothing excuses a status other than OK (but for a formulation that needs full rank)."""
        return self.consistent and self.condition < WELL_POSED


KINDS = (
    "plain", "ill-conditioned mass", "ill-conditioned rows", "redundant", "zero rows", "tiny", "contradictory",
    "contradictory, other units", "mixed units", "massless", "fast",
)  # fmt: skip


def orthogonal(rng: Rng, n: int) -> Array:
    """Return a random orthogonal matrix."""
    q, r = np.linalg.qr(rng.standard_normal((n, n)))
    return q * np.sign(np.diag(r))


def spread(rng: Rng, n: int, decades: float) -> Array:
    """Return n numbers whose logarithms are uniform over so many decades, both ends included."""
    values = 10.0 ** -(rng.uniform(0.0, decades, n) if decades else np.zeros(n))
    if n > 1:
        values[0], values[-1] = 1.0, 10.0**-decades
    return values


def draw(rng: Rng, kind: str | None = None) -> Problem:
    """Return a random problem of a kind, by default of a random one."""
    kind = KINDS[rng.integers(len(KINDS))] if kind is None else kind
    n = int(rng.integers(1, 31))
    rank = int(rng.integers(0, n + 1))
    extra = int(rng.integers(1, 6))
    mass_decades = rng.uniform(0.0, 12.0 if kind == "ill-conditioned mass" else 3.0)
    row_decades = rng.uniform(0.0, 12.0 if kind == "ill-conditioned rows" else 3.0)
    Q = orthogonal(rng, n)
    mass = spread(rng, n, mass_decades)
    M = (Q * mass) @ Q.T
    sigma = spread(rng, rank, row_decades)
    independent = (orthogonal(rng, rank) * sigma) @ orthogonal(rng, n)[:rank] if rank else np.zeros((0, n))
    mixing = np.zeros((0, rank))
    if kind in ("redundant", "contradictory", "contradictory, other units"):
        mixing = rng.standard_normal((extra, rank))
    elif kind == "zero rows":
        mixing = np.zeros((extra, rank))
    A = np.vstack([independent, mixing @ independent])
    sizes = 10.0 ** rng.uniform(-6.0, 6.0, 2)
    fast = kind == "fast"
    a0 = sizes[0] * rng.standard_normal(n) * (1e-6 if fast else 1.0)
    gamma = -A @ a0
    h, tau = sizes[1] * rng.standard_normal((2, n)) * (1e6 if fast else 1.0)
    consistent = True
    if kind.startswith("contradictory") or (fast and rank and rng.random() < 0.5):
        if fast:
            mixing = rng.standard_normal((extra, rank))
            A = np.vstack([independent, mixing @ independent])
            gamma = -A @ a0
        # Every dependent row is off by a thousandth of its terms or more.
        terms = np.abs(mixing) @ np.abs(gamma[:rank]) if rank else np.zeros(extra)
        terms = np.where(terms > 0.0, terms, 1.0)
        off = rng.choice([-1.0, 1.0], extra) * terms * 10.0 ** rng.uniform(-3.0, 1.0, extra)
        gamma = np.concatenate([gamma[:rank], gamma[rank:] + off])
        consistent = False
    m = len(gamma)
    row, column = np.ones(m), np.ones(n)
    if kind == "mixed units":
        row, column = 10.0 ** rng.uniform(-6.0, 6.0, m), 10.0 ** rng.uniform(-6.0, 6.0, n)
    elif kind == "contradictory, other units":
        row = 10.0 ** rng.uniform(-6.0, 6.0, m)
    elif kind == "tiny" and m:
        row[rng.integers(m)] = 10.0 ** rng.uniform(-13.0, -3.0)
    elif kind == "massless" and rank:
        # A coordinate without mass that the first row determines.
        M, h, tau = M.copy(), h, tau
        M[0], M[:, 0] = 0.0, 0.0
        A = A.copy()
        A[:, 0] = 0.0
        A[0, 0] = 1.0
        gamma = -A @ a0
    M = column[:, None] * M * column
    A, gamma = row[:, None] * A * column, row * gamma
    order = rng.permutation(m)
    rows = np.flatnonzero(order < rank)
    kept = np.linalg.svd(A, compute_uv=False)[:rank] if rank else np.ones(1)
    masses = np.linalg.svd(M, compute_uv=False)
    condition = max(float(size[0] / size[-1]) if size[-1] > 0.0 else np.inf for size in (kept, masses))
    return Problem(
        kind,
        0.5 * (M + M.T),
        column * h,
        A[order],
        gamma[order],
        column * tau,
        rank,
        rows,
        consistent,
        condition,
    )


def residuals(p: Problem, a: Array, force: Array) -> tuple[float, float]:
    """Return the relative residuals of M a + h = τ + force and of A a + γ = 0: the largest of any row.

    ``force`` is the force of the constraints. What is below the rounding of the largest rows of A, or of the
    accelerations that the forces would give alone, does not count.
    """
    M, h, A, gamma, tau, x, f = (np.asarray(value, dtype=np.longdouble) for value in (*p.matrices, a, force))

    def ratio(left: Array, size: Array, floor: Any, rounding: Any) -> float:
        relevant = (size > floor) & (np.abs(left) > rounding)
        return float((np.abs(left) / np.where(relevant, size, 1.0))[relevant].max(initial=0.0))

    inertia = np.diag(M)
    alone = np.where(inertia > 0.0, (np.abs(h) + np.abs(tau)) / np.where(inertia > 0.0, inertia, 1.0), 0.0)
    terms = np.abs(M) @ np.abs(x) + np.abs(h) + np.abs(tau) + np.abs(f)
    rows = np.abs(A) @ np.abs(x) + np.abs(gamma)
    return (
        ratio(M @ x + h - tau - f, terms, 0.0, 0.0),
        ratio(A @ x + gamma, rows, ROUNDING * rows.max(initial=0.0), 1e-15 * np.abs(A) @ alone),
    )


def solution(p: Problem) -> Array:
    """Return the acceleration of a consistent problem: independent rows, scaled, LU, refined in extended precision.

    Where that does not converge, 80 digits.
    """
    A, gamma = p.A[p.rows], p.gamma[p.rows]
    n, m = len(p.h), len(gamma)
    wide = np.longdouble
    matrix = np.block([[p.M, -A.T], [A, np.zeros((m, m))]])
    right = np.concatenate([p.tau.astype(wide) - p.h.astype(wide), -gamma.astype(wide)])
    scale = np.ones(n + m)
    for _ in range(20):
        size = np.abs(matrix * np.outer(scale, scale)).max(axis=1)
        scale /= np.sqrt(np.where(size > 0.0, size, 1.0))
    try:
        inverse = np.linalg.inv(matrix * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        inverse = np.zeros_like(matrix)
    x = change = np.zeros(n + m, dtype=wide)
    for _ in range(12):
        left = right - matrix.astype(wide) @ x
        change = scale * (inverse @ (scale * left).astype(float))
        x = x + change
    if inverse.any() and np.abs(change / scale).max() <= 1e-12 * np.abs(x / scale).max():
        return x[:n].astype(float)
    with mpmath.workdps(80):
        exact = mpmath.lu_solve(
            mpmath.matrix(matrix.tolist()), mpmath.matrix([mpmath.mpf(float(v)) for v in right])
        )
        return np.array([float(v) for v in exact])[:n]


@dataclass
class Tally:
    """What one formulation answered to many problems. ``wrong`` and ``refused`` keep the seeds, by kind."""

    solves: int = 0
    ok: int = 0
    wrong: list[tuple[str, int, float]] = field(default_factory=list)
    far: list[tuple[str, int, float]] = field(default_factory=list)
    well_posed: int = 0
    refused: list[tuple[str, int, str]] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)


def survey(
    methods: Mapping[str, Callable[..., Any]],
    seeds: range,
    full_rank: tuple[str, ...] = ("lagrange", "kkt"),
    definite: tuple[str, ...] = ("lagrange", "udwadia-kalaba", "mass-weighted"),
) -> dict[str, Tally]:
    """Solve the problem of every seed by every method. Those of ``full_rank`` may refuse dependent rows, those of
    ``definite`` a singular M."""
    tallies = {name: Tally() for name in methods}
    for seed in seeds:
        p = draw(np.random.default_rng(seed))
        exact = solution(p) if p.consistent else None
        dependent, singular = p.rank < len(p.gamma), p.kind == "massless"
        for name, method in methods.items():
            tally = tallies[name]
            found = method(*p.matrices, throw=False)
            status = str(found.status)
            tally.solves += 1
            tally.statuses[status] = tally.statuses.get(status, 0) + 1
            excused = (dependent and name in full_rank) or (singular and name in definite)
            well = p.well_posed and not excused
            tally.well_posed += well
            if status != "OK":
                if well:
                    tally.refused.append((p.kind, seed, status))
                continue
            tally.ok += 1
            worst = max(residuals(p, found.a, found.constraint_force))
            if not worst <= (TOLERANCE if p.consistent else HIDDEN):
                tally.wrong.append((p.kind, seed, worst))
            elif exact is not None and found.rank == p.rank:
                weight = np.sqrt(np.where(np.diag(p.M) > 0.0, np.diag(p.M), 1.0))
                size = np.linalg.norm(weight * exact)
                error = np.linalg.norm(weight * (found.a - exact)) / size if size else 0.0
                if not error <= FAR:
                    tally.far.append((p.kind, seed, float(error)))
    return tallies


def table(tallies: Mapping[str, Tally]) -> str:
    """Return the tallies as a table in Markdown."""
    lines = [
        "| formulation | solves | OK | OK and wrong | worst residual | OK and far | well-posed | not OK |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, t in tallies.items():
        worst = max((residual for _, _, residual in t.wrong), default=0.0)
        lines.append(
            f"| {name} | {t.solves} | {t.ok} | {len(t.wrong)} | {worst:.1g} | {len(t.far)} | {t.well_posed} "
            f"| {len(t.refused)} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    import sys
    from collections import Counter

    from sarrus.formulations import METHODS

    first, last = int(sys.argv[1]), int(sys.argv[2])
    found = survey(METHODS, range(first, last))
    print(table(found))
    for name, tally in found.items():
        print(name, tally.statuses)
        for label in ("wrong", "far", "refused"):
            entries = getattr(tally, label)
            if entries:
                print("   ", label, dict(Counter(entry[0] for entry in entries)), entries[:3])
