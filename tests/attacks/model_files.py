"""Model files under attack: moved, doubled, renamed and garbled elements, odd encodings, bytes, includes, loop files.

Whatever is done to a file, `sarrus.load` gives a mechanism that tells of every joint, loop and mimic, or an error of
sarrus that names the file; it never crashes, and never takes long. Each attempt is made again by its family and number.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import model_files_mutators as mutators
import numpy as np
from model_files_oracle import untold
from model_files_seeds import CASES, WITH_LOOPS, Case, write
from model_files_workers import run_all
from tally import Tally

LIMIT = 2.0  # s for one load of a small file
WANTED = "every joint, loop and mimic told, or an error of sarrus that names the file"
INCLUDING = [case for case in CASES if case.suffix in (".sdf", ".xml")]
# family → (what is done, mutator, cases to start from, attempts at scale 1)
FAMILIES: dict[str, tuple[str, mutators.Mutator, list[Case], int]] = {
    "moved": ("an element under another parent", mutators.moved, CASES, 3500),
    "doubled": ("an element twice", mutators.doubled, CASES, 2000),
    "removed": ("an element missing", mutators.removed, CASES, 1500),
    "renamed": ("an element with another tag", mutators.renamed, CASES, 2500),
    "attribute": ("an attribute missing or misspelt", mutators.attribute_lost, CASES, 1500),
    "number": ("a number garbled", mutators.number_garbled, CASES, 2500),
    "text": ("a name, reference or type garbled", mutators.text_garbled, CASES, 2500),
    "stacked": ("two to four of these at once", mutators.stacked, CASES, 2500),
    "truncated": ("a file that ends too early", mutators.truncated, CASES, 700),
    "bytes": ("bytes flipped, lost or put in", mutators.bytes_garbled, CASES, 2000),
    "encoded": ("another encoding than it says", mutators.encoded, CASES, 800),
    "deep": ("elements nested too deep, long chains of frames", mutators.deep, CASES, 400),
    "included": ("files that include themselves or ever more", mutators.included, INCLUDING, 300),
    "sized": ("copies and sizes without end", mutators.sized, CASES[:1], 100),
    "loops": ("a loop file garbled", mutators.loops_garbled, WITH_LOOPS, 2200),
}
SYSTEMS = 25  # one loaded mechanism in so many also becomes a System


def case_of(family: str, number: int) -> Case:
    """Return the mutated files of one attempt."""
    _, mutate, cases, _ = FAMILIES[family]
    random = np.random.default_rng([list(FAMILIES).index(family), number])
    return mutate(cases[number % len(cases)], random)


def attempt(family: str, number: int) -> tuple[bool, str, str]:
    """Load one mutated case, by default and with strict=False; return whether all is well, the outcome, the fault."""
    case = case_of(family, number)
    with tempfile.TemporaryDirectory() as folder:
        write(case, Path(folder))
        started = time.process_time()  # of this process: others may keep the machine busy
        ended, note = _loaded(case, Path(folder), strict=None)
        if ended in ("refused", "left out") and not note:
            _, note = _loaded(case, Path(folder), strict=False)
        if not note and time.process_time() - started > 2 * LIMIT:
            note = f"took {time.process_time() - started:.1f} s"
        if not note and ended == "loaded" and number % SYSTEMS == 7:
            note = _as_system(case, Path(folder))
    return not note, "failed" if note else ended, note


def _loaded(case: Case, folder: Path, *, strict: bool | None) -> tuple[str, str]:
    import sarrus as sr
    from sarrus.base.errors import ModelWarning, SarrusError, UnsupportedElementError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ModelWarning)
            mechanism = sr.load(
                folder / case.main, loops=folder / case.loops if case.loops else None, strict=strict
            )
    except SarrusError as error:
        ended = "left out" if isinstance(error, UnsupportedElementError) else "refused"
        text = str(error)
        if not any(name in text for name in case.files):
            return ended, f"names no file: {text}"
        if "\n" in text or error.element is None:
            return ended, f"on several lines or of no element: {text!r}"
        return ended, "" if strict is None or ended == "refused" else f"refused with strict=False: {text}"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    return "loaded", "; ".join(untold(case, mechanism))


def _as_system(case: Case, folder: Path) -> str:
    import sarrus as sr
    from sarrus.base.errors import SarrusError

    try:
        sr.System(sr.load(folder / case.main, loops=folder / case.loops if case.loops else None))
    except SarrusError:
        return ""
    except Exception as error:
        return f"System: {type(error).__name__}: {error}"
    return ""


def campaign(scale: float) -> list[Tally]:
    """Do every family of attacks in its number times ``scale``."""
    tallies = {name: Tally(what, WANTED) for name, (what, *_) in FAMILIES.items()}
    for (family, number), (well, outcome, note) in run_all(attempt, list(_attempts(scale)), limit=30.0):
        if well:
            tallies[family].passes(outcome)
        else:
            tallies[family].fails(outcome, f"case_of({family!r}, {number}): {note[:300]}")
    return [*tallies.values(), special_files(max(1, round(3 * scale)))]


def _attempts(scale: float) -> Iterator[tuple[str, int]]:
    for family, (_, _, _, count) in FAMILIES.items():
        yield from ((family, number) for number in range(max(1, round(count * scale))))


def special_files(rounds: int) -> Tally:
    """Give `sarrus.load` what is no ordinary model file."""
    tally = Tally("folders, pipes, locked, empty and foreign files", WANTED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for suffix in (".xml", ".mjcf", ".urdf", ".sdf", ".world"):
            for path in _specials(folder, suffix) * rounds:
                case = Case(path.name, {path.name: b""})
                ended, note = _loaded(case, folder, strict=None)
                if ended == "refused" and not note:
                    tally.passes(ended)
                else:
                    tally.fails(ended, f"{path.name}: {note}")
    return tally


def _specials(folder: Path, suffix: str) -> list[Path]:
    contents = {
        "empty": b"",
        "blank": b"  \n",
        "json": b'{"a": 1}',
        "yaml": b"loops: []",
        "html": b"<!DOCTYPE html><html><body>404</body></html>",
        "zip": b"PK\x03\x04\0\0",
        "zeros": b"\0" * 1000,
        "entities": b'<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
        "stl": b"solid x\nendsolid x\n",
    }
    paths = []
    for kind, content in contents.items():
        paths.append(folder / f"{kind}{suffix}")
        paths[-1].write_bytes(content)
    made = folder / f"folder{suffix}"
    made.mkdir(exist_ok=True)
    dangling, pipe = folder / f"dangling{suffix}", folder / f"pipe{suffix}"
    if not dangling.is_symlink():
        dangling.symlink_to(folder / "nowhere")
    paths += [made, dangling, folder / f"{'x' * 300}{suffix}", folder / f"nul\0{suffix}"]
    if hasattr(os, "mkfifo"):
        if not pipe.exists():
            os.mkfifo(pipe)
        paths.append(pipe)
    if hasattr(os, "geteuid") and os.geteuid() != 0:  # the superuser opens every file
        locked = folder / f"locked{suffix}"
        locked.write_bytes(b"<robot/>")
        locked.chmod(0)
        paths.append(locked)
    return paths
