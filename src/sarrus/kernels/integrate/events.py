"""Events of a run: zeros of event functions and of watched multipliers, found to a tolerance in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.kernels.algebra.vectors import copy
from sarrus.kernels.contact.rows import comes_back, keep
from sarrus.kernels.contact.tolerances import OUT_OF_REACH
from sarrus.kernels.integrate.event_functions import find_dips, write_event_functions
from sarrus.kernels.integrate.step_control import Step
from sarrus.kernels.integrate.stepping import finish, set_control, take_step
from sarrus.kernels.integrate.tolerances import (
    BISECTION_MARGIN,
    CLEAR_GAP,
    DIGITS_OF_COORDINATES,
    EXACT_GAP_EVENT,
    GAP_EVENT_UNIT,
    STOP_APPROACH,
    STOP_NEAR,
    UNSEEN_EVENT,
    ZERO_GAP_EVENT,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import run_state as rs
from sarrus.kernels.memory.layout import Stages, Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal

# Direction of an event that is switched off.
OFF = 2.0


@internal
def event_values(table: Table, x: Floats, values: Floats, work: Workspace):
    """Write the declared event functions at x, the watched multipliers and the event functions of contacts."""
    count = table.n_events
    if count > 0:
        call_native(table.events, x, values)
    if table.n_watched > 0:
        set_control(table, x, work)
        call_kernel(table.acceleration, table, x, la.ANSWER)
        for k in range(table.n_watched):
            values[count + k] = work.lam[int(table.watched[k])]
    if table.n_event_functions > 0:
        set_control(table, x, work)
        write_event_functions(table, x, values + (count + table.n_watched))


@internal
def are_defined(table: Table, values: Floats, kept: Floats):
    """Return True if no declared event function is NaN; otherwise copy the values to ``kept``."""
    for k in range(table.n_events):
        if values[k] != values[k]:
            copy(values, kept, table.n_events)
            return False
    return True


@internal
def _crosses(before: float, after: float, direction: float):
    """Return True if an event function crosses zero in its direction (−1 falling, 1 rising, 0 both, 2 never)."""
    if direction == OFF:
        return False
    if direction > 0:
        return before < 0.0 <= after
    if direction < 0:
        return before > 0.0 >= after
    return (before < 0.0 <= after) or (before > 0.0 >= after)


@internal
def _is_gap(table: Table, k: int):
    """Return True if the k-th event function is the gap of an open contact or stop."""
    if table.modes[2 * k + 1] != rs.GAP:
        return False
    block = k - (la.event_count(table) - table.n_event_functions)
    if block < 0:
        return True
    contact_table = table.contact_table
    stop = block - contact_table.contacts
    return contact_table.modes[block] == tl.OPEN and not (stop >= 0 and comes_back(contact_table, stop))


@internal
def _exactness(table: Table, x: Floats):
    """Return the value of a gap's event function that is rounding at x."""
    factors, largest = la.factors_of(table), 0.0
    for i in range(table.nq):
        largest = max(largest, abs(x[i]) * factors.coordinates[i])
    return max(EXACT_GAP_EVENT, DIGITS_OF_COORDINATES * largest / GAP_EVENT_UNIT)


@internal
def look_between(table: Table, x: Floats, h: float, stages: Stages):
    """Write the times of minima of open gaps within a step of length h; return False if the step is too long."""
    count = la.event_count(table)
    event_functions, dips = count - table.n_event_functions, stages.values + 3 * count
    before, after = table.values + event_functions, stages.values + event_functions
    return find_dips(table, x, stages.new, h, stages.slopes, before, after, dips)


