"""Derivatives of constraint rows by the chain rule: rows depend on marks, marks on the motion of the tree.

Rows are traced over symbols for `sarrus.symbolic.multibody.marks`, so each derivative by a mark is small. Directions
turn with their node, ∂z = ∂θ × z, so derivatives by all directions of a node become derivatives by three numbers:

    ∂z = D(z) S,    ∂ż = D(z) Ψ̇ + D(ż) S,    ∂z̈ = D(z) Ψ̈ + k D(ż) Ψ̇ + D(z̈) S

with D(z) = −[z×] and k = 2; for angular velocities ω = ż and accelerations z̈, D(z) = 1, D(ż) = −[ω×] and k = 1; for
points and coordinates, with their own derivatives, D(z) = 1 and D(ż) = D(z̈) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.model.builders.mechanism import Mechanism
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.kinematics.kinematics import skew
from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.tree import Tree
from sarrus.symbolic.multibody.marks import Carriers, Mark, Marks
from sarrus.symbolic.multibody.model import constraint_rows
from sarrus.symbolic.multibody.motions import AXES, Accelerated, Changes, Motions
from sarrus.symbolic.multibody.partials import TreePartials
from sarrus.symbolic.multibody.switches import Switches
from sarrus.symbolic.rows.closures import coordinate_jets


@dataclass(frozen=True)
class _Group:
    """Marks moved by the same numbers: a point or coordinate alone; the directions of one node together."""

    kind: str
    place: int
    motions: Motions | None
    marks: list[Mark]

    @property
    def size(self) -> int:
        """Number of entries of their motion."""
        return self.marks[0].jet.value.shape[0]

    def spread(self, parts: list[ca.SX], order: int, twice: bool) -> ca.SX:
        """Return D of the values of the marks, or of their derivatives of an order; k D if ``twice``."""
        if self.kind != "turning":
            return ca.SX.eye(self.size) if order == 0 else ca.SX(self.size, self.size)
        blocks = []
        for mark, part in zip(self.marks, parts):
            if mark.kind == "direction":
                blocks.append(-2 * skew(part) if twice else -skew(part))
            else:
                blocks.append(ca.SX(AXES) if order == 0 else -skew(part))
        return ca.vertcat(*blocks)


class RowPartials:
    """Rows at (q, v): A, γ, the derivatives of ψ along velocities (last in columns), and `derivatives`.

    The rows are those of the system, except for the axes of x, y, z of closures with the ground, see `Carriers`: in
    other axes A and λ are rotated, and the allowed motions are equal.
    """

    def __init__(
        self, mechanism: Mechanism, tree: Tree, joints: list[Link], e: Equations, partials: TreePartials
    ) -> None:
        self._nv = e.nv
        carriers = Carriers(mechanism, tree, joints, e.v, partials)
        marks, coordinates = Marks(tree, partials.motions, carriers.motions), {}
        if mechanism.couplings:
            jets = coordinate_jets(e.coordinate_names, e.velocity_names, e.q, e.v)
            places = {name: i for i, name in enumerate(e.velocity_names)}
            coordinates = {name: marks.coordinate(places[name], jet) for name, jet in jets.items()}
        switches = Switches(dict(zip(e.parameter_values, ca.vertsplit(e.p))) if e.p.numel() else {})
        rows = self._rows = constraint_rows(mechanism, marks, coordinates, e.t, switches, None)
        self._groups = _groups(marks.all)
        self._marks = [mark for group in self._groups for mark in group.marks]
        parts = ("value", "rate", "bias")
        self._symbols = [_stacked([getattr(m.symbols, part) for m in self._marks]) for part in parts]
        values = [[getattr(m.jet, part) for m in self._marks] for part in parts]
        self._jets = [_stacked(part) for part in values]
        self._spread = [
            self._spread_of(values[k], k, twice) for k, twice in ((0, False), (1, False), (1, True))
        ]
        still = _Changing(ca.SX.zeros(e.nv))
        changes = [still.changes(group)[1] for group in self._groups]
        self._ways = self._stack(changes, "value")
        d, d_rate, _ = self._spread
        by_rate, by_value = self._directional(rows.rate, [None, d]), self._directional(rows.rate, [d, d_rate])
        turn, by_place, self.bias = self._real([by_rate, by_value, rows.bias], self._jets[2])
        self.jacobian = turn @ self._ways
        self.slip = by_place @ self._ways + turn @ self._stack(changes, "rate")

    def derivatives(self, a: ca.SX, multipliers: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the derivatives of A a + γ along and by velocities, and of Aᵀλ along velocities."""
        after = _Changing(a)
        found = [after.changes(group) for group in self._groups]
        changes = [change for _, change in found]
        seconds = [second for seconds, _ in found for second in seconds]
        (d, d_rate, d_rate_twice), d_second = self._spread, self._spread_of(seconds, 2)
        tension = ca.jtimes(self._rows.rate, self._symbols[1], multipliers, True)
        turn, by_place, by_speed, pull, stiffness = self._real(
            [
                self._directional(self._rows.rate, [None, d]),
                self._directional(self._rows.bias, [d, d_rate, d_second]),
                self._directional(self._rows.bias, [None, d, d_rate_twice]),
                tension,
                d.T @ self._directional(tension, [d]),
            ],
            _stacked(seconds),
        )
        along = by_place @ self._ways + by_speed @ self._stack(changes, "rate")
        along += turn @ self._stack(changes, "second")
        by_v = by_speed @ self._ways + turn @ self._stack(changes, "second_v")
        reaction = self._ways.T @ (stiffness @ self._ways) + self._turned(changes, pull)
        return along, by_v, reaction

    def _directional(self, expressions: ca.SX, seeds: list[ca.SX | None]) -> ca.SX:
        """Return derivatives by the symbols along the columns of seeds for values, rates and second derivatives."""
        given = [
            (symbols, ca.densify(seed)) for symbols, seed in zip(self._symbols, seeds) if seed is not None
        ]
        symbols, along = (ca.vertcat(*parts) for parts in zip(*given))
        return ca.sparsify(ca.jtimes(expressions, symbols, along))

    def _turned(self, changes: list[dict[int, Changes]], pull: ca.SX) -> ca.SX:
        """Return the derivative of Aᵀλ due to the rotation of the marks' motions: ω_above · (∂z × F).

        If z turns with its node, which an angular velocity does not, motions above and below are symmetric.
        """
        out, forces = ca.SX.zeros(self._nv, self._nv), _parts(pull, self._marks)
        for carrier in dict.fromkeys(group.motions for group in self._groups if group.motions is not None):
            couples: dict[int, ca.SX] = {}
            for group, change in zip(self._groups, changes):
                if group.motions is carrier:
                    act = _couples(group, forces)
                    for i, way in change.items():
                        couples[i] = couples.get(i, ca.SX.zeros(3, 2)) + ca.horzcat(
                            *(m @ way.value for m in act)
                        )
            for i, couple in couples.items():
                column = carrier.columns[i]
                node = carrier.nodes[column.node]
                if column.carried:
                    for j in range(node.iv, node.iv + node.nv):
                        out[i, j] += ca.sum2(carrier.columns[j].motion.angular.T @ couple)
                for j in carrier.above(column.node):
                    parts = carrier.columns[j].motion.angular.T @ couple
                    out[i, j] += ca.sum2(parts)
                    out[j, i] += parts[0]
        return out

    def _spread_of(self, parts: list[ca.SX], order: int, twice: bool = False) -> ca.SX:
        """Return D of all groups from the parts of all marks, or k D."""
        blocks, start = [], 0
        for group in self._groups:
            blocks.append(group.spread(parts[start : start + len(group.marks)], order, twice))
            start += len(group.marks)
        return ca.diagcat(*blocks) if blocks else ca.SX(0, 0)

    def _stack(self, changes: list[dict[int, Changes]], part: str) -> ca.SX:
        """Return one kind of derivatives of all groups as a matrix with a column for each velocity."""
        blocks = [ca.SX(0, self._nv)]
        for group, change in zip(self._groups, changes):
            block = ca.SX.zeros(group.size, self._nv)
            for j, way in change.items():
                block[:, j] = getattr(way, part)
            blocks.append(block)
        return ca.sparsify(ca.vertcat(*blocks))

    def _real(self, expressions: list[ca.SX], seconds: ca.SX) -> list[ca.SX]:
        """Substitute the jets of the marks for their symbols."""
        found = ca.substitute(expressions, self._symbols, [*self._jets[:2], seconds])
        return [ca.sparsify(matrix) for matrix in found]


