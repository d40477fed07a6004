"""`HandOver`: closures, clutches, brakes, grasps and contacts that switch without a jump of the controls.

With s the rows of what switches and o those that hold all along, controls u give the motion a_1(u) while s hold and
a_0(u) while they do not. Both are the same for the controls

    U = {u : A_s a_0(u) + γ_s = 0},    A_s a_0 + γ_s = −A_s W_o A_sᵀ λ_s,

W_o the inverse of M on the motions that o leave: those under which s carry nothing while they hold, and move as if
they held while they do not. So a law that has its controls in U at the instant of the switch, and demands the same
accelerations before and after it, has the same controls before and after it. Around that instant U is one more level:
λ_s = 0 while s hold, A_s a = −γ_s while they do not. Its activity rises from 0 to 1 within the ramp before the switch
and falls to 0 within the ramp after it; with the activity d the controls are 1 − d times those without the level plus d
times those with it (`sarrus.kernels.laws.hierarchy_in_cones`), so that they are continuous all along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import finite_array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.control.laws.activation import smooth_step
from sarrus.control.laws.demands import Demand, ForceDemand, Settings
from sarrus.control.laws.tolerances import HANDED_OVER
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.symbolic.equations.equations import activity_parameter
from sarrus.symbolic.equations.singular_values import gram_across


@dataclass(frozen=True, eq=False)
class HandOver:
    """Closures, couplings or contacts that switch together, without a jump of the controls.

    In the ramp before they open, a law brings their multipliers to zero; in the ramp after it, it takes back the demand
    that they move as if they held. When they close, it first has them move as if they held, and then lets the
    multipliers grow from zero. Which of these it does the topology says, not the time. ``hand_overs=`` of any law takes
    a list of these (`LawOptions`); times of a schedule: `hand_overs`.

    The controls are the same before and after a switch where these demands and those above them are met. Where they
    cannot be, ``missed`` of `Command` names "NAME unloaded" or "NAME held", at the instant of the switch: a weight that
    is let go, or a brake that carries what no motor carries, is a load that has to jump. Of a load that several
    closures share the part counts that those which hold all along cannot carry, so ``names`` has to list all that
    switch together. Where they can carry all of it, no motion changes and nothing is demanded.

    Its numbers are settings of the law: NAME.time (of several NAME.time[k]), NAME.ramp, NAME.rate; NAME.counts the law
    finds in each topology: 1, or 0 where nothing is to be handed over. Without times, NAME.activity tells how far the
    hand-over is, from 0 to 1: the closure may switch when it is 1. From sample to sample it goes to 1 within the ramp
    while the setting NAME.on is 1, and to 0 while that is 0; with −1, the default, it is what is assigned to it.

    Parameters
    ----------
    names : of what switches, added with ``active=``; of a law with contacts also its contacts.
    times : at which they switch [s]; the law reads the time t, and needs no samples. () where settings tell it.
    ramp : time in which the level comes, and goes [s].
    rate : at which the velocity ψ that still violates what is to close dies out, A_s a = −γ_s − rate ψ_s [1/s].
    before_tasks : whether tasks give way, as they do to contacts of legs; by default the hand-over has what the tasks
        leave.
    name : of its levels and settings; by default the names joined by " and ".
    """

    names: str | Sequence[str]
    times: float | Sequence[float] = ()
    ramp: float = 0.1
    rate: float = 0.0
    before_tasks: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        names = (self.names,) if isinstance(self.names, str) else tuple(self.names)
        own = self.name or " and ".join(map(str, names))
        if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            raise ArgumentError(
                f"hand-over: names must be different names, got {self.names!r}", element="names"
            )
        times = finite_array(self.times)
        if times is None or times.ndim > 1:
            raise ArgumentError(
                f"hand-over {own!r}: times must be finite numbers [s], got {self.times!r}", element="times"
            )
        for what, least in (("ramp", "positive"), ("rate", "at least 0")):
            value = finite_array(getattr(self, what))
            if value is None or value.shape != () or value < 0.0 or (what == "ramp" and value == 0.0):
                raise ArgumentError(
                    f"hand-over {own!r}: {what} must be {least} and finite, got {getattr(self, what)!r}",
                    element=what,
                )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "times", tuple(np.atleast_1d(times).tolist()))
        object.__setattr__(self, "name", own)


def switching_times(name: str, pairs: Sequence[tuple[float, float]]) -> Array:
    """Return the times [s] of pairs (on, off) in order; raises `ArgumentError` where they are none, or out of order."""
    try:
        times = np.array([(float(on), float(off)) for on, off in pairs]).ravel()
    except (TypeError, ValueError):
        times = np.array([np.nan])
    if np.isnan(times).any() or not (np.diff(times) > 0.0).all():
        raise ArgumentError(
            f"schedule of {name!r}: needs ascending pairs of times (on, off), got {pairs!r}", element=name
        )
    return times


def hand_overs(
    schedule: Mapping[str, Sequence[tuple[float, float]]],
    ramp: float = 0.1,
    *,
    start: float = 0.0,
    rate: float = 0.0,
    before_tasks: bool = False,
) -> tuple[HandOver, ...]:
    """Return the hand-overs of a schedule as `sarrus.Switching` has it: one for each set of names that switch together.

    Times up to ``start`` [s] and infinite ones are no switches of a run that begins there. Raises `ArgumentError` for
    times that are no pairs of numbers.
    """
    at: dict[float, list[str]] = {}
    for name, pairs in schedule.items():
        times = switching_times(name, pairs)
        for time in times[(times > start) & np.isfinite(times)].tolist():
            at.setdefault(time, []).append(name)
    sets: dict[tuple[str, ...], list[float]] = {}
    for time in sorted(at):
        sets.setdefault(tuple(at[time]), []).append(time)
    return tuple(
        HandOver(names, times, ramp, rate=rate, before_tasks=before_tasks) for names, times in sets.items()
    )


@dataclass(frozen=True, eq=False)
class ContactUnknowns:
    """The contacts of a law whose forces are unknowns of it, over the symbols of its system.

    ``rows``, ``bias`` and ``rate`` have those of a contact at its slice of ``places``; ``closed`` is 1 or 0 by contact.
    """

    names: tuple[str, ...]
    rows: ca.SX
    bias: ca.SX
    rate: ca.SX
    places: tuple[slice, ...]
    closed: ca.SX


@dataclass(frozen=True, eq=False)
class TracedHandOver:
    """A `HandOver` over the symbols of a system: its levels, and where in the settings it stands whether it counts.

    ``rows`` are the rows of its closures, () for contacts that are unknowns of the law, of the first ``rows_of_law`` of
    A, those that are constraints of the law.
    """

    given: HandOver
    levels: tuple[Demand, Demand]
    counts_at: int
    rows: tuple[int, ...]
    rows_of_law: int

    def counts(self, work: Workspace, q: ArrayLike, v: ArrayLike, t: float) -> float:
        """Return 1, or 0 where the rows depend on those that hold all along, at a state in the topology of a
        workspace."""
        if not self.rows:
            return 1.0
        held = work.varied(
            {activity_parameter(name): 1.0 for name in self.given.names if name in work.closure_rows}
        )
        A = held.characteristic.even(held.constraint_jacobian(q, v, t))[: self.rows_of_law]
        others, cut = np.delete(A, self.rows, axis=0), HANDED_OVER * np.abs(A).max(initial=LEAST_DIVISOR)
        return float(ranked(A, cut).rank > (ranked(others, cut).rank if len(others) else 0))


def traced(given: HandOver, law: Any, settings: Settings) -> TracedHandOver:
    """Return a hand-over of a `Law` over the symbols of its system.

    Raises `ArgumentError` for names that never switch.
    """
    system, unknowns, contacts = law.system, law.unknowns, law.own_contacts
    own = () if contacts is None else contacts.names
    names = [name for name in given.names if name not in own]
    of = {n: activity_parameter(n) for n in system.closure_rows}
    of = {n: p for n, p in of.items() if p in system.equations.parameter_values}
    for name in names:
        if name in system.closure_rows and name not in of:
            raise ArgumentError(
                f"{law.name}: hand_overs: {name!r} always holds; add it with active=True or False to switch it",
                element=name,
            )
        check_known("constraint that comes and goes", name, [*of, *own], f"{law.name}: hand_overs")
    activity, rate, counts_at, counts = _numbers(given, system, settings)
    parts = [_closure_rows(law, names, of, rate)]
    if contacts is not None:
        parts += [
            _contact_rows(system, contacts, name, rate, unknowns) for name in given.names if name in own
        ]
    labels = tuple(label for part in parts for label in part.labels)
    holds, motion, wanted, multipliers, forces = (
        ca.vertcat(*[getattr(part, what) for part in parts])
        for what in ("holds", "motion", "wanted", "multipliers", "forces")
    )
    count, loaded, free = len(labels), ca.diag(holds * counts), ca.diag((1.0 - holds) * counts)
    each = ca.repmat(activity, count, 1)
    still = ca.SX.zeros(count, system.nv)
    unloaded = Demand(
        f"{given.name} unloaded", labels, still, ca.SX.zeros(count, 1), active=each,
        multipliers=loaded @ multipliers if names else None,
        unknowns=loaded @ forces if len(names) < len(given.names) else None,
    )  # fmt: skip
    held = Demand(f"{given.name} held", labels, free @ motion, free @ wanted, active=each)
    rows = tuple(row for name in names for row in range(*system.closure_rows[name].indices(system.nc)))
    return TracedHandOver(given, (unloaded, held), counts_at, rows, law.constraint_rows)


def _numbers(given: HandOver, system: System, settings: Settings) -> tuple[ca.SX, ca.SX, int, ca.SX]:
    """Return the activity, the rate, and the setting that says whether the hand-over counts, with its place."""
    name, t = given.name, system.equations.t
    ramp = settings.add(f"{name}.ramp", given.ramp, 1, name)
    rate = settings.add(f"{name}.rate", given.rate, 1, name)
    if given.times:
        times = settings.add(f"{name}.time", given.times, np.size(given.times), name)
        near = 1.0 - ca.mmin(ca.fabs(t - times)) / ramp
    else:
        on = settings.add(f"{name}.on", -1.0, 1, name)
        state = settings.remember(f"{name}.activity", 0.0, 1, name, optional=True)
        near, step = state.value, settings.period / ramp
        state.next = ca.if_else(on < 0.0, near, near + ca.fmin(ca.fmax(on - near, -step), step))
    counts_at = settings.count
    counts = settings.add(f"{name}.counts", 1.0, 1, name)
    return smooth_step(near), rate, counts_at, counts


class _Rows(NamedTuple):
    """Rows of what switches, in characteristic units: whether they hold, A_s, −γ_s − rate ψ_s, and what picks λ_s out
    of the multipliers and of the unknowns."""

    labels: tuple[str, ...]
    holds: ca.SX
    motion: ca.SX
    wanted: ca.SX
    multipliers: ca.SX
    forces: ca.SX


def _closure_rows(law: Any, names: Sequence[str], of: Mapping[str, str], rate: ca.SX) -> _Rows:
    """Return the rows of closures, as they are when these hold.

    They are multiplied by D = A_s P A_sᵀ, P onto the null space of the other rows: Dλ_s = 0 says that those can carry
    all that s carry, and is unique where λ_s is not.
    """
    system = law.system
    e, size, keys = system.equations, system.characteristic, list(system.equations.parameter_values)
    switches = [keys.index(of[name]) for name in names]
    blocks = [list(range(*system.closure_rows[name].indices(e.nc))) for name in names]
    rows = [row for block in blocks for row in block]
    labels = tuple(system.constraint_names[row] for row in rows)
    holds = ca.vertcat(ca.SX(0, 1), *[e.p[switch] for switch, block in zip(switches, blocks) for _ in block])
    picked = ca.SX.zeros(len(rows), e.nc)
    if not rows:
        none = ca.SX(0, 1)
        return _Rows((), none, ca.SX(0, e.nv), none, picked, ca.SX(0, law.unknowns))
    terms = [e.jacobian, e.constraint_bias, e.velocity_residual]
    A, gamma, psi = ca.substitute(terms, [e.p[switches]], [ca.SX.ones(len(switches))])
    factors = ca.DM(size.rows[rows])
    even = ca.diag(ca.DM(size.rows)) @ A @ ca.diag(ca.DM(1.0 / size.columns))
    others = [row for row in range(law.constraint_rows) if row not in rows]
    across = gram_across(even[rows, :], even[others, :])
    for k, row in enumerate(rows):
        picked[k, row] = 1.0 / (float(factors[k]) * size.mass * size.length**2)
    wanted = -factors * (gamma[rows] + rate * psi[rows])
    return _Rows(
        labels, holds, across @ ca.diag(factors) @ A[rows, :], across @ wanted, across @ picked,
        ca.SX.zeros(len(rows), law.unknowns),
    )  # fmt: skip


def _contact_rows(system: System, contacts: ContactUnknowns, name: str, rate: ca.SX, unknowns: int) -> _Rows:
    """Return the rows of a contact whose force is an unknown of the law."""
    k, size = contacts.names.index(name), system.characteristic
    place = contacts.places[k]
    count = place.stop - place.start
    forces = ca.SX.zeros(count, unknowns)
    forces[:, system.nu + place.start : system.nu + place.stop] = ca.SX.eye(count) / (size.mass * size.length)
    return _Rows(
        tuple(f"{name}.{row}" for row in ("n", "t1", "t2")[:count]), ca.repmat(contacts.closed[k], count, 1),
        contacts.rows[place, :] / size.length, -(contacts.bias[place] + rate * contacts.rate[place]) / size.length,
        ca.SX.zeros(count, system.nc), forces,
    )  # fmt: skip


def with_hand_overs(
    law: Any, levels: Sequence[Demand | ForceDemand], given: Sequence[HandOver], settings: Settings
) -> tuple[tuple[TracedHandOver, ...], Sequence[Demand | ForceDemand]]:
    """Return the hand-overs of a `Law`, and its levels with theirs: before the tasks, or after the last one of which
    coming close is not enough."""
    if not given:
        return (), levels
    found = tuple(traced(one, law, settings) for one in given)
    first, end = law.first_task, len(levels)
    while end > first and levels[end - 1].soft:
        end -= 1
    early = [level for one in found if one.given.before_tasks for level in one.levels]
    late = [level for one in found if not one.given.before_tasks for level in one.levels]
    placed = (*levels[:first], *early, *levels[first:end], *late, *levels[end:])
    names = [level.name for level in placed]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                f"{law.name}: names of levels must differ, {name!r} is there twice; give a HandOver a name=",
                element=name,
            )
    return found, placed
