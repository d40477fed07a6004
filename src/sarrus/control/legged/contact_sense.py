"""`ContactSense`: actual contact states from schedule, motion and measurements."""

from __future__ import annotations

from dataclasses import dataclass, fields

import casadi as ca

from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Demand, Settings, State
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.control.legged.tolerances import LEAST_SHARE
from sarrus.control.motion.tasks import centre_of_mass, quantity
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class ContactSense:
    """Detection of lost and sliding contacts. Its numbers are settings of the law, sense.speed and so on; it needs
    samples.

    A law assumes that closed contacts are at rest. A contact that moves along its normal cannot transmit a force: it is
    lost; so is a contact with a gap above ``gap``, and one whose setting NAME.measured is 0 (no load; 1: load; −1,
    default: unknown). A lost contact has no force; its foot searches for the ground before all tasks, down along the
    normal at ``descent`` and at rest across it, and is closed again where it is stopped. A contact that moves along its
    plane slides: it keeps its normal force, without friction, and is not held in place until it rests. Its friction,
    which the law cannot choose, never exceeds the planned one.

    Parameters
    ----------
    speed : speed along the normal above which a contact is lost [m/s]. slip : speed along the plane above which it
        slides [m/s].
    smoothing : time constant of the first-order filter of both speeds [s], against noise.
    gap : gap above which a contact is lost [m].
    descent : speed of the foot of a lost contact relative to the falling robot [m/s]. depth : largest distance below
        the plane that it goes [m].
    stiffness : rate at which the foot approaches that speed [1/s].
    settle : time below half of that speed before a lost contact is closed again [s]. grip : time below half of ``slip``
        before a sliding contact is held again [s].
    rise : time in which the allowed part of its largest force returns [s].
    """

    speed: float = 0.4
    slip: float = 0.4
    smoothing: float = 0.004
    gap: float = 0.03
    descent: float = 0.2
    depth: float = 0.05
    stiffness: float = 40.0
    settle: float = 0.02
    grip: float = 0.5
    rise: float = 0.05


def remember_lost(terms: ContactTerms, settings: Settings) -> list[State]:
    """Return the states NAME.lost, which store by contact whether it was lost at the last sample."""
    return [settings.remember(f"{name}.lost", 0.0, 1, name, optional=True) for name in terms.names]


