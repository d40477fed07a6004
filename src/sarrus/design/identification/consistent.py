"""Physically consistent parameters: pseudo-inertias positive definite, friction and armature ≥ 0, near a prior.

The quadratic misfit of the base parameters plus a distance to the prior is minimised. The distance of two bodies is the
entropic divergence of their pseudo-inertias, D(P‖P₀) = tr(P P₀⁻¹) − log det(P P₀⁻¹) − 4, or its second-order form about
the prior, ½ ‖P₀^(−½) (P − P₀) P₀^(−½)‖² (Lee, Wensing, Park: Geometric Robot Dynamic Identification: A Convex
Programming Approach, IEEE Transactions on Robotics 36(2), 2020). Both are independent of units and of the body's frame.
The first is convex and its own barrier, so that Newton's method finds the minimum; the second is a semidefinite
program, for Clarabel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.design.identification.inertial import BASIS, numbers_of
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.tolerances import (
    CONSISTENT_DECREMENT,
    CONSISTENT_STEPS,
    LEAST_PARAMETER,
    LEAST_PSEUDO_INERTIA,
    SHORTEST_BACKTRACK,
    THIN_BODY,
    TRACE_OF_POINT,
)

METRICS = ("entropic", "pullback")


@dataclass(frozen=True, eq=False)
class Body:
    """One body of the program: P = constant + Σ x[places] basis in units of its prior, in which P₀ = 1."""

    name: str
    places: np.ndarray
    basis: Array  # (k, 4, 4)
    constant: Array  # (4, 4)


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise ½ ‖rows x − target‖² + weight × distance, x the parameters in characteristic sizes.

    ``positive``: places of parameters ≥ 0, with ``scale`` the values of the prior for their distance. ``free``: all
    others, with the squared distance from ``prior``.
    """

    rows: Array
    target: Array
    bodies: tuple[Body, ...]
    positive: np.ndarray
    scale: Array
    free: np.ndarray
    prior: Array
    start: Array
    weight: float


def program(regressor: Regressor, base: Array, target: Array, whitening: Array, weight: float) -> Program:
    """Return the program for base parameters K p (K: ``base``) near ``target``; R (``whitening``) makes its errors
    white.
    """
    size, n = regressor.size, len(regressor.names)
    rows = whitening @ (base * size)
    prior = regressor.values / size
    numbers, mechanism = regressor.numbers, regressor.numbers.mechanism
    bodies, inertial, start = [], set[int](), prior.copy()
    c = regressor.system.model.characteristic
    for name, at in numbers.inertial.items():
        body = mechanism.bodies[name]
        own = numbers_of(body)
        p0 = np.einsum("k,kij->ij", own, BASIS)
        thick = _thickened(p0, c.length, c.mass)
        root = np.linalg.inv(np.linalg.cholesky(thick))
        places = np.array(list(at.values()))
        which = list(at)
        basis = np.array([root @ (BASIS[i] * size[place]) @ root.T for i, place in at.items()])
        ten = _ten(thick)
        start[places] = ten[which] / size[places]
        fixed = own.copy()
        fixed[which] = 0.0
        constant = root @ np.einsum("k,kij->ij", fixed, BASIS) @ root.T
        bodies.append(Body(name, places, basis, constant))
        inertial.update(at.values())
    _check_start(regressor, bodies, start)
    # What is zero in the prior and without effect stays zero; what has an effect is measured by its own size.
    seen = (rows**2).sum(axis=0) > 0.0
    others = [i for i in range(n) if i not in inertial]
    positive = [i for i in others if numbers.nonnegative[i] and (seen[i] or prior[i] > 0.0)]
    free = [i for i in others if i not in positive]
    inverse = np.linalg.pinv(rows)
    plain = prior + inverse @ (whitening @ target - rows @ prior)
    spread = np.sqrt((inverse**2).sum(axis=1))
    scale = np.array(
        [prior[i] if prior[i] > 0.0 else max(plain[i], spread[i], LEAST_PARAMETER) for i in positive]
    )
    start[positive] = scale
    return Program(
        rows,
        whitening @ target,
        tuple(bodies),
        np.array(positive, dtype=int),
        scale,
        np.array(free, dtype=int),
        prior,
        start,
        weight,
    )


