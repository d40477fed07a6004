"""Several processes on one store: they share the chunks, and what they leave is what one process does, bit for bit."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from tally import Tally
from writers import CHUNK, study

RUNS = 60 * CHUNK
LONGEST = 60.0  # seconds until a trial counts as hung


def campaign(scale: float) -> list[Tally]:
    """Return what came of two and four processes at once (20), some of which are killed (20)."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return [together(place, round(20 * scale)), killed(place, round(20 * scale))]


def together(folder: Path, count: int) -> Tally:
    """Start two or four processes on one store at the same time."""
    tally = Tally("two or four processes do one study in one store", "all complete, bits of one process")
    expected = _digest(study(None, runs=RUNS))
    for attempt in range(max(1, count)):
        number, place = 2 + 2 * (attempt % 2), folder / f"study{attempt}"
        told = f"{number} processes, attempt {attempt}"
        answers = [answer for _, answer in _finish(_start(place, number))]
        _compare(tally, place, answers, expected, told)
    return tally


def killed(folder: Path, count: int, seed: int = 0) -> Tally:
    """Kill one of three processes while it holds claims; the others take them over."""
    tally = Tally(
        "one of three processes on a store is killed", "the others complete it, bits of one process"
    )
    rng, expected = np.random.default_rng(seed), _digest(study(None, runs=RUNS))
    for attempt in range(max(1, count)):
        place = folder / f"killed{attempt}"
        children = _start(place, 3)
        until = time.monotonic() + LONGEST
        while len(list(place.glob("chunks/*.nc"))) < 3 and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(float(rng.uniform(0.0, 0.05)))
        with suppress(ProcessLookupError):
            os.kill(children[0][0].pid, signal.SIGKILL)
        answers = [answer for _, answer in _finish(children)[1:]]
        _compare(tally, place, answers, expected, f"attempt {attempt}")
    return tally


def helper(place: Path, barrier: Any, answers: Any) -> None:
    """Do the study when all others are ready, and tell the digest of the result."""
    from writers import system

    system()
    barrier.wait()
    try:
        answers.put(_digest(study(place, runs=RUNS)))
    except BaseException as error:
        answers.put(repr(error))


def _start(place: Path, number: int) -> list[tuple[Any, Any, Any]]:
    """Start processes that do the study in a store; return each with the queue of its answer, and what it waits for."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["writers", "h5netcdf", "xarray", "sarrus.runs.studies.study"])
    barrier = context.Barrier(number)
    children = []
    for _ in range(number):
        answers = context.SimpleQueue()
        child = context.Process(target=helper, args=(place, barrier, answers))
        child.start()
        children.append((child, answers, barrier))
    return children


def _finish(children: list[tuple[Any, Any, Any]]) -> list[tuple[Any, str]]:
    """Wait for processes, not for ever, and return their answers."""
    found = []
    for child, answers, _ in children:
        child.join(LONGEST)
        if child.is_alive():
            child.kill()
            found.append((child, "hung"))
        else:
            found.append((child, "killed" if answers.empty() else answers.get()))
    return found


def _compare(tally: Tally, place: Path, answers: list[str], expected: str, told: str) -> None:
    wrong = [answer for answer in answers if answer != expected]
    files = sorted(path.name for path in place.iterdir())
    if wrong:
        tally.fails("another result", f"{told}: {wrong}")
    elif files != ["manifest.json", "result.nc"] and not any(name.startswith(".") for name in files):
        tally.fails("files left behind", f"{told}: {files}")
    else:
        tally.passes("the same bits")
    shutil.rmtree(place)


def _digest(result: Any) -> str:
    import hashlib

    parts = [result[name].values.tobytes() for name in ("q", "energy", "m")]
    return hashlib.sha256(b"".join(parts) + repr(result.status.values.tolist()).encode()).hexdigest()
