"""Scenes of several contacts from event to event, beside closed forms: blocks that rock, ladders, arches, cradles."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

import sarrus as sr
from several_contacts import cradle, gripper, ladders, rocking_block
from test_friction_scenes import FRICTION, PRESS, fallen, footed_five_bar
from test_time_stepping import G

TIGHT = {"rtol": 1e-11, "error_estimate": False}


def test_a_block_rocks_by_housners_law() -> None:
    """Times of its impacts by quadrature; each leaves ω⁺/ω⁻ = 1 − 3/2 sin² α, where α is its slenderness."""
    block = rocking_block()
    motion = sr.simulate(block.system, block.q, duration=0.9, **TIGHT)
    assert motion.status.ok
    edge, alpha = block.inertia + block.radius**2, block.slenderness

    def square(theta: float, lean: float) -> float:  # ω² at θ, about an edge, from rest at a lean; m = 1 kg
        return float(2.0 * G * block.radius * (np.cos(alpha - lean) - np.cos(alpha - theta)) / edge)

    def fall(lean: float) -> float:  # θ = lean − s², so that the integrand is finite where it begins
        return quad(
            lambda s: 2.0 * s / np.sqrt(square(lean - s * s, lean)), 0.0, np.sqrt(lean), epsabs=1e-13
        )[0]

    ratio, lean, time = 1.0 - 1.5 * np.sin(alpha) ** 2, block.lean, fall(block.lean)
    hits = [switch for switch in motion.switches if switch.energy_loss > 1e-6]
    assert len(hits) == 2
    for hit in hits:
        assert hit.time == pytest.approx(time, abs=1e-9)
        assert hit.energy_loss == pytest.approx(0.5 * edge * square(0.0, lean) * (1.0 - ratio**2), rel=1e-7)
        lean = alpha - np.arccos(np.cos(alpha) + ratio**2 * (np.cos(alpha - lean) - np.cos(alpha)))
        time += 2.0 * fall(lean)


@pytest.mark.parametrize("legs", [1, 2])
def test_the_limit_angle_of_a_ladder(legs: int) -> None:
    """On a smooth wall it stands for tan θ ≥ 1/(2μ); so do two that lean on each other, as an arch of two stones."""
    limit = np.arctan(1.0)
    for angle, stands in ((limit + 1e-6, True), (limit - 1e-6, False)):
        system, q = ladders(legs, angle, 0.5)
        motion = sr.simulate(system, q, duration=0.5, **TIGHT)
        assert motion.status.ok
        assert bool(np.abs(motion.v[-1]).max() < 1e-9) is stands


def test_newtons_law_in_a_cradle() -> None:
    system = cradle()
    motion = sr.simulate(system, system.neutral(), [1.0, 0.0, 0.0], duration=0.01, **TIGHT)
    assert_allclose(motion.v[-1], [-1 / 3, 2 / 3, 2 / 3], atol=1e-13)


def test_a_gripper_holds_what_friction_allows() -> None:
    """Two jaws on parallelograms press a peg with F each: it hangs while 2 μ F > m g, else falls with g − 2 μ F/m."""
    for press in (1.0 + 1e-6, 0.99):
        system, push = gripper(press, 0.5)
        motion = sr.simulate(
            system, system.neutral(), duration=0.3, control=lambda q, v, t, push=push: push, **TIGHT
        )
        assert motion.status.ok
        way = -motion.q[-1, system.coordinate_names.index("peg")]
        expected = 0.5 * G * (1.0 - press) * 0.3**2 if press < 1.0 else 0.0
        assert way == pytest.approx(expected, abs=1e-9)
        assert motion.residual.max() < 1e-12


def test_feet_of_a_five_bar_slide_while_its_loops_are_singular() -> None:
    """Virtual work gives the speed at every height and the time of the passage."""
    system, q = footed_five_bar()
    angle = q[0] + q[1]
    begun = fallen(angle)[2]

    def slowness(root: float) -> float:
        _, _, energy, inertia = fallen(angle - root**2)
        return float(2.0 * root / np.sqrt(2.0 * (begun - energy) / inertia))

    flat = quad(slowness, 0.0, np.sqrt(angle), epsabs=1e-12)[0]
    press = np.array([0.0, 0.0, PRESS, PRESS])
    motion = sr.simulate(system, q, duration=1.0, control=lambda q, v, t: press, **TIGHT)
    assert motion.status.ok
    assert motion.residual.max() < 1e-12
    (passage,) = motion.passages
    assert passage.time == pytest.approx(flat, abs=1e-9)
    psi = motion.q[-1, 0] + motion.q[-1, 1]
    _, slope, energy, inertia = fallen(psi)
    truth = -slope * np.sqrt(2.0 * (begun - energy) / inertia)
    assert motion.v[-1, system.velocity_names.index("z")] == pytest.approx(truth, rel=1e-7)
    z = motion.q[:, system.coordinate_names.index("z")]
    assert_allclose(motion.contact_loss, 2.0 * FRICTION * PRESS * (z[0] - z), atol=1e-7)


@pytest.mark.parametrize("speed", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("slope", [0.2, 0.4])
def test_the_corners_of_a_sole_stop_at_once(slope: float, speed: float) -> None:
    """Of what rounding turns a block that slides up a slope nothing is left: all four stick in one event."""
    mechanism = sr.Mechanism("block", gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    mechanism.add_body("block", 2.0, inertia=(0.02, 0.02, 0.02))
    mechanism.add_joint("float", "free", "world", "block", parent_pose=(0.0, 0.0, 0.1))
    sole = {"extent": (0.2, 0.2), "friction": "coulomb", "friction_coefficient": 0.5}
    mechanism.add_contact_patch("sole", "block", (0.0, 0.0, -0.1), **sole)
    system = sr.System(mechanism)
    motion = sr.simulate(system, system.neutral(), [-speed, 0, 0, 0, 0, 0], duration=0.5)
    (stop,) = motion.switches[1:]
    assert stop.sticking == ("sole.1", "sole.2", "sole.3", "sole.4")
    assert stop.time == pytest.approx(speed / (G * (np.sin(slope) + 0.5 * np.cos(slope))), abs=1e-8)
    assert np.abs(motion.v[-1]).max() < 1e-12
