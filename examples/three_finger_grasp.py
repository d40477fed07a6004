"""Three fingers hold an object by friction alone, lift and turn it, with the least loss in their motors.

The object is a free body; the fingertips are contacts with its faces, planes that move with it. Nine motors and the
nine contact forces do six motions of the object: three squeezes remain, and the law chooses them inside the cones. Held
upright at rest by fingers that are alike, friction must carry m g/3 at each, so that each presses with n ≥ m g/(3 μ).
Where the motors would rather press less, that is the optimum.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control, trajectories

MASS = 0.3  # kg, of the object
RADIUS = 0.04  # m, from its axis to its faces
BASE = 0.12  # m, from its axis to the fingers
LINK = 0.10  # m, of both links of a finger
LEAN = 0.3  # rad, of the first link outwards
GRAVITY = 9.81
FRICTION = 0.5
TORQUE = 0.6  # N m, the most that a motor gives
FINGERS = {"a": 0.0, "b": 2 * np.pi / 3, "c": -2 * np.pi / 3}
MOTORS = ("swing", "lift", "bend")
# Reach inwards and upwards of the second link, and the height of its end.
REACH = BASE + LINK * np.sin(LEAN) - RADIUS
RISE = np.sqrt(LINK**2 - REACH**2) if LINK > REACH else 0.0
HEIGHT = LINK * np.cos(LEAN) + RISE
LOSS = np.tile([8.0, 4.0, 4.0], 3)  # R / K_t² of each motor [W/(N m)²]: 2 Ω, 0.5 and 0.7 N m/A at the joint


def build(mass: float = MASS, slant: float = 0.0) -> sr.Mechanism:
    """Return hand and object: coordinates object (7), then swing, lift and bend of the fingers a, b, c [rad].

    ``slant`` turns the first tangent of the contacts away from the vertical [rad].
    """
    mechanism = sr.Mechanism("three_finger_grasp")
    flat, tall = mass * (RADIUS**2 / 4 + 0.08**2 / 12), mass * RADIUS**2 / 2
    mechanism.add_body("object", mass, inertia=(flat, flat, tall))
    mechanism.add_joint("object", "free", "world", "object", parent_pose=(0, 0, HEIGHT))
    rod = 0.05 * LINK**2 / 12
    for finger, angle in FINGERS.items():
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        around = np.array([-out[1], out[0], 0.0])
        first = LINK * (np.sin(LEAN) * out + [0, 0, np.cos(LEAN)])
        second = -REACH * out + [0, 0, RISE]
        for part, motor, parent, at, axis, along in (
            ("palm", "swing", "world", BASE * out, (0, 0, 1), np.zeros(3)),
            ("link1", "lift", f"{finger}_palm", np.zeros(3), around, first),
            ("link2", "bend", f"{finger}_link1", first, around, second),
        ):
            body = f"{finger}_{part}"
            mechanism.add_body(body, 0.05, com=along / 2, inertia=(rod, rod, rod))
            mechanism.add_joint(f"{finger}_{motor}", "revolute", parent, body, axis=axis, parent_pose=at)
        upwards = np.cos(slant) * np.array([0.0, 0.0, 1.0]) + np.sin(slant) * around
        mechanism.add_contact(
            finger,
            f"{finger}_link2",
            second,
            ground="object",
            normal=out,
            offset=RADIUS,
            tangent=upwards,
            friction_coefficient=FRICTION,
            active=True,
        )
    for finger in FINGERS:
        for motor in MOTORS:
            mechanism.add_actuator(f"{finger}_{motor}", f"{finger}_{motor}", limits=(-TORQUE, TORQUE))
    return mechanism
