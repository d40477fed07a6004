"""Newton's method on the rows that are active: a cone program to the last digit, from a guess of what they are.

A cone is active in one of two ways: at its boundary, c = s₀ − ‖s₁‖ = 0 with one multiplier y and z = y (1, −s₁/‖s₁‖),
or at its apex, s = 0 with any z in the cone. With the active rows c(x) = 0 and their slopes J, a step solves

    H Δx − Jᵀy = −(P x + q),    J Δx = −c,    H = P + Σ y (−∇²c),

in the null space of J, found with its rank: where active rows depend on each other, y is the nearest to that before,
which keeps the signs that the interior-point method found. The answer counts only if all of the conditions of
optimality hold, those of the rows left out too.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels.cones import dot
from sarrus.kernels.flat import internal

# Rows of size one: relative size below which a row depends on others; what counts as zero; the ridge.
_CUT, _ZERO, _RIDGE = 1e-10, 1e-12, 1e-12
# Errors of the conditions of optimality that are accepted, and those at which no further step is taken.
_ACCEPTED, _SMALL = 1e-11, 1e-14
_STEPS = 8

INACTIVE, BOUNDARY, APEX = 0.0, 1.0, 2.0


@internal
def classify(s, ws, linear, count, sizes, slack, dual):
    """Guess from a pair s, z which rows are active; write that and the pair to the trial."""
    for i in range(linear):
        s[ws.kind + i] = BOUNDARY if s[slack + i] < s[dual + i] else INACTIVE
    at = linear
    for c in range(count):
        n = sizes[c]
        push, pull = s[slack + at], s[dual + at]
        inner, outer = np.sqrt(dot(s, slack + at + 1, slack + at + 1, n - 1)), 0.0
        outer = np.sqrt(dot(s, dual + at + 1, dual + at + 1, n - 1))
        kind = BOUNDARY
        if pull + outer < push - inner:
            kind = INACTIVE
        elif push + inner < pull - outer:
            kind = APEX
        s[ws.kind + linear + c] = kind
        at += n
    for i in range(at):
        s[ws.trial_z + i] = s[dual + i]


@internal
def optimize_active(s, ws, n, m, linear, count, sizes, perm):
    """Solve for the rows marked in ws.kind from the x at ws.trial on; True where that is the solution, then there with
    s at ws.trial_s and z at ws.trial_z."""
    beta, beta2, norms, diagonal, way = ws.x1, ws.x2, ws.z1, ws.z2, ws.rest
    # lengths: x1, x2, rest, rhs_x have room for n, the others for m; ranks are at most n
    before = np.inf
    for _ in range(_STEPS):
        rows = _active(s, ws, n, linear, count, sizes)
        _gradient(s, ws, n, ws.slope)
        rank = 0
        for c in range(n):
            s[way + c] = 0.0
        if rows > 0:
            rank, _ = fa.solve(
                s,
                ws.spare,
                rows,
                n,
                n,
                _CUT,
                1.0,
                perm,
                diagonal,
                beta,
                beta2,
                norms,
                ws.centred,
                ws.missed,
                way,
            )
            if rank < 0:
                return False
        # the gradient after the step within the rows; then the step along them
        for a in range(n):
            s[ws.slope + a] += dot(s, ws.normal + a * n, way, n)
        free = n - rank
        if not _reduce(s, ws, n, rank, free, beta):
            return False
        for k in range(free):
            s[ws.inner + k] = -dot(s, ws.along + k * n, ws.slope, n)
        fa.solve_l_transposed(s, ws.reduced, free, ws.inner)
        fa.solve_l(s, ws.reduced, free, ws.inner)
        for k in range(free):
            for a in range(n):
                s[way + a] += s[ws.inner + k] * s[ws.along + k * n + a]
        for a in range(n):
            s[ws.trial + a] += s[way + a]
        # multipliers: Jᵀ y = P x + q + H Δx
        for k in range(free):
            for a in range(n):
                s[ws.slope + a] += s[ws.inner + k] * dot(s, ws.normal + a * n, ws.along + k * n, n)
        if rows > 0:
            for a in range(n):
                s[ws.slope + a] -= s[ws.pull + a]
            fa.apply_q_transposed(s, ws.spare, n, rank, beta, ws.slope)
            fa.multipliers(s, ws.spare, rows, n, rank, perm, diagonal, beta2, ws.slope, ws.missed, ws.centred)
            for i in range(rows):
                s[ws.centred + i] += s[ws.change + i]
        _spread(s, ws, linear, count, sizes)
        error = _error(s, ws, n, m, linear, count, sizes)
        if error <= _SMALL or (before <= _ACCEPTED and 0.1 * before <= error <= _ACCEPTED):
            return True
        if rows == 0 and error > _ACCEPTED:
            return False
        before = error
    return before <= _ACCEPTED


@internal
def _gradient(s, ws, n, out):
    """Write P x + q of the trial."""
    for a in range(n):
        s[out + a] = s[ws.q + a] + dot(s, ws.p + a * n, ws.trial, n)


@internal
def _active(s, ws, n, linear, count, sizes):
    """Write J to ws.spare, −c to ws.centred, s to ws.trial_s, H to ws.normal, the multipliers y so far to ws.change and
    Jᵀy to ws.pull; return how many rows J has."""
    for i in range(n * n):
        s[ws.normal + i] = s[ws.p + i]
    m = linear
    for c in range(count):
        m += sizes[c]
    for i in range(m):
        s[ws.trial_s + i] = s[ws.h + i] - dot(s, ws.g + i * n, ws.trial, n)
    rows = 0
    for i in range(linear):
        if s[ws.kind + i] == BOUNDARY:
            for c in range(n):
                s[ws.spare + rows * n + c] = -s[ws.g + i * n + c]
            s[ws.centred + rows] = -s[ws.trial_s + i]
            s[ws.change + rows] = s[ws.trial_z + i]
            rows += 1
    at = linear
    for k in range(count):
        size, kind = sizes[k], s[ws.kind + linear + k]
        if kind == APEX:
            for i in range(at, at + size):
                for c in range(n):
                    s[ws.spare + rows * n + c] = -s[ws.g + i * n + c]
                s[ws.centred + rows] = -s[ws.trial_s + i]
                s[ws.change + rows] = s[ws.trial_z + i]
                rows += 1
        elif kind == BOUNDARY:
            _boundary(s, ws, n, at, size, rows)
            s[ws.change + rows] = s[ws.trial_z + at]
            rows += 1
        at += size
    for c in range(n):
        s[ws.pull + c] = 0.0
    for i in range(rows):
        for c in range(n):
            s[ws.pull + c] += s[ws.change + i] * s[ws.spare + i * n + c]
    return rows


@internal
def _boundary(s, ws, n, at, size, row):
    """Write the row of a cone at its boundary and add its curvature to H."""
    tail = max(np.sqrt(dot(s, ws.trial_s + at + 1, ws.trial_s + at + 1, size - 1)), 1e-300)
    out, y = ws.spare + row * n, max(s[ws.trial_z + at], 0.0) / tail
    for c in range(n):
        s[out + c] = 0.0
    for i in range(at + 1, at + size):
        share = s[ws.trial_s + i] / tail
        for c in range(n):
            s[out + c] += share * s[ws.g + i * n + c]
    for a in range(n):
        for b in range(n):
            total = -s[out + a] * s[out + b]
            for i in range(at + 1, at + size):
                total += s[ws.g + i * n + a] * s[ws.g + i * n + b]
            s[ws.normal + a * n + b] += y * total
    for c in range(n):
        s[out + c] -= s[ws.g + at * n + c]
    s[ws.centred + row] = tail - s[ws.trial_s + at]


@internal
def _reduce(s, ws, n, rank, free, beta):
    """Write a basis of the null space of J to ws.along and the factor of H on it, with a ridge for directions that cost
    nothing, to ws.reduced; False where there is none."""
    for k in range(free):
        column = ws.along + k * n
        for c in range(n):
            s[column + c] = 1.0 if c == rank + k else 0.0
        fa.apply_q(s, ws.spare, n, rank, beta, column)
    largest = 0.0
    for k in range(free):
        for a in range(n):
            s[ws.rhs_x + a] = dot(s, ws.normal + a * n, ws.along + k * n, n)
        for j in range(free):
            s[ws.reduced + j * free + k] = dot(s, ws.along + j * n, ws.rhs_x, n)
        largest = max(largest, s[ws.reduced + k * free + k])
    for k in range(free):
        s[ws.reduced + k * free + k] += _RIDGE * (1.0 + largest)
    return fa.cholesky_ltl(s, ws.reduced, free)


@internal
def _spread(s, ws, linear, count, sizes):
    """Write the multipliers of the active rows as z to ws.trial_z."""
    row = 0
    for i in range(linear):
        s[ws.trial_z + i] = 0.0
        if s[ws.kind + i] == BOUNDARY:
            s[ws.trial_z + i] = s[ws.centred + row]
            row += 1
    at = linear
    for k in range(count):
        size, kind = sizes[k], s[ws.kind + linear + k]
        for i in range(at, at + size):
            s[ws.trial_z + i] = 0.0
        if kind == APEX:
            for i in range(at, at + size):
                s[ws.trial_z + i] = s[ws.centred + row]
                row += 1
        elif kind == BOUNDARY:
            tail = max(np.sqrt(dot(s, ws.trial_s + at + 1, ws.trial_s + at + 1, size - 1)), 1e-300)
            s[ws.trial_z + at] = s[ws.centred + row]
            for i in range(at + 1, at + size):
                s[ws.trial_z + i] = -s[ws.centred + row] * s[ws.trial_s + i] / tail
            row += 1
        at += size


@internal
def _error(s, ws, n, m, linear, count, sizes):
    """Return the largest error of the trial in the conditions of optimality, infinite where it leaves the cones."""
    size, error, product = 1.0, 0.0, 0.0
    for i in range(m):
        s[ws.trial_s + i] = s[ws.h + i] - dot(s, ws.g + i * n, ws.trial, n)
        size = max(size, abs(s[ws.trial_z + i]))
        product += s[ws.trial_s + i] * s[ws.trial_z + i]
    _gradient(s, ws, n, ws.slope)
    for i in range(m):
        weight = s[ws.trial_z + i]
        if weight != 0.0:
            for c in range(n):
                s[ws.slope + c] += weight * s[ws.g + i * n + c]
    for c in range(n):
        error = max(error, abs(s[ws.slope + c]))
    error = max(error, abs(product)) / size
    for i in range(linear):
        if not (s[ws.trial_s + i] >= -_ZERO and s[ws.trial_z + i] >= -_ZERO * size):
            return np.inf
    at = linear
    for k in range(count):
        rest = sizes[k] - 1
        inside = s[ws.trial_s + at] - np.sqrt(dot(s, ws.trial_s + at + 1, ws.trial_s + at + 1, rest))
        total = s[ws.trial_z + at] - np.sqrt(dot(s, ws.trial_z + at + 1, ws.trial_z + at + 1, rest))
        if not (inside >= -_ZERO and total >= -_ZERO * size):
            return np.inf
        at += sizes[k]
    return error if np.isfinite(error) else np.inf
