"""Tables of the impact of a single contact, for `kernels.contact.lone_impulse` and `kernels.integrate.bounce`."""

from __future__ import annotations

from typing import Annotated, Any

from sarrus.kernels.memory.record import Floats, Record


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


# An impulse was found, or none.
IMPULSE_FOUND, NO_IMPULSE = 0, 1
