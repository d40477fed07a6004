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
from sarrus.kernels.flat import flat_at, flat_from, flat_pointer, internal
from sarrus.kernels.native_call import call_native


def command(table_pointer, x_pointer, what):
    """Write u at the state in x = [q | v | u | t | …] to the law's answer; return the rank of A, −1 where there is
    none."""
    table, x = flat_pointer(table_pointer), flat_pointer(x_pointer)
    return solve_law(table, x)


@internal
def solve_law(table, x):
    """Do the work of `command`."""
    own, s = flat_at(table[ll.INPUT]), flat_at(table[ll.WORK])
    settings, answer = flat_at(table[ll.SETTINGS]), flat_at(table[ll.ANSWER])
    ws, perm = ll.law_workspace(table), flat_from(table, ll.LEVELS + 3 * table[ll.N_LEVELS])
    nu, n = table[ll.NU], table[ll.NQ] + table[ll.NV]
    for i in range(n):
        own[i] = x[i]
    own[n + nu] = x[n + nu]
    call_native(table[ll.NATIVE], own, 0, s, 0)
    rank = _motion(table, settings, s, perm, ws)
    answer[nu] = rank
    if rank < 0:
        return rank
    _levels(table, s, ws, rank)
    _solve_levels(table, settings, answer, s, perm, ws)
    wrong = 0.0
    for k in range(nu):
        wrong += 0.0 * answer[k]
    return rank if wrong == 0.0 else -1


@internal
def _motion(table, settings, s, perm, ws):
    """Factor A and find the motion without controls, and that of each; return the rank, −1 where it fails.

    Left behind: Qᵀ M Q at mass; L of M₂₂ = LᵀL at inner; three vectors, −A⁺γ, z after ``rank`` entries, and
    Qᵀ(f + M A⁺γ); at actuation Yᵀ S_k and L⁻ᵀ Zᵀ S_k for each control; at gain the columns of G.
    """
    nv, nu, nc = table[ll.NV], table[ll.NU], table[ll.NC]
    big, first = ws.big, ws.vectors
    still, free_motion, force = first, first + big, first + 2 * big
    diagonal, beta, beta2, norms, rhs, y = (
        first + 3 * big, first + 4 * big, first + 5 * big, first + 6 * big, first + 7 * big, first + 8 * big,
    )  # fmt: skip
    for j in range(nc):
        s[rhs + j] = -s[ws.bias + j]
    used, _ = fa.solve(
        s, ws.rows, nc, nv, table[ll.RANK], settings[ll.SINGULAR_CUT], settings[ll.SCALE_OF_ROWS], perm,
        diagonal, beta, beta2, norms, rhs, y, still,
    )  # fmt: skip
    if used < 0:
        return -1
    for i in range(nv):
        value = s[ws.force + i]
        for j in range(nv):
            value -= s[ws.mass + i * nv + j] * s[still + j]
        s[force + i] = value
    fa.apply_q_transposed(s, ws.rows, nv, used, beta, force)
    for i in range(nv):
        fa.apply_q_transposed(s, ws.rows, nv, used, beta, ws.mass + i * nv)
    for j in range(nv):
        for i in range(nv):
            s[rhs + i] = s[ws.mass + i * nv + j]
        fa.apply_q_transposed(s, ws.rows, nv, used, beta, rhs)
        for i in range(nv):
            s[ws.mass + i * nv + j] = s[rhs + i]
    free = nv - used
    largest = 0.0
    for i in range(free):
        for j in range(free):
            s[ws.inner + i * free + j] = s[ws.mass + (used + i) * nv + used + j]
        largest = max(largest, s[ws.inner + i * free + i])
    if not fa.cholesky_ltl(s, ws.inner, free):
        return -1
    for i in range(free):
        if not s[ws.inner + i * free + i] ** 2 > 1e-14 * largest:
            return -1
        s[free_motion + used + i] = s[force + used + i]
    fa.solve_l_transposed(s, ws.inner, free, free_motion + used)
    fa.solve_l(s, ws.inner, free, free_motion + used)
    for k in range(nu):
        column, gain = ws.actuation + k * nv, ws.gain + k * nv
        fa.apply_q_transposed(s, ws.rows, nv, used, beta, column)
        for i in range(free):
            s[gain + i] = s[column + used + i]
        fa.solve_l_transposed(s, ws.inner, free, gain)
        # L⁻ᵀ Zᵀ S is what a demanded force is compared with; keep it in place of Zᵀ S.
        for i in range(free):
            s[column + used + i] = s[gain + i]
        fa.solve_l(s, ws.inner, free, gain)
    return used


