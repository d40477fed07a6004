"""Skeleton of a mechanism: points on its bodies and lines between them, for drawings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.tendons import segments
from sarrus.pictures.plots.style import SMALLEST_MECHANISM
from sarrus.pictures.plots.tolerances import SAME_POINT
from sarrus.pictures.symbols.element_symbols import symbols_of
from sarrus.pictures.symbols.rolling_drawing import rim
from sarrus.pictures.symbols.symbols import Symbols

if TYPE_CHECKING:
    from sarrus.dynamics.system import System
    from sarrus.motion.records.trajectory import Trajectory

_SLIDING = ("prismatic", "cylindrical", "planar")


@dataclass(frozen=True)
class Skeleton:
    """Points fixed to bodies, and the lines between them. All tuples hold indices of points.

    Attributes
    ----------
    bodies : body of each point, as index in ``mechanism.bodies``; -1 is the ground.
    points : coordinates of each point in the axes of its body (n, 3) [m].
    outlines : for each body, the points of its outline.
    hinges, sliders, pivots : points at joints and closures; at prismatic joints; at joints on the ground.
    rods : pairs of points joined by a sliding joint between two bodies.
    symbols : the symbols of all other elements: springs, gears, motors, tendons, …
    """

    bodies: np.ndarray
    points: Array
    outlines: tuple[tuple[int, ...], ...]
    hinges: tuple[int, ...]
    sliders: tuple[int, ...]
    pivots: tuple[int, ...]
    rods: tuple[tuple[int, int], ...]
    symbols: Symbols

    def place(self, system: System, q: Array, t: Array | None = None) -> Array:
        """Return the points in world axes at each row of q and entry of t, then those of symbols (frames, m, 3) [m].

        The first ``len(points)`` are those of the bodies, which determine place and size of the mechanism.
        """
        return self.at(*placements(system, q, t))

    def at(self, positions: Array, rotations: Array) -> Array:
        """Return the points in world axes (frames, m, 3) at poses of the bodies and the ground (frames, bodies + 1, 3),
        (…, 3, 3).
        """
        turned = np.einsum("fnij,nj->fni", rotations[:, self.bodies], self.points)
        return np.concatenate(
            [positions[:, self.bodies] + turned, self.symbols.place(positions, rotations)], axis=1
        )

    def own(self, placed: Array) -> Array:
        """Return the points of the bodies among placed points (frames, m, 3)."""
        return placed[:, : len(self.points)]


def placements(system: System, q: Array, t: Array | None = None) -> tuple[Array, Array]:
    """Return positions (frames, bodies + 1, 3) and rotations (…, 3, 3) at each row of q; the last is the ground.

    ``t`` (frames,) matters where bodies are driven; zeros by default.
    """
    times = np.zeros(len(q)) if t is None else t
    count = len(drawn_mechanism(system).bodies)
    positions = np.zeros((len(q), count + 1, 3))
    rotations = np.tile(np.eye(3), (len(q), count + 1, 1, 1))
    for frame, row in enumerate(q):
        positions[frame, :-1], rotations[frame, :-1] = system.body_placements(row, float(times[frame]))
    return positions, rotations


class _Builder:
    """Collects points, each once."""

    def __init__(self, index: Mapping[str, int]) -> None:
        self.index = index
        self.bodies: list[int] = []
        self.points: list[Array] = []

    def add(self, body: str, point: Array) -> int:
        number = self.index[body]
        for k, (other, known) in enumerate(zip(self.bodies, self.points)):
            if other == number and np.abs(known - point).max() < SAME_POINT:
                return k
        self.bodies.append(number)
        self.points.append(np.array(point, dtype=float))
        return len(self.points) - 1


def drawn_system(trajectory: Trajectory, system: System | None) -> tuple[System, Mechanism]:
    """Return ``system``, or the one that made the trajectory, with its mechanism; it must fit."""
    chosen = trajectory.moved_system() if system is None else system
    if chosen is None:
        raise ArgumentError(
            f"trajectory {trajectory.name!r} comes from a file that holds no mechanism (equations of one's own, or "
            "an older file): pass system=",
            element="system",
        )
    mechanism = drawn_mechanism(chosen)
    if tuple(chosen.coordinate_names) != tuple(trajectory.coordinate_names):
        raise ArgumentError(
            f"system {chosen.name!r} has other coordinates than trajectory {trajectory.name!r}: "
            f"{', '.join(chosen.coordinate_names)} instead of {', '.join(trajectory.coordinate_names)}",
            element="system",
            valid=trajectory.coordinate_names,
        )
    return chosen, mechanism


def drawn_mechanism(system: System) -> Mechanism:
    """Return the mechanism of a system, which must have one, with the parameters as they are."""
    if system.mechanism is None:
        raise ArgumentError(
            f"{system.name}: only a system made from a Mechanism has bodies to draw", element="system"
        )
    return system.current_mechanism()


def build_skeleton(mechanism: Mechanism) -> Skeleton:
    """Return the skeleton: joint anchors, anchors of child bodies, points of closures and contacts, rims, spring ends.

    A body with a single point gets its centre of mass as a second one.
    """
    bodies = mechanism.bodies
    build = _Builder(mechanism.body_numbers)
    hinges: set[int] = set()
    sliders: set[int] = set()
    pivots: set[int] = set()
    rods: list[tuple[int, int]] = []
    for body in bodies.values():
        for joint in body.joints:
            if joint.kind == "free":
                continue
            own = build.add(body.name, joint.anchor)
            base = build.add(body.parent, body.placement.apply(joint.anchor))
            (sliders if joint.slides else hinges).add(own)
            if body.parent == WORLD and not joint.slides:
                pivots.add(base)
            elif joint.slides and body.parent != WORLD:
                rods.append((base, own))  # a cylinder: its two halves have no point in common
        if not body.joints:
            base = build.add(body.parent, body.placement.position)
            build.add(body.name, np.zeros(3))
            if body.parent == WORLD:
                pivots.add(base)
    for closure in mechanism.closures.values():
        ends = (
            build.add(closure.body1, closure.pose1.position),
            build.add(closure.body2, closure.pose2.position),
        )
        marks = sliders if closure.kind in _SLIDING else hinges
        marks.update(end for end in ends if build.bodies[end] >= 0)
        pivots.update(end for end in ends if build.bodies[end] < 0)
    for spring in mechanism.springs.values():
        build.add(spring.body1, spring.point1)
        build.add(spring.body2, spring.point2)
    for tendon in mechanism.tendons.values():
        for stretch in segments(tendon.path) if tendon.spatial else ():
            for end in (stretch.start, stretch.end):
                build.add(end.body, end.point)
    for contact in mechanism.contacts.values():
        if contact.body != WORLD:
            build.add(contact.body, contact.point)
    for rolling in mechanism.rollings.values():
        if rolling.body != WORLD:
            hub = build.add(rolling.body, rolling.centre)
            corners = [build.add(rolling.body, corner) for corner, _ in rim(rolling)]
            rods += [(hub, corner) for corner in corners[:1]]  # a spoke shows how it turns
    outlines = []
    for number, body in enumerate(bodies.values()):
        own_points = [k for k, b in enumerate(build.bodies) if b == number]
        if len(own_points) < 2:
            com = build.add(body.name, body.com)
            own_points = sorted({*own_points, com})
        outlines.append(tuple(own_points))
    numbers, points = np.array(build.bodies, dtype=int), np.array(build.points).reshape(-1, 3)
    return Skeleton(
        bodies=numbers,
        points=points,
        outlines=tuple(outlines),
        hinges=tuple(sorted(hinges)),
        sliders=tuple(sorted(sliders)),
        pivots=tuple(sorted(pivots)),
        rods=tuple(rods),
        symbols=symbols_of(mechanism, _size(mechanism, numbers, points, outlines)),
    )


def _size(mechanism: Mechanism, numbers: np.ndarray, points: Array, outlines: list[tuple[int, ...]]) -> float:
    """Return the size of a mechanism in its reference pose, or of its largest body [m]."""
    poses = [mechanism.reference_pose(name) for name in (*mechanism.bodies, WORLD)]
    placed = [poses[number].apply(point) for number, point in zip(numbers, points)]
    extents = [np.ptp(points[list(outline)], axis=0).max() for outline in outlines if outline]
    whole = np.ptp(np.array(placed), axis=0).max() if placed else 0.0
    return max(float(max([whole, *extents], default=0.0)), SMALLEST_MECHANISM)
