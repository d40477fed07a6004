"""Equality rows against MuJoCo's: both forbid the same velocities, at closed configurations near the initial one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import mujoco
import numpy as np
from oracles import full_mass, smooth

# Singular values below this part of the largest are none: files close their loops to printed digits.
CUT = 1e-6
# A row of length one that sticks out of the other rows' space by more is another constraint.
OUT = 1e-4
CLOSED = 1e-10


def rows_differ(model: Any, mechanism: Any, e: Any) -> Iterator[str]:
    """Yield where the spaces of the rows differ; ``e`` are the traced equations."""
    lost = [entry for entry in mechanism.report.left_out if entry.kind.startswith("equality")]
    if not (e.nc or model.neq) or lost or mechanism.contacts:
        return
    smooth(model)
    data, rng = mujoco.MjData(model), np.random.default_rng(2)
    nothing = [0.0, np.array(list(e.parameter_values.values()))]
    own = ca.Function("rows", [e.q, e.t, e.p], [ca.densify(e.position_residual), ca.densify(e.jacobian)])
    acts = np.zeros(e.q.numel() - model.nq)
    for spread in (0.0, 0.1, 0.3):
        q = model.qpos0.copy()
        mujoco.mj_integratePos(model, q, rng.normal(0, spread, model.nv), 1.0)
        for _ in range(50):
            residual, jacobian = (np.array(x) for x in own(np.r_[q, acts], *nothing))
            if not np.abs(residual).max(initial=0.0) > CLOSED:
                break
            mujoco.mj_integratePos(model, q, -np.linalg.pinv(jacobian, CUT) @ residual[:, 0], 1.0)
        else:
            continue  # no closed configuration near
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        units = 1.0 / np.sqrt(np.maximum(np.diag(full_mass(model, data)), 1e-12))
        other = np.array(data.efc_J).reshape(-1, model.nv)[np.array(data.efc_type) == 0]
        yield from _apart(_scaled(jacobian, units), _scaled(other, units))


def _scaled(rows: Any, units: Any) -> Any:
    """Return the rows that are not zero, in the units of the velocities, with length one."""
    rows = rows * units
    lengths = np.linalg.norm(rows, axis=1)
    keep = lengths > CUT * lengths.max(initial=1e-12)
    return rows[keep] / lengths[keep, None]


def _apart(own: Any, other: Any) -> Iterator[str]:
    for rows, space, what in ((other, own, "misses"), (own, other, "adds")):
        if not len(rows):
            continue
        out = rows - rows @ np.linalg.pinv(space, CUT) @ space if len(space) else rows
        most = float(np.linalg.norm(out, axis=1).max())
        if not most <= OUT:
            yield f"equality rows: {what} a row, {most:.1e} of it outside of the others"
