"""What comments, docstrings and pages name by its path in the package is there, and what scripts import from it."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CITED = re.compile(r"`~?(sarrus(?:\.[A-Za-z_]\w*)+)(?:\([^`]*\))?`")
PLACES = ("src/sarrus", "docs", "tests", "examples", "benchmarks")
HISTORY = {"CHANGELOG.md"}


def _texts() -> list[Path]:
    found = [path for place in PLACES for path in (ROOT / place).rglob("*") if path.suffix in (".py", ".md")]
    return [*found, *(path for path in ROOT.glob("*.md") if path.name not in HISTORY)]


def exists(dotted: str) -> bool:
    """Return whether a dotted name leads to a module, or to an attribute of one."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError as missing:
            if not (missing.name or "").startswith("sarrus"):
                pytest.skip(f"{dotted} needs {missing.name}")
            continue
        return all((found := getattr(found, part, None)) is not None for part in parts[count:])
    return False


def imported(source: str) -> list[str]:
    """Return the dotted names that a script imports from the package; no test runs all of them."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return [f"{n.module}.{a.name}" for n in found if (n.module or "").startswith("sarrus.") for a in n.names]


def _names(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    script = path.suffix == ".py" and "src" not in path.parts
    return [*CITED.findall(text), *(imported(text) if script else [])]


CITATIONS = {name: path.relative_to(ROOT).as_posix() for path in sorted(_texts()) for name in _names(path)}


def test_names_are_cited() -> None:
    assert len(CITATIONS) > 100
    assert not exists("sarrus.base.nothing")
    assert not exists("sarrus.nothing.at_all")


@pytest.mark.parametrize("name", CITATIONS)
def test_a_cited_name_exists(name: str) -> None:
    assert exists(name), f"{CITATIONS[name]} names {name}"
