"""Rows of contacts between geometries, at a step and at a state, stored in parts.

A row is stored in parts, one for each component of velocities that it depends on (two at most): the relative velocity
of both bodies at the contact point along the normal and two tangents, and their relative angular velocity.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.block_elimination import FREE
from sarrus.kernels.algebra.vectors import axpy, fill
from sarrus.kernels.contact.narrow_phase import FULL, find_contacts
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory.geometry_layout import ContactPoint, GeometryTable, GeometryWork
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import contact_point_at, internal


@internal
def along_parts(geometry: GeometryTable, room: GeometryWork, parts: Floats, row: int, v: Floats):
    """Return the product of a row, stored in ``parts``, and the generalized velocity v."""
    total = 0.0
    for s in range(2):
        c = int(room.shared[2 * row + s])
        if c >= 0:
            own, first = parts + (2 * row + s) * geometry.widest, geometry.starts[c]
            if geometry.starts[c + 1] - first == FREE:
                for j in range(FREE):
                    total += own[j] * v[geometry.order[first + j]]
            else:
                for j in range(geometry.starts[c + 1] - first):
                    total += own[j] * v[geometry.order[first + j]]
    return total


@internal
def add_parts(
    geometry: GeometryTable, room: GeometryWork, parts: Floats, row: int, factor: float, out: Floats
):
    """Add ``factor`` times a row, stored in ``parts``, to ``out`` (nv)."""
    for s in range(2):
        c = int(room.shared[2 * row + s])
        if c >= 0:
            own, first = parts + (2 * row + s) * geometry.widest, geometry.starts[c]
            if geometry.starts[c + 1] - first == FREE:
                for j in range(FREE):
                    out[geometry.order[first + j]] += own[j] * factor
            else:
                for j in range(geometry.starts[c + 1] - first):
                    out[geometry.order[first + j]] += own[j] * factor


@internal
def width_of(geometry: GeometryTable, body: int):
    """Return the number of velocities of the component of a body, 0 if its motion is prescribed."""
    c = geometry.owners[body]
    return geometry.starts[c + 1] - geometry.starts[c] if c >= 0 else 0


@internal
def tangent(nx: float, ny: float, nz: float):
    """Return the unit vector along e × n, e the coordinate axis with the smallest component of the unit vector n."""
    x, y, z = abs(nx), abs(ny), abs(nz)
    if x <= y and x <= z:
        size = np.sqrt(ny * ny + nz * nz)
        return 0.0, -nz / size, ny / size
    if y <= z:
        size = np.sqrt(nx * nx + nz * nz)
        return nz / size, 0.0, -nx / size
    size = np.sqrt(nx * nx + ny * ny)
    return -ny / size, nx / size, 0.0


@internal
def fill_contact_rows(
    geometry: GeometryTable,
    room: GeometryWork,
    motion: Floats,
    parts: Floats,
    own: Floats,
    first: int,
    seen: ContactPoint,
    known: ContactPoint,
):
    """Write the rows of the contact ``seen``, from row ``first`` on, to ``parts`` and ``own``.

    The first tangent is that of the contact ``known``, projected on the tangent plane of ``seen``.
    """
    pair = int(seen.pair)
    width = geometry.widths[pair]
    nx, ny, nz = seen.nx, seen.ny, seen.nz
    tx, ty, tz = tangent(known.nx, known.ny, known.nz)
    height = tx * nx + ty * ny + tz * nz
    tx, ty, tz = tx - height * nx, ty - height * ny, tz - height * nz
    size = np.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / size, ty / size, tz / size
    sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
    _begin_rows(geometry, room, pair, first, width, parts, own)
    _add_row(geometry, room, motion, parts, own, pair, first, seen, nx, ny, nz, 0.0)
    if width == 1:
        return
    _add_row(geometry, room, motion, parts, own, pair, first + 1, seen, tx, ty, tz, 0.0)
    _add_row(geometry, room, motion, parts, own, pair, first + 2, seen, sx, sy, sz, 0.0)
    if width == 4 or width == 6:
        _add_row(
            geometry, room, motion, parts, own, pair, first + 3, seen, nx, ny, nz, geometry.torsion[pair]
        )
    if width > 4:
        rolling, last = geometry.rolling[pair], first + width - 1
        _add_row(geometry, room, motion, parts, own, pair, last - 1, seen, tx, ty, tz, rolling)
        _add_row(geometry, room, motion, parts, own, pair, last, seen, sx, sy, sz, rolling)


@internal
def _begin_rows(
    geometry: GeometryTable, room: GeometryWork, pair: int, first: int, width: int, parts: Floats, own: Floats
):
    """Write the components that the rows of a contact depend on, and set their ``parts`` and ``own`` to zero."""
    one, other = geometry.bodies1[pair], geometry.bodies2[pair]
    c1 = geometry.owners[one] if one >= 0 else -1
    c2 = geometry.owners[other] if other >= 0 else -1
    for row in range(first, first + width):
        room.shared[2 * row], room.shared[2 * row + 1] = c2, c1 if c1 != c2 else -1
        fill(parts + 2 * row * geometry.widest, 0.0, 2 * geometry.widest)
        own[row] = 0.0


@internal
def _add_row(
    geometry: GeometryTable,
    room: GeometryWork,
    motion: Floats,
    parts: Floats,
    own: Floats,
    pair: int,
    row: int,
    seen: ContactPoint,
    dx: float,
    dy: float,
    dz: float,
    length: float,
):
    """Add the relative velocity of both bodies along d to a row.

    For ``length`` = 0 it is the velocity of the contact point, otherwise the angular velocity times ``length``.
    """
    for s in range(2):
        body = geometry.bodies2[pair] if s == 0 else geometry.bodies1[pair]
        if body < 0:
            continue
        sign = 1.0 if s == 0 else -1.0
        c = geometry.owners[body]
        at = parts + (2 * row + (0 if c == int(room.shared[2 * row]) else 1)) * geometry.widest
        n, moved = width_of(geometry, body), motion + geometry.offsets[body]
        x, y, z = _from_origin(room, body, seen)
        lx, ly, lz = sign * dx, sign * dy, sign * dz
        ax, ay, az = length * lx, length * ly, length * lz
        if length == 0.0:
            ax, ay, az = y * lz - z * ly, z * lx - x * lz, x * ly - y * lx
        else:
            lx, ly, lz = 0.0, 0.0, 0.0
        own[row] += (
            lx * moved[0] + ly * moved[1] + lz * moved[2] + ax * moved[3] + ay * moved[4] + az * moved[5]
        )
        axpy(lx, moved + 6, at, n)
        axpy(ly, moved + (6 + n), at, n)
        axpy(lz, moved + (6 + 2 * n), at, n)
        axpy(ax, moved + (6 + 3 * n), at, n)
        axpy(ay, moved + (6 + 4 * n), at, n)
        axpy(az, moved + (6 + 5 * n), at, n)


@internal
def _from_origin(room: GeometryWork, body: int, seen: ContactPoint):
    """Return the vector [m] from the origin of a body to the contact point."""
    origin = room.places + cl.N_POSE * body
    return seen.x - origin[0], seen.y - origin[1], seen.z - origin[2]


def find_contact_rows(table: cl.GeometryTable, x: cl.Floats, level: int) -> int:
    """Find the contacts at x with a gap up to ``level`` micrometres, and write their rows one after the other.

    There is room for six rows of each contact. Returns the number of contacts, or `FULL`.
    """
    count = find_contacts(table, x, level)
    if count == FULL:
        return FULL
    room, row = cl.geometry_work(table, cl.WIDEST * table.room, 0), 0
    call_native(table.motion, x, room.motion)
    for k in range(count):
        seen = contact_point_at(room.found + cl.N_SEEN * k)
        fill_contact_rows(table, room, room.motion, room.parts, room.own, row, seen, seen)
        row += table.widths[int(seen.pair)]
    return count
