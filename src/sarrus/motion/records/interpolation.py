"""Coordinates between the samples of a trajectory."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.motion.records.recorded_motion import RecordedMotion

Number = TypeVar("Number", float, Array)


def interpolate(trajectory: RecordedMotion, t: Array) -> Array:
    """Return q at times t [s], shape t.shape + (nq,); see `Trajectory.at`."""
    times, q, v = trajectory.t, trajectory.q, trajectory.v
    if not len(times):
        raise ArgumentError(f"trajectory {trajectory.name!r} is empty", element="t")
    slack = SAME_INSTANT * (1.0 + abs(times[-1]))
    if not np.all((t >= times[0] - slack) & (t <= times[-1] + slack)):
        raise ArgumentError(
            f"trajectory {trajectory.name!r} covers {times[0]:.6g} to {times[-1]:.6g} s; every t must lie within",
            element="t",
        )
    if len(times) == 1:
        return np.broadcast_to(q[0], (*t.shape, q.shape[1])).copy()
    i = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    h = (times[i + 1] - times[i])[..., None]
    s = np.clip((t - times[i])[..., None] / np.where(h > 0, h, 1.0), 0.0, 1.0)
    out = (1 - s) * q[i] + s * q[i + 1]
    velocity = {name: k for k, name in enumerate(trajectory.velocity_names)}
    pairs = [(k, velocity[name]) for k, name in enumerate(trajectory.coordinate_names) if name in velocity]
    if pairs:
        k, j = np.array(pairs).T
        ends = [(array[m][..., c]) for array, c in ((q, k), (v, j), (trajectory.a, j)) for m in (i, i + 1)]
        out[..., k] = value_at(s, *between(trajectory, h, *ends))
    for k, name in enumerate(trajectory.coordinate_names):
        if name.endswith(".qw"):
            out[..., k : k + 4] /= np.linalg.norm(out[..., k : k + 4], axis=-1, keepdims=True)
    return out


def between(
    trajectory: RecordedMotion, h: Array, q0: Array, q1: Array, v0: Array, v1: Array, a0: Array, a1: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return the coefficients c₀ … c₅ of polynomials in s ∈ [0, 1] between two samples at a distance h [s].

    Degree five through values, rates and accelerations at both samples. If controls were held, the acceleration at a
    sample belongs to one side of it only; the interval on the other side then has degree four.
    """
    if not trajectory.held_controls:
        return coefficients(h, q0, v0, a0, q1, v1, a1)
    w0, rise, turn = h * v0, q1 - q0 - h * v0, h * (v1 - v0)
    if trajectory.held_controls > 0:
        b = h**2 * a0
        c2, c4 = 0.5 * b, turn - 3.0 * rise + 0.5 * b
    else:
        c4 = 0.5 * h**2 * a1 + 3.0 * rise - 2.0 * turn
        c2 = 3.0 * rise - turn + c4
    return q0, w0, c2, rise - c2 - c4, c4, 0.0 * c4


def coefficients(
    h: Array, q0: Array, v0: Array, a0: Array, q1: Array, v1: Array, a1: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return c₀ … c₅ of the polynomial of degree five with these values, rates and accelerations at s = 0 and s = 1."""
    rise, start, end = q1 - q0 - h * v0 - 0.5 * h**2 * a0, h * (v1 - v0) - h**2 * a0, h**2 * (a1 - a0)
    return (
        q0,
        h * v0,
        0.5 * h**2 * a0,
        10 * rise - 4 * start + 0.5 * end,
        -15 * rise + 7 * start - end,
        6 * rise - 3 * start + 0.5 * end,
    )


def value_at(s: Number, c0: Number, c1: Number, c2: Number, c3: Number, c4: Number, c5: Number) -> Number:
    """Return the value of a polynomial at s by Horner's rule, for arrays and for single numbers with the same bits."""
    return c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))
