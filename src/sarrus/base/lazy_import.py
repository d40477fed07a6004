"""Lazy imports by name: methods of results that draw or write, without an import of the packages that do it.

Thin methods such as `Trajectory.plot` and `Mechanism.to_mjcf` call functions of packages that import the class of the
method. The function is imported when the method is called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function of sarrus, imported now, by module and name: ``later("pictures.plots.history", "plot_history")``."""
    return getattr(importlib.import_module(f"sarrus.{module}"), name)
