"""A mechanism as JSON text and back, each number to the bit: the description stored in a trajectory file.

One rule encodes all elements: a dataclass becomes ``{class name: fields}``, an array
``{"array": numbers, "shape": sizes}``, a dictionary ``{"map": pairs}``, a tuple or list a list. Python functions
(user forces, motions, surfaces and laws other than a `Spline`) cannot be stored. The mechanism read back lists them in
its report as left out: driven bodies stand still, constraints with a function of time and rolling elements on a traced
surface are absent, springs have no law, tendons no limits.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from types import UnionType
from typing import Any, get_args, get_origin

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.builders.validation import check_description
from sarrus.model.mechanism.description import annotations_of
from sarrus.model.mechanism.spline import Spline

FORMAT = "sarrus mechanism 1"

_LOST = {
    "driven body": "its motion is a Python function, which a file cannot hold: it stays still",
    "closure": "its motion is a Python function, which a file cannot hold: left out",
    "coupling": "its motion or a term is a Python function, which a file cannot hold: left out",
    "rolling": "its surface is a Python function, which a file cannot hold: left out",
    "rope": "its length is a Python function, which a file cannot hold: it has no limits",
    "law": "of a spring; it is a Python function, which a file cannot hold: left out",
}
# Tables whose elements may hold functions, by what is lost; elements of the latter kinds stay without them.
_WITH_FUNCTIONS = {
    "driven_bodies": "driven body", "closures": "closure", "couplings": "coupling", "rollings": "rolling",
    "tendons": "rope", "springs": "law", "coordinate_springs": "law",
}  # fmt: skip
_KEPT = ("driven body", "rope", "law")
_OWN = ("forces", "_owners")  # functions, and what follows from the rest
_WRONG = (SarrusError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def to_json(mechanism: Mechanism) -> str:
    """Return the description of a mechanism as JSON; Python functions are left out and listed by name."""
    data = {name: value for name, value in vars(mechanism).items() if name not in _OWN}
    lost: dict[str, list[str]] = {kind: [] for kind in _LOST}
    for table, kind in _WITH_FUNCTIONS.items():
        gone = {name: _lost_fields(element) for name, element in data[table].items()}
        lost[kind] += [name for name, some in gone.items() if some]
        data[table] = {
            name: replace(element, **dict.fromkeys(gone[name]))
            for name, element in data[table].items()
            if kind in _KEPT or not gone[name]
        }
    document = {
        "format": FORMAT,
        "lost_forces": list(mechanism.forces),
        "lost": lost,
        "data": _encode(data),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Mechanism:
    """Return the mechanism written by `to_json`, checked like a built one; any other text is an `ArgumentError`."""
    mechanism = Mechanism()
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, not {FORMAT!r}")
        data, lost = dict(document["data"]["map"]), list(map(str, document["lost_forces"]))
        given = {"driven body": document.get("lost_motions", []), **document.get("lost", {})}
        functions = {kind: list(map(str, given.get(kind, []))) for kind in _LOST}
        data["keyframes"]["map"] = [  # in files of older releases a keyframe is its coordinates alone
            [name, {"Keyframe": {"name": name, "q": key}} if "array" in key else key]
            for name, key in data["keyframes"]["map"]
        ]
        hints = {name: hint for name, hint in annotations_of(Mechanism).items() if name not in _OWN}
        mechanism.restore({name: _decode(value, hints[name], name) for name, value in data.items()})
        check_description(mechanism)
    except ArgumentError:
        raise
    except _WRONG as error:
        raise ArgumentError(f"not a mechanism that sarrus wrote ({error})", element="mechanism") from error
    for name in lost:
        reason = "a Python function, which a file cannot hold: left out"
        mechanism.report.leave_out("user force", name, reason)
    for kind, reason in _LOST.items():
        for name in functions[kind]:
            mechanism.report.leave_out(kind, name, reason)
    return mechanism


def _lost_fields(element: Any) -> list[str]:
    """Return the fields of an element that hold, at any depth, a function that a file cannot hold."""
    return [f.name for f in fields(element) if _is_lost(getattr(element, f.name))]


def _is_lost(value: Any) -> bool:
    if isinstance(value, Spline):
        return False
    if isinstance(value, tuple):
        return any(map(_is_lost, value))
    return bool(_lost_fields(value)) if is_dataclass(value) else callable(value)


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return {type(value).__name__: value.value}
    if is_dataclass(value) and not isinstance(value, type):
        return {type(value).__name__: {f.name: _encode(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, np.ndarray):
        return {"array": value.astype(float).ravel().tolist(), "shape": list(value.shape)}
    if isinstance(value, dict):
        return {"map": [[key, _encode(item)] for key, item in value.items()]}
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _decode(value: Any, hint: Any, label: str) -> Any:
    """Return the decoded value; raise `ValueError` or `TypeError` unless it has the annotated type."""
    if type(value) is hint or {type(value), hint} == {float, int}:
        return value
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        for part in parts:
            with suppress(*_WRONG):
                return _decode(value, part, label)
    elif hint == Array:
        if isinstance(value, dict):
            return np.array(value["array"], dtype=float).reshape(value["shape"])
    elif origin is dict:
        return {key: _decode(item, parts[1], f"{label} {key!r}") for key, item in value["map"]}
    elif origin in (list, tuple):
        if isinstance(value, list):
            several = origin is list or Ellipsis in parts
            kinds = parts[:1] * len(value) if several else parts
            return origin(_decode(item, kind, label) for item, kind in zip(value, kinds, strict=True))
    elif isinstance(value, dict) and list(value) == [hint.__name__]:
        return _element(hint, value[hint.__name__])
    raise ValueError(f"{label} cannot be {value!r}")


def _element(kind: Any, content: Any) -> Any:
    if issubclass(kind, Enum):
        return kind(content)
    label, hints = f"{kind.__name__} {content.get('name', '')!r}", annotations_of(kind)
    return kind(**{name: _decode(item, hints[name], f"{label}: {name}") for name, item in content.items()})
