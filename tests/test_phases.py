"""Smooth phases with Coulomb friction, stops and dry friction between events, against closed forms."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

import sarrus as sr
from conftest import load_example
from sarrus.dynamics.impacts import activity
from test_several_contacts import table
from test_time_stepping import G, body, moving, pendulums, point, pulled_block, rod, slider_crank


def run(system: sr.System, q: object, v: object, duration: float, **more: object) -> sr.Trajectory:
    """Return the motion with tight tolerances, without an estimate of its error."""
    return sr.simulate(system, q, v, duration=duration, rtol=1e-10, error_estimate=False, **more)


def times(motion: sr.Trajectory, what: str) -> list[float]:
    """Return when something of the kind happened."""
    return [switch.time for switch in motion.switches if getattr(switch, what)]


def balance(motion: sr.Trajectory) -> float:
    """Return how far energy and what contacts took are from the energy at first, relative to the largest."""
    total = motion.energy + motion.contact_loss
    return float(np.abs(total - total[0]).max() / np.abs(motion.energy).max())


# --- one body -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, "dopri5", "rodas5p"])
def test_a_block_stops_where_and_when_friction_says(method: str | None) -> None:
    slope, friction = np.arctan(0.3), 0.5
    system = point(friction, slope=slope)
    motion = run(system, system.neutral(), moving(system, vx=1.0), 1.0, method=method)
    slows = G * np.cos(slope) * (friction - 0.3)
    assert times(motion, "sticking") == pytest.approx([1.0 / slows], abs=1e-10)
    assert motion.q[-1, 0] == pytest.approx(0.5 / slows, rel=1e-10)
    assert np.abs(motion.q[:, 2]).max() < 1e-12
    assert np.abs(motion.v[-1]).max() < 1e-14
    assert balance(motion) < 1e-10
    weight = 2.0 * G * np.cos(slope)
    assert_allclose(motion.contact_forces[0], [weight, -friction * weight, 0.0], atol=1e-10)
    assert_allclose(motion.contact_forces[-1], [weight, -0.3 * weight, 0.0], atol=1e-10)


def test_a_block_curves_on_a_slope_as_steep_as_its_friction() -> None:
    """At speed v and angle φ to the line of fall v (1 + cos φ) stays as it is."""
    friction = 0.5
    system = point(friction, slope=np.arctan(friction))
    motion = run(system, system.neutral(), moving(system, vy=1.0), 2.0)
    speed = np.hypot(motion.v[:, 0], motion.v[:, 1])
    assert_allclose(speed + motion.v[:, 0], 1.0, rtol=1e-8)
    assert 0.5 < speed[-1] < 0.51


def test_a_ball_slips_until_it_rolls() -> None:
    radius, mass, friction = 0.1, 1.0, 0.3
    mechanism = body(mass=mass, inertia=0.4 * mass * radius**2)
    mechanism.add_contact("c", "block", radius=radius, friction="coulomb", friction_coefficient=friction)
    system = sr.System(mechanism)
    q = system.neutral()
    q[2] = radius
    motion = run(system, q, moving(system, vx=1.0), 0.5)
    slips = 2.0 / (7.0 * friction * G)
    assert times(motion, "sticking") == pytest.approx([slips], abs=1e-10)
    assert_allclose(motion.v[-1, [0, 4]], [5 / 7, 5 / 7 / radius], rtol=1e-10)
    truth = slips - 0.5 * friction * G * slips**2 + 5.0 / 7.0 * (0.5 - slips)
    assert motion.q[-1, 0] == pytest.approx(truth, rel=1e-10)


def test_torsional_friction_stops_a_spin() -> None:
    length, friction, spin = 0.02, 0.3, 30.0
    mechanism = body(inertia=4e-3)
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=friction, torsion=length)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), moving(system, wz=spin), 2.0)
    slows = friction * 2.0 * G * length / 4e-3
    assert times(motion, "sticking") == pytest.approx([spin / slows], abs=1e-9)
    assert abs(motion.v[-1, 5]) < 1e-13


def test_a_ball_bounces_until_it_rests() -> None:
    """Impacts come at times of a geometric series and take 1 − e² of the energy each; the last ones are left out."""
    bounce, least = 0.8, 1e-3
    system = point(0.3, restitution=bounce)
    q = system.neutral()
    q[2] = 1.0
    motion = run(system, q, None, 5.0, switching=sr.Switching(rest_speed=least))
    fall = np.sqrt(2.0 / G)
    impacts = times(motion, "bounced")
    numbers = np.arange(len(impacts))
    truth = fall * (1.0 + 2.0 * bounce * (1.0 - bounce**numbers) / (1.0 - bounce))
    assert_allclose(impacts, truth, atol=1e-9)
    assert impacts[0] == pytest.approx(fall, abs=1e-10)
    losses = [switch.energy_loss for switch in motion.switches if switch.bounced]
    assert_allclose(losses, 2.0 * G * (1.0 - bounce**2) * bounce ** (2 * numbers), rtol=1e-6)
    assert bounce ** (len(impacts) + 1) * G * fall < least <= bounce ** len(impacts) * G * fall
    assert balance(motion) < 1e-9
    assert np.abs(motion.v[-1]).max() < 1e-20


def test_painleve_rod_has_an_impact_without_collision() -> None:
    angle, friction = 0.9, 2.5
    system = rod(friction)
    q = np.array([0.0, np.sin(angle), angle])
    motion = run(system, q, [-1.0, 0.0, 0.0], 1e-3)
    assert motion.switches[0].time < 1e-9
    assert motion.switches[0].energy_loss > 0.1
    assert abs(motion.v[0, 0] + np.sin(angle) * motion.v[0, 2]) < 1e-6  # the end has stopped
    backwards = run(system, q, [1.0, 0.0, 0.0], 1e-3)
    assert backwards.v[-1, 0] == pytest.approx(1.0, abs=0.1)


def test_a_rod_on_a_smooth_floor_and_one_that_begins_to_slip() -> None:
    start = 1.4
    system = rod(0.0)
    motion = run(system, np.array([0.0, np.sin(start), start]), None, 0.8)
    angle, spin = motion.q[-1, 2], motion.v[-1, 2]
    truth = np.sqrt(2.0 * G * (np.sin(start) - np.sin(angle)) / (np.cos(angle) ** 2 + 1.0 / 3.0))
    assert abs(spin) == pytest.approx(truth, rel=1e-9)
    assert np.abs(motion.q[:, 1] - np.sin(motion.q[:, 2])).max() < 1e-12
    # while its end sticks it falls as a pendulum: the ratio of its forces is a function of the angle
    friction = 0.3
    motion = run(rod(friction), np.array([0.0, np.sin(start), start]), None, 0.8)
    slip = times(motion, "slipping")[0]
    angle = float(motion.q[np.flatnonzero(motion.t == slip)[0], 2])
    drop = np.sin(start) - np.sin(angle)
    turn, spin2 = 0.75 * G * np.cos(angle), 1.5 * G * drop  # of a rod of length 2 about its end
    across = np.sin(angle) * turn - np.cos(angle) * spin2
    above = G - np.cos(angle) * turn - np.sin(angle) * spin2
    assert abs(across) / above == pytest.approx(friction, rel=1e-6)


# --- stops and dry friction ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"method": "rodas5p"}, {"method": "dopri5"}])
def test_limits_of_joints_stop_them(options: dict[str, str]) -> None:
    """A pendulum meets its limit at a time by quadrature, stays there while it is pressed, and swings back."""
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("link", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    mechanism.add_joint("j", "revolute", "world", "link", axis=(0, 1, 0), limits=(-0.7, 0.4))
    system = sr.System(mechanism)
    start, about = -0.6, 0.1 + 0.25
    motion = run(system, [start], None, 1.5, **options)
    hit = quad(
        lambda x: np.sqrt(about / (G * (np.cos(x) - np.cos(start)))),
        start + 1e-12,
        0.4,
        epsabs=1e-13,
        limit=500,
    )[0]
    first = motion.switches[0]
    assert first.time == pytest.approx(hit, abs=2e-6)  # the quadrature leaves out what its square root hides
    energy = 0.5 * G * (np.cos(0.4) - np.cos(start))
    assert first.energy_loss == pytest.approx(energy, rel=1e-9)
    assert motion.q.max() < 0.4 + 1e-9
    assert balance(motion) < 1e-9
    assert [crossing.time for crossing in motion.limit_crossings] == [first.time]
    assert sr.simulate(system, [start], duration=1.5, switching=False).limit_crossings


def test_a_joint_that_is_pressed_on_its_stop_stays_there() -> None:
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("link", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    mechanism.add_joint("j", "revolute", "world", "link", axis=(0, 1, 0), limits=(-0.7, 0.4))
    held = run(sr.System(mechanism), [0.0], None, 2.0, force=lambda q, v, t: np.array([5.0]))
    assert held.q[-1, 0] == pytest.approx(0.4, abs=1e-12)
    assert held.contact_row_names == ("j.lower stop", "j.upper stop")
    assert_allclose(held.contact_forces[-1], [0.0, 5.0 - 0.5 * G * np.sin(0.4)], rtol=1e-12)
    both = run(pendulums(limits=(-0.4, 0.6)), [0.6, 0.5], None, 4.0)
    assert both.contact_forces.min() > -1e-9
    assert balance(both) < 1e-8


@pytest.mark.parametrize("beyond", [1e-2, 1e-4, 1e-6])
def test_a_stop_that_is_only_grazed_is_met(beyond: float) -> None:
    """A pendulum whose swing would go beyond its limit for a part of a step alone."""
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("link", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    mechanism.add_joint("j", "revolute", "world", "link", axis=(0, 1, 0), limits=(-1.0, 0.6 - beyond))
    system = sr.System(mechanism)
    for options in ({}, {"dt": 0.01}, {"rtol": 1e-10, "method": "dopri5"}):
        motion = sr.simulate(system, [-0.6], duration=3.0, error_estimate=False, **options)
        assert len(motion.switches) == len(motion.limit_crossings) == 1
        assert motion.q.max() < 0.6 - beyond + 1e-9


def test_a_coordinate_that_begins_beyond_a_stop_comes_back_and_goes_no_further() -> None:
    """It used to leave the stop for the whole run."""
    system = pendulums(limits=(-0.4, 0.6))
    with pytest.warns(sr.LimitWarning, match="j0 = 0.9 is beyond its upper limit 0.6"):
        motion = run(system, [0.9, 0.0], None, 4.0)
    assert motion.q[:, 0].max() == 0.9
    inside = int(np.argmax(motion.q[:, 0] < 0.6))
    assert inside
    assert motion.q[inside:].max() < 0.6 + 1e-9
    assert motion.limit_crossings[0].name == "j0"
    assert motion.limit_crossings[0].value == 0.9


def test_dry_friction_takes_force_times_way() -> None:
    """Through dead centres, and through singular configurations of equal links."""
    for crank, link, inertia, force, start, speeds in (
        (0.3, 0.8, 0.01, 3.0, [0.3, -0.4, 1.0], [8.0, -3.0, 0.0]),
        (0.5, 0.5, 0.02, 1.0, [0.3, -0.6, 0.95], [6.0, -12.0, 0.0]),
    ):
        system = slider_crank(crank, link, inertia=inertia, friction=force)
        q = system.assemble(start, locked=["crank"]).q
        v = system.project_velocity(q, speeds)
        motion = run(system, q, v, 2.0)
        place = motion.q[:, system.coordinate_names.index("slider")]
        # its way from turn to turn: between records it is monotone where its velocity has one sign
        turns = np.concatenate([[0], [k for k in range(1, len(place)) if motion.t[k] == motion.t[k - 1]]])
        way = np.abs(np.diff(place[[*turns, len(place) - 1]])).sum()
        assert motion.energy[0] - motion.energy[-1] == pytest.approx(force * way, rel=1e-7)
        assert motion.contact_loss[-1] == pytest.approx(force * way, rel=1e-7)
        assert motion.residual.max() < 1e-12
        assert bool(motion.passages) is (crank == link)


def held_pendulum(
    length: float, axis: tuple[float, ...], held_by: str = "coupling", **joint: object
) -> sr.System:
    """Return a pendulum with dry friction on a body that does not move, in metres or, with 1000, in millimetres."""
    inertia = np.full(3, 0.02) * length**2
    mechanism = sr.Mechanism("held", gravity=(0.0, 0.0, -G * length))
    mechanism.add_body("a", 1.0, com=(0.1 * length, 0, 0), inertia=inertia)
    mechanism.add_joint("a", "revolute", "world", "a", axis=axis, **joint)
    mechanism.add_body("b", 1.0, com=(0.1 * length, 0, 0), inertia=inertia)
    mechanism.add_joint(
        "b", "revolute", "a", "b", axis=(0, 1, 0), parent_pose=(0.3 * length, 0, 0), friction=0.2 * length**2
    )
    if held_by == "weld":
        mechanism.add_closure("brake", "weld", "world", "a")
    elif held_by == "drive":
        mechanism.add_motion("drive", "a", lambda t: ca.if_else(t > 0.3, (t - 0.3) ** 4, 0.0))
    else:
        mechanism.add_coupling("brake", {"a": 1.0})
    return sr.System(mechanism)


HELD = [
    *product((1.0, 1e3), ((0, 1, 0), (0.1, -1, 0.3)), ("weld", "coupling"), ("friction",)),
    *product((1.0, 1e3), ((0, 1, 0), (0.1, -1, 0.3)), ("coupling",), ("lower", "upper", "foot")),
]


@pytest.mark.parametrize(("length", "axis", "held_by", "what"), HELD)
def test_what_the_constraints_hold_fast_has_no_friction_and_no_stop(
    length: float, axis: tuple[float, ...], held_by: str, what: str
) -> None:
    limits = {"lower": (0.0, 1.0), "upper": (-1.0, 0.0)}
    joint = {"friction": 0.3 * length**2} if what == "friction" else {"limits": limits.get(what, (-1, 1))}
    system = held_pendulum(length, axis, held_by, **joint)
    if what == "foot":
        system.mechanism.add_contact(
            "foot", "a", point=(0.2 * length, 0, 0), friction="coulomb", friction_coefficient=0.5
        )
        system = sr.System(system.mechanism)
    motion = run(system, [0.0, 0.0], [0.0, 1.0], 2.0)
    mechanism = sr.Mechanism("alone")
    mechanism.add_body("b", 1.0, com=(0.1, 0, 0), inertia=(0.02,) * 3)
    mechanism.add_joint("b", "revolute", "world", "b", axis=(0, 1, 0), friction=0.2)
    alone = run(sr.System(mechanism), [0.0], [1.0], 2.0)
    assert_allclose(motion.q[-1], [0.0, alone.q[-1, 0]], atol=1e-9)
    assert_allclose(motion.contact_forces[:, :-1], 0.0)
    assert times(motion, "sticking")[-1] == pytest.approx(times(alone, "sticking")[-1], abs=1e-7)
    for speed in (-1.0, 0.0, 1.0):
        found = system.forward_dynamics([0.0, 0.0], [0.0, speed])
        friction = 0.2 if speed >= 0.0 else -0.2
        assert_allclose(found.a, [0.0, (0.1 * G - friction) / 0.03], rtol=1e-10, atol=1e-10)
        assert_allclose(found.contacts.forces[:-1], 0.0)


@pytest.mark.parametrize("length", [1.0, 1e3])
def test_a_driven_joint_rubs_while_it_is_moved(length: float) -> None:
    """It rises after it has dwelt: friction takes force times way, and nothing tells what it is at rest."""
    system = held_pendulum(length, (0.1, 1, 0.3), "drive", friction=0.3 * length**2)
    motion = run(system, [0.0, 0.0], [0.0, 1.0], 1.0)
    work = 0.3 * 0.7**4 + 0.2 * np.abs(np.diff(motion.q[:, 1])).sum()
    assert motion.contact_loss[-1] / length**2 == pytest.approx(work, rel=1e-8)
    own = motion.contact_forces[:, 0] / length**2
    assert_allclose(own[motion.t < 0.3], 0.0)
    assert_allclose(own[motion.t > 0.31], -0.3)


@pytest.mark.parametrize("length", [1.0, 1e3])
def test_a_pin_that_a_loop_keeps_from_sliding_is_a_hinge(length: float) -> None:
    found = []
    for kind, friction in (
        ("revolute", 0.02 * length**2),
        ("cylindrical", (0.1 * length, 0.02 * length**2)),
    ):
        mechanism = sr.Mechanism("four-bar", gravity=(0.0, 0.0, -G * length))
        for name, mass, bar in (("crank", 0.5, 0.1), ("rod", 0.8, 0.3), ("rocker", 0.6, 0.25)):
            inertia = np.array([1e-4, *[mass * bar**2 / 12.0] * 2]) * length**2
            mechanism.add_body(name, mass, com=(0.5 * bar * length, 0, 0), inertia=inertia)
        turns = {"axis": (0, 1, 0)}
        mechanism.add_joint("A", "revolute", "world", "crank", friction=0.03 * length**2, **turns)
        mechanism.add_joint(
            "B", kind, "crank", "rod", parent_pose=(0.1 * length, 0, 0), friction=friction, **turns
        )
        mechanism.add_joint("D", "revolute", "world", "rocker", parent_pose=(0.3 * length, 0, 0), **turns)
        ends = {"pose1": (0.3 * length, 0, 0), "pose2": (0.25 * length, 0, 0)}
        mechanism.add_closure("C", "revolute", "rod", "rocker", **ends, **turns)
        system = sr.System(mechanism)
        q = system.assemble([-1.0, *[0.0] * (system.nq - 3), 0.5, -1.8]).q
        v = system.project_velocity(q, 3.0 * np.eye(system.nv)[0])
        motion = run(system, q, v, 1.0)
        found.append(np.delete(motion.q[-1], range(1, system.nq - 2)))
        assert balance(motion) < 1e-7
    assert_allclose(found[1], found[0], atol=1e-7)


def test_a_block_on_a_spring_sticks_and_slips() -> None:
    system, first, period = pulled_block()
    motion = run(system, system.neutral(), None, first + 2.5 * period)
    assert_allclose(times(motion, "slipping"), first + period * np.arange(3), atol=1e-9)


# --- robots -------------------------------------------------------------------------------------------


def test_a_table_stands_and_slides() -> None:
    system, q = table()
    motion = run(system, q, None, 0.2)
    assert motion.status.ok
    assert_allclose(motion.contact_forces[:, ::3], 0.5 * G, rtol=1e-6)
    assert np.abs(motion.v).max() < 1e-12
    pushed = run(system, q, moving(system, vx=1.0), 0.5)
    assert pushed.q[-1, 0] == pytest.approx(0.5 / (0.4 * G), rel=1e-8)


# Boxes that pivot about a corner, land on an edge, stop with all corners at once, slide at the friction of Painlevé.
@pytest.mark.parametrize("seed", [2, 62, 143, 150, 184, 221, 227])
def test_a_box_thrown_on_a_floor_comes_to_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    friction, bounce = rng.choice([0.0, 0.1, 0.4, 0.8, 1.5]), rng.choice([0.0, 0.0, 0.5])
    mechanism = sr.Mechanism("box")
    mechanism.add_body("box", 1.0, inertia=(0.02, 0.03, 0.04))
    mechanism.add_joint("free", "free", "world", "box")
    for k, corner in enumerate(product((-0.2, 0.2), (-0.15, 0.15), (-0.1, 0.1))):
        mechanism.add_contact(
            f"c{k}", "box", corner, friction="coulomb", friction_coefficient=friction, restitution=bounce
        )
    system = sr.System(mechanism)
    q, turn = system.neutral(), rng.normal(size=4)
    q[2] = 0.5
    if seed % 3:
        q[3:7] = turn / np.linalg.norm(turn)
    v = rng.normal(size=6) * [1, 1, 1, 3, 3, 3]
    motion = sr.simulate(system, q, v, duration=2.0, error_estimate=False)
    assert motion.status.ok
    assert balance(motion) < 1e-8
    assert np.diff(motion.contact_loss).min() > -1e-9
    assert min(activity.gaps(system, motion.q[-1]).values()) > -1e-9
    assert np.abs(motion.v[-1]).max() < 1e-9


@pytest.mark.parametrize("friction", ["stick", "frictionless"])
def test_stops_beside_contacts_that_are_constraints(friction: str) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        mechanism = sr.Mechanism("arm")
        parent, at = "world", (0.0, 0.0, 1.2)
        for k in range(3):
            mechanism.add_body(f"link{k}", 1.0, com=(0, 0, -0.25), inertia=(0.02, 0.02, 0.004))
            mechanism.add_joint(
                f"j{k}", "revolute", parent, f"link{k}", axis=(0, 1, 0), parent_pose=at,
                limits=(-0.9, 0.7) if k else None,
            )  # fmt: skip
            parent, at = f"link{k}", (0.0, 0.0, -0.5)
        bounce = float(rng.choice([0.0, 0.5]))
        mechanism.add_contact("tip", parent, (0, 0, -0.5), friction=friction, restitution=bounce)
        q = np.array([1.2, 0.1, 0.1]) + 0.2 * rng.normal(size=3)
        motion = run(sr.System(mechanism), q, rng.normal(size=3), 2.0)
        lost = sum(switch.energy_loss for switch in motion.switches)
        assert motion.energy[0] - motion.energy[-1] == pytest.approx(lost, abs=1e-8 * motion.energy.max())
        assert motion.q[:, 1:].max() < 0.7 + 5e-9  # 1e-10 s at up to 20 rad/s
        assert motion.q[:, 1:].min() > -0.9 - 5e-9
        names = {name for switch in motion.switches for name in (*switch.closed, *switch.bounced)}
        assert any("stop" in name for name in names)


def test_a_bar_that_sticks_opens_at_one_end_without_sliding() -> None:
    """Its two points share friction along it as they like: the one that is about to open needs none."""
    mechanism = body("bar")
    for name, x in (("front", 0.1), ("rear", -0.1)):
        mechanism.add_contact(
            name, "bar", (x, 0, -0.05), offset=-0.05, friction="coulomb", friction_coefficient=0.5
        )
    system, weight = sr.System(mechanism), 2.0 * G

    def push(q: object, v: object, t: ca.SX) -> ca.SX:
        """Six tenths of the friction forwards, and a couple with which the rear lifts after one second."""
        return ca.vertcat(0.3 * weight, 0, 0, 0, 0.1 * weight * t - 0.05 * 0.3 * weight, 0)

    motion = run(system, system.neutral(), None, 1.1, force=push)
    assert motion.switches[-1].opened == ("rear",)
    assert all(abs(switch.time - 1.0) < 1e-7 for switch in motion.switches[1:])
    assert motion.steps < 150
    before = motion.contact_forces[motion.t < 1.0 - 1e-7]
    assert_allclose(before[:, 1] + before[:, 4], -0.3 * weight, rtol=1e-9)
    assert (np.abs(before[:, 4]) <= 0.5 * before[:, 3] + 1e-8 * weight).all()


def test_a_biped_falls_on_its_feet_with_its_energy_accounted_for() -> None:
    """Eight corners with friction and two loops in each leg: closed to rounding, across impacts of several corners."""
    module = load_example("biped_four_bar")
    model = sr.System(module.build())
    mechanism = module.build()
    for name, contact in list(mechanism.contacts.items()):
        mechanism.contacts[name] = replace(contact, friction="coulomb", friction_coefficient=0.6)
    plant = sr.System(mechanism)
    start = module.standing(model).copy()
    start[2] += 0.02 - min(activity.gaps(plant, start).values())
    motion = run(plant, start, None, 0.25)
    assert motion.status.ok
    assert motion.contact_loss[-1] > 1.0
    assert motion.residual.max() < 1e-12
    assert balance(motion) < 1e-6
    coarse = sr.simulate(plant, start, duration=0.25, rtol=1e-8, error_estimate=False)
    assert_allclose(coarse.q[-1], motion.q[-1], atol=1e-5)
    assert len(coarse.switches) < 25
