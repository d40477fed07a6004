"""Springs, dampers and actuators of a mechanism as MJCF tendons and general actuators."""

from __future__ import annotations

from xml.etree.ElementTree import SubElement

from sarrus.errors import UnsupportedElementError
from sarrus.mechanism.elements import Actuator
from sarrus.mechanism.export_document import Document, numbers
from sarrus.mechanism.pose import Pose

# MuJoCo reads this rest length as "the length in qpos0"; a spring that rests there is written negated.
_AUTOMATIC = (-1.0, -1.0)


def add_springs(document: Document) -> None:
    """Write springs between points as spatial tendons, those on coordinates as fixed tendons."""
    for spring in document.mechanism.springs.values():
        tendon = SubElement(document.section("tendon"), "spatial", {"name": spring.name})
        for number, body, point in ((1, spring.body1, spring.point1), (2, spring.body2, spring.point2)):
            SubElement(tendon, "site", {"site": document.site(f"{spring.name}.{number}", body, Pose(point))})
        tendon.set("stiffness", repr(spring.stiffness))
        tendon.set("damping", repr(spring.damping))
        tendon.set("springlength", numbers(spring.rest_length))
    for combination in document.mechanism.coordinate_springs.values():
        rest, sign = combination.rest_length, 1.0
        if rest == _AUTOMATIC:
            rest, sign = (1.0, 1.0), -1.0
        tendon = SubElement(document.section("tendon"), "fixed", {"name": combination.name})
        tendon.set("stiffness", repr(combination.stiffness))
        tendon.set("damping", repr(combination.damping))
        tendon.set("springlength", numbers(rest))
        for coordinate, weight in combination.terms:
            SubElement(tendon, "joint", {"joint": coordinate, "coef": repr(sign * weight)})


def add_actuators(document: Document) -> None:
    """Write every actuator as ``general`` with fixed gain and affine bias."""
    for actuator in document.mechanism.actuators.values():
        element = SubElement(document.section("actuator"), "general", {"name": actuator.name})
        for attribute, value in _transmission(document, actuator).items():
            element.set(attribute, value)
        element.set("gaintype", "fixed")
        element.set("gainprm", repr(actuator.gain))
        element.set("biastype", "affine")
        element.set("biasprm", numbers(actuator.bias))
        for attribute, limits in (("ctrl", actuator.limits), ("force", actuator.force_limits)):
            if limits is not None:
                element.set(f"{attribute}limited", "true")
                element.set(f"{attribute}range", numbers(limits))
        if actuator.activation is not None:
            element.set("dyntype", actuator.activation.kind)
            element.set("dynprm", repr(actuator.activation.time_constant))
            if actuator.activation.limits is not None:
                element.set("actlimited", "true")
                element.set("actrange", numbers(actuator.activation.limits))


def _transmission(document: Document, actuator: Actuator) -> dict[str, str]:
    """Return the joint with its gears, or a fixed tendon over several scalar joints."""
    targets = [(*document.velocities[velocity], gear) for velocity, gear in actuator.transmission]
    joints = {joint: size for joint, _, size, _ in targets}
    if len(joints) == 1:
        gears = [0.0] * 6
        for _, index, _, gear in targets:
            gears[index] = gear
        return {"joint": targets[0][0], "gear": numbers(gears)}
    if any(size > 1 for size in joints.values()):
        raise UnsupportedElementError(
            f"actuator {actuator.name!r}: MJCF has no actuator on a ball or free joint and on others",
            element=actuator.name,
        )
    tendon = document.tendon("fixed", f"{actuator.name}.transmission")
    for joint, _, _, gear in targets:
        SubElement(tendon, "joint", {"joint": joint, "coef": repr(gear)})
    return {"tendon": tendon.get("name", ""), "gear": numbers([1.0, 0, 0, 0, 0, 0])}
