"""Symbols of all elements of a mechanism: `symbols_of` walks its tables.

Bodies, hinges and sliders are drawn by the skeleton and, in three dimensions, as solids; contacts with their planes by
`sarrus.pictures.plots.contact_drawing`, rolling elements by `sarrus.pictures.symbols.rolling_drawing`. Keyframes,
frames, listed pairs of geometries, forces on coordinates and sensors without a place have no symbol.
"""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Closure, ContactPatch, Geom, SpringDamper
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.rolling import Rolling
from sarrus.model.mechanism.tendons import Pulley, Tendon, TendonPoint, Wrap, segments
from sarrus.pictures.symbols.actuator_symbols import (
    add_actuator,
    add_letter,
    add_sensor,
    place_of_sensor,
    sideways,
)
from sarrus.pictures.symbols.coupling_symbols import add_coupling, add_gearing, anchor, chain, start_of
from sarrus.pictures.symbols.glyphs import across, arc, arrow, box, helix, plate, rounded, spiral
from sarrus.pictures.symbols.string_paths import StringPath
from sarrus.pictures.symbols.style import WRAPPED_LENGTH
from sarrus.pictures.symbols.surface_drawing import surface_lines
from sarrus.pictures.symbols.symbols import Sheet, Symbols, placed
from sarrus.pictures.symbols.tolerances import NO_ARM

_THREAD = 3  # turns of a screw that are drawn
_ROLLERS = 12  # of an omni wheel
_LINES = 8  # of a height field along each side


def symbols_of(mechanism: Mechanism, size: float) -> Symbols:
    """Return the symbols of all elements of a mechanism, in proportion to its ``size`` [m]."""
    sheet = Sheet(mechanism, size)
    for body in mechanism.bodies.values():
        for joint in body.joints:
            _joint(sheet, joint)
    for closure in mechanism.closures.values():
        _closure(sheet, closure)
    for coupling in mechanism.couplings.values():
        add_coupling(sheet, coupling)
    for gearing in mechanism.gearings.values():
        add_gearing(sheet, gearing)
    for spring in mechanism.springs.values():
        _spring(sheet, spring)
    for combined in mechanism.coordinate_springs.values():
        _coordinate_spring(sheet, combined.name, [coordinate for coordinate, _ in combined.terms])
    for tendon in mechanism.tendons.values():
        _tendon(sheet, tendon)
    for patch in mechanism.patches.values():
        _patch(sheet, patch)
    for contact in mechanism.contacts.values():
        if contact.radius:
            ball = arc(contact.point, sheet.local(contact.body, sheet.normal), contact.radius)
            sheet.mark(("contacts", contact.name), contact.body, [ball], "contact")
    for rolling in mechanism.rollings.values():
        _rolling(sheet, rolling)
    touching = {name for pair in mechanism.geometry_contacts.values() for name in (pair.geom1, pair.geom2)}
    for geom in mechanism.geoms.values():
        if geom.name in touching or geom.kind == "hfield":
            _geom(sheet, geom)
    for pair in mechanism.geometry_contacts.values():
        _geometry_contact(sheet, pair.name, mechanism.geoms[pair.geom1], mechanism.geoms[pair.geom2])
    for driven in mechanism.driven_bodies.values():
        _moved(sheet, ("driven_bodies", driven.name), driven.name, Pose())
    for force in mechanism.forces.values():
        if force.body is not None:
            add_letter(sheet, ("forces", force.name), "F", (force.body, force.point), "force")
    for actuator in mechanism.actuators.values():
        add_actuator(sheet, actuator)
    marked: set[tuple[str, tuple[float, ...]]] = set()
    for sensor in mechanism.sensors.values():
        place = place_of_sensor(sheet, sensor)
        key = (place[0], tuple(np.round(place[1], 9))) if place else None
        if place is not None and key is not None and key not in marked:
            marked.add(key)
            add_sensor(sheet, sensor.name, place)
    return sheet.symbols()


# --- joints and closures -----------------------------------------------------------------------------


