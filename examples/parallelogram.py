"""Parallel four-bar robot: a parallelogram of two degrees of freedom, driven at one base axis.

Links 1 and 2 turn on the origin; link 3 (as long as link 1) hangs on link 2, link 4 (as long as link 2) on
link 3, and its end is pinned to that of link 1. The loop is q₃ = q₁ − q₂, q₄ = q₂ − q₁ − π. When links 1 and
2 lie on one line the constraints lose their rank and the antiparallelogram branches off; continuity keeps the
parallelogram, whose motion is that of two absolute angles, the reference here.
(Mechanism: Spencer 2004, Applications of the local state-space form of constrained mechanical systems, section
2.4.1.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import sarrus as sr

GRAVITY = 9.81
L1, L2 = 0.4, 0.6
M1, M2, M3, M4 = 1.0, 1.5, 1.0, 1.5  # uniform rods of 2.5 kg/m


def build() -> sr.Mechanism:
    """Return the mechanism in the x-y plane: coordinates q1…q4 [rad], two rows, motors on q1, q2."""
    mechanism = sr.Mechanism("parallelogram", gravity=(0.0, -GRAVITY, 0.0))
    for k, (length, mass) in enumerate(((L1, M1), (L2, M2), (L1, M3), (L2, M4)), start=1):
        moment = mass * length**2 / 12
        mechanism.add_body(f"link{k}", mass, com=(length / 2, 0, 0), inertia=(0.0, moment, moment))
    for k, parent, x in ((1, "world", 0.0), (2, "world", 0.0), (3, "link2", L2), (4, "link3", L1)):
        mechanism.add_joint(f"q{k}", "revolute", parent, f"link{k}", parent_pose=(x, 0, 0))
    mechanism.add_closure(
        "corner", "point_on_line", "link1", "link4", axis=(0, 0, 1), pose1=(L1, 0, 0), pose2=(L2, 0, 0)
    )
    mechanism.add_actuator("motor1", "q1")
    mechanism.add_actuator("motor2", "q2")
    return mechanism


def closed(q1: float, q2: float) -> NDArray[np.float64]:
    """Return the four coordinates of the parallelogram."""
    return np.array([q1, q2, q1 - q2, q2 - q1 - np.pi])


def angles(q1: float, q2: float, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (q₁, q₂) at times, from rest, of the two-degree-of-freedom model."""
    m11 = (M1 + M3) * L1**2 / 3 + M4 * L1**2
    m22 = (M2 + M4) * L2**2 / 3 + M3 * L2**2
    m12 = (M3 + M4) * L1 * L2 / 2
    g1, g2 = GRAVITY * L1 * ((M1 + M3) / 2 + M4), GRAVITY * L2 * ((M2 + M4) / 2 + M3)

    def rate(t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        c, s = m12 * np.cos(y[0] - y[1]), m12 * np.sin(y[0] - y[1])
        force = [-g1 * np.cos(y[0]) - s * y[3] ** 2, -g2 * np.cos(y[1]) + s * y[2] ** 2]
        return np.concatenate([y[2:], np.linalg.solve([[m11, c], [c, m22]], force)])

    start = [q1, q2, 0.0, 0.0]
    return solve_ivp(rate, times[[0, -1]], start, "DOP853", times, rtol=1e-13, atol=1e-13).y[:2].T


def main() -> None:
    """Let it swing from rest through singular configurations."""
    system = sr.System(build())
    motion = sr.simulate(system, closed(0.3, -1.2), duration=5.0, dt=1e-3)
    print(motion, *motion.passages, sep="\n")
    expected = angles(0.3, -1.2, motion.t)
    error = float(np.abs(motion.q[:, :2] - expected).max())
    branch = float(np.abs(motion.q - np.apply_along_axis(lambda a: closed(*a), 1, motion.q[:, :2])).max())
    assert len(motion.passages) == 10
    assert all(p.crossed for p in motion.passages)
    assert branch < 1e-9
    assert error < 1e-5, error
    assert motion.energy_drift < 1e-4
    assert motion.residual.max() < 1e-13

    # Every force that holds it still is the slope of the potential energy along the two free directions.
    q = closed(0.3, -1.2)
    hold = system.inverse_dynamics(q, np.zeros(4), np.zeros(4))
    weight = GRAVITY * np.array(
        [L1 * ((M1 + M3) / 2 + M4) * np.cos(q[0]), L2 * ((M2 + M4) / 2 + M3) * np.cos(q[1])]
    )
    assert np.allclose(hold.u, weight, rtol=0, atol=1e-12)
    figures = {
        "angle_error": error,
        "branch_error": branch,
        "passages": [p.time for p in motion.passages],
        "energy_drift": motion.energy_drift,
        "residual": float(motion.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
