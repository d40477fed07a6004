"""Trajectories as xarray datasets, NetCDF files and CSV tables.

One layout serves all: the dimensions time, coordinate, velocity, actuator, constraint and, where there are sensors,
sensor, each with its labels; units as attributes and as label variables; status and records as attributes, the latter
in JSON. The mechanism that moved, where there is one, is the text variable ``mechanism``
(`sarrus.model.builders.document`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.base.files import netcdf
from sarrus.base.files.atomic import checked_path, write_table
from sarrus.base.files.netcdf import Dataset, Variable
from sarrus.base.status import Status
from sarrus.model.builders.document import from_json, to_json
from sarrus.motion.records.geometry_log import COLUMNS, ContactLog
from sarrus.motion.records.recorded_motion import ARRAY_ATTRIBUTES, CHANNELS, DIMENSIONS, RecordedMotion
from sarrus.motion.records.records import EventRecord, LimitCrossing, Passage, SwitchRecord

if TYPE_CHECKING:
    import xarray as xr

    from sarrus.dynamics.solve.sensing import Readings

FORMAT = "sarrus trajectory 1"
_KEPT = "the trajectory is still in memory"
_ROWS = 4096  # of a table that are made at a time

SENSOR_ATTRIBUTES = {"long_name": "readings of the sensors"}
MECHANISM_ATTRIBUTES = {"long_name": "description of the mechanism, JSON"}
MEETING_ATTRIBUTES = {"long_name": "contacts between geometries"}
LABELS = ("coordinate", "velocity", "actuator", "constraint", "contact_row", "invariant")
_ALWAYS = ("coordinate", "velocity", "actuator", "constraint", "sensor")  # labelled where there are none, too
UNITS = ("coordinate", "velocity", "constraint")
_LATER = ("determined_until", "contact_residual", "mean_contacts", "sample_time", "held_controls")
# What else a trajectory has: numbers and texts, and tuples of records.
SCALARS = {
    f.name: kind for f in fields(RecordedMotion) for kind in (str, int, float) if f.type == kind.__name__
}
RECORDS: dict[str, type] = {
    f.name: kind
    for f in fields(RecordedMotion)
    for kind in (Passage, LimitCrossing, EventRecord, SwitchRecord)
    if f.type == f"tuple[{kind.__name__}, ...]"
}


def attributes(trajectory: RecordedMotion) -> dict[str, Any]:
    """Return all data of a trajectory that are not arrays: format, name, status, numbers, records as JSON."""
    plain = {key: kind(getattr(trajectory, key)) for key, kind in SCALARS.items()}
    records = {key: json.dumps([asdict(r) for r in getattr(trajectory, key)]) for key in RECORDS}
    return {"format": FORMAT, "status": trajectory.status.name, **plain, **records}


def mechanism_text(trajectory: RecordedMotion) -> str | None:
    """Return the description of the mechanism as JSON text; None for equations without a mechanism."""
    system, mechanism = trajectory.system, trajectory.mechanism
    if mechanism is None and system is not None and system.mechanism is not None:
        values = {**system.parameters, **trajectory.parameters}
        mechanism = system.model.driven.apply(system.mechanism, values)
    return None if mechanism is None else to_json(mechanism)


def _dimensions(trajectory: RecordedMotion) -> dict[str, tuple[str, ...]]:
    """Return the dimensions after time of all arrays; contacts and invariants only if there are any."""
    has = bool(trajectory.contact_row_names or trajectory.contact_log.names)
    kept = bool(trajectory.invariant_names)
    return {
        key: along
        for key, along in DIMENSIONS.items()
        if (kept if key == "invariants" else has or not key.startswith("contact_"))
    }


def contents(trajectory: RecordedMotion, singularity: bool = False) -> Dataset:
    """Return all arrays and labels of a trajectory, by their names in files and datasets.

    The channels of singularity are included if ``singularity`` is True or the file had them.
    """
    found = {
        key: Variable(("time", *dimensions), getattr(trajectory, key), ARRAY_ATTRIBUTES[key])
        for key, dimensions in _dimensions(trajectory).items()
    }
    for key, channel in _channels(trajectory, singularity).items():
        found[key] = Variable(("time",), channel, CHANNELS[key])
    known = dict(vars(trajectory))
    if readings := _readings(trajectory):
        found["sensors"] = Variable(("time", "sensor"), readings.array, SENSOR_ATTRIBUTES)
        known |= {"sensor_names": readings.labels, "sensor_units": readings.units}
    labels = {"time": Variable(("time",), trajectory.t, {"units": "s"}), **axis_labels(known)}
    if (contact_log := trajectory.contact_log).names:
        found["contact_log"] = Variable(("meeting", "meeting_entry"), contact_log.table, MEETING_ATTRIBUTES)
        labels |= axis_labels({"geometry_contact_names": contact_log.names, "meeting_entry_names": COLUMNS})
    if (text := mechanism_text(trajectory)) is not None:
        found["mechanism"] = Variable((), np.array(text, dtype=object), MECHANISM_ATTRIBUTES)
    return Dataset(found, labels, attributes(trajectory))


def axis_labels(known: Mapping[str, Any]) -> dict[str, Variable]:
    """Return the labels along dimensions, names and units as `sarrus.dynamics.model.units.labels` has them."""
    found = {}
    for dimension in (*LABELS, "sensor", "geometry_contact", "meeting_entry"):
        for label, kind in ((dimension, "names"), (f"{dimension}_unit", "units")):
            own = known.get(f"{dimension}_{kind}")
            if own or (own is not None and kind == "names" and dimension in _ALWAYS):
                found[label] = Variable((dimension,), np.array(own, dtype=str))
    return found


def _readings(trajectory: RecordedMotion) -> Readings | None:
    """Return the sensor readings; None if no mechanism is known or a measured force is not."""
    if trajectory.mechanism is None and getattr(trajectory.system, "mechanism", None) is None:
        return None
    from sarrus.motion.records.readings import read_run  # here: it brings CasADi

    return read_run(trajectory)


def _channels(trajectory: RecordedMotion, wanted: bool) -> dict[str, np.ndarray]:
    """Return the channels of singularity by name; empty if they are neither wanted nor from a file."""
    if not wanted and trajectory.channels is None:
        return {}
    from sarrus.motion.records.singularity_channels import channels_of, rates_of  # here: it brings CasADi

    return {**channels_of(trajectory)._asdict(), "singular_value_rate": rates_of(trajectory)}


def to_xarray(trajectory: RecordedMotion, singularity: bool = False) -> xr.Dataset:
    """Return the labelled dataset of a trajectory."""
    return contents(trajectory, singularity).to_xarray()


def save(trajectory: RecordedMotion, path: str | Path, singularity: bool = False) -> Path:
    """Write a trajectory to a NetCDF file; see `Trajectory.save`."""
    path = checked_path(path, (".nc",), "a trajectory is saved as NetCDF")
    contents(trajectory, singularity).save(path, kept=_KEPT)
    return path


def load(path: str | Path, verify: bool = True) -> dict[str, Any]:
    """Return the attributes of a trajectory from a NetCDF file; see `Trajectory.load`."""
    what = "a trajectory that sarrus saved"
    with netcdf.opened(Path(path), what, verify=verify) as (variables, facts):
        if facts.get("format") != FORMAT:
            raise ArgumentError(f"not {what} (its attribute 'format' is not {FORMAT!r})", element=str(path))
        return _read(variables, facts)


def _read(variables: dict[str, Variable], facts: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "t": variables["time"].values,
        **{key: variables[key].values for key in DIMENSIONS if key in variables},
    }
    for dimension in LABELS:
        if dimension in variables:  # files of before have no contact rows
            found[f"{dimension}_names"] = tuple(variables[dimension].values.tolist())
    for dimension in UNITS:
        if f"{dimension}_unit" in variables:
            found[f"{dimension}_units"] = tuple(variables[f"{dimension}_unit"].values.tolist())
    if "contact_log" in variables:
        names = tuple(variables["geometry_contact"].values.tolist())
        found["contact_log"] = ContactLog(names, variables["contact_log"].values)
    if "sensors" in variables:
        found["readings"] = variables["sensors"].values
    kept = [variables[name].values for name in CHANNELS if name in variables]
    if len(kept) >= len(CHANNELS) - 1:  # older files have no rate
        found["channels"] = np.stack(kept, axis=1)
    # Older files know nothing of these.
    known = {key: kind for key, kind in SCALARS.items() if key in facts or key not in _LATER}
    found |= {key: kind(facts[key]) for key, kind in known.items()}
    for key, record in RECORDS.items():
        items = [
            {name: tuple(x) if isinstance(x, list) else x for name, x in item.items()}
            for item in json.loads(facts.get(key, "[]"))
        ]
        found[key] = tuple(record(**item) for item in items)
    if "mechanism" in variables:
        found["mechanism"] = from_json(variables["mechanism"].values.item())
    return {"status": Status[facts["status"]], **found}


def save_csv(trajectory: RecordedMotion, path: str | Path, singularity: bool = False) -> Path:
    """Write a trajectory as a table; see `Trajectory.to_csv`."""
    path = checked_path(path, (".csv",), "a table is saved as CSV")
    headers, columns = ["t [s]"], [trajectory.t]
    units = {
        "q": trajectory.coordinate_units,
        "v": trajectory.velocity_units,
        "multipliers": trajectory.constraint_units,
    }
    for key, dimensions in _dimensions(trajectory).items():
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
    for key, channel in _channels(trajectory, singularity).items():
        headers.append(key if (unit := CHANNELS[key]["units"]) == "1" else f"{key} [{unit}]")
        columns.append(channel)
    if readings := _readings(trajectory):
        headers += [
            f"{label} [{unit}]" if unit else label for label, unit in zip(readings.labels, readings.units)
        ]
        columns += list(readings.array.T)
    blocks = range(0, len(trajectory.t), _ROWS)
    form = ",".join("%d" if column.dtype.kind == "i" else "%.17g" for column in columns) + "\n"
    rows = (zip(*(column[k : k + _ROWS].tolist() for column in columns)) for k in blocks)
    write_table(path, headers, (form % row for row in chain.from_iterable(rows)), kept=_KEPT)
    return path
