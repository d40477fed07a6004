"""Velocity jumps: projection in the kinetic metric, Carnot's theorem, restitution, contacts that only push."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import nnls

import sarrus as sr
from mechanisms import close_loops, placements, random_coordinates, random_state, random_tree, unit
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.impacts import activity
from sarrus.dynamics.impacts.impacts import Impact, impact

CORNERS = ((0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05))
NAMES = tuple(f"corner{k}" for k in range(4))


def block(corners=CORNERS, com=(0.0, 0.0, 0.0), inertia=(0.01, 0.02, 0.025), **contact: object) -> sr.System:
    """Return a block of 2 kg with point contacts 5 cm below its origin, which touch in the reference pose."""
    mechanism = sr.Mechanism("block")
    mechanism.add_body("block", 2.0, com=com, inertia=inertia)
    mechanism.add_joint("block", "free", "world", "block", parent_pose=(0, 0, 0.05))
    for k, (x, y) in enumerate(corners):
        mechanism.add_contact(f"corner{k}", "block", (x, y, -0.05), **contact)
    return sr.System(mechanism)


def ball(**contact: object) -> sr.System:
    """Return a point mass of 3 kg on three slides."""
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 3.0)
    for k, axis in enumerate(np.eye(3)):
        mechanism.add_joint(
            "xyz"[k], "prismatic", "world", "ball", axis=axis, **({"parent_pose": (0, 0, 0)} if not k else {})
        )
    mechanism.add_contact("floor", "ball", **contact)
    return sr.System(mechanism)


def check(system: sr.System, q: np.ndarray, v: np.ndarray, result: Impact) -> None:
    """Assert the impulse balance and the energy balance."""
    mass, change = system.mass_matrix(q), result.v - v
    np.testing.assert_allclose(mass @ change, result.generalized_impulse, rtol=1e-10, atol=1e-10)
    before = system.kinetic_energy(q, v)
    assert before - system.kinetic_energy(q, result.v) == pytest.approx(
        result.energy_loss, abs=1e-12 * before
    )


# --- the projection ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_carnot_the_energy_lost_is_that_of_the_lost_velocity(seed):
    plan = random_tree(seed, ("free", "revolute", "spherical", "universal", "prismatic"))
    q = random_coordinates(plan)
    kinds = (("point",), ("revolute", "distance"), ("weld",), ("universal", "point_on_plane"))[seed]
    system = sr.System(close_loops(plan, q, kinds))
    _, v = random_state(system, seed)
    result = impact(system, q, v)
    check(system, q, v, result)
    mass, rows = system.mass_matrix(q), system.constraint_jacobian(q)
    assert np.abs(rows @ result.v).max() < 1e-12
    lost = 0.5 * (result.v - v) @ mass @ (result.v - v)
    assert result.energy_loss == pytest.approx(lost, rel=1e-12)
    assert result.v @ mass @ (result.v - v) == pytest.approx(0.0, abs=1e-12 * lost)
    # No admissible velocity is nearer to v.
    free = np.linalg.svd(rows)[2][result.rank :]
    other = result.v + free.T @ np.random.default_rng(seed).standard_normal(len(free))
    assert 0.5 * (other - v) @ mass @ (other - v) > lost
    # Once admissible, nothing changes any more.
    again = impact(system, q, result.v)
    np.testing.assert_allclose(again.v, result.v, atol=1e-12)
    assert abs(again.energy_loss) < 1e-13 * lost


def test_redundant_rows_share_the_impulse_and_lose_what_the_independent_ones_lose():
    plan = random_tree(6, ("free", "free"))
    q = random_coordinates(plan)
    hand = placements(plan, q)["b1"].apply((0.2, 0.1, -0.3))
    ends = {"pose1": hand, "pose2": (0.2, 0.1, -0.3)}
    plan.mechanism.add_closure("one", "point", "world", "b1", **ends, active=True)
    plan.mechanism.add_closure("two", "point", "world", "b1", **ends, active=False)
    system = sr.System(plan.mechanism)
    _, v = random_state(system, 1)
    single, double = impact(system, q, v), impact(system, q, v, closing=["two"])
    assert single.rank == double.rank == 3
    np.testing.assert_array_equal(single.determined, [True] * 3 + [False] * 3)
    assert not double.determined.any()
    np.testing.assert_allclose(double.v, single.v, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(double.impulse, np.tile(0.5 * single.impulse[:3], 2), rtol=1e-10, atol=1e-11)
    np.testing.assert_array_equal(single.impulse[3:], 0.0)
    assert double.energy_loss == pytest.approx(single.energy_loss, rel=1e-12)


def test_a_foot_set_down_loses_what_the_projection_says():
    system = block(com=(0.01, -0.02, 0.01))
    q, v = system.neutral(), np.array([0.3, -0.1, -1.0, 0.3, -0.2, 0.4])
    result = impact(system, q, v, closing=NAMES)
    check(system, q, v, result)
    assert (result.rank, result.status, result.released) == (6, sr.Status.OK, ())
    np.testing.assert_allclose(result.v, 0.0, atol=1e-13)
    assert result.energy_loss == pytest.approx(system.kinetic_energy(q, v), rel=1e-12)
    activity.switch_on(system, NAMES, q)
    rows = system.constraint_jacobian(q)
    least = np.linalg.pinv(rows.T, rcond=1e-9) @ (system.mass_matrix(q) @ -v)
    np.testing.assert_allclose(result.impulse, least, rtol=1e-10, atol=1e-12)


def test_a_clutch_makes_two_rotors_turn_as_one():
    mechanism = sr.Mechanism("clutch")
    for name, inertia in (("motor", 0.3), ("load", 1.2)):
        mechanism.add_body(name, 1.0, inertia=(inertia,) * 3)
        mechanism.add_joint(name, "revolute", "world", name)
    mechanism.add_coupling("clutch", {"motor": 1.0, "load": -1.0}, active=False)
    system = sr.System(mechanism)
    result = impact(system, [0.4, 1.9], [50.0, 10.0], closing=["clutch"])
    common = (0.3 * 50.0 + 1.2 * 10.0) / 1.5
    np.testing.assert_allclose(result.v, common, rtol=1e-14)
    assert result.energy_loss == pytest.approx(0.5 * 0.3 * 1.2 / 1.5 * 40.0**2, rel=1e-13)
    assert result.impulse[0] == pytest.approx(0.3 * (common - 50.0), rel=1e-13)


def test_nonholonomic_rows_take_part():
    skate = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: 0.5 * (2.0 * v[0] ** 2 + 2.0 * v[1] ** 2 + 0.7 * v[2] ** 2),
        velocity=lambda q, v, t: v[1] * ca.cos(q[2]) - v[0] * ca.sin(q[2]),
        name="skate",
    )
    q, v = np.array([0.0, 0.0, 0.6]), np.array([1.0, 2.0, 3.0])
    result = impact(skate, q, v)
    along = np.array([np.cos(0.6), np.sin(0.6)])
    np.testing.assert_allclose(result.v, [*(along @ v[:2] * along), 3.0], rtol=1e-14)
    with pytest.raises(ArgumentError, match="skate: closing: unknown constraint 'floor'"):
        impact(skate, q, v, closing=["floor"])


def test_a_moving_constraint_gives_its_velocity():
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: 0.5 * 2.0 * v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1],
        holonomic=lambda q, t: q[0] - 0.3 * t,
    )
    result = impact(system, [0.6, 0.0], [1.0, 0.0], t=2.0)
    np.testing.assert_allclose(result.v, [0.3, 0.7], rtol=1e-14)
    mass = system.mass_matrix([0.6, 0.0])
    np.testing.assert_allclose(mass @ (result.v - [1.0, 0.0]), result.generalized_impulse, atol=1e-14)


def test_a_singular_configuration_gives_no_impulse_in_the_lost_direction():
    mechanism = sr.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    for name, parent, x, length in (
        ("left", "world", 0.0, 1.0),
        ("coupler", "left", 1.0, 1.5),
        ("right", "world", 1.5, 1.0),
    ):
        mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(0, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(x, 0, 0))
    mechanism.add_closure(
        "pin", "point_on_line", "coupler", "right", pose1=(1.5, 0, 0), pose2=(1, 0, 0), active=False
    )
    system = sr.System(mechanism)
    flat, v = np.zeros(3), np.array([1.0, 2.0, -0.5])
    result = impact(system, flat, v, closing=["pin"])
    assert (result.status, result.rank) == (sr.Status.SINGULAR, 1)
    check(system, flat, v, result)
    bent = 0.3 * np.array([1.0, -1.0, 1.0])
    assert (
        impact(system, bent, v, closing=["pin"]).status,
        impact(system, bent, v, closing=["pin"]).rank,
    ) == (
        sr.Status.OK,
        2,
    )


def test_massless_bodies_move_as_if_they_had_hardly_any_mass():
    def linkage(mass: float) -> sr.System:
        mechanism = sr.Mechanism("rods")
        mechanism.add_body("crank", 1.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, 1, 0))
        mechanism.add_body("rod", mass, inertia=(mass, mass, mass))
        mechanism.add_joint("rod", "revolute", "crank", "rod", axis=(0, 1, 0), parent_pose=(0.3, 0, 0))
        mechanism.add_body("slider", 2.0)
        mechanism.add_joint("slider", "prismatic", "world", "slider", axis=(1, 0, 0))
        mechanism.add_closure("pin", "point", "rod", "slider", pose1=(0.5, 0, 0))
        return sr.System(mechanism)

    massless, light = linkage(0.0), linkage(1e-10)
    assert massless.compiled.mass_is_singular
    q = massless.assemble([0.7, -1.0, 0.6], locked=["crank"]).q
    v = np.array([1.0, -2.0, 3.0])
    exact, near = impact(massless, q, v), impact(light, q, v)
    check(massless, q, v, exact)
    assert np.abs(massless.constraint_jacobian(q) @ exact.v).max() < 1e-13
    np.testing.assert_allclose(exact.v, near.v, rtol=1e-8)
    np.testing.assert_allclose(exact.impulse, near.impulse, rtol=1e-7, atol=1e-9)
    assert exact.energy_loss == pytest.approx(near.energy_loss, rel=1e-8)
    loose = sr.Mechanism("loose")
    loose.add_body("link")
    loose.add_joint("link", "revolute", "world", "link")
    with pytest.raises(SolveError, match="loose: the mass matrix is not positive definite on the motions"):
        impact(sr.System(loose), [0.0], [1.0])


# --- restitution ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("friction", ["frictionless", "stick"])
def test_a_ball_bounces_by_newtons_law(e, friction):
    system, q, v = ball(friction=friction, restitution=e), np.zeros(3), np.array([0.5, -0.2, -2.0])
    result = impact(system, q, v, closing=["floor"])
    along = v[:2] if friction == "frictionless" else np.zeros(2)
    np.testing.assert_allclose(result.v, [*along, 2.0 * e], rtol=1e-14, atol=1e-15)
    loss = 0.5 * 3.0 * (v @ v - result.v @ result.v)
    assert result.energy_loss == pytest.approx(loss, rel=1e-13, abs=1e-13)
    assert result.impulse[0] == pytest.approx(3.0 * 2.0 * (1 + e))
    check(system, q, v, result)
    # What is asked for in the call replaces what the mechanism says.
    assert impact(system, q, v, closing=["floor"], restitution=0.25).v[2] == pytest.approx(0.5)
    assert impact(system, q, v, closing=["floor"], restitution={"floor": 0.5}).v[2] == pytest.approx(1.0)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_two_bodies_collide(e):
    mechanism = sr.Mechanism("collision")
    for name, mass in (("plate", 3.0), ("hammer", 1.0)):
        mechanism.add_body(name, mass)
        mechanism.add_joint(name, "prismatic", "world", name)
    mechanism.add_contact("face", "hammer", ground="plate", offset=0.2, restitution=e)
    system = sr.System(mechanism)
    result = impact(system, [0.1, 0.3], [1.0, -2.0], closing=["face"])
    common = (3.0 * 1.0 - 1.0 * 2.0) / 4.0
    np.testing.assert_allclose(result.v, [common - e * 0.25 * 3.0, common + e * 0.75 * 3.0], rtol=1e-13)
    assert result.energy_loss == pytest.approx(0.5 * 0.75 * 9.0 * (1 - e**2), abs=1e-13)
    assert result.impulse[0] == pytest.approx(0.75 * 3.0 * (1 + e))


def test_a_ball_that_rises_is_not_held():
    system = ball(restitution=0.5)
    v = np.array([0.5, -0.2, 1.0])
    result = impact(system, np.zeros(3), v, closing=["floor"])
    np.testing.assert_array_equal(result.v, v)
    assert (result.released, result.rank, result.energy_loss) == (("floor",), 0, 0.0)


@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_one_end_of_a_falling_rod(e):
    length, mass, angle = 0.8, 1.5, 0.5
    mechanism = sr.Mechanism("rod")
    moment = mass * length**2 / 12
    mechanism.add_body("rod", mass, inertia=(0, moment, moment))
    height = 0.5 * length * np.sin(angle)
    mechanism.add_joint("rod", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_contact("tip", "rod", (-0.5 * length, 0, 0), friction="frictionless", restitution=e)
    system = sr.System(mechanism)
    q = np.array([0.0, height, angle])
    assert activity.gaps(system, q)["tip"] == pytest.approx(0.0, abs=1e-15)
    result = impact(system, q, [0.7, -2.0, 0.0], closing=["tip"])
    arm = 0.5 * length * np.cos(angle)
    push = (1 + e) * 2.0 / (1 / mass + arm**2 / moment)
    np.testing.assert_allclose(
        result.v, [0.7, -2.0 + push / mass, -push * arm / moment], rtol=1e-12, atol=1e-13
    )
    assert result.impulse[0] == pytest.approx(push, rel=1e-12)
    assert result.energy_loss == pytest.approx(
        0.5 * (1 - e**2) * 4.0 / (1 / mass + arm**2 / moment), abs=1e-13
    )


def test_restitution_creates_no_energy():
    scaled = 0
    rng = np.random.default_rng(7)
    system = block(inertia=(0.01, 0.015, 0.02), com=(0.02, 0.01, 0.0), restitution=1.0)
    q = system.neutral()
    for _ in range(20):
        v = rng.standard_normal(6) * (1, 1, 1, 8, 8, 8)
        result = impact(system, q, v, closing=NAMES)
        check(system, q, v, result)
        assert result.energy_loss > -1e-13 * system.kinetic_energy(q, v)
        if result.restitution_scale < 1.0:
            scaled += 1
    assert scaled > 0


def test_different_restitutions_of_redundant_contacts_let_go_of_what_would_hold_back():
    """Moreau's law: v_n⁺ + e v_n⁻ ≥ 0, with impulses where it is zero. Two corners at e = 1 lift all four."""
    system = block(friction="frictionless")
    q, v = system.neutral(), np.array([0, 0, -1.0, 0, 0, 0])
    result = impact(system, q, v, closing=NAMES, restitution=dict(zip(NAMES, (1.0, 0.0, 1.0, 0.0))))
    np.testing.assert_allclose(result.v, -v, atol=1e-14)
    assert (result.status, result.released) == (sr.Status.OK, ("corner1", "corner3"))
    together = impact(system, q, v, closing=NAMES, restitution=1.0)
    assert (together.status, together.released) == (sr.Status.OK, ())
    np.testing.assert_allclose(together.impulse, 4.0 / 4, rtol=1e-13)


