"""One model file: loaded, counted, compared."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from comparison import differences
from counting import silent_losses

import sarrus as sr


@dataclass
class Verdict:
    """What became of one file, why, and how long loading took [s]."""

    path: Path
    kind: str
    outcome: str
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


def examine(path: Path, kind: str) -> Verdict:
    """Load one file here and compare it."""
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    try:
        mechanism = sr.load(path)
    except sr.SarrusError as error:
        return Verdict(path, kind, "refused", [str(error)], time.perf_counter() - started)
    took = time.perf_counter() - started
    silent = silent_losses(path, mechanism)
    if silent:
        return Verdict(path, kind, "silent", silent, took)
    try:
        wrong, oracle = differences(path, mechanism)
    except sr.SarrusError:  # nothing that moves
        wrong, oracle = [], ""
    if wrong:
        return Verdict(path, kind, "wrong", sorted(set(wrong)), took)
    if not mechanism.report.complete:
        return Verdict(path, kind, "losses", [mechanism.report.headline()], took)
    return Verdict(path, kind, "agrees" if oracle else "loads", [], took)


def send(path: Path, kind: str, end: Connection) -> None:
    try:
        end.send(examine(path, kind))
    except BaseException as error:
        end.send(Verdict(path, kind, "traceback", [f"{type(error).__name__}: {error}"]))
