"""Operational space and task-level orthogonalization: the identities of the paper, the saddle matrix, and the law."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from mechanisms import LOOPS, random_loop
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.formulations import (
    constrained_task_orthogonalization,
    kkt,
    mass_weighted,
    operational_space,
    task_orthogonalization,
)

N = 8
CONSTRAINTS = {"none": (0, 0), "full": (3, 0), "redundant": (3, 2)}


def matrices(seed: int, rank: int, extra: int) -> tuple[Array, ...]:
    """Return M, b, g, A, γ of eight velocities; the last dependent row is zero."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((N, N))
    mixing = np.vstack([np.eye(rank), rng.standard_normal((extra, rank))])
    if extra:
        mixing[-1] = 0.0
    A = mixing @ rng.standard_normal((rank, N))
    gamma = A @ rng.standard_normal(N)
    return root @ root.T + np.eye(N), rng.standard_normal(N), rng.standard_normal(N), A, gamma


def rows(rng: np.random.Generator, *counts: int) -> list[tuple[Array, Array, Array]]:
    return [(rng.standard_normal((m, N)), rng.standard_normal(m), rng.standard_normal(m)) for m in counts]


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("seed", range(3))
def test_operational_space_quantities(kind: str, seed: int) -> None:
    """Definitions (9) to (12) and (110) to (112), and what they are for: forces that move the task as it is told."""
    M, b, g, A, gamma = matrices(seed, *CONSTRAINTS[kind])
    rng = np.random.default_rng(seed + 50)
    J, bias = rng.standard_normal((2, N)), rng.standard_normal(2)
    space = operational_space(M, b + g, J, bias, A, gamma, gravity=g)
    inertia = np.linalg.inv(M)
    H = np.linalg.pinv(A @ inertia @ A.T, rcond=1e-10)
    theta = np.eye(N) - inertia @ A.T @ H @ A
    Lambda = np.linalg.inv(J @ inertia @ theta.T @ J.T)
    tight = {"rtol": 1e-9, "atol": 1e-9}
    assert_allclose(space.constraint_null_space, theta, **tight)
    assert_allclose(space.inertia, Lambda, **tight)
    assert_allclose(space.inverse_inertia, np.linalg.inv(Lambda), **tight)
    coriolis = Lambda @ J @ inertia @ (theta.T @ b) - Lambda @ (bias - J @ inertia @ A.T @ H @ gamma)
    assert_allclose(space.velocity_force, coriolis, **tight)
    assert_allclose(space.gravity_force, Lambda @ J @ inertia @ theta.T @ g, **tight)
    assert_allclose(space.consistent_inverse, theta @ inertia @ J.T @ Lambda, **tight)
    assert_allclose(J @ space.consistent_inverse, np.eye(2), **tight)
    assert_allclose(A @ space.consistent_inverse, 0.0, atol=1e-10)
    assert_allclose(J @ inertia @ space.null_space, 0.0, atol=1e-10)
    assert_allclose(A @ inertia @ space.null_space, 0.0, atol=1e-10)
    assert_allclose(space.null_space @ space.null_space, space.null_space, **tight)
    acceleration, anything = np.array([1.0, -2.0]), rng.standard_normal(N)
    tau = J.T @ space.force(acceleration) + space.null_space @ anything
    found = mass_weighted(M, b + g, A, gamma, tau)
    assert_allclose(J @ found.a + bias, acceleration, **tight)
    assert (space.rank, space.constraint_rank) == (2, CONSTRAINTS[kind][0])


