"""Singularity crossings of a run: times at which the smallest singular value σ of A has a minimum near zero.

Rows and velocities are in characteristic units. At the generic rank, with the singular vectors u and w, σ = uᵀ A w
changes at the rate uᵀ Ȧ w. The product σ dσ/dt changes its sign from minus to plus both where σ reaches zero and
where σ turns above zero, so one search serves both: the step is repeated with other lengths, as for an event. If σ
crosses zero, it has a smooth continuation with a sign (Griewank and Reddien, IMA J. Numer. Anal. 4, 1984, have
another smooth scalar with an equal zero): u or w, followed continuously, is reversed. The zero is found by a
polynomial through signed values at some distance.

An ordinary step costs only a copy of the state. Singular values are computed only if the pivot of the factorisation
is small or has had a minimum.
"""

from __future__ import annotations

import numpy as np

from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.retraction import retract
from sarrus.kernels.algebra.vectors import copy, copy_scaled, divide, dot, fill
from sarrus.kernels.contact.rows import keep_slots, restore_slots
from sarrus.kernels.integrate.stepping import finish, slope, take_step
from sarrus.kernels.integrate.tolerances import (
    BISECTION_MARGIN,
    INVERSE_ITERATIONS,
    MEASURED_SIGMA,
    POINTS_APART,
    SHIFT_FOR_RATE,
    SLOWEST_FOR_RATE,
    WATCHED_PIVOT,
    WATCHED_PIVOT_AT_ENDS,
)
from sarrus.kernels.memory import crossing_layout as pl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.crossing_layout import PassageArray, PassageState
from sarrus.kernels.memory.layout import Stages, Table, Workspace
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.memory.tolerances import PASSAGE_PIVOT
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal, log_facts_at


@internal
def enter(table: Table, x: Floats, size: float, slopes: Floats):
    """Write the state at the start of a call of the time loop to the passage array; u may have changed before."""
    passages = pl.passage_array(table)
    header = passages.header
    state = pl.state_of(table, passages, int(header.last))
    if header.known == 0.0:
        header.known, header.lowest = 1.0, np.inf
        state.facts.pivot, state.facts.measured, header.highest = size, 0.0, size
    _keep(table, x, slopes, state)


@internal
def is_full(table: Table):
    """Return True if the log has no room for the crossings of one more step."""
    header = pl.passage_array(table).header
    return header.logged + 2.0 > header.room


@internal
def follow(
    table: Table,
    x: Floats,
    size: float,
    projected: bool,
    level: int,
    ended: bool,
    stages: Stages,
    work: Workspace,
):
    """Write the state x (slope in slopes[0]) at the end of a step, and log a crossing of this or the last step."""
    passages = pl.passage_array(table)
    header = passages.header
    if table.generic_rank == 0 or header.wanted == 0.0:
        return
    k, known = int(header.last), int(header.known)
    before, b, c = _last_three(table, passages, k)
    header.last, header.known = (k + 1) % 3, min(known + 1, 3)
    c.facts.pivot, c.facts.measured = size, 0.0
    header.highest = max(header.highest, size)
    c.facts.projected, c.facts.level = 1.0 if projected else 0.0, level
    _keep(table, x, stages.slopes, c)
    last, earlier = b.facts.pivot, before.facts.pivot if known > 1 else np.inf
    clock = table.nq + table.nv + table.nu
    valley = last <= earlier and last < size and last - 2.0 * max(size - last, earlier - last) < PASSAGE_PIVOT
    at_end = known == 1 or (ended and size < last)
    close = size < WATCHED_PIVOT or (at_end and min(last, size) < WATCHED_PIVOT_AT_ENDS)
    if not close and earlier > last:
        # On the way down to zero and up again as fast, the sizes at both ends would make up the fall.
        h, taken = c.x[clock] - b.x[clock], b.x[clock] - before.x[clock]
        close = (earlier - last) * h > 0.5 * (last + size) * taken
    if valley or close:
        if exists(table.contact_table):
            keep_slots(table.contact_table, table.nv)
        _find(table, x, valley, close, known, k, stages, work)
        if exists(table.contact_table):
            restore_slots(table.contact_table, table.nv)
    if size >= PASSAGE_PIVOT and header.lowest < np.inf:
        header.stay += 1.0
        header.lowest = np.inf


@internal
def _last_three(table: Table, passages: PassageArray, k: int):
    """Return the state before the k-th, the k-th and the next one of the ring of three states."""
    return (
        pl.state_of(table, passages, (k + 2) % 3),
        pl.state_of(table, passages, k),
        pl.state_of(table, passages, (k + 1) % 3),
    )


