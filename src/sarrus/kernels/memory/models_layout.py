"""Tables of the kernels `straight_line_models` and `general_models`: linear models at many states."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.python_objects import ArrayObject
from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields


class StraightLineTable(Record, of=int):
    """Code that writes a whole model [A | B | E | affine], or the terms of a model in other coordinates."""

    native: int
    nq: int
    nv: int
    nu: int
    dof: int
    x: Floats  # the input of ``native``, whose parameters stay
    least: Floats  # one number, which the second of the conditioning must exceed
    # of other coordinates
    work: Floats
    starts: Integers  # R by rows: entries ``weights`` in ``columns``, those of row r from ``starts[r]`` on
    columns: Integers
    weights: Floats


class States(Record, of=int):
    """Arguments of the kernels from Python: states along the leading axis, arrays for models and conditioning."""

    q: Annotated[Any, ArrayObject]
    v: Annotated[Any, ArrayObject]
    u: Annotated[Any, ArrayObject]
    t: Annotated[Any, ArrayObject]
    good: Annotated[Any, ArrayObject]
    out: Annotated[Any, ArrayObject]


class ModelsTable(Record, of=int):
    """States, in arrays q, v, u and t, and sizes and functions of their linear models by the general algebra."""

    native: int
    count: int  # of states
    nq: int
    nv: int
    nu: int
    dof: int
    q: Floats
    v: Floats
    u: Floats
    t: Floats
    good: Floats  # one number for each state that says how good its model is
    out: Floats
    work: Floats
    system: Annotated[Any, Table]
    rank: int  # of A
    n_out: int  # of ``native``
    at: Integers  # offsets of its outputs
    rows: Floats  # R, (dof × nq) by rows
    order: Integers  # room for a permutation of the rows of A


# Outputs of the derivatives, in the order of `sarrus.dynamics.model.derivatives.Derivatives`.
MASS, JACOBIAN, ACTUATION, FORCE_Q, BIAS_Q, VELOCITY_Q, FORCE_V, BIAS_V = range(8)
RATE_V, RATE2, RATE_Q, RATE2_Q, RATE2_V = range(8, 13)  # −1 in ``at`` where N is the identity


class ModelsWorkspace(NamedTuple):
    """Arrays of the general algebra; matrices by rows."""

    answer: Any  # of forward dynamics
    x: Any  # and then a, λ
    d: Any
    matrix: Any  # A and vectors of its factorisation
    basis: Any
    inertia: Any
    square: Any
    null: Any
    w: Any
    ways: Any
    along: Any
    force: Any
    bias: Any
    particular: Any
    turning: Any
    slope: Any
    rates: Any


def models_sizes(table: ModelsTable, system: Table):
    """Return the lengths of the arrays of `ModelsWorkspace`, for the table of a system."""
    nq, nv, nu, nc, dof = table.nq, table.nv, table.nu, system.nc, table.dof
    big, width = max(nv, nc) + 1, 2 * dof + 1
    return ModelsWorkspace(
        answer=2 * nv + nc + la.N_FACTS + nq + nv, x=la.input_size(system) + nv + nc, d=table.n_out,
        matrix=nc * nv + 7 * big, basis=nv * dof, inertia=nv * dof, square=dof * dof, null=dof * nv, w=dof * nv,
        ways=(nv + 1) * width, along=nv * width, force=nv * (width + nu), bias=nc * width, particular=nv * width,
        turning=dof * width, slope=dof * (width + nu), rates=nq * width,
    )  # fmt: skip


def models_workspace(table: ModelsTable):
    """Return the arrays of the general algebra, views of ``table.work``."""
    return view_fields(table.work, models_sizes(table, table.system))


def straight_line_room(nq: int, nu: int, dof: int) -> int:
    """Return the length of the array at ``table.work`` for straight-line code of other coordinates."""
    width = whole_width(nu, dof)
    return nq * width + 2 + dof * (width + 2 * dof) + 1


def whole_width(nu: int, dof: int):
    """Return the number of columns of the output: [P | drift | Q | drift | ∂q̈ | q̇ | q̈]."""
    return 4 * dof + nu + 5
