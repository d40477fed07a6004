"""Active set of a priority level: faces of the limits that contain all optimal solutions, for the levels below.

Rows with positive multipliers at the optimum are active in every optimal solution of a level. A half-line with z > 0
is at its end, s = 0. A cone with z on its boundary has s along the ray (z₀, −z̄); a cone with z inside has s = 0.
Lower levels are solved on this face: within the original limits their feasible set would have no interior. So rows at
their ends are removed, a ray becomes a half-line, and the directions across the face are used up.

``faces`` has an entry for each half-line and each cone of the whole program: free, on a ray, or at its end.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.vectors import axpy, copy, copy_scaled, dot, fill
from sarrus.kernels.laws.tolerances import FACE_CUT, FACE_HASH_SIZE, FREE_ROW, ON_CONE_BOUNDARY
from sarrus.kernels.memory.cone_layout import ConeWorkspace
from sarrus.kernels.memory.law_contact_layout import Across
from sarrus.kernels.memory.record import Floats, Integers
from sarrus.kernels.platform.pointers import internal

# States of the rows of limits: free, on a ray, at their ends, on a ray since this program; half-lines outside the
# working set, half-lines of later levels, half-lines with a slack variable.
FREE, RAY, ENDED, NEW_RAY, IDLE, LATER, SLACK = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0


@internal
def kind_of_faces(faces: Floats, count: int, kind: float):
    """Return the hash of the active set, added to the hash of the program ``kind``.

    IDLE rows (half-lines outside the working set) count as FREE.
    """
    for i in range(count):
        kind = 7.0 * kind + (FREE if faces[i] == IDLE else faces[i])
        kind -= FACE_HASH_SIZE * int(kind / FACE_HASH_SIZE)
    return kind + 1.0


@internal
def mark(
    cone: ConeWorkspace,
    linear: int,
    cones: int,
    whole: Integers,
    width: int,
    free: int,
    least: float,
    faces: Floats,
    out: Across,
):
    """Write the face of each row with a multiplier above ``least`` to ``faces``, and the rows across the faces to
    ``out``.

    ``whole`` are the sizes of the cones of the whole program, ``width`` the number of its variables, the first
    ``free`` of them directions. Returns the number of rows in ``out``.
    """
    count, at = 0, 0
    for i in range(linear):
        if faces[i] == FREE:
            if cone.z[at] > least:
                faces[i] = ENDED
                count = _across(cone.rows + at * width, free, out, count)
            at += 1
    for c in range(cones):
        if faces[linear + c] == RAY:
            if cone.z[at] > least:
                faces[linear + c] = NEW_RAY
                count = _across(cone.rows + at * width, free, out, count)
            at += 1
    for i in range(linear):
        at += 1 if faces[i] == SLACK else 0
    for c in range(cones):
        size = whole[c]
        if faces[linear + c] == NEW_RAY:
            faces[linear + c] = ENDED
        elif faces[linear + c] == FREE:
            count = _mark_cone(cone, size, at, width, free, least, faces + (linear + c), out, count)
            at += size
    return count


@internal
def _mark_cone(
    cone: ConeWorkspace,
    size: int,
    at: int,
    width: int,
    free: int,
    least: float,
    face: Floats,
    out: Across,
    count: int,
):
    """Write the face of a cone whose rows begin at ``at``, and its rows to ``out``; return the number of rows in
    ``out``."""
    outer = cone.z + (at + 1)
    length = np.sqrt(dot(outer, outer, size - 1))
    if not max(cone.z[at], length) > least:
        return count
    if cone.z[at] - length > ON_CONE_BOUNDARY * cone.z[at]:
        face[0] = ENDED
        for i in range(size):
            count = _across(cone.rows + (at + i) * width, free, out, count)
        return count
    face[0] = RAY
    row = out.rows + count * free  # the ray is (1, −z̄/‖z̄‖)
    copy(cone.rows + at * width, row, free)
    for i in range(1, size):
        axpy(cone.z[at + i] / length, cone.rows + (at + i) * width, row, free)
    count = _across(row, free, out, count)
    for i in range(1, size):
        row = out.rows + count * free
        copy(cone.rows + (at + i) * width, row, free)
        for j in range(1, size):
            weight = -cone.z[at + i] * cone.z[at + j] / length**2
            axpy(weight, cone.rows + (at + j) * width, row, free)
        count = _across(row, free, out, count)
    return count


@internal
def _across(row: Floats, free: int, out: Across, count: int):
    """Append a row (free,), scaled to unit length, to ``out`` unless it is zero; return the number of rows in
    ``out``."""
    size = np.sqrt(dot(row, row, free))
    if not size > FREE_ROW:
        return count
    copy_scaled(1.0 / size, row, out.rows + count * free, free)
    return count + 1


@internal
def add_across(
    rows: Floats,
    first: int,
    end: int,
    unknowns: int,
    turned: Floats,
    used: int,
    scale: float,
    out: Across,
    count: int,
):
    """Append the rows first … end − 1 (over the unknowns, divided by ``scale``) to ``out``; return its number of
    rows.

    Rows in ``out`` are over the directions that are free, ``turned[:, used:]``.
    """
    free = unknowns - used
    for i in range(first, end):
        row = out.rows + count * free
        fill(row, 0.0, free)
        for k in range(unknowns):
            if rows[i * unknowns + k] != 0.0:
                axpy(rows[i * unknowns + k] / scale, turned + (k * unknowns + used), row, free)
        count = _across(row, free, out, count)
    return count


@internal
def use_up(turned: Floats, unknowns: int, used: int, out: Across, count: int, order: Integers):
    """Rotate the free directions turned[:, used:] so that directions changed by ``out`` come first; return the number
    used up.

    It is ``used`` plus the rank of the ``count`` rows in ``out``.
    """
    free = unknowns - used
    A = fa.Matrix(out.rows, count, free, order, out.diagonal, out.beta, out.beta2, out.norms)
    rank = fa.factor(A, free, FACE_CUT, 1.0)
    for k in range(unknowns if rank > 0 else 0):
        fa.apply_q_transposed(A, rank, turned + (k * unknowns + used))
    return used + max(rank, 0)
