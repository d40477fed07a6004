"""Linear models on the constraint manifold: exact derivatives, invariance, closed forms."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from conftest import load_example
from mechanisms import LOOPS, random_loop, random_tree
from sarrus.analysis.configurations.equilibrium import equilibrium
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.linearize import linearize
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.analysis.linear.reduction import Chart, reduce
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.coordinates.parametrization import Parametrization, parametrize
from sarrus.dynamics.model.derivatives import derivatives, inverse_dynamics_force
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.simulate import simulate

State = tuple[System, Array, Array, Array, float]

EXAMPLES = (
    "five_bar", "three_leg_platform", "front_loader", "bricard", "bricard free", "slider_crank", "two_arms",
    "leg_four_bar", "stewart", "quadruped", "bennett",
)  # fmt: skip


def moving(system: System, q: Array, t: float = 0.0, seed: int = 3) -> State:
    """A random admissible velocity and random controls at a closed configuration."""
    rng = np.random.default_rng(seed)
    v = system.project_velocity(q, rng.standard_normal(system.nv), t)
    return system, q, v, rng.standard_normal(system.nu), t


@lru_cache
def shipped(name: str) -> State:
    """A shipped mechanism, assembled near its reference pose, moving."""
    module = load_example(name.split()[0])
    system = System(module.build(True) if name.endswith("free") else module.build())
    kick = 0.1 * np.random.default_rng(3).standard_normal(system.nq)
    return moving(system, system.assemble(system.neutral() + kick).q)


@lru_cache
def looped(kind: str) -> State:
    """A random system closed at q; "redundant" has every closure twice."""
    mechanism, q = random_loop(kind)
    return moving(System(mechanism), q)


@lru_cache
def own(kind: str) -> State:
    """Equations of one's own: driven constraints and forces in time; skates; a constraint force that does work."""
    if kind == "driven":
        system = System.from_lagrangian(
            nq=3,
            lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1] + 0.3 * q[2] ** 2 * ca.cos(q[0]),
            holonomic=lambda q, t: ca.sumsqr(q[:2]) - 4 - ca.sin(t) * q[2],
            generalized_force=lambda q, v, t: ca.vertcat(ca.sin(3 * t) * q[1], -(v[1] ** 3), 0.2 * v[0]),
            inputs=lambda q: ca.vertcat(q[1], 1, ca.sin(q[0])),
        )
        return moving(system, system.assemble([1.2, -1.6, 0.3], t=0.4).q, 0.4)
    if kind == "skate":
        system = System.from_lagrangian(
            nq=4,
            lagrangian=lambda q, v, t: (
                ca.sumsqr(v[:2]) * (1 + 0.2 * ca.sin(q[3]))
                + 0.3 * v[2] ** 2
                + 0.1 * v[3] ** 2
                - q[0] ** 2 * q[1]
            ),
            holonomic=lambda q, t: q[3] - q[0] * q[2],
            velocity=lambda q, v, t: -ca.sin(q[2]) * v[0] + ca.cos(q[2]) * v[1] + 0.1 * t * v[3],
            inputs=lambda q: ca.vertcat(ca.cos(q[2]), ca.sin(q[2]), 0, 0),
        )
        return moving(system, system.assemble([0.3, 0.4, 0.5, 0.15], t=0.3).q, 0.3)
    system = System.from_lagrangian(  # friction of the ring on a turning rod: Udwadia and Kalaba's C
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.sumsqr(q) - 4,
        non_ideal=lambda q, v, t: -0.4 * v * ca.sumsqr(v),
    )
    return moving(system, np.array([1.2, -1.6]))


def pendulum(length: float = 2.0, g: float = 9.81) -> System:
    return System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: 0.7 * ca.sumsqr(v) / 2 - 0.7 * g * q[1],
        holonomic=lambda q, t: ca.sumsqr(q) - length**2,
        name="pendulum",
        coordinate_names=("x", "y"),
    )


