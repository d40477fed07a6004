"""Splines from tables: what they go through, how smooth they are, what is beyond the ends, integrals, errors."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from sarrus.base.errors import ArgumentError
from sarrus.control import references
from sarrus.model.mechanism.spline import Spline

X = np.array([0.0, 0.3, 1.0, 1.4, 2.0])
Y = np.array([1.0, 2.0, -1.0, 0.5, 1.0])
ALL = [
    (1, "natural"),
    (3, "natural"),
    (3, "rest"),
    (5, "rest"),
    (1, "periodic"),
    (3, "periodic"),
    (5, "periodic"),
]


def derivative(spline: Spline, x: np.ndarray, order: int) -> np.ndarray:
    """Values of a derivative, by differentiation of the expression."""
    t = ca.SX.sym("t")
    value = ca.SX(spline(t))
    for _ in range(order):
        value = ca.jacobian(value, t)
    return np.array(ca.Function("d", [t], [value])(x)).ravel()


@pytest.mark.parametrize(("degree", "ends"), ALL)
def test_a_spline_goes_through_its_table_as_smoothly_as_it_says(degree: int, ends: str) -> None:
    spline = Spline.through(X, Y, degree, ends)
    np.testing.assert_allclose(spline.at(X)[:, 0], Y, atol=1e-14)
    places = np.linspace(-1.5, 4.5, 301)
    np.testing.assert_array_equal(derivative(spline, places, 0), spline.at(places)[:, 0])
    inner = X if ends != "natural" or degree == 3 else X[1:-1]
    for order in range(degree):
        # inside, of periodic ones everywhere; splines at rest begin with as many zero derivatives as they say
        knots = inner if ends != "rest" or order <= (degree - 1) // 2 else X[1:-1]
        behind, ahead = derivative(spline, knots - 1e-9, order), derivative(spline, knots + 1e-9, order)
        np.testing.assert_allclose(behind, ahead, atol=1e-4 if order else 1e-7)


def test_beyond_the_table() -> None:
    straight, rest, again = (Spline.through(X, Y, ends=ends) for ends in ("natural", "rest", "periodic"))
    ahead = straight.at([2.0, 3.0, 4.0, 5.0])[:, 0]
    np.testing.assert_allclose(np.diff(ahead, 2), 0.0, atol=1e-12)
    assert abs(ahead[1] - ahead[0]) > 0.1
    np.testing.assert_array_equal(rest.at([-9.0, 0.0, 2.0, 7.0])[:, 0], [1.0, 1.0, 1.0, 1.0])
    places = np.linspace(0.0, 1.9, 20)
    np.testing.assert_allclose(again.at(places + 6.0), again.at(places), atol=1e-13)
    np.testing.assert_allclose(again.at(places - 4.0), again.at(places), atol=1e-13)


def test_paths_through_points_are_splines_of_degree_five_at_rest() -> None:
    points = np.column_stack([Y, np.cos(X)])
    path = references.via_points(X, points)
    times = np.linspace(-0.5, 2.5, 50)
    np.testing.assert_array_equal(
        references.sample(path, times), Spline.through(X, points, 5, "rest").at(times)
    )
    assert np.abs(references.sample(path, [0.0, 2.0], 2)).max() < 1e-10


@pytest.mark.parametrize(("degree", "ends"), ALL[:4])
def test_the_integral_has_the_spline_as_its_slope(degree: int, ends: str) -> None:
    spline = Spline.through(X, Y, degree, ends)
    integral = spline.integral(0.7)
    assert abs(integral.at(0.7)[0]) < 1e-15
    places = np.linspace(-1.5, 3.5, 401)
    np.testing.assert_allclose(derivative(integral, places, 1), spline.at(places)[:, 0], atol=1e-13)
    np.testing.assert_allclose(integral.at(X - 1e-9), integral.at(X + 1e-9), atol=1e-7)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([0, 1, 1], [1, 2, 3], {}, "increase"),
        ([0, 1], [1, 2, 3], {}, r"as many rows of y as numbers x.*\(2,\) and \(3, 1\)"),
        ([0], [1], {}, "at least two"),
        ([0, 1], [1, np.nan], {}, "finite numbers; y"),
        ([0, 1], ["a", "b"], {}, "table of numbers"),
        ([0, 1], [1, 2], {"ends": "periodic"}, "same values at both ends"),
        ([0, 1], [1, 2], {"degree": 2}, r"natural \(1 or 3\), rest \(3 or 5\)"),
        ([0, 1], [1, 2], {"degree": 1, "ends": "rest"}, "natural"),
        ([0, 1], [1, 2], {"ends": "free"}, "'free'"),
    ],
)
def test_bad_tables_are_errors(x, y, options, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Spline.through(x, y, **options)


def test_numbers_that_make_no_spline_are_errors() -> None:
    good = Spline.through(X, Y)
    for knots, coefficients, period in (
        (good.knots[::-1], good.coefficients, None),
        (good.knots[:3], good.coefficients, None),
        (good.knots, np.full_like(good.coefficients, np.nan), None),
        (good.knots, good.coefficients, 0.0),
        (np.zeros(0), np.zeros((1, 1, 1)), None),
    ):
        with pytest.raises(ArgumentError, match="spline"):
            Spline(knots, coefficients, period)


def test_periodic_splines_have_no_integral() -> None:
    with pytest.raises(ArgumentError, match="no spline"):
        Spline.through(X, Y, ends="periodic").integral()
