"""Properties of the oblique formulation, and of the control laws built on it, on mechanisms and random data.

Aghili 2022, Optimal control of legged robots subject to friction cone constraints, sections 2 and 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from sarrus import control
from sarrus.base.status import Status
from sarrus.dynamics.impacts.activity import switch_on
from sarrus.formulations import contact_forces, oblique_projection, projector, projector_rate
from test_formulations_oblique import Family

Array = np.ndarray
NAMES = ("five_bar", "quadruped", "foot")
mechanisms = pytest.mark.parametrize("name", NAMES)
seeds = pytest.mark.parametrize("seed", range(5))


@dataclass(frozen=True)
class Case:
    """A mechanism in motion: its matrices, their rates, and a Coriolis matrix with Ṁ − 2C skew."""

    system: sr.System
    q: Array
    v: Array
    M: Array
    h: Array
    A: Array
    gamma: Array
    B: Array
    M_dot: Array
    A_dot: Array
    C: Array

    def inertia(self, nu: float) -> Array:
        P = projector(self.A)
        return P @ self.M @ P + nu * (np.eye(len(P)) - P)


@lru_cache
def case(name: str) -> Case:
    """Five-bar: hinges, a closure in space with a dead row. Foot: twelve rows of rank six, no actuators."""
    if name == "five_bar":
        system = sr.System(sr.load("models/five_bar.xml"))
        q = system.assemble(system.mechanism.keyframes["symmetric"].q).q
    else:
        module = load_example(name)
        system = sr.System(module.build())
        q = system.neutral() if name == "foot" else module.standing(system)
        if name == "foot":
            q[7:] = 0.3, 0.2
            switch_on(system, system.mechanism.contacts, q)
    v = system.project_velocity(q, np.random.default_rng(3).standard_normal(system.nv))
    e = system.equations
    inputs = [e.q, e.v, e.t, e.p]
    along = ca.Function(
        "along",
        inputs,
        [
            ca.reshape(ca.jtimes(ca.vec(matrix), e.q, e.rate), matrix.shape)
            for matrix in (ca.densify(e.mass_matrix), ca.densify(e.jacobian))
        ],
    )
    M_dot, A_dot = (np.array(m) for m in along(q, v, 0.0, system.parameters.values()))
    inertial = system.bias_force(q, v) - system.bias_force(q, np.zeros(system.nv))
    if (
        name == "five_bar"
    ):  # rates of the coordinates: h is quadratic in v, ½ ∂h/∂v has the Christoffel symbols of M
        C = (
            np.column_stack(
                [system.bias_force(q, v + one) - system.bias_force(q, v - one) for one in np.eye(system.nv)]
            )
            / 4.0
        )
    else:
        left = (
            inertial - 0.5 * M_dot @ v
        )  # does no work: (left vᵀ − v leftᵀ) / |v|² is skew and turns v into it
        C = 0.5 * M_dot + (np.outer(left, v) - np.outer(v, left)) / (v @ v)
    np.testing.assert_allclose(C @ v, inertial, atol=1e-12 * (1.0 + np.abs(inertial).max()))
    rng = np.random.default_rng(1)
    B = system.actuation_matrix(q) if system.nu else rng.standard_normal((system.nv, 3))
    return Case(
        system, q, v, system.mass_matrix(q), system.bias_force(q, v) - system.passive_force(q, v),
        system.constraint_jacobian(q), system.constraint_bias(q, v), B, M_dot, A_dot, C,
    )  # fmt: skip


# --- the oblique projector and the constraint inertia --------------------------------------------------------


@mechanisms
def test_contact_forces_are_those_of_forward_dynamics(name: str) -> None:
    c = case(name)
    rng = np.random.default_rng(2)
    forces = contact_forces(c.M, c.h, c.A, c.gamma, c.B)
    for _ in range(3):
        u = 10.0 * rng.standard_normal(c.B.shape[1])
        found = c.system.forward_dynamics(c.q, c.v, tau=c.B @ u)
        size = 1.0 + np.abs(found.constraint_force).max()
        np.testing.assert_allclose(c.A.T @ forces.at(u), found.constraint_force, atol=1e-10 * size)
        np.testing.assert_allclose(forces.at(u), found.multipliers, atol=1e-10 * size)
    assert forces.rank == found.rank == {"five_bar": 2, "quadruped": 12, "foot": 6}[name]
    assert list(forces.determined) == list(found.determined)
    assert forces.determined.sum() == {"five_bar": 2, "quadruped": 12, "foot": 0}[name]


@mechanisms
def test_oblique_projector_does_not_depend_on_nu(name: str) -> None:
    c = case(name)
    S = contact_forces(c.M, c.h, c.A, c.gamma, c.B).S
    size = np.linalg.norm(S) ** 2
    assert np.abs(S @ S - S).max() < 1e-12 * size
    assert np.abs(S - S.T).max() > 1e-3
    assert round(np.trace(S)) == np.linalg.matrix_rank(c.A, tol=1e-8)
    for nu in (1e-3, 1.0, 1e3):
        inertia, P = c.inertia(nu), projector(c.A)
        np.testing.assert_allclose(P @ inertia, inertia @ P, atol=1e-12 * np.abs(inertia).max())
        other = np.eye(len(P)) - c.M @ np.linalg.solve(inertia, P)
        np.testing.assert_allclose(S, other, atol=1e-9 * size)


@mechanisms
@pytest.mark.parametrize("nu", [1e-3, 0.1, 100.0])
def test_bounds_of_the_constraint_inertia(name: str, nu: float) -> None:
    """min(ν, λ_min⁺(PMP)) ≤ M̄ ≤ max(ν, |M|), with ν an eigenvalue of the multiplicity of the rank."""
    c = case(name)
    rank = np.linalg.matrix_rank(c.A, tol=1e-8)
    values = np.linalg.eigvalsh(c.inertia(nu))
    P = projector(c.A)
    free = np.linalg.eigvalsh(P @ c.M @ P)[rank:]
    close = 1e-11 * values[-1]
    assert free[0] > 1e-6  # the least of those that are not zero
    assert min(nu, free[0]) - close <= values[0]
    assert values[-1] <= max(nu, np.linalg.norm(c.M, 2)) + close
    np.testing.assert_allclose(values, np.sort([*free, *[nu] * rank]), atol=close)


@mechanisms
def test_rate_of_the_constraint_inertia(name: str) -> None:
    """dM̄/dt − 2C̄ is skew, and M̄ a + C̄ v = P(τ − what is left of h) (property 1, eq. (5a))."""
    c, nu = case(name), 0.8
    rng = np.random.default_rng(5)
    push = rng.standard_normal(len(c.v))
    result = oblique_projection(c.M, c.h, c.A, c.gamma, push, nu=nu, Adot=c.A_dot, C=c.C)
    P, P_dot, C_bar = (result.details[key] for key in ("P", "P_dot", "C_bar"))
    rate = P_dot @ c.M @ P + P @ c.M_dot @ P + P @ c.M @ P_dot - nu * P_dot
    plain = c.M_dot - 2.0 * c.C
    size = 1e-12 * (1.0 + np.abs(rate).max())
    assert np.abs(plain + plain.T).max() < size
    skew = rate - 2.0 * C_bar
    assert np.abs(skew + skew.T).max() < size
    assert np.abs(rate).max() > 1e-2
    left = result.details["inertia"] @ result.a + C_bar @ c.v - P @ (push - c.h + c.C @ c.v)
    assert np.abs(left).max() < 1e-10
    np.testing.assert_allclose(c.A_dot @ c.v, c.gamma, atol=1e-10 * (1.0 + np.abs(c.gamma).max()))


# --- regulation -----------------------------------------------------------------------------------------------


@seeds
def test_lyapunov_function_of_regulation(seed: int) -> None:
    """V = ½ vᵀM̄v + ½ eᵀK_P e has V̇ = −vᵀK_D v at every state, for eq. (22) and any K_D."""
    family, nu = Family(seed), 1.7
    rng = np.random.default_rng(seed)
    M, h, A, gamma, tau = family.arguments
    P, v = projector(A), family.v
    jacobian, e = rng.standard_normal((3, len(v))) @ P, rng.standard_normal(3)
    K_D, K_P = rng.standard_normal((len(v), len(v))), np.diag(rng.uniform(0.5, 5.0, 3))
    tau_c = P @ (-(tau - family.other) - K_D @ v + jacobian.T @ K_P @ e)
    result = oblique_projection(M, h, A, gamma, tau + tau_c, nu=nu, Adot=family.Adot, C=family.C)
    P_dot, M_dot = result.details["P_dot"], family.mass(family.time)[1]
    rate = P_dot @ M @ P + P @ M_dot @ P + P @ M @ P_dot - nu * P_dot
    terms = np.array(
        [v @ result.details["inertia"] @ result.a, 0.5 * v @ rate @ v, -e @ K_P @ jacobian @ v, v @ K_D @ v]
    )
    assert abs(terms.sum()) < 1e-12 * np.abs(terms).max()
    np.testing.assert_allclose(
        result.details["inertia"] @ v, P @ M @ v, atol=1e-11
    )  # V holds the kinetic energy


def test_regulator_loses_energy_as_its_dampers_say(example) -> None:
    """The quadruped goes to a set point: V̇ = −vᵀK_D v at every sample, and V falls by the integral of it."""
    module = example("quadruped")
    system = sr.System(module.build())
    q = module.standing(system)
    goal, stiffness, damping = np.array([0.03, 0.02, -0.04]) + q[:3], 400.0, 3.0
    law = control.Regulator(system, control.point("trunk"), goal, stiffness=stiffness, damping=damping)
    v = system.project_velocity(q, 0.3 * np.random.default_rng(0).standard_normal(18))
    assert law.solve(q, v).status is Status.OK
    motion = sr.simulate(system, q, v, duration=1.0, dt=1e-3, control=law)
    e = goal - motion.q[:, :3]
    kinetic = np.array([system.kinetic_energy(*state) for state in zip(motion.q, motion.v)])
    lyapunov = kinetic + 0.5 * stiffness * (e**2).sum(axis=1)
    loss = damping * (motion.v**2).sum(axis=1)
    assert (np.diff(lyapunov) < 0.0).all()
    assert lyapunov[-1] < 0.3 * lyapunov[0]
    simpson = (loss[0] + loss[-1] + 4 * loss[1:-1:2].sum() + 2 * loss[2:-1:2].sum()) * 1e-3 / 3
    assert lyapunov[0] - lyapunov[-1] == pytest.approx(simpson, rel=1e-6)
    for k in range(0, 1001, 125):
        state = motion.q[k], motion.v[k]
        a = system.forward_dynamics(*state, law(*state)).a
        inertial = system.bias_force(*state) - system.bias_force(state[0], np.zeros(18))
        rate = state[1] @ (system.mass_matrix(state[0]) @ a + inertial) - stiffness * e[k] @ state[1][:3]
        assert rate == pytest.approx(-loss[k], rel=1e-9)


# --- tracking --------------------------------------------------------------------------------------------------


@seeds
def test_generalized_control_input_tracks(seed: int) -> None:
    """τ_c of (17) leads to ζ = ë + K_D ė + K_P e = 0 (theorem 1), and what is missing of it to d of (31)."""
    family = Family(seed)
    rng = np.random.default_rng(seed)
    M, h, A, gamma, tau = family.arguments
    P, v = projector(A), family.v
    rate = projector_rate(A, family.Adot)
    jacobian, jacobian_dot = rng.standard_normal(
        (2, 4, len(v))
    )  # of x, as many as there are degrees of freedom
    K_P, K_D = rng.uniform(1.0, 9.0, 4), rng.uniform(1.0, 9.0, 4)
    e, e_dot, wanted = rng.standard_normal((3, 4))
    task = jacobian @ P
    inverse = np.linalg.pinv(task)
    gamma_task = inverse @ (jacobian_dot @ P + jacobian @ rate.P_dot) - rate.Omega
    target = inverse @ (wanted + K_D * e_dot + K_P * e) - gamma_task @ v
    tau_c = P @ (family.C @ v - (tau - family.other)) + P @ M @ target

    def zeta(force: Array) -> tuple[Array, Array]:
        a = oblique_projection(M, h, A, gamma, tau + force).a
        x = jacobian_dot @ v + jacobian @ a
        np.testing.assert_allclose(
            a + gamma_task @ v, inverse @ x, atol=1e-9
        )  # (11c), with its sign put right
        assert np.abs(a - gamma_task @ v - inverse @ x).max() > 0.1
        return wanted - x + K_D * e_dot + K_P * e, a

    np.testing.assert_allclose(zeta(tau_c)[0], 0.0, atol=1e-9)
    short = tau_c + rng.standard_normal(len(v))
    phi = P @ (tau_c - short)
    missing = np.linalg.solve(family.inertia(family.time, 0.4), phi)
    np.testing.assert_allclose(inverse @ zeta(short)[0], missing, atol=1e-9)


def test_tracking_law_is_the_published_one() -> None:
    """u = (PB)⁺ τ_c with τ_c of (17) on the five-bar, where x are the angles of the cranks."""
    c = case("five_bar")
    P, rate = projector(c.A), projector_rate(c.A, c.A_dot)
    select = np.eye(4)[[0, 2]]
    goal = c.q[[0, 2]] + [0.2, -0.1]
    law = control.OperationalSpaceTracking(c.system, ["left", "right"], goal, stiffness=90.0, damping=15.0)
    task = select @ P
    inverse = np.linalg.pinv(task)
    gamma_task = inverse @ select @ rate.P_dot - rate.Omega
    target = inverse @ (-15.0 * c.v[[0, 2]] + 90.0 * (goal - c.q[[0, 2]])) - gamma_task @ c.v
    tau_c = P @ (c.h + c.M @ target)
    expected = np.linalg.pinv(P @ c.B, rcond=1e-10) @ tau_c
    np.testing.assert_allclose(law(c.q, c.v), expected, rtol=1e-9)
