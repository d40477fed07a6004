"""User functions of one expression as jets: motions (functions of time), cams, laws of springs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError
from sarrus.kernels.linalg.tolerances import NO_QUATERNION
from sarrus.model.mechanism.faults import Label, fault
from sarrus.symbolic.equations.symbolic import stacked, traced_matrix
from sarrus.symbolic.kinematics.jet import Jet, through

Motion = Callable[[Any], Any]


def pose_at(motion: Motion, t: ca.SX, label: Label) -> tuple[ca.SX, ca.SX | None]:
    """Return the position and the unit quaternion of a function of time; None for a function without quaternion."""
    sizes = {3: "a position (3 entries)", 7: "a position and a wxyz quaternion (7)"}
    column = _column(motion, t, label, "function(t)", sizes, "t")
    start = _at_start(column, t, label)
    if column.numel() == 3:
        return column, None
    if np.linalg.norm(start[3:]) < NO_QUATERNION:
        raise fault(label, "its quaternion has zero length at t = 0")
    return column[:3], column[3:] / ca.norm_2(column[3:])


def jet_of_time(column: ca.SX, t: ca.SX) -> Jet:
    """Return the jet of an expression of time alone."""
    rate = ca.jacobian(column, t)
    return Jet(column, rate, ca.jacobian(rate, t))


def value_at(function: Motion, x: ca.SX, label: Label, what: str) -> ca.SX:
    """Return the value of a user's scalar function at an expression."""
    place = ca.SX.sym("x")
    column = _column(function, place, label, what, {1: "one number"}, "x")
    return ca.substitute(column, place, x)


def slope_at(function: Motion, place: float, label: Label) -> float:
    """Return the slope of a user's scalar function at a number."""
    x = ca.SX.sym("x")
    slope = ca.jacobian(value_at(function, x, label, "function"), x)
    return float(ca.Function("slope", [x], [slope])(place))


def at_jet(function: Motion, x: Jet, label: Label, what: str) -> Jet:
    """Return the jet of a user's scalar function at the jet of its argument."""
    return through(lambda place: value_at(function, place, label, what), x)


def number_at(motion: Motion, t: ca.SX, label: Label, *, positive: bool = False) -> Jet:
    """Return the jet of a scalar function of time; with ``positive`` its value at t = 0 must be positive."""
    column = _column(motion, t, label, "function(t)", {1: "one number"}, "t")
    start = _at_start(column, t, label)[0]
    if positive and start <= 0.0:
        raise fault(label, f"function(t) must be positive, and is {start:g} at t = 0")
    return jet_of_time(column, t)


def _column(
    function: Motion, symbol: ca.SX, label: Label, what: str, sizes: dict[int, str], name: str
) -> ca.SX:
    """Return the value of a user's function at a symbol as a column; ``sizes`` lists the allowed numbers of entries.

    The value may be a column, or a tuple of columns, which are stacked. Errors name the element.
    """

    def whole(x: ca.SX) -> ca.SX:
        value = function(x)
        parts = value if isinstance(value, tuple) else (value,)
        return ca.vertcat(*(ca.vec(ca.densify(stacked(part))) for part in parts))

    remedy = f"Write it with CasADi operations as function({name})"
    column = traced_matrix(whole, (symbol,), label, remedy, ModelError, label.name)
    if column.numel() not in sizes:
        raise fault(label, f"{what} must return {', or '.join(sizes.values())}, got {column.numel()} entries")
    foreign = [s.name() for s in ca.symvar(column) if s.element_hash() != symbol.element_hash()]
    if foreign:
        raise fault(label, f"{what} depends on other symbols: {foreign}")
    return column


def _at_start(column: ca.SX, t: ca.SX, label: Label) -> Array:
    """Return the value at t = 0, which must be finite."""
    start = np.array(ca.Function("start", [t], [column])(0.0)).ravel()
    if not np.isfinite(start).all():
        raise fault(label, f"function(t) is not finite at t = 0: {start}")
    return start
