"""`HeldSamples`: states of a run between whose times the controls are smooth, also if controls were held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sarrus.analysis.loads.tolerances import AT_INSTANT
from sarrus.analysis.loads.work_integral import sides
from sarrus.base.arrays import Array
from sarrus.dynamics.system import System
from sarrus.motion.records.interpolation import between, interpolate, value_at
from sarrus.motion.records.readings import states_of
from sarrus.motion.records.trajectory import Trajectory

# Points of a piece with one control, beside its end: the polynomial through them is of degree four.
_INSIDE = np.array([0.0, 0.25, 0.5, 0.75])


@dataclass(frozen=True, eq=False)
class HeldSamples:
    """States x = [q | v | u | t | p | τ] (n, …) at times t (n,), two at the same time where a control jumps.

    ``place`` (T,) are the indices of the records of the run, ``recorded`` (T, …) the records. ``lower`` (n, …) are the
    states from polynomials of one degree less, for an error estimate. ``unknown`` (T−1,) is the time [s] between two
    records for which no record has the held control.
    """

    t: Array
    x: Array
    lower: Array
    place: NDArray[np.int64]
    recorded: Array
    unknown: Array


def held_samples(trajectory: Trajectory, system: System) -> HeldSamples:
    """Return states between which the controls are smooth: the records, and more states if controls were held.

    Intervals between records are divided at the instants of samples. Each piece has the control that acted in it, and
    states that follow the coordinates and their rates to fourth order.
    """
    values = {**system.parameters, **trajectory.parameters}
    x, t = states_of(trajectory, system, values), trajectory.t
    if not trajectory.held_controls or trajectory.sample_time <= 0.0 or len(t) < 2:
        return HeldSamples(t, x, x, np.arange(len(t)), x, np.zeros(max(len(t) - 1, 0)))
    same, unknown = sides(t), np.zeros(len(t) - 1)
    times, pieces = [t[:1]], [_Piece(0, np.zeros(1), 0)]
    place, count = [0], 1
    for k in range(len(t) - 1):
        if same[k]:
            pieces.append(_Piece(k, np.ones(1), k + 1))
            times.append(t[k + 1 : k + 2])
            count += 1
        else:
            edges, owners, unknown[k] = _cut(trajectory, k)
            for low, high, owner in zip(edges[:-1], edges[1:], owners):
                anew = not np.array_equal(trajectory.u[owner], trajectory.u[pieces[-1].owner])
                inside = low + (high - low) * np.append(_INSIDE[0 if anew else 1 :], 1.0)
                pieces.append(_Piece(k, (inside - t[k]) / (t[k + 1] - t[k]), owner))
                times.append(inside)
                count += len(inside)
        place.append(count - 1)
    counts = [len(piece.part) for piece in pieces]
    interval = np.repeat([piece.interval for piece in pieces], counts)
    owners_of_all = np.repeat([piece.owner for piece in pieces], counts)
    whole = np.concatenate(times)
    parts = np.concatenate([piece.part for piece in pieces])
    nq, nv, nu = system.nq, system.nv, system.nu
    found = []
    for lower in (False, True):
        rows = x[owners_of_all].copy()
        q, v = _states(trajectory, interval, parts, whole, lower)
        _fill_others(
            q, trajectory, system, x, interval, parts[:, None], rows[:, nq + nv : nq + nv + nu], lower
        )
        rows[:, :nq], rows[:, nq : nq + nv], rows[:, nq + nv + nu] = q, v, whole
        found.append(rows)
    return HeldSamples(whole, found[0], found[1], np.array(place), x, unknown)


def coarseness(samples: HeldSamples, powers: Array, lower: Array) -> Array:
    """Return the possible error (k,) [J] of integrals of the powers (n, k) due to the states between records.

    It is the integral of the absolute difference to ``lower``, the powers at the states of one degree less.
    """
    steps = np.diff(samples.t)
    away = np.abs(powers - lower)
    return np.asarray(0.5 * steps @ (away[1:] + away[:-1]))


@dataclass(frozen=True)
class _Piece:
    """The parts of an interval between records at which states are needed, and the record that has the control
    there.
    """

    interval: int
    part: Array
    owner: int


def _cut(trajectory: Trajectory, k: int) -> tuple[Array, list[int], float]:
    """Return (edges of the pieces of an interval, records with their controls, time without a record of its control
    [s]).
    """
    t, period = trajectory.t, trajectory.sample_time
    first, last = (t[k] - t[0]) / period, (t[k + 1] - t[0]) / period
    instants = np.arange(np.floor(first + AT_INSTANT) + 1.0, np.ceil(last - AT_INSTANT))
    edges = np.concatenate([t[k : k + 1], t[0] + period * instants, t[k + 1 : k + 2]])
    forward, count = trajectory.held_controls > 0, len(edges) - 1
    if count == 1:
        return edges, [k if forward else k + 1], 0.0
    begins, ends = (abs(x - round(x)) <= AT_INSTANT for x in (first, last))
    known_first, known_last = forward or not begins, not forward or not ends
    owners = [k if known_first else k + 1, *([k if known_first else k + 1] * (count - 2))]
    owners.append(k + 1 if known_last else k)
    lengths = np.diff(edges)
    unknown = lengths[1:-1].sum() + (not known_first) * lengths[0] + (not known_last) * lengths[-1]
    return edges, owners, float(unknown)


def _states(
    trajectory: Trajectory, k: NDArray[np.int64], s: Array, t: Array, lower: bool
) -> tuple[Array, Array]:
    """Return q and v at parts s of the intervals k; rates without a coordinate of the same name are parabolas.

    ``lower`` ignores accelerations.
    """
    h, part = (trajectory.t[k + 1] - trajectory.t[k])[:, None], s[:, None]
    q, moved = interpolate(trajectory, t), h[:, 0] > 0.0
    v0, v1 = trajectory.v[k], trajectory.v[k + 1]
    if lower:
        v = v0 + (v1 - v0) * part
    elif trajectory.held_controls > 0:
        slope = h * trajectory.a[k]
        v = v0 + slope * part + (v1 - v0 - slope) * part**2
    else:
        slope = h * trajectory.a[k + 1]
        v = v1 + slope * (part - 1.0) + (v0 - v1 + slope) * (part - 1.0) ** 2
    rates = {name: i for i, name in enumerate(trajectory.velocity_names)}
    pairs = [(i, rates[name]) for i, name in enumerate(trajectory.coordinate_names) if name in rates]
    if pairs:
        of_q, of_v = np.array(pairs).T
        sources = ((trajectory.q, of_q), (trajectory.v, of_v), (trajectory.a, of_v))
        q0, q1, v0, v1, a0, a1 = (array[m][:, c] for array, c in sources for m in (k, k + 1))
        c = between(trajectory, h, q0, q1, v0, v1, a0, a1)
        if lower:
            rise, w0, w1 = q1 - q0, h * v0, h * v1
            c = q0, w0, 3.0 * rise - 2.0 * w0 - w1, w0 + w1 - 2.0 * rise, 0.0 * rise, 0.0 * rise
        q[:, of_q] = value_at(part, *c)
        rate = c[1] + part * (2.0 * c[2] + part * (3.0 * c[3] + part * 4.0 * c[4]))
        v[:, of_v] = np.where(moved[:, None], rate / np.where(h > 0.0, h, 1.0), v1)
    return q, v


def _fill_others(
    q: Array,
    trajectory: Trajectory,
    system: System,
    x: Array,
    k: NDArray[np.int64],
    s: Array,
    u: Array,
    lower: bool,
) -> None:
    """Write coordinates without a rate of the same name (currents, activations, quaternions) to q, from their rates q̇.

    They are cubics through values and rates at both ends of the interval, with the control u of the piece; ``lower``
    ignores the rate at the end.
    """
    names = trajectory.coordinate_names
    others = [i for i, name in enumerate(names) if name not in trajectory.velocity_names]
    if not others:
        return
    native = system.compiled.named("coordinate rates", lambda: {"rate": system.equations.whole_rate})
    nq, nv, nu = system.nq, system.nv, system.nu
    h, slopes = (trajectory.t[k + 1] - trajectory.t[k])[:, None], []
    for m in (k, k + 1):
        state = x[m].copy()
        state[:, nq + nv : nq + nv + nu] = u
        slopes.append(h * native.each(np.ascontiguousarray(state))[:, others])
    start, rise = x[k][:, others], x[k + 1][:, others] - x[k][:, others]
    c2, c3 = 3.0 * rise - 2.0 * slopes[0] - slopes[1], slopes[0] + slopes[1] - 2.0 * rise
    if lower:
        c2, c3 = rise - slopes[0], 0.0 * rise
    q[:, others] = start + s * (slopes[0] + s * (c2 + s * c3))
    for i in (i for i in others if names[i].endswith(".qw")):
        q[:, i : i + 4] /= np.linalg.norm(q[:, i : i + 4], axis=1, keepdims=True)
