"""`simulate`: motion of a constrained system in time, through redundant and singular configurations."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.errors import ArgumentError, SimulationError
from sarrus.inputs import (
    Event,
    InputFunction,
    compile_control,
    compile_events,
    control_bounds,
    sampled,
    with_force,
)
from sarrus.kernels import layout as la
from sarrus.kernels import run
from sarrus.kernels.energy import projection_with_energy
from sarrus.kernels.projection import CONSTRAINTS, CONSTRAINTS_AND_ENERGY, NOTHING, projection
from sarrus.kernels.tableau import METHODS, tableau
from sarrus.mechanism.pose import Array
from sarrus.passages import find_limit_crossings, find_passages
from sarrus.progress import progress_bar
from sarrus.records import EventRecord
from sarrus.status import Status
from sarrus.system import System
from sarrus.trajectory import Trajectory
from sarrus.units import constraint_units, coordinate_units, velocity_units

STABILIZATIONS = ("projection", "energy", "baumgarte", "none")
# A start farther from the constraints than this is an error rather than projected silently.
START_TOLERANCE = 1e-5
_CALL_SECONDS = 0.1


def simulate(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    duration: float,
    dt: float | None = None,
    t0: float = 0.0,
    method: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    control: InputFunction | None = None,
    force: InputFunction | None = None,
    sample_time: float | None = None,
    stabilization: str = "projection",
    project_every: int = 1,
    baumgarte: tuple[float, float] = (20.0, 20.0),
    events: Sequence[Event] = (),
    every: int = 1,
    max_step: float = np.inf,
    progress: bool | None = None,
    throw: bool = True,
) -> Trajectory:
    """Simulate from the state (q, v) at time ``t0`` for ``duration`` seconds.

    Parameters
    ----------
    q, v : initial coordinates (nq,) and velocities (nv,; default at rest). They must satisfy the constraints
        to 1e-5 and are then projected; see `System.assemble` and `System.project_velocity`.
    dt : step of the fixed-step method [s], 1e-3 by default. With an adaptive method: interval of the output.
    method : "rk4" (fixed step, default), "dopri5" (order 5(4)) or "dop853" (order 8, the default once
        ``rtol`` or ``atol`` is given).
    rtol, atol : tolerances of the adaptive methods, 1e-8 and 1e-10 by default.
    control : u(q, v, t). Without ``sample_time`` it is traced over CasADi symbols and compiled into the kernel;
        with it, it is called as plain Python once per sample and held. Clipped to the actuators' limits.
    force : applied generalized force τ(q, v, t) (nv,), likewise.
    stabilization : "projection" of position and velocity after every ``project_every``-th step by A⁺, minimum
        norm; "energy", the same together with conservation of T + V (conservative systems); "baumgarte" with
        γ + 2α ψ + β² φ, (α, β) = ``baumgarte``; "none".
    events : functions whose zeros are located to 1e-10 s; terminal ones stop the run.
    every : record every so many steps.
    progress : bar on stderr; default: for long runs in a terminal.
    throw : raise `SimulationError` (with ``.trajectory``, the motion so far) where the run fails; False returns
        the trajectory with its ``status``. An interrupt from the keyboard returns what is done so far.

    Redundant constraints are ordinary. At a singular configuration the motion goes on along the branch that
    continuity of velocity selects; ``trajectory.passages`` lists these. Inconsistent constraints are met in
    the least-squares sense while the residual stays below 1e-6, else the run ends with PROJECTION_FAILED.

    Returns
    -------
    Trajectory
    """
    if not isinstance(system, System):
        raise ArgumentError(f"simulate needs a System, got {type(system).__name__}", element="system")
    adaptive = _adaptive(method, rtol, atol)
    scheme = tableau(method or ("dop853" if adaptive else "rk4"))
    _check_times(t0, duration, dt, sample_time, max_step, driven=control is not None or force is not None)
    _check_steps(every, project_every, baumgarte, events)
    _check_stabilization(system, stabilization, control, force)
    if control is not None and system.nu == 0:
        raise ArgumentError(
            f"{system.name} has no actuators to control; add_actuator, or use force=", element="control"
        )
    driven = system if force is None or sample_time else with_force(system, force)
    loop = _Run(driven, stabilization, project_every, baumgarte, events, every)
    loop.start(q, v, t0)
    if control is not None and sample_time is None:
        loop.compile_control(control)
    loop.set_method(scheme, adaptive, rtol, atol, dt, max_step, duration)
    sampling = [
        (f, name) for f, name in ((control, "control"), (force, "force")) if f is not None and sample_time
    ]
    loop.warm_up()
    began = perf_counter()
    failure: Exception | None = None
    with progress_bar(duration, progress) as bar:
        try:
            due = True
            for end, resample, keep in _stops(t0, duration, sample_time):
                try:
                    for function, name in sampling if due else ():
                        loop.sample(function, name)
                except Exception as error:
                    loop.status, failure = Status.CONTROL_FAILED, error
                    break
                loop.until(end, bar, keep=keep)
                if loop.status is not None:
                    break
                due = resample
        except KeyboardInterrupt:
            loop.status = Status.INTERRUPTED
    trajectory = loop.trajectory(system, perf_counter() - began, failure)
    if throw and failure is not None:
        raise SimulationError(trajectory.message, trajectory=trajectory, time=loop.time) from failure
    if throw and not trajectory.status.ok and trajectory.status is not Status.INTERRUPTED:
        raise SimulationError(f"{system.name}: {trajectory.message}", trajectory=trajectory, time=loop.time)
    return trajectory


class _Run:
    """The arrays that the kernel works on during one simulation."""

    def __init__(
        self,
        system: System,
        stabilization: str,
        project_every: int,
        baumgarte: tuple[float, float],
        events: Sequence[Event],
        every: int,
    ) -> None:
        self.system = system
        self.events = list(events)
        self.every = float(every)
        self.stabilization = stabilization
        names, kernel = ["dynamics", "position", "velocity", "rate", "energy"], projection
        self.project = {"projection": CONSTRAINTS, "energy": CONSTRAINTS_AND_ENERGY}.get(
            stabilization, NOTHING
        )
        if self.project == CONSTRAINTS_AND_ENERGY:
            names.append("invariants")
            kernel = projection_with_energy
        system.load_functions(*names)
        system.table[la.PROJECTION] = kernel.address
        self.project_every = project_every
        self.baumgarte = baumgarte
        self.bounds = control_bounds(system)
        self.modes, self.values = np.zeros((0, 2)), np.zeros(1)
        if self.events:
            self.locator, self.modes = compile_events(system, self.events)
            self.values = np.zeros(len(self.events))
        self.log = np.zeros((max(64, 4 * len(self.events)), 2))
        self.state = np.zeros(run.N_STATE)
        self.state[run.UNRECORDED] = -1.0
        self.state[run.FACTOR] = 10.0
        self.state[run.TRIED_ERROR] = np.inf
        self.blocks: list[Array] = []
        self.records: list[EventRecord] = []
        self.rows = 256
        self.status: Status | None = None

    def start(self, q: ArrayLike, v: ArrayLike | None, t0: float) -> None:
        """Check and project the initial state; find the generic rank near it."""
        s = self.system
        q0 = s.normalized(q)
        x = s.pack(q0, np.zeros(s.nv) if v is None else v, None, t0)
        gap = np.abs(s.constraint_residual(q0, t0)).max(initial=0.0)
        if gap > START_TOLERANCE:
            raise ArgumentError(
                f"{s.name}: the initial q leaves the loops open by {gap:.3g}; close them with system.assemble(q)",
                element="q",
            )
        slip = np.abs(s.velocity_residual(q0, x[s.nq : s.nq + s.nv], t0)).max(initial=0.0)
        if slip > START_TOLERANCE * (1.0 + np.abs(x[s.nq : s.nq + s.nv]).max(initial=0.0)):
            raise ArgumentError(
                f"{s.name}: the initial v violates the constraints by {slip:.3g}; "
                "make it admissible with system.project_velocity(q, v)",
                element="v",
            )
        s.ensure_generic_rank(q0, t0, x[s.nq : s.nq + s.nv], renew=True)
        if s.nc:
            s.project(x)
        self.x = x
        self.table = s.table.copy()
        if self.events:
            self.table[la.EVENTS], self.table[la.N_EVENTS] = self.locator.address, len(self.events)
        self.settings = s.settings()
        if self.stabilization == "baumgarte":
            self.table[la.BAUMGARTE] = 1
            self.settings[la.ALPHA], self.settings[la.BETA] = self.baumgarte
        self.state[run.START] = self.began = t0
        self.state[run.LARGEST_PIVOT] = s.typical_pivot
        self.settings[la.TARGET_ENERGY] = s.evaluate("energy", x[: s.nq], x[s.nq : s.nq + s.nv])["energy"][
            0, 0
        ]

    def compile_control(self, control: InputFunction) -> None:
        """Put a traced control law into the kernel."""
        self.law = compile_control(self.system, control)  # kept alive during the run
        self.table[la.CONTROL] = self.law.address

    def set_method(
        self,
        scheme: Any,
        adaptive: bool,
        rtol: float | None,
        atol: float | None,
        dt: float | None,
        max_step: float,
        duration: float,
    ) -> None:
        """Choose the Runge–Kutta method and its first step."""
        self.scheme = scheme
        self.rtol = 1e-8 if rtol is None else float(rtol)
        self.atol = 1e-10 if atol is None else float(atol)
        self.max_step = float(max_step)
        self.min_step = 1e-14 * max(1.0, abs(self.time) + duration)
        self.adaptive = adaptive
        self.grid = float(dt) if adaptive and dt is not None else 0.0
        self.state[run.GRID_START], self.state[run.GRID_NEXT] = self.time, 1.0
        self.storage = np.zeros(run.storage_size(self.table, len(scheme.b)))
        self.system.point_table(self.table, self.settings, self.storage)
        self.state[run.STEP] = (
            min(1e-4, duration, max_step) if adaptive else (1e-3 if dt is None else float(dt))
        )

    @property
    def time(self) -> float:
        """Time reached."""
        s = self.system
        return float(self.x[s.nq + s.nv + s.nu])

    def sample(self, function: InputFunction, name: str) -> None:
        """Call a Python function at the present state and hold its value."""
        s = self.system
        n = s.nq + s.nv
        size = s.nu if name == "control" else s.nv
        value = sampled(function, self.x[: s.nq].copy(), self.x[s.nq : n].copy(), self.time, size, name)
        if name == "control":
            self.x[n : n + s.nu] = np.clip(value, self.bounds[0], self.bounds[1])
        else:
            self.x[s._tau_part] = value

    def until(self, end: float, bar: Any, *, keep: bool) -> None:
        """Run the kernel to ``end`` in calls of about a tenth of a second.

        ``keep`` records the state at ``end``. The rows of a call that an interrupt ends are those whose time is
        a number.
        """
        s = self.system
        if not self.adaptive:
            self.state[run.START] = self.time - self.state[run.STEPS] * self.state[run.STEP]
        self.state[run.KEEP_LAST] = float(keep)
        while self.status is None:
            block = np.empty((self.rows, self._width))
            block[:, 0] = np.nan
            self.blocks.append(block)
            began = perf_counter()
            code, rows = self._advance(end, self.state, block)
            elapsed = perf_counter() - began
            self.blocks[-1] = block[:rows].copy() if rows < self.rows else block
            self._collect_events()
            if rows == 0 or elapsed < 0.5 * _CALL_SECONDS:
                self.rows = min(4 * self.rows, 65536)
            elif elapsed > 2 * _CALL_SECONDS:
                self.rows = max(self.rows // 4, 16)
            bar.update(self.time - self.began)
            if code == run.DONE:
                return
            if code != run.RUNNING:
                self.status = Status(code)
                if self.status is Status.ILL_POSED:
                    self.status = s.diagnose(self.x) if np.isfinite(self.x).all() else Status.NOT_FINITE

    def warm_up(self) -> None:
        """Have the kernel compiled before the clock starts: a call that takes no step."""
        state = self.state.copy()
        state[run.UNRECORDED] = 0.0
        self._advance(self.time, state, np.empty((0, self._width)))

    @property
    def _width(self) -> int:
        s = self.system
        return 1 + s.nq + 2 * s.nv + s.nu + s.nc + run.N_FACTS

    def _advance(self, end: float, state: Array, block: Array) -> tuple[int, int]:
        """Call the kernel; see `sarrus.kernels.run.advance`."""
        scheme = self.scheme
        code, rows = run.advance(
            self.table, self.bounds, scheme.a, scheme.b, scheme.c, scheme.between,
            scheme.errors if self.adaptive else np.zeros((0, 1)), -1.0 / (scheme.error_order + 1), self.rtol, self.atol,
            self.max_step, self.min_step, self.storage, self.x, end, self.grid,
            np.inf if self.grid else self.every, self.project, self.project_every, state, block,
            self.modes, self.values, self.log,
        )  # fmt: skip
        return int(code), int(rows)

    def _collect_events(self) -> None:
        logged = int(self.state[run.LOGGED])
        for k, time in sorted(self.log[:logged].tolist(), key=lambda entry: entry[1]):
            event = self.events[int(k)]
            self.records.append(EventRecord(event.name, float(time), event.terminal))
        self.state[run.LOGGED] = 0.0

    def trajectory(self, system: System, seconds: float, failure: Exception | None) -> Trajectory:
        """Return what was recorded, with passages and limit crossings found."""
        s = system
        self._collect_events()
        rows = np.concatenate(self.blocks) if self.blocks else np.empty((0, self._width))
        rows = rows[~np.isnan(rows[:, 0])]
        widths = [1, s.nq, s.nv, s.nv, s.nu, s.nc, run.N_FACTS]
        t, q, v, a, u, multipliers, facts = np.split(rows, np.cumsum(widths)[:-1], axis=1)
        t = t[:, 0]
        generic = int(self.table[la.GENERIC_RANK])
        pivots = facts[:, [run.LARGEST, run.SMALLEST]]
        status = self.status or Status.OK
        if failure is not None:
            message = f"{type(failure).__name__} at t = {self.time:.6g} s: {failure}"
        elif status in (Status.OK, Status.EVENT):
            message = status.diagnosis
        else:
            message = f"{status.diagnosis} at t = {self.time:.6g} s. {status.remedy}"
        largest = pivots[:, 0].max(initial=0.0)
        with np.errstate(divide="ignore"):
            condition = np.where(generic > 0, largest / pivots[:, 1], 1.0) if generic else np.ones(len(t))
        return Trajectory(
            name=s.name,
            t=t,
            q=q,
            v=v,
            a=a,
            u=u,
            multipliers=multipliers,
            energy=facts[:, run.ENERGY],
            rank=facts[:, run.RANK].astype(np.int64),
            condition=condition,
            residual=facts[:, run.RESIDUAL],
            status=status,
            message=message,
            passages=find_passages(s, t, q, v, pivots, generic),
            limit_crossings=find_limit_crossings(s, t, q),
            events=tuple(self.records),
            coordinate_names=s.coordinate_names,
            velocity_names=s.velocity_names,
            actuator_names=s.actuator_names,
            constraint_names=s.constraint_names,
            coordinate_units=coordinate_units(s),
            velocity_units=velocity_units(s),
            constraint_units=constraint_units(s),
            steps=int(self.state[run.STEPS]),
            rejected=int(self.state[run.REJECTED]),
            wall_seconds=seconds,
            system=s,
        )


def _adaptive(method: str | None, rtol: float | None, atol: float | None) -> bool:
    if method is not None and method not in METHODS:
        raise ArgumentError(
            f"unknown method {method!r}. Known: {', '.join(METHODS)}", element="method", valid=METHODS
        )
    if method == "rk4" and (rtol is not None or atol is not None):
        raise ArgumentError("rk4 has a fixed step: give dt, or choose dopri5 or dop853 for rtol and atol")
    for name, value in (("rtol", rtol), ("atol", atol)):
        _positive(name, value, "")
    return method in ("dopri5", "dop853") or rtol is not None or atol is not None


def _number(name: str, value: Any) -> float:
    """Return a float that is not NaN; anything else is an `ArgumentError`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        raise ArgumentError(f"{name} must be a number, got {value!r}", element=name)
    return number


