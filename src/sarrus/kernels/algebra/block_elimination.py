"""Elimination of a sparse block matrix: one block for each pair of components joined by a contact or by fill-in.

Components are ordered by least degree (Tinney and Walker, Proceedings of the IEEE 55, 1967); no pivoting between
blocks. The order and the fill-in depend on the sparsity pattern only, and are kept until the pattern changes.
"""

from __future__ import annotations

from sarrus.kernels.algebra.dense import eliminate as solve_with_pivots
from sarrus.kernels.algebra.tolerances import LEAST_BLOCK_PIVOT
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, dot, fill
from sarrus.kernels.memory.contact_problem_layout import Parts, PartsWork
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import force_inline, internal

# Velocities of a free body: loops over 6 × 6 blocks are unrolled.
FREE = 6


@internal
def width_of(parts: Parts, c: int):
    """Return the number of velocities of component c."""
    return parts.starts[c + 1] - parts.starts[c]


@internal
def order(parts: Parts, room: PartsWork, blocks: int):
    """Write the elimination order of the components that contact rows join, and the layout of the nonzero blocks."""
    count = 0
    fill(room.turn, -1.0, parts.components)
    for link in range(int(room.first[blocks])):
        c = int(room.joined[link])
        if room.turn[c] < 0.0:
            room.turn[c] = count
            room.members[count] = c
            count += 1
    graph = room.graph
    fill(graph, 0.0, count * count)
    for k in range(blocks):
        for one in range(int(room.first[k]), int(room.first[k + 1])):
            for other in range(int(room.first[k]), one):
                if room.row_place[one] >= 0.0 or room.row_place[other] >= 0.0:
                    i, j = int(room.turn[int(room.joined[one])]), int(room.turn[int(room.joined[other])])
                    graph[i * count + j] = graph[j * count + i] = 1.0
    _take_least(room, count)
    for i in range(count):
        room.turn[int(room.members[i])] = room.place[i]
    for i in range(count):  # marks of nonzero blocks, in elimination order
        p = int(room.place[i])
        for j in range(count):
            room.slots[p * count + int(room.place[j])] = graph[i * count + j]
    for c in range(parts.components):
        if room.turn[c] >= 0.0:
            room.members[int(room.turn[c])] = c
    room.count[0] = count
    _lay(parts, room, count)


@internal
def _take_least(room: PartsWork, count: int):
    """Write the place of each component in the least-degree order to ``place``, and add the fill-in to ``graph``."""
    graph, degree, near = room.graph, room.degree, room.near
    fill(degree, 0.0, count)
    for i in range(count):
        for j in range(count):
            degree[i] += graph[i * count + j]
    for turn in range(count):
        best = -1
        for j in range(count):
            if degree[j] >= 0.0 and (best < 0 or degree[j] < degree[best]):
                best = j
        found = 0
        for k in range(count):
            if graph[best * count + k] != 0.0 and degree[k] >= 0.0:
                near[found] = k
                found += 1
        degree[best] = -1.0
        room.place[best] = turn
        for a in range(found):
            i = int(near[a])
            degree[i] -= 1.0
            for b in range(found):
                j = int(near[b])
                if i != j and graph[i * count + j] == 0.0:
                    graph[i * count + j] = 1.0
                    degree[i] += 1.0


@internal
def _lay(parts: Parts, room: PartsWork, count: int):
    """Write the address of every block, diagonal blocks first, and the list of blocks right of the diagonal of each
    row."""
    at = 0
    for i in range(count):
        n = width_of(parts, int(room.members[i]))
        room.slots[i * (count + 1)] = at
        at += n * n
    for i in range(count):
        n, behind = width_of(parts, int(room.members[i])), 0
        for j in range(i + 1, count):
            if room.slots[i * count + j] != 0.0:
                room.behind[i * count + behind] = j
                behind += 1
                size = n * width_of(parts, int(room.members[j]))
                room.slots[i * count + j], room.slots[j * count + i] = at, at + size
                at += 2 * size
        room.degree[i] = behind
    room.count[1] = at


@internal
def clear(parts: Parts, room: PartsWork):
    """Set the matrix to the identity: ones on the diagonal, zeros in all other blocks."""
    count = int(room.count[0])
    fill(room.matrix, 0.0, int(room.count[1]))
    for i in range(count):
        n, block = width_of(parts, int(room.members[i])), block_at(room, count, i, i)
        for k in range(n):
            block[k * (n + 1)] = 1.0


@force_inline
def block_at(room: PartsWork, count: int, i: int, j: int):
    """Return the block (i, j) of the matrix, i and j places in the elimination order."""
    return room.matrix + int(room.slots[i * count + j])


@force_inline
def subtract_product(a: Floats, b: Floats, out: Floats, rows: int, n: int, width: int):
    """Subtract a b from ``out``, for a (rows × n) and b (n × width)."""
    for i in range(rows):
        for k in range(n):
            axpy(-a[i * n + k], b + k * width, out + i * width, width)


@internal
def subtract_free(a: Floats, b: Floats, out: Floats):
    """Subtract a b from ``out``, for 6 × 6 matrices of free bodies; each row of ``out`` is kept in registers."""
    for i in range(FREE):
        row = out + FREE * i
        c0, c1, c2, c3, c4, c5 = row[0], row[1], row[2], row[3], row[4], row[5]
        for k in range(FREE):
            weight, other = a[FREE * i + k], b + FREE * k
            c0 -= weight * other[0]
            c1 -= weight * other[1]
            c2 -= weight * other[2]
            c3 -= weight * other[3]
            c4 -= weight * other[4]
            c5 -= weight * other[5]
        row[0], row[1], row[2], row[3], row[4], row[5] = c0, c1, c2, c3, c4, c5


