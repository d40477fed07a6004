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
from sarrus.base.errors import ModelError, unknown_name
from sarrus.mechanism import checks
from sarrus.mechanism.elements import CONTACT_ROWS, Body, Shape
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
            raise ModelError(f"{label}: {name} cannot be {value!r}", element=label)


def check_description(mechanism: Mechanism) -> None:
    """Raise `ModelError` unless the builders accept the elements of a description; user forces are not looked at."""
    duplicate = Mechanism(mechanism.name, mechanism.gravity)
    if mechanism.time_step is not None:
        checks.nonnegative(mechanism.time_step, "time_step", mechanism.name)
    for table in (mechanism._bodies, mechanism.closures, mechanism.couplings, mechanism.contacts, mechanism.patches,
                  mechanism.springs, mechanism.coordinate_springs, mechanism.tendons, mechanism.actuators,
                  mechanism.geoms, mechanism.keyframes, mechanism.driven_bodies, mechanism.sensors):  # fmt: skip
        _check_names(table)
    for shape in mechanism.world_shapes:
        _check_shape(shape, "world")
    for body in mechanism._bodies.values():
        duplicate.add_body(body.name, body.mass, body.com, body.inertia, physical=body.physical)
        for shape in body.shapes:
            _check_shape(shape, f"body {body.name!r}")
    for body in mechanism._bodies.values():
        _hang(duplicate, body)
    for driven in mechanism.driven_bodies.values():
        duplicate.drive(driven.name, driven.function)
    for c in mechanism.closures.values():
        axis, axis2 = c.pose1.rotation.T @ c.axis1, c.pose2.rotation.T @ c.axis2
        duplicate.add_closure(
            c.name, c.kind, c.body1, c.body2, pose1=c.pose1, pose2=c.pose2, axis=axis, axis2=axis2, pitch=c.pitch,
            length=c.length, active=c.active,
        )  # fmt: skip
    for t in mechanism.tendons.values():
        duplicate.add_tendon(
            t.name, t.path, stiffness=t.stiffness, damping=t.damping, rest_length=t.rest_length, armature=t.armature,
            stiffness_higher=t.stiffness_higher, damping_higher=t.damping_higher, limits=t.limits,
            friction=t.friction, force_limits=t.force_limits,
        )  # fmt: skip
    for coupling in mechanism.couplings.values():
        terms = {term.coordinate: term.coefficients for term in coupling.terms}
        references = {term.coordinate: term.reference for term in coupling.terms}
        duplicate.add_coupling(coupling.name, terms, references, active=coupling.active)
    for contact in mechanism.contacts.values():
        label = f"contact {contact.name!r}"
        if contact.friction not in CONTACT_ROWS:
            raise ModelError(
                f"{label}: " + unknown_name("friction", contact.friction, CONTACT_ROWS), element=label
            )
        duplicate.add_contact(
            contact.name, contact.body, contact.point, ground=contact.ground, normal=contact.normal,
            offset=float(contact.normal @ vector(contact.origin, 3, "origin", label)), tangent=contact.tangent1,
            friction=contact.friction, friction_coefficient=contact.friction_coefficient,
            restitution=contact.restitution, active=contact.active,
        )  # fmt: skip
    for patch in mechanism.patches.values():
        for name in patch.contacts:
            if name not in mechanism.contacts:
                raise ModelError(f"contact patch {patch.name!r}: no contact {name!r}", element=patch.name)
    for s in mechanism.springs.values():
        duplicate.add_spring_damper(
            s.name, s.body1, s.body2, point1=s.point1, point2=s.point2, stiffness=s.stiffness, damping=s.damping,
            rest_length=s.rest_length,
        )  # fmt: skip
    for spring in mechanism.coordinate_springs.values():
        duplicate.add_coordinate_spring(
            spring.name, dict(spring.terms), stiffness=spring.stiffness, damping=spring.damping,
            rest_length=spring.rest_length,
        )  # fmt: skip
    for a in mechanism.actuators.values():
        duplicate.add_actuator(
            a.name,
            dict(a.transmission) if isinstance(a.transmission, tuple) else a.transmission,
            gain=a.gain,
            bias=a.bias,
            limits=a.limits,
            force_limits=a.force_limits,
            activation=a.activation,
            gain_slopes=a.gain_slopes,
        )
    for sensor in mechanism.sensors.values():
        pose = sensor.pose if sensor.kind in FRAME_KINDS else None
        duplicate.add_sensor(
            sensor.name, sensor.kind, dict(sensor.terms) or sensor.target, pose=pose, reference=sensor.reference,
            reference_pose=sensor.reference_pose, cutoff=sensor.cutoff, noise=sensor.noise,
        )  # fmt: skip
    vector(mechanism.magnetic_field, 3, "magnetic_field", mechanism.name)
    for key in mechanism.keyframes.values():
        duplicate.add_keyframe(key.name, key.q, key.v, key.u, key.t)
    for name, place in mechanism.frames.items():
        if not _fits(place, tuple[str, Pose]):
            raise ModelError(f"frame {name!r}: needs a body and a pose, got {place!r}", element=name)
        duplicate._body_or_world(place[0], f"frame {name!r}")
    for geom in mechanism.geoms.values():
        duplicate._body_or_world(geom.body, f"geom {geom.name!r}")


def _hang(duplicate: Mechanism, body: Body) -> None:
    """Attach a body of the copy as this one is attached."""
    if not body.attached:
        return
    if not body.joints:
        duplicate.add_joint(
            _unused(duplicate, body.name), "fixed", body.parent, body.name, parent_pose=body.placement
        )
    for number, joint in enumerate(body.joints):
        child = Pose(joint.anchor)
        duplicate.add_joint(
            joint.name, joint.kind, body.parent, body.name, axis=joint.axis, axis2=joint.axis2, child_pose=child,
            parent_pose=None if number else body.placement @ child, pitch=joint.pitch,
            reference=_own(joint.reference), limits=joint.limits or None, stiffness=joint.stiffness,
            spring_reference=_own(joint.spring_reference), damping=joint.damping, armature=joint.armature,
            actuator_force_limits=joint.actuator_force_limits,
            friction=joint.friction or 0.0, largest_angle=joint.largest_angle,
        )  # fmt: skip


def _own(values: tuple[float, ...]) -> Any:
    return values if values else 0.0


def _unused(duplicate: Mechanism, name: str) -> str:
    taken = {joint.name for joint in duplicate.joints()}
    while name in taken:
        name += "'"
    return name


def _check_names(table: Mapping[str, Any]) -> None:
    for name, element in table.items():
        if element.name != name:
            raise ModelError(
                f"{type(element).__name__} {element.name!r} stands under the name {name!r}", element=name
            )


def _check_shape(shape: Shape, label: str) -> None:
    if shape.kind not in SHAPES:
        raise ModelError(f"{label}: " + unknown_name("shape", shape.kind, SHAPES), element=label)
    for array in (shape.size, shape.points):
        if array is not None and not np.isfinite(array).all():
            raise ModelError(f"{label}: {shape.kind}: sizes and points must be finite", element=label)


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
