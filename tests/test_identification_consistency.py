"""Numbers that bodies can have: physical whatever the log, and the minimum that a cone solver finds."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from identified import case, controls, motion, noisy, physical
from sarrus.base.arrays import Array
from sarrus.design.identification import Regressor, base_parameters, identify
from sarrus.design.identification.consistent import program, solve


def test_friction_that_is_not_there_stays_at_zero_or_above() -> None:
    mechanism, names, q0, swing, period = case("five_bar")
    system = sr.System(mechanism)
    t, q, v, a = motion(system, names, q0, swing, period, 300, seed=2)
    log, sizes = noisy(np.random.default_rng(8), 0.01, q=q, v=v, a=a, u=controls(system, q, v, a))
    also = [f"{j}.{what}" for j in ("left", "right", "left_elbow") for what in ("damping", "armature")]
    for metric in ("entropic", "pullback"):
        found = identify(Regressor(system, also=also), t=t, **log, noise=sizes, metric=metric)
        least = min(found[n] for n in also)
        assert least >= -1e-9 if metric == "pullback" else least >= 0.0
        physical(found.mechanism)
        assert found.mechanism.bodies["link1"].joints[0].damping[0] == found["left.damping"]


@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_physical_where_least_squares_are_not(seed: int) -> None:
    # Few samples and much noise: base parameters that no bodies have.
    mechanism, names, q0, _, period = case("three_leg_platform")
    system = sr.System(mechanism)
    t, q, v, a = motion(system, names, q0, 0.3, period, 30, seed=2)
    log, _ = noisy(np.random.default_rng(seed), 0.05, q=q, v=v, a=a, u=controls(system, q, v, a))
    for metric in ("entropic", "pullback"):
        found = identify(system, t=t, **log, metric=metric)
        physical(found.mechanism)


def test_entropic_minimum_is_that_of_a_cone_solver() -> None:
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    mechanism = sr.load("models/five_bar.xml")
    regressor = Regressor(sr.System(mechanism))
    base = base_parameters(regressor)
    rng = np.random.default_rng(0)
    target = base.matrix @ regressor.values * rng.uniform(0.5, 1.5, len(base))
    p = program(regressor, base.matrix, target, np.diag(rng.uniform(1, 5, len(base))), 1.0)
    x = solve(p, "entropic")
    # log det P ≥ Σ s_i with [P Z; Zᵀ diag Z] ⪰ 0, Z lower triangular, exp(s_i) ≤ Z_ii.
    n, nb = len(x), len(p.bodies)
    width = n + 14 * nb
    lower = [(i, j) for i in range(4) for j in range(i + 1)]
    quadratic, linear = np.zeros((width, width)), np.zeros(width)
    quadratic[:n, :n], linear[:n] = p.rows.T @ p.rows, -p.rows.T @ p.target
    rows, right, cones = [], [], []
    for b, body in enumerate(p.bodies):
        linear[body.places] += np.trace(body.basis, axis1=1, axis2=2)
        z = n + 14 * b + np.arange(10)
        s = n + 14 * b + 10 + np.arange(4)
        linear[s] = -1.0

        def column(part: Array) -> Array:
            return np.array([part[i, j] * (1 if i == j else 2**0.5) for j in range(8) for i in range(j + 1)])

        block, whole = np.zeros((36, width)), np.zeros((8, 8))
        for place, basis in zip(body.places, body.basis):
            whole[:] = 0
            whole[:4, :4] = basis
            block[:, place] = -column(whole)
        for place, (i, j) in zip(z, lower):
            whole[:] = 0
            whole[i, 4 + j] = whole[4 + j, i] = 1
            if i == j:
                whole[4 + i, 4 + i] = 1
            block[:, place] = -column(whole)
        whole[:] = 0
        whole[:4, :4] = body.constant
        rows.append(block)
        right.append(column(whole))
        cones.append(clarabel.PSDTriangleConeT(8))
        for k, i in enumerate((0, 2, 5, 9)):
            exponential = np.zeros((3, width))
            exponential[0, s[k]] = -1
            exponential[2, z[i]] = -1
            rows.append(exponential)
            right.append(np.array([0.0, 1.0, 0.0]))
            cones.append(clarabel.ExponentialConeT())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(quadratic)), linear, sparse.csc_matrix(np.vstack(rows)), np.concatenate(right),
        cones, settings,
    ).solve()  # fmt: skip
    np.testing.assert_allclose(x, np.array(found.x)[:n], atol=1e-6)
