"""Projection formulations and projected inverse dynamics against dense references, identities and closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations.problem import Formulation
from sarrus.formulations.projections.constraint_inertia import (
    parameterized_projection,
    projection,
    symmetric_projection,
)
from sarrus.formulations.projections.projected_inverse import projected_inverse_dynamics
from sarrus.formulations.projections.tangent_space import (
    decompose_force,
    decouples,
    projector,
    projector_from_pseudo_inverse,
    projector_rate,
)

Array = np.ndarray
Matrices = tuple[Array, Array, Array, Array, Array]


def best_g(*args: Array) -> Formulation:
    return parameterized_projection(*args, g="minimal-condition")


SOLVERS = [projection, symmetric_projection, parameterized_projection, best_g]
# independent, dependent and zero rows of A, for eight velocities
KINDS = {
    "full rank": (3, 0, 0),
    "redundant": (3, 2, 0),
    "zero rows": (3, 0, 2),
    "both": (4, 3, 1),
    "no rows": (0, 0, 0),
    "only zero rows": (0, 0, 2),
    "no motion left": (8, 3, 0),
}


def spd(rng: np.random.Generator, n: int) -> Array:
    root = rng.standard_normal((n, n))
    return root @ root.T + 0.3 * np.eye(n)


def random_problem(seed: int, kind: str, n: int = 8, *, consistent: bool = True) -> Matrices:
    """Return M, h, A, γ, τ; the dependent rows come first, so that no elimination order helps."""
    rng = np.random.default_rng(seed)
    rank, dependent, zero = KINDS[kind]
    rows = rng.standard_normal((rank, n))
    A = np.vstack([rng.standard_normal((dependent, rank)) @ rows, rows, np.zeros((zero, n))])
    gamma = A @ rng.standard_normal(n)
    if not consistent:
        gamma += rng.standard_normal(len(gamma))
    return spd(rng, n), rng.standard_normal(n), A, gamma, rng.standard_normal(n)


def reference(
    M: Array, h: Array, A: Array, gamma: Array, tau: Array, rank: int
) -> tuple[Array, Array, Array]:
    """Return a, constraint force and the least multipliers, in the basis of the null space from the SVD."""
    u, sigma, vt = np.linalg.svd(A)
    inverse = (vt[:rank].T / sigma[:rank]) @ u[:, :rank].T
    Z = vt[rank:].T
    particular = -inverse @ gamma
    z = np.linalg.solve(Z.T @ M @ Z, Z.T @ (tau - h - M @ particular))
    a = particular + Z @ z
    force = M @ a + h - tau
    return a, force, inverse.T @ force


def close(one: Array, two: Array, tolerance: float) -> bool:
    return bool(np.linalg.norm(np.subtract(one, two)) <= tolerance * (1.0 + np.linalg.norm(two)))


# --- the three formulations -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solve", SOLVERS)
def test_agrees_with_the_dense_reference(solve: Callable[..., Formulation], kind: str, seed: int) -> None:
    data = random_problem(seed, kind)
    rank = KINDS[kind][0]
    a, force, multipliers = reference(*data, rank)
    result = solve(*data)
    assert result.status is Status.OK
    assert result.rank == rank
    assert close(result.a, a, 1e-12)
    assert close(result.constraint_force, force, 1e-12)
    assert close(result.multipliers, multipliers, 1e-11)
    assert result.force_residual < 1e-12
    assert result.constraint_residual < 1e-12
    assert result.condition == pytest.approx(np.linalg.cond(result.details["inertia"]))
    assert list(result.determined[len(result.determined) - KINDS[kind][2] :]) == [False] * KINDS[kind][2]


@pytest.mark.parametrize("kind", ["redundant", "zero rows", "both", "only zero rows"])
@pytest.mark.parametrize("solve", SOLVERS)
def test_contradicting_rows_are_met_in_the_least_squares_sense(
    solve: Callable[..., Formulation], kind: str
) -> None:
    data = random_problem(7, kind, consistent=False)
    M, h, A, gamma, tau = data
    result = solve(*data)
    assert result.status is Status.INCONSISTENT
    assert close(A.T @ (A @ result.a + gamma), np.zeros(8), 1e-11)  # the normal equations of least squares
    P = projector(A)
    assert close(P @ (M @ result.a + h - tau), np.zeros(8), 1e-12)  # and the equations of motion in the rest
    assert close(result.a, reference(*data, KINDS[kind][0])[0], 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solve", SOLVERS)
def test_constraint_force_does_no_work_on_admissible_motions(
    solve: Callable[..., Formulation], kind: str
) -> None:
    data = random_problem(11, kind)
    result = solve(*data)
    motions = result.details["P"] @ np.random.default_rng(0).standard_normal((8, 5))
    assert np.abs(data[2] @ motions).max(initial=0.0) < 1e-13
    assert np.abs(result.constraint_force @ motions).max() < 1e-13


@pytest.mark.parametrize("kind", ["full rank", "both"])
def test_closed_form_of_the_constraint_force(kind: str) -> None:
    """Aghili 2005, eq. (32) with M C q̇ in place of its C q̇, in our sign."""
    M, h, A, gamma, tau = random_problem(3, kind)
    result = projection(M, h, A, gamma, tau)
    P, mu = result.details["P"], result.details["mu"]
    normal = -np.linalg.pinv(A, rcond=1e-10) @ gamma
    assert close(mu, (np.eye(8) - P) @ M @ np.linalg.inv(result.details["inertia"]), 1e-12)
    force = mu @ P @ (tau - h) + mu @ M @ normal - (np.eye(8) - P) @ (tau - h)
    assert close(force, result.constraint_force, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_constraint_inertia_matrices_have_the_form_of_the_module(kind: str) -> None:
    data = random_problem(5, kind)
    M, A, rank = data[0], data[2], KINDS[kind][0]
    vt = np.linalg.svd(A)[2]
    basis = np.vstack([vt[rank:], vt[:rank]]).T
    blocks, k, g = basis.T @ M @ basis, 8 - rank, 0.7
    plain, symmetric, parameterized = blocks.copy(), blocks.copy(), blocks.copy()
    plain[:k, k:] *= 2.0
    plain[k:, :k] = symmetric[:k, k:] = symmetric[k:, :k] = parameterized[k:, :k] = 0.0
    parameterized[k:, k:] = g * np.eye(rank)
    inertia = projection(*data).details["inertia"]
    assert close(basis.T @ inertia @ basis, plain, 1e-13)
    assert close(inertia + inertia.T, 2.0 * M, 1e-13)  # positive definite with M: the rest is skew
    assert close(basis.T @ symmetric_projection(*data).details["inertia"] @ basis, symmetric, 1e-13)
    found = parameterized_projection(*data, g=g)
    assert close(basis.T @ found.details["inertia"] @ basis, parameterized, 1e-13)
    assert found.details["g"] == g
    determinant = np.linalg.det(blocks[:k, :k]) * g**rank
    assert np.linalg.det(found.details["inertia"]) == pytest.approx(determinant, rel=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_minimal_condition_beats_every_other_parameter(seed: int) -> None:
    data = random_problem(seed, "both")
    best = best_g(*data)
    trials = [parameterized_projection(*data, g=g) for g in np.geomspace(1e-4, 1e4, 161)]
    assert best.condition <= min(trial.condition for trial in trials) * (1 + 1e-12)
    near = [parameterized_projection(*data, g=best.details["g"] * s).condition for s in (0.999, 1.001)]
    assert best.condition <= min(near) * (1 + 1e-12)
    assert max(trial.condition for trial in trials) > 100.0 * best.condition
    assert all(close(trial.a, best.a, 1e-10) for trial in trials)


def test_default_parameter_is_the_norm_of_the_mass_matrix() -> None:
    data = random_problem(1, "both")
    assert parameterized_projection(*data).details["g"] == pytest.approx(np.linalg.norm(data[0], 2))


@pytest.mark.parametrize("solve", [parameterized_projection, best_g])
def test_massless_bodies_whose_motion_the_constraints_determine(solve: Callable[..., Formulation]) -> None:
    """M need only be positive definite on the null space of A; M_c and M_c′ ask for more, and say so."""
    M, h, A, gamma, tau = random_problem(2, "redundant")
    M[:3], M[:, :3] = 0.0, 0.0
    A = np.vstack([np.eye(8)[:3] + np.eye(8)[3:6], 2.0 * (np.eye(8)[:1] + np.eye(8)[3:4])])
    gamma = A @ np.ones(8)
    a, force, multipliers = reference(M, h, A, gamma, tau, 3)
    result = solve(M, h, A, gamma, tau)
    assert result.status is Status.OK
    assert close(result.a, a, 1e-12)
    assert close(result.constraint_force, force, 1e-12)
    assert close(result.multipliers, multipliers, 1e-12)


@pytest.mark.parametrize("solve", [projection, symmetric_projection])
def test_mass_is_needed_across_the_constraints_too(solve: Callable[..., Formulation]) -> None:
    M, A = np.diag([0.0, 0.0, 2.0]), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    arguments = M, np.zeros(3), A, np.zeros(2), np.ones(3)
    with pytest.raises(SolveError, match="not positive definite on the range of Aᵀ") as raised:
        solve(*arguments)
    assert "use parameterized_projection or oblique_projection" in str(raised.value)
    assert raised.value.result.status is Status.ILL_POSED
    assert parameterized_projection(*arguments).a == pytest.approx([0.0, 0.0, 0.5])
    # A singular M is no obstacle where both blocks are positive definite.
    shared = np.ones((2, 2)), np.zeros(2), np.array([[1.0, 0.0]]), np.zeros(1), np.array([0.0, 3.0])
    assert close(solve(*shared).a, [0.0, 3.0], 1e-14)


@pytest.mark.parametrize("solve", SOLVERS)
def test_massless_motion_is_ill_posed(solve: Callable[..., Formulation]) -> None:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((2, 5))
    free = np.linalg.svd(A)[2][-1]
    away = np.eye(5) - np.outer(free, free)
    M = away @ spd(rng, 5) @ away
    arguments = M, np.zeros(5), A, np.zeros(2), rng.standard_normal(5)
    with pytest.raises(SolveError, match="not positive definite on the motions that the constraints leave"):
        solve(*arguments)


def test_ill_posed_without_raising_is_nan_with_a_status() -> None:
    result = projection(np.zeros((2, 2)), np.zeros(2), np.ones((1, 2)), np.zeros(1), throw=False)
    assert result.status is Status.ILL_POSED
    assert np.isnan(np.concatenate([result.a, result.constraint_force, result.multipliers])).all()


def test_without_mass_and_without_motion_left_the_answer_is_kinematic() -> None:
    A = np.array([[2.0, 0.0], [0.0, 4.0]])
    result = parameterized_projection(np.zeros((2, 2)), np.ones(2), A, np.array([2.0, 4.0]))
    assert close(result.a, [-1.0, -1.0], 1e-15)
    assert close(result.multipliers, [0.5, 0.25], 1e-15)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solve", SOLVERS)
def test_badly_scaled_data(solve: Callable[..., Formulation], seed: int) -> None:
    """Rows and coordinates in units 1e4 apart: metrics undo them to the last digits."""
    M, h, A, gamma, tau = random_problem(seed, "both")
    rng = np.random.default_rng(seed)
    D = np.diag(10.0 ** rng.uniform(-2, 2, 8))
    E = np.diag(10.0 ** rng.uniform(-2, 2, len(A)))
    back = np.linalg.inv(D)
    scaled = back @ M @ back, back @ h, E @ A @ back, E @ gamma, back @ tau
    expected = reference(M, h, A, gamma, tau, 4)
    weights = {"metric": np.diag(D) ** -2, "row_metric": np.diag(E) ** -2}
    if solve is best_g:
        solve, weights = parameterized_projection, {**weights, "g": "minimal-condition"}
    result = solve(*scaled, **weights)
    assert result.rank == 4
    assert close(back @ result.a, expected[0], 1e-11)
    assert close(D @ result.constraint_force, expected[1], 1e-11)
    assert close(E @ result.multipliers, expected[2], 1e-10)
    assert result.constraint_residual < 1e-11
    plain = symmetric_projection(*scaled)
    assert close(back @ plain.a, expected[0], 1e-6)
    assert plain.condition > 1e3 * result.condition


# --- projector and forces ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_projector_properties(kind: str) -> None:
    A = random_problem(9, kind)[2]
    P = projector(A)
    assert np.array_equal(P, P.T)
    assert np.abs(P @ P - P).max() < 1e-14
    assert np.abs(A @ P).max(initial=0.0) < 1e-13
    assert np.trace(P) == pytest.approx(8 - KINDS[kind][0])
    assert np.abs(projector_from_pseudo_inverse(A) - P).max() < 1e-13
    inverse = np.linalg.pinv(A, rcond=1e-10)
    assert np.abs(projector_from_pseudo_inverse(A, inverse) - P).max() < 1e-13


def moving_jacobian(seed: int) -> Callable[[float], tuple[Array, Array]]:
    """Return A(t) and its derivative: two independent rows, one that depends on them, one zero row; six columns."""
    c = np.random.default_rng(seed).standard_normal((3, 2, 6))
    mix = np.array([[1.0, 0.0], [0.4, -1.3], [0.0, 1.0], [0.0, 0.0]])

    def at(t: float) -> tuple[Array, Array]:
        return mix @ (c[0] + t * c[1] + np.sin(t) * c[2]), mix @ (c[1] + np.cos(t) * c[2])

    return at


@pytest.mark.parametrize("seed", range(5))
def test_rate_of_the_projector(seed: int) -> None:
    at = moving_jacobian(seed)
    A, Adot = at(0.3)
    rate = projector_rate(A, Adot)
    step = 1e-3
    one, two = ((projector(at(0.3 + s)[0]) - projector(at(0.3 - s)[0])) / (2 * s) for s in (step, 2 * step))
    assert np.abs((4 * one - two) / 3 - rate.P_dot).max() < 1e-8 * (1 + np.abs(rate.P_dot).max() ** 5)
    P = rate.P
    assert np.abs(rate.P_dot - (rate.P_dot @ P + P @ rate.P_dot)).max() < 1e-12  # P² = P, differentiated
    assert np.abs(rate.Omega + rate.Omega.T).max() == 0.0
    v = P @ np.random.default_rng(seed).standard_normal(6)
    normal = -np.linalg.pinv(A, rcond=1e-10) @ Adot @ v
    for matrix in (rate.P_dot, rate.L, rate.Omega):
        assert close(matrix @ v, normal, 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_decomposition_of_forces(kind: str) -> None:
    M, h, A, gamma, f = random_problem(6, kind)
    potent, impotent = decompose_force(f, A)
    assert close(potent + impotent, f, 1e-15)
    assert abs(potent @ impotent) < 1e-13
    assert np.abs(A @ potent).max(initial=0.0) < 1e-13
    with_all, with_potent = projection(M, h, A, gamma, f), projection(M, h, A, gamma, potent)
    assert close(with_all.a, with_potent.a, 1e-13)
    assert close(with_all.constraint_force, with_potent.constraint_force - impotent, 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_decoupling(seed: int) -> None:
    M, h, A, gamma, tau = random_problem(seed, "both")
    P = projector(A)
    across = np.eye(8) - P
    split = P @ M @ P + across @ M @ across
    assert not decouples(M, A)
    assert decouples(split, A)
    for mass in (M, split):
        mu = projection(mass, h, A, gamma, tau).details["mu"]
        assert decouples(mass, A) == (np.abs(mu @ P).max() < 1e-12)
    result = projection(split, h, A, gamma, tau)
    assert close(result.details["inertia"], split, 1e-13)
    moved = projection(split, h, A, gamma, tau + P @ np.ones(8))
    assert close(moved.constraint_force, result.constraint_force, 1e-12)
    assert decouples(np.eye(8), A)


# --- inverse dynamics -------------------------------------------------------------------------------


def admissible(data: Matrices, seed: int) -> Array:
    """Return an acceleration that obeys the constraints."""
    _, _, A, gamma, _ = data
    return (
        projector(A) @ np.random.default_rng(seed).standard_normal(8) - np.linalg.pinv(A, rcond=1e-10) @ gamma
    )


@pytest.mark.parametrize("kind", KINDS)
def test_inverse_dynamics_gives_the_smallest_force_with_the_motion(kind: str) -> None:
    data = random_problem(12, kind)
    M, h, A, gamma, tau = data
    a = admissible(data, 1)
    result = projected_inverse_dynamics(M, h, A, gamma, a, tau=tau)
    forward = projection(M, h, A, gamma, tau + result.force)
    assert result.status is Status.OK
    assert close(forward.a, a, 1e-12)
    assert close(forward.constraint_force, result.constraint_force, 1e-11)
    assert close(forward.multipliers, result.multipliers, 1e-11)
    assert close(result.force, projector(A) @ (M @ a + h - tau), 1e-13)
    assert close(result.u, result.force, 1e-14)
    assert (
        np.abs(A @ result.force).max(initial=0.0) < 1e-12
    )  # nothing to take away: every other force is longer


@pytest.mark.parametrize("kind", ["full rank", "redundant", "both"])
@pytest.mark.parametrize("seed", range(3))
def test_passive_joints(kind: str, seed: int) -> None:
    """The map (I + H) of Aghili's eqs. (59)–(62), and a stationary point of the norm under the constraint."""
    data = random_problem(seed, kind)
    M, h, A, gamma, _ = data
    a = admissible(data, seed)
    active = np.array([True, False, True, True, True, False, True, True])
    result = projected_inverse_dynamics(M, h, A, gamma, a, actuation=active)
    P, B, one = projector(A), np.diag(active.astype(float)), np.eye(8)
    Q = one - B - P + B @ P
    H = -(one - P) @ np.linalg.pinv(Q, rcond=1e-10) @ (one - B)
    assert close(result.force, (one + H) @ P @ (M @ a + h), 1e-11)
    assert close(result.u, result.force[active], 1e-14)
    assert not result.force[~active].any()
    assert result.actuation_rank == 8 - result.rank
    assert close(projection(M, h, A, gamma, result.force).a, a, 1e-10)
    # All other solutions differ by impotent forces of the active joints, to which this one is orthogonal.
    others = np.linalg.svd((P @ B)[:, active])[2][result.actuation_rank :]
    assert np.abs(others @ result.u).max(initial=0.0) < 1e-11


