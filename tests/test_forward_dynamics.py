"""Forward dynamics against NumPy's pseudoinverse in every elimination mode, for every kind of data."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest

from mechanisms import MODES, close_loops, random_coordinates, random_state, random_tree, system_in_mode
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.model import compiled
from sarrus.dynamics.model.options import Options
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.system import System
from sarrus.kernels.memory import layout as la
from sarrus.model.builders.mechanism import Mechanism

# Seeds and closures of random mechanisms with 19 degrees of freedom in the tree.
SETS = {
    "few": (0, ("distance", "point_on_plane", "universal")),
    "many": (12, ("revolute", "screw", "point_on_line")),
    "redundant": (9, ("planar", "weld", "prismatic", "point", "weld", "weld")),
}


@lru_cache
def random_loops(which: str, mode: str) -> tuple[System, Array, Array]:
    seed, kinds = SETS[which]
    plan = random_tree(seed)
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, kinds)
    mechanism.add_actuator("motor", "j0", gear=2.0)
    system = system_in_mode(mechanism, mode)
    return system, q, system.project_velocity(q, random_state(system, 1)[1])


def oracle(
    system: System, q: Array, v: Array, force: Array, rank: int, t: float = 0.0
) -> tuple[Array, Array]:
    """Gauss's principle by SVD: a = a₀ + M^{-1/2} (A M^{-1/2})⁺ (−γ − A a₀), and the λ of least norm ‖R⁻¹λ‖."""
    mass, rows = system.mass_matrix(q), system.constraint_jacobian(q, v, t)
    values, vectors = np.linalg.eigh(mass)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    free = np.linalg.solve(mass, force)
    left, sigma, right = np.linalg.svd(rows @ root, full_matrices=False)
    inverse = right[:rank].T @ (left[:, :rank] / sigma[:rank]).T
    a = free + root @ inverse @ (-system.constraint_bias(q, v, t) - rows @ free)
    factors = system.characteristic.rows
    left, sigma, right = np.linalg.svd(rows.T * factors, full_matrices=False)
    lam = factors * (right[:rank].T @ ((left[:, :rank].T @ (mass @ a - force)) / sigma[:rank]))
    return a, lam


def check(
    system: System, q: Array, v: Array, rank: int, tolerance: float = 1e-9, **inputs: Array
) -> ForwardDynamics:
    force = system.passive_force(q, v) - system.bias_force(q, v)
    force = force + inputs.get("tau", 0.0) + system.actuation_matrix(q) @ inputs.get("u", np.zeros(system.nu))
    result = system.forward_dynamics(q, v, **inputs)
    a, lam = oracle(system, q, v, force, rank)
    assert result.rank == rank
    assert result.dof == system.nv - rank
    np.testing.assert_allclose(result.a, a, atol=tolerance * max(1.0, np.abs(a).max()))
    np.testing.assert_allclose(
        result.multipliers, lam, atol=tolerance * max(1.0, np.abs(lam).max(initial=0.0))
    )
    reaction = system.constraint_jacobian(q, v=v).T @ lam
    np.testing.assert_allclose(
        result.constraint_force, reaction, atol=tolerance * max(1.0, np.abs(reaction).max())
    )
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
        assert system.compiled.mode == MODES[mode]
        results.append(system.forward_dynamics(q, v))
    for other in results[1:]:
        np.testing.assert_allclose(other.a, results[0].a, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(other.multipliers, results[0].multipliers, rtol=1e-7, atol=1e-7)
        np.testing.assert_array_equal(other.determined, results[0].determined)


def test_large_models_go_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = random_tree(3, ("revolute", "spherical", "free"))
    small = System(plan.mechanism)
    monkeypatch.setattr(compiled, "TRACED", 0)
    monkeypatch.setattr(compiled, "TRACED_FOR_EACH", 0)
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
    for name, parent, at, length in (
        ("crank", "world", 0, 0.4),
        ("coupler", "crank", 0.4, 1),
        ("rocker", "coupler", 1, 0.8),
    ):
        mechanism.add_body(name, 1 + at, (length / 2, 0.02, 0), (0.01, 0.05, 0.06))
        mechanism.add_joint(f"{name}_joint", "revolute", parent, name, parent_pose=(at, 0, 0))
    for k in range(copies):
        mechanism.add_closure(
            f"pin{k}", kind, "world", "rocker", pose1=(0.9, 0.1, k * offset), pose2=(0.8, 0, 0)
        )
    return mechanism


@pytest.mark.parametrize(
    ("kind", "copies", "nc"), [("point", 1, 3), ("revolute", 1, 5), ("point", 2, 6), ("point_on_line", 3, 6)]
)
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
    """Two rails that move apart: accelerations of least squares, and the status says so."""
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


def equal_links() -> System:
    """Slider-crank whose rod can fold back over the crank, where its only row vanishes."""
    mechanism = Mechanism("slider_crank", gravity=(0, -9.81, 0))
    for name, parent, at in (("crank", "world", 0.0), ("rod", "crank", 1.0)):
        mechanism.add_body(name, 1.0, com=(1, 0, 0))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    mechanism.add_closure("slider", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(1, 0, 0))
    return System(mechanism)


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-5])
def test_approach_of_a_singular_configuration(distance: float) -> None:
    q = np.array([np.pi / 2 + distance, np.pi - 2 * distance])
    result = check(equal_links(), q, np.array([3.0, -6.0]), 1, 1e-14 / distance**2)
    assert result.status is Status.OK
    assert result.determined.all()
    assert result.a[1] == pytest.approx(-2 * result.a[0], abs=1e-12 / distance**2)


