"""The divergent component of motion: steps and courses in closed form against integration of ξ̇ = ω (ξ − p)."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sarrus.control.legged.capture_point import DivergentSteps

GAITS = [(3.5, 0.34, 0.06), (3.2, 0.5, 0.2), (4.9, 0.2, 0.0), (3.0, 0.0, 0.4)]


@pytest.fixture(params=GAITS, ids=str)
def steps(request):
    return DivergentSteps(*request.param)


def integrated(steps, start, step, until):
    """Return ξ from the old foot at a time after a touchdown, with p going from foot to foot as it is told to."""

    def rate(t, xi):
        share = min(t / steps.double, 1.0) if steps.double else 1.0
        return steps.rate * (xi - share * step)

    if until == 0.0:
        return start
    pieces = [0.0, *([steps.double] if 0.0 < steps.double < until else []), until]
    for begin, end in pairwise(pieces):
        start = solve_ivp(rate, (begin, end), np.atleast_1d(start), rtol=1e-12, atol=1e-13).y[:, -1]
    return start


def test_a_step_brings_the_offset_that_is_to_follow(steps):
    """Whatever the offset is, and wherever it is to be."""
    rng = np.random.default_rng(0)
    for offset, following in rng.uniform(-0.3, 0.3, (10, 2)):
        step = float(steps.step(offset, following))
        last = steps.single + steps.double
        assert integrated(steps, offset, step, last) - step == pytest.approx(following, abs=1e-9)


def test_the_course_is_the_motion_of_that_step(steps):
    offset, following = 0.21, -0.17
    step = float(steps.step(offset, following))
    for since in np.linspace(0.0, steps.single + steps.double, 9):
        xi, p = steps.course(step, following, since)
        assert float(xi) + step == pytest.approx(
            np.ravel(integrated(steps, offset, step, since))[0], abs=1e-8
        )
        share = min(since / steps.double, 1.0) if steps.double else 1.0
        assert float(p) == pytest.approx((share - 1.0) * step, abs=1e-12)


def test_a_walk_goes_on_for_ever_from_its_offset(steps):
    """Steps of 12 cm + 24 cm, 12 cm − 24 cm, … (as along and across at once): each offset asks for the next step."""
    travel, across = np.array([0.12, 0.02]), np.array([0.0, 0.24])
    for sign in (1.0, -1.0, 1.0):
        offset, following = (
            [float(steps.offset(t, s * a)) for t, a in zip(travel, across)] for s in (sign, -sign)
        )
        asked = [float(steps.step(c, after)) for c, after in zip(offset, following)]
        np.testing.assert_allclose(asked, travel + sign * across, atol=1e-14)


def test_without_double_support_a_step_goes_to_the_capture_point():
    """D = c − e^(−ωT) c': with nothing to follow the foot is put on ξ, which then rests (Pratt et al. 2006)."""
    steps = DivergentSteps(3.5, 0.4, 0.0)
    assert float(steps.step(0.3, 0.0)) == pytest.approx(0.3, abs=1e-15)
    assert float(steps.step(0.3, 0.1)) == pytest.approx(0.3 - 0.1 * np.exp(-1.4), abs=1e-15)


def test_it_grows_from_a_centre_of_pressure_at_rest():
    steps = DivergentSteps(3.0, 0.4, 0.1)
    assert steps.grown(0.05, 0.0) == 0.05
    found = solve_ivp(lambda t, xi: 3.0 * xi, (0.0, 0.3), [0.05], rtol=1e-12, atol=1e-14).y[0, -1]
    assert steps.grown(0.05, 0.3) == pytest.approx(found, rel=1e-9)


def test_symbols_give_what_numbers_give():
    given = (3.4, 0.31, 0.07)
    symbols = [ca.SX.sym(name) for name in ("rate", "single", "double")]
    traced, steps = DivergentSteps(*symbols), DivergentSteps(*given)
    outputs = [traced.offset(0.1, 0.2), traced.step(0.3, 0.1), *traced.course(0.25, 0.1, 0.03)]
    numbers = [steps.offset(0.1, 0.2), steps.step(0.3, 0.1), *steps.course(0.25, 0.1, 0.03)]
    found = np.array(ca.Function("all", symbols, [ca.vertcat(*outputs)])(*given))
    np.testing.assert_allclose(found[:, 0], [float(number) for number in numbers], rtol=1e-14)
