"""`with_contact_forces`: forward dynamics with the forces of contacts, stops and dry friction, where any takes part."""

from __future__ import annotations

from numpy import ndarray
from numpy.typing import ArrayLike

from sarrus.dynamics.contacts.contact_state import all_between, all_open, takes_part
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.accelerate import accelerate
from sarrus.dynamics.solve.workspace import Workspace


def with_contact_forces(
    work: Workspace,
    found: ForwardDynamics,
    q: ArrayLike,
    tau: ArrayLike | None,
    throw: bool,
) -> ForwardDynamics:
    """Return the answer with contacts, stops and dry friction, given the one without them, if it is one."""
    if type(q) is ndarray and all_between(work, q):
        return found
    if not takes_part(work, True) or not found.status.ok:
        return found
    if work.contact_geometries and all_open(
        work, found.state[0], found.time
    ):  # a look is far faster than rows
        return found
    return accelerate(work, found, tau, throw)
