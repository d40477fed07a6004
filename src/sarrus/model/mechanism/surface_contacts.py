"""Contact places of pairs of geometries whose gap is a closed form in q, known before a run.

A ball touches a plane, ball, capsule, box or cylinder at one place. Capsules, boxes and meshes touch a plane at their
ends and corners, an ellipsoid at one place. Two capsules touch at the closest points of their axes, or with an end. The
normal is continuous; its rate jumps where the contact passes from a face to an edge.

A place on features (a corner, an edge, a face, a rim) is there only while these are the ones that may touch. A cylinder
touches a plane at the lowest point of each rim, and where an end is level at the corners of a polygon on its rim. Boxes
and convex hulls of meshes touch each other with corners on faces and with edges, capsules touch them with their ends
and with their sides on edges and corners. Other pairs have no closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.contact_features import End, Feature, box_features, hull_features, rims
from sarrus.model.mechanism.elements import Geom, GeometryContact
from sarrus.model.mechanism.hulls import hull_of

# Kinds that a ball touches at one place, and kinds that touch a plane like balls about fixed points.
AROUND = ("plane", "sphere", "capsule", "box", "cylinder")
OF_BALLS = ("sphere", "capsule", "box", "mesh")
# Kinds that are polyhedra.
POLYHEDRA = ("box", "mesh")
# Largest number of places for which closed forms are chosen by default.
MOST = 64


@dataclass(frozen=True, eq=False)
class SurfaceContact:
    """A contact place of two geoms: ``geom`` touches ``base``; the normal points away from the base.

    ``centre`` [m], in axes of the body of the geom, and ``radius`` [m] describe the touching ball; None if the place is
    the closest point of the two geoms instead of a fixed ball. ``pair`` has the contact parameters. ``feature`` is what
    touches, of a place that is not always there.
    """

    name: str
    pair: GeometryContact
    geom: Geom
    base: Geom
    centre: Array | None = None
    radius: float = 0.0
    feature: Feature | None = None

    @property
    def body(self) -> str:
        """The body of the geom."""
        return self.geom.body

    @property
    def ground(self) -> str:
        """The body of the base."""
        return self.base.body

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows, as ``contact.row``: n; with friction t1 and t2; torsion; roll1 and roll2."""
        return tuple(f"{self.name}.{row}" for row in self.pair.rows)


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
    """Return the corners of the convex hull of points (n, 3)."""
    from scipy.spatial import ConvexHull  # here: it takes long to import

    return points[np.sort(ConvexHull(points).vertices)]


def places(pair: GeometryContact, geoms: Mapping[str, Geom]) -> list[SurfaceContact]:
    """Return the contact places of a pair, an empty list if its gap has no closed form."""
    one, other = geoms[pair.geom1], geoms[pair.geom2]
    for geom, base in ((one, other), (other, one)):
        if found := list(_places(pair, geom, base)):
            return found
    return []


def _places(pair: GeometryContact, geom: Geom, base: Geom) -> Iterator[SurfaceContact]:
    """Iterate over the places at which a geom touches a base."""
    if base.kind == "plane" and geom.kind == "ellipsoid":
        yield SurfaceContact(pair.name, pair, geom, base)
    elif geom.kind == "sphere" and base.kind in AROUND:
        yield SurfaceContact(pair.name, pair, geom, base, *balls(geom)[0])
    elif base.kind == "plane" and geom.kind in OF_BALLS:
        for k, (centre, radius) in enumerate(balls(geom), start=1):
            yield SurfaceContact(f"{pair.name}.{k}", pair, geom, base, centre, radius)
    elif base.kind == "plane" and geom.kind == "cylinder":
        for k, (rim, corner) in enumerate(rims(geom), start=1):
            yield SurfaceContact(f"{pair.name}.{k}", pair, geom, base, corner, feature=rim)
    elif geom.kind == base.kind == "box":
        for k, feature in enumerate(box_features(), start=1):
            yield SurfaceContact(f"{pair.name}.{k}", pair, geom, base, feature=feature)
    elif geom.kind in ("sphere", "capsule") and base.kind in POLYHEDRA:
        for k, (centre, radius) in enumerate(balls(geom), start=1):
            yield SurfaceContact(f"{pair.name}.{k}", pair, geom, base, centre, radius, End())
        if geom.kind == "capsule":
            for k, feature in enumerate(hull_features(hull_of(geom), hull_of(base)), start=3):
                yield SurfaceContact(f"{pair.name}.{k}", pair, geom, base, feature=feature)
    elif geom.kind in POLYHEDRA and base.kind in POLYHEDRA:
        for k, feature in enumerate(hull_features(hull_of(geom), hull_of(base)), start=1):
            yield SurfaceContact(f"{pair.name}.{k}", pair, geom, base, feature=feature)
    elif geom.kind == base.kind == "capsule":
        yield SurfaceContact(f"{pair.name}.1", pair, geom, base)
        ends = [(a, b, *ball) for a, b in ((geom, base), (base, geom)) for ball in balls(a)]
        for k, (end, rod, centre, radius) in enumerate(ends, start=2):
            yield SurfaceContact(f"{pair.name}.{k}", pair, end, rod, centre, radius)


def surface_contacts(
    pairs: Mapping[str, GeometryContact], geoms: Mapping[str, Geom]
) -> tuple[SurfaceContact, ...]:
    """Return the contact places of all pairs in closed form.

    A pair with ``closed_form`` True is included, with False it is not. Pairs with None are included if all of them have
    closed forms without features, with at most 64 places in total.
    """
    asked = [pair for pair in pairs.values() if pair.closed_form]
    free = [pair for pair in pairs.values() if pair.closed_form is None]
    known = {pair.name: places(pair, geoms) for pair in asked}
    refused = len(asked) + len(free) < len(pairs)
    for pair in () if refused else free:
        known[pair.name] = places(pair, geoms)
        found = known[pair.name]
        if not found or found[0].feature is not None or sum(map(len, known.values())) > MOST:
            known = {pair.name: known[pair.name] for pair in asked}
            break
    return tuple(place for name in pairs for place in known.get(name, ()))
