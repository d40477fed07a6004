"""Types of the arguments of public functions, by name: `described` checks them before the function begins.

An argument of the same name has the same type in all public functions; the table `ARGUMENTS` has each name once. Checks
that depend on the system, such as valid names, are made in the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar, cast

import numpy as np

from sarrus.base.errors import ArgumentError, check_sequence
from sarrus.base.numbers import finite_array, whole_number

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[str, object], None]
_MANY = 10_000_000


def flag(name: str, value: object) -> None:
    """Raise unless a value is True or False."""
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))):
        raise ArgumentError(f"{name} must be True or False, got {value!r}", element=name)


def number(name: str, value: object) -> None:
    """Raise unless a value is one finite number."""
    if isinstance(value, str) or (found := finite_array(value)) is None or found.shape != ():  # type: ignore[arg-type]
        raise ArgumentError(f"{name} must be a finite number, got {value!r}", element=name)


def positive(name: str, value: object) -> None:
    """Raise unless a value is a positive number."""
    number(name, value)
    if not value > 0.0:  # type: ignore[operator]
        raise ArgumentError(f"{name} must be positive and finite, got {value!r}", element=name)


def whole(least: int, most: int) -> Check:
    """Return the check of a whole number between two."""

    def check(name: str, value: object) -> None:
        if whole_number(value, least, name) > most:
            raise ArgumentError(f"{name} must be {most} at most, got {value!r}", element=name)

    return check


def count(name: str, value: object) -> None:
    """Raise unless a value is a whole number ≥ 1 of items that fit in memory."""
    if not (isinstance(value, int | np.integer) and 1 <= value <= _MANY):
        wanted = "a whole number ≥ 1" if not isinstance(value, int) or value < 1 else f"{_MANY:,} at most"
        raise ArgumentError(f"{name} must be {wanted}, got {value!r}", element=name)


def names(name: str, value: object) -> None:
    """Raise unless a value is a sequence of names."""
    check_sequence(name, value)
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise ArgumentError(f"{name} must be a sequence of names, got {value!r}", element=name)
    if isinstance(value, list | tuple | np.ndarray):
        for entry in value:
            text(f"an entry of {name}", entry)


def name_or_names(name: str, value: object) -> None:
    """Raise unless a value is a name or a sequence of names."""
    if not isinstance(value, str):
        names(name, value)


def text(name: str, value: object) -> None:
    """Raise unless a value is text."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be a name, got {value!r}", element=name)


def mapping(name: str, value: object) -> None:
    """Raise unless a value is a mapping with names as keys."""
    _maps(name, value, "map names to values, such as {'crank': ...}")
    for key in cast(Mapping[object, object], value):
        text(f"a key of {name}", key)


def targets(name: str, value: object) -> None:
    """Raise unless a value is a mapping; the function checks its keys."""
    _maps(name, value, "map targets to their values")


def _maps(name: str, value: object, wanted: str) -> None:
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{name} must {wanted}, got {value!r}", element=name)


def pair(name: str, value: object) -> None:
    """Raise unless a value is a pair (lower, upper); the function checks the two entries."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise ArgumentError(f"{name} must be a pair (lower, upper), got {value!r}", element=name)


def unchecked(name: str, value: object) -> None:
    """Accept any value: the function, in which the argument differs from its entry in `ARGUMENTS`, checks it."""


def function(name: str, value: object) -> None:
    """Raise unless a value can be called."""
    if not callable(value):
        raise ArgumentError(f"{name} must be a function, got {value!r}", element=name)


# Checks of arguments by name. None and other defaults of a function always pass.
ARGUMENTS: dict[str, Check] = {
    **dict.fromkeys(("assemble", "contacts", "error_estimate", "hold", "progress", "side_by_side"), flag),
    **dict.fromkeys(("stable", "throw", "within_limits"), flag),
    **dict.fromkeys(("t", "t0"), number),
    **dict.fromkeys(("reach", "tolerance"), positive),
    **dict.fromkeys(("actuators", "by", "closing", "locked", "outputs", "reduce"), names),
    **dict.fromkeys(("driven", "patch"), name_or_names),
    **dict.fromkeys(("body", "frame", "measure", "through"), text),
    **dict.fromkeys(("parameters", "points", "stiffness"), mapping),
    **dict.fromkeys(("observation", "reset", "reward", "terminated"), function),
    "targets": targets,
    "seed": whole(0, 2**63 - 1),
    "halvings": whole(0, 60),
    "modes": whole(1, 10_000),
    "num_envs": count,
    "rays": whole(1, 100_000),
    "resolution": whole(4, 10_000),
    "threads": count,
}


def described(**others: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that checks arguments by `ARGUMENTS`; ``others`` are checks for this function alone."""

    def of(function: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(function).parameters
        known = ARGUMENTS | others
        defaults = {name: p.default for name, p in parameters.items() if name in known}
        places = [name for name, p in parameters.items() if p.kind is not Parameter.KEYWORD_ONLY]
        checks = {name: known[name] for name in defaults}

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if places[0] == "system" and not hasattr(args[0] if args else kwargs.get("system"), "nv"):
                return function(*args, **kwargs)  # raises Python's TypeError for the wrong signature
            for name, value in (*zip(places, args), *kwargs.items()):
                if name in checks and value is not defaults[name] and value is not None:
                    checks[name](name, value)
                elif value is None and name in checks and defaults[name] is not None:
                    raise ArgumentError(f"{name} must not be None", element=name)
            return function(*args, **kwargs)

        return checked

    return of
