"""The log-barrier method: a convex quadratic cost under equalities, linear inequalities and second-order cones.

    minimise ½ xᵀPx + qᵀx    with E x = e,  F x + f ≥ 0,  y₀ ≥ |(y₁, …)| for each cone y = R x + r

For η = η₀, κ η₀, κ² η₀, … Newton's method finds the minimum of the cost − η Σ log c(x) on the null space of E. A cone
has two functions c, y₀ and y₀² − |(y₁, …)|². The second one alone is as positive at −y as it is at y: a start inside,
and steps along lines that are inside from end to end, keep to the side where y₀ > 0.

At the minimum for η the cost is at most θ η above the optimum, with θ = 1 for each linear row and 3 for each cone: its
quadratic function is not concave, and as a barrier it is of degree two.

Source: Aghili 2022, Optimal control of legged robots subject to friction cone constraints, eqs. (29), (30) and
appendix 5. Its r η counts a cone as 2, which is too small: a linear cost with its optimum at the apex has a gap of 3
η. Its start Bᵀτ_c need not obey the constraints, not even the equalities: here a first phase finds a start. Degrees
and steps of barriers: Boyd and Vandenberghe, Convex Optimization, sections 9.6 and 11.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.formulations.friction.tolerances import (
    BARRIER_DISTANCE,
    CENTRED,
    COST_ON_THE_WAY,
    COST_PRECISION,
    EQUALITIES_CONTRADICT,
    FLAT_COST,
    NO_VIOLATION,
    PATH_SHRINKS,
    QUADRATIC,
    VIOLATION_KNOWN,
)
from sarrus.formulations.problem import Array, matrix_rank
from sarrus.formulations.tolerances import RANK_TOLERANCE

# Newton steps for one η; about ten is ordinary.
_STEPS = 100


@dataclass(frozen=True, eq=False)
class Cone:
    """The second-order cone y₀ ≥ |(y₁, …)| of y = rows · x + offset; rows (1 + k, n), offset (1 + k,)."""

    rows: Array
    offset: Array


@dataclass(frozen=True, eq=False)
class BarrierResult:
    """Result of `log_barrier`.

    Attributes
    ----------
    x : (n,) the minimum; without a strictly feasible point, one with the smallest violation.
    cost : ½ xᵀPx + qᵀx + constant.
    gap : duality gap, bound on the excess of the cost over the optimum: θ η of the last minimum found; 0 if no
        inequality is active, NaN without a strictly feasible point.
    iterations : Newton steps, of both phases.
    violation : 0, or without a strictly feasible point the least possible largest violation: of −c(x) over the linear
        rows and |(y₁, …)| − y₀ over the cones. About zero if the feasible set has no interior.
    shares : part of each linear row, then of each cone, in the conflict: weights of sum one that prove that the
        violation cannot be smaller. Zeros without conflict.
    contradiction : |E x − e| if the equalities contradict each other, else 0.
    """

    x: Array
    cost: float
    gap: float
    iterations: int
    violation: float
    shares: Array
    contradiction: float


def log_barrier(
    P: Array,
    q: Array,
    constant: float = 0.0,
    *,
    equalities: tuple[Array, Array] | None = None,
    linear: tuple[Array, Array] | None = None,
    cones: Sequence[Cone] = (),
    precision: float = COST_PRECISION,
) -> BarrierResult:
    """Return the minimum of ½ xᵀPx + qᵀx + constant with E x = e, F x + f ≥ 0 and cones, as a `BarrierResult`.

    The duality gap is at most ``precision`` times the cost. P (n, n) is positive semidefinite; if it is singular on the
    null space of E, the inequalities must bound the set of minima. Equalities (E, e) may be redundant; contradicting
    ones are met in the least-squares sense. The start is the minimum with equalities alone, which is the answer if it
    violates no inequality. Otherwise a first phase minimises the largest violation until it is negative. A feasible
    point farther from the start than some thousand times the distance to the worst constraint may be missed.
    """
    n = len(q)
    E, e = equalities or (np.zeros((0, n)), np.zeros(0))
    F, f = linear or (np.zeros((0, n)), np.zeros(0))
    start, basis = _least_cost(P, q, E, e)
    # From here on x = start + basis · z.
    barrier = _Barrier(
        F @ basis, F @ start + f, [Cone(c.rows @ basis, c.rows @ start + c.offset) for c in cones]
    )
    cost = _Cost(
        basis.T @ P @ basis, basis.T @ (P @ start + q), float(0.5 * start @ P @ start + q @ start) + constant
    )
    z, gap, steps, violation = np.zeros(basis.shape[1]), 0.0, 0, 0.0
    shares = np.zeros(len(f) + len(cones))
    feasible = barrier.contains(z)
    flat = np.linalg.norm(cost.q) <= FLAT_COST * (np.linalg.norm(P @ start) + np.linalg.norm(q))
    if not feasible:
        z, violation, shares, steps = _least_violation(barrier)
        gap = np.nan
    if violation == 0.0 and not (feasible and flat):
        z, gap, more = _follow_path(cost, barrier, z, precision)
        steps += more
    x = start + basis @ z
    missed = float(np.linalg.norm(E @ x - e))
    rounding = EQUALITIES_CONTRADICT * float(np.linalg.norm(e) + np.linalg.norm(E) * np.linalg.norm(x))
    contradiction = missed if missed > rounding else 0.0
    return BarrierResult(x, cost.at(z), gap, steps, violation, shares, contradiction)


@dataclass(frozen=True, eq=False)
class _Cost:
    """½ zᵀPz + qᵀz + constant."""

    P: Array
    q: Array
    constant: float = 0.0

    def at(self, z: Array) -> float:
        return float(0.5 * z @ self.P @ z + self.q @ z) + self.constant

    def gradient(self, z: Array) -> Array:
        return self.P @ z + self.q


class _Barrier:
    """−Σ log c(z) over linear rows c = Fz + f and cones."""

    def __init__(self, F: Array, f: Array, cones: Sequence[Cone]) -> None:
        self.F, self.f, self.cones = F, f, cones
        self.degree = len(f) + 3 * len(cones)

    def contains(self, z: Array) -> bool:
        """Return whether z lies strictly inside."""
        return bool((self.F @ z + self.f > 0.0).all()) and all(
            _margin(c.rows @ z + c.offset) > 0.0 for c in self.cones
        )

    def derivatives(self, z: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian."""
        scaled = self.F / (self.F @ z + self.f)[:, None]
        gradient, hessian = -scaled.sum(axis=0), scaled.T @ scaled
        for cone in self.cones:
            y = cone.rows @ z + cone.offset
            inverse = 1.0 / (_margin(y) * (y[0] + np.linalg.norm(y[1:])))
            axis, across = cone.rows[0], cone.rows[1:]
            slope = 2.0 * inverse * (y[0] * axis - across.T @ y[1:])
            gradient = gradient - slope - axis / y[0]
            hessian = hessian + np.outer(slope, slope) + np.outer(axis, axis) / y[0] ** 2
            hessian += 2.0 * inverse * (across.T @ across - np.outer(axis, axis))
        return gradient, hessian

    def violations(self) -> Array:
        """Return −c of each linear row and |(y₁, …)| − y₀ of each cone at z = 0."""
        return np.array([*-self.f, *(-_margin(cone.offset) for cone in self.cones)])

    def norms(self) -> Array:
        """Return the norm of each constraint's gradient, or a bound on it."""
        return np.array([*np.linalg.norm(self.F, axis=1), *(np.linalg.norm(c.rows) for c in self.cones)])

    def relaxed(self) -> _Barrier:
        """Return the barrier of (z, t) with t added to every linear row and to y₀ of every cone."""
        cones = [Cone(np.column_stack([c.rows, np.arange(len(c.offset)) == 0]), c.offset) for c in self.cones]
        return _Barrier(np.column_stack([self.F, np.ones(len(self.f))]), self.f, cones)

    def shares(self, z: Array) -> Array:
        """Return the part of each constraint in the derivative by the last variable."""
        each = [_Barrier(self.F[i : i + 1], self.f[i : i + 1], []) for i in range(len(self.f))]
        each += [_Barrier(self.F[:0], self.f[:0], [cone]) for cone in self.cones]
        parts = np.array([one.derivatives(z)[0][-1] for one in each])
        return parts / parts.sum()


