"""Full disks, errors of disks and kills, while sarrus writes: the old file or the new one, whole, and nothing lost."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from tally import Tally
from writers import Writer, writers

from sarrus.base.errors import WriteError
from sarrus.base.files.atomic import PART
from sarrus.base.files.netcdf import opened

FILES = str(Path("sarrus") / "base" / "files")


def campaign(scale: float) -> list[Tally]:
    """Return what came of full disks (100), errors of every call, and kills (200)."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return [full_disks(place, round(100 * scale)), errors(place), kills(place, round(200 * scale))]


# --- full disks --------------------------------------------------------------------------------------


def full_disks(folder: Path, count: int, seed: int = 0) -> Tally:
    """Write to disks that have less room than is needed."""
    tally = Tally(
        "a disk fills up while a file is written", "`WriteError` with the room that is missing; nothing lost"
    )
    rng, all_writers = np.random.default_rng(seed), writers(folder)
    for attempt in range(max(count, len(all_writers))):
        writer = all_writers[attempt % len(all_writers)]
        with small_disk(folder, 400) as (disk, kind):
            writer.prepare(disk)
            before = _state(disk)
            with filled(disk, kind, int(rng.integers(0, 40_000)), before):
                error = _attempt(writer, disk)
            _judge(tally, writer, disk, before, error, f"{writer.name}, attempt {attempt} ({kind})")
    return tally


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[tuple[Path, str]]:
    """Yield a folder on a disk of its own, and "tmpfs"; or one on this disk, and "limit", where none can be mounted."""
    place = Path(tempfile.mkdtemp(dir=folder))
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    mounted = sys.platform == "linux" and subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield place, "tmpfs" if mounted else "limit"
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


@contextmanager
def filled(disk: Path, kind: str, free: int, before: dict[str, bytes]) -> Iterator[None]:
    """Leave so many bytes free on a disk; where it is none of its own, limit the size of any file to that."""
    ballast = disk / "ballast"
    if kind == "tmpfs":
        room = os.statvfs(disk)
        ballast.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - free)))
        yield
        ballast.unlink()
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (free, hard)
    )  # Python ignores the signal: writes fail with EFBIG
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# --- errors of every call ------------------------------------------------------------------------------


