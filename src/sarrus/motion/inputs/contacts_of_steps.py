"""`with_contacts_of_steps`: contacts that are constraints as contacts of steps in time, which open and close there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.model import Model
from sarrus.dynamics.system import System


def with_contacts_of_steps(system: System) -> System:
    """Return the system in which every contact that is a constraint is one with a law of friction; or itself.

    A contact with "stick" has an infinite static coefficient: it sticks whatever the friction force while it pushes,
    and slides without friction if it can neither stick nor open (`sarrus.kernels.contact.step_problem`). The system has
    no rows of A for these contacts. Raises `ArgumentError` for contacts that stick beside contacts between geometries
    without closed form, whose contact problems are too large for them.
    """
    if not system.equations.contacts:
        return system
    found = system.model.cached("contacts of steps", lambda: _model(system))
    values = {name: system.parameters[name] for name in found.parameter_values() if name in system.parameters}
    return System.of_model(found, values, system.options)


def _model(system: System) -> Model:
    assert system.mechanism is not None  # only a mechanism has contacts
    mechanism = system.mechanism.snapshot()
    for name, contact in mechanism.contacts.items():
        if contact.slides:
            continue
        sticks = contact.friction == "stick"
        if sticks and system.contact_geometries:
            raise ArgumentError(
                f"{system.name}: contact {name!r} sticks whatever the friction, which steps in time do not combine "
                f"with contacts between geometries such as {system.contact_geometries[0]!r}; give it "
                "friction='coulomb' and a friction_coefficient",
                element=name,
            )
        mechanism.contacts[name] = replace(
            contact,
            friction="coulomb",
            friction_coefficient=0.0,
            static_coefficient=np.inf if sticks else 0.0,
            raised=0.0,
        )
    return Model.of_mechanism(mechanism, system.model.driven.targets, None)
