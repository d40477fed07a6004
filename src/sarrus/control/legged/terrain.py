"""Estimate of the ground under a walking robot from the places of its stance feet; `Height` above it."""

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
    """Task: the centre of mass is ``reference`` [m] above the ground under it, as estimated by a `Gait`.

    The ground is where feet touch it, below the centres of spherical feet. z̈ = ``damping`` (−ż) + ``stiffness`` (z_d −
    z) along the slope of that ground; on a level floor it equals a `Task` on the height. Settings: NAME.reference and
    so on.
    """

    reference: float
    stiffness: float = 200.0
    damping: float = 25.0
    name: str = "height"


class TracedGround:
    """The ground as estimated by a gait: a plane through the last places of its feet, and a level under each foot.

    All are heights above the contact planes of the mechanism. The slope, two gradients, and the level under the centre
    of mass follow the stance feet with the time constant ``learning`` [s]; each stance foot has its own level. Without
    samples nothing is learnt: the ground is then as given by the mechanism.

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
        """Return the part of the way that a first-order filter with this time constant [s] covers in a sample."""
        return ca.if_else(self._period > 0.0, self._period / (self._period + time), 0.0)

    def height(self, at: ca.SX) -> ca.SX:
        """Return the height of the estimated plane above the given one [m], at a place (x, y)."""
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
        """Trace the memory of where feet stand; return the contacts with gaps from the level under each; inputs 1 or 0
        by contact.
        """
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
        """Return the demand of `Height`."""
        wanted, stiffness, damping = (
            settings.add(f"{task.name}.{what}", getattr(task, what), 1, task.name)
            for what in ("reference", "stiffness", "damping")
        )
        x = self._along(self._centre)
        target = stiffness * (wanted - x.value) - damping * x.rate
        return Demand(task.name, x.rows, x.jacobian, target - x.bias, units=("m",))

    def _along(self, centre: Quantity) -> Quantity:
        """Return the quantity height of the centre of mass above the ground."""
        across = ca.horzcat(-self._gradient.T, 1.0)
        value = centre.value[2] - self._base - self._level.value
        return Quantity(
            ("height",), value, across @ centre.rate, across @ centre.jacobian, across @ centre.bias,
            lambda wanted: wanted - value,
        )  # fmt: skip


def _on_ground(system: System, name: str) -> Contact:
    """Return a contact on which a robot can walk; raises `ArgumentError` for any other."""
    assert system.mechanism is not None
    contact = system.mechanism.contacts[name]
    if contact.ground != "world" or contact.normal[2] < 0.5 or len(contact.row_names) != 3:
        raise ArgumentError(
            f"gait: contact {name!r} must be with a floor of the world, less steep than 60°, and not frictionless",
            element=name,
        )
    return contact
