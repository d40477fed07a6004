"""Projection of friction forces on their admissible set K, block by block, its argument, and the derivatives of both.

The block of a contact has a head, the normal force, and tails, the tangential forces: K = {‖tails‖ ≤ μ head}. Dry
friction has tails alone: K = {‖tails‖ ≤ limit}. The head is the first row of a block; ``number`` is μ for a contact
and the limit for dry friction.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, fill, is_finite
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


@internal
def length(x: Floats, n: int):
    """Return the Euclidean norm of n numbers, without overflow or underflow of their squares."""
    if n == 2:
        one, other = abs(x[0]), abs(x[1])
        largest = max(max(0.0, one), other)
        if not largest > 0.0:
            return 0.0
        ratio = min(one, other) / largest
        return largest * np.sqrt(1.0 + ratio * ratio)
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(x[i]))
    if not largest > 0.0:
        return 0.0
    total = 0.0
    for i in range(n):
        total += (x[i] / largest) * (x[i] / largest)
    return largest * np.sqrt(total)


@internal
def beside(cone: bool, number: float, r: Floats, u: Floats, n: int, out: Floats):
    """Write z = r − u − μ ‖u_t‖ n (De Saxcé and Feng 1998) to ``out``, z = r − u for dry friction.

    The forces r obey the law of the block if r = P_K(z).
    """
    copy(u, out, n)
    if cone and n > 1:
        out[0] += number * length(u + 1, n - 1)
    for i in range(n):
        out[i] = r[i] - out[i]


@internal
def project(cone: bool, number: float, x: Floats, n: int, out: Floats):
    """Write P_K(x), the admissible forces nearest to x, to ``out``."""
    first = 1 if cone else 0
    tail = length(x + first, n - first)
    if cone:
        if tail <= number * x[0] and x[0] >= 0.0:
            copy(x, out, n)
            return
        if number * tail <= -x[0]:
            fill(out, 0.0, n)
            return
        height = (x[0] + number * tail) / (1.0 + number * number)
        out[0], radius = height, number * height
    elif tail <= number:
        copy(x, out, n)
        return
    else:
        radius = number
    share = radius / tail if tail > 0.0 else 0.0
    for i in range(first, n):
        out[i] = share * x[i]


@internal
def slope(cone: bool, number: float, x: Floats, n: int, out: Floats):
    """Write the derivative P_K′(x) (n × n, one-sided at kinks) to ``out``; return True if it is zero."""
    first = 1 if cone else 0
    tail = length(x + first, n - first)
    fill(out, 0.0, n * n)
    inside = tail <= number * x[0] and x[0] >= 0.0 if cone else tail <= number
    if inside:
        for i in range(n):
            out[i * (n + 1)] = 1.0
        return False
    if cone and number * tail <= -x[0]:
        return True
    radius, gain = number, 0.0
    if cone:
        gain = 1.0 / (1.0 + number * number)
        radius = number * (x[0] + number * tail) * gain
    turn, inverse = (radius / tail, 1.0 / tail) if tail > 0.0 else (0.0, 0.0)
    if cone:
        out[0] = gain
    for i in range(first, n):
        d = x[i] * inverse
        if cone:
            out[i] = out[i * n] = gain * number * d
        for j in range(first, n):
            out[i * n + j] = (gain * number * number - turn) * d * x[j] * inverse
        out[i * (n + 1)] += turn
    return False


@internal
def shifted_slope(cone: bool, number: float, u: Floats, n: int, slope_of_projection: Floats, out: Floats):
    """Write S B (n × n) to ``out``: S the derivative of the projection, B the derivative of u + μ ‖u_t‖ n by u."""
    copy(slope_of_projection, out, n * n)
    if not cone or n == 1:
        return
    tail = length(u + 1, n - 1)
    if not tail > 0.0:
        return
    for j in range(1, n):
        weight = number * u[j] / tail
        for i in range(n):
            out[i * n + j] += weight * slope_of_projection[i * n]


@internal
def soft_step(
    cone: bool, number: float, r: Floats, u: Floats, F: Floats, n: int, ridge: float, out: Floats, D: Floats
):
    """Write E F to ``out`` and E T (n × n) to ``D``, for a Newton step of one block; return True if it opens.

    S is the derivative of the projection, B the derivative of u + μ ‖u_t‖ n by u, T = S B, E = (1 − S + ridge T)⁻¹. D
    is zero for a block that opens. E has entries of size 1 / ridge and entries of size one. It is computed separately
    along the ray of the cone, across the ray and sideways, so that rounding of the large entries does not spoil the
    small ones.
    """
    first = 1 if cone else 0
    fill(D, 0.0, n * n)
    beside(cone, number, r, u, n, out)
    head, tail = out[0], length(out + first, n - first)
    inside = tail <= number * head and head >= 0.0 if cone else tail <= number
    if cone and number * tail <= -head and not inside:
        copy(F, out, n)
        return True
    fast = length(u + 1, n - 1) if cone and n > 1 else 0.0
    gain = number / fast if fast > 0.0 else 0.0  # gain u_t is the derivative of μ ‖u_t‖
    if inside:
        for i in range(n):
            D[i * (n + 1)] = 1.0 / ridge
            out[i] = F[i] / ridge
        for i in range(1, n):
            out[0] -= gain * u[i] * F[i] / ridge
        return False
    slack, radius = 1.0, number
    if cone:
        slack = 1.0 / (1.0 + number * number)
        radius = number * (head + number * tail) * slack
    turn, inverse = (radius / tail, 1.0 / tail) if tail > 0.0 else (0.0, 0.0)
    sideways = 1.0 / (1.0 - turn + ridge * turn)
    along, across = 0.0, 0.0  # components of F and of gain u_t along d, the unit vector of the tails
    for i in range(first, n):
        out[i] *= inverse
        along += out[i] * F[i]
        across += out[i] * gain * u[i]
    for i in range(first, n):
        for j in range(first, n):
            D[i * n + j] = -sideways * turn * out[i] * out[j]
        D[i * (n + 1)] += sideways * turn
    if not cone:
        for i in range(n):
            out[i] = along * out[i] + sideways * (F[i] - along * out[i])
        return False
    # a = (1, μ d) is the ray of the cone, d the tails of out; the component along the ray is taken by a + gain u_t
    share, normal = 1.0 / (1.0 + number * number + number * across), slack * (along - number * F[0])
    ray = (F[0] + number * along) / ridge - normal * across
    for j in range(1, n):
        ray -= (gain * u[j] - across * out[j]) * sideways * F[j]
    ray *= share
    for j in range(n):
        taken = 1.0 / ridge
        if j > 0:
            side = gain * u[j] - across * out[j]
            taken = (number * out[j] + gain * u[j]) / ridge - sideways * turn * side
        taken *= share
        D[j] += taken
        for i in range(1, n):
            D[i * n + j] += number * out[i] * taken
    out[0] = ray - number * normal
    for i in range(1, n):
        out[i] = number * out[i] * ray + normal * out[i] + sideways * (F[i] - along * out[i])
    return False


@internal
def mismatch(table: ContactProblem, work: ContactWorkspace, blocks: int, r: Floats, u: Floats, F: Floats):
    """Write the residual vector F = r − P_K(r − u − μ ‖u_t‖ n) of all blocks to ``F``; return ‖F‖²."""
    at, total = 0, 0.0
    for k in range(blocks):
        n, cone = table.sizes[k], k < table.contacts
        beside(cone, work.numbers[k], r + at, u + at, n, work.small)
        project(cone, work.numbers[k], work.small, n, F + at)
        for i in range(at, at + n):
            F[i] = r[i] - F[i]
            total += F[i] * F[i]
        at += n
    return total


@internal
def residual(F: Floats, r: Floats, m: int, stretch: float):
    """Return an upper bound of the relative residual of F at r, for rows shorter by the factor ``stretch``.

    It is infinite if F is not finite.
    """
    if not is_finite(F, m):
        return np.inf
    error, largest, weight = 0.0, 1.0, stretch * stretch
    for i in range(m):
        error, largest = max(error, abs(F[i])), max(largest, weight * abs(r[i]))
    return weight * error / largest
