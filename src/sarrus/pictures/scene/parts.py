"""Parts of a drawing of a mechanism: solids fixed to bodies, and rods between points of two bodies.

Bodies with shapes are drawn by these, other bodies by rods between their joints. Joints and closures are drawn on top:
hinges as pins along their axis, sliders as blocks, closures in a colour of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.urdf.geometry import find_file
from sarrus.model.mechanism.elements import WORLD, Body, Closure, Shape
from sarrus.model.mechanism.pose import Pose, rotation_along
from sarrus.model.mechanism.rolling import Rolling
from sarrus.pictures.plots.skeleton import Skeleton
from sarrus.pictures.scene import meshes
from sarrus.pictures.scene.meshes import Mesh
from sarrus.pictures.scene.part import Part, Rgb, Rod, rgb
from sarrus.pictures.scene.style import BLOCK, LARGE_PLANE, PIN, PIN_HALF, RING, ROD, THIN
from sarrus.pictures.scene.symbol_parts import contact_parts, contact_rods, symbol_parts, symbol_rods
from sarrus.pictures.symbols.rolling_drawing import places_of, rim
from sarrus.pictures.symbols.style import FAINT, INK, colour

# Every so many corners of a rim have a spoke.
_SPOKE = 4
_TURNING = ("revolute", "screw")
_SLIDING = ("prismatic", "cylindrical", "planar")


def tints(count: int) -> list[Rgb | None]:
    """Return the colour of each of so many motions; None for a single one, which keeps the colours of its parts."""
    return [rgb(colour(k)) for k in range(count)] if count > 1 else [None]


HINGE, CLOSURE, GROUND = rgb(INK), rgb(colour(1)), rgb(FAINT)


@dataclass(frozen=True, eq=False)
class ContactRod(Rod):
    """A rod from the centre of a rolling element to its point of contact."""

    rolling: Rolling
    numbers: Mapping[str, int]

    def ends(self, positions: Array, rotations: Array) -> tuple[Array, Array]:
        """Return the centre and the point of contact; for a blade a short piece of its normal."""
        found = places_of(self.rolling, self.numbers, positions, rotations)
        if self.rolling.kind == "knife_edge":
            return found.low + 4.0 * self.radius * found.normal, found.low
        return found.centre, found.low


@dataclass(frozen=True, eq=False)
class Parts:
    """All parts of a drawing; ``notes`` name those that could not be drawn, ``radius`` [m] is that of rods."""

    solids: tuple[Part, ...]
    rods: tuple[Rod, ...]
    notes: tuple[str, ...]
    radius: float


def parts_of(mechanism: Mechanism, skeleton: Skeleton, size: float) -> Parts:
    """Return the parts of a mechanism of extent ``size`` [m]; an unreadable mesh is a warning and a note."""
    radius = ROD * size
    notes: list[str] = []
    solids = list(_shapes(-1, mechanism.world_shapes, mechanism, size, notes))
    rims: dict[str, list[Array]] = {}
    for rolling in mechanism.rollings.values():
        corners = [corner for corner, _ in rim(rolling) if corner is not rolling.centre]
        rims.setdefault(rolling.body, []).extend(corners)
    for number, body in enumerate(mechanism.bodies.values()):
        shown = list(_shapes(number, body.shapes, mechanism, size, notes))
        solids += shown or _links(number, skeleton, radius, rims.get(body.name, []))
    pin = max(radius, _slimmest(mechanism))
    solids += _joints(mechanism, pin)
    solids += _closures(mechanism, pin)
    rods = [
        Rod(
            (int(skeleton.bodies[a]), int(skeleton.bodies[b])),
            (skeleton.points[a], skeleton.points[b]),
            THIN * radius,
            HINGE,
        )
        for a, b in skeleton.rods
    ]
    rods += _guides(mechanism, THIN * radius)
    solids += _rims(mechanism, THIN * radius)
    rods += _touching(mechanism, THIN * radius)
    solids += symbol_parts(skeleton.symbols, radius)
    rods += symbol_rods(skeleton.symbols, skeleton.symbols.lengths(mechanism), radius)
    solids += contact_parts(mechanism, size, radius)
    rods += contact_rods(mechanism, size)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Parts(tuple(solids), tuple(rods), tuple(notes), radius)


# --- shapes of the model ---------------------------------------------------------------------------


def _shapes(
    number: int, shapes: Iterable[Shape], mechanism: Mechanism, size: float, notes: list[str]
) -> Iterator[Part]:
    for shape in shapes:
        mesh = _mesh_of(shape, mechanism, size, notes)
        if mesh is not None:
            red, green, blue = (round(255 * float(np.clip(x, 0.0, 1.0))) for x in shape.rgba[:3])
            role = "ground" if shape.kind == "plane" else "body"
            yield Part(
                number, mesh.placed(shape.pose), (red, green, blue), float(np.clip(shape.rgba[3], 0, 1)), role
            )


def _mesh_of(shape: Shape, mechanism: Mechanism, size: float, notes: list[str]) -> Mesh | None:
    a, b, c = (float(x) for x in shape.size)
    if shape.rgba[3] <= 0.0:
        return None
    match shape.kind:
        case "box":
            return meshes.box(shape.size)
        case "sphere":
            return meshes.ellipsoid([a, a, a])
        case "ellipsoid":
            return meshes.ellipsoid(shape.size)
        case "capsule":
            return meshes.capsule(a, b)
        case "cylinder":
            return meshes.cylinder(a, b)
        case "plane":  # zero means endless: the grid stands for large ones
            return meshes.rectangle(a, b) if 0.0 < max(a, b) < LARGE_PLANE * size else None
        case "line":
            points = shape.points if shape.points is not None else np.zeros((0, 3))
            pieces = [meshes.rod(p, q, 0.3 * ROD * size) for p, q in pairwise(points)]
            return meshes.join(pieces) if pieces else None
        case "mesh" if shape.points is not None and shape.faces is not None:
            return Mesh(shape.points, shape.faces.astype(np.int64)).scaled([a, b, c])
        case "mesh":
            return _read(shape, mechanism, notes)
    return None


def _read(shape: Shape, mechanism: Mechanism, notes: list[str]) -> Mesh | None:
    """Return the triangles of a mesh file, with its scale; None and a note if it cannot be read."""
    folder = Path(mechanism.report.source).parent
    given = str(shape.file)
    file = find_file(given.replace("model://", "package://"), folder)
    if file is None and (Path(given).is_file()):
        file = Path(given)
    if file is None:
        notes.append(f"{mechanism.name}: mesh file {given!r} not found: not drawn")
        return None
    try:
        import trimesh  # an extra

        read: Any = trimesh.load(file, force="mesh")
        mesh = Mesh(np.array(read.vertices, dtype=float), np.array(read.faces, dtype=np.int64))
    except ImportError:
        notes.append(
            f"{mechanism.name}: mesh file {given!r} needs trimesh: pip install 'sarrus[view]'; not drawn"
        )
        return None
    except Exception as error:  # readers raise what they like
        notes.append(f"{mechanism.name}: mesh file {given!r} cannot be read: {error}; not drawn")
        return None
    return mesh.scaled(shape.size)


def _slimmest(mechanism: Mechanism) -> float:
    """Return the radius of the thickest capsule or cylinder of the links [m], beyond which pins protrude."""
    round_ones = [
        float(shape.size[0])
        for body in mechanism.bodies.values()
        for shape in body.shapes
        if shape.kind in ("capsule", "cylinder") and shape.size[1] > shape.size[0]
    ]
    return max(round_ones, default=0.0)


# --- bodies without shapes -------------------------------------------------------------------------


def _links(number: int, skeleton: Skeleton, radius: float, rims: list[Array]) -> list[Part]:
    """Return rods between the joints of a body: one, a ring of three, or a star; points on rims have none."""
    points = skeleton.points[list(skeleton.outlines[number])]
    if rims:
        apart = np.abs(points[:, None] - np.array(rims)).max(axis=-1).min(axis=1)
        points = points[apart > 0.0]
    if len(points) == 1:
        pairs = [(points[0], points[0])]
    elif len(points) <= 3:
        pairs = list(zip(points, np.roll(points, -1, axis=0)))[: 1 if len(points) == 2 else 3]
    else:
        pairs = [(points.mean(axis=0), point) for point in points]
    mesh = meshes.join([meshes.rod(start, end, radius) for start, end in pairs])
    return [Part(number, mesh, rgb(colour(number)), 1.0, "body")]


# --- joints and closures ---------------------------------------------------------------------------


def _joints(mechanism: Mechanism, radius: float) -> Iterator[Part]:
    for number, body in enumerate(mechanism.bodies.values()):
        for joint in body.joints:
            if joint.kind == "free":
                continue
            if joint.kind in _SLIDING:
                block = meshes.box(BLOCK * radius * np.array([0.7, 0.7, 1.0]))
                yield _fixed(number, block, joint.anchor, joint.axis, HINGE)
                if joint.kind == "cylindrical":
                    yield _fixed(number, _long_pin(radius), joint.anchor, joint.axis, HINGE)
            elif joint.kind == "spherical":
                yield _fixed(number, meshes.ellipsoid([1.5 * radius] * 3), joint.anchor, joint.axis, HINGE)
            elif joint.kind == "universal":
                for axis in (joint.axis, joint.axis2):
                    yield _fixed(number, _cross_pin(radius), joint.anchor, axis, HINGE)
            elif joint.kind in _TURNING:
                yield _fixed(number, _pin(radius), joint.anchor, joint.axis, HINGE)
        yield from _foundation(body, radius)


def _foundation(body: Body, radius: float) -> Iterator[Part]:
    """Yield a block on the ground for each joint there."""
    if body.parent != WORLD or not body.joints or body.joints[0].kind == "free":
        return
    joint = body.joints[0]
    where = body.placement.apply(joint.anchor)
    axis = body.placement.rotation @ joint.axis
    sides = np.array([2.2, 2.2, 1.2]) * radius
    yield _fixed(-1, meshes.box(sides), where, axis, GROUND, "ground")


def _closures(mechanism: Mechanism, radius: float) -> Iterator[Part]:
    index = mechanism.body_numbers
    for closure in mechanism.closures.values():
        if closure.kind == "distance":
            continue
        number, point, axis = _seat(closure, index)
        solids = [_pin(RING / PIN * radius)]
        if closure.kind in ("point", "point_on_line", "point_on_plane"):
            solids = [meshes.ellipsoid([1.55 * radius] * 3)]
        elif closure.kind == "universal":
            solids = [_cross_pin(radius)]
        elif closure.kind == "weld":
            solids = [meshes.box([1.5 * radius] * 3)]
        elif closure.kind in ("prismatic", "planar", "cylindrical"):
            solids = [meshes.box(0.8 * BLOCK * radius * np.array([0.7, 0.7, 1.0]))]
            if closure.kind == "cylindrical":
                solids.append(_long_pin(radius))
        for solid in solids:
            yield _fixed(number, solid, point, axis, CLOSURE, "closure")
        if closure.kind == "universal":
            other = _other_axis(mechanism, closure)
            yield _fixed(number, solids[0], point, other, CLOSURE, "closure")


def _other_axis(mechanism: Mechanism, closure: Closure) -> Array:
    """Return the axis of a universal joint fixed to the other body, in axes of the body with the solid."""
    poses = [mechanism.reference_pose(body).rotation for body in (closure.body1, closure.body2)]
    if closure.body2 == WORLD:
        return poses[0].T @ poses[1] @ closure.axis2
    return poses[1].T @ poses[0] @ closure.axis1


def _guides(mechanism: Mechanism, radius: float) -> Iterator[Rod]:
    """Yield the lines along which joints slide, from one body to the other."""
    index = mechanism.body_numbers
    for body in mechanism.bodies.values():
        if body.joints and body.joints[0].kind in _SLIDING:
            anchor = body.joints[0].anchor
            ends = body.placement.apply(anchor), anchor
            yield Rod((index[body.parent], index[body.name]), ends, radius, GROUND)


def _rims(mechanism: Mechanism, radius: float) -> Iterator[Part]:
    """Yield the rims of rolling elements."""
    for rolling in mechanism.rollings.values():
        if lines := rim(rolling):
            spokes = [(rolling.centre, corner) for corner, _ in lines[::_SPOKE]]
            mesh = meshes.join([meshes.rod(start, end, radius) for start, end in (*lines, *spokes)])
            yield Part(mechanism.body_numbers[rolling.body], mesh, CLOSURE, 1.0, "closure")


def _touching(mechanism: Mechanism, radius: float) -> Iterator[Rod]:
    """Yield a rod for every rolling element, which ends at its point of contact."""
    numbers = mechanism.body_numbers
    for rolling in mechanism.rollings.values():
        bodies = numbers[rolling.body], numbers[rolling.ground]
        yield ContactRod(bodies, (rolling.centre, rolling.origin), radius, CLOSURE, rolling, numbers)


def _seat(closure: Closure, index: dict[str, int]) -> tuple[int, Array, Array]:
    """Return body, point and axis at which a closure is drawn: body 2, or body 1 if body 2 is the ground."""
    if closure.body2 == WORLD:
        return index[closure.body1], closure.pose1.position, closure.axis1
    return index[closure.body2], closure.pose2.position, closure.axis2


def _cross_pin(radius: float) -> Mesh:
    """Return one of the two pins of a universal joint."""
    return meshes.cylinder(0.8 * PIN * radius, 1.8 * PIN_HALF * radius)


def _long_pin(radius: float) -> Mesh:
    """Return a slim pin that sticks out of a block: it slides and turns."""
    return meshes.cylinder(0.9 * radius, 2.2 * BLOCK * radius)


def _pin(radius: float) -> Mesh:
    return meshes.cylinder(PIN * radius, PIN_HALF * radius)


def _fixed(number: int, mesh: Mesh, point: Array, axis: Array, colour: Rgb, role: str = "joint") -> Part:
    size = float(np.linalg.norm(axis))
    turn = rotation_along(axis / size) if size > 0.0 else np.eye(3)
    return Part(number, mesh.placed(Pose(point, turn)), colour, 1.0, role)
