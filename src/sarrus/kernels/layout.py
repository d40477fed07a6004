"""How a compiled system is handed to the kernels: one integer table whose entries are named here.

It holds addresses of functions, addresses of arrays, dimensions and modes. Native functions of the model read the flat
input x = [q | v | u | t | p | τ] and write their outputs; a missing one has address 0. Kernels are called through
the table too (`sarrus.kernels.c_function`): so each is compiled once and on its own, and only where it is needed.

This module is what Python and the kernels share; the functions here are compiled into the kernels too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
CHECKED = 58  # what DIRECT writes, and two numbers more that say how good it is; for single answers
METRIC = 59  # L with LᵀL = M where the elimination is traced, else M; see `CompiledEquations.metric`
# where the elimination is traced, for projections: φ, A L⁻¹ and ψ of the holonomic rows, L; and ψ, A L⁻¹ of all rows, L
CLOSING, SLIPPING = 61, 62
# where M may be singular at single configurations: M, f, A, γ, N v (native) and the kernel that solves with them in the
# null space of A (0: none)
WHOLE, NULL_SPACE_SOLVE = 64, 65
# kernels: acceleration(table, x, wanted) → rank, projection(table, x, what) → rank; negative where they fail
ACCELERATION = 9
PROJECTION = 10
# arrays: tolerances, x of the system, workspace, the chart (see `sarrus.kernels.chart`; 0 where there is none), rows of
# the multipliers that are watched
SETTINGS, STATE, WORK, CHART, WATCHED = 11, 12, 13, 14, 15
FUNCTIONS = {
    "dynamics": DYNAMICS,
    "direct": DIRECT,
    "checked": CHECKED,
    "position": POSITION,
    "velocity": VELOCITY,
    "rate": RATE,
    "energy": ENERGY,
    "invariants": INVARIANTS,
    "metric": METRIC,
    "closing": CLOSING,
    "slipping": SLIPPING,
    "whole": WHOLE,
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
# of a run of the time loop. Addresses of the limits of the controls (lower, then upper); of the weights of the method
# (stages, end, nodes, error estimates); of the run's state, records, event modes, event values, event log
BOUNDS = 30
STAGE_WEIGHTS, END_WEIGHTS, NODES, ERROR_WEIGHTS = 31, 32, 33, 34
RUN, RECORDS, MODES, VALUES, LOG = 35, 36, 37, 38, 39
# numbers of stages and of error estimates, room in the log; what is projected, and after how many steps
N_STAGES, N_ERRORS, LOG_ROOM = 40, 41, 42
PROJECT, PROJECT_EVERY = 43, 44
LAW, LAW_KERNEL = 45, 46  # the table of a control law (see `sarrus.kernels.law_layout`), and its kernel
# of an implicit method: the kernel that takes a step (0: the method is explicit); the derivatives of the equations and
# N(q), native; the coefficients and their number of stages; the array `local_array`
IMPLICIT, LINEAR, RATE_MATRIX, SCHEME, N_IMPLICIT_STAGES, LOCAL = 47, 48, 49, 50, 51, 52
# of a law that is sampled: whether controls are held; the ring of controls on their way, the state that the law sees,
# the noise of every sample (0: none)
HELD, RING, SEEN, NOISE = 53, 54, 55, 56
BATCH = 57  # the table of many runs, see `sarrus.kernels.batch_layout`
PASSAGE = 60  # the array where singular passages are noted, see `sarrus.kernels.passage_layout` (0: none are)
TIMES = 63  # the array of times at which a run is recorded besides
N_QUATERNIONS = 66  # their offsets follow from QUATERNIONS on, then room for a permutation
QUATERNIONS = 67

# A quaternion whose squared length is this near to one counts as a rotation.
UNIT = 1e-12

# values of table[ELIMINATION]
TRACED, CHOLESKY, NULL_SPACE = 0, 1, 2

# What is wanted of an acceleration: a alone; λ and Aᵀλ too; the pivots too, which only the rank-revealing
# factorisation knows; these with the residuals looked at, as they are for an answer.
SLOPE, ANSWER, PIVOTS, VERIFIED = 0, 1, 2, 3
# What became of a solve, numbers of `sarrus.base.status.Status`; `sarrus.kernels.forward` returns the rank plus
# `STRIDE` × one of these. Negative: no answer.
COMPLETE_ANSWER, SINGULAR_ANSWER, INCONSISTENT_ANSWER, ILL_CONDITIONED_ANSWER, ALMOST_ANSWER = 0, 1, 2, 17, 18
STRIDE = 1 << 20
NO_ANSWER, WRONG_LENGTH, NOT_ARRAYS, NOT_UNIT = -1, -3, -4, -5
# What to project: nothing, velocities, positions and velocities, these and the energy.
NOTHING, VELOCITIES, CONSTRAINTS, CONSTRAINTS_AND_ENERGY = 0, 1, 2, 3

# settings
SINGULAR_CUT = 0  # relative pivot below which a direction is singular
POSITION_TOLERANCE = 1  # closure residual at which the projection stops [characteristic length, rad]
ALPHA = 2  # Baumgarte: γ + 2α ψ + β² φ
BETA = 3
EVENT_TOLERANCE = 4  # [s]
ACCEPTED_RESIDUAL = 5  # a projected step may leave this residual where Newton stagnates
NEAR = 6  # relative pivot below which the stages of a step are projected too
INCONSISTENT = 7  # relative contradiction of rows above which a solve is inconsistent
SCALE_OF_ROWS = 8  # largest singular value of A nearby, and of A M^(−1/2)
SCALE_OF_WEIGHTED_ROWS = 9
TARGET_ENERGY = 10  # what the projection on the energy keeps [J]
CHART_LIMIT = 11  # gauge below which a chart is to be renewed
SCALE_OF_EVEN_ROWS = 12  # largest singular value nearby of A M^(−1/2) with its rows in characteristic units
SIZE_OF_ENERGY = 13  # characteristic mass × (characteristic length per second)² [J]
SCALE_OF_MEASURED_ROWS = (
    14  # largest singular value nearby of A with rows and velocities in characteristic units
)
SHORTEST_CLOSING = 15  # a projection that fails after a shorter step ends the run [s], 0: it is tried again
N_SETTINGS = 16
# Then follow the factors that make rows (nc) and velocities (nv) comparable, see `sarrus.dynamics.characteristic`; for
# every row the first one of its closure; and the factors of coordinates (nq).
FACTORS = N_SETTINGS

# Relative residual of an answer, where rows are independent; dependent ones are met to `Options.inconsistent`.
MET = 1e-9
# Condition number of M, each coordinate in units of its own √M_kk, up to which sums in the kinetic metric are about as
# large as those in A a + γ; and from which on a may be wrong by more than 1e-6.
FAIR, ILL = 1e4, 1e-6 / 2.2e-16
# From this one on the null space of A is looked at instead, where the table has WHOLE; from the second one on M is no
# metric; from the third one on a pivot of M is rounding, and M is singular.
HEAVY, NO_METRIC, SINGULAR_MASS = 1e8, 1e12, 1e15


class Workspace(NamedTuple):
    """Offsets of the vectors in the flat workspace of one thread.

    ``native`` receives the output of native functions; the dynamics lie at mass (nv²), force (nv), rows
    (nc × nv), bias (nc) and velocity (nq), which start there. ``copy`` (nc × nv) is for factoring, ``metric`` (nv × nv)
    the factor of the metric of a projection; the vectors of length max(nv, nc) + 1 follow. After an acceleration, a,
    lam, reaction (Aᵀλ) and rate (N v), one after the other, hold its results and facts the numbers below. ``x``
    serves the projection, ``spare`` what needs more room: Baumgarte's terms, and Newton's method for the energy.
    """

    native: int
    mass: int
    force: int
    rows: int
    bias: int
    velocity: int
    copy: int
    metric: int
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
    spare: int
    size: int


# facts of an acceleration: norm of the residual A a + γ and what became of the solve, if more than a is wanted; largest
# pivot, smallest at the generic rank, first beyond it; condition number of what a formulation inverted, 0 otherwise;
# how far dependent rows contradict others, the largest relative residual, and the largest M_kk/L_kk², the condition
# number of M where every coordinate is measured in 1/√M_kk
RESIDUAL, OUTCOME, LARGEST, SMALLEST, BEYOND, CONDITION = 0, 1, 2, 3, 4, 5
CONTRADICTION, UNMET, WEAKEST, N_FACTS = 6, 7, 8, 9
# gauge of a direct solve: smallest pivot over its diagonal entry, smallest pivot, largest diagonal entry of Â Âᵀ; of a
# checked one also the largest relative residual of A a + γ, and the largest M_kk/L_kk²
CLEARANCE, LEAST_PIVOT, LARGEST_ENTRY, N_GAUGE = 0, 1, 2, 3
MISSED, WEAKEST_MASS, N_CHECKS = 3, 4, 2


def workspace(table):
    """Return the offsets of the vectors in the workspace; ``size`` is its length."""
    nq, nv, nh, nc = table[NQ], table[NV], table[NH], table[NC]
    big = max(nv, nc) + 1
    force = nv * nv
    rows = force + nv
    bias = rows + nc * nv
    velocity = bias + nc
    copy = max(velocity + nq, nh * (nv + 2) + nv * nv, nc * (nv + 1) + nv * nv, nq) + 1
    metric = copy + max(nc * nv, nv * nv)
    y = metric + nv * nv
    a = y + 8 * big
    rate = a + 2 * nv + nc
    gauge = rate + nq
    facts = gauge + N_GAUGE + N_CHECKS
    x = facts + N_FACTS
    spare = x + input_size(table) + nq + 1
    m, n = nh + nc + 1, 2 * nv
    room = max(nh * (nv + 2), nc * (nv + 1), m * n + m + 7 * (m + n) + nq + input_size(table))
    return Workspace(
        0, 0, force, rows, bias, velocity, copy, metric,
        y, y + big, y + 2 * big, y + 3 * big, y + 4 * big, y + 5 * big, y + 6 * big, y + 7 * big,
        a, a + nv, a + nv + nc, rate, gauge, facts, x, spare, spare + room,
    )  # fmt: skip


def input_size(table):
    """Return the length of x."""
    return table[NQ] + 2 * table[NV] + table[NU] + 1 + table[NP]


def run_storage(table: np.ndarray) -> int:
    """Return the length of the array at table[WORK] in a run: workspace, slopes, two inputs, event values twice."""
    n = table[NQ] + table[NV]
    events = table[N_EVENTS] + table[N_WATCHED]
    return int(workspace(table).size + (table[N_STAGES] + 1) * n + 2 * input_size(table) + 3 * events + 1)


# The array at table[CHART]: smallest pivot of W T at the last projection and at the end of the step before; whether
# Newton failed to contract since then; W for positions (nv − holonomic rank rows), W for velocities (nv − rank rows),
# room to work in.
CHART_GAUGE, CHART_GAUGE_BEFORE, CHART_FAILED, CHART_ROWS = 0, 1, 2, 3


def chart_size(nv: int, nc: int) -> int:
    """Return the length of the array at table[CHART]."""
    return CHART_ROWS + 2 * nv * nv + (nc + nv) * nv + 9 * (nc + nv + 1)


# The array at table[LOCAL] begins as the one at table[CHART], whose first numbers a projection along a chart notes;
# then come the length of the step asked for and whether a linear model is there.
LOCAL_STEP, LOCAL_VALID, LOCAL_HEADER = 3, 4, 5


class LocalArray(NamedTuple):
    """Offsets in the array of an implicit method: local coordinates about a state, and the linear model in them.

    ``start`` holds [x | a | λ] where the step begins, ``ranks`` those of A there, ``state`` the x of a stage. ``terms``
    receives the derivatives in the order of `sarrus.simulation.local_model.TERMS`. Of the directions (y, η, t), one
    after the other, ``place`` has N⁺δq for y and t, ``along`` δv for all; ``motions`` are the rows of η = Zᵀ v,
    ``coordinates`` those of y = R q. ``model`` is [J | ḟ] by rows, ``matrix`` I/(h γ) − J, ``stages`` the u_i.
    """

    start: int
    ranks: int
    state: int
    terms: int
    place: int
    along: int
    motions: int
    coordinates: int
    turned: int
    rates: int
    first_rates: int
    model: int
    matrix: int
    swaps: int
    stages: int
    change: int
    inertia: int
    way: int
    force: int
    bias: int
    control: int
    work: int
    size: int


def local_array(table):
    """Return the offsets in the array at table[LOCAL]; ``size`` is its length."""
    nq, nv, nu, nc = table[NQ], table[NV], table[NU], table[NC]
    n, big = 2 * nv, max(nv, nc) + 1
    start = LOCAL_HEADER
    ranks = start + input_size(table) + nv + nc
    state = ranks + 2
    terms = state + input_size(table)
    place = terms + 3 * nv * nv + nv + nc * (4 * nv + 2) + nv * nu + nq * (nv + 1)
    along = place + (nv + 1) * nv
    motions = along + (n + 1) * nv
    coordinates = motions + nv * nv
    turned = coordinates + nv * nq
    rates = turned + nv * nv
    first_rates = rates + nq * nv
    model = first_rates + nq * nv
    matrix = model + n * (n + 1)
    swaps = matrix + n * n
    stages = swaps + n
    change = stages + table[N_IMPLICIT_STAGES] * n
    inertia = change + n
    way = inertia + nv * nv
    force = way + nq
    bias = force + big
    control = bias + big
    work = control + nu
    size = work + nv * nc + nv * nv + 9 * (nv + nc + 1)
    return LocalArray(
        start, ranks, state, terms, place, along, motions, coordinates, turned, rates, first_rates, model, matrix,
        swaps, stages, change, inertia, way, force, bias, control, work, size,
    )  # fmt: skip
