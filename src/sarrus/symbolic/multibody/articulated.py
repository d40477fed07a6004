"""The articulated-body algorithm (Featherstone 2008, ch. 7): M a = f from the tips to the root and back, in O(n).

Velocities are eliminated one at a time, the last one first, so the pivots D_k are the squares of the diagonal of L in
M = LᵀL and have the same bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.symbolic.kinematics.kinematics import cross, skew
from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.scalars import as_casadi, varies
from sarrus.symbolic.kinematics.tree import Tree
from sarrus.symbolic.multibody.dynamics import composites, symmetric


@dataclass(frozen=True)
class Articulated:
    """Articulated inertia of a node and its subtree: torque J α + H a, force Hᵀ α + M a about the node's origin."""

    about: ca.SX
    lever: ca.SX
    mass: ca.SX

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(self.about + other.about, self.lever + other.lever, self.mass + other.mass)

    def times(self, angular: ca.SX, linear: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return torque and force for angular and linear accelerations."""
        return self.about @ angular + self.lever @ linear, self.lever.T @ angular + self.mass @ linear

    def without(self, torque: ca.SX, force: ca.SX, pivot: ca.SX) -> Articulated:
        """Return the inertia after one velocity is freed: ``torque``, ``force`` are its column, ``pivot`` its
        inertia."""
        t, f = torque / pivot, force / pivot
        return Articulated(
            symmetric(self.about - t @ torque.T), self.lever - t @ force.T, symmetric(self.mass - f @ force.T)
        )

    def seen_from_parent(self, link: Link) -> Articulated:
        """Return the inertia in axes of the parent, about the parent's origin."""
        r, shift = link.rotation, skew(link.position)
        mass, lever = symmetric(r @ self.mass @ r.T), r @ self.lever @ r.T
        moved = lever + shift @ mass
        about = symmetric(r @ self.about @ r.T - lever @ shift + shift @ moved.T)
        return Articulated(about, moved, mass)


@dataclass(frozen=True)
class TreeSolution:
    """a with M a = f, the pivots D_k, and the diagonal M_kk."""

    a: ca.SX
    pivots: list[ca.SX]
    diagonal: list[ca.SX]


def solve(tree: Tree, links: list[Link], force: ca.SX) -> TreeSolution:
    """Return a with M a = f."""
    count = len(tree.nodes)
    whole = [_rigid(tree, index) for index in range(count)]
    torques, pushes = [ca.SX.zeros(3)] * count, [ca.SX.zeros(3)] * count
    taken: list[tuple[ca.SX, ca.SX]] = [(ca.SX(3, 1), ca.SX(3, 1))] * tree.nv
    left, pivots, diagonal = [ca.SX(0)] * tree.nv, [ca.SX(0)] * tree.nv, [ca.SX(0)] * tree.nv
    rigid = composites(tree, links)
    for index in range(count - 1, -1, -1):
        node, link = tree.nodes[index], links[index]
        inertia, torque, push = whole[index], torques[index], pushes[index]
        for k in range(node.nv - 1, -1, -1):
            i, angular, linear = node.iv + k, link.s_angular[:, k], link.s_linear[:, k]
            about, lever = inertia.times(angular, linear)
            armature = node.armature[k]
            pivots[i] = ca.dot(angular, about) + ca.dot(linear, lever) + armature
            held, moved = rigid[index].momentum(angular, linear)
            diagonal[i] = ca.dot(angular, held) + ca.dot(linear, moved) + armature
            left[i] = force[i] - ca.dot(angular, torque) - ca.dot(linear, push)
            taken[i] = about, lever
            inertia = inertia.without(about, lever, pivots[i])
            if not varies(armature):
                inertia = _freed(inertia, angular, linear)
            share = left[i] / pivots[i]
            torque, push = torque + about * share, push + lever * share
        if node.parent >= 0:
            p, turned = node.parent, link.rotation @ push
            whole[p] = whole[p] + inertia.seen_from_parent(link)
            torques[p] = torques[p] + link.rotation @ torque + cross(link.position, turned)
            pushes[p] = pushes[p] + turned
    return TreeSolution(_accelerations(tree, links, taken, left, pivots), pivots, diagonal)


def _accelerations(
    tree: Tree, links: list[Link], taken: list[tuple[ca.SX, ca.SX]], left: list[ca.SX], pivots: list[ca.SX]
) -> ca.SX:
    """Return a, computed from the root to the tips."""
    a, moving = ca.SX.zeros(tree.nv), list[tuple[ca.SX, ca.SX]]()
    for node, link in zip(tree.nodes, links):
        angular, linear = ca.SX.zeros(3), ca.SX.zeros(3)
        if node.parent >= 0:
            angular, linear = moving[node.parent]
            linear = link.rotation.T @ (linear + cross(angular, link.position))
            angular = link.rotation.T @ angular
        for k in range(node.nv):
            i = node.iv + k
            about, lever = taken[i]
            a[i] = (left[i] - ca.dot(about, angular) - ca.dot(lever, linear)) / pivots[i]
            angular, linear = angular + link.s_angular[:, k] * a[i], linear + link.s_linear[:, k] * a[i]
        moving.append((angular, linear))
    return a


def _rigid(tree: Tree, index: int) -> Articulated:
    """Return the inertia of the rigid parts of a node."""
    total = Articulated(ca.SX(3, 3), ca.SX(3, 3), ca.SX(3, 3))
    for part in tree.nodes[index].parts:
        about = ca.SX(as_casadi(part.inertia_about_origin))
        total += Articulated(about, skew(part.moment), part.mass * ca.SX(ca.DM.eye(3)))
    return total


def _freed(inertia: Articulated, angular: ca.SX, linear: ca.SX) -> Articulated:
    """Return the inertia with exact zeros for a freed velocity along an axis, instead of rounding."""
    found = [Articulated(*(ca.SX(part) for part in vars(inertia).values()))]
    for k in range(3):
        if _is_axis(angular, k) and linear.is_zero():
            found[0].about[k, :] = found[0].about[:, k] = found[0].lever[k, :] = 0
        if _is_axis(linear, k) and angular.is_zero():
            found[0].mass[k, :] = found[0].mass[:, k] = found[0].lever[:, k] = 0
    return Articulated(*(ca.sparsify(part) for part in vars(found[0]).values()))


def _is_axis(vector: ca.SX, k: int) -> bool:
    return all(
        vector[i].is_constant() and abs(float(vector[i])) == (1.0 if i == k else 0.0) for i in range(3)
    )
