"""The kernel of `sarrus.optimize.solve_cone_program`: equalities first, the cones in what they leave free."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import cone_layout as cl
from sarrus.kernels import factor as fa
from sarrus.kernels.cones import dot
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.interior_point import interior_point

# Relative size below which a row of the equalities depends on the others, and of what it may miss then.
_CUT, _MISSED = 1e-11, 1e-9
# A sum below this multiple of its terms' sizes is rounding.
_NOISE = 1e-14
# The same for what is left of the limit of a row that the equalities determine, by way of the x that they do.
_FIXED_NOISE = 1e-11
# Relative difference of P from its transpose that rounding may have made.
_ASYMMETRIC = 1e-10


def cone_program(table, x, what):
    """Solve the program of a table; write x, s, z, the multipliers y and the facts to the answer.

    The second argument is not used. ``what`` is COLD or WARM. Returns one of `cone_layout`'s answers.
    """
    data, s, answer = flat_at(table[cl.DATA]), flat_at(table[cl.WORK]), flat_at(table[cl.ANSWER])
    n, e, linear, count = table[cl.VARIABLES], table[cl.EQUALITIES], table[cl.LINEAR], table[cl.CONES]
    sizes, perm = table + cl.SIZES, table + (cl.SIZES + count)
    m = linear
    for c in range(count):
        m += sizes[c]
    fault = _fault(data, n, n * n + n + e * n + e + m * n + m)
    if fault != cl.SOLVED:
        return fault
    if e > 0:
        verdict = _with_equalities(table, data, s, answer, n, e, m, sizes, perm, what)
    else:
        ws = cl.cone_workspace(n, m)
        for i in range(n * n + n):
            s[ws.quadratic + i] = data[i]
        for i in range(m * n + m):
            s[ws.rows + i] = data[n * n + n + i]
        if what == cl.WARM:
            for i in range(n + 2 * m):
                s[ws.x + i] = answer[i]
        limits = flat_at(table[cl.LIMITS])
        verdict = interior_point(s, ws, n, linear, count, sizes, perm, limits, what == cl.WARM)
        for i in range(n + 2 * m):
            answer[i] = s[ws.x + i]
        answer[n + 2 * m + cl.COUNT] = s[ws.iterations]
        answer[n + 2 * m + cl.RANK] = 0.0
    return _certify(data, s, answer, n, e, m, verdict)


@internal
def _fault(data, n, size):
    """Return BAD_DATA where numbers are not finite, ASYMMETRIC where P is not symmetric, SOLVED else; make P symmetric
    to the last digit."""
    total = largest = apart = 0.0
    for i in range(size):
        total += 0.0 * data[i]
    if total != 0.0:  # also where it is NaN
        return cl.BAD_DATA
    for a in range(n):
        for b in range(a):
            value, other = data[a * n + b], data[b * n + a]
            largest, apart = max(largest, abs(value)), max(apart, abs(value - other))
            data[a * n + b] = data[b * n + a] = 0.5 * (value + other)
    return cl.ASYMMETRIC if apart > _ASYMMETRIC * largest else cl.SOLVED


@internal
def _with_equalities(table, data, s, answer, n, e, m, sizes, perm, what):
    """Solve in x = A⁺b + N y, N a basis of the null space of A, and find the multipliers of A x = b.

    Columns and rows of A are first brought to size one, and N is orthonormal in these units.
    """
    es = cl.equality_workspace(n, e, m)
    big, first = es.big, es.vectors
    beta, beta2, norms, diagonal, rhs, y, work, units, lengths = (
        first, first + big, first + 2 * big, first + 3 * big, first + 4 * big, first + 5 * big, first + 6 * big,
        first + 7 * big, first + 8 * big,
    )  # fmt: skip
    linear = n * n
    rows, limits = linear + n, linear + n + e * n
    cone_rows = limits + e
    cone_limits = cone_rows + m * n
    asked = _equilibrate(data, s, n, e, m, rows, es.rows, cone_rows, limits, rhs, units, lengths)
    rank, left = fa.solve(
        s, es.rows, e, n, n, _CUT, 1.0, perm, diagonal, beta, beta2, norms, rhs, y, es.particular
    )
    answer[n + 2 * m + e + cl.RANK] = rank
    answer[n + 2 * m + e + cl.COUNT] = 0.0
    if rank < 0:
        return cl.NOT_FINITE
    for a in range(n):
        s[es.particular + a] *= s[units + a]
    if left > _MISSED * asked:
        _contradict(data, s, answer, n, e, m, es.particular, lengths)
        return cl.CONTRADICTING
    free = n - rank
    for k in range(free):
        column = es.basis + k * n
        for c in range(n):
            s[column + c] = 1.0 if c == rank + k else 0.0
        fa.apply_q(s, es.rows, n, rank, beta, column)
        for c in range(n):
            s[column + c] *= s[units + c]
    ws = cl.cone_workspace(free, m)
    for k in range(free):
        column = es.basis + k * n
        for a in range(n):
            s[work + a] = _product(data, a * n, s, column, n, 0.0, _NOISE)
        for j in range(k + 1):
            value = _product(s, es.basis + j * n, s, work, n, 0.0, _NOISE)
            s[ws.quadratic + j * free + k] = value
            s[ws.quadratic + k * free + j] = value
        for i in range(m):
            s[ws.rows + i * free + k] = _product(data, cone_rows + i * n, s, column, n, 0.0, _NOISE)
    for a in range(n):
        s[work + a] = _product(data, a * n, s, es.particular, n, data[linear + a], _NOISE)
    for k in range(free):
        s[ws.linear + k] = _product(s, es.basis + k * n, s, work, n, 0.0, _NOISE)
    for i in range(m):
        fixed = True
        for k in range(free):
            fixed = fixed and s[ws.rows + i * free + k] == 0.0
        noise = _FIXED_NOISE if fixed else _NOISE
        missed = _product(data, cone_rows + i * n, s, es.particular, n, -data[cone_limits + i], noise)
        s[ws.limits + i] = -missed
    if what == cl.WARM:
        for a in range(n):
            s[work + a] = (answer[a] - s[es.particular + a]) / s[units + a] ** 2
        for k in range(free):
            s[ws.x + k] = dot(s, es.basis + k * n, work, n)
        for i in range(2 * m):
            s[ws.s + i] = answer[n + i]
    verdict = interior_point(
        s,
        ws,
        free,
        table[cl.LINEAR],
        table[cl.CONES],
        sizes,
        perm + e,
        flat_at(table[cl.LIMITS]),
        what == cl.WARM,
    )
    answer[n + 2 * m + e + cl.COUNT] = s[ws.iterations]
    for a in range(n):
        answer[a] = s[es.particular + a] if verdict != cl.UNBOUNDED else 0.0
        for k in range(free):
            answer[a] += s[es.basis + k * n + a] * s[ws.x + k]
    for i in range(2 * m):
        answer[n + i] = s[ws.s + i]
    for a in range(n):
        s[work + a] = _missed(data, a * n, answer, n, data[linear + a]) if verdict != cl.INFEASIBLE else 0.0
    _add_slopes(data, cone_rows, m, n, answer, n + m, s, work)
    for a in range(n):
        s[work + a] *= -s[units + a]
    fa.apply_q_transposed(s, es.rows, n, rank, beta, work)
    fa.multipliers(s, es.rows, e, n, rank, perm, diagonal, beta2, work, rhs, y)
    for i in range(e):
        answer[n + 2 * m + i] = s[y + i] / s[lengths + i]
    return verdict


@internal
def _product(a, i, b, j, n, start, noise):
    """Return start plus a scalar product, zero where that is rounding."""
    total, size = start, abs(start)
    for k in range(n):
        value = a[i + k] * b[j + k]
        total += value
        size += abs(value)
    return total if abs(total) > noise * size else 0.0


@internal
def _equilibrate(data, s, n, e, m, rows, out, cone_rows, limits, rhs, units, lengths):
    """Write A and b with rows of length one in units of x in which columns of A and G are of size one; also these
    units and the lengths of the rows. Return max |b|."""
    for a in range(n):
        s[units + a] = 1.0
    for _ in range(2):
        # the sizes of columns, next to the old units
        for a in range(n):
            s[rhs + a] = 0.0
        _column_sizes(data, s, n, e, rows, units, rhs)
        _column_sizes(data, s, n, m, cone_rows, units, rhs)
        for a in range(n):
            s[units + a] = 1.0 / np.sqrt(s[rhs + a]) if s[rhs + a] > 0.0 else 1.0
    asked = 0.0
    for i in range(e):
        total = 0.0
        for a in range(n):
            value = data[rows + i * n + a] * s[units + a]
            s[out + i * n + a] = value
            total += value * value
        length = np.sqrt(total) if total > 0.0 else 1.0
        for a in range(n):
            s[out + i * n + a] /= length
        s[lengths + i] = length
        s[rhs + i] = data[limits + i] / length
        asked = max(asked, abs(s[rhs + i]))
    return asked


@internal
def _column_sizes(data, s, n, count, rows, units, out):
    """Add to ``out`` the squares of the columns of rows that are brought to length one."""
    for i in range(rows, rows + count * n, n):
        total = 0.0
        for a in range(n):
            total += (data[i + a] * s[units + a]) ** 2
        if total > 0.0:
            weight = 1.0 / total
            for a in range(n):
                s[out + a] += weight * data[i + a] ** 2


@internal
def _add_slopes(data, first, rows, n, weights, z, out, at):
    """Add the product of a transposed rows × n matrix of the data with the vector z."""
    for i in range(rows):
        weight, row = weights[z + i], first + i * n
        if weight != 0.0:
            for a in range(n):
                out[at + a] += weight * data[row + a]


@internal
def _missed(data, row, answer, n, start):
    """Return start plus the product of a row of the data with x."""
    total = start
    for a in range(n):
        total += data[row + a] * answer[a]
    return total


@internal
def _contradict(data, s, answer, n, e, m, x, lengths):
    """Write the least-squares solution x of A x = b as the answer and, as the proof that there is none, the rest of it
    as y: Aᵀy = 0 and bᵀy < 0."""
    rows, limits = n * n + n, n * n + n + e * n
    cone_rows, cone_limits = limits + e, limits + e + m * n
    for a in range(n):
        answer[a] = s[x + a]
    for i in range(m):
        answer[n + i] = -_product(data, cone_rows + i * n, s, x, n, -data[cone_limits + i], 0.0)
        answer[n + m + i] = 0.0
    for i in range(e):
        missed = _product(data, rows + i * n, s, x, n, -data[limits + i], 0.0)
        answer[n + 2 * m + i] = missed / s[lengths + i] ** 2


@internal
def _certify(data, s, answer, n, e, m, verdict):
    """Write the facts of the answer, found from the program itself; return the verdict if they bear it out.

    A proof that there is no solution is brought to hᵀz + bᵀy = −1, a direction without bound to qᵀx = −1; their
    residuals are then those of the proof. The workspace is overwritten.
    """
    linear, rows, limits = n * n, n * n + n, n * n + n + e * n
    cone_rows, cone_limits = limits + e, limits + e + m * n
    slack, z, y, facts = n, n + m, n + 2 * m, n + 2 * m + e
    none, endless = verdict == cl.INFEASIBLE or verdict == cl.CONTRADICTING, verdict == cl.UNBOUNDED
    finite = verdict != cl.NOT_FINITE
    for i in range(facts):
        finite = finite and np.isfinite(answer[i])
    if not finite:
        for i in range(facts + cl.N_FACTS):
            answer[i] = 0.0
        return cl.NOT_FINITE
    along = bound = curve = 0.0
    for a in range(n):
        along += data[linear + a] * answer[a]
    for i in range(m):
        bound -= data[cone_limits + i] * answer[z + i]
    for i in range(e):
        bound -= data[limits + i] * answer[y + i]
    if none:
        if not bound > 0.0:
            return cl.STALLED
        for i in range(m):
            answer[z + i] /= bound
        for i in range(e):
            answer[y + i] /= bound
        bound = 1.0
    if endless:
        if not along < 0.0:
            return cl.STALLED
        for i in range(n + m):
            answer[i] /= -along
        along = -1.0
    primal = dual = 0.0
    for a in range(n):
        s[a] = _missed(data, a * n, answer, n, 0.0)
        curve += answer[a] * s[a]
        if none:
            s[a] = 0.0
        elif not endless:
            s[a] += data[linear + a]
    if not endless:
        _add_slopes(data, cone_rows, m, n, answer, z, s, 0)
        _add_slopes(data, rows, e, n, answer, y, s, 0)
    for a in range(n):
        dual = max(dual, abs(s[a]))
    for i in range(m):
        start = answer[slack + i] - (0.0 if endless else data[cone_limits + i])
        primal = max(primal, abs(_missed(data, cone_rows + i * n, answer, n, start)))
    for i in range(e):
        start = 0.0 if endless else -data[limits + i]
        primal = max(primal, abs(_missed(data, rows + i * n, answer, n, start)))
    answer[facts + cl.PRIMAL], answer[facts + cl.DUAL] = primal, dual
    answer[facts + cl.COST], answer[facts + cl.DUAL_COST] = 0.5 * curve + along, bound - 0.5 * curve
    answer[facts + cl.GAP] = curve + along - bound
    return verdict
