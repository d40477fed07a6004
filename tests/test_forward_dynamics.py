"""Forward dynamics against NumPy's pseudoinverse, in every elimination mode, for every kind of constraint data."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest

from mechanisms import MODES, close_loops, random_coordinates, random_state, random_tree, system_in_mode
from sarrus import compiled
from sarrus.errors import ArgumentError, SolveError
from sarrus.kernels import layout as la
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Array
from sarrus.solves import ForwardDynamics
from sarrus.status import Status
from sarrus.system import System

# Closures of a random mechanism, which leave between 2 and 14 of its 19 degrees of freedom.
SETS = {
    "few": ("distance", "point_on_plane", "universal"),
    "many": ("revolute", "screw", "cylindrical", "point_on_line", "distance"),
    "redundant": ("planar", "weld", "prismatic", "point", "weld", "weld"),
}


@lru_cache
def random_loops(which: str, mode: str) -> tuple[System, Array, Array]:
    plan = random_tree(len(which))
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, SETS[which])
    mechanism.add_actuator("motor", "j0", gear=2.0)
    system = system_in_mode(mechanism, mode)
    return system, q, system.project_velocity(q, random_state(system, 1)[1])


def oracle(system: System, q: Array, v: Array, force: Array, rank: int, t: float = 0.0) -> tuple[Array, Array]:
    """Gauss's principle by SVD: a = a₀ + M^{-1/2} (A M^{-1/2})⁺ (−γ − A a₀), and the minimum-norm λ."""
    mass, rows = system.mass_matrix(q), system.constraint_jacobian(q, t, v)
    values, vectors = np.linalg.eigh(mass)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    free = np.linalg.solve(mass, force)
    left, sigma, right = np.linalg.svd(rows @ root, full_matrices=False)
    inverse = right[:rank].T @ (left[:, :rank] / sigma[:rank]).T
    a = free + root @ inverse @ (-system.constraint_bias(q, v, t) - rows @ free)
    left, sigma, right = np.linalg.svd(rows.T, full_matrices=False)
    lam = right[:rank].T @ ((left[:, :rank].T @ (mass @ a - force)) / sigma[:rank])
    return a, lam


def check(system: System, q: Array, v: Array, rank: int, tolerance: float = 1e-9, **inputs: Array) -> ForwardDynamics:
    force = system.passive_force(q, v) - system.bias_force(q, v)
    force = force + inputs.get("tau", 0.0) + system.actuation_matrix(q) @ inputs.get("u", np.zeros(system.nu))
    result = system.forward_dynamics(q, v, **inputs)
    a, lam = oracle(system, q, v, force, rank)
    assert result.rank == rank
    assert result.dof == system.nv - rank
    np.testing.assert_allclose(result.a, a, atol=tolerance * max(1.0, np.abs(a).max()))
    np.testing.assert_allclose(result.multipliers, lam, atol=tolerance * max(1.0, np.abs(lam).max(initial=0.0)))
    reaction = system.constraint_jacobian(q, v=v).T @ lam
    np.testing.assert_allclose(result.constraint_force, reaction, atol=tolerance * max(1.0, np.abs(reaction).max()))
    return result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("which", SETS)
def test_against_the_pseudoinverse(which: str, mode: str) -> None:
    system, q, v = random_loops(which, mode)
    rank = np.linalg.matrix_rank(system.constraint_jacobian(q), tol=1e-9)
    assert (rank < system.nc) == (which == "redundant")
    rng = np.random.default_rng(0)
    result = check(system, q, v, rank, 1e-8, u=rng.standard_normal(1), tau=rng.standard_normal(system.nv))
    assert result.status is Status.OK
    assert result.residual < 1e-9
    assert bool(result.redundant) == (which == "redundant")
    power = v @ result.constraint_force
    assert abs(power) < 1e-9 * np.linalg.norm(v) * np.linalg.norm(result.constraint_force)


