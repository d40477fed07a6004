"""`ContactRowState`: gaps and rows of contacts with Coulomb friction, joint stops and dry friction at a state.

Their forces r act by Jᵀ r. Rows J: of a contact its normal and tangential velocities and those of rotations, of a
stop the velocity away from it, of dry friction the joint velocity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.contacts.contact_elements import (
    ContactElement,
    contact_elements,
    contact_names,
    dry_names,
)
from sarrus.dynamics.contacts.contact_functions import contact_gaps, contact_motion_function
from sarrus.dynamics.contacts.limited_friction import require_limited_friction
from sarrus.dynamics.contacts.rope_texts import LIFTS, beyond_length
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import bounds_at, dry_friction, joint_limits
from sarrus.kernels.contact.tolerances import AT_BOUND

if TYPE_CHECKING:
    from sarrus.dynamics.contacts.geometry_state import GeometryContacts


def takes_part(system: Evaluations, contacts: bool) -> bool:
    """Tell whether contacts with Coulomb friction, stops or dry friction act: whenever the system has any.

    True in runs, statics, forward dynamics and linear models, unless ``contacts`` is False.
    """
    if not contacts:
        return False
    require_limited_friction(system)
    return bool(system.contact_geometries or contact_elements(system))


def require_poisson_in_steps(system: Evaluations) -> None:
    """Raise `ArgumentError` where Poisson's law of restitution meets contacts beside which steps do not know it."""
    contacts = system.equations.friction_contacts
    pairs = () if system.mechanism is None else system.mechanism.geometry_pairs
    laws = [(one.name, one.impact_law) for one in contacts] + [(one.name, one.impact_law) for one in pairs]
    name = next((name for name, law in laws if law == "poisson"), None)
    if name is None:
        return
    sticky = next((contact.name for contact in contacts if contact.static_coefficient == np.inf), None)
    beside = f"geometries {system.contact_geometries[0]!r}" if system.contact_geometries else None
    beside = f"contact {sticky!r}, which sticks without a limit of friction" if sticky else beside
    if beside is not None:
        raise ArgumentError(
            f"{system.name}: contact {name!r} has impact_law='poisson', which time stepping does not know beside "
            f"{beside}; use impact_law='newton', or a run by events",
            element=name,
        )


def all_open(system: Evaluations, q: Array, t: float = 0.0) -> bool:
    """Tell whether no contact, stop or dry friction acts at q (nq,) and t, for any velocity.

    All are open then, and no joint has dry friction. Gaps up to `ContactElement.reach` are closed. A joint beyond its
    limit is at a stop.
    """
    limits, size = joint_limits(system), system.characteristic
    if dry_names(system):
        return False
    gaps = limits.signs * (limits.bounds - q[limits.places]) * size.coordinates[limits.places]
    if gaps.min(initial=np.inf) <= AT_BOUND:
        return False
    if system.contact_geometries and touching(system, q, t):
        return False
    if not system.equations.friction_contacts:
        return True
    reach = max(one.reach for one in contact_elements(system) if one.kind == "contact")
    return bool(contact_gaps(system)(system.pack(q, t=t)).min() > reach)


def between_stops(system: Evaluations) -> tuple[Array, Array] | None:
    """Return bounds of q (nq,) strictly between which no stop acts for any velocity; None if other contacts exist.

    A fast test before `all_open`.
    """
    return system.model.cached("between stops", lambda: _between_stops(system))


def all_between(system: Evaluations, q: Array) -> bool:
    """Tell whether q is strictly between the stops and the system has no other contacts."""
    stops = between_stops(system)
    return stops is not None and bool(np.logical_and(q > stops[0], q < stops[1]).all())


def _between_stops(system: Evaluations) -> tuple[Array, Array] | None:
    if system.contact_geometries or system.equations.friction_contacts or dry_names(system):
        return None
    limits, bounds = joint_limits(system), np.tile([[-np.inf], [np.inf]], system.nq)
    inwards = (
        limits.bounds - limits.signs * 1.01 * AT_BOUND / system.characteristic.coordinates[limits.places]
    )
    bounds[(limits.signs > 0.0).astype(int), limits.places] = inwards
    return bounds[0], bounds[1]


@dataclass(frozen=True, eq=False)
class ContactRowState:
    """Gaps (of each), rows J (m × nv), their velocities and biases (m,) at (q, v, t): J a + bias their derivatives.

    ``elements`` are those of `contact_elements` with the contacts between geometries that a narrow phase has found,
    ``geometry`` (None without such geometries), before the joints with dry friction. Their rows come after those of
    all others, in ``rows`` and ``names``.
    """

    gaps: Array
    rows: Array
    rates: Array
    bias: Array
    elements: tuple[ContactElement, ...]
    names: tuple[str, ...]
    geometry: GeometryContacts | None = None


