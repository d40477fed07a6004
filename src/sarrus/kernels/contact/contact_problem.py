"""Contact forces r with Coulomb friction: r = P_K(r − u − μ ‖u_t‖ n), u = W r + b, by a semismooth Newton method.

The laws and their sources: `sarrus.dynamics.optimize.contact_problem`. Newton's method (Alart and Curnier, Computer
Methods in Applied Mechanics and Engineering 92, 1991) starts at the forces of the table. Each step is halved until
the squared residual ‖F‖² decreases. If no halving decreases it (a kink of F), some whole steps are taken without a
decrease. If the residual is still too large, sweeps of projections, contact by contact (Jourdan, Alart and Jean,
Computer Methods in Applied Mechanics and Engineering 155, 1998), give Newton's method a new start.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import add, axpy, copy, copy_scaled, dot, fill, is_finite, swap
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.closing_gaps import close_rows
from sarrus.kernels.contact.inconsistent_drift import remove_inconsistent_drift
from sarrus.kernels.contact.least_forces import find_free, find_modes, make_least
from sarrus.kernels.contact.rows_in_parts import diagonal_of_table, invert_inertia, write_rows
from sarrus.kernels.contact.sparse_newton import cross, judge_best, solve_by_parts
from sarrus.kernels.contact.sparse_problem import sparse_speeds
from sarrus.kernels.contact.tolerances import (
    DEPENDENT_CONTACT_PIVOT,
    FEW_ROWS,
    FURTHER_STRETCHES,
    LEAST_RIDGE,
    MOST_RIDGE,
    MOST_SHARING_RIDGE,
    NEWTON_CROSSINGS,
    NEWTON_DECREASE,
    NEWTON_HALVINGS,
    NEWTON_STEPS,
    RESIDUAL_ACCEPTED,
    RESIDUAL_AIM,
    RESIDUAL_ASKED,
    RESIDUAL_AT_ROUNDING,
    RESIDUAL_OF_MANY,
    RESIDUAL_OF_SHARED_FORCES,
    RIDGE_END,
    RIDGE_GROWTH,
    RIDGE_OF_SHARED,
    RIDGE_START,
    SHARING_RIDGE,
    SMALL_RESIDUAL_FACTOR,
    SPARSE_RIDGE,
    SPARSE_STRETCH,
    UNBOUNDED_FORCE,
    VANISHING_VELOCITY,
)
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.tolerances import CONTACT_RESIDUAL, ROUGH_RESIDUAL
from sarrus.kernels.platform.pointers import exists, internal

# Sweeps of projections before the first restart of Newton's method; twice as many before each further restart.
SWEEPS = 20


def contact_problem(table: ContactProblem, x: Floats, level: int) -> int:
    """Write the contact forces to ``table.forces`` and the facts to the workspace; return `SOLVED` or `UNSOLVED`.

    ``level`` ≥ 0 is the largest number of restarts by sweeps; for rows in parts the largest number of units of forces,
    and 0 leaves the interior-point method out. `ROUGH` added to ``level`` ends the iterations at `ROUGH_RESIDUAL`.
    `CLOSE` is the linear problem of `close_rows`, its rows chosen by ``turn``. With an ``ask`` see `_answer`. ``x`` is
    not used.
    """
    m, blocks = table.rows, table.blocks
    sparse = table.sparse != 0
    work = cp.contact_workspace(table.work, m, blocks, 0 if sparse else m * m)
    facts = work.facts
    if level == cp.CLOSE:
        _scale(table, work, table.delassus, m, blocks, SPARSE_STRETCH)
        found = close_rows(table, work, m, blocks)
        _write(table, work, m)
        return cp.SOLVED if found else cp.UNSOLVED
    fill(facts, 0.0, cp.N_FACTS)
    if m == 0:
        return cp.SOLVED
    if exists(table.ask):
        facts.residual = _answer(table, work, m, blocks, level)
        return cp.SOLVED if facts.residual <= CONTACT_RESIDUAL else cp.UNSOLVED
    rough = level >= cp.ROUGH
    if rough:
        level -= cp.ROUGH
    enough, target = (ROUGH_RESIDUAL, ROUGH_RESIDUAL) if rough else (RESIDUAL_AT_ROUNDING, RESIDUAL_AIM)
    _scale(table, work, table.delassus, m, blocks, SPARSE_STRETCH if sparse else 1.0)
    if sparse:
        good = enough if rough else CONTACT_RESIDUAL
        target = max(target, RESIDUAL_OF_SHARED_FORCES)
        left = solve_by_parts(table, work, m, blocks, level, enough, good, target)
    else:
        left = _solve_whole(table, work, m, blocks, level, enough, target)
        large = fr.length(work.best, m) >= UNBOUNDED_FORCE
        if not rough and (large or not left <= CONTACT_RESIDUAL):
            # the given forces may press against each other far too much
            fill(table.forces, 0.0, m)
            _scale(table, work, table.delassus, m, blocks, 1.0)
            left = _solve_whole(table, work, m, blocks, level, enough, target)
            for stretch in FURTHER_STRETCHES:  # other units of forces
                if not left <= CONTACT_RESIDUAL:
                    _scale(table, work, table.delassus, m, blocks, stretch)
                    left = _solve_whole(table, work, m, blocks, level, enough, target)
    facts.residual = left
    largest = _write(table, work, m)
    lenient = exists(table.parts) and (m > cp.MANY or table.lenient != 0)
    at_all = RESIDUAL_OF_MANY if lenient else CONTACT_RESIDUAL
    return cp.SOLVED if left <= at_all and largest < UNBOUNDED_FORCE else cp.UNSOLVED


@internal
def _write(table: ContactProblem, work: ContactWorkspace, m: int):
    """Write the forces work.best in the units of the problem to ``table.forces``; return the largest scaled one."""
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(work.best[i]))
        table.forces[i] = work.best[i] * work.factors[i] * work.facts.fast
    return largest


@internal
def _answer(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, level: int):
    """Write forces as asked, modes of all blocks and which forces are unique; return the residual.

    A problem of few rows with a dense W is solved with it, and by parts if this fails. ``table.sparse`` is 1 without a
    dense W.
    """
    enough, left = max(RESIDUAL_ASKED, table.ask.enough), np.inf
    target, dense = max(RESIDUAL_OF_SHARED_FORCES, table.ask.enough), exists(table.dense)
    if not invert_inertia(table.parts):
        work.facts.indefinite = 1.0
        return np.inf
    diagonal_of_table(table, m)
    table.sparse = 0 if dense else 1
    _scale(table, work, table.dense if dense else table.delassus, m, blocks, 1.0 if dense else SPARSE_STRETCH)
    table.sparse = 1
    if dense and m <= FEW_ROWS:
        left = _solve_whole(
            table, work, m, blocks, level, RESIDUAL_AT_ROUNDING, max(RESIDUAL_AIM, table.ask.enough)
        )
        work.facts.stage = cp.NEWTON
        copy(work.best, work.forces, m)
        write_rows(table, work, blocks)
        left = judge_best(table, work, m, blocks)
    if left > enough:
        left = solve_by_parts(table, work, m, blocks, level, enough, enough, target)
    if not left < np.inf:
        table.sparse = 0 if dense else 1
        return left
    find_modes(table, work, m, blocks)
    if (
        left <= max(enough, RESIDUAL_ACCEPTED)
        and find_free(table, work, m, blocks) > 0
        and table.ask.least != 0.0
    ):
        copy(work.best, work.kept, m)
        if make_least(table, work, m, blocks):
            cross(table, work, m, blocks, np.inf, enough, 0.0, SPARSE_RIDGE)
            shared = judge_best(table, work, m, blocks)
            if shared <= max(10.0 * left, max(enough, RESIDUAL_AT_ROUNDING)):
                left = shared
            else:
                copy(work.kept, work.best, m)
    table.sparse = 0 if dense else 1
    work.facts.largest = _write(table, work, m)
    _write_velocities(table, work, m, blocks)
    return left


@internal
def _write_velocities(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write the velocities due to work.best, and their change in all components, to the table."""
    sparse_speeds(table, work, work.best, work.speeds, m, blocks)
    copy_scaled(work.facts.fast, cp.parts_work(table.parts).speed, table.change, table.parts.velocities)
    for i in range(m):
        table.speeds[i] = work.speeds[i] * work.facts.fast / work.factors[i]


