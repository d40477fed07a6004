"""Sensors of a mechanism as MJCF sensors; frames become sites."""

from __future__ import annotations

from xml.etree.ElementTree import SubElement

import numpy as np

from sarrus.model.formats.mjcf_writer.attributes import numbers
from sarrus.model.formats.mjcf_writer.mjcf_document import Document
from sarrus.model.mechanism import sensor as kinds
from sarrus.model.mechanism.sensor import Sensor


def add_sensors(document: Document) -> None:
    """Write every sensor, in order."""
    mechanism = document.mechanism
    for sensor in mechanism.sensors.values():
        element = SubElement(document.section("sensor"), sensor.kind, {"name": sensor.name})
        for attribute, value in _target(document, sensor).items():
            element.set(attribute, value)
        for attribute in ("cutoff", "noise"):
            if getattr(sensor, attribute):
                element.set(attribute, repr(getattr(sensor, attribute)))
    if np.any(mechanism.magnetic_field != kinds.MAGNETIC_FIELD):
        document.section("option").set("magnetic", numbers(mechanism.magnetic_field))


# Attribute that names the object of a sensor, by kind.
_OWNERS = {
    "joint": (*kinds.SCALAR_KINDS, *kinds.BALL_KINDS),
    "actuator": kinds.ACTUATOR_KINDS,
    "body": kinds.SUBTREE_KINDS,
    "tendon": kinds.LENGTH_KINDS,
}


def _target(document: Document, sensor: Sensor) -> dict[str, str]:
    kind, target = sensor.kind, sensor.target
    if kind in kinds.GLOBAL_KINDS:
        return {}
    if kind in kinds.LENGTH_KINDS and sensor.terms:
        return {"tendon": document.combination(f"{sensor.name}.length", sensor.terms)}
    for attribute, of in _OWNERS.items():
        if kind in of:
            return {attribute: target}
    site = document.site(sensor.name, target, sensor.pose)
    if not kind.startswith("frame"):
        return {"site": site}
    found = {"objtype": "site", "objname": site}
    if sensor.reference is not None:
        other = document.site(f"{sensor.name}.reference", sensor.reference, sensor.reference_pose)
        found |= {"reftype": "site", "refname": other}
    return found
