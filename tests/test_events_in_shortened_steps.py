"""Events that come and go within one step, which another event shortens: they are met where they come first."""

import numpy as np
import pytest

import sarrus as sr

G = 9.81


def ball() -> sr.System:
    """Return a body of 1 kg that moves up and down."""
    m = sr.Mechanism("ball", gravity=(0, 0, -G))
    m.add_body("ball", 1.0)
    m.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    return sr.System(m)


def above(height: float) -> sr.Event:
    return sr.Event(f"{height} m", lambda q, v, t: q[0] - height)


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
def test_what_is_crossed_before_an_event_that_ends_the_run_is_listed(at: float) -> None:
    """Thrown up at 5 m/s: one step of 1 s passes 0.5 m twice, and ends at ``at``, between the two."""
    stop = sr.Event("stop", lambda q, v, t: t - at, terminal=True)
    motion = sr.simulate(ball(), [0.0], [5.0], duration=1.0, dt=1.0, events=[above(0.5), stop])
    crossed = (5.0 - np.sqrt(25.0 - G)) / G
    assert [(e.name, e.time) for e in motion.events] == [
        ("0.5 m", pytest.approx(crossed, abs=1e-10)),
        ("stop", pytest.approx(at, abs=1e-10)),
    ]


def test_the_first_of_several_that_end_a_run_ends_it() -> None:
    """The later one is found first: the other one is behind zero only in between."""
    stop = sr.Event("stop", lambda q, v, t: t - 0.5, terminal=True)
    high = sr.Event("high", lambda q, v, t: q[0] - 0.5, terminal=True)
    motion = sr.simulate(ball(), [0.0], [5.0], duration=1.0, dt=1.0, events=[stop, high])
    assert [e.name for e in motion.events] == ["high"]
    assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-9)


@pytest.fixture(scope="module")
def arm() -> sr.System:
    """A rod of 1 kg with its mass at 1 m, on a hinge with 1 N m of dry friction, its tip above the ground."""
    m = sr.Mechanism("arm", gravity=(0, 0, 0))
    m.add_body("arm", 1.0, com=(1, 0, 0))
    m.add_joint("hinge", "revolute", "world", "arm", axis=(0, -1, 0), friction=1.0)
    m.add_contact("tip", "arm", point=(1, 0, 0), friction="frictionless", restitution=0.5)
    return sr.System(m)


@pytest.mark.parametrize("dt", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("angle", [0.3, 0.6, 0.9, 1.2])
@pytest.mark.parametrize("beyond", [1e-3, 3e-3, 1e-2, 3e-2])
def test_a_contact_is_not_passed_where_friction_stops_the_body_behind_it(
    arm: sr.System, angle: float, beyond: float, dt: float
) -> None:
    """The friction, 1 rad/s², would stop the arm ``beyond`` the ground and push it back within the step."""
    speed = np.sqrt(2.0 * (angle + beyond))
    motion = sr.simulate(arm, [angle], [-speed], duration=8.0, dt=dt, method="rk4", error_estimate=False)
    hit = next(s for s in motion.switches if "tip" in s.bounced)
    left = np.sqrt(2.0 * beyond)  # the speed there
    assert hit.time == pytest.approx(speed - left, abs=1e-8)
    assert hit.energy_loss == pytest.approx(0.75 * beyond, rel=1e-6)
    assert motion.q[-1, 0] == pytest.approx(0.25 * beyond, abs=1e-8)  # where it stops after one rebound
