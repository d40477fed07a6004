"""The baselines: right where they promise to be, loud where they are not, and how the multipliers converge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations import Formulation, augmented_lagrangian, kkt, lagrange

DIRECT = [lagrange, kkt]
BASELINES = [*DIRECT, augmented_lagrangian]
Method = Callable[..., Formulation]


def problem(seed: int, rank: int = 3, extra: int = 0, consistent: bool = True) -> tuple[Array, ...]:
    """Return M, h, A, γ, τ of six velocities with ``extra`` dependent rows."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    A = np.vstack([np.eye(rank), rng.standard_normal((extra, rank))]) @ rng.standard_normal((rank, 6))
    gamma = A @ rng.standard_normal(6) if consistent else rng.standard_normal(rank + extra)
    return root @ root.T + np.eye(6), rng.standard_normal(6), A, gamma, rng.standard_normal(6)


@pytest.mark.parametrize("method", BASELINES)
def test_tension_of_a_pendulum(method: Method) -> None:
    """λ is the force on the mechanism: the rod pulls the bob towards the pivot."""
    m, length, g, angle, rate = 0.5, 2.0, 9.81, 0.3, 1.7
    radial = np.array([np.sin(angle), -np.cos(angle)])
    found = method(m * np.eye(2), [0.0, m * g], [length * radial], [length**2 * rate**2], None)
    tension = m * length * rate**2 + m * g * np.cos(angle)
    np.testing.assert_allclose(found.constraint_force, -tension * radial, atol=1e-11)
    np.testing.assert_allclose(found.multipliers, [-tension / length], atol=1e-11)
    tangent = np.array([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(found.a, -length * rate**2 * radial - g * np.sin(angle) * tangent, atol=1e-11)


@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_independent_rows(method: Method, rank: int) -> None:
    M, h, A, gamma, tau = problem(rank, rank)
    found = method(M, h, A, gamma, tau)
    np.testing.assert_allclose(M @ found.a + h, tau + A.T @ found.multipliers, atol=1e-10)
    np.testing.assert_allclose(A @ found.a, -gamma, atol=1e-11)
    assert (found.status, found.rank) == (Status.OK, rank)
    assert found.determined.all()
    if method is lagrange:
        delassus = A @ np.linalg.solve(M, A.T)
        np.testing.assert_allclose(found.details["delassus"], delassus, atol=1e-11)
    if method is kkt:
        np.testing.assert_array_equal(found.details["matrix"][:6, 6:], -A.T)


@pytest.mark.parametrize("method", DIRECT)
@pytest.mark.parametrize(
    ("rows", "rank"),
    [
        ([[1.0, 0, 0], [1.0, 0, 0]], 1),
        ([[1.0, 0, 0], [0, 0, 0]], 1),
        ([[1.0, 2, 0], [0, 1, 1], [1, 3, 1]], 2),
    ],
)
@pytest.mark.parametrize("consistent", [True, False])
def test_rank_loss_is_reported(method: Method, rows: list, rank: int, consistent: bool) -> None:
    A = np.array(rows)
    gamma = A @ np.ones(3) if consistent else np.arange(1.0, len(A) + 1)
    message = rf"{method.__name__}: A has {len(A)} rows of rank {rank}.*Remove {len(A) - rank} redundant.*null_space"
    with pytest.raises(SolveError, match=message) as caught:
        method(np.eye(3), np.zeros(3), A, gamma)
    for found in (caught.value.result, method(np.eye(3), np.zeros(3), A, gamma, throw=False)):
        assert (found.status, found.rank) == (Status.ILL_POSED, rank)
        for answer in (found.a, found.multipliers, found.constraint_force):
            assert np.isnan(answer).all()


@pytest.mark.parametrize("method", DIRECT)
def test_more_rows_than_velocities(method: Method) -> None:
    with pytest.raises(SolveError, match="A has 3 rows of rank 2"):
        method(np.eye(2), np.zeros(2), np.eye(3, 2) + 1.0, np.zeros(3))


@pytest.mark.parametrize("method", DIRECT)
def test_the_last_digits_are_not_sold(method: Method) -> None:
    """σ = 1e-5 leaves digits in its square, σ = 1e-8 does not: then the answer is refused."""
    M, h, _, _, tau = problem(1)
    for sigma in (1e-5, 1e-8):
        A = np.vstack([np.eye(6)[0], np.eye(6)[0] + sigma * np.eye(6)[1]])
        arguments = M, h, A, A @ np.ones(6), tau
        if sigma == 1e-5:
            # Their matrices have the square of the condition number of A M^(−1/2).
            spread = np.linalg.cond(np.linalg.solve(np.linalg.cholesky(M), A.T)) ** 2
            allowed = 6 * np.finfo(float).eps * spread
            np.testing.assert_allclose(method(*arguments).a[:2], -1.0, rtol=0, atol=allowed)
        else:
            with pytest.raises(SolveError, match=rf"{method.__name__}: .*too ill-conditioned.*null_space"):
                method(*arguments)


@pytest.mark.parametrize("method", DIRECT)
def test_units_of_rows_do_not_matter(method: Method) -> None:
    M, h, A, gamma, tau = problem(3)
    scale = np.array([1e5, 1.0, 1e-4])
    plain, scaled = method(M, h, A, gamma, tau), method(M, h, scale[:, None] * A, scale * gamma, tau)
    np.testing.assert_allclose(scaled.a, plain.a, atol=1e-11)
    np.testing.assert_allclose(scale * scaled.multipliers, plain.multipliers, atol=1e-11)
    # Rows are measured by what they are; powers of two change no digit of them.
    twos = method(M, h, np.array([[2.0**17], [1.0], [2.0**-13]]) * A, [2.0**17, 1.0, 2.0**-13] * gamma, tau)
    assert twos.condition == pytest.approx(plain.condition, rel=1e-12)
    assert 0.5 < scaled.condition / plain.condition < 2.0


@pytest.mark.parametrize("method", [kkt, augmented_lagrangian])
def test_massless_bodies_that_the_constraints_carry(method: Method) -> None:
    found = method(np.diag([1.0, 2.0, 0.0]), np.zeros(3), [[0.5, 0.5, -1.0]], [0.25], [0.0, 0.0, 6.0])
    np.testing.assert_allclose(found.a, [3.0, 1.5, 2.5], atol=1e-11)
    np.testing.assert_allclose(found.multipliers, [6.0], atol=1e-11)


@pytest.mark.parametrize("method", [kkt, augmented_lagrangian])
@pytest.mark.parametrize("light", [0.0, -0.5])
def test_mass_that_is_not_definite_on_the_motions_left(method: Method, light: float) -> None:
    """With −0.5 the equations have a solution that no mechanism has; it is refused too."""
    M, A = np.diag([1.0, light, 1.0]), [[0.0, 0.0, 1.0]]
    with pytest.raises(SolveError, match="not positive definite on the motions"):
        method(M, np.zeros(3), A, [1.0])
    assert method(M, np.zeros(3), A, [1.0], throw=False).status is Status.ILL_POSED


def test_lagrange_needs_the_whole_mass_matrix() -> None:
    with pytest.raises(SolveError, match=r"lagrange: M must be positive definite.*null_space"):
        lagrange(np.diag([1.0, 2.0, 0.0]), np.zeros(3), [[0.5, 0.5, -1.0]], [0.25])


# --- augmented Lagrangian ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("consistent", [True, False])
def test_redundant_rows_do_not_stop_the_iteration(seed: int, consistent: bool) -> None:
    M, h, A, gamma, tau = problem(seed, extra=3, consistent=consistent)
    found = augmented_lagrangian(M, h, A, gamma, tau)
    assert found.status is (Status.OK if consistent else Status.INCONSISTENT)
    np.testing.assert_allclose(A.T @ (A @ found.a + gamma), 0.0, atol=1e-11)
    np.testing.assert_allclose(M @ found.a + h, tau + A.T @ found.multipliers, atol=1e-10)
    least = np.linalg.pinv(A.T, rcond=1e-10) @ (M @ found.a + h - tau)
    np.testing.assert_allclose(found.multipliers, least, atol=1e-10)
    assert 2 <= found.details["iterations"] <= 10
    assert found.details["residual"] < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_the_literal_iteration_with_contradicting_rows(seed: int) -> None:
    """The textbook loop gives the same a, and λ drifts by −ρ times the contradiction per step, without force."""
    M, h, A, gamma, tau = problem(seed, extra=2, consistent=False)
    penalty, a, multipliers, drift = 50.0, np.zeros(6), np.zeros(5), []
    for _ in range(300):
        a = np.linalg.solve(M + penalty * A.T @ A, tau - h + A.T @ multipliers - penalty * A.T @ gamma)
        multipliers = multipliers - penalty * (A @ a + gamma)
        drift.append(multipliers)
    found = augmented_lagrangian(M, h, A, gamma, tau, penalty=penalty, iterations=300)
    np.testing.assert_allclose(found.a, a, atol=1e-9)
    np.testing.assert_allclose(A.T @ multipliers, found.constraint_force, atol=1e-8)
    contradiction = A @ found.a + gamma
    np.testing.assert_allclose(drift[-1] - drift[-2], -penalty * contradiction, atol=1e-9)
    np.testing.assert_allclose(A.T @ contradiction, 0.0, atol=1e-11)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0, 100.0])
