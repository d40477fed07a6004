"""User functions of the state and of parameters: controls, applied forces, events."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import casadi as ca

from sarrus.base.errors import ArgumentError
from sarrus.symbolic.equations.symbolic import Parameters, traced

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations

# f(q, v, t) or f(q, v, t, p), of CasADi symbols or of arrays.
StateFunction = Callable[..., Any]


def trace_function(system: Evaluations, function: StateFunction, size: int, what: str) -> ca.SX:
    """Return function(q, v, t), or function(q, v, t, p), as an SX column of ``size`` entries over the symbols.

    p gives the system's parameters by attribute and by item.
    """
    e = system.equations
    if not callable(function):
        raise ArgumentError(
            f"{what} must be a function of (q, v, t), got {type(function).__name__}. For a constant write "
            "lambda q, v, t: value",
            element=what,
        )
    remedy = "Write it with CasADi operations, or give sample_time= to call it as plain Python"
    more = arguments_beyond(function, e.parameter_values, ca.vertsplit(e.p) if e.parameter_values else ())
    return traced(function, (e.q, e.v, e.t, *more), what, remedy, size)


def arguments_beyond(
    function: StateFunction, names: Iterable[str], values: Iterable[Any]
) -> tuple[Parameters, ...]:
    """Return (p,), the parameters by name, for a function of (q, v, t, p), and () for a function of (q, v, t)."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ()
    if not _takes(signature, 4) or (_takes(signature, 3) and "p" not in signature.parameters):
        return ()
    return (Parameters(dict(zip(names, values))),)


def _takes(signature: inspect.Signature, count: int) -> bool:
    """Tell whether a function accepts ``count`` positional arguments."""
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True
