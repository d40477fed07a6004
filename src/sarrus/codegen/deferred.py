"""`Deferred`: the address of a function that is compiled at its first call."""

from __future__ import annotations

import _thread
import ctypes
from collections.abc import Callable

from sarrus.codegen.native import SIGNATURE, NativeFunction


class Deferred:
    """Replaces a `NativeFunction` that may never be called, such as rank decisions near singular configurations.

    The code is valid while this object lives. An interrupt during compilation is raised afterwards. If compilation
    fails, the output is NaN, which callers treat as a failed evaluation, and `failure` gives the reason.
    """

    def __init__(self, make: Callable[[], NativeFunction], n_out: int) -> None:
        self.failure: Exception | None = None
        self._make, self._n_out = make, n_out
        self._callback = SIGNATURE(self._call)
        self.address: int = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _call(self, inputs: int, outputs: int) -> None:
        interrupted = False
        while self.failure is None:
            try:
                self._make().call(inputs, outputs)
                break
            except KeyboardInterrupt:
                interrupted = True
            except Exception as error:
                self.failure = error
        if self.failure is not None:
            (ctypes.c_double * self._n_out).from_address(outputs)[:] = [float("nan")] * self._n_out
        if interrupted:
            _thread.interrupt_main()