@internal
def _solve_whole(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    level: int,
    enough: float,
    target: float,
):
    """Write the contact forces of a problem with dense W to work.best; return their relative residual."""
    left = _newton(table, work, m, blocks, np.inf, LEAST_RIDGE, MOST_RIDGE, target)
    if enough < left < np.inf and remove_inconsistent_drift(table, work, m):
        copy(work.best, work.forces, m)
        left = _newton(table, work, m, blocks, np.inf, LEAST_RIDGE, MOST_RIDGE, target)
    giving, sweeps = MOST_SHARING_RIDGE, SWEEPS
    for _ in range(level):
        if left <= enough or not left < np.inf:
            break
        _sweep(table, work, m, blocks, sweeps)
        work.facts.sweeps += sweeps
        sweeps *= 2
        left = min(left, _newton(table, work, m, blocks, left, LEAST_RIDGE, MOST_RIDGE, target))
        if left > RESIDUAL_AT_ROUNDING:
            left = _share(table, work, m, blocks, left, giving)
            giving *= 0.1
    if left <= RESIDUAL_AT_ROUNDING and work.facts.redundant != 0.0:
        left = _share(table, work, m, blocks, left, SHARING_RIDGE)
    return left


@internal
def _share(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, left: float, giving: float):
    """Distribute forces over redundant rows as equal springs of compliance ``giving`` would; return the residual.

    The forces in work.best remain if the distributed forces have a residual above ``left`` and above
    `RESIDUAL_OF_SHARED_FORCES`.
    """
    copy(work.best, work.kept, m)
    copy(work.best, work.forces, m)
    for i in range(m):
        work.delassus[i * (m + 1)] += giving
    shared = _newton(table, work, m, blocks, np.inf, LEAST_RIDGE, MOST_RIDGE, RESIDUAL_AIM)
    for i in range(m):
        work.delassus[i * (m + 1)] -= giving
    if shared < np.inf:
        copy(work.best, work.forces, m)
        shared = _newton(table, work, m, blocks, np.inf, RIDGE_OF_SHARED, RIDGE_OF_SHARED, RESIDUAL_AIM)
        if RESIDUAL_AIM < shared < np.inf:
            copy(work.best, work.forces, m)
            shared = min(
                shared, _newton(table, work, m, blocks, shared, LEAST_RIDGE, MOST_RIDGE, RESIDUAL_AIM)
            )
        if shared <= max(left, RESIDUAL_OF_SHARED_FORCES):
            return shared
    copy(work.kept, work.best, m)
    return left


