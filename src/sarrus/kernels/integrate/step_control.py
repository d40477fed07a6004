"""Step size control: step size, acceptance by the error estimate, and placement of a singular configuration.

At a distance δ from a singular configuration the acceleration is uncertain by about ε/δ². Therefore, if possible, no
step begins, ends or has a stage close to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.kernels.algebra.power import power
from sarrus.kernels.integrate.branch_passage import passes_branch_point
from sarrus.kernels.integrate.sampling import next_sample
from sarrus.kernels.integrate.stepping import error_norm, strays
from sarrus.kernels.integrate.stiffness import note_stiffness
from sarrus.kernels.integrate.stretches import bounded
from sarrus.kernels.integrate.tolerances import (
    CROSSING_GROWTH,
    CROSSING_PATIENCE,
    END_OF_STEP,
    LEAST_CROSSING_ERROR,
    MOST_CROSSING_ERROR,
    POSITION_ROUNDING,
    SAME_INSTANT,
    WHOLE_STEP,
)
from sarrus.kernels.memory.layout import Stages, Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.run_state import RUNNING, STEP_TOO_SMALL
from sarrus.kernels.platform.pointers import internal

# GO: the step can be taken, or is accepted. AGAIN: it is repeated. Other codes: `run_state`.
GO, AGAIN = 1000, 1001


class Step(NamedTuple):
    """The next step of a run: its length, its end, and how it is taken."""

    h: float
    end: float  # time where it ends
    target: float  # of a fixed step, where it should end
    near: bool  # near a singular configuration, with stages off the constraints: they are projected
    last: bool  # before the end, a sample or a break, or shortened by what functions of time do
    crossing: bool  # the step crosses a singular configuration
    limited: bool  # shortened by a singular configuration, below the step size by the error
    whole: bool  # an adaptive step, or a fixed step that is not divided
    beside: bool  # a fixed step that goes past its target


@internal
def approach(table: Table, work: Workspace):
    """Return the smallest pivot relative to its largest value in the run, and the rate at which it falls [1/s]."""
    state, smallest = table.run, work.facts.smallest
    state.largest_pivot = max(state.largest_pivot, smallest)
    if state.largest_pivot == 0.0:
        return 1.0, 0.0
    size = smallest / state.largest_pivot
    speed = (state.last_pivot - size) / state.last_step if state.last_step > 0.0 else 0.0
    state.next_pivot = size
    return size, speed


@internal
def adaptive_step(table: Table, x: Floats, size: float, speed: float, stages: Stages, work: Workspace):
    """Return a code and the next step from x, as long as the error of the last step allows.

    The code is GO, or STEP_TOO_SMALL.
    """
    state, project, t = table.run, table.project > 0, x[table.nq + table.nv + table.nu]
    halt, last, limited, crossing = next_sample(state, state.end), False, False, False
    halt, cut = min(halt, state.before_event), False
    h = min(state.step, state.longest)
    if project and speed > 0.0 and h * speed > 0.5 * size:
        # The singular configuration is at most 2 h away: go across, with it between two stages, or half way to it.
        arrival = size / speed
        crossing = state.blocked == 0.0
        h = min(arrival / state.between, state.longest) if crossing else 0.5 * arrival
        limited = True
    if state.n_stretches > 0.0:
        asked = h
        h, halt = bounded(table, t, h, halt)
        cut = h < asked
    if t + h >= halt - END_OF_STEP * max(abs(halt), h):
        h, last = halt - t, True
    code = STEP_TOO_SMALL if h < state.shortest and not last else GO
    if last and not crossing and state.step < 0.5 * h:
        # Rejected, and yet as near to where it has to stop as times are told apart; a step across is longer by
        # itself.
        code = STEP_TOO_SMALL
    end = halt if last else t + h
    near = project and (limited or _is_near(table, x, h, size, stages, work))
    return code, Step(h, end, end, near, last or cut, crossing, limited, True, False)


@internal
def fixed_step(
    table: Table, x: Floats, size: float, speed: float, room: int, stages: Stages, work: Workspace
):
    """Return a code and the next step from x, to the next time of the grid or a part of the way.

    The code is GO, or RUNNING if the records have no room.
    """
    state, project, t = table.run, table.project > 0, x[table.nq + table.nv + table.nu]
    halt, last, whole, beside = next_sample(state, state.end), False, True, False
    target = state.start + (state.steps + 1.0) * state.step
    if target >= halt - SAME_INSTANT * state.step:
        target, last = halt, True
    h = target - t
    arrives = project and size < 2.0 * speed * h
    if arrives:
        h, whole, beside = _part(size / speed, h, halt - t, state.between)
        last = last and whole
    code = RUNNING if beside and state.filled + 2.0 > room else GO
    end = t + h
    if last:
        end = halt
    elif whole:
        end = target
    near = project and (arrives or _is_near(table, x, h, size, stages, work))
    return code, Step(h, end, target, near, last, False, False, whole, beside)


@internal
def _is_near(table: Table, x: Floats, h: float, size: float, stages: Stages, work: Workspace):
    """Return True if the stages of a step are to be projected."""
    if table.run.split > 0.0:
        return True
    return size < table.settings.near and strays(table, x, h, size, stages, work)


@internal
def _part(arrival: float, h: float, room: float, between: float):
    """Place a singular configuration ``arrival`` [s] ahead between two stages: (step, it ends at h, it goes past h).

    If ``room`` [s] allows, no step begins, ends or has a stage close to it; a step that would end there goes past its
    end. ``between`` and 1 − ``between`` are the middles of two wide gaps between stages.
    """
    late = max(between, 1.0 - between)
    early = 1.0 - late
    fraction = arrival / h
    part = h
    farthest = min(0.999 * room, 1.9 * h)  # one time of the grid is passed, not two
    if 0.8 < fraction < 1.2 and arrival / late < farthest:
        return arrival / late, False, True
    if fraction < early:
        part = arrival / early
    elif fraction < 0.5:
        part = h - (h - arrival) / late
    elif fraction < late:
        part = arrival / late
    elif 0.8 < fraction < 1.0:
        part = h - (h - arrival) / early
    whole = not WHOLE_STEP * h < part < 0.999 * h
    return (h if whole else part), whole, False


@internal
def _is_put_aside(table: Table, x: Floats, error: float, arrival: float, stages: Stages, work: Workspace):
    """Return True if an explicit step fails to cross only because rounding has moved it beside the branch point.

    The error estimate then grows as 1/σ², at right angles to the motion, and the projection removes this error.
    """
    state = table.run
    tolerance = max(state.relative, state.absolute)
    grows = CROSSING_GROWTH * state.tried_error <= error < MOST_CROSSING_ERROR / tolerance
    return table.implicit == 0 and grows and passes_branch_point(table, x, arrival, stages, work)


@internal
def judge(
    table: Table,
    x: Floats,
    good: bool,
    step: Step,
    size: float,
    speed: float,
    stages: Stages,
    work: Workspace,
):
    """Return GO if the error of an adaptive step allows it, else AGAIN or STEP_TOO_SMALL; set the next step size."""
    state, h = table.run, step.h
    rtol, atol = state.relative, state.absolute
    error = error_norm(table, stages.slopes, x, stages.new, h, rtol, atol) if good else np.inf
    tolerance, least = max(rtol, atol), 0.0
    if step.near and size > 0.0:
        # Rounding of the positions makes the acceleration uncertain by about ε/σ²: ask for no more. What it is
        # exactly depends on the stages, so patience with an attempt wears off.
        least = max(LEAST_CROSSING_ERROR, 10.0 * tolerance) * power(10.0, state.tries / CROSSING_PATIENCE)
        error /= max(1.0, min(POSITION_ROUNDING / (size * size), least) / tolerance)
    if step.crossing and error > 1.0:
        # Across a singular configuration the field on the constraints is smooth, and the estimate falls as the
        # approach comes closer, until rounding of the stages takes over: enough then.
        rounded = good and error >= 0.05 * state.tried_error and error * tolerance < least
        if rounded or (good and _is_put_aside(table, x, error, size / speed, stages, work)):
            error = 1.0
        else:
            state.rejected += 1.0
            state.tries += 1.0
            state.tried_error = error if good else np.inf
            state.blocked = 1.0
            return AGAIN
    if not error <= 1.0:
        state.rejected += 1.0
        state.tries += 1.0
        shrink = max(0.2, 0.9 * power(error, state.power)) if np.isfinite(error) else 0.2
        state.step = h * shrink
        state.factor = 1.0
        return STEP_TOO_SMALL if state.step < state.shortest else AGAIN
    state.blocked, state.tries = 0.0, 0.0
    if state.threshold > 0.0:
        note_stiffness(table, stages.slopes, h, step.crossing, state)
    if not step.near or step.crossing:
        state.tried_error = np.inf
    growth = 10.0 if error == 0.0 else min(10.0, 0.9 * power(error, state.power))
    proposed = h * min(growth, state.factor)
    if not (step.last or step.limited) or growth < 1.0:
        state.step = proposed
    state.factor = 10.0
    return GO
