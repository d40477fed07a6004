"""Forward kinematics of the tree: placements, twists and bias accelerations, traced over CasADi scalars.

Each node's twist and acceleration are in its own axes about its own origin (Featherstone, Rigid Body
Dynamics Algorithms, 2008, ch. 5), so the inertias are constants. Accelerations are spatial and exclude
gravity, which travels beside them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.multibody.jet import Jet
from sarrus.multibody.motion import Motion
from sarrus.multibody.rotations import quaternion_matrix
from sarrus.multibody.scalars import Numbers, as_casadi, place
from sarrus.multibody.tree import Node, Tree


def cross(a: ca.SX | ca.DM, b: ca.SX | ca.DM) -> ca.SX:
    """Return a × b of two 3-vectors, of which one may be constant."""
    return ca.cross(a, b)


def skew(a: ca.SX | ca.DM) -> ca.SX:
    """Return the matrix of a ×."""
    zero = ca.SX(0)
    return ca.vertcat(
        ca.horzcat(zero, -a[2], a[1]), ca.horzcat(a[2], zero, -a[0]), ca.horzcat(-a[1], a[0], zero)
    )


def axis_rotation(axis: Array, angle: ca.SX) -> ca.SX:
    """Return the rotation matrix about a constant unit axis (Rodrigues); zeros stay structural."""
    s, c = ca.sin(angle), ca.cos(angle)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    outer = np.outer(axis, axis)
    return ca.SX(ca.DM(outer)) + c * ca.DM(np.eye(3) - outer) + s * ca.DM(k)


def forward_kinematics(tree: Tree, q: ca.SX, v: ca.SX) -> list[Motion]:
    """Return the motion of every node at coordinates q and velocities v, and behind them those of the grounds.

    The last is the world, before it come the driven frames in reverse: a node below zero counts from the end.
    """
    motions: list[Motion] = []
    grounds = _grounds(tree)
    for node in tree.nodes:
        parent = (motions if node.parent >= 0 else grounds)[node.parent]
        turn, shift, s_angular, s_linear = _joint(node, q)
        placement_rotation = ca.DM(node.placement.rotation)
        rotation = placement_rotation @ turn
        position = as_casadi(node.placement.position) + placement_rotation @ shift
        rate = v[node.iv : node.iv + node.nv]
        joint_angular, joint_linear = s_angular @ rate, s_linear @ rate
        angular = rotation.T @ parent.angular + joint_angular
        linear = rotation.T @ (parent.linear + cross(parent.angular, position)) + joint_linear
        angular_bias = rotation.T @ parent.angular_bias + cross(angular, joint_angular)
        linear_bias = (
            rotation.T @ (parent.linear_bias + cross(parent.angular_bias, position))
            + cross(angular, joint_linear)
            + cross(linear, joint_angular)
        )
        if node.kind == "free":  # its linear subspace turns with the body: apparent derivative −ω × Rᵀv
            linear_bias -= cross(joint_angular, joint_linear)
        motions.append(
            Motion(
                rotation,
                position,
                s_angular,
                s_linear,
                parent.world_rotation @ rotation,
                parent.world_position + parent.world_rotation @ position,
                angular,
                linear,
                angular_bias,
                linear_bias,
                rotation.T @ parent.gravity,
            )
        )
    return motions + grounds


def accelerated(tree: Tree, motions: list[Motion], a: ca.SX) -> list[Motion]:
    """Return the motions with the accelerations of the joints added to their spatial accelerations."""
    out: list[Motion] = []
    added: list[tuple[ca.SX, ca.SX]] = []
    still = ca.SX.zeros(3), ca.SX.zeros(3)
    for node, m in zip(tree.nodes, motions):
        angular, linear = still if node.parent < 0 else added[node.parent]
        own = a[node.iv : node.iv + node.nv]
        here = (
            m.rotation.T @ angular + m.s_angular @ own,
            m.rotation.T @ (linear + cross(angular, m.position)) + m.s_linear @ own,
        )
        added.append(here)
        out.append(replace(m, angular_bias=m.angular_bias + here[0], linear_bias=m.linear_bias + here[1]))
    return out + motions[len(out) :]


def _grounds(tree: Tree) -> list[Motion]:
    """Return the motions of driven frames and of the world, which comes last."""
    zero, eye, gravity = ca.SX.zeros(3), ca.SX(ca.DM.eye(3)), ca.SX(as_casadi(tree.gravity))
    world = Motion(eye, zero, zero, zero, eye, zero, zero, zero, zero, zero, gravity)
    return [*(frame.motion for frame in tree.driven[::-1]), world]


def _joint(node: Node, q: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return rotation, translation and the two halves of the motion subspace of an elementary joint."""
    axis, anchor = ca.DM(node.axis), as_casadi(node.anchor)
    none, eye = ca.SX.zeros(3), ca.SX(ca.DM.eye(3))
    if node.kind == "spherical":
        turn = quaternion_matrix(q[node.iq : node.iq + 4])
        return turn, anchor - turn @ anchor, eye, skew(ca.SX(anchor))
    if node.kind == "free":
        turn = quaternion_matrix(q[node.iq + 3 : node.iq + 7])
        s_angular = ca.horzcat(ca.SX.zeros(3, 3), eye)
        return turn, q[node.iq : node.iq + 3], s_angular, ca.horzcat(turn.T, ca.SX.zeros(3, 3))
    displacement = q[node.iq] - node.reference
    if node.kind == "prismatic":
        return eye, axis * displacement, none, ca.SX(axis)
    turn = axis_rotation(node.axis, displacement)
    shift = anchor - turn @ anchor
    lever = ca.SX(cross(anchor, axis))
    if node.kind == "screw":
        lead = node.pitch / (2 * np.pi)
        return turn, shift + axis * (lead * displacement), ca.SX(axis), lever + axis * lead
    return turn, shift, ca.SX(axis), lever


