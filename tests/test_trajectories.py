"""References: closed forms, points met, continuous derivatives, rest at the ends, and what is refused."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.references import Path, circle, hold, minimum_jerk, sample, via_points


def random_spline(count: int, width: int = 3) -> tuple[Array, Array, Path]:
    rng = np.random.default_rng(count)
    times, points = np.cumsum(rng.uniform(0.2, 1.0, count)), rng.standard_normal((count, width))
    return times, points, via_points(times, points)


def size_of(path: Path) -> int:
    """Size of a path with its first two derivatives, which is what a law needs."""
    t = ca.SX.sym("t")
    value = ca.SX(path(t))
    rate = ca.jtimes(value, t, ca.SX(1))
    return ca.Function("path", [t], [value, rate, ca.jtimes(rate, t, ca.SX(1))]).n_instructions()


def test_minimum_jerk_is_the_polynomial_of_degree_five() -> None:
    """The derivatives of 10 s³ − 15 s⁴ + 6 s⁵; its top speed is 15/8 of the mean one."""
    start, end = np.array([0.3, -1.0]), np.array([1.3, 2.0])
    path = minimum_jerk(start, end, 2.0, t0=0.5)
    s = np.linspace(0.0, 1.0, 41)[1:-1]
    forms = (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / 2.0,
        (60 * s - 180 * s**2 + 120 * s**3) / 4.0,
        (60 - 360 * s + 360 * s**2) / 8.0,
    )
    for k, form in enumerate(forms):
        expected = np.outer(form, end - start) + (start if k == 0 else 0.0)
        assert_allclose(sample(path, 0.5 + 2.0 * s, k), expected, atol=1e-13 * 60)
    assert_allclose(sample(path, [1.5], 1)[0], 15 / 8 * (end - start) / 2.0)


def test_minimum_jerk_has_the_least_jerk() -> None:
    """No other motion between the same states of rest has a smaller ∫ (d³x/dt³)² dt."""
    times, weights = np.polynomial.legendre.leggauss(20)
    t = 0.5 * (times + 1.0)
    jerk = sample(minimum_jerk(0.0, 1.0, 1.0), t, 3)[:, 0]
    least = 0.5 * weights @ jerk**2
    assert_allclose(least, 720.0)
    for power in (3, 4, 5):
        # t³ (1 − t)ⁿ keeps both ends and their first two derivatives
        change = np.polynomial.Polynomial([0, 0, 0, 1]) * np.polynomial.Polynomial([1, -1]) ** power
        other = 0.5 * weights @ (jerk + change.deriv(3)(t)) ** 2
        assert other > least + 1e-3


@pytest.mark.parametrize(
    "path", [minimum_jerk([0.0, 1.0], [2.0, -1.0], 1.5, t0=1.0), via_points([1.0, 2.5], [[0, 1], [2, -1]])]
)
def test_rest_before_and_after(path: Path) -> None:
    outside = np.array([-3.0, 0.0, 1.0, 2.5, 2.6, 9.0])
    ends = np.array([[0.0, 1.0]] * 3 + [[2.0, -1.0]] * 3)
    assert_allclose(sample(path, outside), ends, atol=1e-12)
    for k in (1, 2):
        assert_allclose(sample(path, outside, k), np.zeros((6, 2)), atol=1e-11)


def test_two_via_points_are_a_minimum_jerk_motion() -> None:
    t = np.linspace(-0.2, 3.2, 50)
    a, b = [0.4, -0.3, 2.0], [1.0, 0.5, -1.0]
    for k in range(3):
        assert_allclose(
            sample(via_points([0.5, 2.5], [a, b]), t, k),
            sample(minimum_jerk(a, b, 2.0, 0.5), t, k),
            atol=1e-12,
        )


@pytest.mark.parametrize("count", [2, 3, 4, 5, 10, 60])
def test_via_points_are_met_from_rest_to_rest(count: int) -> None:
    times, points, path = random_spline(count)
    assert_allclose(sample(path, times), points, atol=1e-12)
    for k in (1, 2):
        assert_allclose(sample(path, times[[0, -1]], k), np.zeros((2, 3)), atol=1e-11)
    assert_allclose(sample(path, [times[0] - 1.0, times[-1] + 1.0]), points[[0, -1]], atol=1e-12)


@pytest.mark.parametrize("count", [3, 4, 10])
def test_four_derivatives_are_continuous_and_no_more(count: int) -> None:
    """On both sides of a knot the Taylor polynomials agree up to the fourth derivative."""
    times, _, path = random_spline(count)
    inner, h = times[1:-1], 1e-9
    for k in range(6):
        left, right = sample(path, inner - h, k), sample(path, inner + h, k)
        slope = np.abs(sample(path, np.linspace(times[0], times[-1], 999), k + 1)).max() if k < 5 else 0.0
        jump = np.abs(right - left).max()
        if k < 5:
            assert jump <= 2 * h * slope * (1 + 1e-3) + 1e-8
        else:
            assert jump > 1.0


def test_a_derivative_is_the_slope_of_the_one_before() -> None:
    times, _, path = random_spline(6)
    t, h = np.random.default_rng(0).uniform(times[0], times[-1], 40), 1e-6
    for k in range(1, 4):
        slope = (sample(path, t + h, k - 1) - sample(path, t - h, k - 1)) / (2 * h)
        assert_allclose(sample(path, t, k), slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


def test_steep_pieces_leave_the_others_exact() -> None:
    """A piece of a millisecond has coefficients of 1e15; the pieces after it must not feel their rounding."""
    times = [0.0, 1.0, 1.001, 11.0, 12.0]
    points = [0.0, 1.0, 1.5, 0.0, 1.0]
    assert_allclose(sample(via_points(times, points), times)[:, 0], points, atol=1e-9)


def test_expressions_grow_with_the_number_of_pieces_only() -> None:
    """So many times as many pieces cost at most so many times as much, also in the derivatives."""
    counts = (10, 20, 30, 60)
    *fewer, most = (size_of(random_spline(count)[2]) for count in counts)
    assert all(fewer[k] < most <= counts[-1] / counts[k] * fewer[k] for k in range(len(fewer)))


def test_circle_keeps_its_distance_and_its_speed() -> None:
    centre, first, second = np.array([1.0, -2.0, 0.5]), np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0])
    path = circle(centre, 0.4, 3.0, first=first, second=second, phase=0.7)
    t = np.linspace(0.0, 3.0, 31)
    x, v, a = (sample(path, t, k) for k in range(3))
    assert_allclose(np.linalg.norm(x - centre, axis=1), 0.4)
    assert_allclose(np.linalg.norm(v, axis=1), 1.2)
    assert_allclose(a, -9.0 * (x - centre), atol=1e-12)
    assert_allclose(x[0], centre + 0.4 * (np.cos(0.7) * first + np.sin(0.7) * second))
    assert_allclose(np.cross(x - centre, v), np.tile(0.48 * np.cross(first, second), (31, 1)), atol=1e-12)


def test_hold_stays() -> None:
    assert_allclose(sample(hold([1.0, -2.0]), [0.0, 5.0]), [[1.0, -2.0]] * 2)
    assert_allclose(sample(hold(3.0), [0.0, 5.0], 1), [[0.0], [0.0]])


def test_paths_take_numbers_and_symbols() -> None:
    t = ca.SX.sym("t")
    for path in (
        hold([1.0, 2.0]),
        minimum_jerk([0, 0], [1, 2], 1.0),
        circle([0, 0], 1.0, 1.0),
        random_spline(4, 2)[2],
    ):
        traced = ca.Function("path", [t], [path(t)])
        assert_allclose(np.array(ca.DM(path(0.3))), np.array(traced(0.3)), atol=1e-15)
        assert_allclose(sample(path, 0.3), np.array(traced(0.3)).T, atol=1e-15)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: hold("here"), "value must be finite numbers"),
        (lambda: hold([[1.0, 2.0]]), "value must be a vector"),
        (lambda: minimum_jerk(0.0, np.nan, 1.0), "end must be finite"),
        (lambda: minimum_jerk(0.0, [1.0, 2.0], 1.0), "one length, got 1 and 2"),
        (lambda: minimum_jerk(0.0, 1.0, 0.0), "duration must be positive"),
        (lambda: minimum_jerk(0.0, 1.0, np.inf), "duration must be finite"),
        (lambda: minimum_jerk(0.0, 1.0, 1.0, t0=[0.0, 1.0]), "t0 must be one number"),
        (lambda: via_points([0.0], [1.0]), "at least two"),
        (lambda: via_points([0.0, 1.0], [1.0, 2.0, 3.0]), "as many rows"),
        (lambda: via_points([0.0, 1.0, 1.0], [1.0, 2.0, 3.0]), "increase"),
        (lambda: via_points([0.0, "late"], [1.0, 2.0]), "times must be finite"),
        (lambda: via_points([0.0, 1.0], [1.0, np.inf]), "points must be finite"),
        (lambda: circle([0.0, 0.0, 0.0], 1.0, 1.0), "one length, got 3 and 2"),
        (lambda: circle([0.0, 0.0], np.nan, 1.0), "radius must be finite"),
        (lambda: circle([0.0, 0.0], 1.0, 1.0, first=(2.0, 0.0)), "length one at right angles"),
        (lambda: circle([0.0, 0.0], 1.0, 1.0, second=(0.6, 0.8)), "length one at right angles"),
        (lambda: sample(hold(1.0), [0.0, np.nan]), "times must be finite"),
    ],
)
def test_wrong_input_is_named(build, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        build()
