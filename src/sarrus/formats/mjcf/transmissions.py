"""What the actuators of a compiled MuJoCo model pull on."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sarrus.formats.mjcf.element_names import Names, address, enum_name
from sarrus.formats.mjcf.tendons import coordinate_weights
from sarrus.mechanism.joint import VELOCITY_LABELS
from sarrus.mechanism.pose import Pose
from sarrus.mechanism.transmissions import (
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
    Transmission,
)

JOINT_KINDS = {0: "free", 1: "spherical", 2: "prismatic", 3: "revolute"}


def transmission(model: Any, names: Names, i: int) -> dict[str, float] | Transmission | str:
    """Return velocity name → gear or another transmission of actuator ``i``, or the reason why there is none."""
    trn, kind = mujoco.mjtTrn, int(model.actuator_trntype[i])
    gear = [float(g) for g in model.actuator_gear[address(model, "out", i)]]
    target, other = map(int, model.actuator_trnid[i])
    if kind in (int(trn.mjTRN_JOINT), int(trn.mjTRN_JOINTINPARENT)):
        return _joint(model, names.joints[target], target, gear, kind == int(trn.mjTRN_JOINTINPARENT))
    if kind == int(trn.mjTRN_TENDON):
        weights = coordinate_weights(model, names, target)
        if weights is None or getattr(model, "tendon_actfrclimited", {target: False})[target]:
            return TendonTransmission(names.tendons[target], gear[0])
        return {joint: weight * gear[0] for joint, weight in weights.items()}
    if kind == int(trn.mjTRN_SITE):
        reference = None if other < 0 else _site(model, names, other)
        body, pose = _site(model, names, target)
        return SiteTransmission(body, pose, tuple(gear), reference)
    if kind == int(trn.mjTRN_SLIDERCRANK):
        body, pin = _site(model, names, target)
        slider, pose = _site(model, names, other)
        rod = float(model.actuator_cranklength[i])
        return SliderCrank(body, pin.position, slider, pose, rod, gear[0])
    if kind == int(trn.mjTRN_BODY):
        return "it pulls along the normals of its body's contacts (adhesion), and contacts are no part of the model"
    return f"a transmission of kind {enum_name(trn, kind)!r} is not known here"


def _joint(
    model: Any, name: str, joint: int, gear: list[float], in_parent: bool
) -> dict[str, float] | Transmission:
    kind = JOINT_KINDS[int(model.jnt_type[joint])]
    labels = VELOCITY_LABELS[kind]
    if in_parent and kind in ("free", "spherical") and np.any(gear[len(labels) - 3 : len(labels)]):
        return ParentTransmission(name, tuple(gear[: len(labels)]))
    entries = zip(labels, gear[: len(labels)], strict=True)
    return {name + label: g for label, g in entries if g != 0.0 or len(labels) == 1} or {
        name + labels[0]: 0.0
    }


def _site(model: Any, names: Names, site: int) -> tuple[str, Pose]:
    pose = Pose.of(model.site_pos[site], quaternion=model.site_quat[site])
    return names.bodies[model.site_bodyid[site]], pose
