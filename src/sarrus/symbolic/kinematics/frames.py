"""Points and directions fixed to bodies as jets, in the axes of the world or of a body that carries them.

Rows of closures are written in axes of the last common ancestor of their two bodies: motion common to both cancels, A
has no entries for the joints above it, and the distance to the world's origin costs no digits. The velocity of a point
is a sum over the joints k below the ancestor,

    ṗ = Σ (s_k + z_k × (p − o_k)) v_k,

so that the columns of A are these terms, without a recursion for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.kinematics.kinematics import carrying, cross
from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.scalars import Numbers, as_casadi, place
from sarrus.symbolic.kinematics.tree import GROUND, Tree


class BodyFrames(Protocol):
    """Jets of points and directions fixed to bodies, all in the same axes: the parts of constraint rows."""

    def point(self, body: str, point: Array) -> Jet:
        """Return the jet of a point given in body axes [m]."""

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""

    def turning(self, body: str) -> Jet:
        """Return angular velocity and acceleration of a body, as a jet whose value (no vector exists) is zero."""


class JetFrames(BodyFrames, Protocol):
    """Frames that can be taken relative to any body."""

    def seen_from(self, body: str) -> JetFrames:
        """Return the frames of a body's subtree, relative to the body and in its axes."""


@dataclass(frozen=True)
class _Placed:
    """A node: its rotation, its origin, and its origin relative to the parent node (``offset``).

    ``angular`` and ``linear`` are the part of its own joint in its twist, ``spin`` is its angular velocity and
    ``turning`` its angular acceleration, ``acceleration`` the acceleration of its origin; ``carrying`` is E, see
    `carrying`.
    """

    rotation: ca.SX
    position: ca.SX
    offset: ca.SX
    angular: ca.SX
    linear: ca.SX
    spin: ca.SX
    turning: ca.SX
    acceleration: ca.SX

    @cached_property
    def carrying(self) -> ca.SX:
        """The matrix E of accelerations of points on it."""
        return carrying(self.spin, self.turning)


class Frames:
    """Jets of points and directions fixed to bodies, in world axes or in axes of the node ``carrier``."""

    def __init__(
        self, tree: Tree, links: list[Link], carrier: int | None = None, axes: Array | None = None
    ) -> None:
        """``axes`` are the axes of the carrier's node relative to the body."""
        self._tree, self._links, self._carrier = tree, links, carrier
        self._axes = ca.SX(ca.DM(np.eye(3) if axes is None else axes))
        self._placed: dict[int, _Placed] = {}
        self._seen: dict[int, Frames] = {}

    def seen_from(self, body: str) -> Frames:
        """Return the frames of a body's subtree, relative to the body and in its axes."""
        node = self._tree.location[body][0]
        if node == GROUND:
            return self
        if node not in self._seen:
            self._seen[node] = Frames(self._tree, self._links, node, self._tree.location[body][1].rotation.T)
        return self._seen[node]

    def point(self, body: str, point: Numbers) -> Jet:
        """Return the jet of a point given in body axes [m]."""
        node, pose = self._tree.location[body]
        way = self._way(node)
        last = way[-1]
        arm = r = last.rotation @ as_casadi(place(pose, point))
        rate = ca.SX.zeros(3)
        for placed in reversed(way):
            rate += placed.linear + cross(placed.angular, arm)
            arm = arm + placed.offset
        return Jet(arm, rate, last.acceleration + last.carrying @ r)

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""
        node, pose = self._tree.location[body]
        last = self._way(node)[-1]
        d = last.rotation @ ca.DM(pose.rotation @ direction)
        return Jet(d, cross(last.spin, d), last.carrying @ d)

    def turning(self, body: str) -> Jet:
        """Return angular velocity and acceleration of a body, as a jet whose value is zero."""
        last = self._way(self._tree.location[body][0])[-1]
        return Jet(ca.SX.zeros(3), last.spin, last.turning)

    def angular_velocity(self, body: str) -> ca.SX:
        """Return the angular velocity of a body."""
        return self._way(self._tree.location[body][0])[-1].spin

    def angular_acceleration(self, body: str) -> ca.SX:
        """Return the angular acceleration of a body, with joint accelerations if the links have them."""
        return self._way(self._tree.location[body][0])[-1].turning

    def placement(self, body: str) -> tuple[ca.SX, ca.SX]:
        """Return position and rotation of the body frame."""
        node, pose = self._tree.location[body]
        position, rotation = self.node(node)
        return position + rotation @ as_casadi(pose.position), rotation @ ca.DM(pose.rotation)

    def node(self, node: int) -> tuple[ca.SX, ca.SX]:
        """Return position and rotation of a node."""
        last = self._way(node)[-1]
        return last.position, last.rotation

    def _way(self, node: int) -> list[_Placed]:
        """Return the start frame, and the nodes from there to ``node``."""
        on = []
        while node >= 0 and node != self._carrier:
            on.append(node)
            node = self._tree.nodes[node].parent
        way = [self._start(node)]
        for index in reversed(on):
            if index not in self._placed:
                self._placed[index] = _carried(self._links[index], way[-1])
            way.append(self._placed[index])
        return way

    def _start(self, node: int) -> _Placed:
        if node == self._carrier:
            none = ca.SX.zeros(3)
            return _Placed(ca.sparsify(self._axes), none, none, none, none, none, none, none)
        g = self._tree.ground(node)
        return _Placed(
            g.rotation, g.position, g.position, g.spin, g.velocity, g.spin, g.turning, g.acceleration
        )


def _carried(link: Link, parent: _Placed) -> _Placed:
    """Return a placed node behind a joint on its placed parent."""
    offset = parent.rotation @ link.position
    angular, linear = (
        parent.rotation @ (link.angular @ link.rate),
        parent.rotation @ (link.linear @ link.rate),
    )
    turning = parent.turning + cross(parent.spin, angular)
    acceleration = parent.acceleration + parent.carrying @ offset + 2 * cross(parent.spin, linear)
    if link.carried:
        acceleration += cross(angular, linear)
    if link.acceleration is not None:
        turning += parent.rotation @ (link.angular @ link.acceleration)
        acceleration += parent.rotation @ (link.linear @ link.acceleration)
    spin = parent.spin + angular
    return _Placed(
        parent.rotation @ link.rotation,
        parent.position + offset,
        offset,
        angular,
        linear,
        spin,
        turning,
        acceleration,
    )
