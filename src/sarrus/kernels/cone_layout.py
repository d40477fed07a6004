"""How a cone program is handed to its kernel (`sarrus.kernels.cone_program`): a table whose entries are named here.

The program: minimise ½ xᵀP x + qᵀx subject to A x = b and h − G x = s ∈ K, where K is the product of ``LINEAR``
half-lines s ≥ 0 and ``CONES`` second-order cones ‖(s₁, s₂, …)‖ ≤ s₀, in that order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

VARIABLES, EQUALITIES, LINEAR, CONES = 0, 1, 2, 3
DATA, WORK, ANSWER, LIMITS = 4, 5, 6, 7  # addresses; DATA: P, q, A, b, G, h one after the other
SIZES = 8  # of the second-order cones; then room for permutations of equalities, rows and variables

# What is asked for: begin from the data, or from x, s and z in the answer.
COLD, WARM = 0, 1

# What is answered.
SOLVED, INFEASIBLE, UNBOUNDED, STALLED, CONTRADICTING, INDEFINITE, ASYMMETRIC, BAD_DATA, NOT_FINITE = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    -1,
)

# limits: what gap and residuals are to reach, what they must reach where rounding stops them, iterations; how far from
# the boundary a warm start begins
TARGET, ACCEPTED, ITERATIONS, WARM_SHIFT, N_LIMITS = 0, 1, 2, 3, 4

# facts at the end of the answer, after x, s, z and the multipliers of the equalities
COUNT, PRIMAL, DUAL, GAP, COST, DUAL_COST, RANK, N_FACTS = 0, 1, 2, 3, 4, 5, 6, 7


class ConeWorkspace(NamedTuple):
    """Offsets in the workspace of `sarrus.kernels.interior_point` for n variables and m rows.

    ``quadratic`` P (n²), ``linear`` q, ``rows`` G (m × n) and ``limits`` h are the program and stay as they are;
    ``x``, ``s``, ``z`` its solution. What follows is scaled: ``p``, ``q``, ``g``, ``h``, the iterate ``xx``, ``ss``,
    ``zz``, the scaling by ``w`` and ``eta`` and λ = W z = W⁻¹ s, ``turned`` W⁻¹ G and ``normal`` P + Gᵀ W⁻² G.
    """

    quadratic: int
    linear: int
    rows: int
    limits: int
    x: int
    s: int
    z: int
    iterations: int
    p: int
    q: int
    g: int
    h: int
    columns: int
    weights: int
    xx: int
    ss: int
    zz: int
    w: int
    eta: int
    lam: int
    turned: int
    normal: int
    dual: int
    primal: int
    px: int
    offset: int
    x1: int
    z1: int
    x2: int
    z2: int
    rest: int
    rhs_x: int
    rhs_z: int
    ds: int
    centred: int
    missed: int
    change: int
    root: int
    spare: int
    inner: int
    kind: int
    trial: int
    trial_s: int
    trial_z: int
    along: int
    reduced: int
    slope: int
    fall: int
    pull: int
    best: int
    size: int


def cone_workspace(n, m):
    """Return the offsets for n variables and m rows; ``size`` is the length."""
    linear = n * n
    rows = linear + n
    limits = rows + m * n
    x = limits + m
    s = x + n
    z = s + m
    iterations = z + m
    p = iterations + 1
    q = p + n * n
    g = q + n
    h = g + m * n
    columns = h + m
    weights = columns + n
    xx = weights + m
    ss = xx + n
    zz = ss + m
    w = zz + m
    eta = w + m
    lam = eta + m
    turned = lam + m
    normal = turned + m * n
    dual = normal + n * n
    primal = dual + n
    px = primal + m
    offset = px + n
    x1 = offset + m
    z1 = x1 + n
    x2 = z1 + max(m, n)
    z2 = x2 + n
    rest = z2 + max(m, n)
    rhs_x = rest + n
    rhs_z = rhs_x + n
    ds = rhs_z + m
    centred = ds + m
    missed = centred + m
    change = missed + m
    root = change + m
    spare = root + n * n
    inner = spare + m * n
    kind = inner + n
    trial = kind + m
    trial_s = trial + n
    trial_z = trial_s + m
    along = trial_z + m
    reduced = along + n * n
    slope = reduced + n * n
    fall = slope + n
    pull = fall + n
    best = pull + n
    return ConeWorkspace(
        0, linear, rows, limits, x, s, z, iterations, p, q, g, h, columns, weights, xx, ss, zz, w, eta, lam, turned,
        normal, dual, primal, px, offset, x1, z1, x2, z2, rest, rhs_x, rhs_z, ds, centred,
        missed, change, root, spare, inner, kind, trial, trial_s,
        trial_z, along, reduced, slope, fall, pull, best, best + n + 2 * m,
    )  # fmt: skip


def program_storage(table: np.ndarray) -> tuple[int, int, int]:
    """Return the lengths of data, workspace and answer of a program."""
    n, e = int(table[VARIABLES]), int(table[EQUALITIES])
    m = int(table[LINEAR] + table[SIZES : SIZES + table[CONES]].sum())
    data = n * n + n + e * n + e + m * n + m
    return data, equality_workspace(n, e, m).size, n + 2 * m + e + N_FACTS


class EqualityWorkspace(NamedTuple):
    """Offsets behind those of the reduced program: the factored A, an orthonormal basis of its null space, vectors."""

    rows: int
    basis: int
    particular: int
    vectors: int
    big: int
    size: int


def equality_workspace(n, e, m):
    """Return the offsets; those of the interior-point method come first, for as many variables as there can be."""
    rows = cone_workspace(n, m).size
    basis = rows + e * n
    particular = basis + n * n
    vectors = particular + n
    big = max(n, max(e, m)) + 1
    return EqualityWorkspace(rows, basis, particular, vectors, big, vectors + 9 * big)