@internal
def locate(table: Table, x: Floats, step: Step, request: Any, stages: Stages, work: Workspace):
    """Log the crossings within the step from x to ``new``, where the event functions are known.

    The earliest terminal event shortens the step, and its state goes to ``new``. With an adaptive method any declared
    event shortens the step, after a step that ends just before it, since forces may jump there. Returns whether a
    terminal event stops the run, and whether the step is to be repeated up to just before an event.
    """
    count = la.event_count(table)
    state, modes, before, after = table.run, table.modes, table.values, stages.values
    found, slopes = after + 2 * count, stages.slopes
    clock = table.nq + table.nv + table.nu
    copy(stages.new, stages.trial, la.input_size(table))
    earliest, stop, ends = step.h, False, False
    for k in range(count):
        found[k] = _time_of_event(table, x, step, request, k, stages, work)
        terminal = modes[2 * k + 1] != 0.0
        if (terminal or (table.n_errors > 0 and k < table.n_events)) and found[k] <= earliest:
            stop = terminal or (stop and found[k] == earliest)
            earliest, ends = found[k], True
    near = table.settings.event_tolerance
    if ends and earliest > STOP_NEAR * near and _stops_sliding(table, found, earliest):
        state.before_event = x[clock] + STOP_APPROACH * earliest
        return False, True
    while ends:
        if not stop and earliest > 4.0 * near:
            state.before_event = x[clock] + earliest - 2.0 * near
            return False, True
        take_step(table, False, step.near, x, earliest, slopes, stages.new, work)
        finish(table, stages.new, request)
        if exists(table.contact_table):
            keep(table, stages.new)  # trial steps of what crosses before may overwrite it
        event_values(table, stages.new, after, work)
        end, ends = earliest, False
        for k in range(count):  # functions that cross before this event and back by the end of the step
            if found[k] > end and _crosses(before[k], after[k], modes[2 * k]):
                found[k] = _time_of_event_by(table, x, step, request, k, end, after[k], stages, work)
                terminal = modes[2 * k + 1] != 0.0
                if (terminal or (table.n_errors > 0 and k < table.n_events)) and found[k] < earliest:
                    earliest, stop, ends = found[k], terminal, True
    for k in range(count):
        before[k] = after[k]
        if found[k] <= earliest:
            row = table.log + 2 * int(state.logged)
            row[0] = k
            row[1] = x[clock] + found[k]
            state.logged += 1.0
    return stop, False


@internal
def _stops_sliding(table: Table, found: Floats, earliest: float):
    """Return True if a step is to approach ``earliest``, at or next to the stop of a contact with two rows of friction.

    The direction of its friction turns ever faster towards the stop (with rolling friction as a power of the time
    left), and stages at the instant itself are wrong by a part of the slip that is left: of implicit steps, and of all
    where another event is next to the stop, as the normal force of another contact then depends on that direction.
    """
    if not exists(table.contact_table) or table.n_errors == 0:
        return False
    contact_table = table.contact_table
    first = la.event_count(table) - table.n_event_functions + contact_table.contacts + contact_table.stops
    for k in range(contact_table.contacts):
        slides = contact_table.modes[k] == tl.SLIDING and contact_table.sizes[k] > 2
        stop = found[first + k]
        if slides and (table.n_implicit_stages > 0 if stop == earliest else STOP_APPROACH * stop <= earliest):
            return True
    return False


@internal
def _time_of_event(
    table: Table, x: Floats, step: Step, request: Any, k: int, stages: Stages, work: Workspace
):
    """Return the time [s] after the start of a step at which the k-th function crosses zero, np.inf if none."""
    count, direction = la.event_count(table), table.modes[2 * k]
    margin, before, after = k - (count - table.n_event_functions), table.values[k], stages.values[k]
    if margin >= 0 and before <= 0.0:  # below zero from the start by rounding: it may not fall much further
        if before <= UNSEEN_EVENT:
            return min(step.h, table.settings.event_tolerance) if after < before else np.inf
        if after > UNSEEN_EVENT:
            return np.inf
        return _time_of_crossing(table, x, step, request, k, UNSEEN_EVENT, step.h, after, stages, work)
    if _crosses(before, after, direction):
        return _time_of_event_by(table, x, step, request, k, step.h, after, stages, work)
    dip = stages.values[3 * count + margin] if margin >= 0 else 0.0
    if not (dip > 0.0 and _reaches(table, x, step, dip, request, stages, work)):
        return np.inf
    after = stages.values[count + k]
    if not _crosses(before, after, direction):
        return np.inf
    return _time_of_event_by(table, x, step, request, k, dip, after, stages, work)


@internal
def _time_of_event_by(
    table: Table,
    x: Floats,
    step: Step,
    request: Any,
    k: int,
    end: float,
    value: float,
    stages: Stages,
    work: Workspace,
):
    """Return the time [s] after the start of a step, before ``end``, at which the k-th function or gap is zero."""
    if table.values[k] >= CLEAR_GAP and _is_gap(table, k):
        return _time_of_contact(table, x, step, request, k, end, value, stages, work)
    return _time_of_crossing(table, x, step, request, k, 0.0, end, value, stages, work)


