"""The null-space formulation in all its bases, and the indicator of spikes on the five-bar."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations import null_space, spike_indicator

BASES = (None, "svd", "qr")


def problem(
    seed: int, n: int = 6, rank: int = 3, extra: int = 0, consistent: bool = True
) -> tuple[Array, ...]:
    """Return M, h, A, γ, τ with ``extra`` dependent rows."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    mixing = np.vstack([np.eye(rank), rng.standard_normal((extra, rank))])
    A = mixing @ rng.standard_normal((rank, n))
    gamma = A @ rng.standard_normal(n) if consistent else rng.standard_normal(rank + extra)
    return root @ root.T + np.eye(n), rng.standard_normal(n), A, gamma, rng.standard_normal(n)


# --- bases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rank", "extra"), [(0, 0), (0, 2), (1, 0), (3, 0), (3, 3), (6, 0), (6, 2)])
@pytest.mark.parametrize("consistent", [True, False])
def test_the_basis_has_no_influence(rank: int, extra: int, consistent: bool) -> None:
    M, h, A, gamma, tau = problem(rank + 10 * extra, rank=rank, extra=extra, consistent=consistent)
    rng = np.random.default_rng(5)
    reference = null_space(M, h, A, gamma, tau)
    mixed = reference.problem.basis @ rng.standard_normal((6 - rank, 6 - rank))
    for basis in (*BASES, mixed, 1e-6 * mixed):
        found = null_space(M, h, A, gamma, tau, basis=basis)
        np.testing.assert_allclose(found.a, reference.a, atol=1e-11)
        np.testing.assert_allclose(found.constraint_force, reference.constraint_force, atol=1e-11)
        np.testing.assert_allclose(found.multipliers, reference.multipliers, atol=1e-11)
        assert found.status is (Status.OK if consistent or not extra else Status.INCONSISTENT)
        K, z, particular = (found.details[k] for k in ("basis", "independent_acceleration", "particular"))
        assert np.abs(A @ K).max(initial=0.0) < 1e-13
        np.testing.assert_allclose(K @ z + particular, found.a, atol=1e-12)
        np.testing.assert_allclose(found.details["reduced_mass"], K.T @ M @ K, atol=1e-12)
        assert np.abs(K.T @ (M @ found.a + h - tau)).max(initial=0.0) < 1e-11
        np.testing.assert_allclose(A.T @ (A @ found.a + gamma), 0.0, atol=1e-11)


def test_is_the_published_equation() -> None:
    """Spencer 2004, eq. (3.5b), with F = τ − h, G = A and Ġv = γ."""
    M, h, A, gamma, tau = problem(7)
    V2 = np.linalg.svd(A)[2][3:].T
    drift, F = np.linalg.pinv(A) @ gamma, tau - h
    expected = V2 @ np.linalg.inv(V2.T @ M @ V2) @ V2.T @ (F + M @ drift) - drift
    np.testing.assert_allclose(null_space(M, h, A, gamma, tau).a, expected, atol=1e-12)