class Nonlinear:
    """ẋ of the nonlinear motion as a function of (x, u, t): Newton onto the constraints, then forward dynamics."""

    def __init__(self, state: State, model: LinearSystem, coordinates: str) -> None:
        self.system, self.q, self.v, self.u, self.t = state
        self.model = model
        self.chart: Parametrization = parametrize(self.system, self.q, self.v, self.t, coordinates)
        self.x = np.concatenate(self.chart.to_independent(self.q, self.v))
        self.split = len(self.chart.names)

    def __call__(self, x: Array, u: Array, t: float) -> Array:
        s, m = self.system, self.model
        q, v = self.chart.to_full(x[: self.split], x[self.split :], guess=self.q, t=t)
        a = s.forward_dynamics(q, v, u, t).a
        y_rate = m.coordinate_rows @ s.coordinate_rate(q, v)
        if m.velocity_rows is not None:
            return np.concatenate([y_rate, m.velocity_rows @ a])
        e = s.equations
        spin = s.compiled.named("spin", lambda: {"x": ca.jtimes(e.rate, e.q, e.rate)})(s.pack(q, v))
        return np.concatenate([y_rate, m.coordinate_rows @ (s.coordinate_rate(q, a) + spin)])

    def differences(self, step: float) -> Array:
        """Columns ∂/∂x, ∂/∂u, ∂/∂t by central differences."""
        n, nu = len(self.x), len(self.u)
        point = np.concatenate([self.x, self.u, [self.t]])
        columns = []
        for e in step * np.eye(n + nu + 1):
            ahead, behind = point + e, point - e
            difference = self(ahead[:n], ahead[n:-1], ahead[-1]) - self(behind[:n], behind[n:-1], behind[-1])
            columns.append(difference / (2 * step))
        return np.array(columns).T

    def extrapolated(self, step: float = 2e-3) -> Array:
        """The same by Richardson extrapolation, of order four."""
        return (4 * self.differences(step / 2) - self.differences(step)) / 3


def assert_exact(state: State, coordinates: str) -> None:
    system, q, v, u, t = state
    model = linearize_at(system, q, v, u, t=t, coordinates=coordinates)
    reference = Nonlinear(state, model, coordinates)
    exact = np.column_stack([model.A, model.B, model.E])
    scale = np.abs(exact).max()
    assert_allclose(reference.extrapolated() / scale, exact / scale, atol=1e-9)
    assert_allclose(reference(reference.x, u, t), model.affine, atol=1e-11 * scale)


# --- exactness -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_shipped_mechanisms_against_differences(name: str) -> None:
    assert_exact(shipped(name), "partition")


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space"])
@pytest.mark.parametrize("kind", LOOPS)
def test_random_loops_against_differences(kind: str, coordinates: str) -> None:
    assert_exact(looped(kind), coordinates)


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space"])
@pytest.mark.parametrize("kind", ["driven", "skate", "friction"])
def test_own_equations_against_differences(kind: str, coordinates: str) -> None:
    assert_exact(own(kind), coordinates)


