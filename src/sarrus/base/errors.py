"""Errors of sarrus: one base class; every error names the element that is wrong and what would be right."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


class SarrusError(Exception):
    """Base class of all errors that sarrus raises.

    Attributes
    ----------
    element : str or None
        Name of the joint, body, closure, file or argument that is wrong.
    valid : tuple of str
        The valid names, if the error is about an unknown name.
    """

    def __init__(self, message: str, *, element: str | None = None, valid: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.element = element
        self.valid = tuple(valid)


class ModelError(SarrusError):
    """The description of a mechanism is wrong: a bad number, an unknown or a duplicate name."""


class ModelFileError(ModelError):
    """A model file is missing, malformed, or of an unknown kind."""


class UnsupportedElementError(ModelError):
    """A model file holds an element whose loss would change the mechanism; ``strict=False`` leaves it out."""


class ArgumentError(SarrusError, ValueError):
    """An argument of a call has the wrong length, value or type."""


class WriteError(SarrusError, OSError):
    """A file could not be written (disk full, no permission). The data is still in memory, an old file is unchanged."""


class SolveError(SarrusError):
    """A solve failed; ``result`` holds the last iterate and its status."""

    def __init__(self, message: str, *, result: object = None, element: str | None = None) -> None:
        super().__init__(message, element=element)
        self.result = result


class SimulationError(SarrusError):
    """A simulation ended early; ``trajectory`` holds the motion up to that time."""

    def __init__(self, message: str, *, trajectory: object = None, time: float | None = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory
        self.time = time


class AccuracyWarning(UserWarning):
    """A motion is complete, but its estimated error is as large as the motion itself: no digit is reliable."""


class SingularityWarning(UserWarning):
    """A run approaches a singular configuration; the warning gives the time and the forecast of the passage."""


class LimitWarning(UserWarning):
    """A coordinate starts beyond its joint limit; the limit stays at its value, and the coordinate may return."""


class ModelWarning(UserWarning):
    """An element of a model file does not act, or has an impossible inertia; ``mechanism.report`` lists all of them."""


class StoreWarning(UserWarning):
    """A file of a result store was damaged; its content is computed again."""


class CacheWarning(UserWarning):
    """Compiled code is not kept on disk, because no cache directory belongs to the user alone."""


class CompilationError(SarrusError):
    """Expressions cannot be compiled to a native function: wrong inputs, free symbols, or an error of LLVM."""


class UnsupportedOperationError(CompilationError):
    """An expression contains an operation without native code; ``element`` is the name of the operation."""


class ViewerError(SarrusError):
    """A viewer was stopped, cannot be served, or does not answer in time."""


def unknown_name(kind: str, name: object, valid: Iterable[str]) -> str:
    """Return the sentence "unknown KIND NAME" with the most similar valid name and all valid names."""
    names = list(valid)
    near = get_close_matches(str(name), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = ", ".join(repr(n) for n in names) if names else "none"
    return f"unknown {kind} {name!r}.{hint} Known: {known}"


def check_known(
    kind: str,
    name: object,
    valid: Collection[str],
    label: str = "",
    *,
    error: type[SarrusError] = ArgumentError,
    element: str | None = None,
    advice: str = "",
) -> None:
    """Raise ``error`` with ``element`` (by default ``name``) unless ``name`` is one of the ``valid`` names.

    The message begins with ``label``, gives the most similar and all valid names, and ends with ``advice``.
    """
    if not isinstance(name, str) or name not in valid:
        text = unknown_name(kind, name, valid) + (f". {advice}" if advice else "")
        raise error(f"{label}: {text}" if label else text, element=element or str(name), valid=valid)


def check_is(caller: str, value: object, kind: type) -> None:
    """Raise `ArgumentError` unless the object of a function or class is an instance of ``kind``."""
    if not isinstance(value, kind):
        name, article = kind.__name__, "an" if kind.__name__[0] in "AEIOU" else "a"
        text = f"{caller} needs {article} {name}, got {type(value).__name__}"
        raise ArgumentError(text, element=name.lower())


def check_sequence(argument: str, names: object, label: str = "") -> None:
    """Raise `ArgumentError`, beginning with ``label``, if a single name is given for a sequence of names."""
    if isinstance(names, str):
        text = f"{argument} must be a sequence of names, such as [{names!r}]"
        raise ArgumentError(f"{label}: {text}" if label else text, element=argument)


def place_of(kind: str, name: str, valid: Iterable[str], argument: str = "") -> int:
    """Return the index of ``name`` in ``valid``; raise `ArgumentError` about ``argument`` for an unknown name."""
    names = list(valid)
    check_known(kind, name, names, argument)
    return names.index(name)
