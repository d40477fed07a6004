"""What a new model costs, in a process of its own: seconds to compile, instructions, peak memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from examples import slider_crank

import sarrus as sr
from benchmarks.models import MODELS, ROOT
from benchmarks.rows import Row, conditions
from sarrus.base.arrays import Array


def rows(quick: bool) -> list[Row]:
    """Return seconds from a mechanism to its first acceleration, without and with the disk cache."""
    found = []
    for name in list(MODELS)[:1] if quick else MODELS:
        with tempfile.TemporaryDirectory() as directory:
            for label in ("cold", "warm"):
                facts = _probe_in_process(name, directory)
                found.append(
                    Row(
                        name=f"compile, {label} cache",
                        model=name,
                        ours_us=1e6 * facts.pop("seconds"),
                        conditions=conditions(
                            note="System(mechanism), assemble, forward_dynamics; Numba's cache warm"
                        ),
                        extra=facts,
                    )
                )
    return found


def _probe_in_process(name: str, directory: str) -> dict[str, Any]:
    environment = os.environ | {"SARRUS_CACHE_DIR": directory}
    command = [sys.executable, "-m", "benchmarks.cost", name]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def probe(name: str) -> dict[str, Any]:
    """Build a model in this process and tell what it took. Another model loads the libraries beforehand."""
    _first_acceleration(slider_crank.build(), lambda system: system.neutral())
    mechanism = MODELS[name].build()
    baseline = _peak_mb()
    began = perf_counter()
    system = _first_acceleration(mechanism, MODELS[name].guess)
    seconds = perf_counter() - began
    functions = system.compiled.compiled.values()
    return {
        "seconds": seconds,
        "native_seconds": sum(f.compile_seconds for f in functions),
        "instructions_dynamics": system.compiled.function("dynamics").n_instructions,
        "instructions": sum(f.n_instructions for f in functions),
        "libraries_memory_mb": baseline,
        "peak_memory_mb": _peak_mb(),
    }


def _first_acceleration(mechanism: sr.Mechanism, guess: Callable[[sr.System], Array]) -> sr.System:
    system = sr.System(mechanism)
    q = system.assemble(guess(system)).q
    system.forward_dynamics(q, np.zeros(system.nv))
    return system


def _peak_mb() -> float:
    """Return the peak memory of this process, on Linux without what `getrusage` inherits through exec."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0**2 if sys.platform == "darwin" else 1024.0)


if __name__ == "__main__":
    print(json.dumps(probe(sys.argv[1])))
