"""Time stepping with contacts, stops and dry friction, against scenes with known truth."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from sarrus.dynamics.impacts import activity
from several_contacts import cradle

G = 9.81


def body(name: str = "block", mass: float = 2.0, inertia: float = 0.1, slope: float = 0.0) -> sr.Mechanism:
    """Return a free body; gravity is turned by the slope of a plane that it falls on."""
    mechanism = sr.Mechanism(name, gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    mechanism.add_body(name, mass, inertia=(inertia,) * 3)
    mechanism.add_joint("free", "free", "world", name)
    return mechanism


def point(friction: float, slope: float = 0.0, **contact: float) -> sr.System:
    """Return a body that touches at its centre of mass."""
    mechanism = body(slope=slope)
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=friction, **contact)
    return sr.System(mechanism)


def run(system: sr.System, q: object, v: object, duration: float, dt: float, **more: object) -> sr.Trajectory:
    """Return the motion, without an estimate of its error."""
    return sr.simulate(system, q, v, duration=duration, dt=dt, error_estimate=False, **more)


def moving(system: sr.System, **speeds: float) -> np.ndarray:
    """Return velocities by name."""
    v = np.zeros(system.nv)
    for name, speed in speeds.items():
        v[system.velocity_names.index(f"free.{name}")] = speed
    return v


def order(errors: list[float]) -> float:
    """Return the order by the last two errors, of steps that are halved."""
    return float(np.log2(errors[-2] / errors[-1]))


# --- one body -----------------------------------------------------------------------------------------


def test_a_block_sticks_below_the_angle_of_friction() -> None:
    for excess, sticks in ((0.999999, True), (1.000001, False)):
        system = point(0.5, slope=np.arctan(0.5 * excess))
        motion = run(system, system.neutral(), None, 1.0, 1e-2)
        assert bool(np.abs(motion.v[-1]).max() < 1e-12) is sticks
    weight = 2.0 * G * np.cos(np.arctan(0.3))
    system = point(0.5, slope=np.arctan(0.3))
    motion = run(system, system.neutral(), None, 0.1, 1e-2)
    assert motion.contact_row_names == ("c.n", "c.t1", "c.t2")
    assert_allclose(motion.contact_forces, [[weight, -0.3 * weight, 0.0]] * len(motion.t), rtol=1e-12)
    assert_allclose(motion.a, 0.0, atol=1e-12)


def test_a_block_stops_where_friction_has_taken_its_energy() -> None:
    slope, friction, errors = np.arctan(0.3), 0.5, []
    truth = 1.0 / (2.0 * G * np.cos(slope) * (friction - 0.3))
    system = point(friction, slope=slope)
    for dt in (4e-3, 2e-3, 1e-3):
        motion = run(system, system.neutral(), moving(system, vx=1.0), 1.0, dt)
        errors.append(abs(motion.q[-1, 0] - truth))
        assert np.abs(motion.q[:, 2]).max() < 1e-12  # it does not separate, as a relaxation would have it
        assert np.abs(motion.v[-1]).max() < 1e-14
        lost = motion.energy[0] - motion.energy[-1]
        assert motion.contact_loss[-1] == pytest.approx(lost, abs=1e-2 * dt)
        assert motion.contact_residual < 1e-10
    assert errors[-1] < 1e-6


def test_a_ball_slips_until_it_rolls() -> None:
    """It rolls with 5/7 of its speed, whatever the friction; until then μ g slows it down."""
    radius, mass, friction = 0.1, 1.0, 0.3
    mechanism = body(mass=mass, inertia=0.4 * mass * radius**2)
    mechanism.add_contact(
        "c", "block", radius=radius, friction="coulomb", friction_coefficient=friction, normal=(0, 0, 1)
    )
    system, errors = sr.System(mechanism), []
    q = system.neutral()
    q[2] = radius
    slips = 2.0 / (7.0 * friction * G)
    truth = slips - 0.5 * friction * G * slips**2 + 5.0 / 7.0 * (0.5 - slips)
    for dt in (1e-2, 5e-3, 2.5e-3):
        motion = run(system, q, moving(system, vx=1.0), 0.5, dt)
        assert_allclose(motion.v[-1, [0, 4]], [5 / 7, 5 / 7 / radius], rtol=1e-13)
        errors.append(abs(motion.q[-1, 0] - truth))
    assert errors[-1] < 0.05 * 2.5e-3**2 * G


def test_torsional_friction_stops_a_spin() -> None:
    length, friction, spin = 0.02, 0.3, 30.0
    mechanism = body(inertia=4e-3)
    mechanism.add_contact("c", "block", friction="coulomb", friction_coefficient=friction, torsion=length)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), moving(system, wz=spin), 2.0, 1e-2)
    slows = friction * 2.0 * G * length / 4e-3
    assert motion.contact_row_names[-1] == "c.torsion"
    assert_allclose(motion.v[:50, 5], spin - slows * motion.t[:50], atol=1e-11)
    assert abs(motion.v[-1, 5]) < 1e-13


def test_a_ball_bounces_and_comes_to_rest() -> None:
    """Every apex is e² of the last one; the bounces end at the time of their sum, and energy never grows."""
    bounce, errors = 0.8, []
    system = point(0.3, restitution=bounce)
    q = system.neutral()
    q[2] = 1.0
    fall = np.sqrt(2.0 / G)
    for dt in (1e-3, 5e-4, 2.5e-4):
        motion = run(system, q, None, 5.0, dt)
        flies = (motion.t > fall) & (motion.t < fall * (1.0 + 2.0 * bounce))
        errors.append(abs(motion.q[flies, 2].max() - bounce**2))
        assert motion.q[:, 2].min() > -1e-12
        assert (
            np.diff(motion.energy).max() < 1e-12 + 2.0 * 2.0 * G * 5.0 * dt
        )  # of a step with an impact in it
    assert errors[-1] < 2e-3
    rests = fall * (1.0 + bounce) / (1.0 - bounce)
    late = motion.t > rests + 0.1
    assert np.abs(motion.v[late]).max() < 1e-2


@pytest.mark.parametrize("method", [{}, {"method": "moreau-jean", "dt": 0.01}], ids=str)
def test_rebounds_as_slow_as_the_run_asks_for(method) -> None:
    """Without gravity a point that comes with 0.1 mm/s leaves with 0.08, or stays where that counts as rest."""
    mechanism = sr.Mechanism("slow", gravity=(0, 0, 0))
    mechanism.add_body("ball", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("height", "prismatic", "world", "ball", axis=(0, 0, 1))
    mechanism.add_contact("ground", "ball", friction="coulomb", friction_coefficient=0.3, restitution=0.8)
    system = sr.System(mechanism)
    for least, rebounds in ((1e-6, 0.8), (1e-3, 0.0)):
        switching = sr.Switching(rest_speed=least)
        motion = sr.simulate(system, [1e-4], [-1e-4], duration=2.0, switching=switching, **method)
        assert_allclose(motion.q[-1], rebounds * 1e-4, atol=2e-6)


def test_newtons_law_in_a_cradle() -> None:
    """Three balls that touch, restitution 1, the first one comes with 1 m/s: Newton's law gives (−1, 2, 2)/3."""
    system = cradle()
    motion = run(system, system.neutral(), [1.0, 0.0, 0.0], 0.01, 1e-3)
    assert_allclose(motion.v[-1], [-1 / 3, 2 / 3, 2 / 3], atol=1e-13)
    assert motion.contact_loss[-1] == pytest.approx(0.0, abs=1e-12)


