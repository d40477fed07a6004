"""Motion with constraints that come and go: bounces, set-down, lift-off, tipping, rocking, clutches, schedules."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from sarrus.base.errors import ArgumentError, SimulationError
from sarrus.dynamics.impacts import activity

G = 9.81
CORNERS = ((0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05))


def ball(**contact: object) -> sr.System:
    """Return a point mass of 3 kg on three slides above the floor."""
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 3.0)
    mechanism.add_joint("x", "prismatic", "world", "ball", axis=(1, 0, 0), parent_pose=(0, 0, 0))
    mechanism.add_joint("y", "prismatic", "world", "ball", axis=(0, 1, 0))
    mechanism.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    mechanism.add_contact("floor", "ball", **contact)
    return sr.System(mechanism)


def block(corners=CORNERS, **contact: object) -> sr.System:
    """Return a block of 2 kg on point contacts 5 cm below its centre."""
    mechanism = sr.Mechanism("block")
    mechanism.add_body("block", 2.0, inertia=(0.01, 0.02, 0.025))
    mechanism.add_joint("block", "free", "world", "block", parent_pose=(0, 0, 0.05))
    for k, (x, y) in enumerate(corners):
        mechanism.add_contact(f"corner{k}", "block", (x, y, -0.05), **contact)
    return sr.System(mechanism)


def rotors(active: bool | None = False) -> sr.System:
    """Return a motor and a load with a clutch between them, and a brake on the load."""
    mechanism = sr.Mechanism("rotors")
    for name, inertia in (("motor", 0.3), ("load", 1.2)):
        mechanism.add_body(name, 1.0, inertia=(inertia,) * 3)
        mechanism.add_joint(name, "revolute", "world", name)
        mechanism.add_actuator(name, name)
    mechanism.add_coupling("clutch", {"motor": 1.0, "load": -1.0}, active=active)
    mechanism.add_coupling("brake", {"load": 1.0}, active=False)
    return sr.System(mechanism)


def biped(seed: int, **contact: object) -> sr.System:
    """Return two legs on a trunk, without dampers, each with a foot of four corners."""
    mechanism = sr.Mechanism(f"biped{seed}")
    mechanism.add_body("trunk", 5.0, inertia=(0.1, 0.1, 0.05))
    mechanism.add_joint("trunk", "free", "world", "trunk")
    for side in (1, -1):
        n = "LR"[side < 0]
        mechanism.add_body(f"{n}thigh", 1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.001))
        mechanism.add_joint(
            f"{n}hip", "universal", "trunk", f"{n}thigh", axis=(1, 0, 0), axis2=(0, 1, 0),
            parent_pose=(0, 0.1 * side, -0.1),
        )  # fmt: skip
        mechanism.add_body(f"{n}foot", 0.5, com=(0.02, 0, -0.2), inertia=(0.003, 0.003, 0.001))
        mechanism.add_joint(
            f"{n}knee", "revolute", f"{n}thigh", f"{n}foot", axis=(0, 1, 0), parent_pose=(0, 0, -0.2)
        )
        for k, (x, y) in enumerate([(0.08, 0.03), (0.08, -0.03), (-0.04, -0.03), (-0.04, 0.03)]):
            mechanism.add_contact(f"{n}{k}", f"{n}foot", (x, y, -0.25), **contact)
    return sr.System(mechanism)


def losses(run: sr.Trajectory) -> float:
    return sum(switch.energy_loss for switch in run.switches)


# --- bounces -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [{"dt": 1e-3}, {"dt": 7e-3}, {"rtol": 1e-9, "atol": 1e-11}])
def test_a_bouncing_ball(method):
    """Impacts after t₀ (1 + 2 (e + e² + …)), each keeps e² of the energy, and the series ends in finite time."""
    e, height = 0.6, 0.7
    system = ball(friction="frictionless", restitution=e)
    run = sr.simulate(system, [0, 0, height], [0.2, 0, 0], duration=2.0, **method)
    bounces = [switch for switch in run.switches if switch.bounced]
    fall, speed = np.sqrt(2 * height / G), np.sqrt(2 * height * G)
    assert len(bounces) == int(np.floor(np.log(1e-3 / speed) / np.log(e)))
    for k, switch in enumerate(bounces):
        expected = fall * (1 + 2 * sum(e**j for j in range(1, k + 1)))
        assert switch.time == pytest.approx(expected, abs=1e-7)
        loss = 0.5 * 3.0 * (1 - e**2) * (speed * e**k) ** 2
        assert switch.energy_loss == pytest.approx(loss, rel=1e-9, abs=1e-8)
    last = run.switches[-1]
    assert (last.closed, last.opened) == (("floor",), ())
    assert fall * (1 + 2 * e / (1 - e)) - last.time == pytest.approx(0.0, abs=2e-3 / G / (1 - e) / e)
    assert run.q[-1, 2] == pytest.approx(0.0, abs=1e-12)
    assert run.q[-1, 0] == pytest.approx(0.4, rel=1e-12)
    assert run.multipliers[-1, 0] == pytest.approx(3.0 * G)
    assert run.energy[0] - losses(run) == pytest.approx(run.energy[-1], abs=1e-6)
    assert run.q[:, 2].min() > -1e-8
    assert [event.name for event in run.events] == ["floor bounced"] * len(bounces) + ["floor closed"]


def test_a_sticking_ball_stays_where_it_touched_down():
    system = ball()
    run = sr.simulate(system, [0, 0, 0.5], [0.3, -0.1, 0.0], duration=1.0)
    fall = np.sqrt(2 * 0.5 / G)
    np.testing.assert_allclose(run.q[-1], [0.3 * fall, -0.1 * fall, 0.0], atol=1e-9)
    assert losses(run) == pytest.approx(run.energy[0], abs=1e-8)
    (switch,) = run.switches
    assert switch.closed == ("floor",)
    assert str(switch).startswith("0.319275 s: floor closed (")


def test_a_ball_thrown_up_through_a_schedule_of_steps_is_not_missed():
    """A flight shorter than a step ends within it."""
    system = ball(friction="frictionless", restitution=0.9)
    run = sr.simulate(
        system, [0, 0, 1e-6], [0, 0, -0.02], duration=0.2, dt=0.02, switching=sr.Switching(rest_speed=1e-2)
    )
    assert sum(bool(s.bounced) for s in run.switches) > 5
    assert run.q[:, 2].min() > -1e-9
    assert run.q[-1, 2] == pytest.approx(0.0, abs=1e-12)


# --- redundant contacts --------------------------------------------------------------------------------


def test_four_corners_set_down_together_and_share_the_load():
    system = block()
    q, v = system.neutral(), np.array([0.3, -0.2, 0.0, 0.0, 0.0, 0.5])
    q[2] += 0.05
    run = sr.simulate(system, q, v, duration=0.3)
    (switch,) = run.switches
    assert switch.closed == ("corner0", "corner1", "corner2", "corner3")
    assert (switch.slipping, switch.opened) == ((), ())
    landing = int(np.searchsorted(run.t, switch.time))
    falling = system.kinetic_energy(run.q[landing], run.v[landing])
    assert switch.energy_loss == pytest.approx(falling, rel=1e-12)
    assert run.t[landing + 1] == run.t[landing] == switch.time
    np.testing.assert_allclose(run.v[landing + 1], 0.0, atol=1e-13)
    assert set(run.rank[: landing + 1]) == {0}
    assert set(run.rank[landing + 1 :]) == {6}
    np.testing.assert_allclose(run.multipliers[-1, ::3], 2.0 * G / 4, rtol=1e-9)
    assert run.passages == ()
    assert run.condition[: landing + 1].max() == 1.0
    assert np.isfinite(run.condition).all()


def test_a_corner_without_load_is_let_go_without_motion_and_the_block_tips_when_it_must():
    """The load at (c, c) of a square foot of half width a: a corner is idle from c = a/2, the block tips at c = a."""
    system = block(((0.1, 0.1), (0.1, -0.1), (-0.1, -0.1), (-0.1, 0.1)))
    q = system.neutral()

    def push(q, v, t):  # at the centre, 5 cm above the ground
        return [30 * t, 30 * t, 0, 0, 0, 0]

    run = sr.simulate(system, q, duration=1.35, force=push)
    start, idle, tips = run.switches
    assert start.closed == ("corner0", "corner1", "corner2", "corner3")
    assert (start.time, start.energy_loss) == (0.0, 0.0)
    assert idle.opened == ("corner2",)
    assert idle.time == pytest.approx(2.0 * G * 0.05 / (0.05 * 30), abs=1e-8)
    assert set(tips.opened) == {"corner1", "corner3"}
    assert tips.time == pytest.approx(2.0 * G * 0.1 / (0.05 * 30), abs=1e-8)
    still = run.t <= tips.time
    assert np.abs(run.q[still] - q).max() < 1e-12
    assert np.abs(run.v[-1]).max() > 1e-3
    assert run.multipliers[:, ::3].min() > -1e-7


@pytest.mark.parametrize("friction", ["stick", "frictionless"])
def test_a_tilted_block_rattles_to_rest(friction):
    system = block(friction=friction)
    q = system.neutral()
    q[2] += 0.05
    q[3:] = 1.0, 0.1, 0.05, 0.0
    q = system.normalized(q)
    run = sr.simulate(system, q, duration=0.8)
    assert run.status is sr.Status.OK
    assert 5 < len(run.switches) < 60
    assert run.energy[0] - losses(run) == pytest.approx(run.energy[-1], abs=1e-7)
    np.testing.assert_allclose(run.v[-1, 2:5], 0.0, atol=1e-10)
    assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-10)
    assert set(activity.active(system).values()) == {False}
    for state in run.q:
        assert min(activity.gaps(system, state).values()) > -1e-8


def test_housners_block_rocks_on_and_stops():
    """Each impact keeps 1 − 3/2 sin²α of the rate (Housner 1963), until the rocking is slower than rest_speed."""
    width, height, mass = 0.1, 0.3, 4.0
    radius = np.hypot(width, height)
    mechanism = sr.Mechanism("rocking")
    mechanism.add_body("block", mass, inertia=np.full(3, mass * radius**2 / 3))
    mechanism.add_joint("block", "planar", "world", "block", axis=(0, -1, 0), axis2=(1, 0, 0))
    for name, x in (("left", -width), ("right", width)):
        mechanism.add_contact(name, "block", (x, 0, -height))
    system = sr.System(mechanism)
    angle = 0.1  # stands on the left edge: the centre is there plus the turned (width, height)
    q = np.array([width * np.cos(angle) - height * np.sin(angle) - width, 0.0, angle])
    q[1] = width * np.sin(angle) + height * np.cos(angle)
    assert activity.gaps(system, q)["left"] == pytest.approx(0.0, abs=1e-15)
    run = sr.simulate(system, q, duration=6.0, dt=2e-3)
    impacts = [s for s in run.switches if s.energy_loss > 0.0]
    ratio = 1 - 1.5 * (width / radius) ** 2
    for switch in impacts[:-1]:
        k = int(np.searchsorted(run.t, switch.time))
        assert run.v[k + 1, 2] == pytest.approx(ratio * run.v[k, 2], rel=1e-8)
    assert len(impacts) > 10
    assert {s.closed for s in impacts[:-1]} == {("left",), ("right",)}
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-12)
    assert run.multipliers[-1][[0, 3]] == pytest.approx([mass * G / 2] * 2)
    assert run.energy[0] - losses(run) == pytest.approx(run.energy[-1], abs=1e-6)


@pytest.mark.parametrize(("friction", "restitution"), [("stick", 0.0), ("stick", 0.4), ("frictionless", 0.2)])
def test_energy_is_lost_at_impacts_alone_and_nothing_pulls_or_sinks(friction, restitution):
    system = biped(3, friction=friction, restitution=restitution)
    rng = np.random.default_rng(3)
    q = system.neutral()
    q[2], q[3:7], q[7:] = 0.62, [1, *(0.1 * rng.standard_normal(3))], 0.2 * rng.standard_normal(6)
    q, v = system.normalized(q), 0.5 * rng.standard_normal(system.nv)
    run = sr.simulate(system, q, v, duration=0.45, dt=5e-4)
    assert len(run.switches) >= 3
    assert all(switch.energy_loss > -1e-12 for switch in run.switches)
    assert run.energy[0] - losses(run) == pytest.approx(run.energy[-1], abs=5e-6)
    normal = [contact.normal for contact in system.equations.contacts]
    assert run.multipliers[:, normal].min() > -1e-5
    for state in run.q[::5]:
        assert min(activity.gaps(system, state).values()) > -1e-8


# --- lift-off and control ------------------------------------------------------------------------------


@pytest.mark.parametrize("sampled", [False, True])
def test_a_growing_force_lifts_a_mass_off_the_ground(sampled):
    mechanism = sr.Mechanism("lift")
    mechanism.add_body("mass", 2.0)
    mechanism.add_joint("z", "prismatic", "world", "mass", axis=(0, 0, 1))
    mechanism.add_contact("floor", "mass", friction="frictionless")
    system = sr.System(mechanism)
    how = {"sample_time": 0.01} if sampled else {}
    run = sr.simulate(system, [0.0], duration=1.5, force=lambda q, v, t: [20 * t], **how)
    closed, opened = run.switches
    assert (closed.closed, closed.time) == (("floor",), 0.0)
    assert opened.opened == ("floor",)
    lift = 0.99 if sampled else 2.0 * G / 20
    assert opened.time == pytest.approx(lift, abs=1e-9)
    if not sampled:
        assert run.q[-1, 0] == pytest.approx(20 * (1.5 - lift) ** 3 / 6 / 2, rel=1e-6)
        held = run.t < lift
        np.testing.assert_allclose(run.multipliers[held, 0], 2.0 * G - 20 * run.t[held], atol=1e-9)


def test_a_hopper_takes_off_by_its_actuator_and_lands_again():
    mechanism = sr.Mechanism("hopper")
    mechanism.add_body("trunk", 4.0)
    mechanism.add_joint("height", "prismatic", "world", "trunk", axis=(0, 0, 1))
    mechanism.add_body("foot", 1.0)
    mechanism.add_joint("leg", "prismatic", "trunk", "foot", axis=(0, 0, -1), limits=(0.2, 0.8))
    mechanism.add_contact("sole", "foot", friction="frictionless")
    mechanism.add_actuator("leg", "leg")
    system = sr.System(mechanism)

    def spring(q, v, t):
        return [1000 * (0.5 - q[1]) - 5 * v[1]]

    run = sr.simulate(system, [0.3, 0.3], duration=1.5, control=spring)
    opened = [s for s in run.switches if s.opened]
    landed = [s for s in run.switches if s.closed and s.time > 0]
    assert opened
    assert landed
    k = int(np.searchsorted(run.t, opened[0].time))
    # It leaves when the spring pulls the foot up as hard as it weighs.
    assert run.u[k, 0] == pytest.approx(-G, abs=1e-6)
    assert landed[0].energy_loss > 0.0
    for state in run.q[::10]:
        assert activity.gaps(system, state)["sole"] > -1e-8


# --- schedules -----------------------------------------------------------------------------------------


def test_a_clutch_and_a_brake_on_schedule():
    system = rotors()
    plan = sr.Switching({"clutch": [(0.5, 1.0)], "brake": [(1.5, np.inf)]})
    run = sr.simulate(system, [0.0, 0.3], [50.0, 10.0], duration=2.0, switching=plan)
    engaged, released, braked = run.switches
    assert (engaged.time, engaged.closed) == (0.5, ("clutch",))
    assert (released.time, released.opened, released.energy_loss) == (1.0, ("clutch",), 0.0)
    assert (braked.time, braked.closed) == (1.5, ("brake",))
    common = (0.3 * 50.0 + 1.2 * 10.0) / 1.5
    assert engaged.energy_loss == pytest.approx(0.5 * 0.24 * 40.0**2, rel=1e-12)
    assert braked.energy_loss == pytest.approx(0.5 * 1.2 * common**2, rel=1e-12)
    np.testing.assert_allclose(run.v[-1], [common, 0.0], atol=1e-12)
    np.testing.assert_allclose(run.q[-1], [25.0 + common * 1.5, 0.3 + 5.0 + common], rtol=1e-12)
    assert dict(system.parameters) == {
        "active.clutch": 0.0, "anchor.clutch": 0.0, "active.brake": 0.0, "anchor.brake": 0.0,
    }  # fmt: skip


def test_a_schedule_may_begin_closed_and_off_the_grid_of_steps():
    system = rotors()
    plan = sr.Switching({"clutch": [(-1.0, 0.12345), (0.6, 0.61)]})
    run = sr.simulate(system, [0.0, 0.0], [10.0, 10.0], duration=1.0, dt=0.01, switching=plan,
                      control=lambda q, v, t: [1.5, 0.0])  # fmt: skip
    off, on, _ = run.switches
    assert (off.opened, off.time) == (("clutch",), 0.12345)
    assert (on.closed, on.time) == (("clutch",), 0.6)
    # Together 1 rad/s², then the motor alone 5 rad/s², until the clutch shares the momentum.
    k = int(np.searchsorted(run.t, 0.6))
    np.testing.assert_allclose(run.v[k], [10 + 0.12345 + 5 * (0.6 - 0.12345), 10 + 0.12345], rtol=1e-12)
    assert run.v[k + 1, 0] == pytest.approx(run.v[k + 1, 1], rel=1e-13)


def test_a_dropped_load_flies_on():
    mechanism = sr.Mechanism("crane", gravity=(0, 0, -G))
    mechanism.add_body("load", 2.0)
    mechanism.add_joint("x", "prismatic", "world", "load", axis=(1, 0, 0), parent_pose=(0, 0, 0))
    mechanism.add_joint("z", "prismatic", "world", "load", axis=(0, 0, 1))
    mechanism.add_closure("rope", "distance", "world", "load", length=1.0, active=True)
    system = sr.System(mechanism)
    run = sr.simulate(
        system, [1.0, 0.0], duration=0.8, dt=1e-3, switching=sr.Switching({"rope": [(0.0, 0.4)]})
    )
    k = int(np.searchsorted(run.t, 0.4))
    rest = 0.8 - 0.4
    np.testing.assert_allclose(
        run.q[-1], run.q[k] + run.v[k] * rest + [0, -0.5 * G * rest**2], rtol=1e-9, atol=1e-12
    )
    assert run.energy_drift < 1e-8
    assert system.parameters["active.rope"] == 1.0


def test_a_closure_that_is_open_when_it_is_due_ends_the_run_with_its_name():
    mechanism = sr.Mechanism("gripper")
    mechanism.add_body("part", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("part", "free", "world", "part")
    mechanism.add_closure("grip", "point", "world", "part", active=False)
    system = sr.System(mechanism)
    plan = sr.Switching({"grip": [(0.1, 0.2)]})
    # It has fallen 0.04905 m, of which rounding makes 0.049 or 0.0491.
    with pytest.raises(
        SimulationError, match=r"'grip' cannot be switched on, it is open by 0\.049"
    ) as caught:
        sr.simulate(system, system.neutral(), duration=0.3, switching=plan)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.1)
    assert system.parameters["active.grip"] == 0.0


def test_wrong_plans_are_named():
    system, standing = rotors(active=None), block()
    with pytest.raises(ArgumentError, match=r"schedule of 'brake' must be ascending pairs of times"):
        sr.Switching({"brake": [(1.0, 0.5)]})
    with pytest.raises(ArgumentError, match=r"schedule of 'brake' must be ascending pairs of times"):
        sr.Switching({"brake": [0.5]})
    with pytest.raises(ArgumentError, match="rest_speed must be positive and finite, got 0"):
        sr.Switching(rest_speed=0)
    run = {"duration": 1.0, "q": system.neutral()}
    with pytest.raises(ArgumentError, match=r"unknown closure added with active= 'clutch'.*Known: 'brake'"):
        sr.simulate(system, **run, switching=sr.Switching({"clutch": [(0, 1)]}))
    with pytest.raises(ArgumentError, match="switching must be True, False or a Switching, got 'on'"):
        sr.simulate(system, **run, switching="on")
    with pytest.raises(
        ArgumentError, match="'corner0' is a contact, which opens and closes without a schedule"
    ):
        sr.simulate(standing, standing.neutral(), duration=1.0, switching=sr.Switching({"corner0": [(0, 1)]}))


# --- the rest of a run ---------------------------------------------------------------------------------


def test_without_switching_everything_stays_as_the_parameters_say():
    system = block()
    q = system.neutral()
    run = sr.simulate(system, q, duration=0.1, switching=False)
    assert run.q[-1, 2] == pytest.approx(0.05 - 0.5 * G * 0.01)
    activity.switch_on(system, ["corner0"], q)
    run = sr.simulate(system, q, duration=0.1, switching=False)
    assert set(run.rank) == {3}
    assert run.switches == ()


def test_parameters_are_put_back_after_a_run_that_fails():
    system = block()
    q = system.neutral()
    q[2] += 0.01

    def fails(q, v, t):
        if t > 0.2:
            raise RuntimeError("no more")
        return np.zeros(6)

    before = dict(system.parameters)
    with pytest.raises(SimulationError, match="no more") as caught:
        sr.simulate(system, q, duration=1.0, force=fails, sample_time=0.01)
    assert len(caught.value.trajectory.switches) == 1
    assert dict(system.parameters) == before


def test_switches_are_saved_and_loaded(tmp_path):
    run = sr.simulate(ball(restitution=0.3), [0, 0, 0.2], duration=0.6)
    again = sr.Trajectory.load(run.save(tmp_path / "ball.nc"))
    assert again.switches == run.switches
    assert len(again.switches) > 2


@pytest.mark.parametrize(
    "how",
    [
        {"stabilization": "energy"},
        {"stabilization": "baumgarte"},
        {"coordinates": "null-space"},
        {"method": "dopri5", "dt": 0.01},
        {"events": [sr.Event("low", lambda q, v, t: q[2] - 0.3)]},
    ],
)
def test_other_ways_to_simulate_switch_alike(how):
    system = ball(restitution=0.5)
    plain = sr.simulate(system, [0, 0, 0.5], [0.3, 0, 0], duration=1.2)
    other = sr.simulate(system, [0, 0, 0.5], [0.3, 0, 0], duration=1.2, **how)
    assert [s.bounced for s in other.switches] == [s.bounced for s in plain.switches]
    np.testing.assert_allclose([s.time for s in other.switches], [s.time for s in plain.switches], atol=1e-8)
    np.testing.assert_allclose(other.q[-1], plain.q[-1], atol=1e-8)


def test_the_rank_is_new_for_every_solve_after_an_assignment():
    """Also where the rows that come on are satisfied already, so that nothing else tells."""
    system = block()
    q, rest = system.neutral(), np.zeros(6)
    weight = np.array([0, 0, 2.0 * G, 0, 0, 0])
    assert system.forward_dynamics(q, rest, tau=weight).rank == 0
    for count, rank in ((1, 3), (2, 5), (4, 6), (0, 0)):
        for k in range(4):
            system.parameters[f"active.corner{k}"] = float(k < count)
        answer = system.forward_dynamics(q, rest, tau=weight)
        assert (answer.rank, answer.status) == (rank, sr.Status.OK)


def test_a_copy_has_the_same_constraints_on():
    system = block()
    q = system.neutral()
    q[0] += 0.2
    activity.switch_on(system, ["corner0", "corner1"], q)
    copied = pickle.loads(pickle.dumps(system))
    assert dict(copied.parameters) == dict(system.parameters)
    assert copied.forward_dynamics(q, np.zeros(6)).rank == 5
    copied.parameters["active.corner0"] = 0.0
    assert system.parameters["active.corner0"] == 1.0


def test_the_example_of_the_foot_lifts_its_heel(capsys):
    load_example("foot").main()
    assert "toe_left, toe_right, heel_right, heel_left closed" in capsys.readouterr().out
