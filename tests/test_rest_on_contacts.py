"""Rest on contacts with friction, stops and dry friction: where, with which forces, how stable, and why not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from sarrus.dynamics.impacts import activity
from sarrus.dynamics.optimize import Mode, solve_cone_program
from sarrus.dynamics.optimize.cone_rows import friction_cone, stack
from test_time_stepping import G, body, point, run


def check(system: sr.System, found: sr.Equilibrium) -> None:
    """Check that all forces add up to nothing and that each contact obeys Signorini and Coulomb."""
    rest, carried = np.zeros(system.nv), found.contacts
    force = system.passive_force(found.q, rest) + system.input_force(found.q, rest, found.u)
    force = force - system.bias_force(found.q, rest)
    force = force + system.constraint_jacobian(found.q).T @ found.multipliers + carried.force
    assert_allclose(force, 0.0, atol=1e-8 * max(1.0, np.abs(carried.forces).max(initial=0.0)))
    gaps = activity.gaps(system, found.q)
    for touch in system.equations.friction_contacts:
        normal, *tangents = carried[touch.name]
        assert normal >= -1e-10
        assert np.hypot(*tangents[:2]) <= touch.static_coefficient * normal + 1e-8
        assert abs(gaps[touch.name]) < 1e-12 if touch.name in carried.carrying else gaps[touch.name] > -1e-12


def table(legs: object, friction: float = 0.4, com: object = (0, 0, 0)) -> sr.System:
    """Return a block of 2 kg on legs of 1 m that touch at (x, y)."""
    mechanism = sr.Mechanism("table")
    mechanism.add_body("block", 2.0, com=com, inertia=(0.1,) * 3)
    mechanism.add_joint("free", "free", "world", "block")
    for k, (x, y) in enumerate(legs):
        mechanism.add_contact(
            f"leg{k}", "block", (x, y, -1), friction="coulomb", friction_coefficient=friction
        )
    return sr.System(mechanism)


def at_height(system: sr.System, height: float) -> np.ndarray:
    q = system.neutral()
    q[2] = height
    return q


FOUR = ((1, 1), (-1, 1), (-1, -1), (1, -1))


# --- friction -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.3, 1.0 - 1e-6, 1.0 + 1e-6, 1.5])
def test_a_block_on_an_incline_rests_below_the_angle_of_friction(part: float) -> None:
    slope = np.arctan(0.5 * part)
    system = point(0.5, slope=slope)
    found = sr.equilibrium(system, system.neutral(), throw=False)
    assert found.contacts.friction_needed == pytest.approx(part, rel=1e-8)
    if part < 1.0:
        assert found.status is sr.Status.OK
        assert_allclose(found.contacts["c"], 2.0 * G * np.array([np.cos(slope), -np.sin(slope), 0.0]))
        assert found.contacts.determined.all()
        check(system, found)
    else:
        assert found.status is sr.Status.INFEASIBLE
        with pytest.raises(
            sr.SolveError, match=rf"'c' would slide: friction coefficients of {part * 0.5:.4g}"
        ):
            sr.equilibrium(system, system.neutral())


def test_the_static_coefficient_holds_at_rest() -> None:
    system = point(0.2, slope=np.arctan(0.4), static_coefficient=0.5)
    assert sr.equilibrium(system, system.neutral()).contacts.friction_needed == pytest.approx(0.8, rel=1e-8)


@pytest.mark.parametrize("excess", [0.3, 1e-6, -1e-6])
def test_the_limit_angle_of_a_ladder(excess: float) -> None:
    """On a smooth wall it stands for tan θ ≥ 1/(2μ), and pushes on it with W / (2 tan θ)."""
    friction, weight = 0.5, 3.0 * G
    angle = np.arctan(1.0 / (2.0 * friction)) + excess
    mechanism = sr.Mechanism("ladder")
    mechanism.add_body("rod", 3.0, inertia=(0.01, 1.0, 1.0))
    mechanism.add_joint("rod", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_contact("foot", "rod", (-1, 0, 0), friction="coulomb", friction_coefficient=friction)
    mechanism.add_contact(
        "top", "rod", (1, 0, 0), normal=(-1, 0, 0), offset=-np.cos(angle),
        friction="coulomb", friction_coefficient=0.0,
    )  # fmt: skip
    system = sr.System(mechanism)
    q = [0.0, np.sin(angle), angle]
    found = sr.equilibrium(system, q, hold=True, throw=False)
    assert found.contacts.friction_needed == pytest.approx(1.0 / (2.0 * friction * np.tan(angle)), rel=1e-8)
    if excess < 0.0:
        assert (found.status, found.stable) == (sr.Status.INFEASIBLE, None)
        assert "'foot' would slide" in found.contacts.reason
        return
    push = weight / (2.0 * np.tan(angle))
    assert_allclose(found.contacts["foot"][:2], [weight, push], rtol=1e-9)
    assert_allclose(found.contacts["top"], [push, 0.0, 0.0], rtol=1e-9, atol=1e-9)
    assert (found.status, found.stable, found.dof) == (sr.Status.OK, True, 0)
    check(system, found)
    # from a place beside it the ladder comes to rest with both ends on their planes
    beside = sr.equilibrium(system, np.add(q, [0.01, 0.02, 0.005]))
    assert set(beside.contacts.carrying) == {"foot", "top"}
    check(system, beside)


def test_an_arch_of_two_stones_pushes_apart() -> None:
    """Two rods that lean on each other: feet with H = W/(2 tan θ), which needs μ = 1/(2 tan θ)."""
    angle, weight = 1.0, 3.0 * G
    mechanism = sr.Mechanism("arch")
    for k, foot in enumerate(((-1.0, 0, 0), (1.0, 0, 0))):
        mechanism.add_body(f"rod{k}", 3.0, inertia=(0.01, 1.0, 1.0))
        mechanism.add_joint(f"rod{k}", "planar", "world", f"rod{k}", axis=(0, -1, 0), axis2=(1, 0, 0))
        mechanism.add_contact(f"foot{k}", f"rod{k}", foot, friction="coulomb", friction_coefficient=0.5)
    mechanism.add_contact(
        "top", "rod0", (1, 0, 0), ground="rod1", normal=(-np.cos(angle), 0, -np.sin(angle)),
        offset=np.cos(angle), friction="coulomb", friction_coefficient=0.0,
    )  # fmt: skip
    system = sr.System(mechanism)
    q = np.array([-np.cos(angle), np.sin(angle), angle, np.cos(angle), np.sin(angle), -angle])
    found = sr.equilibrium(system, q)
    thrust = weight / (2.0 * np.tan(angle))
    assert_allclose(found.contacts["top"][0], thrust, rtol=1e-9)
    assert_allclose([found.contacts["foot0"][0], found.contacts["foot1"][0]], weight, rtol=1e-9)
    assert found.contacts.friction_needed == pytest.approx(thrust / weight / 0.5, rel=1e-8)
    check(system, found)


def test_a_peg_between_two_jaws() -> None:
    """It may be held by any pressure n ≥ W / 2μ, of which the least is taken, however little friction there is."""
    mechanism = body("peg")
    for name, side in (("left", -1.0), ("right", 1.0)):
        mechanism.add_contact(
            name, "peg", (0.1 * side, 0, 0), normal=(-side, 0, 0), offset=-0.1,
            friction="coulomb", friction_coefficient=0.4, torsion=0.02,
        )  # fmt: skip
    system = sr.System(mechanism)
    found = sr.equilibrium(system, system.neutral())
    for name in ("left", "right"):
        forces = found.contacts[name]
        assert forces[0] == pytest.approx(G / 0.4, rel=1e-9)
        assert np.hypot(*forces[1:3]) == pytest.approx(G, rel=1e-9)
    assert not found.contacts.determined[0]
    assert found.contacts.friction_needed <= 1e-3
    check(system, found)


# --- loads that no one can tell apart ---------------------------------------------------------------------


@pytest.mark.parametrize("com", [(0, 0, 0), (0.3, -0.2, 0.1)])
def test_a_table_on_four_legs(com: tuple[float, ...]) -> None:
    """The normal forces of least norm, which are those of the pseudo-inverse; no single one is determined."""
    system = table(FOUR, com=com)
    found = sr.equilibrium(system, at_height(system, 1.0))
    wrench = np.array([[1.0, x, y] for x, y in FOUR]).T
    least = np.linalg.pinv(wrench) @ (2.0 * G * np.array([1.0, com[0], com[1]]))
    assert_allclose(found.contacts.forces[::3], least, rtol=1e-8)
    assert not found.contacts.determined.any()
    assert (found.stable, found.dof) == (True, 0)
    check(system, found)


def test_three_smooth_legs_are_determined_and_slide() -> None:
    system = table(((1, 0), (-0.5, 1), (-0.5, -1)), friction=0.0)
    found = sr.equilibrium(system, at_height(system, 1.0))
    assert found.contacts.determined.all()
    assert_allclose(found.contacts.forces[::3], 2.0 * G / 3.0, rtol=1e-9)
    assert (found.dof, found.neutral, found.stable) == (3, 3, None)  # it slides and turns about the vertical
    check(system, found)


def test_a_table_whose_load_is_beside_its_legs() -> None:
    """Held there, legs would have to pull, whatever the friction."""
    system = table(FOUR, com=(1.2, 0, 0))
    found = sr.equilibrium(system, at_height(system, 1.0), hold=True, throw=False)
    assert found.status is sr.Status.INFEASIBLE
    assert found.contacts.reason == "'leg1', 'leg2' would have to pull"
    assert found.contacts.friction_needed == np.inf


def test_a_table_comes_down_on_its_legs() -> None:
    system = table(FOUR)
    q = at_height(system, 1.2)
    q[3:] += 0.05 * np.random.default_rng(0).standard_normal(4)
    found = sr.equilibrium(system, q)
    assert found.contacts.carrying == ("leg0", "leg1", "leg2", "leg3")
    assert (found.status, found.stable) == (sr.Status.OK, True)
    check(system, found)
    motion = run(system, found.q, None, 0.05, 1e-3)
    assert np.abs(motion.v[-1]).max() < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_random_contacts_against_a_cone_program(seed: int) -> None:
    """Contacts at random places with random planes, some twice: feasible or not, and the least forces."""
    rng = np.random.default_rng(seed)
    count, mu = int(rng.integers(2, 8)), float(rng.uniform(0.1, 1.5))
    mechanism = body("rock")
    points, frames = [], []
    for k in range(count):
        if k and rng.random() < 0.3:
            points.append(points[-1]), frames.append(frames[-1])
        else:
            points.append(rng.standard_normal(3))
            normal = rng.standard_normal(3) + np.array([0.0, 0.0, 1.0])
            normal /= np.linalg.norm(normal)
            first = np.cross(normal, rng.standard_normal(3))
            first /= np.linalg.norm(first)
            frames.append(np.array([normal, first, np.cross(normal, first)]))
        mechanism.add_contact(
            f"c{k}", "rock", points[-1], normal=frames[-1][0], tangent=frames[-1][1],
            offset=float(frames[-1][0] @ points[-1]), friction="coulomb", friction_coefficient=mu,
        )  # fmt: skip
    system = sr.System(mechanism)
    found = sr.equilibrium(system, system.neutral(), hold=True, throw=False)
    wrenches = [np.vstack([frame.T, np.cross(p, frame).T]) for p, frame in zip(points, frames)]
    every = np.hstack(wrenches)
    cones = [friction_cone(np.eye(3 * count)[3 * k : 3 * k + 3], coefficient=mu) for k in range(count)]
    rows = stack(cones)
    load = np.array([0.0, 0.0, 2.0 * G, 0.0, 0.0, 0.0])
    oracle = solve_cone_program(
        np.eye(3 * count), np.zeros(3 * count), rows.G, rows.h, every, load, cones=rows.cones, throw=False
    )
    assert found.status.ok is oracle.status.ok
    if oracle.status.ok:
        assert_allclose(found.contacts.forces, oracle.x, atol=1e-6 * np.abs(oracle.x).max())
        check(system, found)
    else:
        assert found.contacts.reason
        assert found.status in (sr.Status.INFEASIBLE, sr.Status.NOT_ACHIEVABLE)
        if np.isfinite(found.contacts.friction_needed):
            assert found.contacts.friction_needed > 1.0


# --- stability ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0.1, -0.1])
def test_a_tumbler_rolls_back_or_over(depth: float) -> None:
    """A ball of radius R with its centre of mass d below that of the ball: K = m g d against its turn."""
    radius = 0.3
    mechanism = sr.Mechanism("tumbler")
    mechanism.add_body("ball", 2.0, com=(0, 0, -depth), inertia=(0.1,) * 3)
    mechanism.add_joint("ball", "planar", "world", "ball", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_contact("c", "ball", friction="coulomb", friction_coefficient=0.5, radius=radius)
    system = sr.System(mechanism)
    q = [0.0, radius, 0.0]
    found = sr.equilibrium(system, q)
    assert (found.dof, found.stable) == (1, depth > 0.0)
    turn = found.motions[2, 0]
    assert abs(found.motions[0, 0] / turn) == pytest.approx(radius, rel=1e-12)
    assert found.stiffness[0, 0] == pytest.approx(2.0 * G * depth * turn**2, rel=1e-9)
    moved = sr.equilibrium(system, [0.0, radius + 0.01, 0.4], stable=True)
    assert moved.stable
    assert np.cos(moved.q[2]) == pytest.approx(np.sign(depth), abs=1e-12)
    check(system, moved)
    if depth < 0.0:  # from where it balances as well
        assert np.cos(sr.equilibrium(system, q, stable=True).q[2]) == pytest.approx(-1.0, abs=1e-12)


# --- stops and dry friction ----------------------------------------------------------------------------


def pendulum(**joint: object) -> sr.System:
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("bob", 2.0, com=(0.7, 0, 0), inertia=(0.1,) * 3)
    mechanism.add_joint("hinge", "revolute", "world", "bob", axis=(0, -1, 0), **joint)
    return sr.System(mechanism)


def test_a_pendulum_rests_on_its_stop() -> None:
    system = pendulum(limits=(-0.4, 1.0))
    found = sr.equilibrium(system, [0.3])
    assert found.q[0] == pytest.approx(-0.4, abs=1e-14)
    assert_allclose(found.contacts["hinge.lower stop"], [2.0 * G * 0.7 * np.cos(0.4)], rtol=1e-12)
    assert found.contacts.modes["hinge.upper stop"] is Mode.OPEN
    assert (found.stable, found.dof, found.contacts.carrying) == (True, 0, ("hinge.lower stop",))
    free = sr.equilibrium(system, [-0.3], contacts=False)
    assert (free.q[0], free.contacts) == (pytest.approx(-np.pi / 2), None)


def test_between_its_stops_a_pendulum_rests_as_without_them() -> None:
    """At the top, too, unstable as it is; and with a motor that holds it."""
    for place, stable in ((1.5, False), (-1.5, True)):
        with_stops, without = pendulum(limits=(-2.0, 2.0)), pendulum()
        found, free = (sr.equilibrium(system, [place]) for system in (with_stops, without))
        assert (found.q[0], found.stable, found.contacts) == (free.q[0], stable, None)
    assert sr.equilibrium(with_stops, [1.5], stable=True).q[0] == pytest.approx(-np.pi / 2)


def test_dry_friction_holds_a_pendulum_where_it_can() -> None:
    limit = 5.0
    system = pendulum(friction=limit)
    edge = -np.arccos(limit / (2.0 * G * 0.7))
    held = sr.equilibrium(system, [edge - 0.05])
    assert (held.q[0], held.stable) == (pytest.approx(edge - 0.05), True)
    assert_allclose(held.contacts["hinge.friction"], [2.0 * G * 0.7 * np.cos(edge - 0.05)], rtol=1e-10)
    found = sr.equilibrium(system, [-0.3])  # it sinks to where friction holds it
    assert found.q[0] == pytest.approx(edge, abs=1e-9)
    assert found.stable is None
    held = sr.equilibrium(system, [-0.3], hold=True, throw=False)
    assert held.status is sr.Status.INFEASIBLE
    assert "dry friction" in held.contacts.reason


# --- robots -------------------------------------------------------------------------------------------


def quadruped(friction: float = 0.6) -> tuple[sr.System, np.ndarray]:
    """Return the quadruped on feet with friction instead of pins, and q standing."""
    module = load_example("quadruped")
    mechanism = module.build()
    for leg in module.LEGS:
        del mechanism.closures[f"{leg}_foot"]
        mechanism.add_contact(
            f"{leg}_foot", f"{leg}_shank", (0, 0, -module.LENGTH), friction="coulomb", friction_coefficient=friction
        )  # fmt: skip
    system = sr.System(mechanism)
    return system, module.standing(system)


def test_a_quadruped_stands_with_the_least_torques() -> None:
    """Against one cone program for torques and forces together, of which the torques cost alone."""
    system, q = quadruped()
    found = sr.equilibrium(system, q, hold=True)
    check(system, found)
    rest = np.zeros(system.nv)
    mass = system.mechanism.bodies.values()
    assert sum(found.contacts.forces[::3]) == pytest.approx(G * sum(b.mass for b in mass), rel=1e-10)
    rows = stack([friction_cone(np.eye(12, 24, 12)[3 * k : 3 * k + 3], coefficient=0.6) for k in range(4)])
    pinned = sr.System(load_example("quadruped").build())
    both = np.hstack(
        [
            system.actuation_matrix(q),
            pinned.constraint_jacobian(q).T[:, [2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10]],
        ]
    )
    oracle = solve_cone_program(
        np.diag([1.0] * 12 + [0.0] * 12), np.zeros(24), rows.G, rows.h, both, system.bias_force(q, rest),
        cones=rows.cones,
    )  # fmt: skip
    assert_allclose(found.u, oracle.x[:12], atol=1e-6)
    motion = run(system, found.q, None, 0.01, 1e-3, control=lambda q, v, t: found.u)
    assert np.abs(motion.v[-1]).max() < 1e-8


def test_limits_of_motors_count() -> None:
    system, q = quadruped()
    torque = np.abs(sr.equilibrium(system, q, hold=True).u).max()
    mechanism = system.mechanism
    for factor, holds in ((0.999, True), (0.2, False)):
        for name, actuator in mechanism.actuators.items():
            mechanism.actuators[name] = replace(actuator, limits=(-factor * torque, factor * torque))
        limited = sr.System(mechanism)
        found = sr.equilibrium(limited, q, hold=True, throw=False)
        assert np.abs(found.u).max() <= factor * torque * (1.0 + 1e-9)
        assert found.status.ok is holds
        if holds:
            check(limited, found)
        else:
            assert "limits of the actuators" in found.contacts.reason


def test_a_biped_with_loops_stands_on_flat_feet() -> None:
    """Four-bar knees, 24 redundant contact rows: wrenches balance, loops stay closed, forces obey friction."""
    module = load_example("biped_four_bar")
    mechanism = module.build()
    for name, contact in mechanism.contacts.items():
        mechanism.contacts[name] = replace(contact, friction="coulomb", active=False, static_coefficient=0.5)
    system = sr.System(mechanism)
    q = module.standing(sr.System(module.build()))
    found = sr.equilibrium(system, q, hold=True)
    check(system, found)
    assert np.abs(system.constraint_residual(found.q)).max() < 1e-12
    assert not found.contacts.determined.any()


def test_errors_name_what_is_wrong() -> None:
    system = point(0.5)
    q = system.neutral()
    q[2] = -0.1
    with pytest.raises(sr.ArgumentError, match=r"contact 'c' is 0\.1 m below its plane"):
        sr.equilibrium(system, q, hold=True)
    found = sr.equilibrium(system, q)  # a search comes up
    assert found.q[2] == pytest.approx(0.0, abs=1e-12)
    alone = sr.equilibrium(system, at_height(system, 1.0), hold=True, throw=False)
    assert alone.status is sr.Status.NOT_ACHIEVABLE
    assert alone.contacts.reason == "no actuator, loop or closed contact acts along 'free.vz'"
    with pytest.raises(KeyError, match="'d'; there are c"):
        found.contacts["d"]


@pytest.mark.parametrize(("friction", "stable", "dof"), [(0.0, None, 3), (0.1, True, 0), (0.7, True, 0)])
def test_a_box_that_falls_comes_to_rest_on_a_side(friction, stable, dof) -> None:
    """From random positions, on four of eight corners; a smooth one may slide, which is neutral."""
    mechanism = sr.Mechanism("box")
    mechanism.add_body("box", 2.0, com=(0.05, 0.02, -0.03), inertia=(0.1,) * 3)
    mechanism.add_joint("free", "free", "world", "box")
    for k, corner in enumerate(product((-0.3, 0.3), (-0.2, 0.2), (-0.5, 0.5))):
        mechanism.add_contact(f"c{k}", "box", corner, friction="coulomb", friction_coefficient=friction)
    system, rng = sr.System(mechanism), np.random.default_rng(0)
    for _ in range(6):
        found = sr.equilibrium(system, [0, 0, 0.8, *rng.standard_normal(4)])
        assert (len(found.contacts.carrying), found.stable, found.dof) == (4, stable, dof)
        check(system, found)
    assert np.abs(run(system, found.q, None, 0.05, 1e-3).v[-1]).max() < 1e-12
