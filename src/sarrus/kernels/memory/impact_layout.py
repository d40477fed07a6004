"""Table of the impulse of a single contact for its kernel (`sarrus.kernels.contact.lone_impulse`)."""

from __future__ import annotations

from sarrus.kernels.memory.record import Floats, Record


class LoneImpact(Record, of=int):
    """A single contact that hits."""

    rows: int  # m
    delassus: Floats  # W (m × m)
    velocities: Floats  # before the impact
    law: Floats  # normal velocity after it, friction coefficient
    impulse: Floats  # written if one is found
    room: Floats  # m × m + 3 m numbers


# An impulse was found, or none.
IMPULSE_FOUND, NO_IMPULSE = 0, 1
