"""Many runs from event to event: each is the run of `sarrus.simulate`, whatever the others and the threads."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.errors import AccuracyWarning, ArgumentError, LimitWarning
from several_contacts import cradle

G = 9.81


def bouncer(kind: str) -> sr.System:
    """Return a ball of 1 kg above the ground with e = 1/2, whose contact is a constraint or a Coulomb contact."""
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    mechanism.add_actuator("lift", "z")
    more = {"friction_coefficient": 0.3} if kind == "coulomb" else {}
    mechanism.add_contact("ground", "ball", (0, 0, -0.1), friction=kind, restitution=0.5, **more)
    return sr.System(mechanism)


def slide() -> sr.System:
    """Return two slides in a row with limits, restitution and dry friction, on a spring."""
    mechanism = sr.Mechanism("slides", gravity=(0, 0, 0))
    for k, on in enumerate(("world", "s0")):
        mechanism.add_body(f"s{k}", 1.0 + k)
        mechanism.add_joint(
            f"x{k}", "prismatic", on, f"s{k}", axis=(1, 0, 0), limits=(-0.5, 0.5), limit_restitution=0.4,
            friction=0.3 * (1 + k), stiffness=4.0,
        )  # fmt: skip
    return sr.System(mechanism)


@pytest.mark.parametrize("kind", ["frictionless", "coulomb"])
def test_a_ball_bounces_in_every_run(kind: str) -> None:
    """It hits after √(2h/g), and is at h/4 and at rest after half that time again."""
    heights = np.array([0.2, 0.5, 1.0])
    for k, height in enumerate(heights):
        top = 1.5 * np.sqrt(2 * height / G)
        made = sr.rollout(
            bouncer(kind), (0.1 + heights)[:, None], duration=top, dt=top / 64, method="rk4", every=1, threads=2,
            reduce=["min"],
        )  # fmt: skip
        assert all(status.ok for status in made.status)
        assert_allclose([made.final_q[k, 0] - 0.1, made.final_v[k, 0]], [height / 4, 0.0], atol=1e-9)
        assert made.samples.t.shape == (3, 65)
        assert made.minimum.q[k, 0] > 0.1 - 1e-12
    if kind == "coulomb":
        for method in ("dopri5", "rodas5p"):
            made = sr.rollout(bouncer(kind), [0.1 + heights[-1]], duration=top, method=method, rtol=1e-10)
            assert_allclose(made.final_q[0, 0] - 0.1, 0.25, atol=1e-8)


def test_each_run_is_the_run_of_simulate() -> None:
    system, rng = slide(), np.random.default_rng(2)
    q, v = 0.4 * rng.standard_normal((6, 2)).clip(-1, 1), 3.0 * rng.standard_normal((6, 2))
    options = {"duration": 0.5, "dt": 1e-2, "method": "rk4"}
    made = [sr.rollout(system, q, v, threads=n, every=5, **options) for n in (1, 2)]
    assert_allclose(made[0].q, made[1].q, rtol=0, atol=0)
    events = 0
    for k in range(6):
        alone = sr.simulate(system, q[k], v[k], error_estimate=False, **options)
        at = np.searchsorted(alone.t, made[0].t + 1e-9) - 1
        assert_allclose(made[0].q[k], alone.q[at], rtol=0, atol=0)
        assert_allclose(made[0].v[k], alone.v[at], rtol=0, atol=0)
        events += len(alone.switches)
    assert events > 12


def test_poissons_law_acts_in_many_runs_by_events() -> None:
    """The first of three balls in a row hits the two others: 1/6, 1/6, 2/3 of its speed."""
    made = sr.rollout(
        cradle((0.0, 1.0), "poisson"), np.zeros(3), [[1.0, 0.0, 0.0]] * 2, duration=1e-3, method="rk4"
    )
    assert_allclose(made.final_v, [[1 / 6, 1 / 6, 2 / 3]] * 2, atol=1e-12)


def test_controls_held_and_traced_act_between_events() -> None:
    """A lift of 1.5 m g held for the first half: closed form; the traced law of the same force agrees."""
    system, h = bouncer("coulomb"), 0.1
    u = np.array([[[1.5 * G], [0.0]]])
    made = sr.rollout(system, [h], u=u, duration=0.4, dt=1e-2, method="rk4")
    z, speed = 0.25 * G * 0.2**2, 0.5 * G * 0.2
    assert_allclose(made.final_q[0, 0], h + z + speed * 0.2 - G * 0.2**2 / 2, atol=1e-12)
    traced = sr.rollout(system, [h], control=lambda q, v, t: 1.5 * G, duration=0.2, dt=1e-2, method="rk4")
    assert_allclose(traced.final_v[0, 0], speed, atol=1e-12)


def test_a_law_knows_which_contacts_hold() -> None:
    """As in `simulate`: on the floor no acceleration is possible for a law of the plant itself."""
    system = bouncer("frictionless")
    law = sr.control.ProjectedInverseDynamics(system, ["z"], lambda t: [0.5])
    made = sr.rollout(system, [[0.1], [0.3]], duration=0.2, dt=1e-2, control=law, method="rk4")
    for k, start in enumerate((0.1, 0.3)):
        alone = sr.simulate(
            system, [start], duration=0.2, dt=1e-2, method="rk4", control=law, error_estimate=False
        )
        assert_allclose(made.final_q[k], alone.q[-1], rtol=0, atol=0)


def test_starts_deep_below_and_beyond_limits() -> None:
    with pytest.raises(ArgumentError, match=r"ball: run 1: contact 'ground' begins 0.05 m below its plane"):
        sr.rollout(bouncer("coulomb"), [[0.2], [0.05]], duration=0.1, method="rk4")
    with pytest.warns(LimitWarning, match="x0 = 0.6 is beyond its upper limit"):
        made = sr.rollout(slide(), [[0.6, 0.0], [0.0, 0.0]], duration=0.1, method="rk4")
    assert list(made.begun_beyond) == [0]


def test_geometries_without_closed_form_are_refused_by_name() -> None:
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.0, inertia=(0.1,) * 3)
    mechanism.add_joint("z", "prismatic", "world", "ball", axis=(0, 0, 1))
    mechanism.add_geom("ground", "world", "cylinder", (0.2, 0.1), (0, 0, -0.1))
    mechanism.add_geom("ball", "ball", "ellipsoid", (0.1, 0.2, 0.1), (0, 0, 0.1), friction=0.3)
    mechanism.add_geometry_contacts()
    with pytest.raises(ArgumentError, match=r"'ground-ball' \(cylinder and ellipsoid\) has none"):
        sr.rollout(sr.System(mechanism), [0.1], duration=0.1, method="rk4")


def test_geometries_in_closed_form_act_by_events_whatever_steps_in_time_take() -> None:
    found = []
    for closed_form in (True, False):
        mechanism = sr.Mechanism("box")
        mechanism.add_body("box", 1.0, inertia=(0.1,) * 3)
        mechanism.add_joint("z", "prismatic", "world", "box", axis=(0, 0, 1))
        mechanism.add_geom("ground", "world", "box", (0.5, 0.5, 0.1), (0, 0, -0.1))
        mechanism.add_geom("box", "box", "box", (0.1, 0.1, 0.1), (0, 0, 0.1), friction=0.3)
        mechanism.add_geometry_contacts(closed_form=closed_form)
        system = sr.System(mechanism)
        found.append(sr.rollout(system, [0.1], duration=0.3, method="rk4", dt=1e-2).final_q)
    assert abs(found[0][0, 0]) < 1e-12
    np.testing.assert_array_equal(*found)


def tray(friction: tuple[float, float, float], tilt: float) -> sr.System:
    """Return a tray on three feet with different friction, on an incline down along x."""
    mechanism = sr.Mechanism("tray", gravity=(G * np.sin(tilt), 0.0, -G * np.cos(tilt)))
    mechanism.add_body("tray", 1.0, inertia=(0.01, 0.012, 0.015))
    mechanism.add_joint("free", "free", "world", "tray")
    for k, (x, y) in enumerate(((0.1, 0.08), (-0.1, 0.07), (0.02, -0.09))):
        mechanism.add_contact(
            f"foot{k}", "tray", (x, y, -0.05), friction="coulomb", friction_coefficient=friction[k]
        )
    return sr.System(mechanism)


def test_each_run_has_the_status_of_simulate() -> None:
    """A slip that begins at rest, or nearly so, is stiff: steps of RK4 that are too long say so in both."""
    q, seen = np.array([0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0]), []
    for number in (0, 4, 5):
        rng = np.random.default_rng(number)
        system = tray(tuple(rng.uniform(0.05, 0.5, 3)), rng.uniform(0.25, 0.6))
        v = np.zeros((2, 6))
        v[1, [0, 1, 5]] = rng.normal(scale=(0.02, 0.02, 0.1))
        options = {"duration": 0.1, "method": "rk4", "dt": 1e-2}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            alone = [sr.simulate(system, q, one, throw=False, **options) for one in v]
        made = sr.rollout(system, q, v, **options)
        assert [one.status for one in alone] == list(made.status)
        for k, one in enumerate(alone):
            assert_allclose(made.final_q[k], one.q[-1], rtol=0, atol=0)
            if one.status.complete:
                assert_allclose(made.q[k, -1], one.q[-1], rtol=0, atol=0)
        seen += list(made.status)
    assert {sr.Status.OK, sr.Status.INACCURATE} <= set(seen)