def test_qr_basis_is_orthonormal_and_needs_no_good_scaling() -> None:
    """A row 1e-8 the size of another keeps its relative accuracy in the pivoted QR."""
    M, h, A, gamma, tau = problem(8)
    exact = null_space(M, h, A, gamma, tau).a
    scale = np.array([1e4, 1.0, 1e-4])
    found = null_space(M, h, scale[:, None] * A, scale * gamma, tau, basis="qr")
    K = found.details["basis"]
    np.testing.assert_allclose(K.T @ K, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(found.a, exact, rtol=0, atol=1e-12)


def test_natural_basis_of_the_parallelogram(example: Callable) -> None:
    """Spencer 2004, section 2.4.1: K is constant, and serves wherever the rank is two."""
    module = example("parallelogram")
    system = sr.System(module.build())
    K = np.array([[1, 0], [0, 1], [1, -1], [-1, 1]], dtype=float)
    q, v = module.closed(0.3, -1.2), K @ [1.5, -0.7]
    terms = (
        system.mass_matrix(q),
        system.bias_force(q, v),
        system.constraint_jacobian(q),
        system.constraint_bias(q, v),
        None,
    )
    found, expected = null_space(*terms, basis=K), system.forward_dynamics(q, v)
    np.testing.assert_allclose(found.a, expected.a, atol=1e-11)
    np.testing.assert_allclose(found.multipliers, expected.multipliers, atol=1e-11)
    np.testing.assert_allclose(found.a[2:], [found.a[0] - found.a[1], found.a[1] - found.a[0]], atol=1e-12)
    flat = module.closed(0.3, 0.3)
    terms = (system.mass_matrix(flat), system.bias_force(flat, v), system.constraint_jacobian(flat))
    with pytest.raises(ArgumentError, match=r"shape \(4, 3\), one column per degree of freedom"):
        null_space(*terms, system.constraint_bias(flat, v), None, basis=K)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K: K[:, :2], r"shape \(6, 3\)"),
        (lambda K: K[:5], r"shape \(6, 3\)"),
        (lambda K: K * np.nan, "finite entries"),
        (lambda K: K @ np.diag([1.0, 1.0, 0.0]), "independent columns"),
        (lambda K: K @ np.ones((3, 3)), "independent columns"),
        (lambda K: K + 1e-6 * np.eye(6, 3), r"\|A K\| is .* for column"),
        (lambda K: "lu", "'svd', 'qr' or an array"),
    ],
)
def test_bad_basis(change: Callable[[Array], object], message: str) -> None:
    arguments = problem(9)
    K = null_space(*arguments).details["basis"]
    with pytest.raises(ArgumentError, match=message) as caught:
        null_space(*arguments, basis=change(K))
    assert caught.value.element == "basis"


# --- mass ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", BASES)
def test_massless_bodies_that_the_constraints_carry(basis: str | None) -> None:
    """A massless bead between two springs' ends: x₃ = (x₁ + x₂) / 2 has no mass of its own."""
    M, A = np.diag([1.0, 2.0, 0.0]), np.array([[0.5, 0.5, -1.0]])
    found = null_space(M, np.zeros(3), A, [0.25], [0.0, 0.0, 6.0], basis=basis)
    # The load on the bead goes to its neighbours in equal parts.
    np.testing.assert_allclose(found.a, [3.0, 1.5, 2.5], atol=1e-13)
    np.testing.assert_allclose(found.multipliers, [6.0], atol=1e-13)
    assert found.force_residual < 1e-14


