"""Numba types and code of the pointers, calls and marks of `pointers`, `native_call` and `memory.record`.

Importing it tells Numba. Only what compiles kernels does.
"""

from __future__ import annotations

import operator
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_jitable,
    register_model,
    type_callable,
    typeof_impl,
)

from sarrus.kernels.memory import (
    batch_layout,
    cone_layout,
    contact_problem_layout,
    invariant_layout,
    lane_layout,
    law_layout,
    layout,
    models_layout,
)
from sarrus.kernels.memory import (
    contact_layout as touching_layout,
)
from sarrus.kernels.memory import (
    crossing_layout as passage_layout,
)
from sarrus.kernels.memory import (
    geometry_layout as colliding_layout,
)
from sarrus.kernels.memory import (
    law_contact_layout as contact_layout,
)
from sarrus.kernels.memory.record import Record, laid, pointee, record_fields
from sarrus.kernels.platform.native_call import call_kernel, call_narrow_phase, call_native
from sarrus.kernels.platform.pointers import POINTERS, Internal, exists, flat

# Functions of the layouts that the kernels call as Python does: those without annotations.
_LAYOUTS = (
    batch_layout,
    colliding_layout,
    cone_layout,
    contact_layout,
    contact_problem_layout,
    invariant_layout,
    lane_layout,
    law_layout,
    layout,
    models_layout,
    passage_layout,
    touching_layout,
)
for _module in _LAYOUTS:
    for _shared in vars(_module).values():
        if (
            isinstance(_shared, FunctionType)
            and _shared.__module__ == _module.__name__
            and not _shared.__annotations__
        ):
            register_jitable(_shared)

_NUMBERS = {float: types.float64, int: types.int64, np.float32: types.float32}


class RecordType(types.CPointer):
    """Numba type of a pointer to a record: also one to its numbers."""

    def __init__(self, record: type[Record]) -> None:
        super().__init__(types.int64 if record.number is int else types.float64)
        self.record, self.name = record, f"{record.__name__}*"

    @property
    def key(self) -> Any:
        """What tells types apart."""
        return self.record


register_model(RecordType)(models.PointerModel)


@infer_getattr
class _Fields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, pointer: RecordType, name: str) -> Any:
        kind = pointer.record.fields.get(name)
        if kind is None:
            return None
        target = pointee(kind)
        return pointer.dtype if target is None else pointer_to(target)


def pointer_to(target: Any) -> types.CPointer:
    """Return Numba's type of a pointer to float, int, `numpy.float32` or a record."""
    return types.CPointer(_NUMBERS[target]) if target in _NUMBERS else RecordType(target)


def _entry(context: Any, builder: Any, kind: RecordType, pointer: Any, name: str) -> Any:
    place = context.get_constant(types.intp, kind.record.places[name])
    return builder.gep(pointer, [place])


@lower_getattr_generic(RecordType)
def _read(context: Any, builder: Any, kind: RecordType, pointer: Any, name: str) -> Any:
    value = builder.load(_entry(context, builder, kind, pointer, name))
    target = pointee(kind.record.fields[name])
    if target is None:
        return value
    return builder.inttoptr(value, context.get_value_type(pointer_to(target)))


