"""Implicit methods in smooth phases with contacts, stops and dry friction: their order, stiffness and events."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from families.implicit_phases import judge
from sarrus.kernels.integrate.rosenbrock_tableau import IMPLICIT_METHODS, rosenbrock_tableau
from test_time_stepping import body, moving, pendulums, rod, slider_crank

Case = tuple[sr.System, Any, Any, dict[str, Any]]


# --- order within a phase -----------------------------------------------------------------------------


def rubbing_joint() -> Case:
    return pendulums(friction=0.4, damping=0.3), [0.5, -0.4], [3.0, 4.0], {}


def stuck_joint() -> Case:
    mechanism = pendulum_on_a_slide(friction=400.0)
    return sr.System(mechanism), [0.0, 0.5, -0.3], [0.0, 3.0, 6.0], {}


def pressed_stop() -> Case:
    mechanism = pendulum_on_a_slide(limits=(-1.0, 0.0))
    push: Callable[..., Any] = lambda q, v, t: ca.vertcat(300.0 + 30.0 * ca.sin(9.0 * t), -0.2 * v[1], 0.0)  # noqa: E731
    return sr.System(mechanism), [0.0, 0.5, -0.3], [0.0, 3.0, 6.0], {"force": push}


def pendulum_on_a_slide(**slide: Any) -> sr.Mechanism:
    mechanism = sr.Mechanism("trolley")
    mechanism.add_body("trolley", 2.0)
    mechanism.add_joint("slide", "prismatic", "world", "trolley", axis=(1, 0, 0), **slide)
    mechanism.add_body("bob", 1.0, com=(0, 0, -0.7), inertia=(0.1, 0.1, 0.01))
    mechanism.add_joint("swing", "revolute", "trolley", "bob", axis=(0, 1, 0))
    mechanism.add_body("tip", 0.5, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.01))
    mechanism.add_joint(
        "tip", "revolute", "bob", "tip", axis=(0, 1, 0), parent_pose=(0, 0, -0.9), damping=0.1
    )
    return mechanism


def with_bob(mechanism: sr.Mechanism) -> sr.Mechanism:
    """Return the same with a bob on a damped ball joint, which turns and shakes the block."""
    mechanism.add_body("bob", 0.5, com=(0.05, 0, 0.1), inertia=(3e-3, 2e-3, 1e-3))
    mechanism.add_joint("neck", "spherical", "block", "bob", parent_pose=(0, 0.02, 0.05), damping=0.02)
    return mechanism


def sliding_block() -> Case:
    """Three corners slide and turn on the floor, at a distance from the centre of mass."""
    mechanism = with_bob(body())
    for k, place in enumerate(((0.3, 0.2, -0.1), (0.3, -0.2, -0.1), (-0.3, 0.0, -0.1))):
        mechanism.add_contact(f"c{k}", "block", place, friction="coulomb", friction_coefficient=0.2)
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = 0.1
    return system, q, moving(system, vx=2.0, vy=0.5, wz=3.0), {}


def rolling_ball() -> Case:
    mechanism = with_bob(body(slope=0.1, inertia=0.01))
    mechanism.add_contact(
        "c", "block", radius=0.1, friction="coulomb", friction_coefficient=0.9, torsion=0.05
    )
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = 0.1
    return system, q, moving(system, vx=0.2, vy=0.1, wx=-1.0, wy=2.0), {}


def slipping_ball() -> Case:
    mechanism = with_bob(body(inertia=0.01))
    mechanism.add_contact(
        "c", "block", radius=0.1, friction="coulomb", friction_coefficient=0.2, torsion=0.03
    )
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = 0.1
    return system, q, moving(system, vx=3.0, wx=6.0, wz=9.0), {}


def sliding_rod() -> Case:
    return rod(0.3), [0.0, np.sin(1.1), 1.1], [2.0, np.cos(1.1), 1.0], {}


def rubbing_loop() -> Case:
    system = slider_crank(0.3, 0.8, inertia=0.01, friction=3.0)
    q = system.assemble([0.8, -0.6, 1.0], locked=["crank"]).q
    return system, q, system.project_velocity(q, [8.0, -3.0, 0.0]), {}


def swinging_floor() -> Case:
    """A block slides on a floor that a spring and a force in time swing."""
    mechanism = sr.Mechanism("floor")
    mechanism.add_body("floor", 5.0, com=(0.1, 0, 0), inertia=(0.5, 0.6, 0.7))
    mechanism.add_joint("swing", "revolute", "world", "floor", axis=(0, 1, 0), stiffness=300.0, damping=2.0)
    mechanism.add_body("block", 1.0, inertia=(0.02, 0.02, 0.02))
    mechanism.add_joint("free", "free", "world", "block")
    for k, place in enumerate(((0.1, 0.1, -0.1), (0.1, -0.1, -0.1), (-0.1, 0.0, -0.1))):
        mechanism.add_contact(
            f"c{k}", "block", place, ground="floor", friction="coulomb", friction_coefficient=0.3
        )
    system = sr.System(mechanism)
    q = system.neutral()
    q[system.coordinate_names.index("free.z")] = 0.1
    v = np.zeros(system.nv)
    v[system.velocity_names.index("free.vx")], v[system.velocity_names.index("free.vy")] = 1.0, 0.7
    push: Callable[..., Any] = lambda q, v, t: ca.vertcat(20.0 * ca.sin(8.0 * t), *[0.0] * 6)  # noqa: E731
    return system, q, v, {"force": push}


def meshing_gears() -> Case:
    mechanism = sr.Mechanism("gears", gravity=(0, 0, -9.81))
    for k, place in enumerate(((0, 0, 0), (0.3, 0, 0))):
        mechanism.add_body(f"w{k}", 1.0, com=(0.05 * (k + 1), 0, 0), inertia=(0.02, 0.02, 0.02))
        mechanism.add_joint(f"j{k}", "revolute", "world", f"w{k}", axis=(0, 1, 0), parent_pose=place)
    mechanism.add_gear_pair("mesh", "j0", "j1", -2.0, efficiency=0.9)
    return sr.System(mechanism), [0.0, 0.0], [10.0, -5.0], {
        "force": lambda q, v, t: ca.vertcat(4.0 * ca.cos(5.0 * t), 1.0 - 0.1 * v[1])
    }  # fmt: skip


CASES = {
    "joints that rub": rubbing_joint,
    "a joint that sticks": stuck_joint,
    "a stop under load": pressed_stop,
    "a block that slides and turns": sliding_block,
    "a ball that rolls": rolling_ball,
    "a ball that slips and spins": slipping_ball,
    "a rod whose end slides": sliding_rod,
    "a loop with friction": rubbing_loop,
    "a floor that swings": swinging_floor,
    "gears that mesh": meshing_gears,
}


FAST = ("a joint that sticks", "a stop under load")


@pytest.mark.parametrize("method", IMPLICIT_METHODS)
@pytest.mark.parametrize("case", CASES)
def test_order_within_a_phase(case: str, method: str) -> None:
    system, q, v, options = CASES[case]()
    dt = 0.01
    run = partial(sr.simulate, system, q, v, duration=20 * dt, error_estimate=False, **options)
    exact = run(rtol=1e-13, atol=1e-14, dt=dt, method="dop853")
    assert all(switch.time < 1e-5 for switch in exact.switches), exact.switches
    assert exact.contact_loss[-1] > -1e-12
    parts, errors, losses = np.array([3, 4, 6, 8]), [], []
    if method == "rodas5p":
        parts = np.array([2, 3, 4, 6] if case in FAST else [1, 2, 3, 4])
    for part in parts:
        mine = run(method=method, dt=dt / part, rtol=np.inf, every=int(part))
        assert mine.steps == 20 * part
        kept = slice(len(mine.t) - 20, None)
        errors.append(
            max(np.abs(mine.q[kept] - exact.q[-20:]).max(), np.abs(mine.v[kept] - exact.v[-20:]).max())
        )
        losses.append(np.abs(mine.contact_loss[kept] - exact.contact_loss[-20:]).max())
    order = rosenbrock_tableau(method).order
    assert -np.polyfit(np.log(parts), np.log(errors), 1)[0] == pytest.approx(order, abs=0.2), errors
    if max(losses) > 1e-10:
        assert -np.polyfit(np.log(parts), np.log(losses), 1)[0] > order - 0.2, losses


# --- stiffness ----------------------------------------------------------------------------------------


def stiff_arm(friction: float) -> sr.System:
    """A light hand on a damper of 10 N m s/rad, at an arm whose shoulder may have dry friction."""
    mechanism = sr.Mechanism("arm")
    mechanism.add_body("arm", 1.0, com=(0.25, 0, 0), inertia=(1e-3, 0.02, 0.02))
    mechanism.add_body("hand", 0.1, com=(0.1, 0, 0), inertia=(1e-4,) * 3)
    mechanism.add_joint("shoulder", "revolute", "world", "arm", axis=(0, 1, 0), friction=friction)
    mechanism.add_joint(
        "wrist", "revolute", "arm", "hand", axis=(0, 1, 0), parent_pose=(0.5, 0, 0), damping=10.0
    )
    return sr.System(mechanism)


@pytest.mark.parametrize("method", ["rodas5p", "rodas4"])
def test_dry_friction_leaves_dampers_cheap(method: str) -> None:
    run = partial(sr.simulate, q=[0.3, 0.5], duration=2.0, error_estimate=False)
    rubs = stiff_arm(0.5)
    plain, mine = run(stiff_arm(0.0), method=method), run(rubs, method=method)
    explicit, auto = run(rubs, method="dop853"), run(rubs)
    assert mine.steps < 1.2 * plain.steps
    assert mine.steps < explicit.steps / (5.0 if method == "rodas5p" else 1.0)
    assert auto.steps < 0.5 * explicit.steps
    assert [event.name for event in mine.events] == [
        "shoulder.friction slipping",
        "shoulder.friction sticking",
    ]
    assert any(event.name == "rodas5p takes over" for event in auto.events)
    for other in (mine, auto):
        np.testing.assert_allclose(other.q[-1], explicit.q[-1], atol=1e-8)
        assert other.contact_loss[-1] == pytest.approx(explicit.contact_loss[-1], abs=1e-8)


@pytest.mark.parametrize("method", ["rodas5p", "rodas4", None])
@pytest.mark.parametrize("creep", [3e-7, 1.2e-6, 1.5e-6, 1e-5])
def test_a_block_creeps_on_a_damper(creep: float, method: str | None) -> None:
    """Friction turns its direction at rates of μ g over the slip, 1e7/s, and the damper works at 1e5/s."""
    mechanism, damping, friction = sr.Mechanism("creep"), 1e5, 0.3
    mechanism.add_body("block", 1.0, inertia=(0.02,) * 3)
    for k, name in enumerate("xyz"):
        mechanism.add_joint(
            name, "prismatic", "world", "block", axis=np.eye(3)[k], damping=damping if k < 2 else 0.0
        )
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=friction)
    push = friction * 9.81 + damping * creep
    way = np.array([0.6, 0.8, 0.0])
    motion = sr.simulate(
        sr.System(mechanism), np.zeros(3), duration=1.0, force=lambda q, v, t: push * way, error_estimate=False,
        method=sr.Stepping(method, max_steps=2000),
    )  # fmt: skip
    assert np.abs(motion.q[-1] - creep * (1.0 - 1e-5) * way).max() < 1e-5 * creep


# --- generated ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 3, 7, 9, 14])
def test_generated_motions(seed: int) -> None:
    """Of each kind one; ``python tests/families/implicit_phases.py`` does hundreds."""
    verdict = judge(seed)
    assert verdict.status == "OK"
    assert verdict.difference < 1e-7
