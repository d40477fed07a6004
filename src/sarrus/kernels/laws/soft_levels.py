"""Reduced limits for soft priority levels (levels that need not be met exactly).

Soft levels drive no motor and no foot to its limit. With x_h, the unknowns of the law without its soft levels, and a
share σ < 1, the reduced limits are

    u_k ≤ max(σ u_max, u_h),   λ_n ≤ max(σ λ_max, λ_n,h),   |λ_t| ≤ σ μ λ_n + s,   λ_n ≥ s / ((1 − σ) μ)

with s = max(|λ_t,h| − σ μ λ_n,h, 0), u measured from its preferred value, and lower limits likewise. x_h satisfies
the reduced limits. They lie within the limits themselves and are continuous functions of x_h, so no limit appears or
vanishes at once. The last two limits describe a friction cone of coefficient σ μ, widened by s where the hard levels
need more friction, and cut off where it would leave the friction cone of the contact. Rows of the user are not
reduced.

Where the unknowns of all levels satisfy the shares, they are the answer, whatever x_h is.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.laws.faces import FREE, LATER
from sarrus.kernels.laws.tolerances import SHARE_SLACK
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory.law_contact_layout import DistributionWorkspace
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.platform.pointers import internal


@internal
def first_soft(table: LawTable):
    """Return the index of the first soft level; the number of levels where none is soft."""
    return min(table.contacts.first_soft, table.n_used)


@internal
def spared(table: LawTable, most: float, whole: float, needed: float):
    """Return the reduced upper bound of an unknown: the larger of share × ``whole`` and ``needed``, but at most
    ``most``.

    ``whole`` is the full limit, ``needed`` the value in the hard levels' solution, exceeded by SHARE_SLACK ×
    ``whole``. A limit that is not positive and finite is not reduced.
    """
    if not (whole > 0.0 and whole < np.inf):
        return most
    share = cn.physics_of(table).soft_share[0]
    return min(most, max(share * whole, needed + SHARE_SLACK * whole))


@internal
def wider(table: LawTable, room: DistributionWorkspace, first: int, size: int, coefficient: float):
    """Return the widening s of a contact's friction cone, from the forces λ_h at rows first … first + size − 1."""
    needed, tangential = room.needed + first, 0.0
    for i in range(1, size):
        tangential += needed[i] ** 2
    share = cn.physics_of(table).soft_share[0]
    return max(np.sqrt(tangential) - share * coefficient * needed[0], 0.0)


@internal
def cut_off(table: LawTable, shift: float, coefficient: float):
    """Return the least normal force for which a friction cone widened by ``shift`` lies within the contact's cone."""
    return shift / ((1.0 - cn.physics_of(table).soft_share[0]) * coefficient)


@internal
def begin_cuts(table: LawTable, room: DistributionWorkspace, lines: int):
    """Add the lower bounds of normal forces that are above zero to the working set, and exclude the remaining
    ones."""
    for i in range(lines):
        if room.belongs[i] == table.n_levels:
            room.faces[i] = FREE if room.most[i] < 0.0 else LATER


@internal
def is_spared(table: LawTable, work: LawWorkspace, part: float):
    """Tell whether all unknowns are within ``part`` × their shares of the limits."""
    limits, contacts, answer = cn.physics_of(table), table.contacts, table.answer
    share, mode = part * limits.soft_share[0], contacts.friction
    for k in range(table.actuators):
        unit = table.roots[k]
        if unit > 0.0:
            upper, lower = (
                (limits.upper[k] - table.preferred[k]) / unit,
                (table.preferred[k] - limits.lower[k]) / unit,
            )
            if (upper > 0.0 and answer[k] > share * upper) or (lower > 0.0 and -answer[k] > share * lower):
                return False
    for k in range(table.n_contacts):
        if work.contacts[k] == 0.0 or mode == cn.NO_LIMITS:
            continue
        first, size = contacts[cn.PLACES + 2 * k], contacts[cn.PLACES + 2 * k + 1]
        most, tangential = work.contacts[table.n_contacts + k] * limits.largest[k] / table.roots[first], 0.0
        for i in range(1, size):
            own = answer[first + i]
            # side i of the pyramid: √2 |λ_t,i| ≤ μ λ_n
            tangential = max(tangential, 2.0 * own**2) if mode == cn.PYRAMID else tangential + own**2
        if answer[first] > share * most:
            return False
        if size > 1 and np.sqrt(tangential) > share * limits.friction[k] * answer[first]:
            return False
    return True