def _thickened(p: Array, length: float, mass: float) -> Array:
    """Return a pseudo-inertia, with its smallest eigenvalues raised if it is nearly singular."""
    units = np.array([1.0 / length] * 3 + [1.0])
    even = p * units[:, None] * units
    values, vectors = np.linalg.eigh(even)
    floor = THIN_BODY * (np.trace(even) if np.trace(even) > 0.0 else TRACE_OF_POINT * mass)
    if values[0] >= floor:
        return p
    even = (vectors * np.maximum(values, floor)) @ vectors.T
    return np.asarray(even / units[:, None] / units)


def _ten(p: Array) -> Array:
    """Return the ten inertial parameters of a pseudo-inertia."""
    inertia = np.trace(p[:3, :3]) * np.eye(3) - p[:3, :3]
    places = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return np.array([p[3, 3], *p[:3, 3], *(inertia[i, j] for i, j in places)])


def _pseudo(body: Body, x: Array) -> Array:
    return np.asarray(body.constant + np.tensordot(x[body.places], body.basis, 1))


def _check_start(regressor: Regressor, bodies: list[Body], start: Array) -> None:
    for body in bodies:
        if np.linalg.eigvalsh(_pseudo(body, start))[0] <= 0.0:
            raise ArgumentError(
                f"{regressor.system.name}: the known parameters of body {body.name!r} allow no positive definite "
                "pseudo-inertia; identify all ten of them, or none",
                element=body.name,
            )


def solve(program: Program, metric: str) -> Array:
    """Return the parameters (n,) in characteristic sizes."""
    if metric not in METRICS:
        raise ArgumentError(
            f"metric must be one of {', '.join(METRICS)}, got {metric!r}", element="metric", valid=METRICS
        )
    return entropic(program) if metric == "entropic" else pullback(program)


def entropic(p: Program) -> Array:
    """Return the minimum with the entropic divergence, by Newton's method with decreasing weights of the prior."""
    x = p.start.copy()
    largest = max(float((p.rows**2).sum(axis=0).max(initial=0.0)), p.weight)
    steps = max(0, int(np.ceil(np.log10(largest / p.weight))))
    for k in range(steps, -1, -1):
        x = _newton(p, x, p.weight * 10.0**k)
    return x


def _newton(p: Program, x: Array, weight: float) -> Array:
    for _ in range(CONSISTENT_STEPS):
        gradient, root = _derivatives(p, x)
        # min ‖rows s + misfit‖² + weight ‖Lᵀ s + L⁻¹ g‖², with L Lᵀ and g the derivatives of the distance
        miss = p.rows @ x - p.target
        stacked = np.vstack([p.rows, np.sqrt(weight) * root.T])
        right = np.concatenate([miss, np.sqrt(weight) * np.linalg.solve(root, gradient)])
        units = 1.0 / np.sqrt((stacked**2).sum(axis=0))
        step = -units * np.linalg.lstsq(stacked * units, right, rcond=None)[0]
        decrement = float(((stacked @ step) ** 2).sum())
        if decrement < CONSISTENT_DECREMENT * weight:
            return x + step
        length, value = 1.0, _value(p, x, weight)
        while _value(p, x + length * step, weight) > value - 0.2 * length * decrement:
            length *= 0.5
            if length < SHORTEST_BACKTRACK:
                break
        x = x + length * step
    raise SolveError(
        f"the physically consistent parameters were not found in {CONSISTENT_STEPS} Newton steps; "
        "give a larger prior_weight",
        element="prior_weight",
    )


def _value(p: Program, x: Array, weight: float) -> float:
    miss = p.rows @ x - p.target
    total = 0.5 * float(miss @ miss)
    for body in p.bodies:
        pseudo = _pseudo(body, x)
        try:
            diagonal = np.diag(np.linalg.cholesky(pseudo))
        except np.linalg.LinAlgError:
            return np.inf
        total += weight * (float(np.trace(pseudo)) - 2.0 * float(np.log(diagonal).sum()))
    share = x[p.positive] / p.scale
    if (share <= 0.0).any():
        return np.inf
    apart = x[p.free] - p.prior[p.free]
    return total + weight * (float((share - np.log(share)).sum()) + 0.5 * float(apart @ apart))


