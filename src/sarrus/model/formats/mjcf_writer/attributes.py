"""Attributes of MJCF elements as text, and the error for elements that MJCF cannot represent."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from sarrus.base.errors import UnsupportedElementError


def numbers(values: Iterable[float]) -> str:
    """Return numbers as text that reads back as the same floats."""
    return " ".join(repr(float(value)) for value in values)


def set_limits(element: Element, limits: tuple[float, float] | None, prefix: str = "") -> None:
    """Write the limits of a quantity with this attribute prefix, if there are any."""
    if limits is not None:
        element.set(f"{prefix}limited", "true")
        element.set(f"{prefix}range", numbers(limits))


def refused(kind: str, name: str, reason: str, valid: Iterable[str] = ()) -> UnsupportedElementError:
    """Return the error for an element that MJCF cannot represent."""
    return UnsupportedElementError(f"{kind} {name!r}: {reason}", element=name, valid=valid)
