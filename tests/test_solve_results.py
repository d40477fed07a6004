"""What forward dynamics reports: forces at closures in their frames, ill-posed problems, bad arguments."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.model.units import constraint_units
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.pose import Pose
from sarrus.motion.simulate import simulate


@pytest.mark.parametrize("turned", [False, True])
def test_forces_at_a_closure_hold_a_weight(turned: bool) -> None:
    """A body hung by a weld: force and torque that the support exerts on it, in the documented frames."""
    mechanism = Mechanism("weight", gravity=(0, 0, -10.0))
    mechanism.add_body("b", 2.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_joint("free", "free", "world", "b")
    frame = Pose.of((1, 2, 3), rpy=(0, 0, np.pi / 2) if turned else (0, 0, 0))
    mechanism.add_closure("hook", "weld", "world", "b", pose1=frame, pose2=Pose())
    system = System(mechanism)
    q = np.array([*frame.position, *frame.quaternion])
    found = system.forward_dynamics(q, np.zeros(6))
    np.testing.assert_allclose(found.a, 0.0, atol=1e-12)
    rows = found.closure_force("hook")
    # Force in world axes; torque in axes of frame 2: 0.3 m × 20 N about −y of the body.
    expected = {"x": 0, "y": 0, "z": 20, "rx": 0, "ry": -6, "rz": 0}
    assert rows == {f"hook.{row}": pytest.approx(value, abs=1e-10) for row, value in expected.items()}
    swapped = Mechanism("swapped", gravity=(0, 0, -10.0))
    swapped.add_body("b", 2.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
    swapped.add_joint("free", "free", "world", "b")
    swapped.add_closure("hook", "point", "b", "world", pose2=frame)
    spin = np.array([0, 0, 0, 0.0, -6.0, 0])
    opposite = System(swapped).forward_dynamics(q, np.zeros(6), tau=spin).closure_force("hook")
    assert opposite["hook.z"] == pytest.approx(-20, abs=1e-10)


def test_rod_and_rail_forces() -> None:
    """A rod in compression has positive thrust; a rail pushes along the directions fixed to body 1."""
    mechanism = Mechanism("props", gravity=(0, 0, -10.0))
    for name, x in (("on_rod", 0.0), ("on_rail", 5.0)):
        mechanism.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(name, "free", "world", name, parent_pose=(x, 0, 2))
    mechanism.add_closure("rod", "distance", "world", "on_rod", length=2.0)
    mechanism.add_closure("rail", "prismatic", "world", "on_rail", pose1=(5, 0, 2), axis=(0, 1, 0))
    found = System(mechanism)
    result = found.forward_dynamics(found.neutral(), np.zeros(12))
    assert result.closure_force("rod")["rod.length"] == pytest.approx(10.0)
    rail = result.closure_force("rail")
    assert sorted([abs(rail["rail.p1"]), abs(rail["rail.p2"])]) == pytest.approx([0.0, 10.0], abs=1e-10)
    with pytest.raises(
        ArgumentError, match=r"unknown closure 'rial'. Did you mean 'rail'\? Known: 'rod', 'rail'"
    ):
        result.closure_force("rial")


def test_massless_body_that_can_move_is_ill_posed() -> None:
    mechanism = Mechanism("loose")
    for name, mass in (("a", 1.0), ("b", 0.0)):
        mechanism.add_body(name, mass, (1, 0, 0))
        mechanism.add_joint(name, "revolute", "world", name, axis=(0, 1, 0))
    system = System(mechanism)
    with pytest.raises(SolveError, match="loose: the mass matrix is not positive definite on the motions"):
        system.forward_dynamics([0, 0], [0, 0])
    assert system.forward_dynamics([0, 0], [0, 0], throw=False).status is Status.ILL_POSED
    mechanism.add_closure("tie", "weld", "a", "b")
    assert System(mechanism).forward_dynamics([0, 0], [0, 0]).a == pytest.approx([9.81, 9.81])


@pytest.mark.parametrize("name", ["q", "v", "u", "tau", "t"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, "length", "text", "missing", "matrix"])
def test_bad_arguments_are_named(name: str, bad: float | str) -> None:
    """Never NaN in silence: one error that says which argument and what it should be."""
    mechanism = Mechanism("cart", gravity=(0, 0, 0))
    mechanism.add_body("b", 1.0)
    mechanism.add_joint("slide", "prismatic", "world", "b")
    mechanism.add_actuator("push", "slide")
    value: object = {"length": [1.0, 2.0], "text": ["fast"], "missing": 0.5, "matrix": [[1.0]]}.get(
        str(bad), [bad]
    )
    if name == "t":
        value = {"length": [1.0, 2.0], "missing": None}.get(str(bad), bad)
    arguments: dict[str, object] = {"q": [0.0], "v": [0.0], "u": [0.0], "tau": [0.0], "t": 0.0, name: value}
    sizes = "must be (a )?finite|must have 1 entries"
    system = System(mechanism)
    for _ in range(2):  # before and after the first compilation
        with pytest.raises(ArgumentError, match=f"cart: {name} ({sizes})"):
            system.forward_dynamics(**arguments)  # type: ignore[arg-type]
        assert system.forward_dynamics([0.0], [0.0]).a == pytest.approx([0.0])


def test_equations_that_are_not_numbers() -> None:
    """A constraint or a force outside its domain is a status, not a number that looks right."""

    def build(**extra: object) -> System:
        return System.from_lagrangian(
            nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1], **extra
        )

    for system in (
        build(holonomic=lambda q, t: ca.sqrt(q[0]) - 1),
        build(generalized_force=lambda q, v, t: ca.vertcat(0, ca.log(q[0]))),
    ):
        for _ in range(2):
            with pytest.raises(SolveError, match=Status.NOT_FINITE.diagnosis):
                system.forward_dynamics([-1.0, 0.0], [0.0, 0.0])
            assert system.forward_dynamics([-1.0, 0.0], [0.0, 0.0], throw=False).status is Status.NOT_FINITE
            assert system.forward_dynamics([1.0, 0.0], [0.0, 0.0]).status is Status.OK


def test_units_of_the_multipliers() -> None:
    mechanism = Mechanism("units")
    mechanism.add_body("b", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("free", "free", "world", "b")
    mechanism.add_closure("hinge", "revolute", "world", "b")
    mechanism.add_closure("rod", "distance", "world", "b", pose1=(1, 0, 0), length=1.0)
    mechanism.add_body("rack", 1.0)
    mechanism.add_joint("slide", "prismatic", "world", "rack")
    mechanism.add_coupling("stop", {"slide": 1.0})
    system = System(mechanism)
    assert constraint_units(system) == ("N", "N", "N", "N m", "N m", "N", "")
    motion = simulate(system, system.neutral(), duration=0.01)
    assert motion.constraint_units == constraint_units(system)
