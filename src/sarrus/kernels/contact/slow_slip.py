"""Friction direction of a contact that is about to stop or has just begun to slide: that of its acceleration.

The friction force −μ r_n d opposes the slip velocity v d. The direction d turns at the rate a_⊥ / v, which has no
bound as v → 0, and rounding would choose d. At a slow slip d therefore follows from a_t ∥ d, together with the forces
of the held rows. With r the forces of the held rows H, r_n the normal force of the contact and T its tangential rows,

    H (a_f + K Hᵀ r − μ r_n K Tᵀ d) + Ḣ v = 0,    (1 − d dᵀ) (a_t + κ v_t) = 0,    ‖d‖ = 1,

is solved by Newton's method from the previous direction. With the rate κ the slip velocity turns towards d. If
several contacts are slow at once, or rows are redundant, the friction forces are not unique, and the previous
direction is kept.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.dense import eliminate
from sarrus.kernels.algebra.vectors import axpy, copy, dot, is_finite
from sarrus.kernels.contact.tolerances import (
    ACROSS_SLIP_RATE,
    BEGINNING_SLIP,
    DEPENDENT_CONTACT_PIVOT,
    SLOW_SLIP_CONVERGED,
    SLOW_SLIP_RIDGE,
    SLOW_SLIP_STEPS,
)
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


@internal
def begin_speed(contact_table: ContactTable):
    """Return the slip speed [m/s] below which friction has the direction in which the contact began to slide."""
    return BEGINNING_SLIP * contact_table.settings.slow_speed


@internal
def friction_slip(contact_table: ContactTable, k: int, slip: Floats, out: Floats):
    """Write the vector along which the friction of contact k acts, for its slip (n,), to ``out``; return its length.

    At almost no slip it is along the direction in which the slip began, and smooth in between. A slip against that
    direction is turned round, as if the contact slid on.
    """
    way, n = contact_table.directions + (contact_table.first_rows[k] + 1), contact_table.sizes[k] - 1
    still, forward, size = begin_speed(contact_table), dot(slip, way, n), 0.0
    left = max(0.0, 1.0 - dot(slip, slip, n) / (2.0 * still) ** 2)
    aside = left * left * still - min(2.0 * forward, 0.0)
    for j in range(n):
        out[j] = slip[j] + aside * way[j]
        size += out[j] ** 2
    return np.sqrt(size)


@internal
def steered_block(contact_table: ContactTable, m: int, work: ContactWork):
    """Return the index, among the m held rows, of the normal row of the only slow contact; −1 if none or several."""
    slow, found = -1, 0
    for i in range(m):
        k = int(work.owner[i])
        if (
            k < 0
            or k >= contact_table.contacts
            or contact_table.modes[k] != tl.SLIDING
            or contact_table.friction[k] == 0.0
        ):
            continue
        if _share_of_slip(contact_table, k, work.native + contact_table.first_rows[k]) < 1.0:
            slow, found = i, found + 1
    return slow if found == 1 else -1


@internal
def add_slow_rows(contact_table: ContactTable, m: int, work: ContactWork):
    """Append the tangential rows of the slow contact to the m held rows; return the number of all rows.

    Nothing is appended if no contact or several contacts are slow.
    """
    slow = steered_block(contact_table, m, work)
    if slow < 0:
        return m
    row, n = int(work.which[slow]), contact_table.sizes[int(work.owner[slow])]
    for j in range(1, n):
        work.which[m + j - 1], work.owner[m + j - 1] = row + j, slow
        work.begin[j - 1], work.drag[row + j] = work.drag[row + j], 0.0
    return m + n - 1


@internal
def steer(contact_table: ContactTable, m: int, count: int, work: ContactWork):
    """Write the friction of the slow contact over its normal force, −μ d, to ``work.drag``; tell if d is found.

    The tangential rows of the contact are rows m to ``count`` − 1; ``delassus`` and ``given`` contain all ``count``
    rows. If no direction is found, the drag remains as it was.
    """
    normal, n = int(work.owner[m]), count - m
    k, own = int(work.owner[normal]), work.velocity + m
    slip, way = (
        work.native + contact_table.first_rows[k],
        contact_table.directions + contact_table.first_rows[k],
    )
    mu, part = contact_table.friction[k], _share_of_slip(contact_table, k, slip)
    for i in range(m):
        work.velocity[i] = contact_table.start_forces[int(work.which[i])]
    copy(way + 1, own, n)
    axpy(ACROSS_SLIP_RATE, slip + 1, work.given + m, n)
    found = _are_independent(m, count, work) and _find_direction(m, count, normal, mu, work)
    if found:
        if part > 0.0:
            speed = np.sqrt(dot(slip + 1, slip + 1, n))
            forward = part if dot(slip + 1, way + 1, n) >= 0.0 else -part
            for j in range(n):
                own[j] = (1.0 - part) * own[j] + forward * slip[1 + j] / speed
        weight = -mu / np.sqrt(dot(own, own, n))
        for j in range(n):
            work.begin[j] = weight * own[j]
    for j in range(n):
        work.drag[int(work.which[m + j])] = work.begin[j]
    return found


@internal
def _are_independent(m: int, count: int, work: ContactWork):
    """Return True if no row depends on other rows: each pivot of W is large relative to a diagonal entry.

    Rows among the first m that the constraints hold (diagonal entry zero) are skipped. The pivots of the tangential
    rows are compared with the largest diagonal entry of the tangential rows: along a row of almost no compliance, as
    across a plane mechanism, friction could have any size.
    """
    A, largest = work.matrix, 0.0
    copy(work.delassus, A, count * count)
    for k in range(m, count):
        largest = max(largest, work.delassus[k * (count + 1)])
    for k in range(count):
        if k < m and work.delassus[k * (count + 1)] == 0.0:
            continue
        pivot = A[k * (count + 1)]
        own = work.delassus[k * (count + 1)] if k < m else largest
        if not pivot > DEPENDENT_CONTACT_PIVOT * own:
            return False
        for i in range(k + 1, count):
            axpy(-A[i * count + k] / pivot, A + (k * count + k), A + (i * count + k), count - k)
    return True


@internal
def _find_direction(m: int, count: int, normal: int, mu: float, work: ContactWork):
    """Write forces and direction to ``work.velocity``, which holds the start; return True if Newton converges."""
    scale, d = 0.0, work.velocity
    for i in range(count):
        scale = max(scale, work.delassus[i * (count + 1)])
    for _ in range(SLOW_SLIP_STEPS):
        size = _load_newton(m, count, normal, mu, scale, d, work)
        if not is_finite(work.left, count) or eliminate(work.matrix, work.left, count, 1) != 0:
            return False
        axpy(-1.0, work.left, d, count)
        if size <= SLOW_SLIP_CONVERGED:
            return is_finite(d, count)
    return False


@internal
def _share_of_slip(contact_table: ContactTable, k: int, slip: Floats):
    """Return the weight of the slip direction in the friction direction of contact k: 0 if slow, 1 if fast."""
    n, slow = contact_table.sizes[k], contact_table.settings.slow_speed
    part = np.sqrt(dot(slip + 1, slip + 1, n - 1)) / slow - 1.0
    part = min(max(part, 0.0), 1.0)
    return part * part * (3.0 - 2.0 * part)


@internal
def _load_newton(m: int, count: int, normal: int, mu: float, scale: float, d: Floats, work: ContactWork):
    """Write Newton's matrix and the residual at the forces and direction ``d``; return the relative residual."""
    W, J, left, n, push = work.delassus, work.matrix, work.left, count - m, 0.0
    own, a, along_rows = d + m, left + m, work.impulses
    for i in range(m):
        push = max(push, abs(d[i]))
    push *= scale
    for i in range(count):
        row = W + i * count
        friction = mu * dot(row + m, own, n)
        left[i] = work.given[i] + dot(row, d, m) - friction * d[normal]
        copy(row, J + i * count, count)
        J[i * count + normal] -= friction
        for j in range(m, count):
            J[i * count + j] *= -mu * d[normal]
    size = 0.0
    for i in range(m):
        J[i * (count + 1)] += SLOW_SLIP_RIDGE * scale
        size = max(size, abs(left[i]))
    along, excess = dot(own, a, n), 0.5 * (dot(own, own, n) - 1.0)
    for c in range(count):
        along_rows[c] = 0.0
        for i in range(n):
            along_rows[c] += own[i] * J[(m + i) * count + c]
    copy(a, work.turn, n)
    for i in range(n):
        row = J + (m + i) * count
        axpy(-own[i], along_rows, row, count)
        for j in range(n):
            row[m + j] += own[i] * (push * own[j] - work.turn[j])
        row[m + i] += push * (excess - SLOW_SLIP_RIDGE) - along
        a[i] += own[i] * (push * excess - along)
        size = max(size, abs(a[i]))
    return size / push if push > 0.0 else np.inf
