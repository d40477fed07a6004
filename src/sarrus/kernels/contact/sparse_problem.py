"""Large contact problems with rows stored in parts: velocities by forces, Newton steps, sweeps.

W = G K Gᵀ, with the rows G and the compliance K, one block for each component (`sarrus.kernels.contact.rows_in_parts`).
A step

    (1 − S + T (W + ρ)) δ = −F        becomes        (1 + K Gᵀ D G) w = −K Gᵀ E F,        δ = −E F − D G w,

E = (1 − S + ρ T)⁻¹ and D = E T have one block for each block of rows. The unknowns w are as many as velocities,
coupled where a contact joins two components (`sarrus.kernels.algebra.block_elimination`). Notation:
`sarrus.kernels.contact.contact_problem`.
"""

from __future__ import annotations

from sarrus.kernels.algebra.block_elimination import (
    FREE,
    block_at,
    clear,
    factorize,
    invert,
    solve_factored,
    width_of,
)
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.rows_in_parts import own_delassus
from sarrus.kernels.contact.tolerances import LEAST_COMPLIANCE
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace, Parts, PartsWork
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel
from sarrus.kernels.platform.pointers import force_inline, internal

# Number of rows of a contact with sliding friction: one normal, two tangential.
USUAL = 3


@internal
def is_over(table: ContactProblem):
    """Return whether the iterations shall end, with the best forces so far."""
    return table.interrupt != 0 and call_kernel(table.interrupt, table, table.forces, 0) != 0


@force_inline
def _push(forces: Floats, columns: Floats, n: int, out: Floats, width: int):
    """Add the velocities of one component due to n forces of a block to ``out`` (width)."""
    for i in range(n):
        axpy(forces[i], columns + i * width, out, width)


@force_inline
def _pull(own: Floats, n: int, v: Floats, out: Floats, width: int):
    """Add the velocities along n rows of a block due to the velocities v of one component to ``out`` (n)."""
    for i in range(n):
        out[i] += dot(own + i * width, v, width)


@internal
def push_block(parts: Parts, room: PartsWork, k: int, n: int, forces: Floats):
    """Add the velocities K Gᵀ r due to the n forces r of block k to ``room.speed``."""
    for link in range(int(room.first[k]), int(room.first[k + 1])):
        c = int(room.joined[link])
        first, width = parts.starts[c], width_of(parts, c)
        columns = room.compliance_column + int(room.column_place[link])
        if width == FREE:
            _push(forces, columns, n, room.speed + first, FREE)
        else:
            _push(forces, columns, n, room.speed + first, width)


@internal
def pull_block(parts: Parts, room: PartsWork, k: int, n: int, out: Floats):
    """Add the velocities G v along the n rows of block k, v = ``room.speed``, to ``out``."""
    for link in range(int(room.first[k]), int(room.first[k + 1])):
        if room.row_place[link] < 0.0:
            continue
        c = int(room.joined[link])
        first, width, own = parts.starts[c], width_of(parts, c), room.own + int(room.row_place[link])
        if width == FREE:
            _pull(own, n, room.speed + first, out, FREE)
        else:
            _pull(own, n, room.speed + first, out, width)


@internal
def push_all(table: ContactProblem, forces: Floats, blocks: int):
    """Write the velocities K Gᵀ r due to the forces r of all blocks to ``room.speed``."""
    room, at = cp.parts_work(table.parts), 0
    fill(room.speed, 0.0, table.parts.velocities)
    for k in range(blocks):
        push_block(table.parts, room, k, table.sizes[k], forces + at)
        at += table.sizes[k]


@internal
def pull_all(table: ContactProblem, out: Floats, blocks: int):
    """Add the velocities G v along all rows, v = ``room.speed``, to ``out``."""
    room, at = cp.parts_work(table.parts), 0
    for k in range(blocks):
        pull_block(table.parts, room, k, table.sizes[k], out + at)
        at += table.sizes[k]


@internal
def sparse_speeds(table: ContactProblem, work: ContactWorkspace, r: Floats, u: Floats, m: int, blocks: int):
    """Write u = W r + b (m) to ``u``."""
    push_all(table, r, blocks)
    copy(work.velocities, u, m)
    pull_all(table, u, blocks)


