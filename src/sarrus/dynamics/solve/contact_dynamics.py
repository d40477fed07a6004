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
    v: ArrayLike,
    t: float,
    tau: ArrayLike | None,
    throw: bool,
) -> ForwardDynamics:
    """Return the answer with contacts, stops and dry friction, given the one without them, if it is one."""
    if type(q) is ndarray and all_between(work, q):
        return found
    if not takes_part(work, True) or not found.status.ok:
        return found
    x = work.pack(q, v, None, t)
    if all_open(work, x[work.parts.q], float(x[work.parts.t])):
        return found
    return accelerate(work, found, x, tau, throw)
