"""Couplings, springs, actuators and user forces: bad input is one error that names the element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.pose import Pose
from test_builder import arm, refused

OTHERS: list[tuple[Callable[[Mechanism], object], str]] = [
    (lambda m: m.add_coupling("c", {}), "coupling 'c': needs at least one coordinate"),
    (lambda m: m.add_coupling("c", ["shoulder"]), "coupling 'c': terms must map coordinate names to"),
    (
        lambda m: m.add_coupling("c", {"shoulder": None}),
        "coupling 'c': coefficient of 'shoulder' must be a number, got None",
    ),
    (
        lambda m: m.add_coupling("c", {"shoulder": "ab"}),
        "coupling 'c': coefficient of 'shoulder' must be a number",
    ),
    (lambda m: m.add_coupling("c", {"shoulder": (1, np.nan)}), "coefficient of 'shoulder' must be finite"),
    (
        lambda m: m.add_coupling("c", {"elbow.wx": 1.0}),
        "coupling 'c': unknown scalar coordinate 'elbow.wx'. Known: 'shoulder'",
    ),
    (
        lambda m: m.add_coupling("c", {"shoulder": 1.0}, {"sholder": 1.0}),
        "coupling 'c': references: unknown term 'sholder'. Did you mean 'shoulder'?",
    ),
    (lambda m: m.add_coordinate_spring("s", {}), "spring 's': needs at least one coordinate"),
    (lambda m: m.add_coordinate_spring("s", 3), "spring 's': terms must map coordinate names to"),
    (
        lambda m: m.add_coordinate_spring("s", {"shoulder": 1.0}, rest_length=(1, 2, 3)),
        "spring 's': rest_length must be (lower, upper)",
    ),
    (
        lambda m: m.add_coordinate_spring("s", {"shoulder": 1.0}, rest_length=None),
        "spring 's': rest_length must be (lower, upper)",
    ),
    (lambda m: m.add_spring_damper("s", "upper", "hand"), "spring 's': unknown body 'hand'"),
    (
        lambda m: m.add_spring_damper("s", "upper", "lower", stiffness=-1),
        "spring 's': stiffness must not be negative",
    ),
    (
        lambda m: m.add_spring_damper("s", "upper", "lower", rest_length=np.inf),
        "spring 's': rest_length must be",
    ),
    (
        lambda m: m.add_spring_damper("s", "upper", "lower", rest_length=-0.1),
        "spring 's': rest_length is a distance and must not be negative, got -0.1",
    ),
    (
        lambda m: m.add_spring_damper("s", "upper", "lower", rest_length=(-1, 1)),
        "spring 's': rest_length is a distance and must not be negative, got (-1, 1)",
    ),
    (
        lambda m: m.add_spring_damper("s", "upper", "upper", point2=(1, 0, 0)),
        "spring 's': needs two different bodies, got 'upper' twice",
    ),
    (lambda m: m.add_spring_damper("s", "world", "world"), "spring 's': needs two different bodies"),
    (
        lambda m: m.add_spring_damper("s", "upper", "lower", point1=(0, 0)),
        "spring 's': point1 must be 3 numbers",
    ),
    (
        lambda m: m.add_actuator("a", "elbow"),
        "actuator 'a': unknown joint velocity 'elbow'. Did you mean 'elbow.wz'? Known: 'shoulder',",
    ),
    (lambda m: m.add_actuator("a", 5), "actuator 'a': target must map coordinate names to numbers, got 5"),
    (lambda m: m.add_actuator("a", {}), "actuator 'a': needs at least one coordinate"),
    (lambda m: m.add_actuator("a", {"shoulder": "x"}), "actuator 'a': gear must be a number"),
    (lambda m: m.add_actuator("a", "shoulder", limits=(1,)), "actuator 'a': limits must be (lower, upper)"),
    (
        lambda m: m.add_actuator("a", "shoulder", limits=(2, 1)),
        "actuator 'a': limits has lower 2.0 above upper 1.0",
    ),
    (lambda m: m.add_force("f", 3), "force 'f': function must be callable as function(q, v, t)"),
    (lambda m: m.add_force("f", lambda q, v, t: q, body="hand"), "force 'f': unknown body 'hand'"),
    (lambda m: Mechanism("m", gravity=(0, 0)), "m: gravity must be 3 numbers"),
    (lambda m: Pose.of((0, 0, 0), quaternion=(0, 0, 0, 0)), "pose: quaternion has zero length"),
    (lambda m: Pose.of((0, 0, 0), rotation=-np.eye(3)), "pose: rotation must be right-handed"),
    (
        lambda m: Pose.of((0, 0, 0), rotation=np.ones((3, 3))),
        "pose: rotation must be an orthogonal 3×3 matrix",
    ),
    (lambda m: Pose.of((0, 0, 0), rotation=np.full((3, 3), np.nan)), "pose: rotation must be an orthogonal"),
    (
        lambda m: Pose.of((0, 0, 0), rpy=(0, 0, 1), quaternion=(1, 0, 0, 0)),
        "pose: give one of quaternion, rpy and rotation",
    ),
    (lambda m: Pose.of((0, 0)), "pose: position must be 3 numbers"),
]


@pytest.mark.parametrize(("call", "text"), OTHERS)
def test_other_elements(call: Callable[[Mechanism], object], text: str) -> None:
    refused(lambda: call(arm()), text)


def test_names_are_unique_per_kind() -> None:
    mechanism = arm()
    mechanism.add_closure("c", "point", "upper", "lower")
    mechanism.add_actuator("a", "shoulder")
    mechanism.add_spring_damper("s", "upper", "lower")
    mechanism.add_force("f", lambda q, v, t: v)
    for call in (
        lambda: mechanism.add_coupling("c", {"shoulder": 1.0}),
        lambda: mechanism.add_actuator("a", "shoulder"),
        lambda: mechanism.add_coordinate_spring("s", {"shoulder": 1.0}),
        lambda: mechanism.add_force("f", lambda q, v, t: v),
    ):
        refused(call, "the name is already taken; names are unique")


FORCES: list[tuple[Callable[..., Any], str | None, str]] = [
    (lambda q, v, t: q, "upper", "force 'f': function(q, v, t) must return 3 entries, got shape (5, 1)"),
    (
        lambda q, v, t: [1.0, 2.0],
        None,
        "force 'f': function(q, v, t) must return 4 entries, got shape (2, 1)",
    ),
    (
        lambda q, v, t: 1 / 0,
        None,
        "force 'f': the function could not be traced over CasADi symbols (ZeroDivisionError",
    ),
    (lambda q, v: v, None, "force 'f': the function could not be traced"),
    (lambda q, v, t: [0, 0, np.nan], "upper", "force 'f': the function gives NaN"),
    (lambda q, v, t: "strong", None, "force 'f': the function could not be traced"),
]


@pytest.mark.parametrize(("function", "body", "text"), FORCES)
def test_user_forces(function: Callable[..., Any], body: str | None, text: str) -> None:
    mechanism = arm()
    mechanism.add_joint("rigid", "fixed", "world", "loose")
    mechanism.add_force("f", function, body=body)
    refused(lambda: System(mechanism), text)


@pytest.mark.parametrize(
    "function",
    [
        lambda q, v, t: [q[0], 0, 1.0],
        lambda q, v, t: ca.vertcat(q[0], 0, 1),
        lambda q, v, t: np.array([3.0, 0.0, 1.0]),
    ],
)
def test_user_forces_in_every_form(function: Callable[..., Any]) -> None:
    mechanism = Mechanism("mass", gravity=(0, 0, 0))
    mechanism.add_body("b", 2.0)
    mechanism.add_joint("free", "free", "world", "b", reference=(3.0, 0, 0, 1, 0, 0, 0))
    mechanism.add_body("inert", 1.0)
    mechanism.add_joint("rigid", "fixed", "b", "inert")
    mechanism.add_force("f", function, body="b")
    system = System(mechanism)
    q = system.neutral()
    np.testing.assert_allclose(system.passive_force(q, np.zeros(6))[:3], [3.0, 0.0, 1.0], atol=1e-15)


def test_system_keeps_its_mechanism_when_the_description_goes_on() -> None:
    """What is added later belongs to the next system."""
    mechanism = arm()
    mechanism.add_joint("rigid", "fixed", "world", "loose")
    mechanism.add_closure("first", "point", "world", "lower", pose1=(1.5, 0, 0), pose2=(0.5, 0, 0))
    system = System(mechanism)
    mechanism.add_closure("second", "point", "world", "upper")
    mechanism.add_body("new")
    mechanism.add_joint("new", "revolute", "lower", "new")
    assert set(system.closure_rows) == {"first"}
    assert len(system.neutral()) == system.nq
    assert len(system.body_placements(system.neutral())[0]) == 3
