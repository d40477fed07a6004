"""Hierarchy of tasks on a constrained motion, solved level by level for the controls: the kernel of every control
law.

At a state the acceleration and the constraint force are affine in the controls, for any rank of A. With Q = [Y, Z]
from the factorisation of A (Z an orthonormal basis of its null space) and M₂₂ = Zᵀ M Z,

    a(u) = −A⁺γ + Z (z + G u),    M₂₂ z = Zᵀ(f + M A⁺γ),    M₂₂ G = Zᵀ S,
    λ(u) = (Aᵀ)⁺ (M a(u) − f − S u).

So tasks J a + E λ = r are linear equations T u = d. A demanded generalized force g gives M₂₂^(−T/2) Zᵀ(S u − g) = 0,
whose residual is the distance between the accelerations in the kinetic metric (Gauss). Each level is solved in the
least-squares sense, for any rank, in the controls that higher levels leave free. Controls that no level determines
have minimum weighted norm.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.vectors import (
    add,
    add_transposed,
    axpy,
    copy,
    copy_scaled,
    dot,
    fill,
    is_finite,
    multiply,
    set_unit,
    times,
)
from sarrus.kernels.laws.damped_step import damp_step
from sarrus.kernels.laws.tolerances import CANCELLED_GAIN, PIVOT_TO_SINGULAR_VALUE
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal
from sarrus.kernels.solve.tolerances import LEAST_SQUARED_PIVOT


def hierarchy(table: LawTable, x: Floats, request: int) -> int:
    """Write u (nu,) at the state x = [q | v | u | t | …] to ``table.answer``; return the rank of A, −1 where there is
    no u."""
    rank, total = prepare(table, x)
    if rank < 0:
        return rank
    work = ll.law_workspace(table)
    solve_levels(table, work, rank, total, table.n_used)
    if not (is_finite(table.answer, table.nu) and is_finite(work.memory, table.n_states)):
        return -1
    if request == ll.SAMPLE:
        remember(table)
    return rank


@internal
def solve_levels(table: LawTable, work: LawWorkspace, rank: int, total: int, levels: int):
    """Solve the first levels without limits and inequalities, and write the unknowns in their units."""
    nu, answer, first, done = table.nu, table.answer, 0, begin_levels(table, work, total)
    for level in range(levels):
        count = rows_of_level(table, level, table.nv - rank)
        if table[ll.LEVELS + 3 * level] != ll.AT_MOST:
            done = solve_level(table, work, level, first, count, done, total)
        first += count
    for k in range(nu):
        answer[k] = table.preferred[k] + table.roots[k] * answer[k]


@internal
def prepare(table: LawTable, x: Floats):
    """Write the rows T and right-hand sides d of all levels at the state x; return the rank of A and the number of
    rows.

    The rank is −1 where A or M₂₂ cannot be factored.
    """
    own, work, nu, n = table.own, ll.law_workspace(table), table.actuators, table.nq + table.nv
    copy(x, own, n)
    own[n + nu] = x[n + nu]
    call_native(table.native, own, work.mass)
    return prepared(table, work)


@internal
def prepared(table: LawTable, work: LawWorkspace):
    """Write T and d of all levels from the output of the native function in ``work``, as `prepare` does."""
    rank = _motion(table, work)
    table.answer[table.nu] = rank
    return (rank, _levels(table, work, rank)) if rank >= 0 else (rank, 0)


@internal
def _matrix(table: LawTable, work: LawWorkspace, rows: Floats, m: int, n: int):
    """Return the m × n matrix at ``rows`` with the buffers of the law for its factorisation."""
    order = ll.law_permutation(table)
    return fa.Matrix(rows, m, n, order, work.diagonal, work.beta, work.beta2, work.norms)


@internal
def remember(table: LawTable):
    """Write the law's states for the next sample, ``memory`` of the workspace, to their places in ``table.own``."""
    following, first = ll.law_workspace(table).memory, ll.place_of_states(table)
    for k in range(table.n_states):
        table.own[table[first + k]] = following[k]


