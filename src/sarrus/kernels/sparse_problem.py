"""Newton's method for large contact problems whose rows have parts: in the velocities of components, block by block.

A row depends on two components at the most, and W = G K Gᵀ with K between the velocities of each. A step

    (1 − S + T (W + ρ)) δ = −F        becomes        (1 + K Gᵀ D G) w = −K Gᵀ E F,        δ = −E (F + T G w),

E = (1 − S + ρ T)⁻¹ and D = E T, which are block diagonal: as many blocks as components, coupled where a contact joins
two. They are eliminated by least degree (Tinney and Walker, Proceedings of the IEEE 55, 1967), without pivots between
blocks. Notation: `sarrus.kernels.contact_problem`.
"""

from __future__ import annotations

from sarrus.kernels import contact_problem_layout as cp
from sarrus.kernels import friction as fr
from sarrus.kernels.flat import internal
from sarrus.kernels.vectors import axpy, copy, dot, fill, is_finite

# Least ridge: the quotient of rounding and the square of this is what a step may lose.
RIDGE = 1e-6
# Least response of a row.
TINY = 1e-12
# Velocities of a free body.
FREE = 6


@internal
def velocities(table, work, r, m, out):
    """Write the velocities of components by forces r."""
    parts = table.parts
    fill(out, 0.0, parts.velocities)
    for i in range(m):
        if r[i] != 0.0:
            _add(parts, parts.reply, i, work.factors[i] * r[i], out)


@internal
def along(parts, i, v):
    """Return the velocity of a row."""
    row, total = int(parts.rows[i]), 0.0
    for s in range(2):
        c = int(parts.shared[2 * row + s])
        if c >= 0:
            first = parts.starts[c]
            total += dot(parts.parts + (2 * row + s) * parts.widest, v + first, parts.starts[c + 1] - first)
    return total


@internal
def _add(parts, of, i, factor, out):
    """Add a multiple of a row, or of the acceleration by a force on it."""
    row = int(parts.rows[i])
    for s in range(2):
        c = int(parts.shared[2 * row + s])
        if c >= 0:
            first = parts.starts[c]
            axpy(factor, of + (2 * row + s) * parts.widest, out + first, parts.starts[c + 1] - first)


@internal
def sparse_speeds(table, work, r, u, m):
    """Write u = W r + b."""
    parts = table.parts
    room = cp.parts_work(parts, m)
    velocities(table, work, r, m, room.speed)
    for i in range(m):
        u[i] = work.velocities[i] + work.factors[i] * along(parts, i, room.speed)


@internal
def sparse_direction(table, work, m, blocks, ridge):
    """Write the step of Newton's method to work.way; False where there is none."""
    parts = table.parts
    room = cp.parts_work(parts, m)
    count = _order(parts, room)
    _clear(parts, room, count)
    fill(room.speed, 0.0, parts.velocities)
    at, ridge = 0, max(ridge, RIDGE)
    for k in range(blocks):
        n, cone = table.sizes[k], k < table.contacts
        opened = _block(work, cone, work.numbers[k], at, n, ridge, room)
        for i in range(at, at + n):
            _add(parts, parts.reply, i, -work.factors[i] * room.scaled[i], room.speed)
        if not opened:
            _couple(parts, work, room, at, n, count)
        at += n
    if not _eliminate(parts, room, count):
        return False
    at = 0
    for k in range(blocks):
        n = table.sizes[k]
        for i in range(n):
            room.small[i] = work.factors[at + i] * along(parts, at + i, room.speed)
        for i in range(n):
            own = room.slopes + (at + i) * cp.WIDEST
            work.way[at + i] = -room.scaled[at + i] - dot(own, room.small, n)
        at += n
    return is_finite(work.way, m)


@internal
def _block(work, cone, number, at, n, ridge, room):
    """Write E F of a block and D to room; return whether it is open, with D = 0 and E = 1."""
    S, T = room.small, room.small + cp.WIDEST * cp.WIDEST
    A, y = room.small + 2 * cp.WIDEST * cp.WIDEST, room.small + 3 * cp.WIDEST * cp.WIDEST
    r, u, F, D = work.forces + at, work.speeds + at, work.gap + at, room.slopes + at * cp.WIDEST
    fr.beside(cone, number, r, u, n, y)
    opened = fr.slope(cone, number, y, n, S)
    copy(F, room.scaled + at, n)
    fill(D, 0.0, n * cp.WIDEST)
    if opened:
        return True
    fr.shifted_slope(cone, number, u, n, S, T)
    for i in range(n):
        for j in range(n):
            A[i * n + j] = ridge * T[i * n + j] - S[i * n + j]
        A[i * (n + 1)] += 1.0
    invert(A, n, S)
    for i in range(n):
        room.scaled[at + i] = dot(A + i * n, F, n)
        for j in range(n):
            axpy(A[i * n + j], T + j * n, D + i * cp.WIDEST, n)
    return False