def _positive(name: str, value: float | None, unit: str, *, bounded: bool = True) -> None:
    """Raise unless ``value`` is None or positive (and finite where ``bounded``)."""
    if value is not None and not 0.0 < _number(name, value) <= (np.finfo(float).max if bounded else np.inf):
        wanted = "positive and finite" if bounded else "positive"
        raise ArgumentError(f"{name} must be {wanted}{unit}, got {value}", element=name)


def _check_times(
    t0: float, duration: float, dt: float | None, sample_time: float | None, max_step: float, *, driven: bool
) -> None:
    if not np.isfinite(_number("t0", t0)):
        raise ArgumentError(f"t0 must be finite [s], got {t0}", element="t0")
    if duration is None:
        raise ArgumentError("duration must be a number, got None", element="duration")
    for name, value in (("duration", duration), ("dt", dt), ("sample_time", sample_time)):
        _positive(name, value, " [s]")
    _positive("max_step", max_step, " [s]", bounded=False)
    if sample_time is not None and not driven:
        raise ArgumentError("sample_time needs a control or a force to sample", element="sample_time")


def _check_steps(every: int, project_every: int, baumgarte: Any, events: Any) -> None:
    for name, count in (("every", every), ("project_every", project_every)):
        if not (isinstance(count, (int, np.integer)) and count >= 1):
            raise ArgumentError(f"{name} must be a whole number of steps ≥ 1, got {count!r}", element=name)
    if np.shape(baumgarte) != (2,) or not np.isfinite([_number("baumgarte", x) for x in baumgarte]).all():
        raise ArgumentError(
            f"baumgarte must be two finite numbers (α, β), got {baumgarte!r}", element="baumgarte"
        )
    if not (isinstance(events, Sequence) and all(isinstance(event, Event) for event in events)):
        raise ArgumentError(f"events must be a sequence of Event, got {events!r}", element="events")


