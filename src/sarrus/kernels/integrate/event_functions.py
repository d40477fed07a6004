"""Event functions of contacts, stops and dry friction: a zero crossing changes a mode and ends a smooth phase.

Each contact and each stop has its gap while it is open. While it is closed it has its normal force, or 1 less the
border of its place (the edge of the face on which a corner slides) if that is less. Each contact also has its friction
reserve μ r_n − ‖r_t‖ while it sticks, and its slip velocity along the previous slip direction while it slides. A joint
with dry friction has its friction reserve, or its velocity along the previous direction. A stop whose coordinate began
beyond the limit and comes back has the velocity of the coordinate. Each event function, but for borders, is the
quantity divided by its tolerance, plus one: it is negative once the quantity is below zero by more than the tolerance.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import dot, fill
from sarrus.kernels.contact.rows import along, comes_back, load_gaps, scale_of, scale_of_row
from sarrus.kernels.contact.tolerances import DIP, EVENT_SLACK, OUT_OF_REACH, SLACK_OF_FORCES, SLACK_OF_SPEEDS
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal

# Number of equal parts of a step; the cubic of a gap is evaluated at the ends of the parts.
PARTS = 8


@internal
def write_event_functions(table: Table, x: Floats, out: Floats):
    """Write the event functions at x to ``out`` (1 where none applies); x includes the control."""
    contact_table, nv = table.contact_table, table.nv
    settings, modes, found = contact_table.settings, contact_table.modes, contact_table.forces
    work = tl.contact_work(contact_table, table.nq, nv, la.input_size(table))
    unilateral = contact_table.contacts + contact_table.stops
    fill(out, 1.0, tl.event_function_count(contact_table))
    load_gaps(contact_table, x, work.gap)
    for k in range(unilateral):
        out[k] = work.gap[k] / (EVENT_SLACK * (settings.closed * scale_of(contact_table, k))) + 1.0
    for s in range(contact_table.stops):
        k = contact_table.contacts + s
        if modes[k] == tl.OPEN and comes_back(contact_table, s):  # where it turns the stop acts
            speed = contact_table.signs[s] * x[table.nq + contact_table.speeds[s]]
            out[k] = speed / (SLACK_OF_SPEEDS * settings.stick_speed * contact_table.scales[s]) + 1.0
    if contact_table.n_active == 0:
        return
    call_kernel(table.acceleration, table, x, la.SLOPE)
    slack, slow = (
        settings.event_slack * SLACK_OF_FORCES * settings.force,
        SLACK_OF_SPEEDS * settings.stick_speed,
    )
    if contact_table.borders != 0:
        call_native(contact_table.borders, x, work.after)
    for k in range(unilateral):
        if modes[k] == tl.OPEN:
            continue
        row = contact_table.first_rows[k]
        out[k] = found[row] / slack + 1.0
        if k < contact_table.contacts and contact_table.borders != 0:
            out[k] = min(out[k], 1.0 - work.after[k])
        if k >= contact_table.contacts or contact_table.sizes[k] == 1:
            continue
        n = contact_table.sizes[k] - 1
        if modes[k] == tl.STICKING:
            friction = np.sqrt(dot(found + (row + 1), found + (row + 1), n))
            out[unilateral + k] = (contact_table.static[k] * found[row] - friction) / slack + 1.0
        elif contact_table.friction[k] > 0.0:
            out[unilateral + k] = (
                dot(work.native + (row + 1), contact_table.directions + (row + 1), n) / slow + 1.0
            )
    for d in range(contact_table.dry):
        row = tl.row_of_dry(contact_table, d)
        at = unilateral + contact_table.contacts + d
        if modes[unilateral + d] == tl.STICKING:
            out[at] = (contact_table.limits[d] - abs(found[row])) / slack + 1.0
        else:
            native = row < contact_table.contact_rows
            speed = work.native[row] if native else along(table, work, row, x + table.nq)
            out[at] = speed * contact_table.directions[row] / (slow * scale_of_row(contact_table, row)) + 1.0


@internal
def find_dips(
    table: Table, x: Floats, new: Floats, h: float, slope: Floats, before: Floats, after: Floats, out: Floats
):
    """Write to ``out`` the time [s] in a step at which each open gap has a minimum near zero, 0 where it has none.

    The step of length ``h`` leads from ``x`` to ``new``; a gap within it is the cubic given by values and slopes at
    both ends. ``before`` and ``after`` are the event functions there, ``slope`` the rates of q and v at x. Returns
    False where the cubic is not exact enough: judged by its acceleration at x, a gap may have closed and opened
    again; or places on features may have come and gone.
    """
    contact_table, nv = table.contact_table, table.nv
    work = tl.contact_work(contact_table, table.nq, nv, la.input_size(table))
    unit, known = EVENT_SLACK * contact_table.settings.closed, True
    fill(out, 0.0, tl.event_function_count(contact_table))
    if contact_table.borders != 0:
        call_native(contact_table.hurry, x, work.after)
        hurry = work.after[0]
        call_native(contact_table.hurry, new, work.after)
        known = h * min(hurry, work.after[0]) <= 1.0
    if contact_table.contacts > 0:
        call_native(contact_table.motion, x, work.native)
        for k in range(contact_table.contacts):
            row = contact_table.first_rows[k]
            work.forecast[k] = work.native[row]
            gains = work.native + (2 * contact_table.contact_rows + row * nv)
            work.delay[k] = work.native[contact_table.contact_rows + row] + dot(gains, slope + table.nq, nv)
        call_native(contact_table.motion, new, work.native)
    for k in range(contact_table.contacts):
        if contact_table.modes[k] == tl.OPEN and max(before[k], after[k]) < OUT_OF_REACH:
            falls, rises = h * work.forecast[k] / unit, h * work.native[contact_table.first_rows[k]] / unit
            out[k] = _dip(h, before[k], after[k], falls, rises)
            known = known and _is_known(before[k], after[k], falls, rises, h * h * work.delay[k] / unit)
    for s in range(contact_table.stops):
        k, place = contact_table.contacts + s, contact_table.speeds[s]
        if contact_table.modes[k] == tl.OPEN and comes_back(contact_table, s):  # by the parabola of its speed
            change = h * contact_table.signs[s] * slope[table.nq + place]
            falls = change / (SLACK_OF_SPEEDS * contact_table.settings.stick_speed * contact_table.scales[s])
            out[k] = _dip(h, before[k], after[k], falls, 2.0 * (after[k] - before[k]) - falls)
        elif contact_table.modes[k] == tl.OPEN:
            sign, at = contact_table.signs[s] * h / (unit * contact_table.scales[s]), table.nq + place
            out[k] = _dip(h, before[k], after[k], sign * x[at], sign * new[at])
            turns = sign * h * slope[at]
            known = known and _is_known(before[k], after[k], sign * x[at], sign * new[at], turns)
    return known


@internal
def _is_known(before: float, after: float, falls: float, rises: float, turns: float):
    """Return True if the cubic through the gaps and slopes at both ends shows whether the gap closes within the step.

    ``turns`` is the second derivative of the gap at the start. The quartic with this second derivative differs from
    the cubic by κ s² (1 − s)², the uncertainty of the cubic. A ball that flies through another ball approaches and
    departs along straight lines, so the tangents at both ends must not cross below zero.
    """
    if not (before > 0.0 and after > 0.0):
        return True
    kappa = 0.5 * abs(turns + 6.0 * (before - after) + 4.0 * falls + 2.0 * rises)
    if kappa < 16.0 or min(before, after) > abs(falls) + abs(rises) + kappa:
        return True
    if falls < 0.0 < rises and before * rises - after * falls + falls * rises < 0.0:
        return False
    for i in range(1, PARTS):
        part, left = i / PARTS, 1.0 - i / PARTS
        least = before * left * left * (1.0 + 2.0 * part) + after * part * part * (1.0 + 2.0 * left)
        least += part * left * (falls * left - rises * part)
        if least < kappa * (part * left) ** 2:
            return False
    return True


@internal
def _dip(h: float, before: float, after: float, falls: float, rises: float):
    """Return the time [s] of the minimum of the cubic with these end values and slopes, 0 if it is far from zero."""
    if not (before > 0.0 and after > 0.0 and falls < 0.0 and rises > 0.0):
        return 0.0
    square, linear = (
        3.0 * (2.0 * (before - after) + falls + rises),
        6.0 * (after - before) - 4.0 * falls - 2.0 * rises,
    )
    root = np.sqrt(max(linear * linear - 4.0 * square * falls, 0.0))
    part = -2.0 * falls / (linear + root) if linear + root > 0.0 else 0.5
    part = min(max(part, 0.0), 1.0)
    left = 1.0 - part
    least = before * left * left * (1.0 + 2.0 * part) + after * part * part * (1.0 + 2.0 * left)
    least += part * left * (falls * left - rises * part)
    return part * h if least < DIP * max(-falls, rises) else 0.0
