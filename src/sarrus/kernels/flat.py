"""`flat`: a view of a float64 array as a bare pointer, indexed as in C, for the inner loops.

Numba's arrays test every index for being negative and count references at every slice. Measured on the
12 × 18 factorisation that costs a third of the time, so the kernels index such views instead.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model


class FlatType(types.Type):
    """Numba type of a `flat` view."""

    def __init__(self) -> None:
        super().__init__(name="Flat")


flat_type = FlatType()


@register_model(FlatType)
class _FlatModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(types.float64))])


@intrinsic
def flat(typing_context: Any, array: Any) -> Any:
    """Return the flat view of a C-contiguous float64 array. Nothing is checked.

    The view keeps nothing alive, and Numba frees an array after its last use by name: take views of arguments,
    or use a local array once more after the last use of its view.
    """

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(flat_type)(context, builder)
        view.data = data_pointer(context, builder, call.args[0], arguments[0])
        return view._getvalue()

    if not isinstance(array, types.Array) or array.dtype != types.float64 or array.layout != "C":
        return None
    return flat_type(array), generate


@intrinsic
def flat_at(typing_context: Any, address: Any) -> Any:
    """Return the flat view of the float64 numbers from an address on, such as ``array.ctypes.data``."""

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(flat_type)(context, builder)
        view.data = builder.inttoptr(arguments[0], view.data.type)
        return view._getvalue()

    return flat_type(types.int64), generate


@intrinsic
def flat_pointer(typing_context: Any, pointer: Any) -> Any:
    """Return the flat view of what a C pointer to float64 points to."""

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(flat_type)(context, builder)
        view.data = builder.bitcast(arguments[0], view.data.type)
        return view._getvalue()

    return flat_type(types.CPointer(types.float64)), generate


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, keywords: Any) -> Any:
        if len(args) == 2 and args[0] == flat_type and isinstance(args[1], types.Integer):
            return signature(types.float64, flat_type, types.int64)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, keywords: Any) -> Any:
        if len(args) == 3 and args[0] == flat_type and isinstance(args[1], types.Integer):
            return signature(types.none, flat_type, types.int64, types.float64)
        return None


def data_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return in LLVM the address of the first entry of an array or a flat view."""
    if isinstance(kind, FlatType):
        return cgutils.create_struct_proxy(flat_type)(context, builder, value).data
    return context.make_array(kind)(context, builder, value).data


def _element(context: Any, builder: Any, view: Any, index: Any) -> Any:
    return builder.gep(data_pointer(context, builder, flat_type, view), [index])


@lower_builtin(operator.getitem, flat_type, types.int64)
def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load(_element(context, builder, *arguments))


@lower_builtin(operator.setitem, flat_type, types.int64, types.float64)
def _store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view, index, value = arguments
    builder.store(value, _element(context, builder, view, index))
    return context.get_dummy_value()


class _Internal(CPUDispatcher):
    def get_call_template(self, args: Any, keywords: Any) -> Any:
        """Compile no copies for constants such as True."""
        return super().get_call_template([types.unliteral(kind) for kind in args], keywords)


def internal(function: Any, **options: Any) -> Any:
    """Compile a function that only compiled ones call: once per set of types, with no entry from Python."""
    options |= {
        "nopython": True,
        "error_model": "numpy",
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    kernel = _Internal(function, targetoptions=options)
    kernel.enable_caching()
    return kernel


def inlined(function: Any) -> Any:
    """Have a function copied into its callers before they are compiled, which saves compiling it on its own."""
    return internal(function, inline="always")