def rod(friction: float) -> sr.System:
    """Return a rod of 2 m in a plane that touches the floor with one end."""
    mechanism = sr.Mechanism("rod")
    mechanism.add_body("rod", 3.0, inertia=(0.01, 1.0, 1.0))
    mechanism.add_joint("free", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_contact("end", "rod", (-1, 0, 0), friction="coulomb", friction_coefficient=friction)
    return sr.System(mechanism)


def test_a_rod_falls_on_a_smooth_floor() -> None:
    """Its centre falls straight down, and energy gives its speed at every angle."""
    system, start, errors = rod(0.0), 1.4, []
    for dt in (4e-3, 2e-3, 1e-3):
        motion = run(system, np.array([0.0, np.sin(start), start]), None, 0.8, dt)
        angle, spin = motion.q[-1, 2], motion.v[-1, 2]
        truth = np.sqrt(2.0 * G * (np.sin(start) - np.sin(angle)) / (np.cos(angle) ** 2 + 1.0 / 3.0))
        errors.append(abs(abs(spin) / truth - 1.0))
        assert angle < 1.2
        assert np.abs(motion.q[:, 0]).max() < 1e-12
        assert np.abs(motion.q[:, 1] - np.sin(motion.q[:, 2])).max() < 1e-12
    assert errors[-1] < 1e-5
    assert order(errors) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("dt", [1e-3, 1e-5])
def test_painleve_rod_has_an_impact_without_collision(dt: float) -> None:
    """Where no force keeps a rod that slides from going into the floor, it stops at once, however short the step."""
    angle, friction = 0.9, 2.5
    system = rod(friction)
    q = np.array([0.0, np.sin(angle), angle])
    inertia = 1.0 + 3.0 * np.cos(angle) * (np.cos(angle) - friction * np.sin(angle))
    assert inertia < -0.1  # of the normal direction, while it slides to the left
    assert activity.gaps(system, q)["end"] == pytest.approx(0.0, abs=1e-12)
    motion = run(system, q, [-1.0, 0.0, 0.0], 2 * dt, dt)
    slip = motion.v[1, 0] + np.sin(angle) * motion.v[1, 2]
    assert abs(slip) < 3.0 * dt
    assert motion.contact_forces[1, 0] * dt > 0.1  # an impulse, not a force
    assert motion.contact_loss[1] > 0.1
    backwards = run(system, q, [1.0, 0.0, 0.0], 2 * dt, dt)
    assert abs(backwards.v[1, 0] - 1.0) < 100.0 * dt


# --- stops and dry friction ---------------------------------------------------------------------------


def pendulums(**joint: object) -> sr.System:
    """Return a double pendulum in a plane."""
    mechanism = sr.Mechanism("pendulums")
    parent, at = "world", (0, 0, 0)
    for k in range(2):
        mechanism.add_body(f"link{k}", 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        mechanism.add_joint(f"j{k}", "revolute", parent, f"link{k}", axis=(0, 1, 0), parent_pose=at, **joint)
        parent, at = f"link{k}", (0, 0, -1)
    return sr.System(mechanism)


def test_stops_hold_and_only_push() -> None:
    system = pendulums(limits=(-0.4, 0.6))
    q = [0.6, 0.5]
    motion = run(system, q, None, 4.0, 1e-3, method="moreau-jean")
    assert motion.q.max() < 0.6 + 1e-12
    assert motion.q.min() > -0.4 - 1e-12
    stops = motion.contact_forces
    assert motion.contact_row_names == ("j0.lower stop", "j0.upper stop", "j1.lower stop", "j1.upper stop")
    assert stops.min() >= 0.0
    assert (stops.max(axis=0)[[0, 2]] > 1.0).all()  # both joints reach their stops
    assert np.diff(motion.energy).max() < 1e-3
    free = sr.simulate(system, q, duration=4.0, error_estimate=False)
    assert free.limit_crossings
    assert not motion.limit_crossings


def test_a_coordinate_that_begins_beyond_a_stop_comes_back_and_goes_no_further() -> None:
    """It used to leave the stop for the whole run."""
    system = pendulums(limits=(-0.4, 0.6))
    with pytest.warns(sr.LimitWarning, match="j0 = 0.9 is beyond its upper limit 0.6"):
        motion = run(system, [0.9, 0.0], None, 4.0, 1e-3, method="moreau-jean")
    assert motion.q[:, 0].max() == 0.9
    inside = int(np.argmax(motion.q[:, 0] < 0.6))
    assert inside
    assert motion.q[inside:].max() < 0.6 + 1e-12
    assert [crossing.name for crossing in motion.limit_crossings] == ["j0"]


def slider_crank(crank: float, rod: float, inertia: float, friction: float) -> sr.System:
    """Return a slider-crank of two links in zero gravity, with dry friction in its slider."""
    mechanism = sr.Mechanism("slider-crank", gravity=(0, 0, 0))
    for name, length in (("crank", crank), ("rod", rod)):
        mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(inertia,) * 3)
    mechanism.add_body("slider", 0.5)
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_joint("rod", "revolute", "crank", "rod", parent_pose=(crank, 0, 0))
    mechanism.add_joint("slider", "prismatic", "world", "slider", axis=(1, 0, 0), friction=friction)
    mechanism.add_closure("pin", "point", "rod", "slider", pose1=(rod, 0, 0))
    return sr.System(mechanism)


def test_dry_friction_takes_force_times_way() -> None:
    """A slider-crank turns through its dead centres until the friction of its slider has taken all energy."""
    system, errors = slider_crank(0.3, 0.8, inertia=0.01, friction=3.0), []
    q = system.assemble([0.3, -0.4, 1.0], locked=["crank"]).q
    v = system.project_velocity(q, [8.0, -3.0, 0.0])
    for dt in (2e-3, 1e-3):
        motion = run(system, q, v, 3.0, dt, method="moreau-jean")
        place = motion.q[:, system.coordinate_names.index("slider")]
        way = np.abs(np.diff(place)).sum()
        errors.append(abs(motion.energy[0] - motion.energy[-1] - 3.0 * way))
        assert motion.residual.max() < 1e-12
        assert np.abs(motion.v[-1]).max() < 1e-9  # it has stopped
        assert motion.contact_loss[-1] == pytest.approx(motion.energy[0], rel=1e-2)
    assert errors[-1] < 2e-3 * motion.energy[0]
    assert motion.contact_row_names == ("slider.friction",)


def test_dry_friction_through_singular_configurations() -> None:
    """A slider-crank of equal links is singular where crank and rod coincide; energy goes as force times way."""
    system, errors = slider_crank(0.5, 0.5, inertia=0.02, friction=1.0), []
    q = system.assemble([0.3, -0.6, 0.95], locked=["crank"]).q
    v = system.project_velocity(q, [6.0, -12.0, 0.0])
    for dt in (2e-3, 1e-3, 5e-4):
        motion = run(system, q, v, 2.0, dt, method="moreau-jean")
        assert motion.status.ok
        assert motion.passages
        assert motion.residual.max() < 1e-14
        way = np.abs(np.diff(motion.q[:, 2])).sum()
        lost = motion.energy[0] - motion.energy[-1]
        errors.append(abs(lost - way))
        assert motion.contact_loss[-1] == pytest.approx(lost, rel=2e-3)
    assert errors[-1] < 1e-5
    assert order(errors) > 1.5


def test_steps_without_contact_are_of_order_two() -> None:
    system = pendulums()
    exact = sr.simulate(system, [0.9, -0.4], duration=1.0, rtol=1e-12, error_estimate=False).q[-1]
    errors = [
        np.abs(run(system, [0.9, -0.4], None, 1.0, dt, method="moreau-jean").q[-1] - exact).max()
        for dt in (1e-2, 5e-3, 2.5e-3)
    ]
    assert order(errors) == pytest.approx(2.0, abs=0.1)


def test_sliding_is_of_order_two() -> None:
    """A pendulum whose end slides on the floor, as long as it slides."""
    ends = []
    system = rod(0.1)
    q, v = np.array([0.0, np.sin(1.2), 1.2]), np.array([2.0, 0.0, 0.0])
    for dt in (4e-3, 2e-3, 1e-3, 5e-4):
        motion = run(system, q, v, 0.2, dt)
        assert np.abs([activity.gaps(system, x)["end"] for x in motion.q]).max() < 1e-12
        ends.append(motion.q[-1])
    errors = [np.abs(one - other).max() for one, other in pairwise(ends)]
    assert order(errors) == pytest.approx(2.0, abs=0.2)


# --- what is asked ------------------------------------------------------------------------------------


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(sr.ModelError, match="needs a friction_coefficient"):
        body().add_contact("c", "block", friction="coulomb")
    for wrong in (np.nan, np.inf, -0.1):
        with pytest.raises(sr.ModelError, match="friction_coefficient"):
            point(wrong)
    with pytest.raises(sr.ModelError, match="radius, torsion, rolling and static_coefficient are for"):
        body().add_contact("c", "block", radius=0.1)
    with pytest.raises(sr.ModelError, match=r"at least friction_coefficient 0\.5"):
        point(0.5, static_coefficient=0.4)
    system = point(0.5)
    deep = system.neutral()
    deep[2] = -0.01
    with pytest.raises(sr.ArgumentError, match=r"contact 'c' begins 0\.01 m below its plane"):
        run(system, deep, None, 0.1, 1e-3)
    with pytest.raises(
        sr.ArgumentError, match="has a formulation and coordinates of its own: leave formulation"
    ):
        run(system, system.neutral(), None, 0.1, 1e-3, method="moreau-jean", formulation="kkt")
    with pytest.raises(sr.ArgumentError, match="fixed step"):
        sr.simulate(system, system.neutral(), duration=0.1, rtol=1e-6, method="moreau-jean")
    with pytest.raises(sr.ArgumentError, match=r"run 1: contact 'c' begins 0\.01 m below"):
        sr.rollout(system, [system.neutral(), deep], duration=0.1, dt=1e-3)
    with pytest.raises(sr.ArgumentError, match="leave stabilization"):
        sr.rollout(system, [system.neutral()], duration=0.1, dt=1e-3, stabilization="none")
    with pytest.raises(sr.ArgumentError, match="friction='coulomb' is for plants"):
        sr.control.LeggedController(system, [])
    with pytest.raises(
        sr.ArgumentError, match="has a formulation and coordinates of its own: leave coordinates"
    ):
        run(system, system.neutral(), None, 0.1, 1e-3, method="moreau-jean", coordinates="partition")
    falls = sr.simulate(system, system.neutral(), duration=0.1, dt=1e-3, switching=False)
    assert falls.q[-1, 2] == pytest.approx(-0.005 * G, rel=1e-9)


def test_walls_that_close_in_end_a_run_by_name() -> None:
    """A body on a slide between two driven planes: no motion keeps both from closing further."""
    mechanism = sr.Mechanism("vice", gravity=(0, 0, 0))
    mechanism.add_body("block", 1.0)
    mechanism.add_joint("x", "prismatic", "world", "block", axis=(1, 0, 0))
    for name, side in (("left", -1), ("right", 1)):
        mechanism.add_body(name)
        mechanism.add_joint(name, "fixed", "world", name)
        mechanism.drive(name, lambda t, side=side: (side * (0.2 - t), 0, 0))
        mechanism.add_contact(
            f"{name}.jaw", "block", (side * 0.1, 0, 0), ground=name, normal=(-side, 0, 0),
            friction="coulomb", friction_coefficient=0.0,
        )  # fmt: skip
    system = sr.System(mechanism)
    motion = run(system, [0.0], None, 0.2, 1e-3, throw=False)
    assert not motion.status.ok
    assert "no motion keeps these contacts from closing further: left.jaw, right.jaw" in motion.message
    assert motion.t[-1] == pytest.approx(0.1, abs=2e-3)


def test_contacts_that_coincide_and_one_in_a_singular_configuration() -> None:
    mechanism = body()
    for k in range(2):
        mechanism.add_contact(f"c{k}", "block", friction="coulomb", friction_coefficient=0.4)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), moving(system, vx=1.0), 0.2, 1e-3)
    assert_allclose(motion.v[-1, 0], 1.0 - 0.4 * G * 0.2, rtol=1e-12)
    # a stretched arm of two links whose end touches a wall that it pushes at
    arm = sr.Mechanism("arm", gravity=(0, 0, 0))
    parent, at = "world", (0, 0, 0)
    for k in range(2):
        arm.add_body(f"link{k}", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        arm.add_joint(f"j{k}", "revolute", parent, f"link{k}", parent_pose=at)
        parent, at = f"link{k}", (1, 0, 0)
    arm.add_contact("tip", "link1", (1, 0, 0), normal=(-1, 0, 0), offset=-2.0, friction="coulomb",
                    friction_coefficient=0.3)  # fmt: skip
    stretched = sr.System(arm)
    motion = run(stretched, [0.0, 0.0], [0.5, -0.2], 0.5, 1e-3)
    assert motion.status.ok
    assert min(activity.gaps(stretched, q)["tip"] for q in motion.q) > -1e-9


def test_trajectories_keep_contact_forces(tmp_path) -> None:
    system = point(0.5, slope=0.2)
    motion = run(system, system.neutral(), moving(system, vx=1.0), 0.1, 1e-2)
    read = sr.Trajectory.load(motion.save(tmp_path / "run.nc"))
    assert read.contact_row_names == motion.contact_row_names
    assert read.contact_forces.tobytes() == motion.contact_forces.tobytes()
    assert read.contact_loss.tobytes() == motion.contact_loss.tobytes()
    assert motion.to_xarray()["contact_forces"].sel(contact_row="c.n")[-1] == motion.contact_forces[-1, 0]
    again = (
        sr.System(sr.Mechanism.from_json(system.mechanism.to_json()))
        if hasattr(sr.Mechanism, "from_json")
        else None
    )
    assert again is None or again.equations.friction_contacts[0].name == "c"


def pulled_block() -> tuple[sr.System, float, float]:
    """Return a block on a spring that is pulled at V, when it first slips and its period, by the closed form.

    It sticks up to μ_s, and slips against μ.
    """
    sliding, static, speed, stiff, mass = 0.3, 0.5, 0.1, 50.0, 2.0
    mechanism = body()
    mechanism.add_contact(
        "c", "block", friction="coulomb", friction_coefficient=sliding, static_coefficient=static
    )
    mechanism.add_force("spring", lambda q, v, t: (stiff * (speed * t - q[0]), 0, 0), body="block")
    omega, stretch = np.sqrt(stiff / mass), (static - sliding) * mass * G / stiff
    period = (2.0 * np.pi - 2.0 * np.arctan(stretch * omega / speed)) / omega + 2.0 * stretch / speed
    return sr.System(mechanism), static * mass * G / stiff / speed, period


def test_a_block_on_a_spring_sticks_and_slips() -> None:
    (system, first, period), errors = pulled_block(), []
    for dt in (2e-3, 1e-3, 5e-4):
        motion = run(system, system.neutral(), None, 3.0 * period + 1.5, dt)
        slips = motion.v[:, 0] > 1e-9
        starts = motion.t[np.flatnonzero(slips[1:] & ~slips[:-1])]
        assert starts[0] == pytest.approx(first, abs=2 * dt)
        errors.append(abs(np.diff(starts).mean() - period))
        assert len(starts) >= 3
    assert errors[-1] < 1e-3 * period


def test_many_runs_are_what_they_are_alone() -> None:
    """With contacts that slide, stick, hit and rebound; and stops, which runs that begin beyond them do not have."""
    system, rng = point(0.4, slope=0.2, restitution=0.5), np.random.default_rng(4)
    q = np.tile(system.neutral(), (12, 1))
    q[:, 2] = rng.uniform(0.0, 0.02, 12) * (np.arange(12) % 2)
    v = rng.normal(0.0, 0.5, (12, 6))
    v[:, 2] = 0.0
    runs = sr.rollout(system, q, v, duration=0.3, dt=1e-3)
    assert runs.success.all()
    for k in range(12):
        alone = run(system, q[k], v[k], 0.3, 1e-3)
        assert_allclose(runs.final_q[k], alone.q[-1], atol=1e-13)
        assert_allclose(runs.final_v[k], alone.v[-1], atol=1e-12)
    arms = pendulums(limits=(-0.4, 0.6))
    starts = np.array([[0.5, 0.1], [0.9, 0.0], [0.5, 0.1]])
    swings = sr.rollout(arms, starts, duration=1.0, dt=1e-3, method="moreau-jean", threads=1)
    for k in range(3):
        alone = run(arms, starts[k], None, 1.0, 1e-3, method="moreau-jean")
        assert_allclose(swings.final_q[k], alone.q[-1], atol=1e-12)
    assert_allclose(swings.final_q[0], swings.final_q[2], rtol=0, atol=0)


# --- robots -------------------------------------------------------------------------------------------


def test_a_biped_with_four_bar_knees_falls_on_its_feet_and_stands() -> None:
    """24 rows of contact of rank 12 and two loops in each leg: closed to rounding, and at rest in the end."""
    module = load_example("biped_four_bar")
    model = sr.System(module.build())
    q = module.standing(model)
    mechanism = module.build()
    for name, contact in list(mechanism.contacts.items()):
        mechanism.contacts[name] = replace(contact, friction="coulomb", friction_coefficient=0.6)
    plant = sr.System(mechanism)
    start = q.copy()
    start[2] += 0.02 - min(activity.gaps(plant, q).values())
    hold = model.inverse_dynamics(q, np.zeros(model.nv), np.zeros(model.nv)).u
    motors = [f"{leg}_{motor}" for leg in module.LEGS for motor in module.MOTORS]
    at = [plant.coordinate_names.index(name) for name in motors]
    of = [plant.velocity_names.index(name) for name in motors]
    stiff = np.array([400.0, 800.0, 800.0, 800.0, 800.0, 400.0] * 2)

    def law(x: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        return hold + stiff * (q[at] - x[at] - 0.05 * v[of])

    motion = run(plant, start, None, 1.5, 1e-3, control=law)
    assert motion.status.ok
    assert motion.residual.max() < 1e-12
    assert motion.contact_residual < 1e-8
    assert np.abs(motion.v[-1]).max() < 2e-3
    weight = G * sum(body.mass for body in mechanism.bodies.values())
    assert motion.contact_forces[-1, :24:3].sum() == pytest.approx(weight, rel=1e-3)
    assert (motion.contact_forces[-1, :24:3] > 1.0).all()
