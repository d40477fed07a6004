"""Partial derivatives of the tree's dynamics by recursion, instead of automatic differentiation.

`sarrus.symbolic.multibody.motions` has the recursion. The frame is that of the first free body at this instant: the
columns of its velocities are then constant, and the distance to the world's origin costs no digits. Without a free
body it is the world's frame. Accelerations have gravity subtracted. The force on a body moved by j changes along
velocity j by ∂f = S_j ×* f + I Ψ̈_j + 2 B Ψ̇_j.
"""

from __future__ import annotations

from typing import TypeVar

import casadi as ca
import numpy as np

from sarrus.symbolic.kinematics.kinematics import cross, skew
from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.spatial import Inertia, Spatial
from sarrus.symbolic.kinematics.tree import GROUND, RigidPart, Tree
from sarrus.symbolic.multibody.motions import AXES, Accelerated, Motions

T = TypeVar("T", Spatial, Inertia)


class TreePartials:
    """M, h and the derivatives of M a + h of a tree whose grounds are at rest."""

    def __init__(self, tree: Tree, joints: list[Link], v: ca.SX) -> None:
        self.nodes, self.nv = tree.nodes, tree.nv
        free = next((i for i, n in enumerate(tree.nodes) if n.kind == "free" and n.parent == GROUND), None)
        axes, origin = ca.SX(AXES), ca.SX.zeros(3)
        if free is not None:
            axes, origin = joints[free].rotation.T, joints[free].position
        self.origin = origin
        frame, falling = (axes, -axes @ origin), axes @ ca.DM(-tree.gravity)
        self.motions = Motions(tree, joints, v, GROUND, frame, free, falling)
        self.single = [self._inertia(index) for index in range(len(tree.nodes))]
        self.composite = self._gathered(self.single)

    def mass_matrix(self) -> ca.SX:
        """Return M, armature included."""
        matrix, columns = ca.SX.zeros(self.nv, self.nv), self.motions.columns
        for i, column in columns.items():
            node, momentum = self.nodes[column.node], self.composite[column.node].times(column.motion)
            for j in [*range(node.iv, i + 1), *self.motions.above(column.node)]:
                matrix[i, j] = matrix[j, i] = momentum.dot(columns[j].motion)
            matrix[i, i] += node.armature[i - node.iv]
        return matrix

    def bias_force(self) -> ca.SX:
        """Return h: Coriolis, centrifugal and gravity forces."""
        forces = self._forces([self.motions.node(index).bias for index in range(len(self.nodes))])
        columns = (self.motions.columns[i] for i in range(self.nv))
        h = [forces[column.node].dot(column.motion) for column in columns]
        return ca.vertcat(ca.SX(0, 1), *h)

    def force_derivatives(self, after: Accelerated) -> tuple[ca.SX, ca.SX]:
        """Return the derivatives of M a + h along velocities, and by velocities (nv × nv each)."""
        forces = self._forces([after.node(index) for index in range(len(self.nodes))])
        along, by_v = ca.SX.zeros(self.nv, self.nv), ca.SX.zeros(self.nv, self.nv)
        columns, psi = self.motions.columns, after.psi
        for i, column in columns.items():
            inertia, motion, force = self.composite[column.node], column.motion, forces[column.node]
            momentum, turning = inertia.times(motion), inertia.turning_transposed(motion)
            for j in self.motions.moving(column.node):
                other = columns[j]
                along[i, j] = momentum.dot(psi[j]) + ca.dot(turning, other.below.angular)
                by_v[i, j] = momentum.dot(other.rate + other.below) + ca.dot(turning, other.motion.angular)
                if other.node == column.node and not column.carried:
                    along[i, j] += other.motion.cross_force(force).dot(motion)
            place = motion.cross_force(force) + inertia.times(psi[i]) + inertia.turning(column.below.angular)
            speed = inertia.times(column.rate + column.below) + inertia.turning(motion.angular)
            for j in self.motions.above(column.node):
                along[j, i], by_v[j, i] = place.dot(columns[j].motion), speed.dot(columns[j].motion)
        return along, by_v

    def _inertia(self, index: int) -> Inertia:
        node, here = self.nodes[index], self.motions.node(index)
        (part,) = node.parts or [RigidPart(0.0, np.zeros(3), np.zeros((3, 3)))]
        centre = here.position + here.rotation @ ca.DM(part.com)
        moment, spin = part.mass * centre, skew(here.twist.angular)
        about = here.rotation @ ca.DM(part.inertia) @ here.rotation.T + (
            ca.dot(moment, centre) * AXES - moment @ centre.T
        )
        about = ca.triu2symm(ca.triu(about))
        coriolis = 2 * (spin @ about) - ca.trace(about) * spin
        coriolis += 2 * (ca.dot(moment, here.twist.linear) * AXES - here.twist.linear @ moment.T)
        momentum = part.mass * here.twist.linear + cross(here.twist.angular, moment)
        return Inertia(part.mass, moment, about, momentum, coriolis)

    def _gathered(self, values: list[T]) -> list[T]:
        """Return for each node the sum of the values in its subtree."""
        out = list(values)
        for index in range(len(out) - 1, -1, -1):
            parent = self.nodes[index].parent
            if parent != GROUND:
                out[parent] = out[parent] + out[index]
        return out

    def _forces(self, accelerations: list[Spatial]) -> list[Spatial]:
        """Return the force on each node and its subtree for given accelerations."""
        single = []
        for index, (inertia, acceleration) in enumerate(zip(self.single, accelerations)):
            twist = self.motions.node(index).twist
            spin = inertia.about @ twist.angular + cross(inertia.moment, twist.linear)
            single.append(inertia.times(acceleration) + twist.cross_force(Spatial(spin, inertia.momentum)))
        return self._gathered(single)
