"""`controllability_along`: controllability while closures switch on a schedule, in each phase and at each switch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.base.numbers import finite_array, number_between
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.control.laws.controllability import Controllability, controllability_at, in_words
from sarrus.control.laws.hand_over import switching_times
from sarrus.control.laws.tolerances import PLACES_IN_PHASE
from sarrus.dynamics.impacts.activity import active
from sarrus.dynamics.model.activations import driving_matrix
from sarrus.dynamics.solve.inverse_dynamics import constraint_rank
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT, RANK_CUT
from sarrus.symbolic.equations.equations import activity_parameter


@dataclass(frozen=True, eq=False)
class Phase:
    """The time between two switches of a schedule.

    Attributes
    ----------
    start, end : [s]. holding : names of the switched constraints that are active.
    time : time of the configuration with the fewest motions reached [s].
    reach : `Controllability` there.
    """

    start: float
    end: float
    holding: tuple[str, ...]
    time: float
    reach: Controllability

    def __str__(self) -> str:
        names = ", ".join(self.holding) or "nothing"
        lost = "" if self.reach.controllable else f"; not reached: {', '.join(self.reach.names)}"
        return (
            f"{self.start:g} to {self.end:g} s, {names}: {self.reach.rank} of {self.reach.dof} motions"
            f" at {self.time:g} s{lost}"
        )


@dataclass(frozen=True, eq=False)
class SwitchLoad:
    """Loads of the closures that switch at an instant, and which of them the controls can set.

    Attributes
    ----------
    time : [s]. names : of the closures that switch.
    loads : number of independent loads while the closures are active; 0 if their rows depend on permanent ones.
    free : number of these loads that the controls can set without changing the motion (internal forces). If it equals
        ``loads``, a `HandOver` works for any motion.
    bound : the remaining loads, combinations of multipliers in words: the motion determines them, so that they are zero
        for some motions only.
    """

    time: float
    names: tuple[str, ...]
    loads: int
    free: int
    bound: tuple[str, ...]

    def __str__(self) -> str:
        told = f"; determined by the motion: {', '.join(self.bound)}" if self.bound else ""
        return f"{self.time:g} s, {', '.join(self.names)}: {self.free} of {self.loads} loads are free{told}"


@dataclass(frozen=True, eq=False)
class ControllabilityAlong:
    """Controllability along a schedule; ``print`` shows it.

    Attributes
    ----------
    phases : a `Phase` for each. switches : a `SwitchLoad` for each instant between them.
    controllable : whether every phase is controllable.
    never : (nv, k) velocities that no control drives in any phase, orthonormal columns.
    names : each of these in words.
    """

    phases: tuple[Phase, ...]
    switches: tuple[SwitchLoad, ...]
    controllable: bool
    never: Array
    names: tuple[str, ...]

    def __str__(self) -> str:
        lines = [str(phase) for phase in self.phases] + [str(switch) for switch in self.switches]
        return "\n".join([*lines, f"reached in no phase: {', '.join(self.names) or 'nothing'}"])


@described()
def controllability_along(
    system: System,
    schedule: Mapping[str, Sequence[tuple[float, float]]],
    q: ArrayLike | Callable[[float], ArrayLike],
    duration: float,
) -> ControllabilityAlong:
    """Return a `ControllabilityAlong`: controllability in each phase of a schedule of closures, and free loads at
    switches.

    A phase is controllable if `controllability` says so for the motions that its closures allow. A motion may be out of
    reach in one phase and not in another, such as that of an object that waits to be grasped; ``never`` are the motions
    out of reach in all phases. Contacts with Coulomb friction, contacts between geometries, ropes, limits of joints and
    dry friction are left out: a schedule says what holds.

    Parameters
    ----------
    schedule : pairs (on, off) [s] by name, as in `sarrus.Switching`, at times ≥ 0. Closures that are not named do not
        switch.
    q : (nq,), or a function of t that returns it, such as ``lambda t: motion.interpolate(t).q``; active loops must be
        closed. A configuration with open loops is used as it is.
    duration : [s].

    Raises `ArgumentError` for names that never switch, times out of order, and a ``duration`` that is not positive.
    Contacts with Coulomb friction and between geometries, ropes, limits of joints and dry friction of joints are left
    out.
    """
    check_is("controllability_along", system, System)
    duration = number_between(duration, 0.0, np.inf, "duration")
    if not 0.0 < duration < np.inf:
        raise ArgumentError(f"duration must be positive and finite [s], got {duration!r}", element="duration")
    if not isinstance(schedule, Mapping):
        raise ArgumentError(
            f"schedule must be pairs (on, off) of times by name, got {schedule!r}", element="schedule"
        )
    work = system.workspace().copy()
    for name in schedule:
        check_known("constraint that comes and goes", name, tuple(active(work)), f"{system.name}: schedule")
    place = _configurations(system, q)
    times = {name: switching_times(name, pairs) for name, pairs in schedule.items()}
    at = sorted({t for own in times.values() for t in own.tolist() if 0.0 < t < duration})
    edges, phases, reached = [0.0, *at, duration], [], []
    for start, end in pairwise(edges):
        middle = 0.5 * (start + end)
        on = {name: bool(np.searchsorted(own, middle, side="right") % 2) for name, own in times.items()}
        work.parameters.update({activity_parameter(name): float(value) for name, value in on.items()})
        found = []
        for part in PLACES_IN_PHASE:
            t = start + part * (end - start)
            x = place(t)
            found.append((t, controllability_at(work, x, np.zeros(system.nv), t)))
            reached.append(_reached(work, x, t))
        worst, reach = min(found, key=lambda one: one[1].rank - one[1].dof)
        holding = tuple(name for name, value in active(work).items() if value)
        phases.append(Phase(start, end, holding, worst, reach))
    switches = tuple(_load(work, times, t, place(t)) for t in at)
    every = np.hstack(reached)
    columns = every / np.maximum(np.sqrt((every**2).sum(axis=0)), LEAST_DIVISOR)
    never = ranked(columns.T, relative=RANK_CUT).null if columns.size else np.eye(system.nv)
    return ControllabilityAlong(
        tuple(phases), switches, all(phase.reach.controllable for phase in phases), read_only(never),
        tuple(in_words(system.velocity_names, column) for column in never.T),
    )  # fmt: skip


def _configurations(system: System, q: ArrayLike | Callable[[float], ArrayLike]) -> Callable[[float], Array]:
    """Return the configuration at a time."""
    if callable(q):
        return lambda t: system.normalized(q(t))
    if finite_array(q) is None:
        raise ArgumentError(f"q must be numbers (nq,) or a function of t, got {q!r}", element="q")
    fixed = system.normalized(q)
    return lambda t: fixed


def _basis(work: Workspace, q: Array, t: float) -> tuple[Array, Array]:
    """Return a basis of the motions (nv, dof), in characteristic units, and S (nv, nu) in these units."""
    zero, size = np.zeros(work.nv), work.characteristic
    A = work.constraint_jacobian(q, zero, t)
    rank = constraint_rank(work, q, zero, t, A)
    return at_rank(size.scaled_rows(A), rank).null, driving_matrix(work, q, zero, t) / size.columns[:, None]


def _reached(work: Workspace, q: Array, t: float) -> Array:
    """Return the accelerations (nv, nu) by unit controls, S with M on the motions of the phase."""
    basis, actuation = _basis(work, q, t)
    columns = work.characteristic.columns
    inertia = dense.product(dense.product(basis.T, _even_mass(work, q)), basis)
    gains = ranked(inertia, relative=FINE_RANK_CUT).solve(dense.product(basis.T, actuation))
    return np.asarray(dense.product(basis, gains) / columns[:, None])


def _even_mass(work: Workspace, q: Array) -> Array:
    """Return M in characteristic units of the velocities."""
    columns = work.characteristic.columns
    return np.asarray(work.mass_matrix(q) / columns[:, None] / columns)


def _load(work: Workspace, times: Mapping[str, Array], t: float, q: Array) -> SwitchLoad:
    """Return the `SwitchLoad` of all closures that switch at a time, with these closures active."""
    names = tuple(name for name, own in times.items() if t in own)
    on = {name: bool(np.searchsorted(own, t, side="right") % 2) for name, own in times.items()}
    on.update(dict.fromkeys(names, True))
    held = work.copy()
    held.parameters.update({activity_parameter(name): float(value) for name, value in on.items()})
    zero = np.zeros(work.nv)
    A = work.characteristic.scaled_rows(held.constraint_jacobian(q, zero, t))
    rows = [k for name in names for k in range(*held.closure_rows[name].indices(len(A)))]
    others = np.delete(A, rows, axis=0)
    scale = max(float(np.abs(A).max(initial=0.0)), LEAST_DIVISOR)
    left = ranked(others, RANK_CUT * scale).null if len(others) else np.eye(work.nv)
    own = ranked(
        dense.product(A[rows], left), RANK_CUT * scale
    )  # what is left of the rows beside those that hold
    basis = dense.product(left, own.null)  # of the motions with all of it
    actuation = driving_matrix(held, q, zero, t) / work.characteristic.columns[:, None]
    push = ranked(dense.product(basis.T, actuation), FINE_RANK_CUT * dense.norm(actuation))
    # internal forces S n are Aᵀλ on what the other rows leave: of the own rows own.leftᵀ λ is unique
    internal = dense.product(dense.product(left.T, actuation), push.null)
    loads = dense.product(own.right.T, internal) if own.rank else np.zeros((0, internal.shape[1]))
    free = ranked(loads, FINE_RANK_CUT * max(dense.norm(actuation), LEAST_DIVISOR)) if loads.size else None
    count = free.rank if free is not None else 0
    labels = [held.constraint_names[k] for k in rows]
    remaining = np.eye(own.rank) if free is None else free.left_null
    bound = dense.product(own.left / own.kept, remaining)
    return SwitchLoad(t, names, own.rank, count, tuple(in_words(labels, column) for column in bound.T))
