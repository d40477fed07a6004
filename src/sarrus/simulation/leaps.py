"""Motions that jump: no mechanism follows what is given in a place at one time and in another at the next.

A run goes on with the loops closed anew, so that it looks as if nothing had happened. A leap is what stays between two
times, however near they are, beside what the rate of the motion explains.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.evaluations import Evaluations
from sarrus.simulation.recorded_motion import RecordedMotion

# Smaller ones are not looked for [characteristic lengths, rad], and how near to one its time is told [duration].
LEAST, NEAR = 1e-4, 1e-9
# At most so many stretches of a run are looked at, halves of stretches too.
MOST = 1024


class Leap(NamedTuple):
    """The constraint that jumps, when [s], and by how much [m, rad]."""

    name: str
    time: float
    size: float

    @property
    def message(self) -> str:
        """What a run has to say of it."""
        return (
            f"what moves {self.name!r} jumps by {self.size:.3g} at t = {self.time:.6g} s, which nothing that has a "
            "mass can follow: the loops were closed anew there, and forces, velocities and energy do not know how. "
            "Give it a course without jumps, such as a Spline"
        )


def first_leap(system: Evaluations, run: RecordedMotion) -> Leap | None:
    """Return the first leap of what moves the holonomic constraints during a run."""
    if not (system.nh and system.model.is_rheonomic) or len(run.t) < 2:
        return None
    times, q = run.t, run.q
    factors = system.characteristic.rows[: system.nh]
    doubtful = np.flatnonzero(_beyond(system, times, q, run.v, run.a) > LEAST)[:MOST]
    stretches = [
        (q[k], _Given.at(system, q[k], times[k]), _Given.at(system, q[k], times[k + 1]))
        for k in doubtful[::-1]
    ]
    for _ in range(MOST):
        if not stretches:
            return None
        place, begin, end = stretches.pop()
        left = begin.left_until(end)
        if not (left * factors).max() > LEAST:
            continue
        if end.time - begin.time < NEAR * (times[-1] - times[0]):
            row = int(np.argmax(left * factors))
            name = next(name for name, rows in system.closure_rows.items() if rows.start <= row < rows.stop)
            return Leap(name, end.time, float(left[row]))
        middle = _Given.at(system, place, 0.5 * (begin.time + end.time))
        stretches += [(place, middle, end), (place, begin, middle)]
    return None


class _Given(NamedTuple):
    """What φ(q, t) and ∂φ/∂t are at a time (nh,)."""

    time: float
    residual: Array
    rate: Array

    @classmethod
    def at(cls, system: Evaluations, q: Array, time: float) -> Self:
        """Return them where the mechanism is at q."""
        rate = system.velocity_residual(q, np.zeros(system.nv), time)[: system.nh]
        return cls(float(time), system.constraint_residual(q, time), rate)

    def left_until(self, end: Self) -> Array:
        """Return what of the change until the end the rates do not explain, in absolute value (nh,)."""
        explained = 0.5 * (end.time - self.time) * (self.rate + end.rate)
        return np.asarray(np.abs(end.residual - self.residual - explained))


def _beyond(system: Evaluations, times: Array, q: Array, v: Array, a: Array) -> Array:
    """Return how far coordinates come from record to record beside what velocities and accelerations explain.

    Of those that are no integral of a velocity, as quaternions, the whole way.
    """
    h, way = np.diff(times)[:, None], np.diff(q, axis=0)
    place = {name: k for k, name in enumerate(system.velocity_names)}
    for k, name in enumerate(system.coordinate_names):
        if name in place:
            j = place[name]
            way[:, k] -= (0.5 * h * (v[1:] + v[:-1]) - h**2 / 12 * np.diff(a, axis=0))[:, j]
            way[:, k] *= system.characteristic.columns[j]
    return np.asarray(np.abs(way).max(axis=1))
