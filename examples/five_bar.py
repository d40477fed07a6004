"""Planar five-bar that falls through its singular configurations.

Two chains in the x-z plane, left (link1, link2) and right (link4, link3), hang on pivots 1 m apart; the tips of
link2 and link3 are pinned together. Angles lift +x towards +z, elbows are relative to the link before. The loop
loses its rank where the two long links lie on one line; what the motion does beyond is decided by continuity.
(Mechanism: Spencer, Applications of the local state-space form of constrained mechanical systems, section 3.2.)
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
    back = sr.Event("collinear", lambda q, v, t: q[0] - np.pi, direction=-1)
    fall = sr.simulate(system, COLLINEAR, duration=3.0, dt=1e-3, stabilization="none", events=[back])
    print(fall)
    print(*fall.passages, *fall.events, sep="\n")

    # Released above, it passes the singular configurations three times in five seconds.
    steps = sr.simulate(system, SYMMETRIC, duration=5.0, dt=1e-3)
    print(steps)
    adaptive = sr.simulate(system, SYMMETRIC, duration=5.0, rtol=1e-11, atol=1e-11)
    print(adaptive)
    print(*adaptive.passages, sep="\n")
    figures = {
        "fall_energy_drift": fall.energy_drift,
        "passages": [p.time for p in adaptive.passages],
        "energy_drift_rk4": steps.energy_drift,
        "energy_drift_adaptive": adaptive.energy_drift,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
