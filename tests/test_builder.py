"""The builder refuses bad input with one error that names the element and says what would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from sarrus.errors import ArgumentError, ModelError, SarrusError
from sarrus.mechanism.elements import CLOSURE_ROWS, JOINT_KINDS
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Pose
from sarrus.system import System


def arm() -> Mechanism:
    """Two bodies: a hinge, then a ball."""
    mechanism = Mechanism("arm")
    mechanism.add_body("upper", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_body("lower", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_body("loose", 1.0)
    mechanism.add_joint("shoulder", "revolute", "world", "upper")
    mechanism.add_joint("elbow", "spherical", "upper", "lower", parent_pose=(1, 0, 0))
    return mechanism


BODY: list[tuple[dict[str, Any], str]] = [
    ({"mass": -1.0}, "body 'b': mass must not be negative, got -1.0"),
    ({"mass": np.nan}, "body 'b': mass must be finite, got nan"),
    ({"mass": "heavy"}, "body 'b': mass must be a number, got 'heavy'"),
    ({"com": (1, 2)}, "body 'b': com must be 3 numbers, got (1, 2)"),
    ({"com": (0, np.inf, 0)}, "body 'b': com must be finite"),
    ({"inertia": (-1, 1, 1)}, "body 'b': inertia must not have a negative principal moment; got -1, 1, 1"),
    ({"inertia": (1, 1, 2.1)}, "body 'b': principal moments 1, 1, 2.1 break the triangle inequality"),
    ({"inertia": (1, 1, 1, 2, 0, 0)}, "body 'b': inertia must not have a negative principal moment"),
    ({"inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "body 'b': inertia must be symmetric"),
    ({"inertia": (1, np.nan, 1)}, "body 'b': inertia must be finite"),
    ({"inertia": (1, 1)}, "body 'b': inertia must be 3 principal moments, 6 numbers (xx, yy, zz, xy, xz, yz) or a 3×3"),
    ({"inertia": "round"}, "body 'b': inertia must be 3 principal moments"),
    ({"inertia": [[1, 2], [3]]}, "body 'b': inertia must be 3 principal moments"),
    ({"name": ""}, "body: name must be a non-empty string, got ''"),
    ({"name": 7}, "body: name must be a non-empty string, got 7"),
    ({"name": "upper"}, "body 'upper': the name is already taken; names are unique"),
    ({"name": "world"}, "body 'world': the name is already taken"),
]

JOINT: list[tuple[dict[str, Any], str]] = [
    ({"kind": "hinge"}, "joint 'j': unknown kind 'hinge'. Known: 'fixed', 'revolute', 'prismatic'"),
    ({"kind": "revolut"}, "Did you mean 'revolute'?"),
    ({"parent": "uper"}, "joint 'j': unknown body 'uper'. Did you mean 'upper'? Known: 'upper', 'lower', 'loose'"),
    ({"child": "hand"}, "joint 'j': unknown body 'hand'"),
    ({"child": "world"}, "joint 'j': unknown body 'world'"),
    ({"parent": ["upper"]}, "joint 'j': unknown body ['upper']"),
    ({"name": "shoulder"}, "joint 'shoulder': the name is already taken"),
    ({"parent": "loose"}, "joint 'j': 'loose' would hang on itself through 'loose'; close the loop with add_closure"),
    ({"child": "lower"}, "joint 'j': body 'lower' already hangs on 'upper'"),
    ({"axis": (0, 0, 0)}, "joint 'j': axis has zero length; give a direction such as (0, 0, 1)"),
    ({"axis": (0, np.nan, 1)}, "joint 'j': axis must be finite"),
    ({"axis": "z"}, "joint 'j': axis must be 3 numbers, got 'z'"),
    ({"kind": "universal", "axis2": (0, 1, 1)}, "joint 'j': axis2 must be perpendicular to axis"),
    ({"kind": "planar", "axis2": (0, 0, 0)}, "joint 'j': axis2 has zero length"),
    ({"kind": "screw", "pitch": np.nan}, "joint 'j': pitch must be finite"),
    ({"parent_pose": (1, 2)}, "joint 'j': parent_pose must be 3 numbers, got (1, 2)"),
    ({"child_pose": "here"}, "joint 'j': child_pose must be 3 numbers, got 'here'"),
    ({"reference": (1, 2)}, "joint 'j': reference must be one number or 1, got 2"),
    ({"reference": None}, "joint 'j': reference must be one number or 1, got None"),
    ({"spring_reference": (1, 2)}, "joint 'j': spring_reference must be one number or 1, got 2"),
    ({"kind": "spherical", "reference": (0, 0, 0, 0)}, "joint 'j': reference has a quaternion of zero length"),
    ({"limits": (1, 0)}, "joint 'j': limits has lower 1.0 above upper 0.0"),
    ({"limits": 3.0}, "joint 'j': limits must be"),
    ({"limits": (None, 1)}, "joint 'j': limits must be"),
    ({"limits": (np.nan, 1)}, "joint 'j': limits must be"),
    ({"kind": "cylindrical", "limits": (0, 1)}, "joint 'j': limits must be one pair per degree of freedom (2)"),
    ({"damping": -1}, "joint 'j': damping must not be negative"),
    ({"damping": (1, 2)}, "joint 'j': damping must be one number or 1, got 2"),
    ({"damping": None}, "joint 'j': damping must be one number or 1, got None"),
    ({"armature": np.inf}, "joint 'j': armature must be finite"),
    ({"stiffness": "soft"}, "joint 'j': stiffness must be a number, got 'soft'"),
]

CLOSURE: list[tuple[dict[str, Any], str]] = [
    ({"kind": "pont"}, "closure 'c': unknown kind 'pont'. Did you mean 'point'?"),
    ({"body1": "low"}, "closure 'c': unknown body 'low'. Did you mean 'lower'?"),
    ({"body2": None}, "closure 'c': unknown body None"),
    ({"body2": "upper"}, "closure 'c': needs two different bodies, got 'upper' twice"),
    ({"kind": "revolute", "axis": (0, 0, 0)}, "closure 'c': axis has zero length"),
    ({"kind": "universal", "axis2": (0, 0, 1)}, "closure 'c': axis2 must be perpendicular to axis"),
    ({"kind": "distance"}, "closure 'c': length must be positive, got 0.0. Zero distance is a 'point' closure"),
    ({"kind": "distance", "length": "long"}, "closure 'c': length must be a number, got 'long'"),
    ({"length": np.nan}, "closure 'c': length must be finite"),
    ({"pose1": (1,)}, "closure 'c': pose1 must be 3 numbers"),
    ({"pose2": np.eye(4)}, "closure 'c': pose2 must be 3 numbers, got shape (4, 4)"),
    ({"kind": "screw", "pitch": "x"}, "closure 'c': pitch must be a number"),
]


def refused(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ModelError) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize(("arguments", "text"), BODY)
def test_bodies(arguments: dict[str, Any], text: str) -> None:
    refused(lambda: arm().add_body(**({"name": "b"} | arguments)), text)


@pytest.mark.parametrize(("arguments", "text"), JOINT)
def test_joints(arguments: dict[str, Any], text: str) -> None:
    given = {"name": "j", "kind": "revolute", "parent": "world", "child": "loose"} | arguments
    mechanism = arm()
    refused(lambda: mechanism.add_joint(**given), text)
    assert not mechanism.bodies["loose"].attached, "a refused joint leaves nothing behind"


@pytest.mark.parametrize(("arguments", "text"), CLOSURE)
def test_closures(arguments: dict[str, Any], text: str) -> None:
    mechanism = arm()
    refused(lambda: mechanism.add_closure(**({"name": "c", "kind": "point", "body1": "upper", "body2": "lower"} | arguments)), text)
    assert not mechanism.closures


OTHERS: list[tuple[Callable[[Mechanism], object], str]] = [
    (lambda m: m.add_coupling("c", {}), "coupling 'c': needs at least one coordinate"),
    (lambda m: m.add_coupling("c", ["shoulder"]), "coupling 'c': terms must map coordinate names to"),
    (lambda m: m.add_coupling("c", {"shoulder": None}), "coupling 'c': coefficients of 'shoulder' must be"),
    (lambda m: m.add_coupling("c", {"shoulder": "ab"}), "coupling 'c': coefficient of 'shoulder' must be a number"),
    (lambda m: m.add_coupling("c", {"shoulder": (1, np.nan)}), "coefficient of 'shoulder' must be finite"),
    (lambda m: m.add_coupling("c", {"elbow.wx": 1.0}), "coupling 'c': unknown scalar coordinate 'elbow.wx'. Known: 'shoulder'"),
    (lambda m: m.add_coupling("c", {"shoulder": 1.0}, {"sholder": 1.0}), "coupling 'c': references: unknown term 'sholder'. Did you mean 'shoulder'?"),
    (lambda m: m.add_coordinate_spring("s", {}), "spring 's': needs at least one coordinate"),
    (lambda m: m.add_coordinate_spring("s", 3), "spring 's': terms must map coordinate names to"),
    (lambda m: m.add_coordinate_spring("s", {"shoulder": 1.0}, rest_length=(1, 2, 3)), "spring 's': rest_length must be (lower, upper)"),
    (lambda m: m.add_coordinate_spring("s", {"shoulder": 1.0}, rest_length=None), "spring 's': rest_length must be (lower, upper)"),
    (lambda m: m.add_spring_damper("s", "upper", "hand"), "spring 's': unknown body 'hand'"),
    (lambda m: m.add_spring_damper("s", "upper", "lower", stiffness=-1), "spring 's': stiffness must not be negative"),
    (lambda m: m.add_spring_damper("s", "upper", "lower", rest_length=np.inf), "spring 's': rest_length must be"),
    (lambda m: m.add_spring_damper("s", "upper", "lower", point1=(0, 0)), "spring 's': point1 must be 3 numbers"),
    (lambda m: m.add_actuator("a", "elbow"), "actuator 'a': unknown joint velocity 'elbow'. Did you mean 'elbow.wz'? Known: 'shoulder', 'elbow.wx'"),
    (lambda m: m.add_actuator("a", 5), "actuator 'a': target must map coordinate names to numbers, got 5"),
    (lambda m: m.add_actuator("a", {}), "actuator 'a': needs at least one coordinate"),
    (lambda m: m.add_actuator("a", {"shoulder": "x"}), "actuator 'a': gear must be a number"),
    (lambda m: m.add_actuator("a", "shoulder", limits=(1,)), "actuator 'a': limits must be (lower, upper)"),
    (lambda m: m.add_actuator("a", "shoulder", limits=(2, 1)), "actuator 'a': limits has lower 2.0 above upper 1.0"),
    (lambda m: m.add_actuator("a", "elbow.wx", bias=(0, 1, 0)), "actuator 'a': unknown scalar coordinate 'elbow.wx'"),
    (lambda m: m.add_force("f", 3), "force 'f': function must be callable as function(q, v, t)"),
    (lambda m: m.add_force("f", lambda q, v, t: q, body="hand"), "force 'f': unknown body 'hand'"),
    (lambda m: Mechanism("m", gravity=(0, 0)), "m: gravity must be 3 numbers"),
    (lambda m: Pose.of((0, 0, 0), quaternion=(0, 0, 0, 0)), "pose: quaternion has zero length"),
    (lambda m: Pose.of((0, 0, 0), rotation=-np.eye(3)), "pose: rotation must be right-handed"),
    (lambda m: Pose.of((0, 0, 0), rotation=np.ones((3, 3))), "pose: rotation must be an orthogonal 3×3 matrix"),
    (lambda m: Pose.of((0, 0, 0), rotation=np.full((3, 3), np.nan)), "pose: rotation must be an orthogonal"),
    (lambda m: Pose.of((0, 0, 0), rpy=(0, 0, 1), quaternion=(1, 0, 0, 0)), "pose: give one of quaternion, rpy and rotation"),
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


def test_errors_carry_the_element_and_the_valid_names() -> None:
    with pytest.raises(ModelError) as caught:
        arm().add_joint("j", "hinge", "world", "loose")
    assert (caught.value.element, caught.value.valid) == ("j", JOINT_KINDS)
    with pytest.raises(ModelError) as caught:
        arm().add_closure("c", "hinge", "upper", "lower")
    assert caught.value.valid == tuple(CLOSURE_ROWS)


def test_incomplete_mechanisms() -> None:
    refused(lambda: System(arm()), "body 'loose' has no joint: attach it with add_joint, 'fixed' or 'free' at the least")
    refused(lambda: System(Mechanism("empty")), "mechanism 'empty' has no movable joint")
    with pytest.raises(ArgumentError, match="System needs a Mechanism, got str"):
        System("arm")  # type: ignore[arg-type]


FORCES: list[tuple[Callable[..., Any], str | None, str]] = [
    (lambda q, v, t: q, "upper", "force 'f': function(q, v, t) must return 3 entries, got shape (5, 1)"),
    (lambda q, v, t: [1.0, 2.0], None, "force 'f': function(q, v, t) must return 4 entries, got shape (2, 1)"),
    (lambda q, v, t: 1 / 0, None, "force 'f': the function could not be traced over CasADi symbols (ZeroDivisionError"),
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
    "function", [lambda q, v, t: [q[0], 0, 1.0], lambda q, v, t: ca.vertcat(q[0], 0, 1), lambda q, v, t: np.array([0.0, 1.0, 2.0])]
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
    expected = np.ravel(ca.DM(ca.vertcat(*[x for x in np.ravel(np.array(function(q, np.zeros(6), 0.0), dtype=object))])))
    np.testing.assert_allclose(system.passive_force(q, np.zeros(6))[:3], expected.astype(float), atol=1e-15)


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
    assert issubclass(ModelError, SarrusError)