def test_a_task_that_is_held_or_repeats_itself_loses_rank() -> None:
    M, b, g, A, gamma = matrices(1, 3, 2)
    rng = np.random.default_rng(3)
    free = rng.standard_normal((1, N))
    J = np.vstack([free, A[0], 2.0 * free])
    space = operational_space(M, b + g, J, np.zeros(3), A, gamma)
    assert space.rank == 1
    assert_allclose(space.inertia, np.linalg.pinv(space.inverse_inertia, rcond=1e-10), rtol=1e-8, atol=1e-12)
    assert_allclose(space.inertia[1], 0.0, atol=1e-12)
    held = operational_space(M, b, A, np.zeros(5), A, gamma)
    assert held.rank == 0
    assert_allclose(held.inertia, 0.0)
    assert_allclose(held.null_space, held.constraint_null_space.T, atol=1e-12)


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("seed", range(3))
def test_properties_of_the_recursion(kind: str, seed: int) -> None:
    """Properties 1 and 2, the triangular system (67), and every task met, whatever the rest asks for."""
    M, b, g, A, gamma = matrices(seed, *CONSTRAINTS[kind])
    rng = np.random.default_rng(seed + 20)
    tasks = rows(rng, 2, 1, 1)
    found = constrained_task_orthogonalization(M, b + g, A, gamma, tasks, rest=rng.standard_normal(N))
    inertia, Q = np.linalg.inv(M), [task.Q for task in found.tasks]
    total = found.total.copy()
    for i, (J, acceleration, bias) in enumerate(tasks):
        assert_allclose(J @ found.a + bias, acceleration, atol=1e-9)
        assert_allclose(A @ inertia @ Q[i].T, 0.0, atol=1e-9)
        for j in range(i + 1, len(tasks)):
            assert_allclose(Q[i] @ inertia @ Q[j].T, 0.0, atol=1e-9)
            assert_allclose(J @ inertia @ Q[j].T, 0.0, atol=1e-9)
        before = found.tasks[i - 1].null_space if i else mass_weighted(M, b, A, gamma).details["theta"].T
        assert_allclose(Q[i].T, before @ J.T, atol=1e-9)
        consistent = np.linalg.inv(Q[i] @ inertia @ Q[i].T) @ Q[i] @ inertia
        assert_allclose(
            found.tasks[i].null_space, before @ (np.eye(N) - Q[i].T @ consistent), rtol=1e-8, atol=1e-8
        )
        total -= Q[i].T @ found.tasks[i].z
    # what is left is η₀ = Aᵀ(α + ρ) and N τ*
    parts = mass_weighted(M, b + g, A, gamma).details
    rest = np.random.default_rng(seed + 20)
    rows(rest, 2, 1, 1)
    expected = A.T @ (parts["alpha"] + parts["rho"]) + found.tasks[-1].null_space @ rest.standard_normal(N)
    assert_allclose(total, expected, rtol=1e-8, atol=1e-8)
    assert_allclose(M @ found.a + b + g, found.tau + A.T @ found.multipliers, atol=1e-9)
    assert_allclose(A @ found.a, -gamma, atol=1e-9)
    assert found.status is Status.OK
    if kind == "full":
        assert_allclose(kkt(M, b + g, A, gamma, found.tau).a, found.a, atol=1e-9)


def test_single_task_is_the_operational_space() -> None:
    """(74) to (78), and (113) with constraints."""
    M, b, g, A, gamma = matrices(4, 3, 0)
    ((J, acceleration, bias),) = tasks = rows(np.random.default_rng(9), 2)
    free = task_orthogonalization(M, b + g, tasks)
    space = operational_space(M, b + g, J, bias)
    assert_allclose(free.tau, J.T @ space.force(acceleration), atol=1e-10)
    assert_allclose(free.tasks[0].null_space, space.null_space, atol=1e-10)
    held = constrained_task_orthogonalization(M, b + g, A, gamma, tasks)
    space = operational_space(M, b + g, J, bias, A, gamma)
    parts = mass_weighted(M, b + g, A, gamma).details
    right = space.constraint_null_space.T @ J.T @ space.force(acceleration)
    assert_allclose(held.total, right + A.T @ (parts["alpha"] + parts["rho"]), atol=1e-9)


def test_a_lower_task_changes_no_higher_one() -> None:
    """Dependent, contradicting and repeated tasks lose rank, and those above them are met to rounding."""
    M, b, g, A, gamma = matrices(2, 3, 2)
    rng = np.random.default_rng(5)
    first, second = rows(rng, 2, 2)
    mixed = (np.vstack([first[0][0], second[0][0]]), np.array([5.0, -3.0]), np.zeros(2))
    alone = constrained_task_orthogonalization(M, b + g, A, gamma, [first])
    both = constrained_task_orthogonalization(M, b + g, A, gamma, [first, mixed, first, second])
    assert [task.rank for task in both.tasks] == [2, 1, 0, 1]
    assert alone.tasks[0].residual < 1e-10
    assert both.tasks[0].residual < 1e-10
    assert both.tasks[2].residual < 1e-10
    assert both.tasks[1].residual > 0.1
    J, acceleration, bias = mixed
    assert_allclose((J @ both.a + bias)[1], acceleration[1], atol=1e-9)
    assert_allclose(A @ both.a, -gamma, atol=1e-9)


