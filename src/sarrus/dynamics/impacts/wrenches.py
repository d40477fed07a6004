"""Wrenches of contact patches and their centres of pressure, at a state and along a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.base.numbers import real_array
from sarrus.dynamics.contacts.support_reactions import ContactReactions
from sarrus.dynamics.impacts.tolerances import IMPULSE_ROUNDING
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.system import System
from sarrus.model.mechanism.elements import Contact
from sarrus.model.mechanism.pose import Pose


@dataclass(frozen=True, eq=False)
class ContactWrench:
    """Total force of the ground on a body at contacts, along the axes n, t1, t2 of the first contact (right-handed).

    Attributes
    ----------
    force : (3,) normal force, and friction along the two tangents [N].
    moment : (3,) about these axes through the centre of the contacts [N m]; the first is the torsion.
    centre_of_pressure : (2,) point of action of the normal force, from the centre along t1 and t2 [m]: the mean of the
        contact points weighted by their normal forces, (−moment[2], moment[1]) / force[0] if the patch lies flat. It
        is inside the patch while no contact pulls. None if the normal force is below 1e-9 of the largest contact
        force: all contacts of the patch are open.
    centre : (3,) the mean of the contact points in the world [m]. axes : (3, 3) rows n, t1, t2 in the world.
    """

    force: Array
    moment: Array
    centre_of_pressure: Array | None
    centre: Array
    axes: Array

    @property
    def pressure_point(self) -> Array | None:
        """The centre of pressure in the world (3,) [m], None without normal force."""
        return (
            None if self.centre_of_pressure is None else self.centre + self.centre_of_pressure @ self.axes[1:]
        )


@dataclass(frozen=True, eq=False)
class ContactWrenches:
    """The wrenches of contacts along a run: the attributes of `ContactWrench` with time as leading axis.

    Attributes
    ----------
    t : (T,) [s]. force, moment : (T, 3) [N, N m].
    centre_of_pressure : (T, 2) [m], NaN without normal force. centre : (T, 3) [m]. axes : (T, 3, 3).
    """

    t: Array
    force: Array
    moment: Array
    centre_of_pressure: Array
    centre: Array
    axes: Array


class _Motion(Protocol):
    """The attributes of `sarrus.Trajectory` used here."""

    name: str
    t: Array
    q: Array
    multipliers: Array
    contact_forces: Array
    parameters: Mapping[str, float]

    def moved_system(self) -> System | None:
        """Return the system of the run."""


def contact_wrench(
    system: System, q: ArrayLike, forces: Any, patch: str | Sequence[str], t: float = 0.0
) -> ContactWrench:
    """Return the wrench of a contact patch at (q, t).

    ``patch`` names a patch, a contact, or several of them on one plane, such as the feet of a robot; the centre of
    pressure is then the one of all. ``forces`` is one of

    - a result: of ``forward_dynamics``, with its ``contacts`` for contacts with Coulomb friction; the ``contacts`` of
      an equilibrium; the answer of a control law with contacts, such as ``LeggedController.solve``;
    - forces by contact, {"sole.1": (n, t1, t2), …}, such as ``contact_forces`` of a control law's answer;
    - a vector: for contacts with Coulomb friction a row of ``Trajectory.contact_forces``, for others multipliers (nc,),
      such as a row of ``Trajectory.multipliers``. Impulses, such as ``Impact.impulse``, give the impulsive wrench
      [N s, N m s].

    `contact_wrenches` is the same along a run. The forces of the single contacts of a patch are not unique, and λ is
    the minimum-norm one; their wrench is unique, unless the patch is redundant with other patches, such as the two feet
    of a standing robot.

    The centre is the mean of the contact points, for balls of their points on the surface. The axes are those of the
    plane, on any body; ``ContactPatch.along`` turns relative to them with the foot.

    Raises `ArgumentError` for an unknown patch, contacts on several planes, a missing force, and for a
    system without mechanism.
    """
    check_is("contact_wrench", system, System)
    contacts = contacts_of(system, patch)
    return _wrench(system, q, t, contacts, _forces(system, contacts, forces))


def contact_wrenches(trajectory: _Motion, patch: str | Sequence[str]) -> ContactWrenches:
    """Return the wrenches of a contact patch at all times of a run; ``patch`` as in `contact_wrench`.

    Forces are ``trajectory.contact_forces`` for contacts with Coulomb friction, multipliers for others.
    """
    system = trajectory.moved_system()
    if system is None:
        raise ArgumentError(f"{trajectory.name}: the file holds no mechanism", element="mechanism")
    if trajectory.parameters:
        system = system.with_parameters(trajectory.parameters)
    contacts = contacts_of(system, patch)
    recorded = trajectory.contact_forces if _slide(contacts) else trajectory.multipliers
    found = [
        _wrench(system, q, float(t), contacts, _forces(system, contacts, row))
        for t, q, row in zip(trajectory.t, trajectory.q, recorded)
    ]
    nowhere = np.full(2, np.nan)
    centres = [nowhere if w.centre_of_pressure is None else w.centre_of_pressure for w in found]
    parts = {part: [getattr(w, part) for w in found] for part in ("force", "moment", "centre", "axes")}
    return ContactWrenches(
        t=trajectory.t,
        centre_of_pressure=read_only(np.array(centres)),
        **{part: read_only(np.array(values)) for part, values in parts.items()},
    )


def contacts_of(system: System, patch: str | Sequence[str]) -> list[Contact]:
    """Return the contacts of patches and contacts by name, all on one plane."""
    mechanism = system.current_mechanism()
    names = [patch] if isinstance(patch, str) else list(patch)
    contacts: dict[str, Contact] = {}
    for name in names:
        check_known("contact patch", name, [*mechanism.patches, *mechanism.contacts], system.name)
        own = mechanism.patches[name].contacts if name in mechanism.patches else (name,)
        contacts |= {contact: mechanism.contacts[contact] for contact in own}
    found = list(contacts.values())
    if not found:
        raise ArgumentError(f"{system.name}: name a contact patch, or several", element="patch")
    for contact in found:
        if not contact.same_plane(found[0]):
            raise ArgumentError(
                f"{system.name}: {found[0].name!r} and {contact.name!r} are on different planes: they have a "
                "wrench each, and no common centre of pressure",
                element=contact.name,
            )
    return found


def _slide(contacts: Sequence[Contact]) -> bool:
    """Tell whether the contacts have Coulomb friction; all must be of one kind if forces come as a vector."""
    kinds = {contact.slides for contact in contacts}
    if len(kinds) == 2:
        names = ", ".join(contact.name for contact in contacts if contact.slides)
        raise ArgumentError(
            f"some of the contacts have Coulomb friction ({names}) and others are constraints: one vector does not "
            "contain the forces of both; give them by contact",
            element="forces",
        )
    return kinds.pop()


def _forces(system: System, contacts: Sequence[Contact], given: Any) -> list[Array]:
    """Return the forces of each contact, one for each row."""
    by_name = getattr(given, "contact_forces", given)
    if isinstance(by_name, Mapping):
        return [_of_mapping(system, contact, by_name) for contact in contacts]
    if isinstance(given, ContactReactions):
        return [given[contact.name] for contact in contacts]
    if isinstance(given, ForwardDynamics):
        return [_of_result(system, contact, given) for contact in contacts]
    rows = _rows_of_friction(system) if _slide(contacts) else system.closure_rows
    count = system.nc
    if contacts[0].slides:  # stops and dry friction follow the contacts
        count = max(np.size(given), *(own.stop for own in rows.values()))
    vector = system.checked(given, count, "multipliers")
    return [vector[rows[contact.name]] for contact in contacts]


def _of_mapping(system: System, contact: Contact, forces: Mapping[str, ArrayLike]) -> Array:
    check_known("contact", contact.name, forces, system.name)
    force, most = real_array(forces[contact.name]), len(contact.row_names)
    if force.shape not in ((most,), (1,), (3,)) or not np.isfinite(force).all():
        raise ArgumentError(
            f"{system.name}: the force of {contact.name!r} must be finite, with entries for "
            f"{', '.join(contact.row_names)}, got {forces[contact.name]!r}",
            element=contact.name,
        )
    return force


def _of_result(system: System, contact: Contact, found: ForwardDynamics) -> Array:
    if not contact.slides:
        return found.multipliers[system.closure_rows[contact.name]]
    return np.zeros(len(contact.row_names)) if found.contacts is None else found.contacts[contact.name]


def _rows_of_friction(system: System) -> dict[str, slice]:
    """Return the rows of each contact with Coulomb friction in the contact forces of a run."""
    friction_contacts = system.equations.friction_contacts
    ends = [0, *accumulate(len(contact.row_names) for contact in friction_contacts)]
    return {contact.name: slice(*pair) for contact, pair in zip(friction_contacts, pairwise(ends))}


def _wrench(
    system: System, q: ArrayLike, t: float, contacts: Sequence[Contact], given: Sequence[Array]
) -> ContactWrench:
    """Return the sum of forces along the rows of contacts on one plane as a wrench."""
    placed = (Pose(p, r) for p, r in zip(*system.body_placements(q, t)))
    poses = dict(zip(system.current_mechanism().bodies, placed))
    ground = poses[contacts[0].ground].rotation if contacts[0].ground in poses else np.eye(3)
    axes = np.array([(c.normal, c.tangent1, c.tangent2) for c in contacts]) @ ground.T
    points = np.array([poses[c.body].apply(c.point) if c.body in poses else c.point for c in contacts])
    points = points - np.array([[contact.radius] for contact in contacts]) * axes[:, 0]
    centre, forces, moments = points.mean(axis=0), *np.zeros((2, len(contacts), 3))
    for k, (force, contact) in enumerate(zip(given, contacts)):
        forces[k, : len(force[:3])] = force[:3]
        for (axis, length), part in zip(contact.turns, force[3:]):
            moments[k, axis] = length * part
    largest = float(np.abs(forces).max())
    forces, moments = (np.einsum("kj,kjl->kl", part, axes) @ axes[0].T for part in (forces, moments))
    arms = (points - centre) @ axes[0].T
    total = forces.sum(axis=0)
    moment = (np.cross(arms, forces) + moments).sum(axis=0)
    loaded = abs(total[0]) > IMPULSE_ROUNDING * largest
    pressure = read_only(forces[:, 0] @ arms[:, 1:] / total[0]) if loaded else None
    return ContactWrench(
        read_only(total), read_only(moment), pressure, read_only(centre), read_only(axes[0].copy())
    )
