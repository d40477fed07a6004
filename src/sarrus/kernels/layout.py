"""How a compiled system is handed to the kernels: flat arrays whose entries are named here.

``addresses`` holds native functions, all of the flat input x = [q | v | u | t | p]; ``sizes`` the
dimensions and modes; ``settings`` the tolerances. A missing function has address 0.
"""

from __future__ import annotations

from numba import njit

# addresses
DYNAMICS = 0  # elimination traced: L, L⁻ᵀf, A L⁻¹, γ, N v; otherwise: M, f, A, γ, N v
POSITION = 1  # φ, A of the holonomic rows, b = A v − ψ of the holonomic rows
VELOCITY = 2  # ψ, A of all rows
RATE = 3  # N(q) v
ENERGY = 4  # T + V
CONTROL = 5  # u(q, v, t)
EVENTS = 6  # event functions
INVARIANTS = 7  # c = (φ, ψ, T + V) and ∂c/∂(tangent q, v), for projection on the energy
N_ADDRESSES = 8
FUNCTIONS = {
    "dynamics": DYNAMICS,
    "position": POSITION,
    "velocity": VELOCITY,
    "rate": RATE,
    "energy": ENERGY,
    "invariants": INVARIANTS,
}

# sizes
NQ, NV, NU, NP, NH, NC = 0, 1, 2, 3, 4, 5
ELIMINATION = 6
N_QUATERNIONS = 7  # their offsets follow from QUATERNIONS on
N_EVENTS = 8
SIMPLE_RATE = 9  # 1 where q̇ = v
GENERIC_RANK = 10
BAUMGARTE = 11
HOLONOMIC_RANK = 12
QUATERNIONS = 13

# values of sizes[ELIMINATION]
TRACED, CHOLESKY, NULL_SPACE = 0, 1, 2

# settings
SINGULAR_CUT = 0  # relative pivot below which a direction is singular
POSITION_TOLERANCE = 1  # closure residual at which the projection stops [m, rad]
ALPHA = 2  # Baumgarte: γ + 2α ψ + β² φ
BETA = 3
EVENT_TOLERANCE = 4  # [s]
ACCEPTED_RESIDUAL = 5  # a projected step may leave this residual where Newton stagnates
NEAR = 6  # relative pivot below which the stages of a step are projected too
N_SETTINGS = 7


@njit(cache=True)
def dynamics_size(sizes):
    """Return the length of the output of the native dynamics."""
    nq, nv, nc = sizes[NQ], sizes[NV], sizes[NC]
    return nv * nv + nv + nc * nv + nc + nq


@njit(cache=True)
def work_size(sizes):
    """Return the length of the float workspace of one acceleration or projection."""
    nv, nc = sizes[NV], sizes[NC]
    big = max(nv, nc) + 1
    return dynamics_size(sizes) + nc * nv + nc + nv * nv + 12 * big


@njit(cache=True)
def input_size(sizes):
    """Return the length of x."""
    return sizes[NQ] + sizes[NV] + sizes[NU] + 1 + sizes[NP]
