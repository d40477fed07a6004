"""Units of coordinates, velocities and multipliers, for labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sarrus.dynamics.model.described import Described

_TURNING_ROWS = ("n1", "n2", "rx", "ry", "rz", "perpendicular")
# Units of the elementary joints.
_OF_COORDINATES = {"prismatic": ("m",), "spherical": ("1",) * 4, "free": ("m",) * 3 + ("1",) * 4}
_OF_VELOCITIES = {"prismatic": ("m/s",), "spherical": ("rad/s",) * 3, "free": ("m/s",) * 3 + ("rad/s",) * 3}


def coordinate_units(system: Described) -> tuple[str, ...]:
    """Return the unit of each coordinate: m, rad, 1 for quaternions, A for currents, else empty."""
    units = _units(system, _OF_COORDINATES, ("rad",), system.nq)
    currents = system.mechanism.current_names if system.mechanism else ()
    return tuple("A" if name in currents else unit for name, unit in zip(system.coordinate_names, units))


def velocity_units(system: Described) -> tuple[str, ...]:
    """Return the unit of each velocity: m/s or rad/s; empty if unknown."""
    return _units(system, _OF_VELOCITIES, ("rad/s",), system.nv)


def _units(
    system: Described, units: Mapping[str, tuple[str, ...]], other: tuple[str, ...], size: int
) -> tuple[str, ...]:
    joints = system.mechanism.joints() if system.mechanism else ()
    known = [unit for j in joints for kind, _ in j.series for unit in units.get(kind, other)]
    return (*known, *("",) * (size - len(known)))


def constraint_units(system: Described) -> tuple[str, ...]:
    """Return the unit of each multiplier: N or N m; empty for couplings and if unknown."""
    if system.mechanism is None:
        return ("",) * system.nc
    couplings = system.mechanism.couplings
    return tuple(
        "" if element.name in couplings else "N m" if row.rpartition(".")[2] in _TURNING_ROWS else "N"
        for element in system.mechanism.constraints()
        for row in element.row_names
    )


def labels(system: Described) -> dict[str, Any]:
    """Return names and units of coordinates, velocities, actuators and rows, as arguments of `Trajectory`."""
    names = {
        f"{kind}_names": getattr(system, f"{kind}_names")
        for kind in ("coordinate", "velocity", "actuator", "constraint")
    }
    return {
        **names,
        "coordinate_units": coordinate_units(system),
        "velocity_units": velocity_units(system),
        "constraint_units": constraint_units(system),
    }
