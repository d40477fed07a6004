"""Symbols of elements: lines fixed to bodies, links between two points, and strings around wrapping geometries.

Drawings on paper and in three dimensions use the same symbols. `sarrus.pictures.symbols.element_symbols` has the
symbols of all elements, `sarrus.pictures.symbols.coupling_symbols` those of gears, belts and racks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.tolerances import PARALLEL
from sarrus.pictures.symbols.picture_plane import view_from_above
from sarrus.pictures.symbols.string_paths import StringPath
from sarrus.pictures.symbols.style import FAINT, INK, MARK, colour

# What a line stands for, with its colour and its pattern on paper.
STYLES: dict[str, tuple[str, str]] = {
    "joint": (INK, "-"),
    "constraint": (colour(1), "-"),
    "coupling": (colour(1), "-."),
    "force": (INK, "-"),
    "motor": (colour(0), "-"),
    "string": (colour(3), "-"),
    "sensor": (FAINT, "-"),
    "contact": (colour(5), "-"),
    "guide": (INK, "--"),
    "ground": (FAINT, "-"),
}


def placed(pose: Pose, lines: Iterable[Array]) -> list[Array]:
    """Return lines (n, 3) of a frame in the axes of its pose."""
    return [line @ pose.rotation.T + pose.position for line in lines]


@dataclass(frozen=True, eq=False)
class Mark:
    """Lines (n, 3) in axes of a body [m]. ``element`` is table and name of the element.

    ``flat`` marks are on paper only; in three dimensions a solid is drawn.
    """

    element: tuple[str, str]
    body: int
    lines: tuple[Array, ...]
    style: str
    flat: bool = False


@dataclass(frozen=True, eq=False)
class Link:
    """A link between points of two bodies, in their axes [m]: rod, guide, string, spring, damper, spring damper."""

    element: tuple[str, str]
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    glyph: str
    style: str


@dataclass(frozen=True, eq=False)
class Symbols:
    """The symbols of a mechanism, in proportion to its ``size`` [m]."""

    marks: tuple[Mark, ...] = ()
    links: tuple[Link, ...] = ()
    strings: tuple[StringPath, ...] = ()
    size: float = 1.0

    def place(self, positions: Array, rotations: Array) -> Array:
        """Return all points (frames, n, 3) in the world: of marks, ends of links, and strings.

        ``positions`` (frames, nb + 1, 3) and ``rotations`` (…, 3, 3) are of the bodies and, last, the ground.
        """
        bodies = [mark.body for mark in self.marks for line in mark.lines for _ in line]
        points = [point for mark in self.marks for line in mark.lines for point in line]
        for link in self.links:
            bodies += link.bodies
            points += link.points
        fixed = np.array(points, dtype=float).reshape(-1, 3)
        numbers = np.array(bodies, dtype=int)
        placed = positions[:, numbers] + np.einsum("fnij,nj->fni", rotations[:, numbers], fixed)
        if not self.strings:
            return placed
        paths = [
            np.concatenate([string.at(*pose) for string in self.strings])
            for pose in zip(positions, rotations)
        ]
        return np.concatenate([placed, np.array(paths)], axis=1)

    def lengths(self, mechanism: Mechanism) -> list[float]:
        """Return the lengths of the links in the reference pose [m]."""
        poses = [mechanism.reference_pose(name) for name in (*mechanism.bodies, WORLD)]
        found = []
        for link in self.links:
            start, end = (poses[body].apply(point) for body, point in zip(link.bodies, link.points))
            found.append(float(np.linalg.norm(end - start)))
        return found

    def pieces(self) -> Iterable[tuple[str, str, np.ndarray]]:
        """Yield glyph, style and the rows of ``place`` of every line, in order; the glyph of marks is "line"."""
        start = 0
        for mark in self.marks:
            for line in mark.lines:
                yield "line", mark.style, np.arange(start, start + len(line))
                start += len(line)
        for link in self.links:
            yield link.glyph, link.style, np.arange(start, start + 2)
            start += 2
        for string in self.strings:
            count = len(string)
            yield "line", "string", np.arange(start, start + count)
            start += count


@dataclass(eq=False)
class Sheet:
    """Collector of symbols: the mechanism, its size [m], and the directions of a drawing.

    ``normal`` is the normal of the plane of a planar mechanism, else towards the viewer; ``up`` is against gravity.
    """

    mechanism: Mechanism
    size: float
    marks: list[Mark] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    strings: list[StringPath] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = self.mechanism.body_numbers
        names = (*self.mechanism.bodies, WORLD)
        self.poses: dict[str, Pose] = {name: self.mechanism.reference_pose(name) for name in names}
        gravity = np.asarray(self.mechanism.gravity, dtype=float)
        weight = float(np.linalg.norm(gravity))
        self.up = -gravity / weight if weight > 0.0 else np.array([0.0, 0.0, 1.0])
        axes = [
            self.poses[body.name].rotation @ (joint.axis if kind == "revolute" else np.zeros(3))
            for body in self.mechanism.bodies.values()
            for joint in body.joints
            for kind, _ in joint.series
            if kind != "prismatic"
        ]
        first = axes[0] if axes else np.array([0.0, -1.0, 0.0])
        planar = all(abs(axis @ first) > 1.0 - PARALLEL for axis in axes)
        self.normal = first if planar else view_from_above(self.up, height=2.0).towards
        self.owners = {
            joint.name: (body, joint) for body in self.mechanism.bodies.values() for joint in body.joints
        }

    @property
    def radius(self) -> float:
        """Radius of a mark [m]."""
        return MARK * self.size

    def symbols(self) -> Symbols:
        """Return the collected symbols."""
        return Symbols(tuple(self.marks), tuple(self.links), tuple(self.strings), self.size)

    def mark(
        self, element: tuple[str, str], body: str, lines: Iterable[Array], style: str, *, flat: bool = False
    ) -> None:
        """Add lines fixed to a body, in its axes."""
        self.marks.append(Mark(element, self.numbers[body], tuple(lines), style, flat))

    def link(
        self, element: tuple[str, str], one: tuple[str, Array], two: tuple[str, Array], glyph: str, style: str
    ) -> None:
        """Add a link between points (body, point in its axes)."""
        bodies = self.numbers[one[0]], self.numbers[two[0]]
        self.links.append(Link(element, bodies, (one[1], two[1]), glyph, style))

    def joint_of(self, coordinate: str) -> Joint | None:
        """Return the joint of a coordinate or velocity; None for the length of a tendon."""
        for _, joint in self.owners.values():
            if coordinate in (*joint.coordinate_names, *joint.velocity_names, joint.name):
                return joint
        return None

    def base(self, joint: Joint) -> tuple[str, Pose]:
        """Return the parent of a joint, and the pose of the body in it in the reference pose."""
        body = self.owners[joint.name][0]
        return body.parent, body.placement

    def local(self, body: str, way: Array) -> Array:
        """Return a direction of the world in axes of a body, in the reference pose."""
        return self.poses[body].rotation.T @ way
