"""Couplings of joints in SDF: ``<mimic>`` of an axis and the ``gearbox`` joint, as linear couplings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.formats.importing import Import
from sarrus.model.formats.sdf.joints import Mimic, SdfJoint
from sarrus.model.formats.sdf.tolerances import PARALLEL_IN_FILE


def coupled_joints(joints: Sequence[SdfJoint], gearboxes: Sequence[SdfJoint]) -> set[str]:
    """Return the names of the joints whose coordinates are in a mimic or a gearbox."""
    names = {name for joint, _, mimic in _mimics(joints) for name in (joint.name, mimic.leader)}
    angles = [angle for gearbox in gearboxes for angle in _angles(gearbox, joints)]
    return names | {angle[0] for angle in angles if angle is not None}


def add_couplings(importing: Import, joints: Sequence[SdfJoint], gearboxes: Sequence[SdfJoint]) -> None:
    """Add all mimics and gearboxes; one without a coordinate of the tree is refused."""
    by_name = {joint.name: joint for joint in joints}
    for joint, tag, mimic in _mimics(joints):
        follower, leader = joint.coordinate(tag), mimic.leader
        if leader in by_name:
            leader = by_name[leader].coordinate(mimic.leader_axis)
        name = f"{follower}.mimic"
        if _available(importing, "mimic", name, (follower, leader)):
            terms = {follower: (-mimic.offset, 1.0), leader: (0.0, -mimic.multiplier)}
            importing.mechanism.add_coupling(name, terms, references={leader: mimic.reference})
            importing.report.act("mimic", name, f"{follower!r} follows {leader!r}")
    for gearbox in gearboxes:
        _add_gearbox(importing, gearbox, joints)


def _mimics(joints: Sequence[SdfJoint]) -> Iterator[tuple[SdfJoint, str, Mimic]]:
    for joint in joints:
        for tag, axis in zip(("axis", "axis2"), joint.axes):
            if axis.mimic is not None:
                yield joint, tag, axis.mimic


def _add_gearbox(importing: Import, gearbox: SdfJoint, joints: Sequence[SdfJoint]) -> None:
    """Add θ2 + ratio × θ1 = 0.

    θ1 is the angle about ``axis`` from the reference body to the parent, θ2 the angle about ``axis2`` from
    the reference body to the child: coordinates, up to their signs, of hinges along these axes.
    """
    one, two = _angles(gearbox, joints)
    if one is None or two is None:
        body, axis = (gearbox.parent, "axis") if one is None else (gearbox.child, "axis2")
        reference = gearbox.reference_body or "gearbox_reference_body (missing)"
        importing.refuse(
            "gearbox",
            gearbox.name,
            f"no revolute joint along its <{axis}> connects {reference!r} and {body!r}",
            "give the reference body revolute joints along the two axes, to the parent and to the child",
        )
    elif _available(importing, "gearbox", gearbox.name, (one[0], two[0])):
        terms = {two[0]: two[1], one[0]: gearbox.ratio * one[1]}
        importing.mechanism.add_coupling(gearbox.name, terms)
        importing.report.act("gearbox", gearbox.name, f"couples {one[0]!r} and {two[0]!r}")


def _angles(gearbox: SdfJoint, joints: Sequence[SdfJoint]) -> list[tuple[str, float] | None]:
    """Return, for θ1 and θ2, the hinge with this coordinate and the sign, or None."""
    ends = zip((gearbox.parent, gearbox.child), gearbox.axes)
    return [_angle(gearbox, end, gearbox.pose.rotation @ axis.xyz, joints) for end, axis in ends]


def _angle(gearbox: SdfJoint, end: str, axis: Array, joints: Sequence[SdfJoint]) -> tuple[str, float] | None:
    for joint in joints:
        hinge = joint.kind in ("revolute", "continuous")
        if hinge and {joint.parent, joint.child} == {gearbox.reference_body, end}:
            cosine = float((joint.pose.rotation @ joint.axes[0].xyz) @ axis)
            if abs(abs(cosine) - 1.0) < PARALLEL_IN_FILE:
                return joint.name, float(np.sign(cosine)) * (1.0 if joint.child == end else -1.0)
    return None


def _available(importing: Import, kind: str, name: str, needed: Sequence[str]) -> bool:
    """Refuse a coupling unless all its joints are scalar coordinates of the tree."""
    velocities = importing.mechanism.velocity_names
    scalar = [c for c in importing.mechanism.coordinate_names if c in velocities]
    missing = [coordinate for coordinate in needed if coordinate not in scalar]
    if missing:
        importing.refuse(
            kind,
            name,
            f"{missing[0]!r} is no scalar coordinate of the tree; these are: {', '.join(scalar)}",
            "mark another joint of the loop with must_be_loop_joint",
        )
    return not missing