def _joint(sheet: Sheet, joint: Joint) -> None:
    body, element = sheet.owners[joint.name][0].name, ("joints", joint.name)
    parent, placement = sheet.base(joint)
    if joint.kind == "screw":
        thread = _thread(sheet, joint.anchor, joint.axis, joint.pitch)
        sheet.mark(element, body, [thread], "joint")
    elif joint.kind == "planar":
        base = placement.apply(joint.anchor)
        normal, x = placement.rotation @ joint.axis, placement.rotation @ joint.axis2
        sheet.mark(element, parent, plate(base, normal, 2.5 * sheet.radius, x), "joint")
    else:
        lines = _flat(sheet, joint.kind, joint.anchor, joint.axis, joint.axis2, body)
        sheet.mark(element, body, lines, "joint", flat=True)
    if joint.stiffness:
        if joint.kind == "revolute":
            coil = spiral(joint.anchor, joint.axis, 1.6 * sheet.radius)
            sheet.mark(element, body, [coil], "force")
        elif joint.kind == "prismatic":
            base = placement.apply(joint.anchor - 4.0 * sheet.radius * joint.axis)
            sheet.link(element, (parent, base), (body, joint.anchor), "spring", "force")


def _flat(sheet: Sheet, kind: str, point: Array, axis: Array, axis2: Array, body: str) -> list[Array]:
    """Return the lines that distinguish joints and closures of a kind from hinges and sliders on paper."""
    r = sheet.radius
    if kind == "universal":
        return [np.array([point - r * way, point + r * way]) for way in (axis, axis2)]
    if kind in ("spherical", "point"):
        return [arc(point, sheet.local(body, sheet.normal), size * r) for size in (0.55, 0.8)]
    if kind == "cylindrical":
        one, other = across(axis)
        long = [
            np.array([point + a - 2.0 * r * axis, point + a + 2.0 * r * axis])
            for a in (0.5 * r * one, -0.5 * r * one, 0.5 * r * other, -0.5 * r * other)
        ]
        return [*long, arc(point, axis, 0.5 * r)]
    return []


def _thread(sheet: Sheet, point: Array, axis: Array, pitch: float) -> Array:
    half = 2.5 * sheet.radius
    return helix(point, axis, 0.8 * sheet.radius, half, _THREAD, left=pitch < 0.0)


def _closure(sheet: Sheet, closure: Closure) -> None:
    element, r = ("closures", closure.name), sheet.radius
    kind, one, two = closure.kind, closure.body1, closure.body2
    point1, point2 = closure.pose1.position, closure.pose2.position
    if kind == "distance":
        sheet.link(element, (one, point1), (two, point2), "rod", "constraint")
    elif kind == "weld":
        corner = placed(closure.pose2, box([0.8 * r] * 3))
        sheet.mark(element, two, corner, "constraint", flat=True)
    elif kind == "screw":
        sheet.mark(element, two, [_thread(sheet, point2, closure.axis2, closure.pitch)], "constraint")
    elif kind in ("planar", "point_on_plane"):
        sheet.mark(element, one, plate(point1, closure.axis1, 2.5 * r), "constraint")
    else:
        lines = _flat(sheet, kind, point2, closure.axis2, closure.axis1, two)
        if kind == "universal":
            first = sheet.local(two, sheet.poses[one].rotation @ closure.axis1)
            lines = [np.array([point2 - r * way, point2 + r * way]) for way in (first, closure.axis2)]
        sheet.mark(element, two, lines, "constraint", flat=True)
    if kind == "planar":
        sheet.mark(element, two, plate(point2, closure.axis2, 1.2 * r), "constraint")
    if kind in ("prismatic", "cylindrical", "screw", "point_on_line"):
        reach = 4.0 * r * closure.axis1
        sheet.mark(element, one, [np.array([point1 - reach, point1 + reach])], "constraint")
    if closure.motion is not None:
        if kind == "distance":
            way = sheet.poses[two].apply(point2) - sheet.poses[one].apply(point1)
            way = sheet.local(one, way / max(float(np.linalg.norm(way)), NO_ARM))
            side = sideways(sheet, one, way)
            start = point1 + 1.5 * r * side + r * way
            sheet.mark(element, one, arrow(start, start + 4.0 * r * way, side, both=True), "constraint")
        else:
            _moved(sheet, element, one, closure.pose1)


