"""Partial derivatives of the tree's dynamics by recursion, instead of automatic differentiation.

All vectors are in one inertial frame, that of the first free body at this instant: its velocities then have constant
columns, and the distance to the world's origin costs no digits. Without a free body it is the world's frame. Spatial
vectors are pairs about the frame's origin (Featherstone 2008, ch. 2). Derivatives "along velocity j" are those along
δq = N e_j. With W the twist and w the acceleration below joint j (gravity subtracted) and

    Ψ̇_j = W × S_j,    Ψ̈_j = w × S_j + W × Ψ̇_j,

what belongs to a body that j moves changes by ∂V = S_j × V + Ψ̇_j and ∂A = S_j × A + Ψ̈_j + Ψ̇_j × V, and its force by
∂f = S_j ×* f + I Ψ̈_j + 2 B Ψ̇_j. (Singh, Russell and Wensing: Efficient Analytical Derivatives of Rigid-Body Dynamics
Using Spatial Vector Algebra, 2022; Spencer 2004, appendix B, recursive in body-fixed form.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.multibody.jet import Jet
from sarrus.multibody.kinematics import cross, skew
from sarrus.multibody.link import links
from sarrus.multibody.tree import GROUND, RigidPart, Tree

_EYE = ca.DM.eye(3)


@dataclass(frozen=True)
class Spatial:
    """A motion (angular velocity, velocity at the origin) or a force (torque about the origin, force)."""

    angular: ca.SX
    linear: ca.SX

    def __add__(self, other: Spatial) -> Spatial:
        return Spatial(self.angular + other.angular, self.linear + other.linear)

    def __mul__(self, factor: ca.SX) -> Spatial:
        return Spatial(self.angular * factor, self.linear * factor)

    def dot(self, other: Spatial) -> ca.SX:
        """Power of a force in a motion."""
        return ca.dot(self.angular, other.angular) + ca.dot(self.linear, other.linear)

    def cross(self, other: Spatial) -> Spatial:
        """Rate of a motion that this one carries along."""
        linear = cross(self.angular, other.linear) + cross(self.linear, other.angular)
        return Spatial(cross(self.angular, other.angular), linear)

    def cross_force(self, other: Spatial) -> Spatial:
        """Rate of a force that this motion carries along."""
        angular = cross(self.angular, other.angular) + cross(self.linear, other.linear)
        return Spatial(angular, cross(self.angular, other.linear))

    def at(self, point: ca.SX) -> ca.SX:
        """Velocity of a point."""
        return cross(self.angular, point) + self.linear


ZERO = Spatial(ca.SX.zeros(3), ca.SX.zeros(3))


@dataclass(frozen=True)
class Inertia:
    """Mass, first moment and inertia about the origin of bodies, their momentum, and the matrix of Coriolis torques."""

    mass: float | ca.SX
    moment: ca.SX
    about: ca.SX
    momentum: ca.SX
    coriolis: ca.SX

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(*(a + b for a, b in zip(vars(self).values(), vars(other).values())))

    def times(self, motion: Spatial) -> Spatial:
        """Return I A."""
        angular = self.about @ motion.angular + cross(self.moment, motion.linear)
        return Spatial(angular, self.mass * motion.linear + cross(motion.angular, self.moment))

    def turning(self, angular: ca.SX) -> Spatial:
        """Return 2 B Ψ, which depends on the angular part of Ψ alone."""
        return Spatial(self.coriolis @ angular, 2 * cross(angular, self.momentum))

    def turning_transposed(self, motion: Spatial) -> ca.SX:
        """Return the angular part of 2 Bᵀ S; the other one is zero."""
        return self.coriolis.T @ motion.angular + 2 * cross(self.momentum, motion.linear)


T = TypeVar("T", Spatial, Inertia)


@dataclass(frozen=True)
class Column:
    """One velocity: its node, its motion S, Ṡ and Ψ̇. The body carries S along, but for translations of a free joint."""

    node: int
    motion: Spatial
    rate: Spatial
    below: Spatial
    carried: bool


class TreePartials:
    """The recursion at (q, v): what does not need the accelerations. `TreeDerivatives` goes on from there."""

    def __init__(self, tree: Tree, q: ca.SX, v: ca.SX) -> None:
        self.nodes, self.nv, self.v, self.gravity = tree.nodes, tree.nv, v, tree.gravity
        joints = links(tree, q, v)
        self.free = next(
            (i for i, n in enumerate(tree.nodes) if n.kind == "free" and n.parent == GROUND), None
        )
        axes, origin = ca.SX(_EYE), ca.SX.zeros(3)
        if self.free is not None:
            axes, origin = joints[self.free].rotation.T, joints[self.free].position
        self.axes = axes  # world axes to those of the frame
        self.ground = Spatial(ca.SX.zeros(3), axes @ ca.DM(-tree.gravity))
        self._ground_frame = axes, -axes @ origin
        self.frames: list[tuple[ca.SX, ca.SX]] = []  # rotation and position of each node
        self.columns: list[Column] = []
        self.twists: list[Spatial] = []
        self.below: list[Spatial] = []  # W of each node
        self.biases: list[Spatial] = []  # accelerations at v̇ = 0, gravity subtracted
        for index, joint in enumerate(joints):
            turn, place = self.frame(tree.nodes[index].parent)
            rotation, position = turn @ joint.rotation, place + turn @ joint.position
            if index == self.free:
                rotation, position = ca.SX(_EYE), ca.SX.zeros(3)
            self.frames.append((rotation, position))
            own = []
            for k in range(tree.nodes[index].nv):
                angular = turn @ joint.angular[:, k]
                own.append(Spatial(angular, turn @ joint.linear[:, k] + cross(position, angular)))
            self._add_node(index, own)
        self.single = [self._inertia(index) for index in range(len(tree.nodes))]
        self.composite = self.gathered(self.single)

    def frame(self, node: int) -> tuple[ca.SX, ca.SX]:
        """Return rotation and position of a node or of the ground."""
        return self._ground_frame if node == GROUND else self.frames[node]

    def twist(self, node: int) -> Spatial:
        """Return the twist of a node or of the ground."""
        return ZERO if node == GROUND else self.twists[node]

    def _add_node(self, index: int, motions: list[Spatial]) -> None:
        node = self.nodes[index]
        parent, first = self.twist(node.parent), 3 if node.kind == "free" else 0
        acceleration = self.ground if node.parent == GROUND else self.biases[node.parent]
        rates = [self.v[node.iv + k] for k in range(node.nv)]
        below = sum((s * rate for s, rate in zip(motions[:first], rates)), parent)
        twist = sum((s * rate for s, rate in zip(motions[first:], rates[first:])), below)
        for k, motion in enumerate(motions):
            psi = below.cross(motion)
            rate = parent.cross(motion) if k < first else psi if node.nv == 1 else twist.cross(motion)
            self.columns.append(Column(index, motion, rate, psi, k >= first))
            acceleration = acceleration + rate * rates[k]
        self.twists.append(twist)
        self.below.append(below)
        self.biases.append(acceleration)

    def _inertia(self, index: int) -> Inertia:
        node, (rotation, position), twist = self.nodes[index], self.frames[index], self.twists[index]
        (part,) = node.parts or [RigidPart(0.0, np.zeros(3), np.zeros((3, 3)))]
        centre = position + rotation @ ca.DM(part.com)
        moment, spin = part.mass * centre, skew(twist.angular)
        about = rotation @ ca.DM(part.inertia) @ rotation.T + (
            ca.dot(moment, centre) * _EYE - moment @ centre.T
        )
        about = ca.triu2symm(ca.triu(about))
        coriolis = 2 * (spin @ about) - ca.trace(about) * spin
        coriolis += 2 * (ca.dot(moment, twist.linear) * _EYE - twist.linear @ moment.T)
        momentum = part.mass * twist.linear + cross(twist.angular, moment)
        return Inertia(part.mass, moment, about, momentum, coriolis)

    def gathered(self, values: list[T]) -> list[T]:
        """Add to the value of each node those of all that it carries."""
        out = list(values)
        for index in range(len(out) - 1, -1, -1):
            parent = self.nodes[index].parent
            if parent != GROUND:
                out[parent] = out[parent] + out[index]
        return out

    def forces(self, accelerations: list[Spatial]) -> list[Spatial]:
        """Return the force that each node and all that it carries need."""
        single = []
        for inertia, twist, acceleration in zip(self.single, self.twists, accelerations):
            spin = inertia.about @ twist.angular + cross(inertia.moment, twist.linear)
            single.append(inertia.times(acceleration) + twist.cross_force(Spatial(spin, inertia.momentum)))
        return self.gathered(single)

    def above(self, node: int) -> list[int]:
        """Velocities of the joints between a node's own joint and the ground."""
        out: list[int] = []
        while (node := self.nodes[node].parent) != GROUND:
            out += range(self.nodes[node].iv, self.nodes[node].iv + self.nodes[node].nv)
        return out

    def moving(self, node: int) -> list[int]:
        """Velocities that move a node."""
        if node == GROUND:
            return []
        return [*range(self.nodes[node].iv, self.nodes[node].iv + self.nodes[node].nv), *self.above(node)]

    def mass_matrix(self) -> ca.SX:
        """Return M, armature included."""
        matrix = ca.SX.zeros(self.nv, self.nv)
        for i, column in enumerate(self.columns):
            node, momentum = self.nodes[column.node], self.composite[column.node].times(column.motion)
            for j in [*range(node.iv, i + 1), *self.above(column.node)]:
                matrix[i, j] = matrix[j, i] = momentum.dot(self.columns[j].motion)
            matrix[i, i] += node.armature[i - node.iv]
        return matrix

    def bias_force(self) -> ca.SX:
        """Return h: Coriolis, centrifugal and gravity forces."""
        forces = self.forces(self.biases)
        return ca.vertcat(ca.SX(0, 1), *(forces[column.node].dot(column.motion) for column in self.columns))

    def point(self, node: int, place: Array) -> Jet:
        """Return the jet of a point of a node; positions count from the frame's origin."""
        rotation, position = self.frame(node)
        value, angular = position + rotation @ ca.DM(place), self.twist(node).angular
        rate = self.twist(node).at(value)
        if node == GROUND:
            return Jet(value, rate, ca.SX.zeros(3))
        return Jet(value, rate, self.biases[node].at(value) - self.ground.linear + cross(angular, rate))

    def direction(self, node: int, direction: Array) -> Jet:
        """Return the jet of a direction fixed to a node."""
        value, angular = self.frame(node)[0] @ ca.DM(direction), self.twist(node).angular
        rate = cross(angular, value)
        if node == GROUND:
            return Jet(value, rate, ca.SX.zeros(3))
        return Jet(value, rate, cross(self.biases[node].angular, value) + cross(angular, rate))


