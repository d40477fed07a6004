"""Trajectories as xarray datasets, NetCDF files and CSV tables.

One layout serves all: the dimensions time, coordinate, velocity, actuator and constraint, each with its
labels; units as attributes and as label variables; status and records as attributes, the latter in JSON. The
mechanism that moved, where there is one, is the text variable ``mechanism`` (`sarrus.mechanism.document`).
NetCDF goes straight through h5netcdf, which starts ten times faster than xarray.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.errors import ArgumentError
from sarrus.records import EventRecord, LimitCrossing, Passage, SwitchRecord
from sarrus.status import Status
from sarrus.trajectory import DIMENSIONS, Trajectory

if TYPE_CHECKING:
    import xarray as xr

    from sarrus.mechanism.mechanism import Mechanism

FORMAT = "sarrus trajectory 1"

ARRAY_ATTRIBUTES: dict[str, dict[str, str]] = {
    "q": {"long_name": "coordinates"},
    "v": {"long_name": "velocities"},
    "a": {"long_name": "accelerations"},
    "u": {"long_name": "controls"},
    "multipliers": {"long_name": "constraint multipliers"},
    "energy": {"long_name": "kinetic and potential energy", "units": "J"},
    "rank": {"long_name": "rank of the constraint Jacobian", "units": "1"},
    "condition": {"long_name": "condition number of the constraint Jacobian", "units": "1"},
    "residual": {"long_name": "largest position closure residual", "units": "m or rad"},
    "error": {"long_name": "estimated relative error of the coordinates", "units": "1"},
}
MECHANISM_ATTRIBUTES = {"long_name": "description of the mechanism, JSON"}
LABELS = ("coordinate", "velocity", "actuator", "constraint")
UNITS = ("coordinate", "velocity", "constraint")
RECORDS: dict[str, type] = {
    "passages": Passage,
    "limit_crossings": LimitCrossing,
    "events": EventRecord,
    "switches": SwitchRecord,
}
SCALARS: dict[str, type] = {
    "name": str,
    "message": str,
    "steps": int,
    "rejected": int,
    "wall_seconds": float,
    "determined_until": float,
}


def attributes(trajectory: Trajectory) -> dict[str, Any]:
    """Return everything that is no array: format, name, status, figures, records as JSON."""
    plain = {key: kind(getattr(trajectory, key)) for key, kind in SCALARS.items()}
    records = {key: json.dumps([asdict(r) for r in getattr(trajectory, key)]) for key in RECORDS}
    return {"format": FORMAT, "status": trajectory.status.name, **plain, **records}


def mechanism_text(trajectory: Trajectory) -> str | None:
    """Return the mechanism that moved, as text; None where none is known."""
    from sarrus.mechanism.document import to_json

    system, mechanism = trajectory.system, trajectory.mechanism
    if mechanism is None and system is not None and system.mechanism is not None:
        mechanism = system.current_mechanism()
    return None if mechanism is None else to_json(mechanism)


def to_xarray(trajectory: Trajectory) -> xr.Dataset:
    """Return the labelled dataset of a trajectory."""
    import xarray as xr

    data: dict[str, Any] = {
        key: (("time", *dimensions), getattr(trajectory, key), ARRAY_ATTRIBUTES[key])
        for key, dimensions in DIMENSIONS.items()
    }
    labels: dict[str, Any] = {"time": ("time", trajectory.t, {"units": "s"})}
    for dimension in LABELS:
        labels[dimension] = (dimension, np.array(trajectory.names(dimension), dtype=str))
    for dimension in UNITS:
        if units := getattr(trajectory, f"{dimension}_units"):
            labels[f"{dimension}_unit"] = (dimension, np.array(units, dtype=str))
    if (text := mechanism_text(trajectory)) is not None:
        data["mechanism"] = ((), np.array(text, dtype=object), MECHANISM_ATTRIBUTES)
    return xr.Dataset(data, coords=labels, attrs=attributes(trajectory))


def save(trajectory: Trajectory, path: str | Path) -> Path:
    """Write a trajectory to a NetCDF file; see `Trajectory.save`."""
    import h5netcdf
    import h5py

    path = checked_path(path, (".nc",), "a trajectory is saved as NetCDF")
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"time": len(trajectory.t), **{d: len(trajectory.names(d)) for d in LABELS}}
        file.create_variable("time", ("time",), data=trajectory.t).attrs["units"] = "s"
        for key, dimensions in DIMENSIONS.items():
            variable = file.create_variable(key, ("time", *dimensions), data=getattr(trajectory, key))
            variable.attrs.update(ARRAY_ATTRIBUTES[key])
        strings = {d: (d, trajectory.names(d)) for d in LABELS}
        strings |= {f"{d}_unit": (d, getattr(trajectory, f"{d}_units")) for d in UNITS}
        for key, (dimension, values) in strings.items():
            if values or key == dimension:
                variable = file.create_variable(key, (dimension,), dtype=h5py.string_dtype())
                variable[...] = np.array(values, dtype=object)
        if (text := mechanism_text(trajectory)) is not None:
            variable = file.create_variable("mechanism", (), dtype=h5py.string_dtype())
            variable[...] = np.array(text, dtype=object)
            variable.attrs.update(MECHANISM_ATTRIBUTES)
        file.attrs["coordinates"] = " ".join(f"{d}_unit" for d in UNITS if f"{d}_unit" in file.variables)
        file.attrs.update(attributes(trajectory))
    return path


def load(path: str | Path) -> Trajectory:
    """Read a trajectory from a NetCDF file; see `Trajectory.load`."""
    import h5netcdf

    path = Path(path)
    if not path.is_file():
        raise ArgumentError(f"{path}: no such file", element=str(path))
    try:
        with h5netcdf.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise ArgumentError(
                    f"{path}: no trajectory that sarrus saved (its attribute 'format' is not {FORMAT!r})",
                    element=str(path),
                )
            return _read(file)
    except (OSError, KeyError, ValueError, TypeError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"{path}: not a NetCDF-4 file, or a damaged one ({error})", element=str(path)
        ) from error


def _read(file: Any) -> Trajectory:
    fields: dict[str, Any] = {
        "t": file["time"][...],
        **{key: file[key][...] for key in DIMENSIONS if key in file},
    }
    for dimension in LABELS:
        fields[f"{dimension}_names"] = _strings(file[dimension])
    for dimension in UNITS:
        if f"{dimension}_unit" in file.variables:
            fields[f"{dimension}_units"] = _strings(file[f"{dimension}_unit"])
    attrs = file.attrs
    # Older files know nothing of determined_until.
    fields |= {
        key: kind(attrs[key]) for key, kind in SCALARS.items() if key in attrs or key != "determined_until"
    }
    for key, kind in RECORDS.items():
        items = json.loads(attrs.get(key, "[]"))
        fields[key] = tuple(kind(**{k: _tuple(x) for k, x in item.items()}) for item in items)
    return Trajectory(status=Status[attrs["status"]], mechanism=_mechanism(file), **fields)


def _mechanism(file: Any) -> Mechanism | None:
    if "mechanism" not in file.variables:
        return None
    from sarrus.mechanism.document import from_json

    text = file["mechanism"][()]
    return from_json(text.decode() if isinstance(text, bytes) else str(text))


def _strings(variable: Any) -> tuple[str, ...]:
    return tuple(s.decode() if isinstance(s, bytes) else str(s) for s in variable[...])


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def save_csv(trajectory: Trajectory, path: str | Path) -> Path:
    """Write a trajectory as a table; see `Trajectory.to_csv`."""
    path = checked_path(path, (".csv",), "a table is saved as CSV")
    headers, columns = ["t [s]"], [trajectory.t]
    units = {
        "q": trajectory.coordinate_units,
        "v": trajectory.velocity_units,
        "multipliers": trajectory.constraint_units,
    }
    for key, dimensions in DIMENSIONS.items():
        value = getattr(trajectory, key)
        if not dimensions:
            unit = ARRAY_ATTRIBUTES[key]["units"]
            headers.append(key if unit == "1" else f"{key} [{unit}]")
            columns.append(value)
            continue
        names = trajectory.names(dimensions[0])
        suffixes = [f" [{unit}]" if unit else "" for unit in units.get(key, ())] or [""] * len(names)
        headers += [f"{key} {name}{suffix}" for name, suffix in zip(names, suffixes)]
        columns += list(value.T)
    header = ",".join(f'"{h}"' if "," in h or '"' in h else h for h in headers)
    kinds = ["%d" if column.dtype.kind == "i" else "%.17g" for column in columns]
    row = ",".join(kinds)
    lines = [header, *(row % values for values in zip(*(column.tolist() for column in columns)))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def checked_path(path: str | Path, suffixes: tuple[str, ...], what: str) -> Path:
    """Return the path if its suffix is one of ``suffixes`` and its folder exists."""
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        valid = " or ".join(suffixes) if len(suffixes) < 3 else "one of " + ", ".join(suffixes)
        raise ArgumentError(
            f"{path}: {what}: the name must end in {valid}", element=str(path), valid=suffixes
        )
    if not path.parent.is_dir():
        raise ArgumentError(f"{path}: no such folder: {path.parent}", element=str(path))
    return path
