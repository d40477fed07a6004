"""`TimeLoop`: the arrays of the compiled time loop during one run, and its calls."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base import interrupts
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.control.sampling import Sampling
from sarrus.dynamics.closing.closed_state import require_at
from sarrus.dynamics.closing.rigidity import held, is_blocked
from sarrus.dynamics.contacts.contact_elements import contact_names, event_function_count
from sarrus.dynamics.coordinates.chart import Chart
from sarrus.dynamics.coordinates.state_chart import RunCoordinates, StateChart, chart_of
from sarrus.dynamics.impacts.activity import active
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.model.state_functions import StateFunction
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.integrate.rosenbrock_tableau import (
    IMPLICIT_METHODS,
    rosenbrock_tableau,
)
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import run_state as run
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.memory.tolerances import EASY_STEP, STIFF_8
from sarrus.kernels.platform.c_function import advance, projection, projection_with_invariants
from sarrus.motion.inputs.drive_jumps import DriveJumps, may_jump
from sarrus.motion.inputs.inputs import Event, compile_control, compile_events, sampled
from sarrus.motion.inputs.invariants import InvariantFunctions
from sarrus.motion.inputs.run_options import RunOptions
from sarrus.motion.inputs.time_breaks import constants_of, program_of_run
from sarrus.motion.inputs.time_course import TimeCourse
from sarrus.motion.loop.contact_run import ContactRun
from sarrus.motion.loop.kept_invariants import NONE_KEPT, attach, keep_values, kept_array, with_room
from sarrus.motion.loop.method_table import METHOD_ENTRIES, method_table, widest_gap
from sarrus.motion.loop.recorder import Recorder
from sarrus.motion.loop.singularity_crossings import PassageLog, passage_sizes
from sarrus.motion.loop.tolerances import FIRST_STEP, NEAR_EVERYWHERE, SHORTEST_STEP
from sarrus.motion.records.records import EventRecord

if TYPE_CHECKING:
    from sarrus.motion.loop.formulated import FormulatedAcceleration, Method
    from sarrus.motion.loop.local_model import LocalModel

# Steps that a run takes at most, accepted and rejected, where nothing else is said.
MOST_STEPS = 10_000_000
# Functions of a model that every run needs.
_FUNCTIONS = ("dynamics", "direct", "checked", "measure", "position", "velocity", "rate", "energy")
# The state of every run at first.
_BEGINNING = run.Run.zeros()
_BEGINNING.unrecorded, _BEGINNING.factor = -1.0, 10.0
_BEGINNING.tried_error = _BEGINNING.unstable_since = _BEGINNING.before_event = np.inf
_BEGINNING.most_steps = MOST_STEPS
_BEGINNING.pause = np.inf
_PROJECTED = {"projection": la.CONSTRAINTS, "energy": la.CONSTRAINTS}
_NO_BOUNDS = np.zeros((2, 0))
# Of the settings, what belongs to the constraints that hold.
_SCALES = [place for name, place in la.Settings.places.items() if name.startswith("scale_of_")]


class TimeLoop:
    """The arrays of the kernel during one simulation; `Integration` decides what happens when the kernel stops."""

    def __init__(
        self,
        system: Workspace,
        options: RunOptions,
        events: Sequence[Event] = (),
        coordinates: RunCoordinates | None = None,
        formulation: str | Method | None = None,
        switches: Sequence[Event] = (),
        watched: Sequence[int] = (),
        *,
        phased: bool = False,
        rest_speed: float | None = None,
    ) -> None:
        self.system, self.options, self.phased, self.rest_speed = system, options, phased, rest_speed
        self.scheme, self.adaptive = options.scheme, options.scheme.adaptive
        self.events = list(events)
        self.switched_by: int | None = None
        self.functions: tuple[str, ...] = _FUNCTIONS
        if phased or self.scheme.method == TIME_STEPPING:
            self.functions = (*self.functions, "response")
        self.kernel = projection
        self.project = _PROJECTED.get(options.stabilization.kind, la.NOTHING)
        self.kept: Array = NONE_KEPT
        self.invariants: InvariantFunctions | None = None
        if options.kept is not None:
            self.kept, self.invariants = kept_array(options.kept), options.kept.functions(system.compiled)
            self.project = la.CONSTRAINTS_AND_INVARIANTS
            self.functions = (*self.functions, "metric")
            self.kernel = projection_with_invariants
        self.chart: Chart | StateChart | None = None
        self.solver: FormulatedAcceleration | None = None
        self.control: StateFunction | None = None
        self.model: LocalModel | None = None
        self.course: TimeCourse | None = None
        self._scaled: tuple[object, int] = None, -1  # scales are for this knowledge of A and these parameters
        self.turned = np.nan  # when the method was changed last
        self.milestone = (-np.inf, 0.0)  # time and steps when they were looked at last
        if coordinates is not None:
            self.chart = chart_of(system, coordinates)
        if formulation is not None:
            from sarrus.motion.loop.formulated import FormulatedAcceleration

            self.solver = FormulatedAcceleration(system, formulation)
        self.bounds = control_bounds(system) if system.nu else _NO_BOUNDS
        self._set_events([*self.events, *switches], watched)
        self.state = _BEGINNING.copy()
        self.records: list[EventRecord] = []
        width = 1 + system.nq + 2 * system.nv + system.nu + system.nc + run.N_FACTS
        self.contact_run: ContactRun | None = None
        if phased or options.scheme.method == TIME_STEPPING:
            width += len(contact_names(system)) + 1
        self.recorder = Recorder(width, options.records, self.scheme.limits.max_bytes)
        self.stretches: list[tuple[float, int, dict[str, float]]] = []
        self.status: Status | None = None
        self.law: Any = None
        self.jump: str | None = None  # what chatters
        self.jumps: DriveJumps | None = None

    def _set_events(self, functions: Sequence[Event], watched: Sequence[int]) -> None:
        """Compile the event functions, and allocate the log of their zeros."""
        self.n_functions, self.watched = len(functions), np.array(watched, dtype=float)
        self.modes = np.zeros((0, 2))
        if functions:
            self.locator, self.modes = compile_events(self.system, functions)
            self.modes[len(self.events) :, 1] = run.GAP
        event_functions = [[-1.0, run.GAP]] * event_function_count(self.system) if self.phased else []
        self.modes = np.vstack([self.modes, *[[-1.0, 1.0]] * len(watched), *event_functions])
        self.values = np.zeros(len(self.modes) + 1)
        self.log = np.zeros((max(64, 4 * len(self.modes)), 2))

    def start(
        self, q: ArrayLike, v: ArrayLike | None, control: StateFunction | None, sampling: Sampling | None
    ) -> None:
        """Check the initial state and begin there, with a log of singular passages."""
        s, t0, duration = self.system, self.options.t0, self.options.duration
        if may_jump(s):
            start = s.pack(s.normalized(q), v, None, t0)
            self.jumps = DriveJumps.of(s, start[s.parts.q], t0, duration)
            t0 = self.jumps.beginning(s, start[s.parts.q], start[s.parts.v], t0)
        x = s.pack(s.normalized(q) if len(s.model.quaternions) else q, v, None, t0)
        if s.nu:
            x[s.parts.u] = np.minimum(np.maximum(0.0, self.bounds[0]), self.bounds[1])
        require_at(s, x, "the initial ")
        self.begin(x, control, sampling)
        if self.contact_run is not None:
            self.contact_run.refuse_depth(self.x)
        self.passages.attach(self.table)

    def begin(self, x: Array, control: StateFunction | None = None, sampling: Sampling | None = None) -> None:
        """Prepare the loop at x = [q | v | u | t | p | τ]; a ``control`` sampled by Python is not part of the loop."""
        self._place(x)
        if control is not None and (sampling is None or isinstance(control, Law)):
            self._compile_control(control, sampling)
        self._set_method()
        if isinstance(self.law, Law) and self.law.plant is not None:
            self.law.plant.leave_out(self.contact_run is None)
        self._look_ahead(control if sampling is None else None)

    def _look_ahead(self, control: StateFunction | None) -> None:
        """Bound adaptive steps so that they pass over no change of a function of time."""
        if not self.adaptive:
            return
        program = program_of_run(self.system, control, [event.function for event in self.events])
        if program is not None:
            methods = [self.scheme.method, *([self.scheme.stiff] if self.scheme.stiff is not None else [])]
            gap = max(widest_gap(method) for method in methods)
            self.course = TimeCourse(program, constants_of(self.system), gap)

    def _place(self, x: Array) -> None:
        """Find the generic rank near x, project x on the constraints and fill the table."""
        s, self.x = self.system, x
        generic_rank(s, self.q, self.time, self.v, renew=True)
        s.load_functions(*self.functions)
        if s.nc:
            s.project(x)
        self.table = s.table.copy() if self.invariants is None else with_room(s.table, self.kept)
        self.stage_answer = np.zeros_like(s.stage_answer)  # loops of several threads may share a workspace
        self.table.stage = self.stage_answer
        self.table.projection = self.kernel.address
        if self.n_functions:
            self.table.events, self.table.n_events = self.locator.address, self.n_functions
        if len(self.modes):
            self.table.watched, self.table.n_watched = self.watched, len(self.watched)
            self.table.modes, self.table.values, self.table.log = self.modes, self.values, self.log
        if s.nu:
            self.table.bounds = self.bounds
        self.table.run, self.table.log_room = self.state, len(self.log)
        self.passages = PassageLog(s.model.cached("passages", lambda: passage_sizes(self.table)))
        stabilization = self.options.stabilization
        self.table.project, self.table.project_every = self.project, stabilization.every
        self.settings = s.tolerances.copy()
        if stabilization.kind == "baumgarte":
            self.table.baumgarte = 1
            self.settings.alpha, self.settings.beta = stabilization.gains
        self.state.start = self.began = self.options.t0
        self._begin_stretch()
        self.state.largest_pivot = s.typical_pivot
        if self.invariants is not None:
            attach(self.table, self.kept, self.invariants, x)
        if self.solver is not None:
            self.table.acceleration = self.solver.address
        if self.chart is not None or self.solver is not None:
            self.settings.near = np.inf  # every stage is brought back to the constraints, however near it is

    def _compile_control(self, control: StateFunction, sampling: Sampling | None) -> None:
        """Put a traced control law, or a `Law` with its kernel, into the loop; it is kept alive during the run."""
        self.control = control if sampling is None else None  # what is held has no derivative
        if isinstance(control, Law):
            control.fit(self.system, sampled=sampling is not None)
            control.prepare(self.q, self.v, self.time)
            control.reset()
            self.table.law, self.table.law_kernel = control.loop
            if sampling is not None:
                self._sample_law(control, sampling)
            self.law = control
        else:
            self.law = compile_control(self.system, control)
            self.table.control = self.law.address

    def _sample_law(self, law: Law, sampling: Sampling) -> None:
        law.period = sampling.sample_time
        state = self.state
        state.period, state.first_sample, state.delay = sampling.sample_time, self.time, sampling.delay
        noise = sampling.noise(self.system, self.options.duration)
        self.sampled = [np.zeros((sampling.delay + 1) * self.system.nu), np.zeros_like(self.x)]  # kept alive
        self.table.held = 1
        self.table.ring, self.table.seen = self.sampled
        if noise is not None:
            self.sampled.append(noise)
            self.table.noise = noise.ctypes.data

    def _set_method(self) -> None:
        """Set the method (or the first of two), the first step, and the times of the records."""
        scheme, recording, state = self.scheme, self.options.recording, self.state
        duration, longest = self.options.duration, scheme.limits.max_step
        state.relative, state.absolute = scheme.rtol, scheme.atol
        state.longest, state.shortest = longest, SHORTEST_STEP * max(1.0, abs(self.time) + duration)
        if scheme.adaptive:
            # long steps have stages far off the constraints
            self.settings.near = max(self.settings.near, NEAR_EVERYWHERE)
            state.step = min(FIRST_STEP, duration, longest)
        else:
            state.step = float(scheme.dt or 0.0)
        state.grid_start = self.options.t0
        if recording.at is not None:
            times = np.array(recording.at, dtype=float)
            self.times = times[times > self.time]  # kept alive
            self.table.times, state.n_times, state.every = self.times, len(self.times), np.inf
        elif scheme.adaptive and scheme.dt is not None:
            state.grid, state.grid_next, state.every = scheme.dt, 1.0, np.inf
        else:
            state.every = recording.every or np.inf
        if self.chart is not None:
            self.chart.attach(self.table)  # before phases, which project along the chart first
        if self.phased:
            self.contact_run = ContactRun(self.system, self.q, self.time, self.rest_speed)  # kept alive
            self.contact_run.attach_contact_modes(self.table)
        self.install(scheme.method)
        if self.chart is not None:
            self.chart.renew(self.table, self.settings, self.x)
        if self.contact_run is not None and self.contact_run.close(self.table, self.x):
            keep_values(self.kept, self.invariants, self.x)
        needed = 0.0 if self.adaptive else ceil(duration / state.step) + 1.0
        state.most_steps = scheme.limits.max_steps or max(MOST_STEPS, needed)

    def install(self, method: str) -> None:
        """Set the method of the kernel from now on."""
        table, state, self.method = self.table, self.state, method
        if method == TIME_STEPPING:
            self.contact_run = ContactRun(self.system, self.q, self.time, self.rest_speed)  # kept alive
            self.contact_run.attach(table, float(state.step))
        elif method in IMPLICIT_METHODS:
            if self.model is None:
                from sarrus.motion.loop.local_model import LocalModel  # for start-up time

                self.model = LocalModel(self.system, rosenbrock_tableau(method), self.control)  # kept alive
            self.model.attach(table, self.x)
            if self.phased and self.contact_run is not None:
                self.contact_run.attach_tangent(table)
        else:
            table.implicit = 0
        self.plan = method_table(method, self.adaptive, self.scheme.place)  # kept alive
        table[METHOD_ENTRIES] = self.plan.entries
        state.power, state.between = self.plan.power, self.plan.between
        state.hints = state.doubts = state.threshold = 0.0
        if self.scheme.stiff is not None:
            state.threshold = EASY_STEP if method == self.scheme.stiff else STIFF_8
        kind = f"storage of {method}, {len(self.modes)} events, {self.kept.shape[1]} invariants"
        self.storage = np.zeros(self.system.model.cached(kind, lambda: la.run_storage(table)))
        table.settings, table.work = self.settings, self.storage

    def stop_where_rigid(self) -> None:
        """End the run with RIGID if no motion has this velocity or follows the forces; the state is recorded.

        With contacts the check is skipped, because closed contacts may open.
        """
        s = self.system
        if s.motions_left is None or any(active(s)[contact.name] for contact in s.equations.contacts):
            return
        room = self.recorder.begin_block()
        _, rows = self.run_kernel(self.time, room)
        self.recorder.filled += rows
        row = room[0]
        v, a = row[1 + s.nq : 1 + s.nq + 2 * s.nv].reshape(2, s.nv)
        if is_blocked(s, self.q, v, self.time, a, s.motions_left):
            self.status = Status.RIGID
            n = 1 + s.nq + 2 * s.nv + s.nu
            x = self.x.copy()
            x[s.parts.u] = row[n - s.nu : n]
            a[:], row[n : n + s.nc], _, _ = held(s, x, s.motions_left)

    @property
    def vectors(self) -> la.Workspace:
        """The vectors of the kernels, views."""
        return view_fields(self.storage, la.workspace_sizes(self.table))

    @property
    def q(self) -> Array:
        """The present coordinates (nq,), a view."""
        return self.x[self.system.parts.q]

    @property
    def v(self) -> Array:
        """The present velocities (nv,), a view."""
        return self.x[self.system.parts.v]

    @property
    def time(self) -> float:
        """Time reached."""
        return float(self.x[self.system.parts.t])

    def sample(self, function: StateFunction, name: str) -> None:
        """Call a Python function at the present state and hold its value."""
        s = self.system
        value = sampled(s, function, self.q.copy(), self.v.copy(), self.time, name)
        if name == "control":
            self.x[s.parts.u] = np.clip(value, self.bounds[0], self.bounds[1])
        else:
            self.x[s.parts.tau] = value

    def align(self) -> None:
        """Restart the grid of fixed steps at the present time."""
        if not self.adaptive:
            self.state.start = self.time - self.state.steps * self.state.step

    def pass_records(self, time: float) -> None:
        """Count the records that are due up to ``time`` as the record made at ``time``."""
        state = self.state
        if state.grid > 0.0:
            while state.grid_start + state.grid_next * state.grid <= time:
                state.grid_next += 1.0
        while state.grid_next < state.n_times and self.times[int(state.grid_next)] <= time:
            state.grid_next += 1.0

    def acceleration(self, v: Array) -> Array:
        """Return the acceleration (nv,) at the present q and t with the velocity v."""
        s = self.system
        return self._record_at(v)[1 + s.nq + s.nv : 1 + s.nq + 2 * s.nv]

    def _record_at(self, v: Array) -> Array:
        """Return the record at the present q and t with the velocity v."""
        s, state, x, values = self.system, self.state.copy(), self.x.copy(), self.values.copy()
        self.x[s.parts.v] = v
        self.state.unrecorded = -1.0
        room = np.full((1, self.recorder.nothing.shape[1]), np.nan)
        self.run_kernel(self.time, room)
        self.state[:], self.x[:], self.values[:] = state, x, values
        return room[0]

    def find_first_forces(self) -> None:
        """Have time stepping start with the contact forces of forward dynamics if closed contacts are slow.

        Without them a step of any length would stop a slow contact, or reverse it.
        """
        if (
            self.method == TIME_STEPPING
            and self.contact_run is not None
            and self.contact_run.is_slow(self.table, self.x)
        ):
            s, x = self.system.copy(), self.x.copy()
            row = self._record_at(self.v.copy())
            x[s.parts.u] = row[1 + s.nq + 2 * s.nv : 1 + s.nq + 2 * s.nv + s.nu]
            self.contact_run.begin_with_forces(s, x, self.state.step)

    def renew(self, *, probe: bool = True) -> None:
        """Continue from the present x after its velocity or its constraints have changed: rank, event values and steps
        are new.

        ``probe=False`` keeps the ranks and independent coordinates of the table. The state is recorded once more at
        the same time. Steps stay on the grid of the run.
        """
        s = self.system
        self.x[s.parts.p] = list(s.parameters.values())
        if isinstance(self.chart, StateChart):
            self.chart.follow(self.x)
        if probe:
            generic_rank(s, self.q, self.time, self.v, renew=True)
            self.table.generic_rank, self.table.holonomic_rank = s.table.generic_rank, s.table.holonomic_rank
            if isinstance(self.law, Law):
                self.law.prepare(self.q, self.v, self.time)
        self._begin_stretch()
        if self._scaled[0] is not s.near or self._scaled[1] != s.parameters.changes:
            self.settings[_SCALES], self._scaled = s.settings()[_SCALES], (s.near, s.parameters.changes)
        keep_values(self.kept, self.invariants, self.x)
        if probe and self.chart is not None and not self.chart.renew(self.table, self.settings, self.x):
            self.status = Status.COORDINATES_FAILED
        state = self.state
        state.unrecorded, state.tried_error, state.before_event = -1.0, np.inf, np.inf
        state.last_step = state.split = state.blocked = state.tries = 0.0
        state.largest_pivot = s.typical_pivot
        if self.adaptive:
            self.state.step = min(self.state.step, FIRST_STEP)
        else:
            self.state.start = self.began
            self.state.steps = np.floor((self.time - self.began) / self.state.step + SAME_INSTANT)
        self.stop_where_rigid()

    def _begin_stretch(self) -> None:
        """Note that from now on the constraints have this rank and these parameters."""
        self.passages.forget()
        self.stretches.append((self.time, int(self.table.generic_rank), dict(self.system.parameters)))

    def warm_up(self) -> None:
        """Compile the kernels of this kind of run before the clock starts, by a call without steps, once."""
        plain = self.solver is None and not isinstance(self.law, Law)
        warm: list[bool] = self.system.model.cached(f"warm {self.method}", list)
        if plain and warm:
            return
        before = self.state.copy()
        self.state.unrecorded = 0.0
        self.run_kernel(self.time, self.recorder.nothing)
        self.state[:] = before
        warm[:] = [True]

    def run_kernel(self, end: float, block: Array) -> tuple[int, int]:
        """Call the kernel `sarrus.kernels.integrate.run.advance`; return how it ended and how many rows it wrote."""
        if self.contact_run is not None and self.contact_run.geometry_run is not None:
            block = block[: self.contact_run.most_records()]
        self.state.end, self.table.records = end, block
        code = interrupts.call(advance, self.table, self.x, len(block))
        if isinstance(self.law, Law) and self.law.plant is not None:
            self.law.plant.raise_error()
        if self.contact_run is not None:
            self.contact_run.drain()
        return code, int(self.state.filled)

    def collect(self) -> None:
        """Move the events and the singular passages from the kernel's logs."""
        if logged := int(self.state.logged):
            for k, time in sorted(self.log[:logged].tolist(), key=lambda entry: entry[1]):
                if k < len(self.events):
                    event = self.events[int(k)]
                    self.records.append(EventRecord(event.name, float(time), event.terminal))
                else:
                    self.switched_by = int(k) - len(self.events)
            self.state.logged = 0.0
        self.passages.collect(len(self.stretches) - 1)
