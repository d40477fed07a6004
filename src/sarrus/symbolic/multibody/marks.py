"""Marks: the points, directions, angular velocities and coordinates in the rows of closures, couplings and contacts.

Each is relative to the common ancestor of the two bodies of its rows (`sarrus.symbolic.kinematics.frames`). `Marks`
returns symbols for them, so that rows can be differentiated by the symbols, and stores the jets behind the symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.scalars import place
from sarrus.symbolic.kinematics.tree import GROUND, Tree, way
from sarrus.symbolic.multibody.motions import AXES, Motions
from sarrus.symbolic.multibody.partials import TreePartials


@dataclass(frozen=True)
class Mark:
    """A point, direction or angular velocity of a node, or a coordinate (``kind``): symbols for it, and its jet.

    ``motions`` is the recursion it belongs to, None for a coordinate.
    """

    kind: str
    place: int
    motions: Motions | None
    symbols: Jet
    jet: Jet


class Marks:
    """Frames of the subtree of one node, or of the ground, with symbols in place of jets."""

    def __init__(self, tree: Tree, motions: Motions, carried: Callable[[str], Motions]) -> None:
        """``carried`` returns the motions of the subtree of a body."""
        self._tree, self._motions, self._carried = tree, motions, carried
        self._known: dict[tuple[str, int, int, bytes], Mark] = {}

    def point(self, body: str, point: Array) -> Jet:
        """Return the jet of a point given in body axes [m]."""
        node, pose = self._tree.location[body]
        where = np.asarray(place(pose, point))
        return self._add("point", node, where.tobytes(), self._motions, self._motions.point(node, where))

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""
        node, pose = self._tree.location[body]
        turned = pose.rotation @ direction
        jet = self._motions.direction(node, turned)
        return self._add("direction", node, turned.tobytes(), self._motions, jet)

    def turning(self, body: str) -> Jet:
        """Return angular velocity and acceleration of a body, as a jet whose value is zero."""
        node = self._tree.location[body][0]
        return self._add("turning", node, b"", self._motions, self._motions.turning(node))

    def coordinate(self, velocity: int, jet: Jet) -> Jet:
        """Return the jet of a coordinate whose rate is a velocity."""
        return self._add("coordinate", velocity, b"", None, jet)

    def seen_from(self, body: str) -> Marks:
        """Return the marks of the subtree of a body; they are stored together with these."""
        other = Marks(self._tree, self._carried(body), self._carried)
        other._known = self._known
        return other

    @property
    def all(self) -> list[Mark]:
        """The marks used so far."""
        return list(self._known.values())

    def _add(self, kind: str, place: int, which: bytes, motions: Motions | None, jet: Jet) -> Jet:
        if motions is not None and place == motions.carrier:
            return jet
        key = kind, id(motions), place, which
        if key not in self._known:
            size = jet.value.shape[0]
            symbols = Jet(*(ca.SX.sym(part, size) for part in ("value", "rate", "bias")))
            self._known[key] = Mark(kind, place, motions, symbols, jet)
        return self._known[key].symbols


class Carriers:
    """The motions of the subtree of each node, and of the ground.

    The motions of the ground are in the axes of `TreePartials`, with fewer nonzero numbers, if every closure with the
    ground has its other end on the free body of these axes. This body moves in all directions, so that no row x, y, z
    is structurally zero in any axes. Otherwise the motions are in world axes.
    """

    def __init__(
        self, mechanism: Mechanism, tree: Tree, joints: list[Link], v: ca.SX, partials: TreePartials
    ) -> None:
        self._tree, self._joints, self._v = tree, joints, v
        grounded = [c for c in mechanism.closures.values() if mechanism.carrier(c.body1, c.body2) == WORLD]
        free = partials.motions.own
        if free is None or all(free in [*way(tree, c.body1), *way(tree, c.body2)] for c in grounded):
            ground = partials.motions
        else:
            ground = Motions(tree, joints, v, GROUND, (ca.SX(AXES), -partials.origin))
        self._known = {GROUND: ground}

    def motions(self, body: str) -> Motions:
        """Return the motions of the subtree of a body, in its axes."""
        node, pose = self._tree.location[body]
        if node not in self._known:
            frame = ca.SX(ca.DM(pose.rotation.T)), ca.SX.zeros(3)
            self._known[node] = Motions(self._tree, self._joints, self._v, node, frame)
        return self._known[node]
