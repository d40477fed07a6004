"""Symbols of elements in three dimensions: wires on bodies, coils and dashpots between them, strings along
their path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Contact, first_on_planes
from sarrus.model.mechanism.pose import Pose
from sarrus.pictures.scene import meshes
from sarrus.pictures.scene.meshes import Mesh
from sarrus.pictures.scene.part import Part, Rod, rgb
from sarrus.pictures.scene.style import FRICTION_CONE, LINK_RADIUS, PLANE_PIECE, WIRE_RADIUS
from sarrus.pictures.symbols.glyphs import helix, plate
from sarrus.pictures.symbols.string_paths import POINTS, StringPath
from sarrus.pictures.symbols.style import FAINT, WIDTH, colour
from sarrus.pictures.symbols.symbols import STYLES, Link, Symbols

_COILS = 7  # of a spring
_SIDES = 5  # of a wire


@dataclass(frozen=True, eq=False)
class LinkRod(Rod):
    """A link between two bodies with its glyph."""

    glyph: str
    half: float
    length: float  # at which its mesh was made [m]

    @cached_property
    def mesh(self) -> Mesh:
        """The link at length one, along z and around the origin."""
        return link_mesh(self.glyph, self.length, self.half, self.radius).scaled([1, 1, 1 / self.length])


@dataclass(frozen=True, eq=False)
class StringRod(Rod):
    """A piece of a string around a wrap, from one of its points to the next."""

    path: StringPath
    piece: int

    def ends(self, positions: Array, rotations: Array) -> tuple[Array, Array]:
        """Return its two ends in the world."""
        points = self.path.at(positions, rotations)
        return points[self.piece], points[self.piece + 1]


@dataclass(frozen=True, eq=False)
class ConeRod(Rod):
    """The friction cone of a contact; ``radius`` is its slant."""

    contact: Contact

    @property
    def opacity(self) -> float:
        """Its opacity."""
        return 0.35

    @property
    def _height(self) -> float:
        return self.radius / float(np.hypot(1.0, self.contact.friction_coefficient or 0.0))

    @cached_property
    def mesh(self) -> Mesh:
        """The cone at length one, along z."""
        return meshes.revolved([0.0, (self.contact.friction_coefficient or 0.0) * self._height], [-0.5, 0.5])

    def ends(self, positions: Array, rotations: Array) -> tuple[Array, Array]:
        """Return its apex and the middle of its rim."""
        body, ground = self.bodies
        normal = rotations[ground] @ self.contact.normal
        apex = positions[body] + rotations[body] @ self.contact.point - self.contact.radius * normal
        return apex, apex + self._height * normal


def wire(lines: Iterable[Array], radius: float) -> Mesh:
    """Return thin rods along lines (n, 3)."""
    pairs = [pair for line in lines for pair in pairwise(line) if np.abs(pair[1] - pair[0]).max() > 0.0]
    return meshes.join([meshes.tube(np.array(pair), radius, _SIDES, ends=False) for pair in pairs])


def symbol_parts(symbols: Symbols, radius: float) -> Iterator[Part]:
    """Yield the wires of marks; ``radius`` is that of rods [m]."""
    for mark in symbols.marks:
        if mark.lines and not mark.flat:
            shade = rgb(STYLES[mark.style][0])
            yield Part(mark.body, wire(mark.lines, WIRE_RADIUS * radius), shade, 1.0, "symbol")


def symbol_rods(symbols: Symbols, lengths: Iterable[float], radius: float) -> Iterator[Rod]:
    """Yield links and pieces of strings; ``lengths`` [m] are those of the links in the reference pose."""
    half = WIDTH * symbols.size
    for link, length in zip(symbols.links, lengths):
        shade = rgb(STYLES[link.style][0])
        size = max(length, 4.0 * half)
        yield LinkRod(link.bodies, link.points, _thickness(link) * radius, shade, link.glyph, half, size)
    shade = rgb(STYLES["string"][0])
    for path in symbols.strings:
        bodies = path.numbers[path.segment.start.body], path.numbers[path.segment.end.body]
        ends = path.segment.start.point, path.segment.end.point
        for piece in range(POINTS - 1):
            yield StringRod(bodies, ends, WIRE_RADIUS * radius, shade, path, piece)


def _thickness(link: Link) -> float:
    return LINK_RADIUS if link.glyph == "rod" else WIRE_RADIUS


def link_mesh(glyph: str, length: float, half: float, radius: float) -> Mesh:
    """Return a link of a length along z and around the origin: a coil, a dashpot, both, dashes, or a rod."""
    end = 0.5 * length
    z, zero = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    if glyph == "spring":
        coil = helix(zero, z, half, 0.3 * length, _COILS)
        leads = [np.array([[0, 0, -end], coil[0]]), np.array([coil[-1], [0, 0, end]])]
        return meshes.join([meshes.tube(coil, radius, _SIDES), wire(leads, radius)])
    if glyph == "damper":
        barrel = meshes.cylinder(half, 0.17 * length).placed(Pose.of((0, 0, 0.08 * length)))
        rods = [np.array([[0, 0, -end], [0, 0, 0]]), np.array([[0, 0, 0.2 * length], [0, 0, end]])]
        return meshes.join([barrel, wire(rods, radius)])
    if glyph == "spring damper":
        return meshes.join(
            [link_mesh("spring", length, 1.5 * half, radius), link_mesh("damper", length, 0.7 * half, radius)]
        )
    if glyph == "guide":
        steps = np.linspace(-end, end, 20)
        return wire([np.array([[0, 0, a], [0, 0, b]]) for a, b in zip(steps[::2], steps[1::2])], radius)
    return meshes.capsule(radius, end)


def contact_parts(mechanism: Mechanism, size: float, radius: float) -> Iterator[Part]:
    """Yield the point of every contact, and a piece of its plane."""
    numbers = mechanism.body_numbers
    contacts = list(mechanism.contacts.values())
    for k, (contact, first) in enumerate(zip(contacts, first_on_planes(contacts))):
        body, ground = numbers[contact.body], numbers[contact.ground]
        ball = contact.radius or 1.4 * radius
        opacity = 0.35 if contact.radius else 1.0
        solid = meshes.ellipsoid([ball] * 3).placed(Pose(contact.point))
        yield Part(body, solid, rgb(colour(5)), opacity, "contact")
        if first != k:
            continue
        poses = [mechanism.reference_pose(name) for name in (contact.body, contact.ground)]
        place = poses[1].inverse().apply(poses[0].apply(contact.point))
        centre = place - contact.normal * float(contact.normal @ (place - contact.origin))
        square = plate(centre, contact.normal, PLANE_PIECE * size, contact.tangent1)[:1]
        yield Part(ground, wire(square, 0.3 * radius), rgb(FAINT), 1.0, "contact")


def contact_rods(mechanism: Mechanism, size: float) -> Iterator[Rod]:
    """Yield the friction cones of contacts; they stand on their points along the normals of the planes."""
    numbers = mechanism.body_numbers
    for contact in mechanism.contacts.values():
        if contact.friction_coefficient:
            bodies = numbers[contact.body], numbers[contact.ground]
            ends = contact.point, contact.normal
            yield ConeRod(bodies, ends, FRICTION_CONE * size, rgb(colour(5)), contact)
