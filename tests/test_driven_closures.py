"""Closures and couplings that follow functions of time: against differences, driven bodies, and exact forces."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import sarrus as sr
from sarrus.base.errors import ModelError, UnsupportedElementError
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.elements import CLOSURE_KINDS
from sarrus.model.mechanism.spline import Spline
from sarrus.model.mechanism.tendons import Wrap
from test_driven_bodies import assert_rows_agree
from test_linearization import assert_exact

GRAVITY = 9.81


def tumbling(t: ca.SX) -> tuple[ca.SX, ca.SX]:
    """A frame that moves and turns, its quaternion not of unit length."""
    place = ca.vertcat(0.1 * ca.sin(t), 0.2 * t, 0.3 * t**2)
    return place, ca.vertcat(ca.cos(t), 0.3 * ca.sin(2 * t), 0.2, 0.1 * t)


def breathing(t: ca.SX) -> ca.SX:
    return 1.0 + 0.2 * ca.sin(3 * t)


def motion_of(kind: str):
    return breathing if kind == "distance" else tumbling


FRAME = sr.Pose.of((0.1, 0.2, 0.3), quaternion=(0.8, 0.6, 0.0, 0.0))


def closed(kind: str, ground: str = "c", motion=None, pose: sr.Pose = FRAME) -> sr.Mechanism:
    """A chain of a universal and a spherical joint, closed with a free body or the ground."""
    mechanism = sr.Mechanism("chain")
    inertia = (0.1, 0.2, 0.15)
    mechanism.add_body("a", 1.0, (0.3, 0, 0.1), inertia)
    mechanism.add_joint("ja", "universal", "world", "a", axis=(0, 1, 0), axis2=(0, 0, 1))
    mechanism.add_body("b", 1.0, (0.3, 0, 0), inertia)
    mechanism.add_joint("jb", "spherical", "a", "b", parent_pose=(0.5, 0, 0))
    mechanism.add_body("c", 1.0, (0.2, 0.1, 0), inertia)
    mechanism.add_joint("jc", "free", "world", "c")
    mechanism.add_body("hand")
    mechanism.add_joint("held", "fixed", "world", "hand")
    more = {"screw": {"pitch": 0.1}, "universal": {"axis2": (0.8, -0.6, 0)}}.get(kind, {})
    mechanism.add_closure(
        "x", kind, ground, "b", pose1=pose, pose2=(0.3, 0, 0.2), axis=(0.6, 0.8, 0), motion=motion, **more
    )
    return mechanism


def state(system: sr.System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    q = system.normalized(system.neutral() + 0.3 * rng.standard_normal(system.nq))
    return q, rng.standard_normal(system.nv), rng.standard_normal(system.nv)


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_rows_agree_with_differences_in_time(kind: str) -> None:
    system = sr.System(closed(kind, motion=motion_of(kind)))
    assert_rows_agree(system, *state(system), 0.7)


@pytest.mark.parametrize("kind", [kind for kind in CLOSURE_KINDS if kind != "distance"])
def test_on_the_ground_it_is_the_closure_with_a_driven_body(kind: str) -> None:
    follows = sr.System(closed(kind, "world", tumbling, sr.Pose()))
    mechanism = closed(kind, "hand", pose=sr.Pose())
    mechanism.drive("hand", tumbling)
    carried = sr.System(mechanism)
    q, v, _ = state(follows)
    for t in (0.0, 0.4):
        for quantity in ("constraint_residual", "constraint_jacobian"):
            here, there = (getattr(s, quantity)(q, t=t) for s in (follows, carried))
            np.testing.assert_allclose(here, there, atol=1e-14)
        np.testing.assert_allclose(
            follows.constraint_bias(q, v, t), carried.constraint_bias(q, v, t), atol=1e-12
        )


@pytest.mark.parametrize("kind", ["weld", "screw", "distance"])
def test_linear_models_know_how_rows_move(kind: str) -> None:
    system = sr.System(closed(kind, motion=motion_of(kind)))
    (q, v, _), t = state(system), 0.3
    q = system.assemble(q, t=t).q
    v = system.project_velocity(q, v, t)
    assert_exact((system, q, v, np.zeros(0), t), "partition")
    here = sr.linearize_at(system, q, v, t=t, coordinates="partition")
    along = sr.linearize_along(system, [q], [v], t=[t], coordinates="partition")
    np.testing.assert_allclose(along.A[0], here.A, atol=1e-10 * np.abs(here.A).max())
    np.testing.assert_allclose(along.E[0], here.E, atol=1e-10 * np.abs(here.A).max())


def hanging(motion) -> sr.System:
    mechanism = sr.Mechanism("hoist")
    mechanism.add_body("load", 3.0)
    mechanism.add_joint("lift", "prismatic", "world", "load", axis=(0, 0, 1))
    mechanism.add_motion("hoist", "lift", motion)
    return sr.System(mechanism)


def test_a_motor_that_follows_exactly_gives_the_force_that_it_takes() -> None:
    system = hanging(lambda t: 0.3 * ca.sin(2 * t))
    run = sr.simulate(system, [0.0], [0.6], duration=3.0)
    np.testing.assert_allclose(run.q[:, 0], 0.3 * np.sin(2 * run.t), atol=1e-9)
    np.testing.assert_allclose(run.multipliers[:, 0], 3.0 * (GRAVITY - 1.2 * np.sin(2 * run.t)), atol=1e-8)
    assert not system.equations.conservative


def test_a_rod_that_changes_its_length_pushes_with_what_it_lifts() -> None:
    mechanism = sr.Mechanism("cylinder")
    mechanism.add_body("load", 3.0)
    mechanism.add_joint("lift", "prismatic", "world", "load", axis=(0, 0, 1))
    mechanism.add_closure("rod", "distance", "world", "load", motion=breathing)
    system = sr.System(mechanism)
    for t in (0.0, 0.2, 0.9):
        length, rate = 1.0 + 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t)
        found = system.forward_dynamics([length], [rate], t=t)
        np.testing.assert_allclose(found.a, -1.8 * np.sin(3 * t), atol=1e-12)
        np.testing.assert_allclose(found.multipliers, 3.0 * (GRAVITY - 1.8 * np.sin(3 * t)), atol=1e-11)


def four_bar(motion=None) -> sr.Mechanism:
    mechanism = sr.Mechanism("four bar", gravity=(0, 0, -GRAVITY))
    for name, parent, length, x in (
        ("crank", "world", 0.2, 0.0),
        ("coupler", "crank", 0.6, 0.2),
        ("rocker", "world", 0.5, 0.7),
    ):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.001, length**2 / 12, length**2 / 12))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(x, 0, 0))
    mechanism.add_closure("tip", "point", "coupler", "rocker", pose1=(0.6, 0, 0), pose2=(0.5, 0, 0))
    if motion is not None:
        mechanism.add_motion("motor", "crank", motion)
    return mechanism


def test_the_motor_of_a_crank_does_the_work_that_the_energy_says() -> None:
    speed = 5.0
    system = sr.System(four_bar(lambda t: 1.0 + speed * t + 0.1 * ca.cos(2 * t)))
    q = system.assemble([1.1, -0.5, 1.5]).q
    v = system.project_velocity(q, np.zeros(3))
    run = sr.simulate(system, q, v, duration=2.0, dt=1e-3)
    assert run.status.ok
    assert run.residual.max() < 1e-12
    row = system.constraint_names.index("motor")
    rate = speed - 0.2 * np.sin(2 * run.t)
    np.testing.assert_allclose(run.v[:, 0], rate, atol=1e-9)
    # the same torque by inverse dynamics of the mechanism with an actuator in the place of the motor
    free = four_bar()
    free.add_actuator("motor", "crank")
    driven = sr.System(free)
    for k in range(0, len(run.t), 100):
        torque = driven.inverse_dynamics(run.q[k], run.v[k], run.a[k]).u[0]
        assert abs(torque - run.multipliers[k, row]) < 1e-9
    power = run.multipliers[:, row] * rate
    change = run.energy - run.energy[0]
    assert np.ptp(change) > 1.0
    # the work of the motor is the change of energy: by Simpson's rule on the even samples
    work = cumulative_simpson(power, x=run.t, initial=0.0)
    assert np.abs(work - change).max() < 1e-6 * np.ptp(change)


@pytest.mark.parametrize(
    "options", [{}, {"dt": 1e-3}, {"method": "rodas5p"}], ids=["adaptive", "RK4", "implicit"]
)
@pytest.mark.parametrize(("sense", "reach"), [(-1.0, 0.8), (1.0, 0.4)], ids=["stretched", "folded"])
def test_a_run_ends_where_its_motion_leads_beyond_what_the_loops_reach(
    options, sense: float, reach: float
) -> None:
    mechanism = four_bar()
    start = np.arccos((0.7**2 + 0.5**2 - 0.6**2) / (2 * 0.7 * 0.5))  # between both ends
    mechanism.add_motion("motor", "rocker", lambda t: np.pi - start + sense * 2.0 * t)
    system = sr.System(mechanism)
    q = system.assemble([1.1, -0.5, np.pi - start]).q
    run = sr.simulate(
        system, q, system.project_velocity(q, np.zeros(3)), duration=2.0, throw=False, **options
    )
    assert run.status is sr.Status.NOT_ACHIEVABLE
    assert "the prescribed motion of 'motor' leaves the reach of the loops" in run.message
    last = abs(np.arccos((0.7**2 + 0.5**2 - reach**2) / (2 * 0.7 * 0.5)) - start) / 2.0
    assert last - options.get("dt", 1e-6) - 1e-12 < run.t[-1] < last + 1e-12


@pytest.mark.parametrize("size", [0.3, -2e-3])
@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["adaptive", "RK4"])
def test_a_motion_that_jumps_is_named(options, size: float) -> None:
    course = four_bar(lambda t: 1.0 + t + 0.1 * ca.sin(30 * t) + ca.if_else(t > 0.7123, size, 0.0))
    system = sr.System(course)
    q = system.assemble([1.0, -0.5, 1.5]).q
    run = sr.simulate(
        system, q, system.project_velocity(q, np.zeros(3)), duration=1.0, throw=False, **options
    )
    assert run.status is sr.Status.INACCURATE
    assert f"'motor' jumps by {abs(size):g} at t = 0.7123 s" in run.message


@pytest.mark.parametrize("unit", [1.0, 1000.0], ids=["m", "mm"])
@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["adaptive", "RK4"])
@pytest.mark.parametrize("driven", [False, True])
def test_a_cam_that_drops_its_follower_is_named(driven: bool, options, unit: float) -> None:
    """Nothing is driven by time: the loops themselves jump, and the energy of the spring is lost."""
    mechanism = sr.Mechanism("snail", gravity=(0, 0, 0))
    mechanism.add_body("cam", 1.0, inertia=3 * (1e-3 * unit**2,))
    mechanism.add_joint("cam", "revolute", "world", "cam")
    mechanism.add_body("follower", 0.2, inertia=3 * (1e-4 * unit**2,))
    mechanism.add_joint(
        "follower", "prismatic", "world", "follower", stiffness=400.0, spring_reference=-0.01 * unit
    )
    turn = 2 * np.pi
    mechanism.add_coupling(
        "profile", {"follower": 1.0, "cam": lambda x: -0.01 * unit * (x / turn - ca.floor(x / turn))}
    )
    if driven:
        mechanism.add_motion("motor", "cam", lambda t: 20.0 * t)
    system = sr.System(mechanism)
    v = system.project_velocity([0.0, 0.0], [20.0, 0.0])
    run = sr.simulate(system, [0.0, 0.0], v, duration=0.5, throw=False, **options)
    assert run.status is sr.Status.INACCURATE
    assert f"'profile' jumps by {0.01 * unit:g} at t = 0.3" in run.message


def test_a_string_that_slips_off_its_wheel_in_a_moment_is_named() -> None:
    """In millimetres the loops close again two turns of the string farther."""
    unit = 1e3
    mechanism = sr.Mechanism("winch", gravity=(0, 0, -9.81 * unit))
    inertia = np.array((0.01, 0.02, 0.02)) * unit**2
    mechanism.add_body("arm", 1.0, (0.15 * unit, 0, 0), inertia)
    mechanism.add_joint("arm", "revolute", "world", "arm", axis=(0, 1, 0), damping=0.01 * unit**2)
    mechanism.add_body("weight", 2.0, inertia=inertia)
    mechanism.add_joint("z", "prismatic", "world", "weight", axis=(0, 0, 1), parent_pose=(-0.3 * unit, 0, 0))
    wheel = Wrap("world", "sphere", 0.08 * unit, side=("world", np.array((0, 0, 0.12 * unit))))
    ends = ("weight", (0, 0.01 * unit, 0)), ("arm", (0.3 * unit, 0, 0.02 * unit))
    mechanism.add_tendon("string", [ends[0], wheel, ends[1]])
    mechanism.add_motion("winch", "tendon:string", lambda t: unit * (0.72 - 0.05 * ca.sin(5 * t)))
    system = sr.System(mechanism)
    q = system.assemble([0.2, -0.25 * unit]).q
    run = sr.simulate(system, q, system.project_velocity(q, [0.5, 0.0]), duration=0.4, throw=False)
    assert run.status is sr.Status.INACCURATE
    assert "'winch' jumps by" in run.message


def test_records_far_from_each_other_are_no_jumps() -> None:
    """Whole turns lie between them."""
    system = sr.System(four_bar(lambda t: 1.0 + 40.0 * t))
    q = system.assemble([1.0, -0.5, 1.5]).q
    v = system.project_velocity(q, np.zeros(3))
    run = sr.simulate(system, q, v, duration=2.0, dt=1e-3, every=100)
    assert run.status.ok


@pytest.mark.parametrize(
    "options", [{}, {"dt": 1e-3}, {"method": "rodas5p"}], ids=["adaptive", "RK4", "implicit"]
)
@pytest.mark.parametrize("unit", [1.0, 1000.0], ids=["m", "mm"])
def test_no_length_goes_through_zero(unit: float, options) -> None:
    mechanism = sr.Mechanism("cylinder", gravity=(0, 0, 0))
    mechanism.add_body("rod", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("x", "prismatic", "world", "rod", axis=(1, 0, 0))
    mechanism.add_closure("cylinder", "distance", "world", "rod", motion=lambda t: unit * (1.0 - 1.7 * t))
    system = sr.System(mechanism)
    q = system.assemble([unit]).q
    run = sr.simulate(system, q, system.project_velocity(q, [0.0]), duration=1.0, throw=False, **options)
    assert run.status is sr.Status.NOT_ACHIEVABLE
    assert "the prescribed motion of 'cylinder' leaves the reach of the loops" in run.message
    assert run.t[-1] == pytest.approx(1.0 / 1.7, abs=1e-3)


def test_motions_with_kinks_do_not_jump() -> None:
    """A piecewise linear course has velocities that jump, and no position that does."""
    system = sr.System(four_bar(lambda t: 1.0 + ca.fabs(t - 0.4123)))
    q = system.assemble([1.4, -0.5, 1.5]).q
    run = sr.simulate(system, q, system.project_velocity(q, np.zeros(3)), duration=1.0)
    assert run.status.ok
    np.testing.assert_allclose(run.q[:, 0], 1.0 + np.abs(run.t - 0.4123), atol=1e-9)


def test_a_table_drives_as_its_function_does() -> None:
    times = np.linspace(0.0, 3.0, 301)
    table = Spline.through(times, 0.3 * np.sin(2 * times), 5, "rest")
    exact, found = hanging(lambda t: 0.3 * ca.sin(2 * t)), hanging(table)
    # at rest at both ends, and so not the sine there
    for t in np.linspace(0.5, 2.5, 7):
        q, v = [0.3 * np.sin(2 * t)], [0.6 * np.cos(2 * t)]
        force = [s.forward_dynamics(q, v, t=t).multipliers[0] for s in (exact, found)]
        assert abs(force[0] - force[1]) < 1e-5
    run = sr.simulate(found, [0.0], [0.0], duration=3.0)
    np.testing.assert_allclose(run.q, table.at(run.t), atol=1e-10)


def cam(lift) -> sr.System:
    mechanism = sr.Mechanism("cam", gravity=(0, 0, 0))
    mechanism.add_body("cam", 2.0, (0, 0, 0), (0.02, 0.02, 0.04))
    mechanism.add_joint("cam", "revolute", "world", "cam", axis=(0, 0, 1))
    mechanism.add_body("follower", 0.5, inertia=(0.01, 0.01, 0.01))
    mechanism.add_joint("follower", "prismatic", "world", "follower", axis=(1, 0, 0))
    mechanism.add_coupling("profile", {"follower": -1.0, "cam": lift})
    return sr.System(mechanism)


def test_a_cam_from_a_table_moves_its_follower() -> None:
    angles = np.linspace(0.0, 2 * np.pi, 73)
    lift = Spline.through(angles, 0.1 - 0.02 * np.cos(3 * angles), 5, "periodic")
    system = cam(lift)
    q = np.array([0.4, lift.at(0.4)[0]])
    v = system.project_velocity(q, [20.0, 0.0])
    run = sr.simulate(system, q, v, duration=2.0)
    assert run.status.ok
    assert run.q[-1, 0] > 30.0
    np.testing.assert_allclose(run.q[:, 1], lift.at(run.q[:, 0])[:, 0], atol=1e-12)
    assert run.energy_drift < 1e-6 * run.energy[0]
    exact = sr.System(cam(lambda x: 0.1 - 0.02 * ca.cos(3 * x)).mechanism)
    for k in (10, 200):
        here, there = (s.forward_dynamics(run.q[k], run.v[k]).a for s in (system, exact))
        np.testing.assert_allclose(here, there, rtol=1e-3)


def test_functions_that_a_file_cannot_hold_are_named_and_tables_are_kept() -> None:
    table = Spline.through([0.0, 1.0, 2.0], [0.0, 0.1, 0.3])
    kept = from_json(to_json(hanging(table).mechanism))
    assert np.array_equal(kept.couplings["hoist"].motion.coefficients, table.coefficients)
    assert not kept.report.left_out
    lost = from_json(to_json(four_bar(lambda t: 3 * t)))
    assert not lost.couplings
    assert list(lost.closures) == ["tip"]
    assert [(i.kind, i.name) for i in lost.report.left_out] == [("coupling", "motor")]
    rod = closed("distance", motion=breathing)
    assert [(i.kind, i.name) for i in from_json(to_json(rod)).report.left_out] == [("closure", "x")]


def test_mjcf_has_none_of_these(tmp_path: Path) -> None:
    for mechanism in (
        closed("weld", motion=tumbling),
        four_bar(lambda t: 3 * t),
        cam(lambda x: x**2).mechanism,
    ):
        with pytest.raises(UnsupportedElementError, match="MJCF"):
            mechanism.to_mjcf(tmp_path / "model.xml")


@pytest.mark.parametrize(
    ("kind", "motion", "message"),
    [
        ("weld", lambda t: [t, t], r"closure 'x': function\(t\) must return a position \(3 entries\)"),
        ("weld", lambda t: [1 / t, 0, 0], "closure 'x'.*not finite at t = 0"),
        ("weld", lambda t: [0, 0, 0, 0 * t, 0, 0, 0], "closure 'x'.*zero length"),
        ("weld", 3.0, "closure 'x': motion must be a function of time or a Spline, got 3.0"),
        ("distance", tumbling, "closure 'x'.*must return one number, got 7"),
        ("distance", lambda t: t, "closure 'x'.*positive"),
    ],
)
def test_bad_motions_are_errors_that_name_the_closure(kind: str, motion, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        sr.System(closed(kind, motion=motion))


def test_bad_functions_of_couplings_are_errors() -> None:
    with pytest.raises(
        ModelError, match=r"coupling 'hoist': motion must be a function of time or a Spline, got 3.0"
    ):
        hanging(3.0)
    with pytest.raises(ModelError, match="coupling 'hoist': motion must be a Spline of degree 1 or more"):
        hanging(Spline(np.array([0.0, 1.0]), np.array([[[0.0]], [[1.0]], [[3.0]]])))
    with pytest.raises(ModelError, match="Spline of one row, got one of 2"):
        hanging(Spline.through([0, 1], [[0, 1], [1, 2]], 5, "rest"))
    with pytest.raises(ModelError, match="coupling 'profile': the function of 'cam' must return one number"):
        cam(lambda x: [x, x])
    with pytest.raises(ModelError, match="length or a motion, not both"):
        closed("weld").add_closure("y", "distance", "c", "b", length=1.0, motion=breathing)


def test_motions_that_no_velocity_meets_are_named() -> None:
    mechanism = sr.Mechanism("shaft")
    mechanism.add_body("shaft", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("shaft", "revolute", "world", "shaft")
    mechanism.add_motion("one", "shaft", lambda t: t)
    mechanism.add_motion("two", "shaft", lambda t: 2 * t)
    system = sr.System(mechanism)
    with pytest.raises(
        sr.ArgumentError, match="no velocity satisfies all constraints at t = 0: 'one', 'two' are redundant"
    ):
        sr.simulate(system, [0.0], [1.5], duration=0.1)
    with pytest.raises(
        sr.ArgumentError, match="'one', 'two' are redundant and prescribe different velocities"
    ):
        sr.simulate(system, [0.0], [1.0], duration=0.1)


def test_project_velocity_names_motions_that_contradict_each_other() -> None:
    """Where they agree it is one velocity; compromises, here 1.5 rad/s, are nobody's."""
    mechanism = sr.Mechanism("shaft")
    mechanism.add_body("shaft", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("shaft", "revolute", "world", "shaft")
    mechanism.add_motion("one", "shaft", lambda t: t)
    mechanism.add_motion("two", "shaft", lambda t: t + t**2)
    system = sr.System(mechanism)
    np.testing.assert_allclose(system.project_velocity([0.0], [0.0], 0.0), [1.0])
    for t in (0.5, 1e-3):
        with pytest.raises(
            sr.ArgumentError,
            match=f"no velocity satisfies all constraints at t = {t:g}: 'one', 'two' are redundant",
        ):
            system.project_velocity([0.0], [0.0], t)
