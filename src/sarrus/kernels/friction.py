"""Blocks of friction forces in kernels: what is projected, projection on what is allowed, derivatives of both.

A contact is a head, its normal force, and tails, its tangential forces: K = {‖tails‖ ≤ μ head}. Dry friction has tails
alone: ‖tails‖ ≤ limit. A block has a few rows, the head first; ``number`` is μ, or the limit.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.flat import internal
from sarrus.kernels.vectors import copy, fill


@internal
def length(x, n):
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
def beside(cone, number, r, u, n, out):
    """Write r − u − μ ‖u_t‖ n (De Saxcé and Feng 1998) to ``out``, r − u for dry friction: r solves if it is projected
    there."""
    copy(u, out, n)
    if cone and n > 1:
        out[0] += number * length(u + 1, n - 1)
    for i in range(n):
        out[i] = r[i] - out[i]


@internal
def project(cone, number, x, n, out):
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
def slope(cone, number, x, n, out):
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
def shifted_slope(cone, number, u, n, slope_of_projection, out):
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
