"""Identities of the traced recursions on seeded random mechanisms of every joint and closure kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from mechanisms import (
    CLOSURES,
    KINDS,
    Blueprint,
    all_loops,
    close_loops,
    placements,
    random_coordinates,
    random_state,
)
from mechanisms import random_tree as build_random_tree
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.simulate import simulate

SEEDS = range(3)


@lru_cache
def tree(seed: int) -> tuple[Blueprint, System]:
    """A tree with every joint kind, springs, dampers and armature."""
    plan = build_random_tree(seed)
    return plan, System(plan.mechanism)


@lru_cache
def closed(seed: int) -> tuple[System, Array]:
    """A tree with one closure of every kind, and coordinates that close them all."""
    plan = build_random_tree(seed, forces=False)
    q = random_coordinates(plan)
    return System(close_loops(plan, q)), q


def derivative(function: Callable[[float], Array], h: float = 1e-3) -> Array:
    """Derivative at 0 by central differences of fourth order, extrapolated once to sixth."""

    def difference(step: float) -> Array:
        one, two = function(step) - function(-step), function(2 * step) - function(-2 * step)
        return (8 * np.asarray(one) - np.asarray(two)) / (12 * step)

    return (16 * difference(h / 2) - difference(h)) / 15


def along(system: System, q: Array, v: Array, s: float) -> Array:
    """A smooth curve through q with velocity v there and, to second order in s, constant v."""
    rate = system.coordinate_rate
    k1 = rate(q, v)
    k2 = rate(q + s / 2 * k1, v)
    k3 = rate(q + s / 2 * k2, v)
    return system.normalized(q + s / 6 * (k1 + 2 * k2 + 2 * k3 + rate(q + s * k3, v)))


@pytest.mark.parametrize("seed", SEEDS)
def test_placements_against_plain_poses(seed: int) -> None:
    plan, system = tree(seed)
    q, _ = random_state(system, seed)
    positions, rotations = system.body_placements(q)
    for k, pose in enumerate([placements(plan, q)[name] for name in plan.mechanism.bodies]):
        np.testing.assert_allclose(positions[k], pose.position, atol=1e-12)
        np.testing.assert_allclose(rotations[k], pose.rotation, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_is_that_of_the_kinetic_energy(seed: int) -> None:
    _, system = tree(seed)
    q, v = random_state(system, seed)
    mass = system.mass_matrix(q)
    np.testing.assert_array_equal(mass, mass.T)
    assert np.linalg.eigvalsh(mass)[0] > 0.0
    assert system.kinetic_energy(q, v) == pytest.approx(0.5 * v @ mass @ v, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_at_rest_is_the_gradient_of_the_potential(seed: int) -> None:
    _, system = tree(seed)
    q, _ = random_state(system, seed)
    held = system.bias_force(q, np.zeros(system.nv)) - system.passive_force(q, np.zeros(system.nv))
    for i, unit in enumerate(np.eye(system.nv)):
        slope = derivative(lambda s, unit=unit: system.potential_energy(along(system, q, unit, s)))  # type: ignore[misc]
        assert held[i] == pytest.approx(slope, rel=1e-8, abs=1e-7), system.velocity_names[i]


@pytest.mark.parametrize("seed", SEEDS)
def test_coriolis_forces_do_half_the_change_of_mass(seed: int) -> None:
    """vᵀ (Ṁ − 2C) v = 0 for C v = h(q, v) − h(q, 0)."""
    _, system = tree(seed)
    q, v = random_state(system, seed)
    coriolis = system.bias_force(q, v) - system.bias_force(q, np.zeros(system.nv))
    mass_rate = derivative(lambda s: system.mass_matrix(along(system, q, v, s)))
    assert v @ coriolis == pytest.approx(0.5 * v @ mass_rate @ v, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(
        system.bias_force(q, -2 * v) - system.bias_force(q, 0 * v), 4 * coriolis, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_rate_minus_twice_coriolis_is_skew(seed: int) -> None:
    """With Christoffel symbols of M as the C matrix, in coordinates whose rates are the velocities."""
    plan = build_random_tree(seed, ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar"))
    system = System(plan.mechanism)
    q, v = random_state(system, seed)
    gradient = np.array([derivative(lambda s, e=e: system.mass_matrix(q + s * e)) for e in np.eye(system.nv)])
    # C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) v_k
    coriolis = 0.5 * (
        np.einsum("kij,k->ij", gradient, v)
        + np.einsum("jik,k->ij", gradient, v)
        - np.einsum("ijk,k->ij", gradient, v)
    )
    bias = system.bias_force(q, v) - system.bias_force(q, np.zeros(system.nv))
    np.testing.assert_allclose(bias, coriolis @ v, rtol=1e-8, atol=1e-8)
    skew = np.einsum("kij,k->ij", gradient, v) - 2 * coriolis
    np.testing.assert_allclose(skew, -skew.T, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_is_the_rate_of_energy(seed: int) -> None:
    """d/dt (T + V) = v·(τ + k_dampers) along the motion that forward dynamics gives."""
    _, system = tree(seed)
    undamped = System(build_random_tree(seed, damping=False).mechanism)
    assert undamped.equations.conservative
    assert not system.equations.conservative
    q, v = random_state(system, seed)
    rng = np.random.default_rng(seed)
    tau = rng.standard_normal(system.nv)
    a = system.forward_dynamics(q, v, tau=tau).a

    def energy(s: float) -> float:
        moved = along(system, q, v + 0.5 * s * a, s)
        return system.kinetic_energy(moved, v + s * a) + system.potential_energy(moved)

    lost = v @ (system.passive_force(q, v) - undamped.passive_force(q, v))
    assert lost < 0.0
    assert derivative(energy) == pytest.approx(v @ tau + lost, rel=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_closures_by_construction(seed: int) -> None:
    """Residual zero, φ̇ = A v and γ = dA/dt v, row by row of every closure kind."""
    system, q = closed(seed)
    assert set(CLOSURES) == {closure.kind for closure in system.mechanism.closures.values()}
    np.testing.assert_allclose(system.constraint_residual(q), 0.0, atol=1e-13)
    away, v = random_state(system, seed + 100)
    jacobian = system.constraint_jacobian(away)
    np.testing.assert_allclose(system.velocity_residual(away, v), jacobian @ v, atol=1e-11)
    rate = derivative(lambda s: system.constraint_residual(along(system, away, v, s)), h=3e-4)
    np.testing.assert_allclose(rate, jacobian @ v, rtol=1e-7, atol=1e-7)
    bias = derivative(lambda s: system.constraint_jacobian(along(system, away, v, s)) @ v, h=3e-4)
    np.testing.assert_allclose(system.constraint_bias(away, v), bias, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kinds", [KINDS[:4], KINDS[4:]], ids=["one_axis", "more_axes"])
def test_tree_equals_all_loops(seed: int, kinds: tuple[str, ...]) -> None:
    """Joints of the tree, or free bodies with closures of the joints' own kinds: the same accelerations."""
    plan = build_random_tree(seed, kinds, forces=False)
    treed, loose = System(plan.mechanism), System(all_loops(plan))
    q, v = random_state(treed, seed)

    def free_coordinates(at: Array) -> Array:
        frames = placements(plan, at)
        return np.concatenate([(*p.position, *p.quaternion) for n, p in frames.items() if n != "world"])

    def free_velocities(at: Array, speed: Array) -> Array:
        rates = []
        base = placements(plan, at)
        for name in plan.mechanism.bodies:
            linear = derivative(lambda s, n=name: placements(plan, along(treed, at, speed, s))[n].position)  # type: ignore[misc]
            turn = derivative(lambda s, n=name: placements(plan, along(treed, at, speed, s))[n].rotation)  # type: ignore[misc]
            omega = base[name].rotation.T @ turn
            rates += [*linear, omega[2, 1], omega[0, 2], omega[1, 0]]
        return np.array(rates)

    found = treed.forward_dynamics(q, v)
    x = free_coordinates(q)
    np.testing.assert_allclose(loose.constraint_residual(x), 0.0, atol=1e-13)
    w = loose.project_velocity(x, free_velocities(q, v))
    np.testing.assert_allclose(w, free_velocities(q, v), atol=1e-9)
    assert loose.kinetic_energy(x, w) == pytest.approx(treed.kinetic_energy(q, v), rel=1e-9)
    result = loose.forward_dynamics(x, w)
    assert (result.status, result.dof) == (Status.OK, treed.nv)
    expected = derivative(
        lambda s: free_velocities(along(treed, q, v + 0.5 * s * found.a, s), v + s * found.a), h=4e-3
    )
    np.testing.assert_allclose(result.a, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_massless_links_are_the_limit_of_light_ones(seed: int) -> None:
    """A massless link between two heavy bodies held by closures: the null-space solve against 1e-7 kg."""

    def build(scale: float) -> Mechanism:
        rng = np.random.default_rng(seed)
        mechanism = Mechanism("dyad", gravity=(0, -9.81, 0))
        moment = rng.uniform(0.1, 0.5)
        for name, parent, at, factor in (("a", "world", 0, 1), ("b", "a", 1, scale), ("c", "b", 1, scale)):
            mechanism.add_body(name, factor, (0.5, 0.1, 0), factor * np.array([moment, moment, moment]))
            mechanism.add_joint(f"j{name}", "revolute", parent, name, parent_pose=(at, 0, 0))
        mechanism.add_closure("end", "point", "world", "c", pose1=(1.4, 0.3, 0), pose2=(0.9, 0, 0))
        mechanism.add_spring_damper(
            "spring", "world", "b", point1=(0, 2, 0), point2=(0.2, 0, 0), stiffness=30.0
        )
        return mechanism

    exact, light = System(build(0.0)), System(build(1e-7))
    q = exact.assemble([1.2 + 0.1 * seed, -1.0, -1.2], locked=["ja"]).q
    v = exact.project_velocity(q, [1.0, 0.3, -0.2])
    ours, limit = exact.forward_dynamics(q, v), light.forward_dynamics(q, v)
    assert ours.status is limit.status is Status.OK
    assert ours.rank == limit.rank == 2
    np.testing.assert_allclose(ours.a, limit.a, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ours.constraint_force, limit.constraint_force, rtol=1e-5, atol=1e-5)
    force = exact.passive_force(q, v) - exact.bias_force(q, v) + ours.constraint_force
    np.testing.assert_allclose(exact.mass_matrix(q) @ ours.a, force, atol=1e-10)


def test_massless_link_moves_like_the_body_welded_to_it() -> None:
    """A massless arm that carries a free ball by a weld, against one pendulum; M is singular all along."""
    arm, pendulum = Mechanism("arm"), Mechanism("pendulum")
    arm.add_body("arm")
    arm.add_body("ball", 1.0, inertia=(0.1, 0.1, 0.1))
    arm.add_joint("hinge", "revolute", "world", "arm", axis=(0, 1, 0))
    arm.add_joint("free", "free", "world", "ball")
    arm.add_closure("hold", "weld", "arm", "ball", pose1=(1, 0, 0))
    pendulum.add_body("b", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
    pendulum.add_joint("hinge", "revolute", "world", "b", axis=(0, 1, 0))
    system = System(arm)
    q = system.assemble([-0.5, 1.0, 0, 0.5, 1, 0, 0, 0], locked=["hinge"]).q
    motion = simulate(system, q, duration=2.0, dt=1e-3)
    expected = simulate(System(pendulum), [-0.5], duration=2.0, dt=1e-3)
    np.testing.assert_allclose(motion.q[:, 0], expected.q[:, 0], atol=1e-11)
    assert set(motion.rank) == {6}
    assert motion.energy_drift < 1e-9
