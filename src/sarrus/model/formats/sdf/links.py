"""Links of SDF: inertia, visuals and collisions."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.formats.importing import CONTACTS, Import
from sarrus.model.formats.sdf import xml
from sarrus.model.formats.sdf.frames import Frame, Scope
from sarrus.model.formats.sdf.inertia import auto_inertia
from sarrus.model.formats.sdf.sensors import add_sensors
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.elements import Geom, Shape
from sarrus.model.mechanism.pose import Pose, rotation_along, unit_vector

# SDF's default coefficient of sliding friction.
_FRICTION = 1.0


def add_link(importing: Import, scope: Scope, link: Frame) -> None:
    """Add the body of one ``<link>`` to the mechanism, and its entries to the report."""
    name, element, report = scope.full(link.name), link.element, importing.report
    label = f"link {name!r}"
    inertial = element.find("inertial")
    auto = inertial is not None and xml.flag(inertial.get("auto", "false"), f"{label}: inertial auto")
    if auto and not scope.static:
        mass, com, inertia = auto_inertia(importing, scope, element, name)
        reason = "mass and inertia from its collisions"
    else:
        mass, com, inertia = _inertial(scope, element, label)
        defaults = [tag for tag in ("mass", "inertia") if element.find(f"inertial/{tag}") is None]
        reason = f"SDF's default {' and '.join(defaults)} (1 kg, 1 kg m²)" if defaults else ""
    importing.add_body(name, mass, com, inertia, _shapes(importing, scope, link, name), "link")
    report.act("link", name, reason)
    add_sensors(importing, scope, link)
    _refuse_what_moves_otherwise(importing, scope, element, name)


def _inertial(scope: Scope, element: Element, label: str) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and inertia in link axes; missing values have SDF's default of one."""
    inertial = element.find("inertial")
    mass = xml.number(inertial, "mass", 1.0, label)
    xx, yy, zz = (xml.number(inertial, f"inertia/{i}", 1.0, label) for i in ("ixx", "iyy", "izz"))
    xy, xz, yz = (xml.number(inertial, f"inertia/{i}", 0.0, label) for i in ("ixy", "ixz", "iyz"))
    pose = scope.local_pose(element, inertial, label)
    rotation = pose.rotation
    matrix = checks.inertia([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], label)
    return mass, pose.position, rotation @ matrix @ rotation.T


def _refuse_what_moves_otherwise(importing: Import, scope: Scope, element: Element, name: str) -> None:
    """Refuse settings that change a link's equations of motion and cannot be represented."""
    if scope.static:
        return
    label = f"link {name!r}"
    if not xml.flag(xml.text(element, "gravity", "true"), label):
        importing.refuse("link gravity", name, "gravity is off for this link alone", "set it to true")
    if xml.flag(xml.text(element, "kinematic", "false"), label):
        importing.refuse("link kinematic", name, "the link would follow a given motion", "set it to false")
    if element.find("inertial/fluid_added_mass") is not None:
        importing.refuse("link fluid_added_mass", name, "the added mass of a fluid", "take it out")


# --- shapes ----------------------------------------------------------------------------------------


def _shapes(importing: Import, scope: Scope, link: Frame, name: str) -> tuple[Shape, ...]:
    """Return the visuals as shapes, or the collisions of a link without visual; store the collisions as geoms."""
    visuals, collisions = link.element.findall("visual"), link.element.findall("collision")
    shapes = []
    for element in (*visuals, *collisions):
        label = f"{name}/{element.get('name', element.tag)}"
        shape = shape_of(element, scope.local_pose(link.element, element, label), label)
        drawn = shape is not None and (element.tag == "visual" or not visuals)
        if shape is not None and drawn:
            shapes.append(shape)
        if element.tag == "collision":
            if shape is not None:
                friction = xml.number(element, "surface/friction/ode/mu", _FRICTION, label)
                sticky = None if np.isinf(friction) else friction
                geom = Geom(label, name, shape.kind, shape.size, shape.pose, sticky)
                importing.mechanism.geoms[label] = geom
            importing.report.keep("collision", label, ("drawn; " if drawn else "") + CONTACTS)
        elif shape is None:
            importing.report.set_aside("visual", label, "its geometry cannot be drawn")
        else:
            importing.report.set_aside("visual", label, f"drawn as {shape.kind}")
    return tuple(shapes)


def shape_of(element: Element, pose: Pose, label: str) -> Shape | None:
    """Return the shape of a ``<visual>`` or ``<collision>``; None for a geometry that is not drawn here.

    Sizes follow MuJoCo: half extents, and radius with half length. A mesh has its file's uri and, as
    size, its scale.
    """
    geometry = element.find("geometry")
    given = next(iter(geometry), None) if geometry is not None else None
    if given is None:
        return None
    rgba = _colour(element, label)
    radius, length = xml.number(given, "radius", 0.5, label), xml.number(given, "length", 1.0, label)
    if given.tag == "mesh":
        scale = xml.numbers(xml.text(given, "scale", "1 1 1"), 3, "mesh scale", label)
        return Shape("mesh", scale, pose, rgba, file=xml.text(given, "uri"))
    if given.tag == "plane":
        normal = unit_vector(
            xml.numbers(xml.text(given, "normal", "0 0 1"), 3, "normal", label), "normal", label
        )
        frame = Pose(np.zeros(3), rotation_along(normal))
        half = 0.5 * xml.numbers(xml.text(given, "size", "1 1"), 2, "plane size", label)
        return Shape("plane", np.array([*half, 1.0]), pose @ frame, rgba)
    sizes = {
        "box": lambda: 0.5 * xml.numbers(xml.text(given, "size", "1 1 1"), 3, "box size", label),
        "sphere": lambda: np.array([radius, 0.0, 0.0]),
        "cylinder": lambda: np.array([radius, 0.5 * length, 0.0]),
        "capsule": lambda: np.array([radius, 0.5 * length, 0.0]),
        "ellipsoid": lambda: xml.numbers(xml.text(given, "radii", "1 1 1"), 3, "radii", label),
    }
    return Shape(given.tag, sizes[given.tag](), pose, rgba) if given.tag in sizes else None


def _colour(element: Element, label: str) -> tuple[float, float, float, float]:
    given = xml.text(element, "material/diffuse")
    if not given:
        return Shape("box").rgba
    parts = given.split()
    r, g, b, a = xml.numbers(
        " ".join(parts if len(parts) == 4 else [*parts, "1"]), 4, "diffuse colour", label
    )
    return float(r), float(g), float(b), float(a) * (1.0 - xml.number(element, "transparency", 0.0, label))
