"""Driven bodies: grounds that move as functions of time, against exact motions, forces and power balances."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

import sarrus as sr
from sarrus.base.errors import ModelError
from sarrus.base.status import Status
from sarrus.dynamics.closing.antiparallel import antiparallel
from sarrus.model.builders.document import from_json, to_json

RADIUS, RATE = 0.4, 3.0


def circle(t: ca.SX) -> ca.SX:
    """A point on a circle in the plane x-z, which does not turn."""
    return ca.vertcat(RADIUS * ca.cos(RATE * t), 0.1, RADIUS * ca.sin(RATE * t))


def carousel(t: ca.SX) -> tuple[ca.SX, ca.SX]:
    """A frame on a circle that tumbles about a fixed skew axis, its quaternion not of unit length."""
    half = 0.5 * (0.7 * t + 0.3 * ca.sin(2 * t))
    axis = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    return circle(t), ca.vertcat(2 * ca.cos(half), 2 * ca.sin(half) * axis)


def driven(function) -> sr.Mechanism:
    mechanism = sr.Mechanism("driven")
    mechanism.add_body("hand")
    mechanism.add_joint("fixed", "fixed", "world", "hand", parent_pose=(RADIUS, 0.1, 0))
    mechanism.drive("hand", function)
    return mechanism


def with_free_body(function, closure: str = "point") -> sr.Mechanism:
    mechanism = driven(function)
    mechanism.add_body("load", 2.0, (0.1, -0.2, 0.05), (0.1, 0.2, 0.25))
    mechanism.add_joint("free", "free", "world", "load")
    mechanism.add_closure("grip", closure, "hand", "load", pose1=(0.05, 0, 0), pose2=(0.2, 0.1, -0.1))
    return mechanism


def test_a_point_mass_on_a_circle_has_its_exact_force() -> None:
    mechanism = driven(circle)
    mechanism.add_body("mass", 2.0)
    for axis, letter in zip(np.eye(3), "xyz"):
        mechanism.add_joint(f"slide_{letter}", "prismatic", "world", "mass", axis=axis)
    mechanism.add_closure("grip", "point", "hand", "mass")
    system = sr.System(mechanism)
    for t in (0.0, 0.3, 1.1):
        angle = RATE * t
        q = np.array([RADIUS * np.cos(angle), 0.1, RADIUS * np.sin(angle)])
        v = RATE * RADIUS * np.array([-np.sin(angle), 0.0, np.cos(angle)])
        a = -(RATE**2) * (q - [0, 0.1, 0])
        np.testing.assert_allclose(system.constraint_residual(q, t), 0.0, atol=1e-15)
        np.testing.assert_allclose(system.velocity_residual(q, v, t), 0.0, atol=1e-15)
        found = system.forward_dynamics(q, v, t=t)
        np.testing.assert_allclose(found.a, a, atol=1e-12)
        np.testing.assert_allclose(found.multipliers, 2.0 * (a - system.mechanism.gravity), atol=1e-11)
    q, v = [RADIUS, 0.1, 0.0], [0.0, 0.0, RATE * RADIUS]
    run = sr.simulate(system, q, v, duration=2.0)
    exact = np.column_stack(
        [RADIUS * np.cos(RATE * run.t), np.full(len(run.t), 0.1), RADIUS * np.sin(RATE * run.t)]
    )
    np.testing.assert_allclose(run.q, exact, atol=1e-9)


@pytest.mark.parametrize("closure", ["point", "weld"])
@pytest.mark.parametrize("function", [circle, carousel])
def test_rows_agree_with_differences_in_time(closure: str, function) -> None:
    system = sr.System(with_free_body(function, closure))
    rng = np.random.default_rng(3)
    q = system.assemble(system.normalized(system.neutral() + 0.2 * rng.normal(size=7)), t=0.4).q
    assert_rows_agree(system, q, *rng.normal(size=(2, 6)), 0.4)


def assert_rows_agree(system: sr.System, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float) -> None:
    """Compare ψ with differences of φ in time, A a + γ with those of ψ, along a motion with these velocities."""
    h = 1e-5

    def along(step: float) -> tuple[np.ndarray, np.ndarray]:
        moved = integrate(system, q, v, a, step)
        return system.constraint_residual(moved, t + step), system.velocity_residual(
            moved, v + step * a, t + step
        )

    (ahead, speed_ahead), (behind, speed_behind) = along(h), along(-h)
    np.testing.assert_allclose((ahead - behind) / (2 * h), system.velocity_residual(q, v, t), atol=1e-8)
    rate = system.constraint_jacobian(q, t=t) @ a + system.constraint_bias(q, v, t)
    np.testing.assert_allclose((speed_ahead - speed_behind) / (2 * h), rate, atol=1e-7)


def integrate(system: sr.System, q: np.ndarray, v: np.ndarray, a: np.ndarray, end: float) -> np.ndarray:
    """Coordinates reached with velocity v + a t, by one step of Runge and Kutta."""
    rate = lambda x, s: system.coordinate_rate(x, v + s * a)  # noqa: E731
    k1 = rate(q, 0.0)
    k2 = rate(q + end / 2 * k1, end / 2)
    k3 = rate(q + end / 2 * k2, end / 2)
    k4 = rate(q + end * k3, end)
    return system.normalized(q + end / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


@pytest.mark.parametrize("closure", ["point", "weld"])
def test_the_power_of_the_drive_is_the_change_of_energy(closure: str) -> None:
    mechanism = with_free_body(carousel, closure)
    mechanism.add_body("tail", 0.5, (0.1, 0, 0), (0.01, 0.02, 0.02))
    mechanism.add_joint("hinge", "revolute", "load", "tail", axis=(1, 2, 0))
    system = sr.System(mechanism)
    assert not system.equations.conservative
    q = system.assemble(system.neutral()).q
    run = sr.simulate(
        system, q, system.project_velocity(q, np.zeros(7)), duration=1.0, rtol=1e-10, atol=1e-10, dt=1e-3
    )
    assert run.status.ok
    assert run.residual.max() < 1e-9
    power = np.zeros(len(run.t))
    for k in range(len(run.t)):
        slip = system.velocity_residual(run.q[k], np.zeros(7), run.t[k])  # −b: what the drive adds to A v
        power[k] = -run.multipliers[k] @ slip
    change = run.energy - run.energy[0]
    assert np.ptp(change) > 0.5
    # Trapezoids: the error of the narrow ones is a third of the difference, of second order.
    narrow, wide = (cumulative_trapezoid(power[::k], run.t[::k], initial=0.0)[:: 2 // k] for k in (1, 2))
    assert np.abs(narrow - change[::2]).max() <= 0.5 * np.abs(wide - narrow).max() + 1e-8


def test_what_hangs_on_a_driven_body_by_joints_moves_as_if_welded_to_it() -> None:
    """A pendulum on a driven frame, as a joint of the tree and as a free body with a revolute closure."""

    def pendulum(tree: bool) -> sr.System:
        mechanism = driven(carousel)
        mechanism.add_body("rod", 1.3, (0.3, 0.02, 0), (0.02, 0.1, 0.12))
        if tree:
            mechanism.add_joint("hinge", "revolute", "hand", "rod", axis=(0, 1, 1), parent_pose=(0.1, 0, 0))
        else:
            mechanism.add_joint("free", "free", "world", "rod")
            mechanism.add_closure("hinge", "revolute", "hand", "rod", axis=(0, 1, 1), pose1=(0.1, 0, 0))
        return sr.System(mechanism)

    tree, loop = pendulum(True), pendulum(False)
    for t, angle, speed in ((0.0, 0.0, 0.0), (0.7, 0.5, -2.0)):
        one = tree.forward_dynamics([angle], [speed], t=t)
        position, rotation = (x[1] for x in tree.body_placements([angle], t))
        q = np.concatenate([position, sr.Pose(position, rotation).quaternion])
        np.testing.assert_allclose(loop.constraint_residual(q, t), 0.0, atol=1e-12)
        h = 1e-4
        ahead, behind = (place(tree, angle + s * speed + s * s / 2 * one.a[0], t + s) for s in (h, -h))
        v = velocity(ahead, behind, rotation, h)
        np.testing.assert_allclose(loop.velocity_residual(q, v, t), 0.0, atol=1e-6)
        other = loop.forward_dynamics(q, v, t=t)
        here = place(tree, angle, t)
        linear = (ahead[0] - 2 * here[0] + behind[0]) / h**2
        np.testing.assert_allclose(other.a[:3], linear, atol=1e-5)
    run, free = sr.simulate(tree, [0.0], [0.0], duration=0.5), None
    position, rotation = (x[1] for x in tree.body_placements([0.0], 0.0))
    start = np.concatenate([position, sr.Pose(position, rotation).quaternion])
    v = velocity(place(tree, 0.0, 1e-5), place(tree, 0.0, -1e-5), rotation, 1e-5)
    free = sr.simulate(loop, start, loop.project_velocity(start, v), duration=0.5)
    np.testing.assert_allclose(free.q[-1][:3], tree.body_placements(run.q[-1], run.t[-1])[0][1], atol=1e-7)


def place(system: sr.System, angle: float, t: float) -> tuple[np.ndarray, np.ndarray]:
    return tuple(x[1] for x in system.body_placements([angle], t))  # type: ignore[return-value]


def velocity(ahead, behind, rotation: np.ndarray, h: float) -> np.ndarray:
    """Velocity of a free joint by central differences: linear in world axes, angular in body axes."""
    turned = rotation.T @ (ahead[1] - behind[1]) / (2 * h)
    return np.concatenate([(ahead[0] - behind[0]) / (2 * h), [turned[2, 1], turned[0, 2], turned[1, 0]]])


def test_implicit_steps_and_linear_models_know_the_time() -> None:
    mechanism = driven(carousel)
    mechanism.add_body("rod", 1.3, (0.3, 0.02, 0), (0.02, 0.1, 0.12))
    mechanism.add_joint("hinge", "revolute", "hand", "rod", axis=(0, 1, 1), damping=0.1)
    system = sr.System(mechanism)
    explicit = sr.simulate(system, [0.1], [0.0], duration=0.5, rtol=1e-10, atol=1e-10)
    implicit = sr.simulate(system, [0.1], [0.0], duration=0.5, method="rodas5p", rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(implicit.q[-1], explicit.q[-1], atol=1e-7)


def test_mocap_bodies_are_driven_bodies_and_are_written_back(tmp_path: Path) -> None:
    file = tmp_path / "hand.xml"
    file.write_text("""
