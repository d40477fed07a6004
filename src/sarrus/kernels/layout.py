"""How a compiled system is handed to the kernels: one integer table whose entries are named here.

It holds addresses of functions, addresses of arrays, dimensions and modes. Native functions of the model read the flat
input x = [q | v | u | t | p | τ] and write their outputs; a missing one has address 0. Kernels are called through
the table too (`sarrus.kernels.c_function`): so each is compiled once and on its own, and only where it is needed.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

# native functions
DYNAMICS = 0  # elimination traced: L, L⁻ᵀf, A L⁻¹, γ, N v; otherwise: M, f, A, γ, N v
POSITION = 1  # φ, A of the holonomic rows, b = A v − ψ of the holonomic rows
VELOCITY = 2  # ψ, A of all rows
RATE = 3  # N(q) v
ENERGY = 4  # T + V
CONTROL = 5  # u(q, v, t)
EVENTS = 6  # event functions
INVARIANTS = 7  # c = (φ, ψ, T + V) and ∂c/∂(tangent q, v), for projection on the energy
DIRECT = 8  # a, λ, Aᵀλ, N v and the gauge of a solve that is straight-line code, where table[DIRECT_RANK] ≥ 0
# kernels: acceleration(table, x, wanted) → rank, projection(table, x, what) → rank; negative where they fail
ACCELERATION = 9
PROJECTION = 10
# arrays: tolerances, x of the system, workspace, the chart (see `sarrus.kernels.chart`; 0 where there is none), rows of
# the multipliers that are watched
SETTINGS, STATE, WORK, CHART, WATCHED = 11, 12, 13, 14, 15
FUNCTIONS = {
    "dynamics": DYNAMICS,
    "direct": DIRECT,
    "position": POSITION,
    "velocity": VELOCITY,
    "rate": RATE,
    "energy": ENERGY,
    "invariants": INVARIANTS,
}

# dimensions and modes
NQ, NV, NU, NP, NH, NC = 16, 17, 18, 19, 20, 21
ELIMINATION = 22
N_EVENTS, N_WATCHED = 23, 24  # event functions, then multipliers that are watched like these
SIMPLE_RATE = 25  # 1 where q̇ = v
GENERIC_RANK = 26
HOLONOMIC_RANK = 27
BAUMGARTE = 28
DIRECT_RANK = 29  # rank of A for which the direct solve holds, −1 where there is none
N_QUATERNIONS = 30  # their offsets follow from QUATERNIONS on, then room for a permutation
QUATERNIONS = 31

# length that stands for that of a table whose pointer came without one
MANY = 1 << 20

# values of table[ELIMINATION]
TRACED, CHOLESKY, NULL_SPACE = 0, 1, 2

# settings
SINGULAR_CUT = 0  # relative pivot below which a direction is singular
POSITION_TOLERANCE = 1  # closure residual at which the projection stops [m, rad]
ALPHA = 2  # Baumgarte: γ + 2α ψ + β² φ
BETA = 3
EVENT_TOLERANCE = 4  # [s]
ACCEPTED_RESIDUAL = 5  # a projected step may leave this residual where Newton stagnates
NEAR = 6  # relative pivot below which the stages of a step are projected too
INCONSISTENT = 7  # relative residual of A a + γ above which a solve is inconsistent
SCALE_OF_ROWS = 8  # largest singular value of A nearby, and of A M^(−1/2)
SCALE_OF_WEIGHTED_ROWS = 9
TARGET_ENERGY = 10  # what the projection on the energy keeps [J]
CHART_LIMIT = 11  # gauge below which a chart is to be renewed
N_SETTINGS = 12


class Workspace(NamedTuple):
    """Offsets of the vectors in the flat workspace of one thread.

    ``native`` receives the output of native functions; the dynamics lie at mass (nv²), force (nv), rows
    (nc × nv), bias (nc) and velocity (nq), which start there. ``copy`` (nc × nv) is for factoring; the vectors of
    length max(nv, nc) + 1 follow. After an acceleration, a, lam, reaction (Aᵀλ) and rate (N v), one after the
    other, hold its results and facts the numbers below. ``x`` serves the projection.
    """

    native: int
    mass: int
    force: int
    rows: int
    bias: int
    velocity: int
    copy: int
    y: int
    step: int
    rhs: int
    diagonal: int
    beta: int
    beta2: int
    norms: int
    extra: int
    a: int
    lam: int
    reaction: int
    rate: int
    gauge: int
    facts: int
    x: int
    size: int


# facts of an acceleration: norm and scale of the residual A a + γ; largest pivot, smallest at the generic rank,
# first beyond it; condition number of what a formulation inverted, 0 otherwise
RESIDUAL, SCALE, LARGEST, SMALLEST, BEYOND, CONDITION, N_FACTS = 0, 1, 2, 3, 4, 5, 6
# gauge of a direct solve: smallest pivot over its diagonal entry, smallest pivot, largest diagonal entry of Â Âᵀ
CLEARANCE, LEAST_PIVOT, LARGEST_ENTRY, N_GAUGE = 0, 1, 2, 3


@njit(cache=True)
def workspace(table):
    """Return the offsets of the vectors in the workspace; ``size`` is its length."""
    nq, nv, nh, nc = table[NQ], table[NV], table[NH], table[NC]
    big = max(nv, nc) + 1
    force = nv * nv
    rows = force + nv
    bias = rows + nc * nv
    velocity = bias + nc
    copy = max(velocity + nq, nh * (nv + 2), nc * (nv + 1), nq) + 1
    y = copy + max(nc * nv, nv * nv)
    a = y + 8 * big
    rate = a + 2 * nv + nc
    gauge = rate + nq
    facts = gauge + N_GAUGE
    x = facts + N_FACTS
    return Workspace(
        0, 0, force, rows, bias, velocity, copy,
        y, y + big, y + 2 * big, y + 3 * big, y + 4 * big, y + 5 * big, y + 6 * big, y + 7 * big,
        a, a + nv, a + nv + nc, rate, gauge, facts, x, x + input_size(table) + nq + 1,
    )  # fmt: skip


@njit(cache=True)
def input_size(table):
    """Return the length of x."""
    return table[NQ] + 2 * table[NV] + table[NU] + 1 + table[NP]
