"""Functions of a user at the states of many copies, eight at a time."""

from __future__ import annotations

from sarrus.kernels.memory.batch_layout import LANES
from sarrus.kernels.memory.functions_layout import FunctionsTable
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native


def functions_of_states(table: FunctionsTable, x: Floats, what: int) -> int:
    """Write the values of all functions at the copies ``first`` … ``last`` − 1; return 0.

    Lanes without a copy of their own repeat the last one.
    """
    width, nu, n_out, last = table.width, table.nu, table.n_out, table.last
    inputs, answer = table.inputs, table.answer
    at_u, at_t = inputs + LANES * table.place_of_u, inputs + LANES * table.place_of_t
    for first in range(table.first, last, LANES):
        for lane in range(LANES):
            row = min(first + lane, last - 1)
            state, control = table.states + row * width, table.controls + row * nu
            for i in range(width):
                inputs[LANES * i + lane] = state[i]
            for i in range(nu):
                at_u[LANES * i + lane] = control[i]
            at_t[lane] = table.times[row]
        call_native(table.native, inputs, answer)
        for lane in range(min(LANES, last - first)):
            value = table.values + (first + lane) * n_out
            for i in range(n_out):
                value[i] = answer[LANES * i + lane]
    return 0
