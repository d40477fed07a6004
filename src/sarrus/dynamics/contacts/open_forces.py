"""Forces not determined by the equations of motion: directions of [λ | r] without effect on the motion."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_functions import row_count
from sarrus.dynamics.contacts.contact_state import contact_row_state, geometry_contacts
from sarrus.dynamics.contacts.geometry_state import body_names
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.symbolic.equations.equations import activity_parameter, stick_parameter


def push_count(system: Evaluations) -> int:
    """Return the number of entries of r: rows of contacts, and wrenches by contacts that a narrow phase finds.

    The wrenches are those of `sarrus.dynamics.contacts.geometry_state.GeometryContacts.wrenches`, six for each body.
    """
    return row_count(system) + 6 * len(body_names(system))


def pushes_of(system: Evaluations, q: Array, t: float, forces: Array) -> Array:
    """Return r for the forces of contacts, stops and dry friction (m,) of forward dynamics at q and t."""
    return push_map(system, q, t, forces[:, None])[:, 0]


def push_map(system: Evaluations, q: Array, t: float, ways: Array) -> Array:
    """Return the directions of r (columns) for directions of all forces (m × k) at q and t."""
    found = ways[: row_count(system)]
    if not system.contact_geometries:
        return found
    geometry = geometry_contacts(system, q, t)
    last = ways[len(ways) - len(geometry.rows) :]
    return np.vstack([found, product(geometry.wrench_map(), last)])


def open_forces(
    system: Evaluations, q: Array, v: Array, t: float, rank: int, ways: Array | None = None
) -> Array:
    """Return directions of [λ | r] (columns) along which forces change without a change of the motion.

    λ are multipliers (nc,), with A at the given rank; r are the entries of `push_count`. ``ways``
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
        left[system.nc :] = push_map(system, q, t, ways @ touching)
        if system.contact_geometries:  # forces of a pair that balance each other change no wrench
            weights = np.ones((len(left), 1))
            moments = weights[system.nc + row_count(system) :].reshape(-1, 6)[:, 3:]
            moments /= size.length
            weights[: system.nc][holds] /= size.rows[holds, None]
            left = product(left, ranked(weights * left, cut=FINE_RANK_CUT).right)
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
