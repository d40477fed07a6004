"""SDF's joints in a mechanism: joints of the tree as joints, cut joints as closures.

A joint whose child is nearer to the world than its parent is reversed: in the mechanism the file's parent is the child.
The inverse of a rotation by q about an axis is a rotation by q about the negated axis, so negated axes keep the sign of
the file's coordinate (a screw keeps its pitch). Two axes change places. The quaternion of a reversed ball joint is the
inverse of the file's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sarrus.model.formats.importing import Import
from sarrus.model.formats.sdf.joints import AXIS_TAGS, Axis, SdfJoint
from sarrus.model.mechanism.elements import CLOSURE_ROWS
from sarrus.model.mechanism.pose import Pose

_JOINT_KINDS = {"ball": "spherical", "continuous": "revolute", "revolute2": "universal"}
_CLOSURE_KINDS = {"fixed": "weld", "ball": "point", "continuous": "revolute", "revolute2": "universal"}


def attach(importing: Import, joint: SdfJoint, reverse: bool, poses: Mapping[str, Pose]) -> None:
    """Add a joint of the tree; ``poses`` are the placements of the bodies in the world."""
    near, far = (joint.child, joint.parent) if reverse else (joint.parent, joint.child)
    frames: dict[str, Any] = {
        "parent_pose": poses[near].inverse() @ joint.pose,
        "child_pose": poses[far].inverse() @ joint.pose,
    }
    kind, sign = _JOINT_KINDS.get(joint.kind, joint.kind), -1.0 if reverse else 1.0
    parts: list[tuple[str, str, dict[str, Any]]]  # name, kind and arguments of the resulting joints
    note = ""
    if kind == "fixed":
        parts = [(joint.name, kind, {})]
    elif kind == "spherical":
        damping, friction = (joint.axes[0].damping, joint.axes[0].friction) if joint.axes else (0.0, 0.0)
        parts = [(joint.name, kind, {"damping": damping, "friction": friction})]
        if reverse:
            note = "its quaternion turns the file's parent relative to its child"
        elif damping or friction:
            note = "the damping and friction of its <axis> act about all three axes"
    elif len(joint.axes) == 1:
        parts = [(joint.name, kind, _turning(joint.axes[0], sign) | {"pitch": joint.pitch})]
        note = "from child to parent, axis negated" if reverse else ""
    elif not reverse and joint.perpendicular and joint.axes[0].stiffness == joint.axes[1].stiffness:
        one, two = (_turning(axis, sign) for axis in joint.axes)
        both = {key: (one[key], two[key]) for key in ("limits", "spring_reference", "damping", "friction")}
        parts = [(joint.name, kind, one | both | {"axis2": two["axis"]})]
    else:
        # Axes not perpendicular, different springs, or the second axis first because the joint is reversed: two
        # revolute joints with the coordinate names of a universal joint.
        series = [(joint.coordinate(tag), axis) for tag, axis in zip(AXIS_TAGS, joint.axes)]
        parts = [(name, "revolute", _turning(axis, sign)) for name, axis in series[:: -1 if reverse else 1]]
        turned = ", the second axis first and both negated" if reverse else ""
        note = f"two revolute joints in series{turned}"
    for name, part, numbers in parts:
        importing.mechanism.add_joint(name, part, near, far, **numbers, **frames)
        frames["parent_pose"] = None
    importing.report.act("joint", joint.name, note)
    losses = [axis.friction for axis in joint.axes if axis.friction]
    if losses:
        importing.report.keep_friction(joint.name, *losses)


def _turning(axis: Axis, sign: float) -> dict[str, Any]:
    """Return the arguments of `Mechanism.add_joint` for one axis."""
    return {
        "axis": sign * axis.xyz,
        "limits": axis.limits,
        "stiffness": axis.stiffness,
        "spring_reference": axis.spring_reference,
        "damping": axis.damping,
        "friction": axis.friction,
    }


def close(importing: Import, joint: SdfJoint, poses: Mapping[str, Pose]) -> None:
    """Add a cut joint as a closure of its own kind: body 1 is the file's parent, body 2 its child."""
    kind = _CLOSURE_KINDS.get(joint.kind, joint.kind)
    directions: dict[str, Any] = {}
    if kind not in ("weld", "point"):
        directions = {tag: axis.xyz for tag, axis in zip(AXIS_TAGS, joint.axes)}
    if kind == "universal" and not joint.perpendicular:
        reason = "its loop has to be cut here, and a closure needs axes that are perpendicular"
        importing.refuse("joint", joint.name, reason, "put must_be_loop_joint on another joint of the loop")
        return
    importing.mechanism.add_closure(
        joint.name,
        kind,
        joint.parent,
        joint.child,
        pose1=poses[joint.parent].inverse() @ joint.pose,
        pose2=poses[joint.child].inverse() @ joint.pose,
        pitch=joint.pitch,
        **directions,
    )
    reason = f"cut: a {kind} closure of {len(CLOSURE_ROWS[kind])} rows"
    losses = {"spring": "stiffness", "damping": "damping", "dry friction": "friction", "limits": "limits"}
    lost = [what for what, number in losses.items() if any(getattr(axis, number) for axis in joint.axes)]
    if lost:
        reason += f", which cannot keep its {' and '.join(lost)}"
        importing.report.leave_out("joint", joint.name, reason)
    else:
        importing.report.act("joint", joint.name, reason)
