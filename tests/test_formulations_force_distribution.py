"""Actuator forces of least loss inside friction cones: another solver, mechanisms, closed forms, what cannot be had."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import clarabel
import numpy as np
import pytest
from scipy import sparse

import sarrus as sr
from conftest import load_example
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations import (
    ForceDistribution,
    oblique_projection,
    optimal_distribution,
    projected_inverse_dynamics,
    projector,
    relaxed_distribution,
)
from test_formulations_friction_cones import Problem, margins

Array = np.ndarray
seeds = pytest.mark.parametrize("seed", range(5))


# --- the optimum ---------------------------------------------------------------------------------------------


def by_clarabel(p: Problem, W: Array, q: Array, equalities: tuple[Array, Array]) -> Array:
    """Return the u of least uᵀWu + qᵀu; λ(u) comes from the saddle-point equations, without any projector."""
    n, nu = p.B.shape
    m = len(p.gamma)
    saddle = np.block([[p.M, -p.A.T], [p.A, np.zeros((m, m))]])
    both = np.linalg.solve(saddle, np.block([[p.B, -p.h[:, None]], [np.zeros((m, nu)), -p.gamma[:, None]]]))
    gain, offset = both[n:, :nu], both[n:, nu]
    rows, right = [equalities[0], np.eye(nu), -np.eye(nu)], [equalities[1], p.limit, p.limit]
    cones = [clarabel.ZeroConeT(len(right[0])), clarabel.NonnegativeConeT(2 * nu)]
    for contact, mu in zip(p.contacts, p.mu):
        scale = np.array([mu if len(contact) > 1 else 1.0, 1.0, 1.0])[: len(contact)]
        rows.append(-scale[:, None] * gain[list(contact)])
        right.append(scale * offset[list(contact)])
        cones.append(clarabel.SecondOrderConeT(len(contact)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(2 * W)),
        q,
        sparse.csc_matrix(np.vstack(rows)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved")
    return np.array(solution.x)


def basis(p: Problem) -> Array:
    return np.linalg.svd(p.A)[2][len(p.gamma) :].T


def test_optimum_agrees_with_clarabel() -> None:
    active = 0
    for seed in range(50):
        p = Problem(seed)
        found = p.solve()
        Z = basis(p)
        u = by_clarabel(p, np.diag(p.W), np.zeros(len(p.W)), (Z.T @ p.B, Z.T @ p.tau_c))
        assert found.status is Status.OK
        assert found.cost == pytest.approx(u @ (p.W * u), rel=1e-9), seed
        np.testing.assert_allclose(found.u, u, atol=5e-6 * np.abs(u).max(), err_msg=str(seed))
        # The answer obeys everything by itself.
        assert found.cost == pytest.approx(found.u @ (p.W * found.u), rel=1e-12)
        assert min(margins(found)) > 0.0
        assert (np.abs(found.u) < p.limit).all()
        np.testing.assert_allclose(found.disturbance, 0.0, atol=1e-10)
        assert 0.0 <= found.gap < 1e-10 * found.cost
        active += found.gap > 0.0
    assert active >= 35


@seeds
def test_weights_may_be_a_full_matrix(seed: int) -> None:
    p = Problem(seed)
    root = np.random.default_rng(seed).standard_normal((len(p.W), len(p.W)))
    W = root @ root.T + 0.1 * np.eye(len(root))
    found = optimal_distribution(*p.matrices, W, p.tau_c, p.contacts, p.mu, -p.limit, p.limit)
    Z = basis(p)
    u = by_clarabel(p, W, np.zeros(len(W)), (Z.T @ p.B, Z.T @ p.tau_c))
    assert found.cost == pytest.approx(u @ W @ u, rel=1e-8)
    np.testing.assert_allclose(found.u, u, atol=1e-5 * np.abs(u).max())
    assert found.cost == pytest.approx(found.u @ W @ found.u, rel=1e-12)


@seeds
def test_without_active_limits_it_is_the_weighted_pseudo_inverse(seed: int) -> None:
    p = Problem(seed)
    found = p.solve(u_min=None, u_max=1e4, mu=1e4)
    if min(found.multipliers[rows[0]] for rows in p.contacts) > 1e-3:
        assert found.gap == 0.0
    wanted = oblique_projection(p.M, p.h, p.A, p.gamma, p.tau_c).a
    expected = projected_inverse_dynamics(p.M, p.h, p.A, p.gamma, wanted, actuation=p.B, weights=p.W)
    if found.gap == 0.0:
        assert found.iterations == 0
        np.testing.assert_allclose(found.u, expected.u, atol=1e-9)
    else:
        assert found.cost > expected.u @ (p.W * expected.u)


def test_start_of_the_paper_is_no_start() -> None:
    """u = Bᵀτ_c need not produce τ_c, nor lie within the limits (appendix 5)."""
    p = Problem(3, sizes=(3, 3))
    u = p.B.T @ p.tau_c
    assert np.abs(projector(p.A) @ (p.B @ u - p.tau_c)).max() > 0.1
    found = p.solve()
    assert (np.abs(u) > p.limit).any()
    sliding = [c.cone.rows @ u + c.cone.offset for c in found.contacts]
    assert any(y[0] < np.linalg.norm(y[1:]) for y in sliding)
    assert found.status is Status.OK


def test_cost_grows_as_limits_shrink() -> None:
    p = Problem(1, sizes=(3, 3), spare=2)
    costs = [p.solve(mu=p.mu * factor).cost for factor in (100.0, 2.0, 1.2, 1.0)]
    assert all(a <= b * (1 + 1e-9) for a, b in pairwise(costs))
    assert costs[-1] > costs[0] * 1.001


# --- no solution ----------------------------------------------------------------------------------------------


def weight_on_a_slope(angle: float) -> tuple:
    """A block held on a slope by its contact alone, and a motor that presses it on the ground."""
    g = 9.81 * np.array([-np.cos(angle), -np.sin(angle), 0.0])  # along n, t1, t2
    return np.eye(3), -g, np.eye(3), np.zeros(3), np.array([[-1.0], [0.0], [0.0]]), np.ones(1), np.zeros(3)


def test_violated_contact_is_named() -> None:
    """Press with u ≥ 0: μ (g cos α + u) ≥ g sin α, so u = g sin α / μ − g cos α; with u < 1 it slides."""
    angle, mu = 0.5, 0.4
    problem = weight_on_a_slope(angle)
    needed = 9.81 * (np.sin(angle) / mu - np.cos(angle))
    found = optimal_distribution(*problem, [(0, 1, 2)], mu, 0.0, 20.0)
    assert found.u[0] == pytest.approx(needed, rel=1e-9)
    with pytest.raises(SolveError, match=r"contact 0 .*upper limit of actuator 0") as raised:
        optimal_distribution(*problem, [(0, 1, 2)], mu, 0.0, 1.0)
    result = raised.value.result
    assert result.status is Status.NOT_ACHIEVABLE
    assert result.violated == ("contact 0", "upper limit of actuator 0")  # shares 1 / 1.4 and 0.4 / 1.4
    # μ (g cos α + 1 + s) + s = g sin α
    least = (9.81 * np.sin(angle) - mu * (9.81 * np.cos(angle) + 1.0)) / (1 + mu)
    assert result.violation == pytest.approx(least, rel=1e-7)
    assert result.u[0] == pytest.approx(1.0 + least, rel=1e-7)
    assert np.isnan(result.gap)


def test_what_else_stands_in_the_way_is_named() -> None:
    p = Problem(2, sizes=(3, 1))
    low = np.where(np.arange(len(p.W)) == 1, 3.0 * p.limit, -p.limit)
    result = p.solve(u_min=low, u_max=4.0 * p.limit, throw=False)
    assert result.status is Status.NOT_ACHIEVABLE
    assert "lower limit of actuator 1" in result.violated
    p = Problem(2, sizes=(3, 1), spare=5)  # every λ can be had
    p.limit = 100.0 * p.limit
    row = np.eye(len(p.gamma))[[p.contacts[1][0]]]
    result = p.solve(inequalities=(-row, [1.0]), throw=False)  # λ_n ≤ −1 against λ_n ≥ 0
    assert set(result.violated) == {"contact 1", "inequality 0"}
    assert result.violation == pytest.approx(0.5, rel=1e-6)
    result = p.solve(equalities=(np.vstack([row, row]), [1.0, 2.0]), throw=False)
    assert result.violated == ("equalities",)
    with pytest.raises(SolveError, match="equalities contradict"):
        p.solve(equalities=(np.vstack([row, row]), [1.0, 2.0]))
    result = p.solve(function=relaxed_distribution, rho=1.0, inequalities=(-row, [1.0]), throw=False)
    assert set(result.violated) == {"contact 1", "inequality 0"}
    with pytest.raises(SolveError, match=r"relaxed_distribution: .*Raise a limit"):
        p.solve(function=relaxed_distribution, rho=1.0, inequalities=(-row, [1.0]))


def test_a_force_that_no_actuator_gives_is_named() -> None:
    M, h, A, gamma = np.eye(3), np.array([0.0, 0.0, 9.81]), np.array([[0.0, 0.0, 1.0]]), np.zeros(1)
    B, tau_c = np.array([[1.0], [0.0], [0.0]]), np.array([2.0, 3.0, 7.0])
    with pytest.raises(SolveError, match="cannot produce tau_c") as raised:
        optimal_distribution(M, h, A, gamma, B, [1.0], tau_c, [(0,)], 1.0)
    result = raised.value.result
    assert result.violated == ("tau_c",)
    assert result.violation == pytest.approx(3.0)
    assert result.u == pytest.approx([2.0])
    np.testing.assert_allclose(result.disturbance, [0.0, 3.0, 0.0], atol=1e-12)


# --- giving up a part of the motion ---------------------------------------------------------------------------


@seeds
def test_relaxed_optimum(seed: int) -> None:
    """W′ = W + ρ BᵀP M̄⁻² P B; d is the acceleration that is missing (eqs. (31) to (33))."""
    p, rho = Problem(seed), 3.0
    found = p.solve(relaxed_distribution, tau_c=4.0 * p.tau_c, rho=rho)
    wanted = oblique_projection(p.M, p.h, p.A, p.gamma, 4.0 * p.tau_c, nu=0.7)
    reached = oblique_projection(p.M, p.h, p.A, p.gamma, p.B @ found.u)
    np.testing.assert_allclose(found.disturbance, wanted.a - reached.a, atol=1e-9)
    P, inverse = wanted.details["P"], np.linalg.inv(wanted.details["inertia"])
    by_u = inverse @ P @ p.B
    W = np.diag(p.W) + rho * p.B.T @ P @ inverse @ inverse @ P @ p.B
    b = 2.0 * p.B.T @ P @ inverse @ inverse @ (4.0 * p.tau_c)
    u = by_clarabel(p, W, -rho * b, (np.zeros((0, len(p.W))), np.zeros(0)))
    missing = inverse @ P @ (4.0 * p.tau_c) - by_u @ u
    assert found.cost == pytest.approx(u @ (p.W * u) + rho * missing @ missing, rel=1e-8)
    np.testing.assert_allclose(found.u, u, atol=1e-5 * np.abs(u).max())
    assert found.cost == pytest.approx(
        found.u @ (p.W * found.u) + rho * found.disturbance @ found.disturbance
    )


def test_relaxed_optimum_tends_to_the_other() -> None:
    """Where τ_c can be had, |d| falls as 1/ρ; where it cannot, d stays and the limits hold."""
    p = Problem(4, sizes=(3, 3))
    exact = p.solve()
    soft = [p.solve(relaxed_distribution, rho=rho) for rho in (1e4, 1e5, 1e6)]
    assert soft[0].cost < soft[1].cost < soft[2].cost < exact.cost
    for left in (
        [np.linalg.norm(s.disturbance) for s in soft],
        [np.linalg.norm(s.u - exact.u) for s in soft],
        [exact.cost - s.cost for s in soft],
    ):
        # Series in 1/ρ: by how much the ratio misses ten falls with the next term, tenfold as well.
        first, second = (abs(large / small / 10.0 - 1.0) for large, small in pairwise(left))
        assert second <= first / 5 < 0.02
    far = [p.solve(relaxed_distribution, tau_c=30.0 * p.tau_c, rho=rho) for rho in (0.1, 10.0, 1e5)]
    missing = [np.linalg.norm(f.disturbance) for f in far]
    assert missing[0] > missing[1] > missing[2] > 1e-2
    assert min(margins(far[2])) > 0.0
    with pytest.raises(SolveError, match="relaxed_distribution"):
        p.solve(tau_c=30.0 * p.tau_c)


@seeds
def test_units_of_the_actuators_do_not_matter(seed: int) -> None:
    p, other = Problem(seed), Problem(seed)
    scale = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, len(p.W))
    other.B, other.W, other.limit = p.B / scale, p.W / scale**2, p.limit * scale
    for function, keywords in ((optimal_distribution, {}), (relaxed_distribution, {"rho": 0.3})):
        plain, found = p.solve(function, **keywords), other.solve(function, **keywords)
        assert found.cost == pytest.approx(plain.cost, rel=1e-10)
        np.testing.assert_allclose(found.u / scale, plain.u, atol=1e-8)


@seeds
def test_in_a_metric_the_answer_does_not_depend_on_units(seed: int) -> None:
    p = Problem(seed)
    scale = 10.0 ** np.random.default_rng(seed).uniform(-2, 2, len(p.h))
    other = Problem(seed)
    other.M, other.A = p.M * np.outer(scale, scale), p.A * scale
    other.h, other.B, other.tau_c = p.h * scale, p.B * scale[:, None], p.tau_c * scale
    for function, keywords in ((optimal_distribution, {}), (relaxed_distribution, {"rho": 0.3})):
        plain = p.solve(function, **keywords)
        found = other.solve(function, metric=scale**2, **keywords)
        np.testing.assert_allclose(found.u, plain.u, atol=1e-7)
        np.testing.assert_allclose(found.disturbance * scale, plain.disturbance, atol=1e-7)


# --- conditions on the contact forces -------------------------------------------------------------------------


@lru_cache
def quadruped() -> tuple[tuple, list[tuple[int, int, int]], Array]:
    """The example standing, matrices for (M, h, A, γ, B), rows (z, x, y) of its feet, and τ_c of standing still."""
    module = load_example("quadruped")
    system = sr.System(module.build())
    q, rest = module.standing(system), np.zeros(18)
    A, h = system.constraint_jacobian(q), system.bias_force(q, rest)
    matrices = system.mass_matrix(q), h, A, system.constraint_bias(q, rest), system.actuation_matrix(q)
    return matrices, [(3 * k + 2, 3 * k, 3 * k + 1) for k in range(4)], projector(A) @ h


def test_quadruped_stands_on_slippery_ground() -> None:
    """Although nothing drives the trunk, R(P) not in R(B), every motion is possible: PB has the rank of P."""
    (M, h, A, gamma, B), feet, tau_c = quadruped()
    P = projector(A)
    assert np.linalg.matrix_rank(P @ B, tol=1e-9) == np.linalg.matrix_rank(P, tol=1e-9) == 6
    assert np.linalg.matrix_rank(np.hstack([B, P]), tol=1e-9) == 18 > np.linalg.matrix_rank(B)
    dry = optimal_distribution(M, h, A, gamma, B, np.ones(12), tau_c, feet, 1.0)
    wet = optimal_distribution(M, h, A, gamma, B, np.ones(12), tau_c, feet, 0.03, -30.0, 30.0)
    assert dry.gap == 0.0
    assert wet.cost > dry.cost
    for result in (dry, wet):
        assert result.multipliers[2::3].sum() == pytest.approx(9.81 * 19.2)
        np.testing.assert_allclose(oblique_projection(M, h, A, gamma, B @ result.u).a, 0.0, atol=1e-8)
        np.testing.assert_allclose(
            [result.multipliers[0::3].sum(), result.multipliers[1::3].sum()], 0.0, atol=1e-8
        )
    assert max(-m for m in margins(wet)) < 0.0
    assert min(margins(wet)) < 1e-6  # on the cone
    assert min(0.03 * n - np.linalg.norm(t) for n, t in zip(dry.multipliers[2::3], _tangents(dry))) < -0.1


def _tangents(result: ForceDistribution) -> Array:
    return result.multipliers.reshape(4, 3)[:, :2]


def test_regulated_contact_forces() -> None:
    """Stand with 10 N on the front left foot (eq. (35)): statics then gives the others their loads."""
    (M, h, A, gamma, B), feet, tau_c = quadruped()
    select = np.zeros((1, 12))
    select[0, 2] = 1.0
    limits = np.ones(12), tau_c, feet, 0.6, -60.0, 60.0
    result = optimal_distribution(M, h, A, gamma, B, *limits, equalities=(select, [10.0]))
    load = optimal_distribution(M, h, A, gamma, B, *limits).multipliers[2::3]
    weight, front = load.sum(), load[:2].sum()
    expected = [10.0, front - 10.0, weight / 2 - 10.0, weight / 2 - front + 10.0]
    np.testing.assert_allclose(result.multipliers[2::3], expected, rtol=1e-9)
    assert abs(load[0] - 10.0) > 5.0
    soft = relaxed_distribution(M, h, A, gamma, B, *limits, rho=1.0, equalities=(select, [10.0]))
    assert soft.multipliers[2] == pytest.approx(10.0, rel=1e-9)
    beyond = optimal_distribution(
        M, h, A, gamma, B, *limits, equalities=(select, [0.6 * weight]), throw=False
    )
    assert beyond.violated == ("contact 1",)  # contact 2 has to pull too, but less
    assert beyond.violation == pytest.approx(0.6 * (0.6 * weight - front), rel=1e-7)


def test_moments_of_the_ground() -> None:
    """The centre of pressure stays behind a line (eq. (34)): a moment about it of the forces at the feet."""
    (M, h, A, gamma, B), feet, tau_c = quadruped()
    x = np.array([0.25, 0.25, -0.25, -0.25])
    lean = tau_c + projector(A) @ M[:, 0] * 0.5  # accelerate the trunk forward

    def moment(line: float) -> Array:
        rows = np.zeros((1, 12))
        rows[0, 2::3] = line - x  # Σ (line − x) λ_z ≥ 0
        return rows

    limits = np.ones(12), lean, feet, 0.8, -60.0, 60.0
    free = optimal_distribution(M, h, A, gamma, B, *limits)
    load = free.multipliers[2::3]
    centre = float(x @ load / load.sum())
    kept = optimal_distribution(M, h, A, gamma, B, *limits, inequalities=(moment(centre + 0.01), [0.0]))
    np.testing.assert_allclose(kept.u, free.u, atol=1e-9)
    # With six motions asked for, statics leaves no choice of the net moment: a line before the centre is violated.
    result = optimal_distribution(
        M, h, A, gamma, B, *limits, inequalities=(moment(centre - 0.01), [0.0]), throw=False
    )
    assert "inequality 0" in result.violated
    soft = relaxed_distribution(
        M, h, A, gamma, B, *limits, rho=1e3, inequalities=(moment(centre - 0.01), [0.0])
    )
    load = soft.multipliers[2::3]
    assert float(x @ load / load.sum()) <= centre - 0.01
    assert np.linalg.norm(soft.disturbance) > 1e-3


@pytest.mark.parametrize(("fingers", "normal"), [(2, 11.772), (3, 7.848)])
def test_grasp_of_least_squares_is_that_of_least_normal_force(fingers: int, normal: float) -> None:
    """Point masses hold a cylinder: by symmetry Σ|f|² has the optimum of Σ n and of max |f|, which are no QCQP."""
    mass, size = 1.2, 6 + 3 * fingers
    M, h = np.diag([mass] * 3 + [0.01] * 3 + [0.1] * 3 * fingers), np.zeros(size)
    h[2] = 9.81 * mass
    A, B = np.zeros((3 * fingers, size)), np.vstack([np.zeros((6, 3 * fingers)), np.eye(3 * fingers)])
    for k in range(fingers):
        angle = 2 * np.pi * k / fingers
        out, up = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([0.0, 0.0, 1.0])
        frame = np.array([out, up, np.cross(out, up)])  # velocity of the finger less that of the object
        A[3 * k : 3 * k + 3, :3] = -frame
        A[3 * k : 3 * k + 3, 3:6] = -np.cross(out, frame)
        A[3 * k : 3 * k + 3, 6 + 3 * k : 9 + 3 * k] = frame
    contacts = [(3 * k, 3 * k + 1, 3 * k + 2) for k in range(fingers)]
    hold = projector(A) @ h
    result = optimal_distribution(
        M, h, A, np.zeros(3 * fingers), B, np.ones(3 * fingers), hold, contacts, 0.5
    )
    expected = np.tile([normal, -mass * 9.81 / fingers, 0.0], fingers)  # friction pulls the fingers down
    np.testing.assert_allclose(result.multipliers, expected, atol=1e-8)
    largest = np.linalg.norm(result.multipliers.reshape(-1, 3), axis=1).max()
    if fingers == 2:
        assert largest == pytest.approx(13.161496115563763, rel=1e-9)


# --- bad arguments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contacts": [(0, 1, 9)]}, "contact 0 has rows"),
        ({"contacts": [()]}, "contact 0 has rows"),
        ({"contacts": [(0, 1, 2), (2,)]}, "contact 1 .* used twice"),
        ({"contacts": [(3,)]}, r"row 3 of A, its normal, is zero. Leave out contacts that are open"),
        ({"mu": 0.0}, "mu of contact 0 must be positive"),
        ({"mu": [0.5, 0.5]}, "mu has shape"),
        ({"W": [1.0, -1.0, 1.0]}, "W must be symmetric and positive definite"),
        ({"W": np.ones((3, 3))}, "W must be symmetric and positive definite"),
        ({"u_min": [0.0, 1.0, 0.0], "u_max": 1.0}, r"u_min\[1\] = 1.0 must be below"),
        ({"u_max": [1.0, 1.0]}, "u_max must be a number or 3 numbers"),
        ({"u_max": np.nan}, "u_max must be a number"),
        ({"u_max": -np.inf}, "u_max must be a number"),
        ({"tau_c": np.zeros(3)}, "tau_c has shape"),
        ({"B": np.ones(4)}, "B must be a matrix"),
        ({"inequalities": (np.eye(3), np.zeros(3))}, r"inequalities\[0\] has shape"),
        ({"equalities": (np.zeros((1, 4)), [np.inf])}, r"equalities\[1\] must be finite"),
        ({"rho": -1.0}, "rho must be a positive number"),
    ],
)
def test_bad_arguments_are_named(changes: dict, message: str) -> None:
    arguments = {
        "M": np.eye(4),
        "h": np.zeros(4),
        "A": np.eye(4)[:, :4] * [1, 1, 1, 0],
        "gamma": np.zeros(4),
        "B": np.eye(4)[:, :3],
        "W": np.ones(3),
        "tau_c": np.zeros(4),
        "contacts": [(0, 1, 2)],
        "mu": 0.5,
        "rho": 1.0,
        **changes,
    }
    with pytest.raises(ArgumentError, match=message):
        relaxed_distribution(**arguments)
