"""Table of the kernel `functions_of_states`: functions of a user at the states of many copies."""

from __future__ import annotations

from sarrus.kernels.memory.record import Floats, Record


class FunctionsTable(Record, of=int):
    """Code of the functions in lanes, and arrays with a row for each copy."""

    native: int
    first: int  # copies ``first`` … ``last`` − 1; ``first`` is a multiple of the number of lanes
    last: int
    width: int  # numbers of x
    n_out: int  # of ``native``
    place_of_u: int  # in x
    place_of_t: int
    nu: int
    states: Floats  # x (copies, width), whose u and t are not read
    controls: Floats  # (copies, nu)
    times: Floats  # (copies,)
    values: Floats  # results (copies, n_out)
    inputs: Floats  # room for x in all lanes
    answer: Floats  # room for results in all lanes