def test_actuation_matrix_and_weights() -> None:
    data = random_problem(3, "both")
    M, h, A, gamma, _ = data
    a = admissible(data, 5)
    S = np.random.default_rng(8).standard_normal((8, 6))
    S = np.hstack([S, S[:, :2] @ np.ones((2, 1))])  # seven controls, the last one redundant
    P, needed = projector(A), M @ a + h
    plain = projected_inverse_dynamics(M, h, A, gamma, a, actuation=S, weights=np.ones(7))
    assert close(plain.u, np.linalg.pinv(P @ S, rcond=1e-10) @ P @ needed, 1e-11)
    weights = np.linspace(0.5, 3.0, 7)
    weighted = projected_inverse_dynamics(M, h, A, gamma, a, actuation=S, weights=weights)
    least_force = projected_inverse_dynamics(M, h, A, gamma, a, actuation=S)
    for result in (plain, weighted, least_force):
        assert close(P @ S @ result.u, P @ needed, 1e-11)
        assert close(S @ result.u, result.force, 1e-12)
        assert close(A.T @ result.multipliers, result.constraint_force, 1e-11)
    assert weights @ weighted.u**2 < min(weights @ plain.u**2, weights @ least_force.u**2) * (1 - 1e-4)
    norms = [float(np.linalg.norm(result.force)) for result in (plain, weighted, least_force)]
    assert norms[2] < min(norms[:2]) * (1 - 1e-4)