@internal
def _find(
    table: Table, x: Floats, valley: bool, close: bool, known: int, k: int, stages: Stages, work: Workspace
):
    """Log the crossings between the last three states, the last one at x, if they are ``close`` or a ``valley``."""
    passages, conditioning, failed = pl.passage_array(table), 0.0, 0.0
    before, b, c = _last_three(table, passages, k)
    if exists(table.chart):
        conditioning, failed = table.chart.conditioning, table.chart.failed
    if close:
        measure_at(table, x, passages, c, work)
        if c.facts.rise > 0.0:
            _measure_kept(table, passages, b, work)
    if valley:
        late = b.facts.measured == 0.0
        _measure_kept(table, passages, b, work)
        if b.facts.rise < 0.0:
            _measure_kept(table, passages, c, work)
        elif late and known > 1 and b.facts.rise > 0.0:
            _measure_kept(table, passages, before, work)
            _look(table, passages, before, b, stages, work)
    if b.facts.measured != 0.0 and c.facts.measured != 0.0:
        _look(table, passages, b, c, stages, work)
    _restore(table, stages.slopes, c)
    if exists(table.chart):
        table.chart.conditioning, table.chart.failed = conditioning, failed


@internal
def _keep(table: Table, x: Floats, slopes: Floats, state: PassageState):
    """Copy x and its slope to ``state``."""
    copy(x, state.x, la.input_size(table))
    copy(slopes, state.slope, table.nq + table.nv)


@internal
def _restore(table: Table, slopes: Floats, state: PassageState):
    """Copy the slope of a state to slopes[0]."""
    copy(state.slope, slopes, table.nq + table.nv)


@internal
def _measure_kept(table: Table, passages: PassageArray, state: PassageState, work: Workspace):
    """Write σ, its vectors and σ dσ/dt of a stored state, unless they are known."""
    if state.facts.measured == 0.0:
        measure_at(table, state.x, passages, state, work)


@internal
def _rows(table: Table, x: Floats, work: Workspace):
    """Return the address of A (nc × nv) at x, with rows and velocities in characteristic units."""
    call_native(table.position if table.nc == table.nh else table.velocity, x, work.native)
    nv, nc, factors = table.nv, table.nc, la.factors_of(table)
    rows = work.native + nc
    for i in range(nv):
        inverse = 1.0 / factors.velocities[i]
        for j in range(nc):
            rows[j * nv + i] *= factors.rows[j] * inverse
    return rows


@internal
def measure_at(table: Table, x: Floats, passages: PassageArray, state: PassageState, work: Workspace):
    """Write σ, its singular vectors and σ dσ/dt at x to ``state``; both numbers are zero if σ is below rounding."""
    nv, nc, rank = table.nv, table.nc, table.generic_rank
    state.facts.measured = 1.0
    if table.measure != 0 and _measure_sparse(table, x, state, work):
        return
    state.facts.sigma = state.facts.rise = 0.0
    fill(state.left, 0.0, nc)
    fill(state.right, 0.0, nv)
    rows = _rows(table, x, work)
    copy(rows, work.copy, nc * nv)
    A = fa.matrix(table, work, work.copy, nc)
    used = fa.factor(A, rank, 0.0, table.settings.scale_of_measured_rows)
    if used < rank:
        return
    if used < nc:
        fa.reduce(A, used)
    fill(work.rhs, 0.0, nv)
    work.rhs[rank - 1] = 1.0
    sigma = 0.0
    for _ in range(INVERSE_ITERATIONS):
        # u ~ (Aᵀ)⁺ w, then w ~ A⁺ u
        fa.multipliers(A, rank, work.rhs, work.extra, work.lam)
        _unit(work.lam, nc)
        fa.least_squares(A, rank, work.lam, work.y, work.step)
        sigma = 1.0 / _unit(work.step, nv)
        copy(work.step, work.rhs, nv)
        fa.apply_q_transposed(A, rank, work.rhs)
    copy(work.lam, state.left, nc)
    copy(work.step, state.right, nv)
    change, span = _change(table, x, passages, state, work)
    state.facts.sigma, state.facts.rise = sigma, sigma * change / span


