"""Levels of which coming close is enough drive nothing to its limit: closed forms, random laws, C."""

from __future__ import annotations

import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from c_code import Compiled
from random_levels import carts
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status

sys.path.insert(0, str(Path(__file__).parent / "families"))

import soft_levels

STILL = np.zeros(1)


def twins() -> sr.System:
    """Return a cart of a kilogram with two motors."""
    mechanism = sr.Mechanism("twins", gravity=(0, 0, 0))
    mechanism.add_body("cart", 1.0)
    mechanism.add_joint("x", "prismatic", "world", "cart", axis=(1, 0, 0))
    mechanism.add_actuator("left", "x")
    mechanism.add_actuator("right", "x")
    return sr.System(mechanism)


class Pushes(control.Law):
    """x accelerates with "a", as far as the motors can; then the left one is to push by "more" more than the right one,
    which is not worth much."""

    def __init__(self, system: sr.System, **options: object) -> None:
        settings = control.Settings()
        first = control.Demand("go", ("x",), ca.SX.ones(1, 1), settings.add("a", 0.0, 1, "pushes"))
        difference = ca.SX(ca.DM([[1.0, -1.0]]))
        wanted = settings.add("more", 4.0, 1, "pushes")
        second = control.Demand(
            "tilt", ("difference",), ca.SX.zeros(1, 1), wanted, unknowns=difference, soft=True
        )
        super().__init__(system, [first, second], settings, limits=(-10.0, 10.0), **options)


class Alone(control.Law):
    """A cart that is to be pushed by "force", where that is all, and coming close is enough."""

    def __init__(self, system: sr.System, **options: object) -> None:
        settings = control.Settings()
        force = settings.add("force", 0.0, 1, "alone")
        super().__init__(system, [control.ForceDemand("rest", force, soft=True)], settings, **options)


@pytest.mark.parametrize("force", [0.0, 5.0, 8.9999, 9.0, 9.0001, 9.5, 30.0, -9.5])
def test_one_motor_goes_to_nine_tenths(force: float) -> None:
    law = Alone(carts(1), limits=(-10.0, 20.0))
    law.settings["force"] = force
    told = law.solve(STILL, STILL)
    expected = min(max(force, -9.0), 18.0)
    assert told.status is Status.OK
    assert_allclose(told.u, [expected], rtol=0.0, atol=0.0 if force == expected else 2e-8)
    assert (told.outcome == "exact") == (force == expected)
    assert told.relaxed == (() if force == expected else ("rest",))


@pytest.mark.parametrize("a", [0.0, 10.0, 14.0, 16.0, 17.0, 18.0, 18.5, 19.9, 20.0, 30.0, -18.5])
def test_two_motors_on_one_joint(a: float) -> None:
    """u1 + u2 is what the first level takes; u1 − u2 is to be 4, and each is at most max(9, half of the sum)."""
    law = Pushes(twins())
    law.settings["a"] = a
    told = law.solve(STILL, STILL, throw=False)
    half = 0.5 * min(max(a, -20.0), 20.0)
    most = max(9.0, abs(half))
    apart = min(2.0, most - abs(half))
    assert_allclose(told.u, [half + apart, half - apart], rtol=0.0, atol=3e-7)
    assert abs(told.u.sum() - 2.0 * half) < 1e-8
    assert told.relaxed == (("tilt",) if abs(a) <= 20.0 else ("go", "tilt")) or apart == 2.0
    assert told.status is (Status.OK if abs(a) <= 20.0 else Status.NOT_ACHIEVABLE)
    if apart < 2.0 and abs(a) <= 20.0:
        assert "only the soft level 'tilt' gives way to the limits of actuator" in told.message


def test_controls_are_continuous_where_shares_come_in_and_what_is_needed_passes_them() -> None:
    """Along a: slopes of u by a are those of the closed form, 1 at most."""
    law = Pushes(twins())
    found = []
    places = np.unique(
        np.concatenate([np.linspace(13.0, 20.0, 400), *(x + np.linspace(-1e-5, 1e-5, 21) for x in (14, 18))])
    )
    for a in places:
        law.settings["a"] = a
        found.append(law(STILL, STILL))
    slopes = (np.abs(np.diff(found, axis=0)).max(axis=1) - 2e-8) / np.diff(places)
    assert slopes.max() < 1.001


