"""`Description`: the data of a mechanism, how to read it, and the checks of its names."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from copy import copy
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.driven_body import DrivenBody
from sarrus.model.mechanism.elements import (
    WORLD,
    Actuator,
    Body,
    Closure,
    Contact,
    ContactPatch,
    CoordinateSpring,
    Coupling,
    Geom,
    GeometryContact,
    GeomPair,
    Shape,
    SpringDamper,
    UserForce,
    Winding,
)
from sarrus.model.mechanism.faults import Label, check_name, fault, unknown
from sarrus.model.mechanism.gearing import Gearing
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.keyframe import Keyframe
from sarrus.model.mechanism.pose import Pose, scalar, vector
from sarrus.model.mechanism.report import ImportReport
from sarrus.model.mechanism.rolling import Rolling, RollingRows
from sarrus.model.mechanism.sensor import MAGNETIC_FIELD, Sensor
from sarrus.model.mechanism.tendons import Pulley, Tendon, TendonJoint, Wrap
from sarrus.model.mechanism.transmissions import TendonTransmission

# Elements with rows in the constraint Jacobian A.
Constraint = Closure | Coupling | Contact | RollingRows


@cache
def annotations_of(kind: type) -> dict[str, Any]:
    """Return the annotated types of the attributes of a class, by name."""
    return get_type_hints(kind)


class Description:
    """The elements of a mechanism by name. The builders of `sarrus.model.builders.mechanism.Mechanism` fill it.

    ``frames`` (body, and pose in it) are the sites of an MJCF file, the joints of a URDF file and the frames of an SDF
    file. ``geoms`` are the collision shapes of the file; alone they do not act. ``idle_geoms`` are the collision shapes
    that can touch nothing, each with the reason. ``geom_pairs`` and ``excluded_bodies`` are the pairs of geoms with
    contact and the pairs of bodies without contact in the file. ``parents_touch`` is True if the file allows contact
    between a body and its parent. ``geometry_contacts`` are the contacts added between geoms.
    ``time_step`` [s] is the step given in the file; `sarrus.simulate` takes it as the default of fixed steps.
    ``magnetic_field`` [T, world axes] is measured by magnetometers. ``integrator`` is the name of the integrator in
    the file; it is recorded only.
    """

    name: str
    gravity: Array
    time_step: float | None
    integrator: str
    world_shapes: tuple[Shape, ...]
    magnetic_field: Array
    report: ImportReport
    closures: dict[str, Closure]
    couplings: dict[str, Coupling]
    rollings: dict[str, Rolling]
    gearings: dict[str, Gearing]
    contacts: dict[str, Contact]
    patches: dict[str, ContactPatch]
    springs: dict[str, SpringDamper]
    coordinate_springs: dict[str, CoordinateSpring]
    tendons: dict[str, Tendon]
    actuators: dict[str, Actuator]
    forces: dict[str, UserForce]
    sensors: dict[str, Sensor]
    driven_bodies: dict[str, DrivenBody]
    keyframes: dict[str, Keyframe]
    frames: dict[str, tuple[str, Pose]]
    geoms: dict[str, Geom]
    geom_pairs: dict[str, GeomPair]
    excluded_bodies: dict[str, tuple[str, str]]
    idle_geoms: dict[str, str]
    parents_touch: bool
    geometry_contacts: dict[str, GeometryContact]
    _bodies: dict[str, Body]
    _owners: dict[str, str]  # body of each joint

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = str(name)
        self.gravity = vector(gravity, 3, "gravity", self.name)
        self.time_step = None
        self.integrator = ""
        self.world_shapes = ()
        self.magnetic_field = np.array(MAGNETIC_FIELD)
        self.parents_touch = False
        self.report = ImportReport()
        for table, hint in annotations_of(Description).items():
            if get_origin(hint) is dict:
                setattr(self, table, {})

    def restore(self, attributes: Mapping[str, Any]) -> None:
        """Copy the attributes of another description unchecked; `sarrus.model.builders.validation` checks them."""
        vars(self).update(attributes)
        self._owners = {joint.name: body.name for body in self._bodies.values() for joint in body.joints}

    def replace_body(self, body: Body) -> None:
        """Replace the body of the same name."""
        self._bodies[body.name] = body

    @property
    def bodies_as_added(self) -> Mapping[str, Body]:
        """Bodies by name, in the order in which they were added."""
        return MappingProxyType(self._bodies)

    @property
    def bodies(self) -> dict[str, Body]:
        """Bodies by name, depth first from the world, children in the order in which they were added."""
        children: dict[str, list[str]] = {WORLD: [], **{name: [] for name in self._bodies}}
        for body in self._bodies.values():
            if body.attached:
                children[body.parent].append(body.name)
        ordered: dict[str, Body] = {}
        stack = children[WORLD][::-1]
        while stack:
            name = stack.pop()
            ordered[name] = self._bodies[name]
            stack.extend(children[name][::-1])
        return ordered | {name: body for name, body in self._bodies.items() if name not in ordered}

    @property
    def body_numbers(self) -> dict[str, int]:
        """Indices of the bodies by name, in the order of ``bodies``; −1 for the world."""
        return {WORLD: -1} | {name: k for k, name in enumerate(self.bodies)}

    def carrier(self, one: str, other: str) -> str:
        """Return the last common ancestor of two bodies (either included) that has a joint or is driven, or the world.

        A body fixed to the carrier moves with it. Rows x, y, z of closures between the two are in axes of the carrier.
        """
        shared = WORLD
        for first, second in zip(self._carriers(one), self._carriers(other)):
            if first != second:
                break
            shared = first
        return shared

    def _carriers(self, name: str) -> list[str]:
        """Return the ancestors of a body, itself included, that have joints or are driven; starting from the world."""
        found = []
        while name != WORLD:
            body, drive = self._bodies[name], self.driven_bodies.get(name)
            if body.joints or (drive is not None and drive.function is not None):
                found.append(name)
            name = body.parent
        return found[::-1]

    def joints(self) -> Iterator[Joint]:
        """Iterate over the movable joints in the order of the coordinates."""
        for body in self.bodies.values():
            yield from body.joints

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates q in order: those of the joints, then the activations of the actuators."""
        joints = [name for joint in self.joints() for name in joint.coordinate_names]
        return (*joints, *(actuator.activation_name for actuator in self._activated()))

    def neutral(self) -> Array:
        """Return q (nq,) with all joints at their reference; activations are 0, or the nearest value in limits."""
        joints = [x for joint in self.joints() for x in joint.reference]
        states = [
            np.clip(0.0, *(a.activation.limits or (0.0, 0.0))) for a in self._activated() if a.activation
        ]
        return np.array([*joints, *states], dtype=float)

    @property
    def current_names(self) -> tuple[str, ...]:
        """Names of the coordinates that are currents [A] of motor windings, in the order of q."""
        return tuple(a.activation_name for a in self._activated() if isinstance(a.activation, Winding))

    @property
    def has_limits(self) -> bool:
        """Whether a control, an actuator force, or the sum of actuator forces on a joint or tendon is limited."""
        return any(a.limits or a.force_limits or _held(a) for a in self.actuators.values()) or any(
            limits is not None
            for limits in (
                *(joint.actuator_force_limits for joint in self.joints()),
                *(tendon.force_limits for tendon in self.tendons.values()),
            )
        )

    def _activated(self) -> list[Actuator]:
        return [actuator for actuator in self.actuators.values() if actuator.activation is not None]

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities v in order."""
        return tuple(name for joint in self.joints() for name in joint.velocity_names)

    def constraints(self) -> tuple[Constraint, ...]:
        """Return the elements with rows in A, in the order of the rows: holonomic, then nonholonomic.

        Holonomic: closures, couplings, heights of rolling elements, contacts with "stick" or without friction (the
        tangential rows of a sticking contact hold a position). Nonholonomic: slips of rolling elements.
        """
        contacts = (contact for contact in self.contacts.values() if not contact.slides)
        parts = [part for rolling in self.rollings.values() for part in rolling.parts]
        return (
            *self.closures.values(),
            *self.couplings.values(),
            *(part for part in parts if part.holonomic),
            *contacts,
            *(part for part in parts if not part.holonomic),
        )

    def snapshot(self) -> Self:
        """Return an independent copy of the tables; the elements, which are frozen, are shared."""
        duplicate = copy(self)
        vars(duplicate).update(
            {name: dict(value) for name, value in vars(self).items() if isinstance(value, dict)}
        )
        return duplicate

    def check(self) -> None:
        """Raise `ModelError` unless every body is attached and at least one joint can move."""
        for body in self._bodies.values():
            if not body.attached:
                raise ModelError(
                    f"body {body.name!r} has no joint: attach it with add_joint, 'fixed' or 'free' at "
                    "the least",
                    element=body.name,
                )
        for tendon in self.tendons.values():
            if tendon.rubbing and (users := self._pulled_by(tendon.name)):
                raise ModelError(
                    f"tendon {tendon.name!r} has a wrap with friction, on which {users[0]} cannot act: its force has "
                    "no sides; take friction_coefficient=0, or pull at a body",
                    element=tendon.name,
                )
            if why := self._varies_between(tendon):
                raise ModelError(
                    f"tendon {tendon.name!r}: its wraps with friction must be on one body, with the path between "
                    f"them, and {why}: the rope may stick at one of them while it slides over the other; give all but "
                    "one friction_coefficient=0, or take one rope for each of them, with a body between",
                    element=tendon.name,
                )
        for name, keyframe in self.keyframes.items():
            if not isinstance(keyframe, Keyframe):
                raise ModelError(
                    f"keyframe {name!r} must be a Keyframe, got {type(keyframe).__name__}: add it with "
                    "add_keyframe(name, q, v, u, t)",
                    element=name,
                )
        if not any(True for _ in self.joints()):
            raise ModelError(f"mechanism {self.name!r} has no movable joint", element=self.name)

    def _pulled_by(self, tendon: str) -> list[str]:
        """Return the actuators and couplings that use the length of a tendon, in words."""
        length, found = f"tendon:{tendon}", list[str]()
        for name, actuator in self.actuators.items():
            pull = actuator.transmission
            if isinstance(pull, TendonTransmission) and pull.tendon == tendon:
                found.append(f"actuator {name!r}")
        tied = (c for c in self.couplings.values() if length in (term.coordinate for term in c.terms))
        return [*found, *(f"coupling {coupling.name!r}" for coupling in tied)]

    def _varies_between(self, tendon: Tendon) -> str:
        """Return why the length between the wraps with friction of a tendon may vary; "" if it is constant."""
        places = [k for k, item in enumerate(tendon.path) if any(item is wrap for wrap in tendon.rubbing)]
        for item in tendon.path[places[0] : places[-1] + 1] if places else ():
            if isinstance(item, Pulley):
                return "a pulley is between them"
            if isinstance(item, TendonJoint):
                return f"the drum {item.coordinate!r} is between them"
            first = tendon.rubbing[0].body
            if item.body != first:
                what = "a wrap" if isinstance(item, Wrap) else "a point"
                return f"{what} between them is on {item.body!r}, not on {first!r}"
        return ""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}: {len(self._bodies)} bodies, "
            f"{len(list(self.joints()))} joints, {len(self.closures) + len(self.couplings)} closures"
            + (f", {len(self.rollings)} rolling" if self.rollings else "")
            + (f", {len(self.gearings)} with losses" if self.gearings else "")
            + (f", {len(self.contacts)} contacts" if self.contacts else "")
            + (f"; of {Path(self.report.source).name} {self.report.headline()})" if len(self.report) else ")")
        )

    def reference_pose(self, body: str) -> Pose:
        """Return the pose of a body, or of "world", in the world with all coordinates at their reference."""
        pose = Pose()
        while body != WORLD:
            element = self._bodies[body]
            pose, body = element.reference_pose @ pose, element.parent
        return pose

    # --- checks of names ----------------------------------------------------------------------------

    def _fresh_constraint(self, name: str, kind: str) -> Label:
        """Return the label of a new constraint; raise if a constraint or contact patch of this name exists."""
        parts = {part.name for rolling in self.rollings.values() for part in rolling.parts}
        ropes = {rope.name for tendon in self.tendons.values() for rope in tendon.ropes}
        tables = self.closures, self.couplings, self.contacts, self.patches, self.rollings, self.gearings
        return self._fresh(name, kind, *tables, parts, self.flank_names, ropes if "contact" in kind else ())

    @property
    def flank_names(self) -> set[str]:
        """Names of the flanks of all gearings."""
        return {flank.name for gearing in self.gearings.values() for flank in gearing.flanks}

    def _fresh(self, name: str, kind: str, *taken: Container[str]) -> Label:
        """Return the label of a new element; raise if its name is empty or is in one of the tables ``taken``."""
        if not isinstance(name, str) or not name:
            raise fault(kind, f"name must be a non-empty string, got {name!r}", str(name))
        label = Label(kind, name)
        if any(name in table for table in taken):
            raise fault(label, "the name is already taken; names are unique")
        return label

    def _body(self, name: str, label: str) -> Body:
        check_name("body", name, self._bodies, label, name)
        return self._bodies[name]

    def check_body(self, name: str, label: str) -> None:
        if name != WORLD:
            self._body(name, label)

    def _check_bodies(self, body1: str, body2: str, label: Label) -> None:
        """Raise unless the two bodies exist and differ; one may be the world."""
        self.check_body(body1, label)
        self.check_body(body2, label)
        if body1 == body2:
            raise fault(label, f"needs two different bodies, got {body1!r} twice")

    def _joint_of(self, velocity: str) -> Joint | None:
        """Return the joint of a velocity, None if no velocity has this name."""
        for name in (velocity, velocity.rpartition(".")[0]):
            if name in self._owners:
                joints = self._bodies[self._owners[name]].joints
                return next((j for j in joints if j.name == name and velocity in j.velocity_names), None)
        return None

    def _velocity(self, name: str, label: str) -> Joint:
        """Return the joint of a velocity; for an unknown name raise an error that lists the valid ones."""
        joint = self._joint_of(name) if isinstance(name, str) else None
        if joint is None:
            raise unknown("joint velocity", name, self.velocity_names, label)
        return joint

    def _scalar_coordinate_or_tendon(self, name: str, label: str) -> None:
        kind, _, tendon = name.partition(":") if isinstance(name, str) else ("", "", "")
        if kind == "tendon":
            self._tendon(tendon, label)
        else:
            self._scalar_coordinate(name, label)

    def _tendon(self, name: str, label: str) -> None:
        check_name("tendon", name, self.tendons, label, name)

    def _scalar_coordinate(self, name: str, label: str) -> str:
        joint = self._joint_of(name) if isinstance(name, str) else None
        if joint is None or name not in joint.coordinate_names:
            names = set(self.velocity_names)
            valid = tuple(n for n in self.coordinate_names if n in names)
            raise unknown("scalar coordinate", name, valid, label)
        return name

    def _weights(self, given: Any, what: str, label: str) -> tuple[tuple[str, float], ...]:
        """Return pairs (scalar coordinate, weight) from a mapping."""
        checks.mapping(given, what, label)
        return tuple(
            (self._scalar_coordinate(name, label), scalar(weight, f"weight of {name!r}", label))
            for name, weight in given.items()
        )


def _held(actuator: Actuator) -> bool:
    """Tell whether an actuator has a winding with a limited current."""
    return isinstance(actuator.activation, Winding) and actuator.activation.limits is not None
