"""Planar platform on three two-link legs: nine coordinates, six loop equations, three degrees of freedom.

Each leg has a passive shoulder on the ground and a driven elbow; its end carries one corner of the platform.
(Mechanism: De Sapio and Park 2010, Multitask constrained motion control using a mass-weighted orthogonal
decomposition, section 4.1.1. The paper prints no dimensions; those here are ours.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

UPPER, LOWER = 0.5, 0.5  # m
UPPER_MASS, LOWER_MASS, PLATFORM_MASS = 2.0, 1.5, 4.0  # kg
CORNER = 0.25  # m, from the centre of the platform
PLATFORM_INERTIA = 0.1  # kg m²
DIRECTIONS = np.deg2rad([90.0, 210.0, 330.0])
BASES = 0.8 * np.stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)], axis=1)
CORNERS = CORNER * np.stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)], axis=1)


def build() -> sr.Mechanism:
    """Return the mechanism in the x-y plane, gravity −y: coordinates q1…q6 and platform.x, .y, .angle.

    q1, q3, q5 are the shoulders, q2, q4, q6 the elbows [rad], the latter with a motor each.
    """
    mechanism = sr.Mechanism("three_leg_platform", gravity=(0.0, -9.81, 0.0))
    for leg, (x, y) in enumerate(BASES):
        parent = "world"
        for k, (part, length, mass, at) in enumerate(
            (("upper", UPPER, UPPER_MASS, (x, y, 0)), ("lower", LOWER, LOWER_MASS, (UPPER, 0, 0)))
        ):
            body, joint = f"{part}{leg + 1}", f"q{2 * leg + k + 1}"
            moment = mass * length**2 / 12
            mechanism.add_body(body, mass, com=(length / 2, 0, 0), inertia=(0.1 * moment, moment, moment))
            mechanism.add_joint(joint, "revolute", parent, body, parent_pose=at)
            parent = body
        mechanism.add_actuator(f"elbow{leg + 1}", joint)
    half = PLATFORM_INERTIA / 2
    mechanism.add_body("platform", PLATFORM_MASS, inertia=(half, half, PLATFORM_INERTIA))
    mechanism.add_joint("platform", "planar", "world", "platform", axis=(0, 0, 1), axis2=(1, 0, 0))
    for leg, (x, y) in enumerate(CORNERS):
        mechanism.add_closure(
            f"leg{leg + 1}",
            "point_on_line",
            "platform",
            f"lower{leg + 1}",
            axis=(0, 0, 1),
            pose1=(x, y, 0),
            pose2=(LOWER, 0, 0),
        )
    return mechanism


def pose(system: sr.System, x: float = 0.0, y: float = 0.0, angle: float = 0.0) -> NDArray[np.float64]:
    """Return q with the platform at a pose [m, rad], all elbows bent to the same side."""
    guess = np.zeros(9)
    for leg, direction in enumerate(DIRECTIONS):
        guess[2 * leg : 2 * leg + 2] = direction + np.pi - 0.9, 1.8
    guess[6:] = x, y, angle
    return system.assemble(guess, locked=["platform"]).q


def main() -> None:
    """Hold it by the three elbows, then let go."""
    system = sr.System(build())
    assert (system.nq, system.nc) == (9, 6)
    q = pose(system, 0.05, -0.03, 0.2)
    rest = np.zeros(9)
    hold = system.inverse_dynamics(q, rest, rest)
    assert hold.rank == 6
    # Virtual work: the elbows' torques balance the slope of the potential energy along every possible motion.
    slope = _slope(system, q)
    assert np.abs(slope).max() > 1.0
    imbalance = 0.0
    for direction in np.eye(9):
        v = system.project_velocity(q, direction)
        imbalance = max(imbalance, abs(float(v @ (slope - system.actuation_matrix(q) @ hold.u))))
    held = sr.simulate(system, q, duration=0.2, dt=1e-3, control=lambda q, v, t: list(hold.u))
    fall = sr.simulate(system, q, duration=2.0, rtol=1e-10, atol=1e-10)
    held_within = float(np.abs(held.q - q).max())
    print(held, fall, *fall.passages, sep="\n")
    assert imbalance < 1e-7
    assert held_within < 1e-9
    assert fall.energy_drift < 1e-7
    assert fall.residual.max() < 1e-13
    assert set(fall.dof) == {3}
    figures = {
        "holding_torques": hold.u.tolist(),
        "imbalance": imbalance,
        "held_within": held_within,
        "energy_drift": fall.energy_drift,
        "residual": float(fall.residual.max()),
        "rank": hold.rank,
    }
    print(json.dumps(figures))


def _slope(system: sr.System, q: NDArray[np.float64], step: float = 1e-5) -> NDArray[np.float64]:
    """Return ∂V/∂q by central differences."""
    moves = step * np.eye(len(q))
    return np.array([system.potential_energy(q + d) - system.potential_energy(q - d) for d in moves]) / (
        2 * step
    )


if __name__ == "__main__":
    main()
