"""The kernel of `sarrus.optimize.solve_cone_program`: equalities first, the cones in what they leave free."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import cone_layout as cl
from sarrus.kernels import factor as fa
from sarrus.kernels.cones import dot
from sarrus.kernels.flat import flat_at, flat_from, flat_pointer, internal
from sarrus.kernels.interior_point import interior_point

# Relative size below which a row of the equalities depends on the others, and of what it may miss then.
_CUT, _MISSED = 1e-11, 1e-9


def cone_program(table_pointer, x_pointer, what):
    """Solve the program of a table; write x, s, z, the multipliers y and the facts to the answer.

    The second argument is not used. ``what`` is COLD or WARM. Returns one of `cone_layout`'s answers.
    """
    table = flat_pointer(table_pointer)
    data, s, answer = flat_at(table[cl.DATA]), flat_at(table[cl.WORK]), flat_at(table[cl.ANSWER])
    n, e, linear, count = table[cl.VARIABLES], table[cl.EQUALITIES], table[cl.LINEAR], table[cl.CONES]
    sizes, perm = flat_from(table, cl.SIZES), flat_from(table, cl.SIZES + count)
    m = linear
    for c in range(count):
        m += sizes[c]
    if e == 0:
        ws = cl.cone_workspace(n, m)
        for i in range(n * n + n):
            s[ws.quadratic + i] = data[i]
        for i in range(m * n + m):
            s[ws.rows + i] = data[n * n + n + i]
        if what == cl.WARM:
            for i in range(n + 2 * m):
                s[ws.x + i] = answer[i]
        verdict = interior_point(
            s, ws, n, linear, count, sizes, perm, flat_at(table[cl.LIMITS]), what == cl.WARM
        )
        for i in range(n + 2 * m):
            answer[i] = s[ws.x + i]
        for i in range(cl.N_FACTS):
            answer[n + 2 * m + i] = s[ws.facts + i]
        answer[n + 2 * m + cl.RANK] = 0.0
        return verdict
    return _with_equalities(table, data, s, answer, n, e, m, sizes, perm, what)


@internal
def _with_equalities(table, data, s, answer, n, e, m, sizes, perm, what):
    """Solve in x = A⁺b + N y, N an orthonormal basis of the null space of A, and find the multipliers of A x = b."""
    es = cl.equality_workspace(n, e, m)
    big, first = es.big, es.vectors
    beta, beta2, norms, diagonal, rhs, y, work = (
        first, first + big, first + 2 * big, first + 3 * big, first + 4 * big, first + 5 * big, first + 6 * big,
    )  # fmt: skip
    quadratic, linear = 0, n * n
    rows, limits = linear + n, linear + n + e * n
    cone_rows = limits + e
    cone_limits = cone_rows + m * n
    largest = asked = 0.0
    for i in range(e * n):
        s[es.rows + i] = data[rows + i]
    for i in range(e):
        s[rhs + i] = data[limits + i]
        asked = max(asked, abs(s[rhs + i]))
        largest = max(largest, dot(s, es.rows + i * n, es.rows + i * n, n))
    rank, left = fa.solve(
        s, es.rows, e, n, n, _CUT, np.sqrt(largest), perm, diagonal, beta, beta2, norms, rhs, y, es.particular
    )
    if rank < 0:
        return cl.NOT_FINITE
    facts = n + 2 * m + e
    answer[facts + cl.RANK] = rank
    if left > _MISSED * (asked + 1e-300):
        answer[facts + cl.PRIMAL] = left
        return cl.CONTRADICTING
    free = n - rank
    for k in range(free):
        column = es.basis + k * n
        for c in range(n):
            s[column + c] = 1.0 if c == rank + k else 0.0
        fa.apply_q(s, es.rows, n, rank, beta, column)
    ws = cl.cone_workspace(free, m)
    for k in range(free):
        column = es.basis + k * n
        for a in range(n):
            total = 0.0
            for b in range(n):
                total += data[quadratic + a * n + b] * s[column + b]
            s[work + a] = total
        for j in range(free):
            s[ws.quadratic + j * free + k] = dot(s, es.basis + j * n, work, n)
        total = dot(s, es.particular, work, n)
        for a in range(n):
            total += data[linear + a] * s[column + a]
        s[ws.linear + k] = total
        for i in range(m):
            total = 0.0
            for a in range(n):
                total += data[cone_rows + i * n + a] * s[column + a]
            s[ws.rows + i * free + k] = total
    for i in range(m):
        total = data[cone_limits + i]
        for a in range(n):
            total -= data[cone_rows + i * n + a] * s[es.particular + a]
        s[ws.limits + i] = total
    if what == cl.WARM:
        for k in range(free):
            s[ws.x + k] = 0.0
            for a in range(n):
                s[ws.x + k] += s[es.basis + k * n + a] * (answer[a] - s[es.particular + a])
        for i in range(2 * m):
            s[ws.s + i] = answer[n + i]
    verdict = interior_point(
        s,
        ws,
        free,
        table[cl.LINEAR],
        table[cl.CONES],
        sizes,
        perm,
        flat_at(table[cl.LIMITS]),
        what == cl.WARM,
    )
    fixed = offset = 0.0
    for a in range(n):
        total = s[es.particular + a] if verdict != cl.UNBOUNDED else 0.0
        for k in range(free):
            total += s[es.basis + k * n + a] * s[ws.x + k]
        answer[a] = total
    for i in range(2 * m):
        answer[n + i] = s[ws.s + i]
    for a in range(n):
        slope, particular = 0.0, s[es.particular + a]
        for b in range(n):
            slope += data[quadratic + a * n + b] * answer[b]
            fixed += 0.5 * particular * data[quadratic + a * n + b] * s[es.particular + b]
        fixed += data[linear + a] * particular
        slope = slope + data[linear + a] if verdict != cl.INFEASIBLE else 0.0
        for i in range(m):
            slope += data[cone_rows + i * n + a] * s[ws.z + i]
        s[work + a] = -slope
    fa.apply_q_transposed(s, es.rows, n, rank, beta, work)
    fa.multipliers(s, es.rows, e, n, rank, perm, diagonal, beta2, work, rhs, y)
    for i in range(e):
        answer[n + 2 * m + i] = s[y + i]
        total = -data[limits + i]
        for a in range(n):
            total += data[rows + i * n + a] * answer[a]
        offset = max(offset, abs(total))
    for i in range(cl.RANK):
        answer[facts + i] = s[ws.facts + i]
    answer[facts + cl.PRIMAL] = max(answer[facts + cl.PRIMAL], offset)
    answer[facts + cl.COST] += fixed
    answer[facts + cl.DUAL_COST] += fixed
    return verdict
