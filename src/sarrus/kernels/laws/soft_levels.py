"""Shares of the limits for levels of which coming close is enough: they drive no motor and no foot to its limit.

With x_h, the unknowns that a law would have without these levels, and a share σ below one, they go no farther than

    u_k ≤ max(σ u_max, u_h),   λ_n ≤ max(σ λ_max, λ_n,h),   |λ_t| ≤ σ μ λ_n + s,   λ_n ≥ s / ((1 − σ) μ)

with s = max(|λ_t,h| − σ μ λ_n,h, 0), u as far from its preferred value as it may be, and lower limits likewise. x_h is
inside, all of it is inside the limits themselves, and it is a continuous function of x_h: no limit comes or goes at
once. The last two are a cone as far as the levels above make do with a share of the friction; where they do not, the
cone is wider by s, and cut off where it would leave that of the contact. Rows of the user are as they are given.

Where the unknowns of all levels are within the shares, they are the answer, whatever x_h is.
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
    """Return the first of the last levels of which coming close is enough, as many as there are levels for none."""
    return min(table.contacts.first_soft, table.n_used)


@internal
def spared(table: LawTable, most: float, whole: float, needed: float):
    """Return what an unknown is at most: ``most``, or the share of a limit ``whole``, or what is ``needed``."""
    if not (whole > 0.0 and whole < np.inf):
        return most
    share = cn.physics_of(table).soft_share[0]
    return min(most, max(share * whole, needed + SHARE_SLACK * whole))


@internal
def wider(table: LawTable, room: DistributionWorkspace, first: int, size: int, coefficient: float):
    """Return s of a contact whose rows begin at ``first``, from the unknowns that are needed."""
    needed, tangential = room.needed + first, 0.0
    for i in range(1, size):
        tangential += needed[i] ** 2
    share = cn.physics_of(table).soft_share[0]
    return max(np.sqrt(tangential) - share * coefficient * needed[0], 0.0)


@internal
def cut_off(table: LawTable, shift: float, coefficient: float):
    """Return the least normal force with which a cone that is wider by a ``shift`` is inside that of the contact."""
    return shift / ((1.0 - cn.physics_of(table).soft_share[0]) * coefficient)


@internal
def begin_cuts(table: LawTable, room: DistributionWorkspace, lines: int):
    """Have the least normal forces take part that are above zero; they are rows of no level, behind all of them."""
    for i in range(lines):
        if room.belongs[i] == table.n_levels:
            room.faces[i] = FREE if room.most[i] < 0.0 else LATER


@internal
def is_spared(table: LawTable, work: LawWorkspace, part: float):
    """Tell whether the unknowns are within their shares, or within a ``part`` of these."""
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
            # four sides are as far away as the cone is in their directions
            tangential = max(tangential, 2.0 * own**2) if mode == cn.PYRAMID else tangential + own**2
        if answer[first] > share * most:
            return False
        if size > 1 and np.sqrt(tangential) > share * limits.friction[k] * answer[first]:
            return False
    return True
