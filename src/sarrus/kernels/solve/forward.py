"""Forward dynamics at one state, as Python calls it."""

from __future__ import annotations

from typing import Annotated, Any

from sarrus.kernels.algebra.retraction import largest_gap
from sarrus.kernels.algebra.vectors import copy, is_finite
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table, Workspace
from sarrus.kernels.memory.python_objects import ArrayObject, FloatObject
from sarrus.kernels.memory.record import Floats, Record
from sarrus.kernels.memory.tolerances import UNIT_QUATERNION
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.platform.python_call import is_vector

# Codes up to this value are MAYBE_OPEN − code: an answer at a q whose loops may be open.
MAYBE_OPEN = -100


def forward(table: Table, x: Floats, level: int) -> int:
    """Call `answer_at` ``level`` times, for benchmarks; write the answer to x and return its code."""
    code = la.NO_ANSWER
    for _ in range(level):
        code = answer_at(table, x)
    return code


class Given(Record, of=int):
    """Arguments of forward dynamics from Python: float64 arrays, which are checked, and a float."""

    q: Annotated[Any, ArrayObject]
    v: Annotated[Any, ArrayObject]
    tau: Annotated[Any, ArrayObject]
    t: Annotated[Any, FloatObject]
    out: Annotated[Any, ArrayObject]  # buffer of the answer, long enough


def forward_of_arrays(table: Table, x: Given, level: int) -> int:
    """Write the forward dynamics at the state in ``x`` to ``x.out``; return the code of `answer_at`.

    NOT_ARRAYS where the lengths of the arrays are not those of the system. MAYBE_OPEN − code where the residual of
    the loop closures exceeds a third of the accepted residual of a projection, a limit below that of
    `sarrus.dynamics.closing.closed_state.require_closed`.
    """
    q, v, tau, out, state = x.q, x.v, x.tau, x.out, table.x
    nq, nv = table.nq, table.nv
    if not (is_vector(q, nq, out) and is_vector(v, nv, out) and is_vector(tau, nv, out)):
        return la.NOT_ARRAYS
    copy(q.numbers, state, nq)
    copy(v.numbers, state + nq, nv)
    state[nq + nv + table.nu] = x.t.value
    copy(tau.numbers, state + (la.input_size(table) - nv), nv)
    work = la.workspace(table)
    code = _answer(table, out.numbers, work)
    if table.nh > 0 and code >= 0 and not 3.0 * _gap(table, work) <= table.settings.accepted_residual:
        return MAYBE_OPEN - code
    return code


@internal
def gap_of_answer(table: Table):
    """Return the residual of the loop closures, in characteristic units, at the state last passed to `answer_at`."""
    return _gap(table, la.workspace(table))


@internal
def _gap(table: Table, work: Workspace):
    gap = 0.0
    if table.checked != 0 and table.direct_rank == table.generic_rank and table.baumgarte == 0:
        gap = work.conditioning.gap
    elif table.position != 0:
        call_native(table.position, table.x, work.spare)
        gap = largest_gap(table, work.spare, table.nh)
    return gap


@internal
def answer_at(table: Table, out: Floats):
    """Write (a, λ, Aᵀλ, facts, q, v) at the state in the table's x = [q | v | u | t | p | τ] to ``out``.

    Return rank + `layout.STRIDE` × outcome, or the code NOT_UNIT or NO_ANSWER.
    """
    return _answer(table, out, la.workspace(table))


@internal
def _answer(table: Table, out: Floats, work: Workspace):
    x = table.x
    nq, nv, nc = table.nq, table.nv, table.nc
    for k in range(table.n_quaternions):
        i = table[la.QUATERNIONS + k]
        if (
            abs(x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3] - 1.0)
            > UNIT_QUATERNION
        ):
            return la.NOT_UNIT
    rank = call_kernel(table.acceleration, table, x, la.ANSWER)
    facts = 2 * nv + nc
    copy(work.a, out, facts)
    copy(work.facts, out + facts, la.N_FACTS)
    copy(x, out + (facts + la.N_FACTS), nq + nv)
    if rank < 0 or not (is_finite(x, la.input_size(table)) and is_finite(out, facts)):
        return la.NO_ANSWER
    return rank + la.STRIDE * int(work.facts.outcome)
