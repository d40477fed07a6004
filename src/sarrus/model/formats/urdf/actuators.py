"""Actuators of a URDF file: <transmission> (ROS 1) and <ros2_control> effort interfaces."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from sarrus.base.errors import ModelFileError, unknown_name
from sarrus.model.formats.importing import Import
from sarrus.model.formats.model_xml import real


def add_transmissions(load: Import, root: ElementTree.Element) -> None:
    """Add a motor for every simple transmission and every joint with an effort command interface.

    The control is the motor's force or torque; <mechanicalReduction> is the gear. The joint's effort limit
    bounds the motor's force. A motor of an unknown joint is listed.
    """
    scalar = tuple(joint.name for joint in load.mechanism.joints() if joint.nv == 1)
    efforts = {
        joint.get("name", ""): limit.get("effort", "")
        for joint in root.findall("joint")
        if (limit := joint.find("limit")) is not None
    }
    for kind, name, joint, gear in _motors(load, root):
        if joint not in scalar:
            load.odd(kind, name, unknown_name("movable joint", joint, scalar), element=joint, valid=scalar)
            continue
        given, limits = efforts.get(joint), None
        if given and gear != 0.0:
            try:
                effort = abs(real(given) / gear)
            except ValueError:
                label = f"joint {joint!r}: limit effort"
                raise ModelFileError(f"{load.path}: {label} is no number: {given!r}", element=label) from None
            limits = (-effort, effort) if effort > 0.0 else None
        load.mechanism.add_actuator(name, joint, gear=gear, force_limits=limits)
        load.report.act(kind, name)


def _motors(load: Import, root: ElementTree.Element) -> Iterator[tuple[str, str, str, float]]:
    """Iterate over (kind of the element, name, joint, gear) of the motors; list elements that are no motor."""
    for transmission in root.findall("transmission"):
        name = transmission.get("name", "transmission")
        joints, actuators = transmission.findall("joint"), transmission.findall("actuator")
        if len(joints) != 1 or len(actuators) > 1:
            reason = "left out: only one joint and one actuator are supported"
            load.report.leave_out("transmission", name, reason)
            continue
        reduction = transmission.findtext("mechanicalReduction", "1")  # its place in ROS before 2012
        if actuators:
            reduction = actuators[0].findtext("mechanicalReduction", reduction)
        try:
            gear = real(reduction)
        except ValueError:
            load.odd("transmission", name, f"its mechanicalReduction is no number: {reduction!r}")
            continue
        yield "transmission", name, joints[0].get("name", ""), gear
    for control in root.findall("ros2_control"):
        for joint in control.findall("joint"):
            name = joint.get("name", "")
            mimicked = root.find(f"joint[@name={name!r}]/mimic") is not None
            if joint.find("param[@name='mimic']") is not None and not mimicked:
                reason = "it is a <param> of ros2_control, and no joint of the robot"
                load.refuse("mimic", name, reason, "write it as <mimic> of the joint")
            if joint.find("command_interface[@name='effort']") is not None:
                yield "ros2_control", name, name, 1.0
            else:
                load.report.set_aside("ros2_control", name, "no effort command interface, so no motor")
        for transmission in control.findall("transmission"):
            name = transmission.get("name", "transmission")
            reason = "inside <ros2_control>: its reduction is not applied to the motor"
            load.report.leave_out("transmission", name, reason)
