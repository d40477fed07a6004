"""`Plan`: method, times and samples of the runs of a batch, and the groups of runs whose A has the same rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.dynamics.closing.assembly import assemble
from sarrus.dynamics.closing.closed_state import largest_opening, require_on_constraints
from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.dynamics.model.joint_limits import joint_limits
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.kernels.memory import batch_layout as bl
from sarrus.kernels.memory.layout import Table
from sarrus.motion.inputs.run_options import Recording, RunOptions
from sarrus.motion.loop.contact_lane_functions import (
    ContactLanes,
    contact_lane_functions,
    suits_contact_lanes,
)
from sarrus.motion.loop.integration import Integration
from sarrus.motion.loop.lane_functions import Lanes, lane_functions, suits_lanes
from sarrus.motion.many.tolerances import GENERIC_PIVOT
from sarrus.motion.many.workers import Batch, Worker, prepare_starts

# Most rows that a thread records before they are sorted in.
_ROOM = 4096
# In place of ranks: no motion has the velocity of the start, or follows its forces.
_RIGID = (-1, -1)
# The reference of each system that was rolled out, by its compiled equations, with the time and the parameters it
# belongs to.
_REFERENCES: WeakKeyDictionary[CompiledEquations, tuple[tuple[float, ...], Array]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Plan:
    """The options that all runs of a batch share; see `sarrus.rollout` for the names.

    ``by_events``: contacts, stops and dry friction act by events between smooth phases, each run on its own.
    """

    system: Workspace
    options: RunOptions
    control: StateFunction | None
    threads: int
    side_by_side: bool
    by_events: bool = False

    @property
    def every_step(self) -> int | None:
        """Number of steps between two records; None if only the end is recorded."""
        recording = self.options.recording
        return (
            1 if recording.every is None and recording.reduce and self.options.scheme.dt else recording.every
        )

    def batch(self, states: Array, inputs: Array | None) -> Batch:
        """Return the arrays of the runs, with room for results."""
        s, o, count = self.system, self.options, len(states)
        intervals = 1 if inputs is None else inputs.shape[1]
        held, uneven = o.steps / intervals, not o.scheme.adaptive and intervals > 1
        if uneven and abs(intervals * round(held) * o.step - o.duration) > SAME_INSTANT:
            raise ArgumentError(
                f"{s.name}: u has {intervals} intervals in {o.duration:g} s; each must last a whole number of steps of "
                f"{o.step:g} s",
                element="u",
            )
        width = int(bl.record_width(s.table))
        times = bl.Times.zeros()
        times.begin, times.end = o.t0, o.t0 + o.duration
        times.hold, times.step = o.duration / intervals, o.step
        try:
            samples = np.full((count, len(o.sample_times), width), np.nan)
            folds = {name: np.full((count, width), np.nan) for name in o.recording.reduce}
        except MemoryError as error:
            raise ArgumentError(
                f"{s.name}: the samples of {count} runs of {o.duration:g} s do not fit into memory. Give a larger "
                "every=, or every=None to record the ends alone",
                element="every",
            ) from error
        return Batch(
            states=states,
            inputs=inputs,
            samples=samples,
            folds=folds,
            times=times,
            steps=o.steps,
            steps_held=max(1, round(held)),
            every=self.every_step or o.steps + 1,
            bounds=np.tile(joint_limits(s).bounds, (count, 1)),
            begun=np.full((count, s.nq), np.nan),
        )

    def loop(self) -> Integration:
        """Return a time loop with arrays of its own, at the reference."""
        o, every = self.options, self.every_step
        scheme = o.scheme
        if scheme.adaptive:
            interval = None if every is None else o.step * every
            longest = np.inf if interval is None else 0.9 * _ROOM * interval
            limits = replace(scheme.limits, max_step=min(scheme.limits.max_step, longest))
            scheme = replace(scheme, dt=interval, limits=limits)
        loop = Integration(self.system, replace(o, scheme=scheme, recording=Recording(every)))
        loop.begin(self.reference, self.control.copy() if isinstance(self.control, Law) else self.control)
        if every is None:
            loop.state.unrecorded = 0.0
        return loop

    @cached_property
    def reference(self) -> Array:
        """A state at rest on the constraints, at which ranks and scales of pivots are found for all runs.

        It is the neutral configuration, assembled with the system's parameters, or else the first keyframe that can be
        closed. It does not depend on the runs, so that no run depends on another.
        """
        s, t0 = self.system, self.options.t0
        key = (t0, *s.parameters.values())
        known = _REFERENCES.get(s.compiled)
        if known is None or known[0] != key:
            frames = s.mechanism.keyframes.values() if s.mechanism is not None else ()
            neutral = assemble(s, s.neutral(), t=t0, throw=False)
            others = (assemble(s, key.q, t=t0, throw=False) for key in frames if not neutral.status.ok)
            closed = next((other for other in others if other.status.ok), neutral)
            known = _REFERENCES[s.compiled] = key, s.pack(closed.q, None, None, t0)
        return known[1]

    def worker(
        self,
        todo: Batch,
        ranks: tuple[int, int] | None,
        functions: Lanes | None = None,
        contacts: ContactLanes | None = None,
    ) -> Worker:
        """Return a worker for some runs, whose rows of A have these ``ranks`` (default: the ranks at the reference)."""
        loop = self.loop()
        if ranks is not None:
            loop.table.holonomic_rank, loop.table.generic_rank = ranks
        o = self.options
        if loop.course is not None:
            own = todo.states[:, self.system.parts.p]
            loop.course.extend_to_end(loop.table, loop.state, o.t0, o.t0 + o.duration, own)
        rows = o.steps if o.recording.every is None else len(o.sample_times)
        return Worker(loop, todo, functions, contacts, min(rows, _ROOM) + 4)

    def workers(self, group: Group) -> list[Worker]:
        """Return a worker per thread for a group of runs."""
        method, rank = self.options.scheme.method, group.ranks[1]
        suits = {"rk4": suits_lanes, TIME_STEPPING: suits_contact_lanes}.get(method)
        shared = (
            suits is not None
            and self.side_by_side
            and self.options.stabilization.kind == "projection"
            and self.options.kept is None
            and not isinstance(self.control, Law)
            and suits(self.system, rank)
        )
        functions, contacts = None, None
        if shared:
            functions = lane_functions(self.system, rank, self.control, slopes=method == "rk4")
            contacts = contact_lane_functions(self.system, rank) if method == TIME_STEPPING else None
        count = min(self.threads, -(-len(group.todo.states) // bl.LANES))
        return [self.worker(group.todo, group.ranks, functions, contacts) for _ in range(count)]


@dataclass(frozen=True, eq=False)
class Group:
    """Runs whose A has the same ranks (of the holonomic rows, of all rows); ``runs`` are their numbers, None for all
    runs.
    """

    todo: Batch
    ranks: tuple[int, int]
    runs: np.ndarray | None = None


def groups(plan: Plan, todo: Batch, assemble: bool) -> Iterator[Group]:
    """Check the starts, project them on the constraints, and yield the runs in groups of equal rank.

    The rank is found at the plan's reference. A run whose pivots do not clearly confirm it gets the rank analysis that
    `sarrus.simulate` does at its start.
    """
    given = todo.states.copy()
    worker = plan.worker(todo, None)
    ranks = _ranks(worker.loop.table)
    facts = prepare_starts(worker, len(given))
    if not assemble:
        _check_starts(plan, given, facts)
    if worker.loop.contact_run is not None:
        for number, x in enumerate(todo.states):
            worker.loop.contact_run.refuse_depth(x, f"run {number}: ")
    projected = facts[:, bl.PROJECTED] == 1.0
    clear = projected & (facts[:, bl.SMALLEST] > GENERIC_PIVOT) & (facts[:, bl.BEYOND] < GENERIC_PIVOT)
    clear &= plan.system.motions_left is None
    found = np.tile(ranks, (len(given), 1))
    seen: dict[bytes, tuple[int, int]] = {}
    for run in np.flatnonzero(~clear):
        start = given[run].tobytes()
        found[run] = seen[start] = seen.get(start) or _own_ranks(plan, given[run], ranks)

    def having(wanted: tuple[int, int]) -> np.ndarray:
        return (found == wanted).all(axis=1)

    _end(plan, todo, having(_RIGID), Status.RIGID)
    failed = having(ranks) & ~projected
    for own in dict.fromkeys(seen.values()):
        if own not in (ranks, _RIGID):
            chosen = np.flatnonzero(having(own))
            part = todo.select(chosen)
            part.states[:] = given[chosen]
            good = prepare_starts(plan.worker(part, own), len(chosen))[:, bl.PROJECTED] == 1.0
            failed[chosen] = ~good
            if good.any():
                yield Group(part.select(np.flatnonzero(good)), own, chosen[good])
    rest = np.flatnonzero(having(ranks) & projected)
    if len(rest) == len(given):
        yield Group(todo, ranks)
    elif len(rest):
        yield Group(todo.select(rest), ranks, rest)
    _end(plan, todo, failed, Status.PROJECTION_FAILED)


def _end(plan: Plan, todo: Batch, runs: np.ndarray, status: Status) -> None:
    """Give the runs a status before they begin."""
    todo.outcomes[runs] = 0.0
    todo.outcomes[runs, bl.CODE], todo.outcomes[runs, bl.REACHED] = status, plan.options.t0


def _ranks(table: Table) -> tuple[int, int]:
    return int(table.holonomic_rank), int(table.generic_rank)


def _own_ranks(plan: Plan, x: Array, otherwise: tuple[int, int]) -> tuple[int, int]:
    """Return the ranks that a single run finds at its start; `_RIGID` if no motion is possible from there.

    ``otherwise`` is returned if the start cannot be closed.
    """
    s, t0 = plan.system.copy(), plan.options.t0
    s.parameters.update(dict(zip(s.parameters, x[s.parts.p].tolist())))
    closed = assemble(s, x[s.parts.q], t=t0, throw=False)
    if closed.status is Status.RIGID:
        return _RIGID
    if not closed.status.ok:
        return otherwise
    generic_rank(s, closed.q, t0, x[s.parts.v], renew=True)
    if s.motions_left is not None:
        found = forward_dynamics(s, closed.q, x[s.parts.v], t=t0, throw=False)
        return _RIGID if found.status is Status.RIGID else _ranks(s.table)
    return _ranks(s.table)


def _check_starts(plan: Plan, states: Array, facts: Array) -> None:
    """Raise `ArgumentError` if a start does not satisfy the constraints; the error names the run."""
    s, t0 = plan.system, plan.options.t0
    fast = np.abs(states[:, s.parts.v]).max(axis=1, initial=0.0)
    allowed = largest_opening(s)
    on = (facts[:, bl.GAP] <= allowed) & (facts[:, bl.SLIP] <= allowed * (1.0 + fast))
    for run in np.flatnonzero(~on):
        x, own = states[run], s.varied(dict(zip(s.parameters, states[run, s.parts.p].tolist())))
        which, also = f"run {run}: the initial ", ", or let assemble=True do it"
        require_on_constraints(own, x[s.parts.q], x[s.parts.v], t0, which, also)
