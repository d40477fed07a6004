"""Contact forces as affine functions of the actuator forces, and friction cones as inequalities on them.

    λ(u) = Λ_u u + λ₀,    Λ_u = −A⁺ᵀ S B,    λ₀ = −A⁺ᵀ S (τ − h + M A⁺γ),    S = I − M M̄⁻¹ P

with λ the force on the mechanism: a contact pushes where λ_n ≥ 0, along the outward normal, and sticks where
√(λ_t1² + λ_t2²) ≤ μ λ_n.

Source: Aghili 2022, Optimal control of legged robots subject to friction cone constraints, eqs. (6), (7), (27),
(28). Its B u + τ_g − Q q̇ is our B u + τ − h + M A⁺γ. With the sign of λ above, which is that of its (6), z_i =
−BᵀSᵀa_z and α_i = a_zᵀS(Q q̇ − τ_g), so that the last fraction of its stationary condition is z_i / (z_iᵀu + α_i);
G_i, γ_i and β_i are even in the sign. In (34) and (35) A⁺Σ S has to be Σ A⁺ᵀ S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.formulations.friction.log_barrier import Cone
from sarrus.formulations.metric import Weighing, WeightedProblem
from sarrus.formulations.problem import Array, as_array
from sarrus.formulations.projections.oblique import oblique_projection


@dataclass(frozen=True, eq=False)
class ContactForces(Answer):
    """Multipliers as an affine function of the actuator forces, λ = gain · u + offset; made by `contact_forces`.

    Attributes
    ----------
    gain : (m, nu) Λ_u.
    offset : (m,) λ₀, the multipliers at u = 0.
    S : (n, n) oblique projector onto the range of Aᵀ along M times the null space of A.
    determined : (m,) bool, which multipliers are unique; the others have least norm.
    rank : numerical rank of A.
    status : OK, or INCONSISTENT if the rows contradict each other.
    problem, B, inertia : the matrices of the problem, and M̄ in the coordinates of the metric.
    """

    gain: Array
    offset: Array
    S: Array
    determined: NDArray[np.bool_]
    rank: int
    status: Status
    problem: WeightedProblem = field(repr=False)
    B: Array = field(repr=False)
    inertia: Array = field(repr=False)

    def at(self, u: ArrayLike) -> Array:
        """Return λ (m,) under the actuator forces u (nu,)."""
        return self.gain @ as_array(u, self.gain.shape[1:], "u") + self.offset


@dataclass(frozen=True, eq=False)
class ConeInequality:
    """Conditions of one contact that pushes and sticks: zᵀu + α ≥ 0 and uᵀGu + γᵀu + β ≥ 0; made by
    `cone_inequalities`.

    Attributes
    ----------
    rows : the contact's rows of A: normal, then tangential.
    mu : its coefficient of friction.
    cone : rows and offset of (μ λ_n, λ_t1, λ_t2) as functions of u, the same condition as a second-order cone.
    z, alpha : (nu,) and number with λ_n = zᵀu + α.
    G, gamma, beta : (nu, nu), (nu,) and number with μ²λ_n² − λ_t1² − λ_t2² = uᵀGu + γᵀu + β. G is indefinite, and the
        second inequality alone also holds for pulling forces.
    """

    rows: tuple[int, ...]
    mu: float
    cone: Cone

    @property
    def z(self) -> Array:
        return self.cone.rows[0] / self.mu

    @property
    def alpha(self) -> float:
        return float(self.cone.offset[0] / self.mu)

    @property
    def G(self) -> Array:
        return self.cone.rows.T @ self._mirrored(self.cone.rows)

    @property
    def gamma(self) -> Array:
        return 2.0 * self.cone.rows.T @ self._mirrored(self.cone.offset)

    @property
    def beta(self) -> float:
        return float(self.cone.offset @ self._mirrored(self.cone.offset))

    @staticmethod
    def _mirrored(y: Array) -> Array:
        """Return y with the sign of its tangential part changed."""
        return np.concatenate([y[:1], -y[1:]])


def contact_forces(
    M: ArrayLike,
    h: ArrayLike,
    A: ArrayLike,
    gamma: ArrayLike,
    B: ArrayLike,
    tau: ArrayLike | None = None,
    **weighing: Unpack[Weighing],
) -> ContactForces:
    """Return the multipliers as an affine function of the actuator forces, by the oblique projector.

    (Aghili 2022, eqs. (6), (27) with A⁺ᵀ for the selection of rows.)

    Full rank: the unique λ(u). Redundant: Aᵀλ(u) is unique, λ(u) of least norm for every u, and ``determined`` says
    which rows do not depend on that choice. Inconsistent: that of the least-squares acceleration, status INCONSISTENT.
    Singular: no force in the lost direction. Not determined are, for example, the forces at the four corners of a
    rigid foot.

    Parameters
    ----------
    M, h, A, gamma : (n, n) symmetric, (n,), (m, n), (m,).
    B : (n, nu) generalized force per unit of actuator force.
    tau : (n,) force that acts besides the actuators, or None.
    metric, row_metric, tolerance, absolute_tolerance : as for
        `sarrus.formulations.projections.constraint_inertia.projection`.

    Raises
    ------
    ArgumentError
        An argument of the wrong shape, or not finite; named.
    SolveError
        M is not positive definite on the null space of A.
    """
    solution = oblique_projection(M, h, A, gamma, tau, **weighing)
    p = solution.problem
    assert isinstance(p, WeightedProblem)
    if np.ndim(B) != 2:
        raise ArgumentError(f"B must be a matrix ({p.n}, nu), got shape {np.shape(B)}", element="B")
    actuation = as_array(B, (p.n, np.shape(B)[1]), "B")
    S = p.root @ np.asarray(solution.details["S"]) @ p.inverse_root
    return ContactForces(
        gain=-p.inverse.T @ S @ actuation,
        offset=solution.multipliers,
        S=S,
        determined=solution.determined,
        rank=solution.rank,
        status=solution.status,
        problem=p,
        B=actuation,
        inertia=np.asarray(solution.details["inertia"]),
    )


def cone_inequalities(
    forces: ContactForces, contacts: Sequence[Sequence[int]], mu: ArrayLike
) -> tuple[ConeInequality, ...]:
    """Return the inequalities on u by which contacts push, and stay inside their friction cones.

    (Aghili 2022, eq. (28).) For a contact whose rows are not determined they speak of its force of least
    norm: enough for some admissible distribution of the same Aᵀλ, but not needed by every one.

    Parameters
    ----------
    contacts : for each contact its rows of A: (n, t1, t2), (n, t1) in a plane, or (n,) without friction. A contact that
        is open is left out.
    mu : coefficient of friction of all contacts, or (k,) one for each; of no meaning for rows (n,).

    Raises
    ------
    ArgumentError
        Names the contact: rows that are not there, or used twice; a normal row that is zero; μ not positive (give a
        contact without friction its normal row alone).
    """
    m = len(forces.offset)
    coefficients = np.broadcast_to(real_array(mu), (len(contacts),)) if np.ndim(mu) == 0 else mu
    coefficients = as_array(coefficients, (len(contacts),), "mu")
    used: set[int] = set()
    found = []
    for k, (given, coefficient) in enumerate(zip(contacts, coefficients)):
        rows = tuple(int(row) for row in given)
        fault, element = "", f"contacts[{k}]"
        if not 1 <= len(rows) <= 3 or not all(0 <= row < m for row in rows):
            fault = f"contact {k} has rows {rows}; it must be one to three of the {m} rows of A: normal, tangential"
        elif used.intersection(rows) or len(set(rows)) < len(rows):
            fault = f"contact {k} has rows {rows}, one of which is used twice"
        elif not forces.problem.A[rows[0]].any():
            fault = f"contact {k}: row {rows[0]} of A, its normal, is zero. Leave out contacts that are open"
        elif len(rows) > 1 and not coefficient > 0.0:
            fault = f"mu of contact {k} must be positive, got {coefficient}. Without friction give its normal row alone"
            element = f"mu[{k}]"
        if fault:
            raise ArgumentError(fault, element=element)
        used.update(rows)
        friction = float(coefficient) if len(rows) > 1 else 1.0
        scale = np.array([friction, 1.0, 1.0])[: len(rows)]
        chosen = list(rows)
        cone = Cone(scale[:, None] * forces.gain[chosen], scale * forces.offset[chosen])
        found.append(ConeInequality(rows, friction, cone))
    return tuple(found)
