"""Errors about a description: each begins with the element that is wrong; unknown names list the valid ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Self

from sarrus.base.errors import ModelError, check_known, unknown_name


class Label(str):
    """The beginning of an error about an element, such as "joint 'elbow'"; ``name`` is the name of the element."""

    name: str

    def __new__(cls, kind: str, name: str) -> Self:
        label = super().__new__(cls, f"{kind} {name!r}")
        label.name = name
        return label


def fault(label: str, problem: str, element: str | None = None) -> ModelError:
    """Return the `ModelError` "label: problem"; its ``element`` is by default the name in the label."""
    return ModelError(f"{label}: {problem}", element=_named(label) if element is None else element)


def check_name(
    kind: str,
    name: Any,
    valid: Collection[str],
    label: str,
    element: str | None = None,
    error: type[ModelError] = ModelError,
) -> None:
    """Raise unless ``name`` is one of the valid ones; the error lists them, with ``element`` as in `fault`."""
    check_known(kind, name, valid, label, error=error, element=element or _named(label))


def unknown(kind: str, name: Any, valid: Collection[str], label: str) -> ModelError:
    """Return the error for an unknown name; it lists the valid ones."""
    return ModelError(f"{label}: {unknown_name(kind, name, valid)}", element=str(name), valid=valid)


def _named(label: str) -> str:
    return label.name if isinstance(label, Label) else label