@pytest.mark.parametrize("kind", LOOPS)
def test_task_space_of_a_mechanism(kind: str) -> None:
    """Λ_c, μ_c, p_c of a point on random loops, redundant ones among them: the force on it moves it as it is told."""
    mechanism, q = random_loop(kind)
    system = sr.System(mechanism)
    q = system.assemble(q).q
    v = system.project_velocity(q, np.random.default_rng(3).standard_normal(system.nv))
    body = list(mechanism.bodies)[-1]
    space = control.TaskSpace(system, control.point(body, (0.1, 0.2, -0.3)))
    here, seen = space.kinematics(q, v), space(q, v)
    own = system.jacobian(q, v, body=body, point=(0.1, 0.2, -0.3))
    assert_allclose(here.jacobian, own.linear, atol=1e-13)
    assert_allclose(here.bias, own.linear_bias, atol=1e-12)
    assert_allclose(here.value, own.position, atol=1e-13)
    assert_allclose(here.velocity, own.linear_velocity, atol=1e-13)
    assert seen.constraint_rank == system.forward_dynamics(q, v).rank
    shift = here.bias + here.jacobian @ system.forward_dynamics(q, v).a
    wanted = shift + seen.inverse_inertia @ np.array([1.0, -2.0, 0.5])  # what the task can do
    tau = here.jacobian.T @ seen.force(wanted) - system.passive_force(q, v)
    a = system.forward_dynamics(q, v, tau=tau).a
    size = 1.0 + np.abs(a).max()
    assert_allclose(here.jacobian @ a + here.bias, wanted, atol=1e-9 * size)
    unseen = seen.null_space @ np.random.default_rng(1).standard_normal(system.nv)
    moved = system.forward_dynamics(q, v, tau=tau + unseen).a
    assert_allclose(here.jacobian @ (moved - a), 0.0, atol=1e-8 * (size + np.abs(moved).max()))


def test_singular_configurations_lose_rank_and_stay_finite() -> None:
    """The end of a stretched arm: Λ has one direction less, its inverse none."""
    arm = sr.Mechanism("arm", gravity=(0, -9.81, 0))
    for name, parent, x in (("upper", "world", 0.0), ("lower", "upper", 1.0)):
        arm.add_body(name, 1.0, com=(0.5, 0, 0), inertia=(0.0, 0.1, 0.1))
        arm.add_joint(name, "revolute", parent, name, parent_pose=(x, 0, 0))
    space = control.TaskSpace(sr.System(arm), control.point("lower", (1.0, 0, 0), axes="xy"))
    bent, straight = space([0.3, 0.8], [1.0, 2.0]), space([0.0, 0.0], [1.0, 2.0])
    assert (bent.rank, straight.rank) == (2, 1)
    assert_allclose(straight.inertia[0], 0.0, atol=1e-12)
    assert np.isfinite(straight.force([0.0, 1.0])).all()
    near = space([0.0, 1e-4], [1.0, 2.0])
    assert near.inertia[0, 0] > 1e6  # what nothing short of the stretched arm can accelerate


def test_a_singular_loop_is_left_unconstrained_and_finite(example) -> None:
    """The slider-crank with the rod folded back: A vanishes, and beside that place it has its rank."""
    module = example("slider_crank")
    system = sr.System(module.build())
    space = control.TaskSpace(system, control.point("rod", (1.0, 0, 0), axes="xy"))
    for angle, rank in ((np.pi / 2, 0), (np.pi / 2 - 1e-3, 1), (0.3, 1)):
        q = np.array([angle, -2 * angle])
        v = system.project_velocity(q, [1.0, -2.0])
        seen = space(q, v)
        assert seen.constraint_rank == rank == system.forward_dynamics(q, v, throw=False).rank
        assert seen.rank == 1  # the end of the rod stays on its line, at the singular place to first order
        assert np.isfinite(seen.force([1.0, 0.0])).all()
        c = np.cos(2 * angle)
        if rank:  # T = ½ (3 − 2 cos 2q) q̇², ẋ = −2 sin q q̇
            assert_allclose(seen.inertia[0, 0], (3 - 2 * c) / (4 * np.sin(angle) ** 2), rtol=1e-9)


