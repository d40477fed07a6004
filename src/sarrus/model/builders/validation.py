"""Checks of a description that was read from a file: the builders check it.

A mechanism is built anew from the elements, one after the other, and discarded: every number and name passes the
checks of `Mechanism.add_body` and the other builders. The types of the values are checked where the file is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.elements import Body, GeometryContact, GeomPair, Shape
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import Pose, vector
from sarrus.model.mechanism.sensor import FRAME_KINDS

SHAPES = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "plane", "mesh", "line")


def check_description(mechanism: Mechanism) -> None:
    """Raise `ModelError` unless the builders accept the elements of a description; user forces are not checked."""
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
        pose = sensor.pose if sensor.kind in FRAME_KINDS else None
        built.add_sensor(**_given(sensor, target=dict(sensor.terms) or sensor.target, terms=None, pose=pose))
    for key in mechanism.keyframes.values():
        built.add_keyframe(key.name, key.q, key.v, key.u, key.t)
    for name, (body, _) in mechanism.frames.items():
        built.check_body(body, Label("frame", name))
    for geom in mechanism.geoms.values():
        built.check_body(geom.body, Label("geom", geom.name))
    pairs: tuple[GeomPair | GeometryContact, ...] = (
        *mechanism.geom_pairs.values(),
        *mechanism.geometry_contacts.values(),
    )
    for touch in pairs:
        label = Label("geometry contact", touch.name)
        for name in (touch.geom1, touch.geom2):
            check_name("geom", name, mechanism.geoms, label)
        numbers = [value for value in vars(touch).values() if not isinstance(value, str)]
        vector(numbers, len(numbers), "numbers", label)


def _build_tree(built: Mechanism, mechanism: Mechanism) -> None:
    """Add bodies and joints."""
    for shape in mechanism.world_shapes:
        _check_shape(shape, "world")
    for body in mechanism.bodies_as_added.values():
        built.add_body(body.name, body.mass, body.com, body.inertia, physical=body.physical)
        for shape in body.shapes:
            _check_shape(shape, Label("body", body.name))
    for body in sorted(mechanism.bodies_as_added.values(), key=lambda body: len(body.joints) > 0):
        _attach(built, body)
    for driven in mechanism.driven_bodies.values():
        built.drive(driven.name, driven.function)


def _build_constraints(built: Mechanism, mechanism: Mechanism) -> None:
    """Add closures, tendons, couplings, rolling elements, gearings and contacts."""
    for c in mechanism.closures.values():
        axis, axis2 = c.pose1.rotation.T @ c.axis1, c.pose2.rotation.T @ c.axis2
        built.add_closure(**_given(c, axis1=None, axis2=axis2), axis=axis)
    for tendon in mechanism.tendons.values():
        built.add_tendon(**_given(tendon))
    for coupling in mechanism.couplings.values():
        terms = {term.coordinate: term.function or term.coefficients for term in coupling.terms}
        references = {term.coordinate: term.reference for term in coupling.terms}
        built.add_coupling(coupling.name, terms, references, active=coupling.active, motion=coupling.motion)
    for rolling in mechanism.rollings.values():
        built.add_rolling(**_given(rolling, tangent1=None, tangent2=None), tangent=rolling.tangent1)
    for gearing in mechanism.gearings.values():
        ways = {name: dict(getattr(gearing, name)) for name in ("approach", "sliding", "references")}
        built.add_gearing(**_given(gearing, play=None, **ways), backlash=gearing.play)
    for contact in mechanism.contacts.values():
        label = Label("contact", contact.name)
        offset = float(contact.normal @ vector(contact.origin, 3, "origin", label))
        if checks.nonnegative(contact.raised, "raised", label) and contact.friction == "coulomb":
            raise fault(
                label, "raised is for friction='stick' and 'frictionless'; with 'coulomb' give a radius"
            )
        given = _given(contact, origin=None, tangent1=None, tangent2=None, raised=None)
        built.add_contact(**given, offset=offset, tangent=contact.tangent1)
    for patch in mechanism.patches.values():
        for name in patch.contacts:
            if name not in mechanism.contacts:
                raise fault(Label("contact patch", patch.name), f"no contact {name!r}")


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
    """Return the fields of an element as arguments of its builder; None omits a field."""
    values = {
        field.name: getattr(element, field.name) for field in fields(element) if field.name not in instead
    }
    return values | {name: value for name, value in instead.items() if value is not None}


def _attach(built: Mechanism, body: Body) -> None:
    """Attach a body of the copy like the original; fixed bodies come first: no joint has their name yet."""
    if body.attached and not body.joints:
        built.add_joint(body.name, "fixed", body.parent, body.name, parent_pose=body.placement)
    for number, joint in enumerate(body.joints):
        child = Pose(joint.anchor)
        missing = {"friction": joint.friction or 0.0, "limit_restitution": joint.limit_restitution or 0.0}
        given = _given(joint, anchor=None, **missing)  # files of older releases lack these fields
        pose = None if number else body.placement @ child
        built.add_joint(**given, parent=body.parent, child=body.name, child_pose=child, parent_pose=pose)


def _check_names(table: Mapping[str, Any]) -> None:
    for name, element in table.items():
        if getattr(element, "name", name) != name:
            raise fault(Label(type(element).__name__, element.name), f"stands under the name {name!r}")


def _check_shape(shape: Shape, label: str) -> None:
    check_name("shape", shape.kind, SHAPES, label)
    for array in (shape.size, shape.points):
        if array is not None and not np.isfinite(array).all():
            raise fault(label, f"{shape.kind}: sizes and points must be finite")