@internal
def sum_terms(table: ContactProblem, work: ContactWorkspace, r: Floats, out: Floats, blocks: int):
    """Write |b| + |G| |K Gᵀ| |r| (m) to ``out``: the sums of the absolute terms of u = W r + b."""
    parts, at = table.parts, 0
    room = cp.parts_work(parts)
    fill(room.speed, 0.0, parts.velocities)
    for k in range(blocks):
        n = table.sizes[k]
        for link in range(int(room.first[k]), int(room.first[k + 1])):
            c = int(room.joined[link])
            width, columns = width_of(parts, c), room.compliance_column + int(room.column_place[link])
            for i in range(n * width):
                room.speed[parts.starts[c] + i % width] += abs(columns[i] * r[at + i // width])
        at += n
    at = 0
    for k in range(blocks):
        n = table.sizes[k]
        for i in range(at, at + n):
            out[i] = abs(work.velocities[i])
        for link in range(int(room.first[k]), int(room.first[k + 1])):
            if room.row_place[link] < 0.0:
                continue
            c = int(room.joined[link])
            width, own = width_of(parts, c), room.own + int(room.row_place[link])
            for i in range(n * width):
                out[at + i // width] += abs(own[i]) * room.speed[parts.starts[c] + i % width]
        at += n


@internal
def sparse_direction(
    table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, ridge: float, fresh: bool
):
    """Write the Newton step δ (m) to work.way; return False if the system is singular.

    Unless ``fresh``, the derivatives are those of the last step, whose matrix is factorized, with the same ``ridge``.
    """
    parts, way, at = table.parts, work.way, 0
    room = cp.parts_work(parts)
    if fresh:
        clear(parts, room)
        copy(work.forces, work.solved_forces, m)
        copy(work.speeds, work.solved_speeds, m)
    fill(room.speed, 0.0, parts.velocities)
    for k in range(blocks):
        n, cone, D = table.sizes[k], k < table.contacts, room.slopes + at * cp.WIDEST
        r, u, F = work.solved_forces + at, work.solved_speeds + at, work.gap + at
        opened = fr.soft_step(cone, work.numbers[k], r, u, F, n, ridge, way + at, D)
        for i in range(at, at + n):
            way[i] = -way[i]
        push_block(parts, room, k, n, way + at)
        if fresh and not opened:
            couple_block(parts, room, k, n, D)
        at += n
    if fresh:
        work.facts.steps += 1.0
        if not factorize(parts, room):
            return False
    solve_factored(parts, room, room.speed)
    subtract_response(table, room, blocks, 1.0, way)
    return is_finite(way, m)


@internal
def subtract_response(table: ContactProblem, room: PartsWork, blocks: int, factor: float, out: Floats):
    """Subtract ``factor`` × D G w from ``out``, for the D of all blocks and the velocities w = ``room.speed``."""
    at = 0
    for k in range(blocks):
        n, D = table.sizes[k], room.slopes + at * cp.WIDEST
        fill(room.small, 0.0, n)
        pull_block(table.parts, room, k, n, room.small)
        for i in range(n):
            out[at + i] -= factor * dot(D + i * n, room.small, n)
        at += n


@internal
def couple_block(parts: Parts, room: PartsWork, k: int, n: int, D: Floats):
    """Add the term K Gᵀ D G of block k to the matrix of the elimination."""
    count, begin, end = int(room.count[0]), int(room.first[k]), int(room.first[k + 1])
    for link in range(begin, end):
        if room.row_place[link] < 0.0:
            continue
        c = int(room.joined[link])
        width, own = width_of(parts, c), room.own + int(room.row_place[link])
        usual = n == USUAL and width == FREE
        if usual:
            _weigh(D, own, USUAL, room.product, FREE)
        else:
            _weigh(D, own, n, room.product, width)
        for other in range(begin, end):
            d = int(room.joined[other])
            rows, columns = width_of(parts, d), room.compliance_column + int(room.column_place[other])
            block = block_at(room, count, int(room.turn[d]), int(room.turn[c]))
            if usual and rows == FREE:
                _spread_free(columns, room.product, block)
            else:
                _spread(columns, n, room.product, block, rows, width)


@force_inline
def _weigh(D: Floats, own: Floats, n: int, out: Floats, width: int):
    """Write D G (n × width) to ``out``: the rows G of a block in one component, ``own``."""
    fill(out, 0.0, n * width)
    for i in range(n):
        for j in range(n):
            axpy(D[i * n + j], own + j * width, out + i * width, width)


@force_inline
def _spread(columns: Floats, n: int, product: Floats, out: Floats, rows: int, width: int):
    """Add K Gᵀ D G (rows × width) to ``out``: K Gᵀ are the compliance ``columns``, D G is ``product``."""
    for a in range(n):
        for i in range(rows):
            axpy(columns[a * rows + i], product + a * width, out + i * width, width)


@internal
def _spread_free(columns: Floats, product: Floats, out: Floats):
    """Add K Gᵀ D G (6 × 6) of a contact of three rows between free bodies to ``out``, with the loops unrolled."""
    for i in range(FREE):
        row = out + FREE * i
        c0, c1, c2, c3, c4, c5 = row[0], row[1], row[2], row[3], row[4], row[5]
        for a in range(USUAL):
            weight, other = columns[a * FREE + i], product + FREE * a
            c0 += weight * other[0]
            c1 += weight * other[1]
            c2 += weight * other[2]
            c3 += weight * other[3]
            c4 += weight * other[4]
            c5 += weight * other[5]
        row[0], row[1], row[2], row[3], row[4], row[5] = c0, c1, c2, c3, c4, c5


@internal
def sparse_sweep(table: ContactProblem, work: ContactWorkspace, blocks: int, count: int):
    """Update work.forces block by block in ``count`` sweeps; a block sticks if its friction allows it."""
    room = cp.parts_work(table.parts)
    _find_own(table, room, blocks)
    push_all(table, work.forces, blocks)
    for _ in range(count):
        at = 0
        for k in range(blocks):
            _visit(table, work, room, k, at)
            at += table.sizes[k]


@internal
def _visit(table: ContactProblem, work: ContactWorkspace, room: PartsWork, k: int, at: int):
    """Update the forces of block k, with the forces of all other blocks fixed."""
    n, u = table.sizes[k], work.speeds + at
    copy(work.velocities + at, u, n)
    pull_block(table.parts, room, k, n, u)
    _settle(k < table.contacts, work.numbers[k], work.forces + at, u, n, room, at)
    push_block(table.parts, room, k, n, room.small)


@internal
def _find_own(table: ContactProblem, room: PartsWork, blocks: int):
    """Write W of every block of rows and its inverse to the workspace, once for each problem."""
    parts, at = table.parts, 0
    if room.known[1] != 0.0:
        return
    room.known[1] = 1.0
    for k in range(blocks):
        n = table.sizes[k]
        W, inverse = room.delassus + at * cp.WIDEST, room.inverse + at * cp.WIDEST
        own_delassus(parts, room, k, n, W)
        copy(W, inverse, n * n)
        if not invert(inverse, n, room.product, room.rest) or not is_finite(inverse, n * n):
            inverse[0] = 0.0
        at += n


@internal
def _settle(cone: bool, number: float, r: Floats, u: Floats, n: int, room: PartsWork, at: int):
    """Update the forces r of one block, all other blocks fixed; write the change of r to ``room.small``."""
    W, inverse = room.delassus + at * cp.WIDEST, room.inverse + at * cp.WIDEST
    change, trial = room.small, room.small + cp.WIDEST
    for i in range(n):
        trial[i] = r[i] - dot(inverse + i * n, u, n)
    first = 1 if cone else 0
    tail = fr.length(trial + first, n - first)
    sticks = tail <= number * trial[0] and trial[0] >= 0.0 if cone else tail <= number
    if not sticks or inverse[0] == 0.0:
        largest, height = LEAST_COMPLIANCE, 0.0
        for i in range(n):
            largest = max(largest, W[i * (n + 1)])
        if cone:
            trial[0] = max(0.0, r[0] - u[0] / max(W[0], LEAST_COMPLIANCE))
            height = trial[0] - r[0]
        for i in range(first, n):
            trial[i] = r[i] - (u[i] + W[i * n] * height) / largest
        tail, radius = fr.length(trial + first, n - first), number * trial[0] if cone else number
        for i in range(first, n):
            trial[i] *= radius / tail if tail > radius else 1.0
    for i in range(n):
        change[i] = trial[i] - r[i]
        r[i] = trial[i]
