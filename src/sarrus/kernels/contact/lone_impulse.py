"""Impulse of a single contact with Newton's law of restitution and Coulomb friction.

The normal velocity becomes −e u_n⁻. The contact sticks if the friction cone contains the necessary impulse; else it
slides in the direction d of the velocity after the impact, r = r_n (1, −μ d): a closed form for one tangential row, an
iteration for two.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.contact import friction as fr
from sarrus.kernels.contact.tolerances import (
    DEPENDENT_CONTACT_PIVOT,
    SAME_SLIDING,
    SLIDING_ROUNDS,
    STICKING_RESIDUAL,
)
from sarrus.kernels.memory import impact_layout as il
from sarrus.kernels.memory.impact_layout import LoneImpact
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


def lone_impulse(table: LoneImpact, x: Floats, level: int) -> int:
    """Write the impulse of a single contact; return `IMPULSE_FOUND` or `NO_IMPULSE`. ``x``, ``level`` are not used."""
    law = table.law
    found = find_lone_impulse(
        table.delassus, table.velocities, table.rows, law[0], law[1], table.impulse, table.room
    )
    return il.IMPULSE_FOUND if found else il.NO_IMPULSE


@internal
def find_lone_impulse(
    W: Floats, u: Floats, m: int, rebound: float, friction: float, out: Floats, room: Floats
):
    """Write the impulse (m) to ``out``; False if no simple solution exists. ``room`` has m² + 3 m numbers.

    False if friction may hold the contact against its normal (μ ‖W_tn‖ ≥ W_nn, Painlevé), or if directions do not
    converge.
    """
    compliance, missing, coupled = W[0], rebound - u[0], False
    if not 0.0 < compliance < np.inf:
        return False
    column = room + m * m
    for k in range(1, m):
        column[k] = W[k * m]
        for j in range(1, m):
            coupled = coupled or W[k * m + j] != 0.0
        coupled = coupled or column[k] != 0.0
    if friction == 0.0 or missing <= 0.0 or not coupled:
        fill(out, 0.0, m)
        out[0] = max(0.0, missing / compliance)
        return True
    if not friction * fr.length(column + 1, m - 1) < compliance:
        return False
    sticks = sticking_impulse(W, u, m, missing, out, room)
    if sticks and fr.length(out + 1, m - 1) <= friction * out[0]:
        return True
    return _sliding(W, u, m, missing, friction, sticks, out, room)


@internal
def sticking_impulse(W: Floats, u: Floats, m: int, missing: float, out: Floats, room: Floats):
    """Write the impulse of a sticking contact; False if there is none, or if its rows are dependent.

    Rows without compliance, such as those normal to a planar mechanism, have no impulse.
    """
    A, right, largest = room, room + m * m, 0.0
    for k in range(m):
        largest = max(largest, W[k * (m + 1)])
        right[k] = -u[k]
    right[0] = missing
    least, size = DEPENDENT_CONTACT_PIVOT * largest, fr.length(right, m)
    copy(W, A, m * m)
    for k in range(m):
        if not W[k * (m + 1)] > least:
            if k == 0 or u[k] != 0.0:
                return False
            for j in range(m):
                A[k * m + j] = A[j * m + k] = 0.0
            A[k * (m + 1)], right[k] = 1.0, 0.0
    for k in range(m):
        if W[k * (m + 1)] > least and not A[k * (m + 1)] > least:
            return False
        for i in range(k + 1, m):
            share = A[i * m + k] / A[k * (m + 1)]
            axpy(-share, A + (k * m + k), A + (i * m + k), m - k)
            right[i] -= share * right[k]
    for k in range(m - 1, -1, -1):
        rest = m - 1 - k
        out[k] = (right[k] - dot(A + (k * m + k + 1), out + (k + 1), rest)) / A[k * (m + 1)]
    for k in range(m):
        right[k] = dot(W + k * m, out, m) - (missing if k == 0 else -u[k])
    return fr.length(right, m) <= STICKING_RESIDUAL * size


@internal
def _sliding(
    W: Floats, u: Floats, m: int, missing: float, friction: float, sticks: bool, out: Floats, room: Floats
):
    """Write the impulse of a sliding contact; False if no direction is found."""
    unit, way, slip = room, room + m * m, room + (m * m + m)
    n = m - 1
    for j in range(n):
        way[j] = u[1 + j]
    if sticks and not fr.length(way, n) > 0.0:
        for j in range(n):
            way[j] = -out[1 + j]
    size = fr.length(way, n)
    if not size > 0.0:
        return False
    for j in range(n):
        way[j] /= size
    for _ in range(SLIDING_ROUNDS):
        unit[0], change = 1.0, 0.0
        for j in range(n):
            unit[1 + j] = -friction * way[j]
        normal = missing / dot(W, unit, m)
        for j in range(n):
            slip[j] = u[1 + j] + normal * dot(W + (1 + j) * m, unit, m)
        size = fr.length(slip, n)
        if not (normal > 0.0 and 0.0 < size < np.inf):
            return False
        for j in range(n):
            change = max(change, abs(slip[j] / size - way[j]))
        if change <= SAME_SLIDING:
            for k in range(m):
                out[k] = normal * unit[k]
            return True
        for j in range(n):
            way[j] = slip[j] / size
    return False