def contact_row_state(
    system: Evaluations,
    q: Array,
    v: Array,
    t: float,
    bounds: Array | None = None,
    within: float | None = None,
) -> ContactRowState:
    """Return gaps, rows, velocities and biases of all contacts, stops and joints with dry friction.

    ``bounds`` are the stops [m, rad], by default those active at q, see `sarrus.dynamics.model.joint_limits`. Contacts
    between geometries are found up to a gap of ``within`` [m], by default those that count as closed.
    """
    limits, dry, e = joint_limits(system), dry_friction(system), system.equations
    signs, acting = -limits.signs, bounds_at(limits, q) if bounds is None else bounds
    gaps = [signs * (q[limits.places] - acting), np.zeros(len(dry_names(system)))]
    rows = [signs[:, None] * np.eye(system.nv)[limits.rates], np.eye(system.nv)[dry.rates]]
    rates = [row @ v for row in rows]
    bias = [np.zeros(len(row)) for row in rows]
    x = system.pack(q, v, None, t)
    if e.friction_contacts:
        gaps.insert(0, contact_gaps(system)(x))
    if e.friction_contacts or e.dry_lengths:
        found = contact_motion_function(system).evaluate(x)
        rows.insert(0, found["rows"])
        rates.insert(0, found["rates"][:, 0])
        bias.insert(0, found["bias"][:, 0])
    elements, names, geometry = contact_elements(system), contact_names(system), None
    if system.contact_geometries:
        geometry = geometry_contacts(system, q, t, within)
        own = geometry.motion(v)
        for parts, part in zip((rows, rates, bias), (geometry.rows, *own)):
            parts.append(part)
        gaps.insert(-1, geometry.gaps)
        last = len(elements) - len(dry_names(system))
        own_elements = _geometry_elements(system, geometry, len(names))
        elements, names = (*elements[:last], *own_elements, *elements[last:]), names + geometry.names
    whole = (np.concatenate(gaps), np.vstack(rows), np.concatenate(rates), np.concatenate(bias))
    return ContactRowState(*whole, elements, names, geometry)


def geometry_contacts(
    system: Evaluations, q: Array, t: float, within: float | None = None
) -> GeometryContacts:
    """Return the contacts that a narrow phase finds at q and t up to a gap [m], by default those that are closed."""
    from sarrus.dynamics.contacts.geometry_state import GeometryContacts  # here: few systems need it

    reach = AT_BOUND * system.characteristic.length
    return GeometryContacts(system, q, t, reach if within is None else within)


def touching(system: Evaluations, q: Array, t: float) -> bool:
    """Tell whether a narrow phase finds a closed contact at q and t."""
    from sarrus.dynamics.contacts.geometry_state import arrays_of  # here: few systems need it

    return bool(arrays_of(system).look(system.pack(q, t=t), AT_BOUND * system.characteristic.length))


def _geometry_elements(
    system: Evaluations, geometry: GeometryContacts, start: int
) -> tuple[ContactElement, ...]:
    """Return the elements of contacts between geometries, whose rows begin at ``start``."""
    length = system.characteristic.length
    return tuple(
        ContactElement(
            one.name,
            "contact",
            slice(start + one.rows.start, start + one.rows.stop),
            length,
            one.pair.friction_coefficient,
            one.pair.friction_coefficient
            if one.pair.static_coefficient is None
            else one.pair.static_coefficient,
        )
        for one in geometry.points
    )


def it_hits(one: ContactElement, speed: float) -> str:
    """Return the message for a contact that closes with a velocity [m/s, rad/s]."""
    return f"{one.what} {one.name!r} closes with a velocity of {speed:.3g}, which takes an impact"


def below_its_plane(system: Evaluations, one: ContactElement, gap: float, what: str = "") -> ArgumentError:
    """Return the error for a contact deep below its plane, or for geometries deep inside each other."""
    between = system.mechanism is not None and one.name not in system.mechanism.contacts
    text = (
        beyond_length(system, one.name, -gap)
        if one.rope
        else penetrating_flanks(one.name, -gap)
        if one.opposite_flank >= 0
        else f"geometries {one.name!r} are {-gap:.3g} m in each other; move them apart{LIFTS}"
        if between
        else f"contact {one.name!r} is {-gap:.3g} m below its plane; raise the body{LIFTS}"
    )
    return ArgumentError(f"{system.name}: {what}{text}", element=one.name)


def penetrating_flanks(flank: str, depth: float) -> str:
    """Return the message for gearing coordinates that penetrate a flank by ``depth`` [m]."""
    return (
        f"flank {flank!r} is {depth:.3g} m inside the opposite one: the coordinates of this gearing are inconsistent; "
        f"change one of them, or its references{LIFTS}"
    )
