"""The wrench of a contact patch: what its contacts add up to, and where the load is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_known
from sarrus.dynamics.system import System
from sarrus.mechanism.pose import Pose

# A normal force below this part of the largest multiplier of the patch is none.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ContactWrench:
    """What the ground exerts on a body at a contact patch, along the axes n, t1, t2 of its contacts (right-handed).

    Attributes
    ----------
    force : (3,) normal force, and friction along the two tangents [N].
    moment : (3,) about these axes through the centre of the patch [N m]; the first is the torsion.
    centre_of_pressure : (2,) where the normal force acts, as way from the centre along t1 and t2 [m]: the mean of the
        contact points weighted by their pushes, (−moment[2], moment[1]) / force[0] where the patch lies flat. It is
        inside the patch as long as no contact pulls. None where the normal force is zero to 1e-9 of the largest
        multiplier of the patch: a patch that is off, or whose contacts are.
    """

    force: Array
    moment: Array
    centre_of_pressure: Array | None


def _rows_of_friction(system: System) -> dict[str, slice]:
    """Return where the forces of contacts with Coulomb friction are among those of a run."""
    touches = system.equations.touches
    ends = [0, *accumulate(len(touch.row_names) for touch in touches)]
    return {touch.name: slice(*pair) for touch, pair in zip(touches, pairwise(ends))}


def contact_wrench(
    system: System, q: ArrayLike, multipliers: ArrayLike, patch: str, t: float = 0.0
) -> ContactWrench:
    """Return the wrench of a contact patch at (q, t) from the multipliers (nc,) of a solve there.

    Those of a patch with Coulomb friction are a row of ``Trajectory.contact_forces``; of others
    `ForwardDynamics.multipliers`, a row of ``Trajectory.multipliers`` or of a law's answer; impulses, such as
    ``Impact.impulse``, give the impulsive wrench [N s, N m s]. How the contacts of a patch share the load is not
    determined, and λ is the share of minimum norm; their wrench is determined, unless the patch is redundant with
    others, as the two feet of a standing robot are.

    The centre is the mean of the points of its contacts. The axes are those of the plane, on whatever body it is;
    ``ContactPatch.along`` turns against them with the foot.

    Raises `ArgumentError` for an unknown patch and for a system without mechanism.
    """
    mechanism = system.current_mechanism()
    check_known("contact patch", patch, mechanism.patches, system.name)
    placed = (Pose(p, r) for p, r in zip(*system.body_placements(q, t)))
    poses = dict(zip(mechanism.bodies, placed))
    contacts = [mechanism.contacts[name] for name in mechanism.patches[patch].contacts]
    plane = contacts[0]
    rows = _rows_of_friction(system) if plane.slides else system.closure_rows
    count = system.nc
    if plane.slides:  # behind those of contacts come stops and dry friction
        count = max(np.size(multipliers), *(own.stop for own in rows.values()))
    given = system.checked(multipliers, count, "multipliers")
    axes = np.array([plane.normal, plane.tangent1, plane.tangent2])
    if plane.ground in poses:
        axes = axes @ poses[plane.ground].rotation.T
    points = np.array([poses[c.body].apply(c.point) if c.body in poses else c.point for c in contacts])
    arms = (points - points.mean(axis=0)) @ axes.T
    forces = np.zeros((len(contacts), 3))
    for force, contact in zip(forces, contacts):
        force[: len(contact.row_names)] = given[rows[contact.name]]
    total = forces.sum(axis=0)
    loaded = abs(total[0]) > _ROUNDING * np.abs(forces).max()
    centre = read_only(forces[:, 0] @ arms[:, 1:] / total[0]) if loaded else None
    return ContactWrench(read_only(total), read_only(np.cross(arms, forces).sum(axis=0)), centre)
