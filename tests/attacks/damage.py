"""Damaged files: every bit of a trajectory, a chunk, a manifest or a result that is not as written is noticed."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tally import Tally
from writers import MODEL, copy_chunks, motion, study, template

import sarrus as sr
from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.model.builders.document import from_json, to_json
from sarrus.motion.records.trajectory import Trajectory
from sarrus.runs.studies.study_file import read_study
from sarrus.symbolic.multibody.model import trace

LONGEST = 2.0  # seconds that an answer may take
Mutator = Callable[[np.random.Generator, bytes], bytes]

STUDY = """\
model = "MODEL"
duration = 0.5
dt = 1e-3
outputs = ["q", "energy.max"]
store = "five_bar_study"

[parameters]
m1 = "link1.mass"

[start]
q.left = 2.0

[grid]
m1 = [1.5, 2.0, 2.5]
q.left = { from = 1.9, to = 2.3, count = 5 }
"""


def campaign(scale: float) -> list[Tally]:
    """Return what came of damaged files of all kinds: every bit of a trajectory, and 8,000 others."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return [
            bits(place, round(200_000 * scale)),
            trajectories(place, round(4000 * scale)),
            stores(place, round(500 * scale)),
            study_files(place, round(1500 * scale)),
            mechanisms(round(2000 * scale)),
        ]


# --- mutators ------------------------------------------------------------------------------------------


def flipped(rng: np.random.Generator, data: bytes) -> bytes:
    """Flip one bit."""
    place, bit = rng.integers(len(data)), rng.integers(8)
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]


def truncated(rng: np.random.Generator, data: bytes) -> bytes:
    """Leave out the end."""
    return data[: rng.integers(len(data))]


def extended(rng: np.random.Generator, data: bytes) -> bytes:
    """Append bytes."""
    return data + rng.bytes(int(rng.integers(1, 200)))


def zeroed(rng: np.random.Generator, data: bytes) -> bytes:
    """Set a stretch to zero, or the whole file if that changes nothing, as a disk does that lost a block."""
    first, size = int(rng.integers(len(data))), int(rng.integers(1, 4096))
    changed = data[:first] + bytes(len(data[first : first + size])) + data[first + size :]
    return changed if changed != data else bytes(len(data))


def swapped(rng: np.random.Generator, data: bytes) -> bytes:
    """Exchange two stretches."""
    a, b = sorted(rng.integers(0, len(data) - 16, 2))
    n = int(rng.integers(1, 16))
    changed = bytearray(data)
    changed[a : a + n], changed[b : b + n] = data[b : b + n], data[a : a + n]
    return bytes(changed) if bytes(changed) != data else data + b"\0"


def spliced(rng: np.random.Generator, data: bytes) -> bytes:
    """Remove or repeat a stretch in the middle."""
    first, size = int(rng.integers(len(data))), int(rng.integers(1, 512))
    return (
        data[:first] + (data[first : first + size] * 2 if rng.random() < 0.5 else b"") + data[first + size :]
    )


def scattered(rng: np.random.Generator, data: bytes) -> bytes:
    """Overwrite several bytes with others."""
    changed = bytearray(data)
    for place in rng.integers(0, len(data), int(rng.integers(2, 40))):
        changed[place] = (changed[place] + int(rng.integers(1, 256))) % 256
    return bytes(changed) if bytes(changed) != data else b"x" + data


def emptied(rng: np.random.Generator, data: bytes) -> bytes:
    """Leave nothing, or something else altogether."""
    return b"" if rng.random() < 0.5 else rng.bytes(int(rng.integers(1, 5000)))


MUTATORS: tuple[Mutator, ...] = (flipped, truncated, extended, zeroed, swapped, spliced, scattered, emptied)


# --- attacks ---------------------------------------------------------------------------------------------