@internal
def _motion(table: LawTable, work: LawWorkspace):
    """Factor A, find the motion without controls and the motion by each control; return the rank of A, −1 on failure.

    Written: basis Zᵀ, product Zᵀ M, inner L with M₂₂ = LᵀL, motion a(0), load M a(0) − f, push L⁻ᵀ Zᵀ S and gains
    M₂₂⁻¹ Zᵀ S, the last two with a row for each degree of freedom.
    """
    nv, nu, nc = table.nv, table.nu, table.nc
    settings, motion, load, rhs = table.settings, work.motion, work.load, work.along
    pushes = ll.pushes_of(table, work)
    A = _matrix(table, work, work.rows, nc, nv)
    copy_scaled(-1.0, work.bias, rhs, nc)
    used, _ = fa.solve(
        A, table.generic_rank, settings.singular_cut, settings.scale_of_rows, rhs, work.y, motion
    )
    if used < 0:
        return -1
    free = nv - used
    for i in range(free):
        column = work.basis + i * nv
        set_unit(column, used + i, nv)
        if used > 0:
            fa.apply_q(A, used, column)
        for c in range(nv):
            work.spanned[c * free + i] = column[c]
        product, inner = work.product + i * nv, work.inner + i * free
        if used == 0:
            copy(work.mass + i * nv, product, nv)
            copy(product, inner, i + 1)
        else:
            fill(product, 0.0, nv)
            add_transposed(work.mass, nv, nv, column, product)  # M is symmetric
            fill(inner, 0.0, i + 1)
            for c in range(nv):
                axpy(product[c], work.spanned + c * free, inner, i + 1)
    largest = 0.0
    for i in range(free):
        largest = max(largest, work.inner[i * free + i])
    if not fa.cholesky_ltl(work.inner, free):
        return -1
    for i in range(free):
        if not work.inner[i * free + i] ** 2 > LEAST_SQUARED_PIVOT * largest:
            return -1
    times(work.mass, nv, nv, motion, load)
    axpy(-1.0, work.force, load, nv)
    for i in range(free):
        rhs[i] = -dot(work.basis + i * nv, load, nv)
    fa.solve_l_transposed(work.inner, free, rhs)
    fa.solve_l(work.inner, free, rhs)
    for i in range(free):
        for c in range(nv):
            motion[c] += rhs[i] * work.basis[i * nv + c]
            load[c] += rhs[i] * work.product[i * nv + c]
    for k in range(nu):
        idle = _is_zero(pushes + k * nv, nv)
        work.idle[k] = 1.0 if idle else 0.0
        if idle:
            fill(rhs, 0.0, free)
        else:
            _along(work, nv, free, pushes + k * nv, rhs)
        for i in range(free):
            work.push[i * nu + k] = rhs[i]
    fa.solve_l_transposed_rows(work.inner, free, work.push, nu)
    copy(work.push, work.gains, free * nu)
    fa.solve_l_rows(work.inner, free, work.gains, nu)
    return used


@internal
def _along(work: LawWorkspace, nv: int, free: int, x: Floats, out: Floats):
    """Write Zᵀ x (free,) to ``out``, with entries that are rounding set to zero; without constraints Z is the
    identity."""
    if free == nv:
        copy(x, out, nv)
        return
    size = 0.0
    fill(out, 0.0, free)
    for c in range(nv):
        if x[c] != 0.0:
            size = max(size, abs(x[c]))
            axpy(x[c], work.spanned + c * free, out, free)
    for i in range(free):
        if not abs(out[i]) > CANCELLED_GAIN * size:
            out[i] = 0.0


@internal
def _is_zero(x: Floats, n: int):
    """Tell whether all n entries of a row are zero, as in the row of a swing foot that is on the ground."""
    c = 0
    while c < n and x[c] == 0.0:
        c += 1
    return c == n


