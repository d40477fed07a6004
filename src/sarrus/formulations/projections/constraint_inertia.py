"""Projection formulations: one square matrix to invert, of any rank of A.

P M a = P (τ − h) in the tangent space and (I − P) a = −A⁺γ across it make n equations for n accelerations. The three
ways in which they are put together here differ in the matrix that has to be inverted. In an orthonormal basis of the
null space of A (first) and of the range of Aᵀ (second), with the blocks of M called B, C; Cᵀ, D, it is

    `projection`                M_c = M + PM − (PM)ᵀ            [B 2C; 0 D]     positive definite where M is
    `symmetric_projection`      M_c′ = PMP + (I − P)M(I − P)    [B 0; 0 D]      symmetric as well
    `parameterized_projection`  M_c″ = PM + g (I − P)           [B C; 0 g I]    cheapest

So M_c and M_c′ need M to be positive definite on the null space of A (B) and on the range of Aᵀ (D), separately:
M as a whole may be singular. M_c″ needs only B, without which there is no unique answer at all: bodies without mass
whose motion the constraints determine are no obstacle to it. Where M is positive definite, all three always work, with
redundant rows, zero rows, no rows, and at singular configurations.

Solutions: full rank: the unique a, Aᵀλ and λ. Redundant and consistent: a and Aᵀλ unique, λ of minimum norm.
Inconsistent: a minimises ‖A a + γ‖ and obeys the equations of motion in what is left, status INCONSISTENT. Singular:
the direction that A loses is unconstrained. B, or for M_c and M_c′ D, not positive definite: ILL_POSED. Statuses of
ill-conditioned problems and of numbers that overflow: see `Formulation`.

Source: Aghili, IEEE Transactions on Robotics 21, 2005 (docs/notation.md#sources), section 5. Its f is our τ, its
force of constraint 𝓕 is −Aᵀλ in ours (M q̈ + h = f − 𝓕), its C q̇ is −A⁺γ, which holds for rheonomic constraints
too, its parameter γ is our g. C_c = MC, so the velocity terms of (25), (32) and (51) are M C q̇.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.formulations.metric import Weighing, WeightedProblem
from sarrus.formulations.problem import Array, Formulation, Problem
from sarrus.formulations.projections.least_condition import Blocks, best_parameter
from sarrus.formulations.requirements import Refused, answered, general_solver, guarded
from sarrus.formulations.tolerances import MASSLESS

MINIMAL_CONDITION = "minimal-condition"


@guarded
def projection(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    throw: bool = True,
    **weighing: Unpack[Weighing],
) -> Formulation:
    """Return the constrained acceleration by the constraint inertia matrix M_c = M + PM − (PM)ᵀ.

    M_c a = P(τ − h) − M A⁺γ, and Aᵀλ = μ (P(τ − h) − M A⁺γ) − (I − P)(τ − h) with μ = (I − P) M M_c⁻¹. (Aghili
    2005, eqs. (22)–(25), (32).)

    Full rank: unique a, Aᵀλ, λ. Redundant or zero rows: unique a and Aᵀλ, least λ. Contradicting rows: least squares,
    status INCONSISTENT. Singular: the lost direction is unconstrained. M not positive definite on the null space of A,
    or on the range of Aᵀ: no answer, ILL_POSED. Ill-conditioned: the answer as refined, ALMOST or ILL_CONDITIONED.

    Parameters
    ----------
    M, h, A, gamma, tau : (n, n) symmetric, (n,), (m, n), (m,), (n,) or None.
    metric, row_metric : W (n, n) of the velocities and R (m, m) of the rows, or their diagonals; see
        `sarrus.formulations.metric`.
    tolerance, absolute_tolerance : a singular value of A_W below ``tolerance`` times the largest one, or below
        ``absolute_tolerance``, is zero.
    throw : raise `SolveError` where there is no answer; else it is NaN, and the status ILL_POSED or NOT_FINITE.

    Returns
    -------
    Formulation
        In the units of the data. ``condition`` is that of M_c. ``details``, in the coordinates of the metric: "P"
        projector, "inertia" the inverted matrix M_c, "mu" the coupling of the potent force to the constraint force.

    Raises
    ------
    ArgumentError
        An argument of the wrong shape, not finite, or a matrix that is not symmetric or positive definite.
    SolveError
        Where the problem is ill-posed, or its numbers overflow.
    """
    p = WeightedProblem.weighted(M, h, A, gamma, tau, **weighing)
    w = p.image
    inertia = w.M + w.projector @ w.M - w.M @ w.projector

    def drive(force: Array, normal: Array) -> Array:
        return w.projector @ force + w.M @ normal

    result = solve_inertia(p, inertia, drive, across=True)
    across = w.M @ (np.eye(w.n) - w.projector)
    result.details["mu"] = np.asarray(np.linalg.solve(inertia.T, across).T)
    return result


@guarded
def symmetric_projection(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    throw: bool = True,
    **weighing: Unpack[Weighing],
) -> Formulation:
    """Return the constrained acceleration by the symmetric constraint inertia matrix M_c′ = PMP + (I − P)M(I − P).

    M_c′ a = P(τ − h) − (I − 2P) M A⁺γ. (Aghili 2005, eqs. (26)–(28).)

    Parameters, solutions, returns and errors as for `projection`; ``details`` without "mu".
    """
    p = WeightedProblem.weighted(M, h, A, gamma, tau, **weighing)
    w = p.image
    along, across = w.projector, np.eye(w.n) - w.projector
    inertia = along @ w.M @ along + across @ w.M @ across

    def drive(force: Array, normal: Array) -> Array:
        return along @ force + (across - along) @ w.M @ normal

    return solve_inertia(p, inertia, drive, across=True)


@guarded
def parameterized_projection(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    g: float | str | None = None,
    throw: bool = True,
    **weighing: Unpack[Weighing],
) -> Formulation:
    """Return the constrained acceleration by the parameterized constraint inertia matrix M_c″ = PM + g (I − P).

    M_c″ a = P(τ − h) − g A⁺γ. (Aghili 2005, eq. (29) and proposition 2, which asks for M
    invertible; M positive definite on the null space of A is enough.) The answer does not depend on g.

    Parameters
    ----------
    g : a positive number, of the unit of M_W; None for the 2-norm of M_W; "minimal-condition" for the g with the
        smallest 2-norm condition number of M_c″. `sarrus.formulations.least_condition` has one for a
        whole motion.

    The others, solutions, returns and errors as for `projection`, except that M is not needed on the range of Aᵀ;
    ``details``: "P", "inertia" and the float "g".
    """
    p = WeightedProblem.weighted(M, h, A, gamma, tau, **weighing)
    w = p.image
    g = parameter(g, "g", p)
    inertia = w.projector @ w.M + g * (np.eye(w.n) - w.projector)

    def drive(force: Array, normal: Array) -> Array:
        return w.projector @ force + g * normal

    return solve_inertia(p, inertia, drive, details={"g": g})


def solve_inertia(
    p: WeightedProblem,
    inertia: Array,
    drive: Callable[[Array, Array], Array],
    *,
    across: bool = False,
    details: dict[str, Array | float] | None = None,
) -> Formulation:
    """Return the answer of inertia · a_W = drive(f_W, −A_W⁺γ_W), in the units of the data.

    ``drive`` is linear in the applied force and the acceleration across the constraints. ``across`` says that the
    matrix needs the mass across the constraints, D, to be positive definite too.
    """
    w, rows = p.image, p.rows
    if not _definite(w, w.basis):
        raise Refused(
            p,
            Status.ILL_POSED.diagnosis,
            Status.ILL_POSED.remedy + ", or give a metric if coordinates of different units hide their mass",
        )
    if across and not _definite(w, rows):
        raise Refused(
            p,
            "M is not positive definite on the range of Aᵀ, so that the constraint inertia matrix is singular",
            "The problem has a solution: use parameterized_projection or oblique_projection, which need M to be "
            "positive definite on the null space of A alone",
        )
    by_lu = general_solver(inertia)

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        applied = p.inverse_root @ force
        a = by_lu(drive(applied, -w.inverse @ (p.row_root @ gamma)))
        reaction = rows @ (rows.T @ (w.M @ a - applied))
        return p.inverse_root @ a, p.root @ reaction, p.row_root @ (w.inverse.T @ reaction)

    by_products = {"P": w.projector, "inertia": inertia, **(details or {})}
    return answered(p, solve, float(np.linalg.cond(inertia)), details=by_products)


def _definite(w: Problem, basis: Array) -> bool:
    """Return whether M is positive definite on the span of an orthonormal basis, above rounding of M's size."""
    block = basis.T @ w.M @ basis
    return block.size == 0 or bool(np.linalg.eigvalsh(block)[0] > MASSLESS * w.mass_norm)


def parameter(value: float | str | None, name: str, p: WeightedProblem) -> float:
    """Return the scale of the equations across the constraints: as given, ‖M_W‖, or the one of least condition."""
    w = p.image
    if value is None or (value == MINIMAL_CONDITION and w.rank in (0, w.n)):
        return w.mass_norm or 1.0
    if value == MINIMAL_CONDITION:
        return best_parameter(name, [Blocks.of(w)])
    if isinstance(value, str) or not (np.isfinite(value) and value > 0.0):
        raise ArgumentError(
            f"{name} must be a positive number, {MINIMAL_CONDITION!r} or None, got {value!r}", element=name
        )
    return float(value)
