"""Jacobians of bodies and centroidal momentum: MuJoCo, finite differences along motions, balances of momentum."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from mechanisms import LOOPS, random_loop, random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from test_driven_bodies import carousel, driven
from test_redundancy import COUPLER, CRANK, ROCKER, closed, four_bar

POINT = np.array([0.3, -0.2, 0.5])
# what MuJoCo has too
JOINTS = ("free", "revolute", "prismatic", "spherical", "universal", "cylindrical", "planar", "revolute")


def in_mujoco(mechanism: sr.Mechanism, folder: Path) -> tuple[mujoco.MjModel, mujoco.MjData]:
    path = folder / "model.xml"
    mechanism.to_mjcf(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("seed", range(3))
def test_jacobians_and_momentum_are_those_of_mujoco(seed: int, tmp_path: Path) -> None:
    mechanism = random_tree(seed, JOINTS, forces=False).mechanism
    system = sr.System(mechanism)
    model, data = in_mujoco(mechanism, tmp_path)
    q, v = random_state(system, seed)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    for body in mechanism.bodies:
        ours, index = system.jacobian(q, v, body=body, point=POINT), model.body(body).id
        assert_allclose(ours.position, data.xpos[index] + data.xmat[index].reshape(3, 3) @ POINT, atol=1e-12)
        assert_allclose(ours.rotation, data.xmat[index].reshape(3, 3), atol=1e-12)
        for call, linear, angular in (
            (mujoco.mj_jac, ours.linear, ours.angular),
            (mujoco.mj_jacDot, ours.linear_bias, ours.angular_bias),
        ):
            jacp, jacr = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            call(model, data, jacp, jacr, ours.position, index)
            theirs = (jacp, jacr) if call is mujoco.mj_jac else (jacp @ v, jacr @ v)
            assert_allclose(linear, theirs[0], atol=1e-11)
            assert_allclose(angular, theirs[1], atol=1e-11)
    ours = system.centroidal(q, v)
    mujoco.mj_subtreeVel(model, data)
    theirs = np.zeros((3, model.nv))
    mujoco.mj_angmomMat(model, data, theirs, 0)
    assert_allclose(ours.matrix[3:], theirs, atol=1e-11)
    assert_allclose(ours.centre, data.subtree_com[0], atol=1e-12)
    assert_allclose(ours.velocity, data.subtree_linvel[0], atol=1e-12)
    assert_allclose(ours.momentum[3:], data.subtree_angmom[0], atol=1e-11)
    mujoco.mj_jacSubtreeCom(model, data, theirs, 0)
    assert_allclose(ours.matrix[:3], ours.mass * theirs, atol=1e-11)
    assert ours.mass == pytest.approx(model.body_subtreemass[0], rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_momentum_is_that_of_pinocchio(seed: int) -> None:
    """Momentum, its rate and the composite inertia, of trees with free and spherical joints."""
    pin = pytest.importorskip("pinocchio")
    from benchmarks.pinocchio_peer import PinocchioPeer

    kinds = ("free", "revolute", "spherical", "prismatic", "planar", "revolute")
    mechanism = random_tree(seed, kinds, forces=False).mechanism
    system, peer = sr.System(mechanism), PinocchioPeer(mechanism)
    q, v = random_state(system, seed)
    its = np.random.default_rng(seed).standard_normal(system.nv)  # accelerations in its conventions
    theirs, a = (peer.q(q), peer.v(q, v), its), peer.acceleration(q, v, its)
    ours = system.centroidal(q, v)
    pin.ccrba(peer.model, peer.data, *theirs[:2])
    assert_allclose(ours.momentum, peer.data.hg.vector, atol=1e-11)
    assert_allclose(ours.inertia, peer.data.Ig.inertia, atol=1e-11)
    assert_allclose(ours.centre, pin.centerOfMass(peer.model, peer.data, *theirs[:2]), atol=1e-12)
    assert_allclose(ours.velocity, peer.data.vcom[0], atol=1e-12)
    pin.computeCentroidalMomentumTimeVariation(peer.model, peer.data, *theirs)
    assert_allclose(ours.matrix @ a + ours.bias, peer.data.dhg.vector, atol=1e-10)


def moving(kind: str) -> tuple[sr.System, Array, Array, Array]:
    """A system of loops with a state and accelerations that they allow."""
    system = sr.System(random_loop(kind)[0])
    q = system.assemble(random_loop(kind)[1]).q
    v = system.project_velocity(q, np.random.default_rng(7).standard_normal(system.nv))
    return system, q, v, system.forward_dynamics(q, v).a


def along(system: sr.System, q: Array, v: Array, a: Array, step: float) -> tuple[Array, Array]:
    """The state a short time later, to the third order in q."""
    return system.move(q, step * v + 0.5 * step**2 * a), v + step * a


@pytest.mark.parametrize("kind", LOOPS)
def test_velocities_are_rates_along_motions(kind: str) -> None:
    """Loops, redundant ones among them: what J, J̇ v and A_G say is what differences say."""
    system, q, v, a = moving(kind)
    body, step = list(system.mechanism.bodies)[-1], 1e-5
    here = system.jacobian(q, v, body=body, point=POINT)
    after, before = (
        system.jacobian(*along(system, q, v, a, s * step), body=body, point=POINT) for s in (1, -1)
    )
    scale = 1.0 + float(np.abs(a).max())

    def close(change: Array, rate: Array) -> None:
        assert_allclose(change / (2 * step), rate, rtol=0, atol=1e-7 * scale)

    close(after.position - before.position, here.linear @ v)
    close(after.rotation - before.rotation, np.cross(here.angular_velocity, here.rotation.T).T)
    close(after.linear_velocity - before.linear_velocity, here.linear @ a + here.linear_bias)
    close(after.angular_velocity - before.angular_velocity, here.angular @ a + here.angular_bias)
    assert_allclose(here.linear @ v, here.linear_velocity, atol=1e-12)
    assert_allclose(here.angular @ v, here.angular_velocity, atol=1e-12)
    whole = system.centroidal(q, v)
    after, before = (system.centroidal(*along(system, q, v, a, s * step)) for s in (1, -1))
    close(after.centre - before.centre, whole.velocity)
    close(after.momentum - before.momentum, whole.matrix @ a + whole.bias)
    assert_allclose(whole.matrix @ v, whole.momentum, atol=1e-11)


def floating_four_bar(redundant: bool) -> sr.Mechanism:
    """Equal links on a free body, closed by one hinge or, redundantly, by two: they may all lie on one line."""
    mechanism = sr.Mechanism("floating", gravity=(0.4, -0.3, -9.0))
    mechanism.add_body("base", 2.0, com=(0.4, 0.1, 0.2), inertia=(0.3, 0.4, 0.5))
    mechanism.add_joint("root", "free", "world", "base")
    parent, at = "base", 0.0
    for k in range(3):
        mechanism.add_body(f"link{k}", 1.0 + k, com=(0.5, 0.02 * k, 0.1), inertia=(0.01, 0.1, 0.11))
        mechanism.add_joint(
            f"hinge{k}", "revolute", parent, f"link{k}", axis=(0, 0, 1), parent_pose=(at, 0, 0)
        )
        mechanism.add_actuator(f"motor{k}", f"hinge{k}")
        parent, at = f"link{k}", 1.0
    for k in range(1 + redundant):
        mechanism.add_closure(
            f"tip{k}", "revolute", "link2", "base", axis=(0, 0, 1), pose1=(1, 0, 0), pose2=(1, 0, 0)
        )
    return mechanism


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("angles", [(1.1, -1.1, -np.pi + 1.1), (0.0, 0.0, -np.pi)])
def test_momentum_changes_by_gravity_alone(redundant: bool, angles: tuple[float, float, float]) -> None:
    """Loops inside, motors and singular configurations exert no wrench on the whole."""
    system = sr.System(floating_four_bar(redundant))
    q = system.neutral()
    q[:7] = [0.3, -0.2, 0.5, *np.array([0.5, 0.1, -0.7, 0.5])]
    q[7:] = angles
    q = system.normalized(q)
    if np.abs(system.constraint_residual(q)).max() > 1e-12:
        q = system.assemble(q, locked=["root", "hinge0"]).q
    v = system.project_velocity(q, np.random.default_rng(2).standard_normal(system.nv))
    found = system.forward_dynamics(q, v, [3.0, -2.0, 5.0], throw=False)
    whole = system.centroidal(q, v)
    rate = whole.matrix @ found.a + whole.bias
    weight = whole.mass * np.array([0.4, -0.3, -9.0])
    assert_allclose(rate, [*weight, 0, 0, 0], atol=1e-9 * (1.0 + np.abs(found.a).max()))


def test_composite_inertia_is_that_of_one_body() -> None:
    """With joints at rest L = I_c ω and T = ½ m ċ² + ½ ωᵀ I_c ω."""
    system = sr.System(floating_four_bar(redundant=True))
    q = system.normalized(np.array([0.3, -0.2, 0.5, 0.5, 0.1, -0.7, 0.5, 0.3, 0.4, 0.5]))
    v = np.array([0.2, 0.3, -0.4, 1.0, 2.0, -1.5, 0, 0, 0])
    whole, spin = system.centroidal(q, v), system.jacobian(q, v, body="base").angular_velocity
    assert_allclose(whole.momentum[3:], whole.inertia @ spin, atol=1e-12)
    energy = 0.5 * whole.mass * whole.velocity @ whole.velocity + 0.5 * spin @ whole.inertia @ spin
    assert energy == pytest.approx(system.kinetic_energy(q, v), rel=1e-12)


def test_parameters_take_part_at_once() -> None:
    mechanism = floating_four_bar(redundant=False)
    system = sr.System(mechanism, parameters={"m": "link0.mass", "x": "link0.com.x"})
    q = system.neutral()
    system.parameters.update({"m": 4.0, "x": 0.7})
    changed = system.centroidal(q)
    bodies = system.current_mechanism().bodies
    centres = [
        system.jacobian(q, body=name, point=np.array(body.com)).position for name, body in bodies.items()
    ]
    masses = np.array([body.mass for body in bodies.values()])
    assert changed.mass == pytest.approx(11.0, rel=1e-14)
    assert_allclose(changed.centre, masses @ np.array(centres) / masses.sum(), atol=1e-14)


def test_on_a_driven_body_the_drive_is_part_of_velocities_and_biases() -> None:
    """Differences along the motion of a pendulum on a frame that tumbles; J v has not the part of the drive."""
    mechanism = driven(carousel)
    mechanism.add_body("bob", 2.0, (0.1, -0.2, 0.3), (0.1, 0.2, 0.25))
    mechanism.add_joint("pin", "spherical", "hand", "bob", parent_pose=(0.1, 0, 0))
    system = sr.System(mechanism)
    q, v = random_state(system, 3)
    t, step = 0.4, 1e-5
    a = system.forward_dynamics(q, v, t=t).a

    def at(s: float) -> tuple[Array, Array, float]:
        return *along(system, q, v, a, s), t + s

    here, whole = system.jacobian(q, v, t, body="bob", point=POINT), system.centroidal(q, v, t)
    after, before = (system.jacobian(*at(s * step), body="bob", point=POINT) for s in (1, -1))
    later, sooner = (system.centroidal(*at(s * step)) for s in (1, -1))
    for change, rate in (
        (after.position - before.position, here.linear_velocity),
        (after.linear_velocity - before.linear_velocity, here.linear @ a + here.linear_bias),
        (after.angular_velocity - before.angular_velocity, here.angular @ a + here.angular_bias),
        (later.momentum - sooner.momentum, whole.matrix @ a + whole.bias),
    ):
        assert_allclose(change / (2 * step), rate, rtol=1e-7, atol=1e-6)
    assert np.abs(here.linear @ v - here.linear_velocity).max() > 0.1


@pytest.mark.parametrize("kind", ["point_on_line", "revolute"])
def test_along_a_run_pinned_points_move_as_one(kind: str) -> None:
    """The ends of coupler and rocker: the same place, velocity and acceleration, with redundant rows or without."""
    system = sr.System(four_bar(kind))
    v = system.project_velocity(closed(system), [2.0, 0.0, 0.0])
    run = sr.simulate(system, closed(system), v, duration=0.5, dt=1e-3, rtol=1e-11, atol=1e-12)
    ends = [run.body_motion("coupler", (COUPLER, 0, 0)), run.body_motion("rocker", (ROCKER, 0, 0))]
    for name in ("position", "velocity", "acceleration"):
        assert_allclose(getattr(ends[0], name), getattr(ends[1], name), rtol=0, atol=1e-9)
    crank = run.body_motion("crank", (CRANK, 0, 0))
    # On a circle: ω × (ω × r) + ω̇ × r.
    spin, arm = crank.angular_velocity, crank.position
    centripetal = np.cross(spin, np.cross(spin, arm)) + np.cross(crank.angular_acceleration, arm)
    assert_allclose(crank.acceleration, centripetal, rtol=0, atol=1e-11)
    # And the derivatives of what is measured by hand, by central differences of fourth order.
    for of, rate in (("position", "velocity"), ("velocity", "acceleration")):
        x, dot = getattr(ends[0], of), getattr(ends[0], rate)
        slope = (8 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / 12e-3
        assert_allclose(slope, dot[2:-2], rtol=0, atol=1e-6)
    here = system.jacobian(run.q[40], run.v[40], body="coupler", point=(COUPLER, 0, 0))
    assert_allclose(here.acceleration(run.a[40]), ends[0].acceleration[40], rtol=0, atol=1e-12)
    assert_allclose(
        here.angular_acceleration(run.a[40]), ends[0].angular_acceleration[40], rtol=0, atol=1e-12
    )
    assert not ends[0].acceleration.flags.writeable


def test_along_a_run_through_a_singular_configuration(tmp_path: Path) -> None:
    """The five-bar's tip goes through it smoothly, and a run from a file knows it, too."""
    system = sr.System(sr.load("models/five_bar.xml"))
    start = system.mechanism.keyframes["symmetric"].q
    run = sr.simulate(system, start, duration=1.0, rtol=1e-10, atol=1e-12)
    assert [passage.crossed for passage in run.passages] == [True]
    tip = run.body_motion("link2", (1.5, 0, 0))
    assert np.abs(tip.position[:, 0] - 0.5).max() < 1e-6  # its motion is symmetric
    assert np.abs(tip.acceleration[:, 0]).max() < 1e-6
    again = sr.Trajectory.load(run.save(tmp_path / "run.nc")).body_motion("link2", (1.5, 0, 0))
    assert_allclose(again.acceleration, tip.acceleration, rtol=1e-12, atol=1e-12)


