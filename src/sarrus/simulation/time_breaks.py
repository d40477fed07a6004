"""`time_breaks`: the instants at which conditions on time in traced functions change."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.workspace import Workspace

_COMPARED = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX)
_SIGNED = (ca.OP_FABS, ca.OP_SIGN)
_STEPS = (ca.OP_FLOOR, ca.OP_CEIL)
# Points at which conditions are looked at during a run.
_POINTS = 20_001


def time_breaks(system: Workspace, t0: float, t1: float) -> Array:
    """Return the sorted instants between t0 and t1 [s] where a condition on time changes, ends included."""
    switches = system.model.lasting("conditions on time", lambda: _conditions(system))
    if switches is None or not t1 > t0:
        return np.zeros(0)
    width = max(1e-9 * (t1 - t0), 1e-12)
    times = np.unique(np.concatenate([np.linspace(t0, t1, _POINTS), [t0 - width, t1 + width]]))
    found: set[float] = set()
    sides = _sides(switches, times)
    for k in np.flatnonzero((sides[1:] != sides[:-1]).any(axis=1)):
        found.update(_between(switches, times[k], times[k + 1], sides[k], sides[k + 1]))
    return np.array(sorted(found))


def _between(switches: ca.Function, low: float, high: float, before: Array, after: Array) -> Iterator[float]:
    """Yield the instants in an interval, each halved down to neighbouring numbers."""
    if (before == after).all():
        return
    middle = 0.5 * (low + high)
    if not low < middle < high:
        yield high
        return
    between = _sides(switches, np.array([middle]))[0]
    yield from _between(switches, low, middle, before, between)
    yield from _between(switches, middle, high, between, after)


def _sides(switches: ca.Function, times: Array) -> Array:
    """Return on which side of its conditions each time is (times, conditions)."""
    return np.asarray(switches(times[None, :]).full().T)


def _conditions(system: Workspace) -> ca.Function | None:
    """Return the sides of all conditions on time as a function of it, None where there are none."""
    e = system.equations
    expressions = [e.velocity_residual, e.kinetic_energy, *(touch.rates for touch in e.touches)]
    todo = [x for column in expressions for x in ca.vec(ca.densify(column)).elements()]
    seen: set[int] = set()
    sides: list[ca.SX] = []
    while todo:
        x = todo.pop()
        if x.element_hash() in seen or x.is_leaf():
            continue
        seen.add(x.element_hash())
        operands = [x.dep(k) for k in range(x.n_dep())]
        todo += operands
        side = _side(x.op(), operands)
        if side is not None and [s.element_hash() for s in ca.symvar(side)] == [e.t.element_hash()]:
            sides.append(side)
    return ca.Function("sides", [e.t], [ca.vertcat(*sides)]) if sides else None


def _side(op: int, operands: list[ca.SX]) -> ca.SX | None:
    if op in _COMPARED:
        return ca.sign(operands[0] - operands[1]) >= 0
    if op in _SIGNED:
        return operands[0] >= 0
    return ca.floor(operands[0]) if op in _STEPS else None
