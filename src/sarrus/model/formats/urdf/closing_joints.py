"""Loop-closing joints of a URDF file: a link with several parents keeps its first joint, the others are closures.

URDF describes trees, and few readers accept such files. Their meaning is clear: the frame of a joint is the frame of
its child link, at <origin> in the parent.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

from sarrus.base.errors import ModelFileError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.loops import frame_of
from sarrus.model.formats.urdf.plus import KINDS, numbers, origin_pose
from sarrus.model.mechanism.report import Outcome

# Kinds of loops that joints of URDF can have.
_JOINTS = ("revolute", "continuous", "prismatic", "planar", "spherical", "ball", "fixed")
_LOSSES = {"limit": ("lower", "upper"), "dynamics": ("damping", "friction")}

Ends = tuple[str, str]


def take_closing_joints(
    load: Import, root: ElementTree.Element, ends: Mapping[ElementTree.Element, Ends]
) -> list[ElementTree.Element]:
    """Remove the joints whose child has a parent already; raise for links that are each other's parents in a circle.

    ``ends`` maps each joint to its parent and child link.
    """
    parents: dict[str, str] = {}
    closing = []
    for joint, (parent, child) in ends.items():
        if child in parents:
            closing.append(joint)
            root.remove(joint)
        else:
            parents[child] = parent
    circle = _circle(parents)
    if circle:
        names = ", ".join(map(repr, circle))
        raise ModelFileError(
            f"{load.path}: the links {names} are each other's parents in a circle, so that there is no root; "
            "write the joint that closes the loop as <loop> of URDF+",
            element=circle[0],
        )
    return closing


def _circle(parents: Mapping[str, str]) -> list[str]:
    """Return links that form a circle of parents; an empty list if there are none."""
    rooted: set[str] = set()
    for link in parents:
        way: dict[str, None] = {}  # an ordered set
        while link in parents and link not in rooted:
            if link in way:
                links = list(way)
                return links[links.index(link) :][::-1]
            way[link] = None
            link = parents[link]
        rooted.update(way)
    return []


def add_closing_joints(
    load: Import, joints: list[ElementTree.Element], ends: Mapping[ElementTree.Element, Ends]
) -> None:
    """Add closures of the kinds of the removed joints; ``strict=True`` refuses them."""
    for joint in joints:
        name, given = joint.get("name", ""), joint.get("type", "")
        parent, child = ends[joint]
        if given not in _JOINTS:
            reason = f"link {child!r} has another parent, and a joint of type {given!r} closes no loop"
            load.refuse("joint", name, reason, "leave one of the joints of the link")
            continue
        label = f"{load.path}: joint {name!r}"
        axis, place = joint.find("axis"), origin_pose(joint.find("origin"), label, "origin")
        kind = KINDS[given]
        along = "1 0 0" if axis is None or kind in ("weld", "point") else axis.get("xyz", "1 0 0")
        (body1, pose1), (body2, pose2) = (frame_of(load, end, label) for end in (parent, child))
        load.mechanism.add_closure(
            name,
            kind,
            body1,
            body2,
            pose1=pose1 @ place,
            pose2=pose2,
            axis=numbers(along, label, "axis"),
        )
        load.odd("joint", name, f"link {child!r} has another parent: a {kind} closure", Outcome.ACTS)
        if joint.find("mimic") is not None:
            load.refuse(
                "mimic", name, "a closure has no coordinate", "let the first joint of the link carry it"
            )
        lost = [
            tag
            for tag, keys in _LOSSES.items()
            for found in joint.findall(tag)
            if set(keys) & set(found.attrib)
        ]
        if lost:
            load.report.leave_out("joint", name, f"its closure cannot keep <{'>, <'.join(lost)}>")
