"""Rows of cone programs: h − G x ∈ K, for limits, friction cones and quadratic inequalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.base.tolerances import LEAST_DIVISOR

# Eigenvalues of a quadratic form below this multiple of the largest one are zero.
from sarrus.dynamics.optimize.tolerances import FLAT_FORM, SEMIDEFINITE_FORM, SYMMETRIC_FORM


@dataclass(frozen=True, eq=False)
class ConeRows:
    """Rows h − G x in the product of ``linear`` half-lines and then second-order cones of the sizes ``cones``.

    ``G`` (m, n), ``h`` (m,), with m = linear + Σ cones.
    """

    G: Array
    h: Array
    linear: int
    cones: tuple[int, ...] = ()


def bounds(lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> ConeRows:
    """Return lower ≤ x ≤ upper, (n,) each, as rows; infinite limits make no rows."""
    if lower is None and upper is None:
        raise ArgumentError("bounds needs lower, upper or both", element="bounds")
    sides: list[tuple[Array, float]] = []
    if lower is not None:
        sides.append((-real_array(lower), -1.0))
    if upper is not None:
        sides.append((real_array(upper), 1.0))
    if any(limit.shape != sides[0][0].shape or limit.ndim != 1 for limit, _ in sides):
        raise ArgumentError("lower and upper must be vectors of the same length", element="bounds")
    for limit, _ in sides:
        if np.isnan(limit).any() or (limit == -np.inf).any():
            raise ArgumentError("bounds must be numbers, upper above −∞ and lower below ∞", element="bounds")
    G = np.vstack([sign * np.eye(limit.size)[np.isfinite(limit)] for limit, sign in sides])
    h = np.concatenate([limit[np.isfinite(limit)] for limit, _ in sides])
    return ConeRows(G, h, h.size)


def friction_cone(
    forces: ArrayLike,
    offset: ArrayLike | None = None,
    *,
    coefficient: float = 1.0,
    normal_limit: float = np.inf,
) -> ConeRows:
    """Return √(λ_t1² + λ_t2²) ≤ μ λ_n for the force λ = forces · x + offset in the order (n, t1, t2) [N].

    Parameters
    ----------
    forces : (3, n), or (2, n) for a contact in the plane, (n, t).
    offset : (3,) or (2,), zero by default.
    coefficient : μ > 0; for frictionless contacts set the tangential forces to zero by equalities.
    normal_limit : largest λ_n [N].
    """
    E = real_array(forces)
    if E.ndim != 2 or E.shape[0] not in (2, 3) or not np.isfinite(E).all():
        raise ArgumentError(
            f"forces must be a finite (3, n) or (2, n) matrix, got shape {E.shape}", element="forces"
        )
    c = np.zeros(len(E)) if offset is None else real_array(offset)
    if c.shape != (len(E),):
        raise ArgumentError(f"offset must have {len(E)} entries, got shape {c.shape}", element="offset")
    if not coefficient > 0.0:
        raise ArgumentError(
            f"coefficient must be positive, got {coefficient}; without friction set the tangential forces to zero by "
            "equalities",
            element="coefficient",
        )
    weights = np.array([coefficient, *[1.0] * (len(E) - 1)])
    rows = ConeRows(-weights[:, None] * E, weights * c, 0, (len(E),))
    if np.isinf(normal_limit):
        return rows
    return stack([ConeRows(E[:1].copy(), np.array([normal_limit - c[0]]), 1), rows])


def quadratic_constraint(Q: ArrayLike, q: ArrayLike, r: float) -> ConeRows:
    """Return ½ xᵀQ x + qᵀx + r ≤ 0 for a symmetric positive semidefinite Q (n, n), as one second-order cone.

    With ½ Q = LᵀL and t = −(qᵀx + r): ‖(L x, ½ t − ½)‖ ≤ ½ t + ½. Raises `ArgumentError` if Q is not positive
    semidefinite, because the inequality is not convex then.
    """
    Q, q = real_array(Q), real_array(q)
    if Q.shape != (q.size, q.size) or not np.allclose(
        Q, Q.T, rtol=0.0, atol=SYMMETRIC_FORM * (1.0 + np.abs(Q).max())
    ):
        raise ArgumentError(f"Q must be symmetric and fit q, got shapes {Q.shape} and {q.shape}", element="Q")
    values, vectors = np.linalg.eigh(Q)
    largest = max(float(values[-1]), 0.0)
    if values[0] < -SEMIDEFINITE_FORM * max(largest, LEAST_DIVISOR):
        raise ArgumentError(
            f"Q must be positive semidefinite, its smallest eigenvalue is {values[0]:.3g}", element="Q"
        )
    kept = values > FLAT_FORM * largest
    L = np.sqrt(0.5 * values[kept])[:, None] * vectors[:, kept].T
    # s = (½ t + ½, L x, ½ t − ½) = h − G x
    G = np.vstack([0.5 * q, -L, 0.5 * q])
    return ConeRows(G, np.array([0.5 - 0.5 * r, *np.zeros(len(L)), -0.5 - 0.5 * r]), 0, (len(L) + 2,))


def stack(parts: Sequence[ConeRows]) -> ConeRows:
    """Return all rows together: the half-lines of all parts, then their cones."""
    if not parts:
        raise ArgumentError("stack needs at least one part", element="parts")
    n = parts[0].G.shape[1]
    if any(part.G.shape[1] != n for part in parts):
        raise ArgumentError(
            f"parts must be about the same variables, got {[p.G.shape[1] for p in parts]}", element="parts"
        )
    G = [p.G[: p.linear] for p in parts] + [p.G[p.linear :] for p in parts]
    h = [p.h[: p.linear] for p in parts] + [p.h[p.linear :] for p in parts]
    cones = tuple(size for p in parts for size in p.cones)
    return ConeRows(np.vstack(G), np.concatenate(h), sum(p.linear for p in parts), cones)
