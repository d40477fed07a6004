"""Rows of cone programs against a direct evaluation of what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.optimize import ConeRows, bounds, friction_cone, quadratic_constraint, stack


def slack(rows: ConeRows, x: np.ndarray) -> np.ndarray:
    """Return how far inside each half-line and cone h − G x is; negative outside."""
    s = rows.h - rows.G @ x
    values, at = list(s[: rows.linear]), rows.linear
    for size in rows.cones:
        values.append(s[at] - np.linalg.norm(s[at + 1 : at + size]))
        at += size
    assert at == len(s) == len(rows.G)
    return np.array(values)


def test_bounds() -> None:
    lower, upper = np.array([-1.0, -np.inf, 0.0]), np.array([2.0, 3.0, np.inf])
    rows = bounds(lower, upper)
    assert (rows.linear, rows.cones) == (4, ())
    x = np.array([0.5, -7.0, 4.0])
    np.testing.assert_array_equal(slack(rows, x), [1.5, 4.0, 1.5, 10.0])
    assert bounds(upper=upper).linear == 2
    assert bounds(lower=lower).linear == 2


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (None, None, "lower, upper or both"),
        ([0.0], [1.0, 2.0], "same length"),
        ([[0.0]], None, "vectors"),
        ([np.nan], None, "numbers"),
        ([np.inf], None, "below ∞"),
        (None, [-np.inf], "above −∞"),
    ],
)
def test_bounds_that_are_none(lower: list | None, upper: list | None, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        bounds(lower, upper)
    assert caught.value.element == "bounds"


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_friction_cone(size: int, seed: int) -> None:
    """μ λ_n − |λ_t| and the limit less λ_n, at forces inside and outside."""
    rng = np.random.default_rng(seed)
    E, c, x = rng.normal(size=(size, 4)), rng.normal(size=size), rng.normal(size=4)
    force = E @ x + c
    inside = 0.6 * force[0] - np.linalg.norm(force[1:])
    np.testing.assert_allclose(slack(friction_cone(E, c, coefficient=0.6), x), [inside], rtol=0, atol=1e-14)
    limited = friction_cone(E, c, coefficient=0.6, normal_limit=3.0)
    assert (limited.linear, limited.cones) == (1, (size,))
    np.testing.assert_allclose(slack(limited, x), [3.0 - force[0], inside], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("forces", "options", "element"),
    [
        (np.eye(4), {}, "forces"),
        ([1.0, 2.0, 3.0], {}, "forces"),
        ([[np.nan], [0.0], [0.0]], {}, "forces"),
        (np.eye(3), {"offset": [1.0, 2.0]}, "offset"),
        (np.eye(3), {"coefficient": 0.0}, "coefficient"),
        (np.eye(3), {"coefficient": -1.0}, "coefficient"),
        (np.eye(3), {"coefficient": np.nan}, "coefficient"),
    ],
)
def test_friction_cones_that_are_none(forces: object, options: dict, element: str) -> None:
    with pytest.raises(ArgumentError, match=element) as caught:
        friction_cone(forces, **options)
    assert caught.value.element == element


@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("seed", range(4))
def test_quadratic_constraint(rank: int, seed: int) -> None:
    """s is in the cone where ½ xᵀQ x + qᵀx + r ≤ 0: s₀² − |s₁|² is that, with the sign turned."""
    rng = np.random.default_rng(seed)
    L, q, r = rng.normal(size=(rank, 4)), rng.normal(size=4), float(rng.normal())
    Q = L.T @ L
    rows = quadratic_constraint(Q, q, r)
    assert (rows.linear, rows.cones) == (0, (rank + 2,))
    for x in 2.0 * rng.normal(size=(20, 4)):
        value = 0.5 * x @ Q @ x + q @ x + r
        s = rows.h - rows.G @ x
        assert np.sign(slack(rows, x)[0]) == -np.sign(value)
        np.testing.assert_allclose(s[0] ** 2 - s[1:] @ s[1:], -value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        (np.diag([1.0, -1e-3]), "smallest eigenvalue is -0.001"),
        (-np.eye(2), "positive semidefinite"),
        (np.array([[1.0, 1.0], [0.0, 1.0]]), "symmetric"),
        (np.eye(3), "fit q"),
    ],
)
def test_quadratic_constraints_that_are_not_convex(Q: np.ndarray, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        quadratic_constraint(Q, np.zeros(2), -1.0)
    assert caught.value.element == "Q"


def test_stack_puts_half_lines_first() -> None:
    parts = [
        friction_cone(np.eye(3), normal_limit=5.0),
        bounds(np.zeros(3)),
        quadratic_constraint(np.eye(3), np.zeros(3), -1.0),
    ]
    rows, x = stack(parts), np.array([0.3, -0.2, 0.1])
    assert (rows.linear, rows.cones) == (4, (3, 5))
    first, second, third = (slack(part, x) for part in parts)
    np.testing.assert_array_equal(slack(rows, x), [*first[:1], *second, *first[1:], *third])
    with pytest.raises(ArgumentError, match=r"same variables, got \[3, 2\]"):
        stack([bounds(np.zeros(3)), bounds(np.zeros(2))])
    with pytest.raises(ArgumentError, match="at least one"):
        stack([])
