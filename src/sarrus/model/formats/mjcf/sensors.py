"""Sensors of a compiled MuJoCo model, in its order; sensors of contacts between geometries are listed."""

from __future__ import annotations

from typing import Any

from sarrus.base.errors import ModelError
from sarrus.model.formats.importing import Import
from sarrus.model.formats.mjcf.element_names import Names
from sarrus.model.formats.mjcf.tendons import coordinate_weights
from sarrus.model.mechanism import sensor as kinds
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.transmissions import SiteTransmission, SliderCrank

_TAGS = {"jointactfrc": "jointactuatorfrc", "tendonactfrc": "tendonactuatorfrc"}
_CONTACTS = ("touch", "contact", "tactile", "rangefinder", "geomdist", "geomnormal", "geomfromto")
# Object types with a frame, and their tables.
_FRAMES = {"site": "site", "geom": "geom", "camera": "cam"}


def add_sensors(load: Import, names: Names) -> None:
    """Add every sensor that is a function of state, controls and accelerations."""
    model, report = names.model, load.report
    load.mechanism.magnetic_field = model.opt.magnetic.copy()
    for i, name in enumerate(names.sensors):
        if names.disabled("SENSOR"):
            report.set_aside("sensor", name, "disabled by <option><flag sensor>")
            continue
        kind = names.kind("sensor_type", i)
        kind = _TAGS.get(kind, kind)  # the tag in MJCF
        arguments = _arguments(names, i, kind)
        if isinstance(arguments, str):
            report.leave_out("sensor", name, arguments)
            continue
        cut = {"cutoff": model.sensor_cutoff[i], "noise": model.sensor_noise[i]}
        try:
            load.mechanism.add_sensor(name, kind, **arguments, **cut)
        except ModelError as error:  # its target was left out, or is a joint without a scalar coordinate
            report.leave_out("sensor", name, f"left out: {error}")
            continue
        late = [what for what in ("delay", "interval") if getattr(model, f"sensor_{what}")[i].any()]
        if late:
            report.leave_out("sensor", name, f"its {' and '.join(late)} is left out: it measures now")
        else:
            report.act("sensor", name, _note(load, kind))


def _note(load: Import, kind: str) -> str:
    if kind not in kinds.REACTION_KINDS:
        return ""
    pulled = any(tendon.spatial for tendon in load.mechanism.tendons.values())
    elsewhere = (SiteTransmission, SliderCrank)
    pushed = any(isinstance(a.transmission, elsewhere) for a in load.mechanism.actuators.values())
    if pulled or pushed:
        return "without forces of spatial tendons and of actuators on sites, which MuJoCo includes"
    return ""


def _arguments(names: Names, i: int, kind: str) -> dict[str, Any] | str:
    """Return the arguments of `add_sensor` for the target, or the reason why there is none."""
    if kind in _CONTACTS:
        return (
            f"{kind} needs contacts and distances of geometries, which are not here: read the multipliers of "
            "contacts that add_contact adds"
        )
    if kind not in kinds.SENSOR_KINDS:
        return f"a sensor of kind {kind} is not here"
    target = int(names.model.sensor_objid[i])
    if kind in kinds.GLOBAL_KINDS:
        return {}
    for measured, owners in (
        ((*kinds.SCALAR_KINDS, *kinds.BALL_KINDS), names.joints),
        (kinds.ACTUATOR_KINDS, names.actuators),
        (kinds.SUBTREE_KINDS, names.bodies),
    ):
        if kind in measured:
            return {"target": owners[target]}
    if kind in kinds.LENGTH_KINDS:
        weights = coordinate_weights(names, target)
        return {"target": names.tendons[target] if weights is None else weights}
    frame, reference = _frame(names, i, "obj"), _frame(names, i, "ref")
    for found in (frame, reference):
        if isinstance(found, str):
            return found
    given = {"target": frame[0], "pose": frame[1]}
    return given | ({} if reference is None else {"reference": reference[0], "reference_pose": reference[1]})


def _frame(names: Names, sensor: int, end: str) -> Any:
    """Return body and pose of the target or reference frame, None for the world, or the reason why there is none."""
    model, i = names.model, int(getattr(names.model, f"sensor_{end}id")[sensor])
    if i < 0:
        return None
    kind = names.kind(f"sensor_{end}type", sensor)
    if kind == "xbody":
        return names.bodies[i], Pose()
    if kind == "body":
        return names.bodies[i], Pose.of(model.body_ipos[i], quaternion=model.body_iquat[i])
    if kind == "camera" and names.kind("cam_mode", i) != "fixed":
        return "a camera with a tracking mode is no frame of a body"
    if kind not in _FRAMES:
        return f"an object of kind {kind} is no frame here"
    return names.place(_FRAMES[kind], i)
