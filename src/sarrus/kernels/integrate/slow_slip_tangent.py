"""Derivatives of the friction direction of `sarrus.kernels.contact.slow_slip`, by the implicit function theorem.

The equations for the forces r of the held rows and the direction d have the matrix of Newton's method. A change of
the state changes their right-hand side by the change of the row accelerations at constant r and d. If the direction
is a mean with the slip direction, d is taken for the solution of the equations.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.dense import eliminate
from sarrus.kernels.algebra.vectors import axpy, dot, fill, is_finite
from sarrus.kernels.contact.rows import along
from sarrus.kernels.contact.slow_slip import friction_slip
from sarrus.kernels.contact.tolerances import (
    ACROSS_SLIP_RATE,
    SAME_SLIP_DIRECTION,
    SLIP_STEERED,
    SLOW_SLIP_RIDGE,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork, PhaseTangent
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


@internal
def slow_contact(contact_table: ContactTable, work: ContactWork):
    """Return the number of the only slow contact with two or more tangential rows; −1 if none or several."""
    found, count, slow = -1, 0, SLIP_STEERED * contact_table.settings.slow_speed
    for k in range(contact_table.contacts):
        if (
            contact_table.modes[k] == tl.SLIDING
            and contact_table.friction[k] != 0.0
            and contact_table.sizes[k] > 2
        ):
            slip, n = work.native + (contact_table.first_rows[k] + 1), contact_table.sizes[k] - 1
            if dot(slip, slip, n) < slow * slow:
                found, count = k, count + 1
    return found if count == 1 else -1


@internal
def load_steering(table: Table, m: int, k: int, a: Floats, own: PhaseTangent, work: ContactWork):
    """Write the inverse of Newton's matrix at the forces of m held rows and the direction of contact k.

    ``a`` (nv) is the acceleration at this state. Returns False if the direction is that of the slip, if a compliance
    column is not known, or if the matrix is singular.
    """
    contact_table, nv, row = table.contact_table, table.nv, table.contact_table.first_rows[k]
    n, mu, push = contact_table.sizes[k] - 1, contact_table.friction[k], contact_table.forces[row]
    count, normal, W, d = m + n, -1, own.newton, own.direction
    for i in range(m):
        if int(work.which[i]) == row:
            normal = i
    for j in range(n):
        d[j] = -work.drag[row + 1 + j] / mu
        if work.known[row + 1 + j] == 0.0:
            return False
    if normal < 0 or not _is_steered(contact_table, k, own, work):
        return False
    for i in range(count):
        for j in range(count):
            other = int(work.which[j]) if j < m else row + 1 + j - m
            W[i * count + j] = along(table, work, _row(m, i, row, work), work.response + other * nv)
    scale = 0.0
    for i in range(count):
        entries = W + i * count
        scale = max(scale, abs(entries[i]))
        # the compliance column of the normal row includes its friction, as J does
        for j in range(m, count):
            entries[j] *= -mu * push
    for i in range(m):
        if work.delassus[i * (m + 1)] == 0.0:
            for j in range(count):
                W[i * count + j] = W[j * count + i] = 0.0
            W[i * (count + 1)] = 1.0
        W[i * (count + 1)] += SLOW_SLIP_RIDGE * scale
    _project(table, m, n, row, a, scale * abs(push), own, work)
    fill(own.steering, 0.0, count * count)
    for i in range(count):
        own.steering[i * (count + 1)] = 1.0
    return eliminate(W, own.steering, count, count) == 0 and is_finite(own.steering, count * count)


@internal
def _row(m: int, i: int, row: int, work: ContactWork):
    """Return the i-th row number of the m held rows and the tangential rows of the contact with first row ``row``."""
    return int(work.which[i]) if i < m else row + 1 + i - m


@internal
def _is_steered(contact_table: ContactTable, k: int, own: PhaseTangent, work: ContactWork):
    """Return True if the friction direction of contact k differs from the direction of its slip."""
    row, n, d = contact_table.first_rows[k], contact_table.sizes[k] - 1, own.direction
    ahead, differs = own.left, False
    size = friction_slip(contact_table, k, work.native + (row + 1), ahead)
    for j in range(n):
        differs = differs or abs(ahead[j] / size - d[j]) > SAME_SLIP_DIRECTION
    return differs


@internal
def _project(
    table: Table, m: int, n: int, row: int, a: Floats, push: float, own: PhaseTangent, work: ContactWork
):
    """Write the rows of (1 − d dᵀ) a_t + ½ p (‖d‖² − 1) d, p = ``push``, to the last n rows of Newton's matrix."""
    contact_table, count, J, d, total = table.contact_table, m + n, own.newton, own.direction, own.left
    size = 0.0
    for j in range(n):
        at = row + 1 + j
        total[j] = along(table, work, at, a) + work.native[contact_table.contact_rows + at]
        total[j] += ACROSS_SLIP_RATE * work.native[at]
        size += d[j] * total[j]
    for c in range(count):
        part = 0.0
        for j in range(n):
            part += d[j] * J[(m + j) * count + c]
        for j in range(n):
            J[(m + j) * count + c] -= d[j] * part
    for i in range(n):
        for j in range(n):
            J[(m + i) * count + m + j] += d[i] * (push * d[j] - total[j])
        J[(m + i) * (count + 1)] -= size


@internal
def turn_steered(table: Table, m: int, k: int, own: PhaseTangent, work: ContactWork):
    """Write the change of the drag of contact k to ``own.drag``, and add its acceleration (nv) to ``own.turned``.

    ``own.bias`` holds the changes of the accelerations of the held rows and of the tangential rows of contact k, at
    constant forces.
    """
    contact_table, row, nv = table.contact_table, table.contact_table.first_rows[k], table.nv
    n, mu, slow = contact_table.sizes[k] - 1, contact_table.friction[k], contact_table.settings.slow_speed
    count, d, right, turn = m + n, own.direction, own.bias, own.left
    slip, rise, part, across = work.native + (row + 1), own.speeds + (row + 1), 0.0, 0.0
    for j in range(n):
        right[m + j] += ACROSS_SLIP_RATE * rise[j]
        across += d[j] * right[m + j]
    for j in range(n):
        right[m + j] -= d[j] * across
    for j in range(n):
        turn[j] = -dot(own.steering + (m + j) * count, right, count)
    speed, climb = np.sqrt(dot(slip, slip, n)), 0.0
    if speed > slow:
        part = min(speed / slow - 1.0, 1.0)
        share = part * part * (3.0 - 2.0 * part)
        forward = 1.0 if dot(slip, contact_table.directions + (row + 1), n) >= 0.0 else -1.0
        climb = dot(slip, rise, n) / speed
        growth = 6.0 * part * (1.0 - part) * climb / slow
        for j in range(n):
            ahead = slip[j] / speed
            turn[j] = (1.0 - share) * turn[j] + share * forward * (rise[j] - ahead * climb) / speed
            turn[j] += growth * (forward * ahead - d[j])
    across = dot(turn, d, n)
    for j in range(n):
        own.drag[row + 1 + j] = -mu * (turn[j] - across * d[j])
        axpy(
            contact_table.forces[row] * own.drag[row + 1 + j],
            work.response + (row + 1 + j) * nv,
            own.turned,
            nv,
        )
