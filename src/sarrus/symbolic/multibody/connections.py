"""Connections of the bodies of a mechanism: joints, fixed bodies, closures, contacts, rolling elements.

Each has a point, own axes, and a wrench that it transmits. Own axes: z along the joint axis, x along its second axis
or, without one, a normal of the first; the axes of the bodies for kinds without an axis; n, t1, t2 of a contact;
normal, longitudinal and lateral of a rolling element, for a ball the normal and the tangents of the plane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD, Closure, Contact
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.model.mechanism.rolling import Rolling
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.scalars import as_casadi
from sarrus.symbolic.multibody.cuts import Cuts, Wrench
from sarrus.symbolic.rows.contacts import ContactElement, elements_of_contacts, motion_in
from sarrus.symbolic.rows.rolling import rolling_frame

# Components of force (0, 1, 2) and couple (3, 4, 5) along own axes in which a kind moves freely; forces along them
# belong to its drive: motors, springs, dampers, dry friction, stops.
FREE: dict[str, tuple[int, ...]] = {
    "fixed": (),
    "driven": (),
    "revolute": (5,),
    "prismatic": (2,),
    "screw": (5,),
    "cylindrical": (2, 5),
    "universal": (3, 5),
    "planar": (0, 1, 5),
    "spherical": (3, 4, 5),
    "free": (0, 1, 2, 3, 4, 5),
    "weld": (),
    "point": (3, 4, 5),
    "distance": (0, 1, 3, 4, 5),
    "point_on_line": (2, 3, 4, 5),
    "point_on_plane": (0, 1, 3, 4, 5),
    "stick": (3, 4, 5),
    "frictionless": (1, 2, 3, 4, 5),
    "coulomb": (),
    "rolling": (3, 4, 5),
    "rolling on a line": (5,),
}
# Kinds of connections of the tree.
_IN_TREE = ("joint", "fixed", "driven")


@dataclass(frozen=True)
class Connection:
    """A connection of two bodies: its name and kind.

    ``what``: joint, fixed, driven, closure, contact (a constraint), rolling, touch (with Coulomb friction). ``label``
    is the name, with ``what`` before it if several connections have this name. Its wrench acts on ``body``, from
    ``on``. ``pitch`` is the pitch of a screw [m].
    """

    label: str
    name: str
    what: str
    kind: str
    body: str
    on: str
    pitch: float = 0.0

    @property
    def free(self) -> tuple[int, ...]:
        """Components along own axes in which it moves freely; the components of a screw are not among them."""
        return FREE[self.kind]

    @property
    def carried(self) -> Array:
        """Projector (6, 6) on the part of a wrench along own axes that the bearing carries; the rest is its drive's.

        It does no work in the motions of the joint. The drive of a screw is the couple about its axis; its thread
        carries the force along the axis with the corresponding couple.
        """
        part = np.eye(6)
        if self.what == "joint":
            part[list(self.free)] = 0.0
        if self.what == "joint" and self.kind == "screw":
            part[5] = [0.0, 0.0, -self.pitch / (2.0 * np.pi), 0.0, 0.0, 0.0]
        return part


def connections(mechanism: Mechanism) -> tuple[Connection, ...]:
    """Return all connections: tree, depth first, then closures, contacts, and rolling elements."""
    found = list(_connections(mechanism))
    count = Counter(one.name for one in found)
    return tuple(
        one if count[one.name] == 1 else replace(one, label=f"{one.what}:{one.name}") for one in found
    )


def _connections(mechanism: Mechanism) -> Iterator[Connection]:
    def one(name: str, what: str, kind: str, body: str, on: str, pitch: float = 0.0) -> Connection:
        return Connection(name, name, what, kind, body, on, pitch)

    for body in mechanism.bodies.values():
        for joint in body.joints:
            yield one(joint.name, "joint", joint.kind, body.name, body.parent, joint.pitch)
        if not body.joints:
            driven = mechanism.driven_bodies.get(body.name)
            what = "fixed" if driven is None or driven.function is None else "driven"
            yield one(body.name, what, what, body.name, body.parent)
    for closure in mechanism.closures.values():
        yield one(closure.name, "closure", closure.kind, closure.body2, closure.body1, closure.pitch)
    for contact in mechanism.contacts.values():
        if not contact.slides:
            yield one(contact.name, "contact", contact.friction, contact.body, contact.ground)
    for rolling in mechanism.rollings.values():
        kind = "rolling on a line" if rolling.kind == "cone" else "rolling"
        yield one(rolling.name, "rolling", kind, rolling.body, rolling.ground)
    for contact_element in elements_of_contacts(mechanism):
        yield one(
            contact_element.name, "contact_element", "coulomb", contact_element.body, contact_element.ground
        )


def loads(cuts: Cuts) -> dict[str, ca.SX]:
    """Return for all connections ``force``, ``couple`` about their points, ``point`` (3 each) and ``axes`` (9, rows).

    All are in world axes. A body with several joints in series has the same wrench in each of them.
    """
    return _stacked(cuts, with_places=True)


def changes(cuts: Cuts, forces: ca.SX, ways: ca.SX) -> dict[str, ca.SX]:
    """Return the changes of the forces and couples of all connections along a direction of multipliers and pushes."""
    found = _stacked(cuts, with_places=False)
    return {name: ca.jtimes(part, forces, ways) for name, part in found.items()}


def load(cuts: Cuts, one: Connection) -> tuple[Wrench, ca.SX]:
    """Return the wrench of one connection about its point in world axes, and its own axes as columns."""
    through = cuts.through_joint(one.body) if one.what in _IN_TREE else None
    return _load(cuts, one, _joints(cuts), _touched(cuts), through)


def _stacked(cuts: Cuts, *, with_places: bool) -> dict[str, ca.SX]:
    placed, touched = _joints(cuts), _touched(cuts)
    parts: dict[str, list[ca.SX]] = {"force": [], "couple": [], "point": [], "axes": []}
    through = {name: cuts.through_joint(name) for name in cuts.bodies}
    for one in connections(cuts.mechanism):
        given, axes = _load(cuts, one, placed, touched, through.get(one.body))
        parts["force"].append(given.force)
        parts["couple"].append(given.torque)
        parts["point"].append(given.point)
        parts["axes"].append(ca.vec(axes))  # by columns: rows are the axes
    kept = parts if with_places else {name: parts[name] for name in ("force", "couple")}
    return {name: ca.densify(ca.vertcat(ca.SX(0, 1), *part)) for name, part in kept.items()}


def _load(
    cuts: Cuts,
    one: Connection,
    placed: dict[str, tuple[ca.SX, ca.SX]],
    touched: dict[str, ContactElement],
    through: Wrench | None,
) -> tuple[Wrench, ca.SX]:
    """Return the wrench of a connection about its point, and its axes; ``through`` is the wrench of its joints."""
    mechanism = cuts.mechanism
    if one.what in _IN_TREE:
        assert through is not None
        point, axes = placed[one.name] if one.what == "joint" else cuts.frames.placement(one.body)
        return through.about(point), axes
    rolling = mechanism.rollings.get(one.name) if one.what == "rolling" else None
    names = [one.name] if rolling is None else [part.name for part in rolling.parts]
    wrench = cuts.on_body(names, one.body, one.on)
    if rolling is not None:
        point, axes = _of_rolling(rolling, cuts.frames)
    elif one.what == "closure":
        point, axes = _of_closure(mechanism.closures[one.name], cuts.frames)
    else:
        point, axes = _of_contact(touched.get(one.name) or mechanism.contacts[one.name], cuts)
    return wrench.about(point), axes


def _touched(cuts: Cuts) -> dict[str, ContactElement]:
    return {contact_element.name: contact_element for contact_element in elements_of_contacts(cuts.mechanism)}


def _joints(cuts: Cuts) -> dict[str, tuple[ca.SX, ca.SX]]:
    """Return anchor and own axes of every joint in the world."""
    tree, index, found = cuts.tree, 0, {}
    for body in cuts.bodies.values():
        if not body.joints:
            continue
        count = sum(len(joint.series) for joint in body.joints)
        nodes = range(index, index := index + count)
        # own axes of each node in those of the body, from the last one back
        own = [np.asarray(tree.location[body.name][1].rotation).T]
        for node in reversed(nodes[1:]):
            own.insert(0, own[0] @ np.asarray(tree.nodes[node].placement.rotation).T)
        start = 0
        for joint in body.joints:
            part = slice(start, start := start + len(joint.series))
            found[joint.name] = _of_joint(cuts, joint, nodes[part], own[start - 1])
    return found


def _of_joint(cuts: Cuts, joint: Joint, nodes: range, own: np.ndarray) -> tuple[ca.SX, ca.SX]:
    """Return anchor and axes of a joint of these nodes; ``own`` are the axes of the last node in its body."""
    tree, last = cuts.tree, nodes[-1]
    position, rotation = cuts.frames.node(last)
    anchor = position + rotation @ as_casadi(tree.nodes[last].anchor)
    if joint.kind == "spherical":
        return anchor, rotation @ ca.DM(own.T)
    if joint.kind == "free":
        return position, rotation @ ca.DM(own.T)
    ways = [cuts.frames.node(node)[1] @ ca.DM(tree.nodes[node].axis) for node in nodes]
    if joint.kind == "planar":
        return anchor, ca.horzcat(*ways)
    z = ways[0]
    x = ways[1] if joint.kind == "universal" else rotation @ ca.DM(own.T @ perpendicular_to(joint.axis))
    return anchor, ca.horzcat(x, cross(z, x), z)


def _of_closure(closure: Closure, frames: Frames) -> tuple[ca.SX, ca.SX]:
    """Return the point where a closure acts on body 2, and its axes."""
    point = frames.point(closure.body2, closure.pose2.position).value
    one, two = (
        ca.SX(ca.DM.eye(3)) if body == WORLD else frames.placement(body)[1]
        for body in (closure.body1, closure.body2)
    )
    if closure.kind in ("weld", "point"):
        return point, two @ ca.DM(closure.pose2.rotation)
    if closure.kind == "distance":
        z = point - frames.point(closure.body1, closure.pose1.position).value
        z = z / ca.norm_2(z)
        x = cross(_aside(z), z)
        x = x / ca.norm_2(x)
    else:
        z = one @ ca.DM(closure.axis1)
        crossed = closure.kind == "universal"
        x = two @ ca.DM(closure.axis2) if crossed else one @ ca.DM(perpendicular_to(closure.axis1))
    return point, ca.horzcat(x, cross(z, x), z)


def _of_contact(contact: Contact | ContactElement, cuts: Cuts) -> tuple[ca.SX, ca.SX]:
    """Return the contact point, and its normal and tangents."""
    motion = motion_in(contact, cuts.mechanism, cuts.frames)
    return motion.point, ca.horzcat(*motion.axes)


def _of_rolling(rolling: Rolling, frames: Frames) -> tuple[ca.SX, ca.SX]:
    """Return the contact point (apex of a cone) and the axes: normal, longitudinal and lateral, or tangents."""
    frame = rolling_frame(rolling, frames)
    point = frame.centre.value if rolling.kind == "cone" else frame.centre.value + frame.arm.value
    return point, ca.horzcat(*frame.directions)


def _aside(z: ca.SX) -> ca.SX:
    """Return the world axis with the smallest component along a direction, the first of equal ones."""
    a, b, c = ca.vertsplit(ca.fabs(z))
    x, y, w = (ca.SX(ca.DM.eye(3)[:, k]) for k in range(3))
    return ca.if_else(ca.logic_and(a <= b, a <= c), x, ca.if_else(b <= c, y, w))
