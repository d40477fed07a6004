"""The builder refuses bad input with one error that names the element and says what would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mechanisms import random_pose
from sarrus.base.errors import ArgumentError, ModelError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import CLOSURE_ROWS
from sarrus.model.mechanism.joint import JOINT_KINDS


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
    (
        {"inertia": (1, 1)},
        "body 'b': inertia must be 3 principal moments, 6 numbers (xx, yy, zz, xy, xz, yz) or a 3×3",
    ),
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
    (
        {"parent": "uper"},
        "joint 'j': unknown body 'uper'. Did you mean 'upper'? Known: 'upper', 'lower', 'loose'",
    ),
    ({"child": "hand"}, "joint 'j': unknown body 'hand'"),
    ({"child": "world"}, "joint 'j': unknown body 'world'"),
    ({"parent": ["upper"]}, "joint 'j': unknown body ['upper']"),
    ({"name": "shoulder"}, "joint 'shoulder': the name is already taken"),
    (
        {"parent": "loose"},
        "joint 'j': 'loose' would hang on itself through 'loose'; close the loop with add_closure",
    ),
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
    (
        {"kind": "spherical", "reference": (0, 0, 0, 0)},
        "joint 'j': reference has a quaternion of zero length",
    ),
    ({"limits": (1, 0)}, "joint 'j': limits has lower 1.0 above upper 0.0"),
    ({"limits": 3.0}, "joint 'j': limits must be"),
    ({"limits": (None, 1)}, "joint 'j': limits must be"),
    ({"limits": (np.nan, 1)}, "joint 'j': limits must be"),
    (
        {"kind": "cylindrical", "limits": (0, 1)},
        "joint 'j': limits must be one pair per degree of freedom (2)",
    ),
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
    (
        {"kind": "distance"},
        "closure 'c': length must be positive, got 0.0. Zero distance is a 'point' closure",
    ),
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
    refused(
        lambda: mechanism.add_closure(
            **({"name": "c", "kind": "point", "body1": "upper", "body2": "lower"} | arguments)
        ),
        text,
    )
    assert not mechanism.closures


def test_errors_carry_the_element_and_the_valid_names() -> None:
    with pytest.raises(ModelError) as caught:
        arm().add_joint("j", "hinge", "world", "loose")
    assert (caught.value.element, caught.value.valid) == ("j", JOINT_KINDS)
    with pytest.raises(ModelError) as caught:
        arm().add_closure("c", "hinge", "upper", "lower")
    assert caught.value.valid == tuple(CLOSURE_ROWS)
    with pytest.raises(ModelError) as caught:
        arm().add_body("b", mass=np.nan)
    assert caught.value.element == "b"


def test_incomplete_mechanisms() -> None:
    refused(
        lambda: System(arm()),
        "body 'loose' has no joint: attach it with add_joint, 'fixed' or 'free' at the least",
    )
    refused(lambda: System(Mechanism("empty")), "mechanism 'empty' has no movable joint")
    with pytest.raises(ArgumentError, match="System needs a Mechanism, got str"):
        System("arm")  # type: ignore[arg-type]


def test_reference_poses_are_where_bodies_are_in_the_reference_pose():
    rng = np.random.default_rng(3)
    mechanism = Mechanism("chain")
    kinds = ("free", "revolute", "spherical", "fixed", "cylindrical", "universal", "planar", "screw", "free")
    for k, kind in enumerate(kinds):
        mechanism.add_body(f"b{k}", 1.0, inertia=(1, 1, 1))
        count = {"free": 7, "spherical": 4, "fixed": 0, "cylindrical": 2, "universal": 2, "planar": 3}.get(
            kind, 1
        )
        mechanism.add_joint(
            f"j{k}", kind, f"b{k - 1}" if k else "world", f"b{k}", parent_pose=random_pose(rng), pitch=0.1,
            child_pose=random_pose(rng), reference=rng.normal(size=count) if count else 0.0,
        )  # fmt: skip
    mechanism.add_joint(
        "more", "spherical", "b0", "b1", child_pose=random_pose(rng), reference=rng.normal(size=4)
    )
    system = System(mechanism)
    for name, position, rotation in zip(
        mechanism.bodies, *system.body_placements(system.neutral()), strict=True
    ):
        pose = mechanism.reference_pose(name)
        np.testing.assert_allclose(pose.position, position, atol=1e-12)
        np.testing.assert_allclose(pose.rotation, rotation, atol=1e-12)
    assert not mechanism.reference_pose("world").position.any()
