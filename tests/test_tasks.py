"""`Task` and what it can be about: quantities, weights, what comes and goes, references from outside."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import sarrus as sr
from legged_robots import LEGS, kept, quadruped
from mechanisms import random_state, random_tree
from quantity_rates import largest_difference
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.quantities.quantities import quantity
from sarrus.dynamics.impacts import activity
from test_bounds import arm, tip

QUANTITIES: dict[str, Any] = {
    "point": control.point("b2", (0.1, 0.2, 0.3)),
    "point from a body": control.point("b2", (0.1, 0.2, 0.3), "xz", relative_to="b6"),
    "orientation": control.orientation("b2"),
    "orientation from a body": control.orientation("b2", relative_to="b6"),
    "gaze at a body": control.gaze("b3", (1.0, 2.0, 0.3), "b5", point=(0.1, 0.1, 0.0)),
    "gaze at a place": control.gaze("b3", (0.0, 0.0, -1.0), (1.0, 2.0, 3.0), position=(0.1, 0.0, 0.2)),
    "centre of mass": control.centre_of_mass(),
    "momentum": control.momentum(),
    "some momentum": control.momentum("y", "xz"),
    "capture point": control.capture_point(0.8),
    "function": lambda q, t: ca.vertcat(ca.sin(q[0]) * t, q[1] * q[2]),
    "function of velocities": lambda q, v, t: ca.vertcat(v[0] * ca.sin(t), v[1] * q[0] * v[2]),
}


@pytest.fixture(scope="module")
def system() -> sr.System:
    return sr.System(random_tree(3).mechanism)


def numbers(
    system: sr.System, demand: Demand, settings: Settings, q: Array, v: Array, t: float
) -> list[Array]:
    """Return J, r and the activities of a demand at a state."""
    e = system.equations
    active = ca.SX.ones(len(demand.rows)) if demand.active is None else demand.active
    symbols = ca.vertcat(*settings.symbols, settings.period)
    f = ca.Function("rows", [e.q, e.v, e.t, e.p, symbols], [demand.jacobian, demand.wanted, active])
    given = [*settings.values.values(), 0.0]
    return [np.array(x) for x in f(q, v, t, list(system.parameters.values()), given)]


# --- quantities ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUANTITIES)
def test_rates_and_accelerations(system: sr.System, name: str) -> None:
    assert largest_difference(system, QUANTITIES[name], range(6)) < 1e-8


def test_quantities_of_the_quadruped() -> None:
    robot, _ = quadruped()
    for what in (
        control.momentum(), control.capture_point(0.4), control.point("FL_shank", relative_to="trunk"),
        control.gaze("trunk", (1, 0, 0), "FR_shank"),
    ):  # fmt: skip
        assert largest_difference(robot, what, range(3)) < 1e-8


def value(system: sr.System, what: Any, q: Array, v: Array) -> Array:
    e = system.equations
    f = ca.Function("value", [e.q, e.v, e.p], [quantity(system, what).value])
    return np.array(f(q, v, list(system.parameters.values())))[:, 0]


def test_values_against_placements(system: sr.System) -> None:
    names = list(system.mechanism.bodies)
    one, other = names.index("b2"), names.index("b6")
    for seed in range(4):
        q, v = random_state(system, seed)
        where, turned = system.body_placements(q)
        here = where[one] + turned[one] @ [0.1, 0.2, 0.3]
        seen = turned[other].T @ (here - where[other])
        assert_allclose(value(system, QUANTITIES["point from a body"], q, v), seen[[0, 2]], atol=1e-12)
        vector = Rotation.from_matrix(turned[other].T @ turned[one]).as_rotvec()
        assert_allclose(value(system, QUANTITIES["orientation from a body"], q, v), vector, atol=1e-9)
        whole = system.centroidal(q, v)
        assert_allclose(value(system, control.momentum(), q, v), whole.momentum, atol=1e-12)
        assert_allclose(
            value(system, QUANTITIES["some momentum"], q, v), whole.momentum[[1, 3, 5]], atol=1e-12
        )
        gravity = np.linalg.norm(system.mechanism.gravity)
        reach = whole.centre + whole.velocity * np.sqrt(0.8 / gravity)
        assert_allclose(value(system, control.capture_point(0.8), q, v), reach[:2], atol=1e-12)


def test_a_gaze_is_zero_on_its_target(system: sr.System) -> None:
    """On the axis both angles are zero; beside it they are the angles in the planes of the axis and t1, and t2."""
    k = list(system.mechanism.bodies).index("b3")
    for seed in range(4):
        q, v = random_state(system, seed)
        where, turned = system.body_placements(q)
        n, t1 = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
        t2 = np.cross(n, t1)
        for aside in (np.zeros(2), np.array([1e-9, 0.0]), np.array([0.3, -0.7])):
            target = where[k] + turned[k] @ (2.0 * (n + np.tan(aside[0]) * t1 + np.tan(aside[1]) * t2))
            assert_allclose(value(system, control.gaze("b3", n, target), q, v), aside, atol=1e-12)


def test_a_camera_that_follows_a_ball() -> None:
    """Two gimbals keep the axis of a camera on a place, from far off it."""
    mechanism = sr.Mechanism("camera", gravity=(0, 0, 0))
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0))):
        mechanism.add_body(f"g{k}", 0.5, inertia=(0.01, 0.01, 0.01))
        mechanism.add_joint(f"j{k}", "revolute", f"g{k - 1}" if k else "world", f"g{k}", axis=axis)
        mechanism.add_actuator(f"m{k}", f"j{k}")
    camera = sr.System(mechanism)
    target = np.array([0.5, 1.0, 0.8])
    look = control.gaze("g1", (1, 0, 0), target)
    law = control.TaskHierarchy(camera, [control.Task(look, 0.0, 25.0, 10.0, name="look")])
    run = sr.simulate(camera, np.zeros(2), duration=3.0, control=law)
    axis = camera.body_placements(run.q[-1])[1][1][:, 0]
    assert_allclose(axis, target / np.linalg.norm(target), atol=1e-5)


# --- tasks of velocities ---------------------------------------------------------------------------------------------


def test_the_task_of_velocities_is_of_first_order(system: sr.System) -> None:
    """ẏ = ẏ_d + k (y_d − y), as J a + bias."""
    settings = Settings()
    task = control.Task(
        control.momentum("xy", ""), lambda t: ca.vertcat(ca.sin(t), 2.0 * t), [3.0, 4.0], name="p"
    )
    demand = task.demand(system, settings, "p")
    assert list(settings.values) == ["p.stiffness[0]", "p.stiffness[1]"]
    q, v = random_state(system, 1)
    whole = system.centroidal(q, v)
    left, right, _ = numbers(system, demand, settings, q, v, 0.7)
    assert_allclose(left, whole.matrix[:2], atol=1e-12)
    wanted = [np.cos(0.7), 2.0] + np.array([3.0, 4.0]) * ([np.sin(0.7), 1.4] - whole.momentum[:2])
    assert_allclose(right[:, 0], wanted - whole.bias[:2], atol=1e-10)


def test_a_speed_comes_as_asked() -> None:
    """Of a function of (q, v, t): the error dies out with the stiffness alone."""
    system = arm()

    def rising(q, v, t):
        return 0.5 * (ca.cos(q[0]) * v[0] + ca.cos(q[0] + q[1]) * (v[0] + v[1]))

    law = control.TaskHierarchy(system, [control.Task(rising, 0.4, 8.0, name="lift")])
    run = sr.simulate(system, [0.1, 0.4], duration=0.6, control=law)
    speed = np.array([value(system, rising, q, v)[0] for q, v in zip(run.q, run.v)])
    assert_allclose(speed, 0.4 * (1.0 - np.exp(-8.0 * run.t)), atol=1e-6)


# --- weights, and what comes and goes ---------------------------------------------------------------------


def test_weights_decide_between_rows_that_contradict_each_other() -> None:
    """Of two goals for one joint the compromise is their mean, weighted with squares."""
    system = arm(joints=1)
    where = control.Task(
        lambda q, t: ca.vertcat(q[0], q[0]), [0.2, 0.5], 25.0, 10.0, weight=[1.0, 3.0], name="both"
    )
    law = control.TaskHierarchy(system, [where])
    run = sr.simulate(system, [0.0], duration=3.0, control=law)
    assert run.q[-1, 0] == pytest.approx((0.2 + 9.0 * 0.5) / 10.0, abs=1e-5)
    law.settings["both.weight[1]"] = 1.0
    run = sr.simulate(system, [0.0], duration=3.0, control=law)
    assert run.q[-1, 0] == pytest.approx(0.35, abs=1e-5)


def test_a_task_that_is_off_is_as_if_it_was_not_there() -> None:
    system = arm()
    first = control.Task("joint0", 0.5, name="first", on=1.0)
    second = control.Task(["joint0", "joint1"], [0.1, 0.2], name="second")
    law, without = control.TaskHierarchy(system, [first, second]), control.TaskHierarchy(system, [second])
    with_it = control.TaskHierarchy(system, [control.Task("joint0", 0.5, name="first"), second])
    assert not law.needs_samples
    q, v = np.array([0.3, -0.6]), np.array([0.2, 0.1])
    assert_allclose(law(q, v), with_it(q, v), atol=1e-9)
    law.settings["first.on"] = 0.0
    assert_allclose(law(q, v), without(q, v), atol=1e-9)
    law.settings["first.on"] = 0.25
    assert_allclose(law(q, v), 0.25 * with_it(q, v) + 0.75 * without(q, v), atol=1e-9)


def test_a_ramp_hands_over_within_its_time() -> None:
    """No sample changes the controls by more than its part of the ramp; a reset begins at what is wanted."""
    system, period = arm(), 1e-3
    first = control.Task("joint0", 0.5, name="first", on=1.0, ramp=0.05)
    second = control.Task(["joint0", "joint1"], [0.1, 0.2], name="second")
    law = control.TaskHierarchy(system, [first, second])
    assert law.needs_samples
    q, v = np.array([0.3, -0.6]), np.zeros(2)
    before = law.sample(q, v, 0.0, period)
    law.settings["first.on"] = 0.0
    told, shares = [], []
    for k in range(60):
        shares.append(law.settings["first.active"])
        told.append(law.sample(q, v, k * period, period))
    assert_allclose(shares, np.clip(1.0 - 0.02 * np.arange(60), 0.0, 1.0), atol=1e-9)
    assert_allclose(told[0], before, atol=1e-9)
    after = control.TaskHierarchy(system, [second])(q, v)
    assert_allclose(told[-1], after, atol=1e-9)
    change = np.abs(np.diff(told, axis=0))
    assert np.all(change <= 0.02 * np.abs(after - before) * (1.0 + 1e-6) + 1e-9)
    law.settings["first.on"] = 0.4
    law.reset()
    assert law.settings["first.active"] == pytest.approx(0.4)
    with pytest.raises(ArgumentError, match="sample_time"):
        sr.simulate(system, q, duration=0.1, control=law)


def test_ramps_and_shares_of_contacts_are_one_memory() -> None:
    robot, q = quadruped()
    low = control.Task(control.centre_of_mass("z"), 0.35, name="low", on=0.0, ramp=0.1)
    upright = control.Task(control.orientation("trunk"), np.zeros(3), name="upright", on=1.0, ramp=0.2)
    law = control.LeggedController(robot, [[upright, low]], hand_over=0.05, largest_force=250.0)
    v = np.zeros(robot.nv)
    law.settings["low.on"], law.settings["upright.on"], law.settings["FL.closed"] = 1.0, 0.0, 0.0
    for k in range(10):
        law.sample(q, v, 1e-3 * k, 1e-3)
    told = [law.settings[f"{name}"] for name in ("low.active", "upright.active", "FL.share", "FR.share")]
    assert told == pytest.approx([0.1, 0.95, 0.8, 1.0])


# --- references from outside ------------------------------------------------------------------------------------------


def test_a_streamed_circle_is_followed() -> None:
    """A planner in Python tells place, speed and acceleration; the law samples them."""
    system, period = arm(), 1e-3
    end = control.point("link1", (0.5, 0, 0), "xz")

    def circle(t: float) -> tuple[Array, Array, Array]:
        angle, turn = 3.0 * t, 3.0
        way, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        return np.array([0.6, 0.2]) + 0.15 * way, 0.15 * turn * across, -0.15 * turn**2 * way

    start = np.array([1.0, -1.2])
    law = control.TaskHierarchy(
        system, [control.Task(end, control.streamed(tip(start)), 400.0, 40.0, name="hand")]
    )
    assert [name for name in law.settings if "reference" in name] == [
        f"hand.{part}[{k}]" for part in ("reference", "reference_rate", "reference_acceleration") for k in range(2)
    ]  # fmt: skip

    def drive(q: Array, v: Array, t: float) -> Array:
        law.settings.set_reference("hand", *circle(t))
        return law.sample(q, v, t, period)

    run = sr.simulate(system, start, duration=2.0, control=drive, sample_time=period)
    late = run.t > 0.5
    wanted = np.array([circle(t)[0] for t in run.t])
    assert np.linalg.norm(tip(run.q) - wanted, axis=1)[late].max() < 1e-3


def test_streamed_references_are_set_as_a_whole() -> None:
    system = arm()
    tasks = [
        control.Task("joint0", control.streamed(0.1), name="one"),
        control.Task("joint1", 0.0, name="two"),
    ]
    settings = control.TaskHierarchy(system, tasks).settings
    settings.set_reference("one", 0.3, 0.2)
    assert [settings[f"one.reference{end}"] for end in ("", "_rate", "_acceleration")] == [0.3, 0.2, 0.0]
    for given, message in (
        (("two", 0.1), "'two' is no task with a streamed reference; those with one are one"),
        (("one", [0.1, 0.2]), "one.reference must be a number or 1 of them"),
        (("one", 0.1, float("nan")), "one.reference_rate.* must be a finite number"),
    ):
        with pytest.raises(ArgumentError, match=message):
            settings.set_reference(*given)
    assert settings["one.reference"] == 0.3
    settings.update({"one.reference": 0.7})
    assert settings["one.reference"] == 0.7


# --- centres of pressure ---------------------------------------------------------------------------------------------


def standing(*extra: Any) -> tuple[sr.System, Array, control.LeggedController]:
    """The quadruped at its keyframe, told to stay upright, and more; where its weight is comes last."""
    robot, q = quadruped()
    levels = [
        [
            control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright"),
            control.Task(
                control.centre_of_mass("z"), robot.centroidal(q).centre[2], 200.0, 25.0, name="height"
            ),
        ],
        *extra,
        control.Task(control.centre_of_mass("xy"), [0.3, 0.0], 25.0, 8.0, name="place"),
    ]
    return robot, q, control.LeggedController(robot, levels, largest_force=400.0)


def test_a_centre_of_pressure_as_a_task_and_within_bounds() -> None:
    """What the answer's forces add up to, by `sarrus.contact_wrench`."""
    wanted = np.array([0.03, -0.02])
    robot, q, law = standing(control.CentreOfPressure(LEGS, wanted, name="pressure"))
    with kept(robot):
        activity.switch_on(robot, LEGS, q)
        found = law.solve(q, np.zeros(robot.nv), throw=False)
        assert "pressure" not in found.missed
        assert_allclose(sr.contact_wrench(robot, q, found, LEGS).centre_of_pressure, wanted, atol=1e-8)
        _, _, free = standing()
        told = free.solve(q, np.zeros(robot.nv), throw=False)
        free_centre = sr.contact_wrench(robot, q, told, LEGS).centre_of_pressure
        assert np.abs(free_centre).max() > 0.06
        robot, q, law = standing(
            control.CentreOfPressure(LEGS, lower=-0.05, upper=[0.04, 0.05], name="pressure")
        )
        found = law.solve(q, np.zeros(robot.nv), throw=False)
        inside = sr.contact_wrench(robot, q, found, LEGS).centre_of_pressure
        assert np.all(inside <= np.array([0.04, 0.05]) + 1e-7)
        assert np.all(inside >= -0.05 - 1e-7)
        assert np.abs(inside - [0.04, 0.05]).min() < 1e-6 or np.abs(inside + 0.05).min() < 1e-6
        assert "pressure" not in found.missed
        robot, q, law = standing(control.CentreOfPressure(LEGS, wanted, name="pressure", on=0.0))
        off = law.solve(q, np.zeros(robot.nv), throw=False)
        assert_allclose(off.u, told.u, atol=1e-7)


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: control.Task(control.momentum("z", ""), 0.0, damping=1.0), "whose task has no damping"),
        (lambda: control.Task(control.momentum("", ""), 0.0), "momentum needs at least one axis"),
        (lambda: control.Task(control.momentum("xq", ""), 0.0), "linear must be some of x, y, z"),
        (lambda: control.Task(control.capture_point(-1.0), 0.0), "height must be a number of at least"),
        (lambda: control.Task(lambda q, v, t: q[0], 0.0), "must depend on v"),
        (lambda: control.Task(control.gaze("link0", (0, 0, 0), (1, 0, 0)), 0.0), "axis has length zero"),
        (
            lambda: control.Task(control.gaze("link0", (1, 0, 0), "link0"), 0.0),
            "must not be on 'link0' itself",
        ),
        (lambda: control.Task(control.gaze("link0", (1, 0, 0), "link9"), 0.0), "link9"),
        (
            lambda: control.Task(control.gaze("link0", (1, 0, 0), (1, 0)), 0.0),
            "target must be three finite numbers",
        ),
        (lambda: control.Task(control.point("link0", relative_to="link9"), 0.0), "link9"),
        (lambda: control.Task("joint0", control.streamed([0.1, 0.2])), "a finite number or 1 of them"),
        (lambda: control.Task("joint0", 0.0, weight=[0.0]), "weight must be positive"),
        (lambda: control.Task("joint0", 0.0, on=-0.5), "t.on must be a number from 0 to 1"),
        (lambda: control.Task(3.0, 0.0), "a function of \\(q, t\\) or \\(q, v, t\\)"),
    ],
)
def test_bad_tasks_are_named(build: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        build().demand(arm(), Settings(), "t")


def test_velocities_where_positions_are_needed() -> None:
    for build in (
        lambda s: control.TaskSpace(s, control.momentum()),
        lambda s: control.Regulator(s, control.momentum("z", ""), 0.0, stiffness=1.0, damping=1.0),
    ):
        with pytest.raises(ArgumentError, match="needs a function of \\(q, t\\), not of velocities"):
            build(arm())


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (control.CentreOfPressure(LEGS), "either a reference or a finite lower or upper"),
        (control.CentreOfPressure(LEGS, [0, 0], upper=1.0), "either a reference or"),
        (control.CentreOfPressure(["FL", "XX"], [0, 0]), "XX"),
        (control.CentreOfPressure(LEGS, lower=1.0, upper=0.0), "lower must not be above upper"),
        (
            [control.Task("FL_knee", 0.0, name="a"), control.Bound("FL_knee", upper=1.0, name="b")],
            "inequalities have levels of their own: take b out of the list of task1",
        ),
    ],
)
def test_bad_levels_of_robots_are_named(task: Any, message: str) -> None:
    robot, _ = quadruped()
    with pytest.raises(ArgumentError, match=message):
        control.LeggedController(robot, [task])
