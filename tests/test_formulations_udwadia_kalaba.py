"""The equation of Udwadia and Kalaba: closed forms, Gauss's principle, non-ideal forces, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations import udwadia_kalaba

Matrices = tuple[Array, Array, Array, Array, Array]


def problem(seed: int, n: int = 6, rows: int = 3, extra: int = 0, consistent: bool = True) -> Matrices:
    """Return M, h, A, γ, τ with ``extra`` dependent rows, the last of them zero."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    mixing = np.vstack([np.eye(rows), rng.standard_normal((extra, rows))])
    mixing[rows + extra - 1 :] *= 0.0 if extra else 1.0
    jacobian = mixing @ rng.standard_normal((rows, n))
    gamma = jacobian @ rng.standard_normal(n) if consistent else rng.standard_normal(rows + extra)
    return root @ root.T + np.eye(n), rng.standard_normal(n), jacobian, gamma, rng.standard_normal(n)


@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_is_the_published_equation(seed: int, extra: int) -> None:
    """Liu et al. 2015, eqs. (11) to (13), written out with SciPy's root and NumPy's pseudo-inverse."""
    M, h, A, gamma, tau = problem(seed, extra=extra)
    c = np.random.default_rng(seed + 50).standard_normal(6)
    root = np.real(sqrtm(M))
    inverse = np.linalg.inv(root)
    B, Q, b = A @ inverse, tau - h, -gamma
    pseudo = np.linalg.pinv(B, rcond=1e-10)
    ideal = root @ pseudo @ (b - A @ np.linalg.solve(M, Q))
    non_ideal = root @ (np.eye(6) - pseudo @ B) @ inverse @ c
    found = udwadia_kalaba(M, h, A, gamma, tau, non_ideal=c)
    np.testing.assert_allclose(found.details["ideal"], ideal, atol=1e-11)
    np.testing.assert_allclose(found.details["non_ideal"], non_ideal, atol=1e-11)
    np.testing.assert_allclose(found.a, np.linalg.solve(M, Q + ideal + non_ideal), atol=1e-11)
    np.testing.assert_allclose(found.details["root"], root, atol=1e-11)
    np.testing.assert_allclose(found.details["free_acceleration"], np.linalg.solve(M, Q), atol=1e-11)
    assert found.condition == pytest.approx(np.linalg.cond(B[:3]) if not extra else found.condition, rel=1e-8)
    assert (found.status, found.rank) == (Status.OK, 3)
    assert found.force_residual < 1e-13
    assert found.constraint_residual < 1e-13


