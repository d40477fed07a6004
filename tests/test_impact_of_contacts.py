"""`sarrus.impact` of contacts with Coulomb friction and of stops: closed forms, the laws, and impacts of runs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.impacts.activity import gaps
from several_contacts import cradle
from test_poisson_impact import struck

G0 = (0.0, 0.0, 0.0)


def ball(friction: float = 0.3, restitution: float = 0.5, law: str = "newton") -> sr.System:
    """Return a ball of 1 kg and 0.1 m, with 2/5 m r² and its contact with the ground at z = 0.1."""
    mechanism = sr.Mechanism("ball", gravity=G0)
    mechanism.add_body("ball", 1.0, inertia=(0.004,) * 3)
    mechanism.add_joint("float", "free", "world", "ball")
    mechanism.add_contact(
        "ground", "ball", radius=0.1, friction="coulomb", friction_coefficient=friction,
        restitution=restitution, impact_law=law,
    )  # fmt: skip
    return sr.System(mechanism)


def plank(right: str, left: str = "frictionless", arm: float = 0.5) -> sr.System:
    """Return a plank of 1 kg and 1/3 kg m² with contacts at ±arm, in the plane x–z; "coulomb" without friction."""
    mechanism = sr.Mechanism("plank", gravity=G0)
    mechanism.add_body("plank", 1.0, inertia=(1 / 3,) * 3)
    mechanism.add_joint("free", "planar", "world", "plank", axis=(0, -1, 0), axis2=(1, 0, 0))
    for name, kind, x in (("left", left, -arm), ("right", right, arm)):
        more = {"friction_coefficient": 0.0} if kind == "coulomb" else {"active": name == "left"}
        mechanism.add_contact(name, "plank", (x, 0, 0), friction=kind, **more)
    return sr.System(mechanism)


# --- closed forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("friction", [0.05, 0.5])
def test_a_ball_that_hits_the_ground_at_a_slant(friction: float, law: str) -> None:
    """It slides on with μ (1 + e) v_n less, or rolls with 5/7 of its speed."""
    system, bounce, fall, along = ball(friction, 0.5, law), 0.5, 2.0, 1.0
    q = [0, 0, 0.1, 1, 0, 0, 0]
    found = sr.impact(system, q, [along, 0, -fall, 0, 0, 0])
    rolls = friction * (1 + bounce) * fall > 2 / 7 * along
    loss = min(friction * (1 + bounce) * fall, 2 / 7 * along)
    assert_allclose(found.v, [along - loss, 0, bounce * fall, 0, loss / 0.04, 0], atol=1e-12)
    assert_allclose(found.contacts["ground"], [(1 + bounce) * fall, -loss, 0.0], atol=1e-12)
    before, after = system.kinetic_energy(q, [along, 0, -fall, 0, 0, 0]), system.kinetic_energy(q, found.v)
    assert found.energy_loss == pytest.approx(before - after, rel=1e-12)
    assert (found.contacts.hitting, found.contacts.touching) == (("ground",),) * 2
    assert found.contacts.modes["ground"].name == "OPEN"
    again = sr.impact(system, q, [along, 0, -fall, 0, 0, 0], restitution={"ground": 0.0})
    assert again.contacts.modes["ground"].name == ("STICKING" if rolls or friction == 0.5 else "SLIDING")


@pytest.mark.parametrize(
    ("restitution", "law", "after"),
    [
        ((0.5, 0.5), "newton", (0.0, 1 / 2, 1 / 2)),
        ((0.0, 1.0), "newton", (1 / 3, 1 / 3, 1 / 3)),
        ((0.0, 1.0), "poisson", (1 / 6, 1 / 6, 2 / 3)),
    ],
)
def test_a_ball_hits_one_of_two_that_touch(
    restitution: tuple[float, float], law: str, after: tuple[float, ...]
) -> None:
    found = sr.impact(cradle(restitution, law), np.zeros(3), [1.0, 0.0, 0.0])
    assert_allclose(found.v, after, atol=1e-13)
    assert len(found.contacts.touching) == 2
    assert len(found.contacts.hitting) == 1


def test_a_stop_stops_what_a_coupling_drives() -> None:
    """Two slides with x = 2 y: the stop of y rebounds both, with the energy of both."""
    mechanism = sr.Mechanism("slides", gravity=G0)
    for name, more in (("x", {}), ("y", {"limits": (-1.0, 0.3), "limit_restitution": 0.6})):
        mechanism.add_body(name, 2.0)
        mechanism.add_joint(name, "prismatic", "world", name, axis=(1, 0, 0), **more)
    mechanism.add_coupling("belt", {"x": 1.0, "y": -2.0})
    system = sr.System(mechanism)
    found = sr.impact(system, [0.6, 0.3], [4.0, 2.0])
    assert_allclose(found.v, [-2.4, -1.2], rtol=1e-13)
    assert found.energy_loss == pytest.approx((1 - 0.36) * 0.5 * 2.0 * (16.0 + 4.0), rel=1e-13)
    assert found.contacts["y.upper stop"][0] == pytest.approx(2.0 * 1.6 * (2.0 * 4.0 + 2.0), rel=1e-13)
    assert found.impulse[0] == pytest.approx(-1.6 * 4.0 * 2.0, rel=1e-13)  # the belt stops x
    assert_allclose(sr.impact(system, [0.6, 0.3], [4.0, 2.0], contacts=False).v, [4.0, 2.0])
    assert_allclose(sr.impact(system, [0.6, 0.3], [4.0, 2.0], restitution=1.0).v, [-4.0, -2.0], rtol=1e-13)
    away = sr.impact(system, [0.6, 0.3], [-4.0, -2.0])
    assert_allclose(away.v, [-4.0, -2.0])
    assert (away.contacts.hitting, away.energy_loss) == ((), 0.0)


def test_a_crate_that_falls_flat_shares_no_determined_impulse() -> None:
    mechanism = sr.Mechanism("crate", gravity=G0)
    mechanism.add_body("crate", 3.0, inertia=(0.1, 0.2, 0.3))
    mechanism.add_joint("float", "free", "world", "crate")
    mechanism.add_contact_patch(
        "sole", "crate", extent=(0.4, 0.2), friction="coulomb", friction_coefficient=0.5, restitution=0.4
    )
    system = sr.System(mechanism)
    q, v = system.neutral(), [0, 0, -2.0, 0, 0, 0]
    found = sr.impact(system, q, v)
    assert_allclose(found.v, [0, 0, 0.8, 0, 0, 0], atol=1e-12)
    assert not found.contacts.determined.any()
    wrench = sr.contact_wrench(system, q, found.contacts, "sole")
    assert_allclose(wrench.force, [3.0 * 2.8, 0, 0], atol=1e-12)
    assert_allclose(wrench.centre_of_pressure, 0.0, atol=1e-12)


def crank(**slider: object) -> sr.System:
    """Return a slider-crank with redundant rows whose rod has no mass, so that M is singular."""
    mechanism = sr.Mechanism("crank", gravity=G0)
    mechanism.add_body("crank", 1.0, com=(0.15, 0, 0), inertia=(0.01, 0.02, 0.02))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, -1, 0))
    mechanism.add_body("rod", 0.0)
    mechanism.add_joint("rod", "revolute", "crank", "rod", axis=(0, -1, 0), parent_pose=(0.3, 0, 0))
    mechanism.add_body("slider", 0.5)
    mechanism.add_joint("slider", "prismatic", "world", "slider", axis=(1, 0, 0), **slider)
    mechanism.add_closure("pin", "revolute", "rod", "slider", pose1=(0.8, 0, 0), axis=(0, 1, 0))
    return sr.System(mechanism)


def test_a_massless_rod_passes_the_impact_on() -> None:
    """The stop of the slider turns the whole loop back with e times its speed, also where M is singular."""
    plain = crank()
    q = plain.assemble([0.8, -1.1, 1.0], locked=["crank"]).q
    v = plain.project_velocity(q, [-2.0, 0.0, 0.0])
    assert v[2] > 0.1
    found = sr.impact(crank(limits=(-5.0, float(q[2]))), q, v, restitution=0.6)
    assert_allclose(found.v, -0.6 * v, rtol=1e-10)
    assert found.energy_loss == pytest.approx((1 - 0.36) * plain.kinetic_energy(q, v), rel=1e-10)


def test_dry_friction_has_no_impulse() -> None:
    mechanism = sr.Mechanism("slide", gravity=G0)
    mechanism.add_body("slide", 1.0)
    mechanism.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0), friction=50.0, limits=(-1, 0))
    found = sr.impact(sr.System(mechanism), [0.0], [2.0], restitution=0.5)
    assert_allclose(found.v, [-1.0])
    assert found.contacts["x.friction"] == 0.0


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_one_flank_of_a_gearing_hits(way: float) -> None:
    """A wheel of 0.2 kg m² runs into a resting one of 0.8 kg m² at 1 : 1: both go on with a fifth of its speed."""
    mechanism = sr.Mechanism("gears", gravity=G0)
    for k, inertia in enumerate((0.2, 0.8)):
        mechanism.add_body(f"wheel{k}", 1.0, inertia=(inertia,) * 3)
        mechanism.add_joint(f"wheel{k}", "revolute", "world", f"wheel{k}")
    mechanism.add_gearing("teeth", {"wheel0": 1.0, "wheel1": -1.0}, {"wheel0": 1.0}, friction_coefficient=0.0)
    system = sr.System(mechanism)
    found = sr.impact(system, [0.0, 0.0], [5.0 * way, 0.0])
    assert_allclose(found.v, way, rtol=1e-12)
    assert len(found.contacts.carrying) == 1
    assert found.energy_loss == pytest.approx(0.5 * 0.16 * 25.0, rel=1e-12)


# --- contacts that are constraints beside others ----------------------------------------------------------


@pytest.mark.parametrize("arm", [0.5, 1.0])
def test_a_constraint_opens_where_it_would_have_to_pull(arm: float) -> None:
    """Within the radius of gyration the resting end leaves, beyond it the ground pushes it, as with like contacts."""
    q, v = [0.0, 0.0, 0.0], np.array([0.0, -0.5, -0.5 / arm])
    mixed, like = plank("coulomb", arm=arm), plank("coulomb", "coulomb", arm)
    found, other = sr.impact(mixed, q, v), sr.impact(like, q, v)
    assert_allclose(found.v, other.v, atol=1e-13)
    assert found.energy_loss == pytest.approx(other.energy_loss, rel=1e-12)
    assert found.released == (("left",) if arm == 0.5 else ())
    assert_allclose(found.contacts["right"], other.contacts["right"], atol=1e-13)
    held = mixed.closure_rows["left"].start
    assert found.impulse[held] == pytest.approx(float(other.contacts["left"][0]), abs=1e-13)
    mass = mixed.mass_matrix(q)
    assert_allclose(found.generalized_impulse, mass @ (found.v - v), atol=1e-13)


# --- the laws, and runs -----------------------------------------------------------------------------------


def legged(seed: int, law: str, loop: bool) -> tuple[sr.System, np.ndarray, np.ndarray]:
    """Return a body with two jointed legs whose four points touch the ground, in a loop if asked, and a state."""
    rng = np.random.default_rng(seed)
    mechanism = sr.Mechanism("legged", gravity=G0)
    mechanism.add_body("trunk", 2.0, com=rng.uniform(-0.1, 0.1, 3), inertia=(0.1, 0.2, 0.25))
    mechanism.add_joint("float", "free", "world", "trunk")
    feet = [("trunk", (-0.3, 0.2, -0.4)), ("trunk", (-0.3, -0.2, -0.4))]
    for k, y in enumerate((0.2, -0.2)):
        mechanism.add_body(f"leg{k}", 0.5, com=(0.0, 0.0, -0.2), inertia=(0.02, 0.02, 0.01))
        mechanism.add_joint(
            f"hip{k}", "revolute", "trunk", f"leg{k}", axis=(0, 1, 0), parent_pose=(0.3, y, 0),
            limits=(0.0, 1.0) if k else (-2.0, 2.0), limit_restitution=0.3,
        )  # fmt: skip
        feet.append((f"leg{k}", (0.05, 0.0, -0.4)))
    if loop:
        mechanism.add_coupling("tie", {"hip0": 1.0, "hip1": -1.0})
    for k, (on, point) in enumerate(feet):
        mechanism.add_contact(
            f"foot{k}", on, point, offset=-0.4, friction="coulomb", friction_coefficient=rng.uniform(0, 0.8),
            restitution=float(rng.choice([0.0, 0.3])), impact_law=law,
        )  # fmt: skip
    system = sr.System(mechanism)
    v = rng.standard_normal(8)
    v[2] = -2.0
    if loop:
        v = system.project_velocity(system.neutral(), v)
    return system, system.neutral(), np.array(v)


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_it_is_the_impact_of_a_run(law: str, loop: bool) -> None:
    """With the loop the feet are redundant: their shares, on which friction depends, are known to 1e-6."""
    close = 1e-6 if loop else 1e-9
    for seed in range(4):
        system, q, v = legged(seed, law, loop)
        found, (after, motion) = sr.impact(system, q, v), struck(system, q, v)
        assert len(found.contacts.touching) == 5  # four feet and a stop
        assert_allclose(found.v, after, rtol=0, atol=close * np.abs(v).max())
        assert found.energy_loss == pytest.approx(motion.switches[0].energy_loss, rel=close)


def test_the_laws_of_an_impact_hold() -> None:
    """Newton's and Coulomb's laws on random bodies, with rows by differences of positions."""
    for seed in range(6):
        system, q, v = legged(seed, "newton", False)
        found = sr.impact(system, q, v)
        mechanism, h = system.mechanism, 1e-6
        impulse = np.zeros(system.nv)
        for name, contact in mechanism.contacts.items():
            body = list(mechanism.bodies).index(contact.body)

            places = []
            for step in (*np.eye(system.nv), *-np.eye(system.nv)):
                positions, turns = system.body_placements(system.move(q, h * step))
                places.append(positions[body] + turns[body] @ np.asarray(contact.point))
            rows = (np.array(places[: system.nv]) - places[system.nv :]).T / (2 * h)
            frame = np.array([contact.normal, contact.tangent1, contact.tangent2])
            r, before, after = found.contacts[name], frame @ rows @ v, frame @ rows @ found.v
            impulse += (frame @ rows).T @ r
            gone = after[0] + contact.restitution * min(before[0], 0.0)
            assert min(r[0], gone + 1e-8) > -1e-8
            assert abs(r[0] * gone) < 1e-7
            most, slip = contact.friction_coefficient * r[0], np.linalg.norm(after[1:])
            assert np.linalg.norm(r[1:]) <= most + 1e-9
            if slip > 1e-6:
                assert_allclose(r[1:], -most * after[1:] / slip, atol=1e-6)
        impulse[system.velocity_indices("hip1")] += found.contacts["hip1.lower stop"]
        assert_allclose(system.mass_matrix(q) @ (found.v - v), impulse, atol=1e-7)
        assert_allclose(found.generalized_impulse, impulse, atol=1e-7)


def test_gaps_of_a_mechanism_with_a_loop_and_no_contact_that_is_a_constraint() -> None:
    system, q, _ = legged(0, "newton", True)
    assert_allclose(list(gaps(system, q).values()), 0.0, atol=1e-15)


def test_what_is_refused_by_name() -> None:
    system = ball()
    up, low = [0, 0, 0.2, 1, 0, 0, 0], [0, 0, 0.05, 1, 0, 0, 0]
    v = [0, 0, -1, 0, 0, 0]
    with pytest.raises(
        ArgumentError, match=r"contact 'ground' does not touch its plane at q, the gap is 0.1 m"
    ):
        sr.impact(system, up, v, closing=["ground"])
    with pytest.raises(ArgumentError, match=r"contact 'ground' is 0.05 m below its plane; raise the body"):
        sr.impact(system, low, v)
    with pytest.raises(ArgumentError, match="closing: unknown constraint 'grund'"):
        sr.impact(system, up, v, closing=["grund"])
    with pytest.raises(ArgumentError, match="restitution of 'ground' must be between 0 and 1, got 2"):
        sr.impact(system, up, v, restitution={"ground": 2})
    assert_allclose(sr.impact(system, up, v).v, v)
