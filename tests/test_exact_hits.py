"""Hits are found at their instants: nothing adds up from one to the next, in metres and in millimetres."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import sarrus as sr

sys.path.insert(0, str(Path(__file__).parent / "families"))

from units_of_impacts import cases, outcome

G = 9.81
SOME = cases(9, seed=11)
CONTACTS: dict[str, dict[str, Any]] = {
    "frictionless": {"friction": "frictionless"},
    "coulomb": {"friction": "coulomb", "friction_coefficient": 0.3},
}


@pytest.mark.parametrize("k", range(len(SOME)))
def test_units_do_not_matter(k: int) -> None:
    """``python tests/families/units_of_impacts.py`` does more."""
    what, apart = outcome(SOME[k])
    assert what == "same", (what, apart, SOME[k].scene, SOME[k].method)


def last(system: sr.System, q: Any, v: Any, duration: float, **how: Any) -> np.ndarray:
    """Return the coordinates at the end."""
    motion = sr.simulate(system, q, v, duration=duration, every=None, error_estimate=False, **how)
    assert motion.status.ok
    return motion.q[-1]


def between(place: float, speed: float, time: float, width: float) -> float:
    """Return where a point is that flies to and fro between 0 and ``width``."""
    way = (place + speed * time) % (2.0 * width)
    return min(way, 2.0 * width - way)


@pytest.mark.parametrize("unit", [1.0, 1e3])
@pytest.mark.parametrize("speed", [1.0, 0.731, 731.0])
def test_two_slides_between_stops_that_hit_next_to_together(unit: float, speed: float) -> None:
    """One of them is 3e-10 of the way behind: both hit at once and stay so far apart, after 2,000 hits each."""
    m = sr.Mechanism("slides", gravity=(0, 0, 0))
    for name in ("one", "two"):
        m.add_body(name, 1.0)
        m.add_joint(name, "prismatic", "world", name, limits=(0.0, unit), limit_restitution=1.0)
    starts, time = np.array([0.3, 0.3 - 3e-10]) * unit, 2000.37 / speed
    found = last(sr.System(m), starts, [speed * unit] * 2, time)
    expected = [between(q, speed * unit, time, unit) for q in starts]
    assert np.abs(found - expected).max() < 1e-11 * 2000 * unit
    assert abs(np.diff(found)[0] - np.diff(expected)[0]) < 1e-11 * unit


@pytest.mark.parametrize("kind", CONTACTS)
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_ball_bounces_in_step_with_its_closed_form(kind: str, unit: float) -> None:
    """A thousand hits without losses, which were 1e-11 lengths late each."""
    m = sr.Mechanism("ball", gravity=(0, 0, -G * unit))
    m.add_body("ball", 1.0, inertia=(0.004 * unit**2,) * 3)
    m.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    m.add_contact("ground", "ball", restitution=1.0, **CONTACTS[kind])
    height = 0.2
    fall = np.sqrt(2.0 * height / G)
    flight, time = 2.0 * fall, 1000.7 * 2.0 * fall
    found = last(sr.System(m), [height * unit], None, time)
    since = (time - fall) % flight
    expected = G * fall * since - 0.5 * G * since**2
    assert abs(found[0] / unit - expected) < 1e-9


def test_a_series_of_bounces_comes_to_rest_when_it_should() -> None:
    """Hits at T (1 + 2 e (1 − eⁿ) / (1 − e)), to 1e-13 s, up to the last one before rest."""
    bounce, fall = 0.8, np.sqrt(2.0 / G)
    m = sr.Mechanism("ball")
    m.add_body("ball", 1.0, inertia=(0.004, 0.004, 0.004))
    m.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    m.add_contact("ground", "ball", restitution=bounce, **CONTACTS["coulomb"])
    switching = sr.Switching(rest_speed=1e-3)
    motion = sr.simulate(sr.System(m), [1.0], duration=5.0, switching=switching)
    times = np.array([record.time for record in motion.switches if record.bounced])
    n = np.arange(len(times))
    assert len(times) > 30
    assert np.abs(times - fall * (1.0 + 2.0 * bounce * (1.0 - bounce**n) / (1.0 - bounce))).max() < 1e-12


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_pendulum_between_stops_keeps_step_with_its_quadrature(unit: float) -> None:
    """It swings between −0.2 and 0.3 rad without losses: dt = dα / ω(α), with ω by energy."""
    low, high, length, inertia, start = -0.2, 0.3, 0.5, 0.25 + 0.01, 3.0
    m = sr.Mechanism("pendulum", gravity=(0, 0, -G * unit))
    m.add_body("link", 1.0, com=(0, 0, -length * unit), inertia=(0.01 * unit**2,) * 3)
    m.add_joint("h", "revolute", "world", "link", axis=(0, 1, 0), limits=(low, high), limit_restitution=1.0)

    def rate(angle: float) -> float:
        return float(np.sqrt(start**2 - 2.0 * G * length / inertia * (1.0 - np.cos(angle))))

    first, passage = (
        quad(lambda a: 1.0 / rate(a), begin, high, epsabs=1e-14, epsrel=1e-13)[0] for begin in (0.0, low)
    )
    time = first + 300 * passage + 0.6 * passage
    system = sr.System(m)
    found = last(system, [0.0], [start], time, rtol=1e-12)
    swing = solve_ivp(
        lambda t, y: [y[1], -G * length / inertia * np.sin(y[0])], (0.0, 0.6 * passage), [high, -rate(high)],
        rtol=1e-13, atol=1e-14, method="DOP853",
    )  # fmt: skip
    assert abs(found[0] - swing.y[0, -1]) < 1e-9
    motion = sr.simulate(system, [0.0], [start], duration=time, every=None)
    assert motion.error is not None
    error = abs(motion.q[-1, 0] - swing.y[0, -1])
    assert 1e-7 < error < 2.0 * motion.error[-1] < 10.0 * error  # steps are the same at any tolerance


def test_spheres_of_a_file_bounce_between_two_walls() -> None:
    """A sphere of 0.1 m that was drawn as a geom, 400 hits between walls that are 1 m apart."""
    m = sr.Mechanism("sphere", gravity=(0, 0, 0))
    m.add_body("ball", 1.0, inertia=(0.004, 0.004, 0.004))
    m.add_joint("x", "prismatic", "world", "ball", axis=(1, 0, 0))
    for name, normal, offset in (("left", (1, 0, 0), 0.0), ("right", (-1, 0, 0), -1.0)):
        m.add_contact(
            name, "ball", normal=normal, offset=offset, radius=0.1, restitution=1.0, **CONTACTS["coulomb"]
        )
    found = last(sr.System(m), [0.4], [1.7], 400.3 * 0.8 / 1.7)
    assert abs(found[0] - 0.1 - between(0.3, 1.7, 400.3 * 0.8 / 1.7, 0.8)) < 1e-11


@pytest.mark.parametrize("seed", range(6))
def test_a_body_that_sticks_in_its_hit_leaves_by_newtons_law(seed: int) -> None:
    """The kernel's rebound is that of `impact`; the point of contact has the velocity −e u_n along the normal alone."""
    random = np.random.default_rng(seed)
    mechanism, e = sr.Mechanism("stone"), 0.3 + 0.1 * seed
    mechanism.add_body("stone", 1.0, inertia=0.04 + 0.03 * random.random(3))
    mechanism.add_joint("float", "free", "world", "stone")
    corner = 0.2 * random.standard_normal(3)
    mechanism.add_contact("floor", "stone", corner, friction="stick", restitution=e)
    system = sr.System(mechanism)
    turn = random.standard_normal(4)
    q = np.array([0, 0, 0.8, *turn / np.linalg.norm(turn)])
    v = np.array([0.1, 0.2, 0.0, *0.2 * random.standard_normal(3)])
    exact: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13, "every": None, "error_estimate": False}
    hit = sr.simulate(system, q, v, duration=1.0, **exact).switches[0]
    assert hit.bounced == ("floor",)
    before = sr.simulate(system, q, v, duration=hit.time, switching=False, **exact)
    after = sr.simulate(system, q, v, duration=hit.time + 1e-9, **exact).v[-1]
    struck = sr.impact(system, before.q[-1], before.v[-1], closing=["floor"])
    np.testing.assert_allclose(after, struck.v, rtol=0, atol=1e-7)
    assert hit.energy_loss == pytest.approx(struck.energy_loss, abs=1e-10)
    rotation = system.body_placements(before.q[-1])[1][0]
    leaves, came = ((w[:3] + rotation @ np.cross(w[3:], corner)) for w in (np.array(struck.v), before.v[-1]))
    np.testing.assert_allclose(leaves, [0, 0, -e * came[2]], rtol=0, atol=1e-9)


