"""The ground under a robot that walks, learnt from the places where its feet stand; and `Height`, above it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.control.legged.tolerances import FEET_SPREAD, FOOT_SMOOTHING, NO_HEADING, STEEPEST_GROUND
from sarrus.control.motion.tasks import Quantity, centre_of_mass, point, quantity
from sarrus.dynamics.system import System
from sarrus.model.mechanism.elements import Contact


@dataclass(frozen=True, eq=False)
class Height:
    """The task by which the centre of mass is ``reference`` [m] above the ground under it, which a `Gait` learns.

    The ground is where feet touch it, below the centres of feet that are balls, whatever their radii.
    z̈ = ``damping`` (−ż) + ``stiffness`` (z_d − z), along the slope of that ground; on a level floor what a `Task` about
    the height is. Its numbers are settings of the law, NAME.reference and so on.
    """

    reference: float
    stiffness: float = 200.0
    damping: float = 25.0
    name: str = "height"


class TracedGround:
    """What a gait takes for ground: a plane through the places where its feet stood last, and a level under each.

    All is told as heights above the planes that the mechanism gives the contacts. The slope, two gradients, and the
    level under the centre of mass follow what the feet found with the time constant ``learning`` [s]; a foot that
    stands has its own level. Nothing is learnt without samples: the ground is then as given.

    Attributes
    ----------
    terms : contacts on that ground: rows along its normal and in its plane, gaps from it.
    """

    def __init__(self, system: System, terms: ContactTerms, settings: Settings, learning: ca.SX) -> None:
        self.given, self._period = terms, settings.period
        contacts = [_on_ground(system, name) for name in terms.names]
        self._points = [quantity(system, point(c.body, c.point)) for c in contacts]
        self._centre = quantity(system, centre_of_mass())
        names, normals = terms.names, [np.asarray(c.normal) for c in contacts]
        self._rise = [terms.gap[k] / normal[2] for k, normal in enumerate(normals)]
        self._places = [settings.remember(f"{name}.place", 0.0, 3, name) for name in names]
        self._slope = settings.remember("gait.slope", 0.0, 2, "gait")
        self._level = settings.remember("gait.level", 0.0, 1, "gait")
        self._known = settings.remember("gait.known", 0.0, 1, "gait")
        known, places = self._known.value, ca.horzcat(*[place.value for place in self._places])
        middle = ca.sum2(places) / len(names)
        self._plane = middle
        away = places - ca.repmat(middle, 1, len(names))
        spread = away[:2, :] @ away[:2, :].T + FEET_SPREAD * ca.SX.eye(2)
        rises = away[:2, :] @ away[2, :].T + FEET_SPREAD * self._slope.value
        found = ca.inv(spread) @ rises
        found = found * ca.fmin(1.0, STEEPEST_GROUND / ca.fmax(ca.norm_2(found), NO_HEADING))
        part = self._part(learning)
        self._slope.next = self._slope.value + known * part * (found - self._slope.value)
        self._known.next = self._sampled
        # under the centre of mass: it follows the slope at once, what is left slowly
        under, level = self.height(self._centre.value[:2]), self._level
        carried = level.value + self._period * ca.dot(self._slope.value, self._centre.rate[:2])
        level.next = ca.if_else(known > 0.5, carried + part * (under - carried), 0.0)
        first = contacts[0]
        own = -first.normal[:2] / first.normal[2]
        origin = first.ground_origin
        self._base = origin[2] + ca.dot(ca.DM(own), self._centre.value[:2] - ca.DM(origin[:2]))
        self._gradient = self._slope.value + ca.DM(own)
        self.terms = self._turned(contacts)

    @property
    def _sampled(self) -> ca.SX:
        return ca.if_else(self._period > 0.0, 1.0, 0.0)

    def _part(self, time: ca.SX | float) -> ca.SX:
        """Return the part of the way that a first-order filter of a time constant goes in a sample."""
        return ca.if_else(self._period > 0.0, self._period / (self._period + time), 0.0)

    def height(self, at: ca.SX) -> ca.SX:
        """Return how far the plane is above the one that is given, at a place (x, y)."""
        return self._plane[2] + ca.dot(self._slope.value, at - self._plane[:2])

    def _turned(self, contacts: list[Contact]) -> ContactTerms:
        """Return the contacts with rows along the normal of the ground and in its plane."""
        given, turns, gaps = self.given, [], []
        for k, contact in enumerate(contacts):
            normal = ca.DM(contact.normal)
            steep = self._slope.value + ca.DM(-contact.normal[:2] / contact.normal[2])
            up = ca.vertcat(-steep, 1.0) / ca.sqrt(1.0 + ca.dot(steep, steep))
            first = ca.DM(contact.tangent1) - ca.dot(ca.DM(contact.tangent1), up) * up
            first = first / ca.norm_2(first)
            frame = ca.horzcat(up, first, ca.cross(up, first)).T
            turns.append(frame @ ca.horzcat(normal, ca.DM(contact.tangent1), ca.DM(contact.tangent2)))
            gaps.append((self._rise[k] - self.height(self._points[k].value[:2])) * up[2])
        turn = ca.diagcat(*turns)
        return replace(
            given,
            rows=turn @ given.rows,
            bias=turn @ given.bias,
            rate=turn @ given.rate,
            gap=ca.vertcat(*gaps),
        )

    def stand_on(self, stands: ca.SX, stood: ca.SX) -> ContactTerms:
        """Remember where feet stand, and return the contacts with gaps from the level under each; 1 or 0 by contact."""
        gaps, known = [], self._known.value
        for k, place in enumerate(self._places):
            at = self._points[k].value
            now = ca.vertcat(at[:2], self._rise[k])
            on, before = stands[k], stood[k]
            follows = place.value + self._part(FOOT_SMOOTHING) * (now - place.value)
            fresh = ca.vertcat(at[:2], ca.if_else(on > 0.5, now[2], 0.0))
            kept = ca.if_else(known > 0.5, place.value, fresh)
            place.next = ca.if_else(on > 0.5, ca.if_else(before > 0.5, follows, now), kept)
            own = (self._rise[k] - place.value[2]) - ca.dot(self._slope.value, at[:2] - place.value[:2])
            has = on * before * known
            gaps.append(ca.if_else(has > 0.5, own, self.terms.gap[k]))
        return replace(self.terms, gap=ca.vertcat(*gaps))

    def above(self, task: Height, settings: Settings) -> Demand:
        """Return the task about the height of the centre of mass."""
        wanted, stiffness, damping = (
            settings.add(f"{task.name}.{what}", getattr(task, what), 1, task.name)
            for what in ("reference", "stiffness", "damping")
        )
        x = self._along(self._centre)
        target = stiffness * (wanted - x.value) - damping * x.rate
        return Demand(task.name, x.rows, x.jacobian, target - x.bias, units=("m",))

    def _along(self, centre: Quantity) -> Quantity:
        """Return the height of the centre of mass above the ground."""
        across = ca.horzcat(-self._gradient.T, 1.0)
        value = centre.value[2] - self._base - self._level.value
        return Quantity(
            ("height",), value, across @ centre.rate, across @ centre.jacobian, across @ centre.bias,
            lambda wanted: wanted - value,
        )  # fmt: skip


def _on_ground(system: System, name: str) -> Contact:
    """Return a contact that a robot can walk on."""
    assert system.mechanism is not None
    contact = system.mechanism.contacts[name]
    if contact.ground != "world" or contact.normal[2] < 0.5 or len(contact.row_names) != 3:
        raise ArgumentError(
            f"gait: contact {name!r} must be with a floor of the world, less steep than 60°, and not frictionless",
            element=name,
        )
    return contact
