"""The result of a study as an `xarray.Dataset`: in memory, or in a NetCDF file that is read on access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.base.files import netcdf
from sarrus.base.files.netcdf import Dataset, Variable
from sarrus.base.status import Status
from sarrus.dynamics.model.units import labels as names_and_units
from sarrus.motion.records.storage import axis_labels
from sarrus.runs.studies.axes import Axes
from sarrus.runs.studies.specification import Study

if TYPE_CHECKING:
    import xarray as xr

_STATUS_BYTES = 40  # of a run, as text
STATUS = {"long_name": "how the run ended, a name of sarrus.Status"}


def labels(study: Study, axes: Axes, used: Iterable[str]) -> dict[str, Variable]:
    """Return the coordinates of the dataset: axes, the time of samples, names and units along the dimensions used."""
    s, used = study.system, set(used)
    found: dict[str, Variable] = {}
    if not axes.is_grid:
        found["run"] = Variable(("run",), np.arange(axes.runs))
    for axis, values in zip(axes.axes, axes.values):
        attributes = {"units": axis.unit} if axis.unit else {}
        found[axis.name] = Variable((axis.name if axes.is_grid else "run",), values, attributes)
    if "time" in used:
        found["time"] = Variable(("time",), study.course.sample_times, {"units": "s"})
    known = {name: own for name, own in names_and_units(s).items() if name.partition("_")[0] in used}
    if s.mechanism is None:
        known = {name: own for name, own in known.items() if name.endswith("_names")}
    return found | axis_labels(known)


def in_memory(
    study: Study, axes: Axes, attributes: Mapping[str, Any], parts: Iterable[tuple[int, dict[str, Variable]]]
) -> xr.Dataset:
    """Return the dataset of parts, pairs of the first run and its columns, in any order.

    Missing runs have the status INTERRUPTED.
    """
    whole: dict[str, Variable] = {}
    for first, columns in parts:
        whole = whole or {name: _room(column, axes.runs) for name, column in columns.items()}
        for name, column in columns.items():
            whole[name].values[first : first + len(column.values)] = column.values
    data = {
        name: _over_axes(axes, name, column, column.values.reshape(*axes.shape, *column.values.shape[1:]))
        for name, column in whole.items()
    }
    used = [dimension for column in whole.values() for dimension in column.dimensions]
    return Dataset(data, labels(study, axes, used), attributes).to_xarray()


def merge(
    path: Path,
    study: Study,
    axes: Axes,
    attributes: Mapping[str, Any],
    parts: Iterator[tuple[int, dict[str, Variable]]],
) -> None:
    """Write the dataset of parts to a NetCDF file, whole or not at all."""
    head = next(parts)
    columns = head[1]
    rows = {name: column.values[0].nbytes for name, column in columns.items()} | {"status": _STATUS_BYTES}
    needed = axes.runs * sum(rows.values())
    with netcdf.large(path, kept="all chunks are in the store", needed=needed) as (file, disk):
        _declare(file, study, axes, attributes, columns)
        for first, part in chain([head], parts):
            for name, column in part.items():
                values = status_names(column.values) if name == "status" else column.values
                for runs, place in slabs(first, first + len(values), axes.shape):
                    block = values[runs.start - first : runs.stop - first]
                    size = [p.stop - p.start for p in place]
                    netcdf.put(file, name, place, block.reshape(*size, *values.shape[1:]))
                    disk.check()


def save(dataset: xr.Dataset, path: Path) -> None:
    """Write a dataset that is in memory to a sealed NetCDF file."""
    Dataset.of(dataset).save(path, kept="the result is still in memory")


def open_result(path: Path) -> xr.Dataset:
    """Return the dataset that `merge` wrote; values are read on access."""
    import xarray as xr  # for start-up time

    found = xr.open_dataset(path, engine="h5netcdf", decode_times=False)
    names = {*map(str, found.variables), *map(str, found.sizes)}
    return found.rename({name: own for name in sorted(names) if (own := netcdf.own_name(name)) != name})


def slabs(first: int, last: int, shape: tuple[int, ...]) -> Iterator[tuple[slice, tuple[slice, ...]]]:
    """Yield blocks of an array of this shape for a range of flat indices: pairs of flat range and place."""
    if len(shape) == 1:
        yield slice(first, last), (slice(first, last),)
        return
    inner = int(np.prod(shape[1:]))
    while first < last:
        row, offset = divmod(first, inner)
        if offset == 0 and last - first >= inner:
            stop = first + (last - first) // inner * inner
            yield slice(first, stop), (slice(row, stop // inner), *(slice(0, n) for n in shape[1:]))
        else:
            stop = min(last, (row + 1) * inner)
            for part, place in slabs(offset, offset + stop - first, shape[1:]):
                yield slice(row * inner + part.start, row * inner + part.stop), (slice(row, row + 1), *place)
        first = stop


def status_names(codes: np.ndarray) -> np.ndarray:
    """Return the names of statuses."""
    names = {int(status): status.name for status in Status}
    return np.array([names.get(code, Status.INTERRUPTED.name) for code in range(max(names) + 2)])[codes]


def _room(column: Variable, runs: int) -> Variable:
    """Return an empty column for all runs."""
    values = np.zeros((runs, *column.values.shape[1:]), dtype=column.values.dtype)
    values[:] = np.nan if values.dtype.kind == "f" else -1
    return Variable(column.dimensions, values, column.attributes)


def _over_axes(axes: Axes, name: str, column: Variable, values: np.ndarray) -> Variable:
    """Return values of a column as a variable over the axes; statuses by name."""
    if name == "status":
        return Variable(axes.dimensions, status_names(values), STATUS)
    return Variable((*axes.dimensions, *column.dimensions), values, column.attributes)


def _declare(
    file: Any, study: Study, axes: Axes, attributes: Mapping[str, Any], columns: dict[str, Variable]
) -> None:
    """Write dimensions, labels and attributes, and allocate the columns."""
    sizes = dict(zip(axes.dimensions, axes.shape))
    for column in columns.values():
        sizes |= dict(zip(column.dimensions, column.values.shape[1:]))
    room = {name: _over_axes(axes, name, column, column.values[:0]) for name, column in columns.items()}
    data = Dataset(room, labels(study, axes, sizes), attributes)
    netcdf.declare(file, data, sizes)
    for name, label in data.labels.items():
        netcdf.put(file, name, ..., label.values)
