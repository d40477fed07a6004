"""Draw the rows of every closure, of what rolls, of contacts and couplings: python docs/images/rows.py.

Arrows are what A says, not what somebody meant: the force (red) and the couple (blue, two heads) that a multiplier of
one exerts on body 2, or on both bodies of a coupling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from make import save
from matplotlib.axes import Axes
from numpy.typing import NDArray

import sarrus as sr
from sarrus.model.mechanism.elements import CLOSURE_KINDS
from sarrus.model.mechanism.rolling import ROLLING_ROWS
from sarrus.pictures.plots.skeleton import build_skeleton
from sarrus.pictures.symbols.picture_plane import view_from_above
from sarrus.pictures.symbols.style import FAINT, INK, colour, new_figure

Array = NDArray[np.float64]

# Where frame 2 is from frame 1, and what the kinds want beside that.
OFFSETS = {
    "prismatic": (0, 0, 0.7), "cylindrical": (0, 0, 0.7), "screw": (0, 0, 0.7), "planar": (0.8, 0.1, 0),
    "distance": (0.7, 0.1, 0.6), "point_on_line": (0, 0, 0.7), "point_on_plane": (0.8, 0.1, 0),
}  # fmt: skip
MORE = {
    "screw": {"pitch": 3.0},
    "universal": {"axis2": (1, 0, 0)},
    "distance": {"length": float(np.linalg.norm(OFFSETS["distance"]))},
}
ROLLING = tuple(ROLLING_ROWS)
ALONG_AXIS = ("revolute", "prismatic", "screw", "cylindrical", "universal", "point_on_line")
WHEEL, SLIDE = ("revolute", (0, 0, 1)), ("prismatic", (1, 0, 0))
# Joints with their axes and places, and the factors of their coordinates; a rack touches at the radius of its pinion.
COUPLED = {
    "gears": (((*WHEEL, (-0.6, 0, 0)), (*WHEEL, (0.6, 0, 0))), (1.0, 1.2)),
    "belt": (((*WHEEL, (-0.9, 0, 0)), (*WHEEL, (0.9, 0, 0))), (1.0, -1.2)),
    "rack": (((*WHEEL, (-0.4, 0, 0)), (*SLIDE, (0.2, 0.6, 0))), (0.6, 1.0)),
    "lead screw": (((*WHEEL, (0, 0, 0)), ("prismatic", (0, 0, 1), (0.9, 0, 0))), (-0.2, 1.0)),
    "differential": (((*WHEEL, (-0.8, 0, 0)), (*WHEEL, (0, 0, 0)), (*WHEEL, (0.8, 0, 0))), (1.0, 1.0, -2.0)),
    "motion of an angle": (((*WHEEL, (0, 0, 0)),), (1.0,)),
    "motion of a slide": (((*SLIDE, (0, 0, 0)),), (1.0,)),
}
ON_PLANE = ("planar", "point_on_plane", "contact", *ROLLING)
FORCE, COUPLE = colour(1), colour(0)
VIEW = view_from_above(np.eye(3)[2], height=2.0)


@dataclass(frozen=True)
class Row:
    """What a multiplier of one exerts on body 2 at a place: a force and a couple about it."""

    name: str
    place: Array
    force: Array
    couple: Array


def rows_of(system: sr.System, places: dict[str, Array]) -> Iterator[Row]:
    """Iterate over the rows; ``places`` says where those act that do not act at the origin of body 2."""
    q = system.assemble(system.neutral()).q
    origin, turn = q[:3], system.body_placements(q)[1][0]
    for name, row in zip(system.constraint_names, system.constraint_jacobian(q)):
        place = places.get(name, origin)
        force, torque = row[:3], turn @ row[3:]  # of a free joint: in the world, in the body
        yield Row(name.partition(".")[2], place, force, torque - np.cross(place - origin, force))


def closure(kind: str) -> sr.System:
    """Return a free body that a closure ties to the ground."""
    mechanism = sr.Mechanism(kind)
    mechanism.add_body("2", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("2", "free", "world", "2", parent_pose=OFFSETS.get(kind, (0, 0, 0)))
    mechanism.add_closure("c", kind, "world", "2", **MORE.get(kind, {}))
    return sr.System(mechanism)


def rolling(kind: str) -> sr.System:
    """Return a free body that rolls on the ground along x."""
    mechanism = sr.Mechanism(kind)
    mechanism.add_body("2", 1.0, inertia=(1, 1, 1))
    half_angle = 0.45
    pose = {
        "knife_edge": sr.Pose.of((0, 0, 0)),
        "cone": sr.Pose.of((0, 0, 0), rpy=(0, -half_angle, 0)),
    }.get(kind, sr.Pose.of((0, 0, 0.6)))
    mechanism.add_joint("2", "free", "world", "2", parent_pose=pose)
    more = {
        "knife_edge": {},
        "cone": {"radius": 0.4, "half_angle": half_angle},
        "omni": {"radius": 0.6, "roller_angle": 0.7},
    }
    axis = (1, 0, 0) if kind == "cone" else (0, 1, 0)
    mechanism.add_rolling("c", kind, "2", axis=axis, **more.get(kind, {"radius": 0.6}))
    return sr.System(mechanism)


def coupled(kind: str) -> sr.System:
    """Return bodies on the ground whose joints are coupled, or one that a motion leads."""
    joints, terms = COUPLED[kind]
    mechanism = sr.Mechanism(kind)
    for number, (joint, axis, place) in enumerate(joints, start=1):
        name = str(number)
        mechanism.add_body(name, 1.0, (0.8 * axis[2], 0, 0), (1, 1, 1))
        mechanism.add_joint(name, joint, "world", name, axis=axis, parent_pose=place)
    motion = {"motion": lambda t: t} if kind.startswith("motion") else {}
    mechanism.add_coupling(
        "c", {str(number): factor for number, factor in enumerate(terms, start=1)}, **motion
    )
    return sr.System(mechanism)


def draw_coupled(axes: Axes, kind: str) -> None:
    """Draw a coupling: its symbol, and what it exerts on the joints that it couples."""
    system = coupled(kind)
    q, mechanism = system.neutral(), system.mechanism
    skeleton = build_skeleton(mechanism)
    placed = skeleton.place(system, q[None])[0][len(skeleton.points) :]
    for glyph, _, rows in skeleton.symbols.pieces():
        pattern = "-" if glyph == "line" else "-."
        axes.plot(*VIEW.project(placed[rows]).T, color=FAINT, linewidth=1.2, linestyle=pattern)
    row = system.constraint_jacobian(q)[0]
    for joint, factor, shade in zip(mechanism.joints(), row, (colour(2), colour(3), colour(4))):
        place = mechanism.bodies[joint.name].placement.apply(joint.anchor)
        axes.plot(*VIEW.project(place), "o", color="white", markeredgecolor=shade, markersize=6, zorder=5)
        if kind.startswith("motion"):
            bar = np.array([place, place + np.array([0.5, 0.9, 0.2])])
            axes.plot(*VIEW.project(bar).T, color=shade, linewidth=3.5)
        way = np.sign(factor) * joint.axis
        slides = joint.kind == "prismatic"
        name = f"{factor:+.2g}".replace("-", "\N{MINUS SIGN}")
        acting = Row(name, place, way if slides else np.zeros(3), np.zeros(3) if slides else way)
        _arrow(axes, acting, way, FORCE if slides else COUPLE, 1 if slides else 2, label=True)
    _dress(axes, kind)


def _dress(axes: Axes, kind: str) -> None:
    axes.set_title(f"{kind.replace('_', ' ')}", loc="left", size=10, color=INK, weight="bold")
    axes.set_aspect("equal")
    axes.set_xlim(-1.6, 1.7)
    axes.set_ylim(-1.1, 1.7)
    axes.set_axis_off()


def standing() -> sr.System:
    """Return a free body that stands on the ground with a point."""
    mechanism = sr.Mechanism("contact")
    mechanism.add_body("2", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("2", "free", "world", "2", parent_pose=(0, 0, 0))
    mechanism.add_contact("c", "2", active=True)
    return sr.System(mechanism)


def draw(axes: Axes, kind: str) -> None:
    """Draw one kind."""
    if kind in COUPLED:
        draw_coupled(axes, kind)
        return
    rolls = kind in ROLLING
    system = standing() if kind == "contact" else rolling(kind) if rolls else closure(kind)
    q = system.assemble(system.neutral()).q
    origin, places = q[:3], {}
    if rolls:
        touching = system.rolling(q, np.zeros(system.nv))["c"]
        places = {name: np.asarray(touching.point) for name in system.constraint_names}
        if kind == "cone":
            places = {
                name: np.asarray(touching.point) if name.endswith("_rim") else origin
                for name in system.constraint_names
            }
    found = list(rows_of(system, places))
    flat = VIEW.project

    def line(points: Array, **style: object) -> None:
        axes.plot(*flat(np.array(points, dtype=float)).T, **{"color": INK, "linewidth": 1.0, **style})

    if kind in ON_PLANE:
        corners = 1.3 * np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)])
        axes.fill(*flat(corners).T, color=FAINT, alpha=0.25, linewidth=0, zorder=0)
    if kind in ALONG_AXIS:
        line([(0, 0, -0.9), (0, 0, 1.5)], linestyle="-.", color=FAINT)
    if kind == "universal":
        line([(-0.9, 0, 0), (0.9, 0, 0)], linestyle="-.", color=FAINT)
    if kind == "distance":
        line([(0, 0, 0), origin], linewidth=2.5, color=FAINT)
    if kind == "contact":
        line([origin, origin + np.array([0.7, 0.5, 0.9])], linewidth=3.5, color=colour(3))
    elif rolls:
        _outline(line, kind, origin, system.mechanism.rollings["c"])
    else:
        line([(0, 0, 0), (-0.9, -0.5, -0.2)], linewidth=3.5, color=colour(2))
        line([origin, origin + np.array([0.9, 0.7, 0.2])], linewidth=3.5, color=colour(3))
        for point, shade in ((np.zeros(3), colour(2)), (origin, colour(3))):
            axes.plot(*flat(point), "o", color="white", markeredgecolor=shade, markersize=6, zorder=5)
    for row in found:
        for vector, shade, heads in ((row.force, FORCE, 1), (row.couple, COUPLE, 2)):
            size = np.linalg.norm(vector)
            if size > 1e-9:
                _arrow(
                    axes,
                    row,
                    vector / size,
                    shade,
                    heads,
                    label=heads == 1 or np.linalg.norm(row.force) < 1e-9,
                )
    _dress(axes, kind)


def _arrow(axes: Axes, row: Row, way: Array, shade: str, heads: int, *, label: bool) -> None:
    start, end = (VIEW.project(row.place + x * way) for x in (0.0, 0.95 if heads == 1 else 0.6))
    aside = np.array([end[1] - start[1], start[0] - end[0]])
    aside *= (0.0 if heads == 1 else 0.11) / max(float(np.linalg.norm(aside)), 1e-9)
    start, end = start + aside, end + aside
    style = {
        "arrowstyle": "-|>",
        "color": shade,
        "linewidth": 1.4,
        "mutation_scale": 10,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    axes.annotate("", end, start, arrowprops=style, zorder=6)
    if heads == 2:
        axes.annotate("", start + 0.82 * (end - start), start, arrowprops=style, zorder=6)
    if label:
        away = 8 * (end - start + 1.5 * aside) / max(float(np.linalg.norm(end - start)), 1e-9)
        text = {"textcoords": "offset points", "ha": "center", "va": "center"}
        axes.annotate(row.name, end, away, size=8, color=shade, zorder=7, **text)


def _outline(line, kind: str, origin: Array, element: object) -> None:
    """Draw the outline of what rolls."""
    angles = np.linspace(0, 2 * np.pi, 61)
    if kind == "knife_edge":
        line([(-0.5, 0, 0), (-0.65, 0, 0.35), (0.65, 0, 0.35), (0.5, 0, 0), (-0.5, 0, 0)], color=colour(3))
        return
    radius = element.radius
    if kind == "cone":
        a = np.array([np.cos(element.half_angle), 0, np.sin(element.half_angle)])
        side = np.array([-a[2], 0, a[0]])
        base = origin + a * radius / np.tan(element.half_angle)
        rim = base + radius * (np.cos(angles)[:, None] * side + np.sin(angles)[:, None] * np.array([0, 1, 0]))
        line(rim, color=colour(3), linewidth=1.6)
        for k in (0, 15, 30, 45):
            line([origin, rim[k]], color=colour(3), linewidth=0.8)
        return
    ring = radius * np.column_stack([np.cos(angles), np.zeros_like(angles), np.sin(angles)])
    line(origin + ring, color=colour(3), linewidth=1.6)
    if kind == "ball":
        line(origin + ring[:, [0, 2, 1]], color=colour(3), linewidth=0.8)
    else:
        line([origin, origin + np.array([0, 0.5, 0])], color=FAINT, linestyle="-.")


def main() -> None:
    """Draw all kinds on one sheet."""
    kinds = (*CLOSURE_KINDS, *ROLLING, "contact", *COUPLED)
    figure = new_figure(11.0, 13.2)
    grid = figure.subplots(6, 4)
    assert grid.size == len(kinds)
    for axes, kind in zip(grid.ravel(), kinds):
        draw(axes, kind)
    save(figure, "rows.png", dpi=90)


if __name__ == "__main__":
    main()
