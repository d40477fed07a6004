"""`impulses`: contacts with friction that hit at once, each with Newton's or with Poisson's law of restitution.

**Newton's law** says of velocities that u_n⁺ ≥ −e u_n⁻. The whole impact is one contact problem with Coulomb's law for
its impulses (Moreau 1988). With friction, and with several contacts at a time, it may create energy.

**Poisson's law** says of impulses that the normal one of expansion is e times that of compression, and more where the
contact would close else (Glocker and Pfeiffer, Nonlinear Dynamics 7, 1995). With Λ that of compression and R that of
expansion

    u' = u⁻ + W Λ,    Λ_n ≥ 0       ⊥  u'_n ≥ 0,    ‖Λ_t‖ ≤ μ Λ_n  against u'_t
    u⁺ = u' + W R,    R_n ≥ e Λ_n   ⊥  u⁺_n ≥ 0,    ‖R_t‖ ≤ μ R_n  against u⁺_t

With R_n = e Λ_n + P the friction of expansion, ‖R_t‖ ≤ μ (e Λ_n + P), is a cone and a ball added, both against the same
slip: so expansion is a contact problem for P with dry friction of the limit μ e Λ_n on the same tangential rows.

Compression takes D + ½ Λᵀ W Λ, with D = −Λ_tᵀ u'_t ≥ 0. Without friction R makes what expansion gives,
u'ᵀ R + ½ Rᵀ W R, least among all R ≥ e Λ. As Λ is one of these, for which that is ½ Λᵀ W Λ, the kinetic energy
never grows, whatever the coefficients. With friction, but the same e at all contacts, P u⁺_n = 0 and
Λ_tᵀ u⁺_t ≥ −μ Λ_n ‖u⁺_t‖ give

    T⁺ − T⁻ ≤ −(1 + e) D − ½ (1 − e²) Λᵀ W Λ

so it does not grow either, whatever the number of contacts and the rank of W. With friction and different e it may.

Where both laws meet in an impact, contacts with Newton's take part in compression without rebound, and in expansion
with all of their impulse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.linalg import dense

Blocks = list[tuple[int, float]]
# Forces of the contact problem of chosen rows, with their velocities, contacts and dry friction.
Solve = Callable[[list[int], Array, Blocks, Blocks], Array]


def impulses(
    solve: Solve,
    operator: Array,
    velocities: Array,
    contacts: Sequence[tuple[int, float]],
    rebounds: Array,
    expansions: Mapping[int, float],
) -> Array:
    """Return the impulses of an impact (m,) [N s].

    Parameters
    ----------
    solve : the contact problem, see `sarrus.optimize.solve_contact_problem`, of rows that may be named twice.
    operator, velocities : W (m, m) and u⁻ (m,); positive normal ones open.
    contacts : (number of rows, μ) of all that touch.
    rebounds : (k,) −e u_n⁻ ≥ 0 of those with Newton's law, zero of the others.
    expansions : e of those with Poisson's law, by their place among the contacts.

    Redundant rows are allowed: u⁺ = u⁻ + W r, and what the impulses r do together, are found as well. Errors are those
    of ``solve``.
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
    ahead = rebounding + dense.product(operator, known)
    found = solve([*every, *tails], ahead[[*every, *tails]], blocks, dry)
    known += found[:m]
    known[tails] += found[m:]
    return known
