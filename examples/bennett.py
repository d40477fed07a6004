"""Bennett's linkage: four hinges in space, the loop of least joints that moves though it should not.

Opposite links are equal, with hinge distance a and twist α, b and β, where a sin β = b sin α. Closing the
loop takes three equations away from four hinges although Grübler's count says six: the weld that closes it
has rank 3, the revolute closure of the same loop rank 2 of 5. The half angles obey tan(θ₁/2) tan(θ₂/2) =
−sin((α + β)/2) / sin((α − β)/2), θ₃ = −θ₁, θ₄ = −θ₂.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

A, B = 1.0, 0.8
ALPHA = np.pi / 3
BETA = np.arcsin(B * np.sin(ALPHA) / A)
LINKS = ((A, ALPHA), (B, BETA), (A, ALPHA), (B, BETA))
# θ₂ by θ₁, from the closed form at 25 digits
ANGLES = {
    0.5: -3.05055235406942413,
    1.0: -2.94729144418771744,
    2.0: -2.59959622363646592,
    3.0: -0.756727705258351727,
}


def build(closure: str = "revolute") -> sr.Mechanism:
    """Return the linkage, closed by a revolute closure (three hinges in the tree) or by a weld (four).

    Denavit–Hartenberg frames: hinge k turns about z by θₖ, then the link shifts by a and twists by α about x.
    The fourth link is the ground; with the weld it is a massless body.
    """
    mechanism = sr.Mechanism(f"bennett_{closure}")
    hinges = 3 if closure == "revolute" else 4
    parent, at = "world", sr.Pose.of()
    for k, (length, twist) in enumerate(LINKS[:hinges], start=1):
        name = f"link{k}"
        link = sr.Pose.of((length, 0, 0), rpy=(twist, 0, 0))
        mass = 0.0 if k == 4 else length
        moment = mass * length**2 / 12
        mechanism.add_body(name, mass, com=(length / 2, 0, 0), inertia=(moment / 100, moment, moment))
        mechanism.add_joint(f"theta{k}", "revolute", parent, name, parent_pose=at)
        parent, at = name, link
    if closure == "revolute":
        length, twist = LINKS[3]
        ground = sr.Pose.of((length, 0, 0), rpy=(twist, 0, 0)).inverse()
        mechanism.add_closure("theta4", "revolute", parent, "world", pose1=at, pose2=ground)
    else:
        mechanism.add_closure("ground", "weld", parent, "world", pose1=at)
    return mechanism


def closed(theta: float, hinges: int) -> NDArray[np.float64]:
    """Return the hinge angles of the closed loop at θ₁ = theta."""
    ratio = -np.sin((ALPHA + BETA) / 2) / np.sin((ALPHA - BETA) / 2)
    second = 2 * np.arctan(ratio / np.tan(theta / 2))
    return np.array([theta, second, -theta, -second])[:hinges]


def main() -> None:
    """Check the closed form, the rank, and that both closures give the same motion."""
    figures: dict[str, float] = {}
    motions = []
    for closure, rank, rows in (("revolute", 2, 5), ("weld", 3, 6)):
        system = sr.System(build(closure))
        for first, second in ANGLES.items():
            q = closed(first, system.nq)
            assert abs(q[1] - second) < 1e-14
            assert np.abs(system.constraint_residual(q)).max() < 1e-14
            forward = system.forward_dynamics(q, np.zeros(system.nv))
            assert (forward.rank, forward.dof, system.nc) == (rank, 1, rows)
            assert forward.status is sr.Status.OK
            assert len(forward.redundant) >= rows - rank
        motion = sr.simulate(system, closed(1.0, system.nq), duration=5.0, dt=1e-3)
        print(motion, *motion.passages, sep="\n")
        loop = float(np.abs(np.sin(motion.q[:, 0] + motion.q[:, 2])).max())
        motions.append(motion)
        assert loop < 1e-12
        assert motion.energy_drift < 1e-9
        assert motion.residual.max() < 1e-13
        figures |= {
            f"rank_{closure}": rank,
            f"loop_error_{closure}": loop,
            f"energy_drift_{closure}": motion.energy_drift,
            f"residual_{closure}": float(motion.residual.max()),
        }
    figures["difference"] = float(np.abs(motions[0].q - motions[1].q[:, :3]).max())
    assert figures["difference"] < 1e-9
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
