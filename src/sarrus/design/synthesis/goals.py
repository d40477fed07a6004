"""Goals and constraints of a design: targets, costs, peaks, limits and clearances at conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import positive_number, real_array, three_numbers
from sarrus.control.tolerances import ORTHONORMAL_AXES
from sarrus.design.synthesis.conditions import Condition
from sarrus.design.synthesis.quantities import Quantities
from sarrus.design.synthesis.tolerances import GOAL_REACHED

Kind = Literal["squares", "cost", "peak", "between"]
Expression = Callable[[Quantities], ca.SX]


@dataclass(frozen=True, eq=False)
class Goal:
    """An expression at conditions and its use in the cost; made by the functions of this module.

    ``kind``: "squares" adds weight × the sum of its squares to the cost, "cost" weight × its sum, "peak" weight × its
    largest absolute value; "between" is a constraint by ``limits``. ``given`` (n, k) are numbers of each condition, the
    second argument of the expression. ``within``: squares with a larger value count as missed.
    """

    name: str
    at: tuple[Condition, ...]
    trace: Callable[[Quantities, ca.SX], ca.SX]
    kind: Kind
    weight: float = 1.0
    given: Array = field(default_factory=lambda: np.zeros((0, 0)))
    within: float | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Linear:
    """A constraint lower ≤ Σ coefficient × parameter ≤ upper."""

    coefficients: Mapping[str, float]
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Clearance:
    """A distance from singularity: the smallest singular value of loops and drivers is ≥ ``least`` at conditions.

    It is that of [A; E] with rows and velocities in characteristic units, E the rows of the drivers: zero where the
    drivers do not determine the motion, as at the dead centre of a crank.
    """

    at: tuple[Condition, ...]
    least: float


def linear(
    coefficients: Mapping[str, float],
    *,
    equal: float | None = None,
    lower: float = -np.inf,
    upper: float = np.inf,
) -> Linear:
    """Return a linear constraint on parameters: Σ coefficient × parameter equal to a number, or within limits."""
    if equal is not None:
        lower = upper = equal
    numbers = [*coefficients.values(), *(b for b in (lower, upper) if np.isfinite(b))]
    if not coefficients or not np.isfinite(numbers).all() or lower > upper or np.isnan([lower, upper]).any():
        raise ArgumentError(
            "linear: give coefficients by name of a parameter, finite, and equal=, or lower= and upper= with lower ≤ "
            "upper",
            element="linear",
        )
    if not (np.isfinite(lower) or np.isfinite(upper)):
        raise ArgumentError(
            "linear: give equal=, lower= or upper=; without any it is no constraint", element="linear"
        )
    return Linear(dict(coefficients), float(lower), float(upper))


def clearance(at: Condition | Sequence[Condition], least: float) -> Clearance:
    """Return the constraint that the smallest singular value of loops and drivers is at least ``least`` > 0."""
    least = positive_number(least, "clearance: least", element="least")
    return Clearance(_conditions("clearance", at), least)


def point(
    body: str,
    position: ArrayLike,
    targets: ArrayLike,
    at: Condition | Sequence[Condition],
    *,
    axes: str = "xyz",
    weight: float = 1.0,
    within: float = GOAL_REACHED,
) -> Goal:
    """Return the goal that a point of a body passes through targets (n, number of axes) [m], one for each condition.

    ``position`` (3,) is in axes of the body, targets in world axes; ``axes`` such as "xy" selects components. If a
    target is missed by more than ``within`` [m] the design is the nearest one, with status NOT_ACHIEVABLE.
    """
    conditions, name = _conditions("point", at), f"point of {body}"
    chosen = chosen_axes(axes)
    return Goal(
        name,
        conditions,
        lambda s, target: s.position(body, three_numbers(position, "position"))[chosen] - target,
        "squares",
        _weight(name, weight),
        _rows(name, targets, len(conditions), len(chosen)),
        within,
    )


def pose(
    body: str,
    positions: ArrayLike,
    rotations: ArrayLike,
    at: Condition | Sequence[Condition],
    *,
    length: float = 1.0,
    weight: float = 1.0,
    within: float = GOAL_REACHED,
) -> Goal:
    """Return the goal that a body takes poses: positions (n, 3) [m] of its origin and axes (n, 3, 3) as columns.

    The error is the distance, and length / √2 × the difference of the axes: ``length`` [m] × angle for small angles.
    """
    conditions, name = _conditions("pose", at), f"pose of {body}"
    n = len(conditions)
    axes = real_array(rotations).reshape(-1, 3, 3) if real_array(rotations).size == 9 * n else None
    if axes is None or not np.allclose(axes @ axes.transpose(0, 2, 1), np.eye(3), atol=ORTHONORMAL_AXES):
        raise ArgumentError(f"{name}: rotations must be {n} orthonormal 3 × 3 matrices", element=body)
    given = np.hstack([_rows(name, positions, n, 3), axes.transpose(0, 2, 1).reshape(n, 9)])

    def trace(s: Quantities, target: ca.SX) -> ca.SX:
        turned = ca.vec(s.rotation(body)) - target[3:]
        return ca.vertcat(s.position(body) - target[:3], length / np.sqrt(2.0) * turned)

    return Goal(name, conditions, trace, "squares", _weight(name, weight), given, within)


def function(
    coordinate: str,
    values: ArrayLike,
    at: Condition | Sequence[Condition],
    *,
    weight: float = 1.0,
    within: float | None = None,
) -> Goal:
    """Return the goal that a coordinate has values (n,) [rad, m] at conditions: function generation.

    Errors of angles include whole turns. ``within``: see `point`; None for the best fit.
    """
    conditions, name = _conditions("function", at), f"function of {coordinate}"
    given = _rows(name, values, len(conditions), 1)
    return Goal(
        name,
        conditions,
        lambda s, x: s.coordinate(coordinate) - x,
        "squares",
        _weight(name, weight),
        given,
        within,
    )


def squares(
    expression: Expression,
    at: Condition | Sequence[Condition],
    *,
    weight: float = 1.0,
    within: float | None = None,
    name: str = "squares",
) -> Goal:
    """Return a user-defined goal: weight × Σ of the squares of an expression of `Quantities`, a number or column."""
    return Goal(
        name,
        _conditions(name, at),
        lambda s, _: expression(s),
        "squares",
        _weight(name, weight),
        within=within,
    )


def cost(
    expression: Expression, at: Condition | Sequence[Condition], *, weight: float = 1.0, name: str = "cost"
) -> Goal:
    """Return a user-defined goal: weight × Σ of a CasADi expression of `Quantities` over the conditions."""
    return Goal(name, _conditions(name, at), lambda s, _: expression(s), "cost", _weight(name, weight))


def peak(
    expression: Expression, at: Condition | Sequence[Condition], *, weight: float = 1.0, name: str = "peak"
) -> Goal:
    """Return the goal that minimises the largest absolute value of an expression over the conditions.

    It adds a variable that is an upper bound of all absolute values, and minimises it.
    """
    return Goal(name, _conditions(name, at), lambda s, _: expression(s), "peak", _weight(name, weight))


def between(
    expression: Expression,
    at: Condition | Sequence[Condition],
    lower: float = -np.inf,
    upper: float = np.inf,
    *,
    name: str = "between",
) -> Goal:
    """Return the constraint that an expression, a number or column, stays within limits at conditions."""
    if not lower <= upper:
        raise ArgumentError(
            f"{name}: lower must not be above upper, got {lower:g} and {upper:g}", element=name
        )
    limits = (float(lower), float(upper))
    return Goal(name, _conditions(name, at), lambda s, _: expression(s), "between", limits=limits)


def _conditions(name: str, at: Condition | Sequence[Condition]) -> tuple[Condition, ...]:
    found = tuple(at) if isinstance(at, Sequence) else (at,)
    if not found or not all(isinstance(c, Condition) for c in found):
        raise ArgumentError(
            f"{name}: at must be a Configuration, a Rest, or a sequence of them", element=name
        )
    return found


def _weight(name: str, weight: float) -> float:
    return positive_number(weight, f"{name}: weight", element=name)


def chosen_axes(axes: str) -> list[int]:
    """Return the numbers of letters of "xyz"; `ArgumentError` for other and repeated letters."""
    if not axes or any(letter not in "xyz" for letter in axes) or len(set(axes)) != len(axes):
        raise ArgumentError(f'axes must be letters of "xyz", got {axes!r}', element="axes")
    return ["xyz".index(letter) for letter in axes]


def _rows(name: str, values: ArrayLike, n: int, width: int) -> Array:
    array = real_array(values)
    if array.size != n * width or not np.isfinite(array).all():
        raise ArgumentError(
            f"{name}: needs {n} × {width} finite numbers, one row for each condition, got shape {array.shape}",
            element=name,
        )
    return array.reshape(n, width)
