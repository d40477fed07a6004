"""Least forces of redundant rows, for the velocities and modes of an answer, and which forces are unique.

The forces r may change by what is in the null space of Gᵀ: within the cone of a block that sticks, along the ray
(1, −μ d) of a contact that slides. Least forces are r = P(−G v), with P the projection on these cones and rays; v
minimises the convex function

    θ(v) = ½ ‖y‖² − ½ ‖y − P(y)‖² + r₀ᵀ G v,    y = −G v,        θ′ = Gᵀ (r₀ − P(y)),

whose steps (1 + K Gᵀ P′ G / ρ) δv = K Gᵀ (P − r₀) / ρ have the matrix of a Newton step of a contact problem. A force
is not unique if a vector without order, projected on the null space of Gᵀ in the free directions, has an entry there.

Where W is given in place of rows, rounding of W r over the ridge moves the least forces by 1e-7 along its null space.
"""

from __future__ import annotations

from sarrus.kernels.algebra.block_elimination import clear, eliminate, factorize, solve_factored
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, dot, fill, is_finite
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.sparse_problem import couple_block, pull_all, push_all, subtract_response
from sarrus.kernels.contact.tolerances import (
    CHAOTIC_START,
    LEAST_FORCES_ACCEPTED,
    LEAST_FORCES_FOUND,
    LEAST_FORCES_RIDGE,
    LEAST_FORCES_STEPS,
    NEWTON_DECREASE,
    NOT_UNIQUE_FORCE,
    NULL_RIDGE,
    UNLOADED,
)
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace, PartsWork
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal

# Projections on the null space one after the other, of chaotic vectors.
ROUNDS, VECTORS = 3, 2
# Shortest step of the line search: 2⁻²⁰.
HALVINGS = 20


