"""NetCDF-4 files with a checksum: named arrays with named dimensions, written and read.

The files are made with h5netcdf, which imports ten times faster than xarray; both are imported at the first use.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.base.files.atomic import replacing, write
from sarrus.base.files.deferred_errors import DeferredErrorFile
from sarrus.base.files.seals import add_seal, content_of, seal, unsealed
from sarrus.base.files.tolerances import NETCDF_IN_MEMORY

if TYPE_CHECKING:
    import xarray as xr

# Characters not allowed in names of variables and dimensions; in the file they are percent-encoded (%2F …).
_IMPOSSIBLE = re.compile(r"[/% \x00-\x1f\x7f]|^\.")


@dataclass(frozen=True, eq=False)
class Variable:
    """An array of numbers or text with the names of its dimensions."""

    dimensions: tuple[str, ...]
    values: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether the values are text."""
        return self.values.dtype.kind in "UO"


def file_name(name: str) -> str:
    """Return the name of a variable or dimension, percent-encoded for the file."""
    return _IMPOSSIBLE.sub(lambda found: f"%{ord(found[0]):02X}", name)


def own_name(name: str) -> str:
    """Return the name that `file_name` encoded."""
    return unquote(name, errors="strict")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Variables by name, labels along dimensions, and attributes: the content of a file or of an `xarray.Dataset`."""

    variables: Mapping[str, Variable]
    labels: Mapping[str, Variable] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: xr.Dataset) -> Dataset:
        """Return the dataset made from an `xarray.Dataset`."""
        parts = {
            str(k): Variable(tuple(map(str, v.dims)), v.values, v.attrs) for k, v in data.variables.items()
        }
        labels = {str(name): parts.pop(str(name)) for name in data.coords}
        return cls(parts, labels, data.attrs)

    @property
    def all(self) -> dict[str, Variable]:
        """Labels and variables."""
        return {**self.labels, **self.variables}

    @property
    def sizes(self) -> dict[str, int]:
        """Length of each dimension."""
        parts = self.all.values()
        return {name: size for part in parts for name, size in zip(part.dimensions, part.values.shape)}

    def to_xarray(self) -> xr.Dataset:
        """Return an `xarray.Dataset`."""
        import xarray as xr

        variables, labels = (
            {name: (v.dimensions, v.values, dict(v.attributes)) for name, v in part.items()}
            for part in (self.variables, self.labels)
        )
        return xr.Dataset(variables, coords=labels, attrs=dict(self.attributes))

    def save(self, path: Path, *, kept: str) -> None:
        """Write a file with its seal; a small one is built in memory, with one flush. ``kept`` as in `replacing`."""
        import h5netcdf

        needed = sum(variable.values.nbytes for variable in self.all.values())
        if needed > NETCDF_IN_MEMORY:
            with large(path, kept=kept, needed=needed) as (file, disk):
                self._fill(file, disk.check)
            return
        image = io.BytesIO()
        with h5netcdf.File(image, "w") as file:
            self._fill(file, lambda: None)
        content = (
            image.getvalue()
        )  # no copy; a view crashed the garbage collector of the first releases of Python 3.12
        write(path, [content, seal(content)], kept=kept, needed=len(content))

    def _fill(self, file: Any, check: Callable[[], None]) -> None:
        declare(file, self, self.sizes)
        for name, variable in self.all.items():
            put(file, name, ..., variable.values)
            check()


@contextmanager
def large(path: Path, *, kept: str, needed: int) -> Iterator[tuple[Any, DeferredErrorFile]]:
    """Yield an h5netcdf file to fill, which may be larger than memory, and its disk file to ``check`` after each piece.

    At the end the checksum is added and the file replaces ``path``; errors as in `sarrus.base.files.atomic.replacing`.
    """
    import h5netcdf

    with replacing(path, kept=kept, needed=needed) as partial:
        with DeferredErrorFile(partial) as disk:
            with h5netcdf.File(disk, "w") as file:
                yield file, disk
            disk.check()
        add_seal(partial)


def declare(file: Any, data: Dataset, sizes: Mapping[str, int]) -> None:
    """Create the dimensions, attributes and empty variables of a new file; only the types of the variables are used."""
    import h5py

    file.attrs.update(data.attributes)
    others = [file_name(name) for name, label in data.labels.items() if label.dimensions != (name,)]
    if others:  # labels along the dimension of another label, by the conventions of CF
        file.attrs["coordinates"] = " ".join(others)
    file.dimensions = {file_name(name): size for name, size in sizes.items()}
    for name, variable in data.all.items():
        kind = h5py.string_dtype() if variable.is_text else variable.values.dtype
        places = tuple(map(file_name, variable.dimensions))
        file.create_variable(file_name(name), places, dtype=kind).attrs.update(variable.attributes)


def put(file: Any, name: str, place: Any, values: np.ndarray) -> None:
    """Write values to a slice of a variable."""
    if values.size:
        file[file_name(name)][place] = values.astype(object) if values.dtype.kind == "U" else values


@contextmanager
def opened(
    path: Path, what: str, *, verify: bool = True
) -> Iterator[tuple[dict[str, Variable], dict[str, Any]]]:
    """Yield the variables and attributes of a file, all in memory; ``what`` names its expected content in errors.

    Raises
    ------
    ArgumentError
        The file is missing, cannot be read, is damaged, is no NetCDF, or lacks a variable that the ``with`` block
        reads. With ``verify`` False the checksum may be missing or wrong.
    """
    import h5netcdf

    content = unsealed(path, what) if verify else content_of(path)
    try:
        with h5netcdf.File(io.BytesIO(content), "r") as file:
            found = {own_name(name): _read(variable) for name, variable in file.variables.items()}
            attributes = dict(file.attrs)
        yield found, attributes
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}", element=error.element, valid=error.valid) from error
    except Exception as error:  # HDF5 and h5netcdf raise many types of errors on damaged content
        raise ArgumentError(
            f"{path}: not a NetCDF-4 file, or a damaged one ({error})", element=str(path)
        ) from error


def _read(variable: Any) -> Variable:
    values = variable[...]
    if values.dtype.kind == "O":
        text = [x.decode() if isinstance(x, bytes) else str(x) for x in values.ravel()]
        values = np.array(text, dtype=object).reshape(values.shape)
    return Variable(tuple(map(own_name, variable.dimensions)), values, dict(variable.attrs))