def test_a_share_of_one_is_the_whole_limit_and_weights_of_misses_have_no_shares() -> None:
    law = Alone(carts(1), limits=(-10.0, 10.0), soft_share=1.0)
    law.settings["force"] = 30.0
    assert_allclose(law(STILL, STILL), [10.0], atol=1e-7)
    weighed = Alone(carts(1), limits=(-10.0, 10.0), relaxation=1e6)
    weighed.settings["force"] = 30.0
    assert_allclose(weighed(STILL, STILL), [10.0], atol=1e-7)
    half = Alone(carts(1), limits=(-10.0, 10.0), soft_share=0.5)
    half.settings["force"] = 30.0
    assert_allclose(half(STILL, STILL), [5.0], atol=1e-7)
    for share in (0.0, 1.1, np.nan, (0.5, 0.5), "a"):
        with pytest.raises(ArgumentError, match=r"soft_share|real numbers"):
            Alone(carts(1), limits=(-10.0, 10.0), soft_share=share)


def test_levels_that_are_to_be_met_have_all_of_the_limits() -> None:
    law = control.TaskHierarchy(carts(2), [control.Task("x0", 1.0, 100.0)], limits=(-10.0, 10.0))
    assert_allclose(law.solve(np.zeros(2), np.zeros(2), throw=False).u, [10.0, 0.0], atol=1e-7)


def test_the_rate_of_controls_is_kept_with_shares() -> None:
    """From the 9.9 that the first level needed: at most 0.1 a sample, and then 9."""
    law = Pushes(twins(), largest_rate=100.0)
    law.settings["a"] = 19.8
    law.sample(STILL, STILL, 0.0, 1e-3)
    law.settings["a"] = 16.0
    before = law.sample(STILL, STILL, 0.0, 1e-3)
    for _ in range(60):
        now = law.sample(STILL, STILL, 0.0, 1e-3)
        assert np.abs(now - before).max() < 0.1 + 1e-7
        before = now
    assert_allclose(before, [9.0, 7.0], atol=1e-6)


@pytest.mark.parametrize("part", range(4))
def test_random_levels(part: int) -> None:
    """Levels above are as without the last one, shares hold, and the last one misses no more than it must."""
    for seed in range(40 * part, 40 * part + 40):
        wrong = soft_levels.of_carts(seed)
        assert wrong["above"] < 1e-9, seed
        assert wrong["limits"] < 1e-9, seed
        assert wrong.get("missed", 0.0) < 1e-7, seed


@pytest.mark.filterwarnings("ignore::sarrus.ModelWarning")
def test_random_robots_on_their_feet() -> None:
    answered = 0
    for seed in range(40):
        wrong = soft_levels.of_robots(seed)
        if wrong is None:
            continue
        answered += 1
        assert wrong["above"] < 1e-9, seed
        assert wrong["limits"] < 1e-8, seed
        assert wrong.get("missed", 0.0) < 1e-7, seed
    assert answered > 30


@pytest.mark.filterwarnings("ignore::sarrus.ModelWarning")
def test_no_jumps() -> None:
    for seed in range(25):
        slope, most = soft_levels.jump_of_carts(seed)
        assert most < 1e-6, seed
        assert slope < 1e3, seed
    for seed in range(12):
        found = soft_levels.jump_of_robots(seed)
        assert found is None or found[1] < 1e-6, seed


@pytest.mark.filterwarnings("ignore::sarrus.ModelWarning")
def test_c_does_the_same(tmp_path: Path) -> None:
    """The hopper from its own workspace, one after the other, whatever the feet and the springs."""
    robot = soft_levels.robots()[1]
    law = robot.laws[0].copy()
    for name, value in (
        ("target[0]", 0.4),
        ("target[2]", 0.4),
        *((f"stiffness[{k}]", 900.0) for k in range(3)),
    ):
        law.settings[f"pull.{name}"] = value
    law.limits.arrays["physics"][robot.parts(law, "limits")] = np.repeat([-20.0, 20.0], 4)
    law.limits.forget()
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=robot.stand), robot.system)
    outcomes, got = set(), np.zeros(4)
    for k in range(20):
        q, v = soft_levels.moving(robot.system, robot.stand, k, 0.03)
        told = law.solve(q, v, throw=False)
        assert compiled.call("law", q, v, 0.0, got) == told.status
        assert_allclose(got, told.u, rtol=0.0, atol=1e-9 * np.abs(told.u).max())
        outcomes.add(told.outcome)
    assert "relaxed" in outcomes
