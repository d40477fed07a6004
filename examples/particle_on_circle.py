"""A particle on a circle: two Cartesian coordinates and one distance closure, against elliptic functions.

A point mass of 1 kg is held at 1 m from the origin by a massless rod, starts at (−1, 0) at rest and falls
along the circle with amplitude 90°. With k = sin 45° and ω = √g its angle from the downward vertical is
α = 2 arcsin(k sn(K − ω t | k²)), and its position (−sin α, −cos α).
(Problem A01 of the IFToMM benchmark library; period 4 K(½)/√g = 2.3678419475762374 s.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipj, ellipk

import sarrus as sr

GRAVITY = 9.81


def build() -> sr.Mechanism:
    """Return the mechanism: coordinates x, y [m], one closure row."""
    mechanism = sr.Mechanism("particle_on_circle", gravity=(0.0, -GRAVITY, 0.0))
    mechanism.add_body("particle", 1.0)
    mechanism.add_joint("x", "prismatic", "world", "particle", axis=(1, 0, 0))
    mechanism.add_joint("y", "prismatic", "world", "particle", axis=(0, 1, 0))
    mechanism.add_closure("rod", "distance", "world", "particle", length=1.0)
    return mechanism


def exact(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the positions (T, 2) at times t."""
    sn, _, _, _ = ellipj(ellipk(0.5) - np.sqrt(GRAVITY) * t, 0.5)
    angle = 2 * np.arcsin(np.sqrt(0.5) * sn)
    return -np.stack([np.sin(angle), np.cos(angle)], axis=1)


def main() -> None:
    """Swing for ten seconds with the fixed-step and with the adaptive method."""
    system = sr.System(build())
    figures = {}
    for name, choice, allowed in (
        ("rk4", {"dt": 1e-3}, 1e-8),
        ("dop853", {"rtol": 1e-12, "atol": 1e-13}, 1e-10),
    ):
        motion = sr.simulate(system, [-1.0, 0.0], duration=10.0, **choice)
        error = float(np.abs(motion.q - exact(motion.t)).max())
        print(motion)
        figures |= {f"error_{name}": error, f"energy_drift_{name}": motion.energy_drift}
        assert error < allowed, error
        assert motion.residual.max() < 1e-14
        assert motion.energy_drift < allowed
    figures["period"] = 4 * float(ellipk(0.5)) / np.sqrt(GRAVITY)
    assert abs(figures["period"] - 2.3678419475762374) < 1e-14
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
