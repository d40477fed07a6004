"""The tables of tolerances, as a page; writes tolerances.md beside this file.

python docs/tolerances.py
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAGE = Path(__file__).with_suffix(".md")
SOURCE = Path(__file__).resolve().parent.parent / "src" / "sarrus"
WINGS = (
    "base", "model", "codegen", "symbolic", "kernels", "dynamics", "formulations", "control", "motion", "analysis",
    "design", "export", "pictures", "runs",
)  # fmt: skip
UNIT = re.compile(r"\[([^\]]+)\] (.+)")

HEAD = """# Tolerances

<!-- written by docs/tolerances.py from the files tolerances.py of src/sarrus -->

Every number that decides whether something is closed, at rest, equal, zero or dependent stands in one table a room,
`tolerances.py`: unit, the quantity that it is relative to, what it decides, the reason. A name stands in one table
only and has one value. The columns below come from these tables; the last one is found from the imports.

Among these the ones that most answers depend on:

- **closed.** Loops of a start are closed up to `DATA_TOLERANCE`, what printed digits of files leave open; projections
  leave `POSITION_TOLERANCE`. A contact is closed up to `AT_BOUND`.
- **at rest.** A contact slower than `STILL` is at rest; a configuration is an equilibrium up to `FORCE_BALANCED`.
- **same.** Two assembly modes are one up to `SAME_ASSEMBLY`, two nodes of a map up to `SAME_NODE`.
- **rounding.** Ranks from exact equations are cut at `RANK_CUT`; `EPSILON` is the unit of double precision, and
  `LEAST_DIVISOR` stands in for a divisor that is zero.
- **parallel, perpendicular.** `PARALLEL` and `PERPENDICULAR`, for unit vectors.

κ is the characteristic length of a mechanism ([notation](notation.md)). Coefficients of tableaus and polynomials,
physical constants, default values of file formats and sizes of drawings (`style.py`, `sizes.py`) are no tolerances.
Options that users set have their defaults in the signature.
"""


@dataclass(frozen=True)
class Entry:
    """One number of a table: name, value as written, comment before it, line."""

    room: str
    name: str
    value: str
    comment: str
    line: int

    @property
    def unit(self) -> str:
        """Unit, and the quantity that it is relative to; empty where the comment does not begin with it."""
        found = UNIT.fullmatch(self.comment)
        return found[1] if found else ""

    @property
    def text(self) -> str:
        """What it decides, and why this number."""
        found = UNIT.fullmatch(self.comment)
        return found[2] if found else ""


def tables(wings: tuple[str, ...] = WINGS) -> list[Path]:
    """Return the files tolerances.py, in the order of the wings."""
    return [path for wing in wings for path in sorted((SOURCE / wing).rglob("tolerances.py"))]


def room_of(path: Path) -> str:
    """Return the room of a table, such as ``kernels/contact``."""
    return path.parent.relative_to(SOURCE).as_posix()


def entries(path: Path) -> Iterator[Entry]:
    """Yield the numbers of a table, each with the lines of comment right before it."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            first = statement.lineno - 1
            while first and lines[first - 1].startswith("#"):
                first -= 1
            comment = " ".join(line.lstrip("# ") for line in lines[first : statement.lineno - 1])
            assert statement.value is not None
            yield Entry(
                room_of(path), ast.unparse(target), _value(text, statement.value), comment, statement.lineno
            )


def _value(text: str, node: ast.expr) -> str:
    return " ".join((ast.get_source_segment(text, node) or "").split())


def module_of(path: Path) -> str:
    """Return the name of a module of the package."""
    return ".".join(("sarrus", *path.relative_to(SOURCE).with_suffix("").parts))


@cache
def readers() -> dict[tuple[str, str], list[str]]:
    """Return who reads a number, by the module of its table and its name: modules, without ``sarrus``."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        tree, own = ast.parse(path.read_text(encoding="utf-8")), module_of(path)
        shown = own.removeprefix("sarrus.").removesuffix(".__init__")
        short: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                for name in node.names:
                    if node.module.endswith("tolerances"):
                        found[node.module, name.name].add(shown)
                    elif name.name == "tolerances":
                        short[name.asname or name.name] = f"{node.module}.tolerances"
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in short
            ):
                found[short[node.value.id], node.attr].add(shown)
            elif own.endswith("tolerances") and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found[own, node.id].add(shown)
    return {key: sorted(names) for key, names in found.items()}


def render() -> str:
    """Return the page."""
    read = readers()
    parts = [HEAD]
    for path in tables():
        parts.append(f"\n## {room_of(path)}\n")
        parts.append(
            "| name | value | unit, of what | decides, and why | read by |\n| --- | --- | --- | --- | --- |"
        )
        for entry in entries(path):
            users = ", ".join(f"`{name}`" for name in read.get((module_of(path), entry.name), []))
            cells = (f"`{entry.name}`", f"`{entry.value}`", entry.unit, entry.text, users)
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
