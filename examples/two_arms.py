"""Two planar three-link arms that hold one object between them: three degrees of freedom, six motors.

The object and the two grippers are one link, so the arms make a chain of five links of 1 m, 1 kg and 1 kg m²
whose far end is hinged to the ground 3 m away. Every joint has a motor: the motors are redundant, and the
object is lifted along y₃ = (1 − cos t)/2, level, by those of least norm.

Three ways to the motors: inverse dynamics on the ideal lift; the servo constraint in a closed loop with α = β = 10,
with the reaction of the closure to the motors; and as printed in eq. (35) of the work, without it. The printed law
misses its constraint by 1.3 m/s², and in the closed loop the gains make up for that: the object is up to 7 mm and 0.01
rad off its course, and the motors go, after the first 0.3 s, through the ranges that the work reads off its figures 9
to 14. The consistent law has the symmetry of the task, and is on its course to rounding.
(Liu, Zhen, Huang, Zhao, Chen and Shao, A systematic approach for designing analytical dynamics and servo
control of constrained mechanical systems, sections V and VI, figures 4 to 14.)
"""

from __future__ import annotations

import json
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control

LINK = 1.0
GRAVITY = 9.8
PERIOD = 2 * np.pi  # s
SETTLED = 0.3  # s, after which the printed law has found its course
# N m, of u1 … u6: figures 9 to 14 by the words of section VI, and what the printed law does here
WORDS = [(0.0, 10.0), (3.0, 5.0), (-8.0, -5.5), (4.5, 10.0), (-4.5, 0.5), (-5.0, 0.0)]
RANGES = [(0.35, 10.02), (2.90, 4.96), (-8.04, -4.39), (4.60, 9.61), (-4.13, 0.27), (-4.99, 0.16)]

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


def lifted(q: Any, t: Any) -> Any:
    """Return the servo constraint (64), of CasADi vectors: x₃ = 1.5 m, y₃ = (1 − cos t)/2, level."""
    x, y = ca.cos(q[0]) + ca.cos(q[0] + q[1]), ca.sin(q[0]) + ca.sin(q[0] + q[1])
    return ca.vertcat(x - LINK, y - 0.5 * (1 - ca.cos(t)), q[0] + q[1] + q[2])


def lift_by_law(system: sr.System, *, printed: bool) -> sr.Trajectory:
    """Lift the object by the servo constraint with α = β = 10: eq. (35) as ``printed``, or consistent."""
    law: Any = control.ServoConstraint(system, lifted, alpha=10.0, beta=10.0)
    if printed:
        law = law.printed(lift(1.0)[0])
    q, v, _ = lift(0.0)
    return sr.simulate(system, q, v, duration=PERIOD, dt=1e-3, control=law)


def place(motion: sr.Trajectory) -> NDArray[np.float64]:
    """Return the middle of the object and its angle (T, 3) [m, rad]."""
    angles = np.cumsum(motion.q[:, :3], axis=1)
    x, y = np.cos(angles[:, :2]).sum(axis=1), np.sin(angles[:, :2]).sum(axis=1)
    middle = 0.5 * LINK * np.array([np.cos(angles[:, 2]), np.sin(angles[:, 2])])
    return np.column_stack([LINK * x + middle[0], LINK * y + middle[1], angles[:, 2]])


def off_course(motion: sr.Trajectory) -> float:
    """Return how far the middle of the object is off its course at the most [m]."""
    course = np.column_stack([np.full(len(motion.t), 1.5 * LINK), 0.5 * (1 - np.cos(motion.t))])
    return float(np.linalg.norm(place(motion)[:, :2] - course, axis=1).max())


def main() -> None:
    """Lift the object by inverse dynamics and by both laws; then let go."""
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
    consistent, printed = (lift_by_law(system, printed=printed) for printed in (False, True))
    for run in (consistent, printed):
        assert run.residual.max() < 1e-13
    assert np.abs(consistent.u + consistent.u[:, ::-1]).max() < 1e-8
    assert off_course(consistent) < 1e-10
    assert abs(off_course(printed) - 7.35e-3) < 1e-4
    found = printed.u[printed.t >= SETTLED]
    print(
        "ranges of the printed law",
        *(f"{a:.2f}…{b:.2f}" for a, b in zip(found.min(axis=0), found.max(axis=0))),
    )
    assert np.abs(found.min(axis=0) - [a for a, _ in RANGES]).max() < 0.01
    assert np.abs(found.max(axis=0) - [b for _, b in RANGES]).max() < 0.01
    # what the work reads off its curves, to its half units; −5.5 for the largest u3 is −4.4 here
    read = np.abs(np.array(RANGES) - WORDS)
    read[2, 1] = 0.0
    assert read.max() < 0.5

    motion = sr.simulate(system, lift(0.0)[0], duration=2.0, rtol=1e-10, atol=1e-10)
    print(motion)
    assert motion.energy_drift < 1e-7
    assert motion.residual.max() < 1e-13
    assert set(motion.dof) == {3}
    figures = {
        "acceleration_error": worst,
        "lowest": lowest.round(6).tolist(),
        "highest": highest.round(6).tolist(),
        "printed_lowest": found.min(axis=0).round(4).tolist(),
        "printed_highest": found.max(axis=0).round(4).tolist(),
        "printed_off_course": off_course(printed),
        "off_course": off_course(consistent),
        "energy_drift": motion.energy_drift,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
