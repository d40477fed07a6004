"""Exported C code, compiled and called from tests."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.export.c import CExport

STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off")
GUARD = 64  # bytes behind the workspace that must stay as they are
# What tests need beside an export: its sizes, and what its macros reach.
PROBE = """\
#include "{name}.h"
unsigned long size_of_workspace(void);
unsigned long size_of_workspace(void)
{{
    return sizeof({name}_workspace);
}}
#ifdef {upper}_SETTING
void change_setting({name}_workspace *W, int k, double value);
void change_setting({name}_workspace *W, int k, double value)
{{
    {upper}_SETTING(W, k) = value;
}}
#endif
#if {upper}_NP > 0
void change_parameter({name}_workspace *W, int k, double value);
void change_parameter({name}_workspace *W, int k, double value)
{{
    W->parameters[k] = value;
}}
#endif
#ifdef {upper}_FORCE
double force_of({name}_workspace *W, int k);
double force_of({name}_workspace *W, int k)
{{
    return {upper}_FORCE(W, k);
}}
#endif
"""


def compiler() -> str:
    """Return the C compiler; without one the test is skipped, on CI it fails."""
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("CI has no C compiler")
        pytest.skip("no C compiler")
    return found


def build(export: CExport, *flags: str) -> Path:
    """Compile an export to a shared library, warnings being errors."""
    folder = export.files[0].parent
    probe = folder / "probe.c"
    probe.write_text(PROBE.format(name=export.name, upper=export.name.upper()))
    library = folder / f"{export.name}.so"
    command = [
        compiler(),
        *STRICT,
        "-O1",
        *flags,
        "-fPIC",
        "-shared",
        "-o",
        library,
        export.files[0],
        probe,
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    assert done.stderr == ""
    return library


def pointer(array: Array | None) -> Any:
    """Return what C gets for an array of float64."""
    if array is None:
        return None
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


@dataclass
class Motion:
    """What forward dynamics in C says."""

    a: Array
    constraint_force: Array
    multipliers: Array
    rank: int
    status: Status


class Compiled:
    """An export with a workspace of its own."""

    def __init__(self, export: CExport, system: sr.System, library: Path | None = None) -> None:
        self.export, self.system = export, system
        self.library = ctypes.CDLL(str(library or build(export)))
        self.library.size_of_workspace.restype = ctypes.c_ulong
        self.size = self.library.size_of_workspace()
        self.memory = np.full(self.size // 8 + 1 + GUARD // 8, 7.25)
        self.workspace = self.memory.ctypes.data_as(ctypes.c_void_p)
        self.call("init")

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function on the workspace: floats and arrays of float64."""
        function = getattr(self.library, f"{self.export.name}_{name}")
        given = [
            ctypes.c_double(x) if isinstance(x, float) else pointer(x) if isinstance(x, np.ndarray) else x
            for x in arguments
        ]
        answer = int(function(self.workspace, *given))
        assert np.all(self.memory[self.size // 8 + 1 :] == 7.25)
        return answer

    def assign(self, parameters: Any) -> None:
        """Give all parameters of the system other values."""
        for k, value in enumerate(parameters):
            self.library.change_parameter(self.workspace, k, ctypes.c_double(value))

    def forward_dynamics(
        self, q: Array, v: Array, u: Array | None = None, t: float = 0.0, tau: Array | None = None
    ) -> Motion:
        """Call forward dynamics."""
        nv, nc = self.system.nv, self.system.nc
        out = np.zeros(2 * nv + nc + 1)
        status = self.call("forward_dynamics", *map(contiguous, (q, v, u)), float(t), contiguous(tau), out)
        rank = int(out[-1:].view(np.int32)[0])
        return Motion(out[:nv], out[nv : 2 * nv], out[2 * nv : -1], rank, Status(status))


def contiguous(values: Any) -> Array | None:
    """Return an array of its own that C can read, None for None."""
    return None if values is None else np.array(values, dtype=float)


def assert_same_motion(
    got: Motion, system: sr.System, state: tuple[Any, ...], tolerance: float = 1e-12
) -> None:
    """Assert that C and Python agree at a state (q, v, u, t, tau).

    Errors are relative to the largest entry; that of a to the largest of the unconstrained acceleration, those of
    constraint forces and multipliers to the largest of the other forces, where these are larger: what constraints
    take away from something has its rounding.
    """
    expected = system.forward_dynamics(*state, throw=False)
    assert (got.status, got.rank) == (expected.status, expected.rank)
    mass = system.mass_matrix(state[0])
    force = mass @ expected.a - expected.constraint_force
    free = np.zeros(0) if system.compiled.mass_is_singular else np.linalg.solve(mass, force)
    for mine, other, beside in (
        (got.a, expected.a, free),
        (got.constraint_force, expected.constraint_force, force),
        (got.multipliers, expected.multipliers, force),
    ):
        size = max(np.abs(other).max(initial=0.0), np.abs(beside).max(initial=0.0))
        np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance * size)
