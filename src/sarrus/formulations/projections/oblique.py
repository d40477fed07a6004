"""The oblique projection formulation: a symmetric inertia matrix that keeps Ṁ − 2C skew.

Source: Aghili 2022, Optimal control of legged robots subject to friction cone constraints, section 2 and appendices
1 to 3. Its B u + τ_g − C q̇ is our τ − h, and its Γ in (5c) is L = −A⁺ȦP. With λ the force on the mechanism its (6),
(41) have our sign; the text's slips (Ω = Lᵀ − L, and the sign of λ in (1a)) are put right here.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.formulations.metric import Weighing, WeightedProblem
from sarrus.formulations.problem import Array, Formulation, as_array
from sarrus.formulations.projections.constraint_inertia import parameter, solve_inertia
from sarrus.formulations.projections.tangent_space import rate_of_projector
from sarrus.formulations.requirements import guarded


@guarded
def oblique_projection(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    nu: float | str | None = None,
    Adot: ArrayLike | None = None,
    C: ArrayLike | None = None,
    throw: bool = True,
    **weighing: Unpack[Weighing],
) -> Formulation:
    """Return the constrained acceleration by the symmetric positive definite M̄ = PMP + ν(I − P).

    M̄ a = P(τ − h) + (PM − νI) A⁺γ, and Aᵀλ = −S(τ − h + M A⁺γ) with S = I − M M̄⁻¹P. S is the oblique projector onto
    the range of Aᵀ along M times the null space of A; it does not depend on ν. (Aghili 2022, eqs.
    (5)–(7), (38), (41), with −A⁺γ for Ω q̇, which holds for rheonomic constraints too.)

    M̄ has ν as an eigenvalue, as often as the rank of A, and the eigenvalues of M on the null space of A. It needs
    M to be positive definite there, no more: bodies without mass are no obstacle where the constraints determine their
    motion.

    Parameters
    ----------
    M, h, A, gamma, tau : (n, n) symmetric, (n,), (m, n), (m,), (n,) or None.
    nu : a positive number, of the unit of M_W; None for the 2-norm of M_W; "minimal-condition" for the ν with the
        smallest condition number of M̄, the geometric mean of the extreme eigenvalues on the null space.
    Adot : (m, n) Ȧ along the motion, for the by-products below; the answer does not need it, since it has γ.
    C : (n, n) Coriolis matrix with h = C v + the other forces, for "C_bar"; needs Adot.
    metric, row_metric, tolerance, absolute_tolerance, throw : as for
        `sarrus.formulations.projections.constraint_inertia.projection`; a metric counts as constant in time.

    Returns
    -------
    Formulation
        In the units of the data; redundant, inconsistent and singular constraints as for `projection`.
        ``details``, in the coordinates of the metric:

        - "P", "inertia" M̄, "S", and the float "nu";
        - with Adot: "L" = −A⁺ȦP, "Omega" = L − Lᵀ with Ω v = −A⁺Ȧ v for admissible v, "P_dot" = L + Lᵀ;
        - with C: "C_bar" = PCP + PM(L + Lᵀ) − νL, by which M̄ a + C̄ v = P(τ − h + C v) where γ = Ȧ v; and
          "Q" = MΩ + C, by which Aᵀλ = −S(τ − h + C v − Q v). If Ṁ − 2C is skew and ν constant, dM̄/dt − 2C̄ is
          skew too. The other values of ν change with the state, so give a number for that.

    Raises
    ------
    ArgumentError, SolveError
        As `projection`.
    """
    p = WeightedProblem.weighted(M, h, A, gamma, tau, **weighing)
    w, P = p.image, p.image.projector
    nu = parameter(nu, "nu", p)
    inertia = P @ w.M @ P + nu * (np.eye(w.n) - P)

    def drive(force: Array, normal: Array) -> Array:
        return P @ (force - w.M @ normal) + nu * normal

    details: dict[str, Array | float] = {"nu": nu, **_rates(p, nu, Adot, C)}
    result = solve_inertia(p, inertia, drive, details=details)
    result.details["S"] = np.eye(w.n) - w.M @ np.linalg.solve(inertia, P)
    return result


def _rates(
    p: WeightedProblem, nu: float, Adot: ArrayLike | None, C: ArrayLike | None
) -> dict[str, Array | float]:
    """Return the by-products that need Ȧ, and those that need C."""
    if Adot is None:
        if C is not None:
            raise ArgumentError("C_bar needs the rate of A: give Adot together with C", element="Adot")
        return {}
    w, P = p.image, p.image.projector
    rate = rate_of_projector(p, as_array(Adot, p.A.shape, "Adot"))
    found: dict[str, Array | float] = {"L": rate.L, "Omega": rate.Omega, "P_dot": rate.P_dot}
    if C is not None:
        coriolis = p.inverse_root @ as_array(C, p.M.shape, "C") @ p.inverse_root
        found["C_bar"] = P @ coriolis @ P + P @ w.M @ rate.P_dot - nu * rate.L
        found["Q"] = w.M @ rate.Omega + coriolis
    return found
