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

from numpy import flatnonzero
from numpy.typing import ArrayLike

from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import opposite_flanks
from sarrus.dynamics.contacts.contact_state import below_its_plane, it_hits
from sarrus.dynamics.contacts.state_solution import StateSolution
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.optimize.contact_problem import solve_contact_problem
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.forward_dynamics import solved
from sarrus.dynamics.solve.state_contacts import contacts_at
from sarrus.dynamics.solve.support import listed
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory.state_contacts_layout import CLOSING, DEEP, FOUND, IDLE, NO_CHOICE, NOT_FINITE


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
    solution = StateSolution(table.elements, table.names, answer)
    if code == FOUND:
        found = ContactForces(solution, Status.OK, "")
        force = found.force if tau is None else work.checked(tau, work.nv, "tau") + found.force
        return solved(work, *free.state, free.time, force, False).on(found)
    found = without_forces(solution, code)
    failed = free.on(found)
    if throw:
        raise found.status.error(work.name, f"{found.reason}; contacts=False leaves it out", result=failed)
    return failed


def without_forces(solution: StateSolution, code: int) -> ContactForces:
    """Return why there are no forces, from how the kernel ended."""
    facts, elements = solution.answer.facts, solution.elements
    if code == CLOSING:
        text = it_hits(elements[int(facts.at_fault)], float(facts.speed))
        return ContactForces(solution, Status.INCONSISTENT, text)
    if code == NOT_FINITE:
        text = f"the accelerations by forces of {listed(list(solution.closed))} are not finite"
        return ContactForces(solution, Status.NOT_CONVERGED, text)
    if code == NO_CHOICE:
        closed = set(flatnonzero(solution.answer.start >= 0.0).tolist())
        names = listed([elements[k].name for pair in opposite_flanks(elements, closed) for k in pair])
        text = f"no choice of one flank each of {names} keeps all from closing"
        return ContactForces(solution, Status.INFEASIBLE, text)
    if pushing := _pushing(solution):
        text = f"no acceleration keeps these from closing further: {listed(pushing)}"
        return ContactForces(solution, Status.INFEASIBLE, text)
    if solution.ambiguous:
        names = listed(list(solution.ambiguous))
        text = f"no finite forces let {names} slide on: it jams, which takes an impact (Painlevé)"
        return ContactForces(solution, Status.INFEASIBLE, text, float(facts.residual))
    text = f"no forces of {listed(list(solution.closed))} were found that obey the laws of friction"
    return ContactForces(solution, Status.NOT_CONVERGED, text, float(facts.residual))


def _pushing(solution: StateSolution) -> list[str]:
    """Return the contacts and stops whose normal forces prove that no acceleration keeps all from closing further."""
    blocks = solution.blocks
    contacts = [(b.rows.stop - b.rows.start, b.friction) for b in blocks if not b.is_dry]
    dry = [(1, b.friction) for b in blocks if b.is_dry]
    found = solve_contact_problem(
        None, solution.given, contacts, dry, delassus=solution.delassus, throw=False
    )
    if found.status is not Status.INFEASIBLE:
        return []
    return [b.one.name for b in blocks if found.forces[b.rows.start] > 0.0]
