"""Places of rest, the inputs that hold a position, and stability, against closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.analysis.configurations.equilibrium import equilibrium
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.model.derivatives import stiffness_times
from test_redundancy import CLOSURES, closed, four_bar
from test_singular import Parallelogram, RedundantParallelArm

G = 9.81
MASS, ARM = 2.0, 0.7


def pendulum(**joint) -> sr.Mechanism:
    """Return a pendulum in the x-z plane, horizontal at zero, with a motor of at most 10 N m."""
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("bob", MASS, com=(ARM, 0, 0), inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("hinge", "revolute", "world", "bob", axis=(0, -1, 0), **joint)
    mechanism.add_actuator("motor", "hinge", limits=(-10, 10))
    return mechanism


def check(system: sr.System, found, tau: np.ndarray | None = None) -> None:
    """Check that nothing accelerates and that the multipliers carry what the forces leave."""
    rest = np.zeros(system.nv)
    forward = system.forward_dynamics(found.q, rest, found.u, tau=tau)
    assert np.abs(forward.a).max() < 1e-7
    balance = system.passive_force(found.q, rest) + system.actuation_matrix(found.q) @ found.u
    balance = balance - system.bias_force(found.q, rest) + (0.0 if tau is None else tau)
    balance = balance + system.constraint_jacobian(found.q).T @ found.multipliers
    assert np.abs(balance).max() < 1e-8
    assert np.abs(system.constraint_residual(found.q)).max(initial=0.0) < 1e-12


# --- one degree of freedom ------------------------------------------------------------------------


def test_pendulum_rests_above_or_below():
    system = sr.System(pendulum())
    for start, angle, stable in ((1.2, np.pi / 2, False), (-1.2, -np.pi / 2, True)):
        found = equilibrium(system, [start])
        check(system, found)
        assert found.q[0] == pytest.approx(angle, abs=1e-12)
        assert (found.stable, found.status, found.dof) == (stable, sr.Status.OK, 1)
        assert found.eigenvalues[0] == pytest.approx(MASS * G * ARM * (1 if stable else -1), rel=1e-12)
    found = equilibrium(system, [1.5], stable=True)
    assert found.q[0] == pytest.approx(-np.pi / 2, abs=1e-9)
    # A descent leaves the top even where nothing pushes.
    found = equilibrium(system, [np.pi / 2], stable=True)
    assert np.cos(found.q[0]) == pytest.approx(0.0, abs=1e-9)
    assert found.stable


def test_constant_torque_turns_the_place_of_rest():
    """u = m g l cos q."""
    system = sr.System(pendulum())
    found = equilibrium(system, [-1.2], [3.0])
    check(system, found)
    assert found.q[0] == pytest.approx(-np.arccos(3.0 / (MASS * G * ARM)), abs=1e-12)
    assert equilibrium(system, [-1.2], tau=[3.0]).q[0] == pytest.approx(found.q[0], abs=1e-12)
    limited = equilibrium(system, [-1.2], [20.0])
    assert limited.q[0] == pytest.approx(-np.arccos(10.0 / (MASS * G * ARM)), abs=1e-12)
    mechanism = pendulum()
    mechanism.actuators.clear()
    mechanism.add_actuator("motor", "hinge")
    strong = sr.System(mechanism)
    with pytest.raises(
        SolveError, match=r"pendulum: no equilibrium found; a generalized force of 6\.27"
    ) as caught:
        equilibrium(strong, [-1.2], [20.0])
    result = equilibrium(strong, [-1.2], [20.0], throw=False)
    assert (result.status, result.stable) == (sr.Status.NOT_ACHIEVABLE, None)
    assert result.residual == pytest.approx(20.0 - MASS * G * ARM, rel=1e-6)
    assert caught.value.result.residual == result.residual


@pytest.mark.parametrize(("stiffness", "stable"), [(12.0, False), (15.0, True)])
def test_upright_pendulum_on_a_torsion_spring(stiffness, stable):
    """It stands while k > m g l = 13.734."""
    system = sr.System(pendulum(stiffness=stiffness, spring_reference=np.pi / 2))
    found = equilibrium(system, [np.pi / 2 + 0.01])
    assert found.q[0] == pytest.approx(np.pi / 2, abs=1e-10)
    assert found.eigenvalues[0] == pytest.approx(stiffness - MASS * G * ARM, rel=1e-10)
    assert found.stable is stable


def test_mass_on_a_spring_hangs_lower():
    mechanism = sr.Mechanism("hanging")
    mechanism.add_body("mass", 2.0)
    mechanism.add_joint("slide", "prismatic", "world", "mass", stiffness=50.0, damping=3.0)
    found = equilibrium(sr.System(mechanism), [0.3])
    assert found.q[0] == pytest.approx(-2.0 * G / 50.0, abs=1e-14)
    assert np.allclose(found.eigenvalues, [50.0], rtol=1e-14)
    assert found.stable


# --- loops ----------------------------------------------------------------------------------------


def test_stiffness_of_a_constraint_is_not_dropped(example):
    """A particle of 1 kg on a circle of 1 m, in x and y: K = λ-curvature alone = m g / L."""
    system = sr.System(example("particle_on_circle").build())
    for start, sign in (([0.6, -0.8], 1.0), ([0.6, 0.8], -1.0)):
        found = equilibrium(system, start)
        check(system, found)
        assert np.allclose(found.q, [0.0, -sign], rtol=0, atol=1e-12)
        assert np.allclose(found.stiffness, [[sign * G]], rtol=1e-12)
        assert found.stable is (sign > 0)


@pytest.mark.parametrize(("n", "kappa"), [(1, 11.772), (2, 11.445), (5, 11.211428571428571429)])
def test_chain_hangs_with_the_frequency_of_its_pendulum(example, n, kappa):
    """θ″ = κ sin θ from the vertical: stiffness over inertia along the motion is κ below and −κ above."""
    module = example("four_bar_chain")
    system = sr.System(module.build(n))
    _, v = module.start(system)
    for angle, sign in ((0.4, -1.0), (2.8, 1.0)):
        found = equilibrium(system, angle * v)
        check(system, found)
        inertia = found.motions.T @ system.mass_matrix(found.q) @ found.motions
        assert found.q[0] == pytest.approx(0.0 if sign < 0 else np.pi, abs=1e-11)
        assert found.stiffness[0, 0] / inertia[0, 0] == pytest.approx(sign * kappa, rel=1e-11)
    found = equilibrium(system, 1.2 * v, stable=True)
    assert found.stable
    assert np.sin(found.q[0]) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", CLOSURES)
def test_redundant_closures_rest_where_the_minimal_one_does(kind):
    base = equilibrium(sr.System(four_bar("point_on_line")), closed(sr.System(four_bar("point_on_line"))))
    system = sr.System(four_bar(kind))
    found = equilibrium(system, closed(system))
    check(system, found)
    assert np.allclose(found.q[:3], base.q, rtol=0, atol=1e-10)
    assert found.stable is base.stable
    scale = np.linalg.norm(found.motions[:3, 0]) ** 2  # the weld has one coordinate more
    assert found.eigenvalues[0] / scale == pytest.approx(base.eigenvalues[0], rel=1e-9)
    # No motion lowers the potential energy to first order, and the second is the stiffness.
    h, z = 1e-3, found.motions[:, 0]
    energies = [
        system.potential_energy(system.assemble(system.move(found.q, s * h * z)).q) for s in (-1, 0, 1)
    ]
    assert (energies[2] - energies[0]) / (2 * h) == pytest.approx(0.0, abs=1e-5)
    assert (energies[2] - 2 * energies[1] + energies[0]) / h**2 == pytest.approx(
        found.eigenvalues[0], rel=1e-4
    )


def test_permanently_redundant_arm():
    case = RedundantParallelArm()
    system = sr.System(case.build())
    found = equilibrium(system, case.state(-1.3)[0])
    check(system, found)
    assert found.q[0] == pytest.approx(-np.pi / 2, abs=1e-11)
    assert found.stable
    assert not found.determined.all()


@pytest.mark.parametrize("seed", range(2))
def test_stiffness_is_the_second_derivative_of_the_energy(seed):
    """Random mechanisms with springs, quaternions and loops, at rest where their energy is least."""
    plan = random_tree(seed, ("revolute", "spherical", "revolute"), damping=False)
    q = random_coordinates(plan)
    system = sr.System(close_loops(plan, q, ("distance", "point_on_plane")))
    found = equilibrium(system, q, stable=True)
    check(system, found)
    assert found.stable
    rng = np.random.default_rng(seed)
    h, rounding = 2e-3, 64 * np.finfo(float).eps * np.abs(system.potential_energy(found.q))
    for _ in range(3):
        x = found.motions @ rng.standard_normal(found.dof)
        x /= np.linalg.norm(x)
        values = [
            system.potential_energy(system.assemble(system.move(found.q, s * h * x)).q)
            for s in (-2, -1, 0, 1, 2)
        ]
        wide, narrow = ((values[2 + k] - 2 * values[2] + values[2 - k]) / (k * h) ** 2 for k in (2, 1))
        y = found.motions.T @ x
        # Of second order: four times smaller at half the width, and so less than the difference of the two.
        assert abs(narrow - y @ found.stiffness @ y) <= abs(wide - narrow) + rounding / h**2


def test_exact_stiffness_against_differences_of_the_force():
    plan = random_tree(5, ("revolute", "spherical", "free"))
    q = random_coordinates(plan)
    system = sr.System(close_loops(plan, q, ("revolute", "distance")))
    rng = np.random.default_rng(1)
    multipliers, x = rng.standard_normal(system.nc), rng.standard_normal(system.nv)

    def force(s: float) -> np.ndarray:
        p, rest = system.move(q, s * x), np.zeros(system.nv)
        load = system.passive_force(p, rest) - system.bias_force(p, rest)
        return load + system.constraint_jacobian(p).T @ multipliers

    expected = -(force(1e-5) - force(-1e-5)) / 2e-5
    found = stiffness_times(system, q, np.zeros(0), multipliers, x)
    assert np.allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("load", "stable"), [(15.0, True), (20.8, True), (20.9, False), (49.0, False)])
def test_ziegler_column_flutters(load, stable):
    """Links of 1 m, masses 2 and 1 kg, springs k = 10 N m/rad, a force P that follows the second link.

    K = [[2k − P, P − k], [−k, k]] in absolute angles, flutter from P = (7/2 − √2) k = 20.858 N (Ziegler 1952).
    """
    k = 10.0
    column = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: (
            1.5 * v[0] ** 2
            + 0.5 * v[1] ** 2
            + v[0] * v[1] * ca.cos(q[0] - q[1])
            - k * q[0] ** 2 / 2
            - k * (q[1] - q[0]) ** 2 / 2
        ),
        generalized_force=lambda q, v, t: ca.vertcat(-load * ca.sin(q[1] - q[0]), 0),
        name="column",
    )
    found = equilibrium(column, [0.05, -0.02])
    assert np.abs(found.q).max() < 1e-12
    expected = np.array([[2 * k - load, load - k], [-k, k]])
    stiffness = found.motions @ found.stiffness @ found.motions.T
    assert np.allclose(stiffness, expected, rtol=0, atol=1e-11)
    assert np.iscomplexobj(found.eigenvalues)  # K alone does not tell
    assert found.stable is stable


# --- holding --------------------------------------------------------------------------------------


def test_cylinders_of_the_stewart_platform(example):
    module = example("stewart")
    system = sr.System(module.build())
    found = equilibrium(system, module.configuration(module.POSE), hold=True)
    check(system, found)
    assert np.abs(found.u - module.PUSH).max() < 1e-11
    assert found.status is sr.Status.OK
    assert found.stable is False  # forces of constant size do not hold it against a disturbance
    flat = module.configuration(sr.Pose.of((0, 0, 1), rpy=(0, 0, np.pi / 2)))
    with pytest.raises(SolveError, match="the actuators cannot hold it"):
        equilibrium(system, flat, hold=True, tau=np.eye(system.nv)[5])


def test_holding_within_limits():
    """Two motors of 10 and 5 N m on one hinge share 13.734 N m as 4 to 1, which least (u₁/10)² + (u₂/5)² gives; the
    stronger one at its limit."""
    mechanism = pendulum()
    mechanism.add_actuator("second", "hinge", limits=(-5, 5))
    system = sr.System(mechanism)
    found = equilibrium(system, [0.0], hold=True)
    assert np.allclose(found.u, [10.0, MASS * G * ARM - 10.0], rtol=0, atol=1e-9)
    free = equilibrium(system, [0.0], hold=True, within_limits=False)
    assert np.allclose(free.u, MASS * G * ARM * np.array([0.8, 0.2]), rtol=0, atol=1e-12)
    weak = sr.System(pendulum())
    held = equilibrium(weak, [0.0], hold=True, throw=False)
    assert (held.u, held.status) == ([10.0], sr.Status.NOT_ACHIEVABLE)
    assert held.residual == pytest.approx(MASS * G * ARM - 10.0, rel=1e-9)
    assert equilibrium(weak, [0.0], hold=True, within_limits=False).status is sr.Status.OK


def test_a_held_robot_stays(example):
    module = example("three_leg_platform")
    system = sr.System(module.build())
    q = module.pose(system, 0.05, -0.03, 0.2)
    found = equilibrium(system, q, hold=True)
    check(system, found)
    assert np.allclose(found.u, system.inverse_dynamics(q, np.zeros(9), np.zeros(9)).u, rtol=0, atol=1e-10)
    # With these torques q is where the search for rest stays.
    assert np.abs(equilibrium(system, q, found.u).q - q).max() < 1e-9


# --- what is not determined -----------------------------------------------------------------------


def test_rest_in_a_singular_configuration():
    """The flat parallelogram without gravity rests; stiffness does not tell whether it stays."""
    mechanism = Parallelogram.build()
    mechanism.gravity = (0.0, 0.0, 0.0)
    found = equilibrium(sr.System(mechanism), np.zeros(3))
    assert (found.status, found.stable, found.dof) == (sr.Status.SINGULAR, None, 2)
    # With gravity it slides off to a place where it can rest.
    heavy = sr.System(Parallelogram.build())
    found = equilibrium(heavy, np.zeros(3), stable=True)
    check(heavy, found)
    assert (found.status, found.stable) == (sr.Status.OK, True)


def test_neutral_motions_are_counted():
    mechanism = pendulum()
    mechanism.add_body("wheel", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("axle", "revolute", "bob", "wheel", axis=(0, -1, 0), parent_pose=(ARM, 0, 0))
    found = equilibrium(sr.System(mechanism), [-1.5, 0.4])
    assert (found.stable, found.neutral) == (None, 1)
    assert found.eigenvalues[1] > 1.0


def test_nonholonomic_rows_carry_force():
    """A blade on a slope heading across it rests anywhere; heading down it does not."""
    blade = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 + 3.0 * q[0],
        velocity=lambda q, v, t: v[0] * ca.sin(q[2]) - v[1] * ca.cos(q[2]),
        name="blade",
    )
    found = equilibrium(blade, [0.4, -0.3, 1.2])
    assert np.cos(found.q[2]) == pytest.approx(0.0, abs=1e-10)
    assert np.allclose(found.q[:2], [0.4, -0.3], rtol=0, atol=0.02)
    assert np.abs(found.multipliers) == pytest.approx([3.0], rel=1e-10)


def test_errors():
    system = sr.System(pendulum())
    with pytest.raises(ArgumentError, match="hold=True computes u for the given q"):
        equilibrium(system, [0.0], [1.0], hold=True)
    with pytest.raises(ArgumentError, match="has no actuators to hold it"):
        equilibrium(sr.System(four_bar("point")), closed(sr.System(four_bar("point"))), hold=True)
    with pytest.raises(ArgumentError, match=r"u must have 1 entries \(motor\)"):
        equilibrium(system, [0.0], [1.0, 2.0])
    moving = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: q[0] - t, name="moving"
    )
    with pytest.raises(SolveError, match=r"moving: the constraint .* moves at t = 1"):
        equilibrium(moving, [1.0, 0.0], t=1.0)
    with pytest.raises(ArgumentError, match="leaves the loops open"):
        equilibrium(sr.System(four_bar("point")), [0.0, 0.0, 0.0])
