"""`Gait`: its schedule, the shares of the contacts, where feet are to go and how they get there."""

from __future__ import annotations

from itertools import takewhile

import numpy as np
import pytest

import sarrus as sr
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.control.legged.tolerances import LEAST_SHARE
from sarrus.dynamics.impacts.activity import gaps

LEGS = ("FL", "FR", "RL", "RR")
TROT = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}
PERIOD, DUTY, START = 0.4, 0.6, 0.1
TICK = 1e-3


def robot(**contact):
    mechanism = sr.load("models/quadruped.xml")
    for leg in LEGS:
        mechanism.add_contact(leg, geom=leg, **contact)
    return sr.System(mechanism)


@pytest.fixture(scope="module")
def system():
    return robot()


def law_of(system, extra=(), offsets=TROT, **gait):
    settings = {"period": PERIOD, "duty": DUTY, "start": START} | gait
    up = control.Task(control.centre_of_mass("z"), [0.41], 200.0, 25.0, name="height")
    return control.LeggedController(
        system,
        [up, control.SwingFeet(), control.Travel(), *extra],
        gait=control.Gait("trunk", offsets, **settings),
        largest_force=250.0,
    )


@pytest.fixture(scope="module")
def law(system):
    return law_of(system)


def standing(system):
    return np.array(system.mechanism.keyframes["stand"].q)


def told(law, q, v, t):
    """Return which contacts are closed and their shares at a state."""
    law.solve(q, v, t, throw=False)
    return law.closed, output(law, "contacts").reshape(2, 4)[1]


def output(law, name):
    """Return what the law evaluated at its last state, by name."""
    return law.native(law.arrays.input)[law.native.outputs[name][0]]


def wanted_of(law, name):
    """Return the accelerations that a task asks for at the last state of the law."""
    sizes = {level.name: level.wanted.numel() for level in law.levels}
    start = sum(size for _, size in takewhile(lambda item: item[0] != name, sizes.items()))
    return output(law, "wanted")[start : start + sizes[name]]


def phases(t):
    return {leg: ((t - START) / PERIOD + offset) % 1.0 for leg, offset in TROT.items()}


def test_schedule(system, law):
    """A foot on the ground stands while its phase is below the duty; before the start all do."""
    q, v = standing(system), np.zeros(18)
    for t in np.arange(0.0005, 1.3, 0.0131):
        closed, _ = told(law, q, v, t)
        expected = [t < START or phases(t)[leg] < DUTY for leg in LEGS]
        assert closed.tolist() == expected, t


def test_all_feet_stand_where_the_duty_is_one(system, law):
    law.settings["gait.duty"] = 1.0
    for t in (0.0, 0.35, 0.7):
        closed, share = told(law, standing(system), np.zeros(18), t)
        assert closed.all()
        assert (share == 1.0).all()
    law.settings["gait.duty"] = DUTY


def test_shares_rise_and_fall_without_jumps(system, law):
    """From touchdown to lift-off a share goes from next to nothing to one and back, within the ramp each."""
    q, v, ramp = standing(system), np.zeros(18), 0.03
    times = np.arange(0.0, 1.5, TICK) + 1e-6
    closed, share = map(np.array, zip(*[told(law, q, v, t) for t in times]))
    share = np.where(closed == 1.0, share, 2.0 * LEAST_SHARE)
    assert (share > LEAST_SHARE).all()
    steps = np.abs(np.diff(share, axis=0))
    assert steps.max() < 1.51 * TICK / ramp  # the steepest slope of 3 x² − 2 x³
    for k, leg in enumerate(LEGS):
        for t, value in zip(times, share[:, k]):
            phase = phases(t)[leg]
            if t < START or 1.1 * ramp < phase * PERIOD < DUTY * PERIOD - 1.1 * ramp:
                assert value == pytest.approx(1.0, abs=1e-12) or t < START + ramp
    assert (share[times < START] == 1.0).all()
    begun = (times > START) & (times < START + 0.05)
    assert (share[begun][:, [0, 3]] == 1.0).all()  # phase zero at the start: nothing to take over


