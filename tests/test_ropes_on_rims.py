"""Ropes fastened to the rim of what they wrap: arc and lever arm at all angles, whatever the last digits are."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from families import ropes_on_rims
from families.ropes_on_rims import Drum
from sarrus.model.mechanism.tendons import Wrap
from sarrus.pictures.symbols.string_paths import around


def test_lengths_and_lever_arms_are_those_of_closed_forms() -> None:
    worst = ropes_on_rims.run(100)
    assert worst[0][0] < 1e-6, worst[:5]


@pytest.mark.parametrize("part", [1.0, 1 - 1e-16, 1 - 5e-7, 1 + 1e-16, 1 + 1e-9])
def test_a_drum_winds_up_its_rope(part: float) -> None:
    """A spring of 100 N/m pulls the rope of a drum of 50 mm: I α = −F r at every angle where it is wound."""
    fastening = (-np.cos(0.3) * 0.05 * part, np.sin(0.3) * 0.05 * part, 0.0)
    drum = sr.Mechanism("drum", gravity=(0, 0, 0))
    drum.add_body("drum", 2.0, (0, 0, 0), (0.01, 0.01, 0.01))
    drum.add_joint("hinge", "revolute", "world", "drum", axis=(0, 0, 1))
    path = [("drum", fastening), Wrap("drum", "cylinder", 0.05), ("world", (0.2, 0.05, 0))]
    drum.add_tendon("rope", path, stiffness=100.0)
    system = sr.System(drum)
    # The fastening is at π − 0.3 + q; the rope leaves the drum at its top, at π/2, and jumps at q = 0.54.
    for angle in np.linspace(-1.2, 0.5, 35):
        length = 0.2 + 0.05 * (np.pi / 2 - 0.3 + angle)
        a = system.forward_dynamics(np.array([angle]), np.zeros(1)).a[0]
        assert a == pytest.approx(100.0 * length * -0.05 / 0.01, rel=2e-6)


def test_drawings_have_the_length_of_the_rope() -> None:
    for case in range(200):
        rng = np.random.default_rng((1, case))
        drum = ropes_on_rims.draw(rng)
        right = ropes_on_rims.closed_form(drum, 0.0)
        if right is None:
            continue
        surface = Wrap(
            "drum", drum.kind, drum.radius, side=None if drum.side_point is None else ("drum", np.zeros(3))
        )
        line = around(drum.fastening, drum.end, surface, np.array([0.0, 0.0, 1.0]), drum.side_point)
        drawn = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
        assert drawn == pytest.approx(right[0], rel=6e-3), drum  # 15 chords of an arc


def test_an_end_inside_the_surface_is_joined_by_a_straight_line() -> None:
    """One part in 1e5 is no digit of a point on the surface."""
    drum = Drum(
        "cylinder",
        "none",
        1.0,
        np.array([1 - 1e-5, 0, 0]),
        np.array([-2.0, 0.5, 0]),
        None,
        False,
        np.zeros(3),
        np.eye(3),
    )
    length = float(ropes_on_rims.length_function(ropes_on_rims.built(drum, False))(0.0, 0.0)[0])
    assert length == pytest.approx(np.hypot(3 - 1e-5, 0.5), rel=1e-12)
