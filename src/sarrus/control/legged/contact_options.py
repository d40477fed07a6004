"""`ContactOptions`: cost and limits of a law with contacts, and their numbers for the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.control.laws.law_options import LawOptions
from sarrus.control.legged.tolerances import FORCE_WEIGHT
from sarrus.dynamics.system import System
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory.record import view_fields

FRICTION = {"cone": cn.CONE, "pyramid": cn.PYRAMID, "none": cn.NO_LIMITS}


@dataclass(frozen=True, eq=False)
class ContactOptions(LawOptions):
    """Cost and limits of a law with contacts: those of `LawOptions`, and

    Parameters
    ----------
    weights : (nu,) W of the cost uᵀW u; for motors R / K_t², resistance over squared torque constant. Default: motors
        are weighted by their limits, or by the forces they exert in characteristic units.
    friction : "cone"; "pyramid", a pyramid of four sides inside the cone; "none", no friction limit.
    coefficients : friction coefficients by contact that replace those of the mechanism.
    largest_force : largest normal force of a contact [N].
    contact_damping : rate at which the velocity of closed contacts decays [1/s].

    Levels in ``relaxation`` are the tasks; physics is never missed. ``constraints`` may involve forces, such as limits
    of the centre of pressure. Force limits that depend on the state (servos) are refused; the error names the actuator.
    """

    weights: ArrayLike | None = None
    friction: str = "cone"
    coefficients: Mapping[str, float] | None = None
    largest_force: float = np.inf
    contact_damping: float = 0.0

    def kind_of_friction(self, law: str) -> int:
        """Return the kernel's number for ``friction``."""
        check_known("friction", self.friction, FRICTION, law, element="friction")
        return FRICTION[self.friction]

    def physics(
        self,
        law: str,
        system: System,
        unknowns: int,
        levels: int,
        contacts: int = 0,
        reflexes: int = 0,
        unit: float = 1.0,
    ) -> Array:
        """Return limits and weights in the form of the kernel of a law; raises `ArgumentError` for invalid values."""
        self.refuse_servos(law, system)
        elements = system.equations.contacts
        data = super().physics(law, system, unknowns, levels, len(elements), reflexes, unit)
        parts = view_fields(data, cn.physics(system.nu, len(elements), unknowns, 1 + reflexes + levels))
        parts.weights[system.nu :] = FORCE_WEIGHT
        given = self.coefficients or {}
        for k, contact in enumerate(elements):
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
        names = tuple(contact.name for contact in elements)
        for name in given:
            check_known("contact", name, names, f"{law}: coefficients")
        if not self.largest_force > 0.0:
            raise ArgumentError(
                f"{law}: largest_force must be positive, got {self.largest_force!r}", element="largest_force"
            )
        parts.largest[:] = self.largest_force
        return data
