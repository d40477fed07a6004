"""Derivatives of the rows of constraints by the chain rule: rows depend on marks, marks on the motion of the tree.

Marks are the points, directions and coordinates that closures, couplings and contacts are written with. Rows are
traced over symbols for them, so each derivative with respect to a mark is a small one, and
`sarrus.multibody.partials` knows how marks change. Rows that are vectors come in the axes of its frame, not in those
of the bodies that carry both ends: A and λ are turned, the motions that the rows allow are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.equations.equations import Equations
from sarrus.mechanism.mechanism import Mechanism
from sarrus.multibody.closures import coordinate_jets
from sarrus.multibody.jet import Jet
from sarrus.multibody.kinematics import cross
from sarrus.multibody.model import constraint_rows
from sarrus.multibody.partials import Changes, TreeDerivatives, TreePartials
from sarrus.multibody.scalars import place
from sarrus.multibody.switches import Switches
from sarrus.multibody.tree import GROUND, Tree


@dataclass(frozen=True)
class _Mark:
    """A point or direction of a node, or the coordinate of a velocity (``kind`` tells), symbols for it, its jet."""

    kind: str
    place: int
    symbols: Jet
    jet: Jet


class Marks:
    """Frames that hand out symbols and remember what they stand for."""

    def __init__(self, tree: Tree, partials: TreePartials) -> None:
        self._tree, self._partials = tree, partials
        self._known: dict[tuple[str, int, bytes], _Mark] = {}

    def point(self, body: str, point: Array) -> Jet:
        """Return the jet of a point given in body axes [m]."""
        node, pose = self._tree.location[body]
        where = np.asarray(place(pose, point))
        return self._add("point", node, where.tobytes(), self._partials.point(node, where))

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""
        node, pose = self._tree.location[body]
        turned = pose.rotation @ direction
        return self._add("direction", node, turned.tobytes(), self._partials.direction(node, turned))

    def coordinate(self, velocity: int, jet: Jet) -> Jet:
        """Return the jet of a coordinate whose rate is a velocity."""
        return self._add("coordinate", velocity, b"", jet)

    def _add(self, kind: str, place: int, which: bytes, jet: Jet) -> Jet:
        if place == GROUND:
            return jet
        key = kind, place, which
        if key not in self._known:
            size = jet.value.shape[0]
            symbols = Jet(*(ca.SX.sym(part, size) for part in ("value", "rate", "bias")))
            self._known[key] = _Mark(kind, place, symbols, jet)
        return self._known[key].symbols

    def seen_from(self, body: str) -> Marks:
        """Return these frames: rows are in their axes."""
        return self

    @property
    def all(self) -> list[_Mark]:
        """The marks that were asked for."""
        return list(self._known.values())


class RowPartials:
    """Rows at (q, v): A, γ and the derivatives of ψ along velocities (the last in columns); then `derivatives`."""

    def __init__(self, mechanism: Mechanism, tree: Tree, e: Equations, partials: TreePartials) -> None:
        marks, self._partials = Marks(tree, partials), partials
        coordinates = {}
        if mechanism.couplings:
            jets = coordinate_jets(e.coordinate_names, e.velocity_names, e.q, e.v)
            places = {name: i for i, name in enumerate(e.velocity_names)}
            coordinates = {name: marks.coordinate(places[name], jet) for name, jet in jets.items()}
        switches = Switches(dict(zip(e.parameter_values, ca.vertsplit(e.p))) if e.p.numel() else {})
        self.rows = constraint_rows(mechanism, marks, coordinates, switches, None)
        self._marks = marks.all
        parts = ("value", "rate", "bias")
        self._symbols = [
            ca.vertcat(ca.SX(0, 1), *(getattr(m.symbols, part) for m in self._marks)) for part in parts
        ]
        self._jets = [ca.vertcat(ca.SX(0, 1), *(getattr(m.jet, part) for m in self._marks)) for part in parts]
        place, speed, _ = self._symbols
        self._slope = ca.jacobian(self.rows.rate, speed)
        still = TreeDerivatives(partials, ca.SX.zeros(partials.nv))
        ways = [self._changes(still, mark)[1] for mark in self._marks]
        self._ways = self._stack(ways, "value")
        slope, by_place, self.bias = self._real(
            [self._slope, ca.jacobian(self.rows.rate, place), self.rows.bias], self._jets[2]
        )
        self.jacobian = slope @ self._ways
        self.slip = by_place @ self._ways + slope @ self._stack(ways, "rate")

    def derivatives(self, after: TreeDerivatives, a: ca.SX, multipliers: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the derivatives of A a + γ along and with respect to velocities, and of Aᵀλ along them."""
        place, speed, _ = self._symbols
        found = [self._changes(after, mark, a) for mark in self._marks]
        changes = [change for _, change in found]
        seconds = ca.vertcat(ca.SX(0, 1), *(second for second, _ in found))
        tension = self._slope.T @ multipliers
        slope, by_place, by_speed, pull, stiffness = self._real(
            [
                self._slope,
                ca.jacobian(self.rows.bias, place),
                ca.jacobian(self.rows.bias, speed),
                tension,
                ca.jacobian(tension, place),
            ],
            seconds,
        )
        along = by_place @ self._ways + by_speed @ self._stack(changes, "rate")
        along += slope @ self._stack(changes, "second")
        by_v = by_speed @ self._ways + slope @ self._stack(changes, "second_v")
        reaction = self._ways.T @ (stiffness @ self._ways) + self._turned(changes, pull)
        return along, by_v, reaction

    def _turned(self, changes: list[dict[int, Changes]], pull: ca.SX) -> ca.SX:
        """Return what Aᵀλ changes by because the motions of the marks turn: ω_above · (∂z × F)."""
        p, start = self._partials, 0
        couples: dict[int, ca.SX] = {}
        for mark, change in zip(self._marks, changes):
            size = mark.jet.value.shape[0]
            if mark.kind != "coordinate":
                for i, way in change.items():
                    couples[i] = couples.get(i, ca.SX.zeros(3)) + cross(way.value, pull[start : start + 3])
            start += size
        out = ca.SX.zeros(p.nv, p.nv)
        for i, couple in couples.items():
            column = p.columns[i]
            node = p.nodes[column.node]
            if column.carried:
                for j in range(node.iv, node.iv + node.nv):
                    out[i, j] = ca.dot(p.columns[j].motion.angular, couple)
            for j in p.above(column.node):
                out[i, j] = out[j, i] = ca.dot(p.columns[j].motion.angular, couple)
        return out

    @staticmethod
    def _changes(
        after: TreeDerivatives, mark: _Mark, a: ca.SX | None = None
    ) -> tuple[ca.SX, dict[int, Changes]]:
        if mark.kind == "coordinate":
            one, zero = ca.SX(1), ca.SX(0)
            return zero if a is None else a[mark.place], {mark.place: Changes(one, zero, zero, zero)}
        return (after.point if mark.kind == "point" else after.direction)(mark.place, mark.jet)

    def _stack(self, changes: list[dict[int, Changes]], part: str) -> ca.SX:
        """Return one kind of changes of all marks as a matrix with a column for each velocity."""
        blocks = [ca.SX(0, self._partials.nv)]
        for mark, change in zip(self._marks, changes):
            block = ca.SX.zeros(mark.jet.value.shape[0], self._partials.nv)
            for j, way in change.items():
                block[:, j] = getattr(way, part)
            blocks.append(block)
        return ca.sparsify(ca.vertcat(*blocks))

    def _real(self, expressions: list[ca.SX], seconds: ca.SX) -> list[ca.SX]:
        """Put the jets of the marks in the place of their symbols."""
        found = ca.substitute(expressions, self._symbols, [*self._jets[:2], seconds])
        return [ca.sparsify(matrix) for matrix in found]
