"""Actuators of a URDF file: <transmission> (ROS 1) and <ros2_control> effort interfaces."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from sarrus.base.errors import ModelFileError, unknown_name
from sarrus.formats.importing import Import
from sarrus.formats.model_xml import real


def add_transmissions(load: Import, root: ElementTree.Element) -> None:
    """Add a motor for every simple transmission and every joint with an effort command interface.

    The control is the motor's force or torque; <mechanicalReduction> is the gear. The joint's effort limit
    bounds the motor's force.
    """
    motors = _Motors(load, root)
    for transmission in root.findall("transmission"):
        name = transmission.get("name", "transmission")
        joints, actuators = transmission.findall("joint"), transmission.findall("actuator")
        if len(joints) != 1 or len(actuators) > 1:
            load.report.leave_out(
                "transmission", name, "left out: only one joint and one actuator are supported"
            )
            continue
        reduction = actuators[0].findtext("mechanicalReduction", "1") if actuators else "1"
        try:
            gear = real(reduction)
        except ValueError:
            load.odd("transmission", name, f"its mechanicalReduction is no number: {reduction!r}")
            continue
        motors.add(name, joints[0].get("name", ""), gear, "transmission")
    for control in root.findall("ros2_control"):
        for joint in control.findall("joint"):
            name = joint.get("name", "")
            interfaces = {interface.get("name") for interface in joint.findall("command_interface")}
            if "effort" not in interfaces:
                load.report.set_aside("ros2_control", name, "no effort command interface, so no motor")
            else:
                motors.add(name, name, 1.0, "ros2_control")
        for transmission in control.findall("transmission"):
            name = transmission.get("name", "transmission")
            load.report.leave_out(
                "transmission", name, "inside <ros2_control>: its reduction is not applied to the motor"
            )


class _Motors:
    """Adds motors to the joints of one file."""

    def __init__(self, load: Import, root: ElementTree.Element) -> None:
        self._load = load
        self._scalar = {j.name: j for j in load.mechanism.joints() if j.nv == 1}
        self._efforts = {
            joint.get("name", ""): limit.get("effort", "")
            for joint in root.findall("joint")
            if (limit := joint.find("limit")) is not None
        }

    def add(self, name: str, joint: str, gear: float, kind: str) -> None:
        """Add a motor whose force is within the joint's effort limit; list one of a joint that is not there."""
        load, given = self._load, self._efforts.get(joint)
        if joint not in self._scalar:
            valid = tuple(self._scalar)
            load.odd(kind, name, unknown_name("movable joint", joint, valid), element=joint, valid=valid)
            return
        limits = None
        if given and gear != 0.0:
            try:
                effort = abs(real(given) / gear)
            except ValueError:
                label = f"joint {joint!r}: limit effort"
                raise ModelFileError(f"{load.path}: {label} is no number: {given!r}", element=label) from None
            limits = (-effort, effort) if effort > 0.0 else None
        load.mechanism.add_actuator(name, joint, gear=gear, force_limits=limits)
        load.report.act(kind, name)