@force_inline
def _invert_without_pivots(a: Floats, n: int, before: Floats):
    """Replace a (n × n) by its inverse, by Gauss–Jordan elimination without pivoting; False where a pivot is too
    small.

    ``before`` is a copy of a: each pivot is compared with its diagonal entry.
    """
    for k in range(n):
        pivot = a[k * (n + 1)]
        if not pivot > LEAST_BLOCK_PIVOT * before[k * (n + 1)]:
            return False
        inverse = 1.0 / pivot
        a[k * (n + 1)] = 1.0
        for j in range(n):
            a[k * n + j] *= inverse
        for i in range(n):
            if i != k:
                weight = a[i * n + k]
                a[i * n + k] = 0.0
                axpy(-weight, a + k * n, a + i * n, n)
    return True


@internal
def _invert_free(a: Floats, before: Floats):
    """Do what `_invert_without_pivots` does for a 6 × 6 matrix, each row in registers: no entry is stored alone."""
    for k in range(FREE):
        head, pivot = a + FREE * k, a[(FREE + 1) * k]
        if not pivot > LEAST_BLOCK_PIVOT * before[(FREE + 1) * k]:
            return False
        inverse = 1.0 / pivot
        p0, p1 = inverse * (1.0 if k == 0 else head[0]), inverse * (1.0 if k == 1 else head[1])
        p2, p3 = inverse * (1.0 if k == 2 else head[2]), inverse * (1.0 if k == 3 else head[3])
        p4, p5 = inverse * (1.0 if k == 4 else head[4]), inverse * (1.0 if k == 5 else head[5])
        head[0], head[1], head[2], head[3], head[4], head[5] = p0, p1, p2, p3, p4, p5
        for i in range(FREE):
            row, weight = a + FREE * i, a[FREE * i + k]
            if i != k:
                c0, c1 = 0.0 if k == 0 else row[0], 0.0 if k == 1 else row[1]
                c2, c3 = 0.0 if k == 2 else row[2], 0.0 if k == 3 else row[3]
                c4, c5 = 0.0 if k == 4 else row[4], 0.0 if k == 5 else row[5]
                c0, c1, c2 = c0 - weight * p0, c1 - weight * p1, c2 - weight * p2
                c3, c4, c5 = c3 - weight * p3, c4 - weight * p4, c5 - weight * p5
                row[0], row[1], row[2], row[3], row[4], row[5] = c0, c1, c2, c3, c4, c5
    return True


@internal
def invert(a: Floats, n: int, before: Floats, rest: Floats):
    """Replace a (n × n) by its inverse; False where a is singular. ``before`` and ``rest`` are buffers (n × n)."""
    copy(a, before, n * n)
    good = _invert_free(a, before) if n == FREE else _invert_without_pivots(a, n, before)
    if good:
        return True
    fill(rest, 0.0, n * n)
    for k in range(n):
        rest[k * (n + 1)] = 1.0
    good = solve_with_pivots(before, rest, n, n) == 0
    copy(rest, a, n * n)
    return good


@internal
def eliminate(parts: Parts, room: PartsWork, speed: Floats):
    """Replace the right-hand side ``speed`` by the solution; False where a diagonal block is singular."""
    if not factorize(parts, room):
        return False
    solve_factored(parts, room, speed)
    return True


@internal
def factorize(parts: Parts, room: PartsWork):
    """Replace the matrix by its factors; False where a diagonal block is singular.

    The diagonal blocks are replaced by their inverses, those below them by the multipliers of the elimination.
    """
    count, behind = int(room.count[0]), room.behind
    for k in range(count):
        n, block = width_of(parts, int(room.members[k])), block_at(room, count, k, k)
        if not invert(block, n, room.product, room.rest):
            return False
        for at in range(int(room.degree[k])):
            i = int(behind[k * count + at])
            rows, below = width_of(parts, int(room.members[i])), block_at(room, count, i, k)
            free = rows == FREE and n == FREE
            fill(room.rest, 0.0, rows * n)
            if free:
                subtract_free(below, block, room.rest)
            else:
                subtract_product(below, block, room.rest, rows, n, n)
            copy_scaled(-1.0, room.rest, below, rows * n)
            for other in range(int(room.degree[k])):
                j = int(behind[k * count + other])
                width = width_of(parts, int(room.members[j]))
                right, out = block_at(room, count, k, j), block_at(room, count, i, j)
                if free and width == FREE:
                    subtract_free(below, right, out)
                else:
                    subtract_product(below, right, out, rows, n, width)
    return True


@internal
def solve_factored(parts: Parts, room: PartsWork, speed: Floats):
    """Replace the right-hand side ``speed`` by the solution for the factors of `factorize`."""
    count, behind = int(room.count[0]), room.behind
    for k in range(count):
        c = int(room.members[k])
        n, first = width_of(parts, c), parts.starts[c]
        for at in range(int(room.degree[k])):
            i = int(behind[k * count + at])
            d = int(room.members[i])
            below, start = block_at(room, count, i, k), parts.starts[d]
            for a in range(width_of(parts, d)):
                speed[start + a] -= dot(below + a * n, speed + first, n)
    for k in range(count - 1, -1, -1):
        c = int(room.members[k])
        n, first = width_of(parts, c), parts.starts[c]
        for at in range(int(room.degree[k])):
            j = int(behind[k * count + at])
            e = int(room.members[j])
            width, right = width_of(parts, e), block_at(room, count, k, j)
            for a in range(n):
                speed[first + a] -= dot(right + a * width, speed + parts.starts[e], width)
        block = block_at(room, count, k, k)
        for a in range(n):
            room.rest[a] = dot(block + a * n, speed + first, n)
        copy(room.rest, speed + first, n)
