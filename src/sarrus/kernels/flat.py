"""`flat`: a view of an array of float64 or int64 as a bare pointer, indexed as in C.

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
from numba.extending import intrinsic, lower_builtin, models, register_jitable, register_model

from sarrus.kernels import batch_layout, cone_layout, contact_layout, law_layout, layout, passage_layout

# Functions that Python calls too.
for _shared in (
    layout.workspace,
    layout.input_size,
    layout.local_array,
    passage_layout.passage_array,
    batch_layout.record_width,
    batch_layout.lane_storage,
    law_layout.law_workspace,
    cone_layout.cone_workspace,
    cone_layout.equality_workspace,
    contact_layout.physics,
    contact_layout.memory,
    contact_layout.most_rows,
    contact_layout.distribution_workspace,
):
    register_jitable(_shared)


class FlatType(types.Type):
    """Numba type of a `flat` view of numbers of type ``dtype``."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Flat({dtype})")


flat_type, integers_type = FlatType(types.float64), FlatType(types.int64)


@register_model(FlatType)
class _FlatModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype))])


@intrinsic
def flat(typing_context: Any, array: Any) -> Any:
    """Return the flat view of a C-contiguous array of float64 or int64. Nothing is checked.

    The view keeps nothing alive, and Numba frees an array after its last use by name: take views of arguments,
    or use a local array once more after the last use of its view.
    """

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(call.return_type)(context, builder)
        view.data = data_pointer(context, builder, call.args[0], arguments[0])
        return view._getvalue()

    if not isinstance(array, types.Array) or array.layout != "C":
        return None
    return (flat_type if array.dtype == types.float64 else integers_type)(array), generate


@intrinsic
def flat_at(typing_context: Any, address: Any) -> Any:
    """Return the flat view of the float64 numbers from an address on, such as ``array.ctypes.data``."""

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(flat_type)(context, builder)
        view.data = builder.inttoptr(arguments[0], view.data.type)
        return view._getvalue()

    return flat_type(types.int64), generate


@intrinsic
def integers_at(typing_context: Any, address: Any) -> Any:
    """Return the flat view of the int64 numbers from an address on."""

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(integers_type)(context, builder)
        view.data = builder.inttoptr(arguments[0], view.data.type)
        return view._getvalue()

    return integers_type(types.int64), generate


@intrinsic
def flat_pointer(typing_context: Any, pointer: Any) -> Any:
    """Return the flat view of what a C pointer to float64 or int64 points to."""

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(call.return_type)(context, builder)
        view.data = builder.bitcast(arguments[0], view.data.type)
        return view._getvalue()

    return FlatType(pointer.dtype)(pointer), generate


@intrinsic
def flat_from(typing_context: Any, view: Any, first: Any) -> Any:
    """Return the part of a flat view from the entry ``first`` on."""

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        part = cgutils.create_struct_proxy(call.return_type)(context, builder)
        part.data = _element(context, builder, call.return_type, *arguments)
        return part._getvalue()

    return view(view, types.int64), generate


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, keywords: Any) -> Any:
        if len(args) == 2 and isinstance(args[0], FlatType) and isinstance(args[1], types.Integer):
            return signature(args[0].dtype, args[0], types.int64)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, keywords: Any) -> Any:
        if len(args) == 3 and isinstance(args[0], FlatType) and isinstance(args[1], types.Integer):
            return signature(types.none, args[0], types.int64, args[0].dtype)
        return None


def data_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return in LLVM the address of the first entry of an array or a flat view."""
    if isinstance(kind, FlatType):
        return cgutils.create_struct_proxy(kind)(context, builder, value).data
    return context.make_array(kind)(context, builder, value).data


def _element(context: Any, builder: Any, kind: Any, view: Any, index: Any) -> Any:
    return builder.gep(data_pointer(context, builder, kind, view), [index])


@lower_builtin(operator.getitem, FlatType, types.int64)
def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load(_element(context, builder, signature.args[0], *arguments))


@lower_builtin(operator.setitem, flat_type, types.int64, types.float64)
@lower_builtin(operator.setitem, integers_type, types.int64, types.int64)
def _store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view, index, value = arguments
    builder.store(value, _element(context, builder, signature.args[0], view, index))
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
    return _Internal(function, targetoptions=options)


def inlined(function: Any) -> Any:
    """Have a function copied into its callers before they are compiled, which saves compiling it on its own."""
    return internal(function, inline="always")
