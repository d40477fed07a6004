"""Table of forces that support a load at a state, for `kernels.states.support`."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory.balance_layout import Balance
from sarrus.kernels.memory.record import Floats, view_fields
from sarrus.kernels.memory.state_contacts_layout import StateChoices

# Ends of a call: a block is too deep; velocity or acceleration penetrates a block, or contradicts the constraints; no
# forces of actuators and closed contacts reach the load; the laws allow none; they almost reach it; they do.
DEEP, IMPOSSIBLE, UNREACHABLE, FORBIDDEN, ALMOST, SUPPORTED = -2, -1, 0, 1, 2, 3
# What a call finds: u and forces; or modes, and the ways in which forces may change.
FORCES, MODES = 0, 1


class StateSupport(StateChoices, of=int):
    """A state with an acceleration, and the balance of its forces."""

    terms: int  # native: of (x, a) the load M a + h − k, S, A and A a + γ
    balance: Annotated[Any, Balance]
    units_of_controls: Floats  # in which their norm is least
    input: Floats  # (x, a)
    support: Floats  # see `SupportRoom`


class SupportRoom(NamedTuple):
    """Arrays for the balance of a state: ``terms`` is the output of the native function, load and S first.

    ``free`` are the motions along which forces must balance (f × nv), ``ways`` the forces of all rows by a unit y,
    ``base`` those that the modes give, ``best`` u.
    """

    terms: Any
    free: Any
    ways: Any
    base: Any
    best: Any
    vector: Any  # (nv)
    rows: Any  # A in units, to be factored
    beta: Any
    beta2: Any
    norms: Any
    diagonal: Any


def support_sizes(rows: Any, nv: Any, nu: Any, nc: Any) -> Any:
    """Return the lengths of the arrays."""
    big = nv + nc
    return SupportRoom(
        terms=nv + nv * nu + nc * nv + nc, free=nv * nv, ways=rows * rows, base=rows, best=nu, vector=nv, rows=nc * nv,
        beta=big, beta2=big, norms=big, diagonal=big,
    )  # fmt: skip


def support_room(x: Any, rows: Any, nv: Any, nu: Any, nc: Any) -> Any:
    """Return the arrays, views of ``x.support``."""
    return view_fields(x.support, support_sizes(rows, nv, nu, nc))