def test_recursion_is_the_mass_matrix_times_acceleration() -> None:
    mechanism = random_tree(5).mechanism
    system = System(mechanism)
    e, a = system.equations, ca.SX.sym("a", system.nv)
    both = [inverse_dynamics_force(e.tree, e.q, e.v, a), e.mass_matrix @ a + e.bias_force]
    function = ca.Function("both", [e.q, e.v, a], both)
    rng = np.random.default_rng(0)
    q = system.normalized(rng.standard_normal(system.nq))
    one, two = function(q, rng.standard_normal(system.nv), rng.standard_normal(system.nv))
    assert_allclose(np.array(one), np.array(two), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("kind", ["redundant", "bricard free"])
def test_any_multipliers_of_the_constraint_force_give_the_same_model(kind: str) -> None:
    system, q, v, u, t = looped(kind) if kind in LOOPS else shipped(kind)
    solved = system.forward_dynamics(q, v, u, t)
    jacobian = system.constraint_jacobian(q, v, t)
    left, _, _ = np.linalg.svd(jacobian)
    spare = left[:, solved.rank :] @ np.random.default_rng(1).standard_normal(system.nc - solved.rank)
    assert np.linalg.norm(spare) > 0.1
    model = linearize_at(system, q, v, u)
    rows = np.eye(system.nv)[list(model.coordinate_indices)]
    chart = Chart(rows, model.coordinate_rows, None, solved.rank, solved.rank, system.nh)
    x = system.pack(q, v, u, t)
    one, two = (
        reduce(derivatives(system, x, solved.a, multipliers), chart, v).matrix
        for multipliers in (solved.multipliers, solved.multipliers + 100.0 * spare)
    )
    assert_allclose(two, one, atol=1e-10 * np.abs(one).max())


def test_models_that_mean_the_same_agree() -> None:
    """Bricard's linkage as a tree with one closure and as five free bodies: two states, the same eigenvalues."""
    module = load_example("bricard")
    models = []
    for free in (False, True):
        system = System(module.build(free))
        v = system.project_velocity(system.neutral(), np.eye(system.nv)[0])
        rest = linearize_at(system, system.neutral())
        assert rest.A.shape == (2, 2)
        assert linearize_at(system, system.neutral(), v).A.shape == (2, 2)
        models.append(rest)
    hinge = linearize_at(models[0].system, models[0].q, coordinates=["hinge1"])
    free = linearize_at(models[1].system, models[1].q, coordinates=["rod1_free.wy"])
    assert_allclose(free.A, hinge.A, atol=1e-11 * np.abs(hinge.A).max())
    assert_allclose(free.affine, hinge.affine, atol=1e-11 * np.abs(hinge.affine).max())


# --- closed forms --------------------------------------------------------------------------------------


def test_pendulum_in_cartesian_coordinates() -> None:
    model = linearize(pendulum(), [0.0, -2.0])
    assert model.names == ("x", "x.rate")
    assert_allclose(model.A, [[0.0, 1.0], [-9.81 / 2, 0.0]], atol=1e-12)
    assert_allclose(model.natural_frequencies, np.sqrt(9.81 / 2), atol=1e-12)
    assert_allclose(model.damping_ratios, 0.0, atol=1e-12)
    up = linearize(pendulum(), [0.0, 2.0])
    assert_allclose(up.eigenvalues.real, [-np.sqrt(9.81 / 2), np.sqrt(9.81 / 2)], atol=1e-12)
    assert not up.stable


def test_rod_pendulum_as_free_body() -> None:
    """A uniform rod on a point closure: ω² = 3 g / (2 l), and a slow turn about its own axis."""
    mechanism = Mechanism("rod")
    mechanism.add_body("rod", 2.0, inertia=(2.0 * 1.2**2 / 12, 2.0 * 1.2**2 / 12, 0.01))
    mechanism.add_joint("rod", "free", "world", "rod")
    mechanism.add_closure("pivot", "point", "world", "rod", pose2=(0, 0, 0.6))
    system = System(mechanism)
    model = linearize(system, system.assemble([0, 0, -0.6, 1, 0, 0, 0]).q)
    assert model.A.shape == (6, 6)
    assert_allclose(model.natural_frequencies, [0.0] * 2 + [np.sqrt(1.5 * 9.81 / 1.2)] * 4, atol=1e-7)


def four_bar() -> System:
    """Crank, coupler and rocker of a planar four-bar, closed by a joint in space (redundant rows)."""
    mechanism = Mechanism("four_bar", gravity=(0.0, -9.81, 0.0))
    for name, length, parent, place in (
        ("crank", 0.4, "world", (0, 0, 0)), ("coupler", 1.1, "crank", (0.4, 0, 0)), ("rocker", 0.8, "world", (1, 0, 0)),
    ):  # fmt: skip
        moment = length**3 / 12
        mechanism.add_body(name, length, com=(length / 2, 0, 0), inertia=(1e-3, moment, moment))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 0, 1), parent_pose=place)
    mechanism.add_closure(
        "pin", "revolute", "coupler", "rocker", pose1=(1.1, 0, 0), pose2=(0.8, 0, 0), axis=(0, 0, 1)
    )
    return System(mechanism)


def test_four_bar_is_two_by_two_and_obeys_rayleigh() -> None:
    """ω² is the curvature of the potential over the inertia along the one motion, both by differences."""
    system = four_bar()
    rest = equilibrium(system, system.assemble([-1.0, 1.0, -1.5]).q, stable=True)
    for name in system.velocity_names:
        model = linearize(system, rest.q, coordinates=[name])
        assert model.A.shape == (2, 2)
        chart = parametrize(system, rest.q, coordinates=[name])
        energy = [
            system.potential_energy(chart.to_full(chart.y0 + h)[0]) for h in (-2e-3, -1e-3, 0, 1e-3, 2e-3)
        ]
        curvature = np.dot([-1, 16, -30, 16, -1], energy) / 12e-6
        k = chart.basis(rest.q)[:, 0]
        inertia = k @ system.mass_matrix(rest.q) @ k
        assert_allclose(model.natural_frequencies**2, curvature / inertia, rtol=1e-7)


def test_rolling_disc_falls_below_a_critical_speed() -> None:
    """Upright disc rolling straight: the block of heading rate, tilt and tilt rate has s (s² + κ) = 0."""
    disc = load_example("rolling_disc")
    system = disc.build()
    for part in (0.5, 0.99, 1.01, 2.0):
        spin = part * disc.CRITICAL
        q, v = disc.straight(spin)
        assert_allclose(system.project_velocity(q, v), v, atol=1e-14)
        for coordinates in ("partition", ["heading", "tilt", "spin"]):
            model = linearize_at(system, q, v, coordinates=coordinates)
            assert model.A.shape == (8, 8)
            squared = disc.stiffness(spin)
            assert np.abs(model.eigenvalues**2 + squared).min() < 1e-9 * abs(squared)
            assert (model.eigenvalues.real.max() > 1e-3) == (part < 1.0)
            lean = [model.names.index(name) for name in disc.BLOCK]
            others = [
                k for k in range(8) if k not in lean
            ]  # the block is closed in itself: nothing else enters
            assert_allclose(model.A[np.ix_(lean, others)], 0.0, atol=1e-12)
            assert_allclose(np.poly(disc.block(model)), [1.0, 0.0, squared, 0.0], atol=1e-11)


