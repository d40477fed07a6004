"""Kernel of `sarrus.optimize.solve_cone_program`: equalities are eliminated first, then the cone program is
solved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.vectors import (
    add_transposed,
    clear_dot,
    copy,
    divide,
    dot,
    dot_from,
    fill,
    is_finite,
    set_unit,
)
from sarrus.kernels.cones.cones import Shape
from sarrus.kernels.cones.interior_point import interior_point
from sarrus.kernels.cones.tolerances import (
    ASYMMETRY,
    CANCELLATION,
    CANCELLATION_OF_FIXED_ROWS,
    EQUALITIES_CUT,
    EQUALITIES_MISSED,
)
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory.cone_layout import ConeTable, EqualityWorkspace
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.platform.pointers import internal


def cone_program(table: ConeTable, x: Floats, level: int) -> int:
    """Solve the program of a table; write x, s, z, the multipliers y and the facts to ``table.answer``.

    ``level`` is COLD or WARM; ``x`` is not used. Returns a verdict of `cone_layout`.
    """
    data, answer = table.program, table.answer
    n, e, sizes = table.variables, table.equalities, table + cl.SIZES
    m = table.linear
    for c in range(table.cones):
        m += sizes[c]
    fault = _fault(data, n, n * n + n + e * n + e + m * n + m)
    if fault != cl.SOLVED:
        return fault
    if e > 0:
        verdict = _with_equalities(table, n, e, m, level)
    else:
        work = cl.cone_workspace(table.work, n, m)
        copy(data, work.quadratic, n * n + n)
        copy(data + (n * n + n), work.rows, m * n + m)
        if level == cl.WARM:
            copy(answer, work.x, n + 2 * m)
        shape = Shape(n, m, table.linear, table.cones, sizes, sizes + table.cones)
        verdict = interior_point(work, shape, table.limits, level == cl.WARM)
        copy(work.x, answer, n + 2 * m)
        answer[n + 2 * m + cl.COUNT] = work.iterations[0]
        answer[n + 2 * m + cl.RANK] = 0.0
    return _certify(table, n, e, m, verdict)


@internal
def _fault(data: Floats, n: int, size: int):
    """Symmetrise P; return BAD_DATA where numbers are not finite, ASYMMETRIC where P was not symmetric, else
    SOLVED."""
    largest = apart = 0.0
    if not is_finite(data, size):
        return cl.BAD_DATA
    for a in range(n):
        for b in range(a):
            value, other = data[a * n + b], data[b * n + a]
            largest, apart = max(largest, abs(value)), max(apart, abs(value - other))
            data[a * n + b] = data[b * n + a] = 0.5 * (value + other)
    return cl.ASYMMETRIC if apart > ASYMMETRY * largest else cl.SOLVED


@internal
def _with_equalities(table: ConeTable, n: int, e: int, m: int, level: int):
    """Solve the program in x = A⁺b + N y and find the multipliers of A x = b; return the verdict.

    N is a basis of the null space of A. Columns and rows of A are first scaled to size one, and N is orthonormal in
    these units.
    """
    data, answer, sizes = table.program, table.answer, table + cl.SIZES
    own, order = cl.equality_workspace(table.work, n, e, m), sizes + table.cones
    units, change = own.units, own.change
    A = fa.Matrix(own.rows, e, n, order, own.diagonal, own.beta, own.beta2, own.norms)
    parts = _parts(data, n, e, m)
    asked = _equilibrate(parts, own, n, e, m)
    rank, left = fa.solve(A, n, EQUALITIES_CUT, 1.0, own.rhs, own.y, own.particular)
    answer[n + 2 * m + e + cl.RANK] = rank
    answer[n + 2 * m + e + cl.COUNT] = 0.0
    if rank < 0:
        return cl.NOT_FINITE
    for a in range(n):
        own.particular[a] *= units[a]
    if left > EQUALITIES_MISSED * asked:
        _contradict(table, own, n, e, m)
        return cl.CONTRADICTING
    free = n - rank
    for k in range(free):
        column = own.basis + k * n
        set_unit(column, rank + k, n)
        fa.apply_q(A, rank, column)
        for c in range(n):
            column[c] *= units[c]
    work = cl.cone_workspace(table.work, free, m)
    for k in range(free):
        column = own.basis + k * n
        for a in range(n):
            change[a] = clear_dot(0.0, data + a * n, column, n, CANCELLATION)
        for j in range(k + 1):
            value = clear_dot(0.0, own.basis + j * n, change, n, CANCELLATION)
            work.quadratic[j * free + k] = value
            work.quadratic[k * free + j] = value
        for i in range(m):
            work.rows[i * free + k] = clear_dot(0.0, parts.cone_rows + i * n, column, n, CANCELLATION)
    for a in range(n):
        change[a] = clear_dot(parts.linear[a], data + a * n, own.particular, n, CANCELLATION)
    for k in range(free):
        work.linear[k] = clear_dot(0.0, own.basis + k * n, change, n, CANCELLATION)
    for i in range(m):
        fixed = True
        for k in range(free):
            fixed = fixed and work.rows[i * free + k] == 0.0
        noise = CANCELLATION_OF_FIXED_ROWS if fixed else CANCELLATION
        missed = clear_dot(-parts.cone_limits[i], parts.cone_rows + i * n, own.particular, n, noise)
        work.limits[i] = -missed
    if level == cl.WARM:
        for a in range(n):
            change[a] = (answer[a] - own.particular[a]) / units[a] ** 2
        for k in range(free):
            work.x[k] = dot(own.basis + k * n, change, n)
        copy(answer + n, work.s, 2 * m)
    shape = Shape(free, m, table.linear, table.cones, sizes, order + e)
    verdict = interior_point(work, shape, table.limits, level == cl.WARM)
    answer[n + 2 * m + e + cl.COUNT] = work.iterations[0]
    for a in range(n):
        answer[a] = own.particular[a] if verdict != cl.UNBOUNDED else 0.0
        for k in range(free):
            answer[a] += own.basis[k * n + a] * work.x[k]
    copy(work.s, answer + n, 2 * m)
    for a in range(n):
        change[a] = dot_from(parts.linear[a], data + a * n, answer, n) if verdict != cl.INFEASIBLE else 0.0
    add_transposed(parts.cone_rows, m, n, answer + (n + m), change)
    for a in range(n):
        change[a] *= -units[a]
    fa.apply_q_transposed(A, rank, change)
    fa.multipliers(A, rank, change, own.rhs, own.y)
    for i in range(e):
        answer[n + 2 * m + i] = own.y[i] / own.lengths[i]
    return verdict


class Parts(NamedTuple):
    """Data of a program: P, q, A, b, G, h."""

    quadratic: Any
    linear: Any
    rows: Any
    limits: Any
    cone_rows: Any
    cone_limits: Any


@internal
def _parts(data: Floats, n: int, e: int, m: int):
    """Return P, q, A, b, G, h as addresses in ``data``."""
    return view_fields(data, Parts(n * n, n, e * n, e, m * n, m))


@internal
def _equilibrate(parts: Parts, own: EqualityWorkspace, n: int, e: int, m: int):
    """Write A and b with rows of length one, the units of x and the lengths of the rows; return max |b|.

    The units of x make the columns of A and G have size one.
    """
    units, rhs = own.units, own.rhs
    fill(units, 1.0, n)
    for _ in range(2):
        # squared column norms, in the previous units
        fill(rhs, 0.0, n)
        _column_sizes(parts.rows, e, n, units, rhs)
        _column_sizes(parts.cone_rows, m, n, units, rhs)
        for a in range(n):
            units[a] = 1.0 / np.sqrt(rhs[a]) if rhs[a] > 0.0 else 1.0
    asked = 0.0
    for i in range(e):
        total = 0.0
        for a in range(n):
            value = parts.rows[i * n + a] * units[a]
            own.rows[i * n + a] = value
            total += value * value
        length = np.sqrt(total) if total > 0.0 else 1.0
        divide(own.rows + i * n, length, n)
        own.lengths[i] = length
        rhs[i] = parts.limits[i] / length
        asked = max(asked, abs(rhs[i]))
    return asked


@internal
def _column_sizes(rows: Floats, count: int, n: int, units: Floats, out: Floats):
    """Add the squared column norms (n,) of the matrix ``rows``, with its rows scaled to length one, to ``out``."""
    for i in range(count):
        row, total = rows + i * n, 0.0
        for a in range(n):
            total += (row[a] * units[a]) ** 2
        if total > 0.0:
            weight = 1.0 / total
            for a in range(n):
                out[a] += weight * row[a] ** 2


@internal
def _contradict(table: ConeTable, own: EqualityWorkspace, n: int, e: int, m: int):
    """Write the answer of contradicting equalities: the least-squares solution x of A x = b, and the proof y.

    y is the residual of A x = b, with Aᵀy = 0 and bᵀy < 0.
    """
    parts, answer, x = _parts(table.program, n, e, m), table.answer, own.particular
    copy(x, answer, n)
    for i in range(m):
        answer[n + i] = -clear_dot(-parts.cone_limits[i], parts.cone_rows + i * n, x, n, 0.0)
        answer[n + m + i] = 0.0
    for i in range(e):
        missed = clear_dot(-parts.limits[i], parts.rows + i * n, x, n, 0.0)
        answer[n + 2 * m + i] = missed / own.lengths[i] ** 2


@internal
def _certify(table: ConeTable, n: int, e: int, m: int, verdict: int):
    """Write the facts of the answer, computed from the program itself; return the verdict, STALLED or NOT_FINITE if
    disproved.

    A proof of infeasibility is scaled to hᵀz + bᵀy = −1, an unbounded direction to qᵀx = −1; the residuals are those
    of the scaled proof. The workspace is overwritten.
    """
    parts, answer, slope = _parts(table.program, n, e, m), table.answer, table.work
    slack, z, y, facts = n, n + m, n + 2 * m, n + 2 * m + e
    none, endless = verdict == cl.INFEASIBLE or verdict == cl.CONTRADICTING, verdict == cl.UNBOUNDED
    if verdict == cl.NOT_FINITE or not is_finite(answer, facts):
        fill(answer, 0.0, facts + cl.N_FACTS)
        return cl.NOT_FINITE
    along, curve = dot(parts.linear, answer, n), 0.0
    bound = -dot_from(dot(parts.cone_limits, answer + z, m), parts.limits, answer + y, e)
    if none:
        if not bound > 0.0:
            return cl.STALLED
        divide(answer + z, bound, m)
        divide(answer + y, bound, e)
        bound = 1.0
    if endless:
        if not along < 0.0:
            return cl.STALLED
        divide(answer, -along, n + m)
        along = -1.0
    primal = dual = 0.0
    for a in range(n):
        slope[a] = dot(parts.quadratic + a * n, answer, n)
        curve += answer[a] * slope[a]
        if none:
            slope[a] = 0.0
        elif not endless:
            slope[a] += parts.linear[a]
    if not endless:
        add_transposed(parts.cone_rows, m, n, answer + z, slope)
        add_transposed(parts.rows, e, n, answer + y, slope)
    for a in range(n):
        dual = max(dual, abs(slope[a]))
    for i in range(m):
        start = answer[slack + i] - (0.0 if endless else parts.cone_limits[i])
        primal = max(primal, abs(dot_from(start, parts.cone_rows + i * n, answer, n)))
    for i in range(e):
        start = 0.0 if endless else -parts.limits[i]
        primal = max(primal, abs(dot_from(start, parts.rows + i * n, answer, n)))
    answer[facts + cl.PRIMAL], answer[facts + cl.DUAL] = primal, dual
    answer[facts + cl.COST], answer[facts + cl.DUAL_COST] = 0.5 * curve + along, bound - 0.5 * curve
    answer[facts + cl.GAP] = curve + along - bound
    return verdict
