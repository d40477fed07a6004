"""Bare pointers in the kernels: to numbers, indexed as in C, and to records, whose numbers have names.

Numba's arrays test every index for being negative and count references at every slice. Measured on the
12 × 18 factorisation that costs a third of the time, so the kernels index pointers instead. ``x + n`` points n numbers
further on.
"""

from __future__ import annotations

import operator
from types import FunctionType
from typing import Any

from numba import types
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_jitable,
    register_model,
    type_callable,
)

from sarrus.kernels import (
    batch_layout,
    cone_layout,
    contact_layout,
    lane_layout,
    law_layout,
    layout,
    passage_layout,
)
from sarrus.kernels.record import Record, laid, pointee, record_fields
from sarrus.kernels.run_state import Run

# Functions of the layouts that the kernels call as Python does: those without annotations.
for _module in (batch_layout, cone_layout, contact_layout, lane_layout, law_layout, layout, passage_layout):
    for _shared in vars(_module).values():
        if (
            isinstance(_shared, FunctionType)
            and _shared.__module__ == _module.__name__
            and not _shared.__annotations__
        ):
            register_jitable(_shared)

FLOATS, INTEGERS = types.CPointer(types.float64), types.CPointer(types.int64)


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

    def generic_resolve(self, pointer: RecordType, name: str) -> Any:  # type: ignore[override]
        kind = pointer.record.fields.get(name)
        if kind is None:
            return None
        target = pointee(kind)
        return pointer.dtype if target is None else pointer_to(target)


def pointer_to(target: Any) -> types.CPointer:
    """Return Numba's type of a pointer to float, to int or to a record."""
    known = {float: FLOATS, int: INTEGERS}
    return known[target] if target in known else RecordType(target)


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


@intrinsic
def exists(typing_context: Any, pointer: Any) -> Any:
    """Tell whether a pointer from a table points to anything."""

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        number = builder.ptrtoint(arguments[0], context.get_value_type(types.int64))
        return builder.icmp_unsigned("!=", number, context.get_constant(types.int64, 0))

    return types.boolean(pointer), generate


# The records of what `placed` has made.
PLACED: dict[int, type[Record]] = {}


def placed(record: type[Record]) -> Any:
    """Return what makes a pointer to a record of one to numbers."""

    @intrinsic
    def at(typing_context: Any, pointer: Any) -> Any:
        return RecordType(record)(pointer), lambda context, builder, signature, arguments: arguments[0]

    PLACED[id(at)] = record
    return at


run_at, table_at = placed(Run), placed(layout.Table)
outcome_at, start_at = placed(batch_layout.Outcome), placed(batch_layout.Start)
log_facts_at, limits_at = placed(passage_layout.LogFacts), placed(cone_layout.Limits)


@intrinsic
def flat(typing_context: Any, array: Any) -> Any:
    """Return a pointer to the first number of a C-contiguous array of float64 or int64. Nothing is checked.

    It keeps nothing alive, and Numba frees an array after its last use by name: take pointers to arguments, or use a
    local array once more after the last use of its pointer.
    """

    def generate(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        return data_pointer(context, builder, call.args[0], arguments[0])

    if not isinstance(array, types.Array) or array.layout != "C":
        return None
    return types.CPointer(array.dtype)(array), generate


def data_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return in LLVM the address of the first entry of an array, or a pointer as it is."""
    if isinstance(kind, types.CPointer):
        return value
    return context.make_array(kind)(context, builder, value).data


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


def inserted(function: Any) -> Any:
    """Have the code of a small function put into that of its callers, which saves typing it for each of them."""
    return internal(function, forceinline=True)
