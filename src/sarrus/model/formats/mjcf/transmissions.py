"""Transmissions of the actuators of a compiled MuJoCo model."""

from __future__ import annotations

import numpy as np

from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.tendons import coordinate_weights
from sarrus.model.mechanism import transmissions as ways
from sarrus.model.mechanism.joint import VELOCITY_LABELS


def transmission(names: Names, i: int) -> dict[str, float] | ways.Transmission | str:
    """Return velocity name → gear, or another transmission, of actuator ``i``, or the reason why there is none."""
    model, kind = names.model, names.kind("actuator_trntype", i)
    gear = [float(g) for g in model.actuator_gear[model.actuator_outadr[i]]]
    target, other = map(int, model.actuator_trnid[i])
    if kind in ("joint", "jointinparent"):
        return _joint(names, target, gear, kind == "jointinparent")
    if kind == "tendon":
        weights = coordinate_weights(names, target)
        if weights is None or model.tendon_actfrclimited[target]:
            return ways.TendonTransmission(names.tendons[target], gear[0])
        return {joint: weight * gear[0] for joint, weight in weights.items()}
    if kind == "site":
        reference = None if other < 0 else names.place("site", other)
        return ways.SiteTransmission(*names.place("site", target), tuple(gear), reference)
    if kind == "slidercrank":
        body, pin = names.place("site", target)
        rod = float(model.actuator_cranklength[i])
        return ways.SliderCrank(body, pin.position, *names.place("site", other), rod, gear[0])
    if kind == "body":
        return "it pulls along the normals of its body's contacts (adhesion), and contacts are no part of the model"
    return f"a transmission of kind {kind!r} is not known here"


def _joint(
    names: Names, joint: int, gear: list[float], in_parent: bool
) -> dict[str, float] | ways.Transmission:
    kind, name = names.joint_kinds[joint], names.joints[joint]
    labels = VELOCITY_LABELS[kind]
    if in_parent and kind in ("free", "spherical") and np.any(gear[len(labels) - 3 : len(labels)]):
        return ways.ParentTransmission(name, tuple(gear[: len(labels)]))
    gears = {name + label: g for label, g in zip(labels, gear) if g != 0.0 or len(labels) == 1}
    return gears or {name + labels[0]: 0.0}
