"""Ropes: one-sided lengths of tendons, against closed forms, bilateral couplings and MuJoCo."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from families import ropes
from sarrus.base.errors import (
    ArgumentError,
    ModelError,
    SolveError,
)
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.model.builders.document import from_json, to_json

G = 9.81


def at(run: sr.Trajectory, time: float) -> int:
    """Return the sample just after a time."""
    return int(np.searchsorted(run.t, time + 1e-12))


# --- scenes with closed forms ---------------------------------------------------------------------------------


def test_a_bob_falls_into_its_rope_and_swings_on() -> None:
    """Free fall to the sphere of 0.6 m, an inelastic catch along the rope, then a pendulum."""
    run = sr.simulate(
        ropes.bob(), [0.3, -0.2], duration=1.2, dt=1e-3, method="dop853", rtol=1e-12, atol=1e-12
    )
    (catch,) = run.switches
    drop = np.sqrt(0.6**2 - 0.3**2) - 0.2
    assert catch.closed == ("rope",)
    assert catch.time == pytest.approx(np.sqrt(2 * drop / G), abs=1e-11)
    assert catch.time == pytest.approx(0.2552667419295, abs=1e-12)
    assert catch.energy_loss == pytest.approx(2.3515691450, abs=1e-9)
    k = at(run, catch.time)
    along = np.array([0.3, -np.sqrt(0.27)]) / 0.6
    fall = np.array([0.0, -G * catch.time])
    after = fall - along * (along @ fall)
    assert -along @ fall == pytest.approx(-2.1686720107, abs=1e-10)  # the impulse of 1 kg
    assert np.linalg.norm(after) == pytest.approx(1.2520833692, abs=1e-9)
    caught = ropes.bob().forward_dynamics([0.3, -np.sqrt(0.27)], after).contacts["rope"]
    assert caught == pytest.approx(after @ after / 0.6 + G * np.sqrt(0.75), abs=1e-9)
    # conserved from the catch on: half the square of the speed, plus g z
    energy = 0.5 * after @ after - G * np.sqrt(0.27)
    np.testing.assert_allclose(
        0.5 * (run.v[k:] ** 2).sum(axis=1) + G * run.q[k:, 1], energy, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(np.linalg.norm(run.q[k:], axis=1), 0.6, rtol=0, atol=1e-10)
    tension = (run.v[k:] ** 2).sum(axis=1) / 0.6 - G * run.q[k:, 1] / 0.6
    np.testing.assert_allclose(run.tensions["rope"][k:], tension, rtol=0, atol=1e-8)
    assert run.tensions["rope"][: k - 1].max() == 0.0
    assert run.tensions["rope"].max() == pytest.approx(15.0514361833, abs=1e-3)
    assert np.rad2deg(np.arctan2(run.q[k:, 0], -run.q[k:, 1])).min() == pytest.approx(
        -42.8739442959, abs=1e-3
    )


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_a_catch_reverses_the_radial_velocity_times_the_restitution(restitution: float) -> None:
    system = ropes.bob(restitution=restitution)
    run = sr.simulate(system, [0.0, -0.5], duration=np.sqrt(0.2 / G) + 1e-3)
    speed = np.sqrt(2 * G * 0.1)
    catch = run.switches[0]
    assert catch.energy_loss == pytest.approx(0.5 * speed**2 * (1 - restitution**2), abs=1e-11)
    assert (catch.closed, catch.bounced) == ((("rope",), ()) if restitution == 0.0 else ((), ("rope",)))


def test_an_atwood_machine_goes_slack_until_it_rests() -> None:
    """The heavy mass lands, the light one flies and is caught; each cycle has a ninth of the height of the last."""
    system = ropes.atwood()
    start = system.forward_dynamics([-1.0, -1.0], [0.0, 0.0])
    np.testing.assert_allclose(start.a, [-3.27, 3.27], rtol=0, atol=1e-12)
    assert start.contacts["rope"] == pytest.approx(13.08, abs=1e-12)
    run = sr.simulate(system, [-1.0, -1.0], duration=1.8)
    lands, caught = run.switches[1:3]
    t1 = np.sqrt(2 * 0.5 / 3.27)
    assert (lands.closed, lands.opened) == (("floor",), ("rope",))
    assert lands.time == pytest.approx(t1, abs=1e-11)
    assert lands.time == pytest.approx(0.5530012636, abs=1e-10)
    assert (caught.closed, caught.opened) == (("rope",), ("floor",))
    assert caught.time - lands.time == pytest.approx(0.3686675091, abs=1e-10)
    speed = 3.27 * t1
    assert lands.energy_loss == pytest.approx(0.5 * 2.0 * speed**2, abs=1e-10)
    assert caught.energy_loss == pytest.approx(0.5 * speed**2 * (1 - 1 / 3), abs=1e-10)
    # a Zeno sequence: all at rest after 3 t1; events end where the flights are lower than the tolerance of gaps
    assert 0.0 < 3.0 * t1 - run.switches[-1].time < 1e-4
    k = at(run, 3.0 * t1)
    np.testing.assert_allclose(run.q[k:], [[-1.5, -0.5]] * (len(run.t) - k), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.v[k:], 0.0, rtol=0, atol=1e-9)
    assert run.contact_forces[-1] == pytest.approx([9.81, 0.0, 0.0, 9.81], abs=1e-9)
    lost = sum(switch.energy_loss for switch in run.switches)
    assert lost == pytest.approx(4.905, abs=1e-9)


def test_a_winch_lifts_and_its_work_is_the_change_of_energy() -> None:
    run = sr.simulate(ropes.winch(lambda t: 2.0 - 0.1 * t**2), [-2.0], duration=1.0, dt=0.05, method="rk4")
    np.testing.assert_allclose(run.tensions["rope"], 100.1, rtol=0, atol=1e-9)
    balance = sr.energy_balance(run)
    assert balance.power[-1, balance.kinds.index("winch")] == pytest.approx(20.02, abs=1e-9)
    assert balance.total["winch rope"] == pytest.approx(10.01, abs=1e-9)
    assert abs(balance.residual).max() < 1e-9


def test_a_rope_paid_out_faster_than_free_fall_is_slack_until_it_catches() -> None:
    length = lambda t: 2.0 + 6.0 * ca.fmin(t, 0.1) ** 2  # noqa: E731
    run = sr.simulate(ropes.winch(length), [-2.0], duration=0.2)
    (catch,) = run.switches
    assert catch.time == pytest.approx(0.1106002527, abs=1e-10)
    assert catch.time == pytest.approx(np.sqrt(0.12 / G), abs=1e-11)
    caught_at = np.sqrt(2 * catch.energy_loss / 10.0)
    assert caught_at == pytest.approx(1.0849884792, abs=1e-9)
    assert run.tensions["rope"][0] == 0.0
    assert run.tensions["rope"][-1] == pytest.approx(98.1, abs=1e-9)


def test_a_catch_by_a_winch_that_hauls_in_balances_energy() -> None:
    """The load falls onto a rope with L̇ = −0.3: an impulse of m (v + 0.3), of which the winch does a part."""
    run = sr.simulate(ropes.winch(lambda t: 2.0 - 0.3 * t), [-1.8], duration=1.0)
    (catch,) = run.switches
    relative = G * catch.time + 0.3
    assert catch.energy_loss == pytest.approx(5.0 * relative**2, abs=1e-9)
    balance = sr.energy_balance(run)
    assert balance.of("constraint")[-1] == pytest.approx(10.0 * relative * 0.3, abs=1e-9)
    assert abs(balance.residual[-1]) < 1e-9


@pytest.mark.parametrize("dt", [None, 1e-3])
def test_a_winch_that_starts_and_stops_at_once_jerks_and_loosens_its_rope(dt: float | None) -> None:
    """A start at 1 m/s is an impact; at the stop the load flies on for 0.2 s and falls back into the rope."""
    system = ropes.winch(lambda t: 2.0 - ca.fmin(ca.fmax(t - 0.5, 0.0), 0.25))
    run = sr.simulate(system, [-2.0], duration=1.2, dt=dt)
    assert [event.time for event in run.events if "speed of rope jumps" in event.name] == pytest.approx(
        [0.5, 0.75]
    )
    flight = run.q[(run.t > 0.751) & (run.t < 0.95), 0]
    assert len(flight)
    assert flight.min() > -1.75
    assert run.q[-1] == pytest.approx([-1.75], abs=1e-9)
    if dt is None:
        jerk, slack, caught = run.switches[1:]
        assert (jerk.time, jerk.energy_loss) == pytest.approx((0.5, 5.0), abs=1e-9)
        assert slack.opened == ("rope",)
        assert caught.time == pytest.approx(0.75 + 2.0 / G, abs=1e-9)
        assert caught.energy_loss == pytest.approx(5.0, abs=1e-9)
        assert abs(sr.energy_balance(run).residual).max() < 1e-9


@pytest.mark.parametrize("on_bodies", [False, True])
def test_a_tackle_shares_its_load(on_bodies: bool) -> None:
    system = ropes.tackle(on_bodies=on_bodies)
    found = system.forward_dynamics([-1.0, -1.0], [0.0, 0.0])
    np.testing.assert_allclose(found.a, [-1.4014285714, 2.8028571429], rtol=0, atol=1e-10)
    assert found.contacts["rope"] == pytest.approx(50.4514285714, abs=1e-10)
    if on_bodies:  # T holds the ceiling, 2 T the block of the fixed pulley
        load = sr.reactions(system, [-1.0, -1.0])
        assert load["ceiling"].force[2] == pytest.approx(50.4514285714, abs=1e-7)
        assert load["block"].force[2] == pytest.approx(2 * 50.4514285714, abs=1e-7)
        assert load.tensions == pytest.approx({"rope": 50.4514285714}, abs=1e-9)
        assert "rope rope  50.451 N" in str(load)


@pytest.mark.parametrize(
    ("place", "limited", "free"),
    [
        ((2.0, 1.2, 0.0), (10.0, 10.0, 150.467462, 150.467462), (0.0, 0.0, 142.873052, 142.873052)),
        ((1.0, 1.5, 0.0), (413.481499, 10.0, 448.716537, 413.481499), None),
        ((1.0, 1.5, 0.1), None, None),
        ((3.2, 2.4, -0.05), None, None),
        ((0.5, 1.5, 0.3), None, None),
    ],
)
def test_cables_of_a_platform(
    place: tuple[float, float, float],
    limited: tuple[float, ...] | None,
    free: tuple[float, ...] | None,
) -> None:
    """Pulling motors within 10 to 500 N have the tensions of least norm; ropes just taut have the least T ≥ 0."""
    driven = ropes.platform(place, cables=False)
    law = sr.control.ProjectedInverseDynamics(
        driven, list(driven.coordinate_names), list(place), limits=(10.0, 500.0), weights=[1.0] * 4
    )
    if limited is None:
        with pytest.raises(SolveError, match="because of the limits"):
            law.solve(place, np.zeros(3))
    else:
        np.testing.assert_allclose(law(place, np.zeros(3)), limited, rtol=0, atol=1e-6)
    if free is not None:
        hung = ropes.platform(place, cables=True)
        found = hung.forward_dynamics(place, np.zeros(3))
        np.testing.assert_allclose(found.contacts.forces, free, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.a, 0.0, rtol=0, atol=1e-9)
        held = sr.equilibrium(hung, place)
        np.testing.assert_allclose(held.contacts.forces, free, rtol=0, atol=1e-6)
        carried = hung.inverse_dynamics(place, np.zeros(3), np.zeros(3)).contacts
        assert carried.forces == pytest.approx(free, abs=1e-6)
        assert not carried.determined.any()


def test_a_drum_winds_up_its_rope() -> None:
    """Torque Q on a drum of radius r: (m r² + I) α = Q − m g r while taut, and the load falls where Q drops it."""
    system = ropes.drum_and_load()
    for torque, taut in ((5.0, True), (0.0, True), (-10.0, False)):
        found = system.forward_dynamics([-2.0, 0.0], [0.0, 0.0], [torque])
        spin = (torque - 3.0 * G * 0.1) / (3.0 * 0.01 + 0.02) if taut else torque / 0.02
        assert found.a[1] == pytest.approx(spin, abs=1e-10)
        assert found.a[0] == pytest.approx(0.1 * spin if taut else -G, abs=1e-10)
    tension = system.forward_dynamics([-2.0, 0.0], [0.0, 0.0], [5.0]).contacts["rope"]
    assert tension == pytest.approx(3.0 * (G + 0.1 * (5.0 - 0.3 * G) / 0.05), abs=1e-9)
    held = system.inverse_dynamics([-2.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert held.u[0] == pytest.approx(0.3 * G, abs=1e-9)


def braked(friction: float, **options: object) -> sr.System:
    """1 kg that hangs on a tendon with dry friction along its length."""
    mechanism = ropes.lifts("brake", {"load": (1.0, 0.0)})
    mechanism.add_tendon("rope", ["world", "load"], friction=friction, **options)
    return sr.System(mechanism)


def test_friction_along_a_length_brakes_a_slack_rope() -> None:
    falling = braked(4.0, limits=(0.0, 2.0))
    for speed in (0.0, -1.0):
        found = falling.forward_dynamics([-1.0], [speed])
        assert found.a == pytest.approx([-5.81], abs=1e-12)
        assert found.contacts["rope.friction"] == pytest.approx(-4.0, abs=1e-12)
    run = sr.simulate(falling, [-1.0], duration=1.0)
    assert run.switches[-1].time == pytest.approx(np.sqrt(2 / 5.81), abs=1e-10)
    assert run.contact_forces[-1] == pytest.approx(
        [5.81, -4.0], abs=1e-9
    )  # the friction keeps its last direction
    held = braked(12.0)
    for options in ({}, {"dt": 1e-3}):
        run = sr.simulate(held, [-1.0], [-2.0], duration=1.2, **options)
        assert run.switches[-1].sticking == ("rope.friction",)
        assert run.switches[-1].time == pytest.approx(0.9132420091, abs=1e-10)
        assert run.q[-1] == pytest.approx([-1.0 - 0.9132420091], abs=1e-9)
        assert run.v[-1] == pytest.approx([0.0], abs=1e-12)
        assert run.contact_loss[-1] == pytest.approx(12.0 * 0.9132420091, abs=1e-8)
    steps = sr.simulate(held, [-1.0], [-2.0], duration=1.2, dt=1e-3, method="moreau-jean")
    assert steps.q[-1] == pytest.approx([-1.0 - 0.9132420091], abs=2e-6)
    assert held.inverse_dynamics([-1.0], [0.0], [0.0]).contacts.forces == pytest.approx([-G], abs=1e-10)
    assert sr.equilibrium(held, [-1.0]).contacts.forces == pytest.approx([-G], abs=1e-10)


def test_friction_along_lengths_stops_and_joint_friction_act_together() -> None:
    """A rope with friction between two masses, of which one has a floor, the other joint friction and a stop."""
    mechanism = ropes.lifts("both", {"b": (1.0, 1.0)})
    mechanism.add_body("a", 1.0, inertia=(1,) * 3)
    mechanism.add_joint("a", "prismatic", "world", "a", axis=(0, 0, 1), limits=(-3, 3), friction=2.0)
    mechanism.add_tendon("rope", ["a", "b"], friction=3.0)
    mechanism.add_contact("floor", "b", offset=-2, friction="coulomb", friction_coefficient=0.3)
    system = sr.System(mechanism)
    q, v = np.array([0.5, 0.0]), np.array([0.0, 1.0])
    gap = np.array([-1.0, -0.5]) / np.hypot(1.0, 0.5)  # from b to a
    found = system.forward_dynamics(q, v)
    rate = float(gap[1])  # of the length, by the velocity of a
    assert found.contacts["rope.friction"] == pytest.approx(-3.0 * np.sign(rate), abs=1e-12)
    pull = 3.0 * np.sign(rate) * gap[1]
    np.testing.assert_allclose(found.a, [-G + pull, -G - pull - 2.0], rtol=0, atol=1e-10)
    names = [
        *("floor.n", "floor.t1", "floor.t2"),
        "rope.friction",
        "a.lower stop",
        "a.upper stop",
        "a.friction",
    ]
    run = sr.simulate(system, q, v, duration=1.5)
    assert run.contact_row_names == tuple(names)
    np.testing.assert_allclose(run.q[-1], [-2.0, -3.0], rtol=0, atol=1e-9)
    assert run.contact_loss[-1] == pytest.approx(run.energy[0] - run.energy[-1], abs=1e-6)
    steps = sr.simulate(system, q, v, duration=1.5, dt=1e-3, error_estimate=False)
    np.testing.assert_allclose(steps.q[-1], [-2.0, -3.0], rtol=0, atol=1e-8)
    smooth = sr.simulate(system, q, v, duration=0.1, rtol=1e-10, atol=1e-12)
    implicit = sr.simulate(system, q, v, duration=0.1, method="rodas5p", rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(implicit.q[-1], smooth.q[-1], rtol=0, atol=1e-8)


def test_the_length_of_a_rope_is_a_parameter() -> None:
    system = sr.System(ropes.bob().mechanism, parameters={"L": "rope.length"})
    for length in (0.6, 0.5):
        system.parameters["L"] = length
        run = sr.simulate(system, [0.3, -0.2], duration=0.4)
        assert run.switches[0].time == pytest.approx(
            np.sqrt(2 * (np.sqrt(length**2 - 0.09) - 0.2) / G), abs=1e-11
        )
        assert np.hypot(*run.q[-1]) == pytest.approx(length, abs=1e-10)


# --- redundant ropes, loops, wraps ---------------------------------------------------------------------------


def test_parallel_ropes_share_a_load_equally_and_no_share_is_determined() -> None:
    mechanism = ropes.lifts("lift", {"load": (3.0, 0.0)})
    for k in range(3):
        mechanism.add_rope(f"r{k}", ["world", "load"], length=1.0)
    system = sr.System(mechanism)
    found = system.forward_dynamics([-1.0], [0.0])
    np.testing.assert_allclose(found.contacts.forces, G, rtol=0, atol=1e-10)
    assert not found.contacts.determined.any()
    run = sr.simulate(system, [-0.8], duration=0.5)
    np.testing.assert_allclose([run.tensions[f"r{k}"][-1] for k in range(3)], G, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_rope_with_loops_wheels_and_drums_keeps_energy_between_catches(seed: int) -> None:
    system, q, v = ropes.random_loop(seed)
    run = sr.simulate(system, q, 0.3 * v, duration=1.0, rtol=1e-10, atol=1e-12)
    assert run.status.ok
    assert any("rope" in switch.closed for switch in run.switches)
    tension = run.tensions["rope"]
    assert tension.min() >= 0.0 < tension.max()
    lost = sum(switch.energy_loss for switch in run.switches if switch.time > 0.0)
    assert run.energy[-1] - run.energy[0] + lost == pytest.approx(0.0, abs=1e-8)
    gaps = [contact_row_state(system, q, np.zeros(system.nv), t).gaps[0] for q, t in zip(run.q, run.t)]
    assert min(gaps) > -1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_work_of_a_winch_on_a_loop_is_the_change_of_energy(seed: int) -> None:
    system, q, v = ropes.random_loop(seed, hauling=0.1)
    run = sr.simulate(system, q, 0.3 * v, duration=0.25, dt=5e-4, method="dop853", rtol=1e-11, atol=1e-12)
    balance = sr.energy_balance(run)
    winch = balance.of("winch") + (balance.of("constraint") if "constraint" in balance.kinds else 0.0)
    assert balance.of("winch")[-1] > 1e-3
    lost = sum(switch.energy_loss for switch in run.switches if switch.time > 0.0)
    assert run.energy[-1] - run.energy[0] == pytest.approx(winch[-1] - lost, abs=1e-7)
    assert abs(balance.residual).max() < 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_a_taut_rope_is_a_coupling_of_its_length(seed: int) -> None:
    """Accelerations and tension are those of the bilateral equation, where its multiplier pulls."""
    system, q, _ = ropes.random_loop(seed)
    rope = system.mechanism.tendons["rope"]
    tied = from_json(to_json(system.mechanism))
    tied.tendons.clear()
    tied.sensors.clear()
    tied.add_tendon("rope", rope.path)
    tied.add_motion("length", "tendon:rope", lambda t: rope.limits[1] + 0.0 * t)
    other = sr.System(tied)
    v = other.project_velocity(q, 0.3 * np.random.default_rng(seed).standard_normal(system.nv))
    found, same = system.forward_dynamics(q, v), other.forward_dynamics(q, v)
    pull = -same.multipliers[other.closure_rows["length"]]
    if pull > 0.0:
        np.testing.assert_allclose(found.a, same.a, rtol=0, atol=1e-8 * (1 + abs(same.a).max()))
        assert found.contacts["rope"] == pytest.approx(pull, rel=1e-8)
    else:
        loose = system.forward_dynamics(q, v, contacts=False)
        np.testing.assert_allclose(found.a, loose.a, rtol=0, atol=1e-12)


# --- steps in time -------------------------------------------------------------------------------------------


def test_steps_in_time_converge_with_order_two_while_taut_and_one_over_a_catch() -> None:
    system = ropes.bob()
    swinging = [0.6 * np.sin(0.7), -0.6 * np.cos(0.7)]
    for start, duration, order in ((swinging, 0.5, 2), ([0.3, -0.2], 0.5, 1)):
        exact = sr.simulate(system, start, duration=duration, rtol=1e-12, atol=1e-12).q[-1]
        steps = np.array([1 / 100, 1 / 200, 1 / 400, 1 / 800, 1 / 1600])
        errors = [
            np.linalg.norm(
                sr.simulate(system, start, duration=duration, dt=dt, error_estimate=False).q[-1] - exact
            )
            for dt in steps
        ]
        slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert slope == pytest.approx(order, abs=0.2 if order == 2 else 0.6), errors


def test_all_ways_to_step_agree(tmp_path: Path) -> None:
    system = ropes.atwood()
    start, dt = [-1.0, -1.0], 1e-3
    run = sr.simulate(system, start, duration=1.8, dt=dt, error_estimate=False)
    many = sr.rollout(system, np.array([start] * 3), np.zeros((3, 2)), duration=1.8, dt=dt)
    np.testing.assert_allclose(many.final_q, [run.q[-1]] * 3, rtol=0, atol=1e-14)
    alone = sr.rollout(
        system, np.array([start] * 3), np.zeros((3, 2)), duration=1.8, dt=dt, side_by_side=False
    )
    np.testing.assert_array_equal(alone.final_q, [run.q[-1]] * 3)
    np.testing.assert_allclose(run.q[-1], [-1.5, -0.5], rtol=0, atol=1e-9)
    assert run.contact_forces[-1] == pytest.approx([9.81, 0.0, 0.0, 9.81], abs=1e-9)
    assert run.energy[0] - run.energy[-1] == pytest.approx(4.905, abs=1e-9)
    winch = sr.simulate(ropes.winch(lambda t: 2.0 - 0.1 * t**2), [-2.0], duration=1.0, dt=0.01)
    assert winch.tensions["rope"][-1] == pytest.approx(100.1, abs=1e-9)
    assert sr.energy_balance(winch).total["winch rope"] == pytest.approx(10.01, abs=1e-9)


# --- descriptions and errors ---------------------------------------------------------------------------------


def test_a_rope_that_is_too_long_at_the_start_is_named() -> None:
    system = ropes.tackle()
    np.testing.assert_allclose(  # by rounding: taut
        sr.simulate(system, [-1.0, -1.0 - 1e-9], duration=0.1).v[-1], [-0.14014286, 0.28028571], atol=1e-6
    )
    text = "the path of tendon 'rope' is 0.1 m longer than its limit allows"
    for call in (
        lambda: system.forward_dynamics([-1.0, -1.1], [0, 0]),
        lambda: sr.simulate(system, [-1.0, -1.1], duration=0.1),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
    moved = system.assemble([-1.0, -1.1], within_limits=True).q
    assert -2 * moved[0] - moved[1] == pytest.approx(3.0, abs=1e-9)
    with pytest.raises(SolveError, match="rope 'rope' closes with a velocity of 1"):
        ropes.bob().forward_dynamics([0.0, -0.6], [0.0, -1.0])


def test_a_strut_pushes_and_a_path_has_no_lower_limit_of_zero() -> None:
    mechanism = ropes.lifts("strut", {"load": (2.0, 0.0)})
    strut = mechanism.add_tendon("strut", [("world", (0, 0, -1)), "load"], limits=(0.4, 0.9))
    assert [limit.name for limit in strut.ropes] == ["strut", "strut.lower"]
    system = sr.System(mechanism)
    run = sr.simulate(system, [-0.5], duration=1.0)
    assert run.q[-1] == pytest.approx([-0.6], abs=1e-9)
    assert run.contact_row_names == ("strut.tension", "strut.lower.compression")
    assert run.contact_forces[-1] == pytest.approx([0.0, 2 * G], abs=1e-9)
    assert list(run.tensions) == ["strut"]
    plain = ropes.lifts("rope", {"load": (2.0, 0.0)})
    assert len(plain.add_tendon("rope", ["world", "load"], limits=(0.0, 1.0)).ropes) == 1
    assert len(plain.add_tendon("sum", {"load": 1.0}, limits=(0.0, 1.0)).ropes) == 2


def test_errors_name_the_rope() -> None:
    mechanism = ropes.lifts("lift", {"load": (3.0, 0.0)})
    path = ["world", "load"]
    mechanism.add_contact("floor", "load", friction="coulomb", friction_coefficient=0.1)
    for options, text in (
        ({"limits": (1.0, 1.0)}, "both limits of its length are 1, which is an equation and no rope"),
        ({"limits": (2.0, 1.0)}, "limits has lower 2.0 above upper 1.0"),
        ({"limits": (1.0, "x")}, "limits must be"),
        ({"limits": (0.0, 1.0), "restitution": 2.0}, "restitution must be between 0 and 1"),
    ):
        with pytest.raises(ModelError, match=f"tendon 'r': {text}"):
            mechanism.add_tendon("r", path, **options)
    with pytest.raises(ModelError, match="rope 'r': unknown scalar coordinate 'x'"):
        mechanism.add_rope("r", path, length=1.0, joint_terms={"x": 0.1})
    with pytest.raises(ModelError, match="tendon 'floor': the name is already taken"):
        mechanism.add_rope("floor", path, length=1.0)
    mechanism.add_rope("r", path, length=1.0)
    with pytest.raises(ModelError, match="contact 'r': the name is already taken"):
        mechanism.add_contact("r", "load")
