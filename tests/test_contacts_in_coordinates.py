"""Contacts, flanks, stops and dry friction in local coordinates and with published formulations: the same motion."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.errors import ArgumentError

Relation, Momenta, RotationVector = (
    sr.coordinates.Relation,
    sr.coordinates.Momenta,
    sr.coordinates.RotationVector,
)
TIMES = tuple(np.linspace(0.05, 0.6, 12).tolist())


@lru_cache
def crank() -> sr.System:
    """A slider-crank with redundant rows that rubs in its bearing, drives a lossy rack, and hits a floor and a stop."""
    mechanism = sr.Mechanism("crank")
    mechanism.add_body("crank", 1.0, com=(0.15, 0, 0), inertia=(0.01, 0.02, 0.02))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, -1, 0), friction=0.05)
    mechanism.add_body("rod", 1.0, com=(0.4, 0, 0), inertia=(0.01, 0.05, 0.05))
    mechanism.add_joint("rod", "revolute", "crank", "rod", axis=(0, -1, 0), parent_pose=(0.3, 0, 0))
    mechanism.add_body("slider", 0.5)
    mechanism.add_joint(
        "slider", "prismatic", "world", "slider", axis=(1, 0, 0), limits=(0.95, 3), limit_restitution=0.5
    )
    mechanism.add_closure("pin", "revolute", "rod", "slider", pose1=(0.8, 0, 0), axis=(0, 1, 0))
    mechanism.add_body("load", 0.3)
    mechanism.add_joint("load", "prismatic", "world", "load", axis=(1, 0, 0))
    mechanism.add_gearing("rack", {"slider": 1.0, "load": -1.0}, {"slider": 0.5}, friction_coefficient=0.2)
    mechanism.add_contact(
        "floor",
        "crank",
        (0.3, 0, 0),
        offset=-0.1,
        friction="coulomb",
        friction_coefficient=0.3,
        restitution=0.4,
    )
    return sr.System(mechanism)


def state() -> tuple[np.ndarray, np.ndarray]:
    q = crank().assemble([0.8, -1.1, 1.0, 1.0], locked=["crank"]).q.copy()
    q[3] = q[2]
    v = crank().project_velocity(q, [3.0, 0.0, 0.0, 0.0]).copy()
    v[3] = v[2]
    return q, v


def moved(duration: float = 0.6, **options: object) -> sr.Trajectory:
    """Return the motion, recorded at `TIMES`."""
    times = tuple(t for t in TIMES if t <= duration)
    return sr.simulate(
        crank(), *state(), duration=duration, every=sr.Recording(at=times), error_estimate=False, **options
    )


@lru_cache
def usual() -> sr.Trajectory:
    found = moved(rtol=1e-10)
    words = " ".join(map(str, found.switches))
    assert all(name in words for name in ("floor bounced", "slider.lower stop bounced", "rack"))
    return found


def assert_same(found: sr.Trajectory, close: float) -> None:
    """Assert the motion, the forces, the events and the closed loops of the usual run."""
    plain = usual()
    keep = np.isin(found.t, TIMES), np.isin(plain.t, found.t) & np.isin(plain.t, TIMES)
    assert found.status is sr.Status.OK
    assert_allclose(found.q[keep[0]][:, :4], plain.q[keep[1]], rtol=0, atol=close)
    assert_allclose(found.v[keep[0]][:, :4], plain.v[keep[1]], rtol=0, atol=100 * close)
    scale = np.abs(plain.contact_forces).max()
    assert_allclose(
        found.contact_forces[keep[0]], plain.contact_forces[keep[1]], rtol=0, atol=1000 * close * scale
    )
    assert found.residual.max() < 1e-10
    lost = [one.contact_loss[mask][-1] for one, mask in zip((found, plain), keep)]
    assert lost[0] == pytest.approx(lost[1], rel=100 * close)


@pytest.mark.parametrize("coordinates", ["partition", "tangent-space", "null-space", ["crank", "load"]])
def test_local_coordinates(coordinates: object) -> None:
    assert_same(moved(rtol=1e-10, coordinates=coordinates), 1e-8)


def test_coordinates_of_a_relation() -> None:
    assert_same(
        moved(
            rtol=1e-10,
            coordinates=Relation(lambda q, y: [q[0] - ca.tan(y[0]), q[3] - y[1]], ["w", "s"], [0.7, 1]),
        ),
        1e-8,
    )
    assert_same(moved(rtol=1e-10, coordinates=Momenta(["crank", "load"])), 1e-8)


@pytest.mark.parametrize("formulation", ["null-space", "udwadia-kalaba"])
def test_published_formulations(formulation: str) -> None:
    assert_same(moved(0.1, rtol=1e-6, formulation=formulation), 1e-6)


# --- closed forms ------------------------------------------------------------------------------------------


def test_a_ball_that_slides_and_then_rolls_in_rotation_vectors() -> None:
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.0, inertia=(0.004,) * 3)
    mechanism.add_joint("float", "free", "world", "ball")
    mechanism.add_contact("ground", "ball", radius=0.1, friction="coulomb", friction_coefficient=0.3)
    coordinates = RotationVector("float", ["float.x", "float.y", "float.z"])
    found = sr.simulate(
        sr.System(mechanism), [0, 0, 0.1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], duration=0.5, coordinates=coordinates,
        error_estimate=False, rtol=1e-11,
    )  # fmt: skip
    assert_allclose(found.v[-1, [0, 4]], [5 / 7, 50 / 7], rtol=1e-9)
    assert found.switches[-1].time == pytest.approx(2 / 7 / (0.3 * 9.81), rel=1e-9)
    assert_allclose(found.q[:, 2], 0.1, atol=1e-14)


def test_amplitude_and_phase_of_an_oscillator_that_hits_a_stop() -> None:
    """x = cos 2t until the stop at −1/2, where v = −√3 becomes 0.7 √3: coordinates in which v is not linear."""
    mechanism = sr.Mechanism("oscillator", gravity=(0, 0, 0))
    mechanism.add_body("mass", 2.0)
    mechanism.add_joint(
        "x",
        "prismatic",
        "world",
        "mass",
        axis=(1, 0, 0),
        stiffness=8.0,
        limits=(-0.5, 3),
        limit_restitution=0.7,
    )
    phases = Relation(
        lambda q, v, y, z: [q[0] - y[0] * ca.sin(z[0]), v[0] - 2 * y[0] * ca.cos(z[0])],
        ["A"], [1.0], velocity_names=["phase"], velocity_guess=[1.5],
    )  # fmt: skip
    found = sr.simulate(sr.System(mechanism), [1.0], duration=2.0, coordinates=phases, error_estimate=False)
    hit = np.pi / 3
    assert found.switches[0].time == pytest.approx(hit, rel=1e-9)
    x, later = -0.5, 2 * (2.0 - hit)
    speed = 0.7 * np.sqrt(3.0)
    assert found.q[-1, 0] == pytest.approx(x * np.cos(later) + speed / 2 * np.sin(later), abs=1e-7)
    assert found.v[-1, 0] == pytest.approx(-2 * x * np.sin(later) + speed * np.cos(later), abs=1e-7)


def test_steps_in_time_have_coordinates_of_their_own() -> None:
    with pytest.raises(ArgumentError, match="coordinates of its own: leave coordinates at its default"):
        moved(dt=1e-3, method="moreau-jean", coordinates="partition")
