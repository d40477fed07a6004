"""Two planar three-link arms that hold one object between them: three degrees of freedom, six motors.

The object and the two grippers are one link, so the arms make a chain of five links of 1 m, 1 kg and 1 kg m²
whose far end is hinged to the ground 3 m away. Every joint has a motor: the motors are redundant, and the
object is lifted along y₃ = (1 − cos t)/2, level, by those of least norm.
(Liu, Zhen, Huang, Zhao, Chen and Shao, A systematic approach for designing analytical dynamics and servo
control of constrained mechanical systems, section V.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

LINK = 1.0
GRAVITY = 9.8

State = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def build() -> sr.Mechanism:
    """Return the mechanism in the x-y plane: coordinates joint1…joint5 [rad], relative; two closure rows.

    Motors u1…u3 turn the links of the left arm and the object, u6…u4 those of the right arm, each counted
    from the arm's own base.
    """
    mechanism = sr.Mechanism("two_arms", gravity=(0.0, -GRAVITY, 0.0))
    joints = [f"joint{k}" for k in range(1, 6)]
    parent = "world"
    for k, joint in enumerate(joints, start=1):
        mechanism.add_body(f"link{k}", 1.0, com=(LINK / 2, 0, 0), inertia=(0.0, 1.0, 1.0))
        at = 0.0 if k == 1 else LINK
        mechanism.add_joint(joint, "revolute", parent, f"link{k}", parent_pose=(at, 0, 0))
        parent = f"link{k}"
    mechanism.add_closure(
        "base2", "point_on_line", "world", "link5", axis=(0, 0, 1), pose1=(3 * LINK, 0, 0), pose2=(LINK, 0, 0)
    )
    for k, joint in enumerate(joints, start=1):
        mechanism.add_actuator(f"u{k}", joint, gear=1.0 if k <= 3 else -1.0)
    mechanism.add_actuator("u6", dict.fromkeys(joints, 1.0))  # between link 5 and the ground
    return mechanism


def lift(t: float) -> State:
    """Return (q, v, a) at time t with the object level at x₃ = 1.5 m, y₃ = (1 − cos t)/2."""
    y, rate, acceleration = 0.5 * (1 - np.cos(t)), 0.5 * np.sin(t), 0.5 * np.cos(t)
    reach = np.hypot(1.0, y)
    direction, bend = np.arctan2(y, 1.0), np.arccos(reach / 2)
    upper = np.array([direction + bend, direction - bend])
    jacobian = LINK * np.array([-np.sin(upper), np.cos(upper)])
    upper_rate = np.linalg.solve(jacobian, [0.0, rate])
    turning = LINK * np.array([-np.cos(upper), -np.sin(upper)]) @ upper_rate**2
    upper_acceleration = np.linalg.solve(jacobian, np.array([0.0, acceleration]) - turning)
    return _relative(upper), _relative(upper_rate), _relative(upper_acceleration)


def _relative(upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the joint coordinates from the absolute angles of the left arm; the right arm mirrors it."""
    first, second = upper
    return np.diff([0.0, first, second, 0.0, -second, -first])


def main() -> None:
    """Lift the object by least-norm motor torques; then let go."""
    system = sr.System(build())
    controls = []
    worst = 0.0
    for t in np.linspace(0.0, 2 * np.pi, 100):
        q, v, a = lift(t)
        assert np.abs(system.constraint_residual(q)).max() < 1e-14
        inverse = system.inverse_dynamics(q, v, a)
        assert inverse.actuation_rank == 3
        worst = max(worst, float(np.abs(system.forward_dynamics(q, v, inverse.u).a - a).max()))
        assert np.abs(inverse.u + inverse.u[::-1]).max() < 1e-12  # the arms mirror each other
        controls.append(inverse.u)
    assert worst < 1e-12
    lowest, highest = np.min(controls, axis=0), np.max(controls, axis=0)
    print("ranges of the motors", *(f"{a:.2f}…{b:.2f}" for a, b in zip(lowest, highest)))
    motion = sr.simulate(system, lift(0.0)[0], duration=2.0, rtol=1e-10, atol=1e-10)
    print(motion)
    assert motion.energy_drift < 1e-7
    assert motion.residual.max() < 1e-13
    assert set(motion.dof) == {3}
    figures = {
        "acceleration_error": worst,
        "lowest": lowest.round(6).tolist(),
        "highest": highest.round(6).tolist(),
        "energy_drift": motion.energy_drift,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
