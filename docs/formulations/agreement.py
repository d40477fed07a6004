"""How far the formulations and the kernel are from the exact answer; writes agreement.md beside this file.

    python docs/formulations/agreement.py

Every entry of the random matrices is a binary fraction, so that redundant rows are redundant to the last bit, and the
answer can be found in rational arithmetic, without rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus.base.status import Status
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.formulations import METHODS, null_space

Array = NDArray[np.float64]
Rng = np.random.Generator

N, M_ROWS, SAMPLES = 6, 4, 8
PAGE = Path(__file__).with_suffix(".md")


@dataclass(frozen=True, eq=False)
class Case:
    """A problem whose Jacobian is A = base + distance · slope; the kernel sees it as a function of distance."""

    M: Array
    h: Array
    base: Array
    gamma: Array
    tau: Array
    slope: Array
    distance: float = 0.0

    @property
    def A(self) -> Array:
        """Jacobian, exact."""
        return self.base + self.distance * self.slope

    @property
    def matrices(self) -> tuple[Array, Array, Array, Array, Array]:
        """Arguments of a formulation."""
        return self.M, self.h, self.A, self.gamma, self.tau


# --- families ------------------------------------------------------------------------------------------


def binary(rng: Rng, *shape: int) -> Array:
    """Return sixteenths between −2 and 2."""
    return rng.integers(-32, 33, shape) / 16.0


def rows(rng: Rng, rank: int, n: int) -> Array:
    """Return independent rows with a condition number below 30."""
    while True:
        matrix = binary(rng, rank, n)
        if np.linalg.cond(matrix) < 30.0:
            return matrix


def mass(rng: Rng, n: int) -> Array:
    """Return a positive definite matrix with a condition number of about 10."""
    root = binary(rng, n, n)
    return root @ root.T / n + np.eye(n)


def assemble(rng: Rng, base: Array, gamma: Array, slope: Array | None = None, distance: float = 0.0) -> Case:
    """Return a case with random mass and forces."""
    n = base.shape[1]
    slope = np.zeros_like(base) if slope is None else slope
    return Case(mass(rng, n), binary(rng, n), base, gamma, binary(rng, n), slope, distance)


def well_posed(rng: Rng, n: int = N, m: int = M_ROWS) -> Case:
    """Independent rows."""
    return assemble(rng, rows(rng, m, n), binary(rng, m))


def dependent(rng: Rng, n: int, m: int, rank: int) -> Array:
    """Return m rows: ``rank`` independent ones, combinations of them, and a zero row if two or more are left."""
    dead = int(m - rank > 1)
    combinations = rng.choice([-2, -1, 1, 2], (m - rank - dead, rank))
    mixing = np.vstack([np.eye(rank), combinations, np.zeros((dead, rank))])
    return (mixing @ rows(rng, rank, n))[rng.permutation(m)]


def redundant(rng: Rng, n: int = N, m: int = M_ROWS, rank: int = 2) -> Case:
    """Combinations and a zero row, consistent."""
    base = dependent(rng, n, m, rank)
    return assemble(rng, base, base @ binary(rng, n))


def inconsistent(rng: Rng, n: int = N, m: int = M_ROWS, rank: int = 2) -> Case:
    """The same with contradictions."""
    base, gamma = dependent(rng, n, m, rank), np.zeros(m)
    while np.linalg.norm(gamma - base @ np.linalg.pinv(base) @ gamma) < 0.1:
        gamma = binary(rng, m)
    return assemble(rng, base, gamma)


def near_singular(rng: Rng, n: int = N, m: int = M_ROWS, distance: float = 0.0) -> Case:
    """A whose rank is m − 1 at distance zero and m beside it, with σ_m in proportion to the distance; consistent."""
    base = np.vstack([np.eye(m - 1), rng.choice([-2, -1, 1, 2], (1, m - 1))]) @ rows(rng, m - 1, n)
    left, _, right = np.linalg.svd(base)
    slope = np.zeros_like(base)
    while np.linalg.norm(left[:, m - 1] @ slope @ right[m - 1 :].T) < 0.3:
        slope = binary(rng, m, n)
    return assemble(rng, base, (base + distance * slope) @ binary(rng, n), slope, distance)


def badly_scaled(rng: Rng, n: int = N, m: int = M_ROWS, decades: float = 4.0) -> Case:
    """Rows over so many decades and inertias over eight, as other units would have them."""
    case = well_posed(rng, n, m)
    row = 2.0 ** rng.permutation(np.linspace(0.0, np.log2(10.0) * decades, m).round())
    column = 2.0 ** rng.permutation(np.linspace(-7, 7, n).round())
    return replace(
        case,
        M=column[:, None] * case.M * column,
        h=column * case.h,
        base=row[:, None] * case.base,
        gamma=row * case.gamma,
        tau=column * case.tau,
    )


FAMILIES: dict[str, Callable[..., Case]] = {
    "well-posed": well_posed,
    "redundant": redundant,
    "singular": near_singular,
    "1e-3 from singular": partial(near_singular, distance=2.0**-10),
    "1e-8 from singular": partial(near_singular, distance=2.0**-27),
    "inconsistent": inconsistent,
    "badly scaled": badly_scaled,
    "rows over 8 decades": partial(badly_scaled, decades=8.0),
}


# --- the exact answer ----------------------------------------------------------------------------------


def exact_acceleration(case: Case) -> Array:
    """Return a, found in rational arithmetic and rounded once.

    It solves M a − AᵀA μ = τ − h, AᵀA a = −Aᵀγ: least squares in A a + γ, and λ = A μ. This is what every formulation
    means, for redundant and inconsistent rows too; a is unique though μ is not.
    """
    n = len(case.h)
    M, A = (np.vectorize(Fraction, otypes=[object])(x) for x in (case.M, case.A))
    h, gamma, tau = (np.array([Fraction(x) for x in v], dtype=object) for v in (case.h, case.gamma, case.tau))
    normal = A.T @ A
    zero = np.full((n, n), Fraction(0), dtype=object)
    table = np.block([[M, -normal], [normal, zero]])
    return _eliminate(np.column_stack([table, np.concatenate([tau - h, -(A.T @ gamma)])]))[:n]


def _eliminate(table: NDArray[np.object_]) -> Array:
    """Solve a consistent system [matrix | right-hand side] by Gauss and Jordan; free unknowns are zero."""
    count, pivots, row = table.shape[1] - 1, [], 0
    for column in range(count):
        nonzero = [k for k in range(row, len(table)) if table[k, column] != 0]
        if not nonzero:
            continue
        table[[row, nonzero[0]]] = table[[nonzero[0], row]]
        table[row] = table[row] / table[row, column]
        for k in range(len(table)):
            if k != row and table[k, column] != 0:
                table[k] = table[k] - table[k, column] * table[row]
        pivots.append(column)
        row += 1
    assert not any(table[row:, -1]), "the normal equations are always consistent"
    solution = np.zeros(count)
    solution[pivots] = [float(value) for value in table[: len(pivots), -1]]
    return solution


# --- the kernel ----------------------------------------------------------------------------------------


class Kernel:
    """The compiled kernel of sarrus, for cases of one size: matrices are parameters of one system."""

    def __init__(self, n: int = N, m: int = M_ROWS) -> None:
        self.shapes = {"M": (n, n), "h": (n, 1), "base": (m, n), "gamma": (m, 1), "slope": (m, n)}
        self.n = n
        names = [f"{key}{k}" for key, (r, c) in self.shapes.items() for k in range(r * c)]

        def matrix(p: Mapping[str, ca.SX], key: str) -> ca.SX:
            r, c = self.shapes[key]
            entries = ca.vertcat(*[p[f"{key}{k}"] for k in range(r * c)])
            return ca.reshape(entries, c, r).T

        def symmetric(q: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
            return ca.tril2symm(ca.tril(matrix(p, "M")))

        self.system = sr.System.from_equations(
            n,
            symmetric,
            lambda q, v, p: matrix(p, "h"),
            velocity=lambda q, v, t, p: (
                (matrix(p, "base") + q[0] * matrix(p, "slope")) @ v + matrix(p, "gamma") * t
            ),
            parameters=dict.fromkeys(names, 0.0) | {f"M{k * (n + 1)}": 1.0 for k in range(n)},
        )
        self.names = names

    def __call__(self, case: Case) -> sr.solves.ForwardDynamics:
        """Return forward dynamics at v = 0, where ψ̇ = A a + γ."""
        values = np.concatenate([np.ravel(getattr(case, key)) for key in self.shapes])
        self.system.parameters.update(zip(self.names, values.tolist()))
        q, rest = np.zeros(self.n), np.zeros(self.n)
        q[0] = case.distance
        generic_rank(self.system.workspace(), q, v=rest, renew=True)
        return self.system.forward_dynamics(q, rest, tau=case.tau)


# --- the table -----------------------------------------------------------------------------------------


def deviation(case: Case, a: Array, exact: Array) -> float:
    """Return |a − exact| relative to |exact|, in the norm of the kinetic energy, which has no units to choose."""
    error = a - exact
    return float(np.sqrt(error @ case.M @ error / (exact @ case.M @ exact)))


def solvers(kernel: Kernel) -> dict[str, Callable[[Case], tuple[Array, Status]]]:
    """Return what the table has rows for: case → a, status."""

    def of(method: Callable[..., object], **arguments: object) -> Callable[[Case], tuple[Array, Status]]:
        def solve(case: Case) -> tuple[Array, Status]:
            result = method(*case.matrices, throw=False, **arguments)
            return result.a, result.status

        return solve

    def by_kernel(case: Case) -> tuple[Array, Status]:
        result = kernel(case)
        return result.a, result.status

    table = {name: of(method) for name, method in METHODS.items()}
    return table | {"null-space, QR": of(null_space, basis="qr"), "kernel": by_kernel}


def measure() -> dict[str, dict[str, tuple[float | None, Counter[str]]]]:
    """Return for every row and family the largest deviation (None: no answer) and how often each status came."""
    rows_of_table = solvers(Kernel())
    table: dict[str, dict[str, tuple[float | None, Counter[str]]]] = {name: {} for name in rows_of_table}
    for family, make in FAMILIES.items():
        cases = [make(np.random.default_rng(seed)) for seed in range(SAMPLES)]
        answers = [exact_acceleration(case) for case in cases]
        for name, solve in rows_of_table.items():
            found, worst = Counter[str](), None
            for case, exact in zip(cases, answers):
                a, status = solve(case)
                found[str(status)] += 1
                if np.isfinite(a).all():
                    worst = max(worst or 0.0, deviation(case, a, exact))
            table[name][family] = worst, found
    return table


def render(table: dict[str, dict[str, tuple[float | None, Counter[str]]]]) -> str:
    """Return the page."""

    def cell(entry: tuple[float | None, Counter[str]]) -> str:
        worst, found = entry
        counts = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
        return counts if worst is None else f"{worst:.0e}; {counts}"

    lines = [INTRODUCTION, "| | " + " | ".join(FAMILIES) + " |", "| --- |" + " --- |" * len(FAMILIES)]
    for name, entries in table.items():
        lines.append(f"| {name} | " + " | ".join(cell(entries[family]) for family in FAMILIES) + " |")
    return "\n".join([*lines, REMARKS])


INTRODUCTION = f"""# How far the formulations agree

