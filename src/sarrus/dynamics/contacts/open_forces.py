"""Forces not determined by the equations of motion: directions of [λ | r] without effect on the motion."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.symbolic.equations.equations import activity_parameter, stick_parameter


def push_count(system: Evaluations) -> int:
    """Return the number of rows of contacts and of lengths with dry friction, the first entries of r."""
    return int(system.equations.row_rates.numel())


def open_forces(
    system: Evaluations, q: Array, v: Array, t: float, rank: int, ways: Array | None = None
) -> Array:
    """Return directions of [λ | r] (columns) along which forces change without a change of the motion.

    λ are multipliers (nc,), with A at the given rank; r are forces of contacts with Coulomb friction, by rows. ``ways``
    (m × k) are the directions in which forces of contacts, stops and dry friction may change; None: no direction.
    """
    size, count, holds = system.characteristic, push_count(system), holding_rows(system)
    rows = size.scaled_rows(system.constraint_jacobian(q, v, t))[holds]
    if ways is None:
        found = at_rank(rows, min(rank, len(rows))).left_null
        touching = np.zeros((0, found.shape[1]))
    else:
        acting = ways.T @ contact_row_state(system, q, v, t).rows / size.columns
        found = ranked(np.vstack([rows, acting / size.length]), relative=FINE_RANK_CUT).left_null
        found, touching = found[: len(rows)], found[len(rows) :] / size.length
    left = np.zeros((system.nc + count, found.shape[1]))
    left[: system.nc][holds] = size.rows[holds, None] * found
    if ways is not None:
        left[system.nc :] = (ways @ touching)[:count]
    return left


def holding_rows(system: Evaluations) -> np.ndarray:
    """Return a mask (nc,) of the active rows of A: not those of switched-off or sliding constraints."""
    holds = np.ones(system.nc, dtype=bool)
    for name, rows in system.closure_rows.items():
        if system.parameters.get(activity_parameter(name), 1.0) == 0.0:
            holds[rows] = False
        elif system.parameters.get(stick_parameter(name), 1.0) == 0.0:
            holds[rows.start + 1 : rows.stop] = False
    return holds
