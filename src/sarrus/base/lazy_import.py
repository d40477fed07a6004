"""Conveniences of results, imported when they are called: `Trajectory.plot` without Matplotlib in `Trajectory`.

Methods such as `Trajectory.plot`, `Mechanism.to_mjcf` and `Trajectory.reactions` forward to functions of wings that
import their classes. The dynamics itself is imported at the top of its modules, where the contracts of imports see it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def lazy_import(module: str, name: str) -> Callable[..., Any]:
    """Return the function ``name`` of ``sarrus.<module>``, importing the module now."""
    return getattr(importlib.import_module(f"sarrus.{module}"), name)
