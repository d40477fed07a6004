"""`accelerate`: the acceleration at a state with the exact forces of contacts, joint stops and dry friction.

Delassus matrix W = J K Jᵀ, K the response of the mechanism with closed loops to generalized forces; b = J a + J̇ v
without contact forces; accelerations of the rows u = W r + b. For closed contacts without normal velocity

- r_n ≥ 0, u_n ≥ 0, r_n u_n = 0 (Signorini);
- slipping: r_t = −μ r_n v_t/‖v_t‖; otherwise sticking, u_t = 0 with ‖r_t‖ ≤ μ_s r_n, or starting to slip,
  r_t = −μ r_n u_t/‖u_t‖ (Coulomb); dry friction likewise with its limit in place of μ r_n.

The contact problem (`sarrus.optimize.solve_contact_problem`) gives the modes; slipping contacts enter it
with an acceleration large enough to continue slipping. Then the forces follow from linear equations, and the laws are
checked.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_state import (
    ContactElement,
    Mode,
    below_its_plane,
    choices_of_flanks,
    contact_row_state,
    it_hits,
    opposite_flanks,
)
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.model.inertia import lightness
from sarrus.dynamics.model.tolerances import EXACT_RANK_CUT
from sarrus.dynamics.optimize.contact_problem import solve_contact_problem
from sarrus.dynamics.optimize.redundant_forces import on_springs
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.acceleration_block import Block
from sarrus.dynamics.solve.forward_dynamics import solved
from sarrus.dynamics.solve.slip_onset import is_moved, slip_onsets
from sarrus.dynamics.solve.support import listed
from sarrus.dynamics.solve.tolerances import SAME_FORCES_AND_SLIPS, SLIP_ROUNDS, UNMOVED_FORCE
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import (
    ARRIVED,
    HELD_BY_CONSTRAINTS,
    LARGE_ACCELERATIONS,
    LIFT,
    SLIDING_ACCELERATION,
    STEADY,
    UNLOADED,
    still_speed,
)
from sarrus.kernels.linalg.ranked import Ranked, ranked
from sarrus.kernels.memory.tolerances import CONTACT_RESIDUAL


def accelerate(
    work: Workspace, free: ForwardDynamics, x: Array, tau: ArrayLike | None, throw: bool
) -> ForwardDynamics:
    """Return forward dynamics with contact forces at x = [q | v | u | t | p | τ], from the answer ``free`` without.

    Controls and parameters are those in the workspace. Without closed contacts ``free`` is returned. Raises
    `SolveError` if no acceleration satisfies the laws; with ``throw`` False the answer is ``free``, with the reason in
    its ``contacts``.
    """
    problem = _Acceleration(work, x, tau)
    if problem.idle:
        return free
    problem, found = _on_flanks(problem, x, tau)
    if not found.status.ok:
        failed = free.on(found)
        if throw:
            raise found.status.error(
                work.name, f"{found.reason}; contacts=False leaves it out", result=failed
            )
        return failed
    return problem.solved(found.force).on(found)


def _on_flanks(
    problem: _Acceleration, x: Array, tau: ArrayLike | None
) -> tuple[_Acceleration, ContactForces]:
    """Return the problem and its answer, in which at most one of two opposite flanks pushes.

    The other flank is left out, and must not close further; otherwise it replaces the first, then all choices are
    tried.
    """
    numbers = {one.name: k for k, one in enumerate(problem.elements)}
    closed = {numbers[b.one.name] for b in problem.blocks}
    pairs = opposite_flanks(problem.elements, closed)
    if not pairs or problem.closing:
        return problem, problem.answer()
    gaps, tried = problem.found.gaps, set[frozenset[int]]()
    first = [gaps[a] <= gaps[b] + ARRIVED * problem.elements[a].unit for a, b in pairs]
    failed: list[tuple[_Acceleration, ContactForces]] = []
    for choice in choices_of_flanks(pairs, first):
        left_out: frozenset[int] | None = choice
        while left_out is not None and left_out not in tried:
            tried.add(left_out)
            part = _Acceleration(problem.work, x, tau, left_out)
            found = part.answer()
            if not found.status.ok:
                failed.append((part, found))
                break
            closing = part.closing_further(found.force, left_out)
            if not closing:
                return part, replace(found, ambiguous=(*found.ambiguous, *problem.may_jam(found.ambiguous)))
            left_out = left_out - closing | {problem.elements[k].opposite_flank for k in closing}
    if failed:
        return failed[0]
    names = listed([problem.elements[k].name for pair in pairs for k in pair])
    return problem, problem.refused(f"no choice of one flank each of {names} keeps all from closing")


class _Acceleration:
    """The contact problem on accelerations of one state, each block in units in which its rows have size one."""

    def __init__(
        self, work: Workspace, x: Array, tau: ArrayLike | None, left_out: frozenset[int] = frozenset()
    ) -> None:
        parts = work.parts
        self.work, self.q, self.v, self.t = work, x[parts.q], x[parts.v], float(x[parts.t])
        self.tau = np.zeros(work.nv) if tau is None else np.array(work.checked(tau, work.nv, "tau"))
        self.found = contact_row_state(work, self.q, self.v, self.t)
        self.elements = self.found.elements
        self.slow = still_speed(float(np.abs(work.characteristic.columns * self.v).max(initial=0.0)))
        self.closing: list[tuple[ContactElement, float]] = []
        self.rubbing: list[tuple[ContactElement, float]] = []
        self.blocks: list[Block] = []
        for k, (one, gap) in enumerate(zip(self.elements, self.found.gaps)):
            if k in left_out:
                continue
            self._sort(one, float(gap), self.found.rates[one.rows] / one.unit)

    @property
    def idle(self) -> bool:
        """Whether no contact acts."""
        return not (self.blocks or self.closing or self.rubbing)

    def _sort(self, one: ContactElement, gap: float, rates: Array) -> None:
        """Sort a contact by its state: open or opening, hitting, slipping, or possibly sticking."""
        dry = one.kind == "friction"
        slip = rates[0 if dry else 1 :]
        speed = float(np.linalg.norm(slip))
        going = speed > self.slow
        if dry and going:
            self.rubbing.append((one, float(np.sign(slip[0]))))
            return
        if not dry:
            if one.kind == "contact" and gap < -one.reach:
                raise below_its_plane(self.work, one, gap)
            if abs(gap) <= one.reach and gap <= ARRIVED * one.unit and rates[0] < -self.slow:
                self.closing.append((one, -float(rates[0]) * one.unit))
                return
            if abs(gap) > one.reach or abs(rates[0]) > self.slow:
                return
        start = self.blocks[-1].rows.stop if self.blocks else 0
        friction = one.friction if going else one.static
        direction = slip / speed if going else np.zeros(len(slip))
        mode = Mode.SLIDING if going else Mode.STICKING
        self.blocks.append(Block(one, slice(start, start + len(rates)), going, mode, friction, direction))

    # --- the answer ----------------------------------------------------------------------------------

    def solved(self, force: Array) -> ForwardDynamics:
        """Return forward dynamics with an additional generalized force."""
        return solved(self.work, self.q, self.v, self.t, self.tau + force, False)

    def closing_further(self, force: Array, which: frozenset[int]) -> frozenset[int]:
        """Return the left-out contacts that would close further under a generalized force."""
        a = np.array(self.solved(force).a)
        change = self.found.rows @ a + self.found.bias
        size = self.work.characteristic
        hurry = float(np.abs(size.columns * self.v).max()) ** 2 + float(np.abs(size.columns * a).max())
        least = STEADY * (1.0 + hurry)
        heads = {k: change[self.elements[k].rows.start] / self.elements[k].unit for k in which}
        return frozenset(k for k, head in heads.items() if head < -least)

    def may_jam(self, known: Container[str]) -> tuple[str, ...]:
        """Return the names of slipping contacts that would jam under a normal force, except ``known`` ones."""
        if not any(b.going for b in self.blocks):
            return ()
        self._find_operator()
        return tuple(name for name in self._jamming if name not in known)

    def refused(self, reason: str) -> ContactForces:
        """Return the result without forces, with its reason."""
        return self._said(None, reason, Status.INFEASIBLE)

    def answer(self) -> ContactForces:
        """Return the forces, or the reason why there are none."""
        if self.closing:
            return self._said(None, it_hits(*self.closing[0]), Status.INCONSISTENT)
        self._find_operator()
        forces, status = self._find_modes()
        if status is Status.INFEASIBLE:
            pushing = [b.one.name for b in self.blocks if forces[b.rows.start] > 0.0]
            text = f"no acceleration keeps these from closing further: {listed(pushing)}"
            return self._said(None, text, status)
        begins = self._slip_at_rest(forces)
        if begins or any(b.going for b in self.blocks):
            forces = self._exact(forces)
            if self._residual(forces) > CONTACT_RESIDUAL:
                forces = self._by_turns(forces)
        residual, jamming = self._residual(forces), self._jamming
        if residual <= CONTACT_RESIDUAL:
            return self._said(forces, "", Status.OK, residual)
        if jamming:
            text = (
                f"no finite forces let {listed(jamming)} slide on: it jams, which takes an impact (Painlevé)"
            )
            return self._said(None, text, Status.INFEASIBLE, residual)
        text = f"no forces of {listed([b.one.name for b in self.blocks])} were found that obey the laws of friction"
        return self._said(None, text, Status.NOT_CONVERGED, residual)

    def _slip_at_rest(self, forces: Array) -> bool:
        """Set contacts held by the constraints to their slip of a moment later (at a dead centre); False for none."""
        moved = is_moved(np.diag(self.delassus), self.given)
        blocks = [
            b for b in self.blocks
            if b.mode is Mode.STICKING
            and (b.one.limit if b.is_dry else b.friction * max(forces[b.rows.start], 0.0)) > 0.0
            and not moved[b.tails].any()
        ]  # fmt: skip
        if not blocks:
            return False
        units = np.where(forces != 0.0, 1.0 / self.units, 0.0)
        rubbing = np.zeros(self.found.rows.shape[0])
        for b in self.blocks:
            rubbing[b.one.rows] = (forces * units)[b.rows]
        for one, direction in self.rubbing:
            rubbing[one.rows] = -direction * one.limit
        a = np.array(self.solved(self.found.rows.T @ rubbing).a)
        answer = partial(solved, self.work, self.q, t=self.t, tau=None, throw=False, may_be_open=True)
        ways = slip_onsets(self.work, self.q, self.v, a, self.t, [b.one for b in blocks], answer)
        for b, way in zip(blocks, ways):
            if way.any():
                b.mode, b.direction = Mode.SLIDING, way
        return any(way.any() for way in ways)

    def _find_operator(self) -> None:
        """Find W, and b without forces other than dry friction of sliding joints.

        For rows held by the constraints both are set to zero instead of rounding.
        """
        size, count = self.work.characteristic, sum(b.rows.stop - b.rows.start for b in self.blocks)
        rows, self.given, self.units = np.zeros((count, self.work.nv)), np.zeros(count), np.ones(count)
        for b in self.blocks:
            rows[b.rows], self.units[b.rows] = self.found.rows[b.one.rows] / b.one.unit, b.one.unit
            self.given[b.rows] = self.found.bias[b.one.rows] / b.one.unit
        base = sum(
            (-d * one.limit * self.found.rows[one.rows.start] for one, d in self.rubbing), self.work.no_force
        )
        a = np.array(self.solved(base).a)
        self.given += rows @ a
        far = size.length * float(np.abs(size.columns * a).max(initial=0.0)) / LIFT
        lift = LIFT * size.mass * size.length * (far if far > LARGE_ACCELERATIONS else 1.0)
        compliance_columns = [(self.solved(base + lift * row).a - a) / lift for row in rows]
        W = rows @ np.array(compliance_columns).reshape(count, self.work.nv).T
        self.delassus = 0.5 * (W + W.T)
        unhurried = (
            1.0 + float(np.abs(size.columns * self.v).max()) ** 2 + float(np.abs(size.columns * a).max())
        )
        self.largest = max(float(np.abs(self.given).max(initial=0.0)), STEADY * unhurried)
        light = lightness(self.work, self.q, self.t)
        held = np.diag(self.delassus) <= HELD_BY_CONSTRAINTS * (rows**2 @ light)
        self.delassus[held], self.delassus[:, held] = 0.0, 0.0
        self.given[held & (np.abs(self.given) <= STEADY * unhurried)] = 0.0
        self.cut = EXACT_RANK_CUT * float((rows**2 / size.metric).sum(axis=1).max(initial=0.0))

    def _find_modes(self) -> tuple[Array, Status]:
        """Return the forces of the contact problem and its status; store the mode of each block."""
        given = self.given.copy()
        for b in self.blocks:
            given[b.tails] += SLIDING_ACCELERATION * self.largest * b.going * b.direction
        return self._solved(given, {b.one.name: b.rows for b in self.blocks})

    def _by_turns(self, forces: Array) -> Array:
        """Return the forces by fixed-point iteration on the friction of slipping contacts.

        Each iteration uses their last normal forces, and finds anew which contacts start to slip, and in which
        direction.
        """
        for _ in range(SLIP_ROUNDS):
            before, given = forces, self.given.copy()
            rows = {
                b.one.name: slice(b.rows.start, b.rows.start + 1) if b.going else b.rows for b in self.blocks
            }
            rubbing = np.zeros(len(forces))
            for b in self.blocks:
                if b.going:
                    rubbing[b.tails] = -b.friction * max(before[b.rows.start], 0.0) * b.direction
            forces = self._solved(given + self.delassus @ rubbing, rows)[0] + rubbing
            if float(np.abs(forces - before).max()) <= SAME_FORCES_AND_SLIPS * float(np.abs(forces).max()):
                break
        return forces

    def _solved(self, given: Array, rows: dict[str, slice]) -> tuple[Array, Status]:
        """Return forces and status of the contact problem of these rows, repeated until no contact starts to slip.

        Statically indeterminate normal forces are those on equal springs, as in runs, unless one would pull.
        """
        chosen = [k for part in rows.values() for k in range(part.start, part.stop)]
        sizes = [part.stop - part.start for part in rows.values()]
        first = np.cumsum([0, *sizes])
        normals = [int(k) for k, b in zip(first, self.blocks) if b.one.kind == "contact"]
        delassus = self.delassus[np.ix_(chosen, chosen)]
        sprung = on_springs(delassus, normals)
        if sprung is not None:
            modes = [(b.mode, b.direction, b.friction) for b in self.blocks]
            forces, status = self._solved_with(sprung, given, chosen, sizes)
            pushes = forces[chosen][normals]
            if status.ok and pushes.min() > UNLOADED * pushes.max():
                return forces, status
            for b, before in zip(self.blocks, modes):
                b.mode, b.direction, b.friction = before
        return self._solved_with(delassus, given, chosen, sizes)

    def _solved_with(
        self, delassus: Array, given: Array, chosen: list[int], sizes: list[int]
    ) -> tuple[Array, Status]:
        """Return forces and status of the contact problem with the chosen rows of W."""
        parts = self._ranked(delassus)
        H, out = parts.left * np.sqrt(parts.kept), np.zeros(len(given))
        while True:
            contacts = [(n, b.friction) for b, n in zip(self.blocks, sizes) if not b.is_dry]
            dry = [(n, b.one.limit * b.one.unit) for b, n in zip(self.blocks, sizes) if b.is_dry]
            found = solve_contact_problem(H, given[chosen], contacts, dry, throw=False)
            out[chosen] = found.forces
            if found.status is Status.INFEASIBLE:
                return out, found.status
            least, u = UNLOADED * float(np.abs(out).max(initial=0.0)), np.zeros(len(given))
            u[chosen] = found.velocities
            if not any(
                self._breaks_loose(b, mode, out[b.rows], u[b.tails], least)
                for b, mode in zip(self.blocks, found.modes)
            ):
                return out, found.status

    def _breaks_loose(self, b: Block, mode: Mode, force: Array, slip: Array, least: float) -> bool:
        """Store the mode of a block; True if it starts to slip, and has the kinetic coefficient from now on."""
        slides = b.going or (mode is Mode.SLIDING and len(slip) > 0)
        b.mode = Mode.SLIDING if slides else Mode.STICKING
        if not b.is_dry and force[0] <= least:
            b.mode = Mode.OPEN
        if b.mode is Mode.SLIDING and not b.going:
            b.direction = slip / float(np.linalg.norm(slip))
            if b.friction > b.one.friction and not b.is_dry:
                b.friction = b.one.friction
                return True
        return False

    def _ranked(self, matrix: Array) -> Ranked:
        """Return a response matrix with singular values that are rounding set to zero."""
        return ranked(matrix, cut=self.cut, relative=EXACT_RANK_CUT)

    # --- forces of slipping contacts -----------------------------------------------------------------

    def _laws(self) -> tuple[Array, Array, np.ndarray]:
        """Return the forces base + ways · y of the modes, and a mask of the rows without motion."""
        count = len(self.given)
        base, held, columns = np.zeros(count), np.zeros(count, dtype=bool), []
        for b in self.blocks:
            if b.mode is Mode.OPEN:
                continue
            if b.mode is Mode.SLIDING:
                if b.is_dry:
                    base[b.rows] = -b.one.limit * b.one.unit * b.direction
                    continue
                way = np.zeros(count)
                way[b.rows.start], way[b.tails] = 1.0, -b.friction * b.direction
                columns.append(way)
                held[b.rows.start] = True
                continue
            rows = b.rows if b.is_dry or b.friction > 0.0 else slice(b.rows.start, b.rows.start + 1)
            columns.extend(np.eye(count)[rows])
            held[rows] = True
        return base, np.array(columns).reshape(len(columns), count).T, held

    def _exact(self, forces: Array) -> Array:
        """Return the forces of the modes closest to given ones, with friction exactly against the slip."""
        for _ in range(SLIP_ROUNDS):
            base, ways, held = self._laws()
            if ways.size == 0:
                return base
            near = base + ways @ ranked(ways).solve(forces - base)
            left = -(self.given + self.delassus @ near)[held]
            forces = near + ways @ self._ranked(self.delassus[held] @ ways).solve(left)
            change, u = 0.0, self.delassus @ forces + self.given
            for b in self.blocks:
                slip = u[b.tails]
                length = float(np.linalg.norm(slip))
                if b.mode is Mode.SLIDING and not b.going and length > UNLOADED * self.largest:
                    change = max(change, float(np.abs(slip / length - b.direction).max()))
                    b.direction = slip / length
            if change < SAME_FORCES_AND_SLIPS:
                break
        return forces

    # --- residuals -----------------------------------------------------------------------------------

    def _residual(self, forces: Array) -> float:
        """Return the largest violation of the laws."""
        force, motion = float(np.abs(forces).max(initial=0.0)) or 1.0, self.largest
        u, worst = (self.delassus @ forces + self.given) / motion, 0.0
        r = forces / force
        for b in self.blocks:
            head = 0.0
            if not b.is_dry:
                head, rate = float(r[b.rows.start]), float(u[b.rows.start])
                worst = max(worst, -head, -rate, min(head, rate))
            most = b.one.limit * b.one.unit / force if b.is_dry else b.friction * max(head, 0.0)
            rub, slip = r[b.tails], u[b.tails]
            length = float(np.linalg.norm(slip))
            direction = b.direction if b.going else slip / (length or 1.0)
            slides = float(np.linalg.norm(rub + most * direction))
            sticks = max(length, float(np.linalg.norm(rub)) - most)
            if len(rub):
                worst = max(worst, slides if b.going else min(slides, sticks))
        return worst if np.isfinite(worst) else np.inf

    @property
    def _ambiguous(self) -> tuple[str, ...]:
        """The contacts whose forces the laws do not determine although the acceleration depends on them."""
        names = self._jamming
        _, ways, held = self._laws()
        if not ways.size or not any(b.mode is Mode.SLIDING for b in self.blocks):
            return names
        null = self._ranked(self.delassus[held] @ ways).null
        size = float(np.abs(self.delassus).max())
        felt = null[:, np.abs(self.delassus @ ways @ null).max(axis=0, initial=0.0) > UNMOVED_FORCE * size]
        loose = np.abs(ways @ felt).max(axis=1, initial=0.0) > UNMOVED_FORCE
        return (*names, *(b.one.name for b in self.blocks if loose[b.rows].any() and b.one.name not in names))

    @property
    def _jamming(self) -> tuple[str, ...]:
        """The slipping contacts whose normal acceleration falls with their normal force, each alone."""
        found = []
        for b in self.blocks:
            if b.going and not b.is_dry:
                row = self.delassus[b.rows.start]
                if (
                    row[b.rows.start] - b.friction * row[b.tails] @ b.direction
                    <= UNLOADED * row[b.rows.start]
                ):
                    found.append(b.one.name)
        return tuple(found)

    def _said(
        self, forces: Array | None, reason: str, status: Status, residual: float = np.inf
    ) -> ContactForces:
        """Return the result with its modes and texts."""
        names = self.found.names
        out, determined = np.zeros(len(names)), np.ones(len(names), dtype=bool)
        modes = {one.name: Mode.OPEN for one in self.elements}
        for one, direction in self.rubbing:
            modes[one.name], out[one.rows] = Mode.SLIDING, -direction * one.limit
        all_ways = np.zeros((len(names), 0))
        if forces is None:
            out[:] = 0.0
        else:
            ways = self._laws()[1]
            all_ways = np.zeros((len(names), ways.shape[1]))
            null = self._ranked(self.delassus @ ways).null if ways.size else np.zeros((0, 0))
            loose = (
                np.abs(ways @ null).max(axis=1, initial=0.0) > UNMOVED_FORCE
                if null.size
                else np.zeros(len(forces), bool)
            )
            for b in self.blocks:
                out[b.one.rows], modes[b.one.name] = forces[b.rows] / b.one.unit, b.mode
                determined[b.one.rows] = ~loose[b.rows]
                all_ways[b.one.rows] = ways[b.rows] / b.one.unit
        least = UNLOADED * float(np.abs(out).max(initial=0.0))
        return ContactForces(
            names=names,
            forces=read_only(out),
            force=read_only(self.found.rows.T @ out),
            determined=read_only(determined),
            modes=modes,
            carrying=tuple(one.name for one in self.elements if np.abs(out[one.rows]).max() > least),
            reason=reason,
            status=status,
            closed=tuple(b.one.name for b in self.blocks),
            residual=residual,
            ways=read_only(all_ways),
            ambiguous=() if self.closing else self._ambiguous,
        )
