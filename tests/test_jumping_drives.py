"""Drives whose speed jumps: an impact for all that hangs on them, in every kind of run."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from families.jumping_drives import cases, outcome
from sarrus.base.errors import ArgumentError

# Trolley that moves with 1 m/s from 0.5 s on, a pendulum of 0.8 m on it: its angle at 1.5 s.
SWING = -0.117263189


def from_half(t: Any) -> Any:
    return ca.fmax(0, t - 0.5)


@cache
def trolley(stiff: bool = False, motor: bool = False) -> sr.System:
    mechanism = sr.Mechanism("crane", gravity=(0, 0, -9.81))
    mechanism.add_body("trolley", mass=2.0)
    mechanism.add_body("bob", mass=1.0, com=(0, 0, -0.8))
    mechanism.add_joint("x", "prismatic", "world", "trolley", axis=(1, 0, 0))
    mechanism.add_joint("swing", "revolute", "trolley", "bob", axis=(0, 1, 0))
    mechanism.add_motion("travel", "x", from_half)
    if stiff:
        mechanism.add_body("weight", mass=1.0)
        mechanism.add_joint(
            "damped", "prismatic", "world", "weight", axis=(1, 0, 0), stiffness=1e8, damping=1e5
        )
    if motor:
        mechanism.add_actuator("motor", "swing")
    return sr.System(mechanism)


@cache
def passenger(motion: Callable[[Any], Any] = from_half, restitution: float | None = None) -> sr.System:
    mechanism = sr.Mechanism("ride")
    mechanism.add_body("cart", mass=2.0)
    mechanism.add_body("passenger", mass=1.0)
    mechanism.add_joint("c", "prismatic", "world", "cart", axis=(1, 0, 0))
    if restitution is None:
        mechanism.add_joint("p", "prismatic", "cart", "passenger", axis=(1, 0, 0), friction=4.0)
    else:
        stops = {"limits": (0.0, 9.0), "limit_restitution": restitution}
        mechanism.add_joint("p", "prismatic", "cart", "passenger", axis=(1, 0, 0), **stops)
    mechanism.add_motion("travel", "c", motion)
    return sr.System(mechanism)


@pytest.mark.parametrize(
    "how", [{}, {"dt": 1e-3, "method": "rk4"}, {"method": "rodas5p"}, {"dt": 1e-3, "method": "moreau-jean"}]
)
def test_dry_friction_lets_a_passenger_slide_when_the_cart_starts_at_once(how: dict[str, Any]) -> None:
    run = sr.simulate(passenger(), [0, 0], duration=1.0, **how)
    assert run.status.ok
    assert run.q[-1, 1] == pytest.approx(-0.125, abs=1e-9)
    assert "speed of travel jumps" in [event.name for event in run.events]


@pytest.mark.parametrize(
    "how",
    [
        {}, {"method": "rodas4"}, {"method": "rodas5p"}, {"coordinates": "partition"}, {"coordinates": "null-space"},
        {"coordinates": "tangent-space"}, {"coordinates": ["swing"]}, {"stabilization": "baumgarte"},
        {"stabilization": "none"}, {"formulation": "lagrange"},
    ],
)  # fmt: skip
def test_a_pendulum_on_a_trolley_that_starts_at_once(how: dict[str, Any]) -> None:
    run = sr.simulate(trolley(), [0, 0], duration=1.5, **how)
    assert run.status.ok
    assert run.q[-1, 1] == pytest.approx(SWING, abs=2e-8)


def test_the_default_is_right_with_something_stiff_aboard() -> None:
    run = sr.simulate(trolley(stiff=True), [0, 0, 1e-3], duration=1.5)
    assert run.status.ok
    assert run.q[-1, 1] == pytest.approx(SWING, abs=1e-7)
    assert any("rodas5p" in event.name for event in run.events)


def test_many_runs_are_as_the_single_one() -> None:
    starts = [[0, 0], [0, 0.1], [0, -0.3]]
    many = sr.rollout(trolley(), starts, duration=1.5, dt=1e-3, every=300, reduce=["max"])
    assert many.success.all()
    for q, end, largest in zip(starts, many.final_q, many.maximum.v):
        one = sr.simulate(trolley(), q, duration=1.5, dt=1e-3)
        np.testing.assert_allclose(end, one.q[-1], atol=1e-12)
        np.testing.assert_allclose(largest[0], 1.0, atol=1e-12)
    np.testing.assert_allclose(many.t, [0, 0.3, 0.6, 0.9, 1.2, 1.5])
    np.testing.assert_allclose(many.q[:, :, 0], np.tile([0, 0, 0.1, 0.4, 0.7, 1.0], (3, 1)), atol=1e-9)
    slid = sr.rollout(passenger(), [[0, 0], [0, 1]], duration=1.0)
    np.testing.assert_allclose(slid.final_q[:, 1], [-0.125, 0.875], atol=1e-9)


@pytest.mark.parametrize("how", [{}, {"dt": 1e-3, "method": "rk4"}, {"dt": 1e-3, "method": "moreau-jean"}])
def test_a_stop_that_the_jump_drives_against_a_passenger_throws_it(how: dict[str, Any]) -> None:
    run = sr.simulate(passenger(restitution=0.6), [0, 0], duration=1.0, **how)
    assert run.status.ok
    assert run.q[-1, 1] == pytest.approx(0.6 * 0.5, abs=1e-9)


@pytest.mark.parametrize("where", ["first", "step", "between", "end"])
@pytest.mark.parametrize("how", [{}, {"dt": 0.01, "method": "rk4"}, {"method": "rodas5p"}])
def test_jumps_at_any_instant_are_found(where: str, how: dict[str, Any]) -> None:
    shift = {"first": 0.5, "step": 0.4, "between": 0.3333, "end": 0.0}[where]
    run = sr.simulate(trolley(), [0, 0], t0=shift, duration=0.5, **how)
    begun = max(0.0, shift + 0.5 - 0.5)
    rest = sr.simulate(trolley(), [0, 0], t0=0.5, duration=begun, rtol=1e-11) if begun else None
    expected = [0.0, 0.0] if rest is None else rest.q[-1]
    np.testing.assert_allclose(run.q[-1], expected, atol=1e-7)
    assert [event.name for event in run.events if "speed" in event.name] == ["speed of travel jumps"]
    np.testing.assert_allclose(run.v[-1, 0], 1.0, atol=1e-12)  # the jump is in the run where it ends in it


def test_a_start_behind_the_jump_has_no_other() -> None:
    run = sr.simulate(trolley(), [0, 0], [1.0, 0.7], t0=0.5, duration=0.2)
    assert not run.events
    assert run.v[0, 1] == pytest.approx(0.7)
    with pytest.raises(ArgumentError, match=r"violates the constraints by 0\.6"):
        sr.simulate(trolley(), [0, 0], [0.4, 0.0], t0=0.5, duration=0.2)


@pytest.mark.parametrize(
    "form", [from_half, lambda t: 0.5 * (t - 0.5 + ca.fabs(t - 0.5)), lambda t: (t >= 0.5) * (t - 0.5)]
)
def test_admissible_velocities_at_a_jump_are_those_behind_it(form: Callable[[Any], Any]) -> None:
    system = passenger(form)
    v = system.project_velocity([0, 0], [0, 0], t=0.5)
    np.testing.assert_allclose(v, [1.0, -1.0], atol=1e-12)
    run = sr.simulate(system, [0, 0], v, t0=0.5, duration=0.5)
    assert run.q[-1, 1] == pytest.approx(-0.125, abs=1e-9)


def test_records_at_given_times_have_the_jump_on_both_sides() -> None:
    run = sr.simulate(trolley(), [0, 0], duration=1.0, every=sr.Recording(at=(0.25, 0.5, 0.75)))
    np.testing.assert_allclose(run.t, [0, 0.25, 0.5, 0.5, 0.75, 1.0], atol=1e-12)
    np.testing.assert_allclose(run.v[:, 0], [0, 0, 0, 1, 1, 1], atol=1e-12)


def test_a_table_of_degree_one_drives() -> None:
    knots, places = np.array([0.0, 0.3, 0.5, 0.9, 2.0]), np.array([0.0, 0.0, 0.2, 0.1, 0.1])
    run = sr.simulate(passenger(sr.Spline.through(knots, places, degree=1)), [0, 0], duration=1.2)
    speed, slip, place = 0.0, 0.0, 0.0
    for length, rate in zip(np.diff([*knots[:-1], 1.2]), np.diff(places) / np.diff(knots)):
        slip, speed = slip - (rate - speed), rate
        slides = min(length, abs(slip) / 4.0)
        place += slip * slides - 2.0 * np.sign(slip) * slides**2
        slip -= np.sign(slip) * 4.0 * slides
    assert run.status.ok
    assert run.q[-1, 1] == pytest.approx(place, abs=1e-9)


def test_nonholonomic_rows_jump_like_drives() -> None:
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: 0.5 * (v[0] ** 2 + 2 * v[1] ** 2) + 0.3 * v[0] * v[1],
        velocity=lambda q, v, t: ca.vertcat(v[0] - ca.if_else(t < 0.5, 0.0, 1.0)),
    )
    run = sr.simulate(system, [0, 0], duration=1.0)
    np.testing.assert_allclose(run.q[-1], [0.5, -0.3 / 2 * 0.5], atol=1e-12)


def test_the_work_of_the_impact_is_in_the_balance() -> None:
    balance = sr.energy_balance(sr.simulate(passenger(), [0, 0], duration=1.0))
    work = {(k, n): w for k, n, w in zip(balance.kinds, balance.names, balance.work[-1])}
    assert work["constraint", "in impacts"] == pytest.approx(1.0, abs=1e-9)
    assert abs(balance.residual[-1]) < 1e-8


def test_what_takes_steps_of_its_own_refuses_jumps_by_name(tmp_path: Any) -> None:
    system = trolley()
    with pytest.raises(
        ArgumentError, match=r"speed of 'travel' jumps at t = 0\.5 s.*derivatives of a motion"
    ):
        sr.sensitivity.motion_derivatives(system, [0, 0], duration=1.0)
    with pytest.raises(ArgumentError, match="speed of 'travel' jumps"):
        sr.sensitivity.step_derivatives(system, [0, 0], [0, 0], t=0.4995, dt=1e-3)
    with pytest.raises(ArgumentError, match=r"speed of 'travel' jumps.*steps in C"):
        sr.export.c_code(system, tmp_path, functions=["step"])
    assert sr.sensitivity.step_derivatives(system, [0.2, 0], [1, 0], t=0.7, dt=1e-3).rank == 1


def test_an_environment_goes_past_a_jump() -> None:
    gym = pytest.importorskip("sarrus.runs.gym")
    environment = gym.make(
        trolley(motor=True), duration=1.5, sample_time=0.25, reward=lambda *_: np.zeros(2), num_envs=2
    )
    environment.reset(seed=0)
    for _ in range(6):
        environment.step(np.zeros((2, 1)))
    np.testing.assert_allclose(environment.task.stepper.q, np.tile([1.0, SWING], (2, 1)), atol=1e-8)


@pytest.mark.parametrize("k", range(16))
def test_generated_cases_are_right(k: int) -> None:
    case = cases(16, seed=4)[k]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(case)[0] == "right"
