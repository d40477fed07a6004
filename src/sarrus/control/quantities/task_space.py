"""Kinematics and operational-space dynamics of a task, as numbers at a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is
from sarrus.control.quantities.quantities import position_quantity
from sarrus.dynamics.solve.inverse_dynamics import constraint_rank
from sarrus.dynamics.system import System
from sarrus.formulations.tasks.operational_space import OperationalSpace, operational_space


@dataclass(frozen=True, eq=False)
class TaskKinematics:
    """Kinematics of a task at a state: ẋ = J v + ∂x/∂t, ẍ = J a + bias.

    Attributes
    ----------
    value : x (m,); for an orientation its rotation vector. velocity : ẋ (m,); for an orientation the angular velocity.
    jacobian : J (m, nv). bias : (m,) ẍ at a = 0: J̇ v and the explicit dependence on time.
    """

    value: Array
    velocity: Array
    jacobian: Array
    bias: Array


class TaskSpace:
    """Operational space of a task: Λ, μ, p, J̄, Nᵀ as numbers (De Sapio and Park 2010).

    Called with a state it returns `sarrus.formulations.operational_space` under the constraints of the system
    (Λ_c, μ_c and p_c), or with ``constrained=False`` without them. It is compiled once.

    Parameters
    ----------
    system : the model.
    quantity : x, as in `sarrus.control.Task`: names of coordinates, a point, an orientation, the centre of mass, or a
        function x(q, t).

    A task that is singular, or fixed by the constraints, loses rank, see
    `sarrus.formulations.operational_space`. The rank of A is decided as in all solves (nearby closed
    configurations distinguish redundant from singular rows). Contacts and closures are active as the parameters say;
    contacts with Coulomb friction are left out.
    """

    def __init__(self, system: System, quantity: Any) -> None:
        check_is(type(self).__name__, system, System)
        self.system, x = system, position_quantity(system, quantity, "a task space")
        self.rows = x.rows
        outputs = {"value": x.value, "velocity": x.rate, "jacobian": x.jacobian, "bias": x.bias}
        self._native = system.compiled.compile("task space", outputs)

    def kinematics(self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> TaskKinematics:
        """Return `TaskKinematics`: x, ẋ, J and J̇ v at a state; v is zero by default."""
        found = self._native.evaluate(self.system.pack(q, v, t=t))
        return TaskKinematics(
            **{name: read_only(part if name == "jacobian" else part[:, 0]) for name, part in found.items()}
        )

    def __call__(
        self, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0, *, constrained: bool = True
    ) -> OperationalSpace:
        """Return Λ, μ, p, J̄, Nᵀ at a state; v is zero by default, gravity is h at v = 0.

        Raises `SolveError` if M is not positive definite, as with massless bodies.
        """
        system = self.system
        x = system.pack(q, v, t=t)
        q, v = x[system.parts.q], x[system.parts.v]
        here = self.kinematics(q, v, t)
        rows, gamma = np.zeros((0, system.nv)), np.zeros(0)
        if constrained and system.nc:
            jacobian = system.constraint_jacobian(q, v, t)
            rank = constraint_rank(system.workspace(), q, v, t, jacobian)
            left = np.linalg.svd(jacobian)[0][:, :rank].T
            rows, gamma = left @ jacobian, left @ system.constraint_bias(q, v, t)
        return operational_space(
            system.mass_matrix(q, t),
            system.bias_force(q, v, t),
            here.jacobian,
            here.bias,
            rows,
            gamma,
            gravity=system.bias_force(q, np.zeros(system.nv), t),
        )

    def __repr__(self) -> str:
        return f"TaskSpace({self.system.name!r}: {', '.join(self.rows)})"
