"""Forward kinematics of the tree: twists and accelerations, traced over CasADi scalars.

Each node's are in its own axes about its own origin (Featherstone, Rigid Body Dynamics Algorithms, 2008, ch. 5), so the
inertias are constants. Accelerations are spatial and exclude gravity, which travels beside them.
"""

from __future__ import annotations

import casadi as ca

from sarrus.multibody.link import Link
from sarrus.multibody.motion import Motion
from sarrus.multibody.scalars import as_casadi
from sarrus.multibody.tree import Tree


def cross(a: ca.SX | ca.DM, b: ca.SX | ca.DM) -> ca.SX:
    """Return a × b of two 3-vectors, of which one may be constant."""
    return ca.cross(a, b)


def skew(a: ca.SX | ca.DM) -> ca.SX:
    """Return the matrix of a ×."""
    zero = ca.SX(0)
    return ca.vertcat(
        ca.horzcat(zero, -a[2], a[1]), ca.horzcat(a[2], zero, -a[0]), ca.horzcat(-a[1], a[0], zero)
    )


def forward_kinematics(tree: Tree, links: list[Link]) -> list[Motion]:
    """Return the motion of every node."""
    motions: list[Motion] = []
    for node, link in zip(tree.nodes, links):
        parent = motions[node.parent] if node.parent >= 0 else _ground(tree, node.parent)
        back, position = link.rotation.T, link.position
        joint_angular, joint_linear = link.s_angular @ link.rate, link.s_linear @ link.rate
        angular = back @ parent.angular + joint_angular
        linear = back @ (parent.linear + cross(parent.angular, position)) + joint_linear
        angular_bias = back @ parent.angular_bias + cross(angular, joint_angular)
        linear_bias = (
            back @ (parent.linear_bias + cross(parent.angular_bias, position))
            + cross(angular, joint_linear)
            + cross(linear, joint_angular)
        )
        if not link.carried:  # the linear subspace turns against the body: apparent derivative −ω × Rᵀv
            linear_bias -= cross(joint_angular, joint_linear)
        if link.acceleration is not None:
            angular_bias += link.s_angular @ link.acceleration
            linear_bias += link.s_linear @ link.acceleration
        motions.append(Motion(angular, linear, angular_bias, linear_bias, back @ parent.gravity))
    return motions


def _ground(tree: Tree, node: int) -> Motion:
    """Return the motion of the world or of a driven frame."""
    ground = tree.ground(node)
    back = ground.rotation.T
    return Motion(
        back @ ground.spin,
        back @ ground.velocity,
        back @ ground.turning,
        back @ (ground.acceleration - cross(ground.spin, ground.velocity)),
        back @ ca.SX(as_casadi(tree.gravity)),
    )


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
