"""Elementary functions of our own: against many digits, in lanes, and at the ends of their domains."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from mpmath import mp, mpf

from sarrus.base.arrays import Array
from sarrus.codegen import compile_function
from sarrus.codegen.exact.elementary import NAMES
from sarrus.codegen.machine import _symbols

pytestmark = pytest.mark.usefixtures("usual_level")

LANES, COUNT = 8, 96
X = ca.SX.sym("x", 2)
# The double that is nearest to a multiple of π/2 (Muller, Elementary Functions, table 11.1), and others of that kind.
NEAR_MULTIPLES = [6381956970095103 * 2.0**797, 5.319372648326541e255, 2.0**20, 2.0**20 - 0.25, 11.0, 710.0]


def spread(rng: np.random.Generator, low: float, high: float) -> Array:
    """Return numbers of either sign, of sizes from 10^low to 10^high."""
    return rng.choice([-1.0, 1.0], COUNT) * 10.0 ** rng.uniform(low, high, COUNT)


def angles(rng: np.random.Generator) -> list[Array]:
    multiples = np.pi / 2 * np.arange(1, COUNT) * (1 + 1e-16 * rng.standard_normal(COUNT - 1))
    return [
        rng.uniform(-4, 4, COUNT),
        spread(rng, -12, 5),
        spread(rng, 5, 308),
        multiples,
        np.array(NEAR_MULTIPLES),
    ]


def sines(rng: np.random.Generator) -> list[Array]:
    u = rng.uniform(-1, 1, COUNT)
    return [u, np.sign(u) * (1 - 10.0 ** rng.uniform(-16, 0, COUNT)), spread(rng, -300, 0)]


def exponents(rng: np.random.Generator) -> list[Array]:
    return [
        rng.uniform(-4, 4, COUNT),
        rng.uniform(-746, 711, COUNT),
        rng.uniform(-60, 60, COUNT),
        spread(rng, -320, 0),
    ]


def positive(rng: np.random.Generator) -> list[Array]:
    return [abs(spread(rng, -323, 308)), abs(spread(rng, -3, 3)), 1 + spread(rng, -16, -1)]


def above_minus_one(rng: np.random.Generator) -> list[Array]:
    return [
        abs(spread(rng, -323, 308)),
        rng.uniform(-1, 1, COUNT),
        -1 + abs(spread(rng, -16, 0)),
        spread(rng, -16, -1),
    ]


def above_one(rng: np.random.Generator) -> list[Array]:
    return [1 + abs(spread(rng, -16, 3)), abs(spread(rng, 0.01, 308))]


def any_number(rng: np.random.Generator) -> list[Array]:
    return [
        rng.uniform(-4, 4, COUNT),
        spread(rng, -320, 300),
        rng.uniform(-30, 30, COUNT),
        spread(rng, -12, 2),
    ]


ONE: dict[str, tuple[Callable, Callable, Callable, int]] = {
    "sin": (ca.sin, mp.sin, angles, 1300),
    "cos": (ca.cos, mp.cos, angles, 1300),
    "tan": (ca.tan, mp.tan, angles, 1300),
    "asin": (ca.asin, mp.asin, sines, 200),
    "acos": (ca.acos, mp.acos, sines, 200),
    "atan": (ca.atan, mp.atan, any_number, 200),
    "exp": (ca.exp, mp.exp, exponents, 200),
    "expm1": (ca.expm1, mp.expm1, exponents, 1300),
    "log": (ca.log, mp.log, positive, 200),
    "log1p": (ca.log1p, mp.log1p, above_minus_one, 1300),
    "sinh": (ca.sinh, mp.sinh, exponents, 1300),
    "cosh": (ca.cosh, mp.cosh, exponents, 200),
    "tanh": (ca.tanh, mp.tanh, any_number, 1300),
    "asinh": (ca.asinh, mp.asinh, any_number, 1300),
    "acosh": (ca.acosh, mp.acosh, above_one, 1300),
    "atanh": (ca.atanh, mp.atanh, sines, 1300),
    "erf": (ca.erf, mp.erf, any_number, 200),
    "erfinv": (ca.erfinv, mp.erfinv, lambda rng: [rng.uniform(-1, 1, COUNT)], 120),
}
TWO = {
    "atan2": (ca.atan2, mp.atan2, lambda rng: (spread(rng, -300, 300), spread(rng, -300, 300))),
    "atan2 near": (ca.atan2, mp.atan2, lambda rng: (spread(rng, -2, 2), spread(rng, -2, 2))),
    "hypot": (ca.hypot, mp.hypot, lambda rng: (spread(rng, -300, 300), spread(rng, -300, 300))),
    "hypot near": (ca.hypot, mp.hypot, lambda rng: (spread(rng, -1, 1), spread(rng, -1, 1))),
    "pow": (ca.power, mp.power, lambda rng: (abs(spread(rng, -300, 300)), spread(rng, -3, 0))),
    "pow near": (ca.power, mp.power, lambda rng: (abs(spread(rng, -0.1, 0.1)), spread(rng, 0, 3.4))),
}


def units(value: float, exact: mpf) -> float:
    """Return the error in units in the last place of the exact value."""
    if mp.isinf(exact) or abs(exact) > 2**1024 * (1 - mpf(2) ** -54):
        return 0.0 if np.isinf(value) else np.inf
    unit = float(np.spacing(abs(float(exact))))
    return float(abs(mpf(float(value)) - exact) / unit) if np.isfinite(value) else np.inf


def both(expression: ca.SX, points: Array) -> Array:
    """Return values at points (n, 2), after comparing those of one number and of lanes bit for bit."""
    one = compile_function("f", [X], {"y": expression})
    wide = compile_function("f", [X], {"y": expression}, lanes=LANES)
    padded = np.vstack([points, np.repeat(points[:1], -len(points) % LANES, axis=0)])
    values = np.array([one(point)[0] for point in padded])
    beside = np.concatenate([wide(part.T)[0] for part in padded.reshape(-1, LANES, 2)])
    nothing = np.isnan(values)
    np.testing.assert_array_equal(nothing, np.isnan(beside))
    assert values[~nothing].tobytes() == beside[~nothing].tobytes()
    return values[: len(points)]


@pytest.mark.parametrize("name", ONE)
def test_one_unit_in_the_last_place(name: str) -> None:
    """Subnormal, huge and near-singular arguments included; three Halley steps may cost `erfinv` a little more."""
    function, reference, draw, bits = ONE[name]
    points = np.concatenate(draw(np.random.default_rng(0)))
    values = both(function(X[0]), np.stack([points, points], axis=1))
    with mp.workprec(bits):
        errors = [units(value, reference(mpf(float(x)))) for value, x in zip(values, points)]
    worst = int(np.argmax(errors))
    assert errors[worst] < (1.5 if name == "erfinv" else 1.0), (points[worst], values[worst])


@pytest.mark.parametrize("name", TWO)
def test_one_unit_in_the_last_place_of_two_arguments(name: str) -> None:
    function, reference, draw = TWO[name]
    a, b = draw(np.random.default_rng(1))
    values = both(function(X[0], X[1]), np.stack([a, b], axis=1))
    with mp.workprec(300):
        exact = [reference(mpf(float(x)), mpf(float(y))) for x, y in zip(a, b)]
        errors = [units(value, found) for value, found in zip(values, exact)]
    worst = int(np.argmax(errors))
    assert errors[worst] < 1.0, (a[worst], b[worst], values[worst])


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "exp", "log", "atan", "tanh", "erf"])
def test_every_size_of_argument_goes_with_every_other(name: str) -> None:
    """A lane that needs the long way leaves its neighbours what they are."""
    special = np.array(
        [0.0, -0.0, 5e-324, -1e-310, 1e-8, 0.7, -1.0, 1e5, 2e6, -1e22, 1e308, np.inf, -np.inf, np.nan]
    )
    rng = np.random.default_rng(2)
    points = rng.choice(special, (40 * LANES, 2))
    both(ONE[name][0](X[0]), points)


def test_only_exact_functions_of_the_c_library_can_be_called() -> None:
    assert not {"sin", "cos", "sincos", "exp", "pow", "log", "tan", "erf"} & set(_symbols())
    assert set(NAMES) > {"sincos", "pow", "exp"}


def test_sums_and_products_are_rounded_one_by_one() -> None:
    """Whatever the instructions of the processor: as Python has it, which fuses nothing."""
    a, b = X[0], X[1]
    function = compile_function(
        "rounded", [X], {"y": ca.vertcat(a * b + 1, a * b - (a + 1) * (b - 1), 2 - a * b)}
    )
    for x, y in np.random.default_rng(3).standard_normal((200, 2)):
        assert function([x, y]).tolist() == [x * y + 1, x * y - (x + 1) * (y - 1), 2 - x * y]
