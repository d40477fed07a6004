"""`Link`: placement and motion subspace of a node behind an elementary joint."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.symbolic.kinematics.rotations import quaternion_matrix
from sarrus.symbolic.kinematics.scalars import as_casadi
from sarrus.symbolic.kinematics.tree import Node, Tree


@dataclass(frozen=True)
class Link:
    """A joint at (q, v), with accelerations if given.

    ``rotation``, ``position`` place the node's frame in its parent's. ``s_angular``, ``s_linear`` are the motion
    subspace (3 × nv each) in the node's axes about its origin, ``angular``, ``linear`` the same in the parent's axes.
    ``carried`` is True if the motion subspace turns with the node, False for the translations of a free joint.
    """

    rotation: ca.SX
    position: ca.SX
    s_angular: ca.SX
    s_linear: ca.SX
    angular: ca.SX
    linear: ca.SX
    rate: ca.SX
    acceleration: ca.SX | None
    carried: bool


def links(tree: Tree, q: ca.SX, v: ca.SX, a: ca.SX | None = None) -> list[Link]:
    """Return the links of all nodes."""
    return [_link(node, q, v, a) for node in tree.nodes]


def _link(node: Node, q: ca.SX, v: ca.SX, a: ca.SX | None) -> Link:
    turn, shift, (s_angular, s_linear), (angular, linear) = _joint(node, q)
    own, placed = slice(node.iv, node.iv + node.nv), ca.DM(node.placement.rotation)
    return Link(
        rotation=placed @ turn,
        position=as_casadi(node.placement.position) + placed @ shift,
        s_angular=s_angular,
        s_linear=s_linear,
        angular=placed @ angular,
        linear=placed @ linear,
        rate=v[own],
        acceleration=None if a is None else a[own],
        carried=node.kind != "free",
    )


Subspace = tuple[ca.SX, ca.SX]


def _joint(node: Node, q: ca.SX) -> tuple[ca.SX, ca.SX, Subspace, Subspace]:
    """Return rotation and translation of an elementary joint, and its motion subspace in node and in parent axes.

    The subspaces have an angular and a linear part; the linear part refers to the node's origin behind the joint.
    """
    axis, anchor = ca.DM(node.axis), as_casadi(node.anchor)
    none, eye = ca.SX.zeros(3), ca.SX(ca.DM.eye(3))
    if node.kind == "spherical":
        turn = quaternion_matrix(q[node.iq : node.iq + 4])
        arm = ca.skew(ca.SX(anchor))
        return turn, anchor - turn @ anchor, (eye, arm), (turn, turn @ arm)
    if node.kind == "free":
        turn, still = quaternion_matrix(q[node.iq + 3 : node.iq + 7]), ca.SX(3, 3)
        angular, linear = ca.horzcat(still, turn), ca.horzcat(eye, still)
        own = ca.horzcat(still, eye), ca.horzcat(turn.T, still)
        return turn, q[node.iq : node.iq + 3], own, (angular, linear)
    displacement = q[node.iq] - node.reference
    if node.kind == "prismatic":
        return eye, axis * displacement, (none, ca.SX(axis)), (none, ca.SX(axis))
    turn = axis_rotation(node.axis, displacement)
    turned = turn @ anchor
    shift, lever, turned_lever = anchor - turned, ca.cross(anchor, axis), ca.cross(turned, axis)
    if node.kind == "screw":
        lead = node.pitch / (2 * np.pi)
        shift, lever, turned_lever = (
            shift + axis * (lead * displacement),
            lever + axis * lead,
            turned_lever + axis * lead,
        )
    return turn, shift, (ca.SX(axis), ca.SX(lever)), (ca.SX(axis), ca.SX(turned_lever))


def axis_rotation(axis: Array, angle: ca.SX) -> ca.SX:
    """Return the rotation matrix about a constant unit axis (Rodrigues); zeros stay structural."""
    s, c = ca.sin(angle), ca.cos(angle)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    outer = np.outer(axis, axis)
    return ca.SX(ca.DM(outer)) + c * ca.DM(np.eye(3) - outer) + s * ca.DM(k)
