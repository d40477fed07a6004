"""The kinematic tree of elementary joints, made from a `Mechanism`.

Composite joints become elementary ones in series; bodies on fixed joints merge into the node that carries them. The
tree has nodes with one elementary joint each: revolute, prismatic, screw, spherical, free.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD, Body
from sarrus.model.mechanism.pose import Pose, clean, perpendicular_to, quaternion_of_rotation, times
from sarrus.symbolic.kinematics.driven import Ground, driven_ground
from sarrus.symbolic.kinematics.rotations import conjugate, product
from sarrus.symbolic.kinematics.scalars import AnyPose, Numbers, as_casadi, compose, is_driven, place

GROUND = -1


@dataclass(frozen=True)
class RigidPart:
    """A rigid part of a node, in the node's axes: mass, centre of mass and inertia about the centre of mass."""

    mass: float | ca.SX
    com: Numbers
    inertia: Numbers

    @classmethod
    def of(cls, body: Body, pose: AnyPose) -> RigidPart:
        """Return the part of a body at ``pose`` in the node."""
        if is_driven(body.inertia):
            r = ca.DM(pose.rotation)
            return cls(body.mass, place(pose, body.com), r @ body.inertia @ r.T)
        turned = times(times(pose.rotation, body.inertia), pose.rotation.T)
        return cls(body.mass, place(pose, body.com), turned)

    @property
    def driven(self) -> bool:
        """Whether the part depends on parameters."""
        return any(map(is_driven, (self.mass, self.com, self.inertia)))

    @property
    def moment(self) -> ca.DM | ca.SX:
        """Mass times the centre of mass."""
        return self.mass * as_casadi(self.com)

    @property
    def inertia_about_origin(self) -> Numbers:
        """Inertia about the node's origin (parallel-axis theorem)."""
        if self.driven:
            c = ca.SX(as_casadi(self.com))
            return as_casadi(self.inertia) + self.mass * (ca.dot(c, c) * ca.DM.eye(3) - c @ c.T)
        return self.inertia + self.mass * (
            times(self.com, self.com) * np.eye(3) - np.outer(self.com, self.com)
        )


@dataclass
class Node:
    """One elementary joint and the rigid body behind it; vectors in the node's own axes, about its origin.

    Its frame is near the frame of the body: origin on the joint axis, one of its own axes along the joint axis.

    ``placement`` is the node's frame in its parent's at the joint's reference; ``iq``, ``iv`` are the
    offsets of its coordinates and velocities. ``parts`` are fixed to it: one for all constant bodies, and one for each
    body that depends on parameters.
    """

    kind: str
    parent: int
    placement: AnyPose
    axis: Array
    anchor: Numbers
    pitch: float | ca.SX
    reference: float
    iq: int
    iv: int
    armature: tuple[float | ca.SX, ...]
    parts: list[RigidPart] = field(default_factory=list)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return {"spherical": 3, "free": 6}.get(self.kind, 1)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return {"spherical": 4, "free": 7}.get(self.kind, 1)

    def attach(self, part: RigidPart) -> None:
        """Add a rigid part; constant parts merge into one (parallel-axis theorem)."""
        if part.driven:
            self.parts.append(part)
            return
        if part.mass == 0.0 and not np.any(part.inertia):
            return
        if not self.parts or self.parts[0].driven:
            self.parts.insert(0, part)
            return
        before = self.parts[0]
        total = before.mass + part.mass
        share = part.mass / total if total > 0.0 else 0.5
        joint_com = (1.0 - share) * before.com + share * part.com
        moved = np.zeros((3, 3))
        for one in (before, part):
            d = one.com - joint_com
            moved += one.inertia + one.mass * (times(d, d) * np.eye(3) - np.outer(d, d))
        self.parts[0] = RigidPart(total, joint_com, moved)


@dataclass(frozen=True)
class Tree:
    """Nodes, parents before children, and the place of each body of the mechanism: (node, pose in it).

    Nodes below zero are grounds: −1 the world, −2 − k the frame ``driven[k]``, which moves with time.
    """

    nodes: tuple[Node, ...]
    location: dict[str, tuple[int, AnyPose]]
    nq: int
    nv: int
    gravity: Numbers
    driven: tuple[Ground, ...] = ()

    def ground(self, node: int) -> Ground:
        """Return the ground with a number below zero."""
        return Ground.at_rest() if node == GROUND else self.driven[GROUND - 1 - node]


