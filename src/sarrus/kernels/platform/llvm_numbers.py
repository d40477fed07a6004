"""Numbers of the kernels in LLVM text: registers, kinds, and arithmetic with the rounding of Python's."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sarrus.kernels.platform.llvm_values import (
    INTEGER,
    REAL,
    SINGLE,
    TRUTH,
    Bundle,
    Kind,
    Known,
    Pack,
    Pointer,
    Term,
    Value,
    constant,
    join,
    llvm_name,
    number_kind,
    opened,
)

_ARITHMETIC: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floor", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
}
_RELATIONS: dict[type, tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("olt", "slt", operator.lt),
    ast.LtE: ("ole", "sle", operator.le),
    ast.Gt: ("ogt", "sgt", operator.gt),
    ast.GtE: ("oge", "sge", operator.ge),
    ast.Eq: ("oeq", "eq", operator.eq),
    ast.NotEq: ("une", "ne", operator.ne),
}
_CASTS: dict[tuple[Any, Any], str] = {
    (TRUTH, INTEGER): "zext",
    (TRUTH, REAL): "uitofp",
    (INTEGER, REAL): "sitofp",
    (INTEGER, SINGLE): "sitofp",
    (REAL, INTEGER): "fptosi",
    (SINGLE, INTEGER): "fptosi",
    (SINGLE, REAL): "fpext",
    (REAL, SINGLE): "fptrunc",
}


class Functions(Protocol):
    """Interface of the module that holds the functions called by kernels."""

    def call(self, function: Any, arguments: list[Value]) -> tuple[str, Kind]:
        """Return the LLVM name of a kernel function for arguments of these kinds, and the kind of its result."""

    def intrinsic(self, name: str, *kinds: str) -> str:
        """Return the name of an LLVM intrinsic for arguments of these kinds; its result has the first kind."""

    def array(self, numbers: Any) -> str:
        """Return the name of an array of constants."""


class Numbers:
    """Writer of lines that compute numbers, one function after the other."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.lines: list[str] = []
        self.registers, self.label = 0, "entry"

    # --- writing -----------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Write a line of LLVM text."""
        self.lines.append(f"  {text}")

    def register(self, text: str, kind: str | Pointer) -> Term:
        """Write a line that computes a value; return its register."""
        self.registers += 1
        name = f"%r{self.registers}"
        self.lines.append(f"  {name} = {text}")
        return Term(name, kind)

    def fresh_label(self) -> str:
        """Return a new label."""
        self.registers += 1
        return f"b{self.registers}"

    def begin_block(self, label: str) -> None:
        """Begin a block with a label."""
        self.lines.append(f"{label}:")
        self.label = label

    def go_to(self, label: str) -> None:
        """End a block with a jump to a label."""
        self.line(f"br label %{label}")

    # --- kinds -------------------------------------------------------------------------------------------

    def term(self, value: Value) -> Term:
        """Return a value as a number or a pointer of LLVM."""
        if isinstance(value, Known):
            return constant(value.value)
        if not isinstance(value, Term):
            raise TypeError(f"{value} is no number")
        return value

    def cast(self, term: Term, kind: str | Pointer) -> Term:
        """Return a number converted to another kind; pointers have any kind."""
        if term.kind == kind:
            return term
        if isinstance(kind, Pointer) and isinstance(term.kind, Pointer):
            return Term(term.text, kind)
        if kind == TRUTH:
            return self.related("ne", term, constant(0.0 if term.kind in (REAL, SINGLE) else 0))
        return self.register(f"{_CASTS[term.kind, kind]} {term.kind} {term.text} to {kind}", kind)

    def converted(self, value: Value, kind: Kind) -> Value:
        """Return a value converted to a kind that can hold it."""
        if isinstance(kind, Bundle):
            pack = opened(value)
            return Pack(tuple(map(self.converted, pack.values, kind.kinds)), kind.python)
        if isinstance(kind, str | Pointer):
            return self.cast(self.term(value), kind)
        return value

    def scattered(self, value: Value) -> list[Term]:
        """Return the numbers and pointers that a value consists of."""
        if isinstance(value, Pack) or (isinstance(value, Known) and isinstance(value.value, tuple)):
            return [inner for part in opened(value).values for inner in self.scattered(part)]
        if isinstance(value, Known) and number_kind(value.value) is None:
            return []
        return [self.term(value)]

    # --- arithmetic --------------------------------------------------------------------------------------

    def truth(self, value: Value) -> Term:
        """Return a truth value: True if a number is not zero."""
        return self.cast(constant(bool(value.value)) if isinstance(value, Known) else self.term(value), TRUTH)

    def shifted(self, pointer: Term, count: Value) -> Term:
        """Return a pointer ``count`` numbers further on; a pointer to a record becomes a pointer to its numbers."""
        assert isinstance(pointer.kind, Pointer)
        places = self.cast(self.term(count), INTEGER)
        number = pointer.kind.number
        if places.text == "0":
            return Term(pointer.text, Pointer(number))
        text = f"getelementptr {number}, ptr {pointer.text}, i64 {places.text}"
        return self.register(text, Pointer(number))

    def power(self, base: Value, exponent: int) -> Value:
        """Return the power of a base, multiplied by squares."""
        found: Value | None = None
        while True:
            if exponent & 1:
                found = base if found is None else self.combine(ast.Mult(), found, base)
            exponent >>= 1
            if exponent == 0:
                assert found is not None
                return found
            base = self.combine(ast.Mult(), base, base)

    def combine(self, op: ast.operator, left: Value, right: Value) -> Value:
        """Return the value of a binary operation."""
        name, compute = _ARITHMETIC[type(op)]
        if isinstance(left, Known) and isinstance(right, Known) and right.value != 0:
            return Known(compute(left.value, right.value))
        a, b = self.term(left), self.term(right)
        if isinstance(a.kind, Pointer):
            if name != "add":
                raise TypeError(f"{name} of a pointer has no form in LLVM")
            return self.shifted(a, b)
        kind = join(a.kind, b.kind)
        if kind == TRUTH and name not in ("and", "or"):
            kind = INTEGER
        if name == "div" and kind == INTEGER:
            kind = REAL
        assert isinstance(kind, str)
        a, b = self.cast(a, kind), self.cast(b, kind)
        if name in ("floor", "mod"):
            return self._divided(name, a, b)
        if kind in (REAL, SINGLE):
            name = f"f{name}"
        return self.register(f"{name} {kind} {a.text}, {b.text}", kind)

    def _divided(self, name: str, a: Term, b: Term) -> Term:
        """Return the quotient rounded down, or the remainder, which has the sign of b."""
        if a.kind == REAL:
            if name == "floor":
                raise TypeError("a quotient of real numbers that is rounded down has no form in LLVM")
            left = self.register(f"frem double {a.text}, {b.text}", REAL)
            below = self.register(f"fcmp olt double {left.text}, {constant(0.0).text}", TRUTH)
            other = self.register(f"fcmp olt double {b.text}, {constant(0.0).text}", TRUTH)
            zero = self.related("eq", left, constant(0.0))
            moved = self.register(f"fadd double {left.text}, {b.text}", REAL)
            signed = self.real_function("copysign", [constant(0.0), b])
        else:
            left = self.register(f"srem i64 {a.text}, {b.text}", INTEGER)
            below = self.register(f"icmp slt i64 {left.text}, 0", TRUTH)
            other = self.register(f"icmp slt i64 {b.text}, 0", TRUTH)
            zero = self.register(f"icmp eq i64 {left.text}, 0", TRUTH)
            moved = self.register(f"add i64 {left.text}, {b.text}", INTEGER)
            signed = left
        unlike = self.register(f"xor i1 {below.text}, {other.text}", TRUTH)
        if name == "mod":
            kept = self.selected(unlike, moved, left)
            return self.selected(zero, signed, kept)
        whole = self.register(f"sdiv i64 {a.text}, {b.text}", INTEGER)
        down = self.register(f"sub i64 {whole.text}, 1", INTEGER)
        return self.selected(zero, whole, self.selected(unlike, down, whole))

    def selected(self, test: Term, yes: Term, no: Term) -> Term:
        kind = llvm_name(yes.kind)
        return self.register(f"select i1 {test.text}, {kind} {yes.text}, {kind} {no.text}", yes.kind)

    def relation(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        """Return the truth value of a relation between two values."""
        if isinstance(op, ast.In):
            return self._is_among(left, opened(right).values)
        if type(op) not in _RELATIONS:
            raise TypeError(f"{type(op).__name__} has no form in LLVM")
        compute = _RELATIONS[type(op)][2]
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(bool(compute(left.value, right.value)))
        a, b = self.term(left), self.term(right)
        if not isinstance(a.kind, Pointer):
            kind = join(a.kind, b.kind)
            kind = INTEGER if kind == TRUTH else kind
            assert isinstance(kind, str)
            a, b = self.cast(a, kind), self.cast(b, kind)
        return self.related(_RELATIONS[type(op)], a, b)

    def _is_among(self, value: Value, others: tuple[Value, ...]) -> Value:
        found: Value = Known(False)
        for other in others:
            same = self.relation(ast.Eq(), value, other)
            found = same if isinstance(found, Known) else self.combine(ast.BitOr(), found, same)
        return found

    def related(self, names: str | tuple[str, str, Any], a: Term, b: Term) -> Term:
        real = a.kind in (REAL, SINGLE)
        if isinstance(names, str):
            name = {"eq": "oeq", "ne": "une"}[names] if real else names
        else:
            name = names[0] if real else names[1]
        word = "fcmp" if real else "icmp"
        return self.register(f"{word} {name} {llvm_name(a.kind)} {a.text}, {b.text}", TRUTH)

    def extremum(self, arguments: list[Value], op: ast.cmpop) -> Value:
        """Return the first of the smallest, or largest, of numbers."""
        found = self.term(arguments[0])
        for other in map(self.term, arguments[1:]):
            kind = join(found.kind, other.kind)
            assert isinstance(kind, str)
            found, value = self.cast(found, kind), self.cast(other, kind)
            found = self.selected(self.term(self.relation(op, value, found)), value, found)
        return found

    def absolute(self, arguments: list[Value]) -> Value:
        term = self.term(arguments[0])
        if term.kind != INTEGER:
            return self.real_function("fabs", arguments)
        negative = self.register(f"icmp slt i64 {term.text}, 0", TRUTH)
        return self.selected(negative, self.register(f"sub i64 0, {term.text}", INTEGER), term)

    def real_function(self, name: str, arguments: list[Value]) -> Term:
        numbers = [self.cast(self.term(argument), REAL).text for argument in arguments]
        function = self.functions.intrinsic(name, *[REAL] * len(numbers))
        return self.register(f"call double {function}({', '.join(f'double {n}' for n in numbers)})", REAL)

    def is_finite(self, arguments: list[Value]) -> Value:
        return self.register(
            f"fcmp one double {self.real_function('fabs', arguments).text}, {constant(np.inf).text}", TRUTH
        )