def _margin(y: Array) -> float:
    """Return y₀ − |(y₁, …)|."""
    return float(y[0] - np.linalg.norm(y[1:]))


def _least_cost(P: Array, q: Array, E: Array, e: Array) -> tuple[Array, Array]:
    """Return the minimum with equalities alone, if unique, and an orthonormal basis of their null space."""
    u, sigma, vt = np.linalg.svd(E)
    rank = matrix_rank(sigma, RANK_TOLERANCE)
    basis = vt[rank:].T
    particular = vt[:rank].T @ ((u[:, :rank].T @ e) / sigma[:rank])
    step, *_ = np.linalg.lstsq(basis.T @ P @ basis, -basis.T @ (P @ particular + q), rcond=RANK_TOLERANCE)
    return particular + basis @ step, basis


def _centre(cost: _Cost, eta: float, barrier: _Barrier, z: Array) -> tuple[Array, int, bool]:
    """Minimise cost + η · barrier from z inside; return the minimum, the number of steps, and success."""

    def descends(z: Array, step: Array) -> bool:
        return (
            barrier.contains(z)
            and float(cost.gradient(z) @ step) / eta + float(barrier.derivatives(z)[0] @ step) <= 0.0
        )

    before = np.inf
    for count in range(1, _STEPS + 1):
        gradient, hessian = barrier.derivatives(z)
        gradient = gradient + cost.gradient(z) / eta
        step: Array = np.asarray(
            np.linalg.lstsq(hessian + cost.P / eta, -gradient, rcond=None)[0], dtype=float
        )
        distance = max(float(-gradient @ step), 0.0) ** 0.5
        if before < QUADRATIC and distance > 0.5 * before:  # rounding: it ought to be the square
            return z, count, False
        before = distance
        # A length of 1 / (1 + distance) stays inside and does not pass the minimum along the step.
        length = 1.0 if distance < QUADRATIC else 1.0 / (1.0 + distance)
        while distance >= QUADRATIC and descends(z + 2.0 * length * step, step):
            length *= 2.0
        if not barrier.contains(z + length * step):  # rounding
            return z, count, False
        z = z + length * step
        if distance < CENTRED:
            return z, count, True
    return z, _STEPS, False


