"""Table of a control law for its kernel (`sarrus.kernels.laws.hierarchy`).

The native function of a law reads its own input [q | v | u = 0 | t | p | τ = 0 | settings of the law | period]. It
writes M, f, A, γ, Sᵀ (nu × nv), the rows J of the demands, their right-hand sides, the rows E on the multipliers (if
any) and on the unknowns, the demanded generalized forces, the states of the law at the next sample, and for each
contact whether it is closed and the share of its largest force that is allowed.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.law_contact_layout import ContactTable
from sarrus.kernels.memory.record import Floats, Record, view_fields


class LawSettings(Record):
    """Tolerances of a control law, at ``table.settings``."""

    singular_cut: float
    scale_of_rows: float
    level_cut: float
    damping: float  # relative size below which directions of a level are damped, 0: none


class LawTable(Record, of=int):
    """Sizes, functions and arrays of a control law.

    After the fields follow kind, first row or force, and number of rows of each level; the rows of the measured
    multipliers; the index of each state in the input; and room for a permutation.
    """

    nq: int
    nv: int
    nu: int
    nc: int
    generic_rank: int  # of A at closed configurations
    n_demands: int  # rows J
    n_forces: int  # generalized forces
    on_multipliers: int  # whether there are rows E
    native: int  # function of the model
    own: Floats  # its input
    work: Floats
    settings: Annotated[Any, LawSettings]
    roots: Floats
    preferred: Floats
    answer: Floats
    # memory
    n_measured: int  # multipliers of the plant
    measured: int  # where they go in the input, after an entry that is 1 when they are known
    n_states: int
    period: int  # where it is in the input
    # of laws whose unknowns are the actuators and the forces of contacts: nu counts all of them
    actuators: int
    on_unknowns: int  # whether there are rows on the unknowns
    on_activity: int  # whether rows come and go
    on_gap: int  # whether there are loops that may be open
    n_contacts: int
    contacts: Annotated[Any, ContactTable]
    n_levels: int
    n_used: int  # the first of them, which count
    # of laws that know the contacts of the plant, see `sarrus.kernels.laws.plant_contacts`
    own_unknowns: (
        int  # unknowns that the native function knows; forces of closed contacts of the plant come after them
    )
    phase_rows: int  # rows of all PHASE levels
    phase: Floats  # generalized force of sliding dry friction, then these rows, each with its right-hand side


LEVELS = len(LawTable.fields)

# Modes of a call: u alone; u, and then the memory of the law advances by a period.
ANSWER_ONLY, SAMPLE = 0, 1

# Kinds of a level: rows J a + E λ = r; a generalized force, as far as the motions see it; rows J a + E λ ≤ r; rows
# J a = r of ``table.phase``.
ROWS, FORCE, AT_MOST, PHASE = 0, 1, 2, 3

# in the answer after u: the rank of A, and for each level its rank, the norm of what is left of it, and of what was
# demanded
PER_LEVEL = 3


class LawWorkspace(NamedTuple):
    """Workspace of a law: the output of the native function, then vectors and matrices."""

    mass: Any  # nv × nv
    force: Any  # nv
    rows: Any  # nc × nv
    bias: Any  # nc
    actuation: Any  # base × nv
    demands: Any  # rows J
    wanted: Any  # their right-hand sides
    couplings: Any  # rows E
    selections: Any  # rows on the unknowns
    active: Any  # which rows count
    forces: Any
    memory: Any  # the states at the next sample
    gap: Any  # by how much the loops are open
    contacts: Any  # whether they are closed, and the shares of their largest forces
    # vectors, among them a(0), M a(0) − f and a constraint force
    motion: Any
    load: Any
    constraint: Any
    diagonal: Any
    beta: Any
    beta2: Any
    norms: Any
    along: Any
    y: Any
    step: Any
    # matrices
    basis: Any  # Zᵀ
    product: Any  # Zᵀ M
    inner: Any  # L of M₂₂ = LᵀL
    push: Any  # L⁻ᵀ Zᵀ S, a row for each motion
    gains: Any  # M₂₂⁻¹ Zᵀ S, likewise
    spanned: Any  # Z, a row for each velocity
    gained: Any  # contribution of each unknown to the acceleration along the last row
    sizes: Any  # of the terms of that sum
    reaction: Any  # change of λ with each control
    rest: Any  # λ without controls
    panel: Any
    table: Any  # T of all levels
    right: Any  # d
    turned: Any  # unknowns
    idle: Any  # whether an unknown moves nothing, as the force of an open contact
    pushing: Any  # rows of all unknowns, nu × nv, where some are forces of the plant
    # a level's rows turned so that they are at right angles, and how
    spread: Any
    spin: Any


def law_sizes(table: LawTable):
    """Return the lengths of the arrays in the workspace of a law."""
    nv, nu, nc = table.nv, table.nu, table.nc
    n_demands, n_forces = table.n_demands, table.n_forces
    total = n_demands + nv * table.n_levels + table.phase_rows
    longest = n_demands + nv + table.phase_rows
    big = nv + nu + nc + n_demands + table.phase_rows + 1
    return LawWorkspace(
        mass=nv * nv, force=nv, rows=nc * nv, bias=nc, actuation=table.own_unknowns * nv, demands=n_demands * nv,
        wanted=n_demands,
        couplings=n_demands * nc * table.on_multipliers, selections=n_demands * table.own_unknowns * table.on_unknowns,
        active=n_demands * table.on_activity,
        forces=n_forces * nv, memory=table.n_states, gap=table.on_gap, contacts=2 * table.n_contacts,
        motion=big, load=big, constraint=big, diagonal=big, beta=big, beta2=big, norms=big, along=big, y=big, step=big,
        basis=nv * nv, product=nv * nv, inner=nv * nv, push=nu * nv, gains=nu * nv,
        spanned=nv * nv, gained=nu, sizes=max(nu, nv), reaction=nu * nc, rest=nc,
        panel=longest * nu, table=total * nu, right=total, turned=nu * nu, idle=nu,
        pushing=nu * nv if nu > table.own_unknowns else 0, spread=longest * nu, spin=longest * longest,
    )  # fmt: skip


def law_workspace(table: LawTable):
    """Return the arrays in the workspace of a law, views of ``table.work``."""
    return view_fields(table.work, law_sizes(table))


def pushes_of(table: LawTable, work: LawWorkspace):
    """Return the rows (nu, nv) along which the unknowns push."""
    return work.pushing if table.nu > table.own_unknowns else work.actuation


def place_of_states(table: LawTable):
    """Return the index in the table of the list that gives the index of each state in the input."""
    return LEVELS + 3 * table.n_levels + table.n_measured


def law_permutation(table: LawTable):
    """Return the pointer to the room for a permutation."""
    return table + (place_of_states(table) + table.n_states)
