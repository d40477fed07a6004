"""`Bound`: the rows, the approach along them, and laws that keep to them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import sarrus as sr
from conftest import load_example
from legged_robots import LEGS, kept, quadruped
from mechanisms import random_state, random_tree
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.motion.bounds import approach
from sarrus.control.quantities.quantities import quantity
from sarrus.dynamics.impacts import activity

INFINITY = float("inf")


def arm(*, joints: int = 2, limits: tuple[float, float] | None = None, gravity: float = -9.81) -> sr.System:
    """A planar arm in the xz plane, links of half a metre, a motor on every joint."""
    mechanism = sr.Mechanism("arm", gravity=(0, 0, gravity))
    parent = "world"
    for k in range(joints):
        mechanism.add_body(f"link{k}", 1.0, com=(0.25, 0, 0), inertia=(0.01, 0.03, 0.03))
        at = (0.5, 0, 0) if k else (0, 0, 0)
        mechanism.add_joint(
            f"joint{k}", "revolute", parent, f"link{k}", axis=(0, -1, 0), parent_pose=at, limits=limits
        )
        mechanism.add_actuator(f"motor{k}", f"joint{k}")
        parent = f"link{k}"
    return sr.System(mechanism)


def numbers(
    system: sr.System, demand: Demand, settings: Settings, q: Array, v: Array, t: float = 0.0
) -> list[Array]:
    """Return J and r of a demand at a state."""
    e = system.equations
    f = ca.Function(
        "rows",
        [e.q, e.v, e.t, e.p, *settings.symbols],
        [demand.jacobian, demand.wanted],
        {"allow_free": False},
    )
    found = f(q, v, t, list(system.parameters.values()), *settings.values.values())
    return [np.array(found[0]), np.array(found[1])[:, 0]]


def allowed(distance: Any, rate: float, deceleration: float | None, speed: float | None) -> tuple[Any, Any]:
    d = ca.SX.sym("d")
    given = [None if x is None else ca.SX(x) for x in (rate, deceleration, speed)]
    f = ca.Function("s", [d], list(approach(d, *given)))  # type: ignore[arg-type]
    return tuple(np.array(x).ravel() for x in f(np.atleast_2d(distance)))  # type: ignore[return-value]


# --- the allowed speed -----------------------------------------------------------------------------------------

CASES = [(10.0, None, None), (10.0, 4.0, None), (5.0, None, 0.7), (8.0, 3.0, 0.5), (2.0, 6.0, 9.0)]


@pytest.mark.parametrize("case", CASES)
def test_the_allowed_speed_and_its_slope(case: tuple[float, float | None, float | None]) -> None:
    """The slope is the derivative, nothing jumps, s is zero on the bound, and s s′ is the deceleration at most."""
    rate, deceleration, speed = case
    d = np.linspace(-1.0, 20.0, 210001)
    s, slope = allowed(d, *case)
    h = d[1] - d[0]
    middle = (s[1:] - s[:-1]) / h
    assert_allclose(middle, 0.5 * (slope[1:] + slope[:-1]), atol=1e-3 * rate)
    curvature = (rate**3 / deceleration if deceleration else 0.0) + (rate**2 / speed if speed else 0.0)
    assert np.abs(np.diff(slope)).max() <= 1.01 * h * curvature
    assert_allclose(s[d <= 0.0], rate * d[d <= 0.0], atol=1e-12)
    assert np.all(np.diff(s) >= -1e-12)
    beyond = s > 0.0
    if deceleration is not None:
        assert (s * slope)[beyond].max() <= deceleration * (1.0 + 1e-12)
    if speed is not None:
        assert s.max() == pytest.approx(speed, rel=1e-12)
    if deceleration is not None and speed is None:  # what braking with D takes, but for the last part
        far = d > 1.0
        assert_allclose(0.5 * s[far] ** 2 / deceleration, d[far] - 0.5 * deceleration / rate**2)


@pytest.mark.parametrize("case", CASES)
def test_along_the_row_a_bound_is_never_crossed(case: tuple[float, float | None, float | None]) -> None:
    """ẍ as the row has it at most: from any allowed state x comes to the bound and stays below, braking with D."""
    rate, deceleration, speed = case
    rng = np.random.default_rng(3)
    for _ in range(5):
        distance = rng.uniform(0.05, 3.0)
        fastest = allowed(distance, *case)[0][0]
        start = [distance, rng.uniform(-1.0, 1.0) * fastest]

        def along(t: float, y: Array) -> list[float]:
            s, slope = allowed(y[0], *case)
            return [-y[1], rate * (s[0] - y[1]) - slope[0] * y[1]]

        run = solve_ivp(along, (0.0, 6.0 + 2.0 * distance / (speed or 1.0)), start, rtol=1e-9, atol=1e-11)
        d, v = run.y
        s, slope = allowed(d, *case)
        acceleration = rate * (s - v) - slope * v
        assert d.min() > -1e-9
        assert (s - v).min() > -1e-7  # what is allowed stays so
        assert abs(d[-1]) < 1e-3  # and the bound is reached
        if deceleration is not None:
            assert acceleration.min() > -deceleration * (1.0 + 1e-6)
        if speed is not None:
            assert v.max() < speed * (1.0 + 1e-9)


def test_beyond_a_bound_the_row_leads_back() -> None:
    """Of order two with both poles at −rate: d(t) = (d0 + (ḋ0 + rate d0) t) e^(−rate t)."""
    rate, d0, v0 = 6.0, -0.4, 0.3

    def along(t: float, y: Array) -> list[float]:
        s, slope = allowed(y[0], rate, 5.0, 1.0)
        return [-y[1], rate * (s[0] - y[1]) - slope[0] * y[1]]

    run = solve_ivp(along, (0.0, 2.0), [d0, v0], rtol=1e-10, atol=1e-12)
    exact = (d0 + (-v0 + rate * d0) * run.t) * np.exp(-rate * run.t)
    assert_allclose(run.y[0], exact, atol=1e-8)


# --- the rows ----------------------------------------------------------------------------------------------------


def test_rows_are_the_formula_on_random_states() -> None:
    system = sr.System(random_tree(5).mechanism)
    bodies = list(system.mechanism.bodies)
    what = control.point(bodies[4], [0.1, 0.2, -0.1])
    x = quantity(system, what)
    e = system.equations
    kinematics = ca.Function("x", [e.q, e.v, e.p], [x.value, x.rate, x.jacobian, x.bias])
    bound = control.Bound(
        what, lower=[-INFINITY, -0.3, -0.4], upper=[0.5, INFINITY, 0.6], rate=[4.0, 5.0, 6.0], deceleration=3.0,
        speed=[INFINITY, 0.8, 0.9], acceleration=[7.0, INFINITY, 8.0], name="box",
    )  # fmt: skip
    settings = Settings()
    demand = bound.demand(system, settings, "box")
    assert demand.at_most
    assert demand.active is None
    label = f"{bodies[4]}."
    assert demand.rows == tuple(
        label + row
        for row in (
            "x upper", "x acceleration upper", "x acceleration lower", "y speed upper", "y lower",
            "z upper", "z acceleration upper", "z lower", "z acceleration lower",
        )
    )  # fmt: skip
    assert list(settings.values) == [
        "box.lower[1]", "box.lower[2]", "box.upper[0]", "box.upper[2]", "box.rate[0]", "box.rate[1]", "box.rate[2]",
        "box.deceleration[0]", "box.deceleration[1]", "box.deceleration[2]", "box.speed[1]", "box.speed[2]",
        "box.acceleration[0]", "box.acceleration[2]",
    ]  # fmt: skip
    for seed in range(5):
        q, v = random_state(system, seed)
        value, rate, jacobian, bias = (
            np.array(y) for y in kinematics(q, v, list(system.parameters.values()))
        )
        (x0, y0, z0), (dx, dy, dz) = value[:, 0], rate[:, 0]

        def row(d: float, speed: float, r: float, cap: float | None) -> float:
            s, slope = allowed(d, r, 3.0, cap)
            return float(r * (s[0] - speed) - slope[0] * speed)

        right = [
            row(0.5 - x0, dx, 4.0, None), 7.0, 7.0, 5.0 * (0.8 - dy), row(y0 + 0.3, -dy, 5.0, 0.8),
            row(0.6 - z0, dz, 6.0, 0.9), 8.0, row(z0 + 0.4, -dz, 6.0, 0.9), 8.0,
        ]  # fmt: skip
        places, signs = [0, 0, 0, 1, 1, 2, 2, 2, 2], np.array([1.0, 1, -1, 1, -1, 1, 1, -1, -1])
        left, wanted = numbers(system, demand, settings, q, v)
        assert_allclose(left, signs[:, None] * jacobian[places], atol=1e-12)
        assert_allclose(wanted, right - signs * bias[places, 0], rtol=1e-9, atol=1e-9)


def test_a_bound_of_velocities() -> None:
    system = sr.System(random_tree(6).mechanism)
    settings = Settings()
    bound = control.Bound(control.momentum("z", ""), lower=-2.0, upper=3.0, rate=5.0, acceleration=40.0)
    demand = bound.demand(system, settings, "p")
    assert demand.rows == (
        "momentum.z upper", "momentum.z acceleration upper", "momentum.z lower", "momentum.z acceleration lower",
    )  # fmt: skip
    q, v = random_state(system, 1)
    whole = system.centroidal(q, v)
    left, wanted = numbers(system, demand, settings, q, v)
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    assert_allclose(left, signs[:, None] * whole.matrix[[2, 2, 2, 2]], atol=1e-12)
    right = np.array([5.0 * (3.0 - whole.momentum[2]), 40.0, 5.0 * (2.0 + whole.momentum[2]), 40.0])
    assert_allclose(wanted, right - signs * whole.bias[2], atol=1e-10)


def test_limits_of_an_arm() -> None:
    system = arm(limits=(-1.0, 1.2))
    settings = Settings()
    demand = control.JointLimitBound(rate=5.0, deceleration=3.0, margin=0.1).demand(
        system, settings, "limits"
    )
    assert demand.rows == ("joint0 upper", "joint0 lower", "joint1 upper", "joint1 lower")
    assert settings.values["limits.upper[0]"] == pytest.approx(1.1)
    assert settings.values["limits.lower[1]"] == pytest.approx(-0.9)
    settings = Settings()
    free = arm()
    only = control.JointLimitBound(coordinates=["joint1"], speed=2.0).demand(free, settings, "limits")
    assert only.rows == ("joint1 speed upper", "joint1 speed lower")
    with pytest.raises(ArgumentError, match="no joint of arm has limits"):
        control.JointLimitBound().demand(free, Settings(), "limits")
    with pytest.raises(ArgumentError, match="lower must not be above upper"):
        control.JointLimitBound(margin=2.0).demand(system, Settings(), "limits")
    with pytest.raises(ArgumentError, match="joint9"):
        control.JointLimitBound(coordinates=["joint9"]).demand(system, Settings(), "limits")


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (control.Bound("joint0"), "a bound needs a finite lower, upper, speed or acceleration"),
        (control.Bound("joint0", upper=INFINITY), "a bound needs a finite"),
        (control.Bound("joint0", upper=float("nan")), "b.upper must be a number"),
        (control.Bound("joint0", upper=-INFINITY), "b.upper must be a number"),
        (
            control.Bound("joint0", lower=1.0, upper=0.5),
            "lower must not be above upper, got 1.0 and 0.5 for joint0",
        ),
        (control.Bound("joint0", upper=[1.0, 2.0]), "b.upper must be a number or 1 of them"),
        (control.Bound("joint0", upper=1.0, rate=0.0), "rate must be positive"),
        (control.Bound("joint0", upper=1.0, rate=INFINITY), "rate must be positive"),
        (control.Bound("joint0", upper=1.0, speed=-1.0), "speed must be positive"),
        (control.Bound("joint9", upper=1.0), "joint9"),
        (control.Bound("joint0", upper=1.0, weight=-1.0), "weight must be positive"),
        (control.Bound("joint0", upper=1.0, on=2.0), "b.on must be a number from 0 to 1"),
        (control.Bound("joint0", upper=1.0, ramp=0.1), "give on="),
        (control.Bound("joint0", upper=1.0, on=1.0, ramp=-0.1), "b.ramp must be a number of at least 0"),
        (
            control.Bound(control.orientation("link0", "y"), upper=1.0),
            "are angular velocities, not derivatives",
        ),
        (control.Bound(control.momentum("z", ""), upper=1.0, speed=1.0), "speed is for positions"),
        (control.Bound(lambda q, v, t: v[0], upper=1.0, deceleration=1.0), "deceleration is for positions"),
    ],
)
def test_bad_bounds_are_named(bound: control.Bound, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        bound.demand(arm(), Settings(), "b")


# --- laws that keep to them -------------------------------------------------------------------------------------


def tip(q: Array) -> Array:
    """Where the arm of two links ends, x and z."""
    first, second = q[..., 0], q[..., 0] + q[..., 1]
    return 0.5 * np.stack([np.cos(first) + np.cos(second), np.sin(first) + np.sin(second)], axis=-1)


@pytest.mark.parametrize("sample_time", [None, 1e-3])
def test_a_joint_brakes_before_its_limit(sample_time: float | None) -> None:
    """It is told to go beyond; it brakes with D and comes to rest on the limit, the other joint is not disturbed."""
    system = arm(limits=(-1.0, 1.2))
    go = control.Task(["joint0", "joint1"], [2.0, 0.5], 100.0, 20.0, name="go")
    limits = control.JointLimitBound(rate=20.0, deceleration=3.0)
    law = control.TaskHierarchy(system, [limits, go])
    run = sr.simulate(
        system, np.zeros(2), duration=3.0, control=law, sample_time=sample_time, switching=False
    )
    margin = 0.0 if sample_time is None else 1e-4
    assert run.q[:, 0].max() < 1.2 + margin + 1e-9
    assert run.q[-1] == pytest.approx([1.2, 0.5], abs=1e-5)
    assert run.a[:, 0].min() > -3.0 * (1.0 + (1e-6 if sample_time is None else 5e-3))
    assert run.v[:, 0].max() > 1.5
    free = 0.5 * (1.0 - (1.0 + 10.0 * run.t) * np.exp(-10.0 * run.t))
    if sample_time is None:
        assert_allclose(run.q[:, 1], free, atol=1e-6)
    law.settings["joint limits.upper[0]"] = 0.6
    run = sr.simulate(
        system, np.zeros(2), duration=2.0, control=law, sample_time=sample_time, switching=False
    )
    assert run.q[:, 0].max() < 0.6 + margin + 1e-9


def test_an_arm_that_a_wall_is_in_the_way_of() -> None:
    """The tip slides along the wall as near to its goal as it can be, no faster than allowed."""
    system = arm()
    goal = np.array([0.95, 0.1])
    wall = control.Bound(
        control.point("link1", (0.5, 0, 0), "x"), upper=0.7, rate=20.0, deceleration=4.0, name="wall"
    )
    slow = control.Bound(control.point("link1", (0.5, 0, 0), "xz"), speed=[0.6, 0.65], rate=20.0, name="slow")
    reach = control.Task(control.point("link1", (0.5, 0, 0), "xz"), goal, 100.0, 20.0, name="reach")
    law = control.TaskHierarchy(system, [wall, slow, reach])
    start = np.array([1.4, -1.0])
    run = sr.simulate(system, start, duration=4.0, control=law)
    place = tip(run.q)
    assert place[:, 0].max() < 0.7 + 1e-8
    assert place[-1] == pytest.approx([0.7, 0.1], abs=1e-3)
    speeds = np.abs(np.gradient(place, run.t, axis=0))
    assert np.all(speeds.max(axis=0) < 1.02 * np.array([0.6, 0.65]))
    assert speeds.max() > 0.5
    found = law.solve(run.q[-1], run.v[-1], throw=False)
    assert found.missed[0] == "reach"
    assert any("wall" in name for name in found.conflict)


def test_bounds_of_a_robot_with_contacts() -> None:
    """The centre of mass of the standing quadruped is sent beyond where it may go."""
    system, q = quadruped()
    height = control.Bound(control.centre_of_mass("z"), lower=0.38, rate=20.0, deceleration=1.0, name="high")
    tasks = [
        height,
        [
            control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright"),
            control.Task(control.centre_of_mass("z"), 0.33, 100.0, 20.0, name="crouch"),
        ],
        control.Task(control.centre_of_mass("xy"), system.centroidal(q).centre[:2], 25.0, 8.0, name="centre"),
    ]
    law, dt = control.LeggedController(system, tasks), 2e-3

    with kept(system):
        activity.switch_on(system, LEGS, q)
        run = sr.simulate(
            system, q, np.zeros(system.nv), duration=1.0, dt=dt, control=law, sample_time=dt, switching=False
        )
        heights = [system.centroidal(x).centre[2] for x in run.q]
    assert min(heights) > 0.38 - 1e-5
    assert heights[-1] == pytest.approx(0.38, abs=1e-3)


@pytest.mark.parametrize("bounded", [True, False])
def test_a_capture_point_above_the_soles_stands(bounded: bool) -> None:
    """A biped is sent 15 cm ahead of soles that end at 11 cm: with the bound it stops, without it falls."""
    module = load_example("biped_walk")
    system, floor = sr.System(module.build()), module.plant()
    q = module.pose(system, 0.0, 0.0)
    centre = system.centroidal(q).centre
    upright = control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright")
    height = control.Task(control.centre_of_mass("z"), centre[2:], 200.0, 25.0, name="height")
    ahead = control.Task(
        control.centre_of_mass("xy"), centre[:2] + np.array([0.15, 0.0]), 25.0, 8.0, name="ahead"
    )
    inside = control.Bound(
        control.capture_point(float(centre[2])), [-0.1, -0.15], [0.105, 0.15], name="inside"
    )
    law = control.LeggedController(
        system,
        [[upright, height], ahead],
        coefficients=dict.fromkeys(module.CORNERS, 0.5),
        bounds=[inside] if bounded else [],
        hold=True,
    )
    run = sr.simulate(floor, q, duration=1.5, dt=1e-3, sample_time=2e-3, control=law, throw=False)
    assert (run.q[:, 2].min() > 0.7) == bounded
    if bounded:
        assert system.centroidal(run.q[-1]).centre[0] == pytest.approx(0.105, abs=2e-3)
        assert np.abs(run.v[-1]).max() < 1e-2


def test_bounds_of_equal_size_at_rest() -> None:
    system = arm()
    reached = control.point("link1", (0.5, 0, 0), "xz")
    box = control.Bound(reached, acceleration=12.0, name="box")
    law = control.ProjectedInverseDynamics(system, reached, [0.95, 0.1], bounds=[box])
    q, v = np.array([np.arccos(0.6), -0.5 * np.pi]), np.zeros(2)
    here = control.TaskSpace(system, reached).kinematics(q, v)
    a = system.forward_dynamics(q, v, law.solve(q, v, throw=False).u).a
    assert_allclose(here.jacobian @ a + here.bias, [12.0, 0.0], atol=1e-9)
