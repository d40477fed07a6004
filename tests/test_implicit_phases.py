"""Implicit methods in smooth phases with contacts, stops and dry friction: their order, stiffness and events."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from sarrus.kernels.rosenbrock_tableau import IMPLICIT_METHODS, rosenbrock_tableau
from test_time_stepping import body, moving, pendulums, rod, slider_crank

Case = tuple[sr.System, Any, Any, dict[str, Any]]


# --- order within a phase -----------------------------------------------------------------------------


def rubbing_joint() -> Case:
    return pendulums(friction=0.4, damping=0.3), [0.5, -0.4], [3.0, 4.0], {}


def stuck_joint() -> Case:
    mechanism = pendulum_on_a_slide(friction=200.0)
    return sr.System(mechanism), [0.0, 0.5], [0.0, 3.0], {}


def pressed_stop() -> Case:
    mechanism = pendulum_on_a_slide(limits=(-1.0, 0.0))
    push: Callable[..., Any] = lambda q, v, t: ca.vertcat(200.0 + 30.0 * ca.sin(9.0 * t), -0.2 * v[1])  # noqa: E731
    return sr.System(mechanism), [0.0, 0.5], [0.0, 3.0], {"force": push}


def pendulum_on_a_slide(**slide: Any) -> sr.Mechanism:
    mechanism = sr.Mechanism("trolley")
    mechanism.add_body("trolley", 2.0)
    mechanism.add_joint("slide", "prismatic", "world", "trolley", axis=(1, 0, 0), **slide)
    mechanism.add_body("bob", 1.0, com=(0, 0, -0.7), inertia=(0.1, 0.1, 0.01))
    mechanism.add_joint("swing", "revolute", "trolley", "bob", axis=(0, 1, 0))
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
    mechanism.add_contact("c", "block", radius=0.1, friction="coulomb", friction_coefficient=0.9, torsion=0.05)
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = 0.1
    return system, q, moving(system, vx=0.2, vy=0.1, wx=-1.0, wy=2.0), {}


def slipping_ball() -> Case:
    mechanism = with_bob(body(inertia=0.01))
    mechanism.add_contact("c", "block", radius=0.1, friction="coulomb", friction_coefficient=0.2, torsion=0.03)
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

SLOW = ("a stop under load", "a joint that sticks")  # with errors near rounding


@pytest.mark.parametrize("method", IMPLICIT_METHODS)
@pytest.mark.parametrize("case", CASES)
def test_order_within_a_phase(case: str, method: str) -> None:
    system, q, v, options = CASES[case]()
    dt = 0.014 if case in SLOW else 0.01
    run = partial(sr.simulate, system, q, v, duration=20 * dt, error_estimate=False, **options)
    exact = run(rtol=1e-13, atol=1e-14, dt=dt, method="dop853")
    assert all(switch.time < 1e-5 for switch in exact.switches), exact.switches
    assert exact.contact_loss[-1] > -1e-12
    parts, errors, losses = np.array([1, 2, 3, 4] if method == "rodas5p" else [3, 4, 6, 8]), [], []
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
