"""Switchable constraints: rows multiplied by a parameter that is 1 (active) or 0 (inactive)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from sarrus.base.errors import ModelError
from sarrus.model.mechanism.description import Constraint
from sarrus.model.mechanism.elements import Contact
from sarrus.symbolic.equations.equations import activity_parameter, anchor_parameter, stick_parameter
from sarrus.symbolic.kinematics.jet import Jet


class Switches:
    """The parameters that switch the constraints of one mechanism, with their values at the start.

    Symbols in ``known`` (by name) are used; for other names new symbols are made.
    """

    def __init__(self, known: Mapping[str, ca.SX] | None = None) -> None:
        self.values: dict[str, float] = {}
        self._symbols: list[ca.SX] = []
        self._known = known

    @property
    def symbols(self) -> ca.SX:
        """Column of the symbols in the order of ``values``."""
        return ca.vertcat(ca.SX(0, 1), *self._symbols)

    def apply(self, constraint: Constraint, rows: Jet, anchors: Mapping[int, float] | None = None) -> Jet:
        """Return the rows, multiplied by the switch of a switchable constraint.

        ``anchors`` maps rows that hold the residual of the moment of switching to its value at the start.
        """
        if constraint.active is None:
            return rows
        count = rows.value.shape[0]
        active = self._symbol(activity_parameter(constraint.name), float(constraint.active))
        factor, zero = active * ca.SX.ones(count), ca.SX.zeros(count)
        if isinstance(constraint, Contact) and count > 1:
            factor[1:] *= self._symbol(stick_parameter(constraint.name), 1.0)
        for row, value in (anchors or {}).items():
            zero[row] = self._symbol(anchor_parameter(constraint.row_names[row]), value)
        return Jet(factor * (rows.value - zero), factor * rows.rate, factor * rows.bias)

    def _symbol(self, name: str, value: float) -> ca.SX:
        if name in self.values:
            raise ModelError(
                f"two constraints would have the parameter {name!r}: rename one of them", element=name
            )
        self.values[name] = value
        self._symbols.append(ca.SX.sym(name) if self._known is None else self._known[name])
        return self._symbols[-1]
