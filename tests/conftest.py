"""Fixtures that all tests share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.append(str(EXAMPLES))  # examples import each other


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
