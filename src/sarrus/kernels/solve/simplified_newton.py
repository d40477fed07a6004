"""Projection by straight-line code with the factors of a nearby state: Newton's method with constant M and A.

The stages of a step leave factors of M and of Â Âᵀ (`layout.StageAnswer`). The end of the step is as near to the last
stage as the method is accurate, so one correction each of q and v leaves rounding. Where corrections do not contract,
or no factors exist, a solve at the state itself makes new factors.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import largest_gap, longest_entry, retract
from sarrus.kernels.algebra.vectors import add, copy, fill
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import StageAnswer, Table, Workspace
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.acceleration import solve_stage
from sarrus.kernels.solve.tolerances import (
    CLOSED_TO_ROUNDING,
    FAR_STEP,
    NEARBY_FACTORS,
    ROUNDING_OF_SPEED,
    SIMPLIFIED_CONTRACTION,
)

# Largest number of corrections with the same factors.
ROUNDS = 8


@internal
def simplified_newton(table: Table, x: Floats, work: Workspace):
    """Project q and v in x; False where straight-line code is not precise enough, with x unchanged."""
    nq, nv, given = table.nq, table.nv, work.x
    copy(x, given, nq + nv)
    if work.factored[0] != 0.0 and _close(table, la.stage_answer(table), x, NEARBY_FACTORS, work):
        return True
    copy(given, x, nq + nv)
    if solve_stage(table, x, work) and _close(table, la.stage_answer(table), x, np.inf, work):
        return True
    copy(given, x, nq + nv)
    return False


@internal
def _close(table: Table, answer: StageAnswer, x: Floats, aside: float, work: Workspace):
    """Project q and v in x with the present factors; False where corrections do not contract, with x not valid.

    False also where a residual after the first correction exceeds ``aside``. With M and A of another state, the
    residual left by a correction is as large as its component along the constraint manifold, and this component is
    zero for the shortest correction.
    """
    nh, nc, residual = table.nh, table.nc, answer.residual
    tolerance = table.settings.position_tolerance
    before, ratio, far, met = np.inf, 1.0, 0.0, False
    for iteration in range(ROUNDS):
        call_native(table.residuals, x, work.native)
        gap = largest_gap(table, work.native, nh)
        met = gap <= (tolerance if iteration > 0 else 0.1 * tolerance)
        if met:
            break
        if not gap < SIMPLIFIED_CONTRACTION * before:
            met = before < np.inf and gap <= CLOSED_TO_ROUNDING
            break
        if iteration > 0:
            ratio = gap / before
            if gap > aside:
                return False
        before = gap
        copy(work.native, residual, nh)
        fill(residual + nh, 0.0, nc - nh)
        _correct(table, answer, work)
        far = max(far, longest_entry(table, work.step))
        retract(table, x, work.step, work.spare)
    if met and far > FAR_STEP:  # v is projected with M and A at the final q
        ratio = 1.0
        met = solve_stage(table, x, work)
    return met and _still(table, answer, x, ratio, aside, work)


@internal
def _still(table: Table, answer: StageAnswer, x: Floats, ratio: float, aside: float, work: Workspace):
    """Project v in x with the present factors; True where ψ becomes rounding.

    The residuals at x are at work.native; ``ratio`` is the ratio of the last two residuals of q.
    """
    nq, nv, nh, nc, residual = table.nq, table.nv, table.nh, table.nc, answer.residual
    fastest = longest_entry(table, x + nq)
    fast, before = ROUNDING_OF_SPEED * fastest, np.inf
    for iteration in range(ROUNDS):
        slip = largest_gap(table, work.native + nh, nc)
        if slip <= fast:
            return True
        if not slip < SIMPLIFIED_CONTRACTION * before:
            return before < np.inf and slip <= 100.0 * fast
        if iteration > 0 and slip > aside * fastest:
            return False
        before = slip
        copy(work.native + nh, residual, nc)
        _correct(table, answer, work)
        add(work.step, x + nq, nv)
        if ratio * slip <= fast:
            return True
        call_native(table.residuals, x, work.native)
    return False


@internal
def _correct(table: Table, answer: StageAnswer, work: Workspace):
    """Write the shortest δ (nv,) with A δ = −residual to work.step."""
    call_native(table.nearest, answer.factors, work.step)
