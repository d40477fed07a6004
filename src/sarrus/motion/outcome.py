"""Outcome of a run: its `Trajectory` from the records of the time loop, its status, and a message with a remedy."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SarrusError
from sarrus.base.status import Status
from sarrus.control.laws.law import Law
from sarrus.dynamics.closing.closed_state import contradicting_rows
from sarrus.dynamics.model.inertia import ill_posed
from sarrus.dynamics.model.rolling_contacts import why_it_ends
from sarrus.dynamics.model.units import labels
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.tolerances import CONTACT_RESIDUAL, STABILITY_OF_RK4
from sarrus.kernels.solve.tolerances import INVARIANT_CHANGED, INVARIANT_MET
from sarrus.motion.inputs.invariants import ENERGY
from sarrus.motion.loop import jamming
from sarrus.motion.loop.constraint_jumps import first_leap
from sarrus.motion.loop.integration import Integration
from sarrus.motion.loop.kept_invariants import known_of
from sarrus.motion.loop.limits import find_limit_crossings, has_limits, limit_met
from sarrus.motion.loop.path_jumps import missed_jump
from sarrus.motion.loop.unreachable_motion import unreachable_motion
from sarrus.motion.records.geometry_log import NONE, merged
from sarrus.motion.records.quantities import Quantities, RunRows
from sarrus.motion.records.records import EventRecord
from sarrus.motion.records.surface_log import meetings_in_closed_form
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.tolerances import CREATED_BY_ROUNDING, CREATED_ENERGY, CREATED_ON_CURVED, LIMITS_KEPT


def trajectory_of(loop: Integration, seconds: float, failure: Exception | None) -> Trajectory:
    """Return the trajectory of a run, with limit crossings; ``failure`` is the exception that ended the run, or
    None.
    """
    s = loop.system
    loop.collect()
    for time, what in loop.chart.changes if loop.chart is not None else ():
        loop.records.append(EventRecord(what, time))
    if loop.records:
        loop.records.sort(key=lambda record: record.time)
    if loop.solver is not None:
        failure = loop.solver.failure or failure
    status, message = verdict(loop, failure)
    names = loop.contact_run.names if loop.contact_run is not None else ()
    contact_row_count = len(names) if loop.contact_run is not None else None
    rows = RunRows(
        loop.recorder.all_rows(),
        s.nq,
        s.nv,
        s.nu,
        s.nc,
        tuple(loop.stretches),
        loop.solver is not None,
        contact_row_count,
    )
    trajectory = Trajectory.of_rows(
        rows,
        name=s.name,
        error=read_only(np.full(len(rows.records), np.nan)),
        status=status,
        message=message,
        passages=loop.passages.passages(s, loop.stretches),
        events=tuple(loop.records),
        **s.model.cached("labels", lambda: labels(s)),
        contact_row_names=names,
        **kept_along(loop, rows),
        contact_residual=loop.contact_run.residual if loop.contact_run is not None else 0.0,
        mean_contacts=int(loop.contact_run is not None and not loop.phased),
        contact_log=loop.contact_run.contact_log(rows.records[:, 0])
        if loop.contact_run is not None
        else NONE,
        steps=int(loop.state.steps),
        rejected=int(loop.state.rejected),
        wall_seconds=seconds,
        parameters={name: s.parameters[name] for name in s.equations.design_parameters},
    )
    if s.surface_contacts and loop.contact_run is not None:
        contact_log = meetings_in_closed_form(s, trajectory)
        if trajectory.contact_log.names:
            contact_log = merged(trajectory.contact_log, contact_log)
        trajectory = trajectory.revised(contact_log=contact_log)
    sound, every_step = status in (Status.OK, Status.EVENT), 1 < len(trajectory.t) >= trajectory.steps
    run_records = Quantities.of(rows, rows.records)
    jumped = missed_jump(s, run_records) if every_step and (sound or failure is not None) else ""
    if jumped:
        status, message = (Status.INACCURATE, jumped) if sound else (status, f"{message}; {jumped}")
        trajectory = trajectory.revised(status=status, message=message)
    if loop.contact_run is not None and status in (Status.OK, Status.EVENT):
        trajectory = _with_energy_looked_at(s, trajectory)
        if trajectory.contact_residual > CONTACT_RESIDUAL:
            message = (
                f"a contact problem with many rows has a residual of {trajectory.contact_residual:.2g} relative to its "
                f"largest force, above {CONTACT_RESIDUAL:g}. Take a smaller dt, or fewer contacts at a time"
            )
            trajectory = trajectory.revised(status=Status.INACCURATE, message=message)
    if status in (Status.OK, Status.EVENT):
        leap = first_leap(s, run_records)
        if leap and leap.message:
            trajectory = trajectory.revised(status=Status.INACCURATE, message=leap.message)
    if not has_limits(s):
        return trajectory
    motion = trajectory.t, trajectory.q, trajectory.v, trajectory.a
    if loop.contact_run is None:
        return trajectory.revised(limit_crossings=find_limit_crossings(s, *motion))
    if not loop.phased:  # stops are kept to rounding, but for those that the run began beyond
        start = [array[:1] for array in motion]
        return trajectory.revised(limit_crossings=find_limit_crossings(s, *start, slack=LIMITS_KEPT))
    met = [limit_met(s, *hit) for hit in loop.contact_run.hits]
    known = {(one.name, one.time) for one in met}
    found = [
        one
        for one in find_limit_crossings(s, *motion, slack=LIMITS_KEPT)
        if (one.name, one.time) not in known
    ]
    return trajectory.revised(limit_crossings=tuple(sorted((*found, *met), key=lambda one: one.time)))


def kept_along(loop: Integration, rows: RunRows) -> dict[str, Any]:
    """Return the values and names of the invariants along the records, as attributes of a trajectory."""
    kept, count = loop.options.kept, len(rows.records)
    if kept is None:
        return {"invariants": read_only(np.zeros((count, 0)))}
    if kept.names == (ENERGY,):
        return {
            "invariants": Quantities.of(rows, rows.records).energy[:, None],
            "invariant_names": kept.names,
        }
    q, v, t = rows.array("q"), rows.array("v"), rows.array("t")
    found = np.empty((count, len(kept.names)))
    for first, behind, (_, _, parameters) in rows.spans():
        part = slice(first, behind)
        values = [parameters[name] for name in loop.system.parameters]
        found[part] = kept.along(loop.system, q[part], v[part], t[part], values)
    return {"invariants": read_only(found), "invariant_names": kept.names}


def _with_energy_looked_at(system: Workspace, trajectory: Trajectory) -> Trajectory:
    """Return the trajectory, with status INACCURATE if contacts have created energy, which no contact law does.

    Created energy shows in the work of the contact forces, and, if no other force does work, in the energy itself.
    """
    loss, energy = trajectory.contact_loss, trajectory.energy
    created = -np.minimum(np.diff(loss, prepend=0.0), 0.0).sum()  # what hits at the start counts, too
    if loss.any() and system.equations.conservative and not trajectory.u.any():
        created = max(created, float((energy - np.minimum.accumulate(energy)).max()))
    size, gravity = system.characteristic, system.mechanism.gravity if system.mechanism is not None else ()
    pressed = size.length * float(np.abs(trajectory.contact_forces).max(initial=0.0))
    raised = size.mass * size.length * float(np.linalg.norm(gravity))
    # rows that turn do some work within a step, of order two in its length
    least = (CREATED_ON_CURVED if system.contact_geometries else CREATED_BY_ROUNDING) * (
        raised + pressed + float(np.abs(energy).max(initial=0.0))
    )
    if not created > CREATED_ENERGY * (np.ptp(energy) + np.ptp(loss)) + least:
        return trajectory
    message = (
        f"contacts have created {created:.2g} J of energy (dissipated in all: {loss[-1]:.2g} J). Take a smaller dt. "
        "Newton's law of restitution can create energy in impacts with friction or of several contacts; Poisson's "
        "(impact_law) only if contacts with friction have different coefficients"
    )
    return trajectory.revised(status=Status.INACCURATE, message=message)


def verdict(loop: Integration, failure: Exception | None) -> tuple[Status, str]:
    """Return the status and the message of a run."""
    unsound = _unsound(loop) if loop.status is None and loop.solver is None else None
    status = loop.status or (unsound[0] if unsound else Status(int(loop.state.unsound)))
    unstable = isfinite(loop.state.unstable_since)
    if unstable and status in (Status.OK, Status.EVENT, Status.NOT_FINITE):
        status = Status.UNSTABLE_STEP
    refusal = _refusal(loop, status)
    if refusal is not None:
        status, failure = Status.CONTROL_FAILED, refusal
    if failure is not None:
        status = getattr(getattr(failure, "result", None), "status", status)
        return status, f"{type(failure).__name__} at t = {loop.time:.6g} s: {failure}"
    if unsound is not None and status is unsound[0]:
        return unsound
    if status in (Status.OK, Status.EVENT):
        doubt = loop.solver.verdict(loop.project != la.NOTHING) if loop.solver is not None else None
        jammed = jamming.note(loop)
        return doubt or ((Status.INACCURATE, jammed) if jammed else (status, status.diagnosis))
    if status in (Status.STEP_TOO_SMALL, Status.PROJECTION_FAILED) and (text := unreachable_motion(loop)):
        return Status.NOT_ACHIEVABLE, text
    if status is Status.UNSTABLE_STEP:
        since, size = loop.state.unstable_since, loop.state.unstable_size
        limit = STABILITY_OF_RK4
        message = (
            f"{status.diagnosis}, noticed at t = {since:.6g} s: h |λ| = {size:.3g}, where {loop.method} is stable "
            f"to {limit}. {status.remedy} than {loop.state.step * limit / size:.2g} s"
        )
        return status, message
    if status is Status.NOT_INVARIANT:
        return status, f"{changed_invariants(loop)}. {status.remedy}"
    cause = f" ({loop.jump})" if loop.jump else ""
    failed = (Status.PROJECTION_FAILED, Status.STEP_TOO_SMALL)
    if status in failed and (text := missed_invariants(loop)):
        cause = f" ({text})"
    if status is Status.NOT_FINITE and (names := _undefined(loop)):
        return (
            status,
            f"the event {names} is not a number in the step after t = {loop.time:.6g} s: mend its function",
        )
    if status is Status.COORDINATES_FAILED and loop.chart is not None and (text := loop.chart.cause(loop.x)):
        cause = f" ({text})"
    lost = (Status.STEP_TOO_SMALL, Status.PROJECTION_FAILED, Status.NOT_FINITE)
    if status in lost and (text := why_it_ends(loop.system, loop.q, loop.v, loop.time)):
        return status, f"at t = {loop.time:.6g} s {text}. The motion up to then is kept"
    diagnosis = status.diagnosis
    if status is Status.ILL_POSED:
        diagnosis = ill_posed(loop.system, loop.q, loop.v, loop.time)
    return status, f"{diagnosis} at t = {loop.time:.6g} s{cause}. {status.remedy}"


def changed_invariants(loop: Integration) -> str:
    """Return the sentence that names the invariants which the motion changes, with their rates."""
    assert loop.options.kept is not None
    kept = known_of(loop.kept)
    change = np.abs(kept.change + kept.pending) / np.maximum(kept.size, np.abs(kept.target))
    told = [
        f"{name!r}, which changes by {rate:.4g} a second"
        for name, rate, part in zip(loop.options.kept.names, kept.rate, change)
        if part > INVARIANT_CHANGED
    ]
    return f"{Status.NOT_INVARIANT.diagnosis}: {', '.join(told)} at t = {loop.time:.6g} s"


def missed_invariants(loop: Integration) -> str:
    """Return the sentence on invariants that the last projection missed; "" if it missed none."""
    if loop.options.kept is None:
        return ""
    missed = [
        name
        for name, part in zip(loop.options.kept.names, known_of(loop.kept).missed)
        if not part < INVARIANT_MET
    ]
    told = ", ".join(map(repr, missed))
    return f"{told} cannot be kept with the constraints: leave it out if they change it" if missed else ""


def _unsound(loop: Integration) -> tuple[Status, str] | None:
    """Return (status, message) of solves that were no full answers, with time and rows; None if all were.

    A contradiction at the last state alone is confirmed by a solve there.
    """
    s, state, status = loop.system, loop.state, Status(int(loop.state.unsound))
    end = loop.q, loop.v, loop.x[s.parts.u], loop.time
    if status is Status.OK and Status(int(state.doubtful)) is Status.INCONSISTENT and _contradicts(s, *end):
        status = Status.INCONSISTENT
    if status is Status.OK:
        return None
    since, told = state.doubtful_since, ""
    if status is Status.INCONSISTENT:
        kept = Quantities.of(s, loop.recorder.all_rows().copy())
        columns = kept.q, kept.v, kept.u, kept.t
        first = int(np.searchsorted(kept.t, since))
        while first > 0 and _contradicts(s, *(column[first - 1] for column in columns)):
            first -= 1
        since = min(since, *kept.t[first : first + 1])
        places = [end, *zip(*(column[first : first + 1] for column in columns))]
        found = [contradicting_rows(s, q, v, t, s.constraint_bias(q, v, t)) for q, v, _, t in places]
        names = ", ".join(map(repr, max(found, key=lambda one: one[1])[0]))
        told = f" ({names})" if names else ""
    return status, f"{status.diagnosis}, from t = {since:.6g} s on{told}. {status.remedy}"


def _contradicts(system: Workspace, q: Array, v: Array, u: Array, t: float) -> bool:
    """Return whether forward dynamics finds contradictory rows at a state, with the loops open or closed."""
    found = forward_dynamics(system, q, v, u, float(t), throw=False, may_be_open=True)
    return found.status is Status.INCONSISTENT


def _undefined(loop: Integration) -> str:
    """Return the names of the events whose functions are NaN."""
    values = loop.values[: len(loop.events)]
    return ", ".join(repr(event.name) for event, value in zip(loop.events, values) if np.isnan(value))


def _refusal(loop: Integration, status: Status) -> SarrusError | None:
    """Return the error of a `Law` at the last state if it ended the run; else None."""
    law, ended = loop.law, status in (Status.CONTROL_FAILED, Status.NOT_FINITE)
    if not (ended and isinstance(law, Law) and np.isfinite(loop.q).all() and np.isfinite(loop.v).all()):
        return None
    try:
        law(loop.q, loop.v, loop.time)
    except SarrusError as error:
        return error
    return None
