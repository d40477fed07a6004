"""`Spline`: a piecewise polynomial function of time, an angle or a length: motions, cams, springs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import factorial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.model.mechanism.tolerances import PERIODIC

Ends = Literal["natural", "rest", "periodic"]
_DEGREES: dict[str, tuple[int, ...]] = {"natural": (1, 3), "rest": (3, 5), "periodic": (1, 3, 5)}


@dataclass(frozen=True, eq=False)
class Spline:
    """A piecewise polynomial with breaks at ``knots``, extended beyond the first and the last knot.

    Calling it with a number or a CasADi expression returns a column (rows, 1), one row for each column of the table.
    `Spline.through` makes it.

    ``knots`` (n,) increase. ``coefficients`` (n + 1, degree + 1, rows) belong to the n + 1 pieces, in powers of the
    distance to a knot: the first knot for the piece before it, else the knot at the beginning of the piece. A
    ``period`` (last knot − first knot) reduces the argument to the range of the knots.
    """

    knots: Array
    coefficients: Array
    period: float | None = None

    def __post_init__(self) -> None:
        n, width = len(self.knots), float(self.knots[-1] - self.knots[0]) if self.knots.size else 0.0
        fits = self.knots.ndim == 1 and n >= 2 and self.coefficients.ndim == 3
        fits = fits and self.coefficients.shape[0] == n + 1 and self.coefficients.size > 0
        if not fits or not (np.isfinite(self.knots).all() and np.isfinite(self.coefficients).all()):
            raise ArgumentError(
                "a spline has finite knots (n,) and coefficients (n + 1, degree + 1, rows), got shapes "
                f"{self.knots.shape} and {self.coefficients.shape}",
                element="coefficients",
            )
        if not np.all(np.diff(self.knots) > 0.0) or self.period not in (None, width):
            raise ArgumentError(
                "the knots of a spline must increase, and its period is the last less the first",
                element="knots",
            )

    @classmethod
    def through(cls, x: ArrayLike, y: ArrayLike, degree: int = 3, ends: Ends = "natural") -> Self:
        """Return the spline through a table, ``degree − 1`` times continuously differentiable.

        Parameters
        ----------
        x : (n,) increasing numbers, two at least. y : (n,) or (n, rows).
        degree : 1 (straight lines), 3 or 5. A prescribed motion has continuous accelerations from degree 3 on; with
            degree 1 its velocity jumps at the knots, and each jump is an impact.
        ends : "natural" (degree 1 or 3): the last slope continues. "rest" (3 or 5): slope zero, for degree 5 also
            curvature zero, at both ends, constant beyond. "periodic": y is equal at both ends, and the table repeats.

        Raises `ArgumentError` for other values, and for a table that is not finite or not increasing in x.
        """
        knots, rows = _table(x, y)
        if ends not in _DEGREES or degree not in _DEGREES[ends]:
            valid = ", ".join(f"{end} ({' or '.join(map(str, few))})" for end, few in _DEGREES.items())
            raise ArgumentError(
                f"a spline has ends and degree of {valid}, got {ends!r}, {degree!r}", element="degree"
            )
        if ends == "periodic" and np.abs(rows[-1] - rows[0]).max() > PERIODIC * np.abs(rows).max():
            raise ArgumentError(
                f"a periodic spline needs the same values at both ends, got {rows[0]} and {rows[-1]}",
                element="y",
            )
        pieces = _pieces(knots, rows, degree, ends)
        outer = np.zeros((2, degree + 1, rows.shape[1]))
        outer[:, 0] = rows[[0, -1]]
        if ends == "natural":
            outer[0, 1] = pieces[0, 1]
            powers = np.diff(knots)[-1] ** np.arange(degree)
            outer[1, 1] = (np.arange(1, degree + 1) * powers) @ pieces[-1, 1:]
        whole = np.concatenate([outer[:1], pieces, outer[1:]])
        period = float(knots[-1] - knots[0]) if ends == "periodic" else None
        return cls(read_only(knots), read_only(whole), period)

    @property
    def rows(self) -> int:
        """Number of functions, one for each column of the table."""
        return int(self.coefficients.shape[2])

    def __call__(self, x: Any) -> Any:
        """Return the values (rows, 1) at a number or a scalar CasADi expression."""
        import casadi as ca  # here, because a description does not need CasADi

        if self.period is not None:
            x = x - self.period * ca.floor((x - self.knots[0]) / self.period)
        begun = [1, *(1.0 * (x >= knot) for knot in self.knots), 0]
        degree, rows = self.coefficients.shape[1] - 1, self.rows
        flat = self.coefficients.reshape(len(begun) - 1, -1)
        origins = np.concatenate([self.knots[:1], self.knots])
        # selecting the coefficients, not the values, keeps derivatives short
        columns = ca.DM(np.hstack([origins[:, None], flat]).T)
        chosen = columns @ ca.vertcat(*[this - following for this, following in pairwise(begun)])
        s, value = x - chosen[0], 0
        for power in range(degree, -1, -1):
            value = chosen[1 + power * rows : 1 + (power + 1) * rows] + s * value
        return value

    def at(self, x: ArrayLike) -> Array:
        """Return the values (…, rows) at numbers x (…)."""
        places = real_array(x)
        if self.period is not None:
            places = places - self.period * np.floor((places - self.knots[0]) / self.period)
        piece = np.searchsorted(self.knots, places, side="right")
        s = places - np.concatenate([self.knots[:1], self.knots])[piece]
        value = np.zeros((*places.shape, self.rows))
        for power in range(self.coefficients.shape[1] - 1, -1, -1):
            value = self.coefficients[piece, power] + s[..., None] * value
        return value

    def integral(self, start: float = 0.0) -> Spline:
        """Return the integral from ``start`` as a spline of one degree more; `ArgumentError` for a periodic one."""
        if self.period is not None:
            raise ArgumentError("the integral of a periodic spline is no spline", element="period")
        count, order, rows = self.coefficients.shape
        out = np.zeros((count, order + 1, rows))
        out[:, 1:] = self.coefficients / np.arange(1, order + 1)[None, :, None]
        for i, width in enumerate(np.diff(self.knots)):
            out[i + 2, 0] = width ** np.arange(order + 1) @ out[i + 1]
        whole = Spline(self.knots, out)
        out[:, 0] -= whole.at(start)
        return Spline(self.knots, read_only(out))


def _table(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return a checked table: knots (n,) and rows (n, rows), finite numbers."""
    try:
        knots, rows = real_array(x), real_array(y)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"a spline needs a table of numbers: {error}", element="y") from error
    rows = rows[:, None] if rows.ndim == 1 else rows
    if knots.ndim != 1 or len(knots) < 2 or rows.ndim != 2 or len(rows) != len(knots):
        raise ArgumentError(
            f"a spline needs as many rows of y as numbers x, at least two; got {knots.shape} and {rows.shape}",
            element="y",
        )
    for name, array in (("x", knots), ("y", rows)):
        if not np.isfinite(array).all():
            raise ArgumentError(
                f"a spline needs finite numbers; {name} has infinite or undefined ones", element=name
            )
    if not np.all(np.diff(knots) > 0.0):
        raise ArgumentError("a spline needs numbers x that increase", element="x")
    return knots, rows


def _pieces(knots: Array, rows: Array, degree: int, ends: Ends) -> Array:
    """Return the coefficients of the n − 1 pieces between the knots."""
    if degree == 1:
        slopes = np.diff(rows, axis=0) / np.diff(knots)[:, None]
        return np.stack([rows[:-1], slopes], axis=1)
    from scipy.interpolate import make_interp_spline  # here, because its import takes a third of a second

    still = np.zeros(rows.shape[1])
    rest = [(k, still) for k in range(1, (degree + 1) // 2)]
    if ends == "periodic":
        rows = np.vstack([rows[:-1], rows[:1]])
    conditions: Any = (rest, rest) if ends == "rest" else ends
    spline = make_interp_spline(knots, rows, k=degree, bc_type=conditions)
    taylor = [spline.derivative(k)(knots[:-1]) / factorial(k) for k in range(1, degree + 1)]
    return np.stack([rows[:-1], *taylor], axis=1)
