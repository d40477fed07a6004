"""Limits of a law that contradict each other: a smallest infeasible set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.control.laws.tolerances import EQUALITY_CUT, LIMIT_MISSED
from sarrus.dynamics.optimize.cone_program import solve_cone_program
from sarrus.kernels.linalg.ranked import ranked


def smallest_infeasible(
    equal: Array,
    right: Array,
    limits: Array,
    most: Array,
    lines: int,
    cones: Sequence[int],
    owners: Array,
    order: Sequence[int],
) -> tuple[int, ...]:
    """Return the owners of a smallest infeasible set of limits: no x satisfies them, and any one less of them has a
    solution.

    x minimises |T x − d|. Owners are left out one after the other while the rest is proven infeasible: at most as many
    cone programs as there are owners. () if all limits together are feasible, or infeasibility is not proven.

    Parameters
    ----------
    equal, right : T (e, n), d (e,).
    limits, most : G (m, n), h (m,): ``lines`` inequalities G x ≤ h, then second-order cones of the sizes ``cones``.
    owners : (m,) owner of each row; rows of a cone have one owner; −1 for rows that are ignored.
    order : owners in the order in which they are left out.
    """
    parts = ranked(equal, relative=EQUALITY_CUT)
    start, free = parts.solve(right), parts.null
    rows, left = limits @ free, most - limits @ start
    ends = lines + np.cumsum([0, *cones])
    largest = 1.0 + float(np.abs(start).max(initial=0.0))

    def contradict(chosen: set[int]) -> bool:
        flat = np.isin(owners[:lines], list(chosen))
        whole = [k for k in range(len(cones)) if owners[ends[k]] in chosen]
        places = np.concatenate(
            [np.flatnonzero(flat), *[np.arange(ends[k], ends[k + 1]) for k in whole]]
        ).astype(int)
        if free.shape[1] == 0:
            missed = [-left[i] for i in np.flatnonzero(flat)]
            missed += [float(np.linalg.norm(left[ends[k] + 1 : ends[k + 1]])) - left[ends[k]] for k in whole]
            return max(missed, default=0.0) > LIMIT_MISSED * largest
        found = solve_cone_program(
            np.eye(free.shape[1]), np.zeros(free.shape[1]), rows[places], left[places],
            cones=[cones[k] for k in whole], throw=False,
        )  # fmt: skip
        return found.status is Status.INFEASIBLE

    chosen = set(order)
    if not contradict(chosen):
        return ()
    for owner in order:
        if len(chosen) > 1 and contradict(chosen - {owner}):
            chosen.remove(owner)
    return tuple(owner for owner in reversed(order) if owner in chosen)
