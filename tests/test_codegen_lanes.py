"""Native code on several sets of inputs at once: in every lane what the scalar code gives there."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from mpmath import mp, mpf

from sarrus.codegen import compile_function

pytestmark = pytest.mark.usefixtures("usual_level")

WIDE = 8


def every_operation(x: ca.SX) -> dict[str, ca.SX]:
    """Return an expression of every kind that a mechanism or a user's function has."""
    a, b, c = x[0], x[1], x[2]
    functions = (
        ca.exp,
        ca.tan,
        ca.asinh,
        ca.tanh,
        ca.erf,
        ca.atan,
        ca.log1p,
        ca.expm1,
        ca.floor,
        ca.ceil,
        ca.fabs,
    )
    return {
        "angles": ca.vertcat(ca.sin(x), ca.cos(x)),
        "functions": ca.vertcat(*[f(b / 3) for f in functions]),
        "roots": ca.vertcat(ca.sqrt(ca.fabs(a)), ca.sqrt(a), ca.log(c), ca.acos(a), ca.erfinv(a / 10)),
        "two": ca.vertcat(ca.atan2(a, b), ca.fmod(a, 3), ca.fabs(a) ** b, ca.hypot(a, b), ca.copysign(a, b)),
        "choices": ca.vertcat(
            ca.if_else(a > b, c, -a), ca.fmin(a, b), ca.fmax(b, c), ca.sign(b), ca.logic_not(a)
        ),
        "logic": ca.vertcat(ca.logic_and(a > 0, b > 0), ca.logic_or(a > 0, b > 0), a <= b, a == b, a != c),
        "plain": ca.vertcat(1 / a, -b, a * a, 2 * c, a - b * c, a / b),
    }


@pytest.mark.parametrize("chunk", [0, 7], ids=["one function", "chunks"])
def test_every_lane_is_the_scalar_function(chunk: int) -> None:
    x = ca.SX.sym("x", 3)
    scalar = compile_function("scalar", [x], every_operation(x))
    wide = compile_function("wide", [x], every_operation(x), lanes=WIDE, chunk=chunk)
    assert (wide.chunks == 1) == (chunk == 0)
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, np.pi])
    for scale in (1e-8, 1.0, 30.0, 1e6, 1e9):
        values = scale * rng.normal(size=(3, WIDE))
        for given in (values, np.where(rng.random((3, WIDE)) < 0.3, special, values)):
            expected = np.array([scalar(column) for column in given.T]).T
            np.testing.assert_allclose(wide(given), expected, rtol=4e-15, atol=1e-300, equal_nan=True)


def test_sine_and_cosine_to_a_unit_and_a_half() -> None:
    """Against 200 bits, also where the argument is near a multiple of π/2 and beyond what we reduce ourselves."""
    x = ca.SX.sym("x")
    wide = compile_function("angles", [x], {"sine": ca.sin(x), "cosine": ca.cos(x)}, lanes=WIDE)
    rng = np.random.default_rng(1)
    angles = np.concatenate([
        rng.uniform(-10, 10, 400),
        rng.uniform(-1e6, 1e6, 200),
        np.pi / 2 * np.arange(-100, 100) * (1 + 1e-15 * rng.normal(size=200)),
        2.0**20 * np.array([0.999, 1.0, 1.001, 1e3, -0.999, -1.0, 1e-30, 0.0]),
    ])  # fmt: skip
    with mp.workprec(200):
        for part in angles.reshape(-1, WIDE):
            found = wide(part[None])
            for lane, angle in enumerate(part):
                for value, exact in zip(found[:, lane], (mp.sin(mpf(angle)), mp.cos(mpf(angle)))):
                    assert abs(value - exact) <= 1.5 * np.spacing(abs(float(exact))), angle


def test_lanes_do_not_mix() -> None:
    """What one lane holds changes no bit of another, not even where it is not a number or far away."""
    x = ca.SX.sym("x", 3)
    wide = compile_function("wide", [x], every_operation(x), lanes=WIDE)
    values = np.random.default_rng(2).normal(size=(3, WIDE))
    before = wide(values)
    for strange in (np.nan, np.inf, 1e9, 0.0):
        values[:, 3] = strange
        np.testing.assert_array_equal(np.delete(wide(values), 3, axis=1), np.delete(before, 3, axis=1))


def test_lanes_are_code_of_their_own() -> None:
    x = ca.SX.sym("x", 2)
    scalar = compile_function("sum", [x], {"y": ca.sum1(x)})
    wide = compile_function("sum", [x], {"y": ca.sum1(x)}, lanes=WIDE)
    assert scalar([1.0, 2.0]).tolist() == [3.0]
    assert wide(np.arange(2.0 * WIDE).reshape(2, WIDE)).tolist() == [(np.arange(WIDE) * 2.0 + WIDE).tolist()]
    with pytest.raises(ValueError, match=r"expected \(2, 8\)"):
        wide([1.0, 2.0])
