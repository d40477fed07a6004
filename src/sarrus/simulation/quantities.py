"""`Quantities`: what a record of a state holds, by name."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Self

from sarrus.base.arrays import Array
from sarrus.dynamics.evaluations import Evaluations
from sarrus.kernels.run_state import N_FACTS

# What runs and their reductions have.
QUANTITIES = ("q", "v", "a", "u", "multipliers", "energy", "residual")


@dataclass(frozen=True, eq=False)
class Quantities:
    """Columns of records (…, width), as `sarrus.kernels.recording` writes them; read-only views.

    Attributes
    ----------
    t : times (…) [s].
    q, v, a : coordinates (…, nq) [m, rad], velocities and accelerations (…, nv) per second.
    u : controls (…, nu).
    multipliers : λ (…, nc), the force that each constraint row exerts on the mechanism (minimum norm).
    energy : kinetic plus potential energy (…) [J].
    rank : of A (…). largest_pivot, smallest_pivot : of its factorisation, the latter at the rank.
    residual : largest entry of the position closure φ in absolute value (…) [m, rad].
    inverted_condition : condition number of what a formulation inverts.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    u: Array
    multipliers: Array
    energy: Array
    rank: Array
    largest_pivot: Array
    smallest_pivot: Array
    residual: Array
    inverted_condition: Array

    @classmethod
    def of(cls, system: Evaluations, records: Array) -> Self:
        """Return the columns of records, which nobody writes to any more."""
        s = system
        records.flags.writeable = False
        edges = [*accumulate((1, s.nq, s.nv, s.nv, s.nu, s.nc))]
        vectors = [records[..., start:stop] for start, stop in pairwise(edges)]
        facts = [records[..., edges[-1] + k] for k in range(N_FACTS)]
        return cls(records[..., 0], *vectors, *facts)
