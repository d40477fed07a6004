"""Run the Python blocks of pages and write what they print into the block of text below each, where there is one.

python docs/outputs.py docs/tutorials/*.md

A page may need files of others, which are not ours to ship: ``<!-- needs FILE -->`` at its top. They are looked for in
the folder that ``SARRUS_FOREIGN`` names.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
NEEDS = re.compile(r"^<!-- needs (\S+) -->$", re.MULTILINE)
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a page: its kind and text, where they are, and whether it stands right below one of Python."""

    kind: str
    text: str
    start: int
    end: int
    line: int
    below: bool


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page that are code, commands or plain text."""
    found, end, before = [], 0, ""
    for match in BLOCK.finditer(page):
        below = before == "python" and not page[end : match.start()].strip()
        line = page.count("\n", 0, match.start(2))
        found.append(Block(match[1], match[2], match.start(2), match.end(2), line, below))
        end, before = match.end(), match[1]
    return found


def prepare(folder: Path) -> None:
    """Put into a folder what pages may use: the models, the examples, and what files of others there are."""
    for name in ("models", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    if "SARRUS_FOREIGN" in os.environ:
        shutil.copytree(os.environ["SARRUS_FOREIGN"], folder, dirs_exist_ok=True)


@contextlib.contextmanager
def workplace() -> Iterator[None]:
    """A folder of its own, with what pages may use, as the present one."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        prepare(Path(folder))
        own = [folder, f"{folder}/examples"]  # examples import each other
        sys.path[:0] = own
        try:
            yield
        finally:
            del sys.path[: len(own)]


def missing(page: str) -> list[str]:
    """Return the files of others that a page needs and that are not in the present folder."""
    return [name for name in NEEDS.findall(page) if not Path(name).exists()]


def run(page: str, name: str, names: dict[str, Any]) -> Iterator[tuple[Block, str]]:
    """Run the blocks of Python in order, with ``names`` in common; yield all blocks with what the last one printed."""
    printed = ""
    with np.printoptions():  # what a page sets is its own
        for block in blocks(page):
            if block.kind == "python":
                above = "\n" * block.line  # a traceback then has the line of the page
                with contextlib.redirect_stdout(io.StringIO()) as stream:
                    exec(compile(above + block.text, name, "exec"), names)
                printed = stream.getvalue()
            yield block, printed


def computed(name: str, *, until: str = "", above: str = "") -> dict[str, Any]:
    """Return what the blocks of docs/NAME.md compute: all, up to what sets ``until``, or those above a heading."""
    path, names = ROOT / "docs" / f"{name}.md", {"__name__": "page"}
    text = path.read_text(encoding="utf-8")
    with (
        workplace(),
        contextlib.closing(run(text.split(above)[0] if above else text, str(path), names)) as done,
    ):
        for _ in done:
            if until in names:
                break
    return names


def outputs(page: str, name: str) -> list[tuple[Block, str]]:
    """Run the blocks of Python; return the blocks of text below with what is printed."""
    done = run(page, name, {"__name__": "page"})
    return [(block, printed) for block, printed in done if block.kind == "text" and block.below]


def main(paths: list[str]) -> None:
    """Rewrite the pages."""
    for path in map(Path, paths):
        page = path.read_text(encoding="utf-8")
        with workplace():
            if lacking := missing(page):
                raise SystemExit(
                    f"{path}: {', '.join(lacking)} must be in the folder that SARRUS_FOREIGN names"
                )
            found = outputs(page, str(path))
        for block, printed in reversed(found):
            lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
            page = page[: block.start] + lines + page[block.end :]
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