def errors(folder: Path) -> Tally:
    """Have each call that a writer makes of the operating system fail, one at a time."""
    tally = Tally("one call of the system fails (EIO, EROFS, ENOSPC, EDQUOT)", "`WriteError`; nothing lost")
    codes = (errno.EIO, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
    for writer in writers(folder):
        at = 0
        while True:
            place = Path(tempfile.mkdtemp(dir=folder))
            writer.prepare(place)
            before = _state(place)
            with failing(at, codes[at % len(codes)]) as seen:
                error = _attempt(writer, place)
            _judge(tally, writer, place, before, error, f"{writer.name}, call {at}")
            if len(seen) <= at:  # all calls went well
                break
            at += 1 + at // 8  # all at first, then fewer
    return tally


@contextmanager
def failing(at: int, code: int) -> Iterator[list[str]]:
    """Have call number ``at`` of those of `sarrus.base.files` fail; yield the list of calls as they are made."""
    from sarrus.base.files import atomic, deferred_errors

    seen: list[str] = []

    def call(name: str, usual: Any) -> Any:
        def made(*args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            if len(seen) == at + 1:
                raise OSError(code, os.strerror(code))
            return usual(*args, **kwargs)

        return made

    class System:
        """The module os, as `sarrus.base.files` sees it."""

        def __getattr__(self, name: str) -> Any:
            usual = getattr(os, name)
            return call(name, usual) if name in ("open", "fsync", "replace") else usual

    def opened(path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        file = usual_open(path, mode, *args, **kwargs)
        return file if mode in ("r", "rb") or "locks" in path.parts else Opened(file)

    class Opened:
        """A file whose writes may fail."""

        def __init__(self, file: Any) -> None:
            self._own = file

        def write(self, data: Any) -> Any:
            return call("write", self._own.write)(data)

        def truncate(self, *args: Any) -> Any:
            return call("truncate", self._own.truncate)(*args)

        def __enter__(self) -> Opened:
            return self

        def __exit__(self, *error: object) -> None:
            call("close", self._own.close)()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

    usual_open = Path.open
    systems = {module: module.os for module in (atomic, deferred_errors)}
    Path.open = opened  # type: ignore[method-assign, assignment]
    for module in systems:
        module.os = System()  # type: ignore[attr-defined]
    try:
        yield seen
    finally:
        Path.open = usual_open  # type: ignore[method-assign]
        for module, usual in systems.items():
            module.os = usual  # type: ignore[attr-defined]


# --- kills -----------------------------------------------------------------------------------------------


def kills(folder: Path, count: int, seed: int = 0) -> Tally:
    """Kill processes that write: half of them at a line of `sarrus.base.files` and stores, half at any time."""
    tally = Tally("a process is killed while it writes", "the old file or the new one, whole")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["writers", "h5netcdf", "xarray", "sarrus.runs.studies.study"])
    rng, all_writers = np.random.default_rng(seed), writers(folder)
    lines: dict[str, int] = {}
    for attempt in range(max(count, len(all_writers))):
        writer = all_writers[attempt % len(all_writers)]
        place = Path(tempfile.mkdtemp(dir=folder))
        writer.prepare(place)
        before = _state(place)
        number, result = all_writers.index(writer), context.SimpleQueue()
        if writer.name not in lines:  # how many there are
            trial = Path(tempfile.mkdtemp(dir=folder))
            writer.prepare(trial)
            child = context.Process(target=victim, args=(folder, number, trial, -1, result))
            child.start()
            lines[writer.name] = _answer(child, result)
            child.join()
        at = int(rng.integers(0, lines[writer.name])) if attempt // len(all_writers) % 2 == 0 else None
        child = context.Process(target=victim, args=(folder, number, place, at, result))
        child.start()
        if at is None:
            assert _answer(child, result) == "begins"
            time.sleep(float(rng.uniform(0.0, 0.02)))
            with suppress(ProcessLookupError):
                os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        told = f"{writer.name}, attempt {attempt}, line {at}"
        if child.exitcode not in (-signal.SIGKILL, 0):
            tally.fails(f"exit code {child.exitcode}", told)
            continue
        _judge(tally, writer, place, before, None, told)
    return tally


def _answer(child: BaseProcess, result: Any, seconds: float = 120.0) -> Any:
    """Return what a process puts into its queue; fail if it ends without an answer, or gives none in time."""
    end = time.monotonic() + seconds
    while result.empty():
        if not child.is_alive() or time.monotonic() > end:
            child.kill()
            raise AssertionError(f"a process that writes ended with {child.exitcode} and without an answer")
        time.sleep(0.005)
    return result.get()


def victim(folder: Path, number: int, place: Path, at: int | None, result: Any) -> None:
    """Write a file; be killed at the line ``at`` of the code that writes. -1: tell how many there are."""
    writer, seen = writers(folder)[number], 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        name = frame.f_code.co_filename
        if FILES not in name and not name.endswith("store.py"):
            return None
        if event == "line":
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1
        return trace

    if at is None:
        result.put("begins")
        while True:
            writer.write(place)
    sys.settrace(trace)
    writer.write(place)
    sys.settrace(None)
    result.put(seen)


# --- verdicts -------------------------------------------------------------------------------------------


def _attempt(writer: Writer, place: Path) -> BaseException | None:
    try:
        writer.write(place)
    except Exception as error:
        return error
    return None


def _state(place: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder but locks."""
    return {
        str(path.relative_to(place)): _content(path)
        for path in sorted(place.rglob("*"))
        if path.is_file() and "locks" not in path.parts
    }


def _content(path: Path) -> bytes:
    """Return the bytes of a file; of NetCDF, which may hold times of its own making, what a reader finds in it."""
    if path.suffix != ".nc" or PART in path.name:
        return path.read_bytes()
    with opened(path, "a file that sarrus wrote") as (variables, attributes):
        parts = [
            (name, v.dimensions, v.values.tolist(), sorted(map(str, v.attributes.items())))
            for name, v in sorted(variables.items())
        ]
        return repr((parts, sorted(map(str, attributes.items())))).encode()


def _judge(
    tally: Tally,
    writer: Writer,
    place: Path,
    before: dict[str, bytes],
    error: BaseException | None,
    told: str,
) -> None:
    """Count an attempt: what is there must be what was there, or what a write without trouble leaves."""
    after = _state(place)
    if error is not None and not isinstance(error, WriteError):
        tally.fails(type(error).__name__, f"{told}: {error}")
        return
    if error is not None:
        file = str(Path(error.element or "").relative_to(place))
        kept = after.get(file) == before.get(file)
        if ("cannot be written" if kept else "a power cut may lose it") not in str(error):
            tally.fails("an error that does not say what is there", f"{told}: {error}")
            return
    left = [name for name in after if PART in name]
    if error is not None and left:
        tally.fails("a part left behind", f"{told}: {left}")
        return
    whole = {name: data for name, data in after.items() if PART not in name}
    lost = [name for name, data in before.items() if name not in whole and "chunks" not in name]
    if lost:
        tally.fails("a file lost", f"{told}: {lost}")
        return
    try:
        writer.write(place)  # goes on from what is there
    except Exception as again:
        tally.fails("an error afterwards", f"{told}: {again!r}")
        return
    final, clean = _state(place), _clean(writer)
    for name, data in whole.items():
        if data not in (before.get(name), clean.get(name)) and not name.startswith("study/chunks"):
            tally.fails("a file that is neither the old nor the new one", f"{told}: {name}")
            return
    if {n: d for n, d in final.items() if PART not in n} != clean:
        tally.fails("another result afterwards", told)
        return
    tally.passes(
        "old file kept" if error is not None or whole.get(writer.file) == before.get(writer.file) else "new"
    )


_cleans: dict[str, dict[str, bytes]] = {}


def _clean(writer: Writer) -> dict[str, bytes]:
    """Return what a write without trouble leaves."""
    if writer.name not in _cleans:
        with tempfile.TemporaryDirectory() as folder:
            writer.prepare(Path(folder))
            writer.write(Path(folder))
            _cleans[writer.name] = _state(Path(folder))
    return _cleans[writer.name]
