"""The checks of the builders for a description that was not built: one that was read from a file.

Kinds of values first, from the annotations of the elements. Then a mechanism is built from the elements one after the
other, and thrown away: every number and name passes what `Mechanism.add_body` and the others ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError
from sarrus.mechanism import checks
from sarrus.mechanism.elements import CONTACT_ROWS, Body, Shape
from sarrus.mechanism.faults import check_name, fault
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Pose, vector
from sarrus.mechanism.sensor import FRAME_KINDS

SHAPES = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "plane", "mesh", "line")


def check_fields(element: Any) -> None:
    """Raise `ModelError` unless every field of an element is of the kind that its annotation says."""
    kind: type = type(element)
    for name, hint in _hints(kind).items():
        value = getattr(element, name)
        if not _fits(value, hint):
            label = f"{kind.__name__} {getattr(element, 'name', '')!r}"
            raise fault(label, f"{name} cannot be {value!r}")


def check_description(mechanism: Mechanism) -> None:
    """Raise `ModelError` unless the builders accept the elements of a description; user forces are not looked at."""
    built = Mechanism(mechanism.name, mechanism.gravity)
    if mechanism.time_step is not None:
        checks.nonnegative(mechanism.time_step, "time_step", mechanism.name)
    vector(mechanism.magnetic_field, 3, "magnetic_field", mechanism.name)
    for table in vars(mechanism).values():
        if isinstance(table, dict):
            _check_names(table)
    _build_tree(built, mechanism)
    _build_constraints(built, mechanism)
    _build_forces(built, mechanism)
    for sensor in mechanism.sensors.values():
        given = _given(sensor, target=dict(sensor.terms) or sensor.target, terms=None)
        built.add_sensor(**given | ({} if sensor.kind in FRAME_KINDS else {"pose": None}))
    for key in mechanism.keyframes.values():
        built.add_keyframe(key.name, key.q, key.v, key.u, key.t)
    for name, place in mechanism.frames.items():
        if not _fits(place, tuple[str, Pose]):
            raise ModelError(f"frame {name!r}: needs a body and a pose, got {place!r}", element=name)
        built.check_body(place[0], f"frame {name!r}")
    for geom in mechanism.geoms.values():
        built.check_body(geom.body, f"geom {geom.name!r}")


def _build_tree(built: Mechanism, mechanism: Mechanism) -> None:
    """Add bodies and joints."""
    for shape in mechanism.world_shapes:
        _check_shape(shape, "world")
    for body in mechanism.bodies_as_added.values():
        built.add_body(body.name, body.mass, body.com, body.inertia, physical=body.physical)
        for shape in body.shapes:
            _check_shape(shape, f"body {body.name!r}")
    for body in mechanism.bodies_as_added.values():
        _attach(built, body)
    for driven in mechanism.driven_bodies.values():
        built.drive(driven.name, driven.function)


def _build_constraints(built: Mechanism, mechanism: Mechanism) -> None:
    """Add closures, tendons, couplings and contacts."""
    for c in mechanism.closures.values():
        axis, axis2 = c.pose1.rotation.T @ c.axis1, c.pose2.rotation.T @ c.axis2
        built.add_closure(**_given(c, axis1=None, axis2=axis2), axis=axis)
    for tendon in mechanism.tendons.values():
        built.add_tendon(**_given(tendon))
    for coupling in mechanism.couplings.values():
        terms = {term.coordinate: term.coefficients for term in coupling.terms}
        references = {term.coordinate: term.reference for term in coupling.terms}
        built.add_coupling(coupling.name, terms, references, active=coupling.active)
    for contact in mechanism.contacts.values():
        label = f"contact {contact.name!r}"
        check_name("friction", contact.friction, CONTACT_ROWS, label, label)
        offset = float(contact.normal @ vector(contact.origin, 3, "origin", label))
        given = _given(contact, origin=None, tangent1=None, tangent2=None)
        built.add_contact(**given, offset=offset, tangent=contact.tangent1)
    for patch in mechanism.patches.values():
        for name in patch.contacts:
            if name not in mechanism.contacts:
                raise ModelError(f"contact patch {patch.name!r}: no contact {name!r}", element=patch.name)


def _build_forces(built: Mechanism, mechanism: Mechanism) -> None:
    """Add springs, dampers and actuators."""
    for damper in mechanism.springs.values():
        built.add_spring_damper(**_given(damper))
    for spring in mechanism.coordinate_springs.values():
        built.add_coordinate_spring(**_given(spring, terms=dict(spring.terms)))
    for actuator in mechanism.actuators.values():
        way = actuator.transmission
        target = dict(way) if isinstance(way, tuple) else way
        built.add_actuator(**_given(actuator, transmission=None), target=target)


def _given(element: Any, **instead: Any) -> dict[str, Any]:
    """Return the fields of an element as arguments of its builder; None leaves one out."""
    values = {
        field.name: getattr(element, field.name) for field in fields(element) if field.name not in instead
    }
    return values | {name: value for name, value in instead.items() if value is not None}


def _attach(built: Mechanism, body: Body) -> None:
    """Attach a body of the copy as this one is attached."""
    if not body.attached:
        return
    if not body.joints:
        built.add_joint(
            _unused(built, body.name), "fixed", body.parent, body.name, parent_pose=body.placement
        )
    for number, joint in enumerate(body.joints):
        child = Pose(joint.anchor)
        given = _given(joint, anchor=None, limits=joint.limits or None) | {
            "reference": joint.reference or 0.0,
            "spring_reference": joint.spring_reference or 0.0,
            "friction": joint.friction or 0.0,
        }
        pose = None if number else body.placement @ child
        built.add_joint(**given, parent=body.parent, child=body.name, child_pose=child, parent_pose=pose)


def _unused(built: Mechanism, name: str) -> str:
    taken = {joint.name for joint in built.joints()}
    while name in taken:
        name += "'"
    return name


def _check_names(table: Mapping[str, Any]) -> None:
    for name, element in table.items():
        if getattr(element, "name", name) != name:
            raise ModelError(
                f"{type(element).__name__} {element.name!r} stands under the name {name!r}", element=name
            )


def _check_shape(shape: Shape, label: str) -> None:
    check_name("shape", shape.kind, SHAPES, label, label)
    for array in (shape.size, shape.points):
        if array is not None and not np.isfinite(array).all():
            raise fault(label, f"{shape.kind}: sizes and points must be finite")


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of the kind of an annotation: a union, a tuple, an array, a number or a class."""
    if hint == Array:
        return isinstance(value, np.ndarray)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(_fits(item, parts[0]) for item in value)
        return len(value) == len(parts) and all(map(_fits, value, parts))
    if origin is not None:  # a list, a function
        return isinstance(value, origin)
    if hint is None or hint is NoneType:
        return value is None
    if hint in (float, int):
        return isinstance(value, (float, int)) and not isinstance(value, bool)
    return hint is Any or isinstance(value, hint)
