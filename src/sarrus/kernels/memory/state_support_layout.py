"""Table of forces that support a load at a state, for `kernels.states.support`: inverse dynamics in exported C."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.cone_layout import ConeTable
from sarrus.kernels.memory.record import Floats, Record, view_fields
from sarrus.kernels.memory.state_contacts_layout import StateChoices

# Ends of a call: a block is too deep; velocity or acceleration penetrates a block, or contradicts the constraints; no
# forces of actuators and closed contacts reach the load; the laws allow none; they almost reach it; they do.
DEEP, IMPOSSIBLE, UNREACHABLE, FORBIDDEN, ALMOST, SUPPORTED = -2, -1, 0, 1, 2, 3


class SupportTolerances(Record):
    """Tolerances of `sarrus.dynamics.optimize.force_balance` and of inverse dynamics."""

    balanced: float  # residual of the load
    none: float  # part of the largest force that counts as zero
    cut: float  # singular values that count as zero
    ridge: float  # added to the squares where no forces balance
    reached: float  # residual of the constraints at acceleration level


class StateSupport(StateChoices, of=int):
    """A state with an acceleration, and the cone programs of the forces."""

    terms: int  # native: of (x, a) the load M a + h − k, S, A and A a + γ
    solver: int  # the kernel of cone programs
    program: Annotated[Any, ConeTable]
    tolerances: Annotated[Any, SupportTolerances]
    units_of_controls: Floats  # in which their norm is least
    input: Floats  # (x, a)
    support: Floats  # see `SupportRoom`


class SupportRoom(NamedTuple):
    """Arrays of the balance R u + C y = w in coordinates of the motions that the constraints allow.

    ``terms`` is the output of the native function; ``free`` are the motions (f × nv), ``matrix`` [R C] in units,
    ``load`` w, ``ways`` the forces of all rows by a unit y.
    """

    terms: Any
    free: Any
    matrix: Any
    copy: Any
    load: Any
    left: Any
    y: Any
    size: Any  # of w, its unit
    ways: Any
    units: Any
    block: Any  # of each y
    base: Any  # forces that the modes give
    x: Any
    best: Any
    change: Any
    vector: Any  # (nv)
    beta: Any
    beta2: Any
    norms: Any
    diagonal: Any


def support_sizes(rows: Any, nv: Any, nu: Any, nc: Any) -> Any:
    """Return the lengths of the arrays."""
    n = nu + rows
    big = nv + nc + n
    return SupportRoom(
        terms=nv + nv * nu + nc * nv + nc, free=nv * nv, matrix=nv * n, copy=max(nv * n, nc * nv), load=nv, left=nv,
        y=nv, size=1, ways=rows * rows, units=n, block=rows, base=rows, x=n, best=n, change=n, vector=nv, beta=big,
        beta2=big, norms=big, diagonal=big,
    )  # fmt: skip


def support_room(x: Any, rows: Any, nv: Any, nu: Any, nc: Any) -> Any:
    """Return the arrays, views of ``x.support``."""
    return view_fields(x.support, support_sizes(rows, nv, nu, nc))
