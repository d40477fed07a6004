"""Damping and rotor inertia of actuators, which MuJoCo reflects on the joint or tendon that they pull on."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.formats.mjcf.element_names import Names

_ON_JOINTS = ("joint", "jointinparent")


def on_joint(names: Names, joint: int) -> Array:
    """Return damping of all orders and armature of the actuators on a joint, times gear²; each velocity has them."""
    return _sum(names, _ON_JOINTS, joint, int(names.model.jnt_actuatorid[joint]))


def on_tendon(names: Names, tendon: int) -> Array:
    """Return damping of all orders and armature of the actuators on a tendon, times gear²."""
    return _sum(names, ("tendon",), tendon, int(names.model.tendon_actuatorid[tendon]))


def _sum(names: Names, kinds: tuple[str, ...], target: int, actuator: int) -> Array:
    """Sum over the actuators of a target; ``actuator`` is −1 where it has none. Disabled ones have both, too."""
    model = names.model
    total = np.zeros(2 + model.actuator_dampingpoly.shape[1])
    if actuator == -1:
        return total
    for i in range(model.nactuator):
        if names.kind("actuator_trntype", i) in kinds and int(model.actuator_trnid[i][0]) == target:
            gear = float(model.actuator_gear[model.actuator_outadr[i]][0])
            own = [model.actuator_damping[i], *model.actuator_dampingpoly[i], model.actuator_armature[i]]
            total += gear**2 * np.array(own)
    return total
