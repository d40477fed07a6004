"""Calls of native functions and kernels by their addresses; see `sarrus.kernels.platform.llvm_expressions`."""

from __future__ import annotations

from typing import Any


def call_native(address: Any, inputs: Any, outputs: Any) -> Any:
    """Call the function at ``address``, a `sarrus.codegen.NativeFunction` that is kept alive.

    The address is a run-time value, so compiled kernels serve any model. ``inputs`` and ``outputs`` are pointers to
    float64 that do not overlap. Nothing is checked: a wrong address or length corrupts memory or ends the process.

    Raises
    ------
    TypeError
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
