"""Contact points of two flat faces of boxes, cylinders and convex hulls: the corners of their overlap.

MuJoCo's function for convex bodies keeps four of these corners, so that a body that hangs over may seem to tip. The
face of one body is clipped by the edges of the other, the reference face, whose normal is the normal of all contacts.
The ends of cylinders are polygons with a corner at their lowest point.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, dot
from sarrus.kernels.contact.tolerances import FACES_ALIGNED, LEVEL_END, MESH_GAPS, ROUND_GAPS, SAME_CORNER
from sarrus.kernels.memory.geometry_layout import GeometryTable
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal, raw_contact_at


@internal
def meet_by_faces(geometry: GeometryTable, k: int, found: int, limit: float, exact: bool):
    """Replace the contacts of a pair by the corners of the overlap of two aligned faces, with gaps up to ``limit`` [m].

    The first of ``found`` contacts in ``geometry.contacts`` has the normal. Returns the number of contacts, or −1 if
    the pair has no such faces, or if a contact found is deeper than the overlap; then nothing is changed. An ``exact``
    contact that is deeper is kept beside the corners: a rim is deeper than its corners where it crosses an edge.
    """
    one, other, met = geometry.ones[k], geometry.others[k], raw_contact_at(geometry.contacts)
    first, aligned1 = _nearest_face(geometry, one, met.nx, met.ny, met.nz)
    second, aligned2 = _nearest_face(geometry, other, -met.nx, -met.ny, -met.nz)
    if aligned1 < FACES_ALIGNED or aligned2 < FACES_ALIGNED:
        return -1
    turned = aligned2 > aligned1 and geometry.face_firsts[first + 1] > geometry.face_firsts[first]
    if turned:
        one, other, first, second = other, one, second, first
    rotation, normal = geometry.rotations + 9 * one, geometry.face_normals + 3 * first
    nx, ny, nz = dot(rotation, normal, 3), dot(rotation + 3, normal, 3), dot(rotation + 6, normal, 3)
    many = clip_faces(geometry, one, first, other, second, nx, ny, nz)
    base, now = geometry.polygon, _overlap(geometry, first)
    slack = ROUND_GAPS if geometry.rounds[one] + geometry.rounds[other] != 0 else MESH_GAPS
    lowest, known = np.inf, np.inf
    for j in range(many):
        lowest = min(lowest, _height(now + 3 * j, base, nx, ny, nz))
    for j in range(found):
        known = min(known, raw_contact_at(geometry.contacts + j * geometry.stride).distance)
    size_of_pair = geometry.radii[one] + geometry.radii[other]
    deeper = lowest > known + slack * size_of_pair
    if lowest > limit or (deeper and not exact):
        return -1
    same = (SAME_CORNER * size_of_pair) ** 2
    distance, x, y, z, mx, my, mz = met.distance, met.x, met.y, met.z, met.nx, met.ny, met.nz
    count = write_contacts(geometry, first, many, limit, same, nx, ny, nz, turned)
    if deeper:
        met = raw_contact_at(geometry.contacts + count * geometry.stride)
        met.distance, met.x, met.y, met.z, met.nx, met.ny, met.nz = distance, x, y, z, mx, my, mz
        count += 1
    return count


@internal
def _overlap(geometry: GeometryTable, first: int):
    """Return the address of the corners of an overlap, behind those of its reference face, or a point of a plane."""
    count = geometry.face_firsts[first + 1] - geometry.face_firsts[first]
    return geometry.polygon + 3 * max(count, 1)


@internal
def clip_faces(
    geometry: GeometryTable, one: int, first: int, other: int, second: int, nx: float, ny: float, nz: float
):
    """Write the reference face ``first`` of geometry ``one`` to ``geometry.polygon``, and behind it the part of face
    ``second`` of ``other`` that is above it. n is the normal of the reference face. Returns the corners of that part.
    """
    base, now = geometry.polygon, _overlap(geometry, first)
    then = now + geometry.polygon_size
    size = _write_corners(geometry, one, first, other, second, base)
    if size == 0:  # a plane
        copy(geometry.positions + 3 * one, base, 3)
    many = _write_corners(geometry, other, second, one, first, now)
    for j in range(size):
        begin, end = base + 3 * j, base + 3 * ((j + 1) % size)
        ex, ey, ez = end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]
        many = _clip(now, many, begin, ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex, then)
        now, then = then, now
    if size % 2 == 1:
        copy(now, then, 3 * many)
    return many


@internal
def _height(x: Floats, base: Floats, nx: float, ny: float, nz: float):
    """Return the height of x [m] above the plane through ``base`` with the unit normal n."""
    return nx * (x[0] - base[0]) + ny * (x[1] - base[1]) + nz * (x[2] - base[2])


@internal
def _nearest_face(geometry: GeometryTable, geom: int, nx: float, ny: float, nz: float):
    """Return the face of a geometry whose outward normal is nearest to n, and the cosine of the angle between them."""
    rotation, best, aligned = geometry.rotations + 9 * geom, -1, -2.0
    x = rotation[0] * nx + rotation[3] * ny + rotation[6] * nz
    y = rotation[1] * nx + rotation[4] * ny + rotation[7] * nz
    z = rotation[2] * nx + rotation[5] * ny + rotation[8] * nz
    for face in range(geometry.face_starts[geom], geometry.face_starts[geom + 1]):
        normal = geometry.face_normals + 3 * face
        cosine = normal[0] * x + normal[1] * y + normal[2] * z
        if cosine > aligned:
            best, aligned = face, cosine
    return best, aligned


@internal
def _write_corners(geometry: GeometryTable, geom: int, face: int, other: int, opposite: int, out: Floats):
    """Write the corners of a face [m], counterclockwise about its outward normal, to ``out``; return their number.

    Those of a round face are turned so that one lies lowest towards the ``opposite`` face of the ``other`` geometry.
    """
    rotation, position = geometry.rotations + 9 * geom, geometry.positions + 3 * geom
    first, cosine, sine = geometry.face_firsts[face], 1.0, 0.0
    if geometry.rounds[geom] != 0:
        turn, normal = geometry.rotations + 9 * other, geometry.face_normals + 3 * opposite
        wx, wy, wz = dot(turn, normal, 3), dot(turn + 3, normal, 3), dot(turn + 6, normal, 3)
        x = -(rotation[0] * wx + rotation[3] * wy + rotation[6] * wz)
        y = -(rotation[1] * wx + rotation[4] * wy + rotation[7] * wz)
        lean = np.sqrt(x * x + y * y)
        if lean > LEVEL_END:
            cosine, sine = x / lean, y / lean
    count = geometry.face_firsts[face + 1] - first
    for j in range(count):
        corner, at = geometry.face_corners + 3 * (first + j), out + 3 * j
        x, y = cosine * corner[0] - sine * corner[1], sine * corner[0] + cosine * corner[1]
        for i in range(3):
            at[i] = (
                position[i] + rotation[3 * i] * x + rotation[3 * i + 1] * y + rotation[3 * i + 2] * corner[2]
            )
    return count


@internal
def _clip(now: Floats, many: int, begin: Floats, dx: float, dy: float, dz: float, then: Floats):
    """Write the part of a polygon with d · (x − begin) ≥ 0 to ``then``; return its number of corners."""
    kept = 0
    for j in range(many):
        a, b = now + 3 * j, now + 3 * ((j + 1) % many)
        here = dx * (a[0] - begin[0]) + dy * (a[1] - begin[1]) + dz * (a[2] - begin[2])
        there = dx * (b[0] - begin[0]) + dy * (b[1] - begin[1]) + dz * (b[2] - begin[2])
        if here >= 0.0:
            for i in range(3):
                then[3 * kept + i] = a[i]
            kept += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            part = here / (here - there)
            for i in range(3):
                then[3 * kept + i] = a[i] + part * (b[i] - a[i])
            kept += 1
    return kept


@internal
def write_contacts(
    geometry: GeometryTable,
    first: int,
    many: int,
    limit: float,
    same: float,
    nx: float,
    ny: float,
    nz: float,
    turned: bool,
):
    """Write the corners of the overlap of `clip_faces` with a gap above the face up to ``limit`` [m] as contacts.

    n is the outward normal of the reference face ``first``; ``turned``: it is that of the second
    geometry. Corners whose square of the distance is up to ``same`` count once. Returns the number of contacts.
    """
    count, sign, base, polygon = 0, -1.0 if turned else 1.0, geometry.polygon, _overlap(geometry, first)
    for j in range(many):
        x, before = polygon + 3 * j, polygon + 3 * ((j + many - 1) % many)
        square = (x[0] - before[0]) ** 2 + (x[1] - before[1]) ** 2 + (x[2] - before[2]) ** 2
        height = _height(x, base, nx, ny, nz)
        if (square <= same and many > 1) or height > limit:
            continue
        met = raw_contact_at(geometry.contacts + count * geometry.stride)
        met.distance = height
        met.x, met.y, met.z = x[0] - 0.5 * height * nx, x[1] - 0.5 * height * ny, x[2] - 0.5 * height * nz
        met.nx, met.ny, met.nz = sign * nx, sign * ny, sign * nz
        count += 1
    return count