<mujoco>
  <worldbody>
    <body name="hand" mocap="true" pos="0.1 0.2 0.3"><site name="tip" pos="0 0 0.1"/></body>
    <body name="load" pos="0.1 0.2 0.4"><freejoint/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><site name="top"/></body>
  </worldbody>
  <equality><weld site1="tip" site2="top"/></equality>
  <keyframe><key name="up" time="0.5" qpos="0 0 1 1 0 0 0" qvel="1 2 3 4 5 6" mpos="0 0 0.9"/></keyframe>
</mujoco>""")
    with pytest.warns(sr.ModelWarning, match="1 kept without acting"):
        mechanism = sr.load(file)
    assert mechanism.driven_bodies["hand"].function is None
    key = sr.System(mechanism).keyframe("up")
    assert (key.t, key.v.tolist(), key.u.shape) == (0.5, [1, 2, 3, 4, 5, 6], (0,))  # type: ignore[union-attr]
    assert key.poses[0][0] == "hand"
    np.testing.assert_array_equal(key.poses[0][1].position, [0, 0, 0.9])
    mechanism.drive("hand", lambda t: ca.vertcat(0.1, 0.2, 0.3 + 0.1 * t**2))
    system = sr.System(mechanism)
    load = np.array([0.1, 0.2, 0.4, 1, 0, 0, 0])
    np.testing.assert_allclose(system.forward_dynamics(load, np.zeros(6)).a[:3], [0, 0, 0.2], atol=1e-12)
    mechanism.to_mjcf(tmp_path / "again.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    assert model.nmocap == 1
    np.testing.assert_array_equal(model.key_mpos[0], [0, 0, 0.9])
    assert model.key_time[0] == 0.5
    np.testing.assert_array_equal(model.key_qvel[0], [1, 2, 3, 4, 5, 6])
    again = from_json(to_json(mechanism))
    assert again.driven_bodies["hand"].function is None
    assert "driven body 'hand'" in str(again.report.entries[-1])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: [t, t], r"driven body 'hand': function\(t\) must return a position \(3 entries\)"),
        (lambda t: [0, 0, float(t)], "driven body 'hand'"),
        (lambda t: [1 / t, 0, 0], "driven body 'hand'.*not finite at t = 0"),
        (lambda t: [0, 0, 0, 0 * t, 0, 0, 0], "driven body 'hand'.*zero length"),
        (lambda t: ca.SX.sym("x", 3), "driven body 'hand'.*other symbols"),
    ],
)
def test_bad_functions_are_errors_that_name_the_body(function, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        sr.System(with_free_body(function))


def test_only_bodies_that_are_fixed_to_the_ground_are_driven() -> None:
    mechanism = with_free_body(circle)
    with pytest.raises(ModelError, match="driven body 'load': it hangs on joints"):
        mechanism.drive("load", circle)
    with pytest.raises(ModelError, match="body 'hand' is driven and cannot have joints"):
        mechanism.add_joint("late", "revolute", "world", "hand")


def test_axes_are_judged_where_a_driven_body_is_at_that_time() -> None:
    """A load whose axis is that of a hand which has turned over is not assembled the wrong way round."""

    def turns_over(t: ca.SX) -> tuple[ca.SX, ca.SX]:
        half = 0.5 * np.pi * t
        return circle(0 * t), ca.vertcat(ca.cos(half), 0, ca.sin(half), 0)

    system = sr.System(with_free_body(turns_over, "revolute"))
    parallel, reversed_ = np.array([0, 0, 0, 0.0, 0, 1, 0]), np.array([0, 0, 0, 1.0, 0, 0, 0])
    for t, right, wrong in ((0.0, reversed_, parallel), (1.0, parallel, reversed_)):
        assert antiparallel(system, right, t) == ()
        assert antiparallel(system, wrong, t) == ("grip",)
        for start in (right, wrong):
            found = system.assemble(start, t)
            assert found.status is Status.OK
            assert found.residual < 1e-10
            assert antiparallel(system, found.q, t) == ()
