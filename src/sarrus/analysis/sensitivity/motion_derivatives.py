"""`motion_derivatives`: derivatives of a simulated motion with respect to its start and the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.sensitivity.crossings import (
    METHOD,
    check_branch,
    crossings_of,
    interpolate,
    is_beside_at_end,
)
from sarrus.analysis.sensitivity.flow import Flow, Point
from sarrus.analysis.sensitivity.held_run import held_run, hold_closed
from sarrus.analysis.sensitivity.parameters import chosen_parameters
from sarrus.analysis.sensitivity.phase_flow import PhaseFlow, flow_of
from sarrus.analysis.sensitivity.step import change_names, refuse_limited
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is
from sarrus.dynamics.closing.closed_state import require_on_constraints
from sarrus.dynamics.contacts.contact_state import takes_part
from sarrus.dynamics.contacts.tolerances import BORDER_OF_MODES
from sarrus.dynamics.model.control_limits import control_bounds
from sarrus.dynamics.model.state_functions import StateFunction, trace_function
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.motion.inputs.drive_jumps import refuse_jumps
from sarrus.motion.inputs.inputs import with_force
from sarrus.motion.records.records import SwitchRecord
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.simulate import simulate


@dataclass(frozen=True, eq=False)
class MotionSensitivity:
    """Derivatives of a motion, time on the leading axis (N).

    Attributes
    ----------
    t : (N,) times [s]. q, v : (N, nq), (N, nv) the motion.
    dq, dv : (N, nq, np), (N, nv, np) with respect to the parameters, at the given start.
    along : (N, nv, np) dq along velocities, q ⊕ along δp.
    by_start : (N, n, n) with respect to the start: changes of state are (ϑ, δv) with q ⊕ ϑ, and activations, as in
        `StepDerivatives`. If the start depends on p, dx/dp = (along, dv) + by_start · (dϑ₀/dp, dv₀/dp).
    names : entries of these changes. trajectory : the motion, all steps recorded.
    ambiguous : sliding contacts on whose shares of the load the derivatives at the start depend, as in
        `StepDerivatives`.
    """

    t: Array
    q: Array
    v: Array
    dq: Array
    dv: Array
    along: Array
    by_start: Array
    names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    trajectory: Trajectory
    ambiguous: tuple[str, ...] = ()


def motion_derivatives(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    duration: float,
    dt: float = 1e-3,
    t0: float = 0.0,
    control: StateFunction | None = None,
    force: StateFunction | None = None,
    parameters: Sequence[str] | None = None,
    every: int = 1,
    contacts: bool = True,
) -> MotionSensitivity:
    """Return a `MotionSensitivity`: a simulation with "rk4" in steps dt and its derivatives.

    They are products of the derivatives of the steps, as in `sr.sensitivity.step_derivatives`, hence exact for the
    motion that `simulate` computes with these steps, including drift, redundant rows and quaternions. The start is
    projected on the constraints, which may move with p.

    Through a singular configuration the derivative is that of the branch with continuous velocity: one step of order 8
    crosses it (`sarrus.analysis.sensitivity.crossings`), and motions simulated to either side in every direction
    confirm that they follow the same branch.

    Parameters
    ----------
    q, v, duration, dt, t0 : as in `sr.simulate`.
    control, force : u(q, v, t) and τ(q, v, t), or of (q, v, t, p), traced over CasADi symbols.
    parameters : names from ``system.parameters``; default: all except switches.
    every : number of steps between two records of derivatives; the end is recorded too.
    contacts : as in `sr.sensitivity.step_derivatives`: the motion is one smooth phase, with the modes of contacts,
        stops and dry friction at the start. What changes a mode later is an error. Contacts that are constraints are
        those that are closed at the start. False leaves them out.

    Raises
    ------
    ArgumentError
        As in `sr.simulate`; an unknown name; a drive whose speed jumps.
    SolveError
        The motion has no derivative: a contact, stop, dry friction or closure changes its mode during the motion, or is
        at a border of modes at its start; it passes a singular configuration while contacts are closed; an actuator
        reaches its limit; or
        neighbouring motions turn back or take another branch at a singular configuration (in a parameter, which is
        named, or in the start); the time is given.
    """
    check_is("motion_derivatives", system, System)
    if not (isinstance(every, (int, np.integer)) and every >= 1):
        raise ArgumentError(f"every must be a whole number of steps ≥ 1, got {every!r}", element="every")
    acts = takes_part(system, contacts)
    work = system.workspace()
    refuse_jumps(work, work.normalized(q), t0, duration, "derivatives of a motion")
    names, places = chosen_parameters(system, parameters)
    driven = _driven(system.workspace().copy(), control, force)
    if acts and system.contact_geometries:
        require_on_constraints(system, system.normalized(q), np.zeros(system.nv), t0)
        start = driven.pack(q, v, None, t0)
        flow = flow_of(driven, start, places, acts)
        run, points = held_run(
            system, flow, flow.start(start), np.zeros(system.nv), float(duration), float(dt), control
        )
        _refuse(system, run)
        raw = np.array([point.along for point in points])
        change = np.array([flow.in_tangent(point) for point in points])
    else:
        run = simulate(
            system, q, v, duration=duration, dt=dt, t0=t0, control=control, force=force,
            method="rk4" if acts else None, switching=contacts,
        )  # fmt: skip
        closed = _refuse(system, run)
        if contacts:
            hold_closed(driven, run.q[0], float(run.t[0]), *closed)
        start = driven.pack(run.q[0], run.v[0], None, float(run.t[0]))
        flow = flow_of(driven, start, places, acts)
        raw, change = _along(system, flow, run, names, start[driven.parts.tau])
    kept = [k for k in range(len(run.t)) if k % every == 0 or k == len(run.t) - 1]
    raw, change = raw[kept], change[kept]
    nv, c, n = system.nv, flow.columns, flow.size
    return MotionSensitivity(
        t=read_only(run.t[kept]),
        q=read_only(run.q[kept]),
        v=read_only(run.v[kept]),
        dq=read_only(raw[:, c.q, n:].copy()),
        dv=read_only(raw[:, c.v, n:].copy()),
        along=read_only(change[:, :nv, n:].copy()),
        by_start=read_only(change[:, :, :n].copy()),
        names=change_names(system),
        coordinate_names=tuple(system.coordinate_names),
        velocity_names=tuple(system.velocity_names),
        parameter_names=names,
        trajectory=run,
        ambiguous=flow.ambiguous(flow.start(start)) if isinstance(flow, PhaseFlow) else (),
    )


def _along(
    system: System, flow: Flow, run: Trajectory, names: Sequence[str], tau: Array
) -> tuple[Array, Array]:
    """Return the derivatives of z = (q, v, u, p), and of the changes of state, at every record (N, …, directions).

    ``tau`` (nv,) is the constant friction of joints that slide.
    """
    t, work = run.t, flow.work
    crossings = crossings_of(run)
    if crossings and isinstance(flow, PhaseFlow):
        raise SolveError(
            f"{system.name}: no derivatives through the singular configuration at t = {crossings[0].time:g} s while "
            f"{flow.phase.names[0]!r} is closed or sticks",
            element=flow.phase.names[0],
        )

    def state(k: int) -> Array:
        x = work.pack(run.q[k], run.v[k], None, float(t[k]))
        x[work.parts.tau] = tau
        return x

    neighbours = System.of_model(work.model, dict(work.parameters), system.options) if crossings else system
    across = {crossing.first: crossing for crossing in crossings}

    def follow(point: Point, k: int, to: int, method: str = "rk4", *, near: bool = False) -> Point:
        along = flow.step(point, float(t[to] - t[k]), method, near=near).along
        return Point(state(to), along)

    def record(k: int, point: Point) -> None:
        raw[k], change[k], known[k] = point.along, flow.in_tangent(point), True

    point, k = flow.start(state(0)), 0
    raw = np.zeros((len(t), *point.along.shape))
    change, known = np.zeros((len(t), flow.size, point.along.shape[1])), np.zeros(len(t), dtype=bool)
    record(0, point)
    while k < len(t) - 1:
        crossing = across.get(k)
        if crossing is None:
            point, k = follow(point, k, k + 1), k + 1
        else:
            end = follow(point, k, crossing.last, METHOD, near=True)
            check_branch(neighbours, flow, point, end, names, crossing.time)
            for side, way in zip((point, end), crossing.inside(t)):
                for last, this in pairwise(way):
                    side = follow(side, last, this, near=True)
                    record(this, side)
            point, k = end, crossing.last
        record(k, point)
    known &= ~is_beside_at_end(run)
    for values in (raw, change):
        interpolate(t, values, known)
    return raw, change


def _driven(system: Workspace, control: StateFunction | None, force: StateFunction | None) -> Workspace:
    """Return the workspace with control and force compiled into its equations."""
    if control is None and force is None:
        return system
    e = system.equations
    if control is not None and e.drift is not None:
        u = trace_function(system, control, system.nu, "control")
        pushes, drift = ca.substitute([e.input_force, e.drift], [e.u], [u])
        system = system.on(system.model.with_equations(replace(e, input_force=pushes, drift=drift)))
        return system if force is None else with_force(system, force)

    def total(q: object, v: object, t: object) -> object:
        value = ca.SX.zeros(system.nv)
        if control is not None:
            value += ca.substitute(e.input_force, e.u, trace_function(system, control, system.nu, "control"))
        if force is not None:
            value += trace_function(system, force, system.nv, "force")
        return value

    return with_force(system, total)


def _refuse(system: System, run: Trajectory) -> tuple[list[str], list[str]]:
    """Raise `SolveError` if the motion has no derivative; return what closes, and what slips, as it begins."""
    begins = [
        s
        for s in run.switches
        if s.time == run.t[0] and not (s.bounced or s.opened or s.sticking or _is_impact(system, run, s))
    ]
    if later := [s for s in run.switches if s not in begins]:
        first = later[0]
        names = dict.fromkeys(
            (*first.closed, *first.opened, *first.bounced, *first.slipping, *first.sticking)
        )
        raise SolveError(
            f"{system.name}: no derivatives where contacts or closures switch or a joint meets its limit, at "
            f"t = {first.time:g} s: {', '.join(names)}",
            element=next(iter(names), None),
        )
    refuse_limited(system, run.q, run.t)
    lower, upper = control_bounds(system)
    limited = (run.u <= lower) | (run.u >= upper) if len(run.u) else np.zeros((0, 0), dtype=bool)
    if limited.any():
        k = int(limited.any(axis=0).argmax())
        when = run.t[int(limited[:, k].argmax())]
        raise SolveError(
            f"{system.name}: no derivatives where {system.actuator_names[k]!r} reaches its limit, at t = {when:g} s",
            element=system.actuator_names[k],
        )
    return [name for s in begins for name in s.closed], [name for s in begins for name in s.slipping]


def _is_impact(system: System, run: Trajectory, switch: SwitchRecord) -> bool:
    """Tell whether a contact that is a constraint closes with a velocity."""
    own = {contact.name for contact in system.equations.contacts}
    energy = system.kinetic_energy(run.q[0], run.v[0], t=float(run.t[0]))
    return bool(own & set(switch.closed)) and switch.energy_loss > BORDER_OF_MODES * (
        energy + switch.energy_loss
    )