@internal
def invert(a, n, rest):
    """Replace an n × n matrix by its inverse; ``rest`` has room for one. False if there is none."""
    fill(rest, 0.0, n * n)
    for k in range(n):
        rest[k * (n + 1)] = 1.0
    for k in range(n):
        pivot, size = k, abs(a[k * n + k])
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > size:
                pivot, size = i, abs(a[i * n + k])
        if not size > 0.0:
            return False
        if pivot != k:
            for j in range(n):
                a[k * n + j], a[pivot * n + j] = a[pivot * n + j], a[k * n + j]
                rest[k * n + j], rest[pivot * n + j] = rest[pivot * n + j], rest[k * n + j]
        inverse = 1.0 / a[k * n + k]
        for j in range(n):
            a[k * n + j] *= inverse
            rest[k * n + j] *= inverse
        for i in range(n):
            weight = a[i * n + k]
            if i != k and weight != 0.0:
                axpy(-weight, a + k * n, a + i * n, n)
                axpy(-weight, rest + k * n, rest + i * n, n)
    copy(rest, a, n * n)
    return True


@internal
def _block_at(parts, room, count, i, j):
    """Return the block of two components in turn."""
    return room.matrix + (i * count + j) * parts.widest * parts.widest


@internal
def _couple(parts, work, room, at, n, count):
    """Add K Gᵀ D G of a block of rows."""
    row = int(parts.rows[at])
    for t in range(2):
        c = int(parts.shared[2 * row + t])
        if c < 0:
            continue
        width = parts.starts[c + 1] - parts.starts[c]
        for a in range(n):
            out = room.product + a * parts.widest
            fill(out, 0.0, width)
            for b in range(n):
                weight = room.slopes[(at + a) * cp.WIDEST + b] * work.factors[at + b]
                if weight != 0.0:
                    axpy(weight, parts.parts + (2 * int(parts.rows[at + b]) + t) * parts.widest, out, width)
        for s in range(2):
            other = int(parts.shared[2 * row + s])
            if other < 0:
                continue
            block = _block_at(parts, room, count, int(room.turn[other]), int(room.turn[c]))
            for a in range(n):
                reply = parts.reply + (2 * int(parts.rows[at + a]) + s) * parts.widest
                for i in range(parts.starts[other + 1] - parts.starts[other]):
                    weight = work.factors[at + a] * reply[i]
                    if weight != 0.0:
                        axpy(weight, room.product + a * parts.widest, block + i * parts.widest, width)


@internal
def _order(parts, room):
    """Order the components of the rows by least degree, and find which blocks fill in; return their number.

    Once for all steps of a problem: the pattern has all rows, open ones too.
    """
    if room.ordered[0] > 0.0:
        return int(room.ordered[0])
    count = 0
    fill(room.turn, -1.0, parts.components)
    for i in range(parts.count):
        for s in range(2):
            c = int(parts.shared[2 * int(parts.rows[i]) + s])
            if c >= 0 and room.turn[c] < 0.0:
                room.turn[c] = count
                room.members[count] = c
                count += 1
    graph, filled = room.graph, room.filled
    fill(graph, 0.0, count * count)
    for i in range(parts.count):
        row = int(parts.rows[i])
        one, other = int(parts.shared[2 * row]), int(parts.shared[2 * row + 1])
        if one >= 0 and other >= 0:
            j, k = int(room.turn[one]), int(room.turn[other])
            graph[j * count + k] = graph[k * count + j] = 1.0
    fill(room.degree, 0.0, count)
    for j in range(count):
        for k in range(count):
            room.degree[j] += graph[j * count + k]
    fill(filled, 0.0, count * count)
    for turn in range(count):
        best = -1
        for j in range(count):
            if room.degree[j] >= 0.0 and (best < 0 or room.degree[j] < room.degree[best]):
                best = j
        near = 0
        for k in range(count):
            if graph[best * count + k] != 0.0 and room.degree[k] >= 0.0:
                room.near[near] = k
                near += 1
        room.degree[best] = -1.0
        room.place[best] = turn
        for a in range(near):
            j = int(room.near[a])
            room.degree[j] -= 1.0
            for b in range(near):
                k = int(room.near[b])
                if j != k and graph[j * count + k] == 0.0:
                    graph[j * count + k] = 1.0
                    room.degree[j] += 1.0
    for j in range(count):  # every pair of neighbours, each in its turn
        p = int(room.place[j])
        for k in range(count):
            if j == k or graph[j * count + k] != 0.0:
                filled[p * count + int(room.place[k])] = 1.0
    for j in range(count):
        room.turn[int(room.members[j])] = room.place[j]
    for c in range(parts.components):
        if room.turn[c] >= 0.0:
            room.members[int(room.turn[c])] = c
    _list(room, count)
    room.ordered[0] = count
    return count