def test_motions_that_the_actuators_cannot_produce() -> None:
    data = random_problem(3, "full rank")
    M, h, A, gamma, _ = data
    a, two = admissible(data, 0), np.arange(8) < 2
    with pytest.raises(SolveError, match="actuators cannot produce the requested acceleration"):
        projected_inverse_dynamics(M, h, A, gamma, a, actuation=two)
    result = projected_inverse_dynamics(M, h, A, gamma, a, actuation=two, throw=False)
    assert result.status is Status.NOT_ACHIEVABLE
    assert result.actuation_rank == 2
    P = projector(A)
    missing = P @ (M @ a + h - result.force)
    assert np.abs(missing[two]).max() < 1e-12  # least squares: what is missing is out of reach
    assert result.residual * max(np.linalg.norm(M @ a), np.linalg.norm(h)) == pytest.approx(
        np.linalg.norm(missing)
    )


def test_accelerations_that_the_constraints_forbid() -> None:
    data = random_problem(3, "redundant")
    M, h, A, gamma, _ = data
    with pytest.raises(SolveError, match="constraint equations contradict"):
        projected_inverse_dynamics(M, h, A, gamma, admissible(data, 0) + A[0])
    assert projected_inverse_dynamics(M, h, A, gamma, admissible(data, 0)).acceleration_residual < 1e-14


