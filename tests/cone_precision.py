"""Cone programs with fifty digits: Newton's method on the rows that a solution says are active, in mpmath."""

from __future__ import annotations

import mpmath
import numpy as np

from sarrus.dynamics.optimize import ConeSolution

DIGITS, STEPS = 50, 6
# Added to the diagonal of the linear equations, for multipliers and forces that are not unique; the iterations are
# those of the proximal method of multipliers, so that it changes nothing in the end.
PROXIMAL = mpmath.mpf(10) ** -12

Array = np.ndarray


def refined(
    P: Array,
    q: Array,
    G: Array,
    h: Array,
    A: Array,
    b: Array,
    linear: int,
    cones: tuple[int, ...],
    s: ConeSolution,
) -> tuple[Array, float]:
    """Return x to double precision and the largest residual of the conditions of optimality with all digits.

    Equalities that depend on others are left out: their right-hand sides agree to rounding only.
    """
    kept = _independent(A)
    A, b = A[kept], b[kept]
    n, e = len(q), len(b)
    with mpmath.workdps(DIGITS):
        P, q, G, h, A, b = (
            mpmath.matrix(part.tolist()) if part.size else part for part in (P, q, G, h, A, b)
        )
        x = mpmath.matrix(s.x.tolist())
        rows, y = _active(s, linear, cones)
        multipliers = mpmath.matrix([*s.multipliers[kept].tolist(), *y]) if e or y else mpmath.matrix(0, 1)
        size = e + sum(len(where) if kind == "apex" else 1 for kind, where in rows)
        residual = mpmath.inf
        for _ in range(STEPS):
            H, J, c = P.copy(), mpmath.zeros(max(size, 1), n), mpmath.zeros(max(size, 1), 1)
            for i in range(e):
                J[i, :], c[i] = A[i, :], (A[i, :] * x)[0] - b[i]
            at = e
            for kind, where in rows:
                slack = [h[i] - (G[i, :] * x)[0] for i in where]
                if kind == "apex":
                    for i, value in zip(where, slack):
                        J[at, :], c[at] = G[i, :], -value
                        at += 1
                    continue
                # c = ‖s₁‖ − s₀ with s₁, s₀ affine in x; of a half-line −s₀
                J[at, :], c[at] = G[where[0], :], -slack[0]
                tail = mpmath.sqrt(sum(value**2 for value in slack[1:]))
                if len(where) > 1:
                    slope = mpmath.zeros(1, n)
                    for i, value in zip(where[1:], slack[1:]):
                        slope -= value / tail * G[i, :]
                    weight = multipliers[at] / tail
                    for i in where[1:]:
                        H += weight * G[i, :].T * G[i, :]
                    H -= weight * slope.T * slope
                    J[at, :] += slope
                    c[at] += tail
                at += 1
            slope = P * x + q + (J[:size, :].T * multipliers if size else mpmath.zeros(n, 1))
            residual = max([abs(value) for value in slope] + [abs(c[i]) for i in range(size)])
            matrix = mpmath.zeros(n + size)
            for i in range(n):
                for k in range(n):
                    matrix[i, k] = H[i, k] + (PROXIMAL if i == k else 0)
                for k in range(size):
                    matrix[i, n + k] = matrix[n + k, i] = J[k, i]
            for k in range(size):
                matrix[n + k, n + k] = -PROXIMAL
            right = mpmath.matrix([-value for value in slope] + [-c[k] for k in range(size)])
            step = mpmath.lu_solve(matrix, right)
            x += step[:n]
            if size:
                multipliers += step[n:]
        return np.array([float(value) for value in x]), float(residual)


def _active(s: ConeSolution, linear: int, cones: tuple[int, ...]) -> tuple[list, list[float]]:
    """Return the kind and rows of what is active, and the multipliers to begin with."""
    rows, y = [], []
    for i in range(linear):
        if s.dual[i] > s.slack[i]:
            rows.append(("boundary", [i]))
            y.append(float(s.dual[i]))
    at = linear
    for size in cones:
        where = list(range(at, at + size))
        slack, dual = s.slack[where], s.dual[where]
        outer = dual[0] + np.linalg.norm(dual[1:])
        if outer > slack[0] - np.linalg.norm(slack[1:]):
            apex = slack[0] + np.linalg.norm(slack[1:]) < dual[0] - np.linalg.norm(dual[1:])
            rows.append(("apex" if apex else "boundary", where))
            y.extend(dual.tolist() if apex else [float(dual[0])])
        at += size
    return rows, y


def _independent(A: Array) -> list[int]:
    """Return rows of A of which none depends on those before it."""
    kept: list[int] = []
    for i in range(len(A)):
        if np.linalg.matrix_rank(A[[*kept, i]], tol=1e-9 * np.linalg.norm(A)) == len(kept) + 1:
            kept.append(i)
    return kept
