"""Every kind of element has a drawing, on paper and in three dimensions: a new kind without one fails here.

The kinds are read from the package; each is built once, and its pictures are compared with those of the same mechanism
without it, and of kinds beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import get_args, get_origin

import numpy as np
import pytest

import sarrus as sr
from sarrus.model.builders.geometry_contacts import GEOM_SIZES
from sarrus.model.mechanism.description import Description, annotations_of
from sarrus.model.mechanism.elements import CLOSURE_KINDS, CONTACT_ROWS, WORLD
from sarrus.model.mechanism.joint import JOINT_KINDS
from sarrus.model.mechanism.rolling import ROLLING_ROWS
from sarrus.model.mechanism.sensor import GLOBAL_KINDS, SENSOR_KINDS
from sarrus.model.mechanism.tendons import WRAP_KINDS, Pulley, Wrap
from sarrus.model.mechanism.transmissions import (
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
    Transmission,
)
from sarrus.pictures.plots.plot import mechanism as draw
from sarrus.pictures.plots.skeleton import build_skeleton
from sarrus.pictures.scene.camera import frame
from sarrus.pictures.scene.drawing import Poses
from sarrus.pictures.scene.meshes import along
from sarrus.pictures.scene.parts import parts_of
from sarrus.pictures.scene.raster import Canvas, Triangles
from sarrus.pictures.symbols.picture_plane import view_from_above

# Tables of a mechanism with nothing to draw, and why.
WITHOUT = {
    "keyframes": "states",
    "frames": "names of places; what stands there is drawn",
    "geom_pairs": "what a file lets touch; contacts made of them are drawn",
    "excluded_bodies": "what a file keeps from touching",
    "idle_geoms": "why geoms of a file touch nothing",
    "_owners": "names of joints",
    "_bodies": "drawn by their joints and shapes",
}
Add = Callable[[sr.Mechanism], object]


def joint(kind: str) -> Add:
    def add(m: sr.Mechanism) -> None:
        m.add_body("x", 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
        pitch = {"pitch": 0.1} if kind == "screw" else {}
        m.add_joint("x", kind, "world", "x", axis=(0, 0.6, 0.8), parent_pose=(0.1, 0, 0.5), **pitch)

    return add


def closure(kind: str, **more: object) -> Add:
    given: dict = {"length": 0.5} if kind == "distance" else {"pitch": 0.1} if kind == "screw" else {}
    given = more if kind == "distance" and more else given | more
    return lambda m: m.add_closure(
        "c", kind, "a", "b", pose1=(0.4, 0, 0.1), pose2=(-0.3, 0, 0.2), axis=(0, 0.6, 0.8), **given
    )


def rolling(kind: str) -> Add:
    more = {
        "knife_edge": {},
        "cone": {"radius": 0.2, "half_angle": 0.5},
        "omni": {"radius": 0.2, "roller_angle": 0.7},
    }
    return lambda m: m.add_rolling("c", kind, "b", axis=(0, 1, 0), **more.get(kind, {"radius": 0.2}))


def geom(kind: str) -> Add:
    sizes = {"sphere": (0.2,), "capsule": (0.1, 0.2), "cylinder": (0.1, 0.2), "ellipsoid": (0.1, 0.2, 0.3)}
    sizes |= {"box": (0.1, 0.15, 0.2), "hfield": (0.4, 0.4, 0.2, 0.1)}
    more: dict = {}
    if kind == "mesh":
        more["points"] = np.array([(0, 0, 0), (0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.3)])
    if kind == "hfield":
        more["heights"] = np.outer(np.linspace(0, 1, 5), np.linspace(0, 1, 4))
    body = "world" if kind in ("hfield", "plane") else "a"

    def add(m: sr.Mechanism) -> None:
        m.add_geom("g", body, kind, sizes.get(kind, ()), friction=0.5, **more)
        if kind != "hfield":
            m.add_geom("other", "b", "sphere", (0.01,), friction=0.5)
            m.add_geometry_contacts(["g"], ["other"])

    return add


def tendon(*path: object, **more: object) -> Add:
    return lambda m: m.add_tendon("t", list(path), **more)  # type: ignore[arg-type]


def actuator(target: object) -> Add:
    def add(m: sr.Mechanism) -> None:
        m.add_actuator("m", target)  # type: ignore[arg-type]

    return add


def coupling(terms: dict, **more: object) -> Add:
    return lambda m: m.add_coupling("c", terms, **more)  # type: ignore[arg-type]


def sensor(kind: str) -> Add:
    targets = {
        "jointpos": "a",
        "jointvel": "a",
        "jointactuatorfrc": "a",
        "ballquat": "ball",
        "ballangvel": "ball",
    }
    targets |= dict.fromkeys(("actuatorpos", "actuatorvel", "actuatorfrc"), "push")
    targets |= dict.fromkeys(("tendonpos", "tendonvel"), "string")
    target = "" if kind in GLOBAL_KINDS else targets.get(kind, "a")
    return lambda m: m.add_sensor("s", kind, target)


def fixed(m: sr.Mechanism) -> None:
    m.add_body("x", 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("x", "fixed", "world", "x", parent_pose=(0.1, 0, 0.5))


def driven(m: sr.Mechanism) -> None:
    m.drive("shaker", lambda t: (t, 0.0, 0.0))


def spring(**more: float) -> Add:
    return lambda m: m.add_spring_damper("s", "a", "b", point1=(0.2, 0, 0.2), point2=(0, 0, 0.3), **more)


def patch(extent: object) -> Add:
    return lambda m: m.add_contact_patch("p", "b", (0, 0, -0.2), extent=extent, friction_coefficient=0.5)


def contact(friction: str) -> Add:
    rough = {"friction_coefficient": 0.5} if friction == "coulomb" else {}
    return lambda m: m.add_contact("p", "b", (0.1, 0, -0.2), friction=friction, **rough)


WRAP_POSE = sr.Pose.of((0.45, 0.0, 0.5), rpy=(np.pi / 2, 0.0, 0.0))
POINTS = ("world", (0.0, 0, 0.6)), ("b", (0, 0, 0.3))
ELEMENTS: dict[str, dict[str, Add]] = {
    "joints": {kind: joint(kind) for kind in JOINT_KINDS if kind not in ("free", "fixed")} | {"fixed": fixed},
    "closures": {kind: closure(kind) for kind in CLOSURE_KINDS},
    "moved closures": {
        "distance": closure("distance", motion=lambda t: 0.5 + t),
        "weld": closure("weld", motion=lambda t: (t, 0, 0)),
    },
    "couplings": {
        "gears": coupling({"a": 1.0, "wheel": 2.0}),
        "belt": coupling({"a": 1.0, "wheel": -2.0}),
        "rack": coupling({"slide": 1.0, "a": 0.2}),
        "screw": coupling({"along": 1.0, "a": 0.05}),
        "cam": coupling({"a": lambda x: x**2, "slide": 1.0}),
        "differential": coupling({"a": 1.0, "b": 1.0, "wheel": -2.0}),
        "of tendons": coupling({"tendon:string": 1.0, "a": 0.1}),
        "brake": coupling({"a": 1.0}, active=True),
        "motion of an angle": coupling({"a": 1.0}, motion=lambda t: t),
        "motion of a slide": coupling({"slide": 1.0}, motion=lambda t: t),
        "motion of a tendon": coupling({"tendon:string": 1.0}, motion=lambda t: t),
    },
    "gearings": {
        "gear pair": lambda m: m.add_gear_pair("g", "a", "wheel", -2.0, efficiency=0.9),
        "rack": lambda m: m.add_rack("g", "slide", "a", 0.2, efficiency=0.9),
        "lead screw": lambda m: m.add_lead_screw("g", "along", "a", 0.05, diameter=0.02, friction_coefficient=0.1),
        "worm gear": lambda m: m.add_worm_gear(
            "g", "a", "worm", 20.0, diameter=0.1, lead_angle=0.1, friction_coefficient=0.1
        ),
        "differential": lambda m: m.add_gearing(
            "g", {"a": 1.0, "b": 1.0, "wheel": -2.0}, {"a": 1.0}, friction_coefficient=0.1
        ),
    },
    "rollings": {kind: rolling(kind) for kind in ROLLING_ROWS},
    "contacts": {kind: contact(kind) for kind in CONTACT_ROWS},
    "patches": {"line": patch(0.3), "foot": patch((0.3, 0.2))},
    "springs": {
        "spring": spring(stiffness=5.0),
        "damper": spring(damping=5.0),
        "spring damper": spring(stiffness=5.0, damping=5.0),
    },
    "coordinate_springs": {
        "one": lambda m: m.add_coordinate_spring("s", {"a": 1.0}, stiffness=1.0),
        "two": lambda m: m.add_coordinate_spring("s", {"a": 1.0, "b": 1.0}, stiffness=1.0),
    },
    "tendons": {
        "points": tendon(*POINTS),
        "pulley": tendon(*POINTS, Pulley(2.0), ("a", (0.4, 0, 0)), ("world", (0.2, 0, 0.6))),
        "with a spring": tendon(*POINTS, stiffness=3.0),
        "of coordinates": lambda m: m.add_tendon("t", {"a": 1.0, "b": -1.0}),
    }
    | {kind: tendon(POINTS[0], Wrap("world", kind, 0.1, WRAP_POSE), POINTS[1]) for kind in WRAP_KINDS},
    "actuators": {
        "on a hinge": actuator("a"),
        "on a slide": actuator("slide"),
        "on several": actuator({"a": 1.0, "b": -1.0}),
        TendonTransmission.__name__: actuator(TendonTransmission("string")),
        ParentTransmission.__name__: actuator(ParentTransmission("ball", (1.0, 0.0, 0.0))),
        SiteTransmission.__name__: actuator(SiteTransmission("b", sr.Pose.of((0, 0, 0.3)), (1.0, 0, 0, 0, 0, 0))),
        SliderCrank.__name__: actuator(SliderCrank("b", np.array([0, 0, 0.3]), "a", sr.Pose.of((0.2, 0, 0)), 0.5)),
    },
    "forces": {
        "on a body": lambda m: m.add_force("f", lambda q, v, t: (0, 0, 1), body="b", point=(0, 0, 0.3)),
    },
    "sensors": {kind: sensor(kind) for kind in SENSOR_KINDS if kind not in GLOBAL_KINDS},
    "driven_bodies": {"driven": driven},
    "geoms": {kind: geom(kind) for kind in GEOM_SIZES},
    "geometry_contacts": {"two spheres": geom("sphere")},
}  # fmt: skip
# Kinds of one table that look alike.
ALIKE = ("sensors", "contacts")
CASES = [(table, kind) for table, kinds in ELEMENTS.items() for kind in kinds]


def stage() -> sr.Mechanism:
    """What elements stand on: hinges, slides, a ball, a string and a motor."""
    m = sr.Mechanism("stage")
    hinge = {"axis": (0, -1, 0)}
    for name, place in (("a", (0, 0, 0)), ("b", (0.9, 0, 0.2)), ("wheel", (0.6, 0, -0.3))):
        m.add_body(name, 1.0, (0.3, 0, 0.05), (0.1, 0.1, 0.1))
        m.add_joint(name, "revolute", "world", name, parent_pose=place, **hinge)
    for name, axis, place in (("slide", (1, 0, 0), (-0.4, 0, 0.2)), ("along", (0, 1, 0), (-0.6, 0, 0.0))):
        m.add_body(name, 1.0, (0.1, 0, 0.05), (0.1, 0.1, 0.1))
        m.add_joint(name, "prismatic", "world", name, axis=axis, parent_pose=place)
    m.add_body("worm", 1.0, (0.1, 0, 0.1), (0.1, 0.1, 0.1))
    m.add_joint("worm", "revolute", "world", "worm", axis=(1, 0, 0), parent_pose=(0.1, 0.3, 0.3))
    m.add_body("ball", 1.0, (0.1, 0, 0.2), (0.1, 0.1, 0.1))
    m.add_joint("ball", "spherical", "world", "ball", parent_pose=(-0.5, 0, -0.4))
    m.add_body("shaker", 1.0, (0.1, 0, 0.1), (0.1, 0.1, 0.1))
    m.add_joint("shaker", "fixed", "world", "shaker", parent_pose=(1.2, 0, -0.4))
    m.add_tendon("string", [("world", (-0.6, 0, 0.7)), ("slide", (0, 0, 0))])
    m.add_actuator("push", "along")
    return m


def built(table: str, kind: str | None = None) -> sr.Mechanism:
    """The stage with an element, or with what that needs to stand on and nothing else."""
    m = stage()
    if kind is not None:
        ELEMENTS[table][kind](m)
    elif table == "joints":
        m.add_body("x", 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
        m.add_joint("free", "free", "world", "x", parent_pose=(0.1, 0, 0.5))
    return m


def on_paper(m: sr.Mechanism) -> np.ndarray:
    figure = draw(m, plane="3d")
    (axes,) = figure.axes
    axes.set_xlim(-1.3, 1.7)
    axes.set_ylim(-1.0, 1.2)
    figure.set_dpi(60)
    figure.set_size_inches(7.0, 6.0)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)  # type: ignore[attr-defined]


def in_space(m: sr.Mechanism) -> np.ndarray:
    low, high = np.array([-1.0, -0.6, -0.8]), np.array([1.6, 0.6, 1.0])
    canvas = Canvas(frame(low, high, view_from_above(np.eye(3)[2], 2.2), 1.3), 400, 300, (255, 255, 255), 1)
    poses = [m.reference_pose(name) for name in (*m.bodies, WORLD)]
    where = Poses(np.array([p.position for p in poses]), np.array([p.rotation for p in poses]), ())
    parts = parts_of(m, build_skeleton(m), 2.0)
    solids = [
        Triangles(where.apply(part.body, part.mesh.vertices), part.mesh.faces, part.colour, part.opacity)
        for part in parts.solids
    ]
    for rod in parts.rods:
        middle, half, rotation = along(*rod.ends(where.positions, where.rotations))
        mesh = rod.mesh.scaled([1.0, 1.0, max(2.0 * half, 1e-9)]).placed(sr.Pose(middle, rotation))
        solids.append(Triangles(mesh.vertices, mesh.faces, rod.colour, rod.opacity))
    canvas.draw(solids)
    return canvas.pixels().astype(int)


PICTURES = {"on paper": on_paper, "in space": in_space}


@cache
def picture(how: str, table: str, kind: str | None) -> np.ndarray:
    return PICTURES[how](built(table, kind))


def pixels_between(how: str, table: str, one: str, other: str | None) -> int:
    """How many pixels differ by more than a shade between two pictures."""
    first, second = picture(how, table, one), picture(how, table, other)
    return int((np.abs(first - second).max(axis=2) > 40).sum())


# --- the walk ----------------------------------------------------------------------------------------


def test_every_table_of_a_mechanism_is_walked() -> None:
    tables = {name for name, hint in annotations_of(Description).items() if get_origin(hint) is dict}
    assert tables - set(WITHOUT) == set(ELEMENTS) - {"joints", "moved closures"}


def test_every_kind_is_walked() -> None:
    for table, kinds in {
        "joints": set(JOINT_KINDS) - {"free"},  # a free joint holds nothing
        "closures": set(CLOSURE_KINDS),
        "rollings": set(ROLLING_ROWS),
        "contacts": set(CONTACT_ROWS),
        "sensors": set(SENSOR_KINDS) - set(GLOBAL_KINDS),  # those are nowhere
        "geoms": set(GEOM_SIZES),
    }.items():
        assert set(ELEMENTS[table]) == kinds, table
    assert {kind.__name__ for kind in get_args(Transmission)} <= set(ELEMENTS["actuators"])
    assert set(WRAP_KINDS) <= set(ELEMENTS["tendons"])


@pytest.mark.parametrize("how", PICTURES)
@pytest.mark.parametrize(("table", "kind"), CASES)
def test_an_element_is_seen(how: str, table: str, kind: str) -> None:
    assert pixels_between(how, table, kind, None) > 12


@pytest.mark.parametrize("how", PICTURES)
@pytest.mark.parametrize(
    "table", [table for table, kinds in ELEMENTS.items() if len(kinds) > 1 and table not in ALIKE]
)
def test_kinds_are_told_from_each_other(how: str, table: str) -> None:
    for one, other in combinations(ELEMENTS[table], 2):
        assert pixels_between(how, table, one, other) > 8, (one, other)