def build_tree(mechanism: Mechanism, t: ca.SX) -> Tree:
    """Return the tree of elementary joints of a checked mechanism; ``t`` is the symbol of time."""
    nodes: list[Node] = []
    location: dict[str, tuple[int, AnyPose]] = {WORLD: (GROUND, Pose())}
    driven: list[Ground] = []
    iq = iv = 0
    for body in mechanism.bodies.values():
        motion = mechanism.driven_bodies.get(body.name)
        if motion is not None and motion.function is not None:
            driven.append(driven_ground(motion, body.placement, t))
            location[body.name] = (GROUND - len(driven), Pose())
            continue
        parent, parent_pose = location[body.parent]
        # coordinates of a free joint are the pose in the parent; other joints start from the placement
        free = bool(body.joints) and body.joints[0].kind == "free"
        placement = parent_pose if free else compose(parent_pose, body.placement)
        for joint in body.joints:
            for k, (kind, axis) in enumerate(joint.series):
                own = _own_frame(kind, axis, joint.anchor, placement)
                node = Node(
                    kind=kind,
                    parent=parent,
                    placement=compose(placement, own),
                    axis=clean(times(own.rotation.T, axis)),
                    anchor=place(own.inverse(), joint.anchor),
                    pitch=joint.pitch,
                    reference=0.0 if kind in ("spherical", "free") else joint.reference[k],
                    iq=iq,
                    iv=iv,
                    armature=joint.armature if kind in ("spherical", "free") else (joint.armature[k],),
                )
                nodes.append(node)
                iq, iv = iq + node.nq, iv + node.nv
                parent, placement = len(nodes) - 1, own.inverse()
        location[body.name] = (parent, placement)
        if parent >= 0:
            nodes[parent].attach(RigidPart.of(body, placement))
    return Tree(tuple(nodes), location, iq, iv, mechanism.gravity, tuple(driven))


def _own_frame(kind: str, axis: Array, anchor: Numbers, placement: AnyPose) -> Pose:
    """Return the frame of a node in the frame in which its joint is given, chosen so that many numbers are zero.

    One of its axes is the joint axis. Its origin is the point of the joint axis closest to the parent's origin, if
    the axis is along one of the parent's axes.
    """
    if kind in ("spherical", "free"):
        return Pose()
    origin = anchor if isinstance(anchor, np.ndarray) else np.zeros(3)
    parallel = clean(times(placement.rotation, axis))
    if np.count_nonzero(parallel) == 1 and isinstance(placement, Pose):
        origin = origin - times(parallel, placement.apply(origin)) * axis
    if np.count_nonzero(axis) == 1:
        return Pose(origin)
    first = perpendicular_to(axis)
    return Pose(origin, np.column_stack([first, np.cross(axis, first), axis]))


def world_quaternion(tree: Tree, body: str, q: ca.SX) -> ca.SX:
    """Return the rotation from world axes to axes of a body, the product of quaternions along the tree: no jumps."""
    return _turn(tree, body, way(tree, body), q)


def relative_quaternion(tree: Tree, reference: str, body: str, q: ca.SX) -> ca.SX:
    """Return the rotation from the axes of one body to the axes of another, without their common ancestors."""
    ways = [way(tree, name) for name in (reference, body)]
    shared = _shared(*ways)
    turns = [_turn(tree, name, on[shared:], q) for name, on in zip((reference, body), ways)]
    return product(conjugate(turns[0]), turns[1])


def way(tree: Tree, body: str) -> list[int]:
    """Return the nodes from the ground (excluded) to a body, in order."""
    out = [tree.location[body][0]]
    while out[0] >= 0:
        out.insert(0, tree.nodes[out[0]].parent)
    return out


def _shared(one: list[int], two: list[int]) -> int:
    return next((k for k, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))


def _turn(tree: Tree, body: str, on: list[int], q: ca.SX) -> ca.SX:
    """Return the rotation along the nodes ``on`` to a body."""
    total = ca.SX([1, 0, 0, 0])
    for node in on:
        if node >= 0:
            total = product(
                product(total, _quaternion(tree.nodes[node].placement.rotation)), _joint(tree, node, q)
            )
        elif node != GROUND:
            total = tree.ground(node).quaternion
    return product(total, _quaternion(tree.location[body][1].rotation))


def _quaternion(rotation: Array) -> ca.DM:
    return ca.DM(quaternion_of_rotation(rotation))


def _joint(tree: Tree, index: int, q: ca.SX) -> ca.SX:
    node = tree.nodes[index]
    if node.kind in ("spherical", "free"):
        return q[node.iq + node.nq - 4 : node.iq + node.nq]
    if node.kind == "prismatic":
        return ca.SX([1, 0, 0, 0])
    half = 0.5 * (q[node.iq] - node.reference)
    return ca.vertcat(ca.cos(half), ca.sin(half) * ca.DM(node.axis))
