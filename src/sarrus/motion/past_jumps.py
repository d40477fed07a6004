"""`advance_past_jumps`: how a run goes on to a time, with the impacts that jumps of drives are on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.motion.contacts.event_driven import Phases
from sarrus.motion.inputs.drive_jumps import DriveJump, driven_velocity, jumping_drives
from sarrus.motion.inputs.run_options import NOT_STIFF
from sarrus.motion.loop.contact_run import margin_count
from sarrus.motion.loop.integration import Integration
from sarrus.motion.records.records import EventRecord
from sarrus.motion.switching import Switcher


def advance_past_jumps(
    loop: Integration, switcher: Switcher | None, end: float, bar: Any, *, keep: bool
) -> None:
    """Go on to ``end``, past jumps of the speed of drives on the way, or until something ends the run."""
    loop.align()
    while loop.status is None:
        jump = loop.jumps.next(loop.time, end) if loop.jumps is not None else None
        stop = end if jump is None else jump.before
        if jump is None or loop.time < stop:
            _go_on(loop, switcher, stop, bar, keep=keep or jump is not None)
        if jump is None or loop.status is not None:
            return
        _pass(loop, switcher, jump)


def _go_on(loop: Integration, switcher: Switcher | None, end: float, bar: Any, *, keep: bool) -> None:
    if switcher is None:
        loop.advance(end, bar, keep=keep)
    else:
        switcher.until(loop, end, bar, keep=keep)


def _pass(loop: Integration, switcher: Switcher | None, jump: DriveJump) -> None:
    """Give the state before a jump the velocities after it, and have the loop go on from there.

    Raises `SolveError` where drives ask for speeds that contradict each other, or impacts have no answer.
    """
    s = loop.system
    drives = jumping_drives(s, [loop.q.copy()], jump)
    loop.x[s.parts.t] = jump.after
    if drives:
        switching = switcher is not None
        loop.v[:] = driven_velocity(s, loop.q.copy(), loop.v.copy(), jump, drives, switching=switching)
        loop.records += [EventRecord(f"speed of {name} jumps", jump.time) for name in drives]
        if loop.method == TIME_STEPPING:
            _strike(loop)
    loop.pass_records(jump.after)
    if switcher is None:
        loop.renew(survey=False)
    else:
        switcher.resolve(loop, jumped=bool(drives))


def _strike(loop: Integration) -> None:
    """Have what touches in a run of steps in time hit at this instant, as in phases between events.

    Between geometries the next step does that, whose impact is of order one in its length.
    """
    s, touches = loop.system, loop.touches
    if touches is None or touches.collisions is not None or margin_count(s) == 0:
        return
    scheme = replace(loop.scheme, method=NOT_STIFF, adaptive=True)
    options = replace(loop.options, scheme=scheme)
    probe = Integration(s.copy(), options, phased=True, rest_speed=loop.rest_speed)
    probe.begin(loop.x.copy())
    assert probe.touches is not None
    change = Phases(probe, probe.touches).resolve()
    loop.v[:] = probe.v
    touches.begin_anew(loop.time, loop.state.step, change.energy_loss)
