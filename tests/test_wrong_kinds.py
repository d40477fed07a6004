"""What works on a system or a trajectory says so where it is given something else: every public function and class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any

import pytest

import sarrus as sr
from sarrus.dynamics import impacts as contacts

PLACES = (
    sr,
    sr.control,
    sr.coordinates,
    sr.export,
    sr.gym,
    sr.identification,
    sr.sensitivity,
    sr.studies,
    contacts,
)
WANTED = {"System": "a System", "Trajectory": "a Trajectory", "System | Law": "a System or a control law"}


def public() -> Iterator[tuple[Callable[..., Any], str]]:
    """Iterate over all whose first argument is a system or a trajectory, each with what it asks for."""
    found: set[object] = {sr.Parametrization}  # `parametrize` makes it
    for place in PLACES:
        for name in getattr(place, "__all__", ()):
            one = getattr(place, name)
            made_by_users = inspect.isfunction(one) or (inspect.isclass(one) and not is_dataclass(one))
            if not made_by_users or one in found:
                continue
            first = next(iter(parameters(one)), None)
            if first is not None and first.annotation in WANTED:
                found.add(one)
                yield one, WANTED[first.annotation]


def parameters(one: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return what a function takes, or what the first __init__ of a class that is written in Python takes."""
    function = one.__init__ if inspect.isclass(one) else one
    found = list(inspect.signature(function).parameters.values()) if inspect.isfunction(function) else []
    return found[inspect.isclass(one) :]


@pytest.mark.parametrize(("one", "wanted"), list(public()), ids=lambda one: getattr(one, "__name__", ""))
def test_another_kind_is_refused_by_name(one: Callable[..., Any], wanted: str) -> None:
    others = [p for p in parameters(one)[1:] if p.default is p.empty]
    needed = [p for p in others if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = {p.name: None for p in others if p.kind is p.KEYWORD_ONLY}
    with pytest.raises(sr.ArgumentError, match=f"{one.__name__} needs {wanted}, got Mechanism"):
        one(sr.Mechanism("m"), *[None] * len(needed), **named)


def test_all_are_walked() -> None:
    assert len(list(public())) > 45
