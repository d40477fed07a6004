"""`ContactState`: the modes of contacts with Coulomb friction, joint stops and dry friction at a state.

Their forces r act by Jᵀ r. Rows J: of a contact its normal and tangential velocities and its torsion, of a stop the
velocity away from it, of dry friction the joint velocity. The modes follow from (q, v, a): open or opening; slipping,
with the friction against the slip; sticking. A force whose row has neither velocity nor acceleration is any force
within its law.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.contacts.contact_elements import (
    ContactElement,
    Mode,
    contact_elements,
    contact_names,
    dry_names,
    opposite_flanks,
)
from sarrus.dynamics.contacts.contact_functions import contact_gaps, contact_motion_function
from sarrus.dynamics.contacts.limited_friction import require_limited_friction
from sarrus.dynamics.contacts.rope_texts import LIFTS, beyond_length
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import bounds_at, dry_friction, joint_limits
from sarrus.kernels.contact.tolerances import ARRIVED, AT_BOUND, STEADY, still_speed

if TYPE_CHECKING:
    from sarrus.dynamics.contacts.geometry_state import GeometryContacts


@dataclass(frozen=True, eq=False)
class ForceLaws:
    """The forces r = base + ways · y allowed by the laws, y in blocks (`sarrus.optimize.solve_contact_problem`).

    ``contacts`` are (number of entries of y, μ), ``dry`` (number, limit), which come last; ``owners`` is the contact of
    each block.
    """

    base: Array
    ways: Array
    contacts: tuple[tuple[int, float], ...]
    dry: tuple[tuple[int, float], ...]
    owners: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ContactState:
    """The modes of contacts, stops and dry friction at a state.

    Attributes
    ----------
    touching : the contacts, stops and joints with dry friction, in the order of the rows. names : of the rows (m,).
    rows : (m × nv) J. gaps : one for each [m, rad], zero for dry friction.
    modes : one for each.
    directions : (m,) slip directions of sliding contacts, tangential parts of length one.
    impossible : why no finite forces give this motion, in words; "" if there is no objection.
    """

    elements: tuple[ContactElement, ...]
    names: tuple[str, ...]
    rows: Array
    gaps: Array
    modes: tuple[Mode, ...]
    directions: Array
    impossible: str

    @property
    def opposite_flank(self) -> list[tuple[int, int]]:
        """Pairs of opposite flanks that are both closed; at most one of each pair pushes."""
        return opposite_flanks(
            self.elements, {k for k, mode in enumerate(self.modes) if mode is not Mode.OPEN}
        )

    def without(self, numbers: Container[int]) -> ContactState:
        """Return the state with the given contacts set to open."""
        modes = (Mode.OPEN if k in numbers else mode for k, mode in enumerate(self.modes))
        return replace(self, modes=tuple(modes))

    @property
    def laws(self) -> ForceLaws:
        """The forces allowed by the laws in these modes."""
        m = len(self.names)
        base = np.zeros(m)
        columns: tuple[list[Array], list[Array]] = [], []
        sizes: tuple[list[tuple[int, float]], list[tuple[int, float]]] = [], []
        owners: tuple[list[int], list[int]] = [], []
        for k, (one, mode) in enumerate(zip(self.elements, self.modes)):
            dry, ways, number = one.kind == "friction", np.eye(m)[one.rows], one.limit
            if mode is Mode.OPEN:
                continue
            if dry and mode is Mode.SLIDING:
                base[one.rows] = -one.limit * self.directions[one.rows]
                continue
            if not dry:
                number = one.static if mode is Mode.STICKING else 0.0
                if mode is Mode.SLIDING:
                    ways = ways[:1] - one.friction * self.directions * _inside(one.tails, m)
                elif number == 0.0:
                    ways = ways[:1]
            columns[dry].append(ways)
            sizes[dry].append((len(ways), number))
            owners[dry].append(k)
        ways = np.vstack([np.zeros((0, m)), *columns[0], *columns[1]]).T
        return ForceLaws(base, ways, tuple(sizes[0]), tuple(sizes[1]), (*owners[0], *owners[1]))


def _inside(rows: slice, count: int) -> np.ndarray:
    places = np.arange(count)
    return (rows.start <= places) & (places < rows.stop)


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


def contact_state(system: Evaluations, q: Array, v: Array, a: Array, t: float = 0.0) -> ContactState:
    """Return the modes of contacts, stops and dry friction at (q, v, t) with the acceleration a.

    Gaps up to `ContactElement.reach` are closed, of approaching contacts up to 1e-9 lengths. A joint beyond its limit
    is at a stop there, as in runs; a contact deeper below its plane is an `ArgumentError`.
    """
    found, size = contact_row_state(system, q, v, t), system.characteristic
    elements = found.elements
    speed = float(np.abs(size.columns * v).max(initial=0.0))
    slow = still_speed(speed)
    steady = STEADY * (1.0 + speed**2 + float(np.abs(size.columns * a).max(initial=0.0)))
    change = found.rows @ a + found.bias
    directions, modes, impossible = np.zeros(len(change)), [], ""
    for one, gap in zip(elements, found.gaps):
        if one.kind == "contact" and gap < -one.reach:
            raise below_its_plane(system, one, float(gap))
        rates, changes = found.rates[one.rows] / one.unit, change[one.rows] / one.unit
        if one.kind != "friction":
            coming = rates[0] < -slow and gap > ARRIVED * one.unit
            if gap > one.reach or rates[0] > slow or coming:
                modes.append(Mode.OPEN)
                continue
            if rates[0] < -slow:
                impossible = impossible or it_hits(one, -float(rates[0]) * one.unit)
            elif changes[0] > steady:
                modes.append(Mode.OPEN)
                continue
            elif changes[0] < -steady:
                impossible = impossible or (
                    f"{one.what} {one.name!r} is closed, and this acceleration penetrates it by "
                    f"{-changes[0] * one.unit:.3g}"
                )
        modes.append(_mode_of_tails(one, rates, changes, slow, steady, directions))
    return ContactState(elements, found.names, found.rows, found.gaps, tuple(modes), directions, impossible)


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


def _mode_of_tails(
    one: ContactElement, rates: Array, changes: Array, slow: float, steady: float, directions: Array
) -> Mode:
    """Return sliding or sticking for a closed contact, and write the direction of its slip (or of its onset)."""
    first = one.tails.start - one.rows.start
    for motion, least in ((rates[first:], slow), (changes[first:], steady)):
        length = float(np.linalg.norm(motion))
        if length > least:
            directions[one.tails] = motion / length
            return Mode.SLIDING
    return Mode.STICKING
