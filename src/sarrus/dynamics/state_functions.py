"""Functions of the state that users write, over the symbols of a system: controls, applied forces, events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca

from sarrus.base.errors import ArgumentError
from sarrus.equations.symbolic import traced

if TYPE_CHECKING:
    from sarrus.dynamics.evaluations import Evaluations

# f(q, v, t), of CasADi symbols or of arrays
StateFunction = Callable[[Any, Any, Any], Any]


def trace_function(system: Evaluations, function: StateFunction, size: int, what: str) -> ca.SX:
    """Return function(q, v, t) as an SX column of ``size`` entries over the system's symbols."""
    e = system.equations
    if not callable(function):
        raise ArgumentError(
            f"{what} must be a function of (q, v, t), got {type(function).__name__}. For what is constant write "
            "lambda q, v, t: value",
            element=what,
        )
    remedy = "Write it with CasADi operations, or give sample_time= to call it as plain Python"
    return traced(function, (e.q, e.v, e.t), what, remedy, size)
