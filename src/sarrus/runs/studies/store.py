"""A study on disk: a folder with a manifest, a NetCDF file for each finished chunk, and finally one result.

Every file is written whole or not at all, and sealed (`sarrus.base.files`), so processes may be killed at any time. Any
number of processes may work on one study: each claims the chunks that it does (`sarrus.runs.studies.claims`). The
process that finds all chunks finished writes the result and removes the chunks.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sarrus.base.errors import ArgumentError, StoreWarning
from sarrus.base.files.atomic import PART, write
from sarrus.base.files.netcdf import Dataset, Variable, opened
from sarrus.base.files.seals import check_seal
from sarrus.runs.studies.axes import Axes
from sarrus.runs.studies.claims import Claim, claim, owner
from sarrus.runs.studies.dataset import merge, open_result
from sarrus.runs.studies.identity import differences, digest
from sarrus.runs.studies.specification import Study
from sarrus.runs.studies.tolerances import SAY_AFTER, STORE_WAIT

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "sarrus study 1"
MANIFEST, CHUNKS, RESULT, LOCKS = "manifest.json", "chunks", "result.nc", "locks"
_WHOLE = "whole"  # the claim on manifest and result


class _Lost(Exception):
    """A chunk that was present is missing or damaged."""


class Store:
    """The folder of one study. ``identity`` describes it; a folder with another study is an `ArgumentError`."""

    def __init__(
        self, folder: str | Path, identity: dict[str, Any], chunk: int, runs: int, *, requested: int | None
    ) -> None:
        self.folder, self.identity, self.runs = Path(folder), identity, runs
        self.chunks, self.result = self.folder / CHUNKS, self.folder / RESULT
        self._study = digest(identity)
        self._claims: dict[int, Claim] = {}
        self._sound: set[int] = set()
        self._waited = 0.0
        manifest = self.folder / MANIFEST
        if not manifest.is_file():
            self._check_folder()
            while (held := self._claim(_WHOLE)) is None:
                self.wait(_WHOLE)
            try:
                if not manifest.is_file():
                    self._write_manifest(manifest, chunk)
            finally:
                held.release()
        self.chunk = self._continue(manifest, requested)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        for held in self._claims.values():
            held.release()
        self._claims.clear()

    # --- chunks --------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of chunks."""
        return -(-self.runs // self.chunk)

    def claims(self) -> Iterator[int]:
        """Yield the first run of each missing chunk that no other process does, after claiming it."""
        for index in range(self.count):
            if index in self._claims or self._finished(index):
                continue
            held = self._claim(index)
            if held is None:
                continue
            if self.result.is_file() or self._finished(index):  # by someone else, just now
                held.release()
                continue
            self._claims[index] = held
            yield index * self.chunk

    def keep(self, index: int, columns: dict[str, Variable]) -> None:
        """Write a chunk, and release the claim on it."""
        self.chunks.mkdir(exist_ok=True)
        variables = {
            name: Variable(("run", *column.dimensions), column.values, column.attributes)
            for name, column in columns.items()
        }
        kept = f"its runs will be done again, {len(self._sound)} chunks or more are in the store"
        Dataset(variables, attributes=self._facts(index)).save(self._path(index), kept=kept)
        self._sound.add(index)
        self._waited = 0.0
        if index in self._claims:
            self._claims.pop(index).release()

    @property
    def done(self) -> int:
        """Number of runs in finished chunks."""
        return min(self.runs, len(self._sound) * self.chunk)

    def _finished(self, index: int) -> bool:
        """Return whether a chunk is present, whole, and of this study; another file in its place is removed."""
        if index not in self._sound and self._path(index).is_file():
            with suppress(_Lost):
                self._read(index)
        return index in self._sound

    def _read(self, index: int) -> dict[str, Variable]:
        """Return the columns of a chunk."""
        path = self._path(index)
        try:
            with opened(path, "a chunk that sarrus stored") as (variables, facts):
                found = {key: facts.get(key) for key in self._facts(index)}
                if found != self._facts(index) or len(variables["status"].values) != found["runs"]:
                    raise ArgumentError("a chunk of another place or another study", element=str(path))
        except ArgumentError as error:
            self._sound.discard(index)
            if path.is_file():
                warnings.warn(f"store: {error}. Its runs are done again", StoreWarning, stacklevel=2)
                path.unlink(missing_ok=True)
            raise _Lost from error
        self._sound.add(index)
        return {name: Variable(v.dimensions[1:], v.values, v.attributes) for name, v in variables.items()}

    def _facts(self, index: int) -> dict[str, Any]:
        """Return the attributes of a chunk."""
        runs = min(self.chunk, self.runs - index * self.chunk)
        return {"format": FORMAT, "study": self._study, "index": index, "runs": runs}

    # --- result --------------------------------------------------------------------------------------

    def open(self) -> xr.Dataset | None:
        """Return the result; None if there is none. A damaged result is renamed and made again."""
        if not self.result.is_file():
            return None
        try:
            check_seal(self.result, "a result that sarrus stored")
            result = open_result(self.result)
            different = differences(self.identity, json.loads(result.attrs["study"]))
        except (ArgumentError, OSError, ValueError, KeyError) as error:
            aside = self.result.with_name(f"damaged-{RESULT}")
            warnings.warn(
                f"store: {self.result} is damaged ({error}). It is kept as {aside.name} and made again from the "
                "chunks; runs of chunks that are gone are done again",
                StoreWarning,
                stacklevel=2,
            )
            with suppress(FileNotFoundError):  # another process was faster
                self.result.rename(aside)
            return None
        if different:
            result.close()
            raise _another_study(self.result, different)
        return result

    def merge(self, study: Study, axes: Axes, attributes: dict[str, Any]) -> bool:
        """Write the result if all chunks are present and no other process does; return whether it was written."""
        if not all(map(self._finished, range(self.count))):
            return False
        held = self._claim(_WHOLE)
        if held is None:
            return False
        try:
            if not self.result.is_file():
                merge(self.result, study, axes, attributes, self._parts())
        except _Lost:
            return False
        finally:
            held.release()
        return True

    def tidy(self) -> None:
        """Remove files that a result no longer needs: chunks, locks, and partial files of killed processes."""
        for part in self.folder.glob(f".*{PART}*"):
            with suppress(OSError):
                part.unlink()
        for folder in (self.chunks, self.folder / LOCKS):
            shutil.rmtree(folder, ignore_errors=True)

    def _parts(self) -> Iterator[tuple[int, dict[str, Variable]]]:
        for index in range(self.count):
            yield index * self.chunk, self._read(index)

    # --- other processes -----------------------------------------------------------------------------

    def wait(self, what: int | str | None = None) -> None:
        """Wait a moment for other processes; after a second log once for which."""
        pause = min(max(STORE_WAIT[0], 0.1 * self._waited), STORE_WAIT[1])
        if self._waited < SAY_AFTER <= self._waited + pause:
            names = [what] if what is not None else [*range(self.count), _WHOLE]
            owners = {who for name in names if (who := owner(self._lock(name))) is not None}
            others = "; ".join(map(str, owners)) or "another process"
            logging.getLogger("sarrus.study").warning("store: %s: waiting for %s", self.folder, others)
        self._waited += pause
        time.sleep(pause)

    def _claim(self, what: int | str) -> Claim | None:
        return claim(self._lock(what))

    def _lock(self, what: int | str) -> Path:
        return self.folder / LOCKS / str(what)

    # --- manifest ------------------------------------------------------------------------------------

    def _check_folder(self) -> None:
        """Raise `ArgumentError` unless the folder is new, empty, or being made by another process."""
        if not self.folder.exists():
            return
        if self.folder.is_dir():
            names = [path.name for path in self.folder.iterdir()]
            if all(name in (LOCKS, MANIFEST) or (name[0] == "." and PART in name) for name in names):
                return
        raise ArgumentError(
            f"store: {self.folder} is there, but no study that sarrus stored: give a folder that is new or empty",
            element="store",
        )

    def _write_manifest(self, manifest: Path, chunk: int) -> None:
        document = {"format": FORMAT, "chunk": chunk, "study": self.identity}
        text = json.dumps({**document, "digest": digest(document)}, indent=1)
        write(manifest, [text.encode()], kept="nothing was run")

    def _continue(self, manifest: Path, requested: int | None) -> int:
        """Return the chunk size of the study in the folder, which must be this study."""
        try:
            known = json.loads(manifest.read_text(encoding="utf-8"))
            checksum = known.pop("digest")
            kind, chunk, study = known["format"], int(known["chunk"]), known["study"]
            if checksum != digest(known) or chunk < 1:
                raise ValueError("its digest is not that of its content")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(
                f"store: {manifest} is damaged ({error}): give another folder, or remove this one",
                element="store",
            ) from error
        if kind != FORMAT:
            raise ArgumentError(f"store: {manifest} has the format {kind!r}, not {FORMAT!r}", element="store")
        different = differences(self.identity, study)
        if requested is not None and requested != chunk:
            different.append(f"chunk ({chunk} there, {requested} here)")
        if different:
            raise _another_study(self.folder, different)
        return chunk

    def _path(self, index: int) -> Path:
        return self.chunks / f"{index:06d}.nc"


def _another_study(place: Path, different: list[str]) -> ArgumentError:
    return ArgumentError(
        f"store: {place} holds another study, which differs in {'; '.join(different)}. Give another folder, or "
        "remove this one",
        element="store",
    )
