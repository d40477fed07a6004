"""Kernel functions as C functions: which are needed, for which argument types, with their calls."""

from __future__ import annotations

from typing import Any

from sarrus.export.c.expressions import is_number
from sarrus.export.c.statements import CFunction, Translator
from sarrus.export.c.values import Kind, Known, Pack, Struct, Table, Term, Value, View, as_term

HELPERS = {
    "larger": "static double larger(double a, double b)\n{\n    return a < b ? b : a;\n}\n",
    "smaller": "static double smaller(double a, double b)\n{\n    return b < a ? b : a;\n}\n",
    "larger_int": "static int larger_int(int a, int b)\n{\n    return a < b ? b : a;\n}\n",
    "smaller_int": "static int smaller_int(int a, int b)\n{\n    return b < a ? b : a;\n}\n",
    "square": "static double square(double a)\n{\n    return a * a;\n}\n",
    "floor_quotient": (
        "static int floor_quotient(int a, int b)\n{\n    return a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n"
    ),
    "floor_remainder": (
        "static int floor_remainder(int a, int b)\n{\n"
        "    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);\n}\n"
    ),
}


class Kernels:
    """The kernel functions of an export, each translated once for every set of argument types.

    ``workspace`` is the C type of the structure W.
    """

    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.functions: dict[Any, CFunction] = {}
        self.structs: dict[Struct, str] = {}
        self._names: set[str] = set()
        self._callers: list[list[str]] = []

    def call(self, function: Any, arguments: list[Value]) -> tuple[str, Kind]:
        """Return the name in C of a kernel function for such arguments, and what it returns."""
        function = getattr(function, "py_func", function)
        key = function, *(_key(argument) for argument in arguments)
        if key not in self.functions:
            self._callers.append([])
            made = Translator(self, function, arguments).translate(self._name(function.__name__))
            made.uses = list(dict.fromkeys(self._callers.pop()))
            self.functions[key] = made
        found = self.functions[key]
        self.helper(found.name)
        return found.name, found.result

    def helper(self, name: str) -> str:
        """Note that the present function uses this C name."""
        if self._callers:
            self._callers[-1].append(name)
        return name

    def forget(self) -> None:
        """Forget the C names used by the present function, before it is translated again."""
        self._callers[-1].clear()

    def type_name(self, kind: Kind) -> str:
        """Return the name of a type in C."""
        if isinstance(kind, str):
            return kind
        taken = self.structs.values()
        name = f"struct {kind.name}" if kind.name and f"struct {kind.name}" not in taken else None
        self.structs.setdefault(kind, name or f"struct {kind.name or 'tuple'}{len(self.structs)}")
        return self.structs[kind]

    def reached(self, *roots: str) -> tuple[list[str], list[CFunction]]:
        """Return the names other than kernel functions that ``roots`` use, and the kernel functions, callees
        first."""
        by_name = {function.name: function for function in self.functions.values()}
        others: dict[str, None] = {}
        order: dict[str, CFunction] = {}

        def visit(name: str) -> None:
            if name not in by_name:
                others[name] = None
            elif name not in order:
                for used in by_name[name].uses:
                    visit(used)
                order[name] = by_name[name]

        for root in roots:
            visit(root)
        return list(others), list(order.values())

    def _name(self, name: str) -> str:
        base = f"k_{name.lstrip('_')}"
        chosen, number = base, 1
        while chosen in self._names:
            number += 1
            chosen = f"{base}_{number}"
        self._names.add(chosen)
        return chosen


def _key(value: Value) -> Any:
    if isinstance(value, Term):
        return value.kind
    if isinstance(value, View):
        return value.type, value.length, value.record
    if isinstance(value, Table):
        return value
    if isinstance(value, Known) and is_number(value.value):
        return as_term(value).kind
    if isinstance(value, Known):
        return "known", value.value
    if isinstance(value, Pack):
        return "known", *((v.value if isinstance(v, Known) else v) for v in value.values)
    raise TypeError(f"{value} cannot be an argument")
