"""`impulses`: simultaneous impacts of contacts with friction, each with Newton's or with Poisson's law of restitution.

**Newton's law** is a law for velocities, u_n⁺ ≥ −e u_n⁻. The whole impact is one contact problem with Coulomb's law for
its impulses (Moreau 1988). With friction, or with several contacts at a time, it may create energy.

**Poisson's law** is a law for impulses: the normal impulse of expansion is e times the one of compression, and more if
the contact would close otherwise (Glocker and Pfeiffer, Nonlinear Dynamics 7, 1995). With the impulses Λ of compression
and R of expansion

    u' = u⁻ + W Λ,    Λ_n ≥ 0       ⊥  u'_n ≥ 0,    ‖Λ_t‖ ≤ μ Λ_n  against u'_t
    u⁺ = u' + W R,    R_n ≥ e Λ_n   ⊥  u⁺_n ≥ 0,    ‖R_t‖ ≤ μ R_n  against u⁺_t

With R_n = e Λ_n + P the friction of expansion, ‖R_t‖ ≤ μ (e Λ_n + P), is the sum of a cone and a ball, both against the
same slip: expansion is a contact problem for P with additional dry friction of the limit μ e Λ_n on the same rows.

Energy: compression dissipates D + ½ Λᵀ W Λ, with D = −Λ_tᵀ u'_t ≥ 0. Without friction R minimizes the energy gained in
expansion, u'ᵀ R + ½ Rᵀ W R, among all R ≥ e Λ. R = Λ is admissible, with the gain ½ Λᵀ W Λ, so the kinetic energy never
grows, for any coefficients. With friction and equal e at all contacts, P u⁺_n = 0 and Λ_tᵀ u⁺_t ≥ −μ Λ_n ‖u⁺_t‖ give

    T⁺ − T⁻ ≤ −(1 + e) D − ½ (1 − e²) Λᵀ W Λ

so it does not grow either, for any number of contacts and rank of W. With friction and different e it may grow.

If both laws occur in one impact, contacts with Newton's law have no rebound in compression, and their whole restitution
in expansion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory.impact_layout import IMPULSE_FOUND, LoneImpact
from sarrus.kernels.platform.c_function import lone_impulse as find_impulse

Blocks = list[tuple[int, float]]
# Returns the forces of a contact problem for chosen rows, their velocities, contacts and dry friction.
Solve = Callable[[list[int], Array, Blocks, Blocks], Array]


def impulses(
    solve: Solve,
    delassus: Array,
    velocities: Array,
    contacts: Sequence[tuple[int, float]],
    rebounds: Array,
    expansions: Mapping[int, float],
) -> Array:
    """Return the impulses of an impact (m,) [N s].

    Parameters
    ----------
    solve : the contact problem, see `sarrus.optimize.solve_contact_problem`, for row indices that may be
        repeated.
    operator, velocities : W (m, m) and u⁻ (m,); positive normal velocities open.
    contacts : (number of rows, μ) of each closed contact.
    rebounds : (k,) −e u_n⁻ ≥ 0 of contacts with Newton's law, zero of the others.
    expansions : e of contacts with Poisson's law, by their index.

    Redundant rows are allowed: u⁺ = u⁻ + W r and the total effect of the impulses r exist then too. Errors are those of
    ``solve``.
    """
    m, starts = len(velocities), np.cumsum([0, *(size for size, _ in contacts)]).tolist()
    every, blocks, heads = list(range(m)), list(contacts), starts[:-1]
    rebounding = velocities.copy()
    rebounding[heads] -= rebounds
    if not expansions:
        return solve(every, rebounding, blocks, [])
    compression = solve(every, velocities, blocks, [])
    known, tails, dry = np.zeros(m), list[int](), list[tuple[int, float]]()
    for k, e in expansions.items():
        head, end, friction = starts[k], starts[k + 1], contacts[k][1]
        known[head:end] = compression[head:end]
        known[head] *= 1.0 + e
        if (limit := friction * e * compression[head]) > 0.0 and end > head + 1:
            tails += range(head + 1, end)
            dry.append((end - head - 1, limit))
    ahead = rebounding + dense.product(delassus, known)
    found = solve([*every, *tails], ahead[[*every, *tails]], blocks, dry)
    known += found[:m]
    known[tails] += found[m:]
    return known


def lone_impulse(delassus: Array, velocities: Array, rebound: float, friction: float) -> Array | None:
    """Return the impulse (m,) [N s] of a single contact with Newton's law; None if no simple solution exists.

    The normal velocity becomes ``rebound``. The contact sticks if the friction cone contains the necessary impulse;
    else it slides in the direction d of the velocity after the impact, r = r_n (1, −μ d): a closed form for one
    tangential row, an iteration for two. ``delassus`` W (m, m) and ``velocities`` u⁻ (m,) as in `impulses`.

    None if friction may hold the contact against its normal (μ ‖W_tn‖ ≥ W_nn, Painlevé), or if directions do not
    converge.
    """
    m, impact = len(velocities), LoneImpact.zeros()
    found, law, room = np.zeros(m), np.array([rebound, friction]), np.zeros(m * m + 3 * m)
    given = np.ascontiguousarray(delassus), np.ascontiguousarray(velocities)
    impact.rows, impact.law, impact.impulse, impact.room = m, law, found, room
    impact.delassus, impact.velocities = given
    return found if find_impulse(impact, room, 0) == IMPULSE_FOUND else None
