"""Blocks of friction forces in kernels: what is projected, projection on what is allowed, derivatives of both.

A contact is a head, its normal force, and tails, its tangential forces: K = {‖tails‖ ≤ μ head}. Dry friction has tails
alone: ‖tails‖ ≤ limit. A block has a few rows, the head first; ``number`` is μ, or the limit.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.memory.contact_problem_layout import ContactProblem, ContactWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


@internal
def length(x: Floats, n: int):
    """Return the length of a few numbers, none too small to be squared."""
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
    """Write r − u − μ ‖u_t‖ n (De Saxcé and Feng 1998) to ``out``, r − u for dry friction: r solves if it is projected
    there."""
    copy(u, out, n)
    if cone and n > 1:
        out[0] += number * length(u + 1, n - 1)
    for i in range(n):
        out[i] = r[i] - out[i]


@internal
def project(cone: bool, number: float, x: Floats, n: int, out: Floats):
    """Write the nearest allowed forces to ``out``."""
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
    """Write the derivative of `project` (n × n) to ``out``, at kinks that of one side; return whether it is zero."""
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
    """Write to ``out`` (n × n) the derivative of `project` times that of the shifted u."""
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
    """Write what a step of Newton's method for one block is made of; return whether it is open, with D = 0.

    With S the derivative of the projection, T that times the derivative of the shifted u, E = (1 − S + ridge T)⁻¹:
    E F to ``out`` and E T, by rows, to ``D``. E has entries as large as 1 / ridge and others of size one, so it is
    found along the ray of the cone, across that and to the sides; no inverse leaks from the former to the latter.
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
    gain = number / fast if fast > 0.0 else 0.0  # times u_t the derivative of μ ‖u_t‖
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
    along, across = 0.0, 0.0  # of F and of the derivative of μ ‖u_t‖, along the tails
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
    # a = (1, μ d) is the ray, d = out's tails; the rows that it takes are a + gain u_t
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
    """Write F = r − P_K(r − u − μ ‖u_t‖ n) of all blocks; return its square."""
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
    """Return the relative residual, in units in which rows are shorter by a factor: an upper bound of it."""
    error, largest, weight = 0.0, 1.0, stretch * stretch
    for i in range(m):
        error, largest = max(error, abs(F[i])), max(largest, weight * abs(r[i]))
    return weight * error / largest
