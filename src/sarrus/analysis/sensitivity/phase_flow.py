"""`PhaseFlow`: steps with derivatives within a smooth phase of contacts, stops and dry friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sarrus.analysis.sensitivity.flow import Flow, Point
from sarrus.analysis.sensitivity.tolerances import PHASE_CLOSINGS, SAME_FEATURE, WEIGHT_OF_PLACES
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.contacts.contact_elements import ContactElement, Mode, contact_elements
from sarrus.dynamics.contacts.contact_state import (
    ContactRowState,
    all_open,
    contact_row_state,
    geometry_contacts,
)
from sarrus.dynamics.model.derivatives import RowTerms, Terms, row_terms, terms
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.accelerate import accelerate
from sarrus.dynamics.solve.contact_phase import ContactPhase, phase_at, rubbing
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import AT_BOUND
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.projected import acceleration_change, unpushed_by
from sarrus.kernels.linalg.ranked import at_rank


class PhaseFlow(Flow):
    """A `Flow` whose rows are those of the constraints and of a `ContactPhase`, with its modes held.

    Gaps and velocities of the held rows are projected to zero at the end of a step, as in runs by events; what sticks
    keeps its place but for the error of the method. Forces that are not unique keep their parts of the start. ``begun``
    is the state at the start of the last step, ``rates_begun`` the velocities of all rows there.
    """

    def __init__(
        self,
        work: Workspace,
        x: Array,
        parameters: Sequence[int],
        phase: ContactPhase,
        inputs: Sequence[int] = (),
    ) -> None:
        super().__init__(work, x, parameters, inputs)
        self.phase = phase
        self._begin(x)
        self._own = work.nc + np.arange(len(phase.held))
        self.places = np.concatenate([np.arange(work.nh), self._own])
        self.rank_of_rows, self.rank_of_places = phase.ranks(self.rank, self.holonomic_rank, all_rows=True)
        heads = {one.rows.start for one in phase.state.elements if one.kind != "friction"}
        self._heads = np.array([row in heads for row in phase.held], dtype=bool)
        # where a gap and a place contradict each other, as for changes that the rows do not allow, the gap is kept
        self._scales = np.where(self._heads, 1.0, WEIGHT_OF_PLACES) * phase.scales
        self._gap_of = {one.rows.start: k for k, one in enumerate(phase.state.elements)}

    def start(self, x: Array) -> Point:
        """Return the state x on the rows, with every direction projected."""
        x = x.copy()
        self._close(x)
        return super().start(x)

    def step(self, start: Point, h: float, name: str = "rk4", *, near: bool = False) -> Point:
        """Return the end of a step; `SolveError` if a contact that slides reverses its slip at a stage."""
        self._begin(start.x)
        return super().step(start, h, name, near=near)

    def _begin(self, x: Array) -> None:
        """Let slips be compared with those at x from now on."""
        self.begun, self.rates_begun = x, self.phase.state.at(x).rates

    def ambiguous(self, point: Point) -> tuple[str, ...]:
        """Return the sliding contacts whose open shares of the load change the derivatives at a state of the phase."""
        self._begin(point.x)
        a = self._terms(point, first=True)[1][self.work.nq :]
        phase, nv = self._at(point.x), self.work.nv
        own = self._jacobian(point.x)
        by, order = phase.scales[:, None], phase.order
        rows = at_rank(np.vstack([own, by * phase.rows[phase.held]])[order], self.rank_of_rows)
        unpushed = unpushed_by(rows, np.vstack([own, by * phase.push])[order])
        changes = self.in_tangent(point)[: 2 * nv, : 2 * nv]
        return phase.ambiguous(a, rows.left_null, unpushed, changes)

    def _slips_reverse(self, rates: Array) -> str:
        """Return a sliding contact whose slip is against that at the start of the step, for velocities of all rows."""
        before, sliding = self.rates_begun, self.phase.sliding
        return next((s.name for s in sliding if before[s.tails] @ rates[s.tails] <= 0.0), "")

    def _at(self, x: Array) -> ContactPhase:
        """Return the phase with the rows and slip directions at a stage."""
        state = self.phase.state.at(x)
        if self.phase.sliding and (name := self._slips_reverse(state.rates)):
            t = float(self.begun[self.work.parts.t])
            raise SolveError(
                f"{self.work.name}: no derivatives of the step from t = {t:g} s, in which the mode of {name!r} "
                "changes: its slip reverses. Take shorter steps, a part of the motion in one phase, or contacts=False",
                element=name,
            )
        sliding = tuple(one.with_slip(state.rates[one.tails]) for one in self.phase.sliding)
        return replace(self.phase, state=state, sliding=sliding)

    def _derivatives(self, x: Array, answer: Array) -> tuple[Terms, Array]:
        """Return the derivatives of the equations at x with its (a, λ, …) without contacts, and (q̇, v̇)."""
        system, c, nc = self.work, self.columns, self.work.nc
        phase = self._at(x)
        free, multipliers = answer[: system.nv], answer[system.nv : system.nv + nc]
        d = terms(system, x, free, multipliers)
        by, held = self._scales, phase.held
        jacobian = np.vstack([d.jacobian, by[:, None] * phase.rows[held]])
        push = np.vstack([d.jacobian, by[:, None] * phase.push])
        given = phase.pushing(phase.forces[held]) + phase.rubs
        force = product(phase.rows.T, given)
        met = [*self._met, *self._own]
        rows = at_rank(jacobian[met], self.rank_of_rows)
        opening = np.concatenate(
            [np.zeros(nc), by * (product(phase.rows[held], free) + phase.state.bias[held])]
        )[met]
        change = acceleration_change(rows, d.mass, -force, opening, push[met])
        # the forces of the rows from M δa = Pᵀ(r₀ + U c), U the range of the rows
        left = product(rows.left.T, push[met])
        found = np.zeros(len(jacobian))
        found[met] = product(
            rows.left, at_rank(left, rows.rank).solve_transposed(product(d.mass, change) - force)
        )
        a, multipliers = free + change, multipliers + found[:nc]
        forces = phase.pushing(phase.forces[held] + by * found[nc:]) + phase.rubs
        d, more = terms(system, x, a, multipliers), phase.state.slopes(a, forces)
        acceleration = by[:, None] * (more.forward + more.drift)[held]
        d = replace(
            d,
            force=d.force - more.backward - phase.turning(more.velocity, forces),
            jacobian=jacobian,
            push=push,
            bias=np.vstack([d.bias, acceleration]),
        )
        if d.drift is None:
            return d, np.concatenate([d.rate[:, c.v] @ x[c.v], a])
        rate = self._rows(x).basis @ x[c.v] + d.drift[:, 0]
        return d, np.concatenate([rate, a])

    def _row_terms(self, x: Array, w: Array, mu: Array | None) -> RowTerms:
        nc, phase = self.work.nc, self.phase
        mu = np.zeros(nc + len(phase.held)) if mu is None else mu
        d, state = row_terms(self.work, x, w, mu[:nc]), phase.state.at(x)
        forces = np.zeros(len(state.rows))
        forces[phase.held] = self._scales * mu[nc:]
        more, by = state.slopes(w, forces), self._scales[:, None]
        gaps = np.where(self._heads[:, None], more.position[phase.held], 0.0)
        return replace(
            d,
            jacobian=np.vstack([d.jacobian, by * state.rows[phase.held]]),
            position=np.vstack([d.position, by * gaps]),
            velocity=np.vstack([d.velocity, by * more.velocity[phase.held]]),
            forward=np.vstack([d.forward, by * more.forward[phase.held]]),
            backward=d.backward + more.backward,
        )

    def _met_rows(self, d: Terms) -> list[int]:
        del d
        return [*self._met, *self._own.tolist()]

    def _gaps(self, x: Array) -> Array:
        phase, gaps = self.phase, self.phase.state.at(x).gaps
        own = [gaps[self._gap_of[row]] if head else 0.0 for row, head in zip(phase.held, self._heads)]
        return np.concatenate([super()._gaps(x), self._scales * own])

    def _slips(self, x: Array) -> Array:
        return np.concatenate(
            [super()._slips(x), self._scales * self.phase.state.at(x).rates[self.phase.held]]
        )

    def _close(self, x: Array) -> bool:
        c = self.columns
        for _ in range(PHASE_CLOSINGS):
            if not super()._close(x):
                return False
            for part, residual in ((self.places, self._gaps), (slice(None), self._slips)):
                d = self._rows(x)
                rank = self.rank_of_places if part is self.places else self.rank_of_rows
                rows = at_rank(d.jacobian[part], rank)
                step = acceleration_change(rows, d.metric, np.zeros(self.work.nv), residual(x))
                if part is self.places:
                    x[c.q] += d.basis @ step
                    x[:] = self._normalized(Point(x, np.zeros((self.columns.p.stop, 0)))).x
                else:
                    x[c.v] += step
        return True


def flow_of(
    work: Workspace, x: Array, parameters: Sequence[int], contacts: bool, inputs: Sequence[int] = ()
) -> Flow:
    """Return the steps from x = [q | v | u | t | p | τ], in the phase of contacts that begins there if they act.

    The friction of joints that slide is added to τ of x. Raises `SolveError` at a border of modes.
    """
    parts = work.parts
    if not contacts or all_open(work, x[parts.q], float(x[parts.t])):
        return Flow(work, x, parameters, inputs)
    solved = _solved(work, x, throw=True)
    phase = phase_at(work, solved, x)
    if solved.contacts is not None:
        x[parts.tau] += rubbing(work, solved.contacts)
    return (
        Flow(work, x, parameters, inputs) if phase is None else PhaseFlow(work, x, parameters, phase, inputs)
    )


def _solved(work: Workspace, x: Array, throw: bool) -> ForwardDynamics:
    """Return forward dynamics with contacts at x."""
    parts = work.parts
    free = forward_dynamics(work, x[parts.q], x[parts.v], x[parts.u], float(x[parts.t]), x[parts.tau], throw)
    return accelerate(work, free, x[parts.tau], throw)


def answer_under(work: Workspace, x: Array, tau: Array) -> ForwardDynamics:
    """Return forward dynamics with contacts at x, under τ in place of that of x; not refused if there are no forces."""
    given = x.copy()
    given[work.parts.tau] = tau
    return _solved(work, given, throw=False)


def require_one_phase(flow: Flow, x: Array, end: Array, tau: Array) -> None:
    """Raise `SolveError` if contacts, stops or dry friction change a mode between two states of a motion.

    x and ``end`` are [q | v | u | t | p | τ], ``tau`` is τ without contacts. Gaps between are cubic in time. Contacts
    between geometries are the same at both ends if their features are.
    """
    work = flow.work
    parts = work.parts
    states = [(one[parts.q], one[parts.v], float(one[parts.t])) for one in (x, end)]
    rows = [contact_row_state(work, *state) for state in states]
    every = {one.name: Mode.OPEN for one in contact_elements(work)}
    modes: list[Mapping[str, Mode]] = [every, every]
    if not all(all_open(work, q, t) for q, _, t in states):
        modes = [_modes(work, known, one, tau) for known, one in zip(rows, (x, end))]
    span = states[1][2] - states[0][2]
    for k, one in enumerate(contact_elements(work)):
        before, after = (known[one.name] for known in modes)
        slips = [known.rates[one.tails] for known in rows]
        changes = before is not after or (before is Mode.SLIDING and slips[0] @ slips[1] <= 0.0)
        if one.kind != "friction" and before is Mode.OPEN and not changes:
            n = one.rows.start
            ends = [(float(known.gaps[k]), float(known.rates[n])) for known in rows]
            changes = _dips(*ends[0], *ends[1], span)
        if changes:
            raise _changes(work, one.name, states)
    if work.contact_geometries:
        name = other_features(flow, end, rows[1], modes[0], modes[1]) or _meets(work, states)
        if name:
            raise _changes(work, name, states)


_State = tuple[Array, Array, float]


def _changes(work: Workspace, name: str, states: Sequence[_State]) -> SolveError:
    return SolveError(
        f"{work.name}: no derivatives from t = {states[0][2]:g} to {states[1][2]:g} s, in which the mode of "
        f"{name!r} changes. Take a part of the motion within one phase, or contacts=False",
        element=name,
    )


def other_features(
    flow: Flow, x: Array, found: ContactRowState, before: Mapping[str, Mode], modes: Mapping[str, Mode]
) -> str:
    """Return a contact between geometries that is not as in the phase of a flow at a later state x; "" for none.

    ``before`` are the modes of the phase, ``modes`` those at x by the names of ``found``. Contacts with the same normal
    row are the same.
    """
    points = () if found.geometry is None else found.geometry.points
    closed = {one.name for one in points if modes.get(one.name, Mode.OPEN) is not Mode.OPEN}
    own = [one for one in found.elements if one.name in closed]
    if not isinstance(flow, PhaseFlow) or flow.phase.state.features is None:
        return own[0].name if own else ""
    phase = flow.phase
    here = phase.state.at(x)
    names = {one.name for one in flow.phase.state.features.contacts}
    held = [one for one in here.elements if one.name in names and before[one.name] is not Mode.OPEN]

    def are_same(one: ContactElement, other: ContactElement) -> bool:
        normal = here.rows[one.rows.start]
        return bool(
            np.abs(found.rows[other.rows.start] - normal).max() <= SAME_FEATURE * np.abs(normal).max()
        )

    new = [other.name for other in own if not any(are_same(one, other) for one in held)]
    if new:
        return new[0]
    begun = flow.rates_begun
    slides = {one.name for one in phase.sliding}
    for one in held:
        same = [modes[other.name] for other in own if are_same(one, other)]
        turns = one.name in slides and begun[one.tails] @ here.rates[one.tails] <= 0.0
        if before[one.name] not in same or turns:
            return one.name
    return ""


def _meets(work: Workspace, states: Sequence[_State]) -> str:
    """Return a contact between geometries that are in each other half way between two states; "" for none."""
    (q, v, t), (later, v_later, t_later) = states
    span = t_later - t
    way = 0.5 * difference(work, q, later) + 0.125 * span * (v - v_later)
    least = -AT_BOUND * work.characteristic.length
    points = geometry_contacts(work, work.move(q, way), 0.5 * (t + t_later)).points
    return next((one.name for one in points if one.gap < least), "")


def _modes(work: Workspace, found: ContactRowState, x: Array, tau: Array) -> Mapping[str, Mode]:
    """Return the modes at a state under τ; contacts that hit, or are below their planes, stick."""
    every = dict.fromkeys((one.name for one in found.elements), Mode.OPEN)
    try:
        answer = answer_under(work, x, tau).contacts
    except ArgumentError as error:
        return every | ({error.element: Mode.STICKING} if error.element in every else {})
    if answer is None:
        return every
    return answer.modes if answer.status.ok else dict.fromkeys(every, Mode.STICKING)


def _dips(gap: float, rate: float, later: float, rate_later: float, span: float) -> bool:
    """Tell whether the cubic through two gaps and rates falls below zero between."""
    cubic = np.array(
        [
            2 * (gap - later) + span * (rate + rate_later),
            3 * (later - gap) - span * (2 * rate + rate_later),
            span * rate,
            gap,
        ]
    )
    turns = np.roots(np.polyder(cubic))
    inside = [float(z.real) for z in np.atleast_1d(turns) if abs(z.imag) == 0.0 and 0.0 < z.real < 1.0]
    return any(np.polyval(cubic, z) < 0.0 for z in inside)