@internal
def _levels(table: LawTable, work: LawWorkspace, rank: int):
    """Write the rows T (total, nu) and right-hand sides d (total,) of all levels; return the number of rows."""
    nv, nu = table.nv, table.nu
    roots, preferred = table.roots, table.preferred
    free = nv - rank
    if table.on_multipliers == 1:
        _reactions(table, work, rank)
    row = 0
    for level in range(table.n_levels):
        kind, first, count = _level(table, level, free)
        if kind == ll.FORCE:
            for i in range(free):
                column, value = work.basis + i * nv, 0.0
                copy(work.push + i * nu, work.table + (row + i) * nu, nu)
                if first >= 0:
                    value = dot(column, work.forces + first * nv, nv)
                    if exists(table.phase):
                        value -= dot(column, table.phase, nv)
                else:  # the motors do nothing; contacts of the plant act
                    fill(work.table + ((row + i) * nu + table.own_unknowns), 0.0, nu - table.own_unknowns)
                work.right[row + i] = value
            fa.solve_l_transposed(work.inner, free, work.right + row)
        elif kind == ll.PHASE:
            if exists(table.phase):
                for i in range(count):
                    _phase_row(table, work, free, first + i, row + i)
        else:
            for i in range(count):
                _row(table, work, free, first + i, row + i)
        for i in range(row, row + count):
            weights = work.table + i * nu
            work.right[i] -= dot(weights, preferred, nu)
            for k in range(nu):
                weights[k] *= roots[k]
        row += count
    return row


@internal
def rows_of_level(table: LawTable, level: int, free: int):
    """Return the number of rows of a level; a level of a force has ``free`` rows."""
    _, _, count = _level(table, level, free)
    return count


@internal
def _level(table: LawTable, level: int, free: int):
    """Return kind, first row (or force) and number of rows of a level; a level of a force has ``free`` rows."""
    at = ll.LEVELS + 3 * level
    return table[at], table[at + 1], free if table[at] == ll.FORCE else table[at + 2]


@internal
def _row(table: LawTable, work: LawWorkspace, free: int, demand: int, row: int):
    """Write the task row J a + E λ = r as a row of T u = d.

    A task with bounds repeats J, up to its sign, in consecutive rows; their gains J Z G are computed once.
    """
    nv, nu, nc = table.nv, table.nu, table.nc
    jacobian, along = work.demands + demand * nv, work.along
    value = work.wanted[demand] - dot(jacobian, work.motion, nv)
    out = work.table + row * nu
    if _is_zero(jacobian, nv):
        fill(out, 0.0, nu)
    else:
        sign = _repeats(jacobian, nv) if demand > 0 else 0.0
        if sign == 0.0:
            _along(work, nv, free, jacobian, along)
            fill(work.gained, 0.0, nu)
            _gained(table, work, free, along, work.gained)
        elif sign < 0.0:
            multiply(work.gained, -1.0, nu)
        copy(work.gained, out, nu)
    if table.on_unknowns == 1:
        add(work.selections + demand * table.own_unknowns, work.table + row * nu, table.own_unknowns)
    if table.on_multipliers == 1:
        coupling = work.couplings + demand * nc
        for j in range(nc):
            weight = coupling[j]
            if weight != 0.0:
                value -= weight * work.rest[j]
                for k in range(nu):
                    work.table[row * nu + k] += weight * work.reaction[k * nc + j]
    work.right[row] = value


@internal
def _phase_row(table: LawTable, work: LawWorkspace, free: int, number: int, row: int):
    """Write a row J a = r of ``table.phase`` as a row of T u = d."""
    nv, nu = table.nv, table.nu
    jacobian, out = table.phase + (nv + number * (nv + 1)), work.table + row * nu
    _along(work, nv, free, jacobian, work.along)
    fill(out, 0.0, nu)
    _gained(table, work, free, work.along, out)
    work.right[row] = jacobian[nv] - dot(jacobian, work.motion, nv)


@internal
def _repeats(row: Floats, n: int):
    """Return 1 where a row (n,) equals the row before it, −1 where it is the negative of that row, 0 elsewhere."""
    same = opposite = 0
    for c in range(n):
        same += 1 if row[c] == row[c - n] else 0
        opposite += 1 if row[c] == -row[c - n] else 0
    if same == n:
        return 1.0
    return -1.0 if opposite == n else 0.0


@internal
def _gained(table: LawTable, work: LawWorkspace, free: int, along: Floats, out: Floats):
    """Add to ``out`` (nu,) the gain of each unknown on the acceleration along a row; a gain that is rounding becomes
    zero.

    ``along`` (free,) is the row in the basis of the null space of A.
    """
    nu, sizes = table.nu, work.sizes
    fill(sizes, 0.0, nu)
    for i in range(free):
        if along[i] != 0.0:
            gains, weight = work.gains + i * nu, along[i]
            for k in range(nu):
                term = weight * gains[k]
                out[k] += term
                sizes[k] += abs(term)
    for k in range(nu):
        if not abs(out[k]) > CANCELLED_GAIN * sizes[k]:
            out[k] = 0.0


