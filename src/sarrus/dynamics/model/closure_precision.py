"""Judging how precisely the data of a model close its loops.

Dimensions and axes have printed digits. Redundant rows then contradict each other a little in every configuration: the
residual cannot be reduced to zero, and singular values that are zero for the ideal model have the same size. Both are
properties of the data, not of the mechanism, and no motion may depend on them. A rank r is accepted as the ideal one,
with the remaining singular values due to the data, if closing r combinations of rows leaves the other rows about
equally far open everywhere: at q, and after a walk along the motions of these r. At a singular configuration of an
exact model the walk opens them with its square, and the singular values grow with it.

A singular configuration does not show which singular values are due to the data: there `measured_precision` returns
None, and another configuration is tried.
"""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.measures import longest, metric_root, open_by
from sarrus.dynamics.model.model_precision import EXACT, DataTolerance
from sarrus.dynamics.model.tolerances import (
    EXACT_GAP,
    EXACT_RANK_CUT,
    PRECISION_CONVERGED,
    PRECISION_DRAWS,
    PRECISION_ENOUGH,
    PRECISION_ITERATIONS,
    PRECISION_SPREAD,
    PRECISION_WALK,
    ROUGH_GAP,
    ROUGH_RANK_CUT,
    SINGULAR_VALUE_DROP,
)
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.newton import contract
from sarrus.kernels.linalg.ranked import at_rank, in_metric

# Loops count as closed, and rows as dependent, by so much on the way to a configuration that is rough and no more.
NEARLY = DataTolerance(0.1 * ROUGH_GAP, ROUGH_RANK_CUT)


def measured_precision(
    system: Evaluations, q: Array, t: float = 0.0, least: float = ROUGH_RANK_CUT
) -> DataTolerance | None:
    """Return the precision of the data of a model, judged at a configuration with nearly closed loops.

    None if the loops are too far open, if small singular values are neither rounding nor due to the data, or if a
    significant one is below ``least`` times the largest: near a singular configuration they have any size.
    """
    error = open_by(system, q, t)
    if system.nh < 2:
        return EXACT
    if not error <= ROUGH_GAP:
        return None
    values = _values(system, q, t)
    steps, unexplained = min(len(values), system.nv), False
    for rank in range(1, len(values)):
        kept, beyond = values[rank - 1], values[rank]
        if beyond > ROUGH_RANK_CUT * values[0] or beyond * SINGULAR_VALUE_DROP > kept:
            continue
        if error <= EXACT_GAP and beyond <= EXACT_RANK_CUT * values[0]:
            return None if unexplained else EXACT
        if rank < steps:
            if kept > least * values[0] and (found := _judged(system, q, t, rank)) is not None:
                return found
            unexplained = True
    return (
        EXACT if not unexplained and (error <= EXACT_GAP or values[-1] > ROUGH_RANK_CUT * values[0]) else None
    )


def close_at_rank(system: Evaluations, q: Array, t: float, rank: int) -> Array | None:
    """Return the nearest configuration with closed leading ``rank`` combinations of rows, None if there is none.

    Gauss–Newton steps in the kinetic metric with ``rank`` singular values.
    """
    factors = system.characteristic.rows[: system.nh]

    def correction(q: Array) -> tuple[Array, float]:
        phi = factors * system.constraint_residual(q, t)
        root = metric_root(system, q, t)
        rows = factors[:, None] * system.constraint_jacobian(q, t=t)[: system.nh]
        step = -dense.solve(root.T, at_rank(in_metric(rows, root), rank).solve(phi))
        return step, longest(system, step)

    return contract(
        q,
        correction,
        system.move,
        rate=0.9,
        done=PRECISION_CONVERGED,
        first=1.0,
        most=PRECISION_ITERATIONS,
        enough=PRECISION_ENOUGH,
    )


def _values(system: Evaluations, q: Array, t: float) -> Array:
    return dense.singular_values(
        system.characteristic.scaled_rows(system.constraint_jacobian(q, t=t))[: system.nh]
    )


def _judged(system: Evaluations, q: Array, t: float, rank: int) -> DataTolerance | None:
    """Return the tolerance if the singular values beyond the rank are due to the data or rounding, else None."""
    place = close_at_rank(system, q, t, rank)
    if place is None:
        return None
    size = system.characteristic
    rows = size.scaled_rows(system.constraint_jacobian(place, t=t))[: system.nh]
    values = dense.singular_values(rows)
    beyond = float(values[rank])
    left = open_by(system, place, t)
    allowed = PRECISION_SPREAD * (max(left, EXACT_GAP) + beyond * PRECISION_WALK)
    rng = np.random.default_rng(7)
    free = dense.svd(rows).right[rank:]
    ways = [
        free[k]
        for k in range(min(len(values), system.nv) - rank)
        if values[rank + k] > EXACT_RANK_CUT * values[0]
    ]
    ways += [dense.product(free.T, rng.standard_normal(len(free))) for _ in range(PRECISION_DRAWS)]
    for way in ways:
        for sign in (1.0, -1.0):
            away = system.move(place, sign * PRECISION_WALK * way / dense.norm(way) / size.columns)
            there = close_at_rank(system, away, t, rank)
            if there is None or open_by(system, there, t) > allowed:
                return None
            left = max(left, open_by(system, there, t))
            more = _values(system, there, t)
            if more[rank] * SINGULAR_VALUE_DROP > more[rank - 1] or more[rank] > ROUGH_RANK_CUT * more[0]:
                return None
            beyond = max(beyond, float(more[rank]))
    if max(left, beyond) <= EXACT_GAP:
        return EXACT
    found = max(left, beyond, EXACT_GAP)
    cut = max(30.0 * beyond / values[0], found)
    return DataTolerance(found, float(min(cut, np.sqrt(values[rank - 1] * beyond) / values[0])))
