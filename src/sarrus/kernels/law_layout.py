"""How a control law is handed to its kernel (`sarrus.kernels.command`): a table of its own, with entries named here.

The native function of a law reads its own input [q | v | u = 0 | t | p | τ = 0 | settings of the law] and writes M,
f, A, γ, Sᵀ (nu × nv), the rows J of the demands, their right-hand sides, the rows E on the multipliers (where there
are any) and on the unknowns, the generalized forces that are demanded, the rates of the law's memory, and of each
contact whether it is closed and which share of its largest force it may have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

NQ, NV, NU, NC = 0, 1, 2, 3
RANK = 4  # rank of A at generic closed configurations
N_DEMANDS, N_FORCES, ON_MULTIPLIERS = 5, 6, 7  # rows J; generalized forces; whether there are rows E
NATIVE, INPUT, WORK, SETTINGS, ROOTS, WISH, ANSWER = 8, 9, 10, 11, 12, 13, 14  # addresses
# memory: how many multipliers of the plant are measured, where they go in the input (after an entry that is 1 when they
# are known); how many states there are, and where
N_MEASURED, MEASURED, N_STATES, STATES = 15, 16, 17, 18
# of laws whose unknowns are the actuators and the forces of contacts: NU counts all of them, ACTUATORS the former;
# whether there are rows on the unknowns; how many contacts; the table of these (see `sarrus.kernels.contact_layout`)
ACTUATORS, ON_UNKNOWNS, N_CONTACTS, CONTACTS = 19, 20, 21, 22
N_LEVELS = 23
# kind, first row or force, and number of rows of each level; the rows of the multipliers that are measured; then room
# for a permutation
LEVELS = 24

# What a law is called for: u; u, after which its memory goes on by a period.
ANSWER_ONLY, SAMPLE = 0, 1

# Kinds of a level: rows J a + E λ = r; a generalized force, as far as the motions see it.
ROWS, FORCE = 0, 1

# settings
SINGULAR_CUT, SCALE_OF_ROWS, LEVEL_CUT, PERIOD, N_SETTINGS = 0, 1, 2, 3, 4
# in the answer after u: the rank of A, and for each level its rank, the norm of what is left of it, and of what was
# demanded
PER_LEVEL = 3


class LawWorkspace(NamedTuple):
    """Offsets in the workspace of a law: what the native function writes, then vectors and matrices."""

    mass: int
    force: int
    rows: int
    bias: int
    actuation: int
    demands: int
    wanted: int
    couplings: int
    selections: int
    forces: int
    memory: int
    contacts: int
    vectors: int
    big: int
    basis: int
    product: int
    inner: int
    push: int
    gain: int
    reaction: int
    rest: int
    panel: int
    table: int
    right: int
    turned: int
    size: int


def law_workspace(table: np.ndarray) -> LawWorkspace:
    """Return the offsets; ``size`` is the length of the workspace."""
    nv, nu, nc = table[NV], table[NU], table[NC]
    n_demands, n_forces = table[N_DEMANDS], table[N_FORCES]
    total = n_demands + nv * table[N_LEVELS]
    force = nv * nv
    rows = force + nv
    bias = rows + nc * nv
    actuation = bias + nc
    demands = actuation + nu * nv
    wanted = demands + n_demands * nv
    couplings = wanted + n_demands
    selections = couplings + n_demands * nc * table[ON_MULTIPLIERS]
    forces = selections + n_demands * nu * table[ON_UNKNOWNS]
    memory = forces + n_forces * nv
    contacts = memory + table[N_STATES]
    vectors = contacts + 2 * table[N_CONTACTS]
    big = nv + nu + nc + n_demands + 1
    basis = vectors + 10 * big
    product = basis + nv * nv
    inner = product + nv * nv
    push = inner + nv * nv
    gain = push + nu * nv
    reaction = gain + nu * nv
    rest = reaction + nu * nc
    panel = rest + nc
    rows_of_levels = panel + (n_demands + nv) * nu
    right = rows_of_levels + total * nu
    turned = right + total
    return LawWorkspace(
        0, force, rows, bias, actuation, demands, wanted, couplings, selections, forces, memory, contacts, vectors,
        big, basis, product, inner, push, gain, reaction, rest, panel, rows_of_levels, right, turned, turned + nu * nu,
    )  # fmt: skip
