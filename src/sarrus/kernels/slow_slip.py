"""In which directions contacts slide that are about to stop or have just begun: those of their accelerations.

Friction −μ r_n d against a velocity v d has the direction d turn at a rate of μ r_n / (m v), so where v is next to
nothing all directions follow from a_t ∥ d, with all that is held: to depend on the velocity there would have a field
whose rates are without bound, and rounding would choose it. Feet of one body that begin to slide together have slips
in the ratio of their accelerations, so that this is the limit v → 0 for any number of them. With r the forces of the
held rows H, r_k the normal force of the slow contact k and T_k its tangential rows,

    H (a_f + K Hᵀ r − Σ μ_k r_k K T_kᵀ d_k) + Ḣ v = 0,    (1 − d_k d_kᵀ) (a_k + κ v_k) = 0,    ‖d_k‖ = 1,

by Newton's method for all d_k from those of before, the forces r of redundant rows being the ones nearest to those with
which the phase began; so they depend on the directions without a jump. With the rate κ velocities turn after their
directions. A contact that the held rows leave no way to move keeps the direction of before.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import touching_layout as tl
from sarrus.kernels.dense import eliminate
from sarrus.kernels.flat import internal
from sarrus.kernels.held_forces import solve_held
from sarrus.kernels.vectors import axpy, copy, dot, fill, is_finite

# Steps of Newton's method; the part of the accelerations by friction that is none, the part at which rounding may stop
# it, and the part that keeps directions which make no difference.
STEPS, EXACT, ROUNDED, RIDGE = 20, 1e-13, 1e-10, 1e-11
# Part of its diagonal entry of W that is left of a row which the held rows keep from moving.
FAST = 1e-6
# Longest change of a direction in a step, and the cosine with that of before from which on it is another one.
LONGEST, OTHER = 0.5, 0.0
# Rate at which velocities across such a direction vanish [1/s]: steps of 10 ms need not be shorter for that.
FOLLOWS = 100.0
# Part of `sarrus.kernels.contact_tolerances.SLOW` below which a contact whose direction is not found rubs in the one in
# which it began.
BEGINS = 0.1


@internal
def begin_speed(touching):
    """Return the speed below which a contact whose direction is not found rubs in the one in which it began [m/s]."""
    return BEGINS * touching.settings.slow


@internal
def add_slow_rows(touching, m, work):
    """Write the tangential rows of the contacts that are slow behind the m rows that are held; return all of them."""
    count = m
    for i in range(m):
        k = int(work.owner[i])
        if k < 0 or k >= touching.contacts or touching.modes[k] != tl.SLIDING or touching.friction[k] == 0.0:
            continue
        row, n = int(work.which[i]), touching.sizes[k]
        if n < 3 or share_of_slip(touching, k, work.native + row) >= 1.0:
            continue
        for j in range(1, n):
            work.which[count], work.owner[count] = row + j, i
            work.begin[count], work.drag[row + j] = work.drag[row + j], 0.0
            count += 1
    return count


@internal
def steer(table, m, count, work):
    """Write the drag of the slow contacts, whose tangential rows are those from m on.

    ``operator`` and ``given`` are those of all ``count`` rows; ``operator`` is lost. Where no directions are found the
    drag is as it was, and ``steered`` is 0.
    """
    touching = table.touching
    copy(work.operator, work.coupled, count * count)
    for s in range(m, count):
        row = int(work.which[s])
        work.aims[s] = touching.directions[row]
        work.given[s] += FOLLOWS * work.native[row]
    work.steered[0] = _find_directions(table, m, count, work)
    if work.steered[0] == 0.0:
        for s in range(m, count):
            work.drag[int(work.which[s])] = work.begin[s]
        return
    s = m
    while s < count:
        normal = int(work.owner[s])
        k = int(work.owner[normal])
        slip, n, d = work.native + int(work.which[s]), touching.sizes[k] - 1, work.aims + s
        part = share_of_slip(touching, k, work.native + touching.first_rows[k])
        if part > 0.0:
            speed = np.sqrt(dot(slip, slip, n))
            forward = part if dot(slip, touching.directions + int(work.which[s]), n) >= 0.0 else -part
            for j in range(n):
                d[j] = (1.0 - part) * d[j] + forward * slip[j] / speed
        weight = -touching.friction[k] / np.sqrt(dot(d, d, n))
        for j in range(n):
            work.drag[int(work.which[s + j])] = weight * d[j]
        s += n


@internal
def share_of_slip(touching, k, slip):
    """Return how much the direction of a contact is that of its slip: 0 where it is slow, 1 where it is not."""
    n, slow = touching.sizes[k], touching.settings.slow
    part = np.sqrt(dot(slip + 1, slip + 1, n - 1)) / slow - 1.0
    part = min(max(part, 0.0), 1.0)
    return part * part * (3.0 - 2.0 * part)


@internal
def _find_directions(table, m, count, work):
    """Find the directions, which begin at ``aims``; return the steps of Newton's method, 0 where it did not."""
    touching, n, before, found = table.touching, count - m, np.inf, False
    for step in range(STEPS):
        if not _load_held(touching, m, count, work) or not solve_held(table, m, work):
            return 0.0
        _load_reach(touching, m, count, work)
        if step == 0:
            _note_fast(touching, m, count, work)
        size = _load_newton(touching, m, count, work)
        if size <= EXACT or (size <= ROUNDED and size >= 0.5 * before):
            found = step + 1.0
            break
        if not is_finite(work.left, n) or eliminate(work.bends, work.left, n, 1) != 0:
            return 0.0
        if not is_finite(work.left, n):
            return 0.0
        longest = 0.0
        for i in range(n):
            longest = max(longest, abs(work.left[i]))
        axpy(-min(1.0, LONGEST / longest) if longest > 0.0 else 0.0, work.left, work.aims + m, n)
        before = size
    if found == 0.0:
        return 0.0
    s = m
    while s < count:
        k = int(work.owner[int(work.owner[s])])
        own = touching.sizes[k] - 1
        if dot(work.aims + s, touching.directions + int(work.which[s]), own) <= OTHER:
            return 0.0
        s += own
    return found


