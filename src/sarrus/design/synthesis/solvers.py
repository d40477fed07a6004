"""Solvers of a synthesis problem, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sarrus.base.errors import ArgumentError
from sarrus.design.synthesis.evaluation import Found
from sarrus.design.synthesis.interior import ipopt, require_ipopt
from sarrus.design.synthesis.program import Ended, Program
from sarrus.design.synthesis.sequential import slsqp

Method = Literal["auto", "slsqp", "ipopt"]
Solver = Callable[[Found, int], Ended]
_METHODS = ("auto", "slsqp", "ipopt")


def solver_of(program: Program, method: str) -> Solver:
    """Return the solver with a name; `ArgumentError` for an unknown one."""
    label = program.evaluation.system.name
    if method not in _METHODS:
        raise ArgumentError(
            f"{label}: method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}",
            element="method",
        )
    if method == "auto" and program.plain:
        return program.least_squares
    if method != "ipopt":
        return lambda found, iterations: slsqp(program, found, iterations)
    require_ipopt(label)
    return lambda found, iterations: ipopt(program, found, iterations)
