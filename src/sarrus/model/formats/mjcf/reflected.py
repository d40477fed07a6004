"""Damping and rotor inertia of actuators, reflected by MuJoCo on their joint or tendon."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.formats.mjcf.element_names import Names


def on_joint(names: Names, joint: int) -> Array:
    """Return damping of all orders and armature of the actuators on a joint, times gear², for each velocity."""
    return _sum(names, "joint", joint) + _sum(names, "jointinparent", joint)


def on_tendon(names: Names, tendon: int) -> Array:
    """Return damping of all orders and armature of the actuators on a tendon, times gear²."""
    return _sum(names, "tendon", tendon)


def _sum(names: Names, kind: str, target: int) -> Array:
    """Return the sum over the actuators of a target, disabled ones included."""
    model = names.model
    total = np.zeros(2 + model.actuator_dampingpoly.shape[1])
    for i in names.actuators_on.get((kind, target), ()):
        gear = float(model.actuator_gear[model.actuator_outadr[i]][0])
        own = [model.actuator_damping[i], *model.actuator_dampingpoly[i], model.actuator_armature[i]]
        total += gear**2 * np.array(own)
    return total