def test_a_contact_that_could_only_stick_by_pulling_slips():
    """The tip of a rod that slides fast and falls slowly: to stop it, the ground would have to pull."""
    mechanism = sr.Mechanism("rod")
    mechanism.add_body("rod", 1.0, inertia=(0, 1 / 12, 1 / 12))
    mechanism.add_joint("rod", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_contact("tip", "rod", (-0.5, 0, 0))
    system = sr.System(mechanism)
    q = np.array([0.0, 0.5 * np.sin(0.8), 0.8])
    for slide, slips in ((5.0, True), (-5.0, False)):
        v = np.array([slide, -0.5, 0.0])
        result = impact(system, q, v, closing=["tip"])
        check(system, q, v, result)
        activity.switch_on(system, ["tip"], q)
        after = system.velocity_residual(q, result.v)
        assert result.slipping == (("tip",) if slips else ())
        assert result.impulse[0] > 0.0
        assert after[0] == pytest.approx(0.0, abs=1e-14)
        if slips:
            # Stuck, it would be pulled.
            rows = system.constraint_jacobian(q)[:2]
            stuck = np.linalg.solve(rows @ np.linalg.solve(system.mass_matrix(q), rows.T), -rows @ v)
            assert stuck[0] < 0.0
            assert result.impulse[1] == 0.0
            assert after[1] > 1.0
        else:
            assert after[1] == pytest.approx(0.0, abs=1e-14)


# --- contacts only push --------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(0.1, 0.3), (0.2, 0.25), (0.3, 0.2), (0.3, 0.1)])
def test_housners_rocking_block(width, height):
    """A block that rocks from one edge onto the other keeps 1 − 3/2 sin²α of its rate (Housner 1963)."""
    mechanism = sr.Mechanism("rocking")
    radius = np.hypot(width, height)
    mass = 4.0
    mechanism.add_body("block", mass, inertia=np.full(3, mass * radius**2 / 3))
    mechanism.add_joint("block", "planar", "world", "block", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_contact("left", "block", (-width, 0, -height), active=True)
    mechanism.add_contact("right", "block", (width, 0, -height))
    system = sr.System(mechanism)
    q = np.array([0.0, height, 0.0])
    activity.switch_off(system, ["left"])
    activity.switch_on(system, ["left"], q)
    v = np.array([height * 1.3, -width * 1.3, -1.3])  # rocks about the left edge, the right one falls
    assert np.abs(system.velocity_residual(q, v)).max() < 1e-15
    result = impact(system, q, v, closing=["right"])
    check(system, q, v, result)
    slender = height > width / np.sqrt(2)
    if slender:
        assert result.released == ("left",)
        ratio = 1 - 1.5 * (width / radius) ** 2
        np.testing.assert_allclose(result.v, -1.3 * ratio * np.array([-height, -width, 1.0]), rtol=1e-12)
        assert activity.gap_rates(system, q, result.v)["left"] > 0.0
    else:  # the left edge would have to be pulled down less than it pushes: the block comes to rest
        assert result.released == ()
        np.testing.assert_allclose(result.v, 0.0, atol=1e-14)


@pytest.mark.parametrize("friction", ["frictionless", "stick"])
def test_contacts_push_or_part(friction):
    rng = np.random.default_rng(11)  # with friction some of these states have no answer without slipping
    corners = [tuple(rng.uniform(-0.2, 0.2, 2)) for _ in range(6)]
    system = block(corners, com=(0.02, 0.03, 0.01), friction=friction)
    q, names = system.neutral(), [f"corner{k}" for k in range(6)]
    kept, slipped = set(), 0
    for _ in range(40):
        v = rng.standard_normal(6) * (1, 1, 1, 10, 10, 10)
        result = impact(system, q, v, closing=names)
        check(system, q, v, result)
        push = np.array([result.impulse[c.normal] for c in system.equations.contacts])
        rates = np.array(list(activity.gap_rates(system, q, result.v).values()))
        size = np.abs(push).max(initial=0.0)
        assert push.min() >= -1e-9 * size
        assert rates.min() >= -1e-8
        assert np.abs(push * rates).max() <= 1e-8 * (1.0 + size)
        holding = [k for k, name in enumerate(names) if name not in result.released]
        assert set(np.flatnonzero(push)) <= set(holding)
        activity.switch_on(system, names, q)
        slide = system.velocity_residual(q, result.v)
        for k in set(holding) if friction == "stick" else ():
            contact = system.equations.contacts[k]
            if names[k] in result.slipping:
                assert (result.impulse[list(contact.tangential)] == 0.0).all()
            else:
                assert np.abs(slide[list(contact.tangential)]).max() < 1e-9
        activity.switch_off(system, names)
        kept.add(len(holding))
        slipped += bool(result.slipping)
    assert len(kept) >= 3
    assert bool(slipped) == (friction == "stick")


def test_frictionless_contacts_solve_the_complementarity_problem():
    """Nonnegative least squares in the kinetic metric is the same problem: min ½ ‖v⁺ − v⁻‖²_M with A v⁺ ≥ 0."""
    rng = np.random.default_rng(5)
    plan = random_tree(4, ("free", "revolute", "spherical", "universal"), forces=False)
    q = random_coordinates(plan)
    frames = placements(plan, q)
    names = []
    for k in range(12):
        body, point, normal = f"b{rng.integers(4)}", rng.standard_normal(3), unit(rng)
        offset = normal @ frames[body].apply(point)
        plan.mechanism.add_contact(
            f"k{k}", body, point, normal=normal, offset=offset, friction="frictionless"
        )
        names.append(f"k{k}")
    system = sr.System(plan.mechanism)
    lower = np.linalg.cholesky(system.mass_matrix(q))
    activity.switch_on(system, names, q)
    rows = np.linalg.solve(lower, system.constraint_jacobian(q).T)
    for _ in range(15):
        v = rng.standard_normal(system.nv)
        push = nnls(rows, -lower.T @ v)[0]
        expected = v + np.linalg.solve(lower.T, rows @ push)
        result = impact(system, q, v)
        np.testing.assert_allclose(result.v, expected, rtol=1e-8, atol=1e-9)


# --- arguments -------------------------------------------------------------------------------------------


def test_parameters_stay_as_they_are():
    system = block()
    q, before = system.neutral(), dict(system.parameters)
    q[:2] += 0.3
    impact(system, q, np.array([0, 0, -1.0, 0, 0, 0]), closing=NAMES)
    assert dict(system.parameters) == before
    with pytest.raises(ArgumentError):
        impact(system, q, np.zeros(6), closing=["corner0", "nothing"])
    assert dict(system.parameters) == before


def test_what_is_off_takes_no_part():
    system = block()
    v = np.array([0.1, 0.2, -1.0, 1.0, 2.0, 3.0])
    nothing = impact(system, system.neutral(), v)
    np.testing.assert_array_equal(nothing.v, v)
    one = impact(system, system.neutral(), v, closing=["corner1"])
    assert one.rank == 3
    np.testing.assert_array_equal(one.impulse[[0, 1, 2, 6, 7, 8, 9, 10, 11]], 0.0)


def test_wrong_arguments_are_named():
    system = block()
    q, v = system.neutral(), np.array([0, 0, -1.0, 0, 0, 0])
    with pytest.raises(ArgumentError, match=r"block: closing: unknown constraint 'corner'\. Did you mean"):
        impact(system, q, v, closing=["corner"])
    with pytest.raises(ArgumentError, match=r"closing must be a sequence of names, such as \['corner0'\]"):
        impact(system, q, v, closing="corner0")
    with pytest.raises(ArgumentError, match=r"restitution of 'corner0' must be between 0 and 1, got 1\.5"):
        impact(system, q, v, closing=NAMES, restitution=1.5)
    with pytest.raises(ArgumentError, match="restitution: unknown contact that closes 'corner3'"):
        impact(system, q, v, closing=["corner0"], restitution={"corner3": 0.5})
    high = q + np.array([0, 0, 0.02, 0, 0, 0, 0])
    with pytest.raises(ArgumentError, match=r"'corner0' cannot be switched on, it is open by 0\.02"):
        impact(system, high, v, closing=NAMES)
    with pytest.raises(ArgumentError, match="v must be finite"):
        impact(system, q, v * np.nan, closing=NAMES)
    activity.switch_on(system, ["corner2"], q)
    with pytest.raises(
        ArgumentError, match=r"contact 'corner2' does not touch its plane at q, the gap is 0\.02"
    ):
        impact(system, high, v)


def test_results_are_read_only():
    system = block()
    result = impact(system, system.neutral(), [0, 0, -1.0, 0, 0, 0], closing=NAMES)
    for array in (result.v, result.impulse, result.generalized_impulse, result.determined):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