@internal
def _scale(
    table: ContactProblem, work: ContactWorkspace, delassus: Floats, m: int, blocks: int, stretch: float
):
    """Write the scaled problem to ``work``, with b about one, and the size of b to the facts.

    ``delassus`` is W, or its diagonal for rows in parts. Each block of rows has one factor, so that cones are kept.
    The square root of the trace of W is about ``stretch`` for each block.
    """
    size, at, sparse = 0.0, 0, table.sparse != 0
    work.facts.stretch = stretch
    for k in range(blocks):
        n, square = table.sizes[k], 0.0
        for i in range(at, at + n):
            square += delassus[i if sparse else i * (m + 1)]
        unit = power_of_two(np.sqrt(square)) / stretch
        for i in range(at, at + n):
            work.factors[i] = 1.0 / unit
            size = max(size, abs(table.velocities[i]) / unit)
        work.numbers[k] = table.numbers[k] if k < table.contacts else table.numbers[k] * unit
        at += n
    size = power_of_two(size)
    work.facts.fast = size
    for k in range(table.contacts, blocks):
        work.numbers[k] /= size
    for i in range(m):
        factor = work.factors[i]
        work.velocities[i] = table.velocities[i] * factor / size
        work.turn[i] = table.turn[i] * factor / size if exists(table.turn) else 0.0
        work.forces[i] = table.forces[i] / (factor * size)
        for j in range(0 if sparse else m):
            work.delassus[i * m + j] = delassus[i * m + j] * factor * work.factors[j]


