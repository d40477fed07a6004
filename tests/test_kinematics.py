"""Inverse kinematics, modes of assembly and curves of configurations, against closed forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sarrus as sr
from mechanisms import close_loops, random_coordinates, random_tree, rotation_about
from sarrus.analysis.configurations.assembly_modes import assembly_modes
from sarrus.analysis.configurations.curve import follow_curve
from sarrus.analysis.configurations.inverse_kinematics import inverse_kinematics
from sarrus.analysis.configurations.targets import inverse_left_jacobian, rotation_vector, target
from sarrus.base.errors import ArgumentError, SolveError
from test_mobility import spatial_four_bar
from test_redundancy import CLOSURES, closed, four_bar
from test_references import GRASHOF, planar_four_bar, slider_crank

CYLINDERS = [f"cylinder{k}" for k in range(1, 7)]
TIP = ("link2", (1.5, 0.0, 0.0))


@cache
def grashof() -> sr.System:
    """Ground 0.35, crank 0.1, coupler 0.4, rocker 0.3."""
    return sr.System(planar_four_bar(0.35, [(x, 1.0, x / 2, 0.01) for x in (0.1, 0.4, 0.3)]))


@cache
def arm(limits: tuple[float, float] | None = None) -> sr.System:
    """Return two links of 1 m in the x-y plane with limits on the elbow."""
    mechanism = sr.Mechanism("arm")
    for name, parent, x, bounds in (("upper", "world", 0.0, None), ("lower", "upper", 1.0, limits)):
        mechanism.add_body(name, 1.0, com=(0.5, 0, 0), inertia=(0.0, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(x, 0, 0), limits=bounds)
    return sr.System(mechanism)


# --- inverse kinematics ---------------------------------------------------------------------------


def test_stewart_platform_both_ways(example):
    """Pose to lengths of the legs and back, against their closed form."""
    module = example("stewart")
    system = sr.System(module.build())
    level = module.configuration(sr.Pose.of((0, 0, 1)))
    found = inverse_kinematics(system, {"platform": module.POSE}, level)
    assert np.abs(found.q[9::3] - module.LENGTHS).max() < 1e-12
    assert (found.status, found.dof) == (sr.Status.OK, 0)
    assert found.closure_residual < 1e-13
    back = inverse_kinematics(system, dict(zip(CYLINDERS, module.LENGTHS)), level)
    assert np.allclose(back.q[:7], [*module.POSE.position, *module.POSE.quaternion], rtol=0, atol=1e-11)
    assert set(back.residuals) == set(CYLINDERS)


@pytest.mark.parametrize("kind", CLOSURES)
def test_four_bar_with_redundant_rows_reaches_a_coordinate(kind):
    system = sr.System(four_bar(kind))
    found = inverse_kinematics(system, {"crank": 2.0}, closed(system, 1.0))
    assert np.allclose(found.q, closed(system, 2.0), rtol=0, atol=1e-11)
    assert found.residuals == {"crank": pytest.approx(0.0, abs=1e-12)}


def test_point_of_a_five_bar_with_a_component_left_free(example):
    module = example("five_bar")
    system = sr.System(module.build())
    found = inverse_kinematics(system, {TIP: (0.5, None, 1.2)}, module.SYMMETRIC)
    positions, rotations = system.body_placements(found.q)
    k = list(system.mechanism.bodies).index("link2")
    assert np.allclose(positions[k] + rotations[k] @ TIP[1], [0.5, 0.0, 1.2], rtol=0, atol=1e-12)
    height = inverse_kinematics(system, {TIP: (None, None, 1.2)}, module.SYMMETRIC)
    assert (found.dof, height.dof) == (0, 1)


def test_out_of_reach_is_as_near_as_it_gets(example):
    """Both chains stretched to 2.5 m towards the tip: height √(2.5² − 0.5²)."""
    module = example("five_bar")
    system = sr.System(module.build())
    with pytest.raises(SolveError, match=r"cannot be met from here: 'link2 .*' is missed by 1\.7") as caught:
        inverse_kinematics(system, {TIP: (0.5, None, 4.2)}, module.SYMMETRIC)
    found = caught.value.result
    assert found.status is sr.Status.NOT_ACHIEVABLE
    assert found.residual == pytest.approx(4.2 - np.sqrt(6.0), abs=1e-9)
    assert found.closure_residual < 1e-12


def test_orientation_alone_and_position_with_orientation():
    plan = random_tree(2, ("revolute", "spherical", "free"), forces=False)
    q = random_coordinates(plan)
    system = sr.System(close_loops(plan, q, ("distance",)))
    goal = system.assemble(system.move(q, 0.3 * np.random.default_rng(0).standard_normal(system.nv))).q
    positions, rotations = system.body_placements(goal)
    index = {name: k for k, name in enumerate(system.mechanism.bodies)}
    found = inverse_kinematics(system, {"b2": rotations[index["b2"]]}, q)
    assert np.allclose(
        system.body_placements(found.q)[1][index["b2"]], rotations[index["b2"]], rtol=0, atol=1e-9
    )
    pose = sr.Pose.of(positions[index["b2"]], rotation=rotations[index["b2"]])
    found = inverse_kinematics(
        system, {"b2": pose, ("b1", (0.1, 0.2, 0.3)): pose_point(system, goal, "b1")}, q
    )
    assert found.residual < 1e-9
    placed = system.body_placements(found.q)
    assert np.allclose(placed[0][index["b2"]], pose.position, rtol=0, atol=1e-9)
    assert found.closure_residual < 1e-12


def pose_point(system: sr.System, q: np.ndarray, body: str) -> np.ndarray:
    k = list(system.mechanism.bodies).index(body)
    positions, rotations = system.body_placements(q)
    return positions[k] + rotations[k] @ [0.1, 0.2, 0.3]


def test_limits_choose_the_elbow():
    """Two links of 1 m, tip at (1, 1): elbow at ±π/2."""
    for limits, elbow in (((0.0, 2.0), np.pi / 2), ((-2.0, 0.0), -np.pi / 2)):
        for start in ([0.3, 0.4], [0.3, -0.4]):
            found = inverse_kinematics(arm(limits), {("lower", (1, 0, 0)): (1.0, 1.0, None)}, start)
            assert found.q[1] == pytest.approx(elbow, abs=1e-10)
            assert found.at_limits == ()
    # With the elbow at most at 0.5 the tip comes no nearer to the shoulder than 2 cos 0.25.
    found = inverse_kinematics(
        arm((-0.1, 0.5)), {("lower", (1, 0, 0)): (1.0, 1.0, None)}, [0.1, 0.2], throw=False
    )
    assert (found.status, found.at_limits) == (sr.Status.NOT_ACHIEVABLE, ("lower",))
    assert found.q[1] == pytest.approx(0.5, abs=1e-12)
    tip = [np.cos(found.q[0]) + np.cos(found.q.sum()), np.sin(found.q[0]) + np.sin(found.q.sum())]
    assert np.hypot(tip[0] - 1, tip[1] - 1) == pytest.approx(2 * np.cos(0.25) - np.sqrt(2), abs=1e-9)
    free = inverse_kinematics(
        arm((-0.1, 0.5)), {("lower", (1, 0, 0)): (1.0, 1.0, None)}, [0.1, 0.2], within_limits=False
    )
    assert abs(free.q[1]) == pytest.approx(np.pi / 2, abs=1e-10)


def test_limits_hold_while_loops_close():
    mechanism = slider_crank()
    system = sr.System(mechanism)
    start = system.assemble([0.5, -0.5, 0.6], locked=["crank"]).q
    assert inverse_kinematics(system, {"slider": 0.5}, start).q[2] == pytest.approx(0.5, abs=1e-12)
    # Beyond the dead centre at x = √(0.7² − 0.05²) the slider does not go.
    far = inverse_kinematics(system, {"slider": 0.9}, start, throw=False)
    assert far.q[2] == pytest.approx(np.sqrt(0.7**2 - 0.05**2), abs=1e-9)
    # There it moves with the square of the angle: crank 0.2 m and rod 0.5 m in line have |x″| ≥ 0.28 m.
    assert far.q[0] == pytest.approx(0.07148944988552053, abs=np.sqrt(2 * 1e-9 / 0.28))


def test_locked_joints_rest(example):
    module = example("five_bar")
    system = sr.System(module.build())
    start = module.SYMMETRIC
    found = inverse_kinematics(system, {TIP: (0.6, None, None)}, start, locked=["left"])
    assert found.q[0] == start[0]
    assert found.residual < 1e-9
    with pytest.raises(SolveError, match="the loops stay open by"):
        inverse_kinematics(system, {}, np.zeros(4), locked=list(system.joint_names))


def test_target_at_the_edge_of_reach():
    """The stretched arm: a double root, reached at half the rate."""
    found = inverse_kinematics(arm(), {("lower", (1, 0, 0)): (0.0, 2.0, None)}, [1.0, 0.5])
    # A link of 1 m that is off by δ lowers the tip by δ²/2.
    assert found.q[0] == pytest.approx(np.pi / 2, abs=np.sqrt(2 * 1e-9))
    assert found.residual < 1e-9


def test_derivatives_of_targets():
    """Errors of position and orientation against central differences, far from the target."""
    system = sr.System(random_tree(4, ("revolute", "spherical", "free"), forces=False).mechanism)
    q = system.normalized(system.neutral() + 0.3)
    rng = np.random.default_rng(2)
    for value in (
        sr.Pose.of((1, 2, 3), rpy=(0.4, 1.0, -2.0)),
        (1.0, None, 2.0),
        rotation_about((0, 0, 1.0), 2.0),
    ):
        for body in system.mechanism.bodies:
            one = target(system, (body, (0.3, -0.2, 0.5)), value)
            x, h = rng.standard_normal(system.nv), 1e-6
            slope = (one.error(system.move(q, h * x)) - one.error(system.move(q, -h * x))) / (2 * h)
            assert np.allclose(one.jacobian(q) @ x, slope, rtol=0, atol=1e-8)
    for angle in (1e-6, 0.3, 3.0):
        vector = angle * np.array([0.6, -0.48, 0.64])
        turn = rotation_about(vector / angle, angle)
        assert np.allclose(rotation_vector(turn), vector, rtol=0, atol=1e-9)
        assert np.allclose(inverse_left_jacobian(vector) @ vector, vector, rtol=0, atol=1e-12)


def test_errors_name_the_target():
    system = sr.System(four_bar("point"))
    for targets, text in (
        ({"crnk": 1.0}, r"targets: unknown scalar coordinate 'crnk'.*Did you mean 'crank'"),
        ({"cupler": (0, 0, 0)}, r"unknown body 'cupler'.*Did you mean 'coupler'"),
        ({"coupler": (0, 0)}, "must be a number .*three numbers.*Pose"),
        ({"coupler": (None, None, None)}, "must be a number"),
        ({("coupler", (1, 2)): (0, 0, 0)}, "the point must be three finite numbers"),
        ({"crank": np.nan}, "must be finite"),
        ({3: 1.0}, "a key is a name"),
    ):
        with pytest.raises(ArgumentError, match=text):
            inverse_kinematics(system, targets, closed(system))  # type: ignore[arg-type]


# --- modes ----------------------------------------------------------------------------------------


def test_a_four_bar_closes_in_two_ways():
    """Crank at 0.5: coupler 0.667, rocker 1.397, and coupler −1.029, rocker −1.758."""
    found = assembly_modes(grashof(), driven="driver", value=0.5)
    assert (len(found), found.dof) == (2, 0)
    angles = sorted((q[0] + q[1], q[2]) for q in found.q)
    expected = sorted((coupler, rocker) for crank, _, coupler, rocker, _, _ in GRASHOF if crank == 0.5)
    assert np.allclose(angles, expected, rtol=0, atol=1e-12)
    assert all(mode.status is sr.Status.OK and mode.hits > 5 for mode in found.modes)
    assert found.tried == sum(mode.hits for mode in found.modes) or found.tried > 40


def test_a_five_bar_has_two_modes_of_assembly_and_four_of_work(example):
    module = example("five_bar")
    system = sr.System(module.build())
    assert len(assembly_modes(system, driven=["left", "right"], value=[2.0, 1.0])) == 2
    found = assembly_modes(system, targets={TIP: (0.5, None, 1.2)})
    assert len(found) == 4
    # Each arm reaches the tip with its elbow on either side, the arms mirror each other.
    assert len({(round(q[1], 6) > 0, round(q[3], 6) > 0) for q in found.q}) == 4
    assert np.allclose(np.abs(found.q[:, 1]), np.abs(found.q[0, 1]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["point", "revolute", "weld"])
def test_redundant_rows_do_not_change_the_modes(kind):
    system = sr.System(four_bar(kind))
    found = assembly_modes(system, "crank", 1.0)
    assert len(found) == 2
    assert min(np.abs(q - closed(system, 1.0)).max() for q in found.q) < 1e-9


def test_poses_of_a_stewart_platform_with_given_legs(example):
    """A planar base mirrors every pose; the known one is among them."""
    module = example("stewart")
    system = sr.System(module.build())
    found = assembly_modes(system, CYLINDERS, module.LENGTHS, by=["platform"])
    places = found.q[:, :3]
    assert len(found) % 2 == 0
    assert min(np.abs(p - module.POSE.position).max() for p in places) < 1e-9
    for place in places:
        assert min(np.abs(other - place * [1, 1, -1]).max() for other in places) < 1e-9


def test_modes_that_meet_are_singular():
    """The rocker at its limit: one way to close, a double one."""
    system = grashof()
    limit = np.arccos((0.35**2 + 0.3**2 - 0.5**2) / (2 * 0.35 * 0.3))  # crank and coupler stretched to 0.5
    found = assembly_modes(system, "follower", np.pi - limit)
    assert len(found) == 1
    assert found[0].status is sr.Status.SINGULAR
    assert found.dof == 0
    assert found.q[0, 0] == pytest.approx(0.6315000429113827, abs=1e-5)


def test_what_does_not_close(monkeypatch):
    monkeypatch.setattr("sarrus.analysis.configurations.assembly_modes._PATIENCE", 10)
    with pytest.raises(SolveError, match="none of 10 starts closed"):
        assembly_modes(grashof(), "follower", 0.3)
    assert len(assembly_modes(grashof(), "follower", 0.3, throw=False)) == 0


def test_families_are_shown_once(example):
    """A five-bar with one driven joint has a motion left."""
    module = example("five_bar")
    found = assembly_modes(sr.System(module.build()), "left", 2.0)
    assert found.dof == 1
    assert len(found) == 2  # a Grashof four-bar of 1.68, 1.5, 1.5 and 1 m, in two parts


# --- curves ---------------------------------------------------------------------------------------


def test_crank_goes_round_and_the_rocker_turns():
    """Rocker angles with crank and coupler in line: 0.5 or 0.3 m from the crank's pivot."""
    system = grashof()
    upper, lower = (np.pi - np.arccos((0.35**2 + 0.3**2 - d**2) / (2 * 0.35 * 0.3)) for d in (0.3, 0.5))
    crank, rocker = assembly_modes(system, "driver", 0.5), assembly_modes(system, "follower", 1.8)
    curves = crank.follow_curve()
    assert len(curves) == 2
    for curve in curves:
        assert curve.closed
        assert curve.turning_points == ()
        assert curve.values[-1] - curve.values[0] == pytest.approx(2 * np.pi, abs=1e-12)
        assert max(np.abs(system.constraint_residual(q)).max() for q in curve.q) < 1e-12
    (curve,) = rocker.follow_curve()  # both modes lie on one curve
    assert curve.closed
    turns = {point.limit: point for point in curve.turning_points}
    assert turns["upper"].value == pytest.approx(upper, abs=1e-13)
    assert turns["lower"].value == pytest.approx(lower, abs=1e-13)
    cranks = sorted(point.q[0] % (2 * np.pi) for point in curve.turning_points)
    assert np.allclose(cranks, [0.6315000429113827, 4.089562394972687], rtol=0, atol=1e-7)


