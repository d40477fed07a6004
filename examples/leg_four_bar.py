"""Leg with a four-bar knee: a motor near the hip drives the shank through a crank and a rod.

The trunk slides on a vertical guide and the foot is pinned to the ground, so the leg squats with one degree
of freedom. Moments about crank and knee are as the distances of the rod's line from the two axes, which gives
the knee's gear ratio in closed form.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

THIGH, SHANK = 0.40, 0.42  # m
CRANK, ROCKER = 0.05, 0.04  # m, both point backwards when the knee is bent by MIDDLE
MIDDLE = -1.0  # rad
DROP = 0.08  # m, of the crank's axis below the hip
ROCKER_PIN = (-ROCKER * np.cos(MIDDLE), 0.0, ROCKER * np.sin(MIDDLE))  # on the shank
ROD = float(np.hypot(THIGH - DROP, CRANK - ROCKER))


def build() -> sr.Mechanism:
    """Return the leg in the x-z plane: coordinates guide [m], hip, crank, rod, knee [rad]; the crank driven.

    Positive angles swing a hanging link forwards; thigh, rod and shank hang straight at zero.
    """
    mechanism = sr.Mechanism("leg_four_bar")
    mechanism.add_body("trunk", 8.0)
    mechanism.add_joint("guide", "prismatic", "world", "trunk", axis=(0, 0, 1))
    for body, joint, parent, at, mass, com, moment in (
        ("thigh", "hip", "trunk", (0, 0, 0), 2.0, (0, 0, -0.4 * THIGH), 0.03),
        ("crank", "crank", "thigh", (0, 0, -DROP), 0.1, (-0.5 * CRANK, 0, 0), 1e-4),
        ("rod", "rod", "crank", (-CRANK, 0, 0), 0.15, (0, 0, -0.5 * ROD), 1.5e-3),
        ("shank", "knee", "thigh", (0, 0, -THIGH), 1.0, (0, 0, -0.4 * SHANK), 0.015),
    ):
        mechanism.add_body(body, mass, com=com, inertia=(moment, moment, 0.1 * moment))
        mechanism.add_joint(joint, "revolute", parent, body, axis=(0, -1, 0), parent_pose=at)
    pin = {"kind": "point_on_line", "axis": (0, 1, 0)}
    mechanism.add_closure("rocker", body1="shank", body2="rod", pose1=ROCKER_PIN, pose2=(0, 0, -ROD), **pin)
    mechanism.add_closure("foot", body1="world", body2="shank", pose2=(0, 0, -SHANK), **pin)
    mechanism.add_actuator("motor", "crank")
    return mechanism


def squat(system: sr.System, knee: float) -> NDArray[np.float64]:
    """Return q with the knee at an angle [rad], negative as knees bend."""
    guess = np.array([0.75, -knee / 2, knee - MIDDLE, MIDDLE - knee, knee])
    return system.assemble(guess, locked=["knee"]).q


def gear_ratio(q: NDArray[np.float64]) -> float:
    """Return d(knee)/d(crank): the distances of the rod's line from the axes of crank and knee."""
    _, _, crank, _, knee = q
    pin = np.array([-CRANK * np.cos(crank), -DROP - CRANK * np.sin(crank)])
    rocker = np.array([-ROCKER * np.cos(knee - MIDDLE), -THIGH - ROCKER * np.sin(knee - MIDDLE)])
    x, z = (rocker - pin) / ROD
    arm_crank = pin[0] * z - (pin[1] + DROP) * x
    arm_knee = rocker[0] * z - (rocker[1] + THIGH) * x
    return float(arm_crank / arm_knee)


def main() -> None:
    """Hold squats of several depths, then let the leg give way."""
    system = sr.System(build())
    names = list(system.velocity_names)
    crank, knee = names.index("crank"), names.index("knee")
    ratio_error = torque_error = 0.0
    torques = {}
    for bend in (-0.4, -0.8, -1.2, -1.6, -2.0):
        q = squat(system, bend)
        mobility = system.forward_dynamics(q, np.zeros(5))
        assert (mobility.rank, mobility.dof) == (4, 1)
        motion = system.project_velocity(q, np.ones(5))
        ratio_error = max(ratio_error, abs(motion[knee] / motion[crank] - gear_ratio(q)))
        torque = float(system.inverse_dynamics(q, np.zeros(5), np.zeros(5)).u[0])
        above, below = squat(system, bend + 1e-4), squat(system, bend - 1e-4)
        rise = system.potential_energy(above) - system.potential_energy(below)
        torque_error = max(torque_error, abs(torque - rise / (above[crank] - below[crank])))
        torques[str(bend)] = torque
    fall = sr.simulate(system, squat(system, -0.8), duration=0.25, dt=1e-3)
    print(fall)
    assert ratio_error < 1e-12
    assert torque_error < 1e-5
    assert fall.energy_drift < 1e-7
    assert fall.residual.max() < 1e-13
    figures = {
        "ratio_error": ratio_error,
        "torque_error": torque_error,
        "torques": torques,
        "energy_drift": fall.energy_drift,
        "residual": float(fall.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
