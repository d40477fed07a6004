"""Fixtures that all tests share."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

# Families of inputs: the same examples in every run, no clock, no files of failures.
settings.register_profile("sarrus", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("sarrus")

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.append(str(EXAMPLES))  # examples import each other
# Files of few tests that take minutes where nothing is compiled yet: the longest, which compiles for four processors.
LONGEST = ("test_reproducible_bits.py",)


def pytest_configure(config: pytest.Config) -> None:
    """Keep pytest-xdist from an order of its own, which leaves files of few tests to the end."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process waits for another at the end: `LONGEST`, then by
    number of tests."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.name not in LONGEST, -tests[item.path], item.path))


def load_example(name: str) -> ModuleType:
    """Return the module examples/NAME.py; its main is not run."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def example() -> Callable[[str], ModuleType]:
    """Return the loader of example modules: ``example("five_bar").build()``."""
    return load_example


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    """Units of FMI by the names of models, compiled when they are asked for."""
    from fmi_units import units_by_name

    yield from units_by_name(tmp_path_factory)