def _least_violation(barrier: _Barrier) -> tuple[Array, float, Array, int]:
    """Minimise the largest violation t from z = 0 until it is negative; return z, t or 0, shares, steps.

    Where nothing bounds z, ½ |z / ℓ|² as part of the barrier does, with ℓ ten times the distance at which the worst
    constraint alone would be met. Its influence vanishes with η.
    """
    violations, norms, relaxed = barrier.violations(), barrier.norms(), barrier.relaxed()
    worst, size = float(violations.max()), barrier.F.shape[1]
    scale = worst or float(np.abs(violations).max()) or 1.0
    wanted = (violations >= 0.0) & (norms > 0.0)
    distances = np.maximum(violations[wanted], BARRIER_DISTANCE * scale) / norms[wanted]
    reach = 10.0 * float(distances.max(initial=0.0)) or 1.0
    pull = np.diag(np.append(np.full(size, reach**-2.0), 0.0))
    t_alone = np.append(np.zeros(size), 1.0)
    z, eta, steps = (worst + scale) * t_alone, scale / relaxed.degree, 0
    while True:
        z, more, centred = _centre(_Cost(eta * pull, t_alone), eta, relaxed, z)
        steps += more
        if z[-1] < 0.0 and barrier.contains(z[:-1]):
            return z[:-1], 0.0, np.zeros(len(violations)), steps
        gap = eta * (relaxed.degree + float(z[:-1] @ z[:-1]) / reach**2)
        if not centred or gap <= max(VIOLATION_KNOWN * z[-1], NO_VIOLATION * scale):
            return z[:-1], max(float(z[-1]), float(np.finfo(float).tiny)), relaxed.shares(z), steps
        eta *= PATH_SHRINKS


def _follow_path(cost: _Cost, barrier: _Barrier, z: Array, precision: float) -> tuple[Array, float, int]:
    """Follow the central path from z inside; return its last point, the gap there, and the Newton steps."""
    first = abs(cost.at(z)) or 1.0
    eta, gap, steps = first / max(barrier.degree, 1), np.inf, 0
    while True:
        reached, more, centred = _centre(cost, eta, barrier, z)
        steps += more
        if not centred:  # rounding; what was reached before, with its gap, is the answer
            return z, gap, steps
        z, gap = reached, barrier.degree * eta
        # Where the cost vanishes at the optimum, its size on the way says what is small.
        if gap <= precision * max(abs(cost.at(z)), COST_ON_THE_WAY * first):
            return z, gap, steps
        eta *= PATH_SHRINKS
