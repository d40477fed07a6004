"""Parameters of a mechanism: names that drive numbers of its description, without compiling again.

A driven number is value + Σ factor × (p − p0), with the value in the description. p0, the start value of a parameter,
is chosen so that its first target equals factor × p. The description does not change; the trace uses a copy with
expressions in place of the driven numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Winding
from sarrus.model.mechanism.entries import Entries, Entry, Place
from sarrus.model.mechanism.pose import Pose
from sarrus.model.mechanism.surfaces import Cylinder, Sphere
from sarrus.symbolic.kinematics.scalars import DrivenPose, is_driven
from sarrus.symbolic.multibody.tolerances import NO_OFFSET

# Targets of a parameter: one number by name, or several, each alone or with its factor; or a plain number, the value of
# a parameter without target, for functions u(q, v, t, p).
Targets = Mapping[str, str | float | Sequence[str | tuple[str, float]]]


@dataclass(frozen=True)
class Drive:
    """One driven number of the description: offset + Σ factor × parameter."""

    entry: Entry
    factors: Mapping[str, float]
    offset: float

    def at(self, p: Mapping[str, Any]) -> Any:
        """Return the number at values or symbols of the parameters."""
        total = sum(factor * p[name] for name, factor in self.factors.items())
        return total + self.offset if self.offset else total


@dataclass(frozen=True)
class MechanismParameters:
    """The parameters of one mechanism: ``targets`` with factors as given, start ``values``, and drives."""

    targets: Mapping[str, float | tuple[tuple[str, float], ...]] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    drives: tuple[Drive, ...] = ()

    @classmethod
    def read(cls, mechanism: Mechanism, given: Targets | None) -> MechanismParameters:
        """Return the parameters from a user's mapping; a wrong name or factor is an `ArgumentError`."""
        if not given:
            return cls()
        if not isinstance(given, Mapping):
            raise ArgumentError(
                f"{mechanism.name}: parameters must map names to numbers of the mechanism, such as "
                f'{{"m": "link.mass"}}, got {type(given).__name__}',
                element="parameters",
            )
        entries, targets = Entries(mechanism), dict[str, float | tuple[tuple[str, float], ...]]()
        values: dict[str, float] = {}
        found: dict[Entry, dict[str, float]] = {}
        for name, wanted in given.items():
            label = f"{mechanism.name}: parameters[{name!r}]"
            if not (isinstance(name, str) and name.isidentifier()):
                raise ArgumentError(f"{label}: a parameter's name must be an identifier", element=str(name))
            if isinstance(wanted, (int, float, np.number)) and not isinstance(wanted, bool):
                targets[name] = values[name] = _finite(float(wanted), label, name)
                continue
            targets[name] = pairs = _with_factors(wanted, label, name)
            for target, factor in pairs:
                entry = entries.find(target, label)
                values.setdefault(name, entry.value / factor)
                factors = found.setdefault(entry, {})
                factors[name] = factors.get(name, 0.0) + factor
        return cls(targets, values, tuple(_drive(e, factors, values) for e, factors in found.items()))

    def apply(self, mechanism: Mechanism, p: Mapping[str, Any]) -> Mechanism:
        """Return a copy of the mechanism with the driven numbers at values, or as expressions of symbols."""
        changes: dict[tuple[str, str], dict[str, dict[Place, Any]]] = {}
        for drive in self.drives:
            e, value = drive.entry, drive.at(p)
            places = changes.setdefault((e.kind, e.element), {}).setdefault(e.attribute, {})
            places.update(dict.fromkeys(e.places, value))
        duplicate = mechanism.snapshot()
        for (kind, name), attributes in changes.items():
            _change(duplicate, kind, name, attributes)
        return duplicate

    def check(self, values: Mapping[str, float]) -> None:
        """Raise `ArgumentError` with the name of a number that would leave its bounds."""
        for drive in self.drives:
            number = drive.at(values)
            if not drive.entry.allows(number):
                bound = "positive" if drive.entry.positive else f"at least {drive.entry.least:g}"
                names = ", ".join(f"{name} = {values[name]:g}" for name in drive.factors)
                raise ArgumentError(
                    f"{drive.entry} would be {number:g} at {names}; it must be {bound}",
                    element=drive.entry.element,
                )


