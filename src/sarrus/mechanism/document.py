"""A mechanism as JSON text and back, every number bit for bit: what a trajectory file holds of it.

Mechanisms are plain data, so one rule does for all elements: a dataclass becomes ``{class name: fields}``, an array
``{"array": numbers, "shape": sizes}``, a dictionary ``{"map": pairs}``, a tuple or list a list. A `UserForce` is a
Python function and cannot be written, nor can the motion of a driven body; the mechanism read again has an entry for
each in its report.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sarrus.base.errors import ArgumentError, SarrusError
from sarrus.mechanism import elements, pose, report, sensor, tendons, transmissions
from sarrus.mechanism.driven_body import DrivenBody
from sarrus.mechanism.keyframe import Keyframe
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.report import Outcome
from sarrus.mechanism.validation import check_description, check_fields

FORMAT = "sarrus mechanism 1"

_MODULES = (elements, pose, report, sensor, tendons, transmissions)
_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (*(c for module in _MODULES for c in vars(module).values()), DrivenBody, Keyframe)
    if isinstance(kind, type) and is_dataclass(kind)
}
_OWN = ("forces", "_owners")  # functions, and what follows from the rest
_LISTS = {("ImportReport", "entries")}  # the only fields that are lists; all others are tuples


def to_json(mechanism: Mechanism) -> str:
    """Return the description of a mechanism as JSON; Python functions are left out, and named."""
    data = {name: value for name, value in vars(mechanism).items() if name not in _OWN}
    data["driven_bodies"] = {name: DrivenBody(name) for name in mechanism.driven_bodies}
    moving = [name for name, body in mechanism.driven_bodies.items() if body.function is not None]
    document = {
        "format": FORMAT,
        "lost_forces": list(mechanism.forces),
        "lost_motions": moving,
        "data": _encode(data),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Mechanism:
    """Return the mechanism that `to_json` described, checked as a built one; other text is an `ArgumentError`."""
    mechanism = Mechanism()
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, not {FORMAT!r}")
        data, lost = _decode(document["data"]), list(map(str, document["lost_forces"]))
        still = list(map(str, document.get("lost_motions", [])))
        for name, value in data.items():
            default = getattr(mechanism, name)
            if name in _OWN or not isinstance(
                value, (float, type(default)) if name == "time_step" else type(default)
            ):
                raise ValueError(f"{name} cannot be {value!r}")
        mechanism.restore(data)
        for name, key in mechanism.keyframes.items():
            if isinstance(key, np.ndarray):  # files of before hold coordinates alone
                mechanism.keyframes[name] = Keyframe(name, key)
        check_description(mechanism)
    except ArgumentError:
        raise
    except (SarrusError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArgumentError(f"not a mechanism that sarrus wrote ({error})", element="mechanism") from error
    for name in lost:
        reason = "a Python function, which a file cannot hold: left out"
        mechanism.report.leave_out("user force", name, reason)
    for name in still:
        reason = "its motion is a Python function, which a file cannot hold: it stays still"
        mechanism.report.leave_out("driven body", name, reason)
    return mechanism


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Outcome):
        return {"Outcome": value.value}
    if is_dataclass(value) and not isinstance(value, type):
        return {type(value).__name__: {f.name: _encode(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, np.ndarray):
        return {"array": value.astype(float).ravel().tolist(), "shape": list(value.shape)}
    if isinstance(value, dict):
        return {"map": [[key, _encode(item)] for key, item in value.items()]}
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_decode, value))
    if not isinstance(value, dict):
        return value
    if "shape" in value:
        return np.array(value["array"], dtype=float).reshape(value["shape"])
    ((kind, content),) = value.items()
    if kind == "map":
        return {key: _decode(item) for key, item in content}
    if kind == "Outcome":
        return Outcome(content)
    given = {name: _decode(item) for name, item in content.items()}
    element = _CLASSES[kind](
        **{name: list(item) if (kind, name) in _LISTS else item for name, item in given.items()}
    )
    check_fields(element)
    return element
