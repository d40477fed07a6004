"""Two masses joined by a spring, the force acts on the first one: free oscillation and a servo constraint.

Free: the distance oscillates about the rest length l with ω² = k (1/m₁ + 1/m₂). Driven: the servo constraint
x₂ − x₁ = 2 l is kept by F = −(1 + m₁/m₂) k (x₂ − x₁ − l); both masses then accelerate together by −k l / m₂.
(Liu, Zhen, Huang, Zhao, Chen and Shao, A systematic approach for designing analytical dynamics and servo
control of constrained mechanical systems, section IV.)
"""

from __future__ import annotations

import json

import numpy as np

import sarrus as sr

M1, M2 = 2.0, 1.0  # kg
STIFFNESS = 50.0  # N/m
LENGTH = 0.5  # m


def build() -> sr.Mechanism:
    """Return the mechanism: coordinates x1, x2 [m] along the x axis, force F on the first mass [N]."""
    mechanism = sr.Mechanism("two_mass_spring")
    for name, mass in (("x1", M1), ("x2", M2)):
        mechanism.add_body(f"mass_{name}", mass)
        mechanism.add_joint(name, "prismatic", "world", f"mass_{name}", axis=(1, 0, 0))
    mechanism.add_spring_damper("spring", "mass_x1", "mass_x2", stiffness=STIFFNESS, rest_length=LENGTH)
    mechanism.add_actuator("F", "x1")
    return mechanism


def main() -> None:
    """Let it oscillate, then drive it."""
    system = sr.System(build())
    free = sr.simulate(system, [0.0, 1.5 * LENGTH], duration=5.0, dt=1e-3)
    omega = np.sqrt(STIFFNESS * (1 / M1 + 1 / M2))
    distance = LENGTH * (1 + 0.5 * np.cos(omega * free.t))
    free_error = float(np.abs(free.q[:, 1] - free.q[:, 0] - distance).max())
    print(free)
    assert free_error < 1e-8
    assert free.energy_drift < 1e-8

    servo = sr.simulate(
        system,
        [0.0, 2 * LENGTH],
        duration=2.0,
        dt=1e-3,
        control=lambda q, v, t: -(1 + M1 / M2) * STIFFNESS * (q[1] - q[0] - LENGTH),
    )
    acceleration = -STIFFNESS * LENGTH / M2
    servo_error = float(np.abs(servo.q[:, 1] - servo.q[:, 0] - 2 * LENGTH).max())
    fall_error = float(np.abs(servo.q[:, 0] - 0.5 * acceleration * servo.t**2).max())
    print(servo)
    assert servo_error < 1e-10
    assert fall_error < 1e-10
    force = system.inverse_dynamics([0.0, 2 * LENGTH], [0, 0], [acceleration, acceleration]).u[0]
    assert abs(force - servo.u[0, 0]) < 1e-12
    print(
        json.dumps(
            {
                "free_error": free_error,
                "servo_error": servo_error,
                "fall_error": fall_error,
                "force": float(force),
            }
        )
    )


if __name__ == "__main__":
    main()
