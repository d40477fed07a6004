"""`clearance`: distance of two shapes (`Sphere`, `Capsule`, `Plane`, geoms of the mechanism) as a quantity."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import number_between, three_numbers
from sarrus.control.quantities.quantities import Part, Quantity, direction, frames_of, mechanism_of, of_jet
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.contact_features import Rim
from sarrus.model.mechanism.elements import WORLD, Geom, GeometryContact
from sarrus.model.mechanism.pose import Pose, rotation_along
from sarrus.model.mechanism.surface_contacts import SurfaceContact, places
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.jet import Jet, dot, through, vertcat
from sarrus.symbolic.rows.surface_pairs import nearest


@dataclass(frozen=True, eq=False)
class Sphere:
    """A sphere on a body: ``centre`` [m] in its axes, ``radius`` [m], zero for a point. The body may be "world"."""

    body: str
    centre: ArrayLike = (0.0, 0.0, 0.0)
    radius: float = 0.0

    def geom(self, name: str) -> Geom:
        """Return the shape as a geom."""
        size = np.array([number_between(self.radius, 0.0, np.inf, "radius"), 0.0, 0.0])
        return Geom(name, self.body, "sphere", size, Pose(three_numbers(self.centre, "centre")))


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within ``radius`` [m] of the line from ``start`` to ``end`` [m], in axes of a body, which may be
    "world".
    """

    body: str
    start: ArrayLike
    end: ArrayLike
    radius: float = 0.0

    def geom(self, name: str) -> Geom:
        """Return the shape as a geom."""
        start, end = three_numbers(self.start, "start"), three_numbers(self.end, "end")
        half = 0.5 * float(np.linalg.norm(end - start))
        if half == 0.0:
            raise ArgumentError(
                "Capsule: start and end must differ; use a Sphere if they do not", element="end"
            )
        size = np.array([number_between(self.radius, 0.0, np.inf, "radius"), half, 0.0])
        return Geom(name, self.body, "capsule", size, Pose(0.5 * (start + end), _towards(end - start)))


@dataclass(frozen=True, eq=False)
class Plane:
    """The half-space below a plane of the world, or of a ``body``, through ``point`` [m] with the outward
    ``normal``.
    """

    point: ArrayLike = (0.0, 0.0, 0.0)
    normal: ArrayLike = (0.0, 0.0, 1.0)
    body: str = WORLD

    def geom(self, name: str) -> Geom:
        """Return the shape as a geom."""
        pose = Pose(three_numbers(self.point, "point"), _towards(direction(self.normal, "normal")))
        return Geom(name, self.body, "plane", np.zeros(3), pose)


Shape = Sphere | Capsule | Plane | str


def clearance(a: Shape, b: Shape) -> Part:
    """Return the quantity clearance of two shapes [m], negative if they overlap; a `Bound` of it avoids collisions.

    ``a`` and ``b``: `Sphere`, `Capsule`, `Plane`, or the name of a geom of the mechanism; boxes and cylinders are
    possible beside a sphere, boxes, cylinders, meshes and ellipsoids beside a plane (the closed forms of "Contacts
    between geometries" in the docs). Margins of geoms are ignored.

    There is a row for each possible place of contact: one for spheres, and for any shape beside a sphere; beside a
    plane one for each end of a capsule or cylinder and each corner of a box; for two capsules five, the distance and
    the distance of each of the four ends from the other capsule, so that no row jumps when the capsules pass a parallel
    position.
    Every row is at least the distance, and one row equals it. The direction of the distance between points or lines is
    undefined where they meet, which is the deepest possible overlap.

    Raises `ArgumentError` for an unknown body or geom, shapes on one body, and a pair without a closed form.
    """

    def trace(system: System) -> Quantity:
        mechanism = mechanism_of(system)
        geoms = {name: _geom(shape, name, mechanism) for name, shape in (("a", a), ("b", b))}
        one, other = geoms["a"], geoms["b"]
        frames = frames_of(system, one.body, other.body)
        label = f"{_label(a, one)} to {_label(b, other)}"
        if one.body == other.body:
            raise ArgumentError(
                f"{system.name}: clearance of {label}: both shapes are on {one.body!r}; give shapes of two bodies",
                element="clearance",
            )
        found = [
            place
            for place in places(GeometryContact(label, "a", "b", 0.0), geoms)
            if place.feature is None or (isinstance(place.feature, Rim) and not place.feature.corner)
        ]
        if not found:
            raise ArgumentError(
                f"{system.name}: clearance of {label}: the distance of a {one.kind} and a {other.kind} has no closed "
                "form; cover one of them with spheres or capsules",
                element="clearance",
            )
        rows = [place.name for place in found] if len(found) > 1 else [label]
        return of_jet(system, vertcat([_gap(place, frames) for place in found]), tuple(rows), "m")

    return Part(trace)


def _gap(place: SurfaceContact, frames: Frames) -> Jet:
    """Return the jet of the gap at a place of contact."""
    geom, base = place.geom, place.base
    axes = [frames.direction(base.body, axis) for axis in base.pose.rotation.T]
    here = frames.point(geom.body, geom.pose.position if place.centre is None else place.centre)
    way = here - frames.point(base.body, base.pose.position)
    centre = vertcat([dot(axis, way) for axis in axes])
    if place.centre is not None:
        return through(lambda c: nearest(place, c, ca.SX.eye(3)).gap, centre)
    own = [frames.direction(geom.body, axis) for axis in geom.pose.rotation.T]
    turned = vertcat([dot(axis, column) for column in own for axis in axes])
    return through(lambda c, r: nearest(place, c, ca.horzcat(r[:3], r[3:6], r[6:])).gap, centre, turned)


def _geom(shape: Shape, name: str, mechanism: Mechanism) -> Geom:
    if isinstance(shape, Sphere | Capsule | Plane):
        return shape.geom(name)
    if not isinstance(shape, str):
        raise ArgumentError(
            f"clearance is between a Sphere, Capsule, Plane, or the name of a geom, got {shape!r}",
            element="clearance",
        )
    if shape in mechanism.idle_geoms:
        raise ArgumentError(
            f"{mechanism.name}: clearance: geom {shape!r} is in the file, but {mechanism.idle_geoms[shape]}. Give a "
            "Sphere, Capsule or Plane instead",
            element=shape,
        )
    check_known("geom", shape, mechanism.geoms, mechanism.name)
    return replace(mechanism.geoms[shape], name=name)


def _label(shape: Shape, geom: Geom) -> str:
    return shape if isinstance(shape, str) else f"{geom.kind} of {geom.body}"


def _towards(way: np.ndarray) -> np.ndarray:
    """Return a rotation whose third axis is along a vector."""
    return rotation_along(way / np.linalg.norm(way))
