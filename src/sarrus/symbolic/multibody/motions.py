"""Motion of points and directions of bodies and its derivatives, by recursion, relative to a carrier of the bodies.

All vectors are in one inertial frame, which at this instant has the axes of the carrier; the carrier is at rest in it.
Spatial vectors are pairs about its origin. Derivatives "along velocity j" are derivatives along δq = N e_j. With the
twist W and the acceleration w below joint j and

    Ψ̇_j = W × S_j,    Ψ̈_j = w × S_j + W × Ψ̇_j,

vectors of a body moved by j have the derivatives ∂V = S_j × V + Ψ̇_j and ∂A = S_j × A + Ψ̈_j + Ψ̇_j × V (Singh, Russell
and Wensing: Efficient Analytical Derivatives of Rigid-Body Dynamics Using Spatial Vector Algebra, 2022; Spencer 2004,
appendix B, recursive in body-fixed form).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.base.arrays import Array
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.spatial import ZERO, Spatial
from sarrus.symbolic.kinematics.tree import GROUND, Tree

AXES = ca.DM.eye(3)


@dataclass(frozen=True)
class Column:
    """One velocity: its node, its motion S, Ṡ and Ψ̇. S turns with the body, except translations of a free joint."""

    node: int
    motion: Spatial
    rate: Spatial
    below: Spatial
    carried: bool


@dataclass(frozen=True)
class Moved:
    """A node: rotation and position, twist, the twist W below its joint, its acceleration at v̇ = 0."""

    rotation: ca.SX
    position: ca.SX
    twist: Spatial
    below: Spatial
    bias: Spatial


class Motions:
    """The recursion at (q, v) over the subtree of a node, or of the ground.

    ``frame``: rotation and position of the ``carrier`` in the inertial frame, by default the identity. ``own``: the
    node whose axes and origin are those of the frame, if it is not the carrier. ``falling``: minus the acceleration of
    gravity, if accelerations have gravity subtracted.
    """

    def __init__(
        self,
        tree: Tree,
        links: list[Link],
        v: ca.SX,
        carrier: int = GROUND,
        frame: tuple[ca.SX, ca.SX] | None = None,
        own: int | None = None,
        falling: ca.SX | None = None,
    ) -> None:
        self.nodes, self.carrier, self.v = tree.nodes, carrier, v
        self._links, self.own = links, own
        rotation, position = frame or (ca.SX(AXES), ca.SX.zeros(3))
        bias = ZERO if falling is None else Spatial(ca.SX.zeros(3), falling)
        self._start = Moved(rotation, position, ZERO, ZERO, bias)
        self._moved: dict[int, Moved] = {}
        self.columns: dict[int, Column] = {}

    def node(self, index: int) -> Moved:
        """Return a node of the subtree, or the carrier itself."""
        if index == self.carrier:
            return self._start
        if index not in self._moved:
            self._add(index)
        return self._moved[index]

    def _add(self, index: int) -> None:
        node, link, parent = self.nodes[index], self._links[index], self.node(self.nodes[index].parent)
        turn, own = parent.rotation, index == self.own
        rotation = ca.SX(AXES) if own else turn @ link.rotation
        position = ca.SX.zeros(3) if own else parent.position + turn @ link.position
        axes, angular, linear = (
            (rotation, link.s_angular, link.s_linear) if own else (turn, link.angular, link.linear)
        )
        motions = []
        for k in range(node.nv):
            spin = axes @ angular[:, k]
            motions.append(Spatial(spin, axes @ linear[:, k] + cross(position, spin)))
        first = 3 if node.kind == "free" else 0
        rates = [self.v[node.iv + k] for k in range(node.nv)]
        below = sum((s * rate for s, rate in zip(motions[:first], rates)), parent.twist)
        twist = sum((s * rate for s, rate in zip(motions[first:], rates[first:])), below)
        bias = parent.bias
        for k, motion in enumerate(motions):
            psi = below.cross(motion)
            rate = parent.twist.cross(motion) if k < first else psi if node.nv == 1 else twist.cross(motion)
            self.columns[node.iv + k] = Column(index, motion, rate, psi, k >= first)
            bias = bias + rate * rates[k]
        self._moved[index] = Moved(rotation, position, twist, below, bias)

    def above(self, node: int) -> list[int]:
        """Velocities of the joints between a node's own joint and the carrier."""
        out: list[int] = []
        while (node := self.nodes[node].parent) != self.carrier:
            out += range(self.nodes[node].iv, self.nodes[node].iv + self.nodes[node].nv)
        return out

    def moving(self, node: int) -> list[int]:
        """Velocities that move a node."""
        if node == self.carrier:
            return []
        return [*range(self.nodes[node].iv, self.nodes[node].iv + self.nodes[node].nv), *self.above(node)]

    def point(self, node: int, place: Array) -> Jet:
        """Return the jet of a point of a node, relative to the frame's origin."""
        here = self.node(node)
        value = here.position + here.rotation @ ca.DM(place)
        rate = here.twist.at(value)
        if node == self.carrier:
            return Jet(value, rate, ca.SX.zeros(3))
        falling = self._start.bias.linear
        return Jet(value, rate, here.bias.at(value) - falling + cross(here.twist.angular, rate))

    def direction(self, node: int, direction: Array) -> Jet:
        """Return the jet of a direction fixed to a node."""
        here = self.node(node)
        value, spin = here.rotation @ ca.DM(direction), here.twist.angular
        rate = cross(spin, value)
        if node == self.carrier:
            return Jet(value, rate, ca.SX.zeros(3))
        return Jet(value, rate, cross(here.bias.angular, value) + cross(spin, rate))

    def turning(self, node: int) -> Jet:
        """Return angular velocity and acceleration of a node, as a jet whose value is zero."""
        here = self.node(node)
        return Jet(ca.SX.zeros(3), here.twist.angular, here.bias.angular)


