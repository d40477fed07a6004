"""Tables of impacts: of a single contact, and of those within time steps (`kernels.contact.step_impact`)."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields


class LoneImpact(Record, of=int):
    """A single contact that hits."""

    rows: int  # m
    delassus: Floats  # W (m × m)
    velocities: Floats  # before the impact
    law: Floats  # normal velocity after it, friction coefficient
    impulse: Floats  # written if one is found
    room: Floats  # m × m + 3 m numbers


class ReboundFacts(Record):
    """Numbers of a `Rebound`."""

    gap: float  # [m]
    restitution: float
    loss: float  # of kinetic energy, written [J]


class Rebound(Record, of=int):
    """A contact that is a constraint, frictionless or sticking, and hits while no constraint acts."""

    width: int  # m, 1 without friction
    state: Floats  # x, changed in place
    rows: Floats  # its normal and its tangential rows (m × nv), written over
    velocities: Floats  # (m) along its rows before the impact
    room: Floats  # see `ReboundRoom`
    facts: Annotated[Any, ReboundFacts]


class ReboundRoom(NamedTuple):
    """Arrays of a `Rebound`."""

    delassus: Any  # W (m × m)
    impulse: Any
    shift: Any  # impulses that close the gap
    zeros: Any
    solver: Any  # for `kernels.contact.lone_impulse`


def rebound_sizes(m: Any) -> Any:
    """Return the lengths of the arrays for m rows."""
    return ReboundRoom(delassus=m * m, impulse=m, shift=m, zeros=m, solver=m * m + 3 * m)


def rebound_room(x: Any) -> Any:
    """Return the arrays, views of ``x.room``."""
    return view_fields(x.room, rebound_sizes(x.width))


class StepImpact(Record, of=int):
    """The impact within a time step where contacts have Poisson's law.

    Its problem has the active rows of the step, then once more the rows with friction of contacts with Poisson's law.
    """

    coefficients: Floats  # e of each contact and stop with Poisson's law, −1: Newton's law
    before: Floats  # velocities of the active rows before the impact
    known: Floats  # impulses of compression of the active rows, then what expansion has of them at least
    impulses: Floats  # of all rows, zero without an impact
    instant: Floats  # [s] from the start of the step, one number
    residual: Floats  # of impulses that were found for rows that give a little, one number
    originals: Integers  # the active row that each row of the problem is
    problem: Annotated[Any, cp.ContactProblem]


# An impulse was found, or none.
IMPULSE_FOUND, NO_IMPULSE = 0, 1
