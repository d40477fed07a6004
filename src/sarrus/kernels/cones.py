"""Half-lines and second-order cones: scalings, products and steps of the interior-point method.

Rows come as ``linear`` half-lines and then cones of ``sizes`` rows, ‖(s₁, s₂, …)‖ ≤ s₀. The Nesterov–Todd scaling W
of a pair (s, z) inside the cone is the symmetric matrix with W z = W⁻¹ s = λ; of a cone it is η times the matrix of
w̄, w̄₀² − ‖w̄₁‖² = 1 (Nesterov and Todd, Self-scaled barriers, 1997; Vandenberghe, The CVXOPT linear and quadratic cone
program solvers, 2010, section 4).
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.flat import internal


@internal
def dot(s, a, b, n):
    """Return the scalar product of two vectors."""
    total = 0.0
    for i in range(n):
        total += s[a + i] * s[b + i]
    return total


@internal
def clearance(s, a, n):
    """Return s₀² − ‖s₁‖², negative where s₀ is."""
    tail = np.sqrt(dot(s, a + 1, a + 1, n - 1))
    return (s[a] - tail) * (abs(s[a]) + tail)


@internal
def depth(s, a, linear, count, sizes):
    """Return the largest t with a − t e in the cone, e its identity: negative outside."""
    least = np.inf
    for i in range(linear):
        least = min(least, s[a + i])
    at = a + linear
    for c in range(count):
        least = min(least, s[at] - np.sqrt(dot(s, at + 1, at + 1, sizes[c] - 1)))
        at += sizes[c]
    return least


@internal
def shift(s, a, linear, count, sizes, by):
    """Add ``by`` times the identity of the cone."""
    for i in range(linear):
        s[a + i] += by
    at = a + linear
    for c in range(count):
        s[at] += by
        at += sizes[c]


@internal
def scale(s, ws, linear, count, sizes):
    """Find W and λ of the pair at ws.ss and ws.zz; False where it is not inside the cone."""
    for i in range(linear):
        a, b = s[ws.ss + i], s[ws.zz + i]
        if not (a > 0.0 and b > 0.0):
            return False
        s[ws.w + i], s[ws.lam + i] = np.sqrt(a / b), np.sqrt(a * b)
    at = linear
    for c in range(count):
        n, first, second, w = sizes[c], ws.ss + at, ws.zz + at, ws.w + at
        a, b = clearance(s, first, n), clearance(s, second, n)
        if not (a > 0.0 and b > 0.0):
            return False
        a, b = np.sqrt(a), np.sqrt(b)
        half = 1.0 / np.sqrt(2.0 * (1.0 + dot(s, first, second, n) / (a * b)))
        total = 0.0
        for i in range(1, n):
            value = half * (s[first + i] / a - s[second + i] / b)
            s[w + i] = value
            total += value * value
        s[w] = np.sqrt(1.0 + total)
        s[ws.eta + c] = np.sqrt(a / b)
        _turn(s, w, s[ws.eta + c], n, 1.0, second, ws.lam + at)
        at += n
    return True


@internal
def _turn(s, w, factor, n, sign, v, out):
    """Write factor times the matrix of w̄ (of its inverse for sign −1) times the vector v."""
    inner = dot(s, w + 1, v + 1, n - 1)
    head = s[v]
    along = inner / (1.0 + s[w]) + sign * head
    s[out] = factor * (s[w] * head + sign * inner)
    for i in range(1, n):
        s[out + i] = factor * (s[v + i] + along * s[w + i])


@internal
def times_scaling(s, ws, linear, count, sizes, v, out):
    """Write W v."""
    for i in range(linear):
        s[out + i] = s[ws.w + i] * s[v + i]
    at = linear
    for c in range(count):
        _turn(s, ws.w + at, s[ws.eta + c], sizes[c], 1.0, v + at, out + at)
        at += sizes[c]


@internal
def over_scaling(s, ws, linear, count, sizes, v, out):
    """Write W⁻¹ v."""
    for i in range(linear):
        s[out + i] = s[v + i] / s[ws.w + i]
    at = linear
    for c in range(count):
        _turn(s, ws.w + at, 1.0 / s[ws.eta + c], sizes[c], -1.0, v + at, out + at)
        at += sizes[c]


@internal
def scale_rows(s, ws, n, linear, count, sizes):
    """Write W⁻¹ G to ws.turned."""
    for i in range(linear):
        weight = 1.0 / s[ws.w + i]
        for c in range(n):
            s[ws.turned + i * n + c] = weight * s[ws.g + i * n + c]
    at = linear
    for k in range(count):
        size, head, out, w = sizes[k], ws.g + at * n, ws.turned + at * n, ws.w + at
        weight, share = 1.0 / s[ws.eta + k], 1.0 / (1.0 + s[w])
        for c in range(n):
            inner = 0.0
            for i in range(1, size):
                inner += s[w + i] * s[head + i * n + c]
            top = s[head + c]
            along = share * inner - top
            s[out + c] = weight * (s[w] * top - inner)
            for i in range(1, size):
                s[out + i * n + c] = weight * (s[head + i * n + c] + along * s[w + i])
        at += size


@internal
def centre(s, ws, linear, count, sizes, ds, dz, target, out):
    """Write λ + λ⁻¹ ∘ (ds ∘ dz − target e) of two directions in the scaled space."""
    for i in range(linear):
        lam = s[ws.lam + i]
        s[out + i] = lam + (s[ds + i] * s[dz + i] - target) / lam
    at = linear
    for c in range(count):
        n, lam, a, b, o = sizes[c], ws.lam + at, ds + at, dz + at, out + at
        top = dot(s, a, b, n) - target
        head, a0, b0 = s[lam], s[a], s[b]
        inner = 0.0
        for i in range(1, n):
            value = a0 * s[b + i] + b0 * s[a + i]
            s[o + i] = value
            inner += s[lam + i] * value
        first = (head * top - inner) / clearance(s, lam, n)
        for i in range(1, n):
            s[o + i] = s[lam + i] + (s[o + i] - first * s[lam + i]) / head
        s[o] = head + first
        at += n


@internal
def longest_step(s, ws, linear, count, sizes, d):
    """Return the inverse of the longest step along d from λ inside the cone, at least 0."""
    most = 0.0
    for i in range(linear):
        most = max(most, -s[d + i] / s[ws.lam + i])
    at = linear
    for c in range(count):
        n, lam, v = sizes[c], ws.lam + at, d + at
        size = np.sqrt(clearance(s, lam, n))
        tail = dot(s, lam + 1, v + 1, n - 1)
        first = (s[lam] * s[v] - tail) / size
        share = (first + s[v]) / (s[lam] + size)
        total = 0.0
        for i in range(1, n):
            total += (s[v + i] - share * s[lam + i]) ** 2
        most = max(most, (np.sqrt(total) - first) / size)
        at += n
    return most
