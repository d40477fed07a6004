"""`Variables`: the variables of a search, with bounds and scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.design.synthesis.conditions import Condition, Configuration
from sarrus.design.synthesis.tolerances import NEAR_VARIABLE_BOUND
from sarrus.dynamics.system import System
from sarrus.symbolic.multibody.parameters import Drive


@dataclass(frozen=True, eq=False)
class Variables:
    """The parameters of the description, then values of free drivers, such as "crank[2]" of the third condition.

    Attributes
    ----------
    names, start, lower, upper, scale : (n,) of each. parameters : number of parameters among them.
    drivers : (condition, driver) → place of its free drivers.
    """

    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array
    scale: Array
    parameters: int
    drivers: Mapping[tuple[int, str], int]

    def values(self, x: Array) -> dict[str, float]:
        """Return the parameters by name."""
        return {name: float(value) for name, value in zip(self.names[: self.parameters], x)}

    def stops(self, x: Array, step: Array) -> np.ndarray:
        """Return the mask of variables at a bound that a step would cross."""
        return ((x <= self.lower) & (step < 0.0)) | ((x >= self.upper) & (step > 0.0))

    def active(self, x: Array) -> tuple[str, ...]:
        """Return the names of the variables at a bound."""
        near = NEAR_VARIABLE_BOUND * self.scale
        at = (x - self.lower <= near) | (self.upper - x <= near)
        return tuple(name for name, there in zip(self.names, at) if there)


def read_variables(
    system: System,
    conditions: Sequence[Condition],
    bounds: Mapping[str, tuple[float, float]],
    scales: Mapping[str, float],
) -> Variables:
    """Return the variables of a problem; `ArgumentError` for unknown names and bounds that a description does not
    allow.
    """
    label = system.name
    parameters = system.equations.design_parameters
    free = [(k, d) for k, c in enumerate(conditions) if isinstance(c, Configuration) for d in c.free]
    names = (*parameters, *(f"{d}[{k}]" for k, d in free))
    start = [system.parameters[name] for name in parameters]
    for k, driver in free:
        condition = conditions[k]
        assert isinstance(condition, Configuration)
        check_known("driver", driver, condition.drivers, f"{label}: free of condition {k}")
        start.append(float(condition.drivers[driver]))
    x = np.array(start, dtype=float)
    lower, upper = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for name, pair in bounds.items():
        check_known("variable", name, names, f"{label}: bounds")
        low, high = _pair(label, name, pair)
        i = names.index(name)
        if not low <= x[i] <= high:
            raise ArgumentError(
                f"{label}: {name!r} starts at {x[i]:g}, outside its bounds {low:g} to {high:g}", element=name
            )
        lower[i], upper[i] = low, high
    scale = np.array([_size(value, low, high) for value, low, high in zip(x, lower, upper)])
    for name, value in scales.items():
        check_known("variable", name, names, f"{label}: scales")
        if not (isinstance(value, (int, float, np.number)) and 0.0 < value < np.inf):
            raise ArgumentError(
                f"{label}: the scale of {name!r} must be positive, got {value!r}", element=name
            )
        scale[names.index(name)] = value
    for drive in system.model.driven.drives:
        _bound(label, drive, names, lower, upper)
    places = {key: len(parameters) + i for i, key in enumerate(free)}
    return Variables(names, x, lower, upper, scale, len(parameters), places)


def _pair(label: str, name: str, pair: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(b) for b in pair)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not low < high:
        raise ArgumentError(
            f"{label}: bounds of {name!r} must be a pair (lower, upper) with lower < upper, got {pair!r}",
            element=name,
        )
    return low, high


def _size(value: float, low: float, high: float) -> float:
    """Return the scale of a variable: half the distance between its bounds, else its size, else one."""
    if np.isfinite(high - low):
        return 0.5 * (high - low)
    return abs(value) if value != 0.0 else 1.0


def _bound(label: str, drive: Drive, names: Sequence[str], lower: Array, upper: Array) -> None:
    """Bound a variable that has no bound by the range of its number in the description; refuse bounds beyond that
    range.
    """
    least = drive.entry.least
    if least is None:
        return
    if drive.entry.positive:
        least = np.nextafter(least, np.inf)
    places = [(names.index(name), factor) for name, factor in drive.factors.items() if factor != 0.0]
    lowest = drive.offset + sum(min(f * lower[i], f * upper[i]) for i, f in places)
    if lowest >= least or (lowest == -np.inf and len(places) > 1):
        return  # the second are looked at when they are tried
    if np.isfinite(lowest):
        bound = ", ".join(f"{names[i]!r} in {lower[i]:g} to {upper[i]:g}" for i, _ in places)
        raise ArgumentError(
            f"{label}: {drive.entry} could be {lowest:g} within the bounds ({bound}); it must be "
            f"{'positive' if drive.entry.positive else f'at least {drive.entry.least:g}'}",
            element=names[places[0][0]],
        )
    ((i, factor),) = places
    edge = (least - drive.offset) / factor
    if factor > 0.0:
        lower[i] = max(lower[i], edge)
    else:
        upper[i] = min(upper[i], edge)
