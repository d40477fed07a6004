"""One step of the simulation with fixed steps, on its own: what exported C code offers."""

from __future__ import annotations

from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.run_state import DONE, ILL_POSED, NOT_FINITE, PROJECTION_FAILED, SPLIT_PIVOT
from sarrus.kernels.stepping import finish, slope, take_step

# What a step remembers: the size that the smallest pivot has elsewhere; 1 where redundant rows contradict each other
# beside the constraints, so that stages are projected from then on; what became of the solve where the last step began.
TYPICAL_PIVOT, SPLIT, FOUND, N_MEMORY = 0, 1, 2, 3


@internal
def single_step(table, x, h, memory):
    """Advance x by h with its controls held; return how it ended, as the time loop does (`run_state`).

    Near a singular configuration the stages are projected. The time loop does more there: it lays its steps so that
    no stage comes close to it.
    """
    s, settings, ws = flat_at(table[la.WORK]), flat_at(table[la.SETTINGS]), la.workspace(table)
    n, size = table[la.NQ] + table[la.NV], la.input_size(table)
    slopes = flat_at(table[la.WORK] + 8 * ws.size)
    new = flat_at(table[la.WORK] + 8 * (ws.size + (table[la.N_STAGES] + 1) * n))
    if slope(table, x, la.VERIFIED, slopes, 0, s, ws) < 0:
        return ILL_POSED
    memory[FOUND] = s[ws.facts + la.OUTCOME]
    smallest = s[ws.facts + la.SMALLEST]
    memory[TYPICAL_PIVOT] = max(memory[TYPICAL_PIVOT], smallest)
    near = smallest < settings[la.NEAR] * memory[TYPICAL_PIVOT] or memory[SPLIT] > 0.0
    good = take_step(table, False, near, x, h, slopes, new, s, ws)
    if not near and s[ws.facts + la.BEYOND] > SPLIT_PIVOT * s[ws.facts + la.LARGEST]:
        memory[SPLIT] = 1.0
    if not good:
        return NOT_FINITE
    if not finish(table, new, la.CONSTRAINTS):
        return PROJECTION_FAILED
    for i in range(size):
        x[i] = new[i]
    return DONE
