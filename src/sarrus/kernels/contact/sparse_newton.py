"""Newton's method for large contact problems: steps with a line search, whole steps across kinks, and sweeps in turn.

A step is halved until ‖F‖² decreases. If no halving decreases it, the solution may lie across a kink of F, where a
few contacts stick, slide or open differently: sweeps lead there. Or redundant rows are slightly inconsistent: then
shared forces must change by much until one contact slides or opens, which whole steps with small ridges achieve.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import add, axpy, copy
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.inconsistent_drift import make_parts_agree
from sarrus.kernels.contact.sparse_problem import lay_rows, sparse_direction, sparse_speeds, sparse_sweep
from sarrus.kernels.contact.tolerances import (
    NEWTON_CROSSINGS,
    NEWTON_DECREASE,
    SMALL_RESIDUAL_FACTOR,
    SPARSE_LEAST_STEP,
    SPARSE_NEAR,
    SPARSE_RIDGE,
    SPARSE_RIDGES,
    SPARSE_STAGNATION,
    SPARSE_STEPS,
    SPARSE_STRETCH,
    SPARSE_WHOLE_STEPS,
)
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal

# Sweeps before the first start and before the first restart; twice as many before each further restart.
FIRST_SWEEPS, SWEEPS = 3, 10


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

    ``tries`` is the largest number of restarts; there is none once the residual is at most ``good``. Each iteration
    ends at the residual ``target``, or at ``enough`` if it stagnates.
    """
    lay_rows(table, work, m, blocks)
    _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap)
    left, sweeps = _note(work, m, np.inf, np.inf), SWEEPS
    if left <= target:
        return left
    sparse_sweep(table, work, blocks, FIRST_SWEEPS)
    copy(work.forces, work.kept, m)
    left = min(left, _descend(table, work, m, blocks, left, 0, enough, target))
    if enough < left < np.inf and make_parts_agree(table, work, m, blocks):
        copy(work.best, work.forces, m)
        left = _descend(table, work, m, blocks, np.inf, 0, enough, target)
    for _ in range(tries):
        if left < SPARSE_NEAR:
            for ridge in SPARSE_RIDGES:
                if left > enough:
                    copy(work.best, work.forces, m)
                    left = min(left, _cross(table, work, m, blocks, left, ridge, enough, target))
        if left <= good or not left < np.inf:
            break
        copy(work.kept, work.forces, m)
        sparse_sweep(table, work, blocks, sweeps)
        copy(work.forces, work.kept, m)
        work.facts.sweeps += sweeps
        sweeps *= 2
        left = min(left, _descend(table, work, m, blocks, left, NEWTON_CROSSINGS, enough, target))
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
    left = fr.residual(work.gap, work.forces, m, SPARSE_STRETCH)
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
    crossings: int,
    enough: float,
    target: float,
):
    """Iterate Newton's method with a line search from work.forces; return the smallest residual.

    Forces with a residual below ``least`` are written to work.best. ``crossings`` is the largest number of whole
    steps taken where the line search fails; if it is not zero, the ridge follows the residual, so that steps far from
    the solution are short.
    """
    square, found = _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap), np.inf
    softens = crossings > 0
    for _ in range(SPARSE_STEPS):
        left = _note(work, m, found, least)
        ridge = max(SPARSE_RIDGE, left * min(1.0, SMALL_RESIDUAL_FACTOR * left)) if softens else SPARSE_RIDGE
        if _ends(left, found, enough, target) or not sparse_direction(table, work, m, blocks, ridge):
            return min(left, found)
        found = min(left, found)
        work.facts.steps += 1.0
        part, good, ahead = 1.0, False, square
        while part > SPARSE_LEAST_STEP and not good:
            copy(work.forces, work.ahead, m)
            axpy(part, work.way, work.ahead, m)
            ahead = _mismatch(table, work, m, blocks, work.ahead, work.ahead_speeds, work.ahead_gap)
            good = ahead < (1.0 - NEWTON_DECREASE * part) * square
            part *= 0.5
        if not good:
            if crossings == 0 or found < SPARSE_NEAR:
                return found
            crossings -= 1
            copy(work.forces, work.ahead, m)
            add(work.way, work.ahead, m)
            ahead = _mismatch(table, work, m, blocks, work.ahead, work.ahead_speeds, work.ahead_gap)
        square = ahead
        copy(work.ahead, work.forces, m)
        copy(work.ahead_speeds, work.speeds, m)
        copy(work.ahead_gap, work.gap, m)
    return min(found, _note(work, m, found, least))


@internal
def _cross(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    least: float,
    ridge: float,
    enough: float,
    target: float,
):
    """Iterate whole Newton steps from work.forces; return the smallest residual.

    Forces with a residual below ``least`` are written to work.best.
    """
    found = np.inf
    for _ in range(SPARSE_WHOLE_STEPS):
        _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap)
        left = _note(work, m, found, least)
        if _ends(left, found, enough, target) or not sparse_direction(table, work, m, blocks, ridge):
            return min(left, found)
        found = min(left, found)
        work.facts.steps += 1.0
        add(work.way, work.forces, m)
    _mismatch(table, work, m, blocks, work.forces, work.speeds, work.gap)
    return min(found, _note(work, m, found, least))
