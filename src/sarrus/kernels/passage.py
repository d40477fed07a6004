"""Singular passages, found while the time loop steps: where the smallest singular value σ of A goes through a minimum.

Rows and velocities are in characteristic units. At the generic rank, with its singular vectors u and w, σ = uᵀ A w
moves at the rate uᵀ Ȧ w. So σ dσ/dt changes its sign from minus to plus where σ goes through zero as where it turns
around above zero. One search serves both: the step is repeated with other lengths, as for an event. Where σ crosses
zero it has a smooth continuation with a sign (Griewank and Reddien, IMA J. Numer. Anal. 4, 1984, have another smooth
scalar with the same zero): one of u and w, followed through, is reversed. The zero is that of a polynomial through
signed values at some distance.

Ordinary steps cost a copy of the state. Singular values are computed only where the pivot of the factorisation is small
or has been through a minimum.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels import passage_layout as pl
from sarrus.kernels.flat import flat_at, internal, run_at
from sarrus.kernels.native_call import call_native
from sarrus.kernels.projection import move
from sarrus.kernels.stepping import finish, slope, take_step

# Size of the smallest pivot, relative to its largest value in the run, below which every state is measured.
WATCHED = 0.06
# Distance between the points through which a signed σ is interpolated, in units of that size.
APART = 1e-3
# Rounds of inverse iteration for the singular vectors; distance [rad, characteristic length] between states for Ȧ.
ROUNDS, SHIFT = 4, 1e-5


@internal
def enter(table, x, size, slopes):
    """Note the state where a call of the time loop begins; u may have changed since the last one ended."""
    passages, at = flat_at(table[la.PASSAGE]), pl.passage_array(table)
    if passages[pl.KNOWN] == 0.0:
        passages[pl.KNOWN], passages[pl.LOWEST] = 1.0, np.inf
        state = at.states + int(passages[pl.LAST]) * at.width
        passages[state + pl.SIZE], passages[state + pl.MEASURED], passages[pl.HIGHEST] = size, 0.0, size
    _keep(table, x, slopes, passages, at.states + int(passages[pl.LAST]) * at.width, at)


@internal
def is_full(table):
    """Tell whether the log has no room for what one more step may find."""
    passages = flat_at(table[la.PASSAGE])
    return passages[pl.LOGGED] + 2.0 > passages[pl.ROOM]


@internal
def follow(table, x, size, projected, what, ended, slopes, trial, s, ws):
    """Note the state x (slope in slopes[0]) at the end of a step, and log a passage that this or the last step made."""
    if table[la.GENERIC_RANK] == 0:
        return
    passages, at = flat_at(table[la.PASSAGE]), pl.passage_array(table)
    k, known = int(passages[pl.LAST]), int(passages[pl.KNOWN])
    before, b, c = (
        at.states + (k + 2) % 3 * at.width,
        at.states + k * at.width,
        at.states + (k + 1) % 3 * at.width,
    )
    passages[pl.LAST], passages[pl.KNOWN] = (k + 1) % 3, min(known + 1, 3)
    passages[c + pl.SIZE], passages[c + pl.MEASURED] = size, 0.0
    passages[pl.HIGHEST] = max(passages[pl.HIGHEST], size)
    passages[c + pl.PROJECTED], passages[c + pl.WHAT] = 1.0 if projected else 0.0, what
    _keep(table, x, slopes, passages, c, at)
    last, earlier = passages[b + pl.SIZE], passages[before + pl.SIZE] if known > 1 else np.inf
    clock = at.x + table[la.NQ] + table[la.NV] + table[la.NU]
    valley = last <= earlier and last < size and last - 2.0 * max(size - last, earlier - last) < pl.CLOSE
    close = size < WATCHED or known == 1 or (ended and size < last)
    if not close and earlier > last:
        # On the way down to zero and up again as fast, the sizes at both ends would make up the fall.
        h, taken = passages[c + clock] - passages[b + clock], passages[b + clock] - passages[before + clock]
        close = (earlier - last) * h > 0.5 * (last + size) * taken
    if valley or close:
        _find(table, x, valley, close, known, before, b, c, passages, at, slopes, trial, s, ws)
    if size >= pl.CLOSE and passages[pl.LOWEST] < np.inf:
        passages[pl.STAY] += 1.0
        passages[pl.LOWEST] = np.inf


@internal
def _find(table, x, valley, close, known, before, b, c, passages, at, slopes, trial, s, ws):
    """Log the passages between the last three states, the last one at x, where they are ``close`` or a ``valley``."""
    chart = flat_at(table[la.CHART]) if table[la.CHART] != 0 else passages
    gauge, failed = chart[la.CHART_GAUGE], chart[la.CHART_FAILED]
    if close:
        _measure(table, x, passages, c, at, s, ws)
        if passages[c + pl.RISE] > 0.0:
            _measure_kept(table, passages, b, at, s, ws)
    if valley:
        late = passages[b + pl.MEASURED] == 0.0
        _measure_kept(table, passages, b, at, s, ws)
        if passages[b + pl.RISE] < 0.0:
            _measure_kept(table, passages, c, at, s, ws)
        elif late and known > 1 and passages[b + pl.RISE] > 0.0:
            _measure_kept(table, passages, before, at, s, ws)
            _look(table, passages, before, b, at, slopes, trial, s, ws)
    if passages[b + pl.MEASURED] != 0.0 and passages[c + pl.MEASURED] != 0.0:
        _look(table, passages, b, c, at, slopes, trial, s, ws)
    _restore(table, slopes, passages, c, at)
    if table[la.CHART] != 0:
        chart[la.CHART_GAUGE], chart[la.CHART_FAILED] = gauge, failed


@internal
def _keep(table, x, slopes, passages, state, at):
    """Copy x and its slope to a state."""
    for i in range(la.input_size(table)):
        passages[state + at.x + i] = x[i]
    for i in range(table[la.NQ] + table[la.NV]):
        passages[state + at.slope + i] = slopes[i]


@internal
def _restore(table, slopes, passages, state, at):
    """Copy the slope of a state to slopes[0]."""
    for i in range(table[la.NQ] + table[la.NV]):
        slopes[i] = passages[state + at.slope + i]


@internal
def _measure_kept(table, passages, state, at, s, ws):
    """Measure a state of the run, unless it has been."""
    if passages[state + pl.MEASURED] == 0.0:
        _measure(table, passages + state + at.x, passages, state, at, s, ws)


@internal
def _rows(table, x, s, ws):
    """Evaluate A at x, with rows and velocities in characteristic units; return where it lies."""
    call_native(table[la.POSITION if table[la.NC] == table[la.NH] else la.VELOCITY], x, 0, s, ws.native)
    settings, nv, nc = flat_at(table[la.SETTINGS]), table[la.NV], table[la.NC]
    rows = ws.native + nc
    for i in range(nv):
        inverse = 1.0 / settings[la.FACTORS + nc + i]
        for j in range(nc):
            s[rows + j * nv + i] *= settings[la.FACTORS + j] * inverse
    return rows


@internal
def _measure(table, x, passages, state, at, s, ws):
    """Write σ, its vectors and σ dσ/dt at x to a state. Both numbers are zero where σ is below rounding."""
    settings = flat_at(table[la.SETTINGS])
    perm = table + (la.QUATERNIONS + table[la.N_QUATERNIONS])
    nq, nv, nc, rank = table[la.NQ], table[la.NV], table[la.NC], table[la.GENERIC_RANK]
    left, right = state + at.left, state + at.right
    passages[state + pl.MEASURED] = 1.0
    passages[state + pl.SIGMA] = passages[state + pl.RISE] = 0.0
    for k in range(nc + nv):
        passages[left + k] = 0.0
    rows = _rows(table, x, s, ws)
    for k in range(nc * nv):
        s[ws.copy + k] = s[rows + k]
    used = fa.factor(
        s,
        ws.copy,
        nc,
        nv,
        rank,
        0.0,
        settings[la.SCALE_OF_MEASURED_ROWS],
        perm,
        ws.diagonal,
        ws.beta,
        ws.norms,
    )
    if used < rank:
        return
    if used < nc:
        fa.reduce(s, ws.copy, nc, nv, used, ws.diagonal, ws.beta2)
    for i in range(nv):
        s[ws.rhs + i] = 0.0
    s[ws.rhs + rank - 1] = 1.0
    sigma = 0.0
    for _ in range(ROUNDS):
        # u ~ (Aᵀ)⁺ w, then w ~ A⁺ u
        fa.multipliers(s, ws.copy, nc, nv, rank, perm, ws.diagonal, ws.beta2, ws.rhs, ws.extra, ws.lam)
        _unit(s, ws.lam, nc)
        fa.least_squares(
            s, ws.copy, nc, nv, rank, perm, ws.diagonal, ws.beta, ws.beta2, ws.lam, ws.y, ws.step
        )
        sigma = 1.0 / _unit(s, ws.step, nv)
        for i in range(nv):
            s[ws.rhs + i] = s[ws.step + i]
        fa.apply_q_transposed(s, ws.copy, nv, rank, ws.beta, ws.rhs)
    for j in range(nc):
        passages[left + j] = s[ws.lam + j]
    fastest = 1e-2
    for i in range(nv):
        passages[right + i] = s[ws.step + i]
        fastest = max(fastest, abs(x[nq + i]) * settings[la.FACTORS + nc + i])
    shifted, delta, change = passages + at.shifted, SHIFT / fastest, 0.0
    for side in range(-1, 2, 2):
        for i in range(la.input_size(table)):
            shifted[i] = x[i]
        for i in range(nv):
            s[ws.step + i] = side * delta * x[nq + i]
        move(table, shifted, s, ws.step, ws.x)
        shifted[nq + nv + table[la.NU]] += side * delta
        rows = _rows(table, shifted, s, ws)
        for j in range(nc):
            inner = 0.0
            for i in range(nv):
                inner += s[rows + j * nv + i] * passages[right + i]
            change += side * passages[left + j] * inner
    passages[state + pl.SIGMA], passages[state + pl.RISE] = sigma, sigma * change / (2.0 * delta)


@internal
def _unit(s, first, count):
    """Scale a vector to length one; return the length that it had."""
    size = 0.0
    for k in range(first, first + count):
        size += s[k] * s[k]
    size = np.sqrt(size)
    for k in range(first, first + count):
        s[k] /= size
    return size


@internal
def _signs(table, passages, a, b, at):
    """Return 1 or −1 where the vectors of two states say that σ kept or changed its sign, 0 where they do not say."""
    left = right = 0.0
    for j in range(table[la.NC]):
        left += passages[a + at.left + j] * passages[b + at.left + j]
    for i in range(table[la.NV]):
        right += passages[a + at.right + i] * passages[b + at.right + i]
    if min(abs(left), abs(right)) < 0.5:
        return 0
    return 1 if left * right > 0.0 else -1


@internal
def _look(table, passages, a, b, at, slopes, trial, s, ws):
    """Log the passage between two measured states, if there is one; slopes[0] is then that of another state."""
    if not (passages[a + pl.RISE] < 0.0 < passages[b + pl.RISE]):
        return
    sign = _signs(table, passages, a, b, at)
    least = min(passages[a + pl.SIZE], passages[b + pl.SIZE])
    if sign > 0 and least > 0.99 * passages[pl.LOWEST]:
        return  # no closer than before, in a stay that is noted
    clock = table[la.NQ] + table[la.NV] + table[la.NU]
    start, h = passages[a + at.x + clock], passages[b + at.x + clock] - passages[a + at.x + clock]
    rate = max(passages[a + pl.SIZE] + passages[b + pl.SIZE], 1e-300) / h
    apart = min(APART / rate, 0.25 * h)
    row = at.log + int(passages[pl.LOGGED]) * at.row
    passages[row + pl.CLOSEST] = np.inf
    _restore(table, slopes, passages, a, at)
    crossed, found = False, 0.0
    if sign <= 0:
        found = _search(table, passages, a, b, h, 0.1 * apart, row, at, slopes, trial, s, ws)
        crossed, found = _interpolate(table, passages, a, b, found, apart, row, at, slopes, trial, s, ws)
    ends = least
    if crossed:
        least = 0.0
    else:
        found = _search(table, passages, a, b, h, 0.0, row, at, slopes, trial, s, ws)
        if slope(table, trial, la.PIVOTS, slopes, table[la.N_STAGES], s, ws) >= 0:
            least = min(least, s[ws.facts + la.SMALLEST] / run_at(flat_at(table[la.RUN])).largest_pivot)
        if least >= pl.CLOSE:
            return
    # In proportion to the time σ falls and rises: so much is left at the nearest stage.
    nearest = min(ends, max(least, rate * _distance(table, found, h)))
    passages[row + pl.TIME], passages[row + pl.CROSSED] = start + found, 1.0 if crossed else 0.0
    passages[row + pl.LEAST], passages[row + pl.NEAREST] = least, nearest
    passages[row + pl.STAY_OF] = passages[pl.STAY]
    passages[pl.LOGGED] += 1.0
    passages[pl.LOWEST] = min(passages[pl.LOWEST], least)


@internal
def _visit(table, passages, a, b, h, row, at, slopes, trial, s, ws):
    """Measure the state at a time h after the state ``a``; False where no step leads there.

    The step is of the kind of the one that ended at ``b``; slopes[0] is the slope at ``a``. The measure goes to the
    fourth state; what is closest goes to the row of the log.
    """
    clock = table[la.NQ] + table[la.NV] + table[la.NU]
    start, near, between = (
        passages + a + at.x,
        passages[b + pl.PROJECTED] != 0.0,
        at.states + 3 * at.width,
    )
    if not take_step(table, False, near, start, h, slopes, trial, s, ws):
        return False
    trial[clock] = start[clock] + h
    if not finish(table, trial, int(passages[b + pl.WHAT])):
        return False
    _measure(table, trial, passages, between, at, s, ws)
    if passages[between + pl.SIGMA] < passages[row + pl.CLOSEST]:
        passages[row + pl.CLOSEST] = passages[between + pl.SIGMA]
        for i in range(table[la.NQ] + table[la.NV]):
            passages[row + pl.LOG_HEADER + i] = trial[i]
    return True


@internal
def _search(table, passages, a, b, h, enough, row, at, slopes, trial, s, ws):
    """Return how long after the state ``a`` the minimum is, to within ``enough`` (Illinois method); x to ``trial``."""
    between = at.states + 3 * at.width
    tolerance = max(enough, flat_at(table[la.SETTINGS])[la.EVENT_TOLERANCE])
    low, high, f_low, f_high = 0.0, h, passages[a + pl.RISE], passages[b + pl.RISE]
    tried = -h
    for _ in range(60):
        middle = low + (high - low) * f_low / (f_low - f_high)
        if high - low <= tolerance or abs(middle - tried) <= 0.5 * tolerance:
            return middle
        margin = min(1e-3 * (high - low), tolerance)
        middle = min(max(middle, low + margin), high - margin)
        if not _visit(table, passages, a, b, middle, row, at, slopes, trial, s, ws):
            return middle
        value, tried = passages[between + pl.RISE], middle
        if value == 0.0:
            return middle
        if value > 0.0:
            high, f_high, f_low = middle, value, 0.5 * f_low
        else:
            low, f_low, f_high = middle, value, 0.5 * f_high
    return tried


@internal
def _interpolate(table, passages, a, b, found, apart, row, at, slopes, trial, s, ws):
    """Tell whether σ crosses zero near ``found``, and when: the zero of the polynomial through signed σ beside it.

    Next to a crossing rounding of φ moves projected positions by its square root, 1e-8; there σ says no more. Three
    times as far away σ is three times as large where it crosses, and less than twice where it stays above
    0.65 ``apart`` in these units.
    """
    between, t, f = at.states + 3 * at.width, at.points, at.points + pl.POINTS
    for _ in range(2):
        inner = outer = 0.0
        for k in range(pl.POINTS):
            steps = k - 0.5 * (pl.POINTS - 1)
            if not _visit(table, passages, a, b, found + steps * apart, row, at, slopes, trial, s, ws):
                return False, found
            sigma = passages[between + pl.SIGMA]
            passages[t + k] = steps * apart
            passages[f + k] = np.copysign(sigma, passages[between + pl.RISE])
            inner += sigma if abs(steps) < 1.0 else 0.0
            outer += sigma if 1.0 < abs(steps) < 2.0 else 0.0
        # Lagrange's formula for the time as a function of σ
        zero = 0.0
        for k in range(pl.POINTS):
            weight = passages[t + k]
            for j in range(pl.POINTS):
                if j != k:
                    if passages[f + j] == passages[f + k]:
                        return False, found
                    weight *= passages[f + j] / (passages[f + j] - passages[f + k])
            zero += weight
        if not abs(zero) < 0.5 * pl.POINTS * apart:
            return False, found
        found += zero
        if abs(zero) < 0.25 * apart:
            return inner < 0.5 * outer, found
    return False, found


@internal
def _distance(table, time, h):
    """Return how far in time the nearest stage, or end, of a step of length h is from ``time`` after its start."""
    nodes = flat_at(table[la.NODES])
    nearest = min(abs(time), abs(h - time))
    for stage in range(table[la.N_STAGES]):
        nearest = min(nearest, abs(nodes[stage] * h - time))
    return nearest
