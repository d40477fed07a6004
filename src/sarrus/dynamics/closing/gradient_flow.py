"""Closing the loops of a rough guess by a continuous descent, and the closures whose assembly branch it changed.

The continuous form of Newton's method, dq/dτ = −L⁻¹Âᵀ(Â Âᵀ + |φ|²)⁻¹ φ in the kinetic metric (Branin, IBM J. Res.
Dev. 16, 1972; the damping is that of `sarrus.dynamics.closing.levenberg_marquardt`), takes φ to zero without leaving
the branch of the
guess: while A is regular the path meets no configuration where A loses rank. Long discrete steps may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.levenberg_marquardt import directions
from sarrus.dynamics.closing.tolerances import (
    FLOW_AT_REST,
    FLOW_ERROR,
    FLOW_LINKED,
    FLOW_STEP,
    FLOW_STEPS,
    NEWTON_GAP,
    SHORTEST_FLOW,
)
from sarrus.dynamics.model.measures import longest, metric_root
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import are_independent, in_metric

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations


def gradient_flow(system: Evaluations, q: Array, t: float, free: Array) -> tuple[Array, int]:
    """Return the end of the continuous descent from q, with nearly closed loops, and the number of steps.

    Integrated by the method of Bogacki and Shampine, order 3(2). ``free`` (nv,) is zero for locked velocities.
    """
    basis, factors = directions(free), system.characteristic.rows[: system.nh]

    def velocity(place: Array) -> tuple[Array, float]:
        phi = factors * system.constraint_residual(place, t)
        size = dense.norm(phi)
        root = metric_root(system, place, t, basis)
        rows = factors[:, None] * dense.product(system.constraint_jacobian(place, t=t)[: system.nh], basis)
        weighted = in_metric(rows, root)
        inner = dense.product(weighted, weighted.T) + size**2 * np.eye(len(phi))
        step = dense.solve(root.T, dense.product(weighted.T, dense.solve(inner, phi)))
        return -dense.product(basis, step), size

    if basis.shape[1] == 0:
        return q, 0
    first, size = velocity(q)
    h = 0.1
    for count in range(FLOW_STEPS):
        speed = longest(system, first)
        if size <= NEWTON_GAP or speed <= FLOW_AT_REST * size or not np.isfinite(speed):
            return q, count
        h = min(h, FLOW_STEP / speed)
        second, _ = velocity(system.move(q, 0.5 * h * first))
        third, _ = velocity(system.move(q, 0.75 * h * second))
        p = system.move(q, h * (2.0 * first + 3.0 * second + 4.0 * third) / 9.0)
        fourth, left = velocity(p)
        error = h * longest(system, -5.0 * first / 72.0 + second / 12.0 + third / 9.0 - fourth / 8.0)
        if error <= FLOW_ERROR:
            q, first, size = p, fourth, left
        elif not np.isfinite(error) or h * speed < SHORTEST_FLOW:
            return q, count
        h *= min(3.0, max(0.2, 0.9 * (FLOW_ERROR / max(error, LEAST_DIVISOR)) ** (1.0 / 3.0)))
    return q, FLOW_STEPS


def turned_over(system: Evaluations, before: Array, after: Array, t: float, free: Array) -> tuple[str, ...]:
    """Return the closures whose columns of A changed their orientation between two configurations.

    If the closures determine the free coordinates, A has as many independent columns as free coordinates. They split
    into blocks without common rows; each has the sign of its determinant on rows that are independent at ``after``.
    Nothing is returned if degrees of freedom are left (the sign has no meaning), or if a block is singular.
    """
    blocks = [system.constraint_jacobian(q, t=t)[: system.nh, free != 0.0] for q in (before, after)]
    size = system.characteristic
    then, now = (size.rows[: system.nh, None] * block / size.columns[free != 0.0] for block in blocks)
    found: set[str] = set()
    for rows, columns in _parts(np.maximum(np.abs(then), np.abs(now))):
        old, new = then[np.ix_(rows, columns)], now[np.ix_(rows, columns)]
        if not (are_independent(old) and are_independent(new)):
            continue
        chosen = _independent(new)
        signs = [np.linalg.slogdet(block[chosen])[0] for block in (old, new)]
        if are_independent(old[chosen]) and signs[0] * signs[1] < 0.0:
            found |= {
                n for n, part in system.closure_rows.items() if set(rows) & set(range(part.start, part.stop))
            }
    return tuple(name for name in system.closure_rows if name in found)


def _parts(sizes: Array) -> list[tuple[list[int], list[int]]]:
    """Return the blocks (rows, columns) of a matrix without common rows and columns, from the sizes of its entries."""
    linked = sizes > FLOW_LINKED * sizes.max(initial=0.0)
    left, parts = set(range(sizes.shape[1])), []
    while left:
        columns, rows = {min(left)}, set()
        while True:
            rows = {i for i in range(len(linked)) if linked[i, sorted(columns)].any()}
            more = {j for j in range(sizes.shape[1]) if rows and linked[sorted(rows), j].any()} | columns
            if more == columns:
                break
            columns = more
        left -= columns
        parts.append((sorted(rows), sorted(columns)))
    return parts


def _independent(columns: Array) -> list[int]:
    """Return as many independent rows as there are (independent) columns, by elimination with largest pivots."""
    left, chosen = columns.copy(), []
    for _ in range(columns.shape[1]):
        k = int(np.argmax((left**2).sum(axis=1)))
        along = left[k] / dense.norm(left[k])
        left -= np.outer(dense.product(left, along), along)
        chosen.append(k)
    return sorted(chosen)
