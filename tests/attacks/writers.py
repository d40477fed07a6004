"""What sarrus writes to disk, one writer each: to be interrupted by full disks, errors and kills."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import sarrus as sr
from sarrus.motion.records.trajectory import Trajectory

MODEL = Path(__file__).resolve().parents[2] / "models" / "five_bar.xml"
RUNS, CHUNK = 40, 8


@dataclass(frozen=True)
class Writer:
    """One file: its path below a folder, what must be there before, and what writes it again with other content."""

    name: str
    file: str
    prepare: Callable[[Path], None]
    write: Callable[[Path], object]


def motion(seed: int, samples: int = 40) -> Trajectory:
    """Return a trajectory of random numbers."""
    rng = np.random.default_rng(seed)
    column = {name: rng.standard_normal(samples) for name in ("energy", "condition", "residual")}
    return Trajectory(
        name="random",
        t=np.arange(samples) / 10,
        q=rng.standard_normal((samples, 3)),
        v=rng.standard_normal((samples, 3)),
        a=rng.standard_normal((samples, 3)),
        u=rng.standard_normal((samples, 1)),
        multipliers=rng.standard_normal((samples, 2)),
        rank=np.full(samples, 2),
        coordinate_names=("a", "b", "c"),
        velocity_names=("a", "b", "c"),
        actuator_names=("motor",),
        constraint_names=("loop.x", "loop.y"),
        **column,
    )


@cache
def system() -> sr.System:
    """Return a five-bar with a mass to vary."""
    return sr.System(sr.load(MODEL), parameters={"m": "link1.mass"})


def study(store: Path | None, seed: int = 1, runs: int = RUNS) -> object:
    """Do a small study, with a store or in memory."""
    drawn = sr.studies.draw({"m": sr.studies.normal(2.0, 0.1)}, runs, seed=seed)
    return sr.study(
        system(), samples=drawn, duration=0.01, dt=1e-3, outputs=["q", "energy"], store=store, chunk=CHUNK,
        threads=1,
    )  # fmt: skip


def copy_chunks(template: Path, store: Path, missing: int = 0) -> None:
    """Make a store whose first chunks are all there but so many, from one that an interrupted study left."""
    shutil.copytree(template, store, ignore=shutil.ignore_patterns("locks"))
    for path in sorted((store / "chunks").iterdir())[:missing]:
        path.unlink()


@cache
def template(folder: Path, seed: int = 1) -> Path:
    """Return a store with all chunks and no result, made in a folder."""
    from sarrus.runs.studies.store import Store

    merge, Store.merge = Store.merge, _stop  # type: ignore[method-assign]
    try:
        study(folder / "template", seed)
    except KeyboardInterrupt:
        pass
    finally:
        Store.merge = merge  # type: ignore[method-assign]
    return folder / "template"


def _stop(*_: object) -> bool:
    raise KeyboardInterrupt


def writers(folder: Path) -> list[Writer]:
    """Return all writers; ``folder`` is for what they share."""
    chunks = template(folder)
    return [
        Writer(
            "Trajectory.save",
            "run.nc",
            lambda place: motion(1).save(place / "run.nc") and None,
            lambda place: motion(2).save(place / "run.nc"),
        ),
        Writer(
            "Trajectory.to_csv",
            "run.csv",
            lambda place: motion(1).to_csv(place / "run.csv") and None,
            lambda place: motion(2).to_csv(place / "run.csv"),
        ),
        Writer(
            "Mechanism.to_mjcf",
            "model.xml",
            lambda place: sr.load(MODEL).to_mjcf(place / "model.xml"),
            lambda place: sr.load(MODEL.with_name("quadruped.xml")).to_mjcf(
                place / "model.xml", contacts="ignore"
            ),
        ),
        Writer(
            "a chunk of a study",
            "study/chunks/000000.nc",
            lambda place: copy_chunks(chunks, place / "study", missing=1),
            lambda place: study(place / "study"),
        ),
        Writer(
            "the result of a study",
            "study/result.nc",
            lambda place: copy_chunks(chunks, place / "study"),
            lambda place: study(place / "study"),
        ),
    ]
