"""Springs, dampers and actuators of a mechanism as MJCF tendons and general actuators."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from sarrus.model.formats.mjcf_writer.attributes import numbers, refused, set_limits
from sarrus.model.formats.mjcf_writer.mjcf_document import Document, add_terms
from sarrus.model.mechanism.elements import Actuator, CoordinateSpring, SpringDamper, Winding
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.tendons import Pulley, Tendon, TendonJoint, TendonPoint
from sarrus.model.mechanism.transmissions import (
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
)

# Rest length that MuJoCo reads as "the length in qpos0"; a spring with this rest length is written negated.
_AUTOMATIC = (-1.0, -1.0)


def add_springs(document: Document) -> None:
    """Write springs between points as spatial tendons, those on coordinates as fixed tendons."""
    mechanism = document.mechanism
    for spring in mechanism.springs.values():
        _check_law(spring)
        tendon = SubElement(document.section("tendon"), "spatial", {"name": spring.name})
        for number, body, point in ((1, spring.body1, spring.point1), (2, spring.body2, spring.point2)):
            SubElement(tendon, "site", {"site": document.site(f"{spring.name}.{number}", body, Pose(point))})
        _set_spring(tendon, [spring.stiffness], [spring.damping], spring.rest_length)
    for combination in mechanism.coordinate_springs.values():
        _check_law(combination)
        rest, sign = _written(combination.rest_length)
        tendon = SubElement(document.section("tendon"), "fixed", {"name": combination.name})
        _set_spring(tendon, [combination.stiffness], [combination.damping], rest)
        add_terms(tendon, ((coordinate, sign * weight) for coordinate, weight in combination.terms))


def _check_law(spring: SpringDamper | CoordinateSpring) -> None:
    """Raise if a spring has a law."""
    if spring.law is not None or spring.damper_law is not None:
        raise refused(
            "spring", spring.name, "springs and dampers of MJCF are polynomials, this one has a law"
        )


def _set_spring(
    tendon: Element, stiffness: Sequence[float], damping: Sequence[float], rest: tuple[float, float]
) -> None:
    for attribute, values in (("stiffness", stiffness), ("damping", damping), ("springlength", rest)):
        tendon.set(attribute, numbers(values))


def _written(rest: tuple[float, float]) -> tuple[tuple[float, float], float]:
    """Return a rest length in a form that MuJoCo does not reinterpret, and the sign of the corresponding weights."""
    return ((1.0, 1.0), -1.0) if rest == _AUTOMATIC else (rest, 1.0)


def add_tendons(document: Document) -> None:
    """Write every tendon, spatial or fixed, with its range and its recorded friction."""
    for tendon in document.mechanism.tendons.values():
        _check_rope(tendon)
        element = SubElement(
            document.section("tendon"), "spatial" if tendon.spatial else "fixed", {"name": tendon.name}
        )
        rest, sign = _written(tendon.rest_length)
        if sign < 0.0 and (tendon.limits or tendon.stiffness_higher or _pulled(document, tendon)):
            raise refused(
                "tendon",
                tendon.name,
                "MJCF reads a rest length of −1 as the length in the reference configuration",
            )
        stiffness = (tendon.stiffness, *tendon.stiffness_higher)
        _set_spring(element, stiffness, (tendon.damping, *tendon.damping_higher), rest)
        element.set("armature", repr(tendon.armature))
        element.set("frictionloss", repr(tendon.friction))
        set_limits(element, _range(tendon))
        set_limits(element, tendon.force_limits, "actuatorfrc")
        for number, item in enumerate(tendon.path):
            name = f"{tendon.name}.{number}"
            if isinstance(item, TendonJoint):
                add_terms(element, [(item.coordinate, sign * item.weight)])
            elif isinstance(item, TendonPoint):
                SubElement(element, "site", {"site": document.site(name, item.body, Pose(item.point))})
            elif isinstance(item, Pulley):
                SubElement(element, "pulley", {"divisor": repr(item.divisor)})
            else:
                wrap = SubElement(element, "geom", {"geom": document.wrap(name, item)})
                if item.side is not None:
                    body, point = item.side
                    wrap.set("sidesite", document.site(f"{name}.side", body, Pose(point)))


def _check_rope(tendon: Tendon) -> None:
    """Raise if a tendon has what no tendon of MJCF has."""
    if tendon.spatial and tendon.joints:
        reason = "MJCF has no tendon with both a path and terms of joints; wrap the drum as a geom"
        raise refused("tendon", tendon.name, reason)
    if tendon.rubbing:
        raise refused("tendon", tendon.name, "MJCF has no friction between a tendon and what it wraps")
    if any(callable(rope.bound) for rope in tendon.ropes):
        raise refused("tendon", tendon.name, "MJCF cannot express a length that is a function of time")


def _range(tendon: Tendon) -> tuple[float, float] | None:
    """Return the range of a tendon, None without limits; "0 L" for a rope along a path."""
    if tendon.limits is None:
        return None
    lower, upper = (float(bound) for bound in tendon.limits)  # type: ignore[arg-type]
    return (0.0 if tendon.spatial and lower == -float("inf") else lower), upper


def _pulled(document: Document, tendon: Tendon) -> bool:
    """Tell whether an actuator or a coupling uses the length of a tendon."""
    pulls = [a.transmission for a in document.mechanism.actuators.values()]
    terms = [term.coordinate for c in document.mechanism.couplings.values() for term in c.terms]
    return f"tendon:{tendon.name}" in terms or any(
        isinstance(pull, TendonTransmission) and pull.tendon == tendon.name for pull in pulls
    )


def add_actuators(document: Document) -> None:
    """Write every actuator as ``general`` with fixed or affine gain and affine bias, with a winding as ``dcmotor``."""
    for actuator in document.mechanism.actuators.values():
        if isinstance(actuator.activation, Winding):
            _add_motor(document, actuator, actuator.activation)
            continue
        element = SubElement(document.section("actuator"), "general", {"name": actuator.name})
        for attribute, value in _transmission(document, actuator).items():
            element.set(attribute, value)
        varies = any(actuator.gain_slopes)
        element.set("gaintype", "affine" if varies else "fixed")
        element.set("gainprm", numbers((actuator.gain, *(actuator.gain_slopes if varies else ()))))
        element.set("biastype", "affine")
        element.set("biasprm", numbers(actuator.bias))
        set_limits(element, actuator.limits, "ctrl")
        set_limits(element, actuator.force_limits, "force")
        if actuator.activation is not None:
            element.set("dyntype", actuator.activation.kind)
            element.set("dynprm", repr(actuator.activation.time_constant))
            set_limits(element, actuator.activation.limits, "act")


def _add_motor(document: Document, actuator: Actuator, winding: Winding) -> None:
    """Write a motor with inductance. MJCF needs positive constants: a negative one becomes a negative gear."""
    name = actuator.name
    if winding.limits is not None:
        raise refused(
            "actuator",
            name,
            "MJCF limits the torque of a motor, not its current; mechanism.without_activation() has such limits",
        )
    limits = actuator.force_limits
    if limits is not None and limits[0] != -limits[1]:
        raise refused("actuator", name, f"a dcmotor has limits ±torque, this one {limits}")
    element = SubElement(document.section("actuator"), "dcmotor", {"name": name})
    attributes = _transmission(document, actuator)
    if actuator.gain < 0.0:
        attributes["gear"] = numbers([-float(gear) for gear in attributes["gear"].split()])
    for attribute, value in attributes.items():
        element.set(attribute, value)
    element.set("motorconst", repr(abs(actuator.gain)))
    element.set("resistance", repr(winding.resistance))
    element.set("inductance", repr(winding.inductance))
    set_limits(element, actuator.limits, "ctrl")
    if limits is not None:
        element.set("saturation", repr(limits[1]))


def _transmission(document: Document, actuator: Actuator) -> dict[str, str]:
    """Return the transmission of an actuator with its gears; a fixed tendon for several scalar joints."""
    along, name = actuator.transmission, actuator.name
    if isinstance(along, TendonTransmission):
        return {"tendon": along.tendon, "gear": _gear([along.gear])}
    if isinstance(along, ParentTransmission):
        return {"jointinparent": along.joint, "gear": _gear(along.gear)}
    if isinstance(along, SiteTransmission):
        sites = {"site": document.site(f"{name}.site", along.body, along.pose), "gear": _gear(along.gear)}
        if along.reference is not None:
            sites["refsite"] = document.site(f"{name}.reference", *along.reference)
        return sites
    if isinstance(along, SliderCrank):
        return {
            "cranksite": document.site(f"{name}.pin", along.body, Pose(along.pin)),
            "slidersite": document.site(f"{name}.slider", along.slider, along.pose),
            "cranklength": repr(along.rod),
            "gear": _gear([along.gear]),
        }
    targets = [(*document.velocities[velocity], gear) for velocity, gear in along]
    joints = {joint: size for joint, _, size, _ in targets}
    if len(joints) == 1:
        gears = [0.0] * 6
        for _, index, _, gear in targets:
            gears[index] = gear
        return {"joint": targets[0][0], "gear": numbers(gears)}
    if any(size > 1 for size in joints.values()):
        raise refused("actuator", name, "MJCF has no actuator on a ball or free joint and on others")
    tendon = document.combination(f"{name}.transmission", [(joint, gear) for joint, _, _, gear in targets])
    return {"tendon": tendon, "gear": _gear([1.0])}


def _gear(entries: Sequence[float]) -> str:
    """Return the six gear numbers of an MJCF transmission."""
    return numbers([*entries, *[0.0] * (6 - len(entries))])