def coordinate_rate(tree: Tree, q: ca.SX, v: ca.SX) -> ca.SX:
    """Return q̇ = N(q) v: quaternions turn by their body-axes angular velocity, q̇ = ½ q ∘ (0, ω)."""
    rates = []
    for node in tree.nodes:
        rate = v[node.iv : node.iv + node.nv]
        if node.kind in ("spherical", "free"):
            if node.kind == "free":
                rates.append(rate[:3])
                rate = rate[3:]
            w, x, y, z = ca.vertsplit(q[node.iq + node.nq - 4 : node.iq + node.nq])
            rates.append(
                0.5
                * ca.vertcat(
                    -x * rate[0] - y * rate[1] - z * rate[2],
                    w * rate[0] + y * rate[2] - z * rate[1],
                    w * rate[1] + z * rate[0] - x * rate[2],
                    w * rate[2] + x * rate[1] - y * rate[0],
                )
            )
        else:
            rates.append(rate)
    return ca.vertcat(*rates)


class JetFrames(Protocol):
    """What rows of constraints are made of: jets of points and directions fixed to bodies, all in the same axes."""

    def point(self, body: str, point: Array) -> Jet:
        """Return the jet of a point given in body axes [m]."""

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""


class Frames:
    """Jets of points and directions fixed to bodies, in world axes."""

    def __init__(self, tree: Tree, motions: list[Motion]) -> None:
        self._tree = tree
        self._motions = motions

    def point(self, body: str, point: Numbers) -> Jet:
        """Return the jet of a point given in body axes [m]."""
        index, pose = self._tree.location[body]
        r = as_casadi(place(pose, point))
        m = self._motions[index]
        velocity = m.linear + cross(m.angular, r)
        bias = m.linear_bias + cross(m.angular_bias, r) + cross(m.angular, velocity)
        return Jet(
            m.world_position + m.world_rotation @ r, m.world_rotation @ velocity, m.world_rotation @ bias
        )

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""
        index, pose = self._tree.location[body]
        d = ca.DM(pose.rotation @ direction)
        m = self._motions[index]
        rate = cross(m.angular, d)
        bias = cross(m.angular_bias, d) + cross(m.angular, rate)
        return Jet(m.world_rotation @ d, m.world_rotation @ rate, m.world_rotation @ bias)

    def angular_velocity(self, body: str) -> ca.SX:
        """Return the angular velocity of a body in world axes."""
        return self.spin(self._tree.location[body][0])

    def spin(self, node: int) -> ca.SX:
        """Return the angular velocity of a node, or of the ground, in world axes."""
        return self._motions[node].world_rotation @ self._motions[node].angular

    def angular_acceleration(self, body: str) -> ca.SX:
        """Return the angular acceleration of a body in world axes, without accelerations of joints or with them."""
        index, _ = self._tree.location[body]
        m = self._motions[index]
        return m.world_rotation @ m.angular_bias

    def placement(self, body: str) -> tuple[ca.SX, ca.SX]:
        """Return position and rotation of the body frame in the world."""
        index, pose = self._tree.location[body]
        m = self._motions[index]
        position = m.world_position + m.world_rotation @ as_casadi(pose.position)
        return position, m.world_rotation @ ca.DM(pose.rotation)
