"""Numbers as text of an MJCF file."""

from __future__ import annotations

from collections.abc import Iterable


def numbers(values: Iterable[float]) -> str:
    """Return numbers as text that reads back as the same floats."""
    return " ".join(repr(float(value)) for value in values)
