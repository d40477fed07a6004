"""Mass-weighted orthogonal decomposition: identities of its matrices, the corrected (88), dynamic consistency."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations import Formulation, mass_weighted

KINDS = {"full": (3, 0), "redundant": (3, 2), "all": (6, 0), "none": (0, 0), "zero": (0, 2)}


def problem(seed: int, rank: int, extra: int, consistent: bool = True) -> tuple[Array, ...]:
    """Return M, h, A, γ, τ of six velocities; the last dependent row is zero."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    mixing = np.vstack([np.eye(rank), rng.standard_normal((extra, rank))])
    if extra:
        mixing[-1] = 0.0
    A = mixing @ rng.standard_normal((rank, 6))
    gamma = A @ rng.standard_normal(6) if consistent else rng.standard_normal(rank + extra)
    return root @ root.T + np.eye(6), rng.standard_normal(6), A, gamma, rng.standard_normal(6)


def parts(found: Formulation) -> tuple[Array, ...]:
    """Return H, Ā, Θ, α, ρ."""
    names = ("H", "consistent_inverse", "theta", "alpha", "rho")
    return tuple(np.asarray(found.details[name]) for name in names)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_identities(kind: str, seed: int) -> None:
    rank, extra = KINDS[kind]
    M, h, A, gamma, tau = problem(seed, rank, extra)
    found = mass_weighted(M, h, A, gamma, tau)
    H, inverse, theta, alpha, rho = parts(found)
    inertia = np.linalg.inv(M)
    np.testing.assert_allclose(H, np.linalg.pinv(A @ inertia @ A.T, rcond=1e-10), atol=1e-10)
    np.testing.assert_allclose(inverse, inertia @ A.T @ H, atol=1e-11)
    np.testing.assert_allclose(A @ inverse @ A, A, atol=1e-12)
    np.testing.assert_allclose(theta, np.eye(6) - inverse @ A, atol=1e-13)
    np.testing.assert_allclose(theta @ theta, theta, atol=1e-12)
    np.testing.assert_allclose(A @ theta, 0.0, atol=1e-12)
    np.testing.assert_allclose(A @ inertia @ theta.T, 0.0, atol=1e-12)
    np.testing.assert_allclose(M @ theta, (M @ theta).T, atol=1e-11)
    assert np.trace(theta) == pytest.approx(6 - rank, abs=1e-11)
    np.testing.assert_allclose(found.multipliers, alpha + rho - inverse.T @ tau, atol=1e-11)
    np.testing.assert_allclose(M @ found.a, tau - h + A.T @ found.multipliers, atol=1e-11)
    np.testing.assert_allclose(A @ found.a, -gamma, atol=1e-11)
    assert (found.rank, found.status) == (rank, Status.OK)
    if rank:
        singular = np.linalg.svd(A @ np.linalg.inv(np.linalg.cholesky(M)).T)[1]
        assert found.condition == pytest.approx(singular[0] / singular[rank - 1], rel=1e-9)
    else:
        assert found.condition == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_dynamic_consistency(seed: int) -> None:
    """Eq. (5): forces Θᵀf give an acceleration that the constraints need not correct."""
    M, h, A, gamma, tau = problem(seed, 3, 2)
    base = mass_weighted(M, h, A, gamma, tau)
    theta = parts(base)[2]
    f = np.random.default_rng(seed).standard_normal(6)
    pushed = mass_weighted(M, h, A, gamma, tau + theta.T @ f)
    np.testing.assert_allclose(pushed.multipliers, base.multipliers, atol=1e-11)
    np.testing.assert_allclose(pushed.a - base.a, np.linalg.solve(M, theta.T @ f), atol=1e-11)
    answered = mass_weighted(M, h, A, gamma, tau + f - theta.T @ f)
    np.testing.assert_allclose(answered.a, base.a, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_consistent_inverse_has_the_least_kinetic_energy(seed: int) -> None:
    """Of all x with A x = b, Ā b has the least xᵀM x."""
    M, h, A, gamma, tau = problem(seed, 3, 0)
    found = mass_weighted(M, h, A, gamma, tau)
    x = parts(found)[1] @ np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(A @ x, [1.0, -2.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(found.problem.basis.T @ M @ x, 0.0, atol=1e-11)


def test_velocity_term_of_a_real_mechanism(example: Callable) -> None:
    """α = H A M⁻¹ b − H Ȧ v: the text's (88) has A v in place of Ȧ v, which is zero for every admissible v."""
    module = example("five_bar")
    system = sr.System(module.build())
    q = module.SYMMETRIC
    v = system.project_velocity(q, [2.0, -1.0, 0.5, 1.0])
    M, A, step = system.mass_matrix(q), system.constraint_jacobian(q), 1e-6
    Adot = (system.constraint_jacobian(q + step * v) - system.constraint_jacobian(q - step * v)) / (2 * step)
    g = system.bias_force(q, np.zeros(4))
    b = system.bias_force(q, v) - g
    found = mass_weighted(M, b + g, A, system.constraint_bias(q, v), None, gravity=g)
    H, inverse, _, alpha, rho = parts(found)
    expected = H @ A @ np.linalg.solve(M, b) - H @ Adot @ v
    np.testing.assert_allclose(alpha, expected, atol=1e-6)
    np.testing.assert_allclose(rho, H @ A @ np.linalg.solve(M, g), atol=1e-10)
    assert np.abs(alpha - (inverse.T @ b - H @ A @ v)).max() > 1.0, "as printed it would be another number"
    answer = system.forward_dynamics(q, v)
    np.testing.assert_allclose(found.a, answer.a, atol=1e-10)
    np.testing.assert_allclose(found.multipliers, answer.multipliers, atol=1e-10)


def test_gravity_moves_a_share_from_alpha_to_rho_and_nothing_else() -> None:
    M, h, A, gamma, tau = problem(4, 3, 2)
    g = np.random.default_rng(0).standard_normal(6)
    whole, split = mass_weighted(M, h, A, gamma, tau), mass_weighted(M, h, A, gamma, tau, gravity=g)
    np.testing.assert_allclose(split.a, whole.a, atol=1e-14)
    np.testing.assert_allclose(split.multipliers, whole.multipliers, atol=1e-12)
    assert not parts(whole)[4].any()
    np.testing.assert_allclose(parts(split)[3] + parts(split)[4], parts(whole)[3], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_redundant_and_contradicting_rows(seed: int) -> None:
    """λ is of minimum norm; contradictions end in least squares with rows weighted alike."""
    M, h, A, gamma, tau = problem(seed, 3, 3, consistent=False)
    found = mass_weighted(M, h, A, gamma, tau)
    assert found.status is Status.INCONSISTENT
    np.testing.assert_allclose(A.T @ (A @ found.a + gamma), 0.0, atol=1e-11)
    np.testing.assert_allclose(found.problem.basis.T @ (M @ found.a + h - tau), 0.0, atol=1e-11)
    least = np.linalg.pinv(A.T, rcond=1e-10) @ (M @ found.a + h - tau)
    np.testing.assert_allclose(found.multipliers, least, atol=1e-10)


def test_digits_are_lost_once_not_twice_close_to_a_singular_configuration() -> None:
    """With σ = 1e-9 the square would vanish in rounding; A a = −γ still holds in every direction."""
    M, h, _, _, tau = problem(2, 3, 0)
    A = np.vstack([np.eye(6)[0], np.eye(6)[0] + 1e-9 * np.eye(6)[1]])
    found = mass_weighted(M, h, A, A @ np.ones(6), tau)
    assert (found.rank, found.status) == (2, Status.OK)
    np.testing.assert_allclose(found.a[:2], -1.0, atol=1e-6)


def test_refuses_a_massless_body() -> None:
    _, h, A, gamma, tau = problem(1, 3, 0)
    M = np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    with pytest.raises(SolveError, match=r"mass_weighted: M must be positive definite.*null_space"):
        mass_weighted(M, h, A, gamma, tau)
    found = mass_weighted(M, h, A, gamma, tau, throw=False)
    assert found.status is Status.ILL_POSED
    assert np.isnan(found.a).all()


@pytest.mark.parametrize("bad", [np.zeros(5), [np.inf] * 6, 0.0])
def test_bad_gravity(bad: object) -> None:
    with pytest.raises(ArgumentError, match="gravity must be 6 finite numbers"):
        mass_weighted(*problem(0, 3, 0), gravity=bad)
