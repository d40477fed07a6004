"""Table of a compiled system for the kernels: one record of integers, and the arrays that it points to.

The table holds addresses of functions, addresses of arrays, dimensions and modes. Native functions of the model read
the flat input x = [q | v | u | t | p | τ] and write their outputs; a missing function has address 0. Kernels are
called through the table, too (`sarrus.kernels.platform.c_function`): each kernel is compiled once, separately, and
only if it is needed.

Python and the kernels share this module; its functions are compiled into the kernels, too.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.batch_layout import BatchTable
from sarrus.kernels.memory.contact_layout import ContactTable
from sarrus.kernels.memory.law_layout import LawTable
from sarrus.kernels.memory.record import Floats, Record, view_fields
from sarrus.kernels.memory.run_state import Run


class Settings(Record):
    """Tolerances and sizes, at ``table.settings``; `Factors` follow."""

    singular_cut: float  # relative pivot below which a direction is singular
    position_tolerance: float  # closure residual at which the projection stops [characteristic length, rad]
    alpha: float  # Baumgarte: γ + 2α ψ + β² φ
    beta: float
    event_tolerance: float  # [s]
    accepted_residual: float  # a projected step may leave this residual where Newton stagnates
    near: (
        float  # relative pivot below which stages that stray are projected; all of them where it is infinite
    )
    inconsistent: float  # relative contradiction of rows above which a solve is inconsistent
    scale_of_rows: float  # largest singular value of A nearby, and of A M^(−1/2)
    scale_of_weighted_rows: float
    chart_limit: float  # conditioning below which a chart is to be renewed
    scale_of_even_rows: (
        float  # largest singular value nearby of A M^(−1/2) with its rows in characteristic units
    )
    scale_of_measured_rows: float  # the same of A with rows and velocities in characteristic units
    shortest_closing: (
        float  # a projection that fails after a shorter step ends the run [s], 0: it is tried again
    )


N_SETTINGS = len(Settings.fields)


class Factors(NamedTuple):
    """Characteristic sizes that make numbers of several units comparable (`sarrus.dynamics.model.characteristic`)."""

    rows: Any  # nc
    velocities: Any  # nv
    closures: Any  # nc: for every row the first one of its closure
    coordinates: Any  # nq


def factor_sizes(table: Table):
    """Return the lengths of the arrays of `Factors`."""
    return Factors(rows=table.nc, velocities=table.nv, closures=table.nc, coordinates=table.nq)


def factors_of(table: Table):
    """Return the arrays of `Factors`, which follow the settings."""
    return view_fields(table.settings + N_SETTINGS, factor_sizes(table))


def row_factor(table: Table, row: int):
    """Return the factor of a row of A: its characteristic size for a model of limited precision, else 1.

    If dependent rows contradict each other in their last digits, their units matter. An exact matrix of some rank has
    an equal range in all units.
    """
    return factors_of(table).rows[row] if table.settings.shortest_closing > 0.0 else 1.0


def row_scale(table: Table):
    """Return the typical size of pivots of rows times their factors, 0 if it is not known."""
    return 0.0 if table.settings.shortest_closing > 0.0 else table.settings.scale_of_rows


class Chart(Record):
    """Condition numbers of a chart, at the start of the array ``table.chart``.

    W for positions (nv − holonomic rank rows), W for velocities (nv − rank rows) and work arrays follow.
    """

    conditioning: float  # smallest pivot of W T at the last projection
    conditioning_before: float  # and at the end of the step before
    failed: float  # whether Newton failed to contract since then


class Functions(Record, of=int):
    """Native functions of a system, and the kernels that are called through the table."""

    dynamics: int  # elimination traced: L, L⁻ᵀf, A L⁻¹, γ, N v; otherwise: M, f, A, γ, N v
    position: int  # φ, A of the holonomic rows, b = A v − ψ of the holonomic rows
    velocity: int  # ψ, A of all rows
    rate: int  # N(q) v
    energy: int  # T + V
    control: int  # u(q, v, t)
    events: int  # event functions
    invariants: int  # c = (φ, ψ, I) and ∂c/∂(tangent q, v), for projection on invariants I of the motion
    invariant_values: int  # I
    invariant_rates: int  # dI/dt at [x | a]
    checked: int  # a, λ, Aᵀλ, N v, conditioning and checks of a solve that is straight-line code, where direct_rank ≥ 0
    direct: int  # a, N v, conditioning and the factors of M and G, for stages of a step: see `StageAnswer`
    residuals: int  # φ and ψ
    nearest: int  # the shortest δ with A δ = −residual, from the factors of ``direct`` and a residual
    unsatisfied: int  # A a + γ of [x | a]
    response: (
        int  # accelerations by `LANES` generalized forces, from the factors of ``direct`` and the forces
    )
    measure: int  # the smallest singular value of A, see `sarrus.kernels.memory.crossing_layout.Measure`
    closed: int  # a step that closes the loops, and the projection of v, as straight-line code: see `Closed`
    metric: int  # L with LᵀL = M where the elimination is traced, else M; see `CompiledEquations.metric`
    # where the elimination is traced, for projections: φ, A L⁻¹ and ψ of the holonomic rows, L; and ψ, A L⁻¹ of all,
    # L
    closing: int
    slipping: int
    # where M may be singular at single configurations: M, f, A, γ, N v (native) and the kernel that solves with them
    # in the null space of A (0: none)
    whole: int
    null_space_solve: int
    # kernels: acceleration(table, x, wanted) → rank, projection(table, x, what) → rank; negative where they fail
    acceleration: int
    projection: int


class Sizes(Record, of=int):
    """Dimensions, ranks and modes of a system, and its arrays."""

    settings: Annotated[Any, Settings]
    x: Floats  # of the system
    work: Floats
    chart: Annotated[Any, Chart]
    relation: int  # along a relation R(x, w) = 0: see `sarrus.kernels.solve.state_chart`
    n_own: int  # the last velocities, which are w and move nothing
    watched: Floats  # rows of the multipliers that are watched
    nq: int
    nv: int
    nu: int
    np: int
    nh: int
    nc: int
    elimination: int
    n_events: int  # event functions
    n_watched: int  # then multipliers that are watched like these
    n_event_functions: (
        int  # then margins of contacts, stops and dry friction, see `sarrus.kernels.integrate.contact_modes`
    )
    simple_rate: int  # 1 where q̇ = v
    generic_rank: int
    holonomic_rank: int
    baumgarte: int
    direct_rank: int  # rank of A for which straight-line code holds, −1 where there is none
    n_dependent: int  # rows that it takes for dependent on others
    stage: Floats  # last output of ``direct``, see `StageAnswer`
    n_factors: int
    n_invariants: int
    kept: Floats  # see `sarrus.kernels.memory.invariant_layout`


class Loop(Record, of=int):
    """Fields of the time loop: coefficients of its method, records, events, law."""

    bounds: Floats  # limits of the controls: lower, then upper
    stage_weights: Floats  # of the method
    end_weights: Floats
    nodes: Floats
    error_weights: Floats
    run: Annotated[Any, Run]
    records: Floats
    modes: Floats  # of events
    values: Floats  # of events
    log: Floats  # of events
    n_stages: int
    n_errors: int  # error estimates
    log_room: int
    project: int  # level of the projection
    project_every: int  # after how many steps
    law: Annotated[Any, LawTable]
    law_kernel: int


class Table(Functions, Sizes, Loop, of=int):
    """Compiled system for the kernels; offsets of quaternions in q and room for a permutation follow the fields."""

    # of an implicit method
    implicit: int  # the kernel that takes a step, 0: the method is explicit
    linear: int  # the derivatives of the equations, native
    rate_matrix: int  # N(q), native
    scheme: Floats  # coefficients
    n_implicit_stages: int
    local: Floats  # see `local_array`
    # of a law that is sampled
    held: int  # whether controls are held
    ring: Floats  # controls on their way
    seen: Floats  # the state that the law sees
    noise: Floats  # of every sample
    batch: Annotated[Any, BatchTable]
    passage: Floats  # where singular passages are noted, see `sarrus.kernels.memory.crossing_layout`
    times: Floats  # at which a run is recorded besides
    looks: Floats  # (t, q) on the way, a row each, see `sarrus.kernels.memory.run_state`
    stretches: Floats  # of time, see `sarrus.kernels.integrate.stretches`
    contact_table: Annotated[Any, ContactTable]  # contacts with friction, of a run with time stepping
    n_quaternions: int


QUATERNIONS = len(Table.fields)
# Native functions of a model, by the names of their entries.
FUNCTIONS = (
    "dynamics", "direct", "checked", "residuals", "nearest", "unsatisfied", "measure", "closed", "position", "velocity",
    "rate", "energy", "metric", "closing", "slipping", "whole",
)  # fmt: skip


# values of ``table.elimination``
TRACED, CHOLESKY, NULL_SPACE = 0, 1, 2

# What is wanted of an acceleration: a alone; λ and Aᵀλ too; the pivots too, which only the rank-revealing
# factorisation knows; these with the residuals looked at, as they are for an answer.
SLOPE, ANSWER, PIVOTS, VERIFIED = 0, 1, 2, 3
# Outcomes of a solve, numbers of `sarrus.base.status.Status`; `sarrus.kernels.solve.forward` returns the rank plus
# `STRIDE` × outcome. Negative: no solution.
COMPLETE_ANSWER, SINGULAR_ANSWER, INCONSISTENT_ANSWER, ILL_CONDITIONED_ANSWER, ALMOST_ANSWER = 0, 1, 2, 17, 18
STRIDE = 1 << 20
NO_ANSWER, NOT_ARRAYS, NOT_UNIT = -1, -4, -5
# Levels of projection: nothing; velocities; positions and velocities; positions, velocities and invariants.
NOTHING, VELOCITIES, CONSTRAINTS, CONSTRAINTS_AND_INVARIANTS = 0, 1, 2, 3


class Conditioning(Record):
    """Conditioning of a direct solve; numbers after the largest entry are written by ``checked`` only."""

    clearance: float  # smallest pivot of Â Âᵀ over its diagonal entry
    least_pivot: float
    largest_entry: float  # on the diagonal of Â Âᵀ
    missed: float  # largest relative residual of A a + γ
    weakest_mass: float  # largest M_kk/L_kk²
    contradiction: float  # how far dependent rows contradict others
    residual: float  # norm of A a + γ, zero where no row depends on others
    beyond: float  # square of the largest part of a dependent row that is none of the others
    smallest: float  # about the square of the smallest singular value of independent rows
    gap: float  # largest residual of φ in characteristic units


# Numbers that ``direct`` writes, and those that only ``checked`` does.
N_CONDITIONING, N_CHECKS = 3, 7


class StageAnswer(NamedTuple):
    """Output of the native function ``direct``, at ``table.stage``."""

    a: Any
    rate: Any
    conditioning: Annotated[Any, Conditioning]
    factors: Any  # n_factors
    residual: Any  # room for one behind them, which ``nearest`` takes with them


def stage_sizes_of(table: Table):
    """Return the lengths of the arrays of `StageAnswer`."""
    return StageAnswer(
        a=table.nv, rate=table.nq, conditioning=N_CONDITIONING, factors=table.n_factors, residual=table.nc
    )


def stage_answer(table: Table):
    """Return the arrays that ``direct`` wrote, views of ``table.stage``."""
    return view_fields(table.stage, stage_sizes_of(table))


class Closed(NamedTuple):
    """Output of ``closed``: a Newton step from q on the positions, and the projection of v at its end."""

    gap: Any  # φ where it begins
    left: Any  # and where it ends
    place: Any  # q there
    speed: Any  # v, projected there
    step: Any
    conditioning: Annotated[Any, Conditioning]


def closed_sizes(table: Table):
    """Return the lengths of the arrays of `Closed`."""
    return Closed(
        gap=table.nh,
        left=table.nh,
        place=table.nq,
        speed=table.nv,
        step=table.nv,
        conditioning=N_CONDITIONING,
    )


class Facts(Record):
    """Residual, outcome and pivots of an acceleration; the first two only if more than a is asked for."""

    residual: float  # norm of A a + γ
    outcome: float  # outcome of the solve, COMPLETE_ANSWER …
    largest: float  # pivot
    smallest: float  # pivot at the generic rank
    beyond: float  # first pivot beyond it
    condition: float  # condition number of the matrix that a formulation inverted, 0 otherwise
    contradiction: float  # how far dependent rows contradict others
    unsatisfied: float  # largest relative residual
    mass_condition: (
        float  # largest M_kk/L_kk²: the condition number of M where every coordinate is measured in 1/√M_kk
    )


N_FACTS = len(Facts.fields)


class Workspace(NamedTuple):
    """Vectors and matrices of one thread.

    ``native`` receives the output of native functions; mass, force, rows, bias and velocity are the parts of the
    output of the dynamics. After an acceleration, a, lam, reaction (Aᵀλ) and rate (N v) hold its results, in this
    order in memory.
    """

    native: Any
    mass: Any  # nv × nv
    force: Any  # nv
    rows: Any  # nc × nv
    bias: Any  # nc
    velocity: Any  # nq, and room for outputs of other native functions
    copy: Any  # nc × nv, for factoring
    metric: Any  # nv × nv: the factor of the metric of a projection
    # vectors of length max(nv, nc) + 1
    y: Any
    step: Any
    rhs: Any
    diagonal: Any
    beta: Any
    beta2: Any
    norms: Any
    extra: Any
    # results
    a: Any
    lam: Any
    reaction: Any
    rate: Any
    conditioning: Annotated[Any, Conditioning]
    facts: Annotated[Any, Facts]
    factored: (
        Any  # 1 where the factors in ``table.stage`` are those of a state next to the one that is projected
    )
    x: Any  # for the projection, with room for q̇
    spare: Any  # Baumgarte's terms, and Newton's method for invariants
    end: Any  # address after the workspace


def workspace_sizes(table: Table):
    """Return the lengths of the arrays in the workspace."""
    nq, nv, nh, nc = table.nq, table.nv, table.nh, table.nc
    big, before = max(nv, nc) + 1, nv * nv + nv + nc * nv + nc
    answer = 2 * nh + nq + 2 * nv + N_CONDITIONING
    written = max(before + nq, nh * (nv + 2) + nv * nv, nc * (nv + 1) + nv * nv, answer, 3 + nc + nv) + 1
    m, n = nh + nc + table.n_invariants, 2 * nv
    spare = max(nh * (nv + 2), nc * (nv + 1), m * n + m + 7 * (m + n) + nq + input_size(table))
    return Workspace(
        native=0, mass=nv * nv, force=nv, rows=nc * nv, bias=nc, velocity=written - before,
        copy=max(nc * nv, nv * nv), metric=nv * nv,
        y=big, step=big, rhs=big, diagonal=big, beta=big, beta2=big, norms=big, extra=big,
        a=nv, lam=nc, reaction=nv, rate=nq, conditioning=N_CONDITIONING + N_CHECKS, facts=N_FACTS, factored=1,
        x=input_size(table) + nq + 1, spare=spare, end=0,
    )  # fmt: skip


def workspace(table: Table):
    """Return the arrays in the workspace, views of ``table.work``."""
    return view_fields(table.work, workspace_sizes(table))


def input_size(table: Table):
    """Return the length of the input x."""
    return table.nq + 2 * table.nv + table.nu + 1 + table.np


def event_count(table: Table):
    """Return the number of event functions: declared, watched multipliers, and contacts."""
    return table.n_events + table.n_watched + table.n_event_functions


class Stages(NamedTuple):
    """Arrays of the steps of a run, after the workspace."""

    slopes: Any  # (q̇, v̇) of every stage, one more for the error estimate
    new: Any  # an x: the end of a step
    trial: Any  # an x: of a step with another length
    values: Any  # of events, three sets, and behind them of margins when they are least in a step


def stage_sizes(table: Table):
    """Return the lengths of the arrays of `Stages`."""
    slopes = (table.n_stages + 1) * (table.nq + table.nv)
    values = 3 * event_count(table) + table.n_event_functions + 1
    return Stages(slopes=slopes, new=input_size(table), trial=input_size(table), values=values)


def stages_of(table: Table, work: Workspace):
    """Return the arrays of `Stages`, which follow the workspace."""
    return view_fields(work.end, stage_sizes(table))


def run_storage(table: Any) -> int:
    """Return the length of the array at ``table.work`` in a run."""
    return int(sum(workspace_sizes(table)) + sum(stage_sizes(table)))


def permutation(table: Table):
    """Return the pointer to the room for a permutation of the rows."""
    return table + (QUATERNIONS + table.n_quaternions)


CHART_ROWS = len(Chart.fields)


def chart_size(nv: int, nc: int) -> int:
    """Return the length of the array at ``table.chart``."""
    return CHART_ROWS + 2 * nv * nv + (nc + nv) * nv + 9 * (nc + nv + 1)


class StateRoom(NamedTuple):
    """Arrays of a relation R(x, w) = 0, after `Chart`: output of the native function, rows of R, work arrays."""

    residual: Any  # φ, ψ without R, R
    jacobian: Any  # their derivatives along (q, v), v without w
    own: Any  # ∂R/∂w
    rows: Any
    wanted: Any
    pivots: Any
    work: Any


def state_sizes(table: Table):
    """Return the lengths of the arrays of `StateRoom`."""
    n, count, m = 2 * (table.nv - table.n_own), table.n_own, table.nh + table.nc - table.n_own
    work = (m + count) * n + 9 * (m + n + 1)
    return StateRoom(
        residual=m + count, jacobian=(m + count) * n, own=count * count, rows=count * n, wanted=count,
        pivots=4 * (count + 1), work=work,
    )  # fmt: skip