NO_PARAMETERS = MechanismParameters()


def _with_factors(wanted: Any, label: str, name: str) -> tuple[tuple[str, float], ...]:
    """Return targets as pairs of a name and a factor."""
    items = [wanted] if isinstance(wanted, str) else wanted
    pairs = [(item, 1.0) if isinstance(item, str) else item for item in items] if np.iterable(items) else []
    if not pairs or not all(map(_is_pair, pairs)):
        raise ArgumentError(
            f'{label} must be the name of a number, such as "link.mass", or a list of names and of pairs '
            f'("link.com.x", 0.5) with a nonzero factor, or a number for a parameter without target, got {wanted!r}',
            element=name,
        )
    return tuple((target, float(factor)) for target, factor in pairs)


def _finite(value: float, label: str, name: str) -> float:
    if not np.isfinite(value):
        raise ArgumentError(f"{label}: a value must be finite, got {value}", element=name)
    return value


def _is_pair(item: Any) -> bool:
    """Tell whether an item is a pair of a name and a factor."""
    return (
        isinstance(item, (tuple, list))
        and len(item) == 2
        and isinstance(item[0], str)
        and isinstance(item[1], (int, float, np.number))
        and bool(np.isfinite(item[1]) and item[1] != 0.0)
    )


def _drive(entry: Entry, factors: Mapping[str, float], values: Mapping[str, float]) -> Drive:
    offset = entry.value - sum(factor * values[name] for name, factor in factors.items())
    return Drive(entry, factors, 0.0 if abs(offset) <= NO_OFFSET * abs(entry.value) else offset)


def _change(duplicate: Mechanism, kind: str, name: str, attributes: Mapping[str, dict[Place, Any]]) -> None:
    """Put new numbers into one element of a mechanism; its tables are not shared."""
    if kind == "gravity":
        duplicate.gravity = _merged(duplicate.gravity, attributes["gravity"])
        return
    if kind == "joint":
        body = next(b for b in duplicate.bodies.values() if any(j.name == name for j in b.joints))
        joints = tuple(_replaced(j, attributes) if j.name == name else j for j in body.joints)
        duplicate.replace_body(replace(body, joints=joints))
        return
    if kind == "body":
        duplicate.replace_body(_replaced(duplicate.bodies[name], attributes))
        return
    table = getattr(duplicate, f"{kind}s")  # such as closures
    if name not in table:
        table = duplicate.coordinate_springs  # entries call both kinds of springs "spring"
    table[name] = _replaced(table[name], attributes)


def _replaced(element: Any, attributes: Mapping[str, dict[Place, Any]]) -> Any:
    return replace(element, **{a: _merged(getattr(element, a), places) for a, places in attributes.items()})


def _merged(old: Any, new: Mapping[Any, Any]) -> Any:
    """Return an attribute with new numbers at some places."""
    if None in new:
        return new[None]
    if isinstance(old, Pose):
        position = _merged(old.position, new)
        return DrivenPose(position, old.rotation) if is_driven(position) else Pose(position, old.rotation)
    if isinstance(old, (Winding, Sphere, Cylinder)):
        return replace(old, **new)
    if isinstance(old, tuple):  # of numbers, of pairs of a name and a number, or of terms of a coupling
        items = list(old)
        for place, value in new.items():
            if isinstance(place, tuple):
                i, power = place
                items[i] = replace(items[i], coefficients=_merged(items[i].coefficients, {power: value}))
            else:
                items[place] = (items[place][0], value) if isinstance(items[place], tuple) else value
        return tuple(items)
    out = ca.SX(ca.DM(old)) if any(map(is_driven, new.values())) else np.array(old)
    for place, value in new.items():
        out[place] = value
    return out