@internal
def _measure_sparse(table: Table, x: Floats, state: PassageState, work: Workspace):
    """Write σ, its singular vectors and σ dσ/dt by straight-line code; return False if σ is too small for it."""
    call_native(table.measure, x, work.native)
    found = view_fields(work.native, pl.measure_sizes(table))
    sigma = found.sigma[0]
    if not sigma > MEASURED_SIGMA * found.largest[0]:
        return False
    copy(found.left, state.left, table.nc)
    copy(found.right, state.right, table.nv)
    state.facts.sigma, state.facts.rise = sigma, sigma * found.change[0]
    return True


@internal
def _change(table: Table, x: Floats, passages: PassageArray, state: PassageState, work: Workspace):
    """Return the change of uᵀ A w along the motion, by central differences about x, and the time [s] it takes."""
    nq, nv, nc = table.nq, table.nv, table.nc
    factors, fastest = la.factors_of(table), SLOWEST_FOR_RATE
    for i in range(nv):
        fastest = max(fastest, abs(x[nq + i]) * factors.velocities[i])
    shifted, delta, change = passages.shifted, SHIFT_FOR_RATE / fastest, 0.0
    for side in range(-1, 2, 2):
        copy(x, shifted, la.input_size(table))
        copy_scaled(side * delta, x + nq, work.step, nv)
        retract(table, shifted, work.step, work.x)
        shifted[nq + nv + table.nu] += side * delta
        rows = _rows(table, shifted, work)
        for j in range(nc):
            inner = dot(rows + j * nv, state.right, nv)
            change += side * state.left[j] * inner
    return change, 2.0 * delta


@internal
def _unit(values: Floats, count: int):
    """Scale a vector to length one; return its former length."""
    size = np.sqrt(dot(values, values, count))
    divide(values, size, count)
    return size


@internal
def _signs(table: Table, a: PassageState, b: PassageState):
    """Return 1 if σ kept its sign between two states, −1 if it changed, 0 if the singular vectors do not tell."""
    left, right = dot(a.left, b.left, table.nc), dot(a.right, b.right, table.nv)
    if min(abs(left), abs(right)) < 0.5:
        return 0
    return 1 if left * right > 0.0 else -1


@internal
def _look(
    table: Table, passages: PassageArray, a: PassageState, b: PassageState, stages: Stages, work: Workspace
):
    """Log the crossing between two measured states, if there is one; slopes[0] is overwritten."""
    if not (a.facts.rise < 0.0 < b.facts.rise):
        return
    header, sign = passages.header, _signs(table, a, b)
    least = min(a.facts.pivot, b.facts.pivot)
    if sign > 0 and least > 0.99 * header.lowest:
        return  # no closer than before, in a stay that is noted
    clock = table.nq + table.nv + table.nu
    start, h = a.x[clock], b.x[clock] - a.x[clock]
    rate = max(a.facts.pivot + b.facts.pivot, LEAST_DIVISOR) / h
    apart = min(max(POINTS_APART / rate, _apart(table, a, b, h)), 0.25 * h)
    row = _row(table, passages)
    row.closest = np.inf
    _restore(table, stages.slopes, a)
    crossed, found = False, 0.0
    if sign < 0:
        # σ dσ/dt is next to linear in time there; the minimum itself, where straight-line code ends, is not visited.
        found = h * a.facts.rise / (a.facts.rise - b.facts.rise)
        crossed, found = _interpolate(table, passages, a, b, found, apart, stages, work)
    if sign <= 0 and not crossed:
        found = _search(table, passages, a, b, 0.1 * apart, stages, work)
        crossed, found = _interpolate(table, passages, a, b, found, apart, stages, work)
    ends = least
    if crossed:
        least = 0.0
    else:
        found = _search(table, passages, a, b, 0.0, stages, work)
        if slope(table, stages.trial, la.PIVOTS, stages.slopes, table.n_stages, work) >= 0:
            least = min(least, work.facts.smallest / table.run.largest_pivot)
        if least >= PASSAGE_PIVOT:
            return
    # In proportion to the time σ falls and rises: so much is left at the nearest stage.
    nearest = min(ends, max(least, rate * _distance(table, found, h)))
    row.time, row.crossed = start + found, 1.0 if crossed else 0.0
    row.least, row.nearest = least, nearest
    row.stay_of = header.stay
    header.logged += 1.0
    header.lowest = min(header.lowest, least)


@internal
def _apart(table: Table, a: PassageState, b: PassageState, h: float):
    """Return the distance [s] from a crossing at which σ is large enough for straight-line code."""
    if table.measure == 0:
        return 0.0
    return 6.0 * MEASURED_SIGMA * table.settings.scale_of_measured_rows * h / (a.facts.sigma + b.facts.sigma)


