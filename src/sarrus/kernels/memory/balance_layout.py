"""Table of a balance of forces, for `kernels.states.force_balance`: R u + C y = w within the laws of contacts."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.cone_layout import ConeTable
from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields

# Ends of a call: no forces reach the load; the laws allow none; they almost reach it; they do.
UNREACHABLE, FORBIDDEN, ALMOST, SUPPORTED = 0, 1, 2, 3
# What a call finds: the least u, then the least y; whether there are any.
LEAST, ANY = 0, 1


class BalanceTolerances(Record):
    """Tolerances of a balance, and of inverse dynamics."""

    balanced: float  # residual of the load
    none: float  # part of the largest force that counts as zero
    cut: float  # singular values that count as zero
    ridge: float  # added to the squares where no forces balance
    reached: float  # residual of the constraints at acceleration level


class Balance(Record, of=int):
    """A balance, and the cone program that finds its forces."""

    motions: int  # rows of R and C
    controls: int  # of u
    forces: int  # of y
    most_motions: int  # rows and unknowns that the arrays have room for
    most_unknowns: int
    limited: int  # whether ``limits`` are limits of u, lower and upper, ±inf without a limit
    limits: Floats
    solver: int  # the kernel of cone programs
    program: Annotated[Any, ConeTable]
    tolerances: Annotated[Any, BalanceTolerances]
    order: Integers
    room: Floats  # see `BalanceRoom`


class BalanceRoom(NamedTuple):
    """Arrays of a balance: ``matrix`` is [R C] in ``units`` of (u, y), ``load`` w in units of its length ``size``.

    Of each y: the number of its ``block``; its friction coefficient or largest dry friction as ``law``; 1 in ``dry``
    for dry friction; after a call 1 in ``unique`` where no change without effect on w alters it.
    """

    matrix: Any
    load: Any
    size: Any
    units: Any
    block: Any
    law: Any
    dry: Any
    x: Any  # (u, y) in units
    left: Any  # w − [R C] x
    unique: Any
    copy: Any
    y: Any
    change: Any
    given: Any
    beta: Any
    beta2: Any
    norms: Any
    diagonal: Any


def balance_sizes(f: Any, n: Any) -> Any:
    """Return the lengths of the arrays for f motions and n unknowns."""
    big = f + n
    return BalanceRoom(
        matrix=f * n, load=f, size=1, units=n, block=n, law=n, dry=n, x=n, left=f, unique=n, copy=f * n, y=f, change=n,
        given=f, beta=big, beta2=big, norms=big, diagonal=big,
    )  # fmt: skip


def balance_room(x: Any) -> Any:
    """Return the arrays, views of ``x.room``."""
    return view_fields(x.room, balance_sizes(x.most_motions, x.most_unknowns))
