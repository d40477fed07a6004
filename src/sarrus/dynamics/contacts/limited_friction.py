"""`require_limited_friction`: the check for contacts that only steps in time know."""

from __future__ import annotations

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.evaluations import Evaluations


def require_limited_friction(system: Evaluations) -> None:
    """Raise `ArgumentError` for a contact of steps in time that sticks whatever the friction force."""
    for contact in system.equations.friction_contacts:
        if contact.static_coefficient == np.inf:
            raise ArgumentError(
                f"{system.name}: contact {contact.name!r} sticks without a limit of friction, which acts in steps in "
                "time only; elsewhere take the system in which it has friction='stick'",
                element=contact.name,
            )
