"""Kernel expressions as C: values known at export are computed, the rest becomes text."""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from sarrus.export.c.values import (
    DOUBLE,
    INT,
    Address,
    KernelCode,
    Kind,
    Known,
    Native,
    NotKnownError,
    Pack,
    Struct,
    Table,
    Term,
    Value,
    View,
    as_term,
    join,
)
from sarrus.kernels.memory.record import record_fields, view_fields
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import POINTERS, exists

OPERATORS: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
}
_COMPARISONS: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
_MATH = {getattr(np, name): name for name in ("sqrt", "sin", "cos", "exp", "log", "floor", "isfinite")}
_MATH[abs] = "fabs"
_SIMPLE = re.compile(r"[A-Za-z_][\w]*(?:->\w+)?$")


class Functions(Protocol):
    """Registry of the C functions that kernels call; ``workspace`` is the C type of the structure W."""

    workspace: str

    def call(self, function: Any, arguments: list[Value]) -> tuple[str, Kind]:
        """Return the name in C of a kernel function for such arguments, and what it returns."""

    def helper(self, name: str) -> str:
        """Note that the present function uses this C name."""

    def forget(self) -> None:
        """Forget the C names used by the present function, before it is translated again."""

    def type_name(self, kind: Kind) -> str:
        """Return the name of a type in C."""


