"""Native functions of gaps, rows and velocities of the contacts of a system, compiled at their first use."""

from __future__ import annotations

from functools import partial

import casadi as ca

from sarrus.codegen import NativeFunction
from sarrus.dynamics.contacts.tolerances import EXACT_FLANK_GAP, LEAVING_FLANK
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.contact.tolerances import OUT_OF_REACH


def row_count(system: Evaluations) -> int:
    """Return the number of rows of contacts and of lengths with dry friction that are there at every state."""
    return int(system.equations.row_rates.numel())


def gap_outputs(system: Evaluations) -> dict[str, ca.SX]:
    """Return the gaps of contacts over the symbols of the equations."""
    return {"gap": ca.vertcat(ca.SX(0, 1), *(contact.gap for contact in system.equations.friction_contacts))}


def held_gap_outputs(system: Evaluations) -> dict[str, ca.SX]:
    """Return the gaps of contacts that are held, which go on smoothly beyond the borders of their places."""
    contacts = system.equations.friction_contacts
    return {"gap": ca.vertcat(*(one.gap if one.held_gap is None else one.held_gap for one in contacts))}


def border_outputs(system: Evaluations) -> dict[str, ca.SX]:
    """Return the borders of the places of contacts, see `ContactEquations`; far away for those that are always there.

    A border near 0 would cap their forces in the event functions, and the instants of zeros would be known less well.
    """
    borders = (contact.border for contact in system.equations.friction_contacts)
    return {"border": ca.vertcat(*(ca.SX(-OUT_OF_REACH) if border is None else border for border in borders))}


def hurry_outputs(system: Evaluations) -> dict[str, ca.SX]:
    """Return the largest rate of pairs whose features come and go [1/s], see `ContactEquations`; 0 without any."""
    rates = [contact.hurry for contact in system.equations.friction_contacts if contact.hurry is not None]
    return {"hurry": ca.mmax(ca.vertcat(ca.SX(0), *rates))}


def step_gap_outputs(system: Evaluations) -> dict[str, ca.SX]:
    """Return the gaps for time stepping: of two opposite flanks one is out of reach.

    It is the flank that opens, or at rest the one opposite to a closed flank. Otherwise a step that passes both flanks
    of a small backlash would squeeze them with undetermined forces, or let them rebound into each other.
    """
    friction_contacts = system.equations.friction_contacts
    gaps = {contact.name: contact.gap for contact in friction_contacts}
    seen = []
    for contact, gap in zip(friction_contacts, gaps.values()):
        if contact.opposite_flank:
            leaves, standing = contact.rates[0] > LEAVING_FLANK, ca.fabs(contact.rates[0]) <= LEAVING_FLANK
            held = ca.logic_and(standing, ca.fabs(gaps[contact.opposite_flank]) <= EXACT_FLANK_GAP)
            gap += ca.if_else(ca.logic_or(leaves, held), OUT_OF_REACH, 0.0)
        seen.append(gap)
    return {"gap": ca.vertcat(*seen)}


def motion_outputs(system: Evaluations) -> dict[str, ca.SX]:
    """Return velocities and biases of the rows of contacts and of lengths with dry friction, and the rows."""
    e = system.equations
    return {"rates": e.row_rates, "bias": e.row_bias, "rows": ca.jacobian(e.row_rates, e.v)}


def contact_gaps(system: Evaluations) -> NativeFunction:
    """Return the function of x = [q | v | u | t | p | τ] for the gaps of contacts."""
    return system.compiled.named("touch gaps", partial(gap_outputs, system))


def border_functions(system: Evaluations) -> tuple[NativeFunction, NativeFunction, NativeFunction] | None:
    """Return the functions of x for `held_gap_outputs`, `border_outputs` and `hurry_outputs`; None if no contact has a
    border.
    """
    if all(contact.border is None for contact in system.equations.friction_contacts):
        return None
    named = system.compiled.named
    return (
        named("held gaps", partial(held_gap_outputs, system)),
        named("borders", partial(border_outputs, system)),
        named("hurry", partial(hurry_outputs, system)),
    )


def step_gaps(system: Evaluations) -> NativeFunction:
    """Return the function of x for `step_gap_outputs`."""
    if not any(contact.opposite_flank for contact in system.equations.friction_contacts):
        return contact_gaps(system)
    return system.compiled.named("step gaps", partial(step_gap_outputs, system))


def contact_motion_function(system: Evaluations) -> NativeFunction:
    """Return the function of x for `motion_outputs`."""
    return system.compiled.named("touch motion", partial(motion_outputs, system))