@internal
def _load_held(touching, m, count, work):
    """Write W of the held rows, normal ones with friction in the present directions, to ``operator``."""
    W, B = work.coupled, work.operator
    for i in range(m):
        copy(W + i * count, B + i * m, m)
        for s in range(m, count):
            normal = int(work.owner[s])
            mu = touching.friction[int(work.owner[normal])]
            B[i * m + normal] -= mu * work.aims[s] * W[i * count + s]
    return is_finite(B, m * m)


@internal
def _load_reach(touching, m, count, work):
    """Write the accelerations of the slow rows by unit forces on the held ones, and those that are found."""
    W, E = work.coupled, work.matrix
    for s in range(m, count):
        row, reach = W + s * count, E + (s - m) * m
        copy(row, reach, m)
        for other in range(m, count):
            normal = int(work.owner[other])
            mu = touching.friction[int(work.owner[normal])]
            reach[normal] -= mu * work.aims[other] * row[other]
        work.turn[s] = work.given[s] + dot(reach, work.impulses, m)


@internal
def _note_fast(touching, m, count, work):
    """Note which slow contacts the held rows keep from moving: 1 at their rows of ``lasts``."""
    W, E, s = work.coupled, work.matrix, m
    while s < count:
        n, fast = touching.sizes[int(work.owner[int(work.owner[s])])] - 1, 1.0
        for r in range(s, s + n):
            own = W[r * (count + 1)]
            for i in range(m):
                own -= dot(work.inverse + i * m, W + r * count, m) * E[(r - m) * m + i]
            if own > FAST * W[r * (count + 1)]:
                fast = 0.0
        fill(work.lasts + s, fast, n)
        s += n


@internal
def _load_newton(touching, m, count, work):
    """Write Newton's equations for the directions to ``bends`` and ``left``; return how much is left."""
    W, E, J, size, n = work.coupled, work.matrix, work.bends, 0.0, count - m
    for c in range(n):  # how accelerations change with each number of a direction, the held rows held
        normal = int(work.owner[m + c])
        force = -touching.friction[int(work.owner[normal])] * work.impulses[normal]
        for i in range(m):
            work.shift[i] = -force * dot(work.inverse + i * m, W + (m + c) * count, m)
        for r in range(n):
            J[r * n + c] = force * W[(m + r) * count + m + c] + dot(E + r * m, work.shift, m)
    s = 0
    while s < n:
        normal = int(work.owner[m + s])
        k = int(work.owner[normal])
        own, push = touching.sizes[k] - 1, 0.0
        for r in range(s, s + own):
            push += W[(m + r) * (count + 1)]
        push *= touching.friction[k] * abs(work.impulses[normal]) / own
        if work.lasts[m + s] != 0.0 or push == 0.0:
            for r in range(s, s + own):
                fill(J + r * n, 0.0, n)
                J[r * n + r], work.left[r] = 1.0, 0.0
        else:
            size = max(size, _load_block(J, s, own, n, push, work.aims + (m + s), work.turn + (m + s), work))
        s += own
    return size


@internal
def _load_block(J, s, own, n, push, d, a, work):
    """Write the rows of Newton's equations of one contact, which begin at s; return what is left over ``push``."""
    along, excess, size = dot(d, a, own), 0.5 * (dot(d, d, own) - 1.0), 0.0
    for c in range(n):
        work.shift[c] = 0.0
        for i in range(own):
            work.shift[c] += d[i] * J[(s + i) * n + c]
    for i in range(own):
        row = J + (s + i) * n
        axpy(-d[i], work.shift, row, n)
        for j in range(own):
            row[s + j] += d[i] * (push * d[j] - a[j])
        row[s + i] += push * (excess - RIDGE) - along
        for j in range(n):
            row[j] /= push
        work.left[s + i] = (a[i] + d[i] * (push * excess - along)) / push
        size = max(size, abs(work.left[s + i]))
    return size
