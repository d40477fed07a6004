"""Kernels that are C functions ``int64 f(int64 *table, double *x, int64 what)``, called through the table.

Numba copies what a compiled function calls into it and optimises it again, at every level of the calls. So the large
kernels are called by their addresses instead: each is compiled once, and not before it is needed. Functions of the same
form from elsewhere, a Python callback say, can take their place.

Their object code is kept in the same cache as that of the models. Only a process that finds none imports Numba, which
takes longer than most simulations.
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
from typing import Any

import numpy as np

from sarrus.base.errors import CompilationError
from sarrus.codegen import cache
from sarrus.codegen.addresses import beginning
from sarrus.codegen.machine import LoadedCode
from sarrus.kernels.origin import origin

PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
# Where another process compiles a kernel meanwhile, this long [s] is waited for it.
_PATIENCE = 120.0
# A kernel is loaded once: others may hold its address.
_LOADING = threading.RLock()


class Kernel:
    """A kernel as a C function, compiled or fetched from the cache when its address is first asked for.

    ``module`` of this package has the function ``name`` as Python source for Numba.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self._builder: subprocess.Popen[bytes] | None = None

    def prefetch(self) -> None:
        """Have another process compile this kernel meanwhile, if there is a cache and it is not in it."""
        known = self._builder is not None or "_code" in self.__dict__ or cache.directory() is None
        if not known and not cache.has(self._key):
            # Not to import what lies in the working directory (-P), but what this process would.
            command = [sys.executable, "-P", "-m", "sarrus.kernels.store", self.module, self.name]
            path = [*filter(None, sys.path), str(Path(__file__).resolve().parents[2])]
            with suppress(OSError):
                self._builder = subprocess.Popen(
                    command,
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )

    def store(self) -> bytes:
        """Compile the kernel and put it into the cache."""
        from sarrus.kernels.build import build

        code = build(self.module, self.name)
        cache.store(self._key, cache.Entry(code, 0, 1))
        return code

    @cached_property
    def _key(self) -> str:
        return hashlib.sha256(f"{self.name}\0{origin()}".encode()).hexdigest()

    @cached_property
    def _code(self) -> LoadedCode:
        if self._builder is not None:
            with suppress(subprocess.TimeoutExpired):
                self._builder.wait(_PATIENCE)
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
        """Call it from Python on arrays of int64 and float64, C-contiguous; nothing is checked."""
        return int(self.entry(beginning(table), beginning(x), what))


acceleration = Kernel("acceleration", "acceleration")
null_space_acceleration = Kernel("null_space", "null_space_acceleration")
projection = Kernel("projection", "projection")
projection_with_energy = Kernel("energy", "projection_with_energy")
chart_projection = Kernel("chart", "chart_projection")
rosenbrock = Kernel("rosenbrock", "rosenbrock")
advance = Kernel("run", "advance")
command = Kernel("command", "command")
distribution = Kernel("distribution", "distribution")
cone_program = Kernel("cone_program", "cone_program")
prepare = Kernel("batch", "prepare")
batch = Kernel("batch", "batch")
lanes = Kernel("lanes", "lanes")
dense = Kernel("dense", "dense")
glance = Kernel("glance", "glance")


def prefetch(*, implicit: bool = False) -> None:
    """Have the largest kernels of a simulation compiled by other processes, while this one prepares the model."""
    for kernel in (advance, acceleration, dense, *((rosenbrock,) if implicit else ())):
        kernel.prefetch()