def test_singular_configuration_loses_a_direction() -> None:
    """The row is zero but for rounding: no constraint, no multiplier, and no velocity is taken away."""
    system, q = equal_links(), np.array([np.pi / 2, np.pi])
    result = system.forward_dynamics(q, [0.0, 0.0])
    assert (result.status, result.rank, result.dof) == (Status.SINGULAR, 0, 2)
    assert result.status.ok
    assert result.redundant == ("slider.height",)
    np.testing.assert_array_equal(result.multipliers, 0.0)
    np.testing.assert_array_equal(result.constraint_force, 0.0)
    np.testing.assert_array_equal(system.project_velocity(q, [8.0, -16.0]), [8.0, -16.0])


@pytest.mark.parametrize("kind", ["point_on_line", "point", "weld"])
def test_flattened_parallelogram(kind: str) -> None:
    """All links on one line: of two independent rows one is left, rows out of the plane stay redundant."""
    mechanism = Mechanism("parallelogram", gravity=(0, -9.81, 0))
    for name, parent, at in (("crank", "world", 0.0), ("coupler", "crank", 0.5), ("rocker", "coupler", 1.0)):
        mechanism.add_body(name, 1.0, (0.25, 0, 0), (0.01, 0.02, 0.02))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    if kind == "weld":  # the rocker's last turn is free in a chain of four
        mechanism.add_body("pin")
        mechanism.add_joint("pin", "revolute", "rocker", "pin", parent_pose=(0.5, 0, 0), armature=0.1)
        mechanism.add_closure("ground", kind, "world", "pin", pose1=(1.0, 0, 0))
    else:
        mechanism.add_closure("ground", kind, "world", "rocker", pose1=(1.0, 0, 0), pose2=(0.5, 0, 0))
    system = System(mechanism)
    flat = np.array([0.0, 0.0, np.pi, np.pi][: system.nq])
    generic = 3 if kind == "weld" else 2
    result = check(system, flat, np.zeros(system.nv), generic - 1)
    assert result.status is Status.SINGULAR
    angle = 0.7
    moved = np.array([angle, -angle, angle + np.pi, np.pi - angle][: system.nq])
    assert np.abs(system.constraint_residual(moved)).max() < 1e-12
    result = check(system, moved, np.zeros(system.nv), generic)
    assert result.status is Status.OK


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
    for q, rank, a in (
        ([0, 1, 1], 1, [0, 0, -9.81]),
        ([1, 0, 0], 2, [0, 0, 0]),
        ([0, 2, 1], 1, [0, 0, -9.81]),
    ):
        result = system.forward_dynamics(q, np.zeros(3))
        assert (result.rank, result.status) == (rank, Status.OK)
        np.testing.assert_allclose(result.a, a, atol=1e-12)


def test_options_take_effect() -> None:
    system = System(four_bar())
    q = system.assemble([1.0, -0.8, -1.2]).q
    assert system.forward_dynamics(q, np.zeros(3)).status is Status.OK
    system.options = Options(singular_cut=0.99)
    result = system.forward_dynamics(q, np.zeros(3))
    assert (result.rank, result.tolerance) == (1, 0.99)
    assert result.status is not Status.OK
    system.options = Options(singular_cut=1e-9)
    assert system.forward_dynamics(q, np.zeros(3)).status is Status.OK


def test_how_much_contradiction_counts_is_an_option() -> None:
    """The same row twice, with right sides that differ by one in ten thousand."""
    system = System.from_equations(
        1, lambda q: [[2.0]], lambda q, v: [0.0], velocity=lambda q, v, t: [v[0] - t, v[0] - 1.0001 * t]
    )
    solve = lambda: system.forward_dynamics([0.0], [0.0], throw=False).status  # noqa: E731
    assert solve() is Status.INCONSISTENT
    system.options = Options(inconsistent=1e-3)
    assert solve() is Status.OK


def test_constraint_nonlinear_in_velocity() -> None:
    """Constant speed by ψ = v·v − 1: λ along the velocity (Appell and Chetaev)."""
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        velocity=lambda q, v, t: ca.sumsqr(v) - 1,
    )
    v = np.array([0.6, 0.8])
    result = check(system, np.zeros(2), v, 1)
    assert result.status is Status.OK
    assert v @ result.a == pytest.approx(0.0, abs=1e-13)
    np.testing.assert_allclose(system.project_velocity([0, 0], 2 * v), v, atol=1e-12)


def test_results_are_read_only_and_their_own() -> None:
    """A later call does not change an earlier result."""
    system, q, v = random_loops("redundant", "traced")
    result = system.forward_dynamics(q, v)
    kept = {
        name: getattr(result, name).copy() for name in ("a", "multipliers", "constraint_force", "determined")
    }
    system.forward_dynamics(*random_state(system, 5))
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(result, name), value)
    with pytest.raises(ValueError, match="read-only"):
        result.a[0] = 1.0
