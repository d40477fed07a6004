"""Inverse dynamics on contacts with friction: least actuation, what contacts do, and motions that are not possible."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from mechanisms import random_tree
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.optimize import Mode, solve_cone_program
from sarrus.dynamics.optimize.cone_rows import friction_cone, stack
from test_rest_on_contacts import quadruped
from test_time_stepping import G, body, moving, point

MASS, MU = 3.0, 0.5


def cart(*motors: str, **joint: object) -> sr.System:
    """Return a body that slides along x on a floor, with motors along x and z."""
    mechanism = sr.Mechanism("cart")
    mechanism.add_body("slide", 0.0)
    mechanism.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0), **joint)
    mechanism.add_body("cart", MASS)
    mechanism.add_joint("z", "prismatic", "slide", "cart", axis=(0, 0, 1))
    for name in motors:
        mechanism.add_actuator(name, name)
    mechanism.add_contact(
        "floor", "cart", friction="coulomb", friction_coefficient=MU, static_coefficient=0.6
    )
    return sr.System(mechanism)


@pytest.mark.parametrize(
    ("v", "a", "push", "normal", "tangent", "mode"),
    [
        (1.0, 0.7, MASS * 0.7 + MU * MASS * G, MASS * G, -MU * MASS * G, Mode.SLIDING),
        (-1.0, 0.7, MASS * 0.7 - MU * MASS * G, MASS * G, MU * MASS * G, Mode.SLIDING),
        (0.0, 0.7, MASS * 0.7 + MU * MASS * G, MASS * G, -MU * MASS * G, Mode.SLIDING),  # it begins to
        (0.0, 0.0, 0.0, MASS * G, 0.0, Mode.STICKING),
    ],
)
def test_what_pushes_a_cart(v, a, push, normal, tangent, mode) -> None:
    system = cart("x")
    found = system.inverse_dynamics([0.0, 0.0], [v, 0.0], [a, 0.0])
    assert_allclose(found.u, [push], rtol=1e-9, atol=1e-9)
    assert_allclose(found.contacts.forces, [normal, tangent, 0.0], rtol=1e-9, atol=1e-9)
    assert found.contacts.modes["floor"] is mode
    assert (found.status, found.residual < 1e-9) == (Status.OK, True)
    without = system.inverse_dynamics([0.0, 0.0], [v, 0.0], [a, 0.0], contacts=False, throw=False)
    assert (without.status, without.contacts) == (Status.NOT_ACHIEVABLE, None)


def test_actuators_share_the_least_with_the_floor() -> None:
    """A cart that is pulled sideways by τ: the floor holds it alone up to 0.6 m g, the rest is the motor's.

    Beyond that, pressing on the floor with z helps as well: u_x + 0.6 (m g − u_z) ≥ τ, of least squares.
    """
    for part, expected in ((0.5, (0.0, 0.0)), (1.0, None)):
        tau = part * MASS * G
        found = cart("x", "z").inverse_dynamics([0.0, 0.0], np.zeros(2), np.zeros(2), tau=[tau, 0.0])
        if expected is None:
            missing = (part - 0.6) * MASS * G
            expected = missing * np.array([-1.0, -0.6]) / (1.0 + 0.36)
        assert_allclose(found.u, expected, atol=1e-8)
    heavy = cart("x", "z").inverse_dynamics(
        [0.0, 0.0], np.zeros(2), np.zeros(2), tau=[MASS * G, 0.0], weights=[1e8, 1.0]
    )
    assert_allclose(heavy.u, [0.0, (0.6 - 1.0) * MASS * G / 0.6], atol=1e-5)


def test_a_cart_is_lifted() -> None:
    found = cart("x", "z").inverse_dynamics([0.0, 0.0], np.zeros(2), [0.0, 2.0])
    assert_allclose(found.u, [0.0, MASS * (G + 2.0)], rtol=1e-12, atol=1e-12)
    assert found.contacts.modes["floor"] is Mode.OPEN
    assert not found.contacts.forces.any()
    in_flight = cart("x", "z").inverse_dynamics([0.0, 1.0], [0.5, -1.0], [0.0, -G])
    assert_allclose(in_flight.u, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("v", "a", "tau", "status", "reason"),
    [
        ([0, 0], [0, 0], [0, 40.0], Status.INFEASIBLE, "'floor' would have to pull"),
        ([0, 0], [0, 0], [25.0, 0], Status.INFEASIBLE, r"'floor' would slide: friction coefficients of 0\.84947"),
        ([0, 0], [0, 2.0], [0, 0], Status.NOT_ACHIEVABLE, "no actuator, loop or closed contact acts along 'z'"),
        ([0, 0], [0, -0.1], [0, 0], Status.INCONSISTENT, r"'floor' is closed, .* penetrates it by 0\.1"),
        ([0, -0.1], [0, 0], [0, 0], Status.INCONSISTENT, r"'floor' closes with a velocity of 0\.1, .* impact"),
        ([1.0, 0], [0, 0], [0, 0], Status.NOT_ACHIEVABLE, "closed contact acts along 'x'"),
    ],
)  # fmt: skip
def test_motions_that_are_not_possible(v, a, tau, status, reason) -> None:
    system = cart()
    with pytest.raises(sr.SolveError, match=reason) as caught:
        system.inverse_dynamics([0.0, 0.0], v, a, tau=tau)
    assert caught.value.result.status is status
    assert caught.value.result.contacts.status is status


def test_friction_needed_says_how_far_a_push_is_from_sliding() -> None:
    found = cart().inverse_dynamics([0.0, 0.0], np.zeros(2), np.zeros(2), tau=[10.0, 0.0])
    assert found.contacts.friction_needed == pytest.approx(10.0 / (0.6 * MASS * G), rel=1e-8)


def test_dry_friction_and_stops() -> None:
    """A joint with dry friction of 4 N, at its stop or moving."""
    for v, a, tau, u in (
        (1.0, 0.0, 0.0, 4.0),
        (-1.0, 0.0, 0.0, -4.0),
        (0.0, 2.0, 0.0, 10.0),
        (0.0, 0.0, 3.0, 0.0),
    ):
        mechanism = sr.Mechanism("slide", gravity=(0, 0, 0))
        mechanism.add_body("slide", MASS)
        mechanism.add_joint(
            "x", "prismatic", "world", "slide", axis=(1, 0, 0), friction=4.0, limits=(-1.0, 1.0)
        )
        mechanism.add_actuator("x", "x")
        system = sr.System(mechanism)
        found = system.inverse_dynamics([0.0], [v], [a], tau=[tau])
        assert_allclose(found.u, [u], atol=1e-10)
        if (v, a) == (0.0, 0.0):
            on_stop = system.inverse_dynamics([1.0], [0.0], [0.0], tau=[30.0])
            assert_allclose(on_stop.u, 0.0, atol=1e-9)
            assert_allclose(on_stop.contacts["x.upper stop"] + abs(on_stop.contacts["x.friction"]), 30.0)
            assert_allclose(found.contacts["x.friction"], -3.0, rtol=1e-9)
        plain = system.inverse_dynamics([0.0], [v], [a], tau=[tau], contacts=False)
        assert_allclose(plain.u, [MASS * a - tau], atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_inverse_of_a_sliding_motion_needs_no_actuators(seed: int) -> None:
    """A random tree whose last body slides on a plane: the acceleration from M a + h = Jᵀ r, and the forces back."""
    rng = np.random.default_rng(seed)
    kinds = [str(kind) for kind in rng.choice(["revolute", "prismatic", "spherical"], 3)]
    mechanism = random_tree(seed, (*kinds, "spherical")).mechanism
    last = list(mechanism.bodies).index("b3")
    place, mu = rng.standard_normal(3), float(rng.uniform(0.0, 0.4))
    free = sr.System(mechanism)
    q = free.normalized(free.neutral() + 0.3 * rng.standard_normal(free.nq))
    positions, rotations = free.body_placements(q)
    at = positions[last] + rotations[last] @ place
    normal = rng.standard_normal(3)
    normal /= np.linalg.norm(normal)
    mechanism.add_contact(
        "c",
        "b3",
        place,
        normal=normal,
        offset=float(normal @ at),
        friction="coulomb",
        friction_coefficient=mu,
    )
    system = sr.System(mechanism)
    v = rng.standard_normal(system.nv)
    J = contact_row_state(system, q, v, 0.0).rows[:3]
    mass = system.mass_matrix(q)
    weighted = np.linalg.solve(mass, J.T)
    v -= weighted[:, 0] * (J[0] @ v) / (J[0] @ weighted[:, 0])
    found = contact_row_state(system, q, v, 0.0)
    slip = found.rates[1:3] / np.linalg.norm(found.rates[1:3])
    along = weighted @ np.array([1.0, *(-mu * slip)])
    smooth = system.forward_dynamics(q, v, contacts=False).a
    push = -(J[0] @ smooth + found.bias[0]) / (J[0] @ along)
    a = smooth + along * push
    result = system.inverse_dynamics(q, v, a, throw=False)
    if push > 0.0:
        assert result.status is Status.OK
        assert_allclose(system.forward_dynamics(q, v).a, a, rtol=1e-9, atol=1e-9)
        assert_allclose(result.contacts["c"], push * np.array([1.0, *(-mu * slip)]), rtol=1e-6, atol=1e-9)
    else:
        assert result.status is not Status.OK


def test_a_quadruped_pushes_itself_along() -> None:
    """Least torques for an acceleration of the trunk on four sticking feet, against one cone program."""
    system, q = quadruped()
    rest = np.zeros(system.nv)
    J = contact_row_state(system, q, rest, 0.0).rows
    wanted = np.zeros(system.nv)
    wanted[:3] = 1.0, 0.5, 0.2
    a = wanted - np.linalg.lstsq(J[:, 6:], J @ wanted, rcond=None)[0] @ np.eye(12, 18, 6)
    assert_allclose(J @ a, 0.0, atol=1e-12)
    result = system.inverse_dynamics(q, rest, a)
    rows = stack([friction_cone(np.eye(12, 24, 12)[3 * k : 3 * k + 3], coefficient=0.6) for k in range(4)])
    both = np.hstack([system.actuation_matrix(q), J.T])
    needed = system.mass_matrix(q) @ a + system.bias_force(q, rest)
    oracle = solve_cone_program(
        np.diag([1.0] * 12 + [0.0] * 12), np.zeros(24), rows.G, rows.h, both, needed, cones=rows.cones
    )
    assert_allclose(result.u, oracle.x[:12], atol=1e-6)
    assert_allclose(both @ np.concatenate([result.u, result.contacts.forces]), needed, atol=1e-8)
    sudden = system.inverse_dynamics(
        q, rest, a * 20, throw=False
    )  # 20 m/s² forwards: it would fall backwards
    assert (sudden.status, sudden.contacts.friction_needed) == (Status.INFEASIBLE, np.inf)
    assert sudden.contacts.reason == "'FL_foot', 'FR_foot' would have to pull"


def test_a_block_that_slides_in_a_run_takes_its_forces() -> None:
    """The forces of a time-stepping run are those of inverse dynamics of its motion."""
    system = point(0.3)
    motion = sr.simulate(
        system, system.neutral(), moving(system, vx=1.0, vy=0.5), duration=0.1, dt=1e-3, error_estimate=False
    )
    a = np.zeros(system.nv)
    a[:2] = -0.3 * G * np.array([1.0, 0.5]) / np.hypot(1.0, 0.5)
    found = system.inverse_dynamics(motion.q[-1], motion.v[-1], a)
    assert_allclose(found.contacts.forces, motion.contact_forces[-1], rtol=1e-9)
    assert found.contacts.names == motion.contact_row_names


def test_a_penetrating_pose_is_an_error() -> None:
    mechanism = body()
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=0.5)
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = -0.01
    with pytest.raises(sr.ArgumentError, match=r"contact 'c' is 0\.01 m below its plane"):
        system.inverse_dynamics(q, np.zeros(6), np.zeros(6))


def test_forces_are_named_with_geometries_stops_and_dry_friction_together() -> None:
    """A box of a narrow phase carries an arm on its stop, with dry friction: M a + h = S u + Jᵀ r by the named rows."""
    mechanism = sr.Mechanism("carrier")
    mechanism.add_geom("floor", "world", "plane")
    mechanism.add_body("crate", 2.0, inertia=(0.02, 0.02, 0.02))
    mechanism.add_joint("free", "free", "world", "crate", parent_pose=(0.0, 0.0, 0.1))
    mechanism.add_geom("hull", "crate", "box", (0.1, 0.1, 0.1))
    mechanism.add_body("arm", 0.3, com=(0.1, 0.0, 0.0), inertia=(1e-3, 1e-3, 1e-3))
    mechanism.add_joint(
        "hinge", "revolute", "crate", "arm", axis=(0, 1, 0), limits=(-0.5, 0.5), friction=0.05
    )
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
    system = sr.System(mechanism)
    q, still = system.neutral(), np.zeros(system.nv)
    q[-1] = 0.5
    found = system.inverse_dynamics(q, still, still, tau=[0.5, 0, 0, 0, 0, 0, 0.0]).contacts
    state = contact_row_state(system, q, still, 0.0)
    assert found.names == state.names
    assert_allclose(found.force, state.rows.T @ found.forces, atol=1e-12)
    assert_allclose(found.force, system.bias_force(q, still) - [0.5, 0, 0, 0, 0, 0, 0.0], atol=1e-8)
    assert found["hinge.upper stop"] > 0.0
    assert abs(found["hinge.friction"]) <= 0.05 * (1.0 + 1e-9)
    assert {found.modes[one.name] for one in state.elements if one.name.startswith("floor-")} == {
        Mode.STICKING
    }
