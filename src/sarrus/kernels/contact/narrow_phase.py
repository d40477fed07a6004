"""Where geometries are near each other: MuJoCo's narrow phase, called for the pairs whose bounding spheres meet.

Its general function for convex bodies (GJK and EPA) takes the normal from the difference of the nearest points, of
which nothing is left where they touch: at a gap of 1e-12 the normal is wrong by 1e-4. So there the geometries are moved
into each other along it by 1e-8 of their size, which leaves normal and place as they are: then it is right to 1e-13.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import dot, is_finite
from sarrus.kernels.contact.tolerances import LOOK_AGAIN, MICROMETRE, PUSHED_DEEPER, SAME_NORMAL_AGAIN
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.platform.native_call import call_narrow_phase, call_native
from sarrus.kernels.platform.pointers import internal, met_at, seen_at

# No room for what was found.
FULL = -1


@internal
def place(colliding, x, places):
    """Put the geometries where bodies carry them at x."""
    call_native(colliding.placement, x, places)
    for k in range(colliding.moving):
        body, own, geom = (
            places + cl.N_POSE * colliding.carriers[k],
            colliding.poses + cl.N_POSE * k,
            colliding.geoms[k],
        )
        position, rotation = colliding.positions + 3 * geom, colliding.rotations + 9 * geom
        for i in range(3):
            turn = body + (3 + 3 * i)
            position[i] = body[i] + dot(turn, own, 3)
            for j in range(3):
                rotation[3 * i + j] = turn[0] * own[3 + j] + turn[1] * own[6 + j] + turn[2] * own[9 + j]


@internal
def collide(colliding, margin, out):
    """Write what is nearer than ``margin`` and the margin of its pair; return how much, `FULL` without room for it."""
    count = 0
    for k in range(colliding.pairs):
        limit = margin + colliding.margins[k]
        if not _may_meet(colliding, k, limit):
            continue
        found, moved = _look(colliding, k, limit)
        for i in range(found):
            met = met_at(colliding.contacts + i * colliding.stride)
            gap = met.distance - colliding.margins[k] + moved
            if gap > margin or not is_finite(met, cl.N_MET):
                continue
            if count == colliding.room:
                return FULL
            seen = seen_at(out + cl.N_SEEN * count)
            seen.pair, seen.gap = k, gap
            seen.x, seen.y, seen.z = met.x, met.y, met.z
            seen.nx, seen.ny, seen.nz = met.nx, met.ny, met.nz
            count += 1
    return count


@internal
def _may_meet(colliding, k, limit):
    """Tell whether the bounding spheres of a pair meet; of an unbounded plane, whether it meets that of the other."""
    one, other = colliding.positions + 3 * colliding.ones[k], colliding.positions + 3 * colliding.others[k]
    reach, square, height = colliding.reaches[k], 0.0, 0.0
    rotation = colliding.rotations + 9 * colliding.ones[k]
    for i in range(3):
        way = other[i] - one[i]
        square += way * way
        height += way * rotation[3 * i + 2]
    if reach < 0.0:
        return height <= limit - reach
    return square <= (reach + limit) * (reach + limit)


@internal
def _look(colliding, k, limit):
    """Have MuJoCo find the contacts of a pair; return how many, and by how much deeper they were looked for."""
    found = _call(colliding, k, limit)
    if found == 0 or colliding.general[k] == 0:
        return found, 0.0
    size, met, moved = abs(colliding.reaches[k]), met_at(colliding.contacts), 0.0
    deeper, place = PUSHED_DEEPER * size, colliding.positions + 3 * colliding.others[k]
    for _ in range(2):
        if not -0.5 * deeper < met.distance + moved < LOOK_AGAIN * size or moved > SAME_NORMAL_AGAIN * deeper:
            break
        nx, ny, nz, x, y, z = met.nx, met.ny, met.nz, place[0], place[1], place[2]
        place[0] -= deeper * nx
        place[1] -= deeper * ny
        place[2] -= deeper * nz
        found = _call(colliding, k, limit)
        place[0], place[1], place[2] = x, y, z
        if found == 0:
            return _call(colliding, k, limit), 0.0
        moved = deeper * (nx * met.nx + ny * met.ny + nz * met.nz)
    return found, moved


@internal
def _call(colliding, k, limit):
    """Call the function of a pair."""
    return call_narrow_phase(
        colliding.functions[k],
        colliding.mj_model,
        colliding.mj_data,
        colliding.contacts,
        colliding.ones[k],
        colliding.others[k],
        limit,
    )


def find_contacts(table: cl.Colliding, x: cl.Floats, what: int) -> int:
    """Write the contacts at x that are nearer than ``what`` micrometres to what was ``found``; return their number."""
    work = cl.colliding_work(table, 0, 0)
    place(table, x, work.places)
    return collide(table, MICROMETRE * what, work.found)


@internal
def nearest(seen, first, candidates, width, count):
    """Return which of the candidates is nearest to a contact of the same pair, −1: none is; and where to go on.

    Candidates ascend by pair; they are records of a width that begin with pair, gap and point. ``first`` is the
    earliest that counts, for contacts that ascend too.
    """
    while first < count and candidates[width * first] < seen.pair:
        first += 1
    best, least, at = -1, np.inf, first
    while at < count and candidates[width * at] == seen.pair:
        own = seen_at(candidates + width * at)
        square = (own.x - seen.x) ** 2 + (own.y - seen.y) ** 2 + (own.z - seen.z) ** 2
        if square < least:
            best, least = at, square
        at += 1
    return best, first
