"""Contact forces as affine functions of actuator forces, and friction cones as inequalities on them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from sarrus.base.status import Status
from sarrus.formulations import (
    ForceDistribution,
    cone_inequalities,
    contact_forces,
    null_space,
    optimal_distribution,
)

Array = np.ndarray
seeds = pytest.mark.parametrize("seed", range(5))


class Problem:
    """Random matrices with contacts of one to three rows, μ, and an admissible u inside all limits."""

    def __init__(self, seed: int, sizes: tuple[int, ...] | None = None, spare: int = 1) -> None:
        rng = np.random.default_rng(seed)
        if sizes is None:
            sizes = tuple(int(s) for s in rng.choice([3, 3, 3, 2, 1], int(rng.integers(1, 4))))
        m = sum(sizes) + int(rng.integers(0, 2))  # a row that is no contact
        n = m + int(rng.integers(1, 5))
        nu = int(rng.integers(n - m + spare, n + spare))
        root = rng.standard_normal((n, n))
        self.M, self.A = root @ root.T + 0.3 * np.eye(n), rng.standard_normal((m, n))
        self.gamma, self.B = rng.standard_normal(m), rng.standard_normal((n, nu))
        order = [int(row) for row in rng.permutation(m)]
        ends = np.cumsum((0, *sizes))
        self.contacts = [tuple(order[a:b]) for a, b in pairwise(ends)]
        self.mu = rng.uniform(0.3, 1.0, len(sizes))
        self.inside, self.h = rng.standard_normal(nu), rng.standard_normal(n)
        found = contact_forces(self.M, self.h, self.A, self.gamma, self.B).at(self.inside)
        wanted = found.copy()
        for rows, mu in zip(self.contacts, self.mu):
            wanted[list(rows[1:])] = rng.standard_normal(len(rows) - 1)
            wanted[rows[0]] = np.linalg.norm(wanted[list(rows[1:])]) / mu + rng.uniform(0.02, 0.6)
        self.h += self.A.T @ (wanted - found)
        self.tau_c, self.W = self.B @ self.inside, rng.uniform(0.2, 3.0, nu)
        self.limit = np.abs(self.inside) + rng.uniform(0.02, 0.5, nu)

    @property
    def matrices(self) -> tuple[Array, ...]:
        return self.M, self.h, self.A, self.gamma, self.B

    def solve(
        self, function: Callable[..., ForceDistribution] = optimal_distribution, **changes
    ) -> ForceDistribution:
        keywords = {"u_min": -self.limit, "u_max": self.limit, **changes}
        tau_c = keywords.pop("tau_c", self.tau_c)
        mu = keywords.pop("mu", self.mu)
        return function(*self.matrices, self.W, tau_c, self.contacts, mu, **keywords)


def margins(result: ForceDistribution) -> list[float]:
    """Return μ λ_n − |λ_t| of every contact, from the multipliers."""
    force = result.multipliers
    return [c.mu * force[c.rows[0]] - np.linalg.norm(force[list(c.rows[1:])]) for c in result.contacts]


# --- the map ------------------------------------------------------------------------------------------------


@seeds
def test_map_is_what_dynamics_says(seed: int) -> None:
    p = Problem(seed)
    rng = np.random.default_rng(seed)
    push = rng.standard_normal(len(p.h))
    forces = contact_forces(*p.matrices, push)
    for _ in range(3):
        u = 5.0 * rng.standard_normal(len(p.W))
        expected = null_space(p.M, p.h, p.A, p.gamma, p.B @ u + push)
        np.testing.assert_allclose(forces.at(u), expected.multipliers, atol=1e-10)
    assert forces.determined.all()
    assert forces.rank == len(p.gamma)


@seeds
def test_redundant_rows_have_the_map_of_least_norm(seed: int) -> None:
    p = Problem(seed)
    rng = np.random.default_rng(seed)
    mix = np.vstack(
        [np.eye(len(p.gamma)), rng.standard_normal((1, len(p.gamma))), np.zeros((1, len(p.gamma)))]
    )
    mix[-2, -1] = 0.0  # the last row stays determined
    forces = contact_forces(p.M, p.h, mix @ p.A, mix @ p.gamma, p.B)
    plain = contact_forces(*p.matrices)
    u = rng.standard_normal(len(p.W))
    np.testing.assert_allclose((mix @ p.A).T @ forces.at(u), p.A.T @ plain.at(u), atol=1e-10)
    np.testing.assert_allclose(forces.at(u), np.linalg.pinv(mix.T) @ plain.at(u), atol=1e-10)
    count = len(p.gamma)
    assert list(forces.determined) == [False] * (count - 1) + [True, False, False] or count == 1
    assert forces.status is Status.OK
    torn = contact_forces(p.M, p.h, mix @ p.A, mix @ p.gamma + 1.0, p.B)
    assert torn.status is Status.INCONSISTENT


@seeds
def test_map_in_a_metric(seed: int) -> None:
    """A metric of the coordinates changes nothing; one of the rows chooses among redundant multipliers."""
    p = Problem(seed)
    rng = np.random.default_rng(seed)
    twice, rates = np.vstack([p.A, p.A]), np.concatenate([p.gamma, p.gamma])
    root = rng.standard_normal(p.M.shape)
    weights = np.repeat([1.0, 3.0], len(p.gamma))
    forces = contact_forces(
        p.M, p.h, twice, rates, p.B, metric=root @ root.T + np.eye(len(p.h)), row_metric=weights
    )
    plain = contact_forces(*p.matrices)
    np.testing.assert_allclose(forces.S, plain.S, atol=1e-10)
    u = rng.standard_normal(len(p.W))
    share = weights / 4.0  # least λᵀR⁻¹λ
    np.testing.assert_allclose(forces.at(u), share * np.tile(plain.at(u), 2), atol=1e-10)


# --- inequalities ------------------------------------------------------------------------------------------


@seeds
def test_inequalities_are_those_of_the_contact_forces(seed: int) -> None:
    p = Problem(seed)
    forces = contact_forces(*p.matrices)
    rng = np.random.default_rng(seed)
    for u in 4.0 * rng.standard_normal((20, len(p.W))):
        force = forces.at(u)
        for contact, rows, mu in zip(cone_inequalities(forces, p.contacts, p.mu), p.contacts, p.mu):
            normal, across = force[rows[0]], force[list(rows[1:])]
            assert contact.z @ u + contact.alpha == pytest.approx(normal, abs=1e-9)
            friction = mu if len(rows) > 1 else 1.0
            square = u @ contact.G @ u + contact.gamma @ u + contact.beta
            assert square == pytest.approx((friction * normal) ** 2 - across @ across, abs=1e-7)
            assert contact.rows == rows


@seeds
def test_published_form_of_the_quadratic_inequality(seed: int) -> None:
    """Π = Sᵀ(−a_x a_xᵀ − a_y a_yᵀ + μ² a_z a_zᵀ)S with a = A⁺σ, G = BᵀΠB, γ = 2BᵀΠf, β = fᵀΠf (eq. (28))."""
    p = Problem(seed, sizes=(3, 3))
    forces = contact_forces(*p.matrices)
    inverse = np.linalg.pinv(p.A)
    f = -p.h + p.M @ inverse @ p.gamma
    for contact, (n, x, y), mu in zip(cone_inequalities(forces, p.contacts, p.mu), p.contacts, p.mu):
        a_x, a_y, a_z = inverse[:, x], inverse[:, y], inverse[:, n]
        middle = mu**2 * np.outer(a_z, a_z) - np.outer(a_x, a_x) - np.outer(a_y, a_y)
        pi = forces.S.T @ middle @ forces.S
        np.testing.assert_allclose(contact.z, -p.B.T @ forces.S.T @ a_z, atol=1e-10)
        assert contact.alpha == pytest.approx(-a_z @ forces.S @ f)
        np.testing.assert_allclose(contact.G, p.B.T @ pi @ p.B, atol=1e-9)
        np.testing.assert_allclose(contact.gamma, 2 * p.B.T @ pi @ f, atol=1e-9)
        assert contact.beta == pytest.approx(f @ pi @ f)
        eigenvalues = np.linalg.eigvalsh(contact.G)
        assert (eigenvalues < -1e-9).sum() <= 2
        assert (eigenvalues > 1e-9).sum() <= 1  # indefinite: not a concave function


def test_pulling_forces_obey_the_quadratic_inequality_alone() -> None:
    p = Problem(0, sizes=(3,), spare=3)
    forces = contact_forces(*p.matrices)
    (contact,) = cone_inequalities(forces, p.contacts, p.mu)
    push = np.zeros(len(p.gamma))
    push[p.contacts[0][0]] = -5.0
    u = np.linalg.lstsq(forces.gain, push - forces.offset, rcond=None)[0]
    np.testing.assert_allclose(forces.at(u), push, atol=1e-9)
    assert u @ contact.G @ u + contact.gamma @ u + contact.beta > 1.0
    assert contact.z @ u + contact.alpha < -1.0
