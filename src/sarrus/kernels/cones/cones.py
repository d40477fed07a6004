"""Half-lines and second-order cones: scalings, products and steps of the interior-point method.

Rows are ordered as ``linear`` half-lines and then cones of ``sizes`` rows, ‖(s₁, s₂, …)‖ ≤ s₀. The Nesterov–Todd
scaling W of a pair (s, z) inside the cone is the symmetric matrix with W z = W⁻¹ s = λ. For a cone it is η times the
matrix of w̄, w̄₀² − ‖w̄₁‖² = 1 (Nesterov and Todd, Self-scaled barriers, 1997; Vandenberghe, The CVXOPT linear and
quadratic cone program solvers, 2010, section 4).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.kernels.algebra.vectors import copy_scaled, dot
from sarrus.kernels.memory.cone_layout import ConeWorkspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.pointers import internal


class Shape(NamedTuple):
    """Sizes of a program: variables, rows, half-lines, second-order cones, cone sizes, buffer of a permutation."""

    n: Any
    m: Any
    linear: Any
    count: Any
    sizes: Any
    order: Any


@internal
def clearance(a: Floats, n: int):
    """Return s₀² − ‖s₁‖² of a (n,), for s₀ < 0 a negative number: positive inside the cone only."""
    tail = np.sqrt(dot(a + 1, a + 1, n - 1))
    return (a[0] - tail) * (abs(a[0]) + tail)


@internal
def depth(a: Floats, shape: Shape):
    """Return the largest t with a − t e in the cone (e: identity of the cone); negative for a outside."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    least = np.inf
    for i in range(linear):
        least = min(least, a[i])
    at = a + linear
    for c in range(count):
        least = min(least, at[0] - np.sqrt(dot(at + 1, at + 1, sizes[c] - 1)))
        at += sizes[c]
    return least


@internal
def shift(a: Floats, shape: Shape, by: float):
    """Add ``by`` × e to a in place (e: identity of the cone)."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    for i in range(linear):
        a[i] += by
    at = a + linear
    for c in range(count):
        at[0] += by
        at += sizes[c]


@internal
def scale_cone(s: Floats, z: Floats, w: Floats, lam: Floats, n: int):
    """Write w̄ and λ of the pair (s, z) of one cone; return η, 0 where s or z is not inside the cone."""
    a, b = clearance(s, n), clearance(z, n)
    if not (a > 0.0 and b > 0.0):
        return 0.0
    a, b = np.sqrt(a), np.sqrt(b)
    half = 1.0 / np.sqrt(2.0 * (1.0 + dot(s, z, n) / (a * b)))
    total = 0.0
    for i in range(1, n):
        value = half * (s[i] / a - z[i] / b)
        w[i] = value
        total += value * value
    w[0] = np.sqrt(1.0 + total)
    eta = np.sqrt(a / b)
    turn(w, eta, n, 1.0, z, lam)
    return eta


@internal
def scale(work: ConeWorkspace, shape: Shape):
    """Write the scaling W and λ of the pair (work.ss, work.zz); False where s or z is not inside the cone."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    for i in range(linear):
        a, b = work.ss[i], work.zz[i]
        if not (a > 0.0 and b > 0.0):
            return False
        work.w[i], work.lam[i] = np.sqrt(a / b), np.sqrt(a * b)
    at = linear
    for c in range(count):
        n = sizes[c]
        eta = scale_cone(work.ss + at, work.zz + at, work.w + at, work.lam + at, n)
        if not eta > 0.0:
            return False
        work.eta[c] = eta
        at += n
    return True


@internal
def turn(w: Floats, factor: float, n: int, sign: float, v: Floats, out: Floats):
    """Write ``factor`` × the matrix of w̄ × v to ``out`` (n,); for ``sign`` −1 the inverse of this matrix."""
    inner = dot(w + 1, v + 1, n - 1)
    head = v[0]
    along = inner / (1.0 + w[0]) + sign * head
    out[0] = factor * (w[0] * head + sign * inner)
    for i in range(1, n):
        out[i] = factor * (v[i] + along * w[i])


@internal
def over_scaling(work: ConeWorkspace, shape: Shape, v: Floats, out: Floats):
    """Write W⁻¹ v (m,) to ``out``."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    for i in range(linear):
        out[i] = v[i] / work.w[i]
    at = linear
    for c in range(count):
        turn(work.w + at, 1.0 / work.eta[c], sizes[c], -1.0, v + at, out + at)
        at += sizes[c]


@internal
def scale_rows(work: ConeWorkspace, shape: Shape):
    """Write W⁻¹ G (m, n) to work.turned."""
    n, linear, count, sizes = shape.n, shape.linear, shape.count, shape.sizes
    for i in range(linear):
        weight = 1.0 / work.w[i]
        copy_scaled(weight, work.g + i * n, work.turned + i * n, n)
    at = linear
    for k in range(count):
        size, head, out, w = sizes[k], work.g + at * n, work.turned + at * n, work.w + at
        weight, share = 1.0 / work.eta[k], 1.0 / (1.0 + w[0])
        for c in range(n):
            inner = 0.0
            for i in range(1, size):
                inner += w[i] * head[i * n + c]
            top = head[c]
            along = share * inner - top
            out[c] = weight * (w[0] * top - inner)
            for i in range(1, size):
                out[i * n + c] = weight * (head[i * n + c] + along * w[i])
        at += size


@internal
def centre(work: ConeWorkspace, shape: Shape, ds: Floats, dz: Floats, target: float, out: Floats):
    """Write λ + λ⁻¹ ∘ (ds ∘ dz − target e) (m,) to ``out``, for directions ds and dz in the scaled space."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    for i in range(linear):
        own = work.lam[i]
        out[i] = own + (ds[i] * dz[i] - target) / own
    at = linear
    for c in range(count):
        centre_cone(work.lam + at, ds + at, dz + at, target, out + at, sizes[c])
        at += sizes[c]


@internal
def centre_cone(lam: Floats, ds: Floats, dz: Floats, target: float, out: Floats, n: int):
    """Write λ + λ⁻¹ ∘ (ds ∘ dz − target e) of one cone (n,) to ``out``."""
    top = dot(ds, dz, n) - target
    head, a0, b0 = lam[0], ds[0], dz[0]
    inner = 0.0
    for i in range(1, n):
        value = a0 * dz[i] + b0 * ds[i]
        out[i] = value
        inner += lam[i] * value
    first = (head * top - inner) / clearance(lam, n)
    for i in range(1, n):
        out[i] = lam[i] + (out[i] - first * lam[i]) / head
    out[0] = head + first


@internal
def longest_step(work: ConeWorkspace, shape: Shape, d: Floats):
    """Return 1 / t for the largest t with λ + t d in the cone, 0 where t is unbounded."""
    linear, count, sizes = shape.linear, shape.count, shape.sizes
    most = 0.0
    for i in range(linear):
        most = max(most, -d[i] / work.lam[i])
    at = linear
    for c in range(count):
        most = max(most, longest_in_cone(work.lam + at, d + at, sizes[c]))
        at += sizes[c]
    return most


@internal
def longest_in_cone(lam: Floats, d: Floats, n: int):
    """Return 1 / t for the largest t with λ + t d in the cone (n,); zero or negative where t is unbounded."""
    size = np.sqrt(clearance(lam, n))
    tail = dot(lam + 1, d + 1, n - 1)
    first = (lam[0] * d[0] - tail) / size
    share = (first + d[0]) / (lam[0] + size)
    total = 0.0
    for i in range(1, n):
        total += (d[i] - share * lam[i]) ** 2
    return (np.sqrt(total) - first) / size
