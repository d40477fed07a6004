"""Joints of a body as MuJoCo joints in series: same coordinates, same velocities, same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.formats.mjcf_writer.attributes import numbers, refused, set_limits
from sarrus.model.formats.mjcf_writer.tolerances import SAME_REST
from sarrus.model.mechanism.elements import WORLD, Body
from sarrus.model.mechanism.joint import VELOCITY_LABELS, Joint
from sarrus.model.mechanism.pose import Pose

_IDENTITY = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class ExportedJoint:
    """One MuJoCo joint: ``kind`` is hinge, slide (with an axis), ball or free; ``velocities`` as in sarrus."""

    name: str
    kind: str
    velocities: tuple[str, ...]
    axis: Array | None = None
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    reference: float = 0.0
    limits: tuple[float, float] | None = None
    stiffness: float = 0.0
    spring_reference: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    actuator_force_limits: tuple[float, float] | None = None
    friction: float = 0.0

    def element(self) -> Element:
        """Return the ``<joint>`` element."""
        element = Element("joint", {"name": self.name, "type": self.kind})
        if self.kind != "free":
            element.set("pos", numbers(self.anchor))
        if self.axis is not None:
            element.set("axis", numbers(self.axis))
            element.set("ref", repr(self.reference))
            element.set("springref", repr(self.spring_reference))
        set_limits(element, self.limits)
        set_limits(element, self.actuator_force_limits, "actuatorfrc")
        for attribute in ("stiffness", "damping", "armature"):
            element.set(attribute, repr(float(getattr(self, attribute))))
        if self.friction:
            element.set("frictionloss", repr(self.friction))
        return element


def exported_joints(body: Body) -> tuple[Pose, list[ExportedJoint]]:
    """Return the pose of the MuJoCo body in its parent, at the joints' reference, and its joints."""
    if len(body.joints) == 1 and body.joints[0].kind == "free":
        return _free(body, body.joints[0])
    joints: list[ExportedJoint] = []
    for joint in body.joints:
        if joint.kind == "screw":
            raise refused(
                "joint",
                joint.name,
                "MuJoCo has no screw joint with one coordinate; write it as a cylindrical joint with a coupling of "
                "its two coordinates",
            )
        if joint.kind == "free":
            raise refused(
                "joint",
                joint.name,
                f"a free joint in series with other joints of body {body.name!r} cannot be written; it alone gives "
                "the body all six degrees of freedom",
            )
        if joint.kind == "spherical":
            joints.append(_ball(joint))
            continue
        kinds = {"revolute": "hinge", "prismatic": "slide"}
        joints += [
            _scalar(joint, k, kinds[kind], axis, joint.anchor) for k, (kind, axis) in enumerate(joint.series)
        ]
    return body.placement, joints


def _scalar(joint: Joint, k: int, kind: str, axis: Array, anchor: Array) -> ExportedJoint:
    """Return the hinge or slide of coordinate k of a joint."""
    return ExportedJoint(
        name=joint.coordinate_names[k],
        kind=kind,
        axis=axis,
        anchor=anchor,
        velocities=(joint.velocity_names[k],),
        reference=joint.reference[k],
        limits=joint.limits[k],
        stiffness=joint.stiffness,
        spring_reference=joint.spring_reference[k],
        damping=joint.damping[k],
        armature=joint.armature[k],
        actuator_force_limits=joint.actuator_force_limits,
        friction=_friction(joint)[k],
    )


def _ball(joint: Joint, offset: int = 0) -> ExportedJoint:
    """Return a ball joint, for the last three velocities of ``joint``; its zero is the pose of the body."""
    if any(joint.limits[offset:]):
        raise refused("joint", joint.name, f"MJCF has no limits for each axis of a {joint.kind} joint")
    if joint.stiffness and not np.allclose(
        joint.spring_reference[offset:], _IDENTITY, rtol=0.0, atol=SAME_REST
    ):
        raise refused(
            "joint",
            joint.name,
            f"in MJCF the rotation spring of a {joint.kind} joint rests at the quaternion (1, 0, 0, 0) only",
        )
    return ExportedJoint(
        name=joint.name,
        kind="ball",
        anchor=joint.anchor if joint.kind == "spherical" else np.zeros(3),
        velocities=tuple(joint.name + label for label in VELOCITY_LABELS["spherical"]),
        stiffness=joint.stiffness,
        damping=_only(joint, "damping", joint.damping[offset:]),
        armature=_only(joint, "armature", joint.armature[offset:]),
        friction=_only(joint, "friction", _friction(joint)[offset:]),
        limits=None if joint.largest_angle is None else (0.0, joint.largest_angle),
    )


def _friction(joint: Joint) -> tuple[float, ...]:
    return joint.friction or (0.0,) * joint.nv


def _only(joint: Joint, what: str, values: Sequence[float]) -> float:
    if len(set(values)) != 1:
        raise refused(
            "joint", joint.name, f"MJCF has one {what} for the three axes of a ball, got {tuple(values)}"
        )
    return values[0]


def _free(body: Body, joint: Joint) -> tuple[Pose, list[ExportedJoint]]:
    """Return MuJoCo's free joint, or three slides and a ball with the same coordinates.

    The coordinates are the pose of the body in its parent. MuJoCo's free joint is the same for a child of the world
    with one damping and one armature; slides and a ball represent the general case.
    """
    position, quaternion = joint.reference[:3], joint.reference[3:]
    at_rest = joint.stiffness == 0.0 or np.allclose(
        joint.spring_reference, joint.reference, rtol=0.0, atol=SAME_REST
    )
    single = all(len(set(x)) == 1 for x in (joint.damping, joint.armature, _friction(joint)))
    single = single and not any(joint.limits)
    if body.parent == WORLD and at_rest and single:
        alone = ExportedJoint(
            name=joint.name,
            kind="free",
            velocities=joint.velocity_names,
            stiffness=joint.stiffness,
            damping=joint.damping[0],
            armature=joint.armature[0],
            friction=_friction(joint)[0],
        )
        return Pose.of(position, quaternion=quaternion), [alone]
    slides = [_scalar(joint, k, "slide", np.eye(3)[k], np.zeros(3)) for k in range(3)]
    return Pose(np.array(position)), [*slides, _ball(joint, offset=3)]
