"""`mjcf_file`: a mechanism as MJCF, which MuJoCo opens with the same coordinates.

Bodies and shapes are written here, joints by `joints`, closures and couplings by `equalities`, springs, tendons and
actuators by `forces`, contacts by `contacts`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from os import PathLike
from pathlib import Path
from xml.etree.ElementTree import Comment, Element, ElementTree, SubElement, indent, tostring

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, ModelError, check_known
from sarrus.base.files.atomic import replacing
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.mjcf_writer.attributes import numbers, refused
from sarrus.model.formats.mjcf_writer.contacts import (
    CHOICES,
    add_contacts,
    add_geometry_contacts,
    refuse_contacts,
    refuse_gearings,
)
from sarrus.model.formats.mjcf_writer.equalities import add_closures, add_couplings
from sarrus.model.formats.mjcf_writer.forces import add_actuators, add_springs, add_tendons
from sarrus.model.formats.mjcf_writer.joints import exported_joints
from sarrus.model.formats.mjcf_writer.keyframes import add_keyframes
from sarrus.model.formats.mjcf_writer.mjcf_document import NO_CONTACT, Document, place
from sarrus.model.formats.mjcf_writer.sensors import add_sensors
from sarrus.model.formats.mjcf_writer.sizes import LINE_RADIUS, PLANE_THICKNESS
from sarrus.model.formats.mjcf_writer.tolerances import LEAST_INERTIA
from sarrus.model.mechanism.checks import impossible
from sarrus.model.mechanism.elements import WORLD, Body, Shape
from sarrus.model.mechanism.pose import Pose, quaternion_of_rotation, scalar

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")


def mjcf_file(
    mechanism: Mechanism, path: str | PathLike[str], *, contacts: str = "refuse", contact_radius: float = 0.01
) -> None:
    """Write ``mechanism`` as a MuJoCo model to ``path``.

    Parameters
    ----------
    contacts : MJCF has contacts between geoms only, and soft ones. "refuse" raises an error if there is a contact,
        "ignore" leaves contacts out, "geoms" writes a sphere for each contact and a plane geom for each of their
        planes, which must be on a fixed body. In the reference pose the lowest point of the sphere is the contact
        point; in other poses the sphere rolls. A sphere touches its own plane only (``<pair>``), with elliptic friction
        cones and the contact's coefficient (MuJoCo's default of 1 without one; condim 1 for frictionless contacts).
        Restitution, and whether a contact is closed at the start, are lost.
    contact_radius : radius of these spheres [m].

    ``qpos`` and ``qvel`` of the model are the mechanism's q and v: same order, same values. Composite
    joints become MuJoCo joints in series, named after the coordinates (``j.translation``, ``j.angle``).
    All numbers are written with full precision. Point and weld closures become ``connect`` and ``weld``
    between sites, a revolute closure two connects on its axis, a constant distance a tendon equality; all of them are
    soft in MuJoCo, and inactive ones have active="false". Limits of joints and of lengths of tendons, soft in MuJoCo,
    are written without restitution, and dry friction acts. Shapes are drawn and do not collide; a mesh is written if
    its file exists. Driven bodies become mocap bodies at their placement; their motion is lost.

    Raises `UnsupportedElementError`, naming the element, for elements that MJCF cannot represent: a screw joint, other
    kinds of closure, most couplings of three coordinates, contacts as explained above, transmissions with losses
    (unless contacts are ignored), ropes with drums or with a length that is a function of time, user forces, moving
    bodies without mass or without a positive moment of inertia about every axis. `ModelError` if the mechanism is
    incomplete, or if MuJoCo's compiler refuses the model. `ArgumentError` for another value of ``contacts``.
    """
    mechanism.check()
    check_known("contacts", contacts, CHOICES, element="contacts")
    radius = scalar(contact_radius, "contact_radius", f"mechanism {mechanism.name!r}")
    if radius <= 0.0:
        raise ArgumentError(f"contact_radius must be positive, got {radius}", element="contact_radius")
    if contacts == "refuse":
        refuse_contacts(mechanism)
    if contacts != "ignore":
        refuse_gearings(mechanism)
    if mechanism.forces:
        raise refused("force", next(iter(mechanism.forces)), "MJCF cannot hold a user's force")
    root = Element("mujoco", {"model": mechanism.name})
    SubElement(root, "compiler", {"angle": "radian", "autolimits": "true", "inertiafromgeom": "false"})
    option = SubElement(root, "option", {"gravity": numbers(mechanism.gravity)})
    if mechanism.time_step is not None:
        option.set("timestep", repr(mechanism.time_step))
    if mechanism.integrator in INTEGRATORS:
        option.set("integrator", mechanism.integrator)
    world = SubElement(root, "worldbody")
    document = Document(mechanism, root, {WORLD: world}, {WORLD: Pose()})
    _add_shapes(document, world, mechanism.world_shapes, moving=False)
    moving = {WORLD: False}
    for body in mechanism.bodies.values():
        moving[body.name] = moving[body.parent] or bool(body.joints)
        _check_weight(mechanism, body)
        _add_body(document, body, moving[body.name])
    add_closures(document)
    add_springs(document)
    add_tendons(document)
    add_couplings(document)
    add_actuators(document)
    if contacts == "geoms":
        add_contacts(document, moving, radius)
        add_geometry_contacts(document)
    add_keyframes(document)
    add_sensors(document)
    _check_with_mujoco(mechanism, root)
    indent(root)
    with replacing(Path(path), kept="the mechanism is still in memory") as partial:
        ElementTree(root).write(partial, encoding="utf-8")


def _add_body(document: Document, body: Body, moving: bool) -> None:
    parent = document.bodies[body.parent]
    element = SubElement(parent, "body", {"name": body.name})
    if body.name in document.mechanism.driven_bodies:
        element.set("mocap", "true")
    pose, joints = exported_joints(body)
    place(element, pose)
    document.bodies[body.name] = element
    document.poses[body.name] = document.poses[body.parent] @ pose
    if body.mass > 0.0 or body.inertia.any():
        element.append(_inertial(body))
    for joint in joints:
        element.append(joint.element())
        document.add_joint(joint)
    _add_shapes(document, element, body.shapes, moving)


def _inertial(body: Body) -> Element:
    """Return the principal moments and axes; a diagonal inertia is not diagonalized."""
    inertia = body.inertia
    element = Element("inertial", {"pos": numbers(body.com), "mass": repr(body.mass)})
    if np.array_equal(inertia, np.diag(np.diagonal(inertia))):
        moments = np.diagonal(inertia).copy()
    else:
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        element.set("quat", numbers(quaternion_of_rotation(axes)))
    # rounding must not violate the triangle inequality, which MuJoCo checks exactly
    largest = int(np.argmax(moments))
    moments[largest] = min(moments[largest], moments.sum() - moments[largest])
    element.set("diaginertia", numbers(np.maximum(moments, 0.0)))
    return element


def _check_weight(mechanism: Mechanism, body: Body) -> None:
    """Raise unless a body with joints, or fixed to one, has the mass and inertia that MuJoCo requires."""
    reason = impossible(body.mass, body.inertia)
    if reason:
        raise refused("body", body.name, f"MuJoCo refuses its inertia: {reason}")
    if not body.joints:
        return
    carried = {body.name}
    for other in mechanism.bodies.values():
        if other.parent in carried and not other.joints:
            carried.add(other.name)
    for name in carried:
        part = mechanism.bodies[name]
        if part.mass > LEAST_INERTIA and np.linalg.eigvalsh(part.inertia)[0] > LEAST_INERTIA:
            return
    least = float(np.linalg.eigvalsh(body.inertia)[0])
    raise refused(
        "body",
        body.name,
        "MuJoCo needs moving bodies to have positive mass and moments of inertia; its mass is "
        f"{body.mass:g} kg, its least moment {least:g} kg m²",
    )


def _check_with_mujoco(mechanism: Mechanism, root: Element) -> None:
    """Compile the model; a refusal of MuJoCo is an error with its message."""
    import mujoco  # here for start-up time: C export and drawings do not need it

    try:
        mujoco.MjModel.from_xml_string(tostring(root, encoding="unicode"))
    except (ValueError, mujoco.FatalError) as error:
        message = " ".join(str(error).split())
        raise ModelError(f"mechanism {mechanism.name!r}: MuJoCo refuses it: {message}") from None


# --- shapes ----------------------------------------------------------------------------------------


def _add_shapes(document: Document, element: Element, shapes: Iterable[Shape], moving: bool) -> None:
    for shape in shapes:
        for given in _geoms(document, shape, moving):
            if "type" in given:
                SubElement(element, "geom", given | NO_CONTACT | {"rgba": numbers(shape.rgba)})
            else:
                element.append(Comment(given["comment"]))


def _geoms(document: Document, shape: Shape, moving: bool) -> list[dict[str, str]]:
    """Return the attributes of the geoms that draw a shape."""
    if shape.kind == "line":
        points = [] if shape.points is None else [shape.pose.apply(point) for point in shape.points]
        return [_segment(one, two) for one, two in pairwise(points) if np.any(one != two)]
    where = {"pos": numbers(shape.pose.position), "quat": numbers(shape.pose.quaternion)}
    if shape.kind == "mesh":
        if shape.points is not None and shape.faces is not None:
            inline = document.inline_mesh(shape.points * shape.size, shape.faces)
            return [{"type": "mesh", "mesh": inline, **where}]
        if shape.file is None or not Path(shape.file).is_file():
            return [{"comment": f" mesh file {shape.file} not found ".replace("--", "- -")}]
        return [{"type": "mesh", "mesh": document.mesh(Path(shape.file), shape.size), **where}]
    if shape.kind == "plane" and moving:  # MuJoCo allows planes on fixed bodies only
        half = np.where(shape.size[:2] > 0.0, shape.size[:2], 1.0)
        return [{"type": "box", "size": numbers([*half, PLANE_THICKNESS]), **where}]
    return [{"type": shape.kind, "size": numbers(_size(shape)), **where}]


def _size(shape: Shape) -> Array:
    """Return a size with positive entries for the kind, as MuJoCo requires."""
    size = np.array(shape.size, dtype=float)
    if shape.kind == "plane":
        size[2] = size[2] if size[2] > 0.0 else 1.0
    return size


def _segment(one: Array, two: Array) -> dict[str, str]:
    return {"type": "capsule", "size": repr(LINE_RADIUS), "fromto": numbers([*one, *two])}
