"""`TracedGoal`: a goal as native functions, with the symbols in it."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.codegen import NativeFunction
from sarrus.design.synthesis.goals import Goal
from sarrus.design.synthesis.quantities import Quantities
from sarrus.design.synthesis.state import FORCES, POSITION, RATES, State
from sarrus.dynamics.model.derivatives import along


@dataclass(frozen=True, eq=False)
class TracedGoal:
    """A goal with its compiled expression, its conditions and the level of state that it needs.

    ``forces`` are the rows of [λ; μ] in it; ``loads`` is the derivative by [λ; μ] of the components of reactions in it,
    ``names`` their elements and names. ``by_forces`` are the columns of its own derivative by these.
    """

    goal: Goal
    native: NativeFunction
    conditions: tuple[int, ...]
    level: int
    rows: int
    forces: tuple[int, ...]
    loads: NativeFunction | None
    names: tuple[tuple[str, str], ...]
    by_forces: slice

    def evaluate(self, n: int, state: State) -> dict[str, Array]:
        """Return its value (rows, 1) at the n-th of its conditions, and its derivative by the state there.

        Columns are along velocities, v, a, λ, μ and the free parameters.
        """
        given = self.goal.given[n] if self.goal.given.size else np.zeros(0)
        return self.native.evaluate(np.concatenate([state.z, state.a, state.multipliers, state.drive, given]))


def traced_goal(s: Quantities, goal: Goal, i: int, conditions: tuple[int, ...]) -> TracedGoal:
    """Return goal number i traced and compiled; `ArgumentError` if its expression is empty."""
    system, e = s.system, s.system.equations
    given = ca.SX.sym("given", goal.given.shape[1])
    written = ca.vec(ca.SX(goal.trace(s, given)))
    if written.numel() == 0:
        raise ArgumentError(f"{system.name}: the expression of {goal.name!r} is empty", element=goal.name)
    asked = list(s.loads.found.values())
    symbols = ca.vertcat(*(load.symbols for load in asked))
    meant = ca.vertcat(*(load.value for load in asked))
    value = ca.substitute(written, symbols, meant) if asked else written
    free = [list(e.parameter_values).index(name) for name in e.design_parameters]
    forces = ca.vertcat(s.multipliers, s.forces)
    by = ca.vertcat(e.v, s.a, forces, *(e.p[place] for place in free))
    jacobian = ca.horzcat(along(system, value)[:, : e.nv], ca.jacobian(value, by))
    native = system.compiled.compile(
        f"synthesis.goal{i}",
        {"value": value, "jacobian": jacobian},
        [s.a, s.multipliers, s.forces, given],
    )
    level = POSITION
    if _depends(value, e.v) or _depends(value, s.a):
        level = RATES
    if _depends(value, forces):
        level = FORCES
    used, changes = _depends(written, symbols), None
    if used:
        by_forces = {"by_forces": ca.jacobian(meant[used], forces)}
        changes = system.compiled.compile(f"synthesis.loads{i}", by_forces)
    labels = [(load.element, name) for load in asked for name in load.names]
    return TracedGoal(
        goal,
        native,
        conditions,
        level,
        value.numel(),
        tuple(_depends(written, forces)),
        changes,
        tuple(labels[k] for k in used),
        slice(3 * e.nv, 3 * e.nv + forces.numel()),
    )


def _depends(value: ca.SX, symbols: ca.SX) -> list[int]:
    """Return the indices of the symbols in an expression."""
    if symbols.numel() == 0:
        return []
    return [k for k, there in enumerate(ca.which_depends(value, symbols, 1, False)) if there]