@pytest.mark.parametrize("which", SETS)
def test_modes_agree(which: str) -> None:
    results = []
    for mode in MODES:
        system, q, v = random_loops(which, mode)
        assert system.sizes()[la.ELIMINATION] == MODES[mode]
        results.append(system.forward_dynamics(q, v))
    for other in results[1:]:
        np.testing.assert_allclose(other.a, results[0].a, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(other.multipliers, results[0].multipliers, rtol=1e-7, atol=1e-7)
        np.testing.assert_array_equal(other.determined, results[0].determined)


def test_large_models_go_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = random_tree(3, ("revolute", "spherical", "free"))
    small = System(plan.mechanism)
    monkeypatch.setattr(compiled, "TRACED_ELIMINATION_LIMIT", small.nv - 1)
    large = System(plan.mechanism)
    assert (small.compiled.mode, large.compiled.mode) == (la.TRACED, la.CHOLESKY)
    q, v = random_state(small, 3)
    np.testing.assert_allclose(small.forward_dynamics(q, v).a, large.forward_dynamics(q, v).a, rtol=1e-10)


@pytest.mark.parametrize("which", SETS)
def test_forward_after_inverse_is_identity(which: str) -> None:
    system, q, v = random_loops(which, "traced")
    a = system.forward_dynamics(q, v, tau=np.random.default_rng(7).standard_normal(system.nv)).a
    needed = system.mass_matrix(q) @ a + system.bias_force(q, v) - system.passive_force(q, v)
    np.testing.assert_allclose(system.forward_dynamics(q, v, tau=needed).a, a, rtol=1e-8, atol=1e-8)


def four_bar(kind: str = "point_on_line", offset: float = 0.0, copies: int = 1) -> Mechanism:
    """A planar four-bar in the x-y plane, closed with more or fewer redundant rows."""
    mechanism = Mechanism("four_bar", gravity=(0, -9.81, 0))
    for name, parent, at, length in (("crank", "world", 0, 0.4), ("coupler", "crank", 0.4, 1), ("rocker", "coupler", 1, 0.8)):
        mechanism.add_body(name, 1 + at, (length / 2, 0.02, 0), (0.01, 0.05, 0.06))
        mechanism.add_joint(f"{name}_joint", "revolute", parent, name, parent_pose=(at, 0, 0))
    for k in range(copies):
        mechanism.add_closure(f"pin{k}", kind, "world", "rocker", pose1=(0.9, 0.1, k * offset), pose2=(0.8, 0, 0))
    return mechanism


@pytest.mark.parametrize(("kind", "copies", "nc"), [("point", 1, 3), ("revolute", 1, 5), ("point", 2, 6), ("point_on_line", 3, 6)])
def test_redundant_closures_change_nothing(kind: str, copies: int, nc: int) -> None:
    minimal, redundant = System(four_bar()), System(four_bar(kind, copies=copies))
    q = minimal.assemble([1.0, -0.8, -1.2], locked=["crank_joint"]).q
    v = minimal.project_velocity(q, [2.0, 0.0, 0.0])
    expected, result = minimal.forward_dynamics(q, v), check(redundant, q, v, 2)
    assert (redundant.nc, result.status) == (nc, Status.OK)
    np.testing.assert_allclose(result.a, expected.a, rtol=1e-10)
    np.testing.assert_allclose(result.constraint_force, expected.constraint_force, rtol=1e-9, atol=1e-9)
    assert "pin0.z" not in [n for n, sure in zip(redundant.constraint_names, result.determined) if sure]
    if copies == 1:
        assert {"pin0.x", "pin0.y"} == {n for n, s in zip(redundant.constraint_names, result.determined) if s}
    else:
        assert not result.determined.any()


def test_inconsistent_rows_are_met_in_the_least_squares_sense() -> None:
    """Two pins that contradict each other while turning: accelerations of least squares, and the status says so."""
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.vertcat(q[0] - t**2, q[0] + t**2),
    )
    result = check(system, np.zeros(2), np.zeros(2), 1)
    assert result.status is Status.INCONSISTENT
    assert not result.status.ok
    assert result.residual == pytest.approx(np.sqrt(8.0))
    np.testing.assert_allclose(result.a, [0.0, -9.81], atol=1e-14)