def test_a_late_foot_goes_on_looking_for_the_ground(system, law):
    """Scheduled to stand but 2 cm above the ground it is open, and is sent straight down."""
    q, v, t = standing(system), np.zeros(18), START + 0.02
    q[2] += 0.02
    closed, _ = told(law, q, v, t)
    assert not closed.any()
    wanted = swing_of(system, law, q, v, t)
    np.testing.assert_allclose(wanted[:, :2], 0.0, atol=1e-9)
    assert (wanted[:, 2] < -1.0).all()


def swing_of(system, law, q, v, t):
    """Return the accelerations that the law has for the feet (4 × 3) in the world, found by its own answer."""
    law(q, v, t)
    wanted = wanted_of(law, "swing feet").reshape(4, 3)
    return wanted[:, [1, 2, 0]]


@pytest.mark.parametrize("leg", ["FL", "RR"])
def test_a_swing_arrives_when_the_foot_is_due(system, leg):
    """The accelerations integrated twice: x₀ + (x_T − x₀)(3 s² − 2 s³) until 40 ms are left, then a soft end.

    The trunk stands still; only the joints of the leg move. The step is one of 5 cm and 3 cm.
    """
    law = law_of(system, shortest=0.04)
    k, q, dt = LEGS.index(leg), standing(system), 1e-3
    begin, lasts = START + (DUTY - TROT[leg]) * PERIOD + 1e-6, (1.0 - DUTY) * PERIOD
    ground, rate = foot(system, q, leg)[2], np.zeros(3)
    x = foot(system, q, leg) - (0.05, 0.03, 0.0)
    start, path = x.copy(), [x]
    for i in range(round(lasts / dt)):
        q, v = bring(system, q, leg, x, rate)
        acceleration = swing_of(system, law, q, v, begin + i * dt)[k] + bias(system, q, v, leg)
        x, rate = x + dt * rate + 0.5 * dt**2 * acceleration, rate + dt * acceleration
        path.append(x)
    hip = np.array([0.25, 0.16]) * ((leg[0] == "F") * 2 - 1, (leg[1] == "L") * 2 - 1)
    for s, share in ((0.25, 0.15625), (0.5, 0.5), (0.75, 0.84375)):
        # the target moves with the centre of mass, by less than a millimetre, for the leg is light
        expected = start[:2] + share * (com(system, q)[:2] + hip - start[:2])
        np.testing.assert_allclose(path[round(s * lasts / dt)][:2], expected, atol=3e-3)
    np.testing.assert_allclose(x[:2], com(system, q)[:2] + hip, atol=3e-3)
    heights = np.array(path)[:, 2] - ground
    assert heights[round(0.25 * lasts / dt)] == pytest.approx(0.5 * 0.06, abs=2e-3)
    assert 0.045 < heights.max() < 0.06
    assert -0.003 < heights[-1] < 0.003  # before the next sample it counts as standing, or touches
    assert np.abs(rate[:2]).max() < 0.2
    assert -0.3 < rate[2] < 0.0


def foot(system, q, leg):
    names = list(system.mechanism.bodies)
    positions, rotations = system.body_placements(q)
    k = names.index(f"{leg}_shank")
    return positions[k] + rotations[k] @ (0.0, 0.0, -0.25)


def com(system, q):
    bodies = system.mechanism.bodies.values()
    positions, rotations = system.body_placements(q)
    masses = np.array([body.mass for body in bodies])
    coms = np.array([p + r @ b.com for p, r, b in zip(positions, rotations, bodies)])
    return masses @ coms / masses.sum()


def jacobian(system, q, leg, function=foot):
    """Return ∂x/∂ of the joints of a leg, by central differences."""
    first, columns = 7 + 3 * LEGS.index(leg), []
    for j in range(first, first + 3):
        one = np.zeros(system.nq)
        one[j] = 1e-6
        columns.append((function(system, q + one, leg) - function(system, q - one, leg)) / 2e-6)
    return np.array(columns).T


def bring(system, q, leg, x, rate):
    """Return q and v with the foot of a leg at x with a velocity, the rest as it is and at rest."""
    q, v, first = q.copy(), np.zeros(18), 7 + 3 * LEGS.index(leg)
    for _ in range(4):
        q[first : first + 3] += np.linalg.solve(jacobian(system, q, leg), x - foot(system, q, leg))
    v[first - 1 : first + 2] = np.linalg.solve(jacobian(system, q, leg), rate)
    return q, v


