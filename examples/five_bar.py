"""Planar five-bar that falls through its singular configurations.

Two chains in the x-z plane, left (link1, link2) and right (link4, link3), hang on pivots 1 m apart; the tips
of link2 and link3 are pinned together. Angles lift +x towards +z, elbows are relative to the link before. The
loop loses its rank where the two long links lie on one line; what the motion does beyond is decided by
continuity.
(Mechanism: Spencer, Applications of the local state-space form of constrained mechanical systems, section
3.2.)
"""

from __future__ import annotations

import json

import numpy as np

import sarrus as sr

LENGTH = {"link1": 1.0, "link2": 1.5, "link3": 1.5, "link4": 1.0}
MASS = {"link1": 2.0, "link2": 3.0, "link3": 3.0, "link4": 2.0}
INERTIA = {"link1": 1.0, "link2": 2.0, "link3": 2.0, "link4": 1.0}  # about the centre of mass, in the plane

COLLINEAR = np.array([np.pi, -np.pi, 0.0, np.pi])
ELBOW = np.arctan2(np.sqrt(5) / 2, 1.0)  # angle of link 2 when link 1 is at 120° and the tip at x = 0.5
RETURN_TIME = 2.825368  # of the mirror-symmetric fall, by quadrature of its one degree of freedom
SYMMETRIC = np.array([2 * np.pi / 3, ELBOW - 2 * np.pi / 3, np.pi / 3, 2 * np.pi / 3 - ELBOW])


def build() -> sr.Mechanism:
    """Return the mechanism: coordinates left, left_elbow, right, right_elbow [rad], two closure rows."""
    mechanism = sr.Mechanism("five_bar")
    for name, length in LENGTH.items():
        moment = INERTIA[name]
        mechanism.add_body(name, MASS[name], com=(length / 2, 0, 0), inertia=(0.1 * moment, moment, moment))
    for joint, parent, child, x in (
        ("left", "world", "link1", 0.0),
        ("left_elbow", "link1", "link2", LENGTH["link1"]),
        ("right", "world", "link4", 1.0),
        ("right_elbow", "link4", "link3", LENGTH["link4"]),
    ):
        mechanism.add_joint(joint, "revolute", parent, child, axis=(0, -1, 0), parent_pose=(x, 0, 0))
        if parent == "world":
            mechanism.add_actuator(f"{joint}_motor", joint)
    mechanism.add_closure(
        "tips", "point_on_line", "link2", "link3", axis=(0, 1, 0), pose1=(1.5, 0, 0), pose2=(1.5, 0, 0)
    )
    return mechanism


def main() -> None:
    """Release it from rest in two configurations."""
    system = sr.System(build())

    # From the collinear configuration it falls, bobs up once and comes back to where it started.
    fall = sr.simulate(system, COLLINEAR, duration=3.0, dt=1e-3, stabilization="none")
    back_at, distance = nearest_return(fall)
    print(fall)
    assert 2.81 <= back_at < 2.83
    assert distance < 5e-3
    assert fall.energy_drift < 1e-3
    assert fall.residual.max() < 1e-5

    exact_fall = sr.simulate(system, COLLINEAR, duration=3.0, dt=5e-3, rtol=1e-12, atol=1e-12)
    exact_back_at = time_of_rest(exact_fall)
    print(exact_fall)
    assert abs(exact_back_at - RETURN_TIME) < 1e-5
    there = sr.simulate(system, COLLINEAR, duration=RETURN_TIME, rtol=1e-12, atol=1e-12)
    assert np.abs(there.q[-1] - COLLINEAR).max() < 1e-5

    # Released above, it passes singular configurations three times in five seconds.
    steps = sr.simulate(system, SYMMETRIC, duration=5.0, dt=1e-3)
    adaptive = sr.simulate(system, SYMMETRIC, duration=5.0, rtol=1e-12, atol=1e-12)
    print(steps, adaptive, *adaptive.passages, sep="\n")
    for motion in (steps, adaptive):
        assert [round(p.time, 2) for p in motion.passages] == [0.65, 1.85, 3.91]
        assert all(p.crossed and p.closures == ("tips",) for p in motion.passages)
        assert motion.residual.max() < 1e-13
    assert adaptive.energy_drift < 1e-4
    figures = {
        "return_time": back_at,
        "return_time_adaptive": exact_back_at,
        "fall_energy_drift": fall.energy_drift,
        "passages": [p.time for p in adaptive.passages],
        "energy_drift_rk4": steps.energy_drift,
        "energy_drift_adaptive": adaptive.energy_drift,
    }
    print(json.dumps(figures))


def nearest_return(motion: sr.Trajectory) -> tuple[float, float]:
    """Return time and distance [rad] of the closest approach to the collinear configuration after 2 s."""
    distance = np.abs(motion.q - COLLINEAR).max(axis=1)
    distance[motion.t < 2.0] = np.inf
    nearest = int(distance.argmin())
    return float(motion.t[nearest]), float(distance[nearest])


def time_of_rest(motion: sr.Trajectory) -> float:
    """Return when the motion comes to rest at the collinear configuration.

    The zero of a polynomial through the velocity from 0.3 to 0.05 s before. Where it rests the configuration is
    singular, and rounding decides which of the records within 1e-4 s is nearest to it.
    """
    before = (motion.t > RETURN_TIME - 0.3) & (motion.t < RETURN_TIME - 0.05)
    roots = np.polynomial.Polynomial.fit(motion.t[before], motion.v[before, 0], 11).roots()
    return float(roots[np.abs(roots - RETURN_TIME).argmin()].real)


if __name__ == "__main__":
    main()
