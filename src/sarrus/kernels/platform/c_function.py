"""Kernels as C functions ``int64 f(int64 *table, double *x, int64 what)``, called through the table.

Kernels call each other by their addresses: each kernel is compiled once, and only if it is needed. Other functions of
this form, such as a Python callback, can take their place.

The package ships the object code of the kernels (`sarrus.kernels.platform.prebuilt`). On processors that this code
does not fit, or if the sources of a kernel have changed, a kernel is compiled when it is first needed, and stored in
the cache of the models.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sarrus.base.errors import CompilationError
from sarrus.codegen import cache
from sarrus.codegen.addresses import beginning
from sarrus.codegen.machine import LoadedCode, baseline, build_object, host
from sarrus.kernels.platform.prebuilt import shipped
from sarrus.kernels.platform.source_digest import OPTIMIZATION, PACKED, sources
from sarrus.kernels.platform.tolerances import COMPILE_PATIENCE

PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
# A kernel is loaded once: others may hold its address.
_LOADING = threading.RLock()


class Kernel:
    """A kernel as a C function, loaded when its address is first requested, and compiled if necessary.

    The module ``module`` of this package has the function ``name`` as Python source.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self._builder: subprocess.Popen[bytes] | None = None

    def shipped_code(self) -> bytes | None:
        """Return the shipped object code for the baseline; None if it was made from other sources."""
        known = shipped()
        return None if known is None else known.code(self.name, sources(self.module))

    def prefetch(self) -> None:
        """Start a process that compiles this kernel into the cache, unless it is there already or shipped."""
        known = self._builder is not None or "_code" in self.__dict__
        ready = known or (_for_here() and self.shipped_code() is not None)
        if not ready and cache.directory() is not None and not cache.has(self._key):
            # Not to import what lies in the working directory (-P), but what this process would.
            command = [
                sys.executable,
                "-P",
                "-m",
                "sarrus.kernels.platform.compile_one",
                self.module,
                self.name,
            ]
            path = [*filter(None, sys.path), str(Path(__file__).resolve().parents[3])]
            with suppress(OSError):
                self._builder = subprocess.Popen(
                    command,
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )

    def store(self) -> bytes:
        """Compile the kernel for `host`, store it in the cache and return its object code."""
        from sarrus.kernels.platform.build import kernel_text  # for start-up time

        begun = perf_counter()
        packs = self.module in PACKED
        code = build_object(kernel_text(self.module, self.name), OPTIMIZATION, passes=True, packs=packs)
        cache.store(self._key, cache.Entry(code, 0, 1))
        if sys.stderr.isatty():
            took = perf_counter() - begun
            print(f"sarrus: compiled the kernel {self.name} for this machine, {took:.1f} s", file=sys.stderr)
        return code

    @cached_property
    def _key(self) -> str:
        parts = self.name, sources(self.module), str(cache.FORMAT), host().identity
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @cached_property
    def _code(self) -> LoadedCode:
        ready = self.shipped_code() if _for_here() else None
        if ready is not None:
            with suppress(CompilationError):
                return LoadedCode(ready)
        if self._builder is not None:
            with suppress(subprocess.TimeoutExpired):
                self._builder.wait(COMPILE_PATIENCE)
        entry = cache.load(self._key)
        if entry is not None:
            with suppress(CompilationError):
                return LoadedCode(entry.code)
            cache.discard(self._key)
        return LoadedCode(self.store())

    @property
    def address(self) -> int:
        """Address of the function, valid as long as this object lives."""
        if "_code" not in self.__dict__:
            with _LOADING:
                return self._code.address
        return self._code.address

    @cached_property
    def entry(self) -> Any:
        """The function for ctypes, of two addresses and an integer."""
        return PROTOTYPE(self.address)

    def __call__(self, table: np.ndarray, x: np.ndarray, what: int) -> int:
        """Return the result of the kernel for C-contiguous arrays of int64 and float64; nothing is checked."""
        return int(self.entry(beginning(table), beginning(x), what))


def _for_here() -> bool:
    """Return True if the shipped object code runs on the host processor."""
    return shipped() is not None and host().runs(baseline())


acceleration = Kernel("solve.acceleration", "acceleration")
null_space_acceleration = Kernel("solve.null_space", "null_space_acceleration")
projection = Kernel("solve.projection", "projection")
projection_with_invariants = Kernel("solve.invariants", "projection_with_invariants")
chart_projection = Kernel("solve.chart", "chart_projection")
state_projection = Kernel("solve.state_chart", "state_projection")
rosenbrock = Kernel("integrate.rosenbrock", "rosenbrock")
time_step = Kernel("integrate.time_stepping", "time_step")
contact_acceleration = Kernel("integrate.time_stepping", "contact_acceleration")
mode_acceleration = Kernel("integrate.contact_modes", "mode_acceleration")
mode_projection = Kernel("integrate.contact_modes", "mode_projection")
mode_probe = Kernel("integrate.contact_modes", "mode_probe")
bounce = Kernel("integrate.bounce", "bounce")
rebound = Kernel("integrate.bounce", "rebound")
lone_impulse = Kernel("contact.lone_impulse", "lone_impulse")
find_contacts = Kernel("contact.narrow_phase", "find_contacts")
find_contact_rows = Kernel("contact.geometry_parts", "find_contact_rows")
advance = Kernel("integrate.run", "advance")
hierarchy = Kernel("laws.hierarchy", "hierarchy")
hierarchy_in_cones = Kernel("laws.hierarchy_in_cones", "hierarchy_in_cones")
cone_program = Kernel("cones.cone_program", "cone_program")
law_on_contacts = Kernel("laws.plant_contacts", "law_on_contacts")
contact_problem = Kernel("contact.contact_problem", "contact_problem")
contact_forces = Kernel("contact.state_forces", "contact_forces")
choices = Kernel("states.choices", "choices")
force_balance = Kernel("states.force_balance", "force_balance")
supported_state = Kernel("states.support", "supported_state")
prepare = Kernel("batch.batch", "prepare")
batch = Kernel("batch.batch", "batch")
lanes = Kernel("batch.lanes", "lanes")
dense = Kernel("algebra.dense", "dense")
verify_solution = Kernel("solve.verification", "verify_solution")
forward = Kernel("solve.forward", "forward")
forward_of_arrays = Kernel("solve.forward", "forward_of_arrays")
bridge = Kernel("platform.python_call", "BRIDGE")
own_models = Kernel("models.straight_line_models", "own_models")
whole_models = Kernel("models.straight_line_models", "whole_models")
general_models = Kernel("models.general_models", "general_models")
functions_of_states = Kernel("models.functions_of_states", "functions_of_states")
fill_triangles = Kernel("raster", "fill_triangles")
KERNELS = tuple(kernel for kernel in vars().copy().values() if isinstance(kernel, Kernel))
# What a first simulation without contacts, and `System.forward_dynamics`, load.
FIRST_KERNELS = (acceleration, projection, advance, dense, forward_of_arrays, bridge)


def prefetch(*, implicit: bool = False) -> None:
    """Start processes that compile the largest kernels of a simulation while this process prepares the model."""
    for kernel in (advance, acceleration, dense, *((rosenbrock,) if implicit else ())):
        kernel.prefetch()
