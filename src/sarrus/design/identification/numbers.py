"""`Numbers`: the parameters of a mechanism to be identified, by name, and copies of the mechanism with other values.

"link.mass", "link.first_moment.x", "link.origin_inertia.xx" and so on are the inertial parameters of a body
(`sarrus.design.identification.inertial`), "joint.friction" the dry friction of a joint. All others have the names of
`sarrus.model.mechanism.entries`: "joint.damping", "joint.armature", "spring.stiffness", "motor.gain".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_sequence, unknown_name
from sarrus.design.identification.inertial import LABELS, numbers_of, with_numbers
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.entries import Entries
from sarrus.model.mechanism.joint import VELOCITY_LABELS
from sarrus.symbolic.multibody.parameters import MechanismParameters

# Numbers beside the inertial ones that are never negative.
_NEVER_NEGATIVE = ("damping", "friction", "armature", "stiffness")


@dataclass(frozen=True, eq=False)
class Numbers:
    """The parameters to be identified, by name and place.

    Attributes
    ----------
    names : (n,) in order: inertial parameters by bodies, dry friction by joints, then the others.
    values : (n,) values of the mechanism.
    inertial : places in ``names`` by body, each with its index among the ten.
    friction : pairs of a place in ``names`` and the velocity of the friction.
    others : first place of the others; ``driven`` inserts these.
    nonnegative : (n,) mask of parameters (not of bodies) that cannot be negative.
    """

    mechanism: Mechanism
    names: tuple[str, ...]
    values: Array
    inertial: dict[str, dict[int, int]]
    friction: tuple[tuple[int, int], ...]
    others: int
    driven: MechanismParameters
    nonnegative: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(
        cls, mechanism: Mechanism, chosen: Sequence[str] | None, also: Sequence[str], known: Sequence[str]
    ) -> Numbers:
        """Return the chosen parameters; an unknown name is an `ArgumentError` that lists similar ones."""
        for what, given in (("parameters", chosen), ("also", also), ("known", known)):
            if given is not None:
                check_sequence(what, given, mechanism.name)
        entries, friction = Entries(mechanism), _friction(mechanism)
        bodies = {f"{b}.{label}": (b, k) for b in mechanism.bodies for k, label in enumerate(LABELS)}

        def spread(names: Iterable[str], what: str) -> Iterator[str]:
            for name in names:
                if name in mechanism.bodies:
                    yield from (f"{name}.{label}" for label in LABELS)
                    continue
                if name not in bodies and name not in friction:
                    _check_other(name, entries, mechanism, what)
                yield name

        usual = _usual(mechanism, friction, entries)
        wanted = spread(chosen, "parameters") if chosen is not None else usual
        out = set(spread(known, "known"))
        names = [n for n in dict.fromkeys(chain(wanted, spread(also, "also"))) if n not in out]
        if not names:
            raise ArgumentError(f"{mechanism.name}: there is no number to identify", element=mechanism.name)
        ordered = [n for n in bodies if n in set(names)] + [n for n in friction if n in set(names)]
        first = len(ordered)
        targets = {f"p{k}": n for k, n in enumerate(n for n in names if n not in set(ordered))}
        driven = MechanismParameters.read(mechanism, targets)
        inertial: dict[str, dict[int, int]] = {}
        for place, name in enumerate(ordered):
            if name in bodies:
                body, k = bodies[name]
                inertial.setdefault(body, {})[k] = place
        own = {b: numbers_of(mechanism.bodies[b]) for b in inertial}
        values = np.zeros(first + len(targets))
        for body, places in inertial.items():
            for k, place in places.items():
                values[place] = own[body][k]
        acting = tuple((i, friction[n][0]) for i, n in enumerate(ordered) if n in friction)
        for i, _ in acting:
            values[i] = friction[ordered[i]][1]
        values[first:] = list(driven.values.values())
        all_names = (*ordered, *targets.values())
        sign = [n not in bodies and _never_negative(n) for n in all_names]
        return cls(
            mechanism,
            all_names,
            read_only(values),
            inertial,
            acting,
            first,
            driven,
            read_only(np.array(sign)),
        )

    def put(self, values: Array) -> Mechanism:
        """Return a copy of the mechanism with other values (n,)."""
        changed = self.driven.apply(
            self.mechanism, dict(zip(self.driven.values, values[self.others :].tolist()))
        )
        for body, places in self.inertial.items():
            numbers = numbers_of(self.mechanism.bodies[body])
            for k, place in places.items():
                numbers[k] = values[place]
            changed.replace_body(with_numbers(changed.bodies[body], numbers))
        dry = {velocity: float(values[place]) for place, velocity in self.friction}
        start = 0
        for element in list(changed.bodies.values()):
            joints = []
            for joint in element.joints:
                own = tuple(dry.get(start + k, f) for k, f in enumerate(_dry(joint.friction, joint.nv)))
                joints.append(replace(joint, friction=own) if dry else joint)
                start += joint.nv
            if dry:
                changed.replace_body(replace(element, joints=tuple(joints)))
        return changed


def rubbing(numbers: Numbers) -> list[int]:
    """Return the velocities whose joints have dry friction, known or to be identified."""
    asked = {velocity for _, velocity in numbers.friction}
    return sorted(asked | set(np.flatnonzero(dry_friction(numbers.mechanism)).tolist()))


def dry_friction(mechanism: Mechanism) -> Array:
    """Return the dry friction of all joints (nv,) [N, N m]."""
    return np.array([f for joint in mechanism.joints() for f in _dry(joint.friction, joint.nv)])


def _dry(friction: tuple[float, ...], nv: int) -> tuple[float, ...]:
    return friction or (0.0,) * nv


def _friction(mechanism: Mechanism) -> dict[str, tuple[int, float]]:
    """Return velocity and value of the dry friction of all joints, by name."""
    found: dict[str, tuple[int, float]] = {}
    values = dry_friction(mechanism)
    for joint in mechanism.joints():
        for label in VELOCITY_LABELS[joint.kind]:
            found[f"{joint.name}.friction{label}"] = len(found), float(values[len(found)])
    return found


def _usual(mechanism: Mechanism, friction: dict[str, tuple[int, float]], entries: Entries) -> Iterator[str]:
    """Yield all inertial parameters, and the nonzero parameters of joints, springs and tendons."""
    yield from (f"{body}.{label}" for body in mechanism.bodies for label in LABELS)
    yield from (name for name, (_, value) in friction.items() if value)
    for joint in mechanism.joints():
        if joint.stiffness:
            yield _shortest(entries, "joint", f"{joint.name}.stiffness")
        for attribute in ("damping", "armature"):
            for label, value in zip(VELOCITY_LABELS[joint.kind], getattr(joint, attribute)):
                if value:
                    yield _shortest(entries, "joint", f"{joint.name}.{attribute}{label}")
    for kind, table in (
        ("spring", mechanism.springs),
        ("spring", mechanism.coordinate_springs),
        ("tendon", mechanism.tendons),
    ):
        for element in table.values():
            for attribute in ("stiffness", "damping", "armature"):
                if getattr(element, attribute, 0.0):
                    yield _shortest(entries, kind, f"{element.name}.{attribute}")


def _shortest(entries: Entries, kind: str, name: str) -> str:
    """Return the name of a parameter, preceded by the kind of element if elements of two kinds share it."""
    try:
        entries.find(name, "")
    except ArgumentError:
        return f"{kind}:{name}"
    return name


def _never_negative(name: str) -> bool:
    return any(f".{what}" in name for what in _NEVER_NEGATIVE)


def _check_other(name: str, entries: Entries, mechanism: Mechanism, what: str) -> None:
    element, _, number = name.partition(".")
    if element in mechanism.bodies and not number.startswith("placement"):
        valid = [f"{element}.{label}" for label in LABELS]
        raise ArgumentError(
            f"{mechanism.name}: {what}: {unknown_name('inertial number', name, valid)}",
            element=name,
            valid=valid,
        )
    entries.find(name, f"{mechanism.name}: {what}")
