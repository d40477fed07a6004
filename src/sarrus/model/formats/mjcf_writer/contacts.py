"""Contacts of a mechanism as MuJoCo geoms: a sphere for every contact point or ball, and the planes of the contacts.

Contacts between geometries are written with their geoms. ``<pair>`` elements list the contacts; nothing else collides.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import SubElement

import numpy as np

from sarrus.base.names import unique
from sarrus.model.builders.geometry_contacts import hull
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.mjcf_writer.attributes import numbers, refused
from sarrus.model.formats.mjcf_writer.mjcf_document import NO_CONTACT, Document, place
from sarrus.model.mechanism.elements import Contact, Geom, GeometryContact, first_on_planes
from sarrus.model.mechanism.pose import Pose

CHOICES = ("refuse", "ignore", "geoms")

# MuJoCo's default coefficients: sliding (for contacts that stick without limit), torsion, rolling.
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
    for name in mechanism.geometry_contacts:
        raise refused(
            "geometry contact",
            name,
            "MuJoCo's contacts are soft. contacts='geoms' writes them and pairs, contacts='ignore' leaves them out",
        )


def refuse_gearings(mechanism: Mechanism) -> None:
    """Raise `UnsupportedElementError` if there is a transmission with losses."""
    for name, gearing in mechanism.gearings.items():
        raise refused(
            gearing.kind,
            name,
            "MuJoCo has no friction of teeth and threads, and no backlash; contacts='ignore' leaves the transmission "
            "out, and add_coupling writes one without losses",
        )


def add_geometry_contacts(document: Document) -> None:
    """Write the geometries in contact and their pairs, with elliptic cones."""
    mechanism, names = document.mechanism, dict[str, str]()
    contacts = mechanism.geometry_contacts.values()
    for contact in contacts:
        document.section("option").set("cone", "elliptic")
        for name in (contact.geom1, contact.geom2):
            if name not in names:
                names[name] = unique(name, (*names.values(), *mechanism.contacts))
                _add_geom(document, mechanism.geoms[name], names[name])
        sliding = contact.friction_coefficient
        lengths = [sliding * contact.torsion, *[sliding * contact.rolling] * 2]
        given = {
            "geom1": names[contact.geom1],
            "geom2": names[contact.geom2],
            "condim": _condim(sliding, contact),
        }
        given |= {"friction": numbers([sliding, sliding, *lengths]), "margin": repr(contact.margin)}
        SubElement(document.section("contact"), "pair", given)


def _add_geom(document: Document, geom: Geom, name: str) -> None:
    """Write a geometry that collides in pairs only; its body has a shape to draw."""
    if geom.heights is not None:
        raise refused(
            "geom", geom.name, "height fields are not written; contacts='ignore' leaves all contacts out"
        )
    given = {"name": name, "type": geom.kind, "size": numbers(geom.size), "group": "3"}
    if geom.kind == "plane":
        given["size"] = "0 0 1"
    if geom.points is not None:
        del given["size"]
        given["mesh"] = document.inline_mesh(geom.points, hull(geom.points))
    element = SubElement(document.bodies[geom.body], "geom", given | NO_CONTACT)
    place(element, geom.pose)


def add_contacts(document: Document, moving: Mapping[str, bool], radius: float) -> None:
    """Write a sphere for every contact, its plane if it is new, and their pair."""
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
        pair = {"geom1": contact.name, "geom2": planes[first], "condim": _condim(sliding, contact)}
        torsion, rolling = _lengths(contact)
        friction = numbers([sliding, sliding, torsion, rolling, rolling])
        SubElement(document.section("contact"), "pair", pair | {"friction": friction})


def _add_plane(document: Document, contact: Contact, name: str) -> None:
    axes = np.column_stack([contact.tangent1, contact.tangent2, contact.normal])
    element = SubElement(
        document.bodies[contact.ground], "geom", {"name": name, "type": "plane", "size": "0 0 1"}
    )
    place(element, Pose(contact.origin, axes))
    element.attrib.update(NO_CONTACT)


def _add_sphere(document: Document, contact: Contact, radius: float) -> None:
    """Write the ball of a contact, or a sphere that touches the plane with its point in the reference pose."""
    mechanism, centre = document.mechanism, contact.point
    if contact.radius == 0.0:
        normal = mechanism.reference_pose(contact.ground).rotation @ contact.normal
        centre = contact.point + radius * (mechanism.reference_pose(contact.body).rotation.T @ normal)
    size = repr(contact.radius or radius)
    given = {"name": contact.name, "type": "sphere", "size": size, "pos": numbers(centre)}
    friction = {"friction": numbers([_coefficient(contact), *_lengths(contact)])}
    SubElement(document.bodies[contact.body], "geom", given | friction | NO_CONTACT)


def _condim(sliding: float, contact: Contact | GeometryContact) -> str:
    """Return MuJoCo's number of rows, which with rolling friction has torsional friction too, zero here or not."""
    return "1" if sliding == 0.0 else "6" if contact.rolling else "4" if contact.torsion else "3"


def _lengths(contact: Contact) -> tuple[float, float]:
    """Return MuJoCo's torsional and rolling friction [m]: of the normal force, its defaults where there is none."""
    if not contact.turns:
        return _TORSION, _ROLLING
    return _coefficient(contact) * contact.torsion, _coefficient(contact) * (contact.rolling or _ROLLING)


def _coefficient(contact: Contact) -> float:
    if contact.friction == "frictionless":
        return 0.0
    return _SLIDING if contact.friction_coefficient is None else contact.friction_coefficient