def _moved(sheet: Sheet, element: tuple[str, str], body: str, pose: Pose) -> None:
    """Add four arrows away from a frame with a prescribed motion."""
    r, lines = sheet.radius, []
    normal = sheet.local(body, sheet.normal)
    one = sheet.local(body, sheet.up)
    one = one - normal * (normal @ one)
    one = across(normal)[0] if np.linalg.norm(one) < 0.1 else one / np.linalg.norm(one)
    other = np.cross(normal, one)
    for way, side in ((one, other), (-one, other), (other, one), (-other, one)):
        lines += arrow(pose.position + 1.4 * r * way, pose.position + 3.4 * r * way, side)
    sheet.mark(element, body, lines, "constraint")


# --- springs and tendons -----------------------------------------------------------------------------


def _spring(sheet: Sheet, spring: SpringDamper) -> None:
    stiff = bool(spring.stiffness) or spring.law is not None
    damps = bool(spring.damping) or spring.damper_law is not None
    glyph = "spring damper" if stiff and damps else "damper" if damps else "spring"
    ends = (spring.body1, spring.point1), (spring.body2, spring.point2)
    sheet.link(("springs", spring.name), *ends, glyph, "force")


def _coordinate_spring(sheet: Sheet, name: str, coordinates: list[str]) -> None:
    element = "coordinate_springs", name
    if len(coordinates) > 1:
        chain(sheet, element, coordinates, "spring")
        return
    joint = sheet.joint_of(coordinates[0])
    if joint is not None:
        coil = spiral(joint.anchor, joint.axis, 2.0 * sheet.radius)
        sheet.mark(element, sheet.owners[joint.name][0].name, [coil], "force")


def _tendon(sheet: Sheet, tendon: Tendon) -> None:
    element = "tendons", tendon.name
    if not tendon.spatial:
        names = [item.coordinate for item in tendon.path]  # type: ignore[union-attr]
        if len(names) > 1:
            chain(sheet, element, names, "string")
        else:
            body, point = anchor(sheet, names[0])
            loop = arc(point, sheet.local(body, sheet.normal), 2.4 * sheet.radius)
            sheet.mark(element, body, [loop], "string")
        return
    stiff, damps = bool(tendon.stiffness), bool(tendon.damping)
    for segment in segments(tendon.path):
        if segment.wrap is None:
            ends = (segment.start.body, segment.start.point), (segment.end.body, segment.end.point)
            sheet.link(element, *ends, "string", "string")
        else:
            sheet.strings.append(StringPath(element, segment, sheet.numbers))
            _wrap(sheet, element, segment.wrap)
    path = list(tendon.path)
    for before, item, after in zip(path, path[1:], path[2:]):
        if isinstance(item, Pulley):
            for end in (before, after):
                if isinstance(end, TendonPoint):
                    ring = arc(end.point, sheet.local(end.body, sheet.normal), sheet.radius)
                    sheet.mark(element, end.body, [ring], "string")
    if stiff or damps:
        body, point = start_of(sheet, tendon)
        coil = spiral(point, sheet.local(body, sheet.normal), 0.7 * sheet.radius)
        sheet.mark(element, body, [coil], "string")


def _wrap(sheet: Sheet, element: tuple[str, str], wrap: Wrap) -> None:
    half = 0.0 if wrap.kind == "sphere" else min(WRAPPED_LENGTH * wrap.radius, 0.2 * sheet.size)
    lines = placed(wrap.pose, rounded(wrap.radius, half))
    sheet.mark(element, wrap.body, lines, "string")


# --- what rolls, contacts and geometries -------------------------------------------------------------------------