@pytest.mark.parametrize("basis", BASES)
def test_massless_bodies_that_can_move_are_refused(basis: str | None) -> None:
    M, A = np.diag([1.0, 0.0, 0.0]), np.array([[0.5, 0.5, -1.0]])
    with pytest.raises(SolveError, match=r"null_space: .*not positive definite on the motions.*armature"):
        null_space(M, np.zeros(3), A, [0.0], None, basis=basis)
    found = null_space(M, np.zeros(3), A, [0.0], None, basis=basis, throw=False)
    assert found.status is Status.ILL_POSED
    assert np.isnan(found.a).all()
    assert np.isnan(found.multipliers).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_mass_that_is_rounding_is_none(seed: int) -> None:
    """Turned axes leave 1e-16 where a massless direction was; a positive one may not pass for a mass."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    M, A = turn @ np.diag([3.0, 2.0, 1.0, 1.0, 3e-16]) @ turn.T, turn[:, :2].T
    found = null_space((M + M.T) / 2, rng.standard_normal(5), A, np.zeros(2), None, throw=False)
    assert found.status is Status.ILL_POSED


def test_an_indefinite_mass_matrix_is_refused() -> None:
    with pytest.raises(SolveError, match="smallest eigenvalue there is -1"):
        null_space(np.diag([1.0, -1.0, 1.0]), np.zeros(3), [[1.0, 0.0, 0.0]], [0.0], None)


# --- tolerance -----------------------------------------------------------------------------------------


def test_directions_below_the_tolerance_are_left_unconstrained() -> None:
    """With σ₂ = 1e-6 the second row counts or not, by choice."""
    M, h, _, _, tau = problem(10)
    A = np.vstack([np.eye(6)[0], 1e-6 * np.eye(6)[1]])
    gamma = A @ np.ones(6)
    full, cut = null_space(M, h, A, gamma, tau), null_space(M, h, A, gamma, tau, tolerance=1e-5)
    single = null_space(M, h, A[:1], gamma[:1], tau)
    assert (full.rank, cut.rank) == (2, 1)
    np.testing.assert_allclose(full.a[:2], -1.0, atol=1e-12)
    np.testing.assert_allclose(cut.a, single.a, atol=1e-12)
    assert full.details["constraint_condition"] == pytest.approx(1e6)
    assert cut.details["constraint_condition"] == 1.0
    np.testing.assert_array_equal(cut.determined, [True, False])


# --- spikes --------------------------------------------------------------------------------------------


def near_collinear(angle: float) -> tuple[Array, Array]:
    """Return q, and dq/d(angle), of the mirror-symmetric five-bar whose long links make a small angle.

    Link 1 stands at π − angle, so that ½ + cos(angle) = 3/2 cos(slope), with slope that of link 2.
    """
    slope = 2 * np.arcsin(np.sin(angle / 2) / np.sqrt(1.5))
    rate = np.sin(angle) / (1.5 * np.sin(slope))
    absolute = np.array([np.pi - angle, slope, angle, np.pi - slope])
    rates = np.array([-1.0, rate, 1.0, -rate])
    q = absolute - [0.0, absolute[0], 0.0, absolute[2]]
    return q, rates - [0.0, rates[0], 0.0, rates[2]]


@pytest.fixture(scope="module")
def five_bar(example: Callable) -> sr.System:
    return sr.System(example("five_bar").build())


def rate_of_jacobian(system: sr.System, q: Array, v: Array, step: float = 1e-5) -> Array:
    """Return Ȧ along v, by central differences."""
    return (system.constraint_jacobian(q + step * v) - system.constraint_jacobian(q - step * v)) / (2 * step)


@pytest.mark.parametrize("angle", [1e-1, 1e-2, 1e-3])
def test_five_bar_close_to_its_singular_configuration(five_bar: sr.System, angle: float) -> None:
    q, v = near_collinear(angle)
    assert np.abs(five_bar.constraint_residual(q)).max() < 1e-14
    A = five_bar.constraint_jacobian(q)
    assert np.abs(A @ v).max() < 1e-14
    Adot = rate_of_jacobian(five_bar, q, v)
    np.testing.assert_allclose(Adot @ v, five_bar.constraint_bias(q, v), atol=1e-8)
    found = spike_indicator(A, Adot, v)
    left, sigma, right = np.linalg.svd(A)
    assert found.sigma == pytest.approx(sigma[1], rel=1e-12)
    term = np.outer(right[1], left[:, 1]) @ Adot @ v
    assert found.indicator == pytest.approx(np.linalg.norm(term), rel=1e-12)
    assert found.acceleration == pytest.approx(np.linalg.norm(term) / sigma[1], rel=1e-12)
    inside = null_space(
        five_bar.mass_matrix(q), five_bar.bias_force(q, v), A, five_bar.constraint_bias(q, v), None
    ).details
    assert inside["spike_indicator"] == pytest.approx(found.indicator, abs=1e-10)
    assert inside["spike_acceleration"] == pytest.approx(found.acceleration, abs=1e-10 / found.sigma)


def test_indicator_vanishes_with_sigma_where_the_motion_goes_through(five_bar: sr.System) -> None:
    """Two sheets y = 0 and z = x²/2 cross: φ = y (z − x²/2). On the second one the ratio is ẋ² / √(1 + x²)."""
    x, rate = 0.7, np.array([1.5, -1.0, 0.7 * 1.5])
    for y in (1e-2, 1e-5, 1e-8):
        A = np.array([[-x * y, 0.0, y]])
        Adot = np.array([[-rate[0] * y - x * rate[1], rate[2] - x * rate[0], rate[1]]])
        found = spike_indicator(A, Adot, rate)
        assert found.sigma == pytest.approx(y * np.sqrt(1 + x**2), rel=1e-12)
        assert found.indicator == pytest.approx(y * rate[0] ** 2, rel=1e-6)
        assert found.acceleration == pytest.approx(rate[0] ** 2 / np.sqrt(1 + x**2), rel=1e-6)
        assert found.genuine
    # On the symmetric branch of the five-bar it vanishes even faster.
    for angle in (1e-2, 1e-3, 1e-4):
        q, v = near_collinear(angle)
        found = spike_indicator(five_bar.constraint_jacobian(q), rate_of_jacobian(five_bar, q, v), v)
        assert found.acceleration < angle


def test_indicator_stays_where_the_mechanism_locks(five_bar: sr.System) -> None:
    """In the other tangent direction the acceleration grows as 1 / σ, and is no artefact."""
    found, angles = [], np.array([1e-2, 1e-3, 1e-4])
    for angle in angles:
        q, v = near_collinear(angle)
        A = five_bar.constraint_jacobian(q)
        tangent = np.linalg.svd(A)[2][2:]
        other = tangent.T @ np.array([[0.0, 1.0], [-1.0, 0.0]]) @ (tangent @ v)
        found.append(spike_indicator(A, rate_of_jacobian(five_bar, q, other), other))
    indicator, acceleration = np.array([(x.indicator, x.acceleration) for x in found]).T
    # Both leave their limits with the square of the angle.
    assert (np.abs(indicator / indicator[-1] - 1.0) <= angles**2).all()
    assert (np.abs(acceleration[1:] / acceleration[:-1] / 10.0 - 1.0) <= angles[:-1] ** 2).all()
    assert all(x.genuine for x in found)


@pytest.mark.parametrize("sigma", [1e-3, 1e-7, 1e-11])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_of_the_spike(seed: int, sigma: float) -> None:
    """Errors of the last digit in A and Ȧv move the term by no more than ten times ``rounding``."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((k, k)))[0] for k in (3, 5))
    A = left @ np.diag([2.0, 1.0, sigma]) @ right[:3]
    v = rng.standard_normal(5)
    Adot = rng.standard_normal((3, 5))
    quiet = Adot - np.outer(left[:, 2], left[:, 2] @ Adot)
    loud, silent = spike_indicator(A, Adot, v), spike_indicator(A, quiet, v)
    assert loud.genuine
    assert not silent.genuine, "what is left of the indicator is rounding"
    for _ in range(20):
        noisy = A * (1.0 + 2.2e-16 * rng.uniform(-1, 1, A.shape))
        for term, rate in ((loud, Adot), (silent, quiet)):
            shaken = spike_indicator(noisy, rate * (1.0 + 2.2e-16 * rng.uniform(-1, 1, A.shape)), v)
            assert abs(shaken.acceleration - term.acceleration) <= 10.0 * max(term.rounding, shaken.rounding)


