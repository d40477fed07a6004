"""Forward dynamics at one state, as Python calls it."""

from __future__ import annotations

from numba import types

from sarrus.kernels import layout as la
from sarrus.kernels.dispatched import kept
from sarrus.kernels.flat import flat, table_at
from sarrus.kernels.native_call import call_kernel

_VECTOR = types.Array(types.float64, 1, "C")
_GIVEN = types.Array(types.float64, 1, "C", readonly=True)
_TABLE = types.Array(types.int64, 1, "C")


@kept(types.int64(_TABLE, _GIVEN, _GIVEN, _GIVEN, types.float64, _VECTOR))
def forward(table_array, q, v, tau, t, out):
    """Write (a, λ, Aᵀλ, facts, q, v) at a state to ``out``; return rank + `layout.STRIDE` × outcome, or no answer.

    The table describes the system (see `layout`); its x keeps u and the parameters and gets q, v, τ and t. Few
    arguments keep the call from Python short.
    """
    table = table_at(flat(table_array))
    x = table.x
    nq, nv, nc = table.nq, table.nv, table.nc
    if q.shape[0] != nq or v.shape[0] != nv or tau.shape[0] != nv:
        return la.WRONG_LENGTH
    for k in range(table.n_quaternions):
        i = table[la.QUATERNIONS + k]
        if abs(q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3] - 1.0) > la.UNIT:
            return la.NOT_UNIT
    for i in range(nq):
        x[i] = q[i]
    for i in range(nv):
        x[nq + i] = v[i]
    x[nq + nv + table.nu] = t
    applied = la.input_size(table) - nv
    for i in range(nv):
        x[applied + i] = tau[i]
    work = la.workspace(table)
    rank = call_kernel(table.acceleration, table, x, la.ANSWER)
    result = flat(out)
    for i in range(2 * nv + nc):
        result[i] = work.a[i]
    facts = 2 * nv + nc
    for k in range(la.N_FACTS):
        result[facts + k] = work.facts[k]
    wrong = 0.0
    for i in range(la.input_size(table)):
        if i < nq + nv:
            result[facts + la.N_FACTS + i] = x[i]
        wrong += 0.0 * x[i]
    if rank < 0 or wrong != 0.0:  # NaN is unequal to everything
        return la.NO_ANSWER
    return rank + la.STRIDE * int(work.facts.outcome)


@kept()
def forward_many(table, q, v, tau, t, out, repeats):
    """Call `forward` repeatedly; what a benchmark of the kernel times."""
    code = 0
    for _ in range(repeats):
        code = forward(table, q, v, tau, t, out)
    return code
