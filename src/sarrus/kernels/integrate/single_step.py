"""One step of the simulation with fixed steps, as exported C code offers it."""

from __future__ import annotations

from typing import Any

from sarrus.kernels.algebra.vectors import copy
from sarrus.kernels.integrate.stepping import finish, separates, slope, take_step
from sarrus.kernels.integrate.stiffness import classical_size, growing_error
from sarrus.kernels.integrate.tolerances import SAME_STATE, UNSTABLE_STEPS
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats, Record
from sarrus.kernels.memory.run_state import DONE, ILL_POSED, NOT_FINITE, PROJECTION_FAILED, UNSTABLE_STEP
from sarrus.kernels.memory.tolerances import STABILITY_OF_RK4
from sarrus.kernels.platform.pointers import internal


class StepMemory(Record):
    """Memory from one step to the next: pivot, solve outcome, and error and count of the stability test."""

    typical_pivot: float  # largest value of the smallest pivot so far
    split: float  # 1 if redundant rows are inconsistent off the constraints: stages are projected
    found: float  # outcome of the acceleration at the start of the last step
    unstable: float  # number of unstable steps in a row
    error: float  # error of the previous step
    step: float  # length of the last step [s]
    last_size: float  # h |λ| of the last step


@internal
def single_step(table: Table, x: Floats, h: float, memory: Any):
    """Advance x by h with its controls held; return an end code of `run_state`.

    ILL_POSED, NOT_FINITE and PROJECTION_FAILED leave x as it was. Otherwise the step is done. The code is
    UNSTABLE_STEP if several steps in a row have left the region of stability; else the outcome of forward dynamics at
    the start of the step, if it is no full solution at the generic rank; else DONE. Near a singular configuration the
    stages are projected. The time loop, unlike this function, also places its steps so that no stage comes close to
    it.
    """
    settings, work = table.settings, la.workspace(table)
    stages = la.stages_of(table, work)
    slopes, new, size = stages.slopes, stages.new, la.input_size(table)
    rank = slope(table, x, la.VERIFIED, slopes, 0, work)
    if rank < 0:
        return ILL_POSED
    _note_stability(table, x, slopes, new, memory)
    found = work.facts.outcome
    memory.found = found
    smallest = work.facts.smallest
    memory.typical_pivot = max(memory.typical_pivot, smallest)
    near = smallest < settings.near * memory.typical_pivot or memory.split > 0.0
    good = take_step(table, False, near, x, h, slopes, new, work)
    if not near and separates(work):
        memory.split = 1.0
    memory.step, memory.last_size = h, 0.0
    if not good:
        return NOT_FINITE
    h_lambda = classical_size(table, slopes)
    if not finish(table, new, la.CONSTRAINTS):
        return PROJECTION_FAILED
    copy(new, x, size)
    memory.last_size = h_lambda
    if memory.unstable >= UNSTABLE_STEPS:
        return UNSTABLE_STEP
    if found > la.SINGULAR_ANSWER and rank == table.generic_rank:
        return int(found)
    return DONE


@internal
def _note_stability(table: Table, x: Floats, slopes: Floats, end: Floats, memory: Any):
    """Count the last step as stable or unstable, if it ended at x; slopes[3] still holds its last slope."""
    n = table.nq + table.nv
    if memory.last_size > STABILITY_OF_RK4 and _is_same(x, end, n, n + table.nu):
        error, grown = growing_error(n, slopes, x, memory.step, memory.last_size, memory.error)
        memory.unstable, memory.error = memory.unstable + 1.0 if grown else 0.0, error
    else:
        memory.unstable = memory.error = 0.0


@internal
def _is_same(x: Floats, end: Floats, n: int, time: int):
    """Return True if coordinates, velocities and time of x equal the end of the last step."""
    largest = abs(x[time] - end[time]) / (1.0 + abs(x[time]))
    for i in range(n):
        largest = max(largest, abs(x[i] - end[i]) / (1.0 + abs(x[i])))
    return largest <= SAME_STATE
