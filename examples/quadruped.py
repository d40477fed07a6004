"""Quadruped standing on point feet: a free trunk, four legs of three motors, every foot pinned to the ground.

18 velocities less 12 closure rows leave the six motions of the trunk; twelve motors drive them, so that
standing torques are not unique. Those of least norm are asked for, and the ground forces that belong to them
carry the weight.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

TRUNK, HIP, THIGH, SHANK = 12.0, 0.6, 1.0, 0.2  # kg
LENGTH = 0.25  # m, of thigh and of shank
OFFSET = 0.06  # m, from the hip's roll axis to the plane of the leg
BEND = 0.6  # rad
LEGS = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}
HEIGHT = 2 * LENGTH * np.cos(BEND)


def build() -> sr.Mechanism:
    """Return the robot: coordinates trunk (7), then roll, pitch and knee of each leg FL, FR, RL, RR [rad]."""
    mechanism = sr.Mechanism("quadruped")
    box = TRUNK / 12 * np.array([0.3**2 + 0.12**2, 0.6**2 + 0.12**2, 0.6**2 + 0.3**2])
    mechanism.add_body("trunk", TRUNK, inertia=box)
    mechanism.add_joint("trunk", "free", "world", "trunk", parent_pose=(0, 0, HEIGHT))
    for leg, (front, left) in LEGS.items():
        parts = (
            (
                "hip",
                "roll",
                "trunk",
                (0.25 * front, 0.1 * left, 0),
                (1, 0, 0),
                HIP,
                (0, 0.5 * OFFSET * left, 0),
            ),
            ("thigh", "pitch", f"{leg}_hip", (0, OFFSET * left, 0), (0, 1, 0), THIGH, (0, 0, -0.3 * LENGTH)),
            ("shank", "knee", f"{leg}_thigh", (0, 0, -LENGTH), (0, 1, 0), SHANK, (0, 0, -0.5 * LENGTH)),
        )
        for part, joint, parent, at, axis, mass, com in parts:
            rod = mass * LENGTH**2 / 12
            inertia = (rod, rod, 0.1 * rod) if part != "hip" else (0.1 * rod, 0.1 * rod, 0.1 * rod)
            mechanism.add_body(f"{leg}_{part}", mass, com=com, inertia=inertia)
            mechanism.add_joint(
                f"{leg}_{joint}", "revolute", parent, f"{leg}_{part}", axis=axis, parent_pose=at
            )
        ground = (0.25 * front, (0.1 + OFFSET) * left, 0)
        mechanism.add_closure(
            f"{leg}_foot", "point", "world", f"{leg}_shank", pose1=ground, pose2=(0, 0, -LENGTH)
        )
    for leg in LEGS:
        for joint in ("roll", "pitch", "knee"):
            mechanism.add_actuator(f"{leg}_{joint}", f"{leg}_{joint}")
    return mechanism


def standing(system: sr.System) -> NDArray[np.float64]:
    """Return q with the trunk level and all knees bent alike."""
    q = system.neutral()
    q[7:] = np.tile([0.0, BEND, -2 * BEND], 4)
    return q


def main() -> None:
    """Stand, lean, then give way in all joints."""
    system = sr.System(build())
    assert (system.nv, system.nc, system.nu) == (18, 12, 12)
    q, rest = standing(system), np.zeros(18)
    assert np.abs(system.constraint_residual(q)).max() < 1e-14
    stand = system.inverse_dynamics(q, rest, rest)
    assert (stand.rank, stand.actuation_rank) == (12, 6)
    still = system.forward_dynamics(q, rest, stand.u)
    assert np.abs(still.a).max() < 1e-10
    feet = {leg: still.closure_force(f"{leg}_foot")[f"{leg}_foot.z"] for leg in LEGS}
    weight = 9.81 * (TRUNK + 4 * (HIP + THIGH + SHANK))
    weight_error = abs(sum(feet.values()) - weight)
    assert weight_error < 1e-9
    assert all(force > 0 for force in feet.values())

    # Accelerate the trunk sideways and upwards: what the motors are asked for is what happens.
    jacobian = system.constraint_jacobian(q)
    wanted = np.zeros(18)
    wanted[1:3] = 1.0, 2.0
    wanted[6:] = -np.linalg.solve(jacobian[:, 6:], jacobian[:, :6] @ wanted[:6])
    push = system.inverse_dynamics(q, rest, wanted)
    acceleration_error = float(np.abs(system.forward_dynamics(q, rest, push.u).a - wanted).max())
    assert acceleration_error < 1e-9

    fall = sr.simulate(system, q, duration=0.25, dt=1e-3)
    print(fall)
    assert fall.energy_drift < 1e-7
    assert fall.residual.max() < 1e-13
    figures = {
        "weight": weight,
        "weight_error": weight_error,
        "feet": feet,
        "acceleration_error": acceleration_error,
        "energy_drift": fall.energy_drift,
        "residual": float(fall.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
