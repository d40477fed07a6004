"""`CaptureSteps` and `Balance`: where feet are sent, how the centre of mass is guided, and robots that walk by them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Settings
from sarrus.control.legged.capture_point import DivergentSteps
from sarrus.control.legged.capture_steps import Balance
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.control.legged.gait import Gait, TracedGait
from sarrus.control.motion.tasks import centre_of_mass, quantity
from sarrus.dynamics.impacts.activity import gaps

START, PERIOD, DUTY, HEIGHT = 0.5, 0.8, 0.6, 0.79
TIMES = {"new foot alone": START + 0.25, "both feet": START + 0.05, "other foot alone": START + 0.65}
TROT = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}
OMEGA = np.sqrt(9.81 / HEIGHT)


@pytest.fixture(scope="module")
def walk():
    return load_example("biped_walk")


@pytest.fixture(scope="module")
def biped(walk):
    return sr.System(walk.build())


class Traced:
    """A gait of the biped as a function of state and time."""

    def __init__(self, walk, system, **steps):
        self.system, settings = system, Settings()
        gait = Gait(
            "trunk", walk.CORNERS, period=PERIOD, duty=DUTY, velocity=(0.3, 0.0), start=START, reach=0.4, pull=0.0,
            steps=control.CaptureSteps(HEIGHT, **steps),
        )  # fmt: skip
        traced = TracedGait(gait, system, ContactTerms.of(system), settings)
        assert traced._steps is not None
        balance = traced.balance(Balance())
        centre = quantity(system, centre_of_mass("xy"))
        targets = ca.horzcat(*[traced._steps.target(k) for k in range(8)])
        e = system.equations
        outputs = [balance.wanted + centre.bias, centre.value, centre.rate, targets]
        self._function = ca.Function(
            "gait", [e.q, e.v, e.t, e.p, ca.vertcat(*settings.symbols, settings.period)], outputs
        )
        self._settings = [*settings.values.values(), 0.0]

    def __call__(self, q, v, t):
        """Return the acceleration that is asked for, place and velocity of the centre of mass, targets (8 × 2)."""
        found = self._function(q, v, t, list(self.system.parameters.values()), self._settings)
        a, x, rate, targets = (np.array(part) for part in found)
        return a.ravel(), x.ravel(), rate.ravel(), targets.T


def at(walk, system, rate=(0.0, 0.0)):
    """Return the standing robot, all of it moving at a velocity, and the middles of its feet."""
    q, v = walk.pose(system, 0.0, 0.0), np.zeros(system.nv)
    v[:2] = rate
    return q, v, np.array([[0.0, 0.12], [0.0, -0.12]])


def divergent():
    double = (DUTY - 0.5) * PERIOD
    return DivergentSteps(OMEGA, 0.5 * PERIOD - double, double)


@pytest.mark.parametrize("moment", list(TIMES))
def test_the_pendulum_stands_on_its_feet(walk, biped, moment):
    """Without play p is the middle of the foot that stands, or goes from the old one to the new one."""
    q, v, (left, right) = at(walk, biped, (0.2, -0.1))
    expected = {
        "new foot alone": left,
        "both feet": right + 0.05 / 0.08 * (left - right),
        "other foot alone": right,
    }
    a, x, _, _ = Traced(walk, biped)(q, v, TIMES[moment])
    np.testing.assert_allclose(a, OMEGA**2 * (x - expected[moment]), atol=1e-9)


def test_play_is_used_up_to_its_ends(walk, biped):
    """Far off its course the centre of pressure is where the play ends, on the side of the divergent component."""
    q, v, (left, _) = at(walk, biped, (1.0, 1.0))
    a, x, _, _ = Traced(walk, biped, play=(0.07, 0.03))(q, v, TIMES["new foot alone"])
    np.testing.assert_allclose(x - a / OMEGA**2, left + np.array([0.07, 0.03]), atol=1e-9)


def test_before_the_start_it_goes_to_where_the_walk_begins(walk, biped):
    """ξ̇ = −rate (ξ − ξ₀), ξ₀ where the course begins: beyond the middle of the feet, near the first to stand."""
    q, v, (left, right) = at(walk, biped)
    a, x, rate, _ = Traced(walk, biped, rate=2.0)(q, v, START - 0.2)
    xi, speed = x + rate / OMEGA, rate + a / OMEGA
    steps = divergent()
    aim = left + steps.course(left - right, steps.offset(0.0, right - left), 0.0)[0].full().ravel()
    np.testing.assert_allclose(speed, -2.0 * (xi - aim), atol=1e-9)
    assert 0.0 < aim[1] < left[1]


def test_a_foot_steps_to_where_its_course_begins(walk, biped):
    """By the closed form from the divergent component of now, in the axes of the robot, corners around the middle."""
    q, v, (left, right) = at(walk, biped, (0.25, 0.05))
    steps, t = divergent(), TIMES["new foot alone"]
    _, x, rate, targets = Traced(walk, biped)(q, v, t)
    offset = steps.grown(x + rate / OMEGA - left, START + 0.4 - t)
    following = steps.offset(np.array([0.12, 0.0]), left - right)
    middle = left + np.array(steps.step(offset, following)).ravel()
    np.testing.assert_allclose(targets[4:].mean(axis=0), middle, atol=1e-9)
    corners = np.array([[0.11, 0.05], [-0.11, 0.05], [-0.11, -0.05], [0.11, -0.05]])
    np.testing.assert_allclose(targets[4:] - middle, corners, atol=1e-9)


def test_steps_keep_their_reach_and_their_side(walk, biped):
    left, right = at(walk, biped)[2]
    gait = Traced(walk, biped, inwards=0.1)
    for rate in ((2.0, 0.0), (0.0, -2.0), (0.0, 2.0)):
        q, v, _ = at(walk, biped, rate)
        middle = gait(q, v, TIMES["new foot alone"])[3][4:].mean(axis=0)
        assert np.linalg.norm(middle - right) < 0.4 + 1e-9
        assert middle[1] < left[1] - 0.14 + 1e-9  # 0.24 m apart, less 0.1 m inwards


def test_a_quadruped_trots_by_them_and_takes_a_push():
    """Two legs of a trot are one foot: nothing else is new for points."""
    quadruped = load_example("quadruped_gaits")
    system, plant = quadruped.robot(), quadruped.robot(quadruped.FLOOR)
    steps = control.CaptureSteps(quadruped.HEIGHT)
    gait = control.Gait("trunk", TROT, velocity=(0.4, 0.0), start=0.2, reach=0.25, pull=0.0, steps=steps)
    joints = [name for name in system.coordinate_names if name.startswith(quadruped.LEGS)]
    calm = control.Task(joints, np.zeros(len(joints)), 0.0, 20.0, name="posture")
    levels = [quadruped.upright([quadruped.HEIGHT]), control.SwingFeet(), control.Balance(), calm]
    law = control.LeggedController(system, levels, gait=gait, **quadruped.limits())
    q = np.array(system.mechanism.keyframes["stand"].q)
    q[2] -= min(gaps(plant, q).values())

    def push(q, v, t):
        return np.eye(18)[1] * (100.0 if 1.0 <= t < 1.1 else 0.0)

    sampled = lambda q, v, t: law.sample(q, v, t, 2e-3)  # noqa: E731
    run = sr.simulate(plant, q, duration=2.5, dt=1e-3, control=sampled, force=push, sample_time=2e-3)
    assert run.q[:, 2].min() > 0.4
    assert run.q[-1, 0] > 0.6
    assert np.abs(run.q[:, 4:6]).max() < 0.1
    assert np.abs(run.v[-300:, 1]).mean() < 0.05


def turned(q):
    return 2.0 * np.arctan2(q[6], q[3])


def test_the_biped_turns_and_stops(walk, biped):
    """Footholds turn with the trunk; with a duty of one it comes to rest on both feet."""
    law, plant = walk.walking_law(biped), walk.plant()
    law.settings["gait.pull"] = 0.0

    def sampled(q, v, t):
        heading = 0.4 * min(max(t - 1.5, 0.0), 1.5)
        law.settings["gait.heading"] = law.settings["upright.reference[2]"] = heading
        law.settings["gait.velocity[0]"] = 0.3 if t < 3.2 else 0.0
        law.settings["gait.duty"] = 0.575 if t < 4.6 else 1.0
        return law.sample(q, v, t, 2e-3)

    start = walk.pose(biped, 0.0, 0.0)
    run = sr.simulate(plant, start, duration=6.5, dt=1e-3, control=sampled, sample_time=2e-3)
    assert not walk.fell(run.q)
    assert turned(run.q[-1]) == pytest.approx(0.6, abs=0.02)
    assert np.hypot(*run.q[-1, :2]) > 0.4
    assert np.abs(run.v[-1]).max() < 0.02
    assert run.residual.max() < 1e-12


def test_it_walks_alike_in_steps_and_between_events(walk, biped):
    """Touchdowns, slips and releases located as events, or in steps of a millisecond, from a perturbed start."""
    law, plant = walk.walking_law(biped), walk.plant()
    start = walk.perturbed(plant, 0)
    walk.DURATION = 1.9  # two steps
    stepped = walk.walk(plant, walk.Pilot(law), start, ())
    events = walk.walk(plant, walk.Pilot(law), start, (), dt=None, method="dopri5", rtol=1e-6)
    np.testing.assert_allclose(events.q[-1], stepped.q[-1], atol=5e-4)
    assert len(events.events) > 20
    assert events.residual.max() < 1e-12


@pytest.mark.parametrize(
    ("steps", "offsets", "text"),
    [
        ({"height": 0.0}, TROT, "height must be positive"),
        ({"play": (-0.1, 0.0)}, TROT, "at least 0, got play"),
        ({"rate": np.nan}, TROT, "rate"),
        ({}, TROT | {"RR": 0.25}, "two feet half a period apart"),
        ({}, {"FL": 0.0, "FR": 0.4, "RL": 0.4, "RR": 0.0}, "two feet half a period apart"),
    ],
)
def test_what_is_wrong_is_named(steps, offsets, text):
    system = load_example("quadruped_gaits").robot()
    chosen = control.CaptureSteps(**{"height": 0.41} | steps)
    with pytest.raises(ArgumentError, match=text):
        control.LeggedController(
            system, [control.Balance()], gait=control.Gait("trunk", offsets, steps=chosen)
        )


def test_balance_needs_steps_and_steps_need_gravity():
    system = load_example("quadruped_gaits").robot()
    with pytest.raises(ArgumentError, match="'balance' needs steps=CaptureSteps"):
        control.LeggedController(system, [control.Balance()], gait=control.Gait("trunk", TROT))
    flight = control.Gait("trunk", TROT, duty=0.45, steps=control.CaptureSteps(0.41))
    with pytest.raises(ArgumentError, match="a duty of at least"):
        control.LeggedController(system, [control.Balance()], gait=flight)
    with pytest.raises(ArgumentError, match="'balance' needs a gait"):
        control.LeggedController(system, [control.Balance()])
    mechanism = sr.load("models/quadruped.xml")
    mechanism.gravity = np.array([0.5, 0.0, -9.81])
    for leg in TROT:
        mechanism.add_contact(leg, geom=leg, friction_coefficient=0.5)
    gait = control.Gait("trunk", TROT, steps=control.CaptureSteps(0.41))
    with pytest.raises(ArgumentError, match="gravity along -z"):
        control.LeggedController(sr.System(mechanism), [control.Balance()], gait=gait)
