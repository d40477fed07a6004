"""`ContactSense`: contacts as they are, the schedule and what the robot measures put together."""

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
    """How a law notices that a contact carries nothing, and that it does again. The numbers are settings of the law,
    named sense.speed and so on; they count at samples alone.

    A law believes that closed contacts are at rest. One that moves along its normal has nothing to push against: it is
    lost, and so is one whose gap is above ``gap``, and one that the setting NAME.measured says carries nothing (0;
    1: it carries; −1, the default: nobody knows). A lost contact has no force; its foot looks for the ground, down
    along the normal at ``descent`` and at rest across it, before all tasks. Where it is held up it is closed again.
    A contact that moves along its plane slides: it keeps its normal force but is given no friction and is not held in
    place, until it rests. Friction of a floor on which it slides is not for the law to choose, and never larger than
    what it planned with.

    Parameters
    ----------
    speed : of a contact along its normal from which it is lost [m/s]; slip : along its plane, from which it slides.
    smoothing : time constant of the first-order filter of these velocities [s], for noise.
    gap : above which it is lost [m], whatever it does.
    descent : by which the foot of a lost contact goes down faster than the robot falls [m/s]; depth : how far below the
        plane it goes by itself [m].
    stiffness : rate at which it takes up that velocity [1/s].
    settle : time for which it goes at less than half of that before it is closed again [s]; grip : for which one that
        slid does so at less than half of ``slip`` before it is held again: the floor has shown what it is.
    rise : time in which the share of its largest force comes back [s].
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
    """Return the states that tell by contact whether it was lost at the last sample, the settings NAME.lost."""
    return [settings.remember(f"{name}.lost", 0.0, 1, name, optional=True) for name in terms.names]


class TracedSense:
    """`ContactSense` over the symbols of a system: contacts as they are, and where the feet of lost ones go.

    ``wanted`` is 1 for contacts that the schedule has closed. ``closed``, ``sliding`` and ``lost`` are 1 or 0 by
    contact, ``share`` is the part of its force that a contact may have.
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
        """Return whether a contact is lost, whether it slides, and the share that it has again; let it remember."""
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
        """Return the velocity at which the foot of a lost contact goes down, less and less near the lowest place."""
        n = self._n
        near = 0.25 * n["stiffness"] * (self.terms.gap[k] + n["depth"])
        return ca.fmin(ca.fmax(near, -n["descent"]), n["descent"]) + self._falls[k]

    def search(self) -> Demand:
        """Return the level of feet that look for the ground, or slide: down where they are lost, at rest across."""
        terms, rate, per_row = self.terms, self._n["stiffness"], self.terms.per_row
        normals = {p.start for p in terms.places}
        first = ca.DM([float(row in normals) for row in range(terms.rows.shape[0])])
        gone, sliding = per_row(self.lost), per_row(self.sliding)
        acts = gone + (1.0 - first) * sliding
        told = -first * per_row(ca.vertcat(*[self._descent(k) for k in range(len(terms.names))]))
        wanted = acts * (rate * (told - terms.rate) - terms.bias)
        return Demand("lost contacts", terms.row_names, ca.diag(acts) @ terms.rows, wanted, soft=True)


def _falls(system: System, terms: ContactTerms) -> list[ca.SX]:
    """Return at which velocity the robot falls on the plane of each contact [m/s]; 0 where it is not of the world."""
    contacts = system.mechanism.contacts if system.mechanism else {}
    planes = {name: contacts[name].normal for name in terms.names if contacts[name].ground == "world"}
    if not planes:
        return [ca.SX(0.0)] * len(terms.names)
    centre = quantity(system, centre_of_mass()).rate
    speeds = {name: ca.fmax(-ca.dot(ca.DM(normal), centre), 0.0) for name, normal in planes.items()}
    return [speeds.get(name, ca.SX(0.0)) for name in terms.names]
