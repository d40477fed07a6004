"""Reference paths for control: functions of time, for floats and CasADi symbols, with the stated number of derivatives.

Each function here returns a function of t [s] with a column as its value. Laws differentiate it; `sample` returns
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.control.tolerances import ORTHONORMAL_AXES
from sarrus.model.mechanism.spline import Spline

__all__ = ["circle", "hold", "minimum_jerk", "sample", "via_points"]

Path = Callable[[Any], Any]


def hold(value: ArrayLike) -> Path:
    """Return the constant path at ``value``."""
    column = ca.DM(_vector(value, "value"))
    return lambda t: column + 0 * t


def minimum_jerk(start: ArrayLike, end: ArrayLike, duration: float, t0: float = 0.0) -> Path:
    """Return the minimum-jerk path from start to end in ``duration`` [s] from t0 on, at rest before and after.

    x = x₀ + (x₁ − x₀)(10 s³ − 15 s⁴ + 6 s⁵), s = (t − t0) / duration (Flash and Hogan 1985); twice continuously
    differentiable.
    """
    a, b = _vector(start, "start"), _vector(end, "end")
    _same_length(a, b)
    duration, t0 = _number(duration, "duration"), _number(t0, "t0")
    if not duration > 0.0:
        raise ArgumentError(f"duration must be positive [s], got {duration!r}", element="duration")

    def path(t: Any) -> Any:
        s = ca.fmin(ca.fmax((t - t0) / duration, 0.0), 1.0)
        return ca.DM(a) + ca.DM(b - a) * (s**3 * (10.0 + s * (-15.0 + 6.0 * s)))

    return path


def via_points(times: Sequence[float], points: ArrayLike) -> Path:
    """Return the path through points (one row each) at increasing times [s]: a spline of degree five, at rest at both
    ends.

    Four times continuously differentiable between the ends; constant before and after.
    """
    return Spline.through(_array(times, "times"), _array(points, "points"), 5, "rest")


def circle(
    centre: ArrayLike,
    radius: float,
    angular_velocity: float,
    *,
    first: ArrayLike = (1.0, 0.0),
    second: ArrayLike = (0.0, 1.0),
    phase: float = 0.0,
) -> Path:
    """Return the circular path centre + radius (cos φ ``first`` + sin φ ``second``), φ = phase + angular_velocity t.

    angular_velocity [rad/s], phase [rad]; first and second are perpendicular unit vectors.
    """
    middle, a, b = _vector(centre, "centre"), _vector(first, "first"), _vector(second, "second")
    _same_length(middle, a)
    _same_length(middle, b)
    radius, phase = _number(radius, "radius"), _number(phase, "phase")
    angular_velocity = _number(angular_velocity, "angular_velocity")
    if not np.allclose([a @ a, b @ b, a @ b], [1.0, 1.0, 0.0], rtol=0.0, atol=ORTHONORMAL_AXES):
        raise ArgumentError(
            f"a circle needs directions first and second of length one at right angles, got {first!r}, {second!r}",
            element="first",
        )

    def path(t: Any) -> Any:
        angle = phase + angular_velocity * t
        return ca.DM(middle) + radius * (ca.cos(angle) * ca.DM(a) + ca.sin(angle) * ca.DM(b))

    return path


def sample(path: Path, times: ArrayLike, derivative: int = 0) -> Array:
    """Return the values of a path, or of its ``derivative``-th derivative, at times (n,): (n, rows)."""
    t = ca.SX.sym("t")
    value = ca.vec(ca.SX(path(t)))
    for _ in range(derivative):
        value = ca.jtimes(value, t, ca.SX(1))
    function = ca.Function("path", [t], [value])
    return np.array(function(_vector(times, "times")[None, :])).T


def _array(value: ArrayLike, what: str) -> Array:
    """Return an array of finite numbers."""
    try:
        array = real_array(value)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what} must be finite numbers, got {value!r}", element=what)
    return array


def _vector(value: ArrayLike, what: str) -> Array:
    vector = np.atleast_1d(_array(value, what))
    if vector.ndim != 1:
        raise ArgumentError(f"{what} must be a vector of numbers, got {value!r}", element=what)
    return vector


def _number(value: float, what: str) -> float:
    number = _array(value, what)
    if number.ndim:
        raise ArgumentError(f"{what} must be one number, got {value!r}", element=what)
    return float(number)


def _same_length(a: Array, b: Array) -> None:
    if a.shape != b.shape:
        raise ArgumentError(f"a path needs vectors of one length, got {len(a)} and {len(b)}", element="path")
