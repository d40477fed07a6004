"""Sharing: forces of redundant contacts that stick, as far from the limits of friction as they can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.cone_program import solve_cone_program
from sarrus.dynamics.optimize.tolerances import EVEN_SHARES
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT


def share(operator: Array, forces: Array, sizes: Sequence[int], coefficients: Sequence[float]) -> Array:
    """Return forces (m,) that do what the given ones do and need the least part of the friction that there is.

    That is the least s with ‖r_t‖ ≤ μ (r_n − (1 − s) r⁰_n) in all contacts, r⁰ the given forces, and r_n ≥ (1 − s) r⁰_n
    in those without friction: below one exactly where other forces than such at a limit do the same. A small sum of
    squares, of friction and of changes of normal forces in parts of μ r⁰_n, keeps those that s does not bind away
    from their limits too.

    Parameters
    ----------
    operator : (m, m) W, by which forces do the same where W r is the same.
    forces : (m,) r⁰, within the laws, normal forces above zero.
    sizes, coefficients : of each block of rows, the normal one first, its number of rows and μ; one of one row has no
        friction.

    Where no row is redundant, or no better forces are found, those are the given ones.
    """
    null = ranked(operator, relative=FINE_RANK_CUT).null
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    normal = np.isin(np.arange(len(forces)), first)
    parts = [mu if n > 1 else 1.0 for n, mu in zip(sizes, coefficients)]
    room = np.repeat(forces[first] * parts, sizes)
    if null.shape[1] == 0 or not (room > 0.0).all():
        return forces
    # Unknowns are the parts of null vectors and s; rows are in units of the room of their contact.
    moves = np.hstack([null / room[:, None], np.zeros((len(forces), 1))])
    held, normals = np.where(normal, 0.0, forces / room), moves * np.repeat(parts, sizes)[:, None]
    normals[:, -1] = 1.0
    G, single = -np.where(normal[:, None], normals, moves), np.repeat(sizes, sizes) == 1
    order = np.argsort(~single, kind="stable")  # half-lines first
    q = EVEN_SHARES * dense.product(moves.T, held)
    q[-1] = 1.0
    squares, cones = EVEN_SHARES * dense.product(moves.T, moves), [n for n in sizes if n > 1]
    found = solve_cone_program(squares, q, G[order], held[order], cones=cones, throw=False)
    return forces + dense.product(null, found.x[:-1]) if found.status.ok else forces


def on_springs(operator: Array, normals: Sequence[int]) -> Array | None:
    """Return W (m, m) with equal springs in the ways that change the normal forces ``normals`` and nothing else.

    Rigid bodies leave those forces open, N = N₀ + Z y with W Z = 0. With a compliance along Z the answer to a contact
    problem in which all of them push has Zᵀ N = 0, as a plate on equal springs, and the motion is what it was; one that
    would have to pull goes without force, though the others might press it down. Where statics determines all of them
    that is None.
    """
    if len(normals) < 2:
        return None
    own = operator[np.ix_(normals, normals)]
    null = ranked(own, relative=FINE_RANK_CUT).null
    if null.shape[1] == 0:
        return None
    sprung = operator.copy()
    sprung[np.ix_(normals, normals)] += np.trace(own) / len(normals) * dense.product(null, null.T)
    return sprung
