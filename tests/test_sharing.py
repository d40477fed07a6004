"""Forces of redundant contacts that stick, shared as far from the limits of friction as they can be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.redundant_forces import share
from sarrus.dynamics.optimize.tolerances import EVEN_SHARES


def wrenches(points: Array) -> Array:
    """Return the rows (n, t1, t2 of each point on a plane) of a rigid body (3 k × 6), at its middle."""
    axes = ((0, 0, 1), (1, 0, 0), (0, 1, 0))
    return np.array([[*axis, *np.cross([x, y, -0.05], axis)] for x, y in points for axis in axes])


def needed(forces: Array, friction: float) -> Array:
    """Return the part of its friction that each contact needs."""
    f = forces.reshape(-1, 3)
    return np.hypot(f[:, 1], f[:, 2]) / (friction * f[:, 0])


def test_the_end_of_a_bar_that_is_about_to_open_needs_no_friction() -> None:
    """Friction along a line is shared as the normal forces are: the same part of each."""
    rows = wrenches(np.array([[0.1, 0.0], [-0.1, 0.0]]))
    operator = rows @ np.diag([0.5, 0.5, 0.5, 9.0, 9.0, 9.0]) @ rows.T
    forces = np.array([19.0, -3.0, 0.0, 0.6, -0.3, 0.0])
    found = share(operator, forces, [3, 3], [0.5, 0.5])
    assert_allclose(found[[0, 2, 3, 5]], forces[[0, 2, 3, 5]], atol=1e-9)
    assert found[1] + found[4] == pytest.approx(-3.3, abs=1e-12)
    assert needed(found, 0.5).max() < 0.4
    assert_allclose(operator @ found, operator @ forces, atol=1e-9)


def least_by_lines(rows: Array, forces: Array, friction: float) -> float:
    """Return the least part of all friction that is enough, cones by 128 planes and bisection."""
    angles = np.linspace(0.0, 2.0 * np.pi, 128, endpoint=False)
    count, low, high = len(forces) // 3, 0.0, 1.0
    bounds = [(0, None), (None, None), (None, None)] * count
    for _ in range(20):
        part = 0.5 * (low + high)
        planes = np.column_stack([np.full(128, -part * friction), np.cos(angles), np.sin(angles)])
        answer = linprog(
            np.zeros(len(forces)), np.kron(np.eye(count), planes), np.zeros(128 * count), rows.T, rows.T @ forces,
            bounds,
        )  # fmt: skip
        low, high = (low, part) if answer.status == 0 else (part, high)
    return high


def test_a_foot_at_its_limit_finds_what_is_left() -> None:
    """Three of four corners at the limit, as one rolls onto an edge and twists: nine tenths are enough."""
    rows = wrenches(np.array([[0.11, 0.05], [-0.11, 0.05], [-0.11, -0.05], [0.11, -0.05]]))
    forces = np.array(
        [195.49, -23.24, -46.86, 56.07, -6.845, 32.93, 18.31, -7.117, 8.373, 138.72, -74.8, -36.5]
    )
    found = share(rows @ rows.T, forces, [3] * 4, [0.6] * 4)
    assert_allclose(rows.T @ found, rows.T @ forces, atol=1e-9)
    assert needed(forces, 0.6).max() > 0.999
    best = least_by_lines(rows, forces, 0.6)
    assert best - 1e-3 < needed(found, 0.6).max() < 1.05 * best


@pytest.mark.parametrize("seed", range(20))
def test_forces_do_the_same_and_stay_within_the_laws(seed: int) -> None:
    """Random bodies on points of a plane, some without friction, and a stop; units and order do not matter."""
    rng = np.random.default_rng(seed)
    count, friction = int(rng.integers(2, 6)), float(rng.uniform(0.2, 1.0))
    rows = wrenches(rng.uniform(-0.2, 0.2, (count, 2)))
    rows = np.vstack([rows, rows[[0]]])  # a stop beside the first contact
    root = rng.standard_normal((6, 6))
    operator = rows @ root @ root.T @ rows.T
    normal = rng.uniform(1.0, 50.0, count)
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    size = friction * normal * rng.choice([1.0, 0.3], count)
    forces = np.column_stack([normal, size * np.cos(angle), size * np.sin(angle)]).ravel()
    forces, sizes, mu = np.append(forces, 5.0), [3] * count + [1], [friction] * count + [0.0]
    found = share(operator, forces, sizes, mu)
    assert_allclose(rows.T @ found, rows.T @ forces, atol=1e-7)
    assert found[-1] > -1e-9
    before, after = needed(forces[:-1], friction), needed(found[:-1], friction)
    assert after.max() < before.max() + EVEN_SHARES
    assert (found[:-1:3] > 0.0).all()
    assert after.max() < 1.0 + 1e-6
    mirrored = share(1e6 * operator, 1e-3 * forces, sizes, mu)
    assert_allclose(1e3 * mirrored, found, atol=1e-5)


def test_nothing_is_shared_where_no_row_is_redundant() -> None:
    forces = np.array([3.0, 1.0, 0.5])
    assert share(np.eye(3), forces, [3], [0.4]) is forces
