"""Equations of the works that no other test has: places of docs/theory/liu.md and its neighbours, rows of slips.md."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm, sqrtm

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.formulations import (
    constrained_task_orthogonalization,
    kkt,
    mass_weighted,
    oblique_projection,
    projection,
    udwadia_kalaba,
)


def matrices(seed: int, n: int = 6, rows: int = 3, dependent: int = 0) -> tuple[Array, Array, Array, Array]:
    """Return M, h, A, γ; rows that depend on the others are met by the same accelerations."""
    rng = np.random.default_rng(seed)
    root, A = rng.standard_normal((n, n)), rng.standard_normal((rows, n))
    A = np.vstack([A, rng.standard_normal((dependent, rows)) @ A])
    return root @ root.T + np.eye(n), rng.standard_normal(n), A, A @ rng.standard_normal(n)


def test_two_arms_in_the_absolute_angles_of_the_paper(example) -> None:
    """Liu et al. (49) to (63), (70), (A1) to (A4), all parameters one and g = 9.8; (58), (59), (A1) put right.

    Of (64) to (68) the rows of the left arm: the object is level in the task, so that its own half does not move them.
    """
    module = example("two_arms")
    system = sr.System(module.build())
    rng = np.random.default_rng(1)
    theta, rate = rng.standard_normal((2, 5))
    to_relative = np.eye(5) - np.eye(5, k=-1)
    q, v = to_relative @ theta, to_relative @ rate
    beyond = np.arange(4.5, 0.0, -1.0)  # half of a link and all links behind it
    later = np.maximum.outer(np.arange(5), np.arange(5))
    turn = theta[:, None] - theta
    M = beyond[later] * np.cos(turn)
    np.fill_diagonal(M, beyond - 0.25 + 1.0)  # a quarter of its own mass, and I
    C = beyond[later] * np.sin(turn) * rate
    G = 9.8 * beyond * np.cos(theta)
    assert_allclose(to_relative.T @ system.mass_matrix(q) @ to_relative, M, atol=1e-13)
    assert_allclose(to_relative.T @ system.bias_force(q, v), C @ rate + G, atol=1e-12)
    slopes = np.array([-np.sin(theta), np.cos(theta)])
    assert_allclose(
        system.constraint_residual(q), [np.cos(theta).sum() - 3.0, np.sin(theta).sum()], atol=1e-13
    )
    assert_allclose(system.constraint_jacobian(q) @ to_relative, slopes, atol=1e-13)
    b = np.array([np.cos(theta) @ rate**2, np.sin(theta) @ rate**2])
    assert_allclose(-system.constraint_bias(q, v), b, atol=1e-12)
    for k in range(5):
        own = system.jacobian(q, body=f"link{k + 1}", point=(0.5, 0, 0))
        shares = np.array([1.0] * k + [0.5] + [0.0] * (4 - k))  # zero for j > i, where (51) has j ≥ i
        assert_allclose(own.linear[:2] @ to_relative, slopes * shares, atol=1e-13)
        assert_allclose(own.angular[2] @ to_relative, np.eye(5)[k], atol=1e-13)
    lift = sr.control.TaskSpace(system, module.lifted).kinematics(q, v, 0.7)
    assert_allclose(
        lift.jacobian @ to_relative, np.vstack([slopes * [1, 1, 0, 0, 0], np.eye(5)[2]]), atol=1e-13
    )
    turning = np.array(
        [np.cos(theta[:2]) @ rate[:2] ** 2, np.sin(theta[:2]) @ rate[:2] ** 2 + 0.5 * np.cos(0.7)]
    )
    assert_allclose(-lift.bias, [*turning, 0.0], atol=1e-12)
    B = np.zeros((5, 6))
    B[[0, 1, 2, 2, 3, 4], range(6)] = 1.0
    B[[0, 1, 3, 4], [1, 2, 3, 4]] = -1.0
    assert_allclose(to_relative.T @ system.actuation_matrix(q), B, atol=1e-13)


@pytest.mark.parametrize("dependent", [0, 2])
def test_all_forces_that_follow_a_constraint(dependent: int) -> None:
    """Liu et al. (24) to (31): ẍ = a + F, F = C⁺(b − Ca) + (I − C⁺C)c is what a non-ideal force M^½ c makes of it."""
    M, h, A, gamma = matrices(3, dependent=dependent)
    root = np.real(sqrtm(M))
    C, c = A @ np.linalg.inv(root), np.random.default_rng(7).standard_normal(6)
    inverse, a, b = np.linalg.pinv(C, rcond=1e-10), -np.linalg.solve(root, h), -gamma
    free = np.eye(6) - inverse @ C
    assert_allclose(C @ inverse @ b, b, atol=1e-10)  # (27)
    for choice in (c, np.zeros(6)):
        F = inverse @ (b - C @ a) + free @ choice  # (29)
        assert_allclose(inverse @ b + free @ (a + choice), a + F, atol=1e-10)  # (28)
        found = udwadia_kalaba(M, h, A, gamma, non_ideal=root @ choice)
        assert_allclose(root @ found.a, a + F, atol=1e-9)
        assert_allclose(np.linalg.solve(root, found.constraint_force), F, atol=1e-9)
        assert np.linalg.norm(F) >= np.linalg.norm(inverse @ (b - C @ a)) - 1e-12  # (30)


def test_control_forces_without_the_recursion() -> None:
    """De Sapio and Park (101) to (104), (108), (A13) to (A20); λ in place of the last factor of (104)'s left side."""
    M, h, A, gamma = matrices(4)
    rng = np.random.default_rng(5)
    J, wanted, drift = rng.standard_normal((2, 6)), rng.standard_normal(2), rng.standard_normal(2)
    S = rng.standard_normal((6, 4))
    found = constrained_task_orthogonalization(M, h, A, gamma, [(J, wanted, drift)], actuation=S)
    parts = mass_weighted(M, h, A, gamma).details
    H, theta, consistent = (np.asarray(parts[name]) for name in ("H", "theta", "consistent_inverse"))
    bent = np.asarray(parts["alpha"]) + np.asarray(parts["rho"])
    inertia = np.linalg.inv(J @ np.linalg.solve(M, theta.T @ J.T))
    f = inertia @ (wanted + J @ np.linalg.solve(M, h - A.T @ bent) - drift)  # (A19)
    lam = found.multipliers
    f_C = bent - lam - consistent.T @ J.T @ f  # (A16)
    rest = found.tau - A.T @ f_C - J.T @ f  # what no task needs, N τ*: zero
    assert_allclose(rest, 0.0, atol=1e-9)
    rows = np.vstack([A, J])
    whole = rows @ np.linalg.solve(M, rows.T)
    shift = rows @ np.linalg.solve(M, h) + np.concatenate([-gamma, wanted - drift])
    assert_allclose(
        shift - whole @ np.concatenate([lam, np.zeros(2)]), whole @ np.concatenate([f_C, f]), atol=1e-9
    )
    across = consistent.T @ J.T @ inertia
    inverse = np.block([[H + across @ J @ consistent, -across], [-across.T, inertia]])
    assert_allclose(inverse, np.linalg.inv(whole), atol=1e-9)  # (A13)
    assert_allclose(found.tau, A.T @ (bent - lam) + theta.T @ J.T @ f, atol=1e-9)  # (A20), (108)


