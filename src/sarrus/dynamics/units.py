"""Units of coordinates, velocities and multipliers, for labels."""

from __future__ import annotations

from typing import Any, Protocol

from sarrus.mechanism.mechanism import Mechanism

_TURNING_ROWS = ("n1", "n2", "rx", "ry", "rz", "perpendicular")


class Described(Protocol):
    """What has coordinates, velocities and rows with names: a model, a system, a workspace."""

    @property
    def mechanism(self) -> Mechanism | None: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def nc(self) -> int: ...
    @property
    def coordinate_names(self) -> tuple[str, ...]: ...
    @property
    def closure_rows(self) -> dict[str, slice]: ...


def coordinate_units(system: Described) -> tuple[str, ...]:
    """Return the unit of each coordinate: m, rad, 1 for the entries of quaternions, empty where unknown."""
    if system.mechanism is None:
        return ("",) * system.nq
    units: list[str] = []
    for joint in system.mechanism.joints():
        if joint.kind == "free":
            units += ["m"] * 3 + ["1"] * 4
        elif joint.kind == "spherical":
            units += ["1"] * 4
        else:
            units += ["m" if kind == "prismatic" else "rad" for kind, _ in joint.series]
    return (*units, *("",) * (system.nq - len(units)))


def velocity_units(system: Described) -> tuple[str, ...]:
    """Return the unit of each velocity: m/s or rad/s; empty where unknown."""
    if system.mechanism is None:
        return ("",) * system.nv
    units: list[str] = []
    for joint in system.mechanism.joints():
        if joint.kind == "free":
            units += ["m/s"] * 3 + ["rad/s"] * 3
        elif joint.kind == "spherical":
            units += ["rad/s"] * 3
        else:
            units += ["m/s" if kind == "prismatic" else "rad/s" for kind, _ in joint.series]
    return tuple(units)


def constraint_units(system: Described) -> tuple[str, ...]:
    """Return the unit of each multiplier: N or N m; empty for couplings and where unknown."""
    if system.mechanism is None:
        return ("",) * system.nc
    couplings = system.mechanism.couplings
    return tuple(
        "" if element.name in couplings else "N m" if row.rpartition(".")[2] in _TURNING_ROWS else "N"
        for element in system.mechanism.constraints()
        for row in element.row_names
    )


def labels(system: Described) -> dict[str, Any]:
    """Return names and units of coordinates, velocities, actuators and rows, as a `Trajectory` takes them."""
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
