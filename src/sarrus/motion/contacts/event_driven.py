"""Runs of smooth phases with Coulomb friction, stops and dry friction: what becomes of them where one of these changes.

The kernels (`sarrus.kernels.integrate.contact_modes`) hold what is closed and stop where a margin falls through zero.
There (`resolve`)

1. what hits takes part in an impact (`sarrus.dynamics.impacts.collisions`): velocities after it obey the laws of
   Signorini and Coulomb, with Newton's or Poisson's law of restitution, all contacts that touch at once;
2. of those that stay, and of dry friction, the same laws for accelerations say what opens, sticks or slides
   (`sarrus.motion.contacts.mode_search`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.control.laws.law import Law
from sarrus.dynamics.impacts.collisions import Collisions
from sarrus.kernels.contact.tolerances import OUT_OF_REACH, SAME_TIME
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.contact_layout import OPEN, SLIDING
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import bounce
from sarrus.motion.contacts.contact_probe import ContactProbe
from sarrus.motion.contacts.mode_changes import Change, change_between
from sarrus.motion.contacts.mode_search import ModeSearch
from sarrus.motion.contacts.tolerances import (
    IDLE_PHASES,
    MOST_EVENT_SLACK,
    PATIENCE,
    SAME_FORCES,
    SHORTEST_LAST_STEP,
    SOON,
)

if TYPE_CHECKING:
    from sarrus.motion.loop.contact_run import ContactRun
    from sarrus.motion.loop.time_loop import TimeLoop


class EventDrivenContacts:
    """The contacts, stops and dry frictions of one run with events."""

    def __init__(self, loop: TimeLoop, contact_run: ContactRun) -> None:
        self.loop, self.contact_run = loop, contact_run
        self.probe = probe = ContactProbe(loop, contact_run)
        self.impacts = Collisions(probe, probe.rest)
        self.contacts, self.unilateral = probe.contacts, probe.unilateral
        self.sizes, self.first = probe.sizes, probe.first
        self.modes, self.directions = contact_run.modes, contact_run.directions
        self.settings = contact_run.settings
        self._length = loop.system.characteristic.length
        self._units: list[float] = self.probe.units[: self.unilateral].tolist()
        self._at_rest = [self.settings.at_bound * unit / self._length for unit in self._units]
        self._acting, self._last, self._soon, self._idle = 0, -np.inf, 0, 0
        self._may_bounce = self.unilateral == len(self.modes) and not probe.poisson
        self._search = ModeSearch(loop, contact_run, probe, self.impacts)
        self._slots = contact_run.slots.reshape(tl.ROOM + 1, -1)
        self._facts = view_fields(self._slots[0], tl.slot_sizes(contact_run.contact_table, loop.system.nv))
        self._begin_slots(0.0)

    @property
    def is_stiff(self) -> bool:
        """Whether several contacts slide so slowly that their directions turn faster than anything else moves."""
        velocity, slow = self.contact_run.work.velocity, self.settings.slow_speed
        sliding = [k for k in range(self.contacts) if self.modes[k] == SLIDING and self.sizes[k] > 2]
        return sum(self.probe.friction(k) > 0.0 and self.probe.slip(velocity, k) < slow for k in sliding) > 1

    def resolve(self) -> Change:
        """Say what holds, sticks and slides from the present state on, which an impact may change.

        Raises `SolveError` where an impact has no answer. A control law finds its own modes meanwhile, and has those of
        the phase from then on.
        """
        law = self.loop.law
        if not isinstance(law, Law) or law.plant is None:
            return self._resolve()
        law.plant.follow(None, self.loop.system)
        change = self._resolve()
        law.plant.follow(self.loop.table, self.loop.system)
        return change

    def _resolve(self) -> Change:
        """Do what `resolve` says."""
        before, begun = self.modes.copy(), self.contact_run.start_forces.copy()
        self._give_way()
        self.contact_run.contact_table.n_active = len(before)  # what acts is yet to be found
        if self._may_bounce and not before.any() and (change := self._bounce()) is not None:
            return change
        self.probe.look([])
        work = self.contact_run.work
        gaps, rates = work.gap[: self.unilateral].copy(), self.probe.rates()
        arrived = self._arrived(before, gaps, rates)
        approaching, loss = [k for k in arrived if rates[k] < -self.probe.still(k)], 0.0
        if approaching:
            loss, _ = self.impacts.strike(arrived, rates, gaps=gaps)
            self.probe.look([])
            rates = self.probe.rates()
        resting = [k for k in arrived if rates[k] <= self.probe.still(k)]
        self._search.settle(resting, before)
        if pressed := self._search.pressed(resting):
            loss += self.impacts.strike(arrived, rates, pressed)[0]
            self.probe.look([])
            rates = self.probe.rates()
            resting = [k for k in arrived if rates[k] <= self.probe.still(k)]
            self._search.settle(resting, before)
        self._begin_slots(loss)
        change, most = (
            np.abs(self.contact_run.start_forces - begun).max(initial=0.0),
            np.abs(begun).max(initial=0.0),
        )
        unchanged = not approaching and bool((self.modes == before).all()) and change <= SAME_FORCES * most
        self._idle = min(self._idle + 1, IDLE_PHASES) if unchanged else 0
        self.settings.event_slack = max(self.settings.event_slack, 10.0**self._idle)
        at_stop = [
            k for k in arrived if k >= self.contacts and (k in approaching or self.modes[k] > before[k])
        ]
        bounds = self.contact_run.bounds
        self.contact_run.hits += [
            (self.loop.time, k - self.contacts, float(bounds[k - self.contacts])) for k in at_stop
        ]
        return change_between(self.contact_run.blocks, self.unilateral, before, self.modes, approaching, loss)

    def _bounce(self) -> Change | None:
        """Apply the impact of a single block that rebounds while nothing else touches; None if there is no such."""
        k = bounce(self.loop.table, self.loop.x, 0)
        if k < 0:
            return None
        loss = float(self.settings.bounced)
        self._begin_slots(loss)
        self._idle = 0
        if k >= self.contacts:
            stop = k - self.contacts
            self.contact_run.hits.append((self.loop.time, stop, float(self.contact_run.bounds[stop])))
        return Change(bounced=(self.contact_run.blocks[k],), energy_loss=loss)

    def _arrived(self, before: Array, gaps: Array, rates: Array) -> list[int]:
        """Return which blocks touch: those that did, that have arrived, or that are as good as closed at rest."""
        closed, found = self.settings.closed, list[int]()
        each = zip(self._units, self._at_rest, before.tolist(), gaps.tolist(), rates.tolist())
        for k, (unit, at_rest, mode, gap, rate) in enumerate(each):
            arrived = gap <= closed * (unit + abs(rate)) / self._length
            if (
                (mode != OPEN and gap < OUT_OF_REACH)
                or arrived
                or (gap <= at_rest and abs(rate) <= self.probe.still(k))
            ):
                found.append(k)
        return found

    def _give_way(self) -> None:
        """Have margins be less exact where they end one phase after the other at once, and exact again after that.

        So it is where redundant contacts all come to the limit of their friction together: what is decided there is
        known a moment later.
        """
        time = self.loop.time
        self._soon = self._soon + 1 if time - self._last < SOON else 0
        self._last = time
        self.settings.event_slack = min(MOST_EVENT_SLACK, 10.0 ** min(self._soon // PATIENCE, 300))

    def _begin_slots(self, loss: float) -> None:
        """Have the present state be the end of a step, after which contacts have taken so much more."""
        time, facts = self.loop.time, self._facts[0]
        loss += self._spent(time) if self._acting else self.settings.loss
        self._slots[:] = 0.0
        facts.time, facts.length, facts.loss = time, max(self.loop.state.step, SHORTEST_LAST_STEP), loss
        self.settings.loss = loss
        contact_table = self.contact_run.contact_table
        closed = int(np.count_nonzero(self.modes[: self.unilateral] != OPEN))
        contact_table.n_active = self._acting = closed + contact_table.dry

    def _spent(self, time: float) -> float:
        """Return what contacts have taken up to the present state, the end of a step in which they acted [J]."""
        places, known = tl.SlotFacts.places, self._slots[: tl.ROOM, : tl.N_FACTS]
        since, length = np.abs(time - known[:, places["time"]]), known[:, places["length"]]
        since[~((length > 0.0) & (since <= SAME_TIME * length))] = np.inf
        nearest = int(np.argmin(since))  # the search for an event ends steps next to each other
        return float(known[nearest, places["loss"]]) if since[nearest] < np.inf else self.settings.loss