@lower_setattr_generic(RecordType)
def _write(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    pointer, value = arguments
    if isinstance(signature.args[1], types.CPointer):
        value = builder.ptrtoint(value, context.get_value_type(types.int64))
    builder.store(value, _entry(context, builder, signature.args[0], pointer, name))


@type_callable(operator.iadd)
@type_callable(operator.add)
def _type_of_sum(context: Any) -> Any:
    def typer(pointer: Any, count: Any) -> Any:
        if isinstance(pointer, types.CPointer) and isinstance(count, types.Integer):
            return types.CPointer(pointer.dtype)
        return None

    return typer


@lower_builtin(operator.iadd, types.CPointer, types.Integer)
@lower_builtin(operator.add, types.CPointer, types.Integer)
def _sum(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.gep(arguments[0], [arguments[1]])


@type_callable(operator.eq)
def _type_of_sameness(context: Any) -> Any:
    def typer(left: Any, right: Any) -> Any:
        pointers = isinstance(left, types.CPointer) and isinstance(right, types.CPointer)
        return types.boolean if pointers else None

    return typer


@lower_builtin(operator.eq, types.CPointer, types.CPointer)
def _is_same(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.icmp_unsigned("==", *arguments)


@type_callable(laid)
def _type_of_laid(context: Any) -> Any:
    def typer(start: Any, sizes: Any) -> Any:
        numbers = types.CPointer(start.dtype)
        kinds = [RecordType(r) if r else numbers for r in record_fields(sizes.instance_class)]
        return types.BaseTuple.from_types(kinds, sizes.instance_class)

    return typer


@lower_builtin(laid, types.CPointer, types.BaseTuple)
def _laid(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    start, sizes = arguments
    parts, first = [], context.get_constant(types.int64, 0)
    for k in range(len(signature.args[1])):
        parts.append(builder.gep(start, [first]))
        first = builder.add(first, builder.extract_value(sizes, k))
    return context.make_tuple(builder, signature.return_type, parts)


@type_callable(exists)
def _type_of_exists(context: Any) -> Any:
    return lambda pointer: types.boolean if isinstance(pointer, types.CPointer) else None


@lower_builtin(exists, types.CPointer)
def _exists(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    number = builder.ptrtoint(arguments[0], context.get_value_type(types.int64))
    return builder.icmp_unsigned("!=", number, context.get_constant(types.int64, 0))


def _tell_of_records(at: Any, record: type[Record]) -> None:
    @type_callable(at)
    def type_of_place(context: Any) -> Any:
        return lambda pointer: RecordType(record)

    lower_builtin(at, types.CPointer)(lambda context, builder, signature, arguments: arguments[0])


for _at, _record in POINTERS.items():
    _tell_of_records(_at, _record)


@type_callable(flat)
def _type_of_flat(context: Any) -> Any:
    def typer(array: Any) -> Any:
        whole = isinstance(array, types.Array) and array.layout == "C"
        return types.CPointer(array.dtype) if whole else None

    return typer


@lower_builtin(flat, types.Array)
def _flat(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _data_pointer(context, builder, signature.args[0], arguments[0])


def _data_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return in LLVM the address of the first entry of an array, or a pointer as it is."""
    if isinstance(kind, types.CPointer):
        return value
    return context.make_array(kind)(context, builder, value).data


@type_callable(call_native)
def _type_of_native_call(context: Any) -> Any:
    def typer(address: Any, inputs: Any, outputs: Any) -> Any:
        if not isinstance(address, types.Integer):
            raise TypingError(f"call_native: address must be an integer, not {address}")
        for name, array in (("inputs", inputs), ("outputs", outputs)):
            pointer = isinstance(array, types.CPointer)
            whole = isinstance(array, types.Array) and array.layout == "C"
            if not ((pointer or whole) and array.dtype == types.float64):
                raise TypingError(f"call_native: {name} must be a C-contiguous float64 array, not {array}")
        if isinstance(outputs, types.Array) and not outputs.mutable:
            raise TypingError("call_native: outputs must be writable")
        return types.void

    return typer


@lower_builtin(call_native, types.Integer, types.Any, types.Any)
def _call_native(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    function_type = ir.FunctionType(ir.VoidType(), [ir.PointerType(), ir.PointerType()])
    data = [_data_pointer(context, builder, signature.args[k], arguments[k]) for k in (1, 2)]
    builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), data)
    return context.get_dummy_value()


@type_callable(call_kernel)
def _type_of_kernel_call(context: Any) -> Any:
    def typer(address: Any, table: Any, x: Any, what: Any) -> Any:
        pointers = isinstance(table, types.CPointer) and isinstance(x, types.CPointer)
        return types.int64 if pointers else None

    return typer


@lower_builtin(call_kernel, types.Integer, types.CPointer, types.CPointer, types.Integer)
def _call_kernel(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer, integer = ir.PointerType(), ir.IntType(64)
    kernel_type = ir.FunctionType(integer, [pointer, pointer, integer])
    address, table, x, what = arguments
    what = context.cast(builder, what, signature.args[3], types.int64)
    return builder.call(builder.inttoptr(address, kernel_type.as_pointer()), [table, x, what])


@type_callable(call_narrow_phase)
def _type_of_narrow_phase(context: Any) -> Any:
    return lambda function, model, data, contacts, one, other, margin: types.int64


@lower_builtin(call_narrow_phase, *[types.Integer] * 3, types.CPointer, *[types.Integer] * 2, types.Float)
def _call_narrow_phase(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer, short = ir.PointerType(), ir.IntType(32)
    function_type = ir.FunctionType(short, [pointer, pointer, pointer, short, short, ir.DoubleType()])
    function, model, data, contacts, one, other, margin = arguments
    places = [builder.inttoptr(address, pointer) for address in (model, data)]
    ids = [builder.trunc(geom, short) for geom in (one, other)]
    called = builder.inttoptr(function, function_type.as_pointer())
    return builder.sext(builder.call(called, [*places, contacts, *ids, margin]), ir.IntType(64))


class _Dispatcher(CPUDispatcher):
    def get_call_template(self, args: Any, keywords: Any) -> Any:
        """Compile no copies for constants such as True."""
        return super().get_call_template([types.unliteral(kind) for kind in args], keywords)


@cache
def dispatcher(function: Any, **options: Any) -> CPUDispatcher:
    """Return what compiles a function that only compiled ones call: once per set of types."""
    options |= {
        "nopython": True,
        "error_model": "numpy",
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    return _Dispatcher(function, targetoptions=options)


@typeof_impl.register(Internal)
def _type_of_internal(function: Internal, context: Any) -> types.Dispatcher:
    return types.Dispatcher(dispatcher(function.py_func, **function.targetoptions))
