"""Names and units of states and outputs of a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import check_known, check_sequence
from sarrus.dynamics.model.units import coordinate_units, velocity_units
from sarrus.dynamics.system import System

Entry = TypeVar("Entry")


def rate_name(name: str) -> str:
    """Return the name of the rate of a coordinate."""
    return f"{name}.rate"


def output_matrix(
    system: System, outputs: Sequence[str], tangent: Array, rate: Array | None
) -> tuple[tuple[str, ...], Array]:
    """Return names and C (ny, n) of named coordinates and velocities of the whole mechanism.

    "boom" is a coordinate and "boom.rate" the velocity of that name; a velocity without a coordinate, such as
    "trunk.wx", may omit ".rate". ``tangent`` as in `LinearSystem`; ``rate`` is N, None for the identity.
    """
    check_sequence("outputs", outputs)
    velocities = tangent[system.nv :]
    of_q = tangent[: system.nv] if rate is None else rate @ tangent[: system.nv]
    rows = _by_name(system, list(of_q), list(velocities))
    for name in outputs:
        check_known("output", name, rows, "outputs")
    names = tuple(outputs)
    return names, np.array([rows[name] for name in names]).reshape(len(names), tangent.shape[1])


def output_units(system: System, names: Sequence[str]) -> tuple[str, ...]:
    """Return the units of named coordinates and velocities; () if unknown."""
    units = _by_name(system, coordinate_units(system), velocity_units(system))
    return tuple(units[name] for name in names)


def _by_name(system: System, coordinates: Sequence[Entry], velocities: Sequence[Entry]) -> dict[str, Entry]:
    """Return the entry of each coordinate and velocity by its name as an output."""
    out = dict(zip(system.velocity_names, velocities))
    out |= zip(map(rate_name, system.velocity_names), velocities)
    return out | dict(zip(system.coordinate_names, coordinates))
