"""Events of a run: functions of the state, and multipliers, whose zeros are found to a tolerance in time."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import layout as la
from sarrus.kernels.flat import internal
from sarrus.kernels.margins import find_dips, write_margins
from sarrus.kernels.native_call import call_kernel, call_native
from sarrus.kernels.stepping import finish, set_control, take_step
from sarrus.kernels.vectors import copy

# Direction of an event that is switched off.
OFF = 2.0
# Margins that begin below zero may not fall below this.
LOST = -2e3


@internal
def event_values(table, x, values, work):
    """Write the event functions at x, then the multipliers that are watched and the margins of contacts."""
    count = table.n_events
    if count > 0:
        call_native(table.events, x, values)
    if table.n_watched > 0:
        set_control(table, x, work)
        call_kernel(table.acceleration, table, x, la.ANSWER)
        for k in range(table.n_watched):
            values[count + k] = work.lam[int(table.watched[k])]
    if table.n_margins > 0:
        set_control(table, x, work)
        write_margins(table, x, values + (count + table.n_watched))


@internal
def are_defined(table, values, kept):
    """Tell whether the event functions are numbers; where one is none, keep the values for who asks."""
    for k in range(table.n_events):
        if values[k] != values[k]:
            copy(values, kept, table.n_events)
            return False
    return True


@internal
def _crosses(before, after, direction):
    """Tell whether an event function crosses zero in its direction (−1 falling, 1 rising, 0 both, 2 never)."""
    if direction == OFF:
        return False
    if direction > 0:
        return before < 0.0 <= after
    if direction < 0:
        return before > 0.0 >= after
    return (before < 0.0 <= after) or (before > 0.0 >= after)


@internal
def look_between(table, x, h, stages):
    """Find when open gaps come near zero within a step of length h; False: it is too long to tell."""
    count = la.event_count(table)
    margins, dips = count - table.n_margins, stages.values + 3 * count
    before, after = table.values + margins, stages.values + margins
    return find_dips(table, x, stages.new, h, stages.slopes, before, after, dips)


@internal
def locate(table, x, step, what, stages, work):
    """Find and log crossings within the step from x to ``new``, whose values are there.

    The earliest terminal event shortens the step: its state goes to ``new``. So does that of another declared one with
    an adaptive method, after a step that ends just before it, for what acts may jump there. Returns whether a terminal
    event stops the run, and whether the step is to be done again as it was, to just before an event.
    """
    count = la.event_count(table)
    state, modes, before, after = table.run, table.modes, table.values, stages.values
    found, slopes = after + 2 * count, stages.slopes
    clock = table.nq + table.nv + table.nu
    copy(stages.new, stages.trial, la.input_size(table))
    earliest, stop, ends = step.h, False, False
    for k in range(count):
        found[k] = _time_of_event(table, x, step, what, k, earliest, stages, work)
        terminal = modes[2 * k + 1] != 0.0
        if (terminal or (table.n_errors > 0 and k < table.n_events)) and found[k] <= earliest:
            stop = terminal or (stop and found[k] == earliest)
            earliest, ends = found[k], True
    near = table.settings.event_tolerance
    if ends and not stop and earliest > 4.0 * near:
        state.before_event = x[clock] + earliest - 2.0 * near
        return False, True
    if ends:
        take_step(table, False, step.near, x, earliest, slopes, stages.new, work)
        finish(table, stages.new, what)
        event_values(table, stages.new, after, work)
    for k in range(count):
        before[k] = after[k]
        if found[k] <= earliest:
            row = table.log + 2 * int(state.logged)
            row[0] = k
            row[1] = x[clock] + found[k]
            state.logged += 1.0
    return stop, False


@internal
def _time_of_event(table, x, step, what, k, earliest, stages, work):
    """Return when within a step the k-th function crosses zero, infinite where it does not."""
    count, direction = la.event_count(table), table.modes[2 * k]
    margin, before, after = k - (count - table.n_margins), table.values[k], stages.values[k]
    if margin >= 0 and before <= 0.0:  # from the start, as rounding may have it: it may not fall much further
        if before <= LOST:
            return min(step.h, table.settings.event_tolerance) if after < before else np.inf
        if after > LOST:
            return np.inf
        return _time_of_crossing(table, x, step, what, k, LOST, step.h, after, stages, work)
    if _crosses(before, after, direction):
        return _time_of_crossing(table, x, step, what, k, 0.0, step.h, after, stages, work)
    dip = stages.values[3 * count + margin] if margin >= 0 else 0.0
    if not (dip > 0.0 and _reaches(table, x, step, dip, what, stages, work)):
        return np.inf
    after = stages.values[count + k]
    if not _crosses(before, after, direction):
        return np.inf
    return _time_of_crossing(table, x, step, what, k, 0.0, dip, after, stages, work)


@internal
def _reaches(table, x, step, h, what, stages, work):
    """Take a step of another length to ``trial``, write the values there behind those at the end; False: it failed."""
    good = take_step(table, False, step.near, x, h, stages.slopes, stages.trial, work)
    if not good or not finish(table, stages.trial, what):
        return False
    event_values(table, stages.trial, stages.values + la.event_count(table), work)
    return True


@internal
def _time_of_crossing(table, x, step, what, k, level, end, value, stages, work):
    """Return how long after the start of a step the k-th function crosses a level, which has a ``value`` at an ``end``.

    The step is repeated with a shorter h (Illinois method).
    """
    count, tolerance = la.event_count(table), table.settings.event_tolerance
    values, direction = stages.values + count, table.modes[2 * k]
    before = table.values[k] - level
    low, high, f_low, f_high = 0.0, end, before, value - level
    for _ in range(60):
        if high - low <= tolerance or f_low == f_high:
            break
        middle = low + (high - low) * f_low / (f_low - f_high)
        margin = 1e-3 * (high - low)
        middle = min(max(middle, low + margin), high - margin)
        if not _reaches(table, x, step, middle, what, stages, work):
            break
        now = values[k] - level
        if _crosses(before, now, direction):
            high, f_high, f_low = middle, now, 0.5 * f_low
        else:
            low, f_low, f_high = middle, now, 0.5 * f_high
    return high
