"""Rows of a contact problem in parts: G of every block of rows in each component of velocities, and K Gᵀ.

W = G K Gᵀ, with the compliance K, one block for each component. A link joins a block of rows to a component. The rows
are those of a step, or a table of the nonzero entries of G or of W, see `Parts`.
"""

from __future__ import annotations

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.block_elimination import invert, order, width_of
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, dot, fill
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace, Parts, PartsWork
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import exists, internal


@internal
def write_rows(table: ContactProblem, work: ContactWorkspace, blocks: int):
    """Write the scaled rows and compliance columns to the workspace; order the components if the pattern is new."""
    parts = table.parts
    room = cp.parts_work(parts)
    same = room.known[0] == blocks
    if exists(parts.entries):
        same = _write_table_rows(table, work, room, blocks, same)
    else:
        same = _write_step_rows(table, work, room, blocks, same)
    if not same:
        room.known[0] = blocks
        order(parts, room, blocks)
    room.known[1] = 0.0


@internal
def _link(parts: Parts, room: PartsWork, link: int, c: int, n: int, at: int, same: bool):
    """Set up the link of n rows to component c, with numbers from ``at`` on; return False if the pattern is new."""
    same = same and room.joined[link] == c
    room.joined[link], room.seen[c] = c, link
    room.row_place[link] = room.column_place[link] = at
    size = n * width_of(parts, c)
    fill(room.own + at, 0.0, size)
    fill(room.compliance_column + at, 0.0, size)
    return same


@internal
def _write_step_rows(table: ContactProblem, work: ContactWorkspace, room: PartsWork, blocks: int, same: bool):
    """Write the rows of a step; return False if the pattern is new."""
    parts, w, row_at, link, at = table.parts, table.parts.widest, 0, 0, 0
    for k in range(blocks):
        n, begin = table.sizes[k], link
        room.first[k] = begin
        for i in range(row_at, row_at + n):
            row = int(parts.rows[i])
            for s in range(2):
                c = int(parts.shared[2 * row + s])
                if c < 0:
                    continue
                found = _known_link(room, begin, link, c)
                if found < 0:
                    same = _link(parts, room, link, c, n, at, same)
                    found, link, at = link, link + 1, at + n * width_of(parts, c)
                width, source = width_of(parts, c), (2 * row + s) * w
                out = int(room.row_place[found]) + (i - row_at) * width
                copy_scaled(work.factors[i], parts.parts + source, room.own + out, width)
                column = parts.compliance_column + source
                copy_scaled(work.factors[i], column, room.compliance_column + out, width)
        row_at += n
    same = same and room.first[blocks] == link
    room.first[blocks] = link
    return same


@internal
def _known_link(room: PartsWork, begin: int, end: int, c: int):
    """Return the link to component c among those from ``begin`` on, −1 if there is none."""
    for link in range(begin, end):
        if room.joined[link] == c:
            return link
    return -1


@internal
def _write_table_rows(
    table: ContactProblem, work: ContactWorkspace, room: PartsWork, blocks: int, same: bool
):
    """Write the rows of a table of entries; return False if the pattern is new."""
    parts, row_at, link, at = table.parts, 0, 0, 0
    for k in range(blocks):
        n, begin = table.sizes[k], link
        room.first[k] = begin
        if parts.whole != 0:
            same = _link(parts, room, link, k, n, at, same)
            link, at = link + 1, at + n * n
        for i in range(row_at, row_at + n):
            for e in range(parts.first[i], parts.first[i + 1]):
                c = parts.component[parts.columns[e]]
                if _known_link(room, begin, link, c) < 0:
                    same = _link(parts, room, link, c, n, at, same)
                    link, at = link + 1, at + n * width_of(parts, c)
        for i in range(row_at, row_at + n):
            for e in range(parts.first[i], parts.first[i + 1]):
                column = parts.columns[e]
                c = parts.component[column]
                place = int(room.column_place[int(room.seen[c])])
                place += (i - row_at) * width_of(parts, c) + column - parts.starts[c]
                if parts.whole != 0:
                    room.compliance_column[place] = parts.entries[e] * work.factors[i] * work.factors[column]
                else:
                    room.own[place] = parts.entries[e] * work.factors[i]
        for one in range(begin, link):
            if parts.whole != 0:
                room.row_place[one] = -1
            else:
                _comply(parts, room, one, n)
        if parts.whole != 0:
            own = int(room.column_place[begin])
            room.row_place[begin] = own
            for i in range(n):
                room.own[own + i * (n + 1)] = 1.0
        row_at += n
    same = same and room.first[blocks] == link
    room.first[blocks] = link
    return same


@internal
def _comply(parts: Parts, room: PartsWork, link: int, n: int):
    """Write K Gᵀ of a link of n rows."""
    c, at = int(room.joined[link]), int(room.row_place[link])
    width = width_of(parts, c)
    own, out = room.own + at, room.compliance_column + at
    if not exists(parts.compliance):
        copy_scaled(1.0, own, out, n * width)
        return
    K = parts.compliance + parts.blocks[c]
    for i in range(n):
        for j in range(width):
            axpy(own[i * width + j], K + j * width, out + i * width, width)


@internal
def invert_inertia(parts: Parts):
    """Replace the inertia of all components by the compliance K; False if it is not positive definite."""
    if not exists(parts.compliance) or parts.inverted != 0:
        return True
    room = cp.parts_work(parts)
    for c in range(parts.components):
        n, block = width_of(parts, c), parts.compliance + parts.blocks[c]
        copy(block, room.rest, n * n)
        if not fa.cholesky_ltl(room.rest, n) or not invert(block, n, room.product, room.rest):
            return False
    parts.inverted = 1
    return True


@internal
def diagonal_of_table(table: ContactProblem, m: int):
    """Write the diagonal of W (m) of a table of entries to ``table.delassus``."""
    parts, out = table.parts, table.delassus
    fill(out, 0.0, m)
    for i in range(m):
        for e in range(parts.first[i], parts.first[i + 1]):
            column, entry = parts.columns[e], parts.entries[e]
            if parts.whole != 0:
                out[i] += entry if column == i else 0.0
                continue
            if not exists(parts.compliance):
                out[i] += entry * entry
                continue
            c = parts.component[column]
            width = width_of(parts, c)
            line = parts.compliance + parts.blocks[c] + (column - parts.starts[c]) * width
            for other in range(parts.first[i], parts.first[i + 1]):
                if parts.component[parts.columns[other]] == c:
                    out[i] += entry * line[parts.columns[other] - parts.starts[c]] * parts.entries[other]


@internal
def own_delassus(parts: Parts, room: PartsWork, k: int, n: int, out: Floats):
    """Write W (n × n) of block k to ``out``."""
    fill(out, 0.0, n * n)
    for link in range(int(room.first[k]), int(room.first[k + 1])):
        if room.row_place[link] < 0.0:
            continue
        width = width_of(parts, int(room.joined[link]))
        own, columns = (
            room.own + int(room.row_place[link]),
            room.compliance_column + int(room.column_place[link]),
        )
        for i in range(n):
            for j in range(n):
                out[i * n + j] += dot(own + i * width, columns + j * width, width)