@internal
def _reactions(table: LawTable, work: LawWorkspace, rank: int):
    """Write λ at u = 0 (nc,) to ``rest``, and the derivative of λ by each control (nu, nc) to ``reaction``."""
    nv, nu, nc = table.nv, table.nu, table.nc
    load, force, A = work.load, work.constraint, _matrix(table, work, work.rows, nc, nv)
    pushes = ll.pushes_of(table, work)
    for k in range(-1, nu):
        for c in range(nv):
            force[c] = load[c] if k < 0 else -pushes[k * nv + c]
            if k >= 0:
                for i in range(nv - rank):
                    force[c] += work.gains[i * nu + k] * work.product[i * nv + c]
        fa.apply_q_transposed(A, rank, force)
        target = work.rest if k < 0 else work.reaction + k * nc
        fa.multipliers(A, rank, force, work.step, target)


@internal
def begin_levels(table: LawTable, work: LawWorkspace, total: int):
    """Set all unknowns to zero and initialise their rotation; return the number of rotated unknowns used up.

    The rotation begins as a permutation: contact forces that move nothing come first and are used up. They stay zero,
    and no level uses them.
    """
    nu, idle = table.nu, 0
    fill(table.answer, 0.0, nu)
    for k in range(table.actuators, nu):
        idle += 1 if work.idle[k] == 1.0 else 0
    first, at = 0, idle
    for k in range(nu):
        if work.idle[k] == 1.0 and k >= table.actuators:
            set_unit(work.turned + k * nu, first, nu)
            first += 1
        else:
            set_unit(work.turned + k * nu, at, nu)
            at += 1
    if idle > 0:
        for i in range(total):
            row, at = work.table + i * nu, idle
            if _is_zero(row, nu):
                continue
            copy(row, work.step, nu)
            fill(row, 0.0, idle)
            for k in range(nu):
                if work.idle[k] == 0.0 or k < table.actuators:
                    row[at] = work.step[k]
                    at += 1
    return idle


@internal
def solve_level(
    table: LawTable, work: LawWorkspace, level: int, first: int, count: int, done: int, total: int
):
    """Solve the rows T u = d of a level in the unknowns that higher levels leave free; return the number of unknowns
    used up.

    ``first`` is the first of its ``count`` rows, ``done`` the number of rotated unknowns used up before. Rank, norm
    of the residual and norm of d are written to the level's entries of ``table.answer``.
    """
    nu, answer, step, settings = table.nu, table.answer, work.step, table.settings
    left, wanted = nu - done, work.along
    size = demanded = missed = 0.0
    kept = 0
    for i in range(first, first + count):
        row = work.table + i * nu
        size = max(size, dot(row, row, nu))
        demanded += work.right[i] ** 2
        if _is_zero(row + done, left):
            missed += work.right[i] ** 2
            continue
        copy(row + done, work.panel + kept * left, left)
        wanted[kept] = work.right[i]
        kept += 1
    size = np.sqrt(size)
    T = _matrix(table, work, work.panel, kept, left)
    rank, rest = fa.solve(T, left, settings.level_cut, size, wanted, work.y, step)
    rest = np.sqrt(rest**2 + missed)
    if (
        rank > 0
        and settings.damping > 0.0
        and abs(T.diagonal[rank - 1]) < settings.damping * size * PIVOT_TO_SINGULAR_VALUE
    ):
        rest = damp_step(table, work, first, count, done, settings.damping * size)
    out = nu + 1 + ll.PER_LEVEL * level
    told = rank + done if level == 0 else rank  # level 0 counts forces without effect
    answer[out], answer[out + 1], answer[out + 2] = told, rest, np.sqrt(demanded)
    if rank <= 0:
        return done
    for k in range(nu):
        if work.idle[k] == 1.0 and k >= table.actuators:
            continue
        turned = work.turned + k * nu + done
        for c in range(left):
            answer[k] += turned[c] * step[c]
        fa.apply_q_transposed(T, rank, turned)
    for i in range(first + count, total):
        rows = work.table + i * nu + done
        if _is_zero(rows, left):
            continue
        for c in range(left):
            work.right[i] -= rows[c] * step[c]
        fa.apply_q_transposed(T, rank, rows)
    return done + rank