def test_rate_of_convergence(penalty: float) -> None:
    """One row of length s on a unit mass: the error shrinks by 1 / (1 + ρ s²) in each step."""
    s = 1.5
    shrink = np.log(1.0 + penalty * s**2)
    for accuracy in (1e-3, 1e-6, 1e-9):
        found = augmented_lagrangian(
            np.eye(2),
            np.zeros(2),
            [[s, 0.0]],
            [s],
            [3.0, 1.0],
            penalty=penalty,
            accuracy=accuracy,
            iterations=1000,
        )
        assert found.details["iterations"] == pytest.approx(
            -np.log(accuracy) / shrink, abs=2.0 + 3.0 / shrink
        )
        assert abs(found.a[0] + 1.0) < 7.0 * accuracy


@pytest.mark.parametrize("mass", [0.0, 1.0])
@pytest.mark.parametrize("rows", [1, 3])
def test_nothing_moves(mass: float, rows: int) -> None:
    """a = 0 exactly, with a contradiction and a load or without: there is no acceleration to be relative to."""
    gamma = np.array([1.0, -1.0, 0.0])[:rows] if rows > 1 else np.zeros(1)
    for load in (0.0, 5.0):
        found = augmented_lagrangian([[mass]], [0.0], np.ones((rows, 1)), gamma, [load])
        assert abs(found.a[0]) < 1e-12
        np.testing.assert_allclose(found.constraint_force, [-load], atol=1e-10)
        assert found.details["iterations"] < 10


def test_too_few_iterations_are_reported() -> None:
    M, h, A, gamma, tau = problem(5)
    arguments = {"penalty": 1e-3, "iterations": 20}
    message = r"augmented_lagrangian: no convergence in 20 iterations: residual .*Raise penalty or iterations"
    with pytest.raises(SolveError, match=message):
        augmented_lagrangian(M, h, A, gamma, tau, **arguments)
    found = augmented_lagrangian(M, h, A, gamma, tau, throw=False, **arguments)
    assert found.status is Status.NOT_CONVERGED
    assert np.isnan(found.a).all()


def test_a_penalty_that_drowns_the_mass_is_reported() -> None:
    with pytest.raises(SolveError, match=r"singular to working precision.*Choose another penalty"):
        augmented_lagrangian(*problem(5), penalty=1e30)


@pytest.mark.parametrize(
    ("name", "value"), [("penalty", 0.0), ("penalty", -1.0), ("accuracy", np.nan), ("iterations", 0)]
)
def test_bad_settings(name: str, value: float) -> None:
    with pytest.raises(ArgumentError, match=f"{name} must be positive"):
        augmented_lagrangian(*problem(0), **{name: value})
