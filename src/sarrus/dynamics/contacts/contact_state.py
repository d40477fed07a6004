"""`ContactRowState`: gaps and rows of contacts with Coulomb friction, joint stops and dry friction at a state.

Their forces r act by Jᵀ r. Rows J: of a contact its normal and tangential velocities and those of rotations, of a
stop the velocity away from it, of dry friction the joint velocity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.contacts.contact_elements import (
    ContactElement,
    contact_elements,
    contact_names,
    dry_names,
    require_limited_friction,
)
from sarrus.dynamics.contacts.contact_functions import contact_gaps, contact_motion_function, row_count
from sarrus.dynamics.contacts.rope_texts import LIFTS, beyond_length
from sarrus.dynamics.contacts.row_derivatives import RowSlopes, add_part, row_slopes, row_tangent
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import bounds_at, dry_friction, joint_limits
from sarrus.kernels.contact.tolerances import AT_BOUND

if TYPE_CHECKING:
    from sarrus.dynamics.contacts.geometry_state import GeometryContacts
    from sarrus.dynamics.contacts.held_features import HeldFeatures


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
    """All contacts, stops and dry friction of a system at x = [q | v | u | t | p | τ].

    Gaps (of each), rows J (m × nv), their velocities and biases (m,): J a + bias are their derivatives. ``bounds`` are
    those of the stops [m, rad].

    ``elements`` are those of `contact_elements` with the contacts between geometries that a narrow phase has found,
    ``geometry`` (None without such geometries), before the joints with dry friction. Their rows come after those of
    all others, in ``rows`` and ``names``. ``features`` are these contacts with their features held: without them there
    are neither derivatives of their rows nor rows at another x.
    """

    system: Evaluations
    x: Array
    bounds: Array
    gaps: Array
    rows: Array
    rates: Array
    bias: Array
    elements: tuple[ContactElement, ...]
    names: tuple[str, ...]
    geometry: GeometryContacts | None = None
    features: HeldFeatures | None = None

    def at(self, x: Array) -> ContactRowState:
        """Return the same contacts at another x: with these stops, and features held."""
        geometry = () if self.features is None else self.features.motion(x)
        gaps, rows, rates, bias = _motion(self.system, x, self.bounds, *geometry)
        return replace(self, x=x, gaps=gaps, rows=rows, rates=rates, bias=bias)

    def with_features(self) -> ContactRowState:
        """Return the contacts with the features of contacts between geometries held, whose rows are those of these."""
        if self.geometry is None or not self.geometry.points:
            return self
        from sarrus.dynamics.contacts.held_features import HeldFeatures  # here: few systems need it

        return replace(self, features=HeldFeatures(self.system, self.geometry)).at(self.x)

    def slopes(self, w: Array | None = None, forces: Array | None = None) -> RowSlopes:
        """Return the derivatives of all rows, with w (nv,) and forces f (m,), zero by default."""
        system, count, last = self.system, row_count(self.system), self._fixed_rows
        w = np.zeros(system.nv) if w is None else w
        forces = np.zeros(len(self.rows)) if forces is None else forces
        width = system.nq + system.nv + system.nu + len(system.equations.design_parameters)
        found = {
            name: np.zeros((len(self.rows), width)) for name in ("position", "velocity", "forward", "drift")
        }
        found["backward"] = np.zeros((system.nv, width))
        if count:
            given = np.concatenate([self.x, w, forces[:count]])
            add_part(found, row_slopes(system).evaluate(given), 0)
        if self.features is not None:
            add_part(found, self.features.slopes(self.x, w, forces[last:]), last)
        found["velocity"][count:last, system.nq : system.nq + system.nv] = self.rows[count:last]
        limits = joint_limits(system)
        found["position"][count + np.arange(len(limits.places)), limits.places] = -limits.signs
        return RowSlopes(**found)

    def tangent(self, a: Array, forces: Array) -> dict[str, Array]:
        """Return ∂(Jᵀ f), ∂(J a + J̇ v) and ∂(J v) of all rows, see `tangent_outputs`; f are ``forces`` (m,)."""
        nv, count, last = self.system.nv, row_count(self.system), self._fixed_rows
        sizes = {"bias_q": nv + 1, "bias_v": nv, "slip_q": nv + 1}
        found = {name: np.zeros((len(self.rows), n)) for name, n in sizes.items()}
        found["force_q"] = np.zeros((nv, nv + 1))
        if count:
            given = np.concatenate([self.x, a, forces[:count]])
            add_part(found, row_tangent(self.system).evaluate(given), 0)
        if self.features is not None:
            add_part(found, self.features.tangent(self.x, a, forces[last:]), last)
        return found

    @property
    def closed(self) -> list[int]:
        """Numbers of the contacts and stops with a gap up to `ContactElement.reach`, of either sign."""
        each = enumerate(zip(self.elements, self.gaps.tolist()))
        return [k for k, (one, gap) in each if one.kind != "friction" and abs(gap) <= one.reach]

    @property
    def deep(self) -> list[int]:
        """Numbers of the contacts that are deeper below their planes."""
        each = enumerate(zip(self.elements, self.gaps.tolist()))
        return [k for k, (one, gap) in each if one.kind == "contact" and gap < -one.reach]

    @property
    def _fixed_rows(self) -> int:
        """Number of the rows before those of contacts between geometries."""
        return len(self.rows) - (0 if self.geometry is None else len(self.geometry.rows))


def contact_row_state(
    system: Evaluations,
    q: Array,
    v: Array,
    t: float,
    bounds: Array | None = None,
    within: float | None = None,
) -> ContactRowState:
    """Return gaps, rows, velocities and biases of all contacts, stops and joints with dry friction; see `rows_at`."""
    return rows_at(system, system.pack(q, v, None, t), bounds, within)


def rows_at(
    system: Evaluations, x: Array, bounds: Array | None = None, within: float | None = None
) -> ContactRowState:
    """Return gaps, rows, velocities and biases of all contacts, stops and joints with dry friction at x.

    ``bounds`` are the stops [m, rad], by default those active at q, see `sarrus.dynamics.model.joint_limits`. Contacts
    between geometries are found up to a gap of ``within`` [m], by default those that count as closed.
    """
    q, parts, elements, names = (
        x[system.parts.q],
        system.parts,
        contact_elements(system),
        contact_names(system),
    )
    bounds = bounds_at(joint_limits(system), q) if bounds is None else bounds
    if not system.contact_geometries:
        return ContactRowState(system, x, bounds, *_motion(system, x, bounds), elements, names)
    geometry = geometry_contacts(system, q, float(x[parts.t]), within)
    last = len(elements) - len(dry_names(system))
    own = _geometry_elements(system, geometry, len(names))
    elements, names = (*elements[:last], *own, *elements[last:]), names + geometry.names
    found = _motion(system, x, bounds, geometry.gaps, geometry.rows, *geometry.motion(x[parts.v]))
    return ContactRowState(system, x, bounds, *found, elements, names, geometry)


def _motion(
    system: Evaluations, x: Array, bounds: Array, *geometry: Array
) -> tuple[Array, Array, Array, Array]:
    """Return gaps, rows, velocities and biases at x, with those of contacts between ``geometry``, if there are any."""
    limits, dry, e, parts = joint_limits(system), dry_friction(system), system.equations, system.parts
    signs, v = -limits.signs, x[parts.v]
    gaps = [signs * (x[parts.q][limits.places] - bounds), np.zeros(len(dry_names(system)))]
    rows = [signs[:, None] * np.eye(system.nv)[limits.rates], np.eye(system.nv)[dry.rates]]
    rates = [row @ v for row in rows]
    bias = [np.zeros(len(row)) for row in rows]
    if e.friction_contacts:
        gaps.insert(0, contact_gaps(system)(x))
    if e.friction_contacts or e.dry_lengths:
        found = contact_motion_function(system).evaluate(x)
        rows.insert(0, found["rows"])
        rates.insert(0, found["rates"][:, 0])
        bias.insert(0, found["bias"][:, 0])
    if geometry:
        gaps.insert(-1, geometry[0])
        for known, part in zip((rows, rates, bias), geometry[1:]):
            known.append(part)
    return np.concatenate(gaps), np.vstack(rows), np.concatenate(rates), np.concatenate(bias)


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


def below_its_plane(
    system: Evaluations, one: ContactElement, gap: float, what: str = "", least: float | None = None
) -> ArgumentError:
    """Return the error for a contact deep below its plane, or for geometries deep inside each other.

    ``least`` is the least gap [m] with which a run may begin; None at a state.
    """
    between = system.mechanism is not None and one.name not in system.mechanism.contacts
    are, bound = ("are", "") if least is None else ("begin", f", gaps may be {least:.1g} m at the least")
    text = (
        beyond_length(system, one.name, -gap)
        if one.rope
        else penetrating_flanks(one.name, -gap)
        if one.opposite_flank >= 0
        else f"geometries {one.name!r} {are} {-gap:.3g} m in each other; move them apart{bound}{LIFTS}"
        if between
        else f"contact {one.name!r} {'begins' if bound else 'is'} {-gap:.3g} m below its plane; raise the "
        f"body{bound}{LIFTS}"
    )
    return ArgumentError(f"{system.name}: {what}{text}", element=one.name)


def penetrating_flanks(flank: str, depth: float) -> str:
    """Return the message for gearing coordinates that penetrate a flank by ``depth`` [m]."""
    return (
        f"flank {flank!r} is {depth:.3g} m inside the opposite one: the coordinates of this gearing are inconsistent; "
        f"change one of them, or its references{LIFTS}"
    )
