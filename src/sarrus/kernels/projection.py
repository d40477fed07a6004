"""Projection of a state on the constraints: positions by Newton's method, then velocities.

Both corrections are the shortest in the kinetic metric: of all δ with A δ = −φ the one with the least δᵀM δ,

    q ← q ⊕ (−L⁻¹ Â⁺ φ),    v ← v − L⁻¹ Â⁺ ψ,    M = LᵀL,  Â = R A L⁻¹  (and R φ, R ψ),

for any rank of A; R brings rows in metres and in radians to one scale (`sarrus.dynamics.characteristic`). So neither
depends on units of measurement. (The decomposition: Aghili and Piedboeuf, Multibody System Dynamics 10, 2003; metric
tensors: Aghili, IEEE Trans. Robotics 21, 2005, section II-A; the form that is robust in singular configurations is
Spencer's.) Where the elimination is traced, A L⁻¹ comes from straight-line code and M is that of every step; elsewhere
M is that of the configuration where the projection begins.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.checking import weakest
from sarrus.kernels.flat import flat_at, inlined, internal
from sarrus.kernels.native_call import call_native

MAX_ITERATIONS = 12
# Where M is not traced, velocities are projected in the metric of where the projection began, unless a position step
# was longer than this.
FAR = 1e-6
# Newton squares the error: after a step shorter than the first of these what is left is rounding, if below the second.
QUICK, ROUNDING = 3e-8, 1e-12


def projection(table, x, what):
    """Project v in x in place, and q before it unless only ``VELOCITIES`` are asked for; return the rank of A.

    −1 where the positions do not converge; then x is not to be used.
    """
    return project(table, x, what != la.VELOCITIES)


@inlined
def project(table, x, positions):
    """Do the work of `projection`."""
    settings, s = flat_at(table[la.SETTINGS]), flat_at(table[la.WORK])
    perm = table + (la.QUATERNIONS + table[la.N_QUATERNIONS])
    ws = la.workspace(table)
    fresh, dense = False, table[la.ELIMINATION] != la.TRACED
    if dense and table[la.NC] > 0:
        load_metric(table, settings, x, s, ws)
    if positions and table[la.NH] > 0:
        far = project_position(table, settings, x, s, perm, ws)
        if far < 0.0:
            return -1
        fresh = True
        if dense and far > FAR:
            load_metric(table, settings, x, s, ws)
    if table[la.NC] == 0:
        return 0
    return project_velocity(table, settings, x, s, perm, ws, fresh)


@internal
def normalize(table, x):
    """Scale the quaternions in x to length one."""
    for k in range(table[la.N_QUATERNIONS]):
        i = table[la.QUATERNIONS + k]
        size = np.sqrt(x[i] ** 2 + x[i + 1] ** 2 + x[i + 2] ** 2 + x[i + 3] ** 2)
        for c in range(4):
            x[i + c] /= size


@internal
def move(table, x, s, step, scratch):
    """Replace q in x by q ⊕ the vector at ``step``: along N(q) step, quaternions back to unit length.

    ``scratch`` has room for x and q̇.
    """
    nq, nv = table[la.NQ], table[la.NV]
    if table[la.SIMPLE_RATE] == 1:
        for i in range(nq):
            x[i] += s[step + i]
        return
    for i in range(la.input_size(table)):
        s[scratch + i] = x[i]
    for i in range(nv):
        s[scratch + nq + i] = s[step + i]
    rate = scratch + la.input_size(table)
    call_native(table[la.RATE], s, scratch, s, rate)
    for i in range(nq):
        x[i] += s[rate + i]
    normalize(table, x)


@internal
def load_metric(table, settings, x, s, ws):
    """Write L to ws.metric, LᵀL = M at x; where M is not definite or no number, that of the characteristic metric."""
    nv = table[la.NV]
    call_native(table[la.METRIC], x, 0, s, ws.metric)
    good = table[la.ELIMINATION] == la.TRACED or fa.cholesky_ltl(s, ws.metric, nv)
    if not (good and is_metric(table, s, ws.metric)):
        load_characteristic_metric(table, settings, s, ws)


@internal
def is_factor(s, factor, n):
    """Tell whether L is one of a definite matrix: what is no number in a column of L is none on its diagonal either."""
    good = True
    for i in range(n):
        good = good and 0.0 < s[factor + i * (n + 1)] < np.inf
    return good


@inlined
def is_metric(table, s, factor):
    """Tell whether L measures motions: not where M is singular but for rounding, where that may happen."""
    n = table[la.NV]
    return is_factor(s, factor, n) and (table[la.WHOLE] == 0 or weakest(s, factor, n) <= la.NO_METRIC)


@internal
def load_characteristic_metric(table, settings, s, ws):
    """Write the factor of the characteristic metric to ws.metric."""
    nv, factors = table[la.NV], la.FACTORS + table[la.NC]
    for k in range(nv * nv):
        s[ws.metric + k] = 0.0
    for i in range(nv):
        s[ws.metric + i * (nv + 1)] = settings[factors + i]


@internal
def load_holonomic_rows(table, settings, x, s, ws):
    """Evaluate residuals and holonomic rows at x to ws.native; return where the factor of the metric lies.

    Where there is a function for it these are φ, Â = A L⁻¹ and ψ, then L; else φ, A and b, for the metric at ws.metric.
    """
    if table[la.CLOSING] != 0:
        call_native(table[la.CLOSING], x, 0, s, ws.native)
        factor = ws.native + table[la.NH] * (table[la.NV] + 2)
        if is_metric(table, s, factor):
            return factor
        load_characteristic_metric(table, settings, s, ws)
    call_native(table[la.POSITION], x, 0, s, ws.native)
    return ws.metric


@internal
def load_all_rows(table, settings, x, s, ws):
    """Do the same for ψ and all rows, where some are nonholonomic."""
    if table[la.SLIPPING] != 0:
        call_native(table[la.SLIPPING], x, 0, s, ws.native)
        factor = ws.native + table[la.NC] * (table[la.NV] + 1)
        if is_metric(table, s, factor):
            return factor
        load_characteristic_metric(table, settings, s, ws)
    call_native(table[la.VELOCITY], x, 0, s, ws.native)
    return ws.metric


@internal
def longest_entry(table, settings, s, step):
    """Return the largest entry of the step at ``step``, in radians and characteristic lengths."""
    factors = la.FACTORS + table[la.NC]
    longest = 0.0
    for i in range(table[la.NV]):
        longest = max(longest, abs(s[step + i]) * settings[factors + i])
    return longest


@inlined
def project_position(table, settings, x, s, perm, ws):
    """Project q in x on φ(q, t) = 0. Returns the longest step, −1 where it fails.

    On return what `load_holonomic_rows` gives at the final q lies at ws.native. Where redundant rows contradict each
    other by rounding of the data, Newton stagnates at the least-squares point, which counts as converged while the
    residual is accepted.
    """
    nv, nh = table[la.NV], table[la.NH]
    limit = table[la.HOLONOMIC_RANK]
    residual = np.inf
    far = 0.0
    quick = stagnant = False
    for iteration in range(MAX_ITERATIONS + 1):
        factor = load_holonomic_rows(table, settings, x, s, ws)
        residual = 0.0
        for j in range(nh):
            value = abs(s[ws.native + j]) * settings[la.FACTORS + j]
            if not value <= residual:
                residual = value
        tolerance = settings[la.POSITION_TOLERANCE]
        if residual <= (tolerance if iteration > 0 else 0.1 * tolerance):
            return far
        if quick and residual <= ROUNDING:
            return far
        if not np.isfinite(residual):
            return -1.0
        if stagnant or iteration == MAX_ITERATIONS:
            break
        for j in range(nh):
            s[ws.rhs + j] = -s[ws.native + j]
        correct(nh, nv, limit, ws.native + nh, factor, settings, s, perm, ws)
        longest = longest_entry(table, settings, s, ws.step)
        far, quick, stagnant = max(far, longest), longest < QUICK, longest < 1e-13
        move(table, x, s, ws.step, ws.x)
    return far if residual <= settings[la.ACCEPTED_RESIDUAL] else -1.0


@inlined
def correct(m, n, limit, rows, metric, settings, s, perm, ws):
    """Write to ws.step the shortest δ with A δ = rhs, in the metric with its factor L at ``metric``.

    At ``rows``, which are lost, is A (m × n) if that is ws.metric, else A L⁻¹.

    Returns the rank, −1 where something is not finite; then the step is NaN.
    """
    for j in range(m):
        factor, row = settings[la.FACTORS + j], rows + j * n
        s[ws.rhs + j] *= factor
        for c in range(n):
            s[row + c] *= factor
        if metric == ws.metric:
            fa.solve_l_transposed(s, metric, n, row)
    rank, _ = fa.solve(
        s, rows, m, n, limit, settings[la.SINGULAR_CUT], settings[la.SCALE_OF_EVEN_ROWS], perm,
        ws.diagonal, ws.beta, ws.beta2, ws.norms, ws.rhs, ws.y, ws.step,
    )  # fmt: skip
    fa.solve_l(s, metric, n, ws.step)
    if rank < 0:
        for i in range(n):
            s[ws.step + i] = np.nan
    return rank


@inlined
def project_velocity(table, settings, x, s, perm, ws, fresh):
    """Project v in x on ψ(q, v, t) = 0. Returns the rank of A.

    ``fresh`` says that `project_position` left rows and residuals at this q at ws.native.
    Nonholonomic rows may be nonlinear in v; Newton then iterates.
    """
    nq, nv, nh, nc = table[la.NQ], table[la.NV], table[la.NH], table[la.NC]
    rounds = 1 if nc == nh else 8
    rank = 0
    for _ in range(rounds):
        if nc > nh:
            factor = load_all_rows(table, settings, x, s, ws)
        elif not fresh:
            factor = load_holonomic_rows(table, settings, x, s, ws)
        else:
            factor = ws.native + nc * (nv + 2)
            if table[la.CLOSING] == 0 or not is_metric(table, s, factor):
                factor = ws.metric
        rows = ws.native + nc
        largest = 0.0
        for j in range(nc):
            value = s[ws.native + j]
            if nc == nh:
                value = s[rows + nh * nv + j]
                if factor == ws.metric:  # b = A v − ψ
                    value = -value
                    for c in range(nv):
                        value += s[rows + j * nv + c] * x[nq + c]
            s[ws.rhs + j] = -value
            largest = max(largest, abs(value) * settings[la.FACTORS + j])
        rank = correct(nc, nv, table[la.GENERIC_RANK], rows, factor, settings, s, perm, ws)
        for i in range(nv):
            x[nq + i] += s[ws.step + i]
        if largest < 1e-13:
            break
    return rank