@pytest.mark.parametrize("friction", ["stick", "frictionless"])
@pytest.mark.parametrize("kind", ["point", "revolute"])
def test_a_loop_rebounds_closed(friction: str, kind: str) -> None:
    """A four-bar linkage that falls on its coupler has the velocity of `impact`, also with redundant rows."""
    mechanism = sr.Mechanism("four-bar")
    mechanism.add_body("base", 1.5)
    mechanism.add_joint("lift", "prismatic", "world", "base", axis=(0, 0, 1))
    for name, parent, x in (("a", "base", 0.0), ("b", "base", 0.3), ("c", "a", 0.25)):
        mechanism.add_body(name, 0.4, com=(0.1, 0, 0), inertia=(0.002, 0.004, 0.004))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 1, 0), parent_pose=(x, 0, 0))
    mechanism.add_closure("loop", kind, "c", "b", pose1=(0.3, 0, 0), pose2=(0.25, 0, 0), axis=(0, 1, 0))
    mechanism.add_contact("floor", "c", (0.15, 0, -0.05), friction=friction, restitution=0.6)
    system = sr.System(mechanism)
    q = system.assemble([0.9, 0.9, 0.9, -0.9], locked=["lift", "a"]).q
    exact: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13, "every": None, "error_estimate": False}
    hit = sr.simulate(system, q, duration=0.8, **exact).switches[0]
    assert hit.bounced == ("floor",)
    before = sr.simulate(system, q, duration=hit.time, switching=False, **exact)
    after = sr.simulate(system, q, duration=hit.time + 1e-9, **exact)
    struck = sr.impact(system, before.q[-1], before.v[-1], closing=["loop", "floor"])
    np.testing.assert_allclose(after.v[-1], struck.v, rtol=0, atol=1e-7)
    assert hit.energy_loss == pytest.approx(struck.energy_loss, abs=1e-10)
    assert after.residual[-1] < 1e-12
