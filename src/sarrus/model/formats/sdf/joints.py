"""Joints of SDF as data: the two bodies, the frame at the initial pose, axes, spring, damping, limits."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import unknown_name
from sarrus.model.formats.importing import Import
from sarrus.model.formats.sdf import xml
from sarrus.model.formats.sdf.frames import MODEL_FRAME, Frame, Scope
from sarrus.model.formats.sdf.tolerances import UNLIMITED
from sarrus.model.mechanism.faults import fault
from sarrus.model.mechanism.pose import Pose, clean, unit_vector
from sarrus.model.mechanism.report import ImportReport
from sarrus.model.mechanism.tolerances import PERPENDICULAR

# Number of axes of each joint type; "gearbox" couples two angles and connects no bodies.
AXES = {
    "fixed": 0,
    "ball": 0,
    "revolute": 1,
    "continuous": 1,
    "prismatic": 1,
    "screw": 1,
    "universal": 2,
    "revolute2": 2,
    "gearbox": 2,
}
AXIS_TAGS = ("axis", "axis2")


@dataclass(frozen=True)
class Mimic:
    """position of the axis = multiplier × (position of the leader's axis − reference) + offset."""

    leader: str
    leader_axis: str
    multiplier: float
    offset: float
    reference: float


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a joint; ``xyz`` is a unit vector in the joint's frame."""

    xyz: Array
    limits: tuple[float, float] | None
    stiffness: float
    spring_reference: float
    damping: float
    friction: float
    effort: float
    mimic: Mimic | None


@dataclass(frozen=True, eq=False)
class SdfJoint:
    """A joint between two bodies ("world" is one); ``pose`` is its frame in the world at the start."""

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose
    axes: tuple[Axis, ...]
    pitch: float
    must_be_cut: bool
    ratio: float
    reference_body: str

    @property
    def perpendicular(self) -> bool:
        """Whether the two axes of a universal joint are perpendicular."""
        return abs(float(self.axes[0].xyz @ self.axes[1].xyz)) < PERPENDICULAR

    def coordinate(self, axis: str) -> str:
        """Return the name of the coordinate of ``axis`` or ``axis2``."""
        if len(self.axes) == 1:
            return self.name
        return self.name + {"axis": ".angle1", "axis2": ".angle2"}[axis]


def read_joint(importing: Import, scope: Scope, frame: Frame) -> SdfJoint | None:
    """Return the data of a ``<joint>``, or None for an unknown type left out by ``strict=False``."""
    element, name = frame.element, scope.full(frame.name)
    label, kind = f"joint {name!r}", element.get("type", "").strip()
    if kind not in AXES:
        known = unknown_name("joint type", kind, AXES)
        importing.refuse("joint", name, known, "write it with the types that SDF knows")
        refuse_mimics(importing, element, name, "its joint is left out")
        return None
    ends = {tag: xml.text(element, tag) for tag in ("parent", "child")}
    if not all(ends.values()):
        raise fault(label, "needs <parent> and <child>", name)
    parent, child = (scope.body(end, f"{tag} of {label}") for tag, end in ends.items())
    if parent == child:
        raise fault(label, f"parent and child are the same link {child!r}", name)
    here = scope.frame_pose(frame)
    tags = AXIS_TAGS[: AXES[kind]]
    if kind == "ball" and element.find("axis") is not None:
        tags = ("axis",)
    axes = tuple(_axis(importing, scope, here, element.find(tag), f"{label}: <{tag}>") for tag in tags)
    for tag in tags:
        _report_losses(importing.report, element.find(tag), tag, name, kind)
    for tag in AXIS_TAGS[len(tags) :]:
        if element.find(tag) is not None:
            importing.report.set_aside(f"joint {tag}", name, f"a joint of type {kind!r} has no <{tag}>")
    free = (
        AXIS_TAGS[: AXES[kind]] if kind != "gearbox" else ()
    )  # the axes of a gearbox belong to other joints
    refuse_mimics(importing, element, name, f"a joint of type {kind!r} has no such coordinate", free)
    reference = xml.text(element, "gearbox_reference_body")
    return SdfJoint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        pose=scope.origin() @ here,
        axes=axes,
        pitch=_pitch(element, label) if kind == "screw" else 0.0,
        must_be_cut=xml.flag(xml.text(element, "physics/simbody/must_be_loop_joint", "false"), label),
        ratio=xml.number(element, "gearbox_ratio", 1.0, label),
        reference_body=scope.body(reference, f"gearbox_reference_body of {label}") if reference else "",
    )


def refuse_mimics(
    importing: Import, joint: Element, name: str, reason: str, kept: tuple[str, ...] = ()
) -> None:
    """Refuse the mimics of a joint, except those of the axes ``kept``."""
    for tag in AXIS_TAGS:
        if tag not in kept and joint.find(f"{tag}/mimic") is not None:
            remedy = "put the mimic on an axis of a joint that has the coordinate"
            importing.refuse("mimic", f"{name}/{tag}", reason, remedy)


