"""The wrench through a cut between a body and its parent: the wrench transmitted by the joint there.

With a virtual twist ξ of the subtree of the body, the power of each force across the cut is linear in ξ, and its
derivative is the wrench that the force exerts on the subtree. The rate of momentum of the subtree, minus gravity and
these wrenches, is the wrench through the joint: of its bearing, motor, springs, damper, friction and stops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.description import Constraint
from sarrus.model.mechanism.elements import WORLD, Actuator, Closure, Coupling, SpringDamper, UserForce
from sarrus.model.mechanism.tendons import Tendon, segments
from sarrus.model.mechanism.transmissions import SiteTransmission, SliderCrank, TendonTransmission
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.symbolic import stacked
from sarrus.symbolic.forces import actuators, forces
from sarrus.symbolic.forces.capstan import rope_rates
from sarrus.symbolic.forces.lengths import Lengths, constraint_residual, spring_length, tendon_length
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.kinematics.scalars import Numbers, as_casadi, varies
from sarrus.symbolic.kinematics.tree import GROUND
from sarrus.symbolic.multibody.geometry_bodies import geometry_bodies
from sarrus.symbolic.rows.closures import coordinate_jets
from sarrus.symbolic.rows.contacts import ContactElement, contact_motion, elements_of_contacts


class Wrench(NamedTuple):
    """A torque about a point [N m] and a force [N], in world axes."""

    torque: ca.SX
    force: ca.SX
    point: ca.SX

    def about(self, point: ca.SX) -> Wrench:
        """Return the same wrench about another point."""
        return Wrench(self.torque + cross(self.point - point, self.force), self.force, point)


class CutFrames(Frames):
    """Frames with a virtual twist of the bodies below a cut added: (angular, linear at a point), in their axes."""

    def __init__(self, base: Frames, below: Collection[str], origin: ca.SX, twist: ca.SX) -> None:
        vars(self).update(vars(base))  # placements are shared: the twist changes no position
        self._base, self._below, self._origin, self._twist = base, below, origin, twist

    def seen_from(self, body: str) -> Frames:
        """Return the frames relative to a body; bodies below the cut move relative to a body above it."""
        base = self._base.seen_from(body)
        node = self._tree.location[body][0]
        if node == GROUND:
            return self
        if body in self._below:
            return base
        position, rotation = self._base.node(node)
        rotation = rotation @ ca.DM(self._tree.location[body][1].rotation)
        origin = rotation.T @ (self._origin - position)
        twist = ca.vertcat(rotation.T @ self._twist[:3], rotation.T @ self._twist[3:])
        return CutFrames(base, self._below, origin, twist)

    def angular_velocity(self, body: str) -> ca.SX:
        """Return the angular velocity of a body."""
        return super().angular_velocity(body) + (self._twist[:3] if body in self._below else 0)

    def turning(self, body: str) -> Jet:
        """Return angular velocity and acceleration of a body, as a jet whose value is zero."""
        jet = super().turning(body)
        return Jet(jet.value, jet.rate + self._twist[:3], jet.bias) if body in self._below else jet

    def point(self, body: str, point: Numbers) -> Jet:
        """Return the jet of a point given in body axes [m]."""
        jet = super().point(body, point)
        if body not in self._below:
            return jet
        more = self._twist[3:] + cross(self._twist[:3], jet.value - self._origin)
        return Jet(jet.value, jet.rate + more, jet.bias)

    def direction(self, body: str, direction: Array) -> Jet:
        """Return the jet of a direction given in body axes."""
        jet = super().direction(body, direction)
        if body not in self._below:
            return jet
        return Jet(jet.value, jet.rate + cross(self._twist[:3], jet.value), jet.bias)


class Cuts:
    """The wrenches through the cuts of one mechanism at (q, v, a), with constraint and contact forces.

    ``multipliers`` (nc,) and ``pushes`` may be symbols. These are the forces of contacts with Coulomb friction by rows,
    then wrenches on the bodies of `geometry_bodies`: force, and moment about the origin of the body, in world axes.
    """

    def __init__(
        self, mechanism: Mechanism, e: Equations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX
    ) -> None:
        assert e.tree is not None
        self.mechanism, self.e, self.tree = mechanism, e, e.tree
        self.joints = links(e.tree, e.q, e.v)
        self.frames = Frames(e.tree, self.joints)
        self.moved = Frames(e.tree, links(e.tree, e.q, e.v, a))
        self.coordinates = dict(zip(e.coordinate_names, ca.vertsplit(e.q)))
        self.jets = coordinate_jets(e.coordinate_names, e.velocity_names, e.q, e.v)
        self.lengths = Lengths(mechanism, self.tree, self.frames, self.jets, e.q, e.v)
        self.gravity = as_casadi(mechanism.gravity)
        self._children: dict[str, list[str]] = {}
        self.bodies = mechanism.bodies
        for name, body in self.bodies.items():
            self._children.setdefault(body.parent, []).append(name)
        self._below: dict[str, frozenset[str]] = {}
        self._moved: dict[str, Wrench] = {}
        self._across: dict[tuple[tuple[str, str], frozenset[str]], Wrench] = {}
        self._elements = list(self._acting(multipliers, pushes))

    def below(self, body: str) -> frozenset[str]:
        """Return the subtree of a body, itself included."""
        if body not in self._below:
            parts = (self.below(child) for child in self._children.get(body, ()))
            self._below[body] = frozenset((body,)).union(*parts)
        return self._below[body]

    @cached_property
    def actuator_forces(self) -> dict[str, ca.SX]:
        """The scalar forces of the actuators."""
        return actuators.forces(self.mechanism, self.lengths, self.coordinates, self.e.u)

    def through_joint(self, body: str) -> Wrench:
        """Return the wrench of the parent on a body through the joints between them, about the body's origin."""
        total = self._inertial(body)
        torque, force = total.torque, total.force
        for element in self._elements:
            acting = self._wrench(element, self.below(body))
            if acting is not None:
                given = acting.about(total.point)
                torque, force = torque - given.torque, force - given.force
        return Wrench(torque, force, total.point)

    def on_body(self, names: Collection[str], second: str, first: str) -> Wrench:
        """Return the total wrench of the named constraints or contacts on the second of their two bodies.

        It is the wrench across the cut above this body, or, if the first body hangs on it, above the first body.
        """
        upside_down = first in self.below(second)
        below, keys = self.below(first if upside_down else second), [("constraint", name) for name in names]
        found = [self._wrench(element, below) for element in self._elements if element.key in keys]
        parts = [wrench for wrench in found if wrench is not None]
        sign, point = -1.0 if upside_down else 1.0, parts[0].point
        torque = sum((wrench.torque for wrench in parts), ca.SX.zeros(3))
        force = sum((wrench.force for wrench in parts), ca.SX.zeros(3))
        return Wrench(sign * torque, sign * force, point)

    def _inertial(self, body: str) -> Wrench:
        """Return the rate of momentum of a subtree minus gravity, about the origin of its body."""
        if body not in self._moved:
            part, (origin, rotation) = self.bodies[body], self.frames.placement(body)
            spin = rotation.T @ self.frames.angular_velocity(body)
            inertia = as_casadi(part.inertia)
            turning = inertia @ (rotation.T @ self.moved.angular_acceleration(body))
            force = part.mass * (self.moved.point(body, part.com).bias - self.gravity)
            torque = rotation @ (turning + cross(spin, inertia @ spin))
            torque += cross(self.frames.point(body, part.com).value - origin, force)
            for child in self._children.get(body, ()):
                carried = self._inertial(child).about(origin)
                torque, force = torque + carried.torque, force + carried.force
            self._moved[body] = Wrench(torque, force, origin)
        return self._moved[body]

    def _wrench(self, element: _Acting, below: frozenset[str]) -> Wrench | None:
        """Return the wrench of an element on the part below a cut; None if it does not act across the cut."""
        inside = below & element.bodies
        if not inside or inside == element.bodies:
            return None
        key = element.key, inside
        if key not in self._across:
            body = next(
                name for name in self.bodies if name in inside
            )  # in a fixed order, which sets do not have
            origin, twist = self.frames.placement(body)[0], ca.SX.sym("twist", 6)
            wrench = element.wrench(CutFrames(self.frames, below, origin, twist), twist)
            wrench = ca.substitute(wrench, twist, ca.SX.zeros(6))
            self._across[key] = Wrench(wrench[:3], wrench[3:], origin)
        return self._across[key]

    def _acting(self, multipliers: ca.SX, pushes: ca.SX) -> Iterator[_Acting]:
        """Iterate over all elements that exert forces on bodies, except gravity and joints."""
        mechanism, row = self.mechanism, 0
        for constraint in mechanism.constraints():
            own = multipliers[row : (row := row + len(constraint.row_names))]
            rates = partial(self._rates, constraint)
            yield _Acting(("constraint", constraint.name), self._tied(constraint), rates, own)
        row = 0
        for contact in elements_of_contacts(mechanism):
            own = pushes[row : (row := row + len(contact.row_names))]
            pair, rates = frozenset((contact.body, contact.ground)), partial(self._slips, contact)
            yield _Acting(("constraint", contact.name), pair, rates, own)
        row += sum(
            len(flank.row_names) for gearing in mechanism.gearings.values() for flank in gearing.flanks
        )
        for tendon in mechanism.tendons.values():  # flanks push through joints, ropes pull along their paths
            for rope in tendon.ropes:
                own = pushes[row : (row := row + len(rope.row_names))]
                rates = partial(self._roping, tendon, -rope.sign)
                yield _Acting(("rope", rope.name), bodies_of(tendon), rates, own)
        for tendon in mechanism.tendons.values():
            if varies(tendon.friction):
                own = pushes[row : (row := row + 1)]
                rate = partial(self._lengthening, tendon, 1.0)
                yield _Acting(("friction", tendon.name), bodies_of(tendon), rate, own)
        row = int(self.e.row_rates.numel())
        for body in geometry_bodies(mechanism):
            own = pushes[row : (row := row + 6)]
            yield _Acting(("wrench", body), frozenset((body, WORLD)), partial(self._moves, body), own)
        for spring in mechanism.springs.values():
            pair = frozenset((spring.body1, spring.body2))
            yield _Acting(("spring", spring.name), pair, partial(self._spring, spring))
        for tendon in mechanism.tendons.values():
            yield _Acting(("tendon", tendon.name), bodies_of(tendon), partial(self._tendon, tendon))
        for actuator in mechanism.actuators.values():
            bodies, pull = self._pulled(actuator), partial(self._actuator, actuator)
            yield _Acting(("actuator", actuator.name), bodies, pull)
        for user in mechanism.forces.values():
            if user.body is not None and not user.through_joints:
                bodies = frozenset((user.body, WORLD))
                yield _Acting(("force", user.name), bodies, partial(self._user_force, user))

    # force elements in frames with a virtual twist: the rates on which they do work, or their power per twist

    def _rates(self, constraint: Constraint, frames: Frames) -> ca.SX:
        return constraint_residual(constraint, self.mechanism, frames, self.jets, self.e.t).rate

    def _slips(self, contact: ContactElement, frames: Frames) -> ca.SX:
        return contact_motion(contact, self.mechanism, frames).rates

    def _moves(self, body: str, frames: Frames) -> ca.SX:
        """Return the velocity of the origin of a body and its angular velocity."""
        return ca.vertcat(frames.point(body, np.zeros(3)).rate, frames.turning(body).rate)

    def _lengthening(self, tendon: Tendon, sign: float, frames: Frames) -> ca.SX:
        return sign * tendon_length(tendon, frames, self.jets).rate

    def _roping(self, tendon: Tendon, sign: float, frames: Frames) -> ca.SX:
        return rope_rates(tendon, frames, self.jets, self._lengthening(tendon, sign, frames), ca.SX(0))[0]

    def _spring(self, spring: SpringDamper, frames: Frames, twist: ca.SX) -> ca.SX:
        return forces.elastic_force(spring, spring_length(spring, self.mechanism, frames), twist)[0]

    def _tendon(self, tendon: Tendon, frames: Frames, twist: ca.SX) -> ca.SX:
        length = tendon_length(tendon, frames, self.jets)
        pull = forces.elastic_force(tendon, length, twist)[0]
        if varies(tendon.armature):  # the inertia force of the rotor does not act on the bodies
            change = tendon_length(tendon, self.moved, self.jets).bias
            pull += forces.power_conjugate(length.rate, twist, -tendon.armature * change)
        return pull

    def _actuator(self, actuator: Actuator, frames: Frames, twist: ca.SX) -> ca.SX:
        lengths = Lengths(self.mechanism, self.tree, frames, self.jets, self.e.q, self.e.v)
        rate = lengths.of(actuator).rate
        return forces.power_conjugate(rate, twist, self.actuator_forces[actuator.name])

    def _user_force(self, user: UserForce, frames: Frames, twist: ca.SX) -> ca.SX:
        assert user.body is not None
        value = ca.vec(ca.SX(stacked(user.function(self.e.q, self.e.v, self.e.t))))
        return forces.power_conjugate(frames.point(user.body, user.point).rate, twist, value)

    def _tied(self, constraint: Constraint) -> frozenset[str]:
        """Return the bodies tied together by a constraint, without regard to joints."""
        if isinstance(constraint, Coupling):
            names = (term.coordinate.partition(":") for term in constraint.terms)
            tendons = (self.mechanism.tendons[name] for kind, _, name in names if kind == "tendon" and name)
            return frozenset().union(*(bodies_of(tendon) for tendon in tendons))
        if isinstance(constraint, Closure):
            return frozenset((constraint.body1, constraint.body2))
        return frozenset((constraint.body, constraint.ground))

    def _pulled(self, actuator: Actuator) -> frozenset[str]:
        """Return the bodies on which an actuator exerts external forces, not through joints."""
        along = actuator.transmission
        if isinstance(along, TendonTransmission):
            return bodies_of(self.mechanism.tendons[along.tendon])
        if isinstance(along, SliderCrank):
            return frozenset((along.body, along.slider))
        if isinstance(along, SiteTransmission):
            return frozenset((along.body, along.reference[0] if along.reference else WORLD))
        return frozenset()


def bodies_of(tendon: Tendon) -> frozenset[str]:
    """Return the bodies on the path of a tendon; none without a path."""
    found = set[str]()
    for stretch in segments(tendon.path) if tendon.spatial else ():
        found |= {stretch.start.body, stretch.end.body}
        if stretch.wrap is not None:
            found |= {stretch.wrap.body, *([stretch.wrap.side[0]] if stretch.wrap.side else [])}
    return frozenset(found)


@dataclass(frozen=True, eq=False)
class _Acting:
    """An element that exerts forces on ``bodies``: ``values`` on rates, or a function of the twist."""

    key: tuple[str, str]
    bodies: frozenset[str]
    of: Callable[..., ca.SX]
    values: ca.SX | None = None

    def wrench(self, frames: CutFrames, twist: ca.SX) -> ca.SX:
        """Return torque about the origin of the twist and force on the bodies with the twist (6,)."""
        if self.values is None:
            return self.of(frames, twist)
        return forces.power_conjugate(self.of(frames), twist, self.values)
