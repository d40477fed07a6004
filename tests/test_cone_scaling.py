"""Cone programs whose rows are of very different sizes, down to rounding: all limits hold, each to its own digits."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.dynamics.optimize import solve_cone_program


def friction(entries):
    """Two contacts with one internal force: G and h of two friction cones, the second of which is active."""
    G = np.array([[1.6e-4 * entries], [0.53], [-0.36], [-1.6e-4 * entries], [0.53], [-0.36]])
    return G, np.array([75.7, 31.6, -43.3, 19.3, 12.7, -20.0])


def depth(G, h, x):
    """Return by how much the points h − G x are inside their cones."""
    return [s[0] - np.hypot(*s[1:]) for s in np.split(h - G @ x, 2)]


@pytest.mark.parametrize("small", [0.0, 1e-17, 1e-14, 1e-9, 1e-6])
@pytest.mark.parametrize("entries", [1.0, 1e-4])
def test_limits_far_away_do_not_blur_those_nearby(small, entries):
    """Limits of 40 on what hardly moves, beside cones that are active: the answer is as without them."""
    cones, near = friction(entries)
    rows = small * np.array([[1.0], [-1.0], [0.3], [-0.3]])
    G, h = np.vstack([rows, cones]), np.concatenate([[40.0, 41.0, 39.0, 36.0], near])
    alone = solve_cone_program(np.eye(1), [0.0], cones, near, cones=(3, 3))
    beside = solve_cone_program(np.eye(1), [0.0], G, h, linear=4, cones=(3, 3))
    assert alone.x[0] > 1.0
    np.testing.assert_allclose(beside.x, alone.x, rtol=1e-10)
    assert min(depth(cones, near, beside.x)) > -1e-10
    assert abs(beside.gap) < 1e-9 * beside.cost
    assert beside.dual_residual < 1e-9


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1e6])
def test_units_of_rows_and_variables_do_not_matter(size):
    """One variable in other units, and one cone in other units of force."""
    rng = np.random.default_rng(4)
    P, q = np.diag([1.0, 2.0, 3.0]), 10.0 * rng.standard_normal(3)
    G, h = rng.standard_normal((6, 3)), np.array([1.0, 0.2, 0.1, 1.5, -0.3, 0.2])
    plain = solve_cone_program(P, q, G, h, cones=(3, 3))
    assert (plain.dual.reshape(2, 3)[:, 0] > 1e-3).any()
    units, forces = np.array([size, 1.0, 1.0]), np.repeat([size, 1.0], 3)
    other = solve_cone_program(
        P * np.outer(units, units), q * units, forces[:, None] * G * units, forces * h, cones=(3, 3)
    )
    np.testing.assert_allclose(other.x * units, plain.x, rtol=1e-8, atol=1e-10)
    assert min(depth(G, h, other.x * units)) > -1e-10