# --- bad input --------------------------------------------------------------------------------------


def test_bad_arguments_are_named() -> None:
    M, h, A, gamma, tau = random_problem(0, "full rank")
    cases: list[tuple[str, Callable[[], object]]] = [
        ("A must be a matrix", lambda: projector(A[0])),
        ("A must be finite", lambda: projector(np.full((1, 2), np.nan))),
        ("absolute_tolerance must not be negative", lambda: projector(A, absolute_tolerance=-1.0)),
        ("tolerance must lie between 0 and 1", lambda: projector(A, 2.0)),
        ("Adot has shape", lambda: projector_rate(A, A[:2])),
        ("pseudo_inverse has shape", lambda: projector_from_pseudo_inverse(A, A)),
        ("f has shape", lambda: decompose_force(np.ones(3), A)),
        ("M has shape", lambda: decouples(np.eye(3), A)),
        ("g must be a positive number", lambda: parameterized_projection(M, h, A, gamma, tau, g=0.0)),
        ("'minimal-condition' or None", lambda: parameterized_projection(M, h, A, gamma, tau, g="best")),
        ("metric has shape", lambda: projection(M, h, A, gamma, tau, metric=np.eye(3))),
        ("metric must be symmetric and pos", lambda: projection(M, h, A, gamma, tau, metric=-np.eye(8))),
        ("row_metric must be symmetric", lambda: projection(M, h, A, gamma, tau, row_metric=[1, 0, 1])),
        ("a has shape", lambda: projected_inverse_dynamics(M, h, A, gamma, gamma)),
        ("mask of active joints", lambda: projected_inverse_dynamics(M, h, A, gamma, h, actuation=[True])),
        ("actuation must be a matrix", lambda: projected_inverse_dynamics(M, h, A, gamma, h, actuation=h)),
        ("actuation has shape", lambda: projected_inverse_dynamics(M, h, A, gamma, h, actuation=A)),
        (
            "weights must be 8 positive",
            lambda: projected_inverse_dynamics(M, h, A, gamma, h, weights=-(h**2)),
        ),
    ]
    for message, call in cases:
        with pytest.raises(ArgumentError, match=message):
            call()
