"""Start-up: import, a whole run of the command line with warm caches, and the first run ever."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.models import FIVE_BAR, ROOT
from benchmarks.rows import Row, conditions

_TIMED = "from time import perf_counter as t; b = t(); {}; print(t() - b)"
_USE = "import sarrus; sarrus.load, sarrus.System, sarrus.simulate"
_COMMAND = [str(Path(sys.executable).with_name("sarrus")), "simulate", str(FIVE_BAR), "--duration", "5"]


def rows(quick: bool) -> list[Row]:
    """Return start-up times as seconds of whole processes, except for the imports, timed inside one."""
    repeats = 2 if quick else 5
    found = [
        _row(
            "import numpy, for comparison",
            median(_import_seconds("import numpy") for _ in range(repeats)),
            None,
            repeats,
        ),
        _row("import sarrus", median(_import_seconds("import sarrus") for _ in range(repeats)), 0.7, repeats),
        _row(
            "import and name load, System, simulate",
            median(_import_seconds(_USE) for _ in range(repeats)),
            0.7,
            repeats,
        ),
    ]
    _process_seconds(_COMMAND)
    warm = median(_process_seconds(_COMMAND) for _ in range(repeats))
    found.append(_row("sarrus simulate, 5 s, warm caches", warm, 0.8, repeats))
    if not quick:
        with tempfile.TemporaryDirectory() as directory:
            fresh = {"SARRUS_CACHE_DIR": directory}
            found.append(
                _row("sarrus simulate, 5 s, first run ever", _process_seconds(_COMMAND, fresh), 3.0, 1)
            )
    return found


def _row(name: str, seconds: float, target: float | None, repeats: int) -> Row:
    return Row(
        name=name,
        model="" if "import" in name else "five_bar",
        ours_us=1e6 * seconds,
        conditions=conditions(
            note=f"median of {repeats} processes" if repeats > 1 else "one process, empty caches"
        ),
        within_us=None if target is None else 1e6 * target,
    )


def _import_seconds(statement: str) -> float:
    command = [sys.executable, "-c", _TIMED.format(statement)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


def _process_seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Return the seconds of a process, which may keep the bytecode of its modules as installed packages do."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=variables | (environment or {}), cwd=ROOT)
    return perf_counter() - began
