"""The oblique projection along a family of problems M(t), C(t), A(t) with known rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations.problem import Formulation
from sarrus.formulations.projections.constraint_inertia import symmetric_projection
from sarrus.formulations.projections.oblique import oblique_projection
from sarrus.formulations.projections.tangent_space import projector

Array = np.ndarray
N = 7


class Family:
    """M(t) positive definite, A(t) of rank 3 with a dependent and a zero row, C with Ṁ − 2C skew, v admissible."""

    def __init__(self, seed: int, time: float = 0.4) -> None:
        rng = np.random.default_rng(seed)
        self.roots = rng.standard_normal((2, N, N))
        self.rows = rng.standard_normal((3, 3, N))
        self.mix = np.vstack([rng.standard_normal((1, 3)), np.eye(3), np.zeros((1, 3))])
        self.time = time
        whirl = rng.standard_normal((N, N))
        self.C = 0.5 * self.mass(time)[1] + whirl - whirl.T
        A, self.Adot = self.jacobian(time)
        self.v = projector(A) @ rng.standard_normal(N)
        self.other, self.tau = rng.standard_normal((2, N))
        self.arguments = (
            self.mass(time)[0], self.C @ self.v + self.other, A, self.Adot @ self.v, self.tau,
        )  # fmt: skip

    def mass(self, t: float) -> tuple[Array, Array]:
        root, rate = self.roots[0] + np.sin(t) * self.roots[1], np.cos(t) * self.roots[1]
        return root @ root.T + 0.3 * np.eye(N), rate @ root.T + root @ rate.T

    def jacobian(self, t: float) -> tuple[Array, Array]:
        c0, c1, c2 = self.rows
        return self.mix @ (c0 + t * c1 + np.cos(t) * c2), self.mix @ (c1 - np.sin(t) * c2)

    def solve(self, nu: float | str | None = 1.7, **keywords: object) -> Formulation:
        return oblique_projection(*self.arguments, nu=nu, Adot=self.Adot, C=self.C, **keywords)

    def inertia(self, t: float, nu: float) -> Array:
        P = projector(self.jacobian(t)[0])
        return P @ self.mass(t)[0] @ P + nu * (np.eye(N) - P)


def close(one: Array, two: Array, tolerance: float) -> bool:
    return bool(np.linalg.norm(np.subtract(one, two)) <= tolerance * (1.0 + np.linalg.norm(two)))


seeds = pytest.mark.parametrize("seed", range(5))


@seeds
@pytest.mark.parametrize("nu", [None, "minimal-condition", 0.02, 30.0])
def test_agrees_with_the_projection_of_aghilis_other_work(nu: float | str | None, seed: int) -> None:
    family = Family(seed)
    result, other = family.solve(nu), symmetric_projection(*family.arguments)
    assert result.status is Status.OK
    assert result.rank == 3
    assert close(result.a, other.a, 1e-11)
    assert close(result.constraint_force, other.constraint_force, 1e-11)
    assert close(result.multipliers, other.multipliers, 1e-11)
    assert result.force_residual < 1e-11
    assert result.constraint_residual < 1e-11
    assert list(result.determined) == list(other.determined)


@seeds
def test_equation_of_motion_with_c_bar(seed: int) -> None:
    """Aghili 2022, eq. (5a)."""
    family = Family(seed)
    result = family.solve()
    d, v = result.details, family.v
    assert close(d["inertia"] @ result.a + d["C_bar"] @ v, d["P"] @ (family.tau - family.other), 1e-12)


@seeds
def test_rate_of_the_inertia_minus_twice_c_bar_is_skew(seed: int) -> None:
    family, nu = Family(seed), 1.7
    d = family.solve(nu).details
    M, M_dot = family.mass(family.time)
    P, P_dot = d["P"], d["P_dot"]
    exact = P_dot @ M @ P + P @ M_dot @ P + P @ M @ P_dot - nu * P_dot
    h = 1e-3
    one, two = (
        (family.inertia(family.time + s, nu) - family.inertia(family.time - s, nu)) / (2 * s)
        for s in (h, 2 * h)
    )
    assert close((4 * one - two) / 3, exact, 1e-7 * (1 + np.abs(P_dot).max() ** 4))
    skew = exact - 2 * d["C_bar"]
    assert np.abs(skew + skew.T).max() < 1e-13 * (1 + np.abs(skew).max())
    # Not for any matrix: with the L of the text's other Γ, or a wrong sign, the sum is of the size of its terms.
    wrong = exact - 2 * (d["C_bar"] + 2 * nu * d["L"])
    assert np.abs(wrong + wrong.T).max() > 0.1


@seeds
def test_omega_turns_velocity_into_normal_acceleration(seed: int) -> None:
    family = Family(seed)
    d = family.solve().details
    normal = -np.linalg.pinv(family.arguments[2], rcond=1e-10) @ family.arguments[3]
    assert close(d["Omega"] @ family.v, normal, 1e-13)
    assert close(d["L"] @ family.v, normal, 1e-13)
    assert close(d["P_dot"] @ family.v, normal, 1e-13)
    assert np.array_equal(d["Omega"], -d["Omega"].T)


@seeds
def test_oblique_projector_and_constraint_force(seed: int) -> None:
    """S² = S ≠ Sᵀ, onto the range of Aᵀ, along M times the null space; Aᵀλ = −S(τ − other − Q v) in our sign."""
    family = Family(seed)
    M, A = family.arguments[0], family.arguments[2]
    result = family.solve()
    S, Q, P = (result.details[name] for name in ("S", "Q", "P"))
    scale = 1e-12 * (1 + np.linalg.norm(S) ** 2)
    assert np.abs(S @ S - S).max() < scale
    assert np.abs(S - S.T).max() > 1e-2
    assert np.abs(P @ S).max() < scale
    assert np.abs(S @ A.T - A.T).max() < scale * np.abs(A).max()
    assert np.abs(S @ M @ P).max() < scale * np.abs(M).max()
    assert close(S, family.solve(0.01).details["S"], 1e-11)
    assert close(-S @ (family.tau - family.other - Q @ family.v), result.constraint_force, 1e-12)
    assert abs(result.constraint_force @ family.v) < 1e-12 * np.linalg.norm(result.constraint_force)


@seeds
def test_eigenvalues_of_the_inertia(seed: int) -> None:
    family, nu = Family(seed), 1.7
    M, _, A, _, _ = family.arguments
    Z = np.linalg.svd(A)[2][3:].T
    free = np.linalg.eigvalsh(Z.T @ M @ Z)
    inertia = family.solve(nu).details["inertia"]
    assert close(np.linalg.eigvalsh(inertia), np.sort([*free, nu, nu, nu]), 1e-13)
    best = family.solve("minimal-condition")
    assert best.details["nu"] == pytest.approx(np.sqrt(free[0] * free[-1]))
    assert best.condition == pytest.approx(free[-1] / free[0])
    assert best.condition <= min(family.solve(nu).condition for nu in np.geomspace(1e-3, 1e3, 31)) * (
        1 + 1e-12
    )
    assert family.solve(None).details["nu"] == pytest.approx(np.linalg.norm(M, 2))


@seeds
def test_metric_changes_the_by_products_consistently(seed: int) -> None:
    family = Family(seed)
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((N, N))
    plain = family.solve()
    result = family.solve(metric=root @ root.T + np.eye(N), row_metric=rng.uniform(0.1, 10.0, 5))
    assert close(result.a, plain.a, 1e-11)
    assert close(result.constraint_force, plain.constraint_force, 1e-11)
    d, p = result.details, result.problem
    v = p.root @ family.v
    force = p.inverse_root @ (family.tau - family.other)
    assert close(d["inertia"] @ p.root @ result.a + d["C_bar"] @ v, d["P"] @ force, 1e-11)
    assert close(p.root @ -d["S"] @ (force - d["Q"] @ v), result.constraint_force, 1e-11)
    # The oblique projector itself knows no metric.
    assert close(p.root @ d["S"] @ p.inverse_root, plain.details["S"], 1e-11)


def test_contradicting_rows() -> None:
    M, h, A, _, tau = Family(0).arguments
    gamma = np.arange(1.0, 6.0)
    result, other = oblique_projection(M, h, A, gamma, tau), symmetric_projection(M, h, A, gamma, tau)
    assert result.status is Status.INCONSISTENT
    assert close(A.T @ (A @ result.a + gamma), np.zeros(N), 1e-12)
    assert close(result.a, other.a, 1e-12)
    assert close(result.constraint_force, other.constraint_force, 1e-12)


def test_massless_bodies() -> None:
    """M need only be positive definite on the null space of A."""
    A = np.array([[1.0, 1.0, 0.0]])
    M = np.diag([0.0, 2.0, 1.0])
    result = oblique_projection(M, np.zeros(3), A, np.zeros(1), np.array([4.0, 0.0, 3.0]))
    assert close(result.a, [2.0, -2.0, 3.0], 1e-14)
    assert close(result.constraint_force, [-4.0, -4.0, 0.0], 1e-14)
    with pytest.raises(SolveError, match="oblique_projection: the mass matrix is not positive definite"):
        oblique_projection(np.diag([0.0, 0.0, 1.0]), np.zeros(3), A, np.zeros(1))
    for nu in (None, "minimal-condition"):
        lost = oblique_projection(np.zeros((3, 3)), np.zeros(3), A, np.zeros(1), nu=nu, throw=False)
        assert lost.status is Status.ILL_POSED
        assert np.isnan(lost.a).all()


@pytest.mark.parametrize(("rows", "rank"), [(np.zeros((0, 3)), 0), (np.zeros((2, 3)), 0), (np.eye(3), 3)])
@pytest.mark.parametrize("nu", [None, "minimal-condition"])
def test_without_constraints_and_without_motion(rows: Array, rank: int, nu: str | None) -> None:
    tau = np.array([1.0, 2.0, 3.0])
    result = oblique_projection(2.0 * np.eye(3), np.zeros(3), rows, np.zeros(len(rows)), tau, nu=nu)
    assert result.rank == rank
    assert close(result.a, np.zeros(3) if rank else tau / 2, 1e-15)
    assert close(result.constraint_force, -tau if rank else np.zeros(3), 1e-15)
    assert close(result.details["S"], np.eye(3) if rank else np.zeros((3, 3)), 1e-15)


def test_bad_arguments_are_named() -> None:
    family = Family(0)
    cases: list[tuple[str, Callable[[], object]]] = [
        ("give Adot together with C", lambda: oblique_projection(*family.arguments, C=family.C)),
        ("Adot has shape", lambda: oblique_projection(*family.arguments, Adot=family.C)),
        ("C has shape", lambda: oblique_projection(*family.arguments, Adot=family.Adot, C=family.Adot)),
        ("nu must be a positive number", lambda: family.solve(-1.0)),
    ]
    for message, call in cases:
        with pytest.raises(ArgumentError, match=message):
            call()
