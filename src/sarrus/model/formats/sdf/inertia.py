"""``<inertial auto="true">`` of SDF: mass and inertia of a link from its collisions and their densities.

As in libsdformat 14: the density of a collision is its own ``<density>``, else the one of the ``<inertial>``, else
1000 kg/m³; mass, pose and inertia given beside are not used. Solids are full. The base of a cone is half its length
below its origin, its centre of mass a quarter of its length below (in libsdformat at the origin).
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.formats.importing import Import
from sarrus.model.formats.sdf import xml
from sarrus.model.formats.sdf.frames import Scope
from sarrus.model.mechanism.report import Outcome

WATER = 1000.0  # kg/m³, SDF's default density


def auto_inertia(importing: Import, scope: Scope, link: Element, name: str) -> tuple[float, Array, Array]:
    """Return mass [kg], centre of mass [m] and inertia about it [kg m²], in link axes.

    Refuse shapes without formula.
    """
    label, inertial = f"link {name!r}", link.find("inertial")
    beside = [
        tag for tag in ("mass", "pose", "inertia") if inertial is not None and inertial.find(tag) is not None
    ]
    if beside:
        importing.odd("inertial", name, f"auto: <{'>, <'.join(beside)}> beside it not used", Outcome.ASIDE)
    default = xml.number(inertial, "density", WATER, label)
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    collisions = link.findall("collision")
    for collision in collisions:
        own = f"{name}/{collision.get('name', 'collision')}"
        solid = _solid(collision, own)
        if solid is None:
            _refuse(importing, own, "its shape has no volume that is computed here")
            continue
        density = xml.number(collision, "density", default, own)
        if density <= 0.0:
            _refuse(importing, own, f"its density must be positive, got {density:g}")
            continue
        volume, centre, moments = solid
        pose = scope.local_pose(link, collision, own)
        m, at = density * volume, pose.apply(centre)
        mass, first = mass + m, first + m * at
        rotation = pose.rotation
        second = second + rotation @ np.diag(density * moments) @ rotation.T + m * _about(at)
    if mass == 0.0:
        _refuse(importing, name, "no collision has a mass")
        return 0.0, np.zeros(3), np.zeros((3, 3))
    com = first / mass
    return mass, com, second - mass * _about(com)


def _refuse(importing: Import, name: str, reason: str) -> None:
    importing.refuse(
        "inertial", name, f'<inertial auto="true">: {reason}', "give the link a <mass> and an <inertia>"
    )


def _about(at: Array) -> Array:
    """Return the inertia [m²] about the origin of a unit mass at a point."""
    return np.asarray(float(at @ at) * np.eye(3) - np.outer(at, at))


def _solid(collision: Element, label: str) -> tuple[float, Array, Array] | None:
    """Return volume [m³], centroid, and principal moments of unit density [m⁵] in the shape's axes."""
    geometry = collision.find("geometry")
    shape = next(iter(geometry), None) if geometry is not None else None
    if shape is None:
        return None
    r, h = (
        xml.number(shape, "radius", 0.5 if shape.tag != "sphere" else 1.0, label),
        xml.number(shape, "length", 1.0, label),
    )
    centre = np.zeros(3)
    if shape.tag == "box":
        sides = xml.numbers(xml.text(shape, "size", "1 1 1"), 3, "box size", label)
        volume, squares = float(np.prod(sides)), sides**2 / 12.0
    elif shape.tag in ("sphere", "ellipsoid"):
        radii = np.full(3, r)
        if shape.tag == "ellipsoid":
            radii = xml.numbers(xml.text(shape, "radii", "1 1 1"), 3, "radii", label)
        volume, squares = 4.0 / 3.0 * np.pi * float(np.prod(radii)), radii**2 / 5.0
    elif shape.tag == "cylinder":
        volume, squares = np.pi * r**2 * h, np.array([r**2 / 4.0, r**2 / 4.0, h**2 / 12.0])
    elif shape.tag == "cone":
        volume, squares = np.pi * r**2 * h / 3.0, np.array([0.15 * r**2, 0.15 * r**2, 0.0375 * h**2])
        centre = np.array([0.0, 0.0, -0.25 * h])
    elif shape.tag == "capsule":
        shaft, ball = np.pi * r**2 * h, 4.0 / 3.0 * np.pi * r**3
        volume = shaft + ball
        across = (shaft * r**2 / 4.0 + ball * r**2 / 5.0) / volume
        # two half balls with centroids 3/8 r beyond the ends of the shaft
        along = (shaft * h**2 / 12.0 + ball * (r**2 / 5.0 + 0.375 * r * h + 0.25 * h**2)) / volume
        squares = np.array([across, across, along])
    else:
        return None
    if not volume > 0.0:
        return None
    return volume, centre, volume * (squares.sum() - squares)
