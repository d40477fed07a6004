"""Planted and altered native code in small numbers; stale code, caches of Numba, modules in the working directory."""

from __future__ import annotations

import ast
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import native_code
import pytest
from numba.core.caching import _CacheLocator

import sarrus
from sarrus.base.errors import CacheWarning
from sarrus.codegen import cache, private
from sarrus.kernels.c_function import Kernel

PACKAGE = Path(sarrus.__file__).parent


@pytest.mark.parametrize("attack", [native_code.places, native_code.entries])
def test_what_others_plant_is_refused(attack):
    for tally in attack():
        tally.check()


def test_altered_and_foreign_entries_are_refused():
    for tally in (*native_code.mutations(200), *native_code.exchanges(200)):
        tally.check()


def test_what_many_keep_at_once_is_kept():
    native_code.races(20).check()


def test_what_is_planted_would_run():
    with native_code.planted() as plant:
        plant.path.write_bytes(plant.sealed(plant.secret))
        assert native_code.answer(plant.place) == (27.0, True, [])


def test_a_link_of_the_users_own_leads_to_the_directory(monkeypatch):
    with native_code.planted() as plant:
        (plant.root / "link").symlink_to(plant.place.parent)
        assert native_code.answer(plant.root / "link" / "cache") == (18.0, True, [])
        (plant.root / "round").symlink_to("round")
        monkeypatch.setattr(tempfile, "tempdir", str(plant.root))
        assert native_code.answer(plant.root / "round" / "cache") == (18.0, False, [])
        assert len(list(plant.root.glob("sarrus-*/*.sarrus"))) == 1


def test_a_lost_secret_costs_a_compilation():
    with native_code.planted() as plant:
        (plant.place / "secret").unlink()
        assert native_code.answer(plant.place) == (18.0, False, [])
        assert native_code.answer(plant.place) == (18.0, True, [])


def test_the_warning_comes_once_and_not_from_child_processes(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    with native_code.kept_in(tmp_path) as caught:
        assert [cache.directory() for _ in range(3)] == [None] * 3
        assert [w.category for w in caught] == [CacheWarning]
        assert f"chmod go-w {tmp_path}" in str(caught[0].message)
        assert "SARRUS_CACHE_DIR" in str(caught[0].message)
    with native_code.kept_in(tmp_path) as caught, monkeypatch.context() as patch:
        patch.setattr(multiprocessing, "parent_process", lambda: object())
        assert cache.directory() is None
        assert not caught


def test_a_directory_without_owners_must_lie_in_the_profile(tmp_path, monkeypatch):
    monkeypatch.setattr(private, "_HAS_OWNERS", False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    with native_code.kept_in(tmp_path / "elsewhere"):
        with pytest.raises(private.NotPrivateError, match="outside of the user's profile"):
            private.open_private(tmp_path / "elsewhere")
        assert not (tmp_path / "elsewhere").exists()
    for inside in (tmp_path / "home" / "a" / "b", tmp_path / "local" / "sarrus"):
        with native_code.kept_in(inside):
            assert not native_code.square(2.0).from_cache
            assert native_code.square(2.0).from_cache
            assert cache.clear_cache() == 1


def test_without_a_private_directory_kernels_are_compiled_in_memory(tmp_path):
    tmp_path.chmod(0o777)
    kernel = Kernel("batch", "prepare")
    with native_code.kept_in(tmp_path) as caught:
        kernel.prefetch()
        assert kernel._builder is None
        assert kernel.address
    assert [w.category for w in caught if w.category is CacheWarning] == [CacheWarning]
    assert list(tmp_path.iterdir()) == []


class _Marks:
    """Makes a directory when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def run(script: str, *arguments: object, **options) -> list[str]:
    """Return the lines that a Python process prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
        **options,
    )
    return done.stdout.split()


FORWARD = """
import os, sys
import numpy as np
from sarrus.kernels.forward import forward

one = np.zeros(1)
print(forward(np.zeros(200, np.int64), one, one, one, 0.0, one), os.path.exists(sys.argv[1]))
if sys.argv[2:]:
    from numba.core.caching import FunctionCache
    try:
        FunctionCache(forward.py_func)._cache_file.load(())
    except TypeError:  # what was unpickled is no index
        pass
    print(os.path.exists(sys.argv[1]))
"""


def test_caches_of_numba_are_neither_stale_nor_believed(tmp_path):
    """Sources are edited without a change of size or time, beside a ``__pycache__`` that cannot be written to."""
    root, numba_cache, mark = tmp_path / "site", tmp_path / "numba", tmp_path / "mark"
    package = root / "sarrus"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    source, layout = package / "kernels" / "forward.py", package / "kernels" / "layout.py"
    (function,) = (
        node for node in ast.parse(source.read_text()).body if getattr(node, "name", "") == "forward"
    )
    version = "".join(map(str, sys.version_info[:2]))
    index = f"forward.forward-{function.decorator_list[0].lineno}.py{version}.nbi"
    in_tree = package / "kernels" / "__pycache__"
    for folder in (in_tree, numba_cache / _CacheLocator.get_suitable_cache_subpath(str(source))):
        folder.mkdir(parents=True)
        (folder / index).write_bytes(pickle.dumps(_Marks(mark)))
    in_tree.chmod(0o555)
    own = {
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SARRUS_CACHE_DIR": str(tmp_path / "cache"),
    }
    usual = os.environ | own
    usual.pop("NUMBA_CACHE_DIR", None)
    with_numba = usual | {"NUMBA_CACHE_DIR": str(numba_cache)}
    assert run(FORWARD, mark, env=with_numba) == ["-3", "False"]
    assert run(FORWARD, mark, env=usual) == ["-3", "False"]
    status, text = layout.stat(), layout.read_text()
    assert "NOT_UNIT = -1, -3, -4, -5\n" in text
    layout.write_text(text.replace("NOT_UNIT = -1, -3, -4, -5\n", "NOT_UNIT = -1, -7, -4, -5\n"))
    os.utime(layout, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run(FORWARD, mark, "would it run?", env=with_numba) == ["-7", "False", "True"]
    mark.rmdir()
    assert run(FORWARD, mark, "would it run?", env=usual) == ["-7", "False", "True"]


PREFETCH = """
import sys
from sarrus.kernels.c_function import prepare

prepare.prefetch()
print(prepare._builder.wait(120))
"""


def test_modules_in_the_working_directory_are_not_imported(tmp_path):
    (tmp_path / "numba.py").write_text("import os; os.mkdir('mark')")
    script = tmp_path / "scripts" / "prefetch.py"
    script.parent.mkdir()
    script.write_text(PREFETCH)
    environment = os.environ | {
        "PYTHONPATH": str(PACKAGE.parent),
        "SARRUS_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.split() == ["0"]
    assert not (tmp_path / "mark").exists()
    assert len(list((tmp_path / "cache").glob("*.sarrus"))) == 1
