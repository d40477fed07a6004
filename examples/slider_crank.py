"""Slider-crank with links of equal length: fifteen singular configurations in ten seconds.

Crank and rod are massless bars of 1 m with a point mass of 1 kg at their far ends; the slider is massless and
keeps the end of the rod on the x axis. With q₂ relative to the crank, M = [[3 + 2c₂, 1 + c₂], [1 + c₂, 1]].
Whenever the rod folds back over the crank (slider at the origin) the constraint loses its rank, and the crank
could turn on with the slider at rest. Continuity of velocity selects the branch q₂ = −2 q₁. On it the
mechanism is a pendulum, T = ½ (3 − 2 cos 2q₁) q̇₁², V = g sin q₁: the reference of the crank angle.
(Aghili 2005, section 8.)
"""

from __future__ import annotations

import json

import numpy as np

import sarrus as sr

LINK = 1.0
MASS = 1.0
CRANK_ANGLE_AT_10_S = 46.18876186463  # from the pendulum, by an adaptive method of order 8 at 1e-13


def build(rod: float = LINK) -> sr.Mechanism:
    """Return the mechanism: coordinates crank and rod (relative) [rad], one closure row; ``rod`` is its length [m]."""
    mechanism = sr.Mechanism("slider_crank", gravity=(0.0, -9.81, 0.0))
    for name, parent, at, length in (("crank", "world", 0.0, LINK), ("rod", "crank", LINK, rod)):
        mechanism.add_body(name, MASS, com=(length, 0, 0))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 0, 1), parent_pose=(at, 0, 0))
    mechanism.add_closure("slider", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(rod, 0, 0))
    return mechanism


def main() -> None:
    """Turn the crank for ten seconds at two steps and compare with the pendulum."""
    system = sr.System(build())
    c = np.cos(0.7)
    assert np.allclose(system.mass_matrix([0.3, 0.7]), [[3 + 2 * c, 1 + c], [1 + c, 1]], atol=1e-14)
    figures: dict[str, float] = {}
    for dt, allowed in ((1e-3, 1e-7), (2e-4, 1e-10)):
        motion = sr.simulate(system, [0, 0], [8, -16], duration=10.0, dt=dt)
        error = abs(motion.q[-1, 0] - CRANK_ANGLE_AT_10_S)
        branch = np.abs(motion.q[:, 1] + 2 * motion.q[:, 0]).max()
        figures |= {
            f"angle_error_{dt:g}": error,
            f"branch_error_{dt:g}": branch,
            f"passages_{dt:g}": len(motion.passages),
        }
        print(motion)
        assert error < allowed, error
        assert branch < 1e-9, branch
        assert len(motion.passages) == 15
        assert all(p.crossed for p in motion.passages)
        assert motion.residual.max() < 1e-13
    figures["energy_drift"] = motion.energy_drift
    assert motion.energy_drift < 1e-8
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
