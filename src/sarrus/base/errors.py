"""Errors of sarrus: one base class; every error names the element at fault and says what would be right."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


class SarrusError(Exception):
    """Base class of all errors that sarrus raises on purpose.

    Attributes
    ----------
    element : str or None
        Name of the joint, body, closure, file or argument at fault.
    valid : tuple of str
        The names that would have been accepted, where there is such a list.
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
    """An argument of a call is wrong: length, value or kind."""


class WriteError(SarrusError, OSError):
    """A file could not be written, as on a full disk; what was to be written is still in memory, an old file whole."""


class SolveError(SarrusError):
    """A solve could not give the answer asked for; ``result`` holds what it found."""

    def __init__(self, message: str, *, result: object = None, element: str | None = None) -> None:
        super().__init__(message, element=element)
        self.result = result


class SimulationError(SarrusError):
    """A simulation could not go on; ``trajectory`` holds the motion up to then."""

    def __init__(self, message: str, *, trajectory: object = None, time: float | None = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory
        self.time = time


class AccuracyWarning(UserWarning):
    """A motion that is complete, but whose estimated error leaves no digit that can be trusted."""


class SingularityWarning(UserWarning):
    """A run has come near a singular configuration: said at that time, where it watches, with what will come of it."""


class LimitWarning(UserWarning):
    """A coordinate begins beyond a limit of its joint: it may come back, and the limit acts where it is."""


class ModelWarning(UserWarning):
    """Something in a model file does not act, or is as no body can be; the report of the mechanism has the list."""


class StoreWarning(UserWarning):
    """A file of a store was damaged; what it held is made again."""


class CacheWarning(UserWarning):
    """Compiled code is not kept on disk, because there is no directory for it that is the user's alone."""


class CompilationError(SarrusError):
    """Expressions cannot become a native function: wrong inputs, free symbols, or LLVM refused them."""


class UnsupportedOperationError(CompilationError):
    """An expression uses an operation that has no native form; ``element`` is the name of the operation."""


class ViewerError(SarrusError):
    """A viewer that was stopped, cannot be served, or does not answer in time."""


def unknown_name(kind: str, name: object, valid: Iterable[str]) -> str:
    """Return the sentence that says ``name`` is no ``kind``, with the nearest and all valid names."""
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
    """Raise an ``error`` about ``element``, by default ``name``, unless this is one of the ``valid`` names.

    It begins with the ``label``, says the nearest and all valid names, and ends with the ``advice``.
    """
    if not isinstance(name, str) or name not in valid:
        text = unknown_name(kind, name, valid) + (f". {advice}" if advice else "")
        raise error(f"{label}: {text}" if label else text, element=element or str(name), valid=valid)


def check_is(caller: str, value: object, kind: type) -> None:
    """Raise `ArgumentError` where what a function or class works on is none of its ``kind``."""
    if not isinstance(value, kind):
        name, article = kind.__name__, "an" if kind.__name__[0] in "AEIOU" else "a"
        text = f"{caller} needs {article} {name}, got {type(value).__name__}"
        raise ArgumentError(text, element=name.lower())


def check_sequence(argument: str, names: object, label: str = "") -> None:
    """Raise `ArgumentError`, which begins with the ``label``, where a name stands for a sequence of names."""
    if isinstance(names, str):
        text = f"{argument} must be a sequence of names, such as [{names!r}]"
        raise ArgumentError(f"{label}: {text}" if label else text, element=argument)


def place_of(kind: str, name: str, valid: Iterable[str], argument: str = "") -> int:
    """Return where a name stands among those of its kind, or raise `ArgumentError`, with the ``argument`` it is of."""
    names = list(valid)
    check_known(kind, name, names, argument)
    return names.index(name)
