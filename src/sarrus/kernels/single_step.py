"""One step of the simulation with fixed steps, on its own: what exported C code offers."""

from __future__ import annotations

from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.run_state import (
    DONE,
    ILL_POSED,
    LIMIT_OF_RK4,
    NOT_FINITE,
    PROJECTION_FAILED,
    SPLIT_PIVOT,
    UNSTABLE_STEP,
)
from sarrus.kernels.stepping import finish, slope, take_step
from sarrus.kernels.stiffness import UNSTABLE_STEPS, classical_size, growing_error

# What a step remembers: the size that the smallest pivot has elsewhere; 1 where redundant rows contradict each other
# beside the constraints, so that stages are projected from then on; what became of the solve where the last step began;
# how many steps in a row were unstable, the error of the one before, and length and h |λ| of the last one.
TYPICAL_PIVOT, SPLIT, FOUND, UNSTABLE, ERROR, STEP, SIZE, N_MEMORY = 0, 1, 2, 3, 4, 5, 6, 7
# A step begins where the last one ended if no number differs by more than this, relative to one or its size.
SAME = 1e-12


@internal
def single_step(table, x, h, memory):
    """Advance x by h with its controls held; return how it ended, as the time loop does (`run_state`).

    ILL_POSED, NOT_FINITE and PROJECTION_FAILED leave x as it was. Otherwise the step is done: UNSTABLE_STEP where it is
    one of several that leave the region of stability, else what forward dynamics said of the state it began at, where
    that was no full answer at the generic rank, else DONE. Near a singular configuration the stages are projected. The
    time loop does more there: it lays its steps so that no stage comes close to it.
    """
    s, settings, ws = flat_at(table[la.WORK]), flat_at(table[la.SETTINGS]), la.workspace(table)
    n, size = table[la.NQ] + table[la.NV], la.input_size(table)
    slopes = flat_at(table[la.WORK] + 8 * ws.size)
    new = flat_at(table[la.WORK] + 8 * (ws.size + (table[la.N_STAGES] + 1) * n))
    rank = slope(table, x, la.VERIFIED, slopes, 0, s, ws)
    if rank < 0:
        return ILL_POSED
    _note_stability(table, x, slopes, new, memory)
    found = s[ws.facts + la.OUTCOME]
    memory[FOUND] = found
    smallest = s[ws.facts + la.SMALLEST]
    memory[TYPICAL_PIVOT] = max(memory[TYPICAL_PIVOT], smallest)
    near = smallest < settings[la.NEAR] * memory[TYPICAL_PIVOT] or memory[SPLIT] > 0.0
    good = take_step(table, False, near, x, h, slopes, new, s, ws)
    if not near and s[ws.facts + la.BEYOND] > SPLIT_PIVOT * s[ws.facts + la.LARGEST]:
        memory[SPLIT] = 1.0
    memory[STEP], memory[SIZE] = h, 0.0
    if not good:
        return NOT_FINITE
    h_lambda = classical_size(table, slopes)
    if not finish(table, new, la.CONSTRAINTS):
        return PROJECTION_FAILED
    for i in range(size):
        x[i] = new[i]
    memory[SIZE] = h_lambda
    if memory[UNSTABLE] >= UNSTABLE_STEPS:
        return UNSTABLE_STEP
    if found > la.SINGULAR_ANSWER and rank == table[la.GENERIC_RANK]:
        return int(found)
    return DONE


@internal
def _note_stability(table, x, slopes, end, memory):
    """Count the last step for or against stability, if x is where it ended; its last slope still is in slopes[3]."""
    n = table[la.NQ] + table[la.NV]
    if memory[SIZE] > LIMIT_OF_RK4 and _is_same(x, end, n, n + table[la.NU]):
        error, grown = growing_error(n, slopes, x, memory[STEP], memory[SIZE], memory[ERROR])
        memory[UNSTABLE], memory[ERROR] = memory[UNSTABLE] + 1.0 if grown else 0.0, error
    else:
        memory[UNSTABLE] = memory[ERROR] = 0.0


@internal
def _is_same(x, end, n, time):
    """Tell whether coordinates, velocities and time are those where the last step ended."""
    largest = abs(x[time] - end[time]) / (1.0 + abs(x[time]))
    for i in range(n):
        largest = max(largest, abs(x[i] - end[i]) / (1.0 + abs(x[i])))
    return largest <= SAME