def _derivatives(p: Program, x: Array) -> tuple[Array, Array]:
    """Return the gradient of the distance (n,) and the root L of its second derivatives, L Lᵀ."""
    gradient, root = np.zeros(len(x)), np.zeros((len(x), len(x)))
    for body in p.bodies:
        inverse = np.linalg.inv(_pseudo(body, x))
        turned = inverse @ body.basis
        slope = np.trace(body.basis, axis1=1, axis2=2) - np.trace(turned, axis1=1, axis2=2)
        gradient[body.places] = slope
        second = np.einsum("aij,bji->ab", turned, turned)
        size = np.sqrt(np.diag(second))
        root[np.ix_(body.places, body.places)] = size[:, None] * np.linalg.cholesky(
            second / np.outer(size, size)
        )
    at = p.positive
    gradient[at] = 1.0 / p.scale - 1.0 / x[at]
    root[at, at] = 1.0 / x[at]
    gradient[p.free] = x[p.free] - p.prior[p.free]
    root[p.free, p.free] = 1.0
    return gradient, root


def pullback(p: Program) -> Array:
    """Return the minimum with the distance of second order, a semidefinite program, by Clarabel."""
    try:
        import clarabel
    except ImportError as error:
        raise ArgumentError(
            "metric='pullback' needs Clarabel: pip install sarrus[identification]. metric='entropic' does not need it",
            element="metric",
        ) from error
    from scipy import sparse

    # All squares in one system; about its least squares, in coordinates in which their sum is that of the coordinates.
    n, root = len(p.start), np.sqrt(p.weight)
    parts, right = [p.rows], [p.target]
    for body in p.bodies:
        part = np.zeros((16, n))
        part[:, body.places] = root * body.basis.reshape(len(body.places), 16).T
        parts.append(part)
        right.append(root * (np.eye(4) - body.constant).ravel())
    for places, scale in ((p.positive, p.scale), (p.free, np.ones(len(p.free)))):
        part = np.zeros((len(places), n))
        part[np.arange(len(places)), places] = root / scale
        parts.append(part)
        right.append(root * p.prior[places] / scale)
    stacked = np.vstack(parts)
    units = 1.0 / np.sqrt((stacked**2).sum(axis=0))
    middle = units * np.linalg.lstsq(stacked * units, np.concatenate(right), rcond=None)[0]
    back = units[:, None] * np.linalg.inv(np.linalg.qr(stacked * units, mode="r"))
    definite = all(np.linalg.eigvalsh(_pseudo(body, middle))[0] > LEAST_PSEUDO_INERTIA for body in p.bodies)
    if definite and (middle[p.positive] >= 0.0).all():
        return np.asarray(middle)
    blocks, bounds, cones = [], [], list[Any]()
    if len(p.positive):
        rows = np.zeros((len(p.positive), n))
        rows[np.arange(len(p.positive)), p.positive] = -1.0 / p.scale
        blocks.append(rows)
        bounds.append(np.zeros(len(p.positive)))
        cones.append(clarabel.NonnegativeConeT(len(p.positive)))
    for body in p.bodies:
        rows = np.zeros((10, n))
        rows[:, body.places] = -np.stack([_triangle(b) for b in body.basis], axis=1)
        blocks.append(rows)
        bounds.append(_triangle(body.constant - LEAST_PSEUDO_INERTIA * np.eye(4)))
        cones.append(clarabel.PSDTriangleConeT(4))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    matrix, bound = np.vstack(blocks), np.concatenate(bounds)
    solver = clarabel.DefaultSolver(
        sparse.eye(n, format="csc"),
        np.zeros(n),
        sparse.csc_matrix(matrix @ back),
        bound - matrix @ middle,
        cones,
        settings,
    )
    found = solver.solve()
    if str(found.status) != "Solved":
        raise SolveError(
            f"Clarabel ended with {found.status}; give a larger prior_weight", element="prior_weight"
        )
    return np.asarray(middle + back @ np.asarray(found.x))


def _triangle(matrix: Array) -> Array:
    """Return the upper triangle by columns, off-diagonal entries times √2."""
    return np.array(
        [matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(4) for i in range(j + 1)]
    )
