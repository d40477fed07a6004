"""Straight-line functions for fixed steps of many runs at once: W states, one in each lane of a vector register.

If the rows of A are independent, acceleration and projection need no branches
(`sarrus.symbolic.equations.elimination`), so one instruction sequence serves W runs. The conditioning number of the
solve tells whether it is accurate; a lane where it is not continues with the kernels that decide ranks.
"""

from __future__ import annotations

import casadi as ca

from sarrus.codegen import NativeFunction
from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.state_functions import StateFunction, trace_function
from sarrus.kernels.linalg.quaternions import normalized_expression
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.symbolic.equations.elimination import direct_projection, direct_solution
from sarrus.symbolic.equations.least_norm import Basis

# Straight-line functions by their names in the table of the lanes; kept alive while they are used.
Lanes = dict[str, NativeFunction]


def suits_lanes(system: Evaluations, rank: int) -> bool:
    """Tell whether straight-line code solves this system at generic configurations of this rank of A."""
    return system.nc == system.equations.nh and _basis(system.compiled, rank) is not None


def lane_slope(system: Evaluations, rank: int) -> NativeFunction:
    """Return the function (q̇, a, conditioning) of all lanes, with the conditioning of `direct_solution`."""
    compiled, basis = system.compiled, basis_of_lanes(system, rank)

    def slope() -> dict[str, ca.SX]:
        answer = direct_solution(compiled.equations, compiled.weighted, compiled.least_norm(basis))
        return {name: answer[name] for name in ("rate", "a", "conditioning")}

    return compiled.named(f"slope in {LANES} lanes", slope, lanes=LANES)


def lane_functions(
    system: Evaluations, rank: int, control: StateFunction | None, *, slopes: bool = True
) -> Lanes:
    """Return the functions of the states x of all lanes, by their names in the table.

    slope : (q̇, a, conditioning), see `lane_slope`; if ``slopes``.
    closed : (φ, q, v) after a step of `direct_projection`, with unit quaternions before and after.
    control : u, if there is a control law.
    """
    compiled, e = system.compiled, system.compiled.equations
    basis = basis_of_lanes(system, rank)

    def closed() -> dict[str, ca.SX]:
        answer = direct_projection(e, compiled.weighted, compiled.least_norm(basis), compiled.moved)
        names = ("left", "place", "speed")
        unit = normalized_expression(e.q, e.quaternions)
        return dict(zip(names, ca.substitute([answer[name] for name in names], [e.q], [unit])))

    found = {"closed": compiled.named(f"closing step in {LANES} lanes", closed, lanes=LANES)}
    if slopes:
        found["slope"] = lane_slope(system, rank)
    if control is not None:
        u = trace_function(system, control, system.nu, "control")
        found["control"] = compiled.compile("lane_control", {"u": u}, lanes=LANES)
    return found


def basis_of_lanes(system: Evaluations, rank: int) -> Basis:
    """Return the rows for straight-line code of a system that `suits_lanes`."""
    basis = _basis(system.compiled, rank)
    assert basis is not None
    return basis


def _basis(compiled: CompiledEquations, rank: int) -> Basis | None:
    """Return the rows for straight-line code, None if some rows depend on others."""
    found = compiled.basis(rank, ())
    return None if found is None or found.dependent else found