@dataclass(frozen=True)
class Changes:
    """How a point or a direction z changes along a velocity: ∂z, ∂ż, ∂z̈, and ∂z̈/∂v. (∂ż/∂v is ∂z.)"""

    value: ca.SX
    rate: ca.SX
    second: ca.SX
    second_v: ca.SX


class TreeDerivatives:
    """The recursion at (q, v, a): derivatives of M a + h, and of points and directions with their accelerations."""

    def __init__(self, partials: TreePartials, a: ca.SX) -> None:
        self.partials = p = partials
        self.accelerations: list[Spatial] = []
        self.psi: list[Spatial] = []  # Ψ̈ of each velocity
        for index, node in enumerate(p.nodes):
            own = p.columns[node.iv : node.iv + node.nv]
            parts = [c.motion * a[node.iv + k] + c.rate * p.v[node.iv + k] for k, c in enumerate(own)]
            here = p.ground if node.parent == GROUND else self.accelerations[node.parent]
            below = sum((part for part, c in zip(parts, own) if not c.carried), here)
            self.psi += [below.cross(c.motion) + p.below[index].cross(c.below) for c in own]
            self.accelerations.append(sum((part for part, c in zip(parts, own) if c.carried), below))

    def force_derivatives(self) -> tuple[ca.SX, ca.SX]:
        """Return the derivatives of M a + h along velocities, and with respect to them (nv × nv each)."""
        p, forces = self.partials, self.partials.forces(self.accelerations)
        along, by_v = ca.SX.zeros(p.nv, p.nv), ca.SX.zeros(p.nv, p.nv)
        for i, column in enumerate(p.columns):
            inertia, motion, force = p.composite[column.node], column.motion, forces[column.node]
            momentum, turning = inertia.times(motion), inertia.turning_transposed(motion)
            for j in p.moving(column.node):
                other = p.columns[j]
                along[i, j] = momentum.dot(self.psi[j]) + ca.dot(turning, other.below.angular)
                by_v[i, j] = momentum.dot(other.rate + other.below) + ca.dot(turning, other.motion.angular)
                if other.node == column.node and not column.carried:
                    along[i, j] += other.motion.cross_force(force).dot(motion)
            place = (
                motion.cross_force(force) + inertia.times(self.psi[i]) + inertia.turning(column.below.angular)
            )
            speed = inertia.times(column.rate + column.below) + inertia.turning(motion.angular)
            for j in p.above(column.node):
                along[j, i], by_v[j, i] = place.dot(p.columns[j].motion), speed.dot(p.columns[j].motion)
        return along, by_v

    def point(self, node: int, jet: Jet) -> tuple[ca.SX, dict[int, Changes]]:
        """Return the acceleration of a point of a node with this jet, and its changes along each velocity."""
        if node == GROUND:
            return jet.bias, {}
        second = self.accelerations[node].at(jet.value) + cross(self.partials.twists[node].angular, jet.rate)
        changes = self._changes(node, jet.rate, second, lambda field: field.at(jet.value))
        return second - self.partials.ground.linear, changes

    def direction(self, node: int, jet: Jet) -> tuple[ca.SX, dict[int, Changes]]:
        """Return the second derivative of a direction with this jet, and its changes along each velocity."""
        if node == GROUND:
            return jet.bias, {}
        second = cross(self.accelerations[node].angular, jet.value)
        second += cross(self.partials.twists[node].angular, jet.rate)
        return second, self._changes(node, jet.rate, second, lambda field: cross(field.angular, jet.value))

    def _changes(
        self, node: int, rate: ca.SX, second: ca.SX, at: Callable[[Spatial], ca.SX]
    ) -> dict[int, Changes]:
        """Return the changes along each velocity; ``at`` gives what a motion does to the point or direction."""
        changes = {}
        for j in self.partials.moving(node):
            column = self.partials.columns[j]
            spin, carried = column.motion.angular, cross(column.motion.angular, rate)
            value, below, psi = at(column.motion), at(column.below), at(self.psi[j])
            changes[j] = Changes(
                value,
                below + carried,
                psi + 2 * cross(column.below.angular, rate) + cross(spin, second),
                at(column.rate + column.below) + 2 * carried,
            )
        return changes
