"""Calls into later packages, by name: how a result offers its pictures and its files without importing them.

Results, the description and the system end in thin methods, `Trajectory.plot`, `Mechanism.to_mjcf`, whose work is done
in packages that import these classes. Such a method asks for the function when it is called, as an entry point does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a package that imports the caller's: ``later("pictures.plots.history", "plot_history")``."""
    return getattr(importlib.import_module(f"sarrus.{module}"), name)