@internal
def _list(room, count):
    """List the blocks of every row behind its diagonal: their columns at ``graph``, their number at ``degree``."""
    for k in range(count):
        behind = 0
        for j in range(k + 1, count):
            if room.filled[k * count + j] != 0.0:
                room.graph[k * count + behind] = j
                behind += 1
        room.degree[k] = behind


@internal
def _clear(parts, room, count):
    """Begin with ones on the diagonal and zeros in the blocks that fill in."""
    size = parts.widest * parts.widest
    for i in range(count):
        for at in range(int(room.degree[i])):
            j = int(room.graph[i * count + at])
            fill(_block_at(parts, room, count, i, j), 0.0, size)
            fill(_block_at(parts, room, count, j, i), 0.0, size)
        block, c = _block_at(parts, room, count, i, i), int(room.members[i])
        fill(block, 0.0, size)
        for k in range(parts.starts[c + 1] - parts.starts[c]):
            block[k * (parts.widest + 1)] = 1.0


@internal
def _subtract_free(a, b, out):
    """Subtract the product of two matrices of free bodies: with sizes that the compiler knows."""
    for i in range(FREE):
        for k in range(FREE):
            weight = a[FREE * i + k]
            for j in range(FREE):
                out[FREE * i + j] -= weight * b[FREE * k + j]


@internal
def _eliminate(parts, room, count):
    """Solve for what is in ``speed``, in its place; False where a block has no inverse."""
    w, speed, graph = parts.widest, room.speed, room.graph
    for k in range(count):
        c = int(room.members[k])
        n, first = parts.starts[c + 1] - parts.starts[c], parts.starts[c]
        block = _block_at(parts, room, count, k, k)
        for i in range(n):
            copy(block + i * w, room.product + i * n, n)
        if not invert(room.product, n, room.rest):
            return False
        copy(room.product, block, n * n)  # packed
        for at in range(int(room.degree[k])):
            i = int(graph[k * count + at])
            d = int(room.members[i])
            rows, below = parts.starts[d + 1] - parts.starts[d], _block_at(parts, room, count, i, k)
            for a in range(rows):
                fill(room.rest, 0.0, n)
                for b in range(n):
                    axpy(below[a * w + b], block + b * n, room.rest, n)
                copy(room.rest, below + a * w, n)
                speed[parts.starts[d] + a] -= dot(room.rest, speed + first, n)
            for other in range(int(room.degree[k])):
                j = int(graph[k * count + other])
                e = int(room.members[j])
                width = parts.starts[e + 1] - parts.starts[e]
                right, out = _block_at(parts, room, count, k, j), _block_at(parts, room, count, i, j)
                if w == FREE and rows == FREE and n == FREE and width == FREE:
                    _subtract_free(below, right, out)
                else:
                    for a in range(rows):
                        for b in range(n):
                            axpy(-below[a * w + b], right + b * w, out + a * w, width)
    for k in range(count - 1, -1, -1):
        c = int(room.members[k])
        n, first = parts.starts[c + 1] - parts.starts[c], parts.starts[c]
        for at in range(int(room.degree[k])):
            j = int(graph[k * count + at])
            e = int(room.members[j])
            width, right = parts.starts[e + 1] - parts.starts[e], _block_at(parts, room, count, k, j)
            for a in range(n):
                speed[first + a] -= dot(right + a * w, speed + parts.starts[e], width)
        block = _block_at(parts, room, count, k, k)
        for a in range(n):
            room.rest[a] = dot(block + a * n, speed + first, n)
        copy(room.rest, speed + first, n)
    return True


@internal
def sparse_sweep(table, work, m, blocks, count):
    """Project the forces of one block after the other, from those there are."""
    parts, r, small = table.parts, work.forces, work.small
    room = cp.parts_work(parts, m)
    velocities(table, work, r, m, room.speed)
    for _ in range(count):
        at = 0
        for k in range(blocks):
            n, cone = table.sizes[k], k < table.contacts
            for i in range(at, at + n):
                work.speeds[i] = work.velocities[i] + work.factors[i] * along(parts, i, room.speed)
            largest = 0.0
            for i in range(at, at + n):
                largest = max(largest, work.factors[i] * work.factors[i] * table.operator[i])
            for i in range(at, at + n):
                work.speeds[i] /= max(largest, TINY)
            fr.beside(cone, work.numbers[k], r + at, work.speeds + at, n, small)
            fr.project(cone, work.numbers[k], small, n, small + n)
            for i in range(n):
                change = small[n + i] - r[at + i]
                if change != 0.0:
                    r[at + i] += change
                    _add(parts, parts.reply, at + i, work.factors[at + i] * change, room.speed)
            at += n
