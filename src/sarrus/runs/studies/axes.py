"""The axes of a study: parameters, initial values and controls that differ from run to run, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import finite_array
from sarrus.dynamics.model.units import coordinate_units, velocity_units
from sarrus.dynamics.system import System

# Prefixes of the names of initial coordinates, initial velocities and controls. Parameters have none.
STATES = ("q", "v", "u")


@dataclass(frozen=True)
class Axis:
    """One axis: a parameter (kind "p"), or an entry of the initial q or v, or of the controls u."""

    name: str
    kind: str
    index: int
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Axes:
    """All axes with their values: of a grid (``shape`` has an entry for each axis), or of samples (one entry).

    Runs of a grid are numbered with the last axis fastest.
    """

    axes: tuple[Axis, ...]
    values: tuple[Array, ...]
    is_grid: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the run dimensions of the result."""
        lengths = tuple(len(values) for values in self.values)
        return lengths if self.is_grid else lengths[:1]

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the run dimensions."""
        return tuple(axis.name for axis in self.axes) if self.is_grid else ("run",)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(np.prod(self.shape))

    def part(self, first: int, last: int) -> dict[str, Array]:
        """Return the values of the runs from ``first`` to before ``last``, by the names of the axes."""
        if not self.is_grid:
            return {axis.name: values[first:last] for axis, values in zip(self.axes, self.values)}
        places = np.unravel_index(np.arange(first, last), self.shape)
        return {axis.name: values[at] for axis, values, at in zip(self.axes, self.values, places)}


def known_axes(system: System) -> list[Axis]:
    """Return all possible axes of a system; a parameter may have the name of another axis."""
    found = [
        Axis(name, "p", k)
        for k, name in enumerate(system.parameters)
        if not name.startswith(("active.", "stick.", "anchor."))
    ]
    units = coordinate_units(system), velocity_units(system), ("",) * system.nu
    names = system.coordinate_names, system.velocity_names, system.actuator_names
    for kind, own, unit in zip(STATES, names, units):
        found += [Axis(f"{kind}.{name}", kind, k, unit[k]) for k, name in enumerate(own)]
    return found


def read_axes(system: System, grid: Mapping[str, Any] | None, samples: Mapping[str, Any] | None) -> Axes:
    """Return the requested axes; an invalid one is an `ArgumentError` with its name."""
    if (grid is None) == (samples is None):
        raise ArgumentError("give either grid or samples, not both", element="grid")
    given, what = (grid, "grid") if grid is not None else (samples, "samples")
    if not isinstance(given, Mapping) or not given:
        raise ArgumentError(
            f"{what} must map names to their values, such as "
            f"{{{known_axes(system)[0].name!r}: [...]}}, got {given!r}",
            element=what,
        )
    known = known_axes(system)
    axes = tuple(_axis(system, known, name, what) for name in given)
    values = tuple(_values(name, column, what) for name, column in given.items())
    lengths = {name: len(column) for name, column in zip(given, values)}
    if samples is not None and len(set(lengths.values())) > 1:
        different = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise ArgumentError(f"samples: all axes must have one length: {different}", element="samples")
    return Axes(axes, values, grid is not None)


def _axis(system: System, known: Sequence[Axis], name: str, what: str) -> Axis:
    found, valid = [axis for axis in known if axis.name == name], [axis.name for axis in known]
    advice = ""
    if system.mechanism is not None and isinstance(name, str) and not name.startswith(("q.", "v.", "u.")):
        advice = 'Numbers of the mechanism become parameters by sr.System(mechanism, parameters={"m": "link.mass"})'
    check_known("axis", name, valid, f"{system.name}: {what}", advice=advice)
    if len(found) > 1:
        raise ArgumentError(
            f"{system.name}: {what}: {name!r} is a parameter and an initial value or a control; "
            "give the parameter another name",
            element=name,
        )
    return found[0]


def _values(name: str, given: Any, what: str) -> Array:
    if hasattr(given, "ppf"):
        raise ArgumentError(
            f"{what}[{name!r}] is a distribution: draw from it with samples=sr.studies.draw({{...}}, runs=...)",
            element=name,
        )
    values = finite_array(given)
    if values is None or values.ndim != 1 or not len(values):
        raise ArgumentError(
            f"{what}[{name!r}] must be a sequence of finite numbers, got {given!r}", element=name
        )
    if what == "grid" and len(np.unique(values)) != len(values):
        raise ArgumentError(f"grid[{name!r}] has a value twice", element=name)
    return values.copy()
