"""Load all models of some folders and say what became of them: ``make corpus DIR=folder``, ``python tests/corpus DIR``.

Every MJCF, URDF and SDF file is loaded in a process of its own, its elements are counted against mechanism and report,
and what it means is compared with MuJoCo, a URDF file with Pinocchio: M, bias, forces with controls within and beyond
their limits, placements, sites, keyframes, and the rows of the equalities at closed configurations. A file that is only
a part of others is read where these include it: errors of such files are refusals.

agrees    everything acts, and M, bias, forces and placements are those of the oracle
loads     everything acts; there is no oracle for it
losses    as far as it acts it agrees; the report says what does not
refused   an error names the file and what would be right
wrong     a number differs from the oracle's, and the report does not say so
silent    an element is neither in the mechanism nor in its report
traceback an error that is none of sarrus's own, a crash, or no end within the limit
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from examination import Verdict, send

OUTCOMES = ("agrees", "loads", "losses", "refused", "wrong", "silent", "traceback")
BAD = ("wrong", "silent", "traceback")
FORMATS = {".xml": "MJCF", ".mjcf": "MJCF", ".urdf": "URDF", ".sdf": "SDF", ".world": "SDF"}
LIMIT = 60.0


def model_files(folders: list[Path]) -> list[tuple[Path, str]]:
    """Return the model files under the folders with their formats; other XML files are passed over."""
    found = []
    for folder in folders:
        paths = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        for path in paths:
            kind = FORMATS.get(path.suffix.lower())
            if path.suffix.lower() == ".xml":
                kind = _root(path)
            if kind is not None and path.is_file():
                found.append((path, kind))
    return found


def _root(path: Path) -> str | None:
    try:
        for _, element in ElementTree.iterparse(path, events=("start",)):
            return {"mujoco": "MJCF", "robot": "URDF"}.get(element.tag)
    except (ElementTree.ParseError, OSError, ValueError):
        start = path.read_bytes()[:20_000]
        return "MJCF" if b"<mujoco" in start else "URDF" if b"<robot" in start else None
    return None


def apart(path: Path, kind: str, context: Any) -> Verdict:
    """Examine one file in a process of its own, for as long as the limit."""
    mine, other = context.Pipe(duplex=False)
    process = context.Process(target=send, args=(path, kind, other))
    process.start()
    other.close()
    try:
        verdict = (
            mine.recv() if mine.poll(LIMIT) else Verdict(path, kind, "traceback", [f"no end in {LIMIT:g} s"])
        )
    except EOFError:
        process.join()
        verdict = Verdict(path, kind, "traceback", [f"the process ended with {process.exitcode}"])
    process.kill()
    process.join()
    return verdict


def table(verdicts: list[Verdict]) -> str:
    """Return the table of outcomes by format."""
    counts = Counter((v.kind, v.outcome) for v in verdicts)
    lines = ["| format | files | " + " | ".join(OUTCOMES) + " |", "|" + " --- |" * (len(OUTCOMES) + 2)]
    for kind in sorted({v.kind for v in verdicts}):
        row = [counts[kind, outcome] for outcome in OUTCOMES]
        lines.append(f"| {kind} | {sum(row)} | " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines)


def main() -> int:
    """Examine all files; return 1 if one is wrong, silent or a traceback."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument(
        "--all", action="store_true", help="a line for every file, not only those that do not agree"
    )
    given = parser.parse_args()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["examination", "mujoco", "sarrus.model.formats.load", "sarrus.model.formats.mjcf.read_mjcf"]
    )
    verdicts = []
    for path, kind in model_files(given.folders):
        verdict = apart(path, kind, context)
        verdicts.append(verdict)
        if given.all or verdict.outcome not in ("agrees", "loads"):
            print(
                f"{verdict.outcome:9} {verdict.seconds:5.2f} s  {path}: {'; '.join(verdict.notes)[:400]}",
                flush=True,
            )
    print()
    print(table(verdicts))
    return int(any(v.outcome in BAD for v in verdicts))


if __name__ == "__main__":
    sys.exit(main())
