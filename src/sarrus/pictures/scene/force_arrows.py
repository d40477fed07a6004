"""Loads as arrows: straight ones for forces at their points of application, curved ones for couples.

A curved arrow turns about the axis of its couple, right-handed, with a proportional radius. Unique loads have a colour;
loads that are not unique, because the mechanism is overconstrained, are grey and dashed, with one possible value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose, rotation_along
from sarrus.pictures.scene.loads import Loads
from sarrus.pictures.scene.meshes import Mesh, along, cone, join, rod, tube
from sarrus.pictures.scene.part import Rgb, rgb
from sarrus.pictures.scene.style import (
    DASH,
    DASH_GAP,
    HEAD_LENGTH,
    HEAD_RADIUS,
    LIGHT,
    LONGEST,
    SHAFT,
    TURN,
    TURN_HEAD,
    TURN_HEAD_RADIUS,
    TURN_TUBE,
    WIDEST,
)
from sarrus.pictures.scene.tolerances import SAME_SPOT
from sarrus.pictures.symbols.style import COUPLE, colour

KNOWN, OPEN = "determined", "undetermined"
_FORCE, _COUPLE, _OPEN = rgb(colour(2)), rgb(COUPLE), (104, 114, 122)


@dataclass(frozen=True)
class Scale:
    """Metres of arrow per newton, and metres of radius per newton metre; zero draws nothing."""

    force: float
    couple: float

    @classmethod
    def of(cls, force: float, couple: float, length: float, size: float) -> Scale:
        """Return the scale for a typical force [N] and couple [N m], at the length κ [m] and the size [m]."""
        couple = max(couple, LIGHT * force * length)
        return cls(
            LONGEST * size / force if force > 0.0 else 0.0,
            WIDEST * size / couple if couple > 0.0 else 0.0,
        )

    def times(self, factor: float) -> Scale:
        """Return the scale times a factor."""
        return Scale(self.force * factor, self.couple * factor)


@dataclass(frozen=True, eq=False)
class Turning:
    """A curved arrow around a point [m]: axes whose third is that of the couple, and its radius [m]."""

    point: Array
    rotation: Array
    radius: float

    @property
    def mesh(self) -> Mesh:
        """The arrow at its place."""
        return turning_arrow().scaled([self.radius] * 3).placed(Pose(self.point, self.rotation))


def force_arrows(loads: Loads, scale: Scale) -> Iterator[tuple[str, Rgb, Array]]:
    """Yield unique and non-unique forces: name, colour, start and end (n, 2, 3) [m] of the arrows.

    Forces that are zero up to rounding have no arrow.
    """
    parts = (KNOWN, _FORCE, loads.determined), (OPEN, _OPEN, loads.undetermined)
    for name, shade, forces in parts:
        alive = np.linalg.norm(forces, axis=1) > loads.nothing[0] if scale.force > 0.0 else slice(0, 0)
        starts = loads.points[alive]
        yield name, shade, np.stack([starts, starts + scale.force * forces[alive]], axis=1)


def couple_arrows(loads: Loads, scale: Scale, least: float) -> Iterator[tuple[str, Rgb, list[Turning]]]:
    """Yield unique and non-unique couples as curved arrows; those with a radius below ``least`` [m] are left out."""
    parts = (KNOWN, _COUPLE, loads.couples), (OPEN, _OPEN, loads.undetermined_couples)
    for name, shade, couples in parts:
        sizes = np.linalg.norm(couples, axis=1)
        turning = [
            Turning(point, rotation_along(couple / size), scale.couple * size)
            for point, couple, size in zip(loads.points, couples, sizes)
            if size > loads.nothing[1] and scale.couple * size >= least
        ]
        yield name, shade, turning


@cache
def turning_arrow() -> Mesh:
    """Return an arrow of radius one that turns about z, right-handed."""
    end = TURN - TURN_HEAD
    angles = np.linspace(0.0, end, 40)
    shaft = tube(np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1), TURN_TUBE)
    middle = end + 0.5 * TURN_HEAD
    way = np.array([-np.sin(middle), np.cos(middle), 0.0])
    neck = np.array([np.cos(end), np.sin(end), 0.0])
    return join([shaft, cone(TURN_HEAD_RADIUS, TURN_HEAD).placed(Pose(neck, rotation_along(way)))])


def dashes(ends: Array, radius: float) -> Array:
    """Return the dashes (n, 2, 3) of shafts of arrows from start to end (m, 2, 3); ``radius`` is that of rods."""
    found = [np.zeros((0, 2, 3))]
    for start, end in ends:
        length = float(np.linalg.norm(end - start))
        way = (end - start) / length
        starts = np.arange(0.0, length - HEAD_LENGTH * radius, (DASH + DASH_GAP) * radius)
        stops = np.minimum(starts + DASH * radius, length - HEAD_LENGTH * radius)
        found.append(start + np.stack([starts, stops], axis=1)[..., None] * way)
    return np.concatenate(found)


def force_mesh(start: Array, end: Array, radius: float, *, dashed: bool = False) -> Mesh:
    """Return a straight arrow; ``radius`` is that of rods."""
    _, half, rotation = along(start, end)
    head = min(HEAD_LENGTH * radius, 2.0 * half)
    neck = end - head * rotation[:, 2]
    pieces = [cone(HEAD_RADIUS * radius, head).placed(Pose(neck, rotation))]
    if 2.0 * half > head:
        shafts = dashes(np.stack([start, end])[None], radius) if dashed else [(start, neck)]
        pieces += [rod(a, b, SHAFT * radius) for a, b in shafts]
    return join(pieces)


def arrow_meshes(loads: Loads, scale: Scale, radius: float) -> Iterator[tuple[Mesh, Rgb]]:
    """Yield the arrows of loads as solids with their colours; ``radius`` is that of rods [m]."""
    for name, shade, ends in force_arrows(loads, scale):
        for start, end in ends:
            yield force_mesh(start, end, radius, dashed=name == OPEN), shade
    for _, shade, turning in couple_arrows(loads, scale, radius):
        for arrow in turning:
            yield arrow.mesh, shade


def label_places(loads: Loads, scale: Scale) -> list[tuple[str, Array]]:
    """Return the labels of all loads with an arrow, and their places at the tips of the forces.

    Joints in series with the same load at one point share a label.
    """
    least = loads.nothing
    found: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for k, (name, force, couple) in enumerate(loads.described()):
        pushes = np.linalg.norm(loads.forces[k]) > least[0]
        turns = np.linalg.norm(loads.whole_couples[k]) > least[1]
        said = ", ".join([*([force] if pushes else []), *([couple] if turns else [])])
        if said:
            tip = max((loads.determined[k], loads.undetermined[k]), key=lambda part: float(part @ part))
            place = loads.points[k] + scale.force * tip
            near = (
                key
                for key in found
                if key[0] == said and np.abs(np.subtract(key[1], place)).max() < SAME_SPOT
            )
            found.setdefault(next(near, (said, tuple(place))), []).append(name)
    return [(f"{', '.join(names)}: {said}", np.array(place)) for (said, place), names in found.items()]
