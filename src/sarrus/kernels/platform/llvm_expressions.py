"""Expressions of the kernels as LLVM text, in the order and with the rounding of Python's arithmetic."""

from __future__ import annotations

import ast
import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from sarrus.kernels.memory.record import pointee, record_fields, view_fields
from sarrus.kernels.platform.llvm_numbers import Functions, Numbers
from sarrus.kernels.platform.llvm_values import (
    INTEGER,
    REAL,
    SINGLE,
    TRUTH,
    Kind,
    Known,
    Pack,
    Pointer,
    Term,
    Value,
    gathered,
    joined,
    kind_of,
    llvm_name,
    number_kind,
    opened,
    parts,
    pointer_to,
)
from sarrus.kernels.platform.native_call import call_kernel, call_narrow_phase, call_native
from sarrus.kernels.platform.pointers import POINTERS, Internal, exists


class Expressions(Numbers, ABC):
    """Writer of expressions with the names visible in a function: ``globals`` of the Python function and `lookup`."""

    def __init__(self, functions: Functions, names: dict[str, Any]) -> None:
        super().__init__(functions)
        self.globals = names
        self.own: dict[Any, Callable[[list[Value]], Value]] = {
            exists: lambda a: self.related("ne", self.term(a[0]), Term("null", self.term(a[0]).kind)),
            view_fields: self._view_fields,
            call_native: self._call_native,
            call_kernel: self._call_kernel,
            call_narrow_phase: self._call_narrow_phase,
            builtins.min: lambda a: self.extremum(a, ast.Lt()),
            builtins.max: lambda a: self.extremum(a, ast.Gt()),
            builtins.int: lambda a: self.cast(self.term(a[0]), INTEGER),
            builtins.float: lambda a: self.cast(self.term(a[0]), REAL),
            builtins.abs: self.absolute,
            np.sqrt: lambda a: self.real_function("sqrt", a),
            np.copysign: lambda a: self.real_function("copysign", a),
            np.isfinite: self.is_finite,
        }

    @abstractmethod
    def lookup(self, name: str) -> Value | None:
        """Return the value of a local name, None if there is none."""

    @abstractmethod
    def part_of(self, name: str, place: str) -> Value | None:
        """Return the part ``place`` of the named tuple in the local variable ``name``; None if it is none."""

    # --- names and places --------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise TypeError(f"line {node.lineno}: {ast.unparse(node)} has no form in LLVM")
        found: Value = method(node)
        return found

    def number(self, node: ast.expr) -> Term:
        """Return the value of an expression that is a number or a pointer."""
        return self.term(self.value(node))

    def _constant(self, node: ast.Constant) -> Value:
        return Known(node.value)

    def _name(self, node: ast.Name) -> Value:
        found = self.lookup(node.id)
        if found is not None:
            return found
        return Known(self.globals[node.id] if node.id in self.globals else getattr(builtins, node.id))

    def _tuple(self, node: ast.Tuple) -> Value:
        return Pack(tuple(self.value(item) for item in node.elts))

    def _attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name):
            part = self.part_of(node.value.id, node.attr)
            if part is not None:
                return part
        owner = self.value(node.value)
        if isinstance(owner, Pack):
            if owner.python is None:
                raise TypeError(f"line {node.lineno}: {ast.unparse(node)}: the tuple has no names")
            return owner.values[owner.python._fields.index(node.attr)]
        if isinstance(owner, Known):
            return Known(getattr(owner.value, node.attr))
        return self.load(*self._field(owner, node.attr))

    def place(self, node: ast.expr) -> tuple[str, str | Pointer, str]:
        """Return the address that an assignment changes, the kind of the value stored there, and the kind in LLVM."""
        if isinstance(node, ast.Attribute):
            return self._field(self.number(node.value), node.attr)
        assert isinstance(node, ast.Subscript)
        return self._entry(self.number(node.value), self.number(node.slice))

    def _field(self, owner: Term, name: str) -> tuple[str, str | Pointer, str]:
        if not isinstance(owner.kind, Pointer) or owner.kind.record is None:
            raise TypeError(f"{owner} has no field {name}")
        record, number = owner.kind.record, owner.kind.number
        target = pointee(record.fields[name])
        address = self.shifted(owner, Known(record.places[name]))
        return address.text, number if target is None else pointer_to(target), number

    def _entry(self, owner: Term, index: Term) -> tuple[str, str, str]:
        if not isinstance(owner.kind, Pointer) or index.kind not in (INTEGER, TRUTH):
            raise TypeError(f"{owner} has no entry {index}")
        return self.shifted(owner, index).text, owner.kind.number, owner.kind.number

    def load(self, address: str, kind: str | Pointer, kept: str) -> Term:
        """Return the value at an address."""
        found = self.register(f"load {kept}, ptr {address}", kept)
        if isinstance(kind, Pointer):
            return self.register(f"inttoptr i64 {found.text} to ptr", kind)
        return found

    def store(self, value: Value, address: str, kind: str | Pointer, kept: str) -> None:
        """Write a value to an address."""
        term = self.term(value)
        if isinstance(term.kind, Pointer):
            term = self.register(f"ptrtoint ptr {term.text} to i64", INTEGER)
        elif isinstance(kind, Pointer):
            raise TypeError(f"{term} is no pointer")
        self.line(f"store {kept} {self.cast(term, kept).text}, ptr {address}")

    def _subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.value(node.value), self.value(node.slice)
        if isinstance(owner, Pack | Known) and isinstance(index, Known):
            return owner.values[index.value] if isinstance(owner, Pack) else Known(owner.value[index.value])
        if isinstance(owner, Known):
            name = self.functions.array(owner.value)
            owner = Term(name, Pointer(str(number_kind(np.asarray(owner.value).flat[0]))))
        return self.load(*self._entry(self.term(owner), self.term(index)))

    # --- arithmetic --------------------------------------------------------------------------------------

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(operand, Known):
                return Known(not operand.value)
            return self.register(f"xor i1 {self.truth(operand).text}, true", TRUTH)
        if not isinstance(node.op, ast.USub):
            raise TypeError(f"line {node.lineno}: {ast.unparse(node)} has no form in LLVM")
        if isinstance(operand, Known):
            return Known(-operand.value)
        term = self.term(operand)
        if term.kind in (REAL, SINGLE):
            return self.register(f"fneg {term.kind} {term.text}", term.kind)
        return self.register(f"sub i64 0, {self.cast(term, INTEGER).text}", INTEGER)

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow):
            if not (isinstance(right, Known) and isinstance(right.value, int) and right.value > 0):
                raise TypeError(f"line {node.lineno}: {ast.unparse(node)} has no form in LLVM")
            return self.power(left, right.value)
        return self.combine(node.op, left, right)

    def _compare(self, node: ast.Compare) -> Value:
        if len(node.ops) == 1:
            return self.relation(node.ops[0], self.value(node.left), self.value(node.comparators[0]))
        return self._truth_of(node)

    # --- conditions --------------------------------------------------------------------------------------

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """End the block: continue at ``yes`` if a condition holds, else at ``no``.

        Parts of the condition are evaluated only when they are needed.
        """
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            every = isinstance(node.op, ast.And)
            for item in node.values[:-1]:
                on = self.fresh_label()
                self.branch(item, on if every else yes, no if every else on)
                self.begin_block(on)
            self.branch(node.values[-1], yes, no)
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            left = self.value(node.left)
            for k, (op, side) in enumerate(zip(node.ops, node.comparators), 1):
                right = self.value(side)
                on = yes if k == len(node.ops) else self.fresh_label()
                self._go(self.relation(op, left, right), on, no)
                if on != yes:
                    self.begin_block(on)
                left = right
        else:
            self._go(self.value(node), yes, no)

    def _go(self, test: Value, yes: str, no: str) -> None:
        if isinstance(test, Known):
            self.go_to(yes if test.value else no)
        else:
            self.line(f"br i1 {self.truth(test).text}, label %{yes}, label %{no}")

    def _boolop(self, node: ast.BoolOp) -> Value:
        return self._truth_of(node)

    def _truth_of(self, node: ast.expr) -> Value:
        """Return whether a condition holds."""
        yes, no, end = self.fresh_label(), self.fresh_label(), self.fresh_label()
        self.branch(node, yes, no)
        for label in (yes, no):
            self.begin_block(label)
            self.go_to(end)
        self.begin_block(end)
        return self.register(f"phi i1 [ true, %{yes} ], [ false, %{no} ]", TRUTH)

    def _ifexp(self, node: ast.IfExp) -> Value:
        labels, end = [self.fresh_label(), self.fresh_label()], self.fresh_label()
        self.branch(node.test, *labels)
        values, ends, places, tails = list[Value](), list[str](), list[int](), list[list[str]]()
        for label, side in zip(labels, (node.body, node.orelse)):
            self.begin_block(label)
            values.append(self.value(side))
            ends.append(self.label)
            places.append(len(self.lines))
        kind = joined([kind_of(value) for value in values])
        before, given = self.lines, list[list[Term]]()
        for value in values:
            self.lines = []
            given.append(self.scattered(self.converted(value, kind)))
            self.go_to(end)
            tails.append(self.lines)
        self.lines = [*before[: places[0]], *tails[0], *before[places[0] :], *tails[1]]
        self.begin_block(end)
        texts = []
        for part, a, b in zip(parts(kind), *given, strict=True):
            text = f"phi {llvm_name(part)} [ {a.text}, %{ends[0]} ], [ {b.text}, %{ends[1]} ]"
            texts.append(self.register(text, part).text)
        return gathered(kind, texts)

    # --- calls -------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        callee = self.value(node.func)
        assert isinstance(callee, Known)
        function = callee.value
        given = [self.value(item) for item in node.args]
        named = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        if isinstance(function, type) and hasattr(function, "_fields"):
            return Pack(tuple(given + [named[name] for name in function._fields[len(given) :]]), function)
        if isinstance(function, FunctionType) and function in POINTERS:
            return Term(self.term(given[0]).text, pointer_to(POINTERS[function]))
        if not isinstance(function, Internal | FunctionType) or function in self.own:
            own = self.own.get(function)
            if own is None or named:
                raise TypeError(f"line {node.lineno}: {ast.unparse(node)} has no form in LLVM")
            return own(given)
        return self._invoke(function, given, named)

    def _invoke(self, function: Any, given: list[Value], named: dict[str, Value]) -> Value:
        python = getattr(function, "py_func", function)
        code, defaults = python.__code__, python.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount]
        usual = dict(zip(names[len(names) - len(defaults) :], map(Known, defaults)))
        arguments = given + [named[name] if name in named else usual[name] for name in names[len(given) :]]
        name, kind = self.functions.call(function, arguments)
        terms = [term for argument in arguments for term in self.scattered(argument)]
        texts = ", ".join(f"{llvm_name(term.kind)} {term.text}" for term in terms)
        return self.unpacked(f"call {llvm_name(kind)} {name}({texts})", kind)

    def unpacked(self, text: str, kind: Kind) -> Value:
        """Write a call and return its result."""
        if kind is None:
            self.line(text)
            return Known(None)
        if isinstance(kind, str | Pointer):
            return self.register(text, kind)
        whole, name = self.register(text, INTEGER).text, llvm_name(kind)
        texts = [
            self.register(f"extractvalue {name} {whole}, {k}", part).text
            for k, part in enumerate(parts(kind))
        ]
        return gathered(kind, texts)

    def _view_fields(self, arguments: list[Value]) -> Value:
        """Return pointers to consecutive parts of memory with the given sizes, from a pointer on."""
        at, sizes = self.term(arguments[0]), opened(arguments[1])
        assert isinstance(at.kind, Pointer)
        names: Any = sizes.python
        found: list[Value] = []
        for size, record in zip(sizes.values, record_fields(names)):
            found.append(Term(at.text, pointer_to(record) if record else Pointer(at.kind.number)))
            if len(found) < len(sizes.values):
                at = self._apart(self.shifted(at, size))
        return Pack(tuple(found), sizes.python)

    def _apart(self, pointer: Term) -> Term:
        """Return a pointer whose computation LLVM does not analyse.

        Otherwise LLVM's loop strength reduction tries the parts of sums of up to forty sizes: 17 s of the 20 s that
        the largest kernel takes.
        """
        function = self.functions.intrinsic("strip.invariant.group", "ptr")
        return self.register(f"call ptr {function}(ptr {pointer.text})", pointer.kind)

    def _call_native(self, arguments: list[Value]) -> Value:
        address, *data = map(self.term, arguments)
        real = [isinstance(term.kind, Pointer) and term.kind.number == REAL for term in data]
        if address.kind != INTEGER or not all(real):
            raise TypeError(
                f"call_native: needs an address and two pointers to real numbers, not {arguments}"
            )
        function = self.register(f"inttoptr i64 {address.text} to ptr", Pointer(REAL))
        self.line(f"call void {function.text}(ptr {data[0].text}, ptr {data[1].text})")
        return Known(None)

    def _call_kernel(self, arguments: list[Value]) -> Value:
        address, table, x, what = map(self.term, arguments)
        function = self.register(f"inttoptr i64 {address.text} to ptr", Pointer(REAL))
        want = self.cast(what, INTEGER).text
        return self.register(f"call i64 {function.text}(ptr {table.text}, ptr {x.text}, i64 {want})", INTEGER)

    def _call_narrow_phase(self, arguments: list[Value]) -> Value:
        called, model, data, contacts, one, other, margin = map(self.term, arguments)
        places = [
            self.register(f"inttoptr i64 {term.text} to ptr", Pointer(REAL)) for term in (called, model, data)
        ]
        short = [self.register(f"trunc i64 {geom.text} to i32", INTEGER).text for geom in (one, other)]
        given = (
            f"ptr {places[1].text}, ptr {places[2].text}, ptr {contacts.text}, i32 {short[0]}, i32 {short[1]}"
        )
        found = self.register(f"call i32 {places[0].text}({given}, double {margin.text})", INTEGER)
        return self.register(f"sext i32 {found.text} to i64", INTEGER)