def test_a_curve_ends_at_the_ends_of_its_range():
    curve = follow_curve(grashof(), assembly_modes(grashof(), "driver", 0.5).q[0], "driver", 0.2, 1.3)
    assert not curve.closed
    assert sorted(curve.values[[0, -1]]) == pytest.approx([0.2, 1.3], abs=1e-13)
    assert np.all(np.diff(curve.values) > 0) or np.all(np.diff(curve.values) < 0)
    rocker = follow_curve(grashof(), assembly_modes(grashof(), "follower", 1.8).q[0], "follower", 1.6, 3.0)
    assert [point.limit for point in rocker.turning_points] == ["upper"]
    assert np.allclose(rocker.values[[0, -1]], 1.6, rtol=0, atol=1e-13)


def test_joint_limits_are_the_range_of_a_curve():
    mechanism = slider_crank()
    joint = mechanism.bodies["slider"].joints[0]
    assert joint.limits == (None,)
    limited = sr.Mechanism("limited", gravity=(0, 0, 0))
    for name, parent, x in (("crank", "world", 0.0), ("rod", "crank", 0.2)):
        limited.add_body(name, 1.0, com=(0.1, 0, 0), inertia=(0.0, 0.01, 0.01))
        limited.add_joint(
            name, "revolute", parent, name, parent_pose=(x, 0, 0), limits=(-1.0, 1.0) if x == 0 else None
        )
    limited.add_closure("slide", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(0.5, 0, 0))
    system = sr.System(limited)
    curve = follow_curve(system, system.assemble([0.1, -0.2], locked=["crank"]).q, "crank")
    assert sorted(curve.values[[0, -1]]) == pytest.approx([-1.0, 1.0], abs=1e-13)


