"""Projection of a state on the constraints: positions by Newton with A⁺, then velocities.

Both corrections have minimum norm in the velocity space, q ← q ⊕ (−A⁺φ), v ← v − A⁺ψ, for any rank of A
(Aghili and Piedboeuf, J. Dyn. Syst. Meas. Control 125, 2003; Spencer's singularity-robust form).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sarrus.kernels import factor as fa
from sarrus.kernels import layout as la
from sarrus.kernels.native_call import call_native

MAX_ITERATIONS = 12


@njit(cache=True)
def normalize(sizes, x):
    """Scale the quaternions in x to length one."""
    for k in range(sizes[la.N_QUATERNIONS]):
        i = sizes[la.QUATERNIONS + k]
        size = np.sqrt(x[i] ** 2 + x[i + 1] ** 2 + x[i + 2] ** 2 + x[i + 3] ** 2)
        for c in range(4):
            x[i + c] /= size


@njit(cache=True)
def move(addresses, sizes, x, step, scratch, rate):
    """Replace q in x by q ⊕ step: along N(q) step, quaternions back to unit length."""
    nq, nv = sizes[la.NQ], sizes[la.NV]
    if sizes[la.SIMPLE_RATE] == 1:
        for i in range(nq):
            x[i] += step[i]
        return
    for i in range(x.shape[0]):
        scratch[i] = x[i]
    for i in range(nv):
        scratch[nq + i] = step[i]
    call_native(addresses[la.RATE], scratch, rate)
    for i in range(nq):
        x[i] += rate[i]
    normalize(sizes, x)


@njit(cache=True)
def project_position(addresses, sizes, settings, x, work, perm, scratch, rate):
    """Project q in x on φ(q, t) = 0. Returns (converged, residual, iterations).

    On return φ, A and b at the final q lie in the front of ``work``. Where redundant rows contradict each
    other by rounding of the data, Newton stagnates at the least-squares point, which counts as converged
    while the residual is accepted.
    """
    nv, nh = sizes[la.NV], sizes[la.NH]
    size = nh * (nv + 2)
    out = work[:size]
    big = max(nv, sizes[la.NC]) + 1
    copy = work[size : size + nh * nv]
    q0 = size + nh * nv
    y, step, rhs = work[q0 : q0 + big], work[q0 + big : q0 + 2 * big], work[q0 + 2 * big : q0 + 3 * big]
    diagonal, beta = work[q0 + 3 * big : q0 + 4 * big], work[q0 + 4 * big : q0 + 5 * big]
    beta2, norms = work[q0 + 5 * big : q0 + 6 * big], work[q0 + 6 * big : q0 + 7 * big]
    residual = np.inf
    stagnant = False
    for iteration in range(MAX_ITERATIONS + 1):
        call_native(addresses[la.POSITION], x, out)
        residual = 0.0
        for j in range(nh):
            value = abs(out[j])
            if not value <= residual:
                residual = value
        if residual <= settings[la.POSITION_TOLERANCE]:
            return True, residual, iteration
        if not np.isfinite(residual):
            return False, residual, iteration
        if stagnant or iteration == MAX_ITERATIONS:
            break
        for k in range(nh * nv):
            copy[k] = out[nh + k]
        for j in range(nh):
            rhs[j] = -out[j]
        rank = fa.factor(
            copy, nh, nv, sizes[la.HOLONOMIC_RANK], settings[la.SINGULAR_CUT], perm, diagonal, beta, norms
        )
        if rank < nh:
            fa.reduce(copy, nh, nv, rank, diagonal, beta2)
        fa.least_squares(copy, nh, nv, rank, perm, diagonal, beta, beta2, rhs, y, step)
        longest = 0.0
        for i in range(nv):
            longest = max(longest, abs(step[i]))
        move(addresses, sizes, x, step, scratch, rate)
        stagnant = longest < 1e-13
    return residual <= settings[la.ACCEPTED_RESIDUAL], residual, MAX_ITERATIONS


@njit(cache=True)
def project_velocity(addresses, sizes, settings, x, work, perm, fresh):
    """Project v in x on ψ(q, v, t) = 0. Returns the rank of A.

    ``fresh`` says that φ, A and b at this q lie in the front of ``work``, as `project_position` leaves
    them. Nonholonomic rows may be nonlinear in v; Newton then iterates.
    """
    nq, nv, nh, nc = sizes[la.NQ], sizes[la.NV], sizes[la.NH], sizes[la.NC]
    v = x[nq : nq + nv]
    big = max(nv, nc) + 1
    rounds = 1 if nc == nh else 8
    rank = 0
    for _ in range(rounds):
        if nc == nh:
            if not fresh:
                call_native(addresses[la.POSITION], x, work[: nh * (nv + 2)])
            rows, offset = work[nh : nh + nh * nv], nh * (nv + 1)
            q0 = nh * (nv + 2)
        else:
            call_native(addresses[la.VELOCITY], x, work[: nc * (nv + 1)])
            rows, offset = work[nc : nc + nc * nv], 0
            q0 = nc * (nv + 1)
        y, step, rhs = work[q0 : q0 + big], work[q0 + big : q0 + 2 * big], work[q0 + 2 * big : q0 + 3 * big]
        diagonal, beta = work[q0 + 3 * big : q0 + 4 * big], work[q0 + 4 * big : q0 + 5 * big]
        beta2, norms = work[q0 + 5 * big : q0 + 6 * big], work[q0 + 6 * big : q0 + 7 * big]
        largest = 0.0
        for j in range(nc):
            if nc == nh:
                value = -work[offset + j]
                for c in range(nv):
                    value += rows[j * nv + c] * v[c]
            else:
                value = work[j]
            rhs[j] = -value
            largest = max(largest, abs(value))
        rank = fa.factor(
            rows, nc, nv, sizes[la.GENERIC_RANK], settings[la.SINGULAR_CUT], perm, diagonal, beta, norms
        )
        if rank < nc:
            fa.reduce(rows, nc, nv, rank, diagonal, beta2)
        fa.least_squares(rows, nc, nv, rank, perm, diagonal, beta, beta2, rhs, y, step)
        for i in range(nv):
            v[i] += step[i]
        if largest < 1e-13:
            break
    return rank
