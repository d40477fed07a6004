"""Newton's method for large contact problems: steps with a line search, whole steps, and an interior-point method.

A step is halved until ‖F‖² is below its largest value in the last steps. If no halving is enough, the solution may lie
across a kink of F, where a few contacts stick, slide or open differently: whole steps lead there from nearby, otherwise
steps from the answer of the interior-point method, or from where sweeps of projections lead.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import add, axpy, copy, copy_scaled, fill, is_finite
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.inconsistent_drift import make_parts_agree
from sarrus.kernels.contact.interior_point import solve_interior
from sarrus.kernels.contact.rows_in_parts import write_rows
from sarrus.kernels.contact.sparse_problem import (
    is_over,
    sparse_direction,
    sparse_speeds,
    sparse_sweep,
    sum_terms,
)
from sarrus.kernels.contact.tolerances import (
    FAST_DECREASE,
    FURTHER_STRETCHES,
    FURTHER_TRIES,
    LARGE_FORCE,
    LAST_RIDGES,
    NEAR_SWEPT,
    NEWTON_DECREASE,
    PATIENT_STEPS,
    REUSED_FACTOR,
    RIDGE_GROWTH,
    ROUGH_BY_SWEEPS,
    SPARSE_LEAST_STEP,
    SPARSE_MOST_RIDGE,
    SPARSE_NEAR,
    SPARSE_RIDGE,
    SPARSE_STAGNATION,
    SPARSE_STEPS,
    SPARSE_WHOLE_STEPS,
)
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import exists, internal

# Sweeps before the first start, and at a time before further ones.
FIRST_SWEEPS = 10
# Sweeps at a time, and their largest number, where a rough answer is asked for.
SWEEPS, MOST_SWEEPS = 5, 60
# Steps near the solution that hardly reduce the residual, before whole steps or other starts are tried.
MOST_SLOW_STEPS = 1


@internal
def solve_by_parts(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    tries: int,
    enough: float,
    good: float,
    target: float,
):
    """Write the contact forces with the smallest residual to work.best; return their residual.

    Newton's method starts at the forces of the table; where its residual is above ``good``, it starts anew as
    `FURTHER_TRIES` says, in up to ``tries`` units of forces: those of `FURTHER_STRETCHES`, then the same again from
    zero forces. Each iteration ends at the residual ``target``, or at ``enough`` if it stagnates.
    """
    first, units = work.facts.stretch, 1
    left = _solve_in_units(table, work, m, blocks, 1.0 if tries > 0 else 0.0, enough, good, target)
    for again in range(2):
        for stretch in FURTHER_STRETCHES:
            if units >= tries or left <= good or not left < np.inf or is_over(table):
                break
            if again > 0:
                fill(work.best, 0.0, m)
            _change_units(table, work, m, blocks, stretch)
            left = _solve_in_units(table, work, m, blocks, first / stretch, enough, good, target)
            units += 1
    return left


@internal
def judge_best(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write the velocities of the forces work.best to work.speeds, and return the residual of both.

    Velocities count relatively to what the velocities of their block are sums of, forces relatively to the largest one,
    in units in which rows have size one: forces far above b that press against each other hide no velocity elsewhere.
    """
    sparse_speeds(table, work, work.best, work.speeds, m, blocks)
    largest, worst, at, terms = 1.0, 0.0, 0, work.ahead_speeds
    weight = work.facts.stretch * work.facts.stretch
    for i in range(m):
        largest = max(largest, weight * abs(work.best[i]))
    if not largest < np.inf or not is_finite(work.speeds, m):
        return np.inf
    sum_terms(table, work, work.best, terms, blocks)
    copy_scaled(weight / largest, work.best, work.ahead, m)
    for k in range(blocks):
        n, cone, rate = table.sizes[k], k < table.contacts, 1.0
        for i in range(at, at + n):
            rate = max(rate, terms[i])
        number = work.numbers[k] if cone else work.numbers[k] * weight / largest
        copy_scaled(1.0 / rate, work.speeds + at, terms + at, n)
        fr.beside(cone, number, work.ahead + at, terms + at, n, work.small)
        fr.project(cone, number, work.small, n, work.ahead_gap)
        for i in range(n):
            worst = max(worst, abs(work.ahead[at + i] - work.ahead_gap[i]))
        at += n
    return worst