def _rolling(sheet: Sheet, rolling: Rolling) -> None:
    """Add the lines that distinguish a ball, an omni wheel and a blade from a wheel, whose rim is drawn by the
    skeleton.
    """
    element, centre, axis = ("rollings", rolling.name), rolling.centre, rolling.axis
    one, other = across(axis)
    lines: list[Array] = []
    if rolling.kind == "ball":
        lines = [arc(centre, way, rolling.radius) for way in (one, other)]
    elif rolling.kind == "omni":
        turn, reach = rolling.roller_angle, 0.25 * rolling.radius
        for angle in 2 * np.pi * np.arange(_ROLLERS) / _ROLLERS:
            out = np.cos(angle) * one + np.sin(angle) * other
            along = np.cos(turn) * axis + np.sin(turn) * np.cross(axis, out)
            middle = centre + rolling.radius * out
            lines.append(np.array([middle - reach * along, middle + reach * along]))
    elif rolling.kind == "knife_edge":
        turns = [sheet.poses[body].rotation for body in (rolling.body, rolling.ground)]
        normal = turns[0].T @ turns[1] @ rolling.normal
        along = np.cross(axis, normal)
        along = along / max(float(np.linalg.norm(along)), NO_ARM)
        half, high = 4.0 * sheet.radius * along, 1.5 * sheet.radius * np.cross(along, axis)
        lines = [centre + np.array([-0.7 * half, 0.7 * half, half + high, -half + high, -0.7 * half])]
    if lines:
        sheet.mark(element, rolling.body, lines, "constraint")
    body, ground = sheet.poses[rolling.body], sheet.poses[rolling.ground]
    away = np.linalg.norm(body.apply(centre) - ground.apply(rolling.origin))
    if surface := surface_lines(rolling, max(sheet.size, float(away))):
        sheet.mark(element, rolling.ground, surface, "ground")


def _patch(sheet: Sheet, patch: ContactPatch) -> None:
    half = [*patch.half_sizes, 0.0][:2]
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)) if half[1] else ((1, 0), (-1, 0))
    corners = [patch.centre + a * half[0] * patch.along + b * half[1] * patch.across for a, b in signs]
    up = patch.centre + 2.0 * sheet.radius * patch.normal
    lines = [np.array(corners), *arrow(patch.centre, up, patch.along)]
    sheet.mark(("patches", patch.name), patch.body, lines, "contact")


def _geom(sheet: Sheet, geom: Geom) -> None:
    """Add the outline of a geometry, which in three dimensions is a solid; a height field is none."""
    a, b = float(geom.size[0]), float(geom.size[1])
    lines: list[Array] = []
    if geom.kind == "box":
        lines = box(geom.size)
    elif geom.kind in ("cylinder", "capsule"):
        lines = rounded(a, b)
        if geom.kind == "capsule":
            caps = [(side, way) for side in (-b, b) for way in np.eye(3)[:2]]
            lines += [arc(np.array([0, 0, side]), way, a) for side, way in caps]
    elif geom.kind in ("sphere", "ellipsoid"):
        half = geom.size if geom.kind == "ellipsoid" else np.full(3, a)
        lines = [line * half for line in rounded(1.0, 0.0)]
    elif geom.kind == "plane":
        lines = plate(np.zeros(3), np.array([0, 0, 1.0]), 0.5 * sheet.size)
    elif geom.kind == "hfield" and geom.heights is not None:
        lines = _heights(geom)
    elif geom.points is not None:
        low, high = geom.points.min(axis=0), geom.points.max(axis=0)
        lines = [line + 0.5 * (low + high) for line in box(0.5 * (high - low))]
    sheet.mark(
        ("geoms", geom.name), geom.body, placed(geom.pose, lines), "contact", flat=geom.kind != "hfield"
    )


def _heights(geom: Geom) -> list[Array]:
    assert geom.heights is not None
    rows, columns = geom.heights.shape
    x = np.linspace(-geom.size[0], geom.size[0], columns)
    y = np.linspace(-geom.size[1], geom.size[1], rows)
    z = geom.size[2] * geom.heights
    some = [np.unique(np.linspace(0, n - 1, min(n, _LINES)).astype(int)) for n in (rows, columns)]
    along = [np.stack([x, np.full(columns, y[i]), z[i]], axis=1) for i in some[0]]
    return along + [np.stack([np.full(rows, x[j]), y, z[:, j]], axis=1) for j in some[1]]


def _geometry_contact(sheet: Sheet, name: str, one: Geom, two: Geom) -> None:
    """Add a faint line between geometries that may be in contact."""
    ends = (one.body, one.pose.position), (two.body, two.pose.position)
    sheet.link(("geometry_contacts", name), *ends, "guide", "contact")