def _check_stabilization(system: System, stabilization: str, control: Any, force: Any) -> None:
    if stabilization not in STABILIZATIONS:
        raise ArgumentError(
            f"unknown stabilization {stabilization!r}. Known: {', '.join(STABILIZATIONS)}",
            element="stabilization",
            valid=STABILIZATIONS,
        )
    if stabilization == "energy" and not (
        system.equations.conservative and control is None and force is None
    ):
        driven = (
            "a control law or an applied force"
            if system.equations.conservative
            else "dampers, servos or user forces"
        )
        raise ArgumentError(
            f"{system.name}: stabilization='energy' needs a conservative system; this one has {driven}",
            element="stabilization",
        )


def _stops(t0: float, duration: float, sample_time: float | None) -> list[tuple[float, bool, bool]]:
    """Return the times to which the kernel runs in one go, each with (a sample is due, it is to be recorded)."""
    end = t0 + duration
    if sample_time is None:
        return [(end, False, True)]
    count = int(np.floor(duration / sample_time * (1 + 1e-12)))
    stops = [(min(t0 + sample_time * k, end), True, False) for k in range(1, count + 1)]
    if end - stops[-1][0] > 1e-9 * duration if stops else True:
        return [*stops, (end, False, True)]
    return [*stops[:-1], (end, True, True)]
