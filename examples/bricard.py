"""Bricard's linkage: six hinges in a loop that should be rigid on paper, and yet it moves.

Five uniform rods join the corners P1…P6 of the Petrie hexagon of a unit cube; hinges stand at every corner,
the first and the last on the ground. Grübler's count is zero, the mobility is one. Built in two ways: as a
tree of five hinges that one revolute closure ends (5 rows of rank 4), and as five free bodies with six
revolute closures (30 rows of rank 29). It starts at rest; gravity −y.
(Problem A04 of the IFToMM benchmark library; the reference is the closed form sin q₂ = −sin q₁ / (1 + sin q₁)
integrated at 20 digits.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
AXES = np.array([(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)], dtype=float)
P3_AT_10_S = np.array([0.99973098730383535, -0.99999996382581727, -2.689765122493046e-4])


def build(free: bool = False) -> sr.Mechanism:
    """Return the linkage as a tree with one revolute closure, or as free bodies with six.

    Every rod's frame is parallel to the world at the start and stands at its first corner, or with ``free``
    at its centre of mass.
    """
    mechanism = sr.Mechanism("bricard_free" if free else "bricard", gravity=(0.0, -9.81, 0.0))
    names = ["world", *(f"rod{k + 1}" for k in range(5)), "world"]
    centres = 0.5 * (CORNERS[1:] + CORNERS[:-1])
    origins = centres if free else CORNERS[:-1]
    for name, origin, centre, along in zip(names[1:-1], origins, centres, np.diff(CORNERS, axis=0)):
        # 1 m long, 1 kg, of square section 0.1 m
        inertia = (1.01 - 0.99 * np.abs(along)) / 12
        mechanism.add_body(name, 1.0, com=centre - origin, inertia=inertia)
        if free:
            mechanism.add_joint(f"{name}_free", "free", "world", name, parent_pose=origin)
    frames = np.array([(0, 0, 0), *origins, (0, 0, 0)])
    for k, (corner, axis) in enumerate(zip(CORNERS, AXES)):
        before, after = corner - frames[k], corner - frames[k + 1]
        if free or k == 5:
            mechanism.add_closure(
                f"hinge{k + 1}", "revolute", names[k], names[k + 1], pose1=before, pose2=after, axis=axis
            )
        else:
            mechanism.add_joint(
                f"hinge{k + 1}",
                "revolute",
                names[k],
                names[k + 1],
                parent_pose=before,
                child_pose=after,
                axis=axis,
            )
    return mechanism


def third_corner(system: sr.System, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the position of P3, the far end of the second rod, in the world [m]."""
    positions, rotations = system.body_placements(q)
    body = list(system.mechanism.bodies).index("rod2")
    end = CORNERS[2] - (0.5 * (CORNERS[1] + CORNERS[2]) if "free" in system.name else CORNERS[1])
    return positions[body] + rotations[body] @ end


def main() -> None:
    """Let both forms swing for ten seconds."""
    figures = {}
    for free, rank, allowed in ((False, 4, 1e-11), (True, 29, 1e-8)):
        system = sr.System(build(free))
        motion = sr.simulate(system, system.neutral(), duration=10.0, dt=1e-3)
        error = float(np.abs(third_corner(system, motion.q[-1]) - P3_AT_10_S).max())
        print(motion)
        assert system.nc == (30 if free else 5)
        assert error < allowed, error
        assert motion.energy_drift < 1e-8
        assert motion.residual.max() < 1e-13
        assert set(motion.rank) == {rank}
        assert set(motion.dof) == {1}
        assert not motion.passages
        figures |= {
            f"error_{system.name}": error,
            f"energy_drift_{system.name}": motion.energy_drift,
            f"rank_{system.name}": rank,
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
