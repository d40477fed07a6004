"""Memory of implicit methods: local coordinates about a state, and the linear model in them, at ``table.local``."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.layout import Table, input_size
from sarrus.kernels.memory.record import Record, view_fields


class LocalHeader(Record):
    """Header of the array of an implicit method; begins like `Chart`, whose fields a chart projection writes."""

    conditioning: float
    conditioning_before: float
    failed: float
    length: float  # of the step asked for
    valid: float  # whether a linear model is there


class LocalArray(NamedTuple):
    """Arrays of an implicit method: local coordinates about a state, and the linear model in them.

    ``terms`` receives the derivatives in the order of `sarrus.motion.loop.local_model.TERMS`. For the directions (y,
    η, t), in this order, ``place`` has N⁺δq for y and t, ``along`` has δv for all.
    """

    header: Annotated[Any, LocalHeader]
    start: Any  # [x | a | λ] where the step begins
    ranks: Any  # of A there
    state: Any  # the x of a stage
    terms: Any
    place: Any
    along: Any
    motions: Any  # rows of η = Zᵀ v
    coordinates: Any  # rows of y = R q
    turned: Any
    rates: Any
    first_rates: Any
    model: Any  # [J | ḟ] by rows
    matrix: Any  # I/(h γ) − J
    swaps: Any
    stages: Any  # the u_i
    change: Any
    inertia: Any
    way: Any
    force: Any
    bias: Any
    control: Any
    work: Any


def local_sizes(table: Table):
    """Return the lengths of the arrays of `LocalArray`."""
    nq, nv, nu, nc = table.nq, table.nv, table.nu, table.nc
    n, big, size = 2 * nv, max(nv, nc) + 1, input_size(table)
    return LocalArray(
        header=5, start=size + nv + nc, ranks=2, state=size,
        terms=3 * nv * nv + nv + nc * (4 * nv + 2) + nv * nu + nq * (nv + 1),
        place=(nv + 1) * nv, along=(n + 1) * nv, motions=nv * nv, coordinates=nv * nq, turned=nv * nv, rates=nq * nv,
        first_rates=nq * nv, model=n * (n + 1), matrix=n * n, swaps=n, stages=table.n_implicit_stages * n, change=n,
        inertia=nv * nv, way=nq, force=big, bias=big, control=nu, work=nv * nc + nv * nv + 9 * (nv + nc + 1),
    )  # fmt: skip


def local_array(table: Table):
    """Return the arrays of an implicit method, views of ``table.local``."""
    return view_fields(table.local, local_sizes(table))
