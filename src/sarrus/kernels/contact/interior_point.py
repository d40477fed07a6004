"""Interior-point method for the laws of contact, in one phase: the shift μ ‖u_t‖ is part of the equations.

In the units x = (μ r_n, r_t), y = (u_n / μ, u_t) the laws of a contact are

    x ∈ L,   z = y + ‖y_t‖ e₀ ∈ L,   xᵀz = 0,       L = {‖x_t‖ ≤ x₀},  e₀ = (1, 0, …),

and those of dry friction x = (limit, r), z = (‖u‖, u). With the scaling Q x = z (Nesterov and Todd, Self-scaled
barriers, 1997) and the derivative n of ‖y_t‖ a step of the predictor-corrector method (Mehrotra, SIAM Journal on
Optimization 2, 1992) is

    Q δx + (1 + e₀ nᵀ) δy = c − (y + ‖y_t‖ e₀ − z),        δy = W δx in these units.

With D = Q⁻¹ (1 + e₀ nᵀ) its equations are those of a Newton step (`sarrus.kernels.contact.sparse_problem`):
(1 + K Gᵀ D G) w = K Gᵀ Q⁻¹ (c − …). Redundant rows need no care. The method leads to a residual of about 1e-4, from
any problem, in 5 to 20 steps; Newton's method goes on from there.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.block_elimination import clear, factorize, solve_factored
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite
from sarrus.kernels.cones.cones import centre_cone, longest_in_cone, scale_cone, turn
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.sparse_problem import couple_block, is_over, pull_block, push_block, sparse_speeds
from sarrus.kernels.contact.tolerances import (
    INTERIOR_FRACTION,
    INTERIOR_LEAST_LIMIT,
    INTERIOR_SHORT_STEP,
    INTERIOR_SMOOTHING,
    INTERIOR_STEPS,
)
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import (
    ContactProblem,
    ContactWorkspace,
    InteriorWork,
    PartsWork,
)
from sarrus.kernels.platform.pointers import force_inline, internal

# Steps without the derivative of the shift after a short step.
STEPS_WITHOUT_SHIFT = 3


@internal
def solve_interior(
    table: ContactProblem,
    work: ContactWorkspace,
    m: int,
    blocks: int,
    least: float,
    target: float,
    start: float,
    shifted: bool,
):
    """Iterate from forces and velocities of size ``start`` to the residual ``target``; return the smallest residual.

    Unless ``shifted``, the shift is zero: a convex problem, with the same solution where no contact slides.

    Forces with a residual below ``least`` are written to work.best, those of the best iterate to work.forces.
    """
    parts = table.parts
    room, own = cp.parts_work(parts), cp.interior_work(parts, m, blocks)
    _begin(table, work, own, blocks, start)
    found, turns = np.inf, 0
    for _ in range(INTERIOR_STEPS):
        degree = _take_forces(table, work, own, blocks)
        sparse_speeds(table, work, work.forces, work.speeds, m, blocks)
        fr.mismatch(table, work, blocks, work.forces, work.speeds, work.gap)
        left = fr.residual(work.gap, work.forces, m, work.facts.stretch)
        if left < found:
            found = left
            copy(work.forces, work.kept, m)
            if left < least:
                copy(work.forces, work.best, m)
        if not left < np.inf or left <= target or degree == 0 or is_over(table):
            break
        centre = dot(own.x, own.z, m + blocks) / degree
        clear(parts, room)
        if not _linearize(table, work, room, own, blocks, centre, turns == 0, shifted):
            break
        turns = max(0, turns - 1)
        if not factorize(parts, room):
            break
        work.facts.steps += 1.0
        size = m + blocks
        for i in range(size):
            own.target[i] = -own.z[i]
        _direction(table, work, room, own, blocks)
        part = min(1.0, 1.0 / max(_longest(table, work, own, blocks), 1.0))
        ahead = 0.0
        for i in range(size):
            ahead += (own.lam[i] + part * own.scaled_dx[i]) * (own.lam[i] + part * own.scaled_dz[i])
        ratio = max(0.0, min(1.0, ahead / degree / centre))
        _correct(table, work, own, blocks, ratio * ratio * ratio * centre)
        _direction(table, work, room, own, blocks)
        part = min(1.0, INTERIOR_FRACTION / max(_longest(table, work, own, blocks), INTERIOR_FRACTION))
        if not (is_finite(own.dx, size) and is_finite(own.dz, size)):
            break
        axpy(part, own.dx, own.x, size)
        axpy(part, own.dz, own.z, size)
        if part < INTERIOR_SHORT_STEP:
            turns = STEPS_WITHOUT_SHIFT
    if found < np.inf:
        copy(work.kept, work.forces, m)
    return found


@force_inline
def _cone_size(cone: bool, number: float, n: int):
    """Return the size of the cone of a block: one without friction, zero for dry friction that has no limit."""
    if cone:
        return n if number > 0.0 else 1
    return n + 1 if number > INTERIOR_LEAST_LIMIT else 0


@internal
def _begin(table: ContactProblem, work: ContactWorkspace, own: InteriorWork, blocks: int, start: float):
    """Write x and z = ``start`` × e for all blocks, in units in which W is about one; (limit, 0) for dry friction."""
    at, unit = 0, start / (work.facts.stretch * work.facts.stretch)
    for k in range(blocks):
        n, cone, place = table.sizes[k], k < table.contacts, at + k
        for vector in (own.x, own.z, own.lam, own.dx, own.dz, own.scaled_dx, own.scaled_dz, own.missed):
            fill(vector + place, 0.0, n + 1)
        if _cone_size(cone, work.numbers[k], n) > 0:
            own.x[place], own.z[place] = unit if cone else work.numbers[k], start
        at += n


@internal
def _take_forces(table: ContactProblem, work: ContactWorkspace, own: InteriorWork, blocks: int):
    """Write the forces of x to work.forces; return the number of cones."""
    at, degree = 0, 0
    for k in range(blocks):
        n, cone, number, place = table.sizes[k], k < table.contacts, work.numbers[k], at + k
        r, size = work.forces + at, _cone_size(cone, number, n)
        fill(r, 0.0, n)
        degree += 1 if size > 0 else 0
        if cone:
            copy(own.x + place, r, size)
            if size > 1:
                r[0] /= number
        elif size > 0:
            copy(own.x + (place + 1), r, n)
        at += n
    return degree


@internal
def _linearize(
    table: ContactProblem,
    work: ContactWorkspace,
    room: PartsWork,
    own: InteriorWork,
    blocks: int,
    centre: float,
    shifts: bool,
    shifted: bool,
):
    """Write scaling, missed velocities and D of all blocks, and add them to the matrix; False outside of the cones."""
    at = 0
    for k in range(blocks):
        n, cone, number, place = table.sizes[k], k < table.contacts, work.numbers[k], at + k
        size, u, D, slip = (
            _cone_size(cone, number, n),
            work.speeds + at,
            room.slopes + at * cp.WIDEST,
            own.slip + at,
        )
        w, z, missed = own.w + place, own.z + place, own.missed + place
        fill(D, 0.0, n * n)
        fill(slip, 0.0, n)
        at += n
        if size == 0:
            continue
        eta = scale_cone(own.x + place, z, w, own.lam + place, size)
        if not eta > 0.0:
            return False
        own.eta[k] = eta
        square = eta * eta
        if not cone:
            total = dot(w + 1, w + 1, n)
            for i in range(n):
                missed[i + 1] = u[i] - z[i + 1]
                for j in range(n):
                    D[i * n + j] = -2.0 * square * w[i + 1] * w[j + 1] / (1.0 + 2.0 * total)
                D[i * (n + 1)] += square
            couple_block(table.parts, room, k, n, D)
            continue
        weight, tail = (number, fr.length(u + 1, n - 1)) if size > 1 else (1.0, 0.0)
        if not shifted:
            tail = 0.0
        missed[0] = u[0] / weight + tail - z[0]
        smooth = INTERIOR_SMOOTHING * centre
        rate = 1.0 / np.sqrt(tail * tail + smooth * smooth) if shifts and tail > 0.0 else 0.0
        for j in range(1, size):
            missed[j] = u[j] - z[j]
            slip[j] = u[j] * rate
        for i in range(size):
            for j in range(size):
                entry = 2.0 * square * w[i] * (w[j] + w[0] * slip[j])
                if i == 0:
                    entry -= square * ((1.0 if j == 0 else 0.0) + slip[j])
                elif i == j:
                    entry += square
                D[i * n + j] = entry / ((weight if i == 0 else 1.0) * (weight if j == 0 else 1.0))
        couple_block(table.parts, room, k, n, D)
    return True


@internal
def _direction(
    table: ContactProblem, work: ContactWorkspace, room: PartsWork, own: InteriorWork, blocks: int
):
    """Write the step to dx and dz, and scaled, for the right-hand side ``own.target``, from the factored matrix."""
    parts, at, way = table.parts, 0, work.way
    fill(room.speed, 0.0, parts.velocities)
    for k in range(blocks):
        n, cone, number, place = table.sizes[k], k < table.contacts, work.numbers[k], at + k
        size, w, rest = _cone_size(cone, number, n), own.w + place, own.dx + place
        fill(way + at, 0.0, n)
        if size > 0:
            square = own.eta[k] * own.eta[k]
            for i in range(size):
                rest[i] = own.target[place + i] - own.missed[place + i]
            if cone:
                inner = 2.0 * dot(w, rest, size)
                for i in range(size):
                    way[at + i] = square * (inner * w[i] + (rest[i] if i > 0 else -rest[i]))
                if size > 1:
                    way[at] /= number
            else:
                inner = 2.0 * dot(w + 1, rest + 1, n) / (1.0 + 2.0 * dot(w + 1, w + 1, n))
                for i in range(n):
                    way[at + i] = square * (rest[i + 1] - inner * w[i + 1])
            push_block(parts, room, k, n, way + at)
        at += n
    solve_factored(parts, room, room.speed)
    at = 0
    for k in range(blocks):
        n, cone, number, place = table.sizes[k], k < table.contacts, work.numbers[k], at + k
        size, w, g, D = _cone_size(cone, number, n), own.w + place, room.small, room.slopes + at * cp.WIDEST
        dx, dz = own.dx + place, own.dz + place
        if size > 0:
            fill(g, 0.0, n)
            pull_block(parts, room, k, n, g)
            for i in range(n):
                way[at + i] -= dot(D + i * n, g, n)
            if cone:
                weight = number if size > 1 else 1.0
                copy(way + at, dx, size)
                dx[0] *= weight
                dz[0] = own.missed[place] + g[0] / weight + dot(own.slip + at, g, size)
                for i in range(1, size):
                    dz[i] = own.missed[place + i] + g[i]
            else:
                dx[0] = 0.0
                copy(way + at, dx + 1, n)
                dz[0] = own.target[place] + 2.0 * w[0] * dot(w + 1, dx + 1, n) / (own.eta[k] * own.eta[k])
                for i in range(n):
                    dz[i + 1] = own.missed[place + i + 1] + g[i]
            turn(w, 1.0 / own.eta[k], size, -1.0, dx, own.scaled_dx + place)
            turn(w, own.eta[k], size, 1.0, dz, own.scaled_dz + place)
        at += n


@internal
def _longest(table: ContactProblem, work: ContactWorkspace, own: InteriorWork, blocks: int):
    """Return 1 / t for the largest t with λ + t times both scaled directions in the cones."""
    most, at = 0.0, 0
    for k in range(blocks):
        n, place = table.sizes[k], at + k
        size = _cone_size(k < table.contacts, work.numbers[k], n)
        if size > 0:
            most = max(most, longest_in_cone(own.lam + place, own.scaled_dx + place, size))
            most = max(most, longest_in_cone(own.lam + place, own.scaled_dz + place, size))
        at += n
    return most


@internal
def _correct(table: ContactProblem, work: ContactWorkspace, own: InteriorWork, blocks: int, centre: float):
    """Write the right-hand side of the corrector, for the scaled directions of the predictor, to ``own.target``."""
    at = 0
    for k in range(blocks):
        n, place = table.sizes[k], at + k
        size = _cone_size(k < table.contacts, work.numbers[k], n)
        if size > 0:
            out = own.dx + place
            centre_cone(own.lam + place, own.scaled_dx + place, own.scaled_dz + place, centre, out, size)
            turn(own.w + place, -1.0 / own.eta[k], size, -1.0, out, own.target + place)
        at += n