def test_singular_configuration_loses_a_direction() -> None:
    """Equal-link slider-crank, folded: the rank drops from 1 to 0; beside it the multiplier is determined."""
    mechanism = Mechanism("slider_crank", gravity=(0, -9.81, 0))
    for name, parent, at in (("crank", "world", 0.0), ("rod", "crank", 1.0)):
        mechanism.add_body(name, 1.0, com=(1, 0, 0))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    mechanism.add_closure("slider", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(1, 0, 0))
    system = System(mechanism)
    for distance in (1e-2, 1e-5, 1e-7):
        q1 = np.pi / 2 + distance
        result = check(system, np.array([q1, np.pi - 2 * distance]), np.zeros(2), 1, 1e-12 / distance**2)
        assert result.status is Status.OK
    result = system.forward_dynamics([np.pi / 2, np.pi], [0.0, 0.0])
    assert (result.status, result.rank, result.dof) == (Status.SINGULAR, 0, 2)
    assert result.status.ok
    np.testing.assert_allclose(result.multipliers, 0.0)
    assert result.redundant == ("slider.height",)
    np.testing.assert_allclose(result.constraint_force, 0.0)


def test_answer_does_not_depend_on_earlier_calls() -> None:
    """The rank nearby is that of the configuration asked for, whichever was asked for before."""
    legs = Mechanism("legs", gravity=(0, -9.81, 0))
    legs.add_body("plate", 2, (0.5, 0, 0), (0.1, 0.1, 0.1))
    legs.add_joint("plate", "planar", "world", "plate")
    for k, x in enumerate((0.0, 0.5, 1.0)):
        legs.add_body(f"leg{k}", 1, (0, 0.5, 0), (0.1, 0.1, 0.1))
        legs.add_joint(f"leg{k}", "revolute", "world", f"leg{k}", parent_pose=(x, 0, 0))
        legs.add_closure(f"top{k}", "point", f"leg{k}", "plate", pose1=(0, 1, 0), pose2=(x, 0, 0))
    system, rest = System(legs), np.zeros(6)
    closed = np.array([-np.sin(0.4), np.cos(0.4), 0, 0.4, 0.4, 0.4])
    system.forward_dynamics(closed + 0.1 * np.random.default_rng(0).standard_normal(6), rest)
    result = system.forward_dynamics(closed, rest)
    assert (result.status, result.rank) == (Status.OK, 5)
    assert system.forward_dynamics(closed, rest).status is Status.OK


def test_components_of_different_mobility() -> None:
    """x y = x z = 0: a plane (rank 1) and a line (rank 2) that meet in the origin."""
    system = System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[2],
        holonomic=lambda q, t: ca.vertcat(q[0] * q[1], q[0] * q[2]),
    )
    for q, rank, a in (([0, 1, 1], 1, [0, 0, -9.81]), ([1, 0, 0], 2, [0, 0, 0]), ([0, 2, 1], 1, [0, 0, -9.81])):
        result = system.forward_dynamics(q, np.zeros(3))
        assert (result.rank, result.status) == (rank, Status.OK)
        np.testing.assert_allclose(result.a, a, atol=1e-12)


def test_options_take_effect() -> None:
    system = System(four_bar())
    q = system.assemble([1.0, -0.8, -1.2]).q
    assert system.forward_dynamics(q, np.zeros(3)).status is Status.OK
    system.options.singular_cut = 0.99
    result = system.forward_dynamics(q, np.zeros(3))
    assert (result.rank, result.status, result.tolerance) == (1, Status.SINGULAR, 0.99)
