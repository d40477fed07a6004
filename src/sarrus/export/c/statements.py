"""Statements of a kernel function as C, and the types of its variables."""

from __future__ import annotations

import ast
import copy
import inspect
import re
import textwrap
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sarrus.export.c.expressions import OPERATORS, Expressions, Functions, is_number, needs_workspace
from sarrus.export.c.identifiers import KEYWORDS, LIBM
from sarrus.export.c.values import (
    DOUBLE,
    INT,
    VOID,
    Address,
    Kind,
    Known,
    Pack,
    Struct,
    Table,
    Term,
    Value,
    View,
    as_term,
    join,
    storable,
)

# Names of Python variables that C reserves, or that would hide a function.
_RESERVED = KEYWORDS | LIBM | {"larger", "smaller", "square", "main", "in", "out", "W"}
_ROUNDS = 8


@dataclass
class CFunction:
    """One C function: its text and the C names that it uses."""

    name: str
    result: Kind
    head: str
    body: str
    uses: list[str] = field(default_factory=list)


@lru_cache(maxsize=512)
def _definition(function: Any) -> ast.FunctionDef:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


class Translator(Expressions):
    """Translates one function for one set of argument types."""

    def __init__(self, kernels: Functions, function: Any, arguments: list[Value]) -> None:
        super().__init__(kernels, function.__globals__)
        self.kernels, self.tree = kernels, copy.deepcopy(_definition(function))
        self.mixed: set[str] = set()  # variables that are integers in some places and doubles in others
        self.parameters: list[tuple[str, str]] = []  # type and name in C
        self.given: dict[str, Value] = {}
        self.kinds: dict[str, Kind] = {}
        self.pointers: dict[str, View] = {}
        self.result: Kind | None = None
        self.takes_table = any(map(needs_workspace, arguments))
        for node, argument in zip(self.tree.args.args, arguments):
            self._parameter(node.arg, argument)
        self._check_loops()

    def _parameter(self, name: str, argument: Value) -> None:
        c = c_name(name)
        if isinstance(argument, View):
            self.parameters.append((argument.type, c))
            self.given[name] = replace(argument, text=c)
        elif isinstance(argument, Term) and isinstance(argument.kind, Struct):
            self.parameters.append((f"const {self.kernels.type_name(argument.kind)} *", c))
            self.given[name] = Term(f"(*{c})", argument.kind)
        elif isinstance(argument, Term) or (isinstance(argument, Known) and is_number(argument.value)):
            kind = as_term(argument).kind
            self.parameters.append((f"{kind} ", c))
            self.given[name] = Term(c, kind)
            self.kinds[name] = kind
        else:
            self.given[name] = argument

    def _check_loops(self) -> None:
        """Raise if the variable of a loop is read after the loop, where C has another value."""
        loops = [node for node in ast.walk(self.tree) if isinstance(node, ast.For)]
        own, stored = Counter(name for loop in loops for name in _names(loop.target)), _stored(self.tree)
        inside = {
            id(node)
            for loop in loops
            for node in ast.walk(loop)
            if isinstance(node, ast.Name) and node.id in _names(loop.target)
        }
        only = {name for name in own if own[name] == stored[name]}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id in only and id(node) not in inside:
                raise TypeError(f"{self.tree.name}: {node.id} is read after its loop, line {node.lineno}")

    def translate(self, name: str) -> CFunction:
        """Translate repeatedly until the types of variables do not change."""
        for _ in range(_ROUNDS):
            before = dict(self.kinds), self.result
            self.stores = _stored(self.tree)
            self.lines: list[str] = []
            self.depth, self.counter = 1, 0
            self.locals: dict[str, Value] = {}
            self.extra: list[str] = []
            self.kernels.forget()
            self._block(self.tree.body)
            if before == (self.kinds, self.result):
                return self._assemble(name)
            for variable in self.mixed:
                if separate(self.tree, variable):
                    del self.kinds[variable]
            self.mixed.clear()
        raise TypeError(f"{self.tree.name}: the types of variables do not settle")

    def _assemble(self, name: str) -> CFunction:
        body = "\n".join(self.lines)
        declared = []
        for variable, kind in self.kinds.items():
            c = c_name(variable)
            if variable in self.given:
                if as_term(self.given[variable]).kind != kind:
                    raise TypeError(f"{self.tree.name}: the argument {variable} changes its type")
                continue
            declared.append(
                (self.kernels.type_name(kind) + " ", c, "" if isinstance(kind, Struct) else " = 0")
            )
        declared += [(view.type, c_name(variable), " = 0") for variable, view in self.pointers.items()]
        declared += [("int ", c, " = 0") for c in self.extra]
        head, unused = [], []
        for type_, c, start in declared:
            if re.search(rf"(?<![>.])\b{c}\b", body):
                head.append(f"    {type_}{c}{start};")
                if not _is_read(c, body):
                    unused.append(f"    (void){c};")
        parameters = list(self.parameters)
        if self.takes_table:
            parameters.insert(0, (f"{self.kernels.workspace} *", "W"))
        unused += [f"    (void){c};" for _, c in parameters if not _is_read(c, body)]
        result = self.result or VOID
        arguments = ", ".join(f"{type_}{c}" for type_, c in parameters) or "void"
        signature = f"static {self.kernels.type_name(result)} {name}({arguments})"
        return CFunction(name, result, signature, "\n".join([*head, *unused, body]))

    # --- names -------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Value | None:
        """Return a local name, None where there is none."""
        if name in self.locals:
            return self.locals[name]
        return self.given.get(name)

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + text)

    def fresh(self) -> str:
        """Return the name of a new integer."""
        self.counter += 1
        self.extra.append(f"i{self.counter}_")
        return self.extra[-1]

    def store(self, name: str, value: Value) -> None:
        """Assign a value to a local name."""
        again = self.stores[name] > 1 or name in self.given
        if isinstance(value, Pack) and value.is_global and not again:
            self.locals[name] = value
            return
        if isinstance(value, Pack):
            value = self.kept(value)
        if not again and isinstance(value, Known | Table | Address):
            self.locals[name] = value
            return
        c = c_name(name)
        if name in (self.kinds if isinstance(value, View) else self.pointers):
            raise TypeError(f"{self.tree.name}: {name} is both a number and a pointer")
        if isinstance(value, View):
            self.pointers[name] = value
            self.locals[name] = replace(value, text=c)
            self.line(f"{c} = {value.text};")
            return
        term = as_term(value)
        if self.kinds.get(name, term.kind) != term.kind:
            self.mixed.add(name)
        self.kinds[name] = join(self.kinds.get(name, term.kind), term.kind)
        self.locals[name] = Term(c, self.kinds[name], counts=not again and term.counts)
        self.line(f"{c} = {term.text};")

    # --- statements --------------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt]) -> bool:
        """Translate statements; tell whether they end with a jump."""
        for statement in statements:
            method = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if method is None:
                raise TypeError(f"{self.tree.name}: {ast.unparse(statement)} has no form in C")
            if method(statement):
                return True
        return False

    def _do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.line(f"{self.term(node.value).text};")

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    def _do_break(self, node: ast.Break) -> bool:
        self.line("break;")
        return True

    def _do_continue(self, node: ast.Continue) -> bool:
        self.line("continue;")
        return True

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        if len(node.targets) > 1 and not isinstance(value, Known):
            value = self.kept(value)
        for target in node.targets:
            self._assign(target, value, node.value)

    def _assign(self, target: ast.expr, value: Value, source: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.store(target.id, value)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self.line(f"{as_term(self._place(target)).text} = {as_term(value).text};")
        else:
            assert isinstance(target, ast.Tuple)
            self._unpack(target, value, source)

    def _place(self, target: ast.expr) -> Value:
        """Return the target of an assignment."""
        if isinstance(target, ast.Subscript):
            owner, index = self.value(target.value), self.value(target.slice)
            return self.entry(owner, index) if isinstance(owner, Table) else self.element(owner, index)
        return self.value(target)

    def _unpack(self, target: ast.Tuple, value: Value, source: ast.expr) -> None:
        if isinstance(value, Term):
            assert isinstance(value.kind, Struct)
            held = self.kept(value)
            value = Pack(tuple(self.member(held, m) for m, _ in value.kind.members))
        elif isinstance(value, Known):
            value = Pack(tuple(map(Known, value.value)))
        elif not self._independent(target, source):
            assert isinstance(value, Pack)
            value = Pack(
                tuple(v if isinstance(v, Known | View | Table) else self.kept(v) for v in value.values)
            )
        assert isinstance(value, Pack)
        for item, part in zip(target.elts, value.values, strict=True):
            if not (isinstance(item, ast.Name) and item.id == "_"):
                self._assign(item, part, source)

    def kept(self, value: Value) -> Term:
        """Return a value, or the values of a tuple, stored in a new variable."""
        if isinstance(value, Pack):
            return self._kept_pack(value)
        term = as_term(value)
        found = self._variable(term.kind)
        self.line(f"{found.text} = {term.text};")
        return found

    def _kept_pack(self, pack: Pack, before: Kind | None = None) -> Term:
        """Return a variable with the values of a tuple, whose members can also hold the values of ``before``."""
        terms = [storable(value) for value in pack.values]
        old = dict(before.members) if isinstance(before, Struct) else {}
        kinds = (str(join(old.get(m, term.kind), term.kind)) for m, term in zip(pack.members, terms))
        found = self._variable(Struct(tuple(zip(pack.members, kinds)), pack.kind))
        for member, term in zip(pack.members, terms):
            self.line(f"{found.text}.{member} = {term.text};")
        return found

    def kept_parts(self, start: View, sizes: Value) -> Term:
        """Return a variable with pointers to parts of memory of these sizes."""
        if isinstance(sizes, Pack):
            sizes = self._kept_pack(sizes)
        assert isinstance(sizes, Term)
        assert isinstance(sizes.kind, Struct)
        lengths, names = sizes, [name for name, _ in sizes.kind.members]
        if not lengths.text.isidentifier():
            lengths = self._variable(sizes.kind)
            self.line(f"{lengths.text} = {sizes.text};")
        found = self._variable(Struct(tuple((name, start.type) for name in names), sizes.kind.python))
        self.line(f"{found.text}.{names[0]} = {start.text};")
        for before, name in pairwise(names):
            self.line(f"{found.text}.{name} = {found.text}.{before} + {lengths.text}.{before};")
        return found

    def _variable(self, kind: Kind) -> Term:
        """Return a new variable."""
        self.counter += 1
        self.kinds[f"t{self.counter}_"] = kind
        return Term(f"t{self.counter}_", kind)

    @staticmethod
    def _independent(target: ast.Tuple, source: ast.expr) -> bool:
        """Tell whether the right side of an assignment does not depend on names assigned by the left side."""
        into_memory = any(isinstance(t, ast.Subscript | ast.Attribute) for t in target.elts)
        if into_memory:
            return not any(isinstance(n, ast.Subscript | ast.Attribute | ast.Call) for n in ast.walk(source))
        return not _names(target) & _names(source)

    def _do_augassign(self, node: ast.AugAssign) -> None:
        found = self._place(node.target)
        if isinstance(found, View):
            self.line(f"{found.text} += {self.term(node.value).text};")
            return
        place = as_term(found)
        value = self.combine(node.op, place, self.value(node.value))
        sign = OPERATORS[type(node.op)][0]
        if isinstance(node.target, ast.Name):
            self.kinds[node.target.id] = join(self.kinds[node.target.id], as_term(value).kind)
        if sign in ("+", "-", "*", "/") and place.kind == DOUBLE:
            self.line(f"{place.text} {sign}= {self.term(node.value).text};")
        else:
            self.line(f"{place.text} = {as_term(value).text};")

    def _do_return(self, node: ast.Return) -> bool:
        if node.value is None:
            self.line("return;")
            return True
        value = self.value(node.value)
        if isinstance(value, Known) and isinstance(value.value, tuple):
            named = type(value.value) if hasattr(value.value, "_fields") else None
            value = Pack(tuple(map(Known, value.value)), named)
        if isinstance(value, Pack):
            term = self._kept_pack(value, self.result)
            self.result = term.kind
        else:
            term = storable(value)
            self.result = term.kind if self.result is None else join(self.result, term.kind)
        self.line(f"return {term.text};")
        return True

    def _do_if(self, node: ast.If) -> bool:
        test = self.value(node.test)
        if isinstance(test, Known):
            return self._block(node.body if test.value else node.orelse)
        self.line(f"if ({as_term(test).text}) {{")
        ends = self._nested(node.body)
        if node.orelse:
            self.line("} else {")
            ends = self._nested(node.orelse) and ends
        self.line("}")
        return ends and bool(node.orelse)

    def _nested(self, statements: list[ast.stmt]) -> bool:
        self.depth += 1
        ends = self._block(statements)
        self.depth -= 1
        return ends

    def _do_while(self, node: ast.While) -> bool:
        test = self.value(node.test)
        endless = isinstance(test, Known) and bool(test.value)
        self.line("for (;;) {" if endless else f"while ({as_term(test).text}) {{")
        self._nested(node.body)
        self.line("}")
        return endless and not any(isinstance(inner, ast.Break) for inner in ast.walk(node))

    def _do_for(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name)
        if not (isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"):
            self._repeat(node, node.target.id)
            return
        limits = [self.value(argument) for argument in node.iter.args]
        start, end = (Known(0), limits[0]) if len(limits) == 1 else limits[:2]
        step = limits[2] if len(limits) == 3 else Known(1)
        fixed = [limit.value for limit in (start, end, step) if isinstance(limit, Known)]
        if len(fixed) == 3 and not range(*fixed):
            return
        node_end = node.iter.args[0] if len(limits) == 1 else node.iter.args[1]
        if not isinstance(end, Known) and not self._steady(node_end, node.body):
            kept = self.fresh()
            self.line(f"{kept} = {as_term(end).text};")
            end = Term(kept, INT)
        c = c_name(node.target.id) if node.target.id != "_" else self.fresh()
        if node.target.id != "_":
            self.kinds[node.target.id] = join(self.kinds.get(node.target.id, INT), INT)
            self.locals[node.target.id] = Term(c, self.kinds[node.target.id])
        down = isinstance(step, Known) and step.value < 0
        width = as_term(step)
        change = {"1": f"{c}++", "-1": f"{c}--"}.get(width.text, f"{c} += {width.text}")
        sign = ">" if down else "<"
        self.line(f"for ({c} = {as_term(start).text}; {c} {sign} {as_term(end).inner}; {change}) {{")
        self._nested(node.body)
        self.line("}")

    def _repeat(self, node: ast.For, name: str) -> None:
        """Translate a loop over a tuple: its body once for each entry."""
        values = self.value(node.iter)
        if isinstance(values, Term):
            assert isinstance(values.kind, Struct)
            held = self.kept(values)
            values = Pack(tuple(self.member(held, m) for m, _ in values.kind.members))
        elif isinstance(values, Known):
            values = Pack(tuple(map(Known, values.value)))
        assert isinstance(values, Pack)
        if any(isinstance(inner, ast.Break | ast.Continue) for inner in ast.walk(node)):
            raise TypeError(f"{self.tree.name}: a loop over a tuple that is left has no form in C")
        for value in values.values:
            self.locals[name] = value
            self._block(node.body)

    @staticmethod
    def _steady(bound: ast.expr, body: list[ast.stmt]) -> bool:
        """Tell whether a loop's body does not change its bound."""
        if any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(bound)):
            return False
        return not _names(bound) & set(_stored(*body))


def separate(tree: ast.FunctionDef, name: str) -> bool:
    """Rename a variable shared by several loops of a function in each loop; tell whether that is possible.

    Each loop must assign it before it reads it.
    """
    owners = [statement for statement in tree.body if name in _names(statement)]
    if len(owners) < 2 or not all(
        isinstance(owner, ast.For) and _begins_with(owner, name) for owner in owners
    ):
        return False
    for number, owner in enumerate(owners[1:], start=2):
        for node in ast.walk(owner):
            if isinstance(node, ast.Name) and node.id == name:
                node.id = f"{name}_{number}"
    return True


def _begins_with(loop: ast.For, name: str) -> bool:
    """Tell whether a loop's body assigns a name before it uses it."""
    if name in _names(loop.target) or name in _names(loop.iter):
        return False
    first = next(statement for statement in loop.body if name in _names(statement))
    if not isinstance(first, ast.Assign) or name in _names(first.value):
        return False
    return name in _stored(*first.targets)


def _stored(*nodes: ast.AST) -> Counter[str]:
    """Return how often each name is assigned."""
    inside = (inner for node in nodes for inner in ast.walk(node))
    return Counter(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def c_name(name: str) -> str:
    """Return the name that a variable has in C."""
    return f"{name}_" if name in _RESERVED else name


def _is_read(name: str, body: str) -> bool:
    """Tell whether a body reads a variable other than to change it."""
    written = len(re.findall(rf"^\s*{name} [-+*/]?= ", body, re.MULTILINE))
    return len(re.findall(rf"(?<![>.])\b{name}\b", body)) > written
