"""Tables of impacts: of a single contact, and of those within time steps (`kernels.contact.step_impact`)."""

from __future__ import annotations

from typing import Annotated, Any

from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory.record import Floats, Integers, Record


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
    rate: float  # of the gap [m/s]
    restitution: float
    loss: float  # of kinetic energy, written [J]


class Rebound(Record, of=int):
    """A frictionless contact that hits while no constraint acts."""

    state: Floats  # x, changed in place
    normal: Floats  # its row (nv)
    facts: Annotated[Any, ReboundFacts]


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
