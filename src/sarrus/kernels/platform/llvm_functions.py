"""Functions of the kernels as LLVM text: each function once for every set of kinds of its arguments.

Local names are stored in memory, which LLVM turns into registers, unless a name is assigned once, before all its
reads. A name has one kind in a function, wide enough for all values assigned to it: if a later assignment needs a
wider kind, the function is written again.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from sarrus.kernels.platform.llvm_expressions import Expressions
from sarrus.kernels.platform.llvm_values import (
    INTEGER,
    REAL,
    TRUTH,
    Bundle,
    Kind,
    Known,
    Pointer,
    Term,
    Value,
    constant,
    gathered,
    join,
    kind_of,
    llvm_name,
    number_kind,
    opened,
    parts,
)

_ROUNDS = 8
_SUFFIXES = {REAL: "f64", "ptr": "p0"}


@dataclass(frozen=True)
class Source:
    """Syntax tree of a function, and its names that are assigned once and read only after it."""

    tree: ast.FunctionDef
    steady: frozenset[str]


@cache
def _definitions(module: str) -> dict[tuple[str, int], ast.FunctionDef]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {(node.name, node.lineno): node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@cache
def source_of(function: Any) -> Source:
    """Return the `Source` of a Python function."""
    code = function.__code__
    known = _definitions(function.__module__)
    (tree,) = (
        node
        for (name, line), node in known.items()
        if name == code.co_name
        and code.co_firstlineno in (line, *(item.lineno for item in node.decorator_list))
    )
    return Source(tree, frozenset(_steady(tree)))


def _steady(tree: ast.FunctionDef) -> set[str]:
    """Return the names that are assigned once, in a block whose later statements contain all their reads."""
    stores, loads = Counter[str](), defaultdict[str, list[tuple[int, int]]](list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                stores[node.id] += 1
            else:
                loads[node.id].append((node.lineno, node.col_offset))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            stores[node.target.id] += 2
    stores.update(argument.arg for argument in tree.args.args)
    found = {argument.arg for argument in tree.args.args if stores[argument.arg] == 1}
    for block in _blocks(tree):
        last = block[-1].end_lineno, block[-1].end_col_offset
        for statement in block:
            if isinstance(statement, ast.Assign):
                begin = statement.end_lineno, statement.end_col_offset
                names = {name for target in statement.targets for name in _stored(target)}
            elif isinstance(statement, ast.For):
                begin, names = (statement.lineno, 0), set(_stored(statement.target))
                last = statement.end_lineno, statement.end_col_offset
            else:
                continue
            found |= {
                name
                for name in names
                if stores[name] == 1 and all(begin <= place <= last for place in loads[name])
            }
            last = block[-1].end_lineno, block[-1].end_col_offset
    return found


def _stored(target: ast.expr) -> list[str]:
    return [
        node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                found.append(block)
    return found


@dataclass
class Loop:
    """Labels of the next round and of the end of a loop."""

    again: str
    end: str
    left: bool = False  # by a break


@dataclass
class Module:
    """LLVM text of the functions of one kernel."""

    texts: list[str] = field(default_factory=list)
    functions: dict[Any, tuple[str, Writer]] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)
    arrays: dict[bytes, str] = field(default_factory=dict)

    def call(self, function: Any, arguments: list[Value]) -> tuple[str, Kind]:
        """Return the LLVM name of a kernel function for arguments of these kinds, and the kind of its result."""
        kinds = tuple(map(kind_of, arguments))
        known = self.functions.get((function, kinds))
        if known is None:
            python = getattr(function, "py_func", function)
            name = f'@"{python.__module__.rpartition(".")[2]}.{python.__name__}.{len(self.functions)}"'
            writer = Writer(self, python, kinds)
            self.functions[function, kinds] = known = name, writer
            force_inline = getattr(function, "force_inline", False)
            self.texts.append(writer.write(name, "alwaysinline nounwind" if force_inline else "nounwind"))
        return known[0], known[1].result

    def intrinsic(self, name: str, *kinds: str) -> str:
        """Return the name of an LLVM intrinsic for arguments of these kinds; its result has the first kind."""
        full = f"@llvm.{name}.{_SUFFIXES[kinds[0]]}"
        self.declared[full] = f"declare {kinds[0]} {full}({', '.join(kinds)})"
        return full

    def array(self, numbers: Any) -> str:
        """Return the name of an array of constants."""
        flat = np.asarray(numbers).ravel()
        kind = number_kind(flat[0])
        entries = ", ".join(f"{kind} {constant(number).text}" for number in flat)
        content = f"private constant [{len(flat)} x {kind}] [{entries}], align 8"
        name = self.arrays.setdefault(content.encode(), f"@numbers.{len(self.arrays)}")
        self.declared[name] = f"{name} = {content}"
        return name

    def text(self) -> str:
        """Return the text of all functions."""
        return "\n".join([*self.declared.values(), *self.texts, ""])


class Writer(Expressions):
    """Writer of one function for one set of kinds of its arguments."""

    def __init__(self, module: Module, function: Any, kinds: tuple[Kind, ...]) -> None:
        super().__init__(module, function.__globals__)
        self.source, self.arguments = source_of(function), kinds
        self.result: Kind = None
        self.returns = False  # whether the kind of what is returned is known, if only in part
        self.kinds: dict[str, Kind] = {}
        self.direct: dict[str, Value] = {}
        self.loops: list[Loop] = []
        self.settled = True

    # --- the function ------------------------------------------------------------------------------------

    def write(self, name: str, attributes: str) -> str:
        """Return the text of the function, written until the kinds of its names settle."""
        tree = self.source.tree
        for _ in range(_ROUNDS):
            self.settled, self.lines, self.registers, self.label = True, [], 0, "entry"
            self.direct = {}
            given = self._begin()
            try:
                ends = self._block(tree.body)
            except TypeError as error:
                error.add_note(f"in {name}")
                raise
            if not ends:
                self._return(Known(None))
            if self.settled:
                head = f"define internal {llvm_name(self.result)} {name}({', '.join(given)}) {attributes} {{"
                slots = [
                    f"  {place} = alloca {llvm_name(part)}"
                    for variable, kind in self.kinds.items()
                    for place, part in zip(_places(variable, kind), parts(kind))
                ]
                return "\n".join([head, "entry:", *slots, *self.lines, "}"])
        raise TypeError(f"{name}: the kinds of variables do not settle")

    def _begin(self) -> list[str]:
        """Return the declarations of the arguments, and enter them as local names."""
        declared = []
        for node, kind in zip(self.source.tree.args.args, self.arguments, strict=True):
            texts = [f"%{node.arg}.{k}" for k, _ in enumerate(parts(kind))]
            declared += [f"{llvm_name(part)} {text}" for part, text in zip(parts(kind), texts)]
            self._assign_name(f"{node.arg}", gathered(kind, texts))
        return declared

    # --- names -------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Value | None:
        """Return the value of a local name, None if there is none."""
        if name in self.direct:
            return self.direct[name]
        if name not in self.kinds:
            return None
        kind = self.kinds[name]
        loads = [self._loaded(place, part) for place, part in zip(_places(name, kind), parts(kind))]
        return gathered(kind, loads)

    def part_of(self, name: str, place: str) -> Value | None:
        """Return the part ``place`` of the named tuple in the local variable ``name``; None if it is none."""
        kind = self.kinds.get(name)
        if name in self.direct or not isinstance(kind, Bundle) or kind.python is None:
            return None
        index = kind.python._fields.index(place)
        first = sum(len(parts(part)) for part in kind.kinds[:index])
        wanted = parts(kind.kinds[index])
        places = _places(name, kind)[first : first + len(wanted)]
        return gathered(kind.kinds[index], [self._loaded(where, part) for where, part in zip(places, wanted)])

    def _loaded(self, place: str, kind: str | Pointer) -> str:
        return self.register(f"load {llvm_name(kind)}, ptr {place}", kind).text

    def _assign_name(self, name: str, value: Value) -> None:
        if name in self.source.steady:
            self.direct[name] = value
            return
        kind = kind_of(value)
        if isinstance(kind, Known) or kind is None:
            raise TypeError(f"{name} is given {value}, and other values elsewhere")
        known = self.kinds.get(name)
        if known is None:
            self.kinds[name] = kind
        elif known != kind:
            kind = join(known, kind)
            self.settled = self.settled and kind == known
            self.kinds[name] = kind
        terms = self.scattered(self.converted(value, kind))
        for place, term in zip(_places(name, kind), terms, strict=True):
            self.line(f"store {llvm_name(term.kind)} {term.text}, ptr {place}")

    # --- statements --------------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt]) -> bool:
        """Write statements; return True if the code ends here."""
        for statement in statements:
            method = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if method is None:
                raise TypeError(f"line {statement.lineno}: {ast.unparse(statement)} has no form in LLVM")
            if method(statement):
                return True
        return False

    def _do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    def _do_break(self, node: ast.Break) -> bool:
        self.go_to(self.loops[-1].end)
        self.loops[-1].left = True
        return True

    def _do_continue(self, node: ast.Continue) -> bool:
        self.go_to(self.loops[-1].again)
        return True

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._assign(target, value)

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._assign_name(target.id, value)
        elif isinstance(target, ast.Tuple):
            for item, part in zip(target.elts, opened(value).values, strict=True):
                self._assign(item, part)
        else:
            self.store(value, *self.place(target))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            held = self.lookup(node.target.id)
            assert held is not None
            self._assign_name(node.target.id, self.combine(node.op, held, self.value(node.value)))
            return
        address, kind, kept = self.place(node.target)
        before = self.load(address, kind, kept)
        self.store(self.combine(node.op, before, self.value(node.value)), address, kind, kept)

    def _do_return(self, node: ast.Return) -> bool:
        self._return(Known(None) if node.value is None else self.value(node.value))
        return True

    def _return(self, value: Value) -> None:
        kind = kind_of(value)
        if self.returns and kind != self.result:
            kind = join(self.result, kind)
            self.settled = self.settled and kind == self.result
        self.result, self.returns = kind, True
        terms = self.scattered(self.converted(value, kind))
        if not isinstance(kind, Bundle):
            self.line(f"ret {llvm_name(kind)} {terms[0].text if terms else ''}")
            return
        whole, name = "undef", llvm_name(kind)
        for k, term in enumerate(terms):
            text = f"insertvalue {name} {whole}, {llvm_name(term.kind)} {term.text}, {k}"
            whole = self.register(text, INTEGER).text
        self.line(f"ret {name} {whole}")

    def _do_if(self, node: ast.If) -> bool:
        if not isinstance(node.test, ast.BoolOp | ast.UnaryOp | ast.Compare):
            test = self.value(node.test)
            if isinstance(test, Known):
                return self._block(node.body if test.value else node.orelse)
            yes, no = self.fresh_label(), self.fresh_label()
            self.line(f"br i1 {self.truth(test).text}, label %{yes}, label %{no}")
        else:
            yes, no = self.fresh_label(), self.fresh_label()
            self.branch(node.test, yes, no)
        end = self.fresh_label() if node.orelse else no
        self.begin_block(yes)
        ends = self._block(node.body)
        if not ends:
            self.go_to(end)
        if not node.orelse:
            self.begin_block(no)
            return False
        self.begin_block(no)
        other = self._block(node.orelse)
        if not other:
            self.go_to(end)
        if not (ends and other):
            self.begin_block(end)
        return ends and other

    def _do_while(self, node: ast.While) -> bool:
        begin, body, end = self.fresh_label(), self.fresh_label(), self.fresh_label()
        self.go_to(begin)
        self.begin_block(begin)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        if endless:
            self.go_to(body)
        else:
            self.branch(node.test, body, end)
        self.begin_block(body)
        loop = Loop(begin, end)
        self._repeat(node.body, loop)
        leaves = not endless or loop.left
        if leaves:
            self.begin_block(end)
        return not leaves

    def _repeat(self, statements: list[ast.stmt], loop: Loop) -> None:
        self.loops.append(loop)
        if not self._block(statements):
            self.go_to(loop.again)
        self.loops.pop()

    def _do_for(self, node: ast.For) -> None:
        if node.orelse:
            raise TypeError(f"line {node.lineno}: else of a loop has no form in LLVM")
        if not (isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"):
            self._for_each(node)
            return
        limits = [self.cast(self.number(argument), INTEGER) for argument in node.iter.args]
        start, end = (constant(0), limits[0]) if len(limits) == 1 else limits[:2]
        step = limits[2] if len(limits) == 3 else constant(1)
        begin, body, again, done = (self.fresh_label() for _ in range(4))
        before = self.label
        self.go_to(begin)
        self.begin_block(begin)
        index, ahead = Term(f"%{body}i", INTEGER), f"%{body}n"
        self.line(f"{index.text} = phi i64 [ {start.text}, %{before} ], [ {ahead}, %{again} ]")
        if step.text.lstrip("-").isdigit():
            inside = self.register(
                f"icmp {'sgt' if step.text[0] == '-' else 'slt'} i64 {index.text}, {end.text}", INTEGER
            )
        else:
            raise TypeError(f"line {node.lineno}: a loop with this step has no form in LLVM")
        self.line(f"br i1 {inside.text}, label %{body}, label %{done}")
        self.begin_block(body)
        self._assign(node.target, index)
        self._repeat(node.body, Loop(again, done))
        self.begin_block(again)
        self.line(f"{ahead} = add nsw i64 {index.text}, {step.text}")
        self.go_to(begin)
        self.begin_block(done)

    def _for_each(self, node: ast.For) -> None:
        """Write a loop over a tuple: its body once for each entry."""
        done = self.fresh_label()
        for value in opened(self.value(node.iter)).values:
            again = self.fresh_label()
            self._assign(node.target, value)
            self._repeat(node.body, Loop(again, done))
            self.begin_block(again)
        self.go_to(done)
        self.begin_block(done)


def _places(name: str, kind: Kind) -> list[str]:
    return [f"%{name}.at{k}" for k in range(len(parts(kind)))]


def module_text(function: Any, kinds: list[str | Pointer], entry: str) -> str:
    """Return the text of a function, under the name ``entry``, and of all functions that it calls.

    The function returns a real number or an integer: 0 or 1 for False or True, 0 for None.
    """
    module = Module()
    arguments: list[Value] = [Term(f"%x{k}", kind) for k, kind in enumerate(kinds)]
    name, result = module.call(function, arguments)
    given = ", ".join(f"{llvm_name(kind)} %x{k}" for k, kind in enumerate(kinds))
    kind, call = llvm_name(result), f"call {llvm_name(result)} {name}({given})"
    if result in (INTEGER, REAL):
        lines = [f"%answer = {call}", f"ret {kind} %answer"]
    elif result == TRUTH:
        kind, lines = INTEGER, [f"%truth = {call}", "%answer = zext i1 %truth to i64", "ret i64 %answer"]
    elif result is None:
        kind, lines = INTEGER, [call, "ret i64 0"]
    else:
        raise TypeError(f"{name} returns {result}, which has no form in C")
    return "\n".join([module.text(), f"define {kind} @{entry}({given}) {{", "entry:", *lines, "}", ""])
