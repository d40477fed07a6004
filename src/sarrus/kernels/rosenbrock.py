"""One step of a Rosenbrock–Wanner method in local coordinates (`sarrus.kernels.local_model`).

(y, η) solves an ordinary differential equation without constraints, whose right side is found at a state of the
mechanism: the one on the constraints with these coordinates, by Newton's method. So every stage, and the end of the
step, is on the constraints to rounding, and the method keeps its order and its stability. The derivatives are exact,
as such a method demands. What begins at the same x, a step repeated with another length, shares one linear model.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import layout as la
from sarrus.kernels.chart import correction_along
from sarrus.kernels.flat import flat_at, internal
from sarrus.kernels.local_model import add_product, linearize
from sarrus.kernels.native_call import call_kernel, call_native
from sarrus.kernels.projection import MAX_ITERATIONS, move
from sarrus.kernels.stepping import set_control


def rosenbrock(table, x, what):
    """Take a step of length local[LOCAL_STEP] from x; its end goes to ``state`` in local, its error to slopes[1].

    Returns 0, or −1 where it cannot be taken: Newton diverges (a shorter step helps), the matrix is singular, or the
    step begins in a singular configuration (none helps).
    """
    local, s, scheme = flat_at(table[la.LOCAL]), flat_at(table[la.WORK]), flat_at(table[la.SCHEME])
    perm = table + (la.QUATERNIONS + table[la.N_QUATERNIONS])
    at, ws = la.local_array(table), la.workspace(table)
    nq, nv, count = table[la.NQ], table[la.NV], table[la.N_IMPLICIT_STAGES]
    ny, dof = nv - table[la.HOLONOMIC_RANK], nv - table[la.GENERIC_RANK]
    n, clock = ny + dof, nq + nv + table[la.NU]
    h, gamma = local[la.LOCAL_STEP], scheme[0]
    if not _is_known(table, x, local, at):
        local[la.LOCAL_VALID] = 0.0
        if not linearize(table, x, local, at, s, ws, perm):
            return -1
        local[at.ranks], local[at.ranks + 1] = table[la.HOLONOMIC_RANK], table[la.GENERIC_RANK]
        local[la.LOCAL_VALID] = 1.0
    for i in range(n):
        for k in range(n):
            local[at.matrix + i * n + k] = -local[at.model + i * (n + 1) + k]
        local[at.matrix + i * n + i] += 1.0 / (h * gamma)
    if not _factor(local, at.matrix, n, at.swaps):
        return -1
    a, c = 1, 1 + count * count
    nodes = c + count * count
    weights, ends = nodes + count, nodes + 2 * count
    state = local + at.state
    for stage in range(count + 1):
        _combine(local, scheme, a + stage * count if stage < count else ends, min(stage, count), 1.0, n, at)
        time = h * scheme[nodes + stage] if stage < count else h
        if stage > 0 and not _settle(table, local, at, time, s, ws, perm):
            return -1
        if stage == count:
            break
        u = at.stages + stage * n
        if stage == 0:
            acceleration = at.start + la.input_size(table)
            for r in range(n):
                local[u + r] = 0.0
            add_product(local, at.place, ny, nv, nv, at.start + nq, u, 1.0)
        else:
            set_control(table, state, s, ws)
            if call_kernel(table[la.ACCELERATION], table, state, la.SLOPE) < 0:
                return -1
            for i in range(nq):
                local[at.way + i] = s[ws.rate + i]
            for i in range(nv):
                local[at.force + i] = s[ws.a + i]
            acceleration = at.force
            _combine(local, scheme, c + stage * count, stage, 1.0 / h, n, at)
            for r in range(n):
                local[u + r] = local[at.change + r]
            add_product(local, at.coordinates, ny, nq, nq, at.way, u, 1.0)
        add_product(local, at.motions, dof, nv, nv, acceleration, u + ny, 1.0)
        for r in range(n):
            local[u + r] += h * scheme[weights + stage] * local[at.model + r * (n + 1) + n]
        _solve(local, at.matrix, n, at.swaps, u)
    # the last stage is the error: as a change of (q, v) over h, which is what explicit methods leave here
    last = at.stages + (count - 1) * n
    error = ws.size + nq + nv
    for i in range(nv):
        s[ws.step + i] = 0.0
        s[error + nq + i] = 0.0
    for r in range(n):
        for i in range(nv):
            s[error + nq + i] += local[last + r] * local[at.along + r * nv + i] / h
            if r < ny:
                s[ws.step + i] += local[last + r] * local[at.place + r * nv + i] / h
    for i in range(nq):
        s[error + i] = s[ws.step + i] if table[la.SIMPLE_RATE] == 1 else 0.0
        if table[la.SIMPLE_RATE] == 0:
            for j in range(nv):
                s[error + i] += local[at.first_rates + i * nv + j] * s[ws.step + j]
    local[at.state + clock] = x[clock] + h
    return 0


@internal
def _is_known(table, x, local, at):
    """Tell whether the linear model in ``local`` is that at x."""
    known = (
        local[la.LOCAL_VALID] == 1.0
        and local[at.ranks] == table[la.HOLONOMIC_RANK]
        and local[at.ranks + 1] == table[la.GENERIC_RANK]
    )
    first, end = table[la.NQ] + table[la.NV], table[la.NQ] + table[la.NV] + table[la.NU]
    for i in range(la.input_size(table)):
        driven = (
            table[la.CONTROL] != 0 or table[la.LAW] != 0
        ) and first <= i < end  # u follows from the rest
        known = known and (driven or local[at.start + i] == x[i])
    return known


@internal
def _combine(local, scheme, weights, count, factor, n, at):
    """Write the sum of the first ``count`` stages with these weights, times ``factor``."""
    for r in range(n):
        local[at.change + r] = 0.0
    for j in range(count):
        weight = factor * scheme[weights + j]
        if weight != 0.0:
            for r in range(n):
                local[at.change + r] += weight * local[at.stages + j * n + r]


@internal
def _settle(table, local, at, time, s, ws, perm):
    """Write to ``state`` the state a ``time`` after the start whose coordinates differ from those there by ``change``.

    False where Newton's method does not converge.
    """
    settings, state = flat_at(table[la.SETTINGS]), local + at.state
    nq, nv, nh, nc = table[la.NQ], table[la.NV], table[la.NH], table[la.NC]
    bound, rank = table[la.HOLONOMIC_RANK], table[la.GENERIC_RANK]
    ny, dof, simple = nv - bound, nv - rank, table[la.SIMPLE_RATE] == 1
    clock, factors = nq + nv + table[la.NU], la.FACTORS + nc
    for i in range(la.input_size(table)):
        state[i] = local[at.start + i]
    state[clock] += time
    for i in range(nv):
        step = time * local[at.place + ny * nv + i]
        for r in range(ny):
            step += local[at.change + r] * local[at.place + r * nv + i]
        s[ws.step + i] = step
        for r in range(dof):
            state[nq + i] += local[at.change + ny + r] * local[at.motions + r * nv + i]
        if not np.isfinite(step + state[nq + i]):
            return False
    move(table, state, s, ws.step, ws.x)
    small, before = settings[la.POSITION_TOLERANCE], 0.0
    converged = nh == 0 and simple
    for _ in range(MAX_ITERATIONS):
        if converged:
            break
        residual = 0.0
        if nh > 0:
            call_native(table[la.POSITION], state, 0, s, ws.native)
            for j in range(nh):
                residual += abs(s[ws.native + j]) * settings[la.FACTORS + j]
        if not simple:
            residual += _turn(table, local, at, state, nq, nv, ny)
        if residual <= 0.1 * small:
            converged = True
            break
        step = correction_along(
            local, at.place if simple else at.turned, at.work, ny, s, ws.native, ws.native + nh, nh, nv, bound,
            settings, perm, -1 if simple else at.bias,
        )  # fmt: skip
        longest = 0.0
        for i in range(nv):
            longest = max(longest, abs(local[step + i]) * settings[factors + i])
            s[ws.step + i] = local[step + i]
        if not np.isfinite(longest):
            return False
        move(table, state, s, ws.step, ws.x)
        # As in `sarrus.kernels.chart`: what is left follows from the rate of contraction.
        contraction = longest / before if before > 0.0 else 0.5
        if contraction < 0.9:
            converged = longest <= small or contraction / (1.0 - contraction) * longest <= 0.1 * small
        else:
            converged = min(longest, residual) <= 100.0 * small
            if not converged:
                return False
        before = longest
    if not converged:
        return False
    for _ in range(0 if nc == 0 else 1 if nc == nh else 8):
        call_native(table[la.VELOCITY], state, 0, s, ws.native)
        step = correction_along(
            local, at.motions, at.work, dof, s, ws.native, ws.native + nc, nc, nv, rank, settings, perm, -1
        )
        longest = 0.0
        for i in range(nv):
            state[nq + i] += local[step + i]
            longest = max(longest, abs(local[step + i]) * settings[factors + i])
        if not np.isfinite(longest):
            return False
        if longest < 1e-13:
            break
    return True


@internal
def _turn(table, local, at, state, nq, nv, ny):
    """Write W = R N(q) to ``turned`` and to ``bias`` what y still lacks; return the size of that."""
    call_native(table[la.RATE_MATRIX], state, 0, local, at.rates)
    size = 0.0
    for r in range(ny):
        row, lack = at.coordinates + r * nq, local[at.change + r]
        for k in range(nq):
            lack -= local[row + k] * (state[k] - local[at.start + k])
        local[at.bias + r] = lack
        size += abs(lack)
        for i in range(nv):
            value = 0.0
            for k in range(nq):
                value += local[row + k] * local[at.rates + k * nv + i]
            local[at.turned + r * nv + i] = value
    return size


@internal
def _factor(s, a, n, swaps):
    """Factor the n × n matrix at ``a`` in place with row pivoting; ``swaps`` gets the pivot rows. False if singular."""
    for k in range(n):
        pivot, size = k, abs(s[a + k * n + k])
        for i in range(k + 1, n):
            if abs(s[a + i * n + k]) > size:
                pivot, size = i, abs(s[a + i * n + k])
        if not size > 0.0 or not np.isfinite(size):
            return False
        s[swaps + k] = pivot
        if pivot != k:
            for c in range(n):
                s[a + k * n + c], s[a + pivot * n + c] = s[a + pivot * n + c], s[a + k * n + c]
        inverse = 1.0 / s[a + k * n + k]
        for i in range(k + 1, n):
            weight = s[a + i * n + k]
            if weight != 0.0:
                weight *= inverse
                s[a + i * n + k] = weight
                for c in range(k + 1, n):
                    s[a + i * n + c] -= weight * s[a + k * n + c]
    return True


@internal
def _solve(s, a, n, swaps, x):
    """Replace the vector at x by the solution for the matrix that `_factor` left."""
    for k in range(n):
        pivot = int(s[swaps + k])
        s[x + k], s[x + pivot] = s[x + pivot], s[x + k]
    for k in range(n):
        value = s[x + k]
        for c in range(k):
            value -= s[a + k * n + c] * s[x + c]
        s[x + k] = value
    for k in range(n - 1, -1, -1):
        value = s[x + k]
        for c in range(k + 1, n):
            value -= s[a + k * n + c] * s[x + c]
        s[x + k] = value / s[a + k * n + k]