@internal
def _row(table: Table, passages: PassageArray):
    """Return the row of the log that is written next."""
    return log_facts_at(passages.log + int(passages.header.logged) * pl.log_width(table))


@internal
def _visit(
    table: Table,
    passages: PassageArray,
    a: PassageState,
    b: PassageState,
    h: float,
    stages: Stages,
    work: Workspace,
):
    """Measure the state at a time h [s] after the state ``a``; return whether a step leads there, σ dσ/dt and σ.

    The step has the kind of the step that ended at ``b``; slopes[0] is the slope at ``a``. The measure goes to the
    fourth state; the state with the smallest σ goes to the row of the log.
    """
    clock, trial = table.nq + table.nv + table.nu, stages.trial
    near, row, between = b.facts.projected != 0.0, _row(table, passages), pl.state_of(table, passages, 3)
    if not take_step(table, False, near, a.x, h, stages.slopes, trial, work):
        return False, 0.0, 0.0
    trial[clock] = a.x[clock] + h
    if not finish(table, trial, int(b.facts.level)):
        return False, 0.0, 0.0
    measure_at(table, trial, passages, between, work)
    if between.facts.sigma < row.closest:
        row.closest = between.facts.sigma
        copy(trial, row + pl.LOG_HEADER, table.nq + table.nv)
    return True, between.facts.rise, between.facts.sigma


@internal
def _search(
    table: Table,
    passages: PassageArray,
    a: PassageState,
    b: PassageState,
    enough: float,
    stages: Stages,
    work: Workspace,
):
    """Return the time [s] from the state ``a`` to the minimum of σ, to within ``enough`` (Illinois method).

    The state there is written to ``trial``.
    """
    clock = table.nq + table.nv + table.nu
    tolerance, h = max(enough, table.settings.event_tolerance), b.x[clock] - a.x[clock]
    low, high, f_low, f_high = 0.0, h, a.facts.rise, b.facts.rise
    tried = -h
    for _ in range(60):
        middle = low + (high - low) * f_low / (f_low - f_high)
        if high - low <= tolerance or abs(middle - tried) <= 0.5 * tolerance:
            return middle
        margin = min(BISECTION_MARGIN * (high - low), tolerance)
        middle = min(max(middle, low + margin), high - margin)
        good, value, _ = _visit(table, passages, a, b, middle, stages, work)
        if not good:
            return middle
        tried = middle
        if value == 0.0:
            return middle
        if value > 0.0:
            high, f_high, f_low = middle, value, 0.5 * f_low
        else:
            low, f_low, f_high = middle, value, 0.5 * f_high
    return tried


@internal
def _interpolate(
    table: Table,
    passages: PassageArray,
    a: PassageState,
    b: PassageState,
    found: float,
    apart: float,
    stages: Stages,
    work: Workspace,
):
    """Return whether σ crosses zero near ``found`` [s], and the time: the zero of a polynomial through signed σ.

    Next to a crossing, rounding of φ moves projected positions by its square root, 1e-8, and σ carries no
    information. Three times as far away σ is three times as large if it crosses zero, and less than twice as large if
    its minimum stays above 0.65 ``apart`` in these units.
    """
    t, f = passages.times, passages.sigmas
    for _ in range(2):
        inner = outer = 0.0
        for k in range(pl.POINTS):
            steps = k - 0.5 * (pl.POINTS - 1)
            good, rise, sigma = _visit(table, passages, a, b, found + steps * apart, stages, work)
            if not good:
                return False, found
            t[k] = steps * apart
            f[k] = np.copysign(sigma, rise)
            inner += sigma if abs(steps) < 1.0 else 0.0
            outer += sigma if 1.0 < abs(steps) < 2.0 else 0.0
        # Lagrange's formula for the time as a function of σ
        zero = 0.0
        for k in range(pl.POINTS):
            weight = t[k]
            for j in range(pl.POINTS):
                if j != k:
                    if f[j] == f[k]:
                        return False, found
                    weight *= f[j] / (f[j] - f[k])
            zero += weight
        if not abs(zero) < 0.5 * pl.POINTS * apart:
            return False, found
        found += zero
        if abs(zero) < 0.25 * apart:
            return inner < 0.5 * outer, found
    return False, found


@internal
def _distance(table: Table, time: float, h: float):
    """Return the distance [s] of ``time`` from the nearest stage, or end, of a step of length h."""
    nearest = min(abs(time), abs(h - time))
    for stage in range(table.n_stages):
        nearest = min(nearest, abs(table.nodes[stage] * h - time))
    return nearest