@internal
def _change_units(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, stretch: float):
    """Change the units to those of rows longer by the factor ``stretch`` than rows of size one; start at work.best.

    Newton's method and sweeps depend on the unit of forces, solutions do not. Large forces are left for zero: they may
    have pressed against each other beyond any solution.
    """
    ratio, largest = stretch / work.facts.stretch, 0.0
    square = 1.0 / (ratio * ratio)
    work.facts.stretch, work.facts.fast = stretch, work.facts.fast * ratio
    for i in range(m):
        work.factors[i] *= ratio
        work.best[i] *= square
        largest = max(largest, abs(work.best[i]) * stretch * stretch)
    for k in range(table.contacts, blocks):
        work.numbers[k] *= square
    if largest > LARGE_FORCE:
        fill(work.best, 0.0, m)
    copy(work.best, work.forces, m)


@internal
def _solve_in_units(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    start: float,
    enough: float,
    good: float,
    target: float,
):
    """Write the forces with the smallest residual of all starts in the present units to work.best; return it."""
    write_rows(table, work, blocks)
    left = _solve_from_starts(table, work, m, blocks, start, enough, good, target)
    if not exists(table.ask):
        return left
    judged = judge_best(table, work, m, blocks)
    for ridge in LAST_RIDGES:
        if judged <= good or not left < SPARSE_NEAR:
            break
        copy(work.best, work.forces, m)
        left = min(left, cross(table, work, m, blocks, left, good, 0.0, ridge))
        judged = judge_best(table, work, m, blocks)
    return judged


