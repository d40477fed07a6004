"""Numbers that decide stand in the tables of their rooms, with unit, what they are relative to and a reason."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "tolerances.py"
SOURCE = Path(__file__).resolve().parent.parent / "src" / "sarrus"
TABLES = ("tolerances.py", "style.py", "sizes.py", "units.py")

# Modules whose numbers decide nothing that a tolerance could.
COEFFICIENTS = {
    "codegen/exact": "polynomials of elementary functions, with the bounds of their ranges",
    "kernels/integrate/dormand_prince.py": "coefficients of a tableau",
    "kernels/integrate/rosenbrock_tableau.py": "coefficients of tableaus",
    "base/files/atomic.py": "bytes in words: powers of 1000",
}
# Constants of other modules that are no tolerances, by name.
OTHERS = {
    "codes of states in arrays of floats": {
        "AWAKE, ASLEEP, ENDED, LEAVES, DIVIDES", "INACTIVE, BOUNDARY, APEX",
        "FREE, RAY, ENDED, NEW_RAY, IDLE, LATER, SLACK", "LOOK_EVERY, NOT_LOOKED", "OFF", "GAP",
    },
    "signs and directions": {"_ENDS", "_CORNERS", "_AUTOMATIC", "_IDENTITY"},
    "physical constants": {"EARTH", "WATER"},
    "default values of file formats": {
        "MAGNETIC_FIELD", "_FRICTION", "_SLIDING, _TORSION, _ROLLING", "DEFAULT_SOFTNESS",
    },
    "a configuration": {"_SYMMETRIC"},
    "marks in arrays of numbers": {"ACTIVE, REBOUNDS, LEAVING"},
}  # fmt: skip
KNOWN = {name for names in OTHERS.values() for name in names}
# An option of this size or below is a tolerance: its default has a name. Larger ones are explained where they are set.
LEAST_OPTION = 1e-6


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tolerances_page", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if path.name not in TABLES and not any(name.startswith(exempt) for exempt in COEFFICIENTS):
            found.append((name, ast.parse(path.read_text(encoding="utf-8"))))
    return tuple(found)


def is_number(node: ast.expr) -> bool:
    """Tell whether an expression is a number, or a tuple of such, written with a point or an exponent."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    plain = (
        ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context, ast.Name,
        ast.Attribute,
    )  # fmt: skip
    return (
        any(type(part.value) is float for part in parts)
        and all(isinstance(part.value, int | float) for part in parts)
        and all(isinstance(part, plain) for part in ast.walk(node))
    )


def constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the constants of a module that are numbers."""
    for statement in tree.body:
        if (name := name_of(statement)) and is_number(statement.value):
            yield name


def name_of(statement: ast.stmt) -> str:
    """Return the name, or the names, that a statement gives to a value; empty for any other statement."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return ""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return (
        ", ".join(ast.unparse(name) for name in names) if all(isinstance(n, ast.Name) for n in names) else ""
    )


def defaults(tree: ast.Module) -> set[int]:
    """Return the default values of arguments and of fields of data classes."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            found |= {
                id(value) for value in (*node.args.defaults, *node.args.kw_defaults) if value is not None
            }
        elif isinstance(node, ast.ClassDef):
            found |= {id(s.value) for s in node.body if isinstance(s, ast.AnnAssign) and s.value is not None}
    return found


def literals(tree: ast.Module) -> Iterator[tuple[int, float]]:
    """Yield the small and the large numbers that stand in expressions, but for defaults that are options."""
    options = defaults(tree)
    for node in (node for part in tree.body if name_of(part) not in KNOWN for node in ast.walk(part)):
        if isinstance(node, ast.Constant) and type(node.value) is float and node.value:
            size = abs(node.value)
            if (size <= 1e-2 or size >= 1e3) and not (id(node) in options and size > LEAST_OPTION):
                yield node.lineno, node.value


def test_no_constant_of_a_module_decides_outside_of_the_tables() -> None:
    found = [f"{name}: {constant}" for name, tree in modules() for constant in constants(tree)]
    assert [line for line in found if line.split(": ")[1] not in KNOWN] == []


def test_every_exemption_is_needed() -> None:
    named = {name_of(statement) for _, tree in modules() for statement in tree.body}
    assert sorted(KNOWN - named) == []
    for name in COEFFICIENTS:
        assert (SOURCE / name).exists(), name


def test_no_literal_decides_outside_of_the_tables() -> None:
    found = [f"{name}:{line}: {value}" for name, tree in modules() for line, value in literals(tree)]
    assert found == []


def test_every_number_has_unit_sentence_and_reader(page: ModuleType) -> None:
    read = page.readers()
    for path in page.tables():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
        for entry in page.entries(path):
            place = f"{entry.room}: {entry.name}"
            assert entry.unit, f"{place}: a comment before it begins with [unit, of what]"
            assert entry.text.endswith("."), place
            assert entry.name.isupper(), place
            assert not entry.name.startswith("_"), place
            assert read.get((page.module_of(path), entry.name)), f"{place}: nobody reads it"


def test_every_name_stands_in_one_table(page: ModuleType) -> None:
    names = Counter(entry.name for path in page.tables() for entry in page.entries(path))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_wing_is_looked_at(page: ModuleType) -> None:
    assert set(page.tables()) == set(SOURCE.rglob("tolerances.py"))


def test_the_page_is_what_the_script_writes(page: ModuleType) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.render(), "python docs/tolerances.py"