def test_a_curve_needs_one_motion(example):
    module = example("five_bar")
    system = sr.System(module.build())
    with pytest.raises(
        ArgumentError,
        match="a curve along 'left' needs one degree of freedom, and the mechanism has 2; lock coordinates",
    ):
        follow_curve(system, module.SYMMETRIC, "left")
    curve = follow_curve(system, module.SYMMETRIC, "left", 1.9, 2.3, locked=["right"])
    assert np.abs(curve.q[:, 2] - module.SYMMETRIC[2]).max() < 1e-12
    with pytest.raises(ArgumentError, match="has 0; unlock"):
        follow_curve(system, module.SYMMETRIC, "left", locked=["left", "right"])
    with pytest.raises(ArgumentError, match="unknown scalar coordinate 'lft'"):
        follow_curve(system, module.SYMMETRIC, "lft")


def test_a_curve_goes_straight_on_through_singular_configurations(example):
    """The parallel chain passes flat twice in a turn and stays parallel."""
    module = example("four_bar_chain")
    system = sr.System(module.build(2))
    _, v = module.start(system)
    curve = follow_curve(system, system.assemble(0.3 * v).q, "crank0")
    assert curve.closed
    assert np.abs(curve.q - np.outer(curve.values, v)).max() < 1e-9


def test_idle_motions_do_not_keep_a_curve_open():
    """A rod between two ball joints comes back turned about its own axis."""
    system = sr.System(spatial_four_bar())
    curve = follow_curve(system, system.assemble(system.neutral()).q, "crank")
    assert curve.closed
    assert curve.turning_points == ()
    # The last step back to the first point is not among them.
    assert curve.values[-1] - curve.values[0] == pytest.approx(2 * np.pi, abs=np.diff(curve.values).max())
    assert max(np.abs(system.constraint_residual(q)).max() for q in curve.q) < 1e-12
