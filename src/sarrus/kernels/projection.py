"""Projection of a state on the constraints: positions by Newton's method, then velocities.

Both corrections are the shortest in the kinetic metric: of all δ with A δ = −φ the one with the least δᵀM δ,

    q ← q ⊕ (−L⁻¹ Â⁺ φ),    v ← v − L⁻¹ Â⁺ ψ,    M = LᵀL,  Â = R A L⁻¹  (and R φ, R ψ),

for any rank of A; R brings rows in metres and in radians to one scale (`sarrus.characteristic`). So neither depends on
units of measurement. (The decomposition: Aghili and Piedboeuf, Multibody System Dynamics 10, 2003; metric tensors:
Aghili, IEEE Trans. Robotics 21, 2005, section II-A; the form that is robust in singular configurations is Spencer's.)
M is that of the configuration where the projection begins.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.flat import flat_at, flat_from, flat_pointer, inlined, internal
from sarrus.kernels.native_call import call_native

MAX_ITERATIONS = 12
# Velocities are projected in the metric of where the projection began, unless a position step was longer than this.
FAR = 1e-6
# Newton squares the error: after a step shorter than the first of these what is left is rounding, if below the second.
QUICK, ROUNDING = 3e-8, 1e-12


def projection(table_pointer, x_pointer, what):
    """Project v in x in place, and q before it unless only ``VELOCITIES`` are asked for; return the rank of A.

    −1 where the positions do not converge; then x is not to be used.
    """
    table, x = flat_pointer(table_pointer), flat_pointer(x_pointer)
    return project(table, x, what != la.VELOCITIES)


@inlined
def project(table, x, positions):
    """Do the work of `projection`."""
    settings, s = flat_at(table[la.SETTINGS]), flat_at(table[la.WORK])
    perm = flat_from(table, la.QUATERNIONS + table[la.N_QUATERNIONS])
    ws = la.workspace(table)
    fresh = False
    if table[la.NC] > 0:
        load_metric(table, settings, x, s, ws)
    if positions and table[la.NH] > 0:
        far = project_position(table, settings, x, s, perm, ws)
        if far < 0.0:
            return -1
        fresh = True
        if far > FAR:
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
    wrong = 0.0
    for k in range(ws.metric, ws.metric + nv * nv):
        wrong += 0.0 * s[k]
    for i in range(nv):
        good = good and s[ws.metric + i * (nv + 1)] > 0.0
    if not (good and wrong == 0.0):
        factors = la.FACTORS + table[la.NC]
        for k in range(nv * nv):
            s[ws.metric + k] = 0.0
        for i in range(nv):
            s[ws.metric + i * (nv + 1)] = settings[factors + i]


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
    """Project q in x on φ(q, t) = 0, in the metric at ws.metric. Returns the longest step, −1 where it fails.

    On return φ, A and b at the final q lie at ws.native. Where redundant rows contradict each other by
    rounding of the data, Newton stagnates at the least-squares point, which counts as converged while the
    residual is accepted.
    """
    nv, nh = table[la.NV], table[la.NH]
    limit = table[la.HOLONOMIC_RANK]
    residual = np.inf
    far = 0.0
    quick = stagnant = False
    for iteration in range(MAX_ITERATIONS + 1):
        call_native(table[la.POSITION], x, 0, s, ws.native)
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
        rows = ws.native + nh
        for k in range(nh * nv):
            s[ws.copy + k] = s[rows + k]
        for j in range(nh):
            s[ws.rhs + j] = -s[ws.native + j]
        correct(nh, nv, limit, settings, s, perm, ws)
        longest = longest_entry(table, settings, s, ws.step)
        far, quick, stagnant = max(far, longest), longest < QUICK, longest < 1e-13
        move(table, x, s, ws.step, ws.x)
    return far if residual <= settings[la.ACCEPTED_RESIDUAL] else -1.0


@inlined
def correct(m, n, limit, settings, s, perm, ws):
    """Write to ws.step the shortest δ with A δ = rhs, in the metric at ws.metric; A is m × n at ws.copy.

    Returns the rank, −1 where something is not finite; then the step is NaN.
    """
    for j in range(m):
        factor, row = settings[la.FACTORS + j], ws.copy + j * n
        s[ws.rhs + j] *= factor
        for c in range(n):
            s[row + c] *= factor
        fa.solve_l_transposed(s, ws.metric, n, row)
    rank, _ = fa.solve(
        s, ws.copy, m, n, limit, settings[la.SINGULAR_CUT], settings[la.SCALE_OF_EVEN_ROWS], perm,
        ws.diagonal, ws.beta, ws.beta2, ws.norms, ws.rhs, ws.y, ws.step,
    )  # fmt: skip
    fa.solve_l(s, ws.metric, n, ws.step)
    if rank < 0:
        for i in range(n):
            s[ws.step + i] = np.nan
    return rank


@inlined
def project_velocity(table, settings, x, s, perm, ws, fresh):
    """Project v in x on ψ(q, v, t) = 0, in the metric at ws.metric. Returns the rank of A.

    ``fresh`` says that φ, A and b at this q lie at ws.native, as `project_position` leaves them.
    Nonholonomic rows may be nonlinear in v; Newton then iterates.
    """
    nq, nv, nh, nc = table[la.NQ], table[la.NV], table[la.NH], table[la.NC]
    rounds = 1 if nc == nh else 8
    rank = 0
    for _ in range(rounds):
        if nc > nh:
            call_native(table[la.VELOCITY], x, 0, s, ws.native)
        elif not fresh:
            call_native(table[la.POSITION], x, 0, s, ws.native)
        rows = ws.native + nc
        for k in range(nc * nv):
            s[ws.copy + k] = s[rows + k]
        largest = 0.0
        for j in range(nc):
            value = s[ws.native + j]
            if nc == nh:
                value = -s[rows + nh * nv + j]
                for c in range(nv):
                    value += s[rows + j * nv + c] * x[nq + c]
            s[ws.rhs + j] = -value
            largest = max(largest, abs(value) * settings[la.FACTORS + j])
        rank = correct(nc, nv, table[la.GENERIC_RANK], settings, s, perm, ws)
        for i in range(nv):
            x[nq + i] += s[ws.step + i]
        if largest < 1e-13:
            break
    return rank
