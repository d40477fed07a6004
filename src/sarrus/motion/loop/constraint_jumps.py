"""Constraint jumps: φ(q, t) changes by a finite amount at an instant, which no mechanism with mass can follow.

The run closes the loops anew and continues, so that its result looks regular. A jump is the part of a change of φ
between two records that its rates do not explain, however short the stretch of time in which it is looked for.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.integrate.tolerances import SAME_INSTANT
from sarrus.motion.loop.tolerances import JUMP_FAST, JUMP_MOMENT, LEAST_JUMP
from sarrus.motion.records.quantities import Quantities

# At most so many stretches of a run are looked at, halves of stretches too.
MOST = 1024

# Operations that are continuous wherever they are numbers.
_CONTINUOUS = frozenset(
    (
        *(ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_ASSIGN, ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_MUL),
        *(ca.OP_SQ, ca.OP_TWICE, ca.OP_SQRT, ca.OP_SIN, ca.OP_COS, ca.OP_FABS, ca.OP_FMIN, ca.OP_FMAX),
    )
)

_CLOSED_ANEW = (
    "which no mass can follow. The loops were closed anew there, and forces, velocities and energy do not include the "
    "jump. "
)


class Leap(NamedTuple):
    """A jump of the constraint ``name`` (or of a coordinate, if no constraint is known): time [s] and size [m, rad]."""

    name: str
    time: float
    size: float
    is_constraint: bool = True

    @property
    def message(self) -> str:
        """The message of a run about this jump."""
        what = f"{self.name!r} jumps by {self.size:.3g} at t = {self.time:.6g} s, {_CLOSED_ANEW}"
        if self.is_constraint:
            return (
                what
                + "Prescribe a continuous motion, such as a Spline; a string must not leave its wrapping geometry"
            )
        return what + "Look for a constraint with a prescribed motion that jumps at this time"


def first_leap(system: Evaluations, run: Quantities) -> Leap | None:
    """Return the first jump of a holonomic constraint during a run, else of a coordinate; None without a jump."""
    if not system.nh or len(run.t) < 2:
        return None
    times, q = run.t, run.q
    span = float(times[-1] - times[0])
    beyond = _beyond(system, times, q, run.v, run.a)
    if not (beyond > LEAST_JUMP).any():
        return None
    stretches = [
        _Stretch.between(system, q[k], q[k + 1], times[k], times[k + 1])
        for k in np.flatnonzero(beyond > LEAST_JUMP)[:MOST][::-1]
        if system.model.cached("leaps", lambda: _can_leap(system))
    ]
    for _ in range(MOST):
        if not stretches:
            break
        stretch = stretches.pop()
        row, left = stretch.left(system)
        if not left > LEAST_JUMP:
            continue
        if stretch.time < SAME_INSTANT * span and stretch.way < LEAST_JUMP / JUMP_FAST:
            name = next(name for name, rows in system.closure_rows.items() if rows.start <= row < rows.stop)
            return Leap(name, stretch.end.time, left / float(system.characteristic.rows[row]))
        stretches += stretch.halves(system)
    return _torn(system, run, beyond, JUMP_MOMENT * span)


def _can_leap(system: Evaluations) -> bool:
    """Return whether φ(q, t) contains an operation that is not continuous; without one φ never jumps."""
    e = system.equations
    program = ca.Function("closure", [e.q, e.t, e.p], [e.position_residual])
    return any(program.instruction_id(k) not in _CONTINUOUS for k in range(program.n_instructions()))


class _Given(NamedTuple):
    """φ (nh,) at a configuration and a time, and its change over a whole stretch that the rates there predict."""

    q: Array
    time: float
    residual: Array
    change: Array

    @classmethod
    def at(cls, system: Evaluations, q: Array, time: float, step: Array, duration: float) -> Self:
        rates = system.constraint_jacobian(q, t=time)[: system.nh] @ step
        rates = rates + duration * system.velocity_residual(q, np.zeros(system.nv), time)[: system.nh]
        return cls(q, float(time), system.constraint_residual(q, time), rates)


class _Stretch(NamedTuple):
    """A part of the straight line between two records; ``step`` (nv,) and ``duration`` [s] belong to the whole line."""

    begin: _Given
    end: _Given
    step: Array
    duration: float
    share: float
    length: float

    @classmethod
    def between(cls, system: Evaluations, start: Array, end: Array, begins: float, ends: float) -> Self:
        """Return the whole line between two records."""
        step, duration = difference(system, start, end), float(ends - begins)
        return cls(
            _Given.at(system, start, begins, step, duration),
            _Given.at(system, system.move(start, step), ends, step, duration),
            step,
            duration,
            1.0,
            float(np.linalg.norm(system.characteristic.columns * step)),
        )

    @property
    def time(self) -> float:
        """Duration of this part [s]."""
        return self.share * self.duration

    @property
    def way(self) -> float:
        """Length of this part [characteristic lengths, rad]."""
        return self.share * self.length

    def left(self, system: Evaluations) -> tuple[int, float]:
        """Return the row whose change the rates explain least, and the unexplained change in characteristic units."""
        explained = 0.5 * self.share * (self.begin.change + self.end.change)
        gap = (
            np.abs(self.end.residual - self.begin.residual - explained)
            * system.characteristic.rows[: system.nh]
        )
        row = int(np.argmax(gap))
        return row, float(gap[row])

    def halves(self, system: Evaluations) -> list[Self]:
        """Return the second half and the first."""
        share = 0.5 * self.share
        q = system.move(self.begin.q, share * self.step)
        middle = _Given.at(system, q, self.begin.time + share * self.duration, self.step, self.duration)
        return [
            self._replace(begin=middle, share=share),
            self._replace(end=middle, share=share),
        ]


def _beyond(system: Evaluations, times: Array, q: Array, v: Array, a: Array) -> Array:
    """Return the changes of coordinates between records that velocities and accelerations do not explain.

    For coordinates that are not integrals of a velocity, such as quaternions, the whole change.
    """
    h, way = (times[1:] - times[:-1])[:, None], q[1:] - q[:-1]
    explained = (0.5 * h) * (v[1:] + v[:-1]) - (h**2 / 12) * (a[1:] - a[:-1])
    of, by, columns = system.model.cached("integrals", lambda: _integrals(system))
    way[:, of] = (way[:, of] - explained[:, by]) * columns
    return np.maximum.reduce(np.abs(way), axis=1)


def _integrals(system: Evaluations) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return the coordinates that are integrals of a velocity, the numbers of the velocities, and characteristic
    units.
    """
    place = {name: k for k, name in enumerate(system.velocity_names)}
    of = [k for k, name in enumerate(system.coordinate_names) if name in place]
    by = np.array([place[system.coordinate_names[k]] for k in of], dtype=np.int64)
    return np.array(of, dtype=np.int64), by, system.characteristic.columns[by]


def _torn(system: Evaluations, run: Quantities, beyond: Array, moment: float) -> Leap | None:
    """Return the first coordinate that moves farther within ``moment`` than its velocities in the whole run explain.

    Near a configuration that is singular but for the digits of the model, a motion turns back within a time of the
    order of the square root of these digits; this is no jump.
    """
    h, least = np.diff(run.t), max(LEAST_JUMP, data_of(system).passing_cut)
    for n in np.flatnonzero((beyond > least) & (h < moment)):
        for k, j in zip(*_integrals(system)[:2]):
            fastest, hardest = np.abs(run.v[:, j]).max(), np.abs(run.a[:, j]).max()
            way = abs(float(run.q[n + 1, k] - run.q[n, k]))
            if way * system.characteristic.columns[j] > least and way > JUMP_FAST * (
                h[n] * fastest + h[n] ** 2 * hardest
            ):
                return Leap(system.coordinate_names[k], float(run.t[n + 1]), way, is_constraint=False)
    return None
