"""`advance_past_jumps`: a run continued to a given time, with the impacts caused by drives whose speed jumps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.dynamics.contacts.contact_elements import event_function_count
from sarrus.kernels.integrate.tableau import TIME_STEPPING
from sarrus.motion.contacts.event_driven import EventDrivenContacts
from sarrus.motion.inputs.drive_jumps import DriveJump, driven_velocity, jumping_drives
from sarrus.motion.inputs.run_options import NOT_STIFF
from sarrus.motion.loop.integration import Integration
from sarrus.motion.records.records import EventRecord
from sarrus.motion.switching import Switcher


def advance_past_jumps(
    loop: Integration, switcher: Switcher | None, end: float, bar: Any, *, keep: bool
) -> None:
    """Run to ``end`` [s], through jumps of the speed of drives, or until another event ends the run."""
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
    """Replace the velocity before a jump by the velocity after it, and continue the loop from there.

    Raises `SolveError` if drives have contradictory speeds, or an impact has no solution.
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
        loop.renew(probe=False)
    else:
        switcher.resolve(loop, jumped=bool(drives))


def _strike(loop: Integration) -> None:
    """Resolve the impact of closed contacts of a time-stepping run at this instant, as in event-driven phases.

    Contacts between geometries, and contacts that stick whatever the friction, are resolved by the next step, whose
    impact has an error of order one in its length.
    """
    s, contact_run = loop.system, loop.contact_run
    if contact_run is None or contact_run.geometry_run is not None or event_function_count(s) == 0:
        return
    if not np.isfinite(contact_run.static).all():
        return
    scheme = replace(loop.scheme, method=NOT_STIFF, adaptive=True)
    options = replace(loop.options, scheme=scheme)
    probe = Integration(s.copy(), options, phased=True, rest_speed=loop.rest_speed)
    probe.begin(loop.x.copy())
    assert probe.contact_run is not None
    change = EventDrivenContacts(probe, probe.contact_run).resolve()
    loop.v[:] = probe.v
    contact_run.begin_anew(loop.time, loop.state.step, change.energy_loss)
