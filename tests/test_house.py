"""The house: wings and rooms of a size that a reader finds, and no physics that is called by its name as text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sarrus as sr

SOURCE = Path(sr.__file__).parent
ROOMS = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)
# What results may import when they are asked for it: pictures, exports, and further results about themselves.
CONVENIENCES = ("pictures.", "export", "analysis.loads.", "model.formats.mjcf_writer")


def test_there_are_at_most_fourteen_wings() -> None:
    assert len([room for room in ROOMS if room.parent == SOURCE]) <= 14


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(SOURCE).as_posix())
def test_a_room_has_at_most_25_files_and_says_what_it_is(room: Path) -> None:
    files = list(room.glob("*.py"))
    assert len(files) <= 25
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8")))
    assert len((text or "").split()) >= 4


def test_no_physics_is_called_by_its_name() -> None:
    """`lazy_import` serves conveniences alone, and nothing else imports by a computed name but the lazy packages."""
    by_name, imported = [], []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called == "lazy_import":
                    by_name.append(ast.literal_eval(node.args[0]))
                elif called in ("import_module", "__import__"):
                    imported.append(path.relative_to(SOURCE).as_posix())
    assert by_name
    assert [module for module in by_name if not module.startswith(CONVENIENCES)] == []
    assert sorted(set(imported)) == [
        "__init__.py",  # public names
        "base/lazy_import.py",
        "codegen/__init__.py",  # names of a package that is imported without CasADi
        "kernels/platform/build.py",  # the source of a kernel, for Numba
        "pictures/browser/serving.py",  # a module of another package
    ]


def test_the_public_names_come_from_one_list() -> None:
    """The stub that type checkers read: each name is there, is what its home has, and is listed once."""
    stub = ast.parse(Path(f"{sr.__file__}i").read_text("utf-8"))
    names = [alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(names) == sr.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(sr, name) is not None
