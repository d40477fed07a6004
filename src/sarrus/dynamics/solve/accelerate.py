"""`accelerate`: the acceleration at a state with the exact forces of contacts, joint stops and dry friction.

Delassus matrix W = J K Jᵀ, K the response of the mechanism with closed loops to generalized forces; b = J a + J̇ v
without contact forces; accelerations of the rows u = W r + b. For closed contacts without normal velocity

- r_n ≥ 0, u_n ≥ 0, r_n u_n = 0 (Signorini);
- slipping: r_t = −μ r_n v_t/‖v_t‖; otherwise sticking, u_t = 0 with ‖r_t‖ ≤ μ_s r_n, or starting to slip,
  r_t = −μ r_n u_t/‖u_t‖ (Coulomb); dry friction likewise with its limit in place of μ r_n.

The kernel `sarrus.kernels.contact.state_forces` finds the forces; here are choices of flanks, slips that begin at dead
centres, and the words for what has no forces.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import choices_of_flanks, opposite_flanks
from sarrus.dynamics.contacts.contact_state import below_its_plane, contact_row_state, it_hits
from sarrus.dynamics.contacts.state_solution import StateSolution
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.optimize.contact_problem import solve_contact_problem
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.forward_dynamics import solved
from sarrus.dynamics.solve.slip_onset import slip_onsets
from sarrus.dynamics.solve.state_contacts import StateContactTable, contacts_at
from sarrus.dynamics.solve.support import listed
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import ARRIVED, STEADY
from sarrus.kernels.memory.state_contacts_layout import (
    CLOSING,
    DEEP,
    IDLE,
    LEFT_OUT,
    NOT_FINITE,
)
from sarrus.kernels.memory.tolerances import CONTACT_RESIDUAL


def accelerate(work: Workspace, free: ForwardDynamics, tau: ArrayLike | None, throw: bool) -> ForwardDynamics:
    """Return forward dynamics with contact forces, from the answer ``free`` without them, the last one of ``work``.

    Without closed contacts ``free`` is returned. Raises `SolveError` if no acceleration satisfies the laws; with
    ``throw`` False the answer is ``free``, with the reason in its ``contacts``.
    """
    table = contacts_at(work, *free.state, free.time)
    code, answer = table.find()
    if code == IDLE:
        return free
    state = _State(work, table, free, tau)
    if code == DEEP:
        raise below_its_plane(work, table.elements[int(answer.facts.at_fault)], float(answer.facts.gap))
    solution = StateSolution(table.elements, table.names, answer)
    if code == CLOSING:
        one = table.elements[int(answer.facts.at_fault)]
        found = ContactForces(
            solution, Status.INCONSISTENT, it_hits(one, float(answer.facts.speed)), doubts=False
        )
    elif code == NOT_FINITE:
        found = _not_finite(solution)
    elif table.has_flanks and (pairs := state.closed_flanks(solution)):
        found = state.on_flanks(solution, pairs)
    else:
        found = state.judged(solution)
    if found.status.ok:
        return state.solved(found.force).on(found)
    failed = free.on(found)
    if throw:
        raise found.status.error(work.name, f"{found.reason}; contacts=False leaves it out", result=failed)
    return failed


class _State:
    """A state with closed contacts, and the forces that are asked for there."""

    def __init__(
        self, work: Workspace, table: StateContactTable, free: ForwardDynamics, tau: ArrayLike | None
    ) -> None:
        self.work, self.table = work, table
        self.q, self.v = free.state
        self.t = free.time
        self.tau = None if tau is None else work.checked(tau, work.nv, "tau")

    def solved(self, force: Array) -> ForwardDynamics:
        """Return forward dynamics with an additional generalized force."""
        tau = force if self.tau is None else self.tau + force
        return solved(self.work, self.q, self.v, self.t, tau, False)

    def _again(
        self, directions: dict[int, Array], left_out: frozenset[int] = frozenset()
    ) -> StateSolution | None:
        """Return the solution where some blocks slide along given directions, or are left out; None if not finite."""
        work, table = self.work, self.table
        x, parts = work.x, work.parts
        x[parts.q], x[parts.v], x[parts.t], x[parts.tau] = (
            self.q,
            self.v,
            self.t,
            0.0 if self.tau is None else self.tau,
        )
        for k, direction in directions.items():
            table.slide(k, direction)
        table.asked[list(left_out)] = LEFT_OUT
        code, answer = table.find()
        table.asked[:] = 0
        return None if code == NOT_FINITE else StateSolution(table.elements, table.names, answer)

    # --- forces and their laws -----------------------------------------------------------------------

    def judged(self, solution: StateSolution, left_out: frozenset[int] = frozenset()) -> ContactForces:
        """Return the forces, or the reason why there are none."""
        residual = float(solution.answer.facts.residual)
        if residual <= CONTACT_RESIDUAL:
            if solution.answer.facts.at_rest:
                return self._slipping(solution, left_out)
            return ContactForces(solution, Status.OK, "")
        if pushing := _pushing(solution):
            text = f"no acceleration keeps these from closing further: {listed(pushing)}"
            return ContactForces(solution, Status.INFEASIBLE, text)
        if solution.jamming:
            names = listed(solution.jamming)
            text = f"no finite forces let {names} slide on: it jams, which takes an impact (Painlevé)"
            return ContactForces(solution, Status.INFEASIBLE, text, residual=residual)
        text = f"no forces of {listed([b.one.name for b in solution.blocks])} were found that obey the laws of friction"
        return ContactForces(solution, Status.NOT_CONVERGED, text, residual=residual)

    def _slipping(self, solution: StateSolution, left_out: frozenset[int]) -> ContactForces:
        """Return the forces where what the constraints hold slips as it does a moment later (at a dead centre)."""
        work, blocks = self.work, [b for b in solution.blocks if b.at_rest]
        a = np.array(self.solved(solution.answer.force).a)
        answer = partial(solved, work, self.q, t=self.t, tau=None, throw=False, may_be_open=True)
        ways = slip_onsets(work, self.q, self.v, a, self.t, [b.one for b in blocks], answer)
        number = {one.name: k for k, one in enumerate(self.table.elements)}
        begins = {number[b.one.name]: way for b, way in zip(blocks, ways) if way.any()}
        again = self._again(begins, left_out) if begins else None
        if again is None:
            return ContactForces(solution, Status.OK, "")
        again.answer.facts.at_rest = 0.0
        return self.judged(again)

    # --- flanks --------------------------------------------------------------------------------------

    def closed_flanks(self, solution: StateSolution) -> list[tuple[int, int]]:
        """Return the pairs of opposite flanks that are both closed."""
        closed = set(np.flatnonzero(solution.answer.start >= 0.0).tolist())
        return opposite_flanks(self.table.elements, closed)

    def on_flanks(self, solution: StateSolution, pairs: list[tuple[int, int]]) -> ContactForces:
        """Return forces in which at most one of two opposite flanks pushes.

        The other flank is left out, and must not close further; otherwise it replaces the first, then all choices are
        tried.
        """
        elements, tried = self.table.elements, set[frozenset[int]]()
        state = contact_row_state(self.work, self.q, self.v, self.t)
        first = [state.gaps[a] <= state.gaps[b] + ARRIVED * elements[a].unit for a, b in pairs]
        failed: ContactForces | None = None
        for choice in choices_of_flanks(pairs, first):
            left_out: frozenset[int] | None = choice
            while left_out is not None and left_out not in tried:
                tried.add(left_out)
                part = self._again({}, left_out)
                if part is None:
                    break
                found = self.judged(part, left_out)
                if not found.status.ok:
                    failed = failed or found
                    break
                a = np.array(self.solved(found.force).a)
                change = state.rows @ a + state.bias
                closing = self._closing_further(change, a, left_out)
                if not closing:
                    return found.doubted(solution.jamming)
                left_out = left_out - closing | {elements[k].opposite_flank for k in closing}
        if failed is not None:
            return failed
        names = listed([elements[k].name for pair in pairs for k in pair])
        reason = f"no choice of one flank each of {names} keeps all from closing"
        return ContactForces(solution, Status.INFEASIBLE, reason)

    def _closing_further(self, change: Array, a: Array, which: frozenset[int]) -> frozenset[int]:
        """Return the left-out contacts that would close further, from the accelerations ``change`` of all rows."""
        size, elements = self.work.characteristic, self.table.elements
        hurry = float(np.abs(size.columns * self.v).max()) ** 2 + float(np.abs(size.columns * a).max())
        least = STEADY * (1.0 + hurry)
        return frozenset(k for k in which if change[elements[k].rows.start] / elements[k].unit < -least)


def _not_finite(solution: StateSolution) -> ContactForces:
    """Return the result where the response to forces is no number."""
    text = f"the accelerations by forces of {listed(list(solution.closed))} are not finite"
    return ContactForces(solution, Status.NOT_CONVERGED, text, doubts=False)


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
