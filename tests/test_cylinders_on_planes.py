"""Cylinders on planes from event to event: on a rim, on their side and on their end, against exact equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus as sr
from geometry_scenes import G, scene
from sarrus.dynamics.contacts.contact_functions import border_functions, contact_gaps
from sarrus.dynamics.contacts.contact_state import contact_row_state

RADIUS, HALF, MASS = 0.1, 0.2, 2.0
ROUND, ACROSS = 0.5 * MASS * RADIUS**2, MASS * (3 * RADIUS**2 + 4 * HALF**2) / 12


def can(tilt=0.0, **options):
    """Return a system with a cylinder on a plane."""
    mechanism = scene("can", tilt=tilt)
    mechanism.add_body("can", mass=MASS, inertia=(ACROSS, ACROSS, ROUND))
    mechanism.add_joint("can", "free", "world", "can", parent_pose=(0.0, 0.0, HALF))
    mechanism.add_geom("can", "can", "cylinder", (RADIUS, HALF))
    mechanism.add_geometry_contacts(**{"friction_coefficient": 1.0, "closed_form": True, **options})
    return sr.System(mechanism)


@pytest.fixture(scope="module")
def standing():
    return can()


def on_rim(angle, rate):
    """Return the state of a cylinder that turns about the y axis on the point (r, 0, 0) of its rim."""
    place = np.array([RADIUS, 0.0, 0.0])
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    centre = place - turn @ [RADIUS, 0.0, -HALF]
    q = np.array([*centre, np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0])
    return q, np.array([*np.cross([0.0, rate, 0.0], centre - place), 0.0, rate, 0.0])


def pendulum(angle, rate, end, **options):
    """Return the exact motion of the angle about a point of the rim."""
    reach, leans = np.hypot(RADIUS, HALF), np.arctan2(RADIUS, HALF)
    moment = ACROSS + MASS * reach**2
    return solve_ivp(
        lambda t, y: [y[1], MASS * G * reach * np.sin(y[0] - leans) / moment], (0.0, end), [angle, rate],
        "DOP853", rtol=1e-13, atol=1e-14, **options,
    )  # fmt: skip


def test_a_can_stands(standing):
    q = standing.neutral()
    motion = sr.simulate(standing, q, duration=0.5)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-14)
    sums = motion.geometry_forces(-1)["floor-can"]
    assert sums == pytest.approx([0.0, 0.0, MASS * G], abs=1e-9)


def test_a_can_tips_over_its_rim(standing):
    q, v = on_rim(0.05, 4.0)
    motion = sr.simulate(standing, q, v, duration=0.3, rtol=1e-11)
    truth = pendulum(0.05, 4.0, 0.3, dense_output=True).sol
    found = 2.0 * np.arctan2(motion.q[:, 5], motion.q[:, 3])
    assert found == pytest.approx(truth(motion.t)[0], abs=1e-9)


def test_a_can_that_rocks_lands_on_its_end_at_the_right_time(standing):
    """It falls back, hits the plane with the other side of its rim, and rocks on there."""
    q, v = on_rim(0.05, 2.0)
    motion = sr.simulate(standing, q, v, duration=0.6, rtol=1e-11)
    lands = lambda t, y: y[0]  # noqa: E731
    lands.terminal, lands.direction = True, -1
    exact = pendulum(0.05, 2.0, 1.0, events=lands)
    hit = next(switch for switch in motion.switches if switch.energy_loss > 1e-6)
    assert hit.time == pytest.approx(exact.t[-1], abs=1e-9)
    rate, moment = exact.y[1, -1], ACROSS + MASS * (RADIUS**2 + HALF**2)
    after = rate * (moment - 2.0 * MASS * RADIUS**2) / moment  # about the other side, which sticks
    assert hit.energy_loss == pytest.approx(0.5 * moment * (rate**2 - after**2), rel=1e-6)
    assert np.abs(motion.energy + motion.contact_loss - motion.energy[0]).max() < 1e-10


def test_a_can_on_its_side_rolls_down_a_plane():
    tilt = 0.3
    system = can(tilt)
    q = np.array([0.0, 0.0, RADIUS, np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
    motion = sr.simulate(system, q, duration=0.5, rtol=1e-10)
    assert motion.q[-1, 0] == pytest.approx(G * np.sin(tilt) / 3.0 * 0.25, abs=1e-11)
    assert len(motion.contact_log.at(len(motion.t) - 1)) == 2


def test_a_can_that_falls_on_its_rim_rebounds():
    restitution, angle, height = 0.5, 0.4, 0.1
    system = can(restitution=restitution, friction_coefficient=0.0)
    q, _ = on_rim(angle, 0.0)
    q[2] += height
    motion = sr.simulate(system, q, duration=0.2, rtol=1e-10)
    hit, fall = motion.switches[0], np.sqrt(2.0 * height / G)
    assert hit.time == pytest.approx(fall, abs=1e-11)
    arm = RADIUS * np.cos(angle) - HALF * np.sin(angle)
    light = 1.0 / MASS + arm**2 / ACROSS
    assert hit.energy_loss == pytest.approx(0.5 * (1 - restitution**2) * (G * fall) ** 2 / light, rel=1e-10)


def test_rates_and_biases_are_derivatives(standing):
    rng, step = np.random.default_rng(5), 1e-5
    held, borders, _ = border_functions(standing)
    for _ in range(6):
        q, v = standing.normalized(rng.normal(scale=0.4, size=7)), rng.normal(size=6)
        here = contact_row_state(standing, q, v, 0.0)
        ends = [standing.move(q, sign * step * v) for sign in (1.0, -1.0)]
        ahead, behind = (contact_row_state(standing, end, v, 0.0) for end in ends)
        x = [standing.pack(end, v) for end in ends]
        assert (held(x[0]) - held(x[1])) / (2 * step) == pytest.approx(here.rates[::3], abs=1e-6)
        scale = 1.0 + np.abs(here.bias).max()
        assert (ahead.rates - behind.rates) / (2 * step) == pytest.approx(here.bias, abs=1e-5 * scale)
        assert (borders(standing.pack(q, v)) <= 0.0).sum() == 2  # the lowest points of both rims
    assert (contact_gaps(standing)(standing.pack(standing.neutral())) < 1.0).sum() == 24
