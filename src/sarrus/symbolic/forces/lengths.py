"""Lengths of tendons and of the transmissions of actuators, with their rates.

A tendon's length is a function L(q); its jet has L̇ and the part of L̈ without accelerations. A transmission has a
length, measured by servos, and a moment, the generalized force per unit of force; moment · v is its rate. The moment is
the gradient of the length, except for rotations and frames: there the length is a label, and the moment acts (as
MuJoCo's ``actuator_length`` and ``actuator_moment``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import casadi as ca

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.description import Constraint
from sarrus.model.mechanism.elements import WORLD, Actuator, Closure, Contact, SpringDamper
from sarrus.model.mechanism.faults import Label
from sarrus.model.mechanism.rolling import RollingRows
from sarrus.model.mechanism.tendons import LengthLimit, Tendon, segments
from sarrus.model.mechanism.transmissions import (
    ParentTransmission,
    SiteTransmission,
    SliderCrank,
    TendonTransmission,
)
from sarrus.symbolic.equations.equations import ContactEquations, DryLength
from sarrus.symbolic.forces.capstan import rope_rates
from sarrus.symbolic.forces.forces import AnySpring, coordinate_length, damped, elastic
from sarrus.symbolic.forces.stretches import stretch
from sarrus.symbolic.kinematics.frames import Frames, JetFrames
from sarrus.symbolic.kinematics.jet import Jet, constant, norm, through
from sarrus.symbolic.kinematics.rotations import (
    conjugate,
    product,
    quaternion_matrix,
    quaternion_rotation_vector,
)
from sarrus.symbolic.kinematics.timed import number_at
from sarrus.symbolic.kinematics.tolerances import ZERO_LENGTH
from sarrus.symbolic.kinematics.tree import Tree, relative_quaternion
from sarrus.symbolic.rows.closures import closure_residual, contact_residual, coupling_residual
from sarrus.symbolic.rows.rolling import rolling_residual


@dataclass(frozen=True)
class Length:
    """A length, its rate, which is linear in v, and the moment ∂rate/∂v (nv)."""

    value: ca.SX
    rate: ca.SX
    moment: ca.SX


def spring_length(spring: SpringDamper, mechanism: Mechanism, frames: JetFrames) -> Jet:
    """Return the distance between the two points of a spring."""
    frames = frames.seen_from(mechanism.carrier(spring.body1, spring.body2))
    return norm(frames.point(spring.body2, spring.point2) - frames.point(spring.body1, spring.point1))


def tendon_length(tendon: Tendon, frames: JetFrames, coordinates: dict[str, Jet]) -> Jet:
    """Return the length of a tendon; ``coordinates`` are the jets of the scalar coordinates by name."""
    path = segments(tendon.path) if tendon.spatial else []
    parts = [stretch(segment, frames).scaled(1 / segment.divisor) for segment in path]
    parts += [coordinates[joint.coordinate].scaled(joint.weight) for joint in tendon.joints]
    return sum(parts[1:], parts[0])


def rope_rows(mechanism: Mechanism, lengths: Lengths, t: ca.SX, rate: ca.SX) -> Iterator[ContactEquations]:
    """Yield the rows of the limits of lengths of tendons; ``rate`` is N v."""
    for tendon in mechanism.tendons.values():
        for rope in tendon.ropes:
            bound = _bound(rope, t)
            gap = (bound - lengths.tendon(tendon.name)).scaled(rope.sign)
            rates, grip = rope_rates(tendon, lengths.frames, lengths.coordinates, gap.rate, bound.rate)
            bias, friction = gap.bias, 0.0
            if grip is not None:
                turning = ca.jtimes(rates[1], ca.vertcat(lengths.q, t), ca.vertcat(rate, 1))
                bias, friction = ca.vertcat(bias, turning), 1.0
            yield ContactEquations(
                rope.name,
                rope.row_names,
                gap.value,
                rates,
                bias,
                friction,
                friction,
                tendon.restitution,
                kind="rope",
                rolls=grip is not None,
                grip=grip,
            )


def dry_lengths(mechanism: Mechanism, tendon_of: Callable[[str], Jet]) -> Iterator[DryLength]:
    """Yield the tendons with dry friction."""
    for tendon in mechanism.tendons.values():
        if tendon.friction > 0.0:
            length = tendon_of(tendon.name)
            yield DryLength(f"{tendon.name}.friction", length.rate, length.bias, tendon.friction)


def _bound(rope: LengthLimit, t: ca.SX) -> Jet:
    """Return the jet of a limit of the length of a tendon."""
    if callable(rope.bound):
        return number_at(rope.bound, t, Label("tendon", rope.tendon.name))
    return constant(ca.SX(rope.bound))


def constraint_residual(
    constraint: Constraint,
    mechanism: Mechanism,
    frames: JetFrames,
    coordinates: dict[str, Jet],
    t: ca.SX,
) -> Jet:
    """Return the jet of the rows of a constraint without its switch; couplings may name lengths of tendons."""
    if isinstance(constraint, Closure):
        carrier = mechanism.carrier(constraint.body1, constraint.body2)
        return closure_residual(constraint, frames.seen_from(carrier), t)
    if isinstance(constraint, (Contact, RollingRows)):
        own = frames.seen_from(mechanism.carrier(constraint.ground, constraint.body))
        if isinstance(constraint, Contact):
            return contact_residual(constraint, own)
        return rolling_residual(constraint, own)
    named = {}
    for name in (term.coordinate for term in constraint.terms):
        kind, _, tendon = name.partition(":")
        named[name] = (
            tendon_length(mechanism.tendons[tendon], frames, coordinates)
            if kind == "tendon"
            else coordinates[name]
        )
    return coupling_residual(constraint, named, t)


@dataclass(eq=False)
class Lengths:
    """The lengths of one mechanism in world axes, each traced at its first use."""

    mechanism: Mechanism
    tree: Tree
    frames: Frames
    coordinates: dict[str, Jet]
    q: ca.SX
    v: ca.SX

    def __post_init__(self) -> None:
        self._places = {name: k for k, name in enumerate(self.mechanism.velocity_names)}
        self._starts = dict[str, tuple[str, int, int]]()
        iq = iv = 0
        for joint in self.mechanism.joints():
            self._starts[joint.name] = joint.kind, iq, iv
            iq, iv = iq + joint.nq, iv + joint.nv
        self._tendons: dict[str, Jet] = {}
        self._of: dict[str, Length] = {}

    def springs(self) -> list[tuple[AnySpring, Jet]]:
        """Return all springs (of coordinates too) and tendons with a tension, each with its length."""
        m = self.mechanism
        return [
            *((s, spring_length(s, m, self.frames)) for s in m.springs.values()),
            *((s, coordinate_length(s, self.coordinates)) for s in m.coordinate_springs.values()),
            *((t, self.tendon(t.name)) for t in m.tendons.values() if elastic(t) or damped(t)),
        ]

    def tendon(self, name: str) -> Jet:
        """Return the jet of the length of a tendon."""
        if name not in self._tendons:
            tendon = self.mechanism.tendons[name]
            self._tendons[name] = tendon_length(tendon, self.frames, self.coordinates)
        return self._tendons[name]

    def of(self, actuator: Actuator) -> Length:
        """Return length, rate and moment of the transmission of an actuator."""
        if actuator.name not in self._of:
            self._of[actuator.name] = self._traced(actuator)
        return self._of[actuator.name]

    def _traced(self, actuator: Actuator) -> Length:
        along = actuator.transmission
        if isinstance(along, tuple):
            moment = ca.SX(self.v.shape[0], 1)
            for name, gear in along:
                moment[self._places[name]] += gear
            value = sum((gear * self._velocity_length(name) for name, gear in along), ca.SX(0))
            rate = sum((gear * self.v[self._places[name]] for name, gear in along), ca.SX(0))
            return Length(value, rate, moment)
        value, rate = self._measured(along)
        return Length(value, rate, ca.jacobian(rate, self.v).T)

    def _measured(
        self, along: TendonTransmission | ParentTransmission | SiteTransmission | SliderCrank
    ) -> tuple[ca.SX, ca.SX]:
        """Return length and rate of a transmission other than constant gears."""
        if isinstance(along, TendonTransmission):
            jet = self.tendon(along.tendon).scaled(along.gear)
            return jet.value, jet.rate
        if isinstance(along, ParentTransmission):
            return self._in_parent(along)
        if isinstance(along, SliderCrank):
            jet = through(_slider(along.rod), *self._crank(along)).scaled(along.gear)
            return jet.value, jet.rate
        return self._at_site(along)

    def _velocity_length(self, name: str) -> ca.SX:
        """Return the coordinate of a velocity: an entry of the rotation vector of a spherical joint, 0 of a free
        one."""
        if name in self.coordinates:
            return self.coordinates[name].value
        joint, label = name.rpartition(".")[::2]
        kind, iq, _ = self._starts[joint]
        if kind == "free":
            return ca.SX(0)
        return quaternion_rotation_vector(self.q[iq : iq + 4])["xyz".index(label[1])]

    def _in_parent(self, along: ParentTransmission) -> tuple[ca.SX, ca.SX]:
        """Return length and rate of a torque in parent axes: ω is R ω there, the rotation vector is the same."""
        kind, iq, iv = self._starts[along.joint]
        gear = ca.DM(along.gear)
        if kind == "spherical":
            quaternion = self.q[iq : iq + 4]
            turned = quaternion_matrix(quaternion).T @ gear
            return ca.dot(turned, quaternion_rotation_vector(quaternion)), ca.dot(turned, self.v[iv : iv + 3])
        turned = quaternion_matrix(self.q[iq + 3 : iq + 7]).T @ gear[3:]
        linear, angular = self.v[iv : iv + 3], self.v[iv + 3 : iv + 6]
        return ca.SX(0), ca.dot(gear[:3], linear) + ca.dot(turned, angular)

    def _crank(self, along: SliderCrank) -> tuple[Jet, Jet]:
        """Return the jets of the pin relative to the slider frame, and of the slider's axis."""
        pin = self.frames.point(along.body, along.pin)
        slider = self.frames.point(along.slider, along.pose.position)
        return pin - slider, self.frames.direction(along.slider, along.pose.rotation[:, 2])

    def _at_site(self, along: SiteTransmission) -> tuple[ca.SX, ca.SX]:
        reference = along.reference
        carrier = WORLD if reference is None else self.mechanism.carrier(along.body, reference[0])
        frames, gear = self.frames.seen_from(carrier), ca.DM(along.gear)
        site, spin = frames.point(along.body, along.pose.position), frames.angular_velocity(along.body)
        body, pose = (along.body, along.pose) if reference is None else reference
        turn = ca.horzcat(*(frames.direction(body, axis).value for axis in pose.rotation.T))
        if reference is None:
            return ca.SX(0), ca.dot(turn @ gear[:3], site.rate) + ca.dot(turn @ gear[3:], spin)
        away = site - frames.point(body, pose.position)
        relative = relative_quaternion(self.tree, body, along.body, self.q)
        relative = product(conjugate(ca.DM(pose.quaternion)), product(relative, ca.DM(along.pose.quaternion)))
        value = ca.dot(gear[:3], turn.T @ away.value) + ca.dot(gear[3:], quaternion_rotation_vector(relative))
        turning = spin - frames.angular_velocity(body)
        return value, ca.dot(turn @ gear[:3], away.rate) + ca.dot(turn @ gear[3:], turning)


def _slider(rod: float) -> Callable[[ca.SX, ca.SX], ca.SX]:
    """Return the function for the position of the slider on its axis: a·d − √((a·d)² + rod² − d·d)."""

    def position(d: ca.SX, axis: ca.SX) -> ca.SX:
        along = ca.dot(axis, d)
        room = along**2 + rod**2 - ca.dot(d, d)
        return along - ca.if_else(room > 0, ca.sqrt(ca.fmax(room, ZERO_LENGTH)), 0)

    return position
