"""Forward dynamics at one state, as Python calls it."""

from __future__ import annotations

from typing import Annotated, Any

from sarrus.kernels import layout as la
from sarrus.kernels.flat import internal
from sarrus.kernels.layout import Table
from sarrus.kernels.native_call import call_kernel
from sarrus.kernels.python_call import ArrayObject, FloatObject, is_vector
from sarrus.kernels.record import Floats, Record
from sarrus.kernels.vectors import copy


def forward(table: Table, x: Floats, what: int) -> int:
    """Do `answer_at` so many times, as benchmarks ask for it, with the answer in x."""
    code = la.NO_ANSWER
    for _ in range(what):
        code = answer_at(table, x)
    return code


class Given(Record, of=int):
    """What Python calls forward dynamics with: arrays of float64, which are looked at, and a float."""

    q: Annotated[Any, ArrayObject]
    v: Annotated[Any, ArrayObject]
    tau: Annotated[Any, ArrayObject]
    t: Annotated[Any, FloatObject]
    out: Annotated[Any, ArrayObject]  # long enough


def forward_of_arrays(table: Table, x: Given, what: int) -> int:
    """Do `answer_at` at a state, which is put into the table's x; NOT_ARRAYS where its lengths are not the system's."""
    q, v, tau, out, state = x.q, x.v, x.tau, x.out, table.x
    nq, nv = table.nq, table.nv
    if not (is_vector(q, nq, out) and is_vector(v, nv, out) and is_vector(tau, nv, out)):
        return la.NOT_ARRAYS
    copy(q.numbers, state, nq)
    copy(v.numbers, state + nq, nv)
    state[nq + nv + table.nu] = x.t.value
    copy(tau.numbers, state + (la.input_size(table) - nv), nv)
    return answer_at(table, out.numbers)


@internal
def answer_at(table, out):
    """Write (a, λ, Aᵀλ, facts, q, v) at the state in the table's x = [q | v | u | t | p | τ] to ``out``.

    Return rank + `layout.STRIDE` × outcome, or no answer.
    """
    x = table.x
    nq, nv, nc = table.nq, table.nv, table.nc
    for k in range(table.n_quaternions):
        i = table[la.QUATERNIONS + k]
        if abs(x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3] - 1.0) > la.UNIT:
            return la.NOT_UNIT
    work = la.workspace(table)
    rank = call_kernel(table.acceleration, table, x, la.ANSWER)
    facts = 2 * nv + nc
    copy(work.a, out, facts)
    copy(work.facts, out + facts, la.N_FACTS)
    copy(x, out + (facts + la.N_FACTS), nq + nv)
    wrong = 0.0
    for i in range(la.input_size(table)):
        wrong += 0.0 * x[i]
    if rank < 0 or wrong != 0.0:  # NaN is unequal to everything
        return la.NO_ANSWER
    return rank + la.STRIDE * int(work.facts.outcome)