def test_algorithm_2_is_the_law(example) -> None:
    """On the platform of the paper: three elbows, place first; the shoulders get no torque."""
    module = example("three_leg_platform")
    system = sr.System(module.build())
    q = module.pose(system, 0.05, -0.03, 0.2)
    v = system.project_velocity(q, np.random.default_rng(1).standard_normal(9))
    place = control.point("platform", axes="xy")
    law = control.TaskHierarchy(system, [control.Task(place, np.array([0.1, 0.0]), 100.0, 20.0)])
    here = control.TaskSpace(system, place).kinematics(q, v)
    wanted = 100.0 * (np.array([0.1, 0.0]) - here.value) - 20.0 * here.velocity
    S = system.actuation_matrix(q)
    found = constrained_task_orthogonalization(
        system.mass_matrix(q),
        system.bias_force(q, v) - system.passive_force(q, v),
        system.constraint_jacobian(q),
        system.constraint_bias(q, v),
        [(here.jacobian, wanted, here.bias)],
        actuation=S,
    )
    assert found.status is Status.OK
    assert_allclose(found.u, law(q, v), rtol=1e-9, atol=1e-9)
    assert_allclose(system.forward_dynamics(q, v, found.u).a, found.a, atol=1e-8)
    assert np.count_nonzero(np.abs(found.tau) > 1e-9) == 3


def test_missing_motors_are_reported() -> None:
    M, b, g, A, gamma = matrices(6, 3, 0)
    tasks = rows(np.random.default_rng(1), 2)
    found = constrained_task_orthogonalization(M, b + g, A, gamma, tasks, actuation=np.eye(N)[:, :2])
    assert found.status is Status.NOT_ACHIEVABLE
    assert found.residual > 1e-3


def test_a_task_of_a_function_has_the_drift_of_time() -> None:
    arm = sr.load("models/five_bar.xml")
    system = sr.System(arm)
    space = control.TaskSpace(system, lambda q, t: ca.vertcat(ca.sin(q[0]) * t**2))
    q, v = system.assemble(arm.keyframes["symmetric"].q).q, np.array([0.3, 0.1, 0.2, 0.4])
    here, t = space.kinematics(q, v, 2.0), 2.0
    s, c = np.sin(q[0]), np.cos(q[0])
    assert here.velocity[0] == pytest.approx(c * v[0] * t**2 + 2 * t * s)
    assert here.bias[0] == pytest.approx(-s * v[0] ** 2 * t**2 + 4 * t * c * v[0] + 2 * s)


def test_arguments_are_named() -> None:
    M, b, g, _A, gamma = matrices(0, 3, 0)
    J = np.ones((1, N))
    with pytest.raises(ArgumentError, match=r"J has shape \(2, 8\); it must be \(1, 8\)"):
        operational_space(M, b, np.ones((2, N)), [0.0])
    with pytest.raises(SolveError, match="operational_space: M must be positive definite"):
        operational_space(np.diag([0.0] + [1.0] * 7), b, J, [0.0])
    with pytest.raises(ArgumentError, match="at least one task"):
        task_orthogonalization(M, b, [])
    with pytest.raises(ArgumentError, match=r"acceleration of tasks\[1\] has shape"):
        task_orthogonalization(M, b, [(J, [0.0], [0.0]), (J, [0.0, 1.0], [0.0])])
    with pytest.raises(ArgumentError, match=r"tasks\[0\] must be three arrays"):
        task_orthogonalization(M, b, [(J, [0.0])])
    with pytest.raises(ArgumentError, match="A must be finite"):
        constrained_task_orthogonalization(M, g, np.full((3, N), np.nan), gamma, [(J, [0.0], [0.0])])