class TracedSense:
    """`ContactSense` over the symbols of a system: actual contact states, and the motion of the feet of lost contacts.

    ``wanted`` is 1 for contacts that the schedule has closed. ``closed``, ``sliding`` and ``lost`` are 1 or 0 by
    contact, ``share`` is the allowed part of the largest force.
    """

    def __init__(
        self,
        sense: ContactSense,
        system: System,
        terms: ContactTerms,
        wanted: ca.SX,
        share: ca.SX,
        settings: Settings,
        lost: list[State],
    ) -> None:
        for entry in fields(sense):
            if not getattr(sense, entry.name) > 0.0:
                raise ArgumentError(
                    f"sense: {entry.name} must be positive, got {getattr(sense, entry.name)!r}",
                    element=entry.name,
                )
        self.terms, self._falls = terms, _falls(system, terms)
        self._n = {
            entry.name: settings.add(f"sense.{entry.name}", getattr(sense, entry.name), 1, "sense")
            for entry in fields(sense)
        }
        found = [self._contact(k, wanted[k], settings, sense.rise, lost[k]) for k in range(len(terms.names))]
        self.lost, self.sliding, risen = (ca.vertcat(*parts) for parts in zip(*found))
        self.closed = wanted * (1.0 - self.lost)
        self.share = ca.fmax(share * risen, LEAST_SHARE)

    def _contact(
        self, k: int, wanted: ca.SX, settings: Settings, rise: float, lost: State
    ) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return (lost, sliding, allowed part of the largest force) of a contact, and trace its memory."""
        n, name, place, period = self._n, self.terms.names[k], self.terms.places[k], settings.period
        measured = settings.add(f"{name}.measured", -1.0, 1, name)

        def state(what: str, start: float = 0.0, size: int = 1) -> State:
            return settings.remember(f"{name}.{what}", start, size, name, optional=True)

        moves, slides = state("moves", size=place.stop - place.start), state("slides")
        rested, risen = state("rested", rise), state("risen", 1.0)
        # how it moves, in steps of a first-order filter; nothing moves without samples
        part = period / (period + n["smoothing"])
        velocity = wanted * (moves.value + part * (self.terms.rate[place] - moves.value))
        normal, along = ca.fabs(velocity[0]), ca.sqrt(ca.sumsqr(velocity[1:]))
        gap, sampled = self.terms.gap[k], period > 0.0

        empty = ca.logic_and(sampled, ca.logic_or(measured == 0.0, gap > n["gap"]))
        goes = ca.logic_or(empty, ca.logic_and(measured != 1.0, normal > n["speed"]))
        told = self._descent(k)
        held = ca.logic_and(
            normal < 0.5 * told, ca.logic_and(told - self._falls[k] > 0.5 * n["descent"], ca.logic_not(empty))
        )
        still = ca.if_else(lost.value > 0.5, held, along < 0.5 * n["slip"])
        was_lost, was_sliding = lost.value > 0.5, slides.value > 0.5
        enough = ca.if_else(was_lost, n["settle"], n["grip"])
        rest = ca.fmin(ca.fmax(rested.value + ca.if_else(still, period, -period), 0.0), enough)
        over = ca.logic_or(rest >= enough, ca.logic_and(was_lost, measured == 1.0))
        is_lost = wanted * ca.if_else(ca.if_else(was_lost, ca.logic_not(over), goes), 1.0, 0.0)
        # one that has just come down may still be sliding to its rest
        slips = ca.logic_and(along > n["slip"], rested.value > n["rise"] - 0.5 * period)
        slips = ca.if_else(was_sliding, ca.logic_not(over), slips)
        is_sliding = wanted * (1.0 - is_lost) * ca.if_else(slips, 1.0, 0.0) if along.nnz() else ca.SX(0.0)

        stands = 1.0 - is_lost - is_sliding
        since = ca.if_else(was_lost, 0.0, ca.if_else(was_sliding, n["rise"], rested.value + period))
        since = ca.fmin(since, n["rise"])
        goes_on = ca.logic_or(ca.logic_and(was_lost, is_lost), ca.logic_and(was_sliding, is_sliding))
        share = ca.fmin(ca.if_else(is_lost > 0.5, 0.0, risen.value + period / n["rise"]), 1.0)
        moves.next, lost.next, slides.next = velocity, is_lost, is_sliding
        rested.next = wanted * ca.if_else(stands > 0.5, since, ca.if_else(goes_on, rest, 0.0))
        risen.next = ca.if_else(wanted > 0.5, share, 1.0)
        return is_lost, is_sliding, risen.value

    def _descent(self, k: int) -> ca.SX:
        """Return the velocity of the foot of a lost contact along its normal [m/s], decreasing near the lowest
        place.
        """
        n = self._n
        near = 0.25 * n["stiffness"] * (self.terms.gap[k] + n["depth"])
        return ca.fmin(ca.fmax(near, -n["descent"]), n["descent"]) + self._falls[k]

    def search(self) -> Demand:
        """Return the level of feet that search the ground or slide: down if lost, at rest across the normal."""
        terms, rate, per_row = self.terms, self._n["stiffness"], self.terms.per_row
        normals = {p.start for p in terms.places}
        first = ca.DM([float(row in normals) for row in range(terms.rows.shape[0])])
        gone, sliding = per_row(self.lost), per_row(self.sliding)
        acts = gone + (1.0 - first) * sliding
        told = -first * per_row(ca.vertcat(*[self._descent(k) for k in range(len(terms.names))]))
        wanted = acts * (rate * (told - terms.rate) - terms.bias)
        return Demand("lost contacts", terms.row_names, ca.diag(acts) @ terms.rows, wanted, soft=True)


def _falls(system: System, terms: ContactTerms) -> list[ca.SX]:
    """Return the velocity at which the robot falls on the plane of each contact [m/s]; 0 for planes that are not in the
    world.
    """
    contacts = system.mechanism.contacts if system.mechanism else {}
    planes = {name: contacts[name].normal for name in terms.names if contacts[name].ground == "world"}
    if not planes:
        return [ca.SX(0.0)] * len(terms.names)
    centre = quantity(system, centre_of_mass()).rate
    speeds = {name: ca.fmax(-ca.dot(ca.DM(normal), centre), 0.0) for name, normal in planes.items()}
    return [speeds.get(name, ca.SX(0.0)) for name in terms.names]
