"""Mechanisms with motors that have a winding: an arm, the same with its rotor held, and a slider-crank."""

from __future__ import annotations

import numpy as np

import sarrus as sr

K, OHM, HENRY, GEAR, ROTOR, LOAD, DAMPING = 0.05, 0.8, 1e-3, 30.0, 2e-5, 0.3, 0.02
J = LOAD + GEAR**2 * ROTOR
# d/dt (angle, speed, current), by the state and by the voltage.
MATRIX = np.array(
    [[0, 1, 0], [0, -DAMPING / J, GEAR * K / J], [0, -K * GEAR / HENRY, -OHM / HENRY]], dtype=float
)
INPUT = np.array([0.0, 0.0, 1.0 / HENRY])


def axle(**motor) -> sr.Mechanism:
    """A balanced arm of 0.3 kg m² about a vertical axis, with a motor."""
    mechanism = sr.Mechanism("arm")
    mechanism.add_body("arm", 1.0, inertia=(LOAD, LOAD, LOAD))
    mechanism.add_joint("axle", "revolute", "world", "arm", axis=(0, 0, 1), damping=DAMPING)
    numbers = {"torque_constant": K, "resistance": OHM, "inductance": HENRY, "gear": GEAR}
    mechanism.add_motor("motor", "axle", **{**numbers, "rotor_inertia": ROTOR, **motor})
    return mechanism


def held(**motor) -> sr.System:
    """The same with the rotor held fast."""
    mechanism = axle(**motor)
    mechanism.add_coupling("brake", {"axle": 1.0})
    return sr.System(mechanism)


def pump(closure: str = "revolute", **motor) -> sr.Mechanism:
    """A slider-crank in a plane; a revolute closure in space has three rows too many."""
    mechanism = sr.Mechanism("pump")
    mechanism.add_body("crank", 1.0, inertia=(1e-3, 1e-3, 1e-3))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=(0, 1, 0), damping=2e-3)
    mechanism.add_body("rod", 0.3, (0.1, 0, 0), (1e-5, 1e-3, 1e-3))
    mechanism.add_joint("rod", "revolute", "crank", "rod", axis=(0, 1, 0), parent_pose=(0.05, 0, 0))
    mechanism.add_body("piston", 0.5, inertia=(1e-4, 1e-4, 1e-4))
    mechanism.add_joint("piston", "prismatic", "world", "piston", axis=(1, 0, 0))
    axis = {} if closure == "point" else {"axis": (0, 1, 0)}
    mechanism.add_closure("pin", closure, "rod", "piston", pose1=(0.2, 0, 0), **axis)
    numbers = {"torque_constant": 0.035, "resistance": 0.3, "inductance": 2e-4, "gear": 5.0}
    mechanism.add_motor("motor", "crank", **{**numbers, "rotor_inertia": 7e-6, **motor})
    return mechanism