def test_bead_on_a_circle_with_friction() -> None:
    """A bead of mass m slides on a vertical circle of radius r: normal force and Coulomb friction by hand."""
    m, r, g, angle, speed, mu = 0.7, 1.3, 9.81, 0.4, 2.5, 0.3
    radial, tangent = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    weight = np.array([0.0, -m * g])
    normal = -m * speed**2 / r - radial @ weight  # along the radius outwards
    friction = -mu * abs(normal) * tangent
    arguments = m * np.eye(2), -weight, r * radial[None], [speed**2], None
    smooth, rough = udwadia_kalaba(*arguments), udwadia_kalaba(*arguments, friction)
    centripetal = -(speed**2) / r * radial
    np.testing.assert_allclose(smooth.a, centripetal + (tangent @ weight / m) * tangent, atol=1e-13)
    np.testing.assert_allclose(smooth.constraint_force, normal * radial, atol=1e-13)
    np.testing.assert_allclose(smooth.multipliers, [normal / r], atol=1e-13)
    np.testing.assert_allclose(rough.a, smooth.a + friction / m, atol=1e-13)
    np.testing.assert_allclose(rough.constraint_force, normal * radial + friction, atol=1e-13)
    np.testing.assert_allclose(rough.multipliers, [normal / r], atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_work_of_the_constraint_forces(seed: int) -> None:
    """Eqs. (8) to (10): ideal forces do none, non-ideal ones the work of c, in every virtual displacement."""
    M, h, A, gamma, tau = problem(seed, extra=1)
    c = np.random.default_rng(seed + 60).standard_normal(6)
    found = udwadia_kalaba(M, h, A, gamma, tau, c)
    virtual = found.problem.basis
    assert np.abs(virtual.T @ found.details["ideal"]).max() < 1e-12
    np.testing.assert_allclose(virtual.T @ found.details["non_ideal"], virtual.T @ c, atol=1e-12)
    np.testing.assert_allclose(found.problem.A.T @ found.multipliers, found.details["ideal"], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_normal_part_of_a_non_ideal_force_moves_nothing(seed: int) -> None:
    M, h, A, gamma, tau = problem(seed)
    c = np.random.default_rng(seed + 70).standard_normal(6)
    one, other = (udwadia_kalaba(M, h, A, gamma, tau, c + A.T @ x) for x in (np.zeros(3), [1.0, -2.0, 3.0]))
    np.testing.assert_allclose(one.a, other.a, atol=1e-12)
    np.testing.assert_allclose(one.constraint_force, other.constraint_force, atol=1e-11)


def test_non_ideal_force_as_in_a_compiled_system() -> None:
    """A particle on a sphere with a tangential and a radial non-ideal force: acceleration and total force."""
    m, drag = 0.8, 0.6
    system = sr.System.from_lagrangian(
        3,
        lambda q, v, t: m / 2 * (v.T @ v) - m * 9.81 * q[2],
        holonomic=lambda q, t: q.T @ q - 1.0,
        non_ideal=lambda q, v, t: -drag * v + 0.9 * q,
        name="particle_on_sphere",
    )
    q, v = np.array([0.6, 0.0, 0.8]), np.array([0.8, 1.1, -0.6])
    expected = system.forward_dynamics(q, v)
    found = udwadia_kalaba(
        system.mass_matrix(q),
        system.bias_force(q, v),
        system.constraint_jacobian(q),
        system.constraint_bias(q, v),
        None,
        -drag * v + 0.9 * q,
    )
    np.testing.assert_allclose(found.a, expected.a, atol=1e-12)
    np.testing.assert_allclose(found.constraint_force, expected.constraint_force, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_gauss_principle(seed: int) -> None:
    """Of all admissible accelerations a deviates least from the free one, in the metric M."""
    M, h, A, gamma, tau = problem(seed, extra=2)
    found = udwadia_kalaba(M, h, A, gamma, tau)
    free = found.details["free_acceleration"]
    least = (found.a - free) @ M @ (found.a - free)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        other = found.a + found.problem.basis @ rng.standard_normal(3) * 10.0 ** rng.uniform(-6, 1)
        np.testing.assert_allclose(A @ other + gamma, 0.0, atol=1e-9)
        assert (other - free) @ M @ (other - free) > least


@pytest.mark.parametrize("seed", range(4))
def test_contradiction_is_least_squares_with_rows_weighted_alike(seed: int) -> None:
    M, h, A, gamma, tau = problem(seed, extra=3, consistent=False)
    found = udwadia_kalaba(M, h, A, gamma, tau)
    assert found.status is Status.INCONSISTENT
    least = np.linalg.lstsq(A, -gamma, rcond=1e-10)[0]
    assert np.linalg.norm(A @ found.a + gamma) == pytest.approx(np.linalg.norm(A @ least + gamma), rel=1e-12)
    assert np.abs(found.problem.basis.T @ (M @ found.a + h - tau)).max() < 1e-12
    consistency = np.linalg.norm(-gamma + A @ np.linalg.pinv(A, rcond=1e-10) @ gamma)
    assert found.details["contradiction"] == pytest.approx(consistency, rel=1e-10)
    weighted = udwadia_kalaba(M, h, 3.0 * A[:1], 3.0 * gamma[:1], tau)
    alone = udwadia_kalaba(M, h, A[:1], gamma[:1], tau)
    np.testing.assert_allclose(weighted.a, alone.a, atol=1e-12)
    scale = np.array([5.0, *np.ones(5)])
    stretched = udwadia_kalaba(M, h, scale[:, None] * A, scale * gamma, tau)
    assert np.abs(stretched.a - found.a).max() > 1e-3, "weights matter where rows contradict each other"


def test_a_row_given_twice_halves_its_multiplier() -> None:
    M, h, A, gamma, tau = problem(3)
    single = udwadia_kalaba(M, h, A, gamma, tau)
    twice = udwadia_kalaba(M, h, A[[0, 0, 1, 2]], gamma[[0, 0, 1, 2]], tau)
    expected = single.multipliers[[0, 0, 1, 2]] * [0.5, 0.5, 1.0, 1.0]
    np.testing.assert_allclose(twice.multipliers, expected, atol=1e-12)
    np.testing.assert_allclose(twice.a, single.a, atol=1e-12)
    np.testing.assert_array_equal(twice.determined, [False, False, True, True])


@pytest.mark.parametrize("A", [np.zeros((0, 6)), np.zeros((2, 6))])
def test_without_constraints_the_motion_is_free(A: Array) -> None:
    M, h, _, _, tau = problem(1)
    c = np.ones(6)
    found = udwadia_kalaba(M, h, A, np.zeros(len(A)), tau, c)
    np.testing.assert_allclose(M @ found.a, tau - h + c, atol=1e-12)
    np.testing.assert_allclose(found.constraint_force, c, atol=1e-12)
    assert not found.details["ideal"].any()
    assert (found.rank, found.status) == (0, Status.OK)


def test_refuses_a_massless_body() -> None:
    _, h, A, gamma, tau = problem(1)
    M = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    with pytest.raises(
        SolveError, match=r"udwadia_kalaba: M must be positive definite.*null_space"
    ) as caught:
        udwadia_kalaba(M, h, A, gamma, tau)
    for result in (caught.value.result, udwadia_kalaba(M, h, A, gamma, tau, throw=False)):
        assert result.status is Status.ILL_POSED
        assert np.isnan(result.a).all()
        assert np.isnan(result.constraint_force).all()


@pytest.mark.parametrize("bad", [np.zeros(5), [np.nan] * 6, 1.0])
def test_bad_non_ideal_force(bad: object) -> None:
    with pytest.raises(ArgumentError, match="non_ideal must be 6 finite numbers"):
        udwadia_kalaba(*problem(0), bad)
