"""Features of surfaces that may touch: rims of cylinders, corners and edges of boxes and of convex hulls.

A contact place on features is there only while these are the features of both surfaces that are nearest to each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import Geom
from sarrus.model.mechanism.hulls import Hull

# Corners of the polygon that stands for the end of a cylinder where it lies flat: their chords are 3 % from the rim.
CORNERS_OF_CIRCLE = 12


class Rim(NamedTuple):
    """The rim of the end of a cylinder at z = ``side`` × half its length: a corner of its polygon, or its lowest point.

    A corner is there while the end is level, the lowest point while it is not.
    """

    side: int
    corner: bool


class Corner(NamedTuple):
    """A corner of a box with these signs of its coordinates, on a face of another box normal to its axis ``face``.

    ``of_base``: the corner is that of the base, the face that of the geom.
    """

    signs: tuple[int, int, int]
    face: int
    of_base: bool


class Edges(NamedTuple):
    """An edge of each of two boxes, along axis ``own`` of the geom and along axis ``other`` of the base.

    Of the four edges along an axis, two opposite ones have the product ``parity`` of the signs of their coordinates;
    the edge is the one of these that is nearer to the other box.
    """

    own: int
    other: int
    own_parity: int
    other_parity: int


class End(NamedTuple):
    """The ball at an end of a capsule, or a sphere, which touches at its closest point wherever that is."""


class HullCorner(NamedTuple):
    """A corner of a hull on a face of another one. ``of_base``: the corner is that of the base, the face the geom's."""

    corner: int
    face: int
    of_base: bool


class HullEdges(NamedTuple):
    """An edge of the hull of the geom and an edge of the hull of the base."""

    own: int
    other: int


class SideCorner(NamedTuple):
    """A corner of the hull of the base on the side of a capsule."""

    corner: int


BoxFeature = Corner | Edges
HullFeature = HullCorner | HullEdges | SideCorner
Feature = Rim | BoxFeature | End | HullFeature


def rims(geom: Geom) -> Iterator[tuple[Rim, Array | None]]:
    """Iterate over the lowest points of both ends of a cylinder, then over the corners of their polygons.

    Corners have a place in axes of the body [m], lowest points None.
    """
    sides, (radius, half) = (1, -1), geom.size[:2]
    yield from ((Rim(side, corner=False), None) for side in sides)
    for side, angle in product(sides, 2.0 * np.pi * np.arange(CORNERS_OF_CIRCLE) / CORNERS_OF_CIRCLE):
        corner = (radius * np.cos(angle), radius * np.sin(angle), side * half)
        yield Rim(side, corner=True), geom.pose.apply(corner)


def box_features() -> Iterator[Feature]:
    """Iterate over the pairs of features with which two boxes touch: 48 of corners and faces, 36 of edges."""
    signs = (1, -1)
    for of_base, (x, y, z), face in product((False, True), product(signs, signs, signs), range(3)):
        yield Corner((x, y, z), face, of_base)
    for own, other, first, second in product(range(3), range(3), signs, signs):
        yield Edges(own, other, first, second)


def hull_features(own: Hull, other: Hull) -> Iterator[HullFeature]:
    """Iterate over the pairs of features with which two hulls touch, other than the ends of a capsule."""
    for of_base, one, two in ((False, own, other), (True, other, own)):
        corners = range(0 if one.radius else len(one.corners))
        yield from (
            HullCorner(corner, face, of_base) for corner, face in product(corners, range(len(two.faces)))
        )
    yield from (HullEdges(i, j) for i, j in product(range(len(own.edges)), range(len(other.edges))))
    if own.radius:
        yield from map(SideCorner, range(len(other.corners)))