class Expressions(ABC):
    """Translates expressions with the names of a Python function.

    ``globals`` are the globals of the function; `lookup` finds its locals.
    """

    def __init__(self, functions: Functions, names: dict[str, Any]) -> None:
        self.functions, self.globals = functions, names
        self.intrinsics: dict[int, Callable[[list[Value]], Value]] = {
            id(exists): lambda a: Known(not isinstance(a[0], Known)),
            id(view_fields): self._view_fields,
            id(call_native): self._call_native,
            id(call_kernel): self._call_kernel,
            id(builtins.min): lambda a: self._extremum(a, "smaller", min),
            id(builtins.max): lambda a: self._extremum(a, "larger", max),
            id(builtins.int): lambda a: self._cast(a[0], INT, int),
            id(builtins.float): lambda a: self._cast(a[0], DOUBLE, float),
        }

    @abstractmethod
    def lookup(self, name: str) -> Value | None:
        """Return the value of a local name, None if there is none."""

    # --- dispatch ----------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise TypeError(f"line {node.lineno}: {ast.unparse(node)} has no form in C")
        result: Value = method(node)
        return result

    def term(self, node: ast.expr) -> Term:
        """Return a numerical expression as C."""
        return as_term(self.value(node))

    def _constant(self, node: ast.Constant) -> Value:
        return Known(node.value)

    def _name(self, node: ast.Name) -> Value:
        local = self.lookup(node.id)
        if local is not None:
            return local
        if node.id in self.globals:
            return Known(self.globals[node.id])
        return Known(getattr(builtins, node.id))

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if isinstance(owner, Known):
            return Known(getattr(owner.value, node.attr))
        if isinstance(owner, View) and node.attr == "shape":
            return Known((owner.length,))
        if isinstance(owner, Table):
            return owner.field(node.attr)
        if isinstance(owner, View):
            if owner.record is None:
                raise TypeError(f"{owner.text} has no {node.attr}")
            return self.element(owner, Known(owner.record.places[node.attr]))
        if isinstance(owner, Pack):
            return owner.values[owner.members.index(node.attr)]
        return self.member(as_term(owner), node.attr)

    @staticmethod
    def member(owner: Term, name: str) -> Term | View:
        """Return a member of a structure."""
        assert isinstance(owner.kind, Struct)
        found = typed(f"{owner.text}.{name}", dict(owner.kind.members)[name])
        return replace(found, record=owner.kind.record(name)) if isinstance(found, View) else found

    def _tuple(self, node: ast.Tuple) -> Value:
        return Pack(tuple(self.value(item) for item in node.elts))

    def _subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.value(node.value), self.value(node.slice)
        if isinstance(owner, Known):
            assert isinstance(index, Known)
            return Known(owner.value[index.value])
        if isinstance(owner, Table):
            return self.entry(owner, index)
        return self.element(owner, index)

    def element(self, owner: Value, index: Value) -> Term:
        """Return the entry of a view."""
        if not isinstance(owner, View):
            raise TypeError(f"{owner} cannot be indexed")
        base = owner.text if _SIMPLE.match(owner.text) else f"({owner.text})"
        return Term(f"{base}[{as_term(index).text}]", owner.kind)

    def entry(self, table: Table, index: Value) -> Value:
        """Return an entry of a table behind the named ones."""
        if table.writable:
            behind = self.combine(ast.Sub(), index, Known(table.entry_count))
            return self.element(View(table.room_text, INT), behind)
        if not isinstance(index, Known):
            return Term(f"{self.functions.helper(table.text)}[{as_term(index).text}]", INT)
        place = int(index.value)
        if place >= table.entry_count:
            raise LookupError(
                f"entry {place} of the table {table.name} is room to work in: take table + place"
            )
        if place < len(type(table.numbers).fields):
            raise LookupError(f"entry {place} of the table {table.name} has a name")
        return Known(int(table.numbers[place]))

    # --- arithmetic --------------------------------------------------------------------------------------

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(operand, Known):
                return Known(not operand.value)
            return Term(f"!({as_term(operand).text})", INT)
        assert isinstance(node.op, ast.USub)
        if isinstance(operand, Known):
            return Known(-operand.value)
        term = as_term(operand)
        return Term(f"-{term.inner}", term.kind, atomic=False)

    def _binop(self, node: ast.BinOp) -> Value:
        return self.combine(node.op, self.value(node.left), self.value(node.right))

    def combine(self, op: ast.operator, left: Value, right: Value) -> Value:
        """Return the value of a binary operation."""
        if isinstance(left, View | Table):
            assert isinstance(op, ast.Add)
            if isinstance(left, View):
                return shifted(left, right)
            return shifted(View(left.room_text, INT), self.combine(ast.Sub(), right, Known(left.entry_count)))
        sign, compute = OPERATORS[type(op)]
        if isinstance(left, Known) and isinstance(right, Known):
            with np.errstate(all="ignore"):
                return Known(compute(left.value, right.value))
        a, b = as_term(left), as_term(right)
        if a.kind == INT and b.kind == INT:
            short = self._short(sign, left, right)
            if short is not None:
                return short
        if sign == "**":
            return self._power(a, right)
        kind = join(a.kind, b.kind)
        if sign == "/" and kind == INT:
            return Term(f"(double){a.inner} / {b.inner}", DOUBLE, atomic=False)
        if sign in ("//", "%"):
            if kind != INT:
                raise TypeError(f"{sign} of floating-point numbers has no form in C")
            name = self.functions.helper("floor_quotient" if sign == "//" else "floor_remainder")
            return Term(f"{name}({a.text}, {b.text})", INT)
        counts = sign in ("+", "*") and a.counts and b.counts
        return Term(f"{a.inner} {sign} {b.inner}", kind, atomic=False, counts=counts)

    @staticmethod
    def _short(sign: str, left: Value, right: Value) -> Value | None:
        """Return a trivial sum or product of integers (x + 0, x × 1, …), None if it must be computed."""
        known = {k: v.value for k, v in (("left", left), ("right", right)) if isinstance(v, Known)}
        if sign in ("+", "-") and known.get("right") == 0:
            return left
        if sign == "+" and known.get("left") == 0:
            return right
        if sign == "*" and 0 in known.values():
            return Known(0)
        if sign == "*" and 1 in known.values():
            return right if "left" in known else left
        return None

    def _power(self, base: Term, exponent: Value) -> Value:
        if isinstance(exponent, Known) and exponent.value == 2:
            if base.kind == DOUBLE:
                return Term(f"{self.functions.helper('square')}({base.text})", DOUBLE)
            return Term(f"{base.inner} * {base.inner}", INT, atomic=False, counts=True)
        return Term(f"pow({base.text}, {as_term(exponent).text})", DOUBLE)

    def _compare(self, node: ast.Compare) -> Value:
        sides = [self.value(side) for side in (node.left, *node.comparators)]
        parts = [self._relation(op, a, b) for op, a, b in zip(node.ops, sides, sides[1:])]
        return self._joined(parts, every=True)

    def _relation(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        sign, compute = _COMPARISONS[type(op)]
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(bool(compute(left.value, right.value)))
        if isinstance(left, Address):  # nothing lies at zero
            return Known(sign == "!=")
        if isinstance(left, View) and isinstance(right, View):
            return Term(f"{left.text} {sign} {right.text}", INT, atomic=False)
        for number, other in ((left, right), (right, left)):
            negative = isinstance(number, Known) and number.value < 0
            if negative and sign == "==" and isinstance(other, Term) and other.counts:
                return Known(False)
        a, b = as_term(left), as_term(right)
        return Term(f"{a.inner} {sign} {b.inner}", INT, atomic=False)

    def _boolop(self, node: ast.BoolOp) -> Value:
        parts: list[Value] = []
        every = isinstance(node.op, ast.And)
        for item in node.values:
            parts.append(self.value(item))
            if isinstance(parts[-1], Known) and bool(parts[-1].value) is not every:
                break
        return self._joined(parts, every)

    @staticmethod
    def _joined(parts: list[Value], every: bool) -> Value:
        """Return the conjunction (``every``) or disjunction of the parts."""
        if any(isinstance(part, Known) and bool(part.value) is not every for part in parts):
            return Known(not every)
        open_ = [as_term(part) for part in parts if not isinstance(part, Known)]
        if not open_:
            return Known(every)
        text = (" && " if every else " || ").join(p.inner for p in open_)
        return open_[0] if len(open_) == 1 else Term(text, INT, atomic=False)

    def _ifexp(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if isinstance(test, Known):
            return self.value(node.body if test.value else node.orelse)
        return self._choice(as_term(test), self.value(node.body), self.value(node.orelse))

    def _choice(self, test: Term, yes: Value, no: Value) -> Value:
        if isinstance(yes, Pack) and isinstance(no, Pack):
            return Pack(tuple(self._choice(test, a, b) for a, b in zip(yes.values, no.values)), yes.kind)
        if isinstance(yes, View) and isinstance(no, View):
            return View(f"({test.inner} ? {yes.text} : {no.text})", yes.kind, yes.constant or no.constant)
        a, b = as_term(yes), as_term(no)
        text = f"{test.inner} ? {a.inner} : {b.inner}"
        return Term(text, join(a.kind, b.kind), atomic=False, counts=a.counts and b.counts)

    # --- calls -------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        callee = self.value(node.func)
        assert isinstance(callee, Known)
        function = callee.value
        given = [self.value(item) for item in node.args]
        if inspect.isfunction(function) and function in POINTERS:
            (view,) = given
            return replace(view, record=POINTERS[function]) if isinstance(view, View) else view
        if id(function) in self.intrinsics:
            return self.intrinsics[id(function)](given)
        if function in _MATH:
            argument = as_term(given[0])
            if function is abs and argument.kind != DOUBLE:
                raise TypeError("abs of an integer has no form in C")
            return Term(f"{_MATH[function]}({argument.text})", INT if function is np.isfinite else DOUBLE)
        if isinstance(function, type) and hasattr(function, "_fields"):
            by_name = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
            given += [by_name[name] for name in function._fields[len(given) :]]
            if all(isinstance(item, Known) for item in given):
                return Known(function(*(item.value for item in given if isinstance(item, Known))))
            return Pack(tuple(given), function)
        python = getattr(function, "py_func", function)
        names = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg}
        bound = inspect.signature(python).bind(*given, **names)
        bound.apply_defaults()
        arguments = [v if isinstance(v, Value) else Known(v) for v in bound.arguments.values()]
        if isinstance(function, FunctionType) and all(_is_known(a) for a in arguments):
            with suppress(NotKnownError):
                return self._computed(python(*map(_plain, arguments)))
        return self._invoke(function, arguments)

    @staticmethod
    def _computed(value: Any) -> Value:
        """Return the result of a layout function of the kernels, including pointers."""
        if isinstance(value, View):
            return value
        if isinstance(value, tuple) and any(isinstance(part, View) for part in value):
            pairs = zip(value, record_fields(type(value)))
            views = (replace(v, record=r) if isinstance(v, View) else Known(v) for v, r in pairs)
            return Pack(tuple(views), type(value))
        return Known(value)

    def _view_fields(self, arguments: list[Value]) -> Value:
        """Return the parts of memory after a pointer: a structure of pointers if sizes are not known at export."""
        start, sizes = arguments
        assert isinstance(start, View)
        if isinstance(sizes, Known):
            return self._computed(view_fields(start, sizes.value))
        return self.kept_parts(start, sizes)

    @abstractmethod
    def kept_parts(self, start: View, sizes: Value) -> Term:
        """Return a variable with pointers to parts of memory of these sizes."""

    def _addressed(self, value: Value) -> Value:
        """Return an argument, stored in a variable if it is a structure without address."""
        if isinstance(value, Pack):
            return value if value.is_global else self.kept(value)
        if not isinstance(value, Term) or not isinstance(value.kind, Struct):
            return value
        return self.kept(value) if value.text.endswith(")") and not value.text.startswith("(*") else value

    @abstractmethod
    def kept(self, value: Value) -> Term:
        """Return a value, or the values of a tuple, stored in a new variable."""

    def _invoke(self, function: Any, arguments: list[Value]) -> Value:
        arguments = [self._addressed(argument) for argument in arguments]
        name, kind = self.functions.call(function, arguments)
        texts = [text for text in map(passed, arguments) if text is not None]
        if any(map(needs_workspace, arguments)):
            texts.insert(0, "W")
        return typed(f"{name}({', '.join(texts)})", kind)

    def _call_native(self, arguments: list[Value]) -> Value:
        address, inputs, outputs = arguments
        assert isinstance(address, Address)
        assert isinstance(address.target, Native)
        assert isinstance(inputs, View)
        assert isinstance(outputs, View)
        name = self.functions.helper(address.target.name)
        return Term(f"{name}({inputs.text}, {outputs.text})", "void")

    def _call_kernel(self, arguments: list[Value]) -> Value:
        address, *rest = arguments
        assert isinstance(address, Address)
        assert isinstance(address.target, KernelCode)
        return self._invoke(address.target.function, rest)

    def _extremum(self, arguments: list[Value], name: str, compute: Callable[..., Any]) -> Value:
        if all(isinstance(argument, Known) for argument in arguments):
            return Known(compute(*(a.value for a in arguments if isinstance(a, Known))))
        result = as_term(arguments[0])
        for argument in map(as_term, arguments[1:]):
            kind = join(result.kind, argument.kind)
            function = self.functions.helper(name if kind == DOUBLE else f"{name}_int")
            result = Term(f"{function}({result.text}, {argument.text})", kind)
        return result

    def _cast(self, value: Value, kind: str, compute: Callable[[Any], Any]) -> Value:
        if isinstance(value, Known):
            return Known(compute(value.value))
        term = as_term(value)
        return term if term.kind == kind else Term(f"({kind}){term.inner}", kind)


def needs_workspace(value: Value) -> bool:
    """Tell whether a function with this argument needs the structure W."""
    return isinstance(value, Table) or (isinstance(value, Pack) and value.is_global)


def _is_known(value: Value) -> bool:
    return isinstance(value, Known | Table) or (isinstance(value, Pack) and value.is_global)


def _plain(value: Value) -> Any:
    """Return the argument of a layout function for a known value."""
    if isinstance(value, Pack):
        make: Any = value.kind
        return make(*(v.value if isinstance(v, Known) else v for v in value.values))
    return value.value if isinstance(value, Known) else value


def typed(text: str, kind: Kind) -> Term | View:
    """Return a C expression of a type as a pointer or a number."""
    if isinstance(kind, str) and kind.endswith("*"):
        return View(text, kind.removeprefix("const ").removesuffix(" *"), kind.startswith("const "))
    return Term(text, kind)


def shifted(view: View, first: Value) -> View:
    """Return a view that starts at entry ``first``."""
    if isinstance(first, Known) and first.value == 0:
        return view
    return View(f"{view.text} + {as_term(first).inner}", view.kind, view.constant)


def passed(value: Value) -> str | None:
    """Return the text of an argument of a C function, None if the function knows it."""
    if isinstance(value, View):
        return value.text
    if isinstance(value, Term) and isinstance(value.kind, Struct):
        inner = re.fullmatch(r"\(\*(\w+)\)", value.text)
        return inner.group(1) if inner else f"&{value.text}"
    if isinstance(value, Term) or (isinstance(value, Known) and is_number(value.value)):
        return as_term(value).text
    return None


def is_number(value: Any) -> bool:
    """Tell whether a known value is a number, to be passed as an argument."""
    return isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating)
