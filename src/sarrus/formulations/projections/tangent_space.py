"""The tangent space of the constraints: its projector P, the rate of P, and forces split by it.

P = I − A⁺A is the orthogonal projector onto the null space of A, the admissible velocities. Redundant and zero
rows of A change nothing: only the null space counts. Where the rank drops, P removes fewer directions; at A = 0,
or with no rows, it is the identity.

Keywords: ``tolerance`` (a singular value of A below this multiple of the largest one is zero),
``absolute_tolerance`` (below this number it is zero as well; the source's ε in section 8), ``metric`` and
``row_metric`` (W and R of `sarrus.formulations.metric`, for coordinates and rows of mixed units). Bad shapes and
numbers raise `ArgumentError`.

Source: Aghili, IEEE Transactions on Robotics 21, 2005 (docs/notation.md#sources), sections 2, 3 and 5.3. Symbols
agree with ours, but for C: the source's C is our Ṗ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.formulations.metric import Scales, WeightedProblem
from sarrus.formulations.problem import Array, as_array
from sarrus.formulations.projections.tolerances import DECOUPLED
from sarrus.formulations.tolerances import RANK_TOLERANCE


@dataclass(frozen=True, eq=False)
class ProjectorRate:
    """Rate of the projector along a motion; made by `projector_rate`.

    Attributes
    ----------
    P : (n, n) projector onto the null space of A.
    L : (n, n) −A⁺ȦP.
    P_dot : (n, n) Ṗ = L + Lᵀ, symmetric; the source's C.
    Omega : (n, n) Ω = L − Lᵀ, skew; the Ω of Aghili 2022, with its sign corrected.

    On the tangent space they agree: P_dot v = L v = Omega v = −A⁺Ȧ v for A v = 0.
    """

    P: Array
    L: Array
    P_dot: Array
    Omega: Array


def projector(
    A: ArrayLike,
    tolerance: float = RANK_TOLERANCE,
    **scales: Unpack[Scales],
) -> Array:
    """Return the projector P = V₂V₂ᵀ onto the null space of A (m, n), from its singular value decomposition.

    With a metric, P_W of A_W: it acts on W^{1/2} v and has no units. (Aghili 2005,
    eq. (4).)
    """
    return _kinematics(A, tolerance, **scales).image.projector


def projector_from_pseudo_inverse(
    A: ArrayLike, pseudo_inverse: ArrayLike | None = None, tolerance: float = RANK_TOLERANCE
) -> Array:
    """Return P = I − A⁺A, for a pseudo-inverse (n, m) that is at hand, or the one of NumPy.

    It equals `projector` up to rounding, which here grows with the condition number of A. (Aghili 2005, eq. (15).)
    """
    jacobian = _kinematics(A, tolerance).A
    if pseudo_inverse is None:
        inverse = np.linalg.pinv(jacobian, rcond=tolerance)
    else:
        inverse = as_array(pseudo_inverse, jacobian.shape[::-1], "pseudo_inverse")
    return np.eye(jacobian.shape[1]) - inverse @ jacobian


def projector_rate(
    A: ArrayLike,
    Adot: ArrayLike,
    tolerance: float = RANK_TOLERANCE,
    **scales: Unpack[Scales],
) -> ProjectorRate:
    """Return the `ProjectorRate`: Ṗ and its parts along a motion with Jacobian A (m, n) and its rate Ȧ (m, n).

    Exact where the rank of A is constant, redundant rows included; where the rank changes, P jumps and has no rate.
    With a constant metric, everything is that of A_W. (Aghili 2005, eqs. (13), (14), (16): C = Ṗ, C q̇ = −A⁺Ȧ q̇;
    Aghili 2022, eq. (4) and appendix 1, where Ω = Lᵀ − L is a slip.)
    """
    p = _kinematics(A, tolerance, **scales)
    return rate_of_projector(p, as_array(Adot, p.A.shape, "Adot"))


def rate_of_projector(problem: WeightedProblem, Adot: Array) -> ProjectorRate:
    """Return the rate of the projector of a problem's A_W; Ȧ is in the units of the data."""
    p = problem.image
    left = -p.inverse @ problem.row_root @ Adot @ problem.inverse_root @ p.projector
    return ProjectorRate(P=p.projector, L=left, P_dot=left + left.T, Omega=left - left.T)


def decompose_force(
    f: ArrayLike,
    A: ArrayLike,
    tolerance: float = RANK_TOLERANCE,
    **scales: Unpack[Scales],
) -> tuple[Array, Array]:
    """Return the potent part P f and the impotent part (I − P) f of a generalized force f (n,).

    Their sum is f. The impotent force lies in the range of Aᵀ: it does no work on admissible velocities, does not
    affect the motion and only changes the constraint force. The potent part P f is the smallest force with the same
    motion, in the norm √(fᵀW⁻¹f) if a metric is given. (Aghili 2005, eq. (5), section 5 and theorem 4.)
    """
    p = _kinematics(A, tolerance, **scales)
    force = as_array(f, (p.n,), "f")
    potent = p.projector.T @ force
    return potent, force - potent


def decouples(
    M: ArrayLike,
    A: ArrayLike,
    tolerance: float = RANK_TOLERANCE,
    *,
    coupling_tolerance: float = DECOUPLED,
    **scales: Unpack[Scales],
) -> bool:
    """Return whether the null space of A is invariant under M: (I − P) M P = 0, within a tolerance relative to M.

    Then the potent force does not contribute to the constraint force, so that force control and motion control are
    decoupled, and M_c = M. (Aghili 2005, proposition 3 and appendix D. The condition is also necessary: μP =
    (I − P) M P (PMP)⁺.) With a metric the condition is that of W⁻¹M.
    """
    as_array(M, np.shape(A)[-1:] * 2, "M")
    p = _kinematics(A, tolerance, M, **scales).image
    coupling = p.M @ p.projector - p.projector @ p.M @ p.projector
    return bool(np.linalg.norm(coupling) <= coupling_tolerance * np.linalg.norm(p.M))


def _kinematics(
    A: ArrayLike, tolerance: float, M: ArrayLike | None = None, **scales: Unpack[Scales]
) -> WeightedProblem:
    """Return the problem with A and without forces."""
    if np.ndim(A) != 2:
        raise ArgumentError(f"A must be a matrix (m, n), got shape {np.shape(A)}", element="A")
    m, n = np.shape(A)
    mass = np.eye(n) if M is None else M
    return WeightedProblem.weighted(mass, np.zeros(n), A, np.zeros(m), None, tolerance=tolerance, **scales)
