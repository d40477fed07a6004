"""Simulation with constraints that are switched on and off: contacts, and closures on a schedule.

A contact closes when its gap reaches zero and opens when its normal multiplier falls through zero. Closures and
couplings follow a schedule. At every such instant `Switcher.resolve`

1. switches on contacts with zero gap and closures that are due, and projects the positions on them;
2. if a contact approaches, computes the new velocity by `sarrus.dynamics.impacts.impacts.impact`;
3. switches off contacts that rebound. Of the contacts with zero normal velocity, those that push according to Gauss's
   principle stay on (`sarrus.dynamics.impacts.complementarity.OneSided`); redundant contacts share the load.

A series of bounces, or of rocking from edge to edge, has infinitely many impacts in finite time. The series ends when a
contact would leave an impact slower than ``rest_speed``: it then stays closed, and opens only if it would pull.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError, check_known
from sarrus.control.laws.hand_over import switching_times
from sarrus.control.laws.law import Law
from sarrus.dynamics.impacts.activity import (
    active,
    contact_motion,
    contact_names,
    gap_expressions,
    gap_rates,
    gaps,
    sliding,
    switch_off,
    switch_on,
)
from sarrus.dynamics.impacts.complementarity import OneSided
from sarrus.dynamics.impacts.impacts import hold, impact
from sarrus.dynamics.model.inertia import may_lose_inertia
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.accelerate import accelerate
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import (
    ARRIVED,
    AT_BOUND,
    EVENT_SLACK,
    REST_SPEED,
    STEADY,
    UNLOADED,
    still_speed,
)
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory.impact_layout import Rebound, ReboundFacts, rebound_sizes
from sarrus.kernels.platform.c_function import rebound
from sarrus.motion.contacts.event_driven import EventDrivenContacts
from sarrus.motion.inputs.inputs import Event
from sarrus.motion.loop.integration import Integration
from sarrus.motion.records.records import EventRecord, SwitchRecord
from sarrus.motion.tolerances import CHATTER_SWITCHES, CHATTER_TIME
from sarrus.symbolic.equations.equations import activity_parameter, stick_parameter


@dataclass(frozen=True)
class Switching:
    """The schedule of closures in a simulation, and the speed below which contacts do not rebound.

    Parameters
    ----------
    schedule : for closures and couplings added with ``active=``, ascending pairs of times (on, off) [s] between which
        each is active; off may be infinite. A closure that is switched on must be closed to 1e-5 m or rad. A coupling,
        and a closure with a ``capture``, holds its present position, as a clutch, a brake or a gripper does. Closures
        that are not named stay as they are.
    rest_speed : normal speed after an impact [m/s, rad/s], > 0, below which a contact or a stop stays closed. The
        bounces left out would last rest_speed / g · 2 / (1 − e), e the restitution. None: a thousandth of a
        characteristic length per second, 1e-3 rad/s for rotations, so that metres and millimetres give the same motion.

    Contacts open and close without a schedule. Raises `ArgumentError` for times out of order; unknown names are found
    when a run starts.
    """

    schedule: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    rest_speed: float | None = None

    def __post_init__(self) -> None:
        if self.rest_speed is not None and not 0.0 < self.rest_speed < np.inf:
            raise ArgumentError(
                f"rest_speed must be positive and finite, got {self.rest_speed}", element="rest_speed"
            )
        for name, pairs in self.schedule.items():
            switching_times(name, pairs)


class Switcher:
    """The switching of one run: events that stop the kernel, and the change of constraints at each event.

    The workspace belongs to the run alone; its parameters are those of the present instant.
    """

    @classmethod
    def of(cls, system: Workspace, switching: Switching | bool, *, phased: bool = False) -> Switcher | None:
        """Return the switcher for the argument ``switching`` of `simulate`; None for False, and if no constraint
        switches.

        ``phased``: the run has phases with contacts, stops or dry friction.
        """
        if not isinstance(switching, (bool, Switching)):
            raise ArgumentError(
                f"switching must be True, False or a Switching, got {switching!r}", element="switching"
            )
        plan = Switching() if switching is True else switching
        return cls(system, plan) if plan and (system.equations.contacts or plan.schedule or phased) else None

    def __init__(self, system: Workspace, plan: Switching) -> None:
        self.system, self.plan = system, plan
        self.contacts = contact_names(system)
        closures = [name for name in active(system) if name not in self.contacts]
        for name in plan.schedule:
            if name in self.contacts:
                raise ArgumentError(
                    f"{system.name}: schedule: {name!r} is a contact, which opens and closes without a schedule. For a "
                    "foothold on schedule add a closure of kind 'point' with active=",
                    element=name,
                )
            check_known("closure added with active=", name, closures, f"{system.name}: schedule")
        self._length = system.characteristic.length
        self._rest_speed = REST_SPEED * self._length if plan.rest_speed is None else plan.rest_speed
        # whether the kernel may solve impacts of one contact
        self._lone = bool(self.contacts) and not may_lose_inertia(system.mechanism)
        self.records: list[SwitchRecord] = []
        self._times = {float(t) for pairs in plan.schedule.values() for pair in pairs for t in pair}
        self._last_switch, self._in_a_row = -np.inf, 0
        self.phases: EventDrivenContacts | None = None
        self._creeps = False  # whether the implicit one of two methods steps because contacts slide slowly

    @property
    def events(self) -> list[Event]:
        """Event functions of gaps of contacts (`sarrus.kernels.integrate.event_functions`): zeros stop the kernel."""
        unit = EVENT_SLACK * ARRIVED * self._length

        def gap(k: int) -> Any:
            return lambda q, v, t: gap_expressions(self.system)[0][k] / unit + 1.0

        return [Event(f"{name} touches", gap(k), -1, terminal=True) for k, name in enumerate(self.contacts)]

    @property
    def watched(self) -> list[int]:
        """The normal rows of the contacts; the kernel stops when one of their multipliers falls through zero."""
        return [contact.normal for contact in self.system.equations.contacts]

    def prepare(self, t0: float) -> None:
        """Switch all contacts off and set the closures on schedule; closed contacts are switched on when the run
        begins.
        """
        switch_off(self.system, self.contacts)
        for name in self.plan.schedule:
            self.system.parameters[activity_parameter(name)] = float(self._scheduled(name, t0))

    def attach(self, loop: Integration) -> None:
        """Have the closed blocks of a run with phases switch together with the constraints."""
        if loop.phased and loop.contact_run is not None:
            self.phases = EventDrivenContacts(loop, loop.contact_run)

    def until(self, loop: Integration, end: float, bar: Any, *, keep: bool) -> None:
        """Run to ``end`` [s], or until the run ends, and switch at the events before it.

        Raises `SolveError` if switches chatter or an impact has no solution, `ArgumentError` if a scheduled closure is
        open.
        """
        if self._last_switch == -np.inf:
            self.resolve(loop)
        while loop.status is None:
            stop = min([end, *(t for t in self._times if t > loop.time)])
            switched = loop.advance(stop, bar, keep=keep or stop < end)
            if loop.status is not None:
                return
            if switched is not None or self._due(loop.time):
                self.resolve(loop)
            elif stop >= end:
                return

    def resolve(self, loop: Integration, *, jumped: bool = False) -> None:
        """Switch the constraints that are due at the state of the loop, note the changes, and continue the loop.

        ``jumped``: the velocity has jumped, so that closed contacts may be hit.
        """
        switches = bool(self.contacts or self.plan.schedule)
        if switches and (jumped or self._due(loop.time) or not self._bounce(loop)):
            self._resolve_constraints(loop, jumped=jumped)
        if self.phases is not None and loop.status is None:
            change = self.phases.resolve()._asdict()
            loop.renew(probe=False)
            if loop.model is not None:
                loop.model.forget()
            self._choose_method(loop)
            self._add(loop, change.pop("energy_loss"), change)
        self._count(loop)

    def _choose_method(self, loop: Integration) -> None:
        """Switch to the implicit method while several contacts slide slowly, until another force acts."""
        stiff = self.phases is not None and self.phases.is_stiff
        if stiff and loop.method == loop.scheme.method:
            self._creeps = loop.take_turns()
        elif not stiff and self._creeps:
            self._creeps = loop.method == loop.scheme.stiff and not loop.take_turns()

    def _resolve_constraints(self, loop: Integration, *, jumped: bool) -> None:
        """Switch contacts and closures that are constraints."""
        s, t, before = self.system, loop.time, self._state()
        q, v = loop.q.copy(), loop.v.copy()
        closing = [name for name in self._due(t) if not before[name][0]]
        switch_off(s, [name for name in self._due(t) if before[name][0]])
        contact_table = self._touching(q, v, t)
        switch_on(s, [*closing, *contact_table], q, t)
        if closing or not all(before[name][0] for name in contact_table):
            q = self._projected(q, v, t)
        rates = gap_rates(s, q, v, t)
        slow = self._still(v)
        approaching = [name for name in contact_table if rates[name] < -slow]
        loss, stays = 0.0, False
        if closing or approaching or jumped or any(on and not sticks for on, sticks in before.values()):
            v, loss, stays = self._after_impact(q, v, t, closing, contact_table)
            rates = gap_rates(s, q, v, t)
        switch_off(s, [name for name in contact_table if rates[name] > slow])
        loop.q[:], loop.v[:] = q, v
        if stays and self.phases is not None:
            loop.renew()
            loss += self.phases.impacts.stay([])
            rates = gap_rates(s, q, loop.v, t)
        resting = [name for name in contact_table if rates[name] <= slow]
        self._hold_what_pushes(loop, resting)
        loop.renew()
        if resting and self._unloaded_off(loop):
            loop.renew()
        self._note(loop, before, approaching, loss)

    # --- the parts of settling -----------------------------------------------------------------------

    def _scheduled(self, name: str, t: float) -> bool:
        return any(on <= t < off for on, off in self.plan.schedule[name])

    def _due(self, t: float) -> list[str]:
        """Return the closures that are not in their scheduled state."""
        if not self.plan.schedule:
            return []
        now = active(self.system)
        return [name for name in self.plan.schedule if self._scheduled(name, t) != now[name]]

    def _state(self) -> dict[str, tuple[bool, bool]]:
        """Return (active, does not slide) of every constraint that switches."""
        now = active(self.system)
        return {
            name: (now[name], not sliding(self.system, name))
            for name in (*self.plan.schedule, *self.contacts)
        }

    def _touching(self, q: Array, v: Array, t: float) -> list[str]:
        s, now = self.system, active(self.system)
        gap, rate, still = gaps(s, q, t), gap_rates(s, q, v, t), self._still(v)
        near = {
            name: ARRIVED * (self._length + abs(rate[name]))
            if abs(rate[name]) > still
            else AT_BOUND * self._length
            for name in self.contacts
        }
        return [name for name in self.contacts if now[name] or gap[name] <= near[name]]

    def _still(self, v: Array) -> float:
        """Return the speed [m/s] below which a contact counts as at rest, at a velocity of the mechanism."""
        speed = float(np.abs(self.system.characteristic.columns * v).max(initial=0.0))
        return still_speed(speed) * self._length

    def _projected(self, q: Array, v: Array, t: float) -> Array:
        """Return q moved onto the active constraints; q itself if no such configuration is nearby."""
        s = self.system
        x = s.pack(q, v, None, t)
        generic_rank(s, q, t, v, renew=True)
        return x[: s.nq].copy() if s.nc and s.project(x) >= 0 else q

    def _after_impact(
        self, q: Array, v: Array, t: float, closing: list[str], contact_table: list[str]
    ) -> tuple[Array, float, bool]:
        """Return (velocity after an impact, energy lost [J], whether a contact stays closed).

        Contacts that would leave slowly stay closed.
        """
        s, before = self.system, gap_rates(self.system, q, v, t)
        result = impact(
            s,
            q,
            v,
            closing=[*closing, *contact_table],
            restitution=self._restitution(before, contact_table),
            t=t,
            contacts=False,
        )
        v, loss, rates = result.v.copy(), result.energy_loss, gap_rates(s, q, result.v, t)
        slow = self._still(v)
        stays = any(rates[name] < self._rest_speed for name in contact_table)
        if any(slow < rates[name] < self._rest_speed for name in contact_table):
            staying = s.varied({stick_parameter(name): 0.0 for name in result.slipping})
            switch_off(staying, [name for name in contact_table if rates[name] >= self._rest_speed])
            stay = hold(staying, q, v, t)
            v, loss = stay.v.copy(), loss + stay.energy_loss
        return v, loss, stays

    def _bounce(self, loop: Integration) -> bool:
        """Apply the rebound of a single contact if no other contact and no closure that switches is active; else return
        False.

        `sarrus.kernels.integrate.bounce.rebound` has the law. `resolve` does the same for all other cases, with a rank
        analysis.
        """
        s, contacts = self.system, self.system.equations.contacts
        if not self._lone or any(active(s).values()):
            return False
        gaps, rates, speeds, rows = contact_motion(s, loop.x)
        still, at_rest, touching = self._still(loop.v), AT_BOUND * self._length, list[int]()
        for k, (gap, rate) in enumerate(zip(gaps.tolist(), rates.tolist())):
            if gap <= (ARRIVED * (self._length + abs(rate)) if abs(rate) > still else at_rest):
                touching.append(k)
        if len(touching) != 1:
            return False
        hit = touching[0]
        contact, rate = contacts[hit], rates.item(hit)
        if not -contact.restitution * rate >= self._rest_speed:
            return False
        facts, given, size = ReboundFacts.zeros(), Rebound.zeros(), 1 + len(contact.tangential)
        first = sum(1 + len(other.tangential) for other in contacts[:hit])
        own = slice(first, first + size)
        facts.gap, facts.restitution = gaps.item(hit), contact.restitution
        mine, before, room = rows[own].copy(), speeds[own].copy(), np.zeros(sum(rebound_sizes(size)))
        given.width, given.rows, given.velocities = size, mine, before  # a record keeps addresses alone
        given.state, given.facts, given.room = loop.x, facts, room
        if rebound(loop.table, given, 0) < 0:
            return False
        loss = float(facts.loss)
        if self.phases is None:
            loop.renew(probe=False)
        self._add(loop, loss, {"bounced": (contact.name,)})
        return True

    def _restitution(self, rates: Mapping[str, float], contact_table: Iterable[str]) -> dict[str, float]:
        """Return the restitution of the contacts that rebound fast enough; zero for all other contacts."""
        least = self._rest_speed
        return {
            c.name: c.restitution if -c.restitution * rates[c.name] >= least else 0.0
            for c in self.system.equations.contacts
            if c.name in contact_table
        }

    def _hold_what_pushes(self, loop: Integration, resting: list[str]) -> None:
        """Switch contacts with zero normal velocity on if they push, and off if they do not."""
        if not resting:
            return
        s, t = self.system, loop.time
        q, v = loop.q.copy(), loop.v.copy()
        switch_on(s, resting, q, t)
        slip, still = np.abs(s.velocity_residual(q, v, t)), self._still(v)
        problem = OneSided(s, q, v, t, able=lambda c: bool((slip[list(c.tangential)] <= still).all()))
        rows, bias = s.constraint_jacobian(q, v, t), s.constraint_bias(q, v, t)
        parting = s.copy()
        switch_off(parting, resting)
        free = self._accelerated(loop, parting).a
        problem.solve(-(dense.product(rows, free) + bias)).apply(s)
        if self.phases is not None:
            self._hold_with_friction(loop, resting, rows, bias)

    def _hold_with_friction(self, loop: Integration, resting: list[str], rows: Array, bias: Array) -> None:
        """Switch contacts until active ones push and inactive ones do not close, with all other closed or rubbing
        blocks.

        Friction of joints and of other contacts depends on which constraints are active, so one linear problem is not
        enough.
        """
        s, tried = self.system, set[frozenset[str]]()
        normals = {c.name: c.normal for c in s.equations.contacts if c.name in resting}
        while True:
            now = active(s)
            on = frozenset(name for name in resting if now[name])
            if on in tried:
                return
            tried.add(on)
            found = self._accelerated(loop)
            turns = dense.product(rows, found.a) + bias
            pushes = {name: float(found.multipliers[normals[name]]) for name in on}
            closing = {name: float(turns[normals[name]]) for name in resting if name not in on}
            worst = min(pushes, key=lambda name: pushes[name], default="")
            if worst and pushes[worst] < -UNLOADED * float(np.abs(found.multipliers).max()):
                switch_off(s, [worst])
                continue
            worst = min(closing, key=lambda name: closing[name], default="")
            if not worst or closing[worst] >= -STEADY * (
                1.0 + float(np.abs(bias).max() + np.abs(turns).max())
            ):
                return
            switch_on(s, [worst], loop.q.copy(), loop.time)

    def _unloaded_off(self, loop: Integration) -> bool:
        """Switch off the contacts with zero multiplier, for which a fall through zero cannot be detected."""
        push = self._accelerated(loop).multipliers
        least = UNLOADED * np.abs(push).max(initial=0.0)
        on = active(self.system)
        unloaded = [c.name for c in self.system.equations.contacts if on[c.name] and push[c.normal] <= least]
        switch_off(self.system, unloaded)
        return bool(unloaded)

    def _accelerated(self, loop: Integration, other: Workspace | None = None) -> ForwardDynamics:
        """Return the forward dynamics at the state of the loop, with its control, force and present parameters.

        Dry friction, stops and contacts with friction act if the run has phases with them. ``other``: a workspace with
        other parameters for the solve.
        """
        s, x = other or loop.system, loop.x.copy()
        x[s.parts.p] = list(s.parameters.values())
        q, v, law = x[s.parts.q], x[s.parts.v], getattr(loop, "law", None)
        u = x[s.parts.u]
        if law is not None and loop.state.samples == 0.0:  # what is held counts as soon as there is any
            asked = law(q, v, loop.time) if isinstance(law, Law) else law(x)
            u = np.clip(asked, loop.bounds[0], loop.bounds[1])
        free = forward_dynamics(s, q, v, u, loop.time, x[s.parts.tau], may_be_open=True)
        if self.phases is None:
            return free
        return accelerate(s, free, x[s.parts.tau], False)

    def _note(
        self,
        loop: Integration,
        before: Mapping[str, tuple[bool, bool]],
        approaching: list[str],
        loss: float,
    ) -> None:
        now = self._state()
        changes = {
            "closed": tuple(n for n in now if now[n][0] and not before[n][0]),
            "opened": tuple(n for n in now if before[n][0] and not now[n][0] and n not in approaching),
            "bounced": tuple(n for n in approaching if not now[n][0]),
            "slipping": tuple(n for n in now if now[n] == (True, False) != before[n]),
        }
        self._add(loop, loss, changes)

    def _add(self, loop: Integration, loss: float, changes: Mapping[str, tuple[str, ...]]) -> None:
        """Note the changes, if there are any."""
        if loss or any(changes.values()):
            self.records.append(SwitchRecord(loop.time, **changes, energy_loss=loss))
            loop.records += [
                EventRecord(f"{n} {what}", loop.time) for what, names in changes.items() for n in names
            ]

    def _count(self, loop: Integration) -> None:
        """Raise `SolveError` if too many switches follow each other in almost no time."""
        self._in_a_row = self._in_a_row + 1 if loop.time - self._last_switch < CHATTER_TIME else 0
        self._last_switch = loop.time
        if self._in_a_row > CHATTER_SWITCHES:
            raise SolveError(
                f"{self.system.name}: contacts open and close without end at t = {loop.time:.6g} s: "
                f"{'; '.join(str(record) for record in self.records[-2:])}"
            )
