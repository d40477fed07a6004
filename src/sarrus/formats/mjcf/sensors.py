"""Sensors of a compiled MuJoCo model, in its order; those that need contacts of geometries are listed."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sarrus.base.errors import ModelError
from sarrus.formats.importing import Import
from sarrus.formats.mjcf.element_names import Names, enum_name
from sarrus.formats.mjcf.tendons import coordinate_weights
from sarrus.mechanism import sensor as kinds
from sarrus.mechanism.pose import Pose
from sarrus.mechanism.transmissions import SiteTransmission, SliderCrank

_TAGS = {"jointactfrc": "jointactuatorfrc", "tendonactfrc": "tendonactuatorfrc"}
_CONTACTS = ("touch", "contact", "tactile", "rangefinder", "geomdist", "geomnormal", "geomfromto")


def add_sensors(load: Import, model: Any, names: Names) -> None:
    """Add every sensor that is a function of state, controls and accelerations."""
    load.mechanism.magnetic_field = model.opt.magnetic.copy()
    for i in range(model.nsensor):
        name, kind = names.sensors[i], sensor_kind(model, i)
        if kind not in kinds.SENSOR_KINDS:
            load.report.leave_out("sensor", name, _missing(kind))
            continue
        late = [
            what
            for what in ("delay", "interval")
            if np.any(getattr(model, f"sensor_{what}", np.zeros(i + 1))[i])
        ]
        arguments = _arguments(load, model, names, i, kind)
        if isinstance(arguments, str):
            load.report.leave_out("sensor", name, arguments)
            continue
        try:
            load.mechanism.add_sensor(
                name,
                kind,
                **arguments,
                cutoff=float(model.sensor_cutoff[i]),
                noise=float(model.sensor_noise[i]),
            )
        except (
            ModelError
        ) as error:  # its target was left out, or it measures a joint that has no scalar coordinate
            load.report.leave_out("sensor", name, f"left out: {error}")
            continue
        if late:
            load.report.leave_out("sensor", name, f"its {' and '.join(late)} is left out: it measures now")
        else:
            load.report.act("sensor", name, _note(load, kind))


def sensor_kind(model: Any, i: int) -> str:
    """Return the tag that MJCF has for a sensor."""
    kind = enum_name(mujoco.mjtSensor, model.sensor_type[i])
    return _TAGS.get(kind, kind)


def _missing(kind: str) -> str:
    if kind in _CONTACTS:
        return (
            f"{kind} needs contacts and distances of geometries, which are not here: read the multipliers of "
            "contacts that add_contact adds"
        )
    return f"a sensor of kind {kind} is not here"


def _note(load: Import, kind: str) -> str:
    if kind not in kinds.REACTION_KINDS:
        return ""
    pulled = any(tendon.spatial for tendon in load.mechanism.tendons.values())
    elsewhere = (SiteTransmission, SliderCrank)
    pushed = any(isinstance(a.transmission, elsewhere) for a in load.mechanism.actuators.values())
    if pulled or pushed:
        return "without what spatial tendons and actuators on sites exert, outside of the joint; MuJoCo counts it in"
    return ""


def _arguments(load: Import, model: Any, names: Names, i: int, kind: str) -> dict[str, Any] | str:
    """Return the arguments of `add_sensor` that say what is measured, or why there is nothing to measure."""
    target = int(model.sensor_objid[i])
    if kind in kinds.GLOBAL_KINDS:
        return {}
    if kind in (*kinds.SCALAR_KINDS, *kinds.BALL_KINDS):
        return {"target": names.joints[target]}
    if kind in kinds.ACTUATOR_KINDS:
        return {"target": names.actuators[target]}
    if kind in kinds.SUBTREE_KINDS:
        return {"target": names.bodies[target]}
    if kind in kinds.LENGTH_KINDS:
        weights = coordinate_weights(model, names, target)
        tendon = names.tendons[target]
        if weights is not None:
            return {"target": weights}
        return {"target": tendon}
    frame = _frame(model, names, int(model.sensor_objtype[i]), target)
    if isinstance(frame, str):
        return frame
    found: dict[str, Any] = {"target": frame[0], "pose": frame[1]}
    if int(model.sensor_refid[i]) >= 0:
        reference = _frame(model, names, int(model.sensor_reftype[i]), int(model.sensor_refid[i]))
        if isinstance(reference, str):
            return reference
        found |= {"reference": reference[0], "reference_pose": reference[1]}
    return found


def _frame(model: Any, names: Names, kind: int, i: int) -> tuple[str, Pose] | str:
    """Return body and pose of a site, geom, camera, body or its inertial frame, or why there is none."""
    objects = mujoco.mjtObj
    if kind == int(objects.mjOBJ_XBODY):
        return names.bodies[i], Pose()
    if kind == int(objects.mjOBJ_BODY):
        return names.bodies[i], Pose.of(model.body_ipos[i], quaternion=model.body_iquat[i])
    if kind == int(objects.mjOBJ_CAMERA) and int(model.cam_mode[i]) != int(
        mujoco.mjtCamLight.mjCAMLIGHT_FIXED
    ):
        return "a camera that follows something is no frame of a body"
    tables = {
        int(objects.mjOBJ_SITE): "site",
        int(objects.mjOBJ_GEOM): "geom",
        int(objects.mjOBJ_CAMERA): "cam",
    }
    if kind not in tables:
        return f"an object of kind {enum_name(objects, kind)} is no frame here"
    body, place, turn = (getattr(model, f"{tables[kind]}_{what}")[i] for what in ("bodyid", "pos", "quat"))
    return names.bodies[body], Pose.of(place, quaternion=turn)
