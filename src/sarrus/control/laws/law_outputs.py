"""`law_outputs`: terms and demands of a control law, the outputs of its native function."""

from __future__ import annotations

from typing import Any

import casadi as ca

from sarrus.control.laws.demands import Demand, ForceDemand, stacked
from sarrus.control.laws.row_units import times_rows
from sarrus.dynamics.closing.closed_state import gap_expression
from sarrus.dynamics.model.control_limits import force_at_zero_control


def law_outputs(law: Any) -> dict[str, ca.SX]:
    """Return the outputs of the native function of a `Law`, expressions of its symbols."""
    e, rows = law.system.equations, [level for level in law.levels if isinstance(level, Demand)]
    pushes = [level.force for level in law.levels if isinstance(level, ForceDemand)]
    forces = [force for force in pushes if force is not None]
    outputs = {
        "mass": e.mass_matrix,
        "force": law.system.compiled.force - force_at_zero_control(law.system),
        "rows": times_rows(law.system, e.jacobian.T).T,
        "bias": times_rows(law.system, e.constraint_bias.T).T,
        "actuation": e.actuation.T,
        "demands": ca.vertcat(ca.SX(0, e.nv), *[level.jacobian for level in rows]),
        "wanted": ca.vertcat(ca.SX(0, 1), *[level.wanted for level in rows]),
    }
    if any(level.multipliers is not None for level in rows):
        outputs["couplings"] = times_rows(law.system, stacked(rows, "multipliers", e.nc))
    if any(level.unknowns is not None for level in rows):
        outputs["selections"] = stacked(rows, "unknowns", law.unknowns)
    if any(level.active is not None for level in rows):
        each = [ca.SX.ones(len(level.rows)) if level.active is None else level.active for level in rows]
        outputs["active"] = ca.fmin(ca.fmax(ca.vertcat(*each), 0.0), 1.0)
    if forces:
        outputs["forces"] = ca.horzcat(*forces).T
    if law.states:
        outputs["memory"] = ca.vertcat(*(state.next for state in law.states))
    if law.system.nh > 0:
        outputs["gap"] = gap_expression(law.system)
    return outputs
