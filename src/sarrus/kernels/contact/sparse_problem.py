"""Large contact problems with rows stored in parts: velocities by forces, Newton steps, sweeps.

A row depends on two components at most, and W = G K Gᵀ, with the rows G and the compliance K, one block for each
component. A step

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
    eliminate,
    invert,
    order,
    width_of,
)
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, dot, fill, is_finite
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.tolerances import LEAST_COMPLIANCE
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace, Parts, PartsWork
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import force_inline, internal

# Number of rows of a contact with sliding friction: one normal, two tangential.
USUAL = 3


@internal
def lay_rows(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int):
    """Write the scaled rows and compliance columns to the workspace; order the components if the pattern is new."""
    parts = table.parts
    room, w, at = cp.parts_work(parts), parts.widest, 0
    same = room.known[0] == blocks
    fill(room.own, 0.0, 2 * m * w)
    fill(room.compliance_column, 0.0, 2 * m * w)
    for k in range(blocks):
        n = table.sizes[k]
        one, other = _components_of(parts, at, n)
        same = same and room.joined[2 * k] == one and room.joined[2 * k + 1] == other
        room.joined[2 * k], room.joined[2 * k + 1] = one, other
        for i in range(at, at + n):
            row = int(parts.rows[i])
            for s in range(2):
                c = int(parts.shared[2 * row + s])
                if c >= 0:
                    source, place = (2 * row + s) * w, (2 * i + (0 if c == one else 1)) * w
                    width = width_of(parts, c)
                    copy_scaled(work.factors[i], parts.parts + source, room.own + place, width)
                    copy_scaled(
                        work.factors[i],
                        parts.compliance_column + source,
                        room.compliance_column + place,
                        width,
                    )
        at += n
    if not same:
        room.known[0] = blocks
        order(parts, room, blocks)
    room.known[1] = 0.0


@internal
def _components_of(parts: Parts, at: int, n: int):
    """Return the two components that a block of n rows depends on, −1 where there is none."""
    one, other = -1, -1
    for i in range(at, at + n):
        row = int(parts.rows[i])
        for s in range(2):
            c = int(parts.shared[2 * row + s])
            if c >= 0 and c != one and c != other:
                if one < 0:
                    one = c
                else:
                    other = c
    return one, other


@force_inline
def _push(forces: Floats, answers: Floats, stride: int, n: int, out: Floats, width: int):
    """Add the velocities of one component due to n forces of a block to ``out`` (width)."""
    for i in range(n):
        axpy(forces[i], answers + i * stride, out, width)


@force_inline
def _pull(own: Floats, stride: int, n: int, v: Floats, out: Floats, width: int):
    """Add the velocities along n rows of a block due to the velocities v of one component to ``out`` (n)."""
    for i in range(n):
        out[i] += dot(own + i * stride, v, width)


@internal
def push_block(parts: Parts, room: PartsWork, k: int, at: int, n: int, forces: Floats):
    """Add the velocities K Gᵀ r due to the forces r of block k to ``room.speed``."""
    w = parts.widest
    for s in range(2):
        c = int(room.joined[2 * k + s])
        if c < 0:
            continue
        first, width, answers = parts.starts[c], width_of(parts, c), room.compliance_column + (2 * at + s) * w
        if width == FREE:
            _push(forces, answers, 2 * w, n, room.speed + first, FREE)
        else:
            _push(forces, answers, 2 * w, n, room.speed + first, width)


@internal
def pull_block(parts: Parts, room: PartsWork, k: int, at: int, n: int, out: Floats):
    """Add the velocities G v along the n rows of block k, v = ``room.speed``, to ``out``."""
    w = parts.widest
    for s in range(2):
        c = int(room.joined[2 * k + s])
        if c < 0:
            continue
        first, width, own = parts.starts[c], width_of(parts, c), room.own + (2 * at + s) * w
        if width == FREE:
            _pull(own, 2 * w, n, room.speed + first, out, FREE)
        else:
            _pull(own, 2 * w, n, room.speed + first, out, width)


@internal
def push_all(table: ContactProblem, forces: Floats, blocks: int):
    """Write the velocities K Gᵀ r due to the forces r of all blocks to ``room.speed``."""
    room, at = cp.parts_work(table.parts), 0
    fill(room.speed, 0.0, table.parts.velocities)
    for k in range(blocks):
        push_block(table.parts, room, k, at, table.sizes[k], forces + at)
        at += table.sizes[k]


@internal
def pull_all(table: ContactProblem, out: Floats, blocks: int):
    """Add the velocities G v along all rows, v = ``room.speed``, to ``out``."""
    room, at = cp.parts_work(table.parts), 0
    for k in range(blocks):
        pull_block(table.parts, room, k, at, table.sizes[k], out + at)
        at += table.sizes[k]


@internal
def sparse_speeds(table: ContactProblem, work: ContactWorkspace, r: Floats, u: Floats, m: int, blocks: int):
    """Write u = W r + b (m) to ``u``."""
    push_all(table, r, blocks)
    copy(work.velocities, u, m)
    pull_all(table, u, blocks)


@internal
def sparse_direction(table: ContactProblem, work: ContactWorkspace, m: int, blocks: int, ridge: float):
    """Write the Newton step δ (m) to work.way; return False if the system is singular."""
    parts, way, at = table.parts, work.way, 0
    room = cp.parts_work(parts)
    clear(parts, room)
    fill(room.speed, 0.0, parts.velocities)
    for k in range(blocks):
        n, cone, D = table.sizes[k], k < table.contacts, room.slopes + at * cp.WIDEST
        r, u, F = work.forces + at, work.speeds + at, work.gap + at
        opened = fr.soft_step(cone, work.numbers[k], r, u, F, n, ridge, way + at, D)
        for i in range(at, at + n):
            way[i] = -way[i]
        push_block(parts, room, k, at, n, way + at)
        if not opened:
            couple_block(parts, room, k, at, n, D)
        at += n
    if not eliminate(parts, room, room.speed):
        return False
    at = 0
    for k in range(blocks):
        n, D = table.sizes[k], room.slopes + at * cp.WIDEST
        fill(room.small, 0.0, n)
        pull_block(parts, room, k, at, n, room.small)
        for i in range(n):
            way[at + i] -= dot(D + i * n, room.small, n)
        at += n
    return is_finite(way, m)


@internal
def couple_block(parts: Parts, room: PartsWork, k: int, at: int, n: int, D: Floats):
    """Add the term K Gᵀ D G of block k to the matrix of the elimination."""
    w, count = parts.widest, int(room.count[0])
    for t in range(2):
        c = int(room.joined[2 * k + t])
        if c < 0:
            continue
        width, own = width_of(parts, c), room.own + (2 * at + t) * w
        usual = n == USUAL and width == FREE
        if usual:
            _weigh(D, own, 2 * w, USUAL, room.product, FREE)
        else:
            _weigh(D, own, 2 * w, n, room.product, width)
        for s in range(2):
            other = int(room.joined[2 * k + s])
            if other < 0:
                continue
            rows, answers = width_of(parts, other), room.compliance_column + (2 * at + s) * w
            block = block_at(room, count, int(room.turn[other]), int(room.turn[c]))
            if usual and rows == FREE:
                _spread_free(answers, 2 * w, room.product, block)
            else:
                _spread(answers, 2 * w, n, room.product, block, rows, width)


@force_inline
def _weigh(D: Floats, own: Floats, stride: int, n: int, out: Floats, width: int):
    """Write D G (n × width) to ``out``: the rows G of a block in one component, ``own``."""
    fill(out, 0.0, n * width)
    for i in range(n):
        for j in range(n):
            axpy(D[i * n + j], own + j * stride, out + i * width, width)


@force_inline
def _spread(answers: Floats, stride: int, n: int, product: Floats, out: Floats, rows: int, width: int):
    """Add K Gᵀ D G (rows × width) to ``out``: K Gᵀ are the compliance columns ``answers``, D G is ``product``."""
    for a in range(n):
        for i in range(rows):
            axpy(answers[a * stride + i], product + a * width, out + i * width, width)


@internal
def _spread_free(answers: Floats, stride: int, product: Floats, out: Floats):
    """Add K Gᵀ D G (6 × 6) of a contact of three rows between free bodies to ``out``, with the loops unrolled."""
    for i in range(FREE):
        row = out + FREE * i
        c0, c1, c2, c3, c4, c5 = row[0], row[1], row[2], row[3], row[4], row[5]
        for a in range(USUAL):
            weight, other = answers[a * stride + i], product + FREE * a
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
    pull_block(table.parts, room, k, at, n, u)
    _settle(k < table.contacts, work.numbers[k], work.forces + at, u, n, room, at)
    push_block(table.parts, room, k, at, n, room.small)


@internal
def _find_own(table: ContactProblem, room: PartsWork, blocks: int):
    """Write W of every block of rows and its inverse to the workspace, once for each problem."""
    parts, at = table.parts, 0
    if room.known[1] != 0.0:
        return
    room.known[1] = 1.0
    w = parts.widest
    for k in range(blocks):
        n = table.sizes[k]
        W, inverse = room.delassus + at * cp.WIDEST, room.inverse + at * cp.WIDEST
        for i in range(n):
            for j in range(n):
                W[i * n + j] = dot(
                    room.own + 2 * (at + i) * w, room.compliance_column + 2 * (at + j) * w, 2 * w
                )
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
