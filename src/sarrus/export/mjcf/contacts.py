"""Contacts of a mechanism as geoms of MuJoCo: a sphere at every point or of every ball, and the planes that they touch.

Pairs say which sphere touches which plane; nothing else in the model collides.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import SubElement

import numpy as np

from sarrus.base.names import unique
from sarrus.export.mjcf.attributes import numbers, refused
from sarrus.export.mjcf.mjcf_document import TOUCHES_NOTHING, Document, place
from sarrus.mechanism.elements import Contact, first_on_planes
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Pose

CHOICES = ("refuse", "ignore", "geoms")

# MuJoCo's own coefficients: of sliding where a contact sticks with any force, of torsion and of rolling.
_SLIDING, _TORSION, _ROLLING = 1.0, 0.005, 0.0001


def refuse_contacts(mechanism: Mechanism) -> None:
    """Raise `UnsupportedElementError` if there is a contact."""
    for name in mechanism.contacts:
        raise refused(
            "contact",
            name,
            "MJCF has no contact of a point with a plane; its contacts are between geoms and soft. "
            "contacts='geoms' writes small spheres on planes, contacts='ignore' leaves them out",
        )


def add_contacts(document: Document, moving: Mapping[str, bool], radius: float) -> None:
    """Write a sphere for every contact, its plane if it is a new one, and the pair of the two."""
    mechanism = document.mechanism
    if mechanism.contacts:
        document.section("option").set("cone", "elliptic")
    contacts = list(mechanism.contacts.values())
    planes: dict[int, str] = {}
    for contact, first in zip(contacts, first_on_planes(contacts)):
        if moving[contact.ground]:
            reason = (
                f"its plane is on {contact.ground!r}, which moves, and MuJoCo has planes on the ground only"
            )
            raise refused("contact", contact.name, reason)
        if contact is contacts[first]:
            planes[first] = unique(f"{contact.name}.plane", (*planes.values(), *mechanism.contacts))
            _add_plane(document, contact, planes[first])
        _add_sphere(document, contact, radius)
        sliding = _coefficient(contact)
        condim = "1" if sliding == 0.0 else "4" if contact.torsion else "3"
        pair = {"geom1": contact.name, "geom2": planes[first], "condim": condim}
        friction = numbers([sliding, sliding, _torsion(contact), _ROLLING, _ROLLING])
        SubElement(document.section("contact"), "pair", pair | {"friction": friction})


def _add_plane(document: Document, contact: Contact, name: str) -> None:
    axes = np.column_stack([contact.tangent1, contact.tangent2, contact.normal])
    element = SubElement(
        document.bodies[contact.ground], "geom", {"name": name, "type": "plane", "size": "0 0 1"}
    )
    place(element, Pose(contact.origin, axes))
    element.attrib.update(TOUCHES_NOTHING)


def _add_sphere(document: Document, contact: Contact, radius: float) -> None:
    """Write the ball of a contact, or a sphere that touches the plane with its point in the reference pose."""
    mechanism, centre = document.mechanism, contact.point
    if contact.radius == 0.0:
        normal = mechanism.reference_pose(contact.ground).rotation @ contact.normal
        centre = contact.point + radius * (mechanism.reference_pose(contact.body).rotation.T @ normal)
    size = repr(contact.radius or radius)
    given = {"name": contact.name, "type": "sphere", "size": size, "pos": numbers(centre)}
    friction = {"friction": numbers([_coefficient(contact), _torsion(contact), _ROLLING])}
    SubElement(document.bodies[contact.body], "geom", given | friction | TOUCHES_NOTHING)


def _torsion(contact: Contact) -> float:
    return _coefficient(contact) * contact.torsion if contact.torsion else _TORSION


def _coefficient(contact: Contact) -> float:
    if contact.friction == "frictionless":
        return 0.0
    return _SLIDING if contact.friction_coefficient is None else contact.friction_coefficient
