"""`accelerate`: the acceleration at a state with the exact forces of contacts, joint stops and dry friction.

Delassus matrix W = J K Jᵀ, K the response of the mechanism with closed loops to generalized forces; b = J a + J̇ v
without contact forces; accelerations of the rows u = W r + b. For closed contacts without normal velocity

- r_n ≥ 0, u_n ≥ 0, r_n u_n = 0 (Signorini);
- slipping: r_t = −μ r_n v_t/‖v_t‖; otherwise sticking, u_t = 0 with ‖r_t‖ ≤ μ_s r_n, or starting to slip,
  r_t = −μ r_n u_t/‖u_t‖ (Coulomb); dry friction likewise with its limit in place of μ r_n.

The kernel `sarrus.kernels.states.choices` finds the forces, with flanks and slips that begin at dead centres; here are
the words for what has no forces.
"""

from __future__ import annotations

from numpy import flatnonzero, ndarray
from numpy.typing import ArrayLike

from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import opposite_flanks
from sarrus.dynamics.contacts.contact_state import all_between, all_open, below_its_plane, it_hits, takes_part
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.forward_dynamics import solved
from sarrus.dynamics.solve.state_contacts import contacts_at
from sarrus.dynamics.solve.support import listed
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory.state_contacts_layout import (
    CLOSING,
    DEEP,
    FOUND,
    IDLE,
    NO_CHOICE,
    NO_MOTION,
    NOT_FINITE,
)


def accelerate(work: Workspace, free: ForwardDynamics, tau: ArrayLike | None, throw: bool) -> ForwardDynamics:
    """Return forward dynamics with contact forces, from the answer ``free`` without them, the last one of ``work``.

    Without closed contacts ``free`` is returned. Raises `SolveError` if no acceleration satisfies the laws; with
    ``throw`` False the answer is ``free``, with the reason in its ``contacts``.
    """
    table = contacts_at(work, *free.state, free.time)
    code, answer = table.find()
    if code == IDLE:
        return free
    if code == DEEP:
        raise below_its_plane(work, table.elements[int(answer.facts.at_fault)], float(answer.facts.gap))
    found = ContactForces(table.elements, table.names, answer)
    if code == FOUND:
        force = found.force if tau is None else work.checked(tau, work.nv, "tau") + found.force
        return solved(work, *free.state, free.time, force, False).on(found)
    found = without_forces(found, code)
    failed = free.on(found)
    if throw:
        raise found.status.error(work.name, f"{found.reason}; contacts=False leaves it out", result=failed)
    return failed


def with_contact_forces(
    work: Workspace, found: ForwardDynamics, q: ArrayLike, tau: ArrayLike | None, throw: bool
) -> ForwardDynamics:
    """Return the answer with contacts, stops and dry friction, given the one without them, if it is one."""
    if type(q) is ndarray and all_between(work, q):
        return found
    if not takes_part(work, True) or not found.status.ok:
        return found
    if work.contact_geometries and all_open(work, found.state[0], found.time):  # far faster than rows
        return found
    return accelerate(work, found, tau, throw)


def without_forces(found: ContactForces, code: int) -> ContactForces:
    """Return why there are no forces, from how the kernel ended."""
    facts, elements, closed = found.answer.facts, found.elements, listed(found.closed)
    if code == CLOSING:
        text = it_hits(elements[int(facts.at_fault)], float(facts.speed))
        return found.failed(Status.INCONSISTENT, text)
    if code == NOT_FINITE:
        return found.failed(Status.NOT_CONVERGED, f"the accelerations by forces of {closed} are not finite")
    if code == NO_CHOICE:
        pairs = opposite_flanks(elements, set(flatnonzero(found.answer.start >= 0.0).tolist()))
        names = listed([elements[k].name for pair in pairs for k in pair])
        return found.failed(
            Status.INFEASIBLE, f"no choice of one flank each of {names} keeps all from closing"
        )
    if code == NO_MOTION:
        pushing = [b.one.name for b in found.blocks if found.answer.forces[b.one.rows.start] > 0.0]
        text = f"no acceleration keeps these from closing further: {listed(pushing)}"
        return found.failed(Status.INFEASIBLE, text)
    if found.ambiguous:
        names = listed(found.ambiguous)
        text = f"no finite forces let {names} slide on: it jams, which takes an impact (Painlevé)"
        return found.failed(Status.INFEASIBLE, text, float(facts.residual))
    text = f"no forces of {closed} were found that obey the laws of friction"
    return found.failed(Status.NOT_CONVERGED, text, float(facts.residual))