def test_spike_at_a_singular_configuration() -> None:
    """σ = 0: infinite where the indicator is not zero, nothing where it is."""
    A, v = np.diag([1.0, 0.0]), np.array([0.0, 1.0])
    lock = spike_indicator(A, [[0.0, 0.0], [0.0, 1.0]], v)
    assert (lock.sigma, lock.indicator, lock.acceleration) == (0.0, 1.0, np.inf)
    assert lock.genuine
    through = spike_indicator(A, [[0.0, 1.0], [0.0, 0.0]], v)
    assert (through.indicator, through.acceleration, through.genuine) == (0.0, 0.0, False)


def test_spike_with_redundant_rows_watches_the_rank_nearby() -> None:
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1e-4, 0.0], [1.0, 1e-4, 0.0]])
    Adot = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    v = np.array([0.0, 0.0, 1.0])
    assert spike_indicator(A, Adot, v).indicator < 1e-15, "the redundant row is silent"
    found = spike_indicator(A, Adot, v, rank=2)
    assert found.acceleration == pytest.approx(2e4, rel=1e-7)
    assert abs(found.direction[1]) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(2), np.eye(3), np.ones(2)), r"A and Adot must be \(m, n\)"),
        ((np.eye(2), np.eye(2), np.ones(3)), r"v \(n,\)"),
        ((np.eye(2), np.eye(2), np.array([np.nan, 0.0])), "must be finite"),
        ((np.eye(2), np.eye(2), np.ones(2), 3), "rank must lie between 1 and 2"),
        ((np.eye(2), np.eye(2), np.ones(2), 0), "rank must lie between 1 and 2"),
    ],
)
def test_bad_arguments_of_the_indicator(arguments: tuple, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        spike_indicator(*arguments)