@internal
def find_modes(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write the mode of every block at the forces work.best and velocities work.speeds to ``table.modes``."""
    force = speed = 1.0
    for i in range(m):
        force, speed = max(force, abs(work.best[i])), max(speed, abs(work.speeds[i]))
    force, speed = UNLOADED * force, UNLOADED * speed
    at = 0
    for k in range(blocks):
        n, cone = table.sizes[k], k < table.contacts
        u, first = work.speeds + at, 1 if cone else 0
        if cone and u[0] > speed and work.best[at] <= force:
            table.modes[k] = cp.OPEN
        elif fr.length(u + first, n - first) > speed:
            table.modes[k] = cp.SLIDING
        else:
            table.modes[k] = cp.STICKING
        at += n


@internal
def find_free(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write 1 for every force that is not unique to ``table.free``, 0 for the others; return how many are not."""
    parts, seed, free = table.parts, CHAOTIC_START, 0
    room = cp.parts_work(parts)
    fill(table.free, 0.0, m)
    clear(parts, room)
    at = 0
    for k in range(blocks):
        n, D = table.sizes[k], room.slopes + at * cp.WIDEST
        _free_directions(table, work, k, at, n, D)
        couple_block(parts, room, k, n, D)
        at += n
    if not factorize(parts, room):
        return 0
    for _ in range(VECTORS):
        left = work.way
        for i in range(m):
            seed = 4.0 * seed * (1.0 - seed)
            left[i] = 2.0 * seed - 1.0
        at = 0
        for k in range(blocks):
            n, D = table.sizes[k], room.slopes + at * cp.WIDEST
            for i in range(n):
                work.ahead[at + i] = NULL_RIDGE * dot(D + i * n, left + at, n)
            copy(work.ahead + at, left + at, n)
            at += n
        for _ in range(ROUNDS):
            copy_scaled(1.0 / NULL_RIDGE, left, work.ahead, m)
            push_all(table, work.ahead, blocks)
            solve_factored(parts, room, room.speed)
            subtract_response(table, room, blocks, NULL_RIDGE, left)
        for i in range(m):
            if abs(left[i]) > NOT_UNIQUE_FORCE:
                free += 1 if table.free[i] == 0.0 else 0
                table.free[i] = 1.0
    return free


@internal
def _free_directions(table: ContactProblem, work: ContactWorkspace, k: int, at: int, n: int, D: Floats):
    """Write the projection on the directions in which the forces of block k may change, over `NULL_RIDGE`, to ``D``."""
    cone, number, mode = k < table.contacts, work.numbers[k], table.modes[k]
    fill(D, 0.0, n * n)
    if mode == cp.STICKING:
        for i in range(n):
            if number > 0.0 or (cone and i == 0):
                D[i * (n + 1)] = 1.0 / NULL_RIDGE
    elif mode == cp.SLIDING and cone:
        ray, weight = work.small, _find_ray(work, number, at, n) / NULL_RIDGE
        for i in range(n):
            for j in range(n):
                D[i * n + j] = weight * ray[i] * ray[j]


@internal
def _find_ray(work: ContactWorkspace, number: float, at: int, n: int):
    """Write the ray (1, −μ d) of a contact that slides along d to work.small; return the inverse of its square."""
    u, tail, ray = work.speeds + at, fr.length(work.speeds + (at + 1), n - 1), work.small
    ray[0] = 1.0
    for i in range(1, n):
        ray[i] = -number * u[i] / tail
    return 1.0 / (1.0 + number * number)


@internal
def make_least(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write the least forces with the velocities and modes of work.best to work.forces; False if none were found."""
    parts, room = table.parts, cp.parts_work(table.parts)
    v, trial = room.least, room.least + parts.velocities
    _start(table, work, room, m, blocks)
    value, left = _value(table, work, room, blocks, v)
    for _ in range(LEAST_FORCES_STEPS):
        if left <= LEAST_FORCES_FOUND:
            break
        copy(room.pull, room.speed, parts.velocities)
        clear(parts, room)
        at = 0
        for k in range(blocks):
            n, D = table.sizes[k], room.slopes + at * cp.WIDEST
            couple_block(parts, room, k, n, D)
            at += n
        if not eliminate(parts, room, room.speed) or not is_finite(room.speed, parts.velocities):
            return False
        slope = _along(table, work, room, blocks)
        copy(room.speed, room.way, parts.velocities)
        part, found = 1.0, False
        for _ in range(HALVINGS):
            copy(v, trial, parts.velocities)
            axpy(part, room.way, trial, parts.velocities)
            ahead, next_left = _value(table, work, room, blocks, trial)
            if ahead <= value + NEWTON_DECREASE * part * slope or next_left < 0.5 * left:
                found = True
                break
            part *= 0.5
        if not found:
            break
        value, left = ahead, next_left
        copy(trial, v, parts.velocities)
    value, left = _value(table, work, room, blocks, v)
    return left <= LEAST_FORCES_ACCEPTED


@internal
def _start(table: ContactProblem, work: ContactWorkspace, room: PartsWork, m: int, blocks: int):
    """Write the v of least forces without limits to the begin of ``room.least``."""
    parts, at = table.parts, 0
    clear(parts, room)
    for k in range(blocks):
        n, D = table.sizes[k], room.slopes + at * cp.WIDEST
        _free_directions(table, work, k, at, n, D)
        for i in range(n * n):
            D[i] *= NULL_RIDGE / LEAST_FORCES_RIDGE
        couple_block(parts, room, k, n, D)
        for i in range(n):
            work.ahead[at + i] = -dot(D + i * n, work.best + at, n)
        at += n
    push_all(table, work.ahead, blocks)
    if not eliminate(parts, room, room.speed) or not is_finite(room.speed, parts.velocities):
        fill(room.speed, 0.0, parts.velocities)
    copy(room.speed, room.least, parts.velocities)


@internal
def _value(table: ContactProblem, work: ContactWorkspace, room: PartsWork, blocks: int, v: Floats):
    """Write P(−G v) to work.forces, P′ over the ridge to D and K Gᵀ (P − r₀) over the ridge to ``room.pull``.

    Return θ(v) and the largest velocity G K Gᵀ (P − r₀), relative to the largest force.
    """
    parts, at, total, largest = table.parts, 0, 0.0, 1.0
    copy(v, room.speed, parts.velocities)
    fill(work.ahead_gap, 0.0, table.rows)
    pull_all(table, work.ahead_gap, blocks)
    for k in range(blocks):
        n, D, r, base = table.sizes[k], room.slopes + at * cp.WIDEST, work.forces + at, work.best + at
        y = work.ahead_gap + at
        total += dot(base, y, n)
        for i in range(n):
            y[i] = -y[i]
        _project(table, work, k, at, n, y, r, D)
        for i in range(n):
            total += 0.5 * (y[i] * y[i] - (y[i] - r[i]) * (y[i] - r[i]))
            work.ahead[at + i] = (r[i] - base[i]) / LEAST_FORCES_RIDGE
            largest = max(largest, abs(r[i]))
            for j in range(n):
                D[i * n + j] /= LEAST_FORCES_RIDGE
        at += n
    push_all(table, work.ahead, blocks)
    copy(room.speed, room.pull, parts.velocities)
    fill(work.ahead_speeds, 0.0, table.rows)
    pull_all(table, work.ahead_speeds, blocks)
    left = 0.0
    for i in range(table.rows):
        left = max(left, abs(work.ahead_speeds[i]) * LEAST_FORCES_RIDGE)
    return total, left / largest


@internal
def _project(
    table: ContactProblem, work: ContactWorkspace, k: int, at: int, n: int, y: Floats, r: Floats, D: Floats
):
    """Write the projection P(y) of block k on the forces of its mode to ``r``, and P′ to ``D``."""
    cone, number, mode = k < table.contacts, work.numbers[k], table.modes[k]
    if mode == cp.STICKING:
        fr.project(cone, number, y, n, r)
        fr.slope(cone, number, y, n, D)
        return
    fill(D, 0.0, n * n)
    if not cone:
        copy(work.best + at, r, n)
        return
    fill(r, 0.0, n)
    if mode == cp.OPEN:
        return
    ray, weight = work.small, _find_ray(work, number, at, n)
    height = weight * dot(ray, y, n)
    if height <= 0.0:
        return
    for i in range(n):
        r[i] = height * ray[i]
        for j in range(n):
            D[i * n + j] = weight * ray[i] * ray[j]


@internal
def _along(table: ContactProblem, work: ContactWorkspace, room: PartsWork, blocks: int):
    """Return the derivative of θ along ``room.speed``, from P − r₀ over the ridge in work.ahead."""
    fill(work.ahead_speeds, 0.0, table.rows)
    pull_all(table, work.ahead_speeds, blocks)
    return -LEAST_FORCES_RIDGE * dot(work.ahead, work.ahead_speeds, table.rows)
