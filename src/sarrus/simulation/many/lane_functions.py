"""What a fixed step of many runs at once is made of: straight-line functions on W states, one in each lane.

Where the rows of A are independent, acceleration and projection need no branches (`sarrus.equations.elimination`), so
the same code serves W runs in the registers of the processor. The gauge of the solve tells how far it is to be trusted;
a lane where it is not goes on by the kernels that decide ranks.
"""

from __future__ import annotations

import casadi as ca

from sarrus.codegen import NativeFunction
from sarrus.dynamics.compiled import CompiledEquations
from sarrus.dynamics.evaluations import Evaluations
from sarrus.dynamics.state_functions import StateFunction, trace_function
from sarrus.equations.elimination import (
    direct_solution,
    factor_symmetric,
    solve_lower,
    solve_symmetric,
)
from sarrus.kernels.batch_layout import LANES
from sarrus.linalg.quaternions import normalized_expression

# Straight-line functions by their names in the table of the lanes; kept alive as long as they are used.
Lanes = dict[str, NativeFunction]


def suits_lanes(system: Evaluations, rank: int) -> bool:
    """Tell whether straight-line code solves this system at generic configurations, where A has this rank."""
    live = system.compiled.direct
    return live is not None and len(live) == rank and system.nc == system.equations.nh


def lane_functions(system: Evaluations, control: StateFunction | None) -> Lanes:
    """Return what the lanes call, by its name in their table: functions of the states x of all of them.

    slope : (q̇, a, gauge), with the gauge of `direct_solution`.
    newton : q ⊕ δ, a Newton step in the kinetic metric, with unit quaternions before and after.
    velocity : (φ, v projected on ψ = 0 in the kinetic metric).
    control : u, where there is a control law.
    """
    compiled, e = system.compiled, system.compiled.equations

    def slope() -> dict[str, ca.SX]:
        assert compiled.direct is not None
        answer = direct_solution(e, compiled.weighted, compiled.direct)
        return {name: answer[name] for name in ("rate", "a", "gauge")}

    def newton() -> dict[str, ca.SX]:
        q = normalized_expression(e.q, e.quaternions)
        if e.nh and compiled.direct:
            step = -_least_norm(compiled, e.position_residual)
            moved = e.q + ca.substitute(e.rate, e.v, step)
            q = ca.substitute(normalized_expression(moved, e.quaternions), e.q, q)
        return {"q": q}

    def velocity() -> dict[str, ca.SX]:
        v = e.v
        if e.nc and compiled.direct:
            v = v - _least_norm(compiled, e.velocity_residual)
        return {"residual": e.position_residual, "v": v}

    found = {
        name: compiled.named(f"{called} in {LANES} lanes", outputs, lanes=LANES)
        for name, called, outputs in (
            ("slope", "slope", slope),
            ("newton", "Newton step", newton),
            ("velocity", "velocity", velocity),
        )
    }
    if control is not None:
        u = trace_function(system, control, system.nu, "control")
        found["control"] = compiled.compile("lane_control", {"u": u}, lanes=LANES)
    return found


def _least_norm(compiled: CompiledEquations, residual: ca.SX) -> ca.SX:
    """Return the shortest δ in the metric of M with A δ = r for independent rows: L⁻¹ Âᵀ (Â Âᵀ)⁻¹ r."""
    live = compiled.direct
    assert live is not None
    factor, rows = compiled.weighted.factor, compiled.weighted.rows[live, :]
    gram = rows @ rows.T
    lower = [[gram[i, j] for j in range(i + 1)] for i in range(len(live))]
    multipliers = solve_symmetric(*factor_symmetric(lower), [residual[j] for j in live])
    step = rows.T @ ca.vertcat(*multipliers)
    return ca.vertcat(*solve_lower(factor, [step[i] for i in range(step.numel())]))
