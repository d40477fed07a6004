"""Runs in independent coordinates: on the constraints at every step, of full order, honest where coordinates fail."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SimulationError
from sarrus.base.status import Status
from test_redundancy import CLOSURES, closed, four_bar
from test_simulate import angle_error, pendulum

AUTOMATIC = ("partition", "tangent-space", "null-space")
RENEWED = ("partition", "tangent-space")
NAMES = {
    "front_loader": ["boom", "bucket"],
    "three_leg_platform": ["q2", "q6", "platform.angle"],
    "five_bar": ["left", "right"],
}
DURATION = {"front_loader": 1.0, "three_leg_platform": 0.6, "five_bar": 0.8}
STEP = {"front_loader": 0.01, "three_leg_platform": 0.005, "five_bar": 0.01}


@lru_cache
def moving(name: str) -> tuple[sr.System, Array, Array]:
    """An example and a state from which it passes no singular configuration in its duration."""
    example = load_example(name)
    system = sr.System(example.build())
    if name == "front_loader":
        q = example.pose(system, 0.2, 0.5)
        v = 1.5 * np.random.default_rng(0).standard_normal(8)
    elif name == "three_leg_platform":
        q, v = example.pose(system, 0.05, -0.03, 0.2), np.zeros(9)
    else:
        q, v = example.SYMMETRIC, np.array([1.0, 0.0, -2.0, 0.0])
    return system, q, system.project_velocity(q, v)


@lru_cache
def reference(name: str) -> sr.Trajectory:
    """The motion by minimum-norm projection, to 1e-13, on the grid of the coarsest steps."""
    system, q, v = moving(name)
    return sr.simulate(system, q, v, duration=DURATION[name], dt=STEP[name], rtol=1e-13, atol=1e-13)


def run(name: str, coordinates: Any, **options: Any) -> sr.Trajectory:
    system, q, v = moving(name)
    return sr.simulate(system, q, v, duration=DURATION[name], coordinates=coordinates, **options)


def violations(system: sr.System, motion: sr.Trajectory) -> tuple[float, float]:
    """Return the largest residuals of positions and velocities at the recorded steps."""
    states = list(zip(motion.q, motion.v, motion.t))
    position = max(np.abs(system.constraint_residual(q, float(t))).max(initial=0.0) for q, _, t in states)
    velocity = max(np.abs(system.velocity_residual(q, v, float(t))).max() for q, v, t in states)
    return float(position), float(velocity)


# --- on the constraints, with the order of the method --------------------------------------------------


@pytest.mark.parametrize("method", [{"dt": 2e-3}, {"rtol": 1e-9, "atol": 1e-9}, {"method": "dopri5"}])
@pytest.mark.parametrize("choice", [*AUTOMATIC, "names"])
@pytest.mark.parametrize("name", NAMES)
def test_constraints_hold_and_the_motion_is_the_same(name: str, choice: str, method: dict[str, Any]) -> None:
    motion = run(name, NAMES[name] if choice == "names" else choice, **method)
    assert motion.status is Status.OK
    position, velocity = violations(moving(name)[0], motion)
    assert position < 1e-12
    assert velocity < 1e-12
    assert_allclose(motion.q[-1], reference(name).q[-1], atol=1e-5 if "dt" in method else 2e-6)


@pytest.mark.parametrize("coordinates", AUTOMATIC)
@pytest.mark.parametrize("name", NAMES)
def test_order_of_rk4_through_changes_of_coordinates(name: str, coordinates: str) -> None:
    steps = STEP[name] / 2.0 ** np.arange(4)
    errors = []
    for k, step in enumerate(steps):
        motion = run(name, coordinates, dt=step)
        errors.append(np.abs(motion.q[:: 2**k] - reference(name).q).max())
        if coordinates in RENEWED:
            assert motion.events
            assert all(event.name.startswith("independent coordinates: ") for event in motion.events)
        else:
            assert motion.events == ()
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(4.0, abs=0.2), errors


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
@pytest.mark.parametrize("coordinates", AUTOMATIC)
@pytest.mark.parametrize("name", NAMES)
def test_error_follows_the_tolerance(name: str, coordinates: str, method: str) -> None:
    tolerances = 10.0 ** np.arange(-6, -12, -2)
    errors = []
    for tolerance in tolerances:
        motion = run(name, coordinates, method=method, rtol=tolerance, atol=tolerance)
        errors.append(np.abs(motion.q[-1] - reference(name).q[-1]).max())
        assert max(violations(moving(name)[0], motion)) < 1e-12
    assert all(error < 300 * tolerance for error, tolerance in zip(errors, tolerances)), errors
    assert 0.6 < np.polyfit(np.log(tolerances), np.log(errors), 1)[0] < 1.4, errors


@pytest.mark.parametrize("coordinates", AUTOMATIC)
def test_coordinates_are_changed_before_they_cost_accuracy(coordinates: str) -> None:
    """At 6 rad/s and 1 ms the projection with A⁺ errs by 2.6e-11; far out on a chart it would be 1e-6."""
    assert angle_error(dt=1e-3) < 1e-10
    assert angle_error(dt=1e-3, coordinates=coordinates) < 2e-10
    steps = np.array([0.01, 0.005, 0.0025])
    errors = [angle_error(dt=step, coordinates=coordinates) for step in steps]
    # Of order four by a bound in every case. Coordinates of partitioning change at a step of the grid, whose place
    # decides in part what cancels: a line through three errors means nothing there.
    assert (np.array(errors) < 1.5e-6 * (steps / 0.01) ** 4).all(), errors
    if coordinates != "partition":
        assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4.0, abs=0.2), errors


def test_changes_are_listed_by_name() -> None:
    motion = run("three_leg_platform", "partition", dt=1e-3)
    names = [event.name.removeprefix("independent coordinates: ").split(", ") for event in motion.events]
    assert all(len(set(chosen) & set(motion.velocity_names)) == 3 for chosen in names)
    assert all(set(one) != set(two) for one, two in pairwise(names))
    assert [event.time for event in motion.events] == sorted(event.time for event in motion.events)


# --- through singular configurations -------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", ["tangent-space", "null-space"])
@pytest.mark.parametrize("tolerance", [1e-9, 1e-12])
def test_five_bar_goes_through_its_singular_configurations(coordinates: str, tolerance: float) -> None:
    example = load_example("five_bar")
    system = moving("five_bar")[0]
    motion = sr.simulate(
        system, example.SYMMETRIC, duration=5.0, coordinates=coordinates, rtol=tolerance, atol=tolerance
    )
    assert [round(p.time, 2) for p in motion.passages] == [0.65, 1.85, 3.91]
    assert max(violations(system, motion)) < 1e-12
    assert motion.energy_drift < 1e-5
    # The symmetric motion is unstable: what differs by 1e-13 at first differs by 1e-3 after 5 s.
    assert_allclose(motion.q[:, 0] + motion.q[:, 2], np.pi, atol=1e-3)
    assert motion.steps < 400


@pytest.mark.parametrize(
    "method", [{"dt": 1e-3}, {"rtol": 1e-8, "atol": 1e-8}, {"rtol": 1e-12, "atol": 1e-12}]
)
def test_partition_survives_them_too(method: dict[str, float]) -> None:
    """Its coordinates are not symmetric: errors lead it past the third singularity, where the motion turns sharply.

    That costs all digits with two of the methods, which the status says: by its error, or by how rounding grows.
    """
    example = load_example("five_bar")
    system = moving("five_bar")[0]
    motion = sr.simulate(system, example.SYMMETRIC, duration=5.0, coordinates="partition", **method)
    asymmetry = np.abs(motion.q[:, 0] + motion.q[:, 2] - np.pi).max()
    lost = (Status.INACCURATE, Status.NOT_DETERMINED)
    assert motion.status in ((Status.OK,) if asymmetry < 1e-3 else lost)
    assert [p.time for p in motion.passages[:2]] == pytest.approx([0.65, 1.85], abs=0.01)
    assert max(violations(system, motion)) < 1e-12
    assert motion.energy_drift < (2.0 if "dt" in method else 0.01)


# --- coordinates that the user named and that fail -----------------------------------------------------


@pytest.mark.parametrize("step", [1e-2, 5e-3, 1e-3, 1e-4])
@pytest.mark.parametrize("name", ["q1", "q2"])
def test_fixed_steps_stop_before_coordinates_fail(name: str, step: float) -> None:
    """From 0.5 rad at 6 rad/s: q1 = cos fails at the top of its range or the bottom, q2 = sin at 90°."""
    start = 0.5
    q, v = [np.cos(start), np.sin(start)], [-6 * np.sin(start), 6 * np.cos(start)]
    motion = sr.simulate(pendulum(), q, v, duration=1.0, dt=step, coordinates=[name], throw=False)
    assert motion.status is Status.COORDINATES_FAILED
    assert motion.message.startswith("the chosen coordinates no longer determine the configuration at t = 0.")
    assert motion.message.endswith("or coordinates='partition', which changes them during the run")
    whole = sr.simulate(pendulum(), q, v, duration=1.0, dt=1e-4)
    lost = np.flatnonzero(np.diff(np.sign(whole.q[:, 1 if name == "q1" else 0])))[0] * 1e-4
    assert lost - 8 * step - 1e-3 < motion.t[-1] < lost
    assert motion.energy_drift < 0.02
    expected = sr.simulate(pendulum(), q, v, duration=motion.t[-1], rtol=1e-11, atol=1e-11)
    # Where the coordinates are about to fail their rates have no bound, and the method is of first order.
    assert_allclose(motion.q[-1], expected.q[-1], rtol=0, atol=1e-2 * step)


@pytest.mark.parametrize("name", ["q1", "q2"])
@pytest.mark.parametrize("method", [{"rtol": 1e-8}, {"method": "dopri5", "rtol": 1e-10}, {"rtol": 1e-12}])
def test_adaptive_steps_stop_where_coordinates_fail(name: str, method: dict[str, Any]) -> None:
    motion = sr.simulate(
        pendulum(), [0.6, -0.8], [4.8, 3.6], duration=1.0, coordinates=[name], throw=False, **method
    )
    assert motion.status is Status.COORDINATES_FAILED
    assert motion.energy_drift < 0.02
    assert motion.steps < 500
    x = motion.q[-1, 1 if name == "q1" else 0]
    assert abs(x) < 1e-2


@pytest.mark.parametrize(
    "method", [{"dt": 1e-3}, {"rtol": 1e-8, "atol": 1e-8}, {"rtol": 1e-12, "atol": 1e-12}]
)
@pytest.mark.parametrize("names", [["left", "left_elbow"], ["right", "right_elbow"]])
def test_five_bar_coordinates_that_fail(names: list[str], method: dict[str, float]) -> None:
    example = load_example("five_bar")
    system = moving("five_bar")[0]
    with pytest.raises(
        SimulationError, match="five_bar: the chosen coordinates no longer determine"
    ) as caught:
        sr.simulate(system, example.SYMMETRIC, duration=5.0, coordinates=names, **method)
    motion = caught.value.trajectory
    assert motion.status is Status.COORDINATES_FAILED
    assert 0.98 < motion.t[-1] < 1.002  # the links 3 and 4 are in line there
    assert max(violations(system, motion)) < 1e-12
    assert motion.energy_drift < 0.02
    assert motion.steps < 1100


# --- redundant, contradictory, driven, nonholonomic, with quaternions ----------------------------------


@pytest.mark.parametrize("coordinates", AUTOMATIC)
@pytest.mark.parametrize("kind", CLOSURES)
def test_redundant_closures(kind: str, coordinates: str) -> None:
    minimal, system = sr.System(four_bar("point_on_line")), sr.System(four_bar(kind))
    v0 = minimal.project_velocity(closed(minimal), [2.0, 0.0, 0.0])
    expected = sr.simulate(minimal, closed(minimal), v0, duration=1.0, rtol=1e-11, atol=1e-11)
    v = np.array([*v0, v0[0] + v0[1] - v0[2]])[: system.nv]
    motion = sr.simulate(system, closed(system), v, duration=1.0, dt=2e-3, coordinates=coordinates)
    assert set(motion.dof) == {1}
    assert max(violations(system, motion)) < 1e-12
    assert_allclose(motion.q[-1, :3], expected.q[-1], atol=1e-8)


@pytest.mark.parametrize("coordinates", AUTOMATIC)
def test_closures_that_miss_by_printed_digits(coordinates: str) -> None:
    """A pin in space, 3e-8 m out of the plane of the four-bar: closed to that, and as the minimal model moves."""
    exact = sr.System(four_bar("point_on_line"))
    mechanism = four_bar("point_on_line")
    mechanism.add_closure(
        "again", "point", "coupler", "rocker", pose1=(0.9, 3e-8, 0), pose2=(0.8 + 2e-8, 0, 0)
    )
    system, q = sr.System(mechanism), closed(exact)
    v = exact.project_velocity(q, [2.0, 0.0, 0.0])
    motion = sr.simulate(system, q, v, duration=1.0, dt=2e-3, coordinates=coordinates)
    expected = sr.simulate(exact, q, v, duration=1.0, dt=2e-3)
    assert motion.residual.max() < 5e-8
    assert set(motion.dof) == {1}
    assert_allclose(motion.q, expected.q, atol=5e-7)


@lru_cache
def quaternions() -> tuple[sr.System, Array, Array]:
    """Free and ball-jointed bodies in loops, without forces but gravity."""
    plan = random_tree(11, ("free", "spherical", "revolute", "spherical"), forces=False)
    q = random_coordinates(plan)
    system = sr.System(close_loops(plan, q, ("point", "universal", "point_on_line")))
    return system, q, system.project_velocity(q, np.random.default_rng(5).standard_normal(system.nv))


@pytest.mark.parametrize("coordinates", AUTOMATIC)
def test_quaternions(coordinates: str) -> None:
    system, q, v = quaternions()
    expected = sr.simulate(system, q, v, duration=1.0, rtol=1e-12, atol=1e-12)
    motion = sr.simulate(system, q, v, duration=1.0, rtol=1e-10, atol=1e-10, coordinates=coordinates)
    assert max(violations(system, motion)) < 1e-12
    for start in system.equations.quaternions:
        assert_allclose(np.linalg.norm(motion.q[:, start : start + 4], axis=1), 1.0, atol=1e-14)
    assert_allclose(motion.q[-1], expected.q[-1], atol=1e-7)
    steps = np.array([0.01, 0.005, 0.0025])
    errors = [
        np.abs(
            sr.simulate(system, q, v, duration=0.2, dt=dt, coordinates=coordinates).q[-1]
            - sr.simulate(system, q, v, duration=0.2, rtol=1e-13, atol=1e-13).q[-1]
        ).max()
        for dt in steps
    ]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4.0, abs=0.2), errors


@pytest.mark.parametrize("method", [{"dt": 4e-3}, {"rtol": 1e-11, "atol": 1e-12}])
@pytest.mark.parametrize("coordinates", AUTOMATIC)
def test_chaplygin_sleigh(coordinates: str, method: dict[str, float]) -> None:
    def lagrangian(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        vx, vy = v[0] - 0.4 * ca.sin(q[2]) * v[2], v[1] + 0.4 * ca.cos(q[2]) * v[2]
        return vx**2 + vy**2 + 0.15 * v[2] ** 2

    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lagrangian,
        velocity=lambda q, v, t: ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0],
        name="sleigh",
        coordinate_names=("x", "y", "phi"),
    )
    start = {"q": [0.0, 0.0, 0.0], "v": [-1.0, 0.0, 0.2], "duration": 5.0}
    motion = sr.simulate(system, **start, coordinates=coordinates, **method)
    # Closed form: u = A tanh, ω = (A/k) sech; m = 2, J = 0.3, a = 0.4, u₀ = −1, ω₀ = 0.2.
    assert_allclose(motion.q[-1], [-3.089710365107192, -1.8316228403493, 4.142518026591579], atol=2e-8)
    assert violations(system, motion)[1] < 1e-12
    if coordinates in RENEWED:
        assert len(motion.events) >= 1
    with pytest.raises(
        ArgumentError, match="sleigh: with nonholonomic constraints positions have more freedom"
    ):
        sr.simulate(system, **start, coordinates=["x", "phi"])


@pytest.mark.parametrize("coordinates", [*AUTOMATIC, ["q1"]])
def test_driven_constraint(coordinates: Any) -> None:
    """A circle that grows: φ and ψ hold at every time."""
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.norm_2(q) - (1 + t**2),
    )
    expected = sr.simulate(system, [0.0, -1.0], [1.0, 0.0], duration=0.8, rtol=1e-12, atol=1e-12)
    motion = sr.simulate(system, [0.0, -1.0], [1.0, 0.0], duration=0.8, dt=1e-3, coordinates=coordinates)
    assert max(violations(system, motion)) < 1e-12
    assert_allclose(motion.q[-1], expected.q[-1], atol=1e-9)


def test_no_constraints_and_none_free() -> None:
    """Without constraints all coordinates are independent; a fully driven system has none."""
    free = sr.System.from_lagrangian(nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - ca.sumsqr(q) / 2)
    driven = sr.System.from_lagrangian(
        nq=1, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: q - ca.sin(t)
    )
    for coordinates in AUTOMATIC:
        motion = sr.simulate(free, [1.0, 0.0], [0.0, 1.0], duration=1.0, dt=1e-2, coordinates=coordinates)
        assert_allclose(motion.q[:, 0], np.cos(motion.t), atol=1e-9)
        motion = sr.simulate(driven, [0.0], [1.0], duration=1.0, dt=1e-2, coordinates=coordinates)
        assert_allclose(motion.q[:, 0], np.sin(motion.t), atol=1e-13)
        assert_allclose(motion.v[:, 0], np.cos(motion.t), atol=1e-13)


# --- together with the other options -------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", AUTOMATIC)
def test_control_events_and_output(coordinates: str) -> None:
    def start(**options: Any) -> sr.Trajectory:
        return sr.simulate(
            pendulum(), [1, 0], [0, 6], duration=1.0, control=lambda q, v, t: -0.5 * (q[0] * v[1] - q[1] * v[0]),
            events=[sr.Event("left", lambda q, v, t: q[0]), sr.Event("stop", lambda q, v, t: q[1], -1, True)],
            **options,
        )  # fmt: skip

    expected = start(rtol=1e-11, atol=1e-11)
    for method in ({"dt": 1e-3, "every": 7}, {"rtol": 1e-9, "atol": 1e-9}, {"dt": 0.05, "method": "dopri5"}):
        motion = start(coordinates=coordinates, **method)
        assert motion.status is Status.EVENT
        found = [event.time for event in motion.events if not event.name.startswith("independent")]
        assert_allclose(found, [event.time for event in expected.events], atol=1e-7)
        assert max(violations(pendulum(), motion)) < 1e-12
    sampled = sr.simulate(
        pendulum(), [1, 0], [0, 6], duration=0.5, sample_time=0.01, control=lambda q, v, t: [0.1], dt=1e-3,
        coordinates=coordinates,
    )  # fmt: skip
    assert max(violations(pendulum(), sampled)) < 1e-12


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"coordinates": ["q3"]}, "unknown coordinate 'q3'"),
        ({"coordinates": "tangent"}, "Did you mean 'tangent-space'"),
        ({"coordinates": ["q1", "q2"]}, "coordinates must name 1 different independent coordinates"),
        ({"coordinates": ["q1"]}, "q1 do not determine the other coordinates here (condition number"),
        ({"coordinates": "partition", "stabilization": "none"}, "leave stabilization='projection'"),
        ({"coordinates": "partition", "stabilization": sr.Stabilization(every=2)}, "after every step"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        sr.simulate(pendulum(), [1.0, 0.0], duration=0.1, **options)
    assert text in str(caught.value)
