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
from math import sqrt

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.tolerances import (
    DEPENDENT_COMPLIANCE,
    SAME_SLIDING,
    SLIDING_ROUNDS,
    STICKING_RESIDUAL,
)
from sarrus.kernels.linalg import dense

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
    solve : the contact problem, see `sarrus.dynamics.optimize.solve_contact_problem`, of rows that may be named twice.
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


def lone_impulse(operator: Array, velocities: Array, rebound: float, friction: float) -> Array | None:
    """Return the impulse (m,) [N s] of one contact that hits alone, with Newton's law; None where it is not simple.

    The normal velocity becomes ``rebound``. The contact sticks if the cone has the impulse for that; else it slides in
    the direction d of the velocity after the impact, r = r_n (1, −μ d). That is closed for one direction of sliding;
    for two it is iterated. ``operator`` W (m, m) and ``velocities`` u⁻ (m,) as in `impulses`.

    None where friction may hold the contact against its normal (μ ‖W_tn‖ ≥ W_nn, Painlevé), and where directions do not
    converge.
    """
    W, u = operator.tolist(), velocities.tolist()
    compliance, missing = W[0][0], rebound - u[0]
    if not 0.0 < compliance < np.inf:
        return None
    if friction == 0.0 or missing <= 0.0 or not any(any(row[1:]) for row in W):
        found = np.zeros(len(u))
        found[0] = max(0.0, missing / compliance)
        return found
    if not friction * _size([row[0] for row in W[1:]]) < compliance:
        return None
    sticking = _sticking(W, u, missing)
    if sticking is not None and _size(sticking[1:]) <= friction * sticking[0]:
        return np.array(sticking)
    return _sliding(W, u, missing, friction, sticking)


def _size(vector: Sequence[float]) -> float:
    return sqrt(sum(x * x for x in vector))


def _sticking(W: list[list[float]], u: list[float], missing: float) -> list[float] | None:
    """Return the impulse with which one contact sticks; None where there is none, or rows depend on one another.

    Directions in which nothing moves, as across a planar mechanism, have none.
    """
    least = DEPENDENT_COMPLIANCE * max(row[k] for k, row in enumerate(W))
    moved = [k for k, row in enumerate(W) if row[k] > least]
    if 0 not in moved or any(u[k] != 0.0 for k in range(len(u)) if k not in moved):
        return None
    right = [missing, *(-x for x in u[1:])]
    # elimination of a definite matrix
    rows = [[*(W[k][j] for j in moved), right[k]] for k in moved]
    for k, row in enumerate(rows):
        if not row[k] > least:
            return None
        for other in rows[k + 1 :]:
            share = other[k] / row[k]
            for j in range(k, len(row)):
                other[j] -= share * row[j]
    found = [0.0] * len(u)
    for k in reversed(range(len(rows))):
        known = sum(rows[k][j] * found[moved[j]] for j in range(k + 1, len(rows)))
        found[moved[k]] = (rows[k][-1] - known) / rows[k][k]
    left = [sum(w * r for w, r in zip(row, found)) - b for row, b in zip(W, right)]
    return found if _size(left) <= STICKING_RESIDUAL * _size(right) else None


def _sliding(
    W: list[list[float]], u: list[float], missing: float, friction: float, sticking: list[float] | None
) -> Array | None:
    """Return the impulse with which one contact slides on; None where no direction is found."""
    before = u[1:] if any(u[1:]) or sticking is None else [-r for r in sticking[1:]]
    size = _size(before)
    if not size > 0.0:
        return None
    way = [x / size for x in before]
    for _ in range(SLIDING_ROUNDS):
        unit = [1.0, *(-friction * d for d in way)]
        normal = missing / sum(w * r for w, r in zip(W[0], unit))
        slip = [x + normal * sum(w * r for w, r in zip(row, unit)) for x, row in zip(u[1:], W[1:])]
        size = _size(slip)
        if not (normal > 0.0 and 0.0 < size < np.inf):
            return None
        other = [x / size for x in slip]
        if max(abs(x - d) for x, d in zip(other, way)) <= SAME_SLIDING:
            return np.array([normal * r for r in unit])
        way = other
    return None
