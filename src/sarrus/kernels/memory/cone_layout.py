"""Table of a cone program for its kernel (`sarrus.kernels.cones.cone_program`): a record of integers.

The program: minimise ½ xᵀP x + qᵀx subject to A x = b and h − G x = s ∈ K, where K is the product of ``linear``
half-lines s ≥ 0 and ``cones`` second-order cones ‖(s₁, s₂, …)‖ ≤ s₀, in this order.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.record import Floats, Record, view_fields


class Limits(Record):
    """Tolerances and largest number of iterations of the interior-point method."""

    target: float  # target of gap and residuals
    accepted: float  # largest gap and residuals accepted if rounding ends the iteration
    iterations: float
    warm_shift: float  # how far from the boundary a warm start begins


class ConeTable(Record, of=int):
    """Sizes and arrays of a cone program.

    After the fields follow the sizes of the second-order cones and permutations of equalities, rows and variables.
    """

    variables: int
    equalities: int
    linear: int
    cones: int
    program: Floats  # P, q, A, b, G, h one after the other
    work: Floats
    answer: Floats
    limits: Annotated[Any, Limits]


SIZES = len(ConeTable.fields)

# Modes of a call: start from the data, or from x, s and z in the answer.
COLD, WARM = 0, 1

# Outcomes of a cone program.
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


# facts at the end of the answer, after x, s, z and the multipliers of the equalities
COUNT, PRIMAL, DUAL, GAP, COST, DUAL_COST, RANK, N_FACTS = 0, 1, 2, 3, 4, 5, 6, 7


class ConeWorkspace(NamedTuple):
    """Workspace of `sarrus.kernels.cones.interior_point` for n variables and m rows.

    ``quadratic`` P (n²), ``linear`` q, ``rows`` G (m × n) and ``limits`` h are the program, which stays unchanged;
    ``x``, ``s``, ``z`` are its solution. All further arrays are scaled: ``p``, ``q``, ``g``, ``h``, the iterate
    ``xx``, ``ss``, ``zz``, the scaling by ``w`` and ``eta``, λ = W z = W⁻¹ s, ``turned`` W⁻¹ G and ``normal`` P + Gᵀ
    W⁻² G.
    """

    quadratic: Any
    linear: Any
    rows: Any
    limits: Any
    x: Any
    s: Any
    z: Any
    iterations: Any
    p: Any
    q: Any
    g: Any
    h: Any
    columns: Any
    weights: Any
    xx: Any
    ss: Any
    zz: Any
    w: Any
    eta: Any
    lam: Any
    turned: Any
    normal: Any
    dual: Any
    primal: Any
    px: Any
    offset: Any
    x1: Any
    z1: Any
    x2: Any
    z2: Any
    rest: Any
    rhs_x: Any
    rhs_z: Any
    ds: Any
    centred: Any
    missed: Any
    change: Any
    root: Any
    spare: Any
    inner: Any
    kind: Any
    trial: Any
    trial_s: Any
    trial_z: Any
    along: Any
    reduced: Any
    slope: Any
    fall: Any
    pull: Any
    best: Any


def cone_sizes(n: int, m: int):
    """Return the lengths of the arrays of the workspace for n variables and m rows."""
    return ConeWorkspace(
        quadratic=n * n, linear=n, rows=m * n, limits=m, x=n, s=m, z=m, iterations=1, p=n * n, q=n, g=m * n,
        h=m, columns=n, weights=m, xx=n, ss=m, zz=m, w=m, eta=m, lam=m, turned=m * n, normal=n * n, dual=n,
        primal=m, px=n, offset=m, x1=n, z1=max(m, n), x2=n, z2=max(m, n), rest=n, rhs_x=n, rhs_z=m, ds=m,
        centred=m, missed=m, change=m, root=n * n, spare=m * n, inner=n, kind=m, trial=n, trial_s=m, trial_z=m,
        along=n * n, reduced=n * n, slope=n, fall=n, pull=n, best=n + 2 * m,
    )  # fmt: skip


def cone_workspace(work: Floats, n: int, m: int):
    """Return the arrays of the workspace for n variables and m rows, views of ``work``."""
    return view_fields(work, cone_sizes(n, m))


def program_storage(table: ConeTable) -> tuple[int, int, int]:
    """Return the lengths of data, workspace and answer of a program."""
    n, e = table.variables, table.equalities
    m = int(table.linear + table[SIZES : SIZES + table.cones].sum())
    data = n * n + n + e * n + e + m * n + m
    return data, sum(cone_sizes(n, m)) + sum(equality_sizes(n, e, m)), n + 2 * m + e + N_FACTS


class EqualityWorkspace(NamedTuple):
    """Arrays of the elimination of equalities, after the workspace of the reduced program."""

    rows: Any  # the factored A
    basis: Any  # an orthonormal basis of its null space
    particular: Any
    # vectors
    beta: Any
    beta2: Any
    norms: Any
    diagonal: Any
    rhs: Any
    y: Any
    change: Any
    units: Any
    lengths: Any


def equality_sizes(n: int, e: int, m: int):
    """Return the lengths of the arrays for the elimination of e equalities."""
    big = max(n, max(e, m)) + 1
    return EqualityWorkspace(
        rows=e * n, basis=n * n, particular=n, beta=big, beta2=big, norms=big, diagonal=big, rhs=big, y=big, change=big,
        units=big, lengths=big,
    )  # fmt: skip


def equality_workspace(work: Floats, n: int, e: int, m: int):
    """Return the arrays of the elimination, views of ``work`` behind the largest workspace of the interior point."""
    first = 0
    for size in cone_sizes(n, m):
        first += size
    return view_fields(work + first, equality_sizes(n, e, m))
