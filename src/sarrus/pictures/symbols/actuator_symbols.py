"""Symbols of motors, sensors and forces: letters in circles at their places."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import Actuator
from sarrus.model.mechanism.sensor import (
    ACTUATOR_KINDS,
    BALL_KINDS,
    FRAME_KINDS,
    LENGTH_KINDS,
    SCALAR_KINDS,
    SUBTREE_KINDS,
    Sensor,
)
from sarrus.model.mechanism.transmissions import (
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
)
from sarrus.pictures.symbols.coupling_symbols import anchor, start_of
from sarrus.pictures.symbols.glyphs import across, arrow, letter
from sarrus.pictures.symbols.symbols import Sheet


def add_actuator(sheet: Sheet, actuator: Actuator) -> None:
    element, transmission = ("actuators", actuator.name), actuator.transmission
    if isinstance(transmission, TendonTransmission):
        add_letter(
            sheet, element, "M", start_of(sheet, sheet.mechanism.tendons[transmission.tendon]), "motor"
        )
    elif isinstance(transmission, ParentTransmission):
        add_letter(sheet, element, "M", anchor(sheet, transmission.joint), "motor")
    elif isinstance(transmission, SiteTransmission):
        body, pose = transmission.body, transmission.pose
        add_letter(sheet, element, "M", (body, pose.position), "motor")
        push, turn = np.array(transmission.gear[:3]), np.array(transmission.gear[3:])
        for way in (push, turn):
            size = float(np.linalg.norm(way))
            if size > 0.0 and transmission.reference is None:
                along = pose.rotation @ way / size
                side = sideways(sheet, body, along)
                end = pose.position + 4.0 * sheet.radius * along
                sheet.mark(element, body, arrow(pose.position, end, side, both=way is turn), "motor")
        if transmission.reference is not None:
            other, frame = transmission.reference
            sheet.link(element, (other, frame.position), (body, pose.position), "guide", "motor")
    elif isinstance(transmission, SliderCrank):
        rail = 0.2 * sheet.size * transmission.pose.rotation[:, 2]
        foot = transmission.pose.position
        sheet.mark(element, transmission.slider, [np.array([foot, foot + rail])], "motor")
        ends = (transmission.slider, foot), (transmission.body, transmission.pin)
        sheet.link(element, *ends, "guide", "motor")
        add_letter(sheet, element, "M", (transmission.slider, foot), "motor")
    else:
        for velocity, _ in transmission:
            joint = sheet.joint_of(velocity)
            if joint is not None:
                parent, placement = sheet.base(joint)
                add_letter(sheet, element, "M", (parent, placement.apply(joint.anchor)), "motor")


def add_letter(
    sheet: Sheet, element: tuple[str, str], sign: str, place: tuple[str, Array], style: str
) -> None:
    """Add a letter in a circle to the left of a place, for a sensor to the right, for a force below."""
    body, point = place
    normal, up = sheet.local(body, sheet.normal), sheet.local(body, sheet.up)
    up = up - normal * (normal @ up)
    up = across(normal)[0] if np.linalg.norm(up) < 0.1 else up / np.linalg.norm(up)
    right = np.cross(up, normal)
    away = {"M": -right, "S": right, "F": -up}[sign]
    half = 0.75 * sheet.radius
    centre = point + 2.6 * sheet.radius * away
    leader = np.array([point, centre - half * away])
    sheet.mark(element, body, [*letter(sign, centre, normal, half, up), leader], style)


def add_sensor(sheet: Sheet, name: str, place: tuple[str, Array]) -> None:
    add_letter(sheet, ("sensors", name), "S", place, "sensor")


def place_of_sensor(sheet: Sheet, sensor: Sensor) -> tuple[str, Array] | None:
    """Return body and point of a sensor; None for sensors of the whole mechanism."""
    mechanism, kind, target = sheet.mechanism, sensor.kind, sensor.target
    if kind in FRAME_KINDS:
        return target, sensor.pose.position
    if kind in (*SCALAR_KINDS, *BALL_KINDS):
        return anchor(sheet, target)
    if kind in SUBTREE_KINDS:
        return (target, mechanism.bodies[target].com) if target in mechanism.bodies else None
    if kind in LENGTH_KINDS:
        if target in mechanism.tendons:
            return start_of(sheet, mechanism.tendons[target])
        if target in mechanism.springs:
            return mechanism.springs[target].body1, mechanism.springs[target].point1
        terms = sensor.terms or (
            mechanism.coordinate_springs[target].terms if target in mechanism.coordinate_springs else ()
        )
        return anchor(sheet, terms[0][0]) if terms else None
    if kind in ACTUATOR_KINDS:
        return _place_of_actuator(sheet, mechanism.actuators[target])
    return None


def _place_of_actuator(sheet: Sheet, actuator: Actuator) -> tuple[str, Array] | None:
    transmission = actuator.transmission
    if isinstance(transmission, TendonTransmission):
        return start_of(sheet, sheet.mechanism.tendons[transmission.tendon])
    if isinstance(transmission, ParentTransmission):
        return anchor(sheet, transmission.joint)
    if isinstance(transmission, SiteTransmission):
        return transmission.body, transmission.pose.position
    if isinstance(transmission, SliderCrank):
        return transmission.slider, transmission.pose.position
    return anchor(sheet, transmission[0][0]) if transmission else None


def sideways(sheet: Sheet, body: str, way: Array) -> Array:
    """Return a direction perpendicular to ``way``, in the plane of a planar mechanism."""
    side = np.cross(sheet.local(body, sheet.normal), way)
    size = float(np.linalg.norm(side))
    return side / size if size > 0.1 else across(way)[0]