@internal
def _reaches(table: Table, x: Floats, step: Step, h: float, request: Any, stages: Stages, work: Workspace):
    """Write the end of a trial step of length h to ``trial``, and the event functions there; return success.

    The values go behind the values at the end of the whole step.
    """
    good = take_step(table, False, step.near, x, h, stages.slopes, stages.trial, work)
    if not good or not finish(table, stages.trial, request):
        return False
    event_values(table, stages.trial, stages.values + la.event_count(table), work)
    return True


@internal
def _time_of_crossing(
    table: Table,
    x: Floats,
    step: Step,
    request: Any,
    k: int,
    level: float,
    end: float,
    value: float,
    stages: Stages,
    work: Workspace,
):
    """Return the time [s] after the start of a step at which the k-th function crosses ``level``.

    ``value`` is the function at ``end`` [s]. The step is repeated with a shorter h (Illinois method).
    """
    count, tolerance = la.event_count(table), table.settings.event_tolerance
    values, direction = stages.values + count, table.modes[2 * k]
    before = table.values[k] - level
    low, high, f_low, f_high = 0.0, end, before, value - level
    for _ in range(60):
        if high - low <= tolerance or f_low == f_high:
            break
        middle = low + (high - low) * f_low / (f_low - f_high)
        margin = BISECTION_MARGIN * (high - low)
        middle = min(max(middle, low + margin), high - margin)
        if not _reaches(table, x, step, middle, request, stages, work):
            break
        now = values[k] - level
        if _crosses(before, now, direction):
            high, f_high, f_low = middle, now, 0.5 * f_low
        else:
            low, f_low, f_high = middle, now, 0.5 * f_high
    return high


@internal
def _time_of_contact(
    table: Table,
    x: Floats,
    step: Step,
    request: Any,
    k: int,
    end: float,
    value: float,
    stages: Stages,
    work: Workspace,
):
    """Return the time [s] after the start of a step at which the gap of the k-th event function is zero.

    ``value`` is the event function, below zero, at ``end`` [s]. The instant is found to the digits of the
    coordinates, since errors of equal sign add up from impact to impact. The step is repeated with a shorter h, by a
    parabola through three values (Muller's method) within a bracket; this is exact in free fall. Where the gap is out
    of reach the bracket is halved.
    """
    values = stages.values + la.event_count(table)
    low, high, f_low, f_high = 0.0, end, table.values[k] - ZERO_GAP_EVENT, value - ZERO_GAP_EVENT
    third = f_third = 0.0
    exact = _exactness(table, x)
    # without a parabola: regula falsi, where the weight of an end that stays is halved (Illinois method)
    weight_low, weight_high = f_low, f_high
    for i in range(60):
        if high - low <= DIGITS_OF_COORDINATES * end:
            break
        middle = low + (high - low) * weight_low / (weight_low - weight_high)
        if f_low >= OUT_OF_REACH:  # the place is not there yet
            middle = 0.5 * (low + high)
        elif i > 0 and f_third < OUT_OF_REACH:
            middle = _parabola_falls(low, high, third, f_low, f_high, f_third, middle)
        if not low < middle < high or not _reaches(table, x, step, middle, request, stages, work):
            break
        now = values[k] - ZERO_GAP_EVENT
        if abs(now) < exact:
            return middle
        if now < 0.0:
            third, f_third = high, f_high
            high, f_high, weight_high, weight_low = middle, now, now, 0.5 * weight_low
        else:
            third, f_third = low, f_low
            low, f_low, weight_low, weight_high = middle, now, now, 0.5 * weight_high
    return low if low > 0.0 and f_low < -f_high else high


@internal
def _parabola_falls(
    low: float, high: float, third: float, f_low: float, f_high: float, f_third: float, otherwise: float
):
    """Return the falling zero, between ``low`` and ``high``, of the parabola through three points.

    Returns ``otherwise`` if there is none.
    """
    slope, slope_of_third = (f_high - f_low) / (high - low), (f_third - f_low) / (third - low)
    square = (slope_of_third - slope) / (third - high)
    linear = slope - square * (high - low)
    root = linear * linear - 4.0 * square * f_low
    if not root >= 0.0:
        return otherwise
    steep = linear - np.sqrt(root)
    if steep == 0.0:
        return otherwise
    place = low - 2.0 * f_low / steep
    return place if low < place < high else otherwise