def test_constraint_inertia_has_the_kinetic_energy() -> None:
    """Aghili 2005, theorem 2 and remark 3: zᵀM_c z = zᵀM z; (53): σ(A) |e_λ| ≤ |Aᵀe_λ|."""
    M, h, A, gamma = matrices(6)
    inertia = np.asarray(projection(M, h, A, gamma).details["inertia"])
    z, e = np.random.default_rng(2).standard_normal(6), np.random.default_rng(3).standard_normal(3)
    assert_allclose(z @ inertia @ z, z @ M @ z, rtol=1e-12)
    assert np.abs(inertia - inertia.T).max() > 0.1
    assert np.linalg.svd(A, compute_uv=False)[-1] * np.linalg.norm(e) <= np.linalg.norm(A.T @ e)


def test_rate_of_the_pseudo_inverse_with_dependent_rows() -> None:
    """Aghili 2022 (36), (37): dependent rows add (AᵀA)⁺ Ȧᵀ(I − AA⁺) to dA⁺/dt, and nothing to Ṗ."""
    rng = np.random.default_rng(3)
    factors = [(rng.standard_normal((5, 3)), rng.standard_normal((3, 6))) for _ in range(2)]
    (T, B), (T_dot, B_dot) = factors

    def jacobian(s: float) -> Array:
        return (T + s * T_dot) @ (B + s * B_dot)

    def pseudo_inverse(s: float) -> Array:
        return np.linalg.pinv(jacobian(s), rcond=1e-9)

    A, inverse, rate, step = jacobian(0.0), pseudo_inverse(0.0), T_dot @ B + T @ B_dot, 1e-6
    assert_allclose(A.T @ np.linalg.inv(A @ A.T + 1e-9 * np.eye(5)), inverse, atol=1e-5)
    P = np.eye(6) - inverse @ A
    printed = -inverse @ rate @ inverse + P @ rate.T @ inverse.T @ inverse
    missing = inverse @ inverse.T @ rate.T @ (np.eye(5) - A @ inverse)
    measured = (pseudo_inverse(step) - pseudo_inverse(-step)) / (2 * step)
    assert_allclose(measured, printed + missing, atol=1e-7)
    assert np.abs(missing).max() > 0.1
    L = sr.formulations.projector_rate(A, rate).L
    assert_allclose(-measured @ A - inverse @ rate, L + L.T, atol=1e-7)


