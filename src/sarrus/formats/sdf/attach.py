"""Add SDF's joints to a mechanism: those of the tree as joints, those that were cut as closures.

A joint of which the child is nearer to the world than the parent is reversed: the file's parent hangs on
the file's child. The inverse of a turn by q about an axis is a turn by q about the negated axis, so negated
axes leave the coordinate with the sign that the file gives it (a screw keeps its pitch). Two axes change
places as well. Only the quaternion of a reversed ball joint is the inverse of the file's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sarrus.formats.importing import Import
from sarrus.formats.sdf.joints import Axis, SdfJoint
from sarrus.mechanism.elements import CLOSURE_ROWS
from sarrus.mechanism.pose import Pose

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
    mechanism, report = importing.mechanism, importing.report
    if kind == "fixed":
        mechanism.add_joint(joint.name, kind, near, far, **frames)
        report.act("joint", joint.name)
    elif kind == "spherical":
        damping = joint.axes[0].damping if joint.axes else 0.0
        mechanism.add_joint(joint.name, kind, near, far, damping=damping, **frames)
        if reverse:
            report.act("joint", joint.name, "its quaternion turns the file's parent relative to its child")
        elif damping:
            report.act("joint", joint.name, "the damping of its <axis> acts about all three axes")
        else:
            report.act("joint", joint.name)
    elif len(joint.axes) == 1:
        given = _forces(joint.axes[0]) | frames
        mechanism.add_joint(
            joint.name, kind, near, far, axis=sign * joint.axes[0].xyz, pitch=joint.pitch, **given
        )
        report.act("joint", joint.name, "from child to parent, axis negated" if reverse else "")
    elif not reverse and joint.perpendicular and joint.axes[0].stiffness == joint.axes[1].stiffness:
        _attach_universal(importing, joint, frames)
    else:
        _attach_series(importing, joint, reverse, frames)


def _forces(axis: Axis) -> dict[str, Any]:
    return {
        "limits": axis.limits,
        "stiffness": axis.stiffness,
        "spring_reference": axis.spring_reference,
        "damping": axis.damping,
    }


def _attach_universal(importing: Import, joint: SdfJoint, frames: Mapping[str, Any]) -> None:
    one, two = joint.axes
    importing.mechanism.add_joint(
        joint.name,
        "universal",
        joint.parent,
        joint.child,
        axis=one.xyz,
        axis2=two.xyz,
        limits=(one.limits, two.limits),
        stiffness=one.stiffness,
        spring_reference=(one.spring_reference, two.spring_reference),
        damping=(one.damping, two.damping),
        **frames,
    )
    importing.report.act("joint", joint.name)


def _attach_series(importing: Import, joint: SdfJoint, reverse: bool, frames: Mapping[str, Any]) -> None:
    """Add two revolute joints with the coordinate names of a universal one.

    They serve where the axes are not perpendicular, where the springs differ, and where the joint is
    reversed, since the second axis then turns first.
    """
    near, far = (joint.child, joint.parent) if reverse else (joint.parent, joint.child)
    series = [(joint.coordinate("axis"), joint.axes[0]), (joint.coordinate("axis2"), joint.axes[1])]
    sign = -1.0 if reverse else 1.0
    placed = dict(frames)
    for name, axis in series[::-1] if reverse else series:
        importing.mechanism.add_joint(
            name, "revolute", near, far, axis=sign * axis.xyz, **_forces(axis), **placed
        )
        placed["parent_pose"] = None
    turned = ", the second axis first and both negated" if reverse else ""
    importing.report.act("joint", joint.name, f"two revolute joints in series{turned}")


def close(importing: Import, joint: SdfJoint, poses: Mapping[str, Pose]) -> None:
    """Add a joint that was cut as a closure of its own kind: body 1 the file's parent, body 2 its child."""
    kind = _CLOSURE_KINDS.get(joint.kind, joint.kind)
    directions: dict[str, Any] = {}
    if kind not in ("weld", "point"):
        directions = {name: axis.xyz for name, axis in zip(("axis", "axis2"), joint.axes)}
    if kind == "universal" and not joint.perpendicular:
        importing.refuse(
            "joint",
            joint.name,
            "its loop has to be cut here, and a closure needs axes that are perpendicular",
            "put must_be_loop_joint on another joint of the loop",
        )
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
    losses = {
        "spring": any(axis.stiffness for axis in joint.axes),
        "damping": any(axis.damping for axis in joint.axes),
        "limits": any(axis.limits for axis in joint.axes),
    }
    lost = [what for what, present in losses.items() if present]
    if lost:
        importing.report.leave_out(
            "joint", joint.name, f"{reason}, which cannot keep its {' and '.join(lost)}"
        )
    else:
        importing.report.act("joint", joint.name, reason)
