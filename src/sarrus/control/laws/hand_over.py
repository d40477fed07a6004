"""`HandOver`: closures, clutches, brakes, grasps and contacts that switch without a jump of the controls.

Let s be the rows of the switching closures and o the permanent rows. Controls u give the motion a_1(u) with s active
and a_0(u) with s inactive. Both motions are equal for the controls

    U = {u : A_s a_0(u) + γ_s = 0},    A_s a_0 + γ_s = −A_s W_o A_sᵀ λ_s,

W_o the inverse of M on the motions that o allows: the controls with λ_s = 0 while s is active, and with which the
mechanism moves as if s held while s is inactive. So a law with controls in U at the instant of the switch, and the same
demanded accelerations before and after it, has continuous controls. Around that instant U is one more level: λ_s = 0
while s is active, A_s a = −γ_s while it is not. The activity d of the level rises from 0 to 1 within the ramp before
the switch and falls to 0 within the ramp after it; the controls are 1 − d times those without the level plus d times
those with it (`sarrus.kernels.laws.hierarchy_in_cones`), hence continuous.
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
    """A set of closures, couplings or contacts that switch together without a jump of the controls.

    In the ramp before they open, a law brings their multipliers to zero; in the ramp after it, it releases the demand
    that they move as if they held. Before they close, it lets the mechanism move as if they held, and then lets the
    multipliers grow from zero. The present topology, not the time, decides which of both applies. ``hand_overs=`` of
    any law takes a list of these (`LawOptions`); for the times of a schedule see `hand_overs`.

    The controls are continuous at a switch if these demands and those above them are met. If they cannot be, ``missed``
    of `Command` names "NAME unloaded" or "NAME held" at the instant of the switch: a released weight, or a brake that
    carries a load no motor can carry, must jump. If several closures share a load, the part counts that permanent
    closures cannot carry, so ``names`` must list all closures that switch together. If permanent closures can carry all
    of it, the motion does not change and there is no demand.

    Settings of the law: NAME.time (NAME.time[k] for several), NAME.ramp, NAME.rate. The law sets NAME.counts for each
    topology: 1, or 0 if there is nothing to hand over. Without times, NAME.activity is the progress of the hand-over, 0
    to 1: the closure may switch when it is 1. It goes to 1 within the ramp, sample by sample, while the setting NAME.on
    is 1, and to 0 while NAME.on is 0; with NAME.on = −1, the default, it is the value assigned to it.

    Parameters
    ----------
    names : of closures and couplings added with ``active=``; in a law with contacts also of its contacts.
    times : of the switches [s]; the law reads the time t and needs no samples. () if settings control it.
    ramp : time in which the level rises and falls [s].
    rate : decay rate of the velocity ψ that violates closing constraints, A_s a = −γ_s − rate ψ_s [1/s].
    before_tasks : True puts the level before the tasks, as for contacts of legs; default: after the tasks.
    name : of its levels and settings; default: the names joined by " and ".
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
    """Return the times [s] of pairs (on, off) in order; raises `ArgumentError` for pairs that are invalid or out of
    order.
    """
    try:
        times = np.array([(float(on), float(off)) for on, off in pairs]).ravel()
    except (TypeError, ValueError):
        times = np.array([np.nan])
    if np.isnan(times).any() or not (np.diff(times) > 0.0).all():
        raise ArgumentError(
            f"schedule of {name!r} must be ascending pairs of times (on, off) [s], got {pairs!r}",
            element=name,
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
    """Return the hand-overs of a schedule (see `sarrus.Switching`): one for each set of names that switch together.

    Times up to ``start`` [s] and infinite ones are ignored. ``ramp`` [s], ``rate`` [1/s] and ``before_tasks`` as in
    `HandOver`. Raises `ArgumentError` for a schedule that is not made of pairs of numbers.
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
    """The contacts of a law whose forces are unknowns, over the symbols of its system.

    ``rows``, ``bias`` and ``rate``: those of a contact are at its slice of ``places``; ``closed`` is 1 or 0 by contact.
    """

    names: tuple[str, ...]
    rows: ca.SX
    bias: ca.SX
    rate: ca.SX
    places: tuple[slice, ...]
    closed: ca.SX


@dataclass(frozen=True, eq=False)
class TracedHandOver:
    """A `HandOver` over the symbols of a system: its levels, and the place of NAME.counts among the settings.

    ``rows`` are the rows of its closures, () for contacts that are unknowns of the law, among the first ``rows_of_law``
    rows of A, which are constraints of the law.
    """

    given: HandOver
    levels: tuple[Demand, Demand]
    counts_at: int
    rows: tuple[int, ...]
    rows_of_law: int

    def counts(self, work: Workspace, q: ArrayLike, v: ArrayLike, t: float) -> float:
        """Return 1, or 0 if the rows depend on permanent rows, at a state in the topology of a workspace."""
        if not self.rows:
            return 1.0
        held = work.varied(
            {activity_parameter(name): 1.0 for name in self.given.names if name in work.closure_rows}
        )
        A = held.characteristic.scaled_rows(held.constraint_jacobian(q, v, t))[: self.rows_of_law]
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
    """Return (activity, rate, setting NAME.counts, its place)."""
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
    """Rows of the switching constraints in characteristic units: whether they are active, A_s, −γ_s − rate ψ_s, and the
    matrices that select λ_s from the multipliers and from the unknowns.
    """

    labels: tuple[str, ...]
    holds: ca.SX
    motion: ca.SX
    wanted: ca.SX
    multipliers: ca.SX
    forces: ca.SX


def _closure_rows(law: Any, names: Sequence[str], of: Mapping[str, str], rate: ca.SX) -> _Rows:
    """Return the rows of closures, as they are when these are active.

    They are multiplied by D = A_s P A_sᵀ, P the projection on the null space of the other rows: D λ_s = 0 means that
    the other rows can carry the whole load of s, and is unique even if λ_s is not.
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
    """Return the hand-overs of a `Law`, and its levels with theirs inserted before the tasks, or after the last level
    that is not soft.
    """
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
                f"{law.name}: names of levels must differ, {name!r} is there twice; give the HandOver another name=",
                element=name,
            )
    return found, placed
