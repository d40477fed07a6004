"""The place of a contact on a body: a point, a frame of the model file, or a geom of the model file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import Geom
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import Pose, clean


@dataclass(frozen=True)
class Place:
    """A pose on a body. For a geom also its radius about the point [m] and its friction coefficient."""

    body: str
    pose: Pose
    radius: float = 0.0
    friction: float | None = None


@dataclass(frozen=True)
class Plane:
    """The plane of a contact, in the axes of the body that carries it."""

    ground: str
    origin: Array
    normal: Array
    tangent1: Array
    tangent2: Array

    def raised(self, height: float) -> Plane:
        """Return the plane moved along its normal [m]."""
        return replace(self, origin=self.origin + height * self.normal)


def only_one(body: Any, where: Any, site: Any, geom: Any, label: Label) -> None:
    """Raise unless exactly one of body, site and geom is given; a point or pose is allowed with body only."""
    given = [what for what, value in (("body", body), ("site", site), ("geom", geom)) if value is not None]
    if len(given) != 1:
        raise fault(label, f"give one of body, site and geom, got {' and '.join(given) or 'none'}")
    if where is not None and body is None:
        raise fault(label, f"a point or pose goes with body= only; a {given[0]} has its own")


def at_site(description: Description, site: str, label: Label) -> Place:
    """Return the place of a frame of the model file, or of a body, by name."""
    frames = {name: (name, Pose()) for name in description.bodies} | description.frames
    check_name("site", site, frames, label, site)
    return Place(*frames[site])


def point_of(description: Description, name: str, label: Label) -> Place:
    """Return the centre of a sphere, the only geom with one contact point in all poses; the plane is raised."""
    geom = geom_named(description, name, label)
    if geom.kind == "sphere":
        return Place(geom.body, geom.pose, float(geom.size[0]), geom.friction)
    remedy = f"give body={geom.body!r} and the point that touches"
    if geom.kind == "capsule":
        ends = [geom.pose.apply((0.0, 0.0, z)) for z in (geom.size[1], -geom.size[1])]
        one, other = (f"({', '.join(f'{x:.6g}' for x in end)})" for end in ends)
        remedy = f"give body={geom.body!r} and an end, point={one} or {other}, with offset raised by {geom.size[0]:g}"
    elif geom.kind == "box":
        remedy = f"add_contact_patch with geom={name!r} has contacts at the corners of its lower face"
    raise fault(
        label,
        f"geom {name!r} ({geom.kind}): only a sphere touches with one point in all poses; {remedy}",
        name,
    )


def lower_face(
    description: Description, name: str, plane: Plane, label: Label
) -> tuple[Place, tuple[float, ...]]:
    """Return the frame and the half sizes of the face with which a box stands on a plane in the reference pose.

    Of the six faces it is the one with the outward normal most opposed to the normal of the plane. The x axis of
    the frame is the edge of this face closest to the first tangent.
    """
    geom = geom_named(description, name, label)
    if geom.kind != "box":
        raise fault(
            label,
            f"geom {name!r} ({geom.kind}): only a box has a face to stand on; give body={geom.body!r}, "
            "the pose of the patch on it, and extent",
            name,
        )
    ground, body = description.reference_pose(plane.ground), description.reference_pose(geom.body)
    seen = (body @ geom.pose).rotation.T @ ground.rotation  # from axes of the ground to axes of the box
    normal, tangent = seen @ plane.normal, seen @ plane.tangent1
    up = int(np.argmax(np.abs(normal)))
    others = [i for i in range(3) if i != up]
    first = max(others, key=lambda i: abs(tangent[i]))
    z, x = (np.copysign(1.0, v[i]) * np.eye(3)[i] for v, i in ((normal, up), (tangent, first)))
    face = Pose(-geom.size[up] * z, clean(np.column_stack([x, np.cross(z, x), z])))
    second = next(i for i in others if i != first)
    half = float(geom.size[first]), float(geom.size[second])
    return Place(geom.body, geom.pose @ face, friction=geom.friction), half


def geom_named(description: Description, name: str, label: Label) -> Geom:
    """Return a geom of the model file by name; an unknown name is a `ModelError` that lists the valid ones."""
    collides(description, name, label)
    check_name("geom", name, description.geoms, label, name)
    return description.geoms[name]


def collides(description: Description, name: str, label: Label) -> None:
    """Raise if the model file has the geom but excludes it from all contacts."""
    if isinstance(name, str) and name in description.idle_geoms:
        raise fault(label, f"geom {name!r} is in the file, but {description.idle_geoms[name]}")
