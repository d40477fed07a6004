"""Calling native functions and kernels from kernels by their addresses; see `sarrus.kernels.platform.numba_forms`."""

from __future__ import annotations

from typing import Any


def call_native(address: Any, inputs: Any, outputs: Any) -> Any:
    """Call the function at ``address``.

    For use inside functions compiled by Numba. The address is a run-time value, so callers can be kept on disk and
    serve any model. Neither sizes nor the address are checked: a wrong one corrupts memory or ends the process.

    Parameters
    ----------
    address : int64
        The ``address`` of a `sarrus.codegen.NativeFunction`; the owner of the function must be kept alive.
    inputs, outputs : pointers, or arrays of float64, C-contiguous
        They must not overlap.

    Raises
    ------
    numba.core.errors.TypingError
        An argument has another type; raised when the caller is compiled.
    """
    raise TypeError("call_native is for compiled functions only")


def call_kernel(address: Any, table: Any, x: Any, what: Any) -> Any:
    """Call the kernel at ``address`` with a table, x and an integer; nothing is checked."""
    raise TypeError("call_kernel is for kernels only")


def call_narrow_phase(
    function: Any, model: Any, data: Any, contacts: Any, one: Any, other: Any, margin: Any
) -> Any:
    """Call a function of MuJoCo's table of collisions for two geoms; return how many contacts it wrote.

    ``function``, ``model`` and ``data`` are addresses, ``contacts`` points to room for mjMAXCONPAIR of `mjContact`.
    """
    raise TypeError("call_narrow_phase is for kernels only")
