"""The controls that fulfil demands on a constrained motion, level by level: the kernel of every control law.

At a state the acceleration and the constraint force are affine in the controls, for any rank of A. With Q = [Y, Z]
from the factorisation of A (Z an orthonormal basis of its null space) and M₂₂ = Zᵀ M Z,

    a(u) = −A⁺γ + Z (z + G u),    M₂₂ z = Zᵀ(f + M A⁺γ),    M₂₂ G = Zᵀ S,
    λ(u) = (Aᵀ)⁺ (M a(u) − f − S u).

So demands J a + E λ = r are linear equations T u = d, and a demanded generalized force g is M₂₂^(−T/2) Zᵀ(S u − g)
= 0, the metric in which the distance is that of the accelerations (Gauss). Levels are solved one after the other,
each in the controls that those before it leave free, in the least-squares sense and for any rank; what is free at
the end has minimum weighted norm.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import law_layout as ll
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.native_call import call_native

# A sum that is smaller than this, relative to its parts, is rounding: controls that cannot move a task have no gain.
CANCELLED = 1e-13


def command(table, x, what):
    """Write u at the state in x = [q | v | u | t | …] to the law's answer; return the rank of A, −1 where there is
    none."""
    rank, total = prepare(table, x)
    if rank < 0:
        return rank
    settings, answer, s = flat_at(table[ll.SETTINGS]), flat_at(table[ll.ANSWER]), flat_at(table[ll.WORK])
    ws, perm = ll.law_workspace(table), permutation(table)
    nu, first, done = table[ll.NU], 0, 0
    begin_levels(table, s, ws)
    for level in range(table[ll.N_LEVELS]):
        first, done = solve_level(
            table, settings, answer, s, perm, ws, level, first, done, total, table[ll.NV] - rank
        )
    roots, wish = flat_at(table[ll.ROOTS]), flat_at(table[ll.WISH])
    wrong = 0.0
    for k in range(nu):
        answer[k] = wish[k] + roots[k] * answer[k]
        wrong += 0.0 * answer[k]
    if wrong != 0.0:
        return -1
    if what == ll.SAMPLE:
        remember(table)
    return rank


@internal
def prepare(table, x):
    """Write the levels of a law at the state x; return the rank of A, −1 where there is no motion, and the number of
    rows."""
    own, s = flat_at(table[ll.INPUT]), flat_at(table[ll.WORK])
    settings, answer = flat_at(table[ll.SETTINGS]), flat_at(table[ll.ANSWER])
    ws, nu, n = ll.law_workspace(table), table[ll.ACTUATORS], table[ll.NQ] + table[ll.NV]
    for i in range(n):
        own[i] = x[i]
    own[n + nu] = x[n + nu]
    call_native(table[ll.NATIVE], own, 0, s, 0)
    rank = _motion(table, settings, s, permutation(table), ws)
    answer[table[ll.NU]] = rank
    return (rank, _levels(table, s, ws, rank)) if rank >= 0 else (rank, 0)


@internal
def permutation(table):
    """Return the room for a permutation."""
    return table + (ll.LEVELS + 3 * table[ll.N_LEVELS] + table[ll.N_MEASURED])


@internal
def remember(table):
    """Let the memory of the law go on by a sample."""
    own, s, settings = flat_at(table[ll.INPUT]), flat_at(table[ll.WORK]), flat_at(table[ll.SETTINGS])
    rates, states = ll.law_workspace(table).memory, table[ll.STATES]
    for k in range(table[ll.N_STATES]):
        own[states + k] += settings[ll.PERIOD] * s[rates + k]


@internal
def _motion(table, settings, s, perm, ws):
    """Factor A and find the motion without controls, and that of each; return the rank, −1 where it fails.

    Left behind: at basis Zᵀ, at product Zᵀ M, at inner the L of M₂₂ = LᵀL; two vectors, a(0) and then M a(0) − f;
    at push L⁻ᵀ Zᵀ S and at gain G, a row of nv for each control.
    """
    nv, nu, nc = table[ll.NV], table[ll.NU], table[ll.NC]
    big, first = ws.big, ws.vectors
    motion, load = first, first + big
    diagonal, beta, beta2, norms, rhs, y = (
        first + 3 * big, first + 4 * big, first + 5 * big, first + 6 * big, first + 7 * big, first + 8 * big,
    )  # fmt: skip
    for j in range(nc):
        s[rhs + j] = -s[ws.bias + j]
    used, _ = fa.solve(
        s, ws.rows, nc, nv, table[ll.RANK], settings[ll.SINGULAR_CUT], settings[ll.SCALE_OF_ROWS], perm,
        diagonal, beta, beta2, norms, rhs, y, motion,
    )  # fmt: skip
    if used < 0:
        return -1
    free = nv - used
    for i in range(free):
        column = ws.basis + i * nv
        for c in range(nv):
            s[column + c] = 1.0 if c == used + i else 0.0
        if used == 0:
            for c in range(nv):
                s[ws.product + i * nv + c] = s[ws.inner + i * nv + c] = s[ws.mass + i * nv + c]
            continue
        fa.apply_q(s, ws.rows, nv, used, beta, column)
        _times(s, ws.mass, nv, column, ws.product + i * nv)
        for j in range(i + 1):
            s[ws.inner + i * free + j] = _dot(s, ws.product + i * nv, ws.basis + j * nv, nv)
    largest = 0.0
    for i in range(free):
        largest = max(largest, s[ws.inner + i * free + i])
    if not fa.cholesky_ltl(s, ws.inner, free):
        return -1
    for i in range(free):
        if not s[ws.inner + i * free + i] ** 2 > 1e-14 * largest:
            return -1
    _times(s, ws.mass, nv, motion, load)
    for c in range(nv):
        s[load + c] -= s[ws.force + c]
    for i in range(free):
        s[rhs + i] = -_dot(s, ws.basis + i * nv, load, nv)
    fa.solve_l_transposed(s, ws.inner, free, rhs)
    fa.solve_l(s, ws.inner, free, rhs)
    for i in range(free):
        for c in range(nv):
            s[motion + c] += s[rhs + i] * s[ws.basis + i * nv + c]
            s[load + c] += s[rhs + i] * s[ws.product + i * nv + c]
    for k in range(nu):
        push, gain = ws.push + k * nv, ws.gain + k * nv
        _along(s, ws, nv, free, ws.actuation + k * nv, push)
        fa.solve_l_transposed(s, ws.inner, free, push)
        for i in range(free):
            s[gain + i] = s[push + i]
        fa.solve_l(s, ws.inner, free, gain)
    return used


@internal
def _dot(s, a, b, n):
    """Return the scalar product of two vectors."""
    total = 0.0
    for i in range(n):
        total += s[a + i] * s[b + i]
    return total


@internal
def _clear_dot(s, a, b, n):
    """Return the scalar product, zero where only rounding is left of it."""
    total = size = 0.0
    for i in range(n):
        product = s[a + i] * s[b + i]
        total += product
        size += abs(product)
    return total if abs(total) > CANCELLED * size else 0.0


@internal
def _along(s, ws, nv, free, x, out):
    """Write Zᵀ x; without constraints Z is the identity."""
    if free == nv:
        for c in range(nv):
            s[out + c] = s[x + c]
        return
    for i in range(free):
        s[out + i] = _dot(s, ws.basis + i * nv, x, nv)


@internal
def _is_zero(s, x, n):
    """Tell whether a row asks for nothing, as that of a foot which is not in the air."""
    c = 0
    while c < n and s[x + c] == 0.0:
        c += 1
    return c == n


@internal
def _times(s, matrix, n, x, out):
    """Write the product of a symmetric n × n matrix with a vector."""
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += s[matrix + i * n + j] * s[x + j]
        s[out + i] = total


@internal
def _levels(table, s, ws, rank):
    """Write the rows T and right-hand sides d of all levels; return how many rows there are."""
    nv, nu = table[ll.NV], table[ll.NU]
    roots, wish = flat_at(table[ll.ROOTS]), flat_at(table[ll.WISH])
    free = nv - rank
    if table[ll.ON_MULTIPLIERS] == 1:
        _reactions(table, s, ws, rank)
    row = 0
    for level in range(table[ll.N_LEVELS]):
        kind, first, count = _level(table, level, free)
        if kind == ll.FORCE:
            for i in range(free):
                column, value = ws.basis + i * nv, 0.0
                if first >= 0:
                    value = _dot(s, column, ws.forces + first * nv, nv)
                s[ws.right + row + i] = value
                for k in range(nu):
                    s[ws.table + (row + i) * nu + k] = s[ws.push + k * nv + i]
            fa.solve_l_transposed(s, ws.inner, free, ws.right + row)
        else:
            for i in range(count):
                _row(table, s, ws, free, first + i, row + i)
        for i in range(row, row + count):
            for k in range(nu):
                s[ws.right + i] -= s[ws.table + i * nu + k] * wish[k]
                s[ws.table + i * nu + k] *= roots[k]
        row += count
    return row


@internal
def _level(table, level, free):
    """Return kind, first row or force, and number of rows of a level; those of a force are the motions."""
    at = ll.LEVELS + 3 * level
    return table[at], table[at + 1], free if table[at] == ll.FORCE else table[at + 2]


@internal
def _row(table, s, ws, free, demand, row):
    """Write one row J a + E λ = r as T u = d."""
    nv, nu, nc = table[ll.NV], table[ll.NU], table[ll.NC]
    jacobian, along = ws.demands + demand * nv, ws.vectors + 7 * ws.big
    value = s[ws.wanted + demand] - _dot(s, jacobian, ws.vectors, nv)
    moves = not _is_zero(s, jacobian, nv)
    if moves:
        _along(s, ws, nv, free, jacobian, along)
    for k in range(nu):
        s[ws.table + row * nu + k] = _clear_dot(s, along, ws.gain + k * nv, free) if moves else 0.0
    if table[ll.ON_UNKNOWNS] == 1:
        for k in range(nu):
            s[ws.table + row * nu + k] += s[ws.selections + demand * nu + k]
    if table[ll.ON_MULTIPLIERS] == 1:
        coupling = ws.couplings + demand * nc
        for j in range(nc):
            weight = s[coupling + j]
            if weight != 0.0:
                value -= weight * s[ws.rest + j]
                for k in range(nu):
                    s[ws.table + row * nu + k] += weight * s[ws.reaction + k * nc + j]
    s[ws.right + row] = value


@internal
def _reactions(table, s, ws, rank):
    """Write λ at u = 0 to rest, and its change with each control to reaction."""
    nv, nu, nc = table[ll.NV], table[ll.NU], table[ll.NC]
    big, first = ws.big, ws.vectors
    load, force, work = first + big, first + 2 * big, first + 9 * big
    diagonal, beta, beta2 = first + 3 * big, first + 4 * big, first + 5 * big
    perm = permutation(table)
    for k in range(-1, nu):
        for c in range(nv):
            s[force + c] = s[load + c] if k < 0 else -s[ws.actuation + k * nv + c]
            if k >= 0:
                for i in range(nv - rank):
                    s[force + c] += s[ws.gain + k * nv + i] * s[ws.product + i * nv + c]
        fa.apply_q_transposed(s, ws.rows, nv, rank, beta, force)
        target = ws.rest if k < 0 else ws.reaction + k * nc
        fa.multipliers(s, ws.rows, nc, nv, rank, perm, diagonal, beta2, force, work, target)


@internal
def begin_levels(table, s, ws):
    """Begin with no level solved: the turned unknowns are the unknowns themselves."""
    nu, answer = table[ll.NU], flat_at(table[ll.ANSWER])
    for k in range(nu):
        answer[k] = 0.0
        for c in range(nu):
            s[ws.turned + k * nu + c] = 1.0 if c == k else 0.0


@internal
def solve_level(table, settings, answer, s, perm, ws, level, first, done, total, free):
    """Solve the rows T u = d of one level in what those before it leave; write what became of it.

    ``first`` is its first row, ``done`` how many turned unknowns are used up. Returns both for the next level.
    """
    nu, big, vectors = table[ll.NU], ws.big, ws.vectors
    diagonal, beta, beta2, norms, y, step = (
        vectors + 3 * big, vectors + 4 * big, vectors + 5 * big, vectors + 6 * big, vectors + 8 * big,
        vectors + 9 * big,
    )  # fmt: skip
    _, _, count = _level(table, level, free)
    left = nu - done
    size = demanded = 0.0
    for i in range(count):
        norm = 0.0
        for c in range(nu):
            norm += s[ws.table + (first + i) * nu + c] ** 2
        size = max(size, norm)
        demanded += s[ws.right + first + i] ** 2
        for c in range(left):
            s[ws.panel + i * left + c] = s[ws.table + (first + i) * nu + done + c]
    rank, rest = fa.solve(
        s, ws.panel, count, left, left, settings[ll.LEVEL_CUT], np.sqrt(size), perm, diagonal, beta, beta2, norms,
        ws.right + first, y, step,
    )  # fmt: skip
    out = nu + 1 + ll.PER_LEVEL * level
    answer[out], answer[out + 1], answer[out + 2] = rank, rest, np.sqrt(demanded)
    first += count
    if rank <= 0:
        return first, done
    for k in range(nu):
        turned = ws.turned + k * nu + done
        for c in range(left):
            answer[k] += s[turned + c] * s[step + c]
        fa.apply_q_transposed(s, ws.panel, left, rank, beta, turned)
    for i in range(first, total):
        rows = ws.table + i * nu + done
        if _is_zero(s, rows, left):
            continue
        for c in range(left):
            s[ws.right + i] -= s[rows + c] * s[step + c]
        fa.apply_q_transposed(s, ws.panel, left, rank, beta, rows)
    return first, done + rank