def bits(folder: Path, count: int, seed: int = 0) -> Tally:
    """Flip single bits of a trajectory file: so many of them, evenly spaced, or all that there are."""
    tally = Tally("one bit of a trajectory file flipped", "an error that names the file")
    path = motion(seed, samples=5).save(folder / "bits.nc")
    data = path.read_bytes()
    for bit in np.unique(np.linspace(0, 8 * len(data) - 1, count).astype(int)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(changed)
        _expect_error(tally, path, lambda: Trajectory.load(path), f"bit {bit} of {path.name}")
    return tally


def trajectories(folder: Path, count: int, seed: int = 0) -> Tally:
    """Damage trajectory files in all ways."""
    tally = Tally("a trajectory file damaged in one of eight ways", "an error that names the file")
    rng = np.random.default_rng(seed)
    path = motion(seed).save(folder / "run.nc")
    data = path.read_bytes()
    for attempt in range(count):
        mutator = MUTATORS[attempt % len(MUTATORS)]
        path.write_bytes(mutator(rng, data))
        _expect_error(tally, path, lambda: Trajectory.load(path), f"{mutator.__name__}, attempt {attempt}")
    return tally


def stores(folder: Path, count: int, seed: int = 0) -> Tally:
    """Damage a chunk, the result or the manifest of a study, exchange or forge them; then ask for the study again."""
    tally = Tally(
        "a chunk, result or manifest damaged, exchanged or of another study", "the right numbers, or an error"
    )
    rng = np.random.default_rng(seed)
    whole, chunks = folder / "whole", template(folder)
    right = study(whole)
    study(folder / "other", seed=2)
    expected = {name: right[name].values.tobytes() for name in ("q", "energy")}  # type: ignore[index]
    for attempt in range(count):
        place = folder / "attacked"
        shutil.rmtree(place, ignore_errors=True)
        kind = ("chunk", "result", "manifest", "exchange", "other chunk", "other result")[attempt % 6]
        if kind in ("result", "manifest", "other result"):
            shutil.copytree(whole, place)
        else:
            copy_chunks(chunks, place, missing=int(rng.integers(0, 2)))
        files = sorted((place / "chunks").glob("*.nc"))
        victim = {"result": place / "result.nc", "manifest": place / "manifest.json"}.get(kind)
        if kind == "exchange":
            one, other = rng.choice(files, 2, replace=False)
            one.write_bytes(other.read_bytes())
        elif kind == "other chunk":
            copy_chunks(_other_chunks(folder), folder / "more")
            one = files[int(rng.integers(len(files)))]
            one.write_bytes((folder / "more" / "chunks" / one.name).read_bytes())
            shutil.rmtree(folder / "more")
        elif kind == "other result":
            (place / "result.nc").write_bytes((folder / "other" / "result.nc").read_bytes())
        else:
            victim = victim or files[int(rng.integers(len(files)))]
            victim.write_bytes(MUTATORS[int(rng.integers(len(MUTATORS)))](rng, victim.read_bytes()))
        began = time.perf_counter()
        told = f"{kind}, attempt {attempt}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = study(place)
        except ArgumentError as error:
            if str(place) in str(error):
                tally.passes("an error by name")
            else:
                tally.fails("an error without a name", f"{told}: {error}")
        except Exception as error:
            tally.fails(type(error).__name__, f"{told}: {error}")
        else:
            same = all(found[name].values.tobytes() == expected[name] for name in expected)  # type: ignore[index]
            tally.passes("right") if same else tally.fails("wrong numbers", told)
        if time.perf_counter() - began > 5 * LONGEST:  # with the runs that are done again
            tally.fails("slow", told)
    return tally


def study_files(folder: Path, count: int, seed: int = 0) -> Tally:
    """Damage study files: text that a user writes, so that another number is just another study."""
    tally = Tally("a study file (TOML) damaged", "an error that names the file, or a study")
    rng, data = np.random.default_rng(seed), STUDY.replace("MODEL", str(MODEL)).encode()
    path = folder / "study.toml"
    words = [
        b"grid",
        b"samples",
        b"random",
        b"-1",
        b"1e999",
        b"nan",
        b"[",
        b"]",
        b"{}",
        b'"',
        b"q.left",
        b"[[",
        b"=",
        b"\xff",
    ]
    for attempt in range(count):
        if attempt % 3 == 0:
            lines = data.split(b"\n")
            one, other = rng.integers(0, len(lines), 2)
            lines[one], lines[other] = lines[other], lines[one] if rng.random() < 0.5 else lines[other]
            changed = b"\n".join(lines)
        elif attempt % 3 == 1:
            place = int(rng.integers(len(data)))
            changed = (
                data[:place] + words[int(rng.integers(len(words)))] + data[place + int(rng.integers(0, 6)) :]
            )
        else:
            changed = MUTATORS[int(rng.integers(len(MUTATORS)))](rng, data)
        path.write_bytes(changed)
        began = time.perf_counter()
        try:
            read_study(path)
        except SarrusError as error:
            named = len(str(error)) > 10
            tally.passes("an error by name") if named else tally.fails("an error without words", repr(error))
        except Exception as error:
            tally.fails(type(error).__name__, f"attempt {attempt}: {error}: {changed!r}")
        else:
            tally.passes("a study")
        if time.perf_counter() - began > LONGEST:
            tally.fails("slow", f"attempt {attempt}: {changed!r}")
    return tally


def mechanisms(count: int, seed: int = 0) -> Tally:
    """Change one value, key or element in the description of a mechanism that a trajectory file holds."""
    tally = Tally(
        "one value in the mechanism of a trajectory file forged",
        "an error by name, or a mechanism that works",
    )
    rng = np.random.default_rng(seed)
    texts = [to_json(sr.load(MODEL.with_name(name))) for name in ("five_bar.xml", "quadruped.xml")]
    junk = [
        "abc",
        -1.0,
        float("nan"),
        1e999,
        None,
        [],
        {},
        True,
        "world",
        [1.0],
        {"map": []},
        0,
        "é" * 50,
        [[]] * 9,
    ]
    for attempt in range(count):
        document = json.loads(texts[attempt % len(texts)])
        parent, key = _place(rng, document)
        what = rng.integers(4)
        if what == 0 and isinstance(parent, dict):
            parent[str(junk[int(rng.integers(len(junk)))])] = parent.pop(key)
        elif what == 1:
            del parent[key]
        else:
            parent[key] = junk[int(rng.integers(len(junk)))]
        told = f"attempt {attempt}: {key!r}"
        try:
            mechanism = from_json(json.dumps(document))
        except ArgumentError as error:
            tally.passes("an error by name") if len(str(error)) > 20 else tally.fails(
                "no words", f"{told}: {error}"
            )
            continue
        except Exception as error:
            tally.fails(type(error).__name__, f"{told}: {error}")
            continue
        try:
            trace(mechanism)
        except SarrusError:
            tally.passes("an error by name")
        except Exception as error:
            tally.fails(f"{type(error).__name__} of its equations", f"{told}: {error}")
        else:
            tally.passes("a mechanism")
    return tally


def _place(rng: np.random.Generator, document: Any) -> tuple[Any, Any]:
    """Return a list or dictionary somewhere in a document, and a key of it."""
    while True:
        keys = list(document) if isinstance(document, dict) else range(len(document))
        key = list(keys)[int(rng.integers(len(keys)))]
        inner = document[key]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.1:
            return document, key
        document = inner


def _other_chunks(folder: Path) -> Path:
    """Return a store with the chunks of another study."""
    place = folder / "other chunks"
    if not place.exists():
        place.mkdir()
        template(place, seed=2)
    return place / "template"


def _expect_error(tally: Tally, path: Path, read: Callable[[], object], told: str) -> None:
    began = time.perf_counter()
    try:
        read()
    except ArgumentError as error:
        tally.passes("an error by name") if path.name in str(error) else tally.fails(
            "no name", f"{told}: {error}"
        )
    except Exception as error:
        tally.fails(type(error).__name__, f"{told}: {error}")
    else:
        tally.fails("loaded", told)
    if time.perf_counter() - began > LONGEST:
        tally.fails("slow", told)
