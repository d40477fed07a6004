"""Calling a native function ``void f(const double *in, double *out)`` from Numba code by its address."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic


@intrinsic
def call_native(typing_context: Any, address: Any, inputs: Any, outputs: Any) -> Any:
    """Call the function at ``address`` on the data of two arrays: ``call_native(address, inputs, outputs)``.

    For use inside functions compiled by Numba. The address is a run-time value, so callers can be cached on
    disk and serve any model. Neither sizes nor the address are checked: a wrong one corrupts memory or ends
    the process.

    Parameters
    ----------
    address : int64
        `sarrus.codegen.NativeFunction.address`; the owner of the function must be kept alive.
    inputs : array of float64, C-contiguous
        At least as long as the function's input; a slice ``x[a:b]`` is contiguous too.
    outputs : array of float64, C-contiguous
        At least as long as the function's output; must not overlap ``inputs``.

    Raises
    ------
    numba.core.errors.TypingError
        An argument has another type; raised when the caller is compiled.
    """
    if not isinstance(address, types.Integer):
        raise TypingError(f"call_native: the address must be an integer, not {address}")
    for name, array in (("inputs", inputs), ("outputs", outputs)):
        if not isinstance(array, types.Array) or array.dtype != types.float64 or array.layout != "C":
            raise TypingError(f"call_native: {name} must be a C-contiguous float64 array, not {array}")
    if not outputs.mutable:
        raise TypingError("call_native: outputs must be writable")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.PointerType()
        function_type = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        data = [
            builder.bitcast(context.make_array(kind)(context, builder, value).data, pointer)
            for kind, value in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        builder.call(function, data)
        return context.get_dummy_value()

    return types.void(types.int64, inputs, outputs), generate
