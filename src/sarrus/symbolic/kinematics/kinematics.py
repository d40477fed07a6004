"""Forward kinematics of the tree: angular velocities and accelerations, traced over CasADi scalars.

The vectors of each node are in its own axes, so its inertia is constant. Accelerations of origins have gravity
subtracted (Luh, Walker and Paul, J. Dyn. Syst. Meas. Control 102, 1980); linear velocities are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.scalars import as_casadi
from sarrus.symbolic.kinematics.tree import Tree


@dataclass(frozen=True)
class Motion:
    """Angular velocity (``spin``) and acceleration (``turning``) of a node, and the acceleration of its origin.

    In its own axes, at v̇ = 0 unless joints have accelerations. ``carrying`` is E, see `carrying`.
    """

    spin: ca.SX
    turning: ca.SX
    acceleration: ca.SX
    carrying: ca.SX


def cross(a: ca.SX | ca.DM, b: ca.SX | ca.DM) -> ca.SX:
    """Return a × b of two 3-vectors, of which one may be constant."""
    return ca.cross(a, b)


def skew(a: ca.SX | ca.DM) -> ca.SX:
    """Return the matrix of a ×."""
    zero = ca.SX(0)
    return ca.vertcat(
        ca.horzcat(zero, -a[2], a[1]), ca.horzcat(a[2], zero, -a[0]), ca.horzcat(-a[1], a[0], zero)
    )


def carrying(spin: ca.SX, turning: ca.SX) -> ca.SX:
    """Return E = [α×] + [ω×]²: the acceleration of a point at r, relative to the origin of r, is E r."""
    x, y, z = ca.vertsplit(spin)
    a, b, c = ca.vertsplit(turning)
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return ca.vertcat(
        ca.horzcat(-(yy + zz), xy - c, xz + b),
        ca.horzcat(xy + c, -(xx + zz), yz - a),
        ca.horzcat(xz - b, yz + a, -(xx + yy)),
    )


def forward_kinematics(tree: Tree, links: list[Link]) -> list[Motion]:
    """Return the motion of every node."""
    motions: list[Motion] = []
    for node, link in zip(tree.nodes, links):
        parent = motions[node.parent] if node.parent >= 0 else _ground(tree, node.parent)
        back = link.rotation.T
        angular, linear = link.s_angular @ link.rate, link.s_linear @ link.rate
        spin = back @ parent.spin + angular
        turning = back @ parent.turning + cross(spin, angular)
        acceleration = back @ (parent.acceleration + parent.carrying @ link.position)
        acceleration += 2 * cross(spin, linear) - (1 if link.carried else 2) * cross(angular, linear)
        if link.acceleration is not None:
            turning += link.s_angular @ link.acceleration
            acceleration += link.s_linear @ link.acceleration
        motions.append(Motion(spin, turning, acceleration, carrying(spin, turning)))
    return motions


def _ground(tree: Tree, node: int) -> Motion:
    """Return the motion of the world or of a driven frame."""
    ground = tree.ground(node)
    back = ground.rotation.T
    spin, turning = back @ ground.spin, back @ ground.turning
    acceleration = back @ (ground.acceleration - ca.SX(as_casadi(tree.gravity)))
    return Motion(spin, turning, acceleration, carrying(spin, turning))


def coordinate_rate(tree: Tree, q: ca.SX, v: ca.SX) -> ca.SX:
    """Return q̇ = N(q) v (nq,); for quaternions q̇ = ½ q ∘ (0, ω) with ω in body axes."""
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
