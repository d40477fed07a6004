"""`Momenta`: independent positions and their conjugate momenta on the constraint manifold."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.coordinates.choices import (
    AUTOMATIC,
    PARTITION,
    TANGENT_SPACE,
    Coordinates,
    IndependentVelocities,
    choose,
    rows_of_rates,
)
from sarrus.dynamics.coordinates.relation import Relation
from sarrus.dynamics.coordinates.traced_relation import Place, TracedRelation
from sarrus.dynamics.model.tolerances import KEPT_ENTRY
from sarrus.dynamics.system import System


class Momenta(Relation):
    """Positions y = W N(q0)⁺ (q − q0) + y0 and their momenta p = ∂L/∂ẏ = Kᵀ ∂L/∂v on the constraint manifold.

    K = ∂v/∂ẏ is the basis of the null space of A with W K = 1, and ∂L/∂v = M v plus the terms of a Lagrangian linear in
    v. With holonomic constraints and potential forces these are Hamilton's equations: ẏ = ∂H/∂p, ṗ = −∂H/∂y. With
    nonholonomic constraints there are more y than p: z = W v are independently chosen velocities, and p is conjugate to
    them, but (y, p) are no canonical pairs.

    Parameters
    ----------
    coordinates : "tangent-space", "partition" or names of coordinates, as in `sarrus.parametrize`. Coordinates named by
        the user keep their names with the prefix "y.", their momenta have "p."; else y0, y1, … and p0, p1, …. In a run
        an ill-conditioned automatic chart is renewed, which changes y and p.

    Redundant constraints are legal: K follows from all rows by least squares, exact if they are consistent.
    Conditions and errors are those of a `Relation`.
    """

    def __init__(self, coordinates: Coordinates = TANGENT_SPACE) -> None:
        self.coordinates = coordinates
        self.names, self.velocity_names = (), ()

    @property
    def has_velocities(self) -> bool:
        """Whether z is given by its own rows: True."""
        return True

    @property
    def renews(self) -> bool:
        """Whether a run may change the chart."""
        return isinstance(self.coordinates, str) and self.coordinates in AUTOMATIC

    def traced(self, system: System, x: Place, ranks: tuple[int, int]) -> tuple[TracedRelation, Array]:
        """Return the relation of the chart at x over the symbols of a system, and start values of (y, p)."""
        e = system.equations
        chart = self.chart(system, x, ranks)
        names, velocity_names = self._names(chart)
        ny, nz = system.nv - ranks[0], system.nv - ranks[1]
        own = ca.SX.sym("own", ny + nz)
        constants = ca.SX.sym("chart", len(chart.values))
        of_y, of_z = ny * e.nq, nz * e.nv
        place = ca.reshape(constants[:of_y], e.nq, ny).T
        rows = ca.reshape(constants[of_y : of_y + of_z], e.nv, nz).T
        position = place @ e.q + constants[of_y + of_z :] - own[:ny]
        velocity = momentum_rows(system, rows) - own[ny:]
        found = TracedRelation(
            system, names, velocity_names, own, position, velocity, constants, chart.values
        )
        return found, np.concatenate([chart.y, np.zeros(nz)])

    def chart(self, system: System, x: Place, ranks: tuple[int, int]) -> MomentaChart:
        """Return the constants of the chart at x."""
        holonomic, rank = ranks
        jacobian = system.constraint_jacobian(*x)
        velocities = chosen = choose(system, self.coordinates, jacobian, rank)
        if system.nc > system.nh:
            automatic = self.coordinates if self.renews else PARTITION
            chosen = choose(system, automatic, jacobian[: system.nh], holonomic)
        rate = np.column_stack([system.coordinate_rate(x.q, unit) for unit in np.eye(system.nv)])
        place = rows_of_rates(system, chosen.rows, rate)
        shift = -place @ x.q
        for k, row in enumerate(place):  # a y that is an entry of q keeps its value
            i = int(np.argmax(row))
            if np.allclose(row, np.eye(system.nq)[i], rtol=0.0, atol=KEPT_ENTRY):
                place[k], shift[k] = np.eye(system.nq)[i], 0.0
        values = np.concatenate([place.ravel(), velocities.rows.ravel(), shift])
        return MomentaChart(chosen, velocities, values, place @ x.q + shift)

    def _names(self, chart: MomentaChart) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self.renews:
            places, speeds = range(len(chart.positions.rows)), range(len(chart.velocities.rows))
            return tuple(f"y{k}" for k in places), tuple(f"p{k}" for k in speeds)
        return tuple(f"y.{n}" for n in chart.positions.names), tuple(f"p.{n}" for n in chart.velocities.names)

    def __repr__(self) -> str:
        return f"Momenta({self.coordinates!r})"


class MomentaChart:
    """Rows W of positions and of velocities, the symbols' values in the relation, and y at the chart's state."""

    def __init__(
        self, positions: IndependentVelocities, velocities: IndependentVelocities, values: Array, y: Array
    ) -> None:
        self.positions, self.velocities, self.values, self.y = positions, velocities, values, y


def momentum_rows(system: System, rows: ca.SX) -> ca.SX:
    """Return Kᵀ ∂L/∂v (dof,) with [W; A] K = [1; 0] for rows W (dof × nv), over the symbols of a system.

    By the QR decomposition of [W; A], whose columns are independent if W and the constraints determine v: with
    [W; A] = Q R and the rows Q₁ of Q that belong to W, K = R⁻¹ Q₁ᵀ, for any redundant rows of A.
    """
    e = system.equations
    momentum = e.mass_matrix @ e.v
    if e.linear_momentum is not None:
        momentum += e.linear_momentum
    size = system.characteristic
    even = ca.diag(ca.DM(size.rows)) @ e.jacobian
    stacked = ca.densify(ca.vertcat(rows, even) if e.nc else rows)
    q, r = ca.qr(stacked)
    return ca.densify(q[: rows.shape[0], :] @ ca.solve(ca.densify(r).T, momentum))
