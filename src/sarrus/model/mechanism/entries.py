"""The parameters of a mechanism by name, such as "link.com.x": the place of each in the elements, and its bounds.

===========  ====================================================================================================
of           numbers
===========  ====================================================================================================
a body       mass; com.x com.y com.z; inertia.xx yy zz xy xz yz (about the centre of mass); placement.x y z, the
             position of its frame in the frame of its parent (not for a body on a free joint)
a joint      anchor.x y z; stiffness; damping, armature, spring_reference, followed by the label of the degree of
             freedom where the joint has several, as in damping.angle; pitch of a screw
a closure    pose1.x y z, pose2.x y z; length of a distance; pitch of a screw
a coupling   COORDINATE.k, the coefficient of (q − reference)^k, as in gear.motor.1
a contact    point.x y z, origin.x y z
a rolling    centre.x y z, origin.x y z; radius, half_angle, roller_angle, surface.radius if it has them
a spring     stiffness, damping; rest_length if it is one number, else rest_length.lower and rest_length.upper;
             point1.x y z, point2.x y z of a spring between points
a tendon     stiffness, damping, armature; rest_length as for a spring; length, the upper limit, if it is a number
an actuator  gain; gear, or gear.VELOCITY if it has several, on joints; bias.constant, bias.length, bias.rate, or, of
             a motor with a winding, inductance and resistance; motor_constant if it is known
a force      point.x y z where it acts on a body
gravity      x y z
===========  ====================================================================================================

Each is an attribute of `sarrus.model.mechanism.elements`. If elements of two kinds share a name and a parameter,
write the kind first: "joint:elbow.stiffness".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.base.errors import ArgumentError, unknown_name
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import Body, CoordinateSpring, SpringDamper, Winding
from sarrus.model.mechanism.joint import COORDINATE_LABELS, VELOCITY_LABELS, Joint
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.surfaces import Cylinder, Sphere
from sarrus.model.mechanism.tendons import Tendon

# The place of a number in an attribute: none (a scalar), an index, a name, row and column, term and power.
Place = None | int | str | tuple[int, int]

KINDS = (
    "body",
    "joint",
    "closure",
    "coupling",
    "contact",
    "rolling",
    "spring",
    "tendon",
    "actuator",
    "force",
    "gravity",
)
_INERTIA = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}


@dataclass(frozen=True)
class Entry:
    """One parameter of a mechanism: an attribute of an element, at one or several ``places`` with the same value.

    ``least`` is its lower bound, None without a bound; with ``positive`` the value must be above the bound.
    """

    kind: str
    element: str
    name: str
    attribute: str
    places: tuple[Place, ...]
    value: float
    least: float | None = None
    positive: bool = False

    def __str__(self) -> str:
        return f"{self.name} of {self.kind} {self.element!r}"

    def allows(self, value: float) -> bool:
        """Tell whether ``value`` is within the bounds of the parameter."""
        return self.least is None or (value > self.least if self.positive else value >= self.least)


class Entries:
    """All parameters of a mechanism, to be found by name."""

    def __init__(self, description: Description) -> None:
        self._of: dict[str, dict[str, list[Entry]]] = {}
        for entry in _entries(description):
            self._of.setdefault(entry.element, {}).setdefault(entry.name, []).append(entry)

    def find(self, target: str, label: str) -> Entry:
        """Return the parameter named "element.name" or "kind:element.name"; errors begin with ``label``."""
        kind, colon, rest = target.partition(":")
        if not colon or kind not in KINDS:
            kind, rest = "", target
        dots = [i for i, letter in enumerate(rest) if letter == "."]
        for i in reversed(dots):
            found = [e for e in self._of.get(rest[:i], {}).get(rest[i + 1 :], ()) if kind in ("", e.kind)]
            if len(found) > 1:
                names = [f"{e.kind}:{target}" for e in found]
                raise ArgumentError(
                    f"{label}: {target!r} may be {' or '.join(map(str, found))}; write {' or '.join(names)}",
                    element=target,
                    valid=names,
                )
            if found:
                return found[0]
        element = next((rest[:i] for i in reversed(dots) if rest[:i] in self._of), None)
        if element is None:
            name, valid = rest.partition(".")[0], list(self._of)
            raise ArgumentError(f"{label}: {unknown_name('element', name, valid)}", element=name, valid=valid)
        valid = [f"{element}.{name}" for name in self._of[element]]
        raise ArgumentError(f"{label}: {unknown_name('number', rest, valid)}", element=target, valid=valid)


def _entries(d: Description) -> Iterator[Entry]:
    for body in d.bodies.values():
        yield from _of_body(body)
        for joint in body.joints:
            yield from _of_joint(joint)
    for c in d.closures.values():
        yield from _point("closure", c, "pose1", "pose2")
        if c.kind == "distance" and c.motion is None:
            yield _number("closure", c, "length", 0.0, positive=True)
        if c.kind == "screw":
            yield _number("closure", c, "pitch")
    for coupling in d.couplings.values():
        for i, term in enumerate(coupling.terms):
            for k, value in enumerate(term.coefficients):
                yield Entry("coupling", coupling.name, f"{term.coordinate}.{k}", "terms", ((i, k),), value)
    for contact in d.contacts.values():
        yield from _point("contact", contact, "point", "origin")
    for rolling in d.rollings.values():
        yield from _point("rolling", rolling, "centre", "origin")
        if rolling.kind != "knife_edge":
            yield _number("rolling", rolling, "radius", 0.0, positive=True)
        if rolling.kind == "cone":
            yield _number("rolling", rolling, "half_angle", 0.0, positive=True)
        if rolling.kind == "omni":
            yield _number("rolling", rolling, "roller_angle")
        if isinstance(rolling.surface, (Sphere, Cylinder)):
            value, at = rolling.surface.radius, ("radius",)
            yield Entry("rolling", rolling.name, "surface.radius", "surface", at, value, 0.0, True)
    for spring in d.springs.values():
        yield from _of_spring("spring", spring, least=0.0)
        yield from _point("spring", spring, "point1", "point2")
    for combined in d.coordinate_springs.values():
        yield from _of_spring("spring", combined, least=None)
    for tendon in d.tendons.values():
        yield from _of_spring("tendon", tendon, least=0.0 if tendon.spatial else None)
        yield _number("tendon", tendon, "armature", 0.0)
        upper = np.inf if tendon.limits is None else tendon.limits[1]
        if not callable(upper) and upper < np.inf:
            yield Entry("tendon", tendon.name, "length", "limits", (1,), float(upper))
    for actuator in d.actuators.values():
        gears = actuator.transmission if isinstance(actuator.transmission, tuple) else ()
        yield _number("actuator", actuator, "gain")
        for i, (velocity, gear) in enumerate(gears):
            label = f"gear.{velocity}" if len(gears) > 1 else "gear"
            yield Entry("actuator", actuator.name, label, "transmission", (i,), gear)
        if actuator.motor_constant is not None:
            yield _number("actuator", actuator, "motor_constant", 0.0, positive=True)
        winding = actuator.activation
        if isinstance(winding, Winding):
            for of in ("inductance", "resistance"):
                value = getattr(winding, of)
                yield Entry("actuator", actuator.name, of, "activation", (of,), value, 0.0, True)
            continue
        yield from _list("actuator", actuator, "bias", (".constant", ".length", ".rate"))
    for force in d.forces.values():
        if force.body is not None:
            yield from _point("force", force, "point")
    for i, letter in enumerate("xyz"):
        yield Entry("gravity", "gravity", letter, "gravity", (i,), float(d.gravity[i]))


def _number(
    kind: str, element: Any, attribute: str, least: float | None = None, *, positive: bool = False
) -> Entry:
    value = getattr(element, attribute)
    return Entry(kind, element.name, attribute, attribute, (None,), value, least, positive)


def _list(
    kind: str, element: Any, attribute: str, labels: Sequence[str], least: float | None = None
) -> Iterator[Entry]:
    """Iterate over the entries of a vector, or of the position of a pose."""
    values = getattr(element, attribute)
    for i, (label, value) in enumerate(zip(labels, values.position if isinstance(values, Pose) else values)):
        yield Entry(kind, element.name, attribute + label, attribute, (i,), float(value), least)


def _point(kind: str, element: Any, *attributes: str) -> Iterator[Entry]:
    for attribute in attributes:
        yield from _list(kind, element, attribute, (".x", ".y", ".z"))


def _of_body(body: Body) -> Iterator[Entry]:
    yield _number("body", body, "mass", 0.0)
    yield from _point("body", body, "com")
    for label, (i, j) in _INERTIA.items():
        places = ((i, j),) if i == j else ((i, j), (j, i))
        value, least = float(body.inertia[i, j]), 0.0 if i == j else None
        yield Entry("body", body.name, f"inertia.{label}", "inertia", places, value, least)
    if not (body.joints and body.joints[0].kind == "free"):
        yield from _point("body", body, "placement")


def _of_joint(joint: Joint) -> Iterator[Entry]:
    if joint.kind not in ("prismatic", "free"):
        yield from _point("joint", joint, "anchor")
    yield _number("joint", joint, "stiffness", 0.0)
    if joint.kind == "screw":
        yield _number("joint", joint, "pitch")
    for attribute in ("damping", "armature"):
        yield from _list("joint", joint, attribute, VELOCITY_LABELS[joint.kind], 0.0)
    if joint.kind not in ("spherical", "free"):
        yield from _list("joint", joint, "spring_reference", COORDINATE_LABELS[joint.kind])


def _of_spring(
    kind: str, spring: SpringDamper | CoordinateSpring | Tendon, least: float | None
) -> Iterator[Entry]:
    yield _number(kind, spring, "stiffness", 0.0)
    yield _number(kind, spring, "damping", 0.0)
    lower, upper = spring.rest_length
    if lower == upper:
        yield Entry(kind, spring.name, "rest_length", "rest_length", (0, 1), lower, least)
    else:
        yield from _list(kind, spring, "rest_length", (".lower", ".upper"), least)
