"""What is wrong with a description: errors that begin with the element at fault, and names that nobody has."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sarrus.base.errors import ModelError, check_known, unknown_name


def fault(label: str, problem: str, element: str | None = None) -> ModelError:
    """Return the error that says what is wrong with ``label``; it names ``element``, by default the same."""
    return ModelError(f"{label}: {problem}", element=label if element is None else element)


def check_name(
    kind: str,
    name: Any,
    valid: Collection[str],
    label: str,
    element: str,
    error: type[ModelError] = ModelError,
) -> None:
    """Raise unless ``name`` is one of the valid ones; the error names ``element`` and lists them."""
    check_known(kind, name, valid, label, error=error, element=element)


def unknown(
    kind: str,
    name: Any,
    valid: Collection[str],
    label: str,
    element: str,
    error: type[ModelError] = ModelError,
) -> ModelError:
    """Return the error for a name that is none of the valid ones."""
    return error(f"{label}: {unknown_name(kind, name, valid)}", element=element, valid=valid)
