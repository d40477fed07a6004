"""Linear algebra of a linear model: from derivatives at a state to matrices in independent coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.derivatives import Derivatives
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.projected import projected_rates, unpushed_by
from sarrus.kernels.linalg.ranked import at_rank, ranked


@dataclass(frozen=True, eq=False)
class Chart:
    """Independent coordinates at a state: R (np, nq) with y = R (q − q0) and the rows W of ẏ = W v.

    ``own`` (dof, nv) are the rows of independent velocities η = W v if nonholonomic rows leave fewer velocities than
    coordinates; otherwise None, and η = ẏ.
    """

    rows: Array
    coordinate_rows: Array
    own: Array | None
    holonomic_rank: int
    rank: int
    nh: int


@dataclass(frozen=True, eq=False)
class Reduced:
    """The linear model of (y, η), and the related changes of the whole mechanism.

    ``tangent`` (2 nv, n): (N⁺δq, δv) for unit changes of (y, η); ``in_time`` (2 nv,): per second at constant (y, η);
    ``rates`` (2 nv, n + nu + 1): derivatives of (N⁺q̇, a) with respect to (y, η), u and t; ``matrix`` (n, n + nu + 1):
    derivatives of (ẏ, η̇); ``left_null`` (nc, nc − rank): combinations of rows of A that vanish; ``unpushed`` (nv, dof):
    motions on which the forces of the rows do no work.
    """

    tangent: Array
    in_time: Array
    rates: Array
    matrix: Array
    left_null: Array
    unpushed: Array


class Rows:
    """The stacked matrix [A; W], A cut to its rank: solves A x = b (least squares), W x = c.

    x = A⁺ b + K (c − W A⁺ b), with K = Z (W Z)⁻¹ and Z an orthonormal basis of the null space of A.
    """

    def __init__(self, jacobian: Array, rank: int, rows: Array) -> None:
        self.parts = parts = at_rank(jacobian, rank)
        self.left, self.right, self.left_null = parts.left / parts.kept, parts.right, parts.left_null
        self.rows = rows
        self.basis = dense.solve(product(rows, parts.null).T, parts.null.T).T

    def solve(self, b: Array, c: Array | float = 0.0) -> Array:
        """Return x for columns b (nc, n) and c (dof, n)."""
        x = product(self.right, product(self.left.T, b))
        return np.asarray(x + product(self.basis, c - product(self.rows, x)))


def reduce(d: Derivatives, chart: Chart, v: Array) -> Reduced:
    """Return the model with the dependent motions eliminated.

    On the constraints δq = K δy and δv = D δy + K δη with A D = −∂ψ K, and at given changes of state [M, −Pᵀ; A, 0]
    (δa, δλ) = −(δF, δG), with P = A unless rows act along other rows (``push``). Lᵀ with P L = 0 removes δλ, L = K for
    P = A (Spencer 2004, section 4.2 and appendix B, where K̇ and K̈ correspond to D and A⁺δG here). Redundant rows are
    solved in the least-squares sense, which is exact if they are consistent; any λ with the same constraint force Aᵀλ
    gives the same result.
    """
    nv, chained = d.mass.shape[0], chart.own is None
    velocity = Rows(d.jacobian, chart.rank, chart.rows if chart.own is None else chart.own)
    position = velocity if chained else Rows(d.jacobian[: chart.nh], chart.holonomic_rank, chart.rows)
    k, count = velocity.basis, position.basis.shape[1]
    dof, nu = k.shape[1], d.actuation.shape[1]

    # directions: one for each y, and time; ∂φ/∂t = ψ − A v = −A v
    drift = position.solve(product(d.jacobian[: chart.nh], v[:, None]))
    directions = np.zeros((nv + 1, count + 1))
    directions[:nv] = np.hstack([position.basis, drift])
    directions[nv, count] = 1.0
    turning = np.zeros((count, count + 1))
    if d.rate_q is not None:
        turning = product(chart.coordinate_rows, d.rate_q, directions)
    along = velocity.solve(
        -product(d.velocity_q, directions), -turning if chained else 0.0
    )  # D, and the same for time

    def columns(by_place: Array, by_velocity: Array, by_control: Array) -> Array:
        of_place = product(by_place, directions) + product(by_velocity, along)
        return np.hstack([of_place[:, :count], product(by_velocity, k), by_control, of_place[:, count:]])

    force = columns(d.force_q, d.force_v, -d.actuation)
    bias = columns(d.bias_q, d.bias_v, np.zeros((len(d.bias_q), nu)))
    particular = velocity.solve(-bias)
    left = None if d.push is None else unpushed_by(velocity.parts, d.push)
    ydd = projected_rates(k, d.mass, force, particular, unpushed=left)
    acceleration = particular + product(k, ydd)
    if chained and d.rate2_q is not None and d.rate2_v is not None:
        of_rate = columns(d.rate2_q, d.rate2_v, np.zeros((len(d.rate2_q), nu)))
        ydd = ydd + product(chart.coordinate_rows, of_rate)

    tangent = np.block([[position.basis, np.zeros((nv, dof))], [along[:, :count], k]])
    still = np.zeros((nv, nu))
    velocities = np.hstack([along[:, :count], k, still, along[:, count:]])
    of_y = product(chart.rows, velocities)
    of_y[:, :count] += turning[:, :count]
    of_y[:, -1:] += turning[:, count:]
    if chained:  # ẏ = η by definition: no rounding
        of_y[:] = 0.0
        of_y[:, count : count + dof] = np.eye(dof)
    if d.rate_q is not None:
        assert d.rate_v is not None
        inner = product(ranked(d.rate_v).inverse, d.rate_q, directions)
        velocities[:, :count] += inner[:, :count]
        velocities[:, -1:] += inner[:, count:]
    return Reduced(
        tangent=tangent,
        in_time=np.concatenate([directions[:nv, count], along[:, count]]),
        rates=np.vstack([velocities, acceleration]),
        matrix=np.vstack([of_y, ydd]) + 0.0,  # no −0
        left_null=velocity.left_null,
        unpushed=k if left is None else left,
    )
