"""Unique names of elements."""

from __future__ import annotations

from collections.abc import Iterable


def unique(name: str, taken: Iterable[str]) -> str:
    """Return ``name``, with a number appended if it is among ``taken``."""
    names = taken if isinstance(taken, (set, dict)) else set(taken)
    if name not in names:
        return name
    number = 2
    while f"{name}_{number}" in names:
        number += 1
    return f"{name}_{number}"