def test_errors_name_what_is_wrong() -> None:
    system = sr.System(floating_four_bar(redundant=False))
    q = system.neutral()
    with pytest.raises(ArgumentError, match=r"unknown body 'foot'.*base"):
        system.jacobian(q, body="foot")
    with pytest.raises(ArgumentError, match="point must be three finite numbers"):
        system.jacobian(q, body="base", point=(1.0, 2.0))
    own = sr.System.from_lagrangian(1, lambda q, v, t: 0.5 * v[0] ** 2)
    for call in (lambda: own.centroidal([0.0]), lambda: own.jacobian([0.0], body="base")):
        with pytest.raises(ArgumentError, match="only a system made from a Mechanism has bodies"):
            call()
    with pytest.raises(ArgumentError, match=r"a must be 9 finite numbers"):
        system.jacobian(q, body="base").acceleration([1.0])
    run = sr.simulate(system, system.assemble(q).q, duration=0.01, dt=1e-2)
    with pytest.raises(ArgumentError, match=r"unknown body 'foot'.*base"):
        run.body_motion("foot")
    with pytest.raises(ArgumentError, match="point must be three finite numbers"):
        run.body_motion("base", (1.0, np.nan, 0.0))
    with pytest.raises(ArgumentError, match="no mechanism is known that has bodies"):
        sr.simulate(own, [0.0], [1.0], duration=0.01, dt=1e-2).body_motion("base")
    light = sr.Mechanism("light")
    light.add_body("rod")
    light.add_joint("pin", "revolute", "world", "rod", armature=0.1)
    with pytest.raises(ArgumentError, match="light: no body has mass"):
        sr.System(light).centroidal([0.0])