Written by `python docs/formulations/agreement.py`. Each entry: the largest deviation of the acceleration from the
exact one over {SAMPLES} random problems with n = {N} velocities and m = {M_ROWS} rows, and how often each status came.
Without a deviation the problem was refused (`ILL_POSED`, `ILL_CONDITIONED`; with `throw=True` an error that says why).

- **The exact answer** is found in rational arithmetic from the same floating-point matrices: the least-squares
  solution of A a + γ = 0 for which M a + h − τ lies in the range of Aᵀ. It is rounded once, at the end.
- **The deviation** is relative, in the norm of the kinetic energy, √(eᵀM e / aᵀM a).
- **well-posed**: independent rows, M with a condition number of about 10. **redundant**: rank 2, one row zero, one a
  combination, consistent. **inconsistent**: the same with a random γ.
- **singular**: A₀ of rank m − 1. **1e-3** and **1e-8 from singular**: A₀ + ε E, of rank m, with ε = 2⁻¹⁰ and 2⁻²⁷.
  All three are consistent.
- **badly scaled**: well-posed, then inertias scaled over eight decades and rows over four. **rows over 8 decades**:
  the same with more.
- **kernel**: `System.forward_dynamics` of a system with the same matrices; near a singular configuration A is a
  function of q, so that the kernel sees the rank nearby.
"""
REMARKS = """
What it says:

- All formulations mean the same answer, in the inconsistent case too: |A a + γ| is least with all rows weighted alike,
  and the mechanism obeys its equations of motion on the directions that are left. Scaling a row changes the answer only
  where rows contradict each other.
- Answers are checked: each is refined until its residuals are rounding (docs/decisions/0015-checked-answers.md). So
  units of rows and inertias cost no digits, as they did before: with rows over eight decades the projections were
  5e-8 off, `mass_weighted` 3e-6, and `augmented_lagrangian` did not converge.
- `lagrange` and `kkt` refuse dependent rows, because their matrices are singular there, and A close to a singular
  configuration, because these have the square of its condition number: above 1e15 a correction gains no digit.
- Near a singular configuration the loss of digits is that of the data: a relative error of 2e-16 in A, divided by ε.
- The kernel takes a direction for singular whose pivot, in the metric of M, is below 1e-10 of the largest one nearby
  (docs/decisions/0002-rank-and-singular-passages.md). Rows and inertias that differ by more fall under the same cut:
  the last column says SINGULAR where its answer leaves such a row out. Give rows units in which they are of similar
  size.
"""

if __name__ == "__main__":
    PAGE.write_text(render(measure()), encoding="utf-8")
