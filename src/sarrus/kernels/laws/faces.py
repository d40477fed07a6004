"""Faces of the limits on which all best answers of a level lie, and the programs of later levels on these.

Where a level is as near to what it wants as limits allow, rows with multipliers hold in every answer that is as good:
a half-line with z > 0 is at its end, s = 0; a cone with z on its boundary has s along the ray (z₀, −z̄), one with z
inside has s = 0. What later levels may do is to be sought there: inside the limits as they were nothing is left but
rounding. So rows that are at their end are taken out, a ray is a half-line, and the directions across are used up.

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

# Rows of limits: free, on a ray, at their ends; a ray since this program; half-lines that are too far away to take
# part, those of later levels, and those that may be missed.
FREE, RAY, ENDED, NEW_RAY, IDLE, LATER, SLACK = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0


@internal
def kind_of_faces(faces: Floats, count: int, kind: float):
    """Return what tells programs on different faces apart, from what tells them apart without; rows that are too far
    away are as good as free."""
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
    """Note on which faces the rows of a solved program are whose multipliers count, and write the rows across these.

    ``whole`` are the sizes of the cones of the whole program, ``width`` the number of its variables, the first ``free``
    of them directions. Returns how many rows there are.
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
    """Mark the face of a cone whose rows begin at ``at``, and write its rows to ``out``; return their new count."""
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
    """Write a row at unit length behind the others, unless it is zero; return how many there are."""
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
    """Write rows over the unknowns, of the given size, as rows across directions; return how many there are."""
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
    """Turn the directions so that those along which rows move come first; return how many are used up with these."""
    free = unknowns - used
    A = fa.Matrix(out.rows, count, free, order, out.diagonal, out.beta, out.beta2, out.norms)
    rank = fa.factor(A, free, FACE_CUT, 1.0)
    for k in range(unknowns if rank > 0 else 0):
        fa.apply_q_transposed(A, rank, turned + (k * unknowns + used))
    return used + max(rank, 0)
