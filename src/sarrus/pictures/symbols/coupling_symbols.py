"""Symbols of couplings: gears as touching pitch circles, belts over pulleys, racks, screws, brakes, prescribed motions.

The kind of machine follows from the terms of a coupling and its joints, the size of the circles from the ratio. Other
couplings are a dash-dotted line from joint to joint.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import Coupling, CouplingTerm
from sarrus.model.mechanism.gearing import Gearing
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.tendons import Tendon, segments
from sarrus.pictures.symbols.glyphs import across, arc, arrow, helix, turning_arrow
from sarrus.pictures.symbols.style import COAXIAL, PULLEY, WORM_FAST
from sarrus.pictures.symbols.symbols import Sheet, placed
from sarrus.pictures.symbols.tolerances import NO_ARM, PARALLEL_DRAWN

_STYLE = {"couplings": "constraint", "gearings": "contact"}
_CHAINS = {"guide": "coupling", "spring": "force", "string": "string"}  # styles of chains of glyphs
_TEETH = 9  # ticks of a rack


def add_coupling(sheet: Sheet, coupling: Coupling) -> None:
    """Add the symbol of a coupling."""
    element = "couplings", coupling.name
    if len(coupling.terms) == 1:
        _one(sheet, element, coupling)
        return
    _pair(sheet, element, [term.coordinate for term in coupling.terms], _ratio(coupling))


def add_gearing(sheet: Sheet, gearing: Gearing) -> None:
    """Add the symbol of gears, racks, screws and worms with flanks: of a coupling, in the colour of contacts."""
    factors = [factor for _, factor in gearing.approach]
    ratio = (factors[0], factors[1]) if len(factors) == 2 and all(factors) else None
    _pair(sheet, ("gearings", gearing.name), [coordinate for coordinate, _ in gearing.approach], ratio)


def _pair(
    sheet: Sheet, element: tuple[str, str], coordinates: list[str], ratio: tuple[float, float] | None
) -> None:
    """Add two wheels, a rack, or a screw, by the factors of two coordinates; else lines from joint to joint."""
    joints = [sheet.joint_of(coordinate) for coordinate in coordinates]
    drawn = False
    if ratio is not None and joints[0] is not None and joints[1] is not None:
        drawn = _wheels(sheet, element, (joints[0], joints[1]), ratio)
    if not drawn:
        chain(sheet, element, coordinates)


def chain(sheet: Sheet, element: tuple[str, str], coordinates: list[str], glyph: str = "guide") -> None:
    """Add links from the joint, or the tendon, of a coordinate to that of the next one."""
    places = [anchor(sheet, coordinate) for coordinate in coordinates]
    for start, end in pairwise(places):
        sheet.link(element, start, end, glyph, _CHAINS[glyph])


def anchor(sheet: Sheet, coordinate: str) -> tuple[str, Array]:
    """Return where the joint of a coordinate is, on the body that it moves; of a tendon its first point."""
    joint = sheet.joint_of(coordinate)
    if joint is not None:
        return sheet.owners[joint.name][0].name, joint.anchor
    tendon = sheet.mechanism.tendons.get(coordinate.removeprefix("tendon:"))
    if tendon is not None:
        return start_of(sheet, tendon)
    return "world", np.zeros(3)


def start_of(sheet: Sheet, tendon: Tendon) -> tuple[str, Array]:
    """Return where a tendon begins: its first point, or the first of its joints."""
    if tendon.spatial:
        first = segments(tendon.path)[0].start
        return first.body, first.point
    return anchor(sheet, tendon.path[0].coordinate)  # type: ignore[union-attr]


def _moves(sheet: Sheet, element: tuple[str, str], joint: Joint, coordinate: str) -> None:
    """Add a curved arrow around the axis along which a coordinate turns, or a straight one along which it slides."""
    parent, placement = sheet.base(joint)
    slides, axis = _way(joint, coordinate)
    centre, axis = placement.apply(joint.anchor), placement.rotation @ axis
    radius = sheet.radius
    if slides:
        side = across(axis)[0]
        if abs(side @ sheet.local(parent, sheet.normal)) > 0.5:
            side = np.cross(axis, side)
        start = centre + 1.9 * radius * side - 2.0 * radius * axis
        sheet.mark(element, parent, arrow(start, start + 4.0 * radius * axis, side, both=True), "constraint")
    else:
        sheet.mark(element, parent, turning_arrow(centre, axis, 2.3 * radius), "constraint")


def _one(sheet: Sheet, element: tuple[str, str], coupling: Coupling) -> None:
    """Add a motion, or a brake: two shoes at the joint."""
    coordinate = coupling.terms[0].coordinate
    joint = sheet.joint_of(coordinate)
    if joint is None:
        tendon = sheet.mechanism.tendons.get(coordinate.removeprefix("tendon:"))
        body, point = anchor(sheet, coordinate)
        end = segments(tendon.path)[0].end if tendon is not None and tendon.spatial else None
        way = sheet.poses[end.body].apply(end.point) - sheet.poses[body].apply(point) if end else sheet.up
        way = sheet.local(body, way / max(float(np.linalg.norm(way)), NO_ARM))
        side = across(way)[0]
        start = point + 1.5 * sheet.radius * side
        head = arrow(start, start + 4.0 * sheet.radius * way, side, both=coupling.motion is not None)
        sheet.mark(element, body, head, "constraint")
        return
    if coupling.motion is not None:
        _moves(sheet, element, joint, coordinate)
        return
    parent, placement = sheet.base(joint)
    _, axis = _way(joint, coordinate)
    centre, axis = placement.apply(joint.anchor), placement.rotation @ axis
    one, other = across(axis)
    r = sheet.radius
    shoes = [
        np.array([centre + s * 1.4 * r * one + 1.3 * t * r * other for t in (-1.0, 1.0)]) for s in (-1.0, 1.0)
    ]
    jaws = [np.array([centre + s * 1.4 * r * one, centre + s * 2.6 * r * one]) for s in (-1.0, 1.0)]
    sheet.mark(element, parent, [*shoes, *jaws], "constraint")


def _way(joint: Joint, coordinate: str) -> tuple[bool, Array]:
    """Return whether a coordinate of a joint slides, and along or about which axis of the body."""
    for name, (kind, axis) in zip(joint.velocity_names, joint.series):
        if name == coordinate or coordinate == joint.name:
            return kind == "prismatic", axis
    return False, joint.axis


def _ratio(coupling: Coupling) -> tuple[float, float] | None:
    """Return the two factors of a linear coupling of two coordinates; None for others."""
    if len(coupling.terms) != 2 or coupling.motion is not None:
        return None
    factors = [_factor(term) for term in coupling.terms]
    one, two = factors
    return (one, two) if one and two else None


def _factor(term: CouplingTerm) -> float | None:
    if term.function is not None or len(term.coefficients) != 2:
        return None
    return term.coefficients[1]


def _wheels(
    sheet: Sheet, element: tuple[str, str], joints: tuple[Joint, Joint], factors: tuple[float, float]
) -> bool:
    """Add gears, a belt, a rack or a screw if the joints allow it; return whether they do."""
    kinds = [joint.kind for joint in joints]
    if any(kind not in ("revolute", "prismatic") for kind in kinds):
        return False
    bases = [sheet.base(joint) for joint in joints]
    if bases[0][0] != bases[1][0] or kinds == ["prismatic", "prismatic"]:
        return False
    parent = bases[0][0]
    places = [pose.apply(joint.anchor) for (_, pose), joint in zip(bases, joints)]
    axes = [pose.rotation @ joint.axis for (_, pose), joint in zip(bases, joints)]
    if kinds == ["revolute", "revolute"]:
        return _two_wheels(sheet, element, joints, factors, parent, places, axes)
    turn = kinds.index("revolute")
    slide = 1 - turn
    lead = factors[turn] / factors[slide]  # the slide moves by minus this per radian
    if np.linalg.norm(np.cross(axes[turn], axes[slide])) < PARALLEL_DRAWN:
        body = sheet.owners[joints[turn].name][0].name
        half = 0.12 * sheet.size
        left = (
            lead * float(axes[turn] @ axes[slide]) < 0.0
        )  # the nut goes back where a right-handed screw turns
        thread = helix(joints[turn].anchor, joints[turn].axis, 0.8 * sheet.radius, half, 6, left=left)
        sheet.mark(element, body, [thread], _STYLE[element[0]])
        return True
    if abs(axes[turn] @ axes[slide]) > PARALLEL_DRAWN:
        return False
    _rack(sheet, element, (joints[turn], joints[slide]), lead, places[turn], axes[turn], axes[slide])
    return True


def _rack(
    sheet: Sheet,
    element: tuple[str, str],
    joints: tuple[Joint, Joint],
    lead: float,
    centre: Array,
    axis: Array,
    along: Array,
) -> None:
    """Add the pitch circle of a pinion and the pitch line of its rack, with teeth."""
    pinion, slider = (sheet.owners[joint.name][0] for joint in joints)
    radius = abs(lead)
    _wheel(sheet, element, pinion.name, joints[0].anchor, joints[0].axis, radius)
    out = -np.sign(lead) * np.cross(along, axis)
    touch = centre + radius * out
    half = max(2.0 * radius, 0.15 * sheet.size)
    steps = np.linspace(-half, half, _TEETH)
    ends = [np.array([touch - half * along, touch + half * along])]
    ticks = [
        np.array([touch + x * along, touch + x * along + 0.25 * half / _TEETH * 2.0 * out]) for x in steps
    ]
    sheet.mark(element, slider.name, placed(slider.placement.inverse(), [*ends, *ticks]), _STYLE[element[0]])


def _two_wheels(
    sheet: Sheet,
    element: tuple[str, str],
    joints: tuple[Joint, Joint],
    factors: tuple[float, float],
    parent: str,
    places: list[Array],
    axes: list[Array],
) -> bool:
    """Add two gears that turn in opposite directions, or two pulleys with a belt."""
    if np.linalg.norm(np.cross(axes[0], axes[1])) > PARALLEL_DRAWN:
        return _worm(sheet, element, joints, factors, places, axes)
    axis = axes[0]
    gap = places[1] - places[0]
    height = float(axis @ gap)
    gap = gap - height * axis
    distance = float(np.linalg.norm(gap))
    names = [sheet.owners[joint.name][0].name for joint in joints]
    own = [joint.axis for joint in joints]
    shift = float(np.sign(axes[0] @ axes[1])) * height
    anchors = [joints[0].anchor, joints[1].anchor - shift * own[1]]  # both in the plane of the first
    if distance < PARALLEL_DRAWN * sheet.size:
        for name, place, way, size in zip(names, anchors, own, COAXIAL):
            _wheel(sheet, element, name, place, way, size * sheet.radius)
        return True
    one, two = abs(factors[0]), abs(factors[1])
    alike = factors[0] * factors[1] * float(axes[0] @ axes[1]) < 0.0
    if alike:  # the radius goes with the factor: r₁ ω₁ = r₂ ω₂
        radii = np.array([one, two]) / max(one, two) * PULLEY * distance
    else:
        radii = np.array([one, two]) / (one + two) * distance
    for name, place, way, radius in zip(names, anchors, own, radii):
        _wheel(sheet, element, name, place, way, float(radius))
    if alike:
        way = gap / distance
        side = np.cross(axis, way)
        sine = (radii[0] - radii[1]) / distance
        lines = []
        for sign in (-1.0, 1.0):
            out = sine * way + sign * np.sqrt(1.0 - sine**2) * side
            start, end = places[0], places[0] + gap
            lines.append(np.array([start + radii[0] * out, end + radii[1] * out]))
        sheet.mark(element, parent, lines, _STYLE[element[0]])
    return True


def _wheel(
    sheet: Sheet, element: tuple[str, str], body: str, centre: Array, axis: Array, radius: float
) -> None:
    """Add a pitch circle, with a spoke that shows how it turns."""
    one, _ = across(axis)
    spoke = np.array([centre, centre + radius * one])
    sheet.mark(element, body, [arc(centre, axis, radius), spoke], _STYLE[element[0]])


def _worm(
    sheet: Sheet,
    element: tuple[str, str],
    joints: tuple[Joint, Joint],
    factors: tuple[float, float],
    places: list[Array],
    axes: list[Array],
) -> bool:
    """Add a worm and its wheel if the axes are skew at right angles and one turns much faster; return whether
    they are.
    """
    across_both = np.cross(axes[0], axes[1])
    distance = abs(float((places[1] - places[0]) @ across_both)) / float(np.linalg.norm(across_both))
    slow = int(abs(factors[1]) > abs(factors[0]))
    fast = 1 - slow
    if abs(axes[0] @ axes[1]) > PARALLEL_DRAWN or distance < PARALLEL_DRAWN * sheet.size:
        return False
    if abs(factors[slow]) < WORM_FAST * abs(factors[fast]):
        return False
    names = [sheet.owners[joint.name][0].name for joint in joints]
    radius = 0.2 * distance
    nearest = joints[fast].anchor + float(axes[fast] @ (places[slow] - places[fast])) * joints[fast].axis
    thread = helix(nearest, joints[fast].axis, radius, 0.7 * distance, 6)
    sheet.mark(element, names[fast], [thread], _STYLE[element[0]])
    middle = joints[slow].anchor + float(axes[slow] @ (places[fast] - places[slow])) * joints[slow].axis
    _wheel(sheet, element, names[slow], middle, joints[slow].axis, distance - radius)
    return True