def test_appendices_of_the_oblique_projection() -> None:
    """Aghili 2022 (40) with −νṖ in its first line, and appendix 3 with τ_g and the forces that it leaves out."""
    rng, nu = np.random.default_rng(8), 2.0
    M, _, A, _ = matrices(8)
    rate, turned, slope = (
        rng.standard_normal((3, 6)),
        rng.standard_normal((6, 6)),
        rng.standard_normal((6, 6)),
    )
    M_dot = slope + slope.T
    C = 0.5 * M_dot + turned - turned.T
    v = sr.formulations.projector(A) @ rng.standard_normal(6)
    force = rng.standard_normal(6)  # B u + τ_g
    found = oblique_projection(M, C @ v - force, A, rate @ v, nu=nu, Adot=rate, C=C)
    L, P_dot, P, S, inertia, C_bar, Omega = (
        np.asarray(found.details[name]) for name in ("L", "P_dot", "P", "S", "inertia", "C_bar", "Omega")
    )
    skew = P_dot @ M @ P + P @ M @ P_dot + P @ M_dot @ P - nu * P_dot - 2 * C_bar
    assert_allclose(skew, -skew.T, atol=1e-11)
    as_printed = skew + 2 * nu * P_dot
    assert np.abs(as_printed + as_printed.T).max() > 0.1
    through = M @ np.linalg.inv(inertia)
    second = through @ P @ (force - C @ v) + through @ (nu * np.eye(6) - P @ M) @ L @ v + C @ v - force
    assert_allclose(second, found.constraint_force, atol=1e-10)
    assert_allclose(-S @ (force - (M @ Omega + C) @ v), found.constraint_force, atol=1e-10)
    assert_allclose(found.a, kkt(M, C @ v - force, A, rate @ v).a, atol=1e-10)
    assert np.linalg.norm(inertia, 2) <= max(nu, np.linalg.norm(M, 2)) + 1e-12


def test_exponential_of_a_twist() -> None:
    """Spencer A.1.3: the coefficient of [w]² is (|w| − sin |w|) / |w|³, printed with |w|²."""
    w, v = np.random.default_rng(4).standard_normal((2, 3))
    size = np.linalg.norm(w)
    cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = cross, v
    shift = {
        power: v
        + (1 - np.cos(size)) / size**2 * cross @ v
        + (size - np.sin(size)) / size**power * cross @ cross @ v
        for power in (2, 3)
    }
    assert_allclose(shift[3], expm(twist)[:3, 3], atol=1e-13)
    assert np.abs(shift[2] - shift[3]).max() > 1e-2


def test_eigenvalues_of_the_loader_come_in_pairs() -> None:
    """Spencer 4.5: without damping λ and −λ go together; the second list as printed has one pair twice."""
    for stiffness, printed in (
        ([[-2.3763, -0.38157], [7.853, -1.9778]], 0.54643 + 1.5734j),
        ([[-1.9649, 2.5565], [-0.58728, -2.6457]], 0.37624 + 1.5642j),
    ):
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.array(stiffness), np.zeros((2, 2))]])
        found = np.linalg.eigvals(A)
        for wanted in (printed, printed.conjugate(), -printed, -printed.conjugate()):
            assert np.abs(found - wanted).min() < 2e-4
