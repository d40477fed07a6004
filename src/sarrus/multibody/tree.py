"""The kinematic tree of elementary joints, made from a `Mechanism`.

Composite joints become elementary ones in series; bodies on fixed joints merge into the node that carries
them. What is left are nodes with one elementary joint each: revolute, prismatic, screw, spherical, free.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sarrus.mechanism.elements import WORLD, Joint
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Array, Pose

GROUND = -1


@dataclass
class Node:
    """One elementary joint and the rigid body behind it; vectors in the node's own axes, about its origin.

    ``placement`` is the node's frame in its parent's at the joint's reference; ``iq``, ``iv`` are the
    offsets of its coordinates and velocities. ``com`` and ``inertia`` (about com) of everything rigid on it.
    """

    kind: str
    parent: int
    placement: Pose
    axis: Array
    anchor: Array
    pitch: float
    reference: float
    iq: int
    iv: int
    armature: tuple[float, ...]
    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return {"spherical": 3, "free": 6}.get(self.kind, 1)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return {"spherical": 4, "free": 7}.get(self.kind, 1)

    def attach(self, mass: float, com: Array, inertia: Array) -> None:
        """Add a rigid body, given in the node's axes (parallel-axis theorem)."""
        total = self.mass + mass
        share = mass / total if total > 0.0 else 0.5
        joint_com = (1.0 - share) * self.com + share * com
        moved = np.zeros((3, 3))
        for m, c, matrix in ((self.mass, self.com, self.inertia), (mass, com, inertia)):
            d = c - joint_com
            moved += matrix + m * ((d @ d) * np.eye(3) - np.outer(d, d))
        if self.mass == 0.0 and not self.inertia.any():
            joint_com, moved = com.copy(), inertia.copy()
        self.mass, self.com, self.inertia = total, joint_com, moved


@dataclass(frozen=True)
class Tree:
    """Nodes, parents before children, and where each body of the mechanism sits: (node, pose in it)."""

    nodes: tuple[Node, ...]
    location: dict[str, tuple[int, Pose]]
    nq: int
    nv: int
    gravity: Array


def build_tree(mechanism: Mechanism) -> Tree:
    """Return the tree of elementary joints of a checked mechanism."""
    nodes: list[Node] = []
    location: dict[str, tuple[int, Pose]] = {WORLD: (GROUND, Pose())}
    iq = iv = 0
    for body in mechanism.bodies.values():
        parent, parent_pose = location[body.parent]
        # A free joint's coordinates are the pose in the parent; only other joints start from the placement.
        free = bool(body.joints) and body.joints[0].kind == "free"
        placement = parent_pose if free else parent_pose @ body.placement
        for joint in body.joints:
            for kind, axis, k in _elementary(joint):
                node = Node(
                    kind=kind,
                    parent=parent,
                    placement=placement,
                    axis=axis,
                    anchor=joint.anchor,
                    pitch=joint.pitch,
                    reference=0.0 if kind in ("spherical", "free") else joint.reference[k],
                    iq=iq,
                    iv=iv,
                    armature=joint.armature if kind in ("spherical", "free") else (joint.armature[k],),
                )
                nodes.append(node)
                iq, iv = iq + node.nq, iv + node.nv
                parent, placement = len(nodes) - 1, Pose()
        location[body.name] = (parent, placement)
        if parent != GROUND:
            r = placement.rotation
            nodes[parent].attach(body.mass, placement.apply(body.com), r @ body.inertia @ r.T)
    return Tree(tuple(nodes), location, iq, iv, mechanism.gravity)


def _elementary(joint: Joint) -> list[tuple[str, Array, int]]:
    """Return (kind, axis, index in the joint) of the elementary joints in series."""
    if joint.kind == "cylindrical":
        return [("prismatic", joint.axis, 0), ("revolute", joint.axis, 1)]
    if joint.kind == "universal":
        return [("revolute", joint.axis, 0), ("revolute", joint.axis2, 1)]
    if joint.kind == "planar":
        across = np.cross(joint.axis, joint.axis2)
        return [("prismatic", joint.axis2, 0), ("prismatic", across, 1), ("revolute", joint.axis, 2)]
    return [(joint.kind, joint.axis, 0)]
