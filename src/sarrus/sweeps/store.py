"""A study on disk: a folder with a manifest, a NetCDF file per finished chunk, and in the end one result.

Every file is written under another name and renamed when it is whole, so that a process may be killed at any time: a
chunk is there or it is not. With the last chunk the result is written, and the chunks are removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sarrus.errors import ArgumentError
from sarrus.sweeps.axes import Axes
from sarrus.sweeps.dataset import merge, open_result
from sarrus.sweeps.identity import differences
from sarrus.sweeps.outputs import Column
from sarrus.sweeps.study import Study

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "sarrus sweep 1"
MANIFEST, CHUNKS, RESULT = "manifest.json", "chunks", "result.nc"


class Store:
    """The folder of one study. ``identity`` describes it; a folder that holds another study is an `ArgumentError`."""

    def __init__(
        self, folder: str | Path, identity: dict[str, Any], chunk: int, *, wished: int | None
    ) -> None:
        self.folder, self.identity = Path(folder), identity
        self.chunks, self.result = self.folder / CHUNKS, self.folder / RESULT
        manifest = self.folder / MANIFEST
        if manifest.is_file():
            self.chunk = self._continue(manifest, wished)
            return
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ArgumentError(
                f"store: {self.folder} is there, but no study that sarrus stored: give a folder that is new or empty",
                element="store",
            )
        self.chunk = chunk
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"format": FORMAT, "chunk": chunk, "study": identity}, indent=1)
        _write_text(manifest, text)

    def _continue(self, manifest: Path, wished: int | None) -> int:
        """Return the chunk size of the study in the folder, which must be this study."""
        try:
            known = json.loads(manifest.read_text(encoding="utf-8"))
            kind, chunk, study = known["format"], int(known["chunk"]), known["study"]
        except (ValueError, KeyError, TypeError) as error:
            raise ArgumentError(f"store: {manifest} is damaged ({error})", element="store") from error
        if kind != FORMAT:
            raise ArgumentError(f"store: {manifest} has the format {kind!r}, not {FORMAT!r}", element="store")
        told = differences(self.identity, study)
        if wished is not None and wished != chunk:
            told.append(f"chunk ({chunk} there, {wished} here)")
        if told:
            raise ArgumentError(
                f"store: {self.folder} holds another study, which differs in {'; '.join(told)}. Give another folder, "
                "or remove this one",
                element="store",
            )
        return chunk

    @property
    def complete(self) -> bool:
        """Whether the result is there."""
        return self.result.is_file()

    def finished(self, index: int) -> bool:
        """Tell whether a chunk is there, whole; one that cannot be read is removed."""
        path = self._path(index)
        if not path.is_file():
            return False
        import h5netcdf

        try:
            with h5netcdf.File(path, "r") as file:
                return "status" in file.variables
        except OSError:
            path.unlink()
            return False

    def keep(self, index: int, columns: dict[str, Column]) -> None:
        """Write a chunk."""
        import h5netcdf

        self.chunks.mkdir(exist_ok=True)
        path = self._path(index)
        partial = path.with_suffix(f".{os.getpid()}.part")
        with h5netcdf.File(partial, "w") as file:
            sizes = {"run": len(columns["status"].values)}
            for column in columns.values():
                sizes |= dict(zip(column.dimensions, column.values.shape[1:]))
            file.dimensions = sizes
            for name, column in columns.items():
                variable = file.create_variable(name, ("run", *column.dimensions), data=column.values)
                variable.attrs.update(column.attributes)
        os.replace(partial, path)

    def close(self, study: Study, axes: Axes, attributes: dict[str, Any]) -> xr.Dataset:
        """Write the result of all chunks, remove them, and open the result."""
        if not self.complete:
            merge(self.result, study, axes, attributes, self._parts(axes.runs))
        shutil.rmtree(self.chunks, ignore_errors=True)
        return open_result(self.result)

    def _parts(self, runs: int) -> Iterator[tuple[int, dict[str, Column]]]:
        import h5netcdf

        for index, first in enumerate(range(0, runs, self.chunk)):
            with h5netcdf.File(self._path(index), "r") as file:
                yield (
                    first,
                    {
                        name: Column(tuple(variable.dimensions[1:]), variable[...], dict(variable.attrs))
                        for name, variable in file.variables.items()
                    },
                )

    def _path(self, index: int) -> Path:
        return self.chunks / f"{index:06d}.nc"


def _write_text(path: Path, text: str) -> None:
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
