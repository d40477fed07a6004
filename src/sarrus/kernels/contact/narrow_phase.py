"""Contact points of geometries: a narrow phase, called for the pairs whose bounding spheres overlap.

Two boxes have a narrow phase of their own (`sarrus.kernels.contact.box_boxes`), and so have ellipsoids, cylinders,
capsules, balls and boxes where MuJoCo has only its general one (`sarrus.kernels.geometry.support_contacts`). Others
have that of MuJoCo. Where the side of a cylinder or capsule lies along a face or a side, the two ends of the line are
MuJoCo's, if the gap is the exact one.

MuJoCo's general function for convex bodies (GJK and EPA) takes the normal from the difference of the nearest points,
which vanishes at contact: at a gap of 1e-12 the normal is wrong by 1e-4. At small gaps the geometries are therefore
moved into each other along the normal by 1e-8 of their size, which changes neither normal nor contact point: the
normal is then right to 1e-13.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import dot, is_finite
from sarrus.kernels.contact.box_boxes import meet_boxes
from sarrus.kernels.contact.face_contacts import meet_by_faces
from sarrus.kernels.contact.tolerances import (
    FACES_ALIGNED,
    LOOK_AGAIN,
    MICROMETRE,
    PUSHED_DEEPER,
    SAME_GAP,
    SAME_NORMAL_AGAIN,
)
from sarrus.kernels.geometry.support_contacts import meet_by_supports
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory.geometry_layout import ContactPoint, GeometryTable
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_narrow_phase, call_native
from sarrus.kernels.platform.pointers import contact_point_at, internal, raw_contact_at

# More contacts were found than there is room for.
FULL = -1


@internal
def place(geometry: GeometryTable, x: Floats, places: Floats):
    """Write the positions and rotations of the geometries at x; the poses of the bodies go to ``places``."""
    call_native(geometry.placement, x, places)
    for k in range(geometry.moving):
        body, own, geom = (
            places + cl.N_POSE * geometry.carriers[k],
            geometry.poses + cl.N_POSE * k,
            geometry.geoms[k],
        )
        position, rotation = geometry.positions + 3 * geom, geometry.rotations + 9 * geom
        for i in range(3):
            turn = body + (3 + 3 * i)
            position[i] = body[i] + dot(turn, own, 3)
            for j in range(3):
                rotation[3 * i + j] = turn[0] * own[3 + j] + turn[1] * own[6 + j] + turn[2] * own[9 + j]


@internal
def collide(geometry: GeometryTable, margin: float, out: Floats):
    """Write the contact points with a gap up to ``margin`` [m] to ``out``; return their number, `FULL` if too many.

    The gap is the distance less the margin of the pair.
    """
    count = 0
    for k in range(geometry.pairs):
        limit = margin + geometry.event_functions[k]
        if not _may_meet(geometry, k, limit):
            continue
        found, moved = _look(geometry, k, limit)
        for i in range(found):
            met = raw_contact_at(geometry.contacts + i * geometry.stride)
            gap = met.distance - geometry.event_functions[k] + moved
            if gap > margin or not is_finite(met, cl.N_MET):
                continue
            if count == geometry.room:
                return FULL
            seen = contact_point_at(out + cl.N_SEEN * count)
            seen.pair, seen.gap = k, gap
            seen.x, seen.y, seen.z = met.x, met.y, met.z
            seen.nx, seen.ny, seen.nz = met.nx, met.ny, met.nz
            count += 1
    return count


@internal
def _may_meet(geometry: GeometryTable, k: int, limit: float):
    """Return True if the bounding spheres (or plane and sphere) of a pair are within ``limit`` [m] of each other."""
    one, other = geometry.positions + 3 * geometry.ones[k], geometry.positions + 3 * geometry.others[k]
    reach, square, height = geometry.reaches[k], 0.0, 0.0
    rotation = geometry.rotations + 9 * geometry.ones[k]
    for i in range(3):
        way = other[i] - one[i]
        square += way * way
        height += way * rotation[3 * i + 2]
    if reach < 0.0:
        return height <= limit - reach
    return square <= (reach + limit) * (reach + limit)


@internal
def _look(geometry: GeometryTable, k: int, limit: float):
    """Return the number of contacts found of a pair, and the depth [m] by which it was pushed together."""
    if geometry.functions[k] == 0:
        return meet_boxes(geometry, k, limit), 0.0
    if geometry.sums[k] != 0:
        found = meet_by_supports(geometry, k, limit)
        if found > 0 and geometry.flats[k] != 0:
            found = max(found, meet_by_faces(geometry, k, found, limit, True))
        if found == 1 and geometry.sums[k] == cl.HAS_LINES:
            found = _lie_along(geometry, k, limit)
        if found >= 0:
            return found, 0.0
    found = _call(geometry, k, limit)
    if found > 0 and geometry.flats[k] != 0:
        by_faces = meet_by_faces(geometry, k, found, limit, False)
        if by_faces > 0:
            return by_faces, 0.0
    if found == 0 or geometry.general[k] == 0:
        return found, 0.0
    size, met, moved = abs(geometry.reaches[k]), raw_contact_at(geometry.contacts), 0.0
    deeper, place = PUSHED_DEEPER * size, geometry.positions + 3 * geometry.others[k]
    for _ in range(2):
        if not -0.5 * deeper < met.distance + moved < LOOK_AGAIN * size or moved > SAME_NORMAL_AGAIN * deeper:
            break
        nx, ny, nz, x, y, z = met.nx, met.ny, met.nz, place[0], place[1], place[2]
        place[0] -= deeper * nx
        place[1] -= deeper * ny
        place[2] -= deeper * nz
        found = _call(geometry, k, limit)
        place[0], place[1], place[2] = x, y, z
        if found == 0:
            return _call(geometry, k, limit), 0.0
        moved = deeper * (nx * met.nx + ny * met.ny + nz * met.nz)
    return found, moved


@internal
def _lie_along(geometry: GeometryTable, k: int, limit: float):
    """Replace the exact contact by two or more of MuJoCo's where a side lies along a face or a side.

    They have to have the same gap and, up to the angle at which faces are flat on each other, the same normal. Returns
    the number of contacts.
    """
    met = raw_contact_at(geometry.contacts)
    gap, x, y, z, nx, ny, nz = met.distance, met.x, met.y, met.z, met.nx, met.ny, met.nz
    found, least, aligned = _call(geometry, k, limit), np.inf, 1.0
    for i in range(found):
        other = raw_contact_at(geometry.contacts + i * geometry.stride)
        least = min(least, other.distance)
        aligned = min(aligned, other.nx * nx + other.ny * ny + other.nz * nz)
    same = abs(least - gap) <= SAME_GAP * abs(geometry.reaches[k])
    if found > 1 and same and aligned >= FACES_ALIGNED:
        return found
    met.distance, met.x, met.y, met.z, met.nx, met.ny, met.nz = gap, x, y, z, nx, ny, nz
    return 1


@internal
def _call(geometry: GeometryTable, k: int, limit: float):
    """Return the number of contacts that MuJoCo's function of a pair writes to ``geometry.contacts``."""
    return call_narrow_phase(
        geometry.functions[k],
        geometry.mj_model,
        geometry.mj_data,
        geometry.contacts,
        geometry.ones[k],
        geometry.others[k],
        limit,
    )


def find_contacts(table: cl.GeometryTable, x: cl.Floats, level: int) -> int:
    """Write the contacts at x with a gap up to ``level`` micrometres to ``found``; return their number or `FULL`."""
    work = cl.geometry_work(table, 0, 0)
    place(table, x, work.places)
    return collide(table, MICROMETRE * level, work.found)


@internal
def nearest(seen: ContactPoint, first: int, candidates: Floats, width: int, count: int):
    """Return the number of the candidate nearest to a contact of the same pair (−1: none), and the next ``first``.

    The candidates are ``count`` records of ``width`` numbers, sorted by pair, that begin with pair, gap and point.
    The search starts at record ``first``; the contacts of successive calls are sorted by pair, too.
    """
    while first < count and candidates[width * first] < seen.pair:
        first += 1
    best, least, at = -1, np.inf, first
    while at < count and candidates[width * at] == seen.pair:
        own = contact_point_at(candidates + width * at)
        square = (own.x - seen.x) ** 2 + (own.y - seen.y) ** 2 + (own.z - seen.z) ** 2
        if square < least:
            best, least = at, square
        at += 1
    return best, first
