"""What comments, docstrings and pages name by its path in the package is there, and what scripts import from it."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CITED = re.compile(r"`~?(sarrus(?:\.[A-Za-z_]\w*)+)(?:\([^`]*\))?`")
PLACES = ("src/sarrus", "docs", "tests", "examples", "benchmarks", ".")
HISTORY = {"CHANGELOG.md"}


def texts(place: str) -> list[Path]:
    """Return the sources and pages of a folder; of the checkout itself the pages that lie right in it."""
    if place == ".":
        return [path for path in ROOT.glob("*.md") if path.name not in HISTORY]
    return [path for path in sorted((ROOT / place).rglob("*")) if path.suffix in (".py", ".md")]


def exists(dotted: str) -> bool | None:
    """Return whether a dotted name leads to a module, or to an attribute of one.

    None where a module of others that it needs is not installed.
    """
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError as missing:
            if not (missing.name or "").startswith("sarrus"):
                return None
            continue
        return all((found := getattr(found, part, None)) is not None for part in parts[count:])
    return False


def imported(source: str) -> list[str]:
    """Return the dotted names that a script imports from the package; no test runs all of them."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return [f"{n.module}.{a.name}" for n in found if (n.module or "").startswith("sarrus.") for a in n.names]


def names(path: Path) -> list[str]:
    """Return the dotted names that a file cites, and those that it imports if it is a script."""
    text = path.read_text(encoding="utf-8")
    script = path.suffix == ".py" and "src" not in path.parts
    return [*CITED.findall(text), *(imported(text) if script else [])]


def test_names_are_cited() -> None:
    assert len({name for path in texts("src/sarrus") for name in names(path)}) > 100
    assert not exists("sarrus.base.nothing")
    assert not exists("sarrus.nothing.at_all")


@pytest.mark.parametrize("place", PLACES)
def test_all_cited_names_exist(place: str) -> None:
    cited = {name: path for path in texts(place) for name in names(path)}
    found = {name: exists(name) for name in cited}
    assert not [f"{cited[name].relative_to(ROOT)} names {name}" for name in found if found[name] is False]
    unknown = [name for name in found if found[name] is None]
    if unknown:
        pytest.skip(f"{', '.join(unknown)} need modules that are not installed")
