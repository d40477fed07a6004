"""Fixtures that all tests share."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from kept_code import limit_room, use_kept_code
from second_stage import is_second

# Families of inputs: the same examples in every run, no clock, no files of failures.
settings.register_profile("sarrus", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("sarrus")

TESTS = Path(__file__).resolve().parent
EXAMPLES = TESTS.parent / "examples"
sys.path.append(str(EXAMPLES))  # examples import each other
# Files of few tests that take minutes where nothing is compiled yet: the longest, which compiles for four processors.
LONGEST = ("test_reproducible_bits.py",)


# What pytest makes of the sources of the tests is kept, whatever the environment says of bytecode: 10 s a process.
sys.dont_write_bytecode = False
gc.disable()  # what is made while tests are collected stays; looking through it again and again takes 3 s
use_kept_code()
os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process for each processor; read when NumPy is imported


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Share the suite among the processors where the command line names neither files nor a number of processes."""
    if hasattr(config, "workerinput"):  # this is one of those processes
        return
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.collectonly
    if whole and getattr(config.option, "numprocesses", 0) is None:
        config.option.numprocesses, config.option.dist = "logical", "loadfile"


def pytest_configure(config: pytest.Config) -> None:
    """Tidy up, and keep pytest-xdist from an order of its own, which leaves files of few tests to the end."""
    if not hasattr(config, "workerinput"):
        limit_room()
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the second stage. Begin with the files that take longest, so that no process waits for another at the end:
    `LONGEST`, then by number of tests."""
    for item in items:
        if is_second(item.path.relative_to(TESTS).as_posix(), item.name):
            item.add_marker("slow")
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.name not in LONGEST, -tests[item.path], item.path))


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and leave modules and tests out of it."""
    gc.enable()
    gc.freeze()


def load_example(name: str) -> ModuleType:
    """Return the module examples/NAME.py; its main is not run."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def usual_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile at the level that users get: for tests of the code itself, of bits and of costs."""
    monkeypatch.delenv("SARRUS_OPTIMIZATION", raising=False)


@pytest.fixture(scope="session")
def example() -> Callable[[str], ModuleType]:
    """Return the loader of example modules: ``example("five_bar").build()``."""
    return load_example


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    """Units of FMI by the names of models, compiled when they are asked for."""
    from fmi_units import units_by_name

    yield from units_by_name(tmp_path_factory)