def test_massless_link_and_applied_force() -> None:
    """A spring pulls on a massless slider that a constraint ties to a mass; a constant force shifts the rest."""
    system = System.from_equations(
        nq=2,
        mass_matrix=lambda q: ca.diag(ca.vertcat(2.0, 0.0)),
        bias=lambda q, v: ca.vertcat(0, 8.0 * q[1] + 0.4 * v[1]),
        holonomic=lambda q, t: q[0] - q[1],
        name="slider",
    )
    model = linearize(system, [0.5, 0.5], tau=[1.0, 3.0])
    assert_allclose(model.natural_frequencies, 2.0, rtol=1e-12)
    assert_allclose(model.damping_ratios, 0.4 / (2 * 2.0 * 2.0), rtol=1e-12)
    with pytest.raises(ArgumentError, match="accelerates by -2"):
        linearize(system, [0.5, 0.5])


# --- invariance ----------------------------------------------------------------------------------------


def sorted_eigenvalues(matrix: Array, count: int) -> np.ndarray:
    """The ``count`` largest eigenvalues, in an order that rounding does not change."""
    values = np.linalg.eigvals(matrix)
    values = values[np.argsort(-np.abs(values))][:count]
    return values[np.lexsort((np.round(values.imag, 6), np.round(values.real, 6)))]


@pytest.mark.parametrize("name", ["front_loader", "five_bar", "quadruped"])
def test_eigenvalues_do_not_depend_on_the_coordinates(name: str) -> None:
    system, q, _, _, _ = shipped(name)
    rest = equilibrium(system, q, hold=True, within_limits=False)
    models = [
        linearize(system, rest.q, rest.u, coordinates=c) for c in ("partition", "tangent-space", "null-space")
    ]
    n = len(models[0].names)
    expected = sorted_eigenvalues(models[0].A, n)
    for model in models:
        scale = np.abs(expected).max()
        assert_allclose(sorted_eigenvalues(model.A, n) / scale, expected / scale, atol=1e-9)
        assert_allclose(sorted_eigenvalues(model.A_full, n) / scale, expected / scale, atol=1e-9)
        assert_allclose(model.A_full, models[0].A_full, atol=1e-9 * np.abs(model.A_full).max())
        rest_of_them = np.sort(np.abs(np.linalg.eigvals(model.A_full)))[: 2 * system.nv - n]
        assert_allclose(rest_of_them / scale, 0.0, atol=1e-7)


def test_models_in_two_charts_are_one_up_to_the_change_of_coordinates() -> None:
    """x₂ = T x₁ at rest: A₂ T = T A₁, B₂ = T B₁, also for rows C of the same outputs."""
    system, q, _, _, _ = shipped("three_leg_platform")
    rest = equilibrium(system, q, hold=True, within_limits=False)
    outputs = [system.coordinate_names[0], f"{system.velocity_names[-1]}.rate"]
    one = linearize(system, rest.q, rest.u, outputs=outputs)
    two = linearize(system, rest.q, rest.u, coordinates="tangent-space", outputs=outputs)
    change = np.linalg.lstsq(two.tangent, one.tangent, rcond=None)[0]
    assert_allclose(two.tangent @ change, one.tangent, atol=1e-12)
    scale = np.abs(two.A).max()
    assert_allclose(two.A @ change, change @ one.A, atol=1e-11 * scale)
    assert_allclose(two.B, change @ one.B, atol=1e-11 * scale)
    assert_allclose(two.C @ change, one.C, atol=1e-12)


def test_small_free_motion_is_linear() -> None:
    """The difference from the nonlinear simulation falls with the square of the amplitude."""
    system, q, _, _, _ = shipped("five_bar")
    rest = equilibrium(system, q, stable=True)
    model = linearize(system, rest.q)
    chart = parametrize(system, rest.q)
    direction = np.array([0.7, -0.4, 0.3, 0.5])
    errors = []
    for size in (2e-4, 1e-4):
        start = chart.to_full(chart.y0 + size * direction[:2], size * direction[2:])
        assert_allclose(model.deviation(*start), size * direction, atol=1e-14)
        motion = simulate(system, *start, duration=1.0, dt=1e-3)
        linear = model.discretize(1.0).A @ (size * direction)
        errors.append(np.abs(model.deviation(motion.q[-1], motion.v[-1]) - linear).max() / size)
    assert errors[1] < 1e-3
    assert_allclose(errors[0] / errors[1], 2.0, rtol=errors[0])  # the next power of the amplitude
