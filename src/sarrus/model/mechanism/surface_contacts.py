"""Places where two geometries can touch whose distance is a closed form: their contacts are known before a run.

A ball touches planes, balls, capsules, boxes and cylinders at one place each, so capsules, boxes and meshes touch a
plane with their ends and corners, and two capsules touch where their axes are nearest, or with an end; an ellipsoid
touches a plane at one place. Normals turn smoothly, but where a ball goes over from a face to an edge, where their rate
of turn jumps. Other pairs have no such places: a contact that wanders over edges has neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import CONTACT_ROWS, Geom, GeometryContact

# Kinds that a ball touches at one place, and those that are balls about fixed points as far as a plane can tell.
AROUND = ("plane", "sphere", "capsule", "box", "cylinder")
OF_BALLS = ("sphere", "capsule", "box", "mesh")
# So many places there may be where pairs are chosen by themselves.
MOST = 64


@dataclass(frozen=True, eq=False)
class SurfaceContact:
    """A place where two geoms can touch: ``geom`` lies on ``base``, from which the normal points.

    ``centre`` [m], in axes of the body of the geom, and ``radius`` [m] are those of the ball that touches there; None:
    it is no fixed ball, but where the geoms are nearest. ``pair`` says how the two touch.
    """

    name: str
    pair: GeometryContact
    geom: Geom
    base: Geom
    centre: Array | None = None
    radius: float = 0.0

    @property
    def body(self) -> str:
        """The body that touches."""
        return self.geom.body

    @property
    def ground(self) -> str:
        """The body of the base."""
        return self.base.body

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of its rows, as ``contact.row``: n, where there is friction t1 and t2, torsion, roll1 and roll2."""
        rows = (*CONTACT_ROWS["coulomb"], "torsion", "roll1", "roll2")[: self.pair.width]
        return tuple(f"{self.name}.{row}" for row in rows)


def balls(geom: Geom) -> list[tuple[Array, float]]:
    """Return the centres, in axes of the body, and radii of the balls with which a geom touches planes [m]."""
    size, pose = geom.size, geom.pose
    if geom.kind == "sphere":
        return [(pose.position, float(size[0]))]
    if geom.kind == "capsule":
        return [(pose.apply((0.0, 0.0, z)), float(size[0])) for z in (size[1], -size[1])]
    if geom.kind == "box":
        return [(pose.apply(corner), 0.0) for corner in product(*((x, -x) for x in size[:3]))]
    if geom.kind == "mesh" and geom.points is not None:
        return [(pose.apply(corner), 0.0) for corner in corners(geom.points)]
    return []


def corners(points: Array) -> Array:
    """Return those of the points (n, 3) that are corners of their convex hull."""
    from scipy.spatial import ConvexHull  # here: it takes long to import

    return points[np.sort(ConvexHull(points).vertices)]


def places(pair: GeometryContact, geoms: Mapping[str, Geom]) -> list[SurfaceContact]:
    """Return the places where a pair can touch; none where their distance is no closed form."""
    one, other = geoms[pair.geom1], geoms[pair.geom2]
    for geom, base in ((one, other), (other, one)):
        if found := list(_places(pair, geom, base)):
            return found
    return []


def _places(pair: GeometryContact, geom: Geom, base: Geom) -> Iterator[SurfaceContact]:
    """Iterate over the places where a geom lies on a base."""
    if base.kind == "plane" and geom.kind == "ellipsoid":
        yield SurfaceContact(pair.name, pair, geom, base)
    elif geom.kind == "sphere" and base.kind in AROUND:
        yield SurfaceContact(pair.name, pair, geom, base, *balls(geom)[0])
    elif base.kind == "plane" and geom.kind in OF_BALLS:
        for k, (centre, radius) in enumerate(balls(geom), start=1):
            yield SurfaceContact(f"{pair.name}.{k}", pair, geom, base, centre, radius)
    elif geom.kind == base.kind == "capsule":
        yield SurfaceContact(f"{pair.name}.1", pair, geom, base)
        ends = [(a, b, *ball) for a, b in ((geom, base), (base, geom)) for ball in balls(a)]
        for k, (end, rod, centre, radius) in enumerate(ends, start=2):
            yield SurfaceContact(f"{pair.name}.{k}", pair, end, rod, centre, radius)


def surface_contacts(
    pairs: Mapping[str, GeometryContact], geoms: Mapping[str, Geom]
) -> tuple[SurfaceContact, ...]:
    """Return the places of all pairs whose contacts are in closed form.

    They are if they are asked for; without a word they all are or none, where each has such places and these are 64
    at the most.
    """
    asked = [pair for pair in pairs.values() if pair.closed_form]
    free = [pair for pair in pairs.values() if pair.closed_form is None]
    known = {pair.name: places(pair, geoms) for pair in asked}
    refused = len(asked) + len(free) < len(pairs)
    for pair in () if refused else free:
        known[pair.name] = places(pair, geoms)
        if not known[pair.name] or sum(map(len, known.values())) > MOST:
            known = {pair.name: known[pair.name] for pair in asked}
            break
    return tuple(place for name in pairs for place in known.get(name, ()))