@dataclass(frozen=True)
class Changes:
    """Derivatives of a point or direction z along a velocity: ∂z, ∂ż, ∂z̈, and ∂z̈/∂v. (∂ż/∂v is ∂z.)"""

    value: ca.SX
    rate: ca.SX
    second: ca.SX
    second_v: ca.SX


class Accelerated:
    """The recursion at (q, v, a): accelerations, derivatives of points and directions, Ψ̈ of each velocity."""

    def __init__(self, motions: Motions, a: ca.SX) -> None:
        self.motions, self._a = motions, a
        self._accelerations = {motions.carrier: motions.node(motions.carrier).bias}
        self.psi: dict[int, Spatial] = {}

    def node(self, index: int) -> Spatial:
        """Return the acceleration of a node."""
        if index not in self._accelerations:
            self._add(index)
        return self._accelerations[index]

    def _add(self, index: int) -> None:
        p, node = self.motions, self.motions.nodes[index]
        here, twist = self.node(node.parent), p.node(index).below
        velocities = range(node.iv, node.iv + node.nv)
        own = [p.columns[j] for j in velocities]
        parts = [c.motion * self._a[j] + c.rate * p.v[j] for j, c in zip(velocities, own)]
        below = sum((part for part, c in zip(parts, own) if not c.carried), here)
        for j, c in zip(velocities, own):
            self.psi[j] = below.cross(c.motion) + twist.cross(c.below)
        self._accelerations[index] = sum((part for part, c in zip(parts, own) if c.carried), below)

    def point(self, node: int, jet: Jet) -> tuple[ca.SX, dict[int, Changes]]:
        """Return the acceleration of a point of a node with this jet, and its derivatives along each velocity."""
        spin = self.motions.node(node).twist.angular
        second, changes = self.node(node).at(jet.value) + cross(spin, jet.rate), {}
        for j in self.motions.moving(node):
            column, here = self.motions.columns[j], jet.value
            turn, carried = column.motion.angular, cross(column.motion.angular, jet.rate)
            changes[j] = Changes(
                column.motion.at(here),
                column.below.at(here) + carried,
                self.psi[j].at(here) + 2 * cross(column.below.angular, jet.rate) + cross(turn, second),
                (column.rate + column.below).at(here) + 2 * carried,
            )
        return second - self.node(self.motions.carrier).linear, changes

    def direction(self, node: int, jet: Jet) -> ca.SX:
        """Return the second derivative of a direction of a node with this jet."""
        spin = self.motions.node(node).twist.angular
        return cross(self.node(node).angular, jet.value) + cross(spin, jet.rate)

    def changes(self, node: int) -> dict[int, Changes]:
        """Return S, Ψ̇, Ψ̈ and Ṡ + Ψ̇ of each velocity that turns a node: the derivatives of its directions."""
        self.node(node)
        changes = {}
        for j in self.motions.moving(node):
            column, psi = self.motions.columns[j], self.psi[j]
            below = column.below.angular
            changes[j] = Changes(column.motion.angular, below, psi.angular, column.rate.angular + below)
        return changes