@internal
def power_of_two(size: float):
    """Return the largest power of two up to ``size``, 1.0 if ``size`` vanishes: division by it costs no digit."""
    power = 1.0
    if not VANISHING_VELOCITY < size < np.inf:
        return power
    while power > size:
        power *= 0.5
    while 2.0 * power <= size:
        power *= 2.0
    return power


@internal
def _evaluate(
    table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, r: Floats, u: Floats, F: Floats
):
    """Write u = W r + b to ``u`` and the residual vector to ``F``; return ‖F‖²."""
    for i in range(m):
        u[i] = work.velocities[i] + dot(work.delassus + i * m, r, m)
    return fr.mismatch(table, work, blocks, r, u, F)


@internal
def _newton(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    least: float,
    lowest: float,
    most: float,
    target: float,
):
    """Iterate Newton's method from work.forces; return the smallest residual, np.inf if none is finite.

    Forces with a residual below ``least`` are written to work.best. The iteration ends at the residual ``target``.
    The ridge follows the residual between ``lowest`` and ``most``.
    """
    r, u, F = work.forces, work.speeds, work.gap
    square, found, crossings = _evaluate(table, work, m, blocks, r, u, F), np.inf, NEWTON_CROSSINGS
    ahead = square
    step, floor = 0, lowest
    while True:
        left = fr.residual(F, r, m, work.facts.stretch)
        if not left < np.inf:
            return found
        if left < found:
            found = left
            if left < least:
                least = left
                copy(r, work.best, m)
        if found <= target or step == NEWTON_STEPS:
            return found
        ridge = max(floor, min(most, left * min(1.0, SMALL_RESIDUAL_FACTOR * left)))
        leads = _direction(table, work, m, blocks, ridge)
        part, good = 1.0, False
        for _ in range(NEWTON_HALVINGS if leads else 0):
            copy(r, work.ahead, m)
            axpy(part, work.way, work.ahead, m)
            ahead = _evaluate(table, work, m, blocks, work.ahead, work.ahead_speeds, work.ahead_gap)
            if ahead < (1.0 - NEWTON_DECREASE * part) * square:
                good = True
                break
            part *= 0.5
        if not good:
            step += 1
            if floor < RIDGE_END:
                floor = RIDGE_GROWTH * max(floor, RIDGE_START)
                continue
            if not leads or crossings == 0 or found <= RESIDUAL_AT_ROUNDING:
                return found
            crossings -= 1
            copy(r, work.ahead, m)
            add(work.way, work.ahead, m)
            ahead = _evaluate(table, work, m, blocks, work.ahead, work.ahead_speeds, work.ahead_gap)
        square = ahead
        copy(work.ahead, r, m)
        copy(work.ahead_speeds, u, m)
        copy(work.ahead_gap, F, m)
        step += 1
        work.facts.steps += 1.0
        floor = lowest


