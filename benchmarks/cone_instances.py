"""Seeded force distributions of five kinds, as cone programs: unknown are controls u and contact forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize import ConeRows, bounds, friction_cone, stack

FAMILIES = ("plain", "nearly infeasible", "redundant", "saturated", "infeasible")
LIMIT = 30.0  # N·m, of the controls


@dataclass(frozen=True, eq=False)
class Instance:
    """Minimise ½ xᵀP x + qᵀx with A x = b and the rows in their cones; the first ``controls`` of x are u."""

    family: str
    controls: int
    P: Array
    q: Array
    A: Array
    b: Array
    rows: ConeRows


def instance(seed: int) -> Instance:
    """Return an instance; its family goes with the seed.

    plain               a feasible point is well inside the friction cones
    nearly infeasible   it is 1e-9 to 1e-3 of the friction limit inside
    redundant           the equations depend on each other, and two contacts act on the mechanism in the same way
    saturated           limits of the controls are 1e-6 to 1 N·m from it
    infeasible          as plain, but the normal forces shall add up to −1e-4 to −10 N
    """
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    nu, contacts = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    n, equations = nu + 3 * contacts, int(rng.integers(1, nu + 2))
    P = np.diag(np.concatenate([2.0 * 10 ** rng.uniform(-1, 1, nu), np.zeros(3 * contacts)]))
    A = rng.standard_normal((equations, n))
    if family == "redundant":
        A[:, -3:] = A[:, nu : nu + 3]
        A = np.vstack([A, rng.standard_normal((2, equations)) @ A])
    friction, normal = rng.uniform(0.2, 1.2, contacts), rng.uniform(5.0, 100.0, contacts)
    near = family == "nearly infeasible"
    share = 1.0 - 10 ** rng.uniform(-9, -3, contacts) if near else rng.uniform(0.0, 0.95, contacts)
    angle = rng.uniform(0.0, 2.0 * np.pi, contacts)
    tangential = share * friction * normal * np.array([np.cos(angle), np.sin(angle)])
    u = rng.uniform(-20.0, 20.0, nu)
    b = A @ np.concatenate([u, np.vstack([normal, tangential]).T.ravel()])
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower[:nu], upper[:nu] = -LIMIT, LIMIT
    if family == "saturated":
        upper[:nu] = np.maximum(u + 10 ** rng.uniform(-6, 0, nu), -5.0)
        lower[:nu] = np.minimum(u - rng.uniform(0, 10, nu), 5.0)
    if family == "infeasible":
        sum_of_normals = np.zeros((1, n))
        sum_of_normals[0, nu::3] = 1.0
        A, b = np.vstack([A, sum_of_normals]), np.append(b, -(10 ** rng.uniform(-4, 1)))
    feet = [friction_cone(np.eye(3, n, nu + 3 * k), coefficient=float(friction[k])) for k in range(contacts)]
    return Instance(family, nu, P, np.zeros(n), A, b, stack([bounds(lower, upper), *feet]))
