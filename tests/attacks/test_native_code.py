"""Planted and altered native code in small numbers; stale code, modules in the working directory."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import native_code
import pytest

import sarrus
from sarrus.base.errors import CacheWarning
from sarrus.codegen import cache, private
from sarrus.codegen.machine import host
from sarrus.kernels.platform import c_function
from sarrus.kernels.platform.c_function import Kernel

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


def test_without_a_private_directory_kernels_are_compiled_in_memory(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    monkeypatch.setattr(c_function, "shipped", lambda: None)
    kernel = Kernel("batch.batch", "prepare")
    with native_code.kept_in(tmp_path) as caught:
        kernel.prefetch()
        assert kernel._builder is None
        assert kernel.address
    assert [w.category for w in caught if w.category is CacheWarning] == [CacheWarning]
    assert list(tmp_path.iterdir()) == []


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


NO_ANSWER = """
import sys
import numpy as np
from sarrus.kernels.platform.c_function import forward

print(forward(np.zeros(200, np.int64), np.zeros(1), 0), "sarrus.kernels.platform.build" in sys.modules)
"""


def test_kernels_of_other_sources_are_not_used(tmp_path):
    """Sources are edited without a change of size or time; neither the shipped file nor the cache takes that."""
    package = tmp_path / "site" / "sarrus"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    layout, answers = (
        package / "kernels" / "memory" / "layout.py",
        "NO_ANSWER, NOT_ARRAYS, NOT_UNIT = {}, -4, -5\n",
    )
    environment = os.environ | {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SARRUS_CACHE_DIR": str(tmp_path / "cache"),
    }
    assert run(NO_ANSWER, env=environment) == ["-1", "False"]
    status, text = layout.stat(), layout.read_text()
    assert answers.format(-1) in text
    layout.write_text(text.replace(answers.format(-1), answers.format(-7)))
    os.utime(layout, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run(NO_ANSWER, env=environment) == ["-7", "True"]
    assert run(NO_ANSWER, env=environment) == ["-7", "False"]
    layout.write_text(text)
    assert run(NO_ANSWER, env=environment) == ["-1", "False"]


PREFETCH = """
import sys
from sarrus.kernels.platform.c_function import prepare

prepare.prefetch()
print(prepare._builder.wait(120))
"""


def test_modules_in_the_working_directory_are_not_imported(tmp_path):
    (tmp_path / "llvmlite.py").write_text("import os; os.mkdir('mark')")
    script = tmp_path / "scripts" / "prefetch.py"
    script.parent.mkdir()
    script.write_text(PREFETCH)
    environment = os.environ | {
        "PYTHONPATH": str(PACKAGE.parent),
        "SARRUS_CACHE_DIR": str(tmp_path / "cache"),
        "SARRUS_CPU": "x86-64" if host().triple.startswith("x86_64") else "cortex-a53",
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