@internal
def _direction(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, ridge: float):
    """Write the Newton step −F′⁻¹ F to work.way, F′ = 1 − S + S B (W + ridge); return False if F′ is singular.

    S is the derivative of the projection, B the derivative of u + μ ‖u_t‖ n by u, both block by block. The forces of
    contacts that open become zero, so the equations are solved for the rows of the remaining blocks only.
    """
    r, u, F, way, active = work.forces, work.speeds, work.gap, work.way, work.active
    S, T, y = work.small, work.small + cp.WIDEST * cp.WIDEST, work.small + 2 * cp.WIDEST * cp.WIDEST
    count, at = 0, 0
    for k in range(blocks):
        n, cone, number = table.sizes[k], k < table.contacts, work.numbers[k]
        fr.beside(cone, number, r + at, u + at, n, y)
        opened = fr.slope(cone, number, y, n, S)
        fr.shifted_slope(cone, number, u + at, n, S, T)
        for i in range(n):
            row = at + i
            way[row] = -F[row]
            if opened:
                continue
            out = work.matrix + count * m
            fill(out, 0.0, m)
            for j in range(n):
                weight = T[i * n + j]
                if weight != 0.0:
                    axpy(weight, work.delassus + (at + j) * m, out, m)
                    out[at + j] += ridge * weight
                out[at + j] -= S[i * n + j]
            out[row] += 1.0
            active[count] = row
            count += 1
        at += n
    return _eliminate(work, m, count)


@internal
def _eliminate(work: ContactWorkspace, m: int, count: int):
    """Solve ``count`` rows of work.matrix for the active entries of work.way; return False if they are singular.

    The inactive entries of work.way are known and go to the right-hand side.
    """
    matrix, way, active, rhs = work.matrix, work.way, work.active, work.shifted
    fill(rhs, 0.0, m)
    for k in range(count):
        rhs[int(active[k])] = 1.0
    for k in range(count):
        row = matrix + k * m
        total = way[int(active[k])]
        for j in range(m):
            if rhs[j] == 0.0:
                total -= row[j] * way[j]
        for j in range(count):  # columns move to the left, in place: they ascend
            row[j] = row[int(active[j])]
        work.ahead[k] = total
    copy(work.ahead, rhs, count)
    largest = 0.0
    for k in range(count):
        pivot, size = k, abs(matrix[k * m + k])
        for i in range(k + 1, count):
            if abs(matrix[i * m + k]) > size:
                pivot, size = i, abs(matrix[i * m + k])
        if not size > 0.0:
            return False
        largest = max(largest, size)
        if size < DEPENDENT_CONTACT_PIVOT * largest:
            work.facts.redundant = 1.0
        if pivot != k:
            swap(matrix + k * m, matrix + pivot * m, count)
            rhs[k], rhs[pivot] = rhs[pivot], rhs[k]
        head = matrix + k * m
        inverse = 1.0 / head[k]
        for i in range(k + 1, count):
            weight = matrix[i * m + k] * inverse
            if weight != 0.0:
                axpy(-weight, head + (k + 1), matrix + (i * m + k + 1), count - k - 1)
                rhs[i] -= weight * rhs[k]
    for k in range(count - 1, -1, -1):
        row = matrix + k * m
        rhs[k] = (rhs[k] - dot(row + (k + 1), rhs + (k + 1), count - k - 1)) / row[k]
    for k in range(count):
        way[int(active[k])] = rhs[k]
    return is_finite(way, m)


@internal
def _sweep(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, count: int):
    """Write the forces after ``count`` sweeps of projections, block by block, to work.forces; start at work.best."""
    r, u = work.forces, work.speeds
    copy(work.best, r, m)
    for i in range(m):
        u[i] = work.velocities[i] + dot(work.delassus + i * m, r, m)
    small = work.small
    for _ in range(count):
        at = 0
        for k in range(blocks):
            n, cone = table.sizes[k], k < table.contacts
            fr.beside(cone, work.numbers[k], r + at, u + at, n, small)
            fr.project(cone, work.numbers[k], small, n, small + n)
            for i in range(n):
                change = small[n + i] - r[at + i]
                if change != 0.0:
                    r[at + i] += change
                    for j in range(m):
                        u[j] += change * work.delassus[j * m + at + i]
            at += n