@internal
def _levels(table, s, ws, rank):
    """Write the rows T and right-hand sides d of all levels."""
    nv, nu = table[ll.NV], table[ll.NU]
    roots, wish = flat_at(table[ll.ROOTS]), flat_at(table[ll.WISH])
    free, beta = nv - rank, ws.vectors + 4 * ws.big
    if table[ll.ON_MULTIPLIERS] == 1:
        _reactions(table, s, ws, rank)
    row = 0
    for level in range(table[ll.N_LEVELS]):
        kind, first, count = _level(table, level)
        if kind == ll.FORCE:
            turned = ws.vectors + 7 * ws.big
            for i in range(nv):
                s[turned + i] = s[ws.forces + first * nv + i] if first >= 0 else 0.0
            fa.apply_q_transposed(s, ws.rows, nv, rank, beta, turned)
            fa.solve_l_transposed(s, ws.inner, free, turned + rank)
            for i in range(nv):
                s[ws.right + row + i] = s[turned + rank + i] if i < free else 0.0
                for k in range(nu):
                    column = ws.actuation + k * nv + rank
                    s[ws.table + (row + i) * nu + k] = s[column + i] if i < free else 0.0
            count = nv
        else:
            for i in range(count):
                _row(table, s, ws, rank, first + i, row + i)
        for i in range(row, row + count):
            for k in range(nu):
                s[ws.right + i] -= s[ws.table + i * nu + k] * wish[k]
                s[ws.table + i * nu + k] *= roots[k]
        row += count


@internal
def _level(table, level):
    """Return kind, first row or force, and number of rows of a level."""
    at = ll.LEVELS + 3 * level
    return table[at], table[at + 1], table[at + 2]


@internal
def _row(table, s, ws, rank, demand, row):
    """Write one row J a + E λ = r as T u = d."""
    nv, nu, nc = table[ll.NV], table[ll.NU], table[ll.NC]
    still, free_motion, beta = ws.vectors, ws.vectors + ws.big, ws.vectors + 4 * ws.big
    jacobian = ws.demands + demand * nv
    value = s[ws.wanted + demand]
    for i in range(nv):
        value -= s[jacobian + i] * s[still + i]
    fa.apply_q_transposed(s, ws.rows, nv, rank, beta, jacobian)
    for i in range(rank, nv):
        value -= s[jacobian + i] * s[free_motion + i]
    for k in range(nu):
        gain, total = ws.gain + k * nv, 0.0
        for i in range(nv - rank):
            total += s[jacobian + rank + i] * s[gain + i]
        s[ws.table + row * nu + k] = total
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
    free_motion, force = first + big, first + 2 * big
    diagonal, beta2, inner, work = first + 3 * big, first + 5 * big, first + 7 * big, first + 9 * big
    perm = flat_from(table, ll.LEVELS + 3 * table[ll.N_LEVELS])
    for k in range(-1, nu):
        for i in range(rank):
            value = -s[force + i] if k < 0 else -s[ws.actuation + k * nv + i]
            for j in range(nv - rank):
                motion = s[free_motion + rank + j] if k < 0 else s[ws.gain + k * nv + j]
                value += s[ws.mass + i * nv + rank + j] * motion
            s[inner + i] = value
        target = ws.rest if k < 0 else ws.reaction + k * nc
        fa.multipliers(s, ws.rows, nc, nv, rank, perm, diagonal, beta2, inner, work, target)


@internal
def _solve_levels(table, settings, answer, s, perm, ws):
    """Solve T u = d level by level and write u and what became of each level."""
    nu, big, first = table[ll.NU], ws.big, ws.vectors
    roots, wish = flat_at(table[ll.ROOTS]), flat_at(table[ll.WISH])
    diagonal, beta, beta2, norms, y, step = (
        first + 3 * big, first + 4 * big, first + 5 * big, first + 6 * big, first + 8 * big, first + 9 * big,
    )  # fmt: skip
    for k in range(nu):
        answer[k] = 0.0
        for c in range(nu):
            s[ws.turned + k * nu + c] = 1.0 if c == k else 0.0
    total = 0
    for level in range(table[ll.N_LEVELS]):
        kind, _, count = _level(table, level)
        total += table[ll.NV] if kind == ll.FORCE else count
    row, done = 0, 0
    for level in range(table[ll.N_LEVELS]):
        kind, _, count = _level(table, level)
        if kind == ll.FORCE:
            count = table[ll.NV]
        left = nu - done
        size = demanded = 0.0
        for i in range(count):
            norm = 0.0
            for c in range(nu):
                norm += s[ws.table + (row + i) * nu + c] ** 2
            size = max(size, norm)
            demanded += s[ws.right + row + i] ** 2
            for c in range(left):
                s[ws.panel + i * left + c] = s[ws.table + (row + i) * nu + done + c]
        rank, rest = fa.solve(
            s, ws.panel, count, left, left, settings[ll.LEVEL_CUT], np.sqrt(size), perm, diagonal, beta, beta2, norms,
            ws.right + row, y, step,
        )  # fmt: skip
        out = nu + 1 + ll.PER_LEVEL * level
        answer[out], answer[out + 1], answer[out + 2] = rank, rest, np.sqrt(demanded)
        row += count
        if rank <= 0:
            continue
        for k in range(nu):
            turned = ws.turned + k * nu + done
            for c in range(left):
                answer[k] += s[turned + c] * s[step + c]
            fa.apply_q_transposed(s, ws.panel, left, rank, beta, turned)
        for i in range(row, total):
            rows = ws.table + i * nu + done
            for c in range(left):
                s[ws.right + i] -= s[rows + c] * s[step + c]
            fa.apply_q_transposed(s, ws.panel, left, rank, beta, rows)
        done += rank
    for k in range(nu):
        answer[k] = wish[k] + roots[k] * answer[k]
