"""Actuators of a URDF file: <transmission> (ROS 1) and <ros2_control> effort interfaces."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from sarrus.errors import ModelFileError, unknown_name
from sarrus.mechanism.importing import Import
from sarrus.mechanism.model_xml import real


def add_transmissions(load: Import, root: ElementTree.Element) -> None:
    """Add a motor for every simple transmission and every joint with an effort command interface.

    The control is the motor's force or torque; <mechanicalReduction> is the gear. The joint's effort limit
    bounds the motor's force.
    """
    for transmission in root.findall("transmission"):
        name = transmission.get("name", "transmission")
        joints, actuators = transmission.findall("joint"), transmission.findall("actuator")
        if len(joints) != 1 or len(actuators) > 1:
            load.report.leave_out(
                "transmission", name, "left out: only one joint and one actuator are supported"
            )
            continue
        reduction = actuators[0].findtext("mechanicalReduction", "1") if actuators else "1"
        gear = _number(load, reduction, f"transmission {name!r}: mechanicalReduction")
        _add_motor(load, root, name, joints[0].get("name", ""), gear, "transmission")
    for control in root.findall("ros2_control"):
        for joint in control.findall("joint"):
            name = joint.get("name", "")
            interfaces = {interface.get("name") for interface in joint.findall("command_interface")}
            if "effort" not in interfaces:
                load.report.set_aside("ros2_control", name, "no effort command interface, so no motor")
            else:
                _add_motor(load, root, name, name, 1.0, "ros2_control")


def _number(load: Import, text: str, label: str) -> float:
    try:
        return real(text)
    except ValueError:
        raise ModelFileError(f"{load.path}: {label} is no number: {text!r}", element=label) from None


def _add_motor(
    load: Import, root: ElementTree.Element, name: str, joint: str, gear: float, kind: str
) -> None:
    scalar = [j.name for j in load.mechanism.joints() if j.nv == 1]
    if joint not in scalar:
        load.odd(kind, name, unknown_name("movable joint", joint, scalar), element=joint, valid=scalar)
        return
    limits = None
    for element in root.findall("joint"):
        limit = element.find("limit")
        if element.get("name") == joint and limit is not None and limit.get("effort") and gear != 0.0:
            effort = abs(_number(load, limit.get("effort", "0"), f"joint {joint!r}: limit effort") / gear)
            limits = (-effort, effort) if effort > 0.0 else None
    load.mechanism.add_actuator(name, joint, gear=gear, force_limits=limits)
    load.report.act(kind, name)
