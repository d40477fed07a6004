"""Derivatives of one step of the simulator: against differences of its steps, and what they must map to what."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

import sarrus as sr
from conftest import load_example
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.analysis.sensitivity.step import StepDerivatives
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.closing.manifold import rate_matrix
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.system import System
from test_linearization import LOOPS, State, looped, moving, own, shipped

# Of five-bar, tree with a quaternion, redundant loops (twice the same; Bricard's, as tree and as free bodies), skate,
# constraints driven in time, constraint force that does work, passage stages (near a singular configuration).
CASES = (
    "five_bar",
    "quaternions",
    "redundant",
    "bricard",
    "bricard free",
    "skate",
    "driven",
    "friction",
    "quadruped",
)


def state_of(name: str) -> State:
    if name == "quadruped":  # its light legs follow the trunk fast: no faster than 1 rad/s here
        system, q, v, u, t = shipped(name)
        return system, q, v / max(1.0, np.abs(v).max()), u, t
    return (
        looped(name)
        if name in LOOPS
        else own(name)
        if name in ("driven", "skate", "friction")
        else shipped(name)
    )


def one_step(state: State, change: Array, dt: float) -> Array:
    """Return (q, v) one step after a changed start, which is projected first."""
    system, q, v, u, t = state
    nv = system.nv
    x = system.pack(system.move(q, change[:nv]), v + change[nv : 2 * nv], None, t)
    if system.nc:
        system.workspace().project(x)
    inputs = list(u + change[2 * nv :])
    control = (lambda q, v, t: inputs) if system.nu else None
    run = sr.simulate(
        system, x[: system.nq], x[system.nq : system.nq + nv], duration=dt, dt=dt, t0=t, control=control
    )
    return np.concatenate([run.q[-1], run.v[-1]])


def differences(state: State, end: StepDerivatives, columns: Array, eps: float) -> Array:
    """Return columns of [F, G] from extrapolated central differences, with an error of the order eps⁴."""
    system = state[0]
    into = np.linalg.pinv(rate_matrix(system, end.q))
    out = []
    for k in columns:
        slopes = []
        for step in (eps, eps / 2):
            change = step * np.eye(2 * system.nv + system.nu)[k]
            d = (one_step(state, change, end.dt) - one_step(state, -change, end.dt)) / (2 * step)
            slopes.append(np.concatenate([into @ d[: system.nq], d[system.nq :]]))
        out.append((4 * slopes[1] - slopes[0]) / 3)
    return np.array(out).T


@pytest.mark.parametrize(
    ("name", "dt"), [(n, 1e-3) for n in CASES] + [(n, 1e-2) for n in CASES if n != "quaternions"]
)
def test_against_differences_of_the_simulator(name: str, dt: float) -> None:
    state = state_of(name)
    system, q, v, u, t = state
    step = sr.sensitivity.step_derivatives(system, q, v, u, t, dt=dt)
    columns = np.random.default_rng(0).permutation(2 * system.nv + system.nu)[:5]
    # The legs of the quadruped are light and follow a displaced trunk twelve times as far: curved, and large numbers.
    found = differences(state, step, columns, 2e-5 if name == "quadruped" else 4e-4)
    size = max(1.0, np.abs(step.F).max()) if name == "quadruped" else 1.0
    assert_allclose(np.column_stack([step.F, step.G])[:, columns], found, rtol=0, atol=2e-10 * size)
    end = one_step(state, np.zeros(2 * system.nv + system.nu), dt)
    assert_allclose(np.concatenate([step.q, step.v]), end, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dt", [1e-2, 2e-2])
def test_redundant_rows_that_separate_at_the_stages_cost_nothing(dt: float) -> None:
    """Stages meet independent rows alone, with quaternions that are not of length one: F is the derivative of that."""
    state = looped("quaternions")
    step = sr.sensitivity.step_derivatives(*state, dt=dt)
    error = np.abs(step.F[:, 13:16] - differences(state, step, np.arange(13, 16), 1e-3)).max()
    assert error < 1e-11


@pytest.mark.parametrize("name", ["five_bar", "redundant", "bricard free", "skate"])
def test_steps_map_changes_that_the_constraints_allow_to_such(name: str) -> None:
    """Along F the holonomic rows stay closed and ψ stays zero; changes that violate them at the start vanish."""
    system, q, v, u, t = state_of(name)
    step = sr.sensitivity.step_derivatives(system, q, v, u, t, dt=5e-3)
    nv, nh, eps = system.nv, system.nh, 1e-6
    a = system.constraint_jacobian(step.q, step.v, t + 5e-3)
    assert_allclose(a[:nh] @ step.F[:nv], 0.0, atol=1e-11)
    for column in step.F.T[[0, nv]]:
        beside = [
            system.velocity_residual(system.move(step.q, s * column[:nv]), step.v + s * column[nv:], t + 5e-3)
            for s in (eps, -eps)
        ]
        assert_allclose((beside[0] - beside[1]) / (2 * eps), 0.0, atol=1e-8)
    a = system.constraint_jacobian(q, v, t)
    lower = np.linalg.cholesky(system.mass_matrix(q, t))
    weighted = np.linalg.solve(lower, a.T).T
    across = np.linalg.solve(lower.T, np.linalg.pinv(weighted, rcond=1e-7) @ a)  # shortest in the metric of M
    assert_allclose(step.F[:, nv:] @ across, 0.0, atol=1e-11)
    ways = system.nv - np.linalg.matrix_rank(a[:nh], tol=1e-7)
    assert np.linalg.matrix_rank(step.F, tol=1e-6) == ways + system.nv - step.rank


def driven_five_bar() -> tuple[System, Array, Array]:
    mechanism = load_example("five_bar").build()
    body = next(iter(mechanism.bodies))
    closure = next(iter(mechanism.closures))
    targets = {"m": f"{body}.mass", "x": f"{closure}.pose2.x", "g": "gravity.z"}
    system = System(mechanism, parameters=targets)
    q = system.assemble(system.neutral() + 0.1 * np.random.default_rng(3).standard_normal(system.nq)).q
    return system, q, moving(system, q)[2]


def test_parameters_move_the_start_and_the_step() -> None:
    """P is the difference of steps whose start is projected on the constraints that move with p."""
    system, q, v = driven_five_bar()
    step = sr.sensitivity.step_derivatives(system, q, v, dt=1e-2)
    assert step.parameter_names == ("m", "x", "g")
    state: State = (system, q, v, np.zeros(system.nu), 0.0)
    for k, name in enumerate(step.parameter_names):
        start, slopes = system.parameters[name], []
        for eps in (4e-4, 2e-4):
            ends = []
            for sign in (1.0, -1.0):
                system.parameters[name] = start + sign * eps
                ends.append(one_step(state, np.zeros(2 * system.nv + system.nu), 1e-2))
            slopes.append((ends[0] - ends[1]) / (2 * eps))
        system.parameters[name] = start
        assert_allclose(step.P[:, k], (4 * slopes[1] - slopes[0]) / 3, rtol=0, atol=2e-10)
    only = sr.sensitivity.step_derivatives(system, q, v, dt=1e-2, parameters=["g"])
    assert_allclose(only.P, step.P[:, 2:], rtol=0, atol=1e-14)
    assert_allclose(only.F, step.F, rtol=0, atol=1e-14)


def test_oscillator_is_the_polynomial_of_the_method() -> None:
    """RK4 of ẋ = A x + B u is Σ (hA)ᵏ/k! to k = 4, and close to the exponential."""
    system = System.from_lagrangian(
        nq=1,
        lagrangian=lambda q, v, t: v[0] ** 2 - 3 * q[0] ** 2,
        generalized_force=lambda q, v, t: -0.4 * v,
        inputs=lambda q: 1.0,
    )
    h, a, b = 0.1, np.array([[0.0, 1.0], [-3.0, -0.2]]), np.array([[0.0], [0.5]])
    powers = [np.linalg.matrix_power(h * a, k) for k in range(5)]
    step = sr.sensitivity.step_derivatives(system, [0.3], [0.2], [0.7], dt=h)
    assert_allclose(step.F, sum(p / f for p, f in zip(powers, (1, 1, 2, 6, 24))), rtol=0, atol=1e-15)
    g = h * sum(p / f for p, f in zip(powers, (1, 2, 6, 24))) @ b
    assert_allclose(step.G, g, rtol=0, atol=1e-15)
    fifth, size = np.linalg.matrix_power(h * a, 5) / 120, np.linalg.norm(h * a, 2)
    beyond = size**6 / 720 * np.exp(size)  # all later terms of the series
    assert_allclose(expm(h * a) - step.F, fifth, rtol=0, atol=beyond)
    assert step.names == ("q1", "q1.rate")
    assert step.P.shape == (2, 0)


def test_derivatives_tend_to_the_continuous_ones() -> None:
    """F = 1 + h A + O(h²) with A of the whole mechanism, on the directions that the constraints allow."""
    system, q, v, u, t = shipped("five_bar")
    model = sr.linearize_at(system, q, v, u, t=t)
    errors = []
    for h in (1e-3, 5e-4):
        step = sr.sensitivity.step_derivatives(system, q, v, u, t, dt=h)
        errors.append(
            np.abs((step.F - np.eye(2 * system.nv)) @ model.tangent / h - model.tangent_rates).max()
        )
    assert errors[1] < 0.02 * np.abs(model.tangent_rates).max()
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.05)


def test_stages_beside_a_singular_configuration_are_projected_as_the_simulator_does() -> None:
    module = load_example("parallelogram")
    system = System(module.build())
    state = moving(system, module.closed(0.4, 0.45))
    rank = generic_rank(system.workspace(), state[1])
    values = np.linalg.svd(system.constraint_jacobian(state[1]), compute_uv=False)
    assert values[rank - 1] < 0.1 * values[0]
    step = sr.sensitivity.step_derivatives(*state, dt=1e-2)
    found = differences(state, step, np.arange(4), 1e-4)
    assert_allclose(step.F[:, :4], found, rtol=0, atol=1e-7)


def test_massless_bodies_are_ordinary() -> None:
    plan = random_tree(4, ("revolute", "spherical", "revolute"))
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, ("point",))
    mechanism.add_body("hook")
    mechanism.add_joint("hook", "revolute", "b1", "hook", axis=(1, 0, 0))
    mechanism.add_coupling("wind", {"hook": 1.0, "j0": -1.5})
    q = System(mechanism).assemble(np.append(q, 0.0), locked=["j0"]).q
    state = moving(System(mechanism), q)
    assert state[0].compiled.mass_is_singular
    step = sr.sensitivity.step_derivatives(*state, dt=5e-3)
    assert_allclose(step.F[:, :4], differences(state, step, np.arange(4), 4e-4), rtol=0, atol=2e-10)


def test_refusals() -> None:
    system, q, v, u, t = shipped("five_bar")
    with pytest.raises(ArgumentError, match="dt must be a positive number"):
        sr.sensitivity.step_derivatives(system, q, v, u, t, dt=0.0)
    with pytest.raises(ArgumentError, match="leaves the loops open"):
        sr.sensitivity.step_derivatives(system, q + 0.1, v, u, t)
    with pytest.raises(ArgumentError, match=r"unknown parameter 'm'.*Known: none"):
        sr.sensitivity.step_derivatives(system, q, v, u, t, parameters=["m"])
    module = load_example("parallelogram")
    flat = System(module.build())
    with pytest.raises(SolveError, match="no derivatives at a singular configuration"):
        sr.sensitivity.step_derivatives(flat, module.closed(0.4, 0.4), np.zeros(flat.nv))


def test_constraints_that_contradict_each_other_are_refused() -> None:
    torn = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.vertcat(q[0], q[0] - t**2 / 2),
        name="torn",
    )
    with pytest.raises(SolveError, match=r"torn: .*contradict"):
        sr.sensitivity.step_derivatives(torn, [0.0, 0.0])


def test_nothing_can_be_written_to() -> None:
    system = System.from_lagrangian(nq=1, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2)
    step = sr.sensitivity.step_derivatives(system, [0.0])
    for array in (step.F, step.G, step.P, step.q, step.v):
        assert not array.flags.writeable
