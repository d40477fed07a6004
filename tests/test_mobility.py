"""Mobility: redundancy told apart from singular configurations, and the branches through these."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.analysis.mobility.mobility import mobility
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.closing.manifold import second_derivatives
from sarrus.dynamics.model.derivatives import row_gradient
from test_redundancy import CLOSURES, closed, four_bar
from test_singular import Parallelogram, rod_chain


def on(nq: int, holonomic) -> sr.System:
    """Return a particle of nq coordinates on the zeros of a function."""
    return sr.System.from_lagrangian(
        nq=nq, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: holonomic(q)
    )


def same_line(one: np.ndarray, two: np.ndarray) -> bool:
    one, two = one / np.linalg.norm(one), two / np.linalg.norm(two)
    return bool(abs(abs(one @ two) - 1.0) < 1e-9)


# --- permanent redundancy -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLOSURES)
def test_dead_rows_are_redundant_and_not_singular(kind):
    system = sr.System(four_bar(kind))
    rank, redundant = CLOSURES[kind]
    found = mobility(system, closed(system))
    assert (found.status, found.dof, found.rank) == (sr.Status.OK, 1, rank)
    assert (found.generic_dof, found.finite_dof, found.branches) == (1, 1, ())
    assert found.redundant == redundant
    assert found.redundant_closures == (("pin",) if redundant else ())
    assert [n for n, sure in zip(system.constraint_names, found.determined) if not sure] == list(redundant)
    jacobian = system.constraint_jacobian(found.q)
    assert np.abs(jacobian @ found.motions).max() < 1e-14
    assert found.independent == ("crank",)
    assert found.motions[0, 0] == pytest.approx(1.0, abs=1e-15)
    assert np.allclose(found.singular_values, np.linalg.svd(jacobian, compute_uv=False), rtol=0, atol=1e-14)
    assert found.internal_motions == ()


@pytest.mark.parametrize("theta", [0.5, 1.0, 2.0])
def test_bennett_moves_though_it_should_not(example, theta):
    module = example("bennett")
    found = mobility(sr.System(module.build("weld")), module.closed(theta, 4))
    assert (found.status, found.rank, found.dof, found.finite_dof) == (sr.Status.OK, 3, 1, 1)
    assert found.gap > 1e10
    # θ₃ = −θ₁, θ₄ = −θ₂, and dθ₂/dθ₁ from the constant product of the half-angle tangents.
    slope = -np.sin(module.closed(theta, 4)[1]) / np.sin(theta)
    assert np.allclose(found.motions[:, 0], [1.0, slope, -1.0, -slope], rtol=0, atol=1e-12)


def test_bricard_as_tree_and_as_free_bodies(example):
    module = example("bricard")
    tree = mobility(sr.System(module.build()), sr.System(module.build()).neutral())
    assert (tree.status, tree.rank, tree.dof) == (sr.Status.OK, 4, 1)
    loose = sr.System(module.build(free=True))
    found = mobility(loose, loose.neutral())
    assert (found.status, loose.nc, found.rank, found.dof, found.finite_dof) == (sr.Status.OK, 30, 29, 1, 1)
    assert not found.branches
    assert len(found.redundant_closures) == 6


def test_printed_digits_split_no_redundancy():
    """A second pin 1e-8 beside the first one."""
    mechanism = four_bar("point_on_line")
    ends = {"pose1": (0.9 + 1e-8, 0, 0), "pose2": (0.8, 0, 0)}
    mechanism.add_closure("twin", "point_on_line", "coupler", "rocker", axis=(0, 1, 0), **ends)
    system = sr.System(mechanism)
    found = mobility(system, closed(system))
    assert (found.status, found.rank, found.dof) == (sr.Status.OK, 2, 1)
    assert 1e-10 < found.residual < 1e-7
    assert found.redundant_closures == ("pin", "twin")


@pytest.mark.parametrize("seed", range(3))
def test_random_mechanisms_agree_with_forward_dynamics(seed):
    plan = random_tree(seed, ("revolute", "spherical", "free", "universal"), forces=False)
    q = random_coordinates(plan)
    system = sr.System(close_loops(plan, q, ("weld", "revolute", "point_on_line")))
    found = mobility(system, q)
    forward = system.forward_dynamics(found.q, np.zeros(system.nv))
    assert (found.rank, found.status) == (forward.rank, forward.status)
    assert found.redundant == forward.redundant
    assert found.motions.shape == (system.nv, found.dof)
    rows = [system.velocity_names.index(name) for name in found.independent]
    assert np.allclose(found.motions[rows], np.eye(found.dof), rtol=0, atol=1e-12)
    assert np.abs(system.constraint_jacobian(found.q) @ found.motions).max(initial=0.0) < 1e-10


# --- singular configurations ----------------------------------------------------------------------


def test_flat_parallelogram_has_two_branches():
    """Cranks of 1 m at 1.5 m: parallel (1, −1, 1), or crossed: Ω = −4 ω, ω₂ = −5 ω."""
    system = sr.System(Parallelogram.build())
    found = mobility(system, np.zeros(3))
    assert (found.status, found.rank, found.dof) == (sr.Status.SINGULAR, 1, 2)
    assert (found.generic_rank, found.generic_dof, found.finite_dof) == (2, 1, 1)
    assert found.singular_closures == ("coupler_right",)
    assert found.redundant == ()
    assert found.complete
    assert [(b.dof, b.rank, b.sides, b.cone) for b in found.branches] == [(1, 2, 2, False)] * 2
    for expected in ([1.0, -1.0, 1.0], [1.0, -5.0, -5.0]):
        assert sum(same_line(b.tangents[:, 0], np.array(expected)) for b in found.branches) == 1
    for branch in found.branches:
        assert np.abs(system.constraint_residual(branch.q)).max() < 1e-12
        assert mobility(system, branch.q).status is sr.Status.OK


@pytest.mark.parametrize("distance", [1e-2, 1e-3, 1e-4])
def test_beside_the_flat_parallelogram_the_status_is_ok(distance):
    system = sr.System(Parallelogram.build())
    found = mobility(system, distance * Parallelogram.tangent)
    assert (found.status, found.rank) == (sr.Status.OK, 2)
    far = mobility(system, 2e-2 * Parallelogram.tangent)
    assert found.singular_values[1] / far.singular_values[1] == pytest.approx(
        distance / 2e-2, rel=2e-2**2
    )  # of first order in the distance, even or odd


@pytest.mark.parametrize("n", [1, 2, 4])
def test_flat_chain_has_n_plus_1_branches(example, n):
    """Cell k needs ω₍ₖ₋₁₎ (ω₍ₖ₋₁₎ − ωₖ) = 0: cranks rest up to one of them, and turn alike from there on."""
    module = example("four_bar_chain")
    system = sr.System(module.build(n))
    _, v = module.start(system)
    found = mobility(system, 0.5 * np.pi * v)
    assert (found.status, found.dof, found.generic_rank, found.finite_dof) == (
        sr.Status.SINGULAR,
        n + 1,
        2 * n,
        1,
    )
    assert found.singular_closures == tuple(f"pin{k}" for k in range(1, n + 1))
    cranks = [system.velocity_names.index(f"crank{k}") for k in range(n + 1)]
    rates = {
        tuple(np.abs(b.tangents[cranks, 0] / b.tangents[cranks[-1], 0]).round(4)) for b in found.branches
    }
    assert rates == {tuple(float(j >= k) for j in range(n + 1)) for k in range(n + 1)}
    # Where k cranks rest, k − 1 cells stay flat and keep a dependent row.
    assert sorted(b.rank for b in found.branches) == sorted(2 * n - max(k - 1, 0) for k in range(n + 1))


def test_collinear_five_bar_is_the_tip_of_a_cone(example):
    module = example("five_bar")
    found = mobility(sr.System(module.build()), module.COLLINEAR)
    assert (found.status, found.dof, found.generic_dof, found.finite_dof) == (sr.Status.SINGULAR, 3, 2, 2)
    assert [(b.cone, b.dof, b.rank) for b in found.branches] == [(True, 2, 2)]


def test_three_pins_on_a_line_are_isolated():
    """Two bars stretched between pivots as far apart as they are long: an infinitesimal motion, no finite one."""
    mechanism = rod_chain("stretched", [("one", "world", 0.0, 1.0), ("two", "one", 1.0, 0.5)])
    mechanism.add_closure("end", "point_on_line", "world", "two", pose1=(1.5, 0, 0), pose2=(0.5, 0, 0))
    found = mobility(sr.System(mechanism), np.zeros(2))
    assert (found.status, found.dof, found.finite_dof) == (sr.Status.RIGID, 1, 0)
    assert (found.branches, found.complete) == ((), True)
    assert "isolated" in str(found)


def test_a_shaky_linkage_is_neither_singular_nor_twice_as_free(example):
    """One cell of the chain stays flat while the other turns: rank 3 of 4 all along, yet one real motion."""
    system = sr.System(example("four_bar_chain").build(2))
    flat = np.pi / 2
    angles = {"crank0": flat, "coupler1": -flat, "crank1": flat, "coupler2": 0.4 - np.pi, "crank2": 0.4}
    q = [angles[name] for name in system.coordinate_names]
    found = mobility(system, q)
    assert (found.status, found.dof, found.generic_dof, found.finite_dof) == (sr.Status.OK, 2, 2, 1)
    assert found.shaky
    assert "1 finite, 1 infinitesimal" in str(found)
    assert [(b.dof, b.rank) for b in found.branches] == [(1, 3)]


ALGEBRAIC = {
    "crossing lines": (2, lambda q: q[0] * q[1], 2, [1, 1]),
    "isolated point": (2, lambda q: q[0] ** 2 + q[1] ** 2, 2, []),
    "double line": (2, lambda q: q[1] ** 2, 2, [1]),
    "cusp": (2, lambda q: q[1] ** 2 - q[0] ** 3, 2, [1]),
    "touching parabolas": (2, lambda q: q[1] ** 2 - q[0] ** 4, 2, [1]),
    "isolated at fourth order": (2, lambda q: q[1] ** 2 + q[0] ** 4, 2, []),
    "three lines": (2, lambda q: q[0] * (q[0] ** 2 - 3 * q[1] ** 2), 2, [1, 1, 1]),
    "line, without a form": (2, lambda q: q[1] * (q[0] ** 2 + q[1] ** 2), 2, [1]),
    "planes": (3, lambda q: q[0] * q[1], 3, [2, 2]),
    "plane and line": (3, lambda q: ca.vertcat(q[0] * q[1], q[0] * q[2]), 3, [1, 2]),
    "four lines": (3, lambda q: ca.vertcat(q[0] ** 2 - q[1] ** 2, q[0] ** 2 - q[2] ** 2), 3, [1, 1, 1, 1]),
    "cone": (3, lambda q: q[0] ** 2 + q[1] ** 2 - q[2] ** 2, 3, [2]),
}  # fmt: skip


@pytest.mark.parametrize("name", ALGEBRAIC)
def test_algebraic_curves_and_surfaces(name):
    nq, holonomic, dof, branches = ALGEBRAIC[name]
    found = mobility(on(nq, holonomic), np.zeros(nq))
    shaky = name == "double line"
    status = sr.Status.OK if shaky else sr.Status.SINGULAR if branches else sr.Status.RIGID
    assert (found.status, found.dof) == (status, dof)
    assert found.shaky is shaky
    assert sorted(b.dof for b in found.branches) == branches
    assert found.finite_dof == max(branches, default=0)
    assert [b.cone for b in found.branches] == [name == "cone"] * len(branches)
    assert {b.sides for b in found.branches} <= ({1} if name == "cusp" else {2})


def test_smooth_surfaces_are_ok():
    for holonomic in (
        lambda q: q[1] - q[0] ** 2,
        lambda q: ca.vertcat(q[1], 2 * q[1]),
        lambda q: q[1] + 0 * q[0],
    ):
        found = mobility(on(2, holonomic), np.zeros(2))
        assert (found.status, found.dof, found.branches) == (sr.Status.OK, 1, ())


def test_nonholonomic_rows_take_velocities_and_no_configurations():
    """A knife edge at (x, y) with heading q₃."""
    edge = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        velocity=lambda q, v, t: v[0] * ca.sin(q[2]) - v[1] * ca.cos(q[2]),
    )
    found = mobility(edge, [0.3, -0.2, 0.7])
    assert (found.status, found.dof, found.finite_dof, found.rank) == (sr.Status.OK, 2, 3, 1)


def test_a_moving_constraint_counts_at_its_time():
    expanding = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: ca.sumsqr(q) - (1 + t) ** 2
    )
    found = mobility(expanding, [0.0, 3.0], t=2.0)
    assert (found.status, found.dof) == (sr.Status.OK, 1)
    assert same_line(found.motions[:, 0], np.array([1.0, 0.0]))
    with pytest.raises(ArgumentError, match="leaves the loops open by"):
        mobility(expanding, [0.0, 3.0])


# --- internal motions ---------------------------------------------------------------------------------


def spatial_four_bar() -> sr.Mechanism:
    """Crank and rocker joined by a rod with two ball joints; a wheel on the rocker."""
    mechanism = sr.Mechanism("spatial_four_bar")
    for name in ("crank", "rod", "rocker", "wheel"):
        mechanism.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_joint("ball", "spherical", "crank", "rod", parent_pose=(0.3, 0, 0))
    mechanism.add_joint("rocker", "revolute", "world", "rocker", axis=(0, 1, 0), parent_pose=(1, 0.2, 0.1))
    mechanism.add_joint("wheel", "revolute", "rocker", "wheel", axis=(0, 1, 0), parent_pose=(0.1, 0, 0))
    mechanism.add_closure("ball2", "point", "rod", "rocker", pose1=(0, 0, 0.9), pose2=(0.1, 0.2, 0.6))
    return mechanism


def test_spinning_rod_and_free_wheel_are_idle():
    system = sr.System(spatial_four_bar())
    found = mobility(system, system.assemble(system.neutral()).q)
    assert (found.status, found.dof) == (sr.Status.OK, 3)
    assert sorted(motion.bodies for motion in found.internal_motions) == [("rod",), ("wheel",)]
    assert "rod turns alone" in str(found)
    for motion in found.internal_motions:
        far = system.move(found.q, 0.7 * motion.velocity)
        assert np.abs(system.constraint_residual(far)).max() < 1e-12
    spin = next(m.velocity for m in found.internal_motions if m.bodies == ("rod",))
    assert same_line(spin[1:4], np.array([0.0, 0.0, 1.0]))


def test_legs_between_ball_joints_spin_as_one_piece():
    """Two legs of two telescoping halves, ball joints at both ends: the platform turns about the line of its own."""
    mechanism = sr.Mechanism("legs")
    mechanism.add_body("platform", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("platform", "free", "world", "platform", parent_pose=(0, 0, 1))
    for k, x in enumerate((-0.4, 0.5)):
        for half in ("barrel", "rod"):
            mechanism.add_body(f"{half}{k}", 0.2, inertia=(0.01, 0.01, 0.01))
        mechanism.add_joint(f"foot{k}", "spherical", "world", f"barrel{k}", parent_pose=(x, 0.1, 0))
        mechanism.add_joint(f"slide{k}", "prismatic", f"barrel{k}", f"rod{k}")
        mechanism.add_closure(f"head{k}", "point", f"rod{k}", "platform", pose2=(x, 0.1, 0))
    system = sr.System(mechanism)
    guess = system.neutral()
    guess[[11, 16]] = 1.0
    found = mobility(system, system.assemble(guess).q)
    legs = [("barrel0", "rod0"), ("barrel1", "rod1")]
    assert sorted(motion.bodies for motion in found.internal_motions) == [*legs, ("platform",)]
    assert found.dof == 6 + 2


def test_the_motion_of_a_loop_is_not_idle(example):
    for name in ("five_bar", "front_loader"):
        module = example(name)
        system = sr.System(module.build())
        assert mobility(system, system.assemble(system.neutral(), throw=False).q).internal_motions == ()


# --- derivatives ----------------------------------------------------------------------------------


def test_exact_derivatives_of_the_rows():
    """Against central differences along the motion, with quaternions."""
    plan = random_tree(3, ("revolute", "spherical", "free"))
    q = random_coordinates(plan)
    system = sr.System(close_loops(plan, q, ("revolute", "distance", "point")))
    rng = np.random.default_rng(0)
    left, right, x = (
        rng.standard_normal(system.nc),
        rng.standard_normal(system.nv),
        rng.standard_normal(system.nv),
    )
    h = 1e-6

    def product(s: float) -> float:
        return float(left @ system.constraint_jacobian(system.move(q, s * x)) @ right)

    slope = row_gradient(system, q, left, right) @ x
    assert slope == pytest.approx((product(h) - product(-h)) / (2 * h), abs=1e-7)
    bending = second_derivatives(system, q, 0.0, np.column_stack([x, right]))
    assert np.allclose(bending[:, 0, 0], system.constraint_bias(q, x), rtol=0, atol=1e-12)
    both = system.constraint_bias(q, x + right) - system.constraint_bias(q, x - right)
    assert np.allclose(bending[:, 0, 1], both / 4, rtol=0, atol=1e-10)


# --- input and output -----------------------------------------------------------------------------


def test_open_loops_are_an_error_that_says_what_to_do():
    system = sr.System(four_bar("point"))
    with pytest.raises(ArgumentError, match=r"four_bar_point: q leaves the loops open by .*system\.assemble"):
        mobility(system, np.add(closed(system), [0.1, 0.0, 0.0]))
    with pytest.raises(sr.SarrusError, match="q must have 3 entries"):
        mobility(system, [0.0])


def test_table():
    system = sr.System(four_bar("point"))
    lines = str(mobility(system, closed(system))).splitlines()
    text = {line[:20].strip(): line[20:] for line in lines}
    assert text["degrees of freedom"] == "1 of 3 velocities"
    assert text["rows"] == "3 of rank 2"
    assert text["redundant rows"] == "pin.y"
    assert text["motion"].startswith("crank 1, coupler -1.28")
    flat = str(mobility(sr.System(Parallelogram.build()), np.zeros(3)))
    assert "SINGULAR" in flat
    assert "curve, 1 degree of freedom, rank 2: left 1, coupler -1, right 1" in flat


def test_without_constraints_everything_moves():
    system = sr.System(random_tree(0, ("revolute", "spherical")).mechanism)
    found = mobility(system, system.neutral())
    assert (found.status, found.rank, found.dof, found.internal_motions) == (sr.Status.OK, 0, 4, ())
