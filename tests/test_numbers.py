"""What is a number: strided and foreign arrays are, text, imaginary parts and masked entries are not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.base.numbers import real_array

MODEL = Path(__file__).parent.parent / "models" / "five_bar.xml"
MECHANISM = sr.load(MODEL)
START = MECHANISM.keyframes["symmetric"].q


@pytest.fixture(scope="module")
def system() -> sr.System:
    return sr.System(MECHANISM, parameters={"m": "link1.mass"})


STILL = np.zeros(4)
CALLS: dict[str, Callable[[sr.System, Any], Any]] = {
    "q of forward_dynamics": lambda s, x: s.forward_dynamics(x, STILL),
    "v of forward_dynamics": lambda s, x: s.forward_dynamics(START, x),
    "tau of forward_dynamics": lambda s, x: s.forward_dynamics(START, STILL, tau=x),
    "q of mass_matrix": lambda s, x: s.mass_matrix(x),
    "q of assemble": lambda s, x: s.assemble(x),
    "q of simulate": lambda s, x: sr.simulate(s, x, duration=0.01),
    "v of simulate": lambda s, x: sr.simulate(s, START, x, duration=0.01),
    "q of rollout": lambda s, x: sr.rollout(s, x, duration=0.01),
    "q of mobility": lambda s, x: sr.mobility(s, x),
    "a of inverse_dynamics": lambda s, x: s.inverse_dynamics(START, STILL, x),
    "q of linearize": lambda s, x: sr.linearize(s, x),
    "the grid of study": lambda s, x: sr.study(s, {"q.left": x}, duration=0.01),
    "h of a formulation": lambda s, x: sr.formulations.kkt(
        np.eye(4), x, np.ones((1, 4)), np.zeros(1), np.zeros(4)
    ),
    "a reference": lambda s, x: sr.references.hold(x),
}
NO_NUMBERS: dict[str, Any] = {
    "imaginary parts": START + 1j,
    "a list with imaginary parts": [1j, 0, 0, 0],
    "a masked entry": np.ma.masked_array(START, mask=[True, False, False, False]),
    "text": ["1", "2", "3", "4"],
    "nothing": [None, 1.0, 2.0, 3.0],
    "dates": np.array(["2020-01-01"] * 4, dtype="datetime64[D]"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_number_is_an_error_of_sarrus(call: str, value: str, system: sr.System) -> None:
    system.forward_dynamics(START, STILL)  # from now on calls take the short way
    with pytest.raises(SarrusError):
        CALLS[call](system, NO_NUMBERS[value])


@pytest.mark.parametrize(
    "given",
    [
        np.ones((4, 2))[:, 0],
        np.broadcast_to(1.0, 4),
        np.ones(8)[::2],
        np.ones(4, dtype=">f8"),
        np.ones(4, dtype=np.float32),
        np.ones(4, dtype=bool),
        [1, 1, 1, 1],
        np.ma.masked_array(np.ones(4), mask=False),
        np.array([1, 1.0, 1, 1], dtype=object),
    ],
)
def test_any_array_of_numbers_will_do(given: Any, system: sr.System) -> None:
    expected = system.forward_dynamics(START, np.ones(4), tau=np.ones(4)).a
    np.testing.assert_array_equal(system.forward_dynamics(START, given, tau=given).a, expected)
    u = np.ones((2, 2))[:, 1]
    system.forward_dynamics(START, given, u, tau=given)


@pytest.mark.parametrize("name", ["duration", "dt", "t0", "rtol"])
@pytest.mark.parametrize("value", ["1", b"1", 1j, [0.1], np.ma.masked, np.nan])
def test_options_that_are_no_numbers_are_named(name: str, value: Any, system: sr.System) -> None:
    with pytest.raises(ArgumentError, match=f"{name} must be"):
        sr.simulate(system, START, **{"duration": 0.1, name: value})
    with pytest.raises(ArgumentError, match="max_step must be"):
        sr.Stepping(max_step=value)


def test_real_array_returns_what_is_one_already() -> None:
    array = np.arange(3.0)
    assert real_array(array) is array
    assert real_array(array[::2]).flags.c_contiguous
    assert real_array(3).shape == ()
    with pytest.raises(ArgumentError, match="got masked entries"):
        real_array(np.ma.masked)


def test_parameters_are_copied_as_numbers_and_laws_are_not(system: sr.System) -> None:
    for again in (
        pickle.loads(pickle.dumps(system.parameters)),
        copy.copy(system.parameters),
        copy.deepcopy(system.parameters),
    ):
        assert type(again) is dict
        assert again == dict(system.parameters)
    law = sr.control.ComputedTorque(system, ["left", "right"], lambda t: [2.0, 1.0])
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ArgumentError, match=r"ComputedTorque: a law is compiled code .* Make it again"):
            copied(law)
    np.testing.assert_array_equal(law.copy()(START, STILL, 0.0), law(START, STILL, 0.0))