class _Changing:
    """Derivatives of marks at given accelerations."""

    def __init__(self, a: ca.SX) -> None:
        self._a = a
        self._known: dict[Motions, Accelerated] = {}

    def changes(self, group: _Group) -> tuple[list[ca.SX], dict[int, Changes]]:
        """Return the second derivatives of the marks of a group, and its derivatives along each velocity."""
        if group.motions is None:
            one, zero = ca.SX(1), ca.SX(0)
            return [self._a[group.place]], {group.place: Changes(one, zero, zero, zero)}
        if group.motions not in self._known:
            self._known[group.motions] = Accelerated(group.motions, self._a)
        after = self._known[group.motions]
        if group.kind == "turning":
            spin = after.node(group.place).angular
            seconds = [
                spin if m.kind == "turning" else after.direction(group.place, m.jet) for m in group.marks
            ]
            return seconds, after.changes(group.place)
        (mark,) = group.marks
        second, changes = after.point(group.place, mark.jet)
        return [second], changes


def _groups(marks: list[Mark]) -> list[_Group]:
    """Return the marks grouped by the numbers that move them."""
    found: dict[tuple[object, ...], _Group] = {}
    for mark in marks:
        turns = mark.kind in ("direction", "turning")
        kind, own = ("turning", None) if turns else (mark.kind, id(mark))
        group = _Group(kind, mark.place, mark.motions, [])
        found.setdefault((kind, mark.place, mark.motions, own), group).marks.append(mark)
    return list(found.values())


def _couples(group: _Group, pull: dict[int, ca.SX]) -> tuple[ca.SX, ca.SX]:
    """Return the matrices of ∂z × F, for points and node rotations, and for angular velocities."""
    total, spinning = ca.SX.zeros(3, 3), ca.SX.zeros(3, 3)
    for mark in group.marks:
        z, force = mark.jet.value, pull[id(mark)]
        if mark.kind == "turning":
            spinning -= skew(force)
        else:
            total += z @ force.T - ca.dot(z, force) * AXES if mark.kind == "direction" else -skew(force)
    return total, spinning


def _parts(column: ca.SX, marks: list[Mark]) -> dict[int, ca.SX]:
    """Return the part of each mark in a column for the symbols of all."""
    found, start = {}, 0
    for mark in marks:
        size = mark.jet.value.shape[0]
        found[id(mark)] = column[start : start + size]
        start += size
    return found


def _stacked(parts: list[ca.SX]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *parts)