@internal
def _solve_from_starts(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    start: float,
    enough: float,
    good: float,
    target: float,
):
    """Write the forces with the smallest residual of all starts to work.best; return it."""
    steps = SPARSE_STEPS if start == 0.0 or start == 1.0 else PATIENT_STEPS
    _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap)
    left = _note(work, m, np.inf, np.inf)
    if left <= max(target, enough if exists(table.ask) else 0.0):
        return left
    if enough >= ROUGH_BY_SWEEPS:
        left = _sweep(table, work, m, blocks, left, enough)
        if left <= enough:
            return left
    if left > NEAR_SWEPT or exists(table.ask):
        sparse_sweep(table, work, blocks, FIRST_SWEEPS)
    found = _descend(table, work, m, blocks, left, enough, target, steps)
    if found < left:
        left, work.facts.stage = found, cp.NEWTON
    if enough < left < np.inf and make_parts_agree(table, work, m, blocks):
        copy(work.best, work.forces, m)
        left = _descend(table, work, m, blocks, np.inf, enough, target, steps)
    if enough < left < SPARSE_NEAR:
        copy(work.best, work.forces, m)
        left = min(left, cross(table, work, m, blocks, left, enough, target, SPARSE_RIDGE))
    for aim, begin, sweeps in FURTHER_TRIES:
        if start == 0.0 or left <= good or not left < np.inf or is_over(table):
            break
        if sweeps > 0:
            copy(work.best, work.forces, m)
            for _ in range(sweeps // FIRST_SWEEPS):
                if not is_over(table):
                    sparse_sweep(table, work, blocks, FIRST_SWEEPS)
            work.facts.sweeps += sweeps
            found = _descend(table, work, m, blocks, left, enough, target, steps)
            stage = cp.SWEEPS
        else:
            found = solve_interior(
                table, work, m, blocks, left, max(aim, enough), start * abs(begin), begin > 0.0
            )
            stage = cp.INTERIOR
        if found < left:
            left, work.facts.stage = found, stage
        if left > enough:
            left = min(left, cross(table, work, m, blocks, left, enough, target, SPARSE_RIDGE))
    return left


@internal
def _sweep(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, left: float, enough: float):
    """Sweep from work.forces until the residual is at most ``enough``; return the smallest residual."""
    for _ in range(MOST_SWEEPS // SWEEPS):
        sparse_sweep(table, work, blocks, SWEEPS)
        work.facts.sweeps += SWEEPS
        _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap)
        found = _note(work, m, np.inf, left)
        if found < left:
            left, work.facts.stage = found, cp.SWEEPS
        if left <= enough or is_over(table):
            break
    return left


@internal
def _mismatch(
    table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, r: Floats, u: Floats, F: Floats
):
    """Write u = W r + b to ``u`` and the residual vector to ``F``; return ‖F‖²."""
    sparse_speeds(table, work, r, u, m, blocks)
    return fr.mismatch(table, work, blocks, r, u, F)


@internal
def _note(work: ContactWorkspace, m: int, found: float, least: float):
    """Copy work.forces to work.best if their residual is below ``found`` and ``least``; return the residual."""
    left = fr.residual(work.gap, work.forces, m, work.facts.stretch)
    if left < min(found, least):
        copy(work.forces, work.best, m)
    return left


@internal
def _ends(left: float, found: float, enough: float, target: float):
    """Return True if the iteration ends: residual ``left`` not finite, at ``target``, or stagnating at ``enough``."""
    return not left < np.inf or left <= target or (found <= enough and left > SPARSE_STAGNATION * found)


@internal
def _descend(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    least: float,
    enough: float,
    target: float,
    steps: int,
):
    """Iterate Newton's method with a line search from work.forces; return the smallest residual.

    A step is halved until ‖F‖² is below its largest value in the last steps (Grippo, Lampariello and Lucidi, SIAM
    Journal on Numerical Analysis 23, 1986). The ridge is the residual, within bounds, and grows where a step does not
    help. Near the solution the matrix of the step before serves again as long as each step reduces the residual to
    `FAST_DECREASE`. Forces with a residual below ``least`` are written to work.best.
    """
    square, found = _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap), np.inf
    ridge, lowest, slow = 0.0, SPARSE_RIDGE, 0
    for k in range(cp.REMEMBERED):
        work.squares[k] = square
    for step in range(steps):
        left = _note(work, m, found, least)
        fresh = not (left <= FAST_DECREASE * found < np.inf and left < REUSED_FACTOR)
        if fresh:
            ridge = max(lowest, min(SPARSE_MOST_RIDGE, left))
        slow = slow + 1 if left > SPARSE_STAGNATION * found else 0
        if (
            _ends(left, found, enough, target)
            or (slow > MOST_SLOW_STEPS and found < SPARSE_NEAR and steps == SPARSE_STEPS)
            or is_over(table)
            or not sparse_direction(table, work, m, blocks, ridge, fresh)
        ):
            return min(left, found)
        found = min(left, found)
        part, good, ahead, largest = 1.0, False, square, 0.0
        for k in range(cp.REMEMBERED):
            largest = max(largest, work.squares[k])
        while part > SPARSE_LEAST_STEP and not good:
            copy(work.forces, work.ahead, m)
            axpy(part, work.way, work.ahead, m)
            ahead = _mismatch(table, work, m, blocks, work.ahead, work.ahead_speeds, work.ahead_gap)
            good = ahead < (1.0 - NEWTON_DECREASE * part) * largest
            part *= 0.5
        if not good:
            if ridge >= SPARSE_MOST_RIDGE:
                return found
            lowest = min(SPARSE_MOST_RIDGE, RIDGE_GROWTH * ridge) if fresh else lowest
            continue
        lowest = SPARSE_RIDGE
        work.squares[step % cp.REMEMBERED] = ahead
        copy(work.ahead, work.forces, m)
        copy(work.ahead_speeds, work.speeds, m)
        copy(work.ahead_gap, work.gap, m)
    return min(found, _note(work, m, found, least))


@internal
def cross(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    least: float,
    enough: float,
    target: float,
    ridge: float,
):
    """Iterate whole Newton steps from work.forces; return the smallest residual.

    Forces with a residual below ``least`` are written to work.best.
    """
    found = np.inf
    for _ in range(SPARSE_WHOLE_STEPS):
        _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap)
        left = _note(work, m, found, least)
        fresh = not (left <= FAST_DECREASE * found < np.inf and left < REUSED_FACTOR)
        if (
            _ends(left, found, enough, target)
            or is_over(table)
            or not sparse_direction(table, work, m, blocks, ridge, fresh)
        ):
            return min(left, found)
        found = min(left, found)
        add(work.way, work.forces, m)
    _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap)
    return min(found, _note(work, m, found, least))
