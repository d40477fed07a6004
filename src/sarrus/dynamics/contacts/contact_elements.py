"""`ContactElement`: a contact with Coulomb friction, a stop or a dry friction of a system, whatever its state."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import dry_friction, joint_limits
from sarrus.kernels.contact.tolerances import AT_BOUND
from sarrus.model.mechanism.tolerances import LEAST_PLAY


class Mode(IntEnum):
    """Mode of a contact: open, sticking or sliding."""

    OPEN = 0
    STICKING = 1
    SLIDING = 2


@dataclass(frozen=True, eq=False)
class ContactElement:
    """A contact, a joint stop or dry friction: its rows among all rows, and its force law.

    ``kind`` is "contact", "stop" or "friction"; ``limit`` [N, N m] is the largest dry friction. ``unit`` scales its gap
    and velocities: the characteristic length [m], or 1 rad. ``opposite_flank`` is the index of the opposite flank, of
    which at most one pushes; −1 without an opposite flank. ``rope`` marks a contact that is a limit of the length of a
    tendon (`sarrus.Mechanism.add_rope`).
    """

    name: str
    kind: str
    rows: slice
    unit: float
    friction: float = 0.0
    static: float = 0.0
    limit: float = np.inf
    opposite_flank: int = -1
    rope: bool = False

    @property
    def what(self) -> str:
        """The word for it in messages: contact, rope, stop or friction."""
        return "rope" if self.rope else self.kind

    @property
    def reach(self) -> float:
        """Largest gap [m, rad] that counts as closed: 1e-6 ``unit``, for opposite flanks at least their backlash."""
        return max(AT_BOUND * self.unit, LEAST_PLAY if self.opposite_flank >= 0 else 0.0)

    @property
    def tails(self) -> slice:
        """Its tangential rows."""
        return slice(self.rows.start + (self.kind != "friction"), self.rows.stop)

    def held(self, mode: Mode) -> slice:
        """Return the rows that stay at rest in a mode: all that stick, the normal row of what slides, none if open."""
        first, is_dry = self.rows.start, self.kind == "friction"
        if mode is Mode.STICKING and (is_dry or self.static > 0.0):
            return self.rows
        return slice(first, first + (mode is not Mode.OPEN and not is_dry))


def contact_names(system: Evaluations) -> tuple[str, ...]:
    """Return the names of the forces of contacts with Coulomb friction, of stops and of dry friction, in this order.

    Forces of contacts are named like their rows; dry friction along lengths of tendons follows the contacts. Contacts
    that a narrow phase finds come after all these at a state, see `ContactRowState`.
    """
    return system.model.cached("touch names", lambda: _names(system))


def _names(system: Evaluations) -> tuple[str, ...]:
    rows = [row for contact in system.equations.friction_contacts for row in contact.row_names]
    others = [one for one in contact_elements(system) if one.kind != "contact"]
    return (*rows, *(one.name for one in sorted(others, key=lambda one: one.rows.start)))


def contact_elements(system: Evaluations) -> tuple[ContactElement, ...]:
    """Return all contacts with Coulomb friction, stops and dry friction of a system.

    Rows are in the same order, except that those of dry friction along lengths of tendons come before those of stops.
    Contacts that a narrow phase finds are not among them: each state has its own, see `ContactRowState`.
    """
    return system.model.cached("elements", lambda: _contact_elements(system))


def _contact_elements(system: Evaluations) -> tuple[ContactElement, ...]:
    limits, dry, size = joint_limits(system), dry_friction(system), system.characteristic
    found, start = [], 0
    numbers = {contact.name: k for k, contact in enumerate(system.equations.friction_contacts)}
    for contact in system.equations.friction_contacts:
        rows = slice(start, start := start + len(contact.row_names))
        coefficients = contact.friction_coefficient, contact.static_coefficient
        opposite_flank = numbers.get(contact.opposite_flank, -1)
        found.append(
            ContactElement(
                contact.name,
                "contact",
                rows,
                size.length,
                *coefficients,
                opposite_flank=opposite_flank,
                rope=contact.kind == "rope",
            )
        )
    lengths, start = system.equations.dry_lengths, start + len(system.equations.dry_lengths)
    rubbing = [
        ContactElement(length.name, "friction", slice(at, at + 1), size.length, limit=float(length.limit))
        for at, length in enumerate(lengths, start - len(lengths))
    ]
    sides = {-1.0: "lower", 1.0: "upper"}
    for name, rate, sign in zip(limits.names, limits.rates, limits.signs):
        rows = slice(start, start := start + 1)
        found.append(ContactElement(f"{name}.{sides[sign]} stop", "stop", rows, 1.0 / size.columns[rate]))
    found += rubbing
    for name, rate, limit in zip(*dry):
        rows = slice(start, start := start + 1)
        found.append(
            ContactElement(f"{name}.friction", "friction", rows, 1.0 / size.columns[rate], limit=float(limit))
        )
    return tuple(found)


def opposite_flanks(elements: Sequence[ContactElement], closed: Container[int]) -> list[tuple[int, int]]:
    """Return the pairs of opposite flanks with negligible backlash that are both among the closed contacts."""
    return [
        (k, one.opposite_flank)
        for k, one in enumerate(elements)
        if k < one.opposite_flank and k in closed and one.opposite_flank in closed
    ]


def dry_names(system: Evaluations) -> tuple[str, ...]:
    """Return the names of the tendons and of the joint velocities with dry friction."""
    names, lengths = dry_friction(system).names, system.equations.dry_lengths
    return (*(one.name.removesuffix(".friction") for one in lengths), *names) if lengths else names


def event_function_count(system: Evaluations) -> int:
    """Return the number of event functions of smooth phases: 2 a contact, 1 a stop, 1 a dry friction."""
    return (
        2 * len(system.equations.friction_contacts) + len(joint_limits(system).names) + len(dry_names(system))
    )


def require_limited_friction(system: Evaluations) -> None:
    """Raise `ArgumentError` for a contact of steps in time that sticks whatever the friction force."""
    for contact in system.equations.friction_contacts:
        if contact.static_coefficient == np.inf:
            raise ArgumentError(
                f"{system.name}: contact {contact.name!r} sticks without a limit of friction, which acts in steps in "
                "time only; elsewhere take the system in which it has friction='stick'",
                element=contact.name,
            )
