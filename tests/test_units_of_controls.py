"""Controls of least norm do not depend on units: random loops, metrics, limits, robots on their feet, C."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

sys.path.insert(0, str(Path(__file__).parent / "families"))

import units_of_controls as family

import sarrus as sr
from c_code import Compiled
from legged_robots import LEGS, moving, quadruped
from sarrus import control, formulations
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from scaled import scaled, scales


@pytest.mark.parametrize(("seed", "limits"), [(0, "none"), (1, "all"), (2, "some")])
def test_least_controls_are_the_same_in_all_units(seed: int, limits: str) -> None:
    """Seven laws, inverse dynamics and inputs that hold, each against least squares over all controls by numpy."""
    for name, off in family.differences(seed, limits):
        assert off < 1e-9, name


def test_inverse_dynamics_in_c_is_that_of_python(tmp_path: Path) -> None:
    given = family.loop(4, "some")
    one, other = given.systems
    (q, v), state = given.states()
    a = one.forward_dynamics(q, v, np.zeros(one.nu)).a + one.project_velocity(q, np.ones(one.nv))
    right = one.inverse_dynamics(q, v, a).u
    for k, (system, (x, w), factor, rows) in enumerate(
        ((one, (q, v), 1.0, a), (other, state, given.of_controls, given.of_velocities * a))
    ):
        compiled = Compiled(
            sr.export.c_code(system, tmp_path / f"{k}", functions=["inverse_dynamics"], q=x), system
        )
        found = np.zeros(system.nu)
        assert compiled.call("inverse_dynamics", x, w, rows, 0.0, found) == Status.OK
        assert_allclose(found / factor, right, rtol=0, atol=1e-9 * np.abs(right).max())


@pytest.mark.parametrize(("limit", "friction"), [(40.0, 0.6), (7.0, 0.6), (40.0, 0.1)])
def test_a_robot_on_its_feet_is_the_same_in_grams_and_millimetres(limit: float, friction: float) -> None:
    """With levels that mix lengths and angles, which limits of the motors or of friction do not allow."""
    one, stand = quadruped()
    for length, mass in ((1e3, 1e3), (1e-3, 1e-3)):
        other, (places, speeds) = sr.System(scaled(one, length, mass)), scales(one, length)
        laws = [
            control.LeggedController(
                system,
                [
                    [
                        control.Task(control.orientation("trunk"), np.zeros(3), 200, 25, name="upright"),
                        control.Task(control.centre_of_mass("z"), 0.407 * size, 200, 25, name="height"),
                    ],
                    control.Task(control.centre_of_mass("xy"), [0, 0], 100, 20, name="place"),
                ],
                limits=(-limit, limit),
                coefficients=dict.fromkeys(LEGS, friction),
            )
            for system, size in ((one, 1.0), (other, length))
        ]
        for seed in range(4):
            q, v = moving(one, stand, seed, 0.04)
            ours, theirs = (
                laws[0].solve(q, v, throw=False),
                laws[1].solve(q * places, v * speeds, throw=False),
            )
            assert ours.outcome == theirs.outcome
            assert_allclose(theirs.u, ours.u, rtol=0, atol=1e-9 * np.abs(ours.u).max())


def shared_shaft() -> sr.Mechanism:
    """A disc with two motors on its shaft, and a slide with one."""
    m = sr.Mechanism("shaft", gravity=(0, 0, 0))
    m.add_body("disc", 1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("turn", "revolute", "world", "disc")
    m.add_body("slide", 2.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("way", "prismatic", "world", "slide", axis=(1, 0, 0))
    return m


def test_motors_are_compared_by_their_limits_else_by_what_they_exert() -> None:
    """Two motors on one shaft: least Σ (u / limit)², and without limits Σ (gear u)², in closed form."""
    a = [3.0, 1.0]
    for limits, gears, right in (
        ((10.0, 5.0), (1.0, 1.0), (0.3 * 0.8, 0.3 * 0.2)),
        ((10.0, 5.0), (1.0, -2.0), (0.15, -0.075)),
        ((None, None), (1.0, 1.0), (0.15, 0.15)),
        ((None, None), (1.0, 20.0), (0.15, 0.0075)),
        ((10.0, None), (1.0, 20.0), (0.15, 0.0075)),
    ):
        m = shared_shaft()
        for k, (limit, gear) in enumerate(zip(limits, gears)):
            m.add_actuator(f"m{k}", "turn", gear=gear, limits=None if limit is None else (-limit, limit))
        m.add_actuator("push", "way")
        system, rest = sr.System(m), np.zeros(2)
        law = control.ProjectedInverseDynamics(
            system, ["turn", "way"], [3.0, 1.0], stiffness=1.0, damping=0.0, limits=(-np.inf, np.inf)
        )
        for u in (system.inverse_dynamics(rest, rest, a).u, law(rest, rest)):
            assert_allclose(u, [*right, 2.0], rtol=1e-12)
    equal = system.inverse_dynamics(rest, rest, a, weights=[1.0, 400.0, 1.0]).u  # given weights say it all
    assert_allclose(equal[:2], [0.15, 0.0075], rtol=1e-12)


def test_a_metric_is_one_of_the_velocities_or_of_the_controls() -> None:
    m = shared_shaft()
    for k in range(2):
        m.add_actuator(f"m{k}", "turn", limits=(-2.0 - k, 2.0 + k))
    m.add_actuator("push", "way")
    system, rest, a = sr.System(m), np.zeros(2), [3.0, 1.0]
    # of the velocities it leaves open how the shaft shares its torque: that is as the limits say
    shares = 0.3 * np.array([4.0, 9.0]) / 13.0
    for metric, right in (
        (formulations.actuator_metric([7.0, 3.0]), shares),
        (formulations.actuator_metric([1.0, 3.0, 4.0]), np.array([0.1, 0.9]) * 0.3),
        ([1.0, 9.0, 4.0], np.array([0.1, 0.9]) * 0.3),
    ):
        law = control.OperationalSpaceTracking(
            system, ["turn", "way"], a, stiffness=1.0, damping=0.0, metric=metric, limits=(-np.inf, np.inf)
        )
        for u in (system.inverse_dynamics(rest, rest, a, metric=metric).u, law(rest, rest)):
            assert_allclose(u, [*right, 2.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"metric": np.eye(4)}, r"metric must be 2 × 2, of the velocities, or 3 × 3, of the controls"),
        ({"metric": [1.0, np.nan]}, "metric must be 2 × 2"),
        ({"metric": [1.0, -1.0]}, "metric must be symmetric and positive definite"),
        ({"metric": [[1.0, 2.0], [2.0, 1.0]]}, "metric must be symmetric and positive definite"),
        ({"metric": [[1.0, 0.5], [0.0, 1.0]]}, "metric must be symmetric and positive definite"),
        ({"metric": [1.0, 1.0], "weights": [1.0, 1.0, 1.0]}, "weights= and metric= both define"),
    ],
)
def test_a_metric_that_is_none_is_refused(wrong: dict[str, object], match: str) -> None:
    m = shared_shaft()
    for k, joint in enumerate(("turn", "turn", "way")):
        m.add_actuator(f"m{k}", joint)
    system, rest = sr.System(m), np.zeros(2)
    with pytest.raises(ArgumentError, match=match):
        system.inverse_dynamics(rest, rest, rest, **wrong)
    with pytest.raises(ArgumentError, match=match):
        control.ProjectedInverseDynamics(system, ["turn"], 1.0, **wrong)