def _pitch(element: Element, label: str) -> float:
    """Return the advance per turn of a right-handed screw [m].

    ``screw_thread_pitch`` is this advance. The older ``thread_pitch`` is in radians per metre and positive
    for a left-handed thread, so that the advance is −2π/thread_pitch. Both default to 1.
    """
    if element.find("screw_thread_pitch") is None and element.find("thread_pitch") is not None:
        turns = xml.number(element, "thread_pitch", 1.0, label)
        if turns == 0.0:
            raise fault(label, "thread_pitch [rad/m] must not be zero")
        return -2.0 * np.pi / turns
    return xml.number(element, "screw_thread_pitch", 1.0, label)


def _axis(importing: Import, scope: Scope, joint: Pose, axis: Element | None, label: str) -> Axis:
    """Return ``<axis>`` or ``<axis2>``, with its direction in the joint's frame."""
    given = unit_vector(xml.numbers(xml.text(axis, "xyz", "0 0 1"), 3, "xyz", label), "xyz", label)
    lower = xml.number(axis, "limit/lower", -np.inf, label)
    upper = xml.number(axis, "limit/upper", np.inf, label)
    limits = (-np.inf if lower <= -UNLIMITED else lower, np.inf if upper >= UNLIMITED else upper)
    return Axis(
        xyz=clean(joint.rotation.T @ _rotation_of_axis(scope, axis, joint, label) @ given),
        limits=None if limits == (-np.inf, np.inf) else limits,
        stiffness=xml.number(axis, "dynamics/spring_stiffness", 0.0, label),
        spring_reference=xml.number(axis, "dynamics/spring_reference", 0.0, label),
        damping=xml.number(axis, "dynamics/damping", 0.0, label),
        friction=max(0.0, xml.number(axis, "dynamics/friction", 0.0, label)),
        effort=xml.number(axis, "limit/effort", np.inf, label),
        mimic=_mimic(importing, scope, axis, label),
    )


def _report_losses(report: ImportReport, axis: Element | None, tag: str, name: str, kind: str) -> None:
    """List settings of an axis that `Axis` does not hold, and settings that a ball joint does not have."""
    label = f"joint {name!r}: <{tag}>"
    given = {
        "limits": [xml.number(axis, f"limit/{end}", np.inf, label) for end in ("lower", "upper")],
        "spring": [xml.number(axis, "dynamics/spring_stiffness", 0.0, label) or np.inf],
    }
    for what, values in given.items():
        if kind == "ball" and min(map(abs, values)) < UNLIMITED:
            report.leave_out(f"{tag} {what}", name, f"a ball joint has no {what} here")
    effort = xml.number(axis, "limit/effort", np.inf, label)
    if 0.0 < effort < np.inf:
        reason = f"{effort:g}; SDF has no actuators: add them with add_actuator"
        report.set_aside(f"{tag} effort", name, reason)
    if 0.0 <= xml.number(axis, "limit/velocity", np.inf, label) < np.inf:
        report.leave_out(f"{tag} velocity", name, "velocities are not limited here")
    if xml.number(axis, "dynamics/friction", 0.0, label) < 0.0:
        report.leave_out(f"{tag} friction", name, "it is negative")
    if xml.number(axis, "initial_position", 0.0, label) != 0.0:
        reason = "left out; the links' poses are the initial configuration"
        report.leave_out(f"{tag} initial_position", name, reason)


def _rotation_of_axis(scope: Scope, axis: Element | None, joint: Pose, label: str) -> Array:
    """Return the rotation, relative to the model, of the frame in which an axis is given.

    It is the joint's frame, or the one named by ``expressed_in`` (since 1.7), or the model's: always in
    version 1.4, with ``use_parent_model_frame`` in 1.5 and 1.6.
    """
    if axis is None:
        return joint.rotation
    if expressed_in := xml.attribute(axis.find("xyz"), "expressed_in"):
        return scope.pose(expressed_in, label).rotation
    in_model = "true" if scope.version < (1, 5) else "false"
    if scope.version < (1, 7) and xml.flag(xml.text(axis, "use_parent_model_frame", in_model), label):
        return scope.pose(MODEL_FRAME, label).rotation
    return joint.rotation


def _mimic(importing: Import, scope: Scope, axis: Element | None, label: str) -> Mimic | None:
    mimic = axis.find("mimic") if axis is not None else None
    if mimic is None:
        return None
    leader = mimic.get("joint", "").strip()
    names = scope.joint_names()
    if leader not in names and "::" not in leader:
        importing.odd("mimic", label, unknown_name("joint", leader, names), element=leader, valid=names)
        return None
    tag = mimic.get("axis", "axis")
    if tag not in AXIS_TAGS:
        raise fault(label, f"mimic: axis must be 'axis' or 'axis2', got {tag!r}", leader)
    defaults = {"multiplier": 1.0, "offset": 0.0, "reference": 0.0}
    numbers = {key: xml.number(mimic, key, default, label) for key, default in defaults.items()}
    return Mimic(scope.full(leader), tag, **numbers)
