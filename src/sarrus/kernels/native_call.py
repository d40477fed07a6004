"""Calling native functions and kernels from Numba code by their addresses."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from sarrus.kernels.flat import data_pointer


@intrinsic
def call_native(typing_context: Any, address: Any, inputs: Any, outputs: Any) -> Any:
    """Call the function at ``address``: ``call_native(address, inputs, outputs)``.

    For use inside functions compiled by Numba. The address is a run-time value, so callers can be cached on disk and
    serve any model. Neither sizes nor the address are checked: a wrong one corrupts memory or ends the process.

    Parameters
    ----------
    address : int64
        The ``address`` of a `sarrus.codegen.NativeFunction`; the owner of the function must be kept alive.
    inputs, outputs : arrays of float64, C-contiguous, or pointers
        They must not overlap.

    Raises
    ------
    numba.core.errors.TypingError
        An argument has another type; raised when the caller is compiled.
    """
    if not isinstance(address, types.Integer):
        raise TypingError(f"call_native: address must be an integer, not {address}")
    for name, array in (("inputs", inputs), ("outputs", outputs)):
        pointer = isinstance(array, types.CPointer)
        whole = isinstance(array, types.Array) and array.layout == "C"
        if not ((pointer or whole) and array.dtype == types.float64):
            raise TypingError(f"call_native: {name} must be a C-contiguous float64 array, not {array}")
    if isinstance(outputs, types.Array) and not outputs.mutable:
        raise TypingError("call_native: outputs must be writable")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.PointerType()
        function_type = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        data = [data_pointer(context, builder, signature.args[k], arguments[k]) for k in (1, 2)]
        builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), data)
        return context.get_dummy_value()

    return types.void(types.int64, inputs, outputs), generate


@intrinsic
def call_kernel(typing_context: Any, address: Any, table: Any, x: Any, what: Any) -> Any:
    """Call the kernel at ``address`` with a table, x and an integer; nothing is checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, integer = ir.PointerType(), ir.IntType(64)
        function = builder.inttoptr(
            arguments[0], ir.FunctionType(integer, [pointer, pointer, integer]).as_pointer()
        )
        return builder.call(function, arguments[1:])

    if not (isinstance(table, types.CPointer) and isinstance(x, types.CPointer)):
        return None
    return types.int64(types.int64, table, x, types.int64), generate