def bias(system, q, v, leg):
    """Return J̇ v of a foot, by central differences along the motion."""
    dt = 1e-5
    return (
        foot(system, system.move(q, dt * v), leg)
        - 2.0 * foot(system, q, leg)
        + foot(system, system.move(q, -dt * v), leg)
    ) / dt**2


def test_footholds_are_those_of_the_reference_pose_or_as_given(system, law):
    for leg in LEGS:
        x, y = (law.settings[f"gait.foothold.{leg}[{k}]"] for k in range(2))
        assert abs(x) == pytest.approx(0.25, abs=1e-9)
        assert abs(y) == pytest.approx(0.16, abs=1e-9)
        assert (x > 0.0) == (leg[0] == "F")
        assert (y > 0.0) == (leg[1] == "L")
    given = law_of(system, footholds={"RL": (-0.2, 0.1)})
    assert given.settings["gait.foothold.RL[0]"] == -0.2
    assert given.settings["gait.foothold.FL[0]"] == pytest.approx(0.25, abs=1e-9)


def test_travel_begins_with_the_gait(system):
    """Before the start the robot at rest is not asked to move on; from then on it is, along the heading."""
    law = law_of(system, velocity=(0.4, 0.0), heading=0.5 * np.pi, line=(0.0, 0.0), pull=0.0)
    q, v = standing(system), np.zeros(18)
    wanted = []
    for t in (START - 0.01, START + 0.01):
        law(q, v, t)
        wanted.append(wanted_of(law, "travel"))
    np.testing.assert_allclose(wanted[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(wanted[1], [0.0, 5.0 * 0.4], atol=1e-12)


def test_the_line_pulls_back_with_a_limit(system):
    law = law_of(system, line=(0.0, 0.1), pull=0.5)
    q, v = standing(system), np.zeros(18)
    across = com(system, q)[1]
    for offset, speed in ((0.0, 0.05), (1.0, 0.15), (-1.0, -0.15)):
        law.settings["gait.line[1]"] = across + 0.1 + offset
        law(q, v, START + 0.01)
        np.testing.assert_allclose(wanted_of(law, "travel"), [0.0, 5.0 * speed], atol=1e-12)


@pytest.mark.parametrize(
    ("gait", "text"),
    [
        ({"offsets": {"FL": 0.0, "FR": 0.5, "RL": 0.5}}, "RR"),
        ({"offsets": TROT | {"tail": 0.0}}, "tail"),
        ({"footholds": {"tail": (0.0, 0.0)}}, "tail"),
        ({"period": 0.0}, "period"),
        ({"ramp": -1.0}, "ramp"),
        ({"velocity": (1.0, 2.0, 3.0)}, "velocity"),
        ({"apex": np.nan}, "apex"),
    ],
)
def test_what_is_wrong_is_named(system, gait, text):
    with pytest.raises(ArgumentError, match=text):
        law_of(system, **gait)


def test_swing_needs_a_gait_and_a_floor(system):
    with pytest.raises(ArgumentError, match="needs a gait"):
        control.LeggedController(system, [control.SwingFeet()])
    law_of(robot(normal=(0.1, 0.0, 1.0)))
    with pytest.raises(ArgumentError, match="'FL' must be with a floor"):
        law_of(robot(normal=(1.0, 0.0, 0.1)))


def test_a_law_in_the_loop_walks_on_contacts_that_switch_themselves(system):
    """Sampled inside the compiled loop, the same motion as from Python; feet leave the ground and come back."""
    law = law_of(
        system, extra=[control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="up")]
    )
    q = standing(system)
    q[2] -= min(gaps(system, q).values())
    options = {"duration": 0.35, "dt": TICK, "sample_time": 2e-3}
    inside = sr.simulate(system, q, control=law, **options)
    law.reset()
    outside = sr.simulate(system, q, control=lambda q, v, t: law.sample(q, v, t, 2e-3), **options)
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-8)
    assert [s.opened for s in inside.switches] == [s.opened for s in outside.switches]
    assert {name for s in inside.switches for name in s.opened} >= {"FR", "RL"}
    assert inside.switches[0].closed == LEGS
