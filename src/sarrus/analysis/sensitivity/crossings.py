"""Derivatives of motions across singular configurations: one long step of order 8, and a check of the branch.

On the branch that a motion follows through a singular configuration its equations are smooth; only the point is
singular, where another branch crosses. One step of order 8, projected on the branch, with the configuration in the
middle of its widest gap between stages, leads across, and its derivative is that of the motion.

Whether neighbouring motions follow the same branch cannot be told from this motion. A parameter that makes one side of
a parallelogram longer separates the two branches, and the motion turns onto the other one however small the change; at
the tip of a cone every change of the start does so. So motions that begin slightly to either side, in each direction,
are simulated across, and must differ as the derivative predicts (`check_branch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sarrus.analysis.sensitivity.flow import Flow, Point
from sarrus.analysis.sensitivity.tolerances import (
    CROSSING_AGREES,
    CROSSING_AWAY,
    CROSSING_BESIDE,
    CROSSING_CHANGES,
    CROSSING_NEAREST,
    CROSSING_PART,
    CROSSING_ROOM,
    CROSSING_THROUGH,
    CROSSING_TOLERANCES,
    START_DIRECTIONS,
)
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError, SolveError
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.system import System
from sarrus.kernels.integrate.tableau import tableau
from sarrus.kernels.linalg.ranked import ranked
from sarrus.motion.inputs.run_options import Recording
from sarrus.motion.records.trajectory import Trajectory
from sarrus.motion.simulate import simulate

METHOD = "dop853"
# Where in the step what is crossed lies best, in its widest gap.
MIDDLE = tableau(METHOD).between(0.5)
# Steps in which a given step is looked at for what it crosses.
PARTS = 16
# Of runs that are looked at here.
QUIET: Mapping[str, Any] = {"error_estimate": False, "throw": False}


@dataclass(frozen=True)
class Crossing:
    """A step from record ``first`` to record ``last`` across the singular configuration at ``time`` [s]."""

    first: int
    last: int
    time: float
    size: Array  # smallest singular values of all records, as parts of the largest

    def inside(self, times: Array) -> tuple[Array, Array]:
        """Return the records on both sides of the crossing that have derivatives of their own."""
        way = np.arange(self.first, self.last + 1)
        own = (self.size[way] >= CROSSING_BESIDE) | (way == self.first) | (way == self.last)
        before = times[way] < self.time
        return way[before & own], way[~before & own][::-1]


def crossings_of(run: Trajectory) -> list[Crossing]:
    """Return the steps across all singular configurations in a run of fixed steps, all recorded."""
    times = [passage.time for passage in run.passages if passage.crossed]
    if not times:
        return []
    size = _size(run)
    limits = [float(run.t[0]), *(0.5 * (a + b) for a, b in pairwise(times)), float(run.t[-1])]
    return [_step_across(run, size, time, *limits[k : k + 2]) for k, time in enumerate(times)]


def is_beside_at_end(run: Trajectory) -> np.ndarray:
    """Return which records (N,) at the end of a run are near a singular configuration that the run does not reach."""
    near = _size(run) < CROSSING_BESIDE
    return np.asarray(np.logical_and.accumulate(near[::-1])[::-1])


def _size(run: Trajectory) -> Array:
    """Return the smallest singular value of A at each record relative to its largest one in the run; one
    without rows.
    """
    values = run.smallest_singular_value
    largest = values.max(initial=0.0)
    return values / largest if 0.0 < largest < np.inf else np.ones(len(run.t))


def _step_across(run: Trajectory, size: Array, time: float, earliest: float, latest: float) -> Crossing:
    """Return the shortest step within limits across the singular configuration at ``time`` whose stages keep a
    distance.
    """
    t = run.t
    before, behind = np.flatnonzero((t >= earliest) & (t < time)), np.flatnonzero((t <= latest) & (t > time))
    if len(before) and len(behind):
        far = before[size[before] >= CROSSING_AWAY], behind[size[behind] >= CROSSING_AWAY]
        before = before[before >= far[0].max()] if len(far[0]) else before
        behind = behind[behind <= far[1].min()] if len(far[1]) else behind
        starts, ends = np.meshgrid(before, behind, indexing="ij")
        length = t[ends] - t[starts]
        stages = t[starts][..., None] + length[..., None] * tableau(METHOD).c
        room = np.abs(stages - time).min(axis=-1)
        speed = max(size[k] / abs(t[k] - time) for k in (before[-1], behind[0]))
        enough = (speed * room >= CROSSING_NEAREST) & (room >= CROSSING_ROOM * length)
        chosen = np.where(enough, -length, -np.inf) if enough.any() else room
        i, j = np.unravel_index(int(chosen.argmax()), room.shape)
        if room[i, j] >= CROSSING_ROOM * length[i, j]:
            return Crossing(int(before[i]), int(behind[j]), time, size)
    raise SolveError(
        f"{run.name}: no derivatives through the singular configuration at t = {time:g} s: fewer than two steps of dt "
        "lie between it and another one, or an end of the motion. Take a smaller dt, or a longer duration"
    )


def interpolate(t: Array, values: Array, known: np.ndarray) -> None:
    """Fill the unknown ``values`` (N, …) by a polynomial through the nearest known ones on both sides."""
    around = np.flatnonzero(known)
    for k in np.flatnonzero(~known):
        before, behind = around[around < k], around[around > k]
        few = 2 * CROSSING_THROUGH if min(len(before), len(behind)) == 0 else CROSSING_THROUGH
        nodes = np.concatenate([before[-few:], behind[:few]])
        apart = t[nodes][:, None] - t[nodes]
        np.fill_diagonal(apart, 1.0)
        to = t[k] - t[nodes]
        weights = np.array([np.delete(to, i).prod() / apart[i].prod() for i in range(len(nodes))])
        values[k] = np.tensordot(weights, values[nodes], axes=1)


def across(system: System, flow: Flow, begun: Point, h: float, names: Sequence[str]) -> Point:
    """Return the end of a step of length h [s], inputs and forces held, that may cross a singular configuration.

    ``names`` are those of the parameters, the last directions. Raises `SolveError` as `check_branch` does, and if the
    step begins or ends near the configuration.
    """
    x, parts = begun.x, flow.work.parts
    t, u, tau = float(x[parts.t]), x[parts.u], x[parts.tau]
    inputs: dict[str, Any] = {"switching": False, "force": lambda q, v, t: tau, "sample_time": h}
    inputs |= {"control": lambda q, v, t: u} if system.nu else {}
    run = simulate(system, x[parts.q], x[parts.v], duration=h, dt=h / PARTS, t0=t, **QUIET, **inputs)
    times = [passage.time for passage in run.passages if passage.crossed]
    if not times:
        return flow.step(begun, h)
    before, behind = times[0] - t, t + h - times[0]
    length = min(before / MIDDLE, behind / (1.0 - MIDDLE))
    if len(times) > 1 or length < CROSSING_PART * h:
        raise SolveError(
            f"{system.name}: no derivatives of a step that begins or ends near the singular configuration at t = "
            f"{times[0]:g} s, or crosses two. Take another dt",
        )
    first = times[0] - t - MIDDLE * length
    start = flow.step(begun, first, near=True) if first > 0.0 else begun
    through = flow.step(start, length, METHOD, near=True)
    check_branch(system, flow, start, through, names, times[0], inputs)
    rest = t + h - float(through.x[parts.t])
    return flow.step(through, rest, near=True) if rest > 0.0 else through


def check_branch(
    system: System,
    flow: Flow,
    begun: Point,
    ended: Point,
    names: Sequence[str],
    time: float,
    inputs: Mapping[str, Any] | None = None,
) -> None:
    """Raise `SolveError` if neighbouring motions do not cross the singular configuration at ``time`` on the same
    branch.

    ``system`` has control and force in its equations, or ``inputs`` passes them to `simulate`; ``names`` are those of
    the parameters, the last directions.
    """
    n, nv = flow.size, system.nv
    starts, ends = flow.in_tangent(begun), flow.in_tangent(ended)
    units = np.concatenate([system.characteristic.columns] * 2 + [np.ones(n - 2 * nv)])
    free = ranked(units[:, None] * starts[:, :n], relative=START_DIRECTIONS).right
    by_start = [Neighbours(None, starts[:, :n] @ turn, ends[:, :n] @ turn, units) for turn in free.T]
    by_name = [
        Neighbours(name, starts[:, k], ends[:, k], units)
        for k, name in enumerate(names, start=starts.shape[1] - len(names))
    ]
    span = float(ended.x[flow.work.parts.t] - begun.x[flow.work.parts.t])
    for side in (*by_start, *by_name):
        if not side.go_through(system, begun.x, span, inputs or {}):
            what = "the start" if side.name is None else f"parameter {side.name!r}"
            raise SolveError(
                f"{system.name}: no derivatives by {what} through the singular configuration at t = {time:g} s. With a "
                "small change of it the motion does not follow this branch as the derivative predicts: it turns back, "
                "takes another branch, or dt is too long",
                element=side.name,
            )


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Neighbouring motions: in one parameter or the start, with the derivatives of the state (ϑ, δv, δw) before and
    after.
    """

    name: str | None
    start: Array
    end: Array
    units: Array  # factors to characteristic units

    def go_through(self, system: System, x: Array, span: float, inputs: Mapping[str, Any]) -> bool:
        """Return whether they end as the derivative predicts, for one of the sizes of change."""
        size = max(float(np.abs(self.units * each).max()) for each in (self.start, self.end))
        most = np.inf if self.name is None else abs(system.parameters[self.name]) or 1.0
        reach = min(1.0 / size if size else np.inf, most)
        return not np.isfinite(reach) or any(
            self._agree(system, x, span, inputs, reach * by, reach) for by in CROSSING_CHANGES
        )

    def _agree(
        self, system: System, x: Array, span: float, inputs: Mapping[str, Any], change: float, reach: float
    ) -> bool:
        before, behind = (self._end(system, x, span, inputs, sign * change) for sign in (-1.0, 1.0))
        if before is None or behind is None:
            return False
        off = _between(system, before, behind) / (2.0 * change) - self.end
        return bool(np.abs(self.units * off).max() <= CROSSING_AGREES / reach)

    def _end(
        self, system: System, x: Array, span: float, inputs: Mapping[str, Any], by: float
    ) -> Array | None:
        """Return (q, v) at the end of a motion from a neighbouring start; None if it does not arrive."""
        nv, nq, change = system.nv, system.nq, by * self.start
        if self.name is not None:
            system = system.with_parameters({self.name: system.parameters[self.name] + by})
        q, v = system.move(x[:nq], change[:nv]), x[nq : nq + nv] + change[nv : 2 * nv]
        q[system.equations.activation_places] += change[2 * nv :]
        t = float(x[nq + nv + system.nu])
        run = {"duration": span, "t0": t, "method": METHOD, "every": Recording(every=None), **QUIET, **inputs}
        for rtol in CROSSING_TOLERANCES:
            try:
                found = simulate(system, q, v, rtol=rtol, **run)
            except SarrusError:
                return None
            if found.t[-1] >= t + span:
                return np.concatenate([found.q[-1], found.v[-1]])
        return None


def _between(system: System, before: Array, behind: Array) -> Array:
    """Return the change of state (ϑ, δv, δw) from one state to another."""
    nq = system.nq
    along = difference(system, before[:nq], behind[:nq])
    places = system.equations.activation_places
    return np.concatenate([along, behind[nq:] - before[nq:], behind[places] - before[places]])
