"""Contact points of two boxes by the theorem of separating axes: two faces, or two edges that cross.

Two convex polyhedra are apart by at least the separation along any axis. For boxes 15 axes decide: the normals of the
faces of both, and the common normals of an edge of each (S. Gottschalk, M. Lin, D. Manocha, OBBTree, SIGGRAPH 1996).
The axis with the largest separation is the normal. If it is that of a face, the contact points are the corners of the
opposite face of the other box clipped by that face; else the nearest points of the two edges.

Ties are broken by index, and a face goes before edges, so that the points are the same on every machine.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import dot
from sarrus.kernels.contact.face_contacts import clip_faces, write_contacts
from sarrus.kernels.contact.tolerances import EDGES_BEFORE_FACES, PARALLEL_AXES_OF_BOXES, SAME_CORNER
from sarrus.kernels.memory.geometry_layout import GeometryTable
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal, raw_contact_at


@internal
def meet_boxes(geometry: GeometryTable, k: int, limit: float):
    """Write the contact points of a pair of boxes with gaps up to ``limit`` [m]; return their number."""
    one, other = geometry.ones[k], geometry.others[k]
    a, b = half_sizes(geometry, one), half_sizes(geometry, other)
    ra, rb = geometry.rotations + 9 * one, geometry.rotations + 9 * other
    xa, xb = geometry.positions + 3 * one, geometry.positions + 3 * other
    dx, dy, dz = xb[0] - xa[0], xb[1] - xa[1], xb[2] - xa[2]
    best, face, back = -np.inf, 0, False
    for i in range(6):
        r = ra if i < 3 else rb
        x, y, z = r[i % 3], r[3 + i % 3], r[6 + i % 3]
        along = dx * x + dy * y + dz * z
        apart = abs(along) - reach_along(ra, a, x, y, z) - reach_along(rb, b, x, y, z)
        if apart > limit:
            return 0
        if apart > best:
            best, face, back = apart, i, along < 0.0
    edge, least, nx, ny, nz = -1, best + EDGES_BEFORE_FACES * min_of(a, b), 0.0, 0.0, 0.0
    for i in range(3):
        for j in range(3):
            x = ra[3 + i] * rb[6 + j] - ra[6 + i] * rb[3 + j]
            y = ra[6 + i] * rb[j] - ra[i] * rb[6 + j]
            z = ra[i] * rb[3 + j] - ra[3 + i] * rb[j]
            size = np.sqrt(x * x + y * y + z * z)
            if size < PARALLEL_AXES_OF_BOXES:
                continue
            along = dx * x + dy * y + dz * z
            size = -size if along < 0.0 else size
            x, y, z = x / size, y / size, z / size
            apart = along / size - reach_along(ra, a, x, y, z) - reach_along(rb, b, x, y, z)
            if apart > limit:
                return 0
            if apart > least:
                edge, least, nx, ny, nz = 3 * i + j, apart, x, y, z
    if edge >= 0:
        return _cross(geometry, one, other, edge, least, nx, ny, nz)
    return _lie(geometry, one, other, face, back, limit)


@internal
def half_sizes(geometry: GeometryTable, geom: int):
    """Return the address of the half sizes of a box [m]: the first corner of its first face."""
    return geometry.face_corners + 3 * geometry.face_firsts[geometry.face_starts[geom]]


@internal
def reach_along(r: Floats, half: Floats, x: float, y: float, z: float):
    """Return how far a box with the rotation r reaches from its centre along a unit vector [m]."""
    reach = 0.0
    for i in range(3):
        reach += half[i] * abs(r[i] * x + r[3 + i] * y + r[6 + i] * z)
    return reach


@internal
def min_of(a: Floats, b: Floats):
    """Return the smallest half size of two boxes [m]."""
    return min(min(min(a[0], a[1]), a[2]), min(min(b[0], b[1]), b[2]))


@internal
def _lie(geometry: GeometryTable, one: int, other: int, face: int, back: bool, limit: float):
    """Write the corners of the overlap of two faces; ``back``: the second box is on the side against the axis."""
    turned = face >= 3
    if turned:
        one, other, back = other, one, not back
    first = geometry.face_starts[one] + 2 * (face % 3) + (1 if back else 0)
    r, normal = geometry.rotations + 9 * one, geometry.face_normals + 3 * first
    nx, ny, nz = dot(r, normal, 3), dot(r + 3, normal, 3), dot(r + 6, normal, 3)
    r, steepest, second = geometry.rotations + 9 * other, -1.0, 0
    for i in range(3):
        cosine = r[i] * nx + r[3 + i] * ny + r[6 + i] * nz
        if abs(cosine) > steepest:
            steepest, second = abs(cosine), 2 * i + (1 if cosine > 0.0 else 0)
    many = clip_faces(geometry, one, first, other, geometry.face_starts[other] + second, nx, ny, nz)
    same = (SAME_CORNER * (geometry.radii[one] + geometry.radii[other])) ** 2
    return write_contacts(geometry, first, many, limit, same, nx, ny, nz, turned)


@internal
def _cross(
    geometry: GeometryTable, one: int, other: int, edge: int, gap: float, nx: float, ny: float, nz: float
):
    """Write the contact point of two edges with the unit normal n from the first box to the second; return 1."""
    i, j = edge // 3, edge % 3
    ra, rb = geometry.rotations + 9 * one, geometry.rotations + 9 * other
    a, b = half_sizes(geometry, one), half_sizes(geometry, other)
    xa, xb = geometry.positions + 3 * one, geometry.positions + 3 * other
    px, py, pz, qx, qy, qz = xa[0], xa[1], xa[2], xb[0], xb[1], xb[2]
    for m in range(3):
        if m != i:
            half = a[m] if ra[m] * nx + ra[3 + m] * ny + ra[6 + m] * nz > 0.0 else -a[m]
            px, py, pz = px + half * ra[m], py + half * ra[3 + m], pz + half * ra[6 + m]
        if m != j:
            half = -b[m] if rb[m] * nx + rb[3 + m] * ny + rb[6 + m] * nz > 0.0 else b[m]
            qx, qy, qz = qx + half * rb[m], qy + half * rb[3 + m], qz + half * rb[6 + m]
    wx, wy, wz = qx - px, qy - py, qz - pz
    cosine = ra[i] * rb[j] + ra[3 + i] * rb[3 + j] + ra[6 + i] * rb[6 + j]
    along = wx * ra[i] + wy * ra[3 + i] + wz * ra[6 + i]
    across = wx * rb[j] + wy * rb[3 + j] + wz * rb[6 + j]
    s = (along - cosine * across) / (1.0 - cosine * cosine)
    met = raw_contact_at(geometry.contacts)
    met.distance, met.nx, met.ny, met.nz = gap, nx, ny, nz
    met.x = px + s * ra[i] + 0.5 * gap * nx
    met.y = py + s * ra[3 + i] + 0.5 * gap * ny
    met.z = pz + s * ra[6 + i] + 0.5 * gap * nz
    return 1
