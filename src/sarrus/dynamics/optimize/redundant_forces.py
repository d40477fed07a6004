"""Statically indeterminate contact forces, distributed far from the friction limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.cone_program import solve_cone_program
from sarrus.dynamics.optimize.tolerances import EVEN_SHARES
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT


def share(delassus: Array, forces: Array, sizes: Sequence[int], coefficients: Sequence[float]) -> Array:
    """Return forces (m,) with the same effect W r as the given ones and the smallest share of the available friction.

    This is the least s with ‖r_t‖ ≤ μ (r_n − (1 − s) r⁰_n) in all contacts, r⁰ the given forces, and r_n ≥ (1 − s) r⁰_n
    in frictionless ones: s < 1 exactly if other forces with the same effect are inside the limits. A small weight on
    the sum of squares, of friction and of changes of normal forces in units of μ r⁰_n, moves contacts that do not
    determine s away from their limits too.

    Parameters
    ----------
    delassus : (m, m) W; forces r have the same effect if W r is the same.
    forces : (m,) r⁰, within the laws, with positive normal forces.
    sizes, coefficients : number of rows (the normal one first) and μ of each block; a block of one row has no friction.

    Without redundant rows, or without better forces, the given forces are returned.
    """
    null = ranked(delassus, relative=FINE_RANK_CUT).null
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    normal = np.isin(np.arange(len(forces)), first)
    parts = [mu if n > 1 else 1.0 for n, mu in zip(sizes, coefficients)]
    room = np.repeat(forces[first] * parts, sizes)
    if null.shape[1] == 0 or not (room > 0.0).all():
        return forces
    # unknowns are the coefficients of null vectors and s; rows are in units of μ r⁰_n of their contact
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
