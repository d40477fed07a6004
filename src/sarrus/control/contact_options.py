"""`ContactOptions`: what a law with contacts minimises and respects, and the numbers its kernel takes for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.dynamics.control_limits import control_bounds, limited_by_state
from sarrus.dynamics.inverse_dynamics import positive_weights
from sarrus.dynamics.system import System
from sarrus.kernels import contact_layout as cn
from sarrus.kernels.record import laid
from sarrus.optimize.cone_program import ACCEPTED, ITERATIONS, TARGET, WARM_SHIFT
from sarrus.optimize.cone_rows import ConeRows

# Weight of the forces beside the mean weight of the controls: it chooses where the energy does not.
FORCE_WEIGHT = 1e-9
FRICTION = {"cone": cn.CONE, "pyramid": cn.PYRAMID, "none": cn.NO_LIMITS}


@dataclass(frozen=True, eq=False)
class ContactOptions:
    """Costs and limits of a law with contacts; laws take them as a whole, by name, or both.

    Parameters
    ----------
    weights : (nu,) W of the cost uᵀW u; for motors R / K_t², resistance over squared torque constant.
    friction : "cone"; "pyramid", of four sides inside it; "none", the forces of least cost whatever the ground.
    coefficients : by contact, where not those of the mechanism.
    largest_force : normal force that a contact may have [N].
    relaxation : what becomes of tasks that the limits do not allow. None: each level misses as little as its own limits
        and what those above it got allow, whatever that takes from those below (lexicographic). Numbers, ρ of each
        level, or one for all: the costs of the squared accelerations that they miss, all at once.
    limits : (lower, upper) of the controls, where not those of the mechanism.
    largest_rate : of the controls [1/s], from sample to sample; 0 for any.
    constraints : further rows over (u, forces of all contacts (n, t1, t2)), such as limits of the centre of pressure.
    hold : keep the last controls where there are none inside all limits, instead of failing.
    contact_damping : rate at which closed contacts lose velocity [1/s].
    """

    weights: ArrayLike | None = None
    friction: str = "cone"
    coefficients: Mapping[str, float] | None = None
    largest_force: float = np.inf
    relaxation: ArrayLike | None = None
    limits: tuple[ArrayLike, ArrayLike] | None = None
    largest_rate: float = 0.0
    constraints: ConeRows | None = None
    hold: bool = False
    contact_damping: float = 0.0

    def kind_of_friction(self, law: str) -> int:
        """Return the kernel's number of ``friction``."""
        check_known("friction", self.friction, FRICTION, law, element="friction")
        return FRICTION[self.friction]

    def physics(self, law: str, system: System, unknowns: int, tasks: int, reflexes: int) -> Array:
        """Return limits and weights as the kernel of a law takes them; `ArgumentError` for what cannot be meant.

        ``tasks`` and ``reflexes`` are levels that follow physics: numbers of ``relaxation`` are about the former."""
        contacts = system.equations.contacts
        sizes = cn.physics(system.nu, len(contacts), unknowns, 1 + reflexes + tasks)
        data = np.zeros(sum(sizes))
        parts = laid(data, sizes)
        parts.lower[:], parts.upper[:] = self._bounds(law, system)
        weights = positive_weights(system, self.weights)
        small = FORCE_WEIGHT * float(np.mean(weights))
        parts.weights[:] = [*weights, *[small] * (unknowns - system.nu)]
        if self.relaxation is not None:
            rho = real_array(self.relaxation)
            if rho.shape not in ((), (tasks,)) or not np.all(rho > 0.0):
                raise ArgumentError(
                    f"{law}: relaxation must be None, a positive number or {tasks} of them, got "
                    f"{self.relaxation!r}",
                    element="relaxation",
                )
            parts.relaxation[1 : 1 + reflexes] = rho.max(initial=0.0)
            parts.relaxation[1 + reflexes :] = rho
        given = self.coefficients or {}
        for k, contact in enumerate(contacts):
            own = given.get(contact.name, contact.friction_coefficient)
            if not contact.tangential:
                own = 1.0
            if own is None or not own > 0.0:
                raise ArgumentError(
                    f"{law}: contact {contact.name!r} needs a positive friction_coefficient, in the mechanism or in "
                    "coefficients=",
                    element=contact.name,
                )
            parts.friction[k] = own
        names = tuple(contact.name for contact in contacts)
        for name in given:
            check_known("contact", name, names, f"{law}: coefficients")
        if not self.largest_force > 0.0 or not self.largest_rate >= 0.0:
            raise ArgumentError(
                f"{law}: largest_force must be positive and largest_rate at least 0, got {self.largest_force} and "
                f"{self.largest_rate}",
                element="largest_force",
            )
        parts.largest[:] = self.largest_force
        parts.rate[:] = self.largest_rate
        parts.solver[:] = TARGET, ACCEPTED, ITERATIONS, WARM_SHIFT
        return data

    def _bounds(self, law: str, system: System) -> Array:
        """Return lower and upper limits of the controls (2 × nu)."""
        servos = limited_by_state(system) if self.limits is None else ()
        if servos:
            raise ArgumentError(
                f"{law}: limits of the force of {', '.join(servos)} depend on the state, those of this law are "
                "numbers: give limits=(lower, upper) of the controls, or drive these joints by motors without bias",
                element=servos[0],
            )
        bounds = np.full((2, system.nu), np.nan)
        try:
            bounds[0], bounds[1] = control_bounds(system) if self.limits is None else self.limits
        except ValueError:
            bounds[:] = np.nan
        if not np.all(bounds[0] < bounds[1]):
            raise ArgumentError(
                f"{law}: limits must be numbers or {system.nu} of them, lower < upper for every actuator",
                element="limits",
            )
        return bounds
