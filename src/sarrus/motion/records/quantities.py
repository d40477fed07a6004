"""`Quantities`: the columns of a record of a run, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.memory.run_state import N_FACTS

# What runs and their reductions have.
QUANTITIES = ("q", "v", "a", "u", "multipliers", "energy", "residual")


class Quantities(NamedTuple):
    """Columns of records (…, width), as `sarrus.kernels.integrate.recording` writes them; read-only views.

    Attributes
    ----------
    t : times (…) [s].
    q, v, a : coordinates (…, nq) [m, rad], velocities and accelerations (…, nv) per second.
    u : controls (…, nu).
    multipliers : λ (…, nc), the force that each constraint row exerts on the mechanism (minimum norm).
    energy : kinetic plus potential energy (…) [J].
    rank : of A (…). largest_pivot, smallest_pivot : of its factorisation, the latter at the rank.
    residual : largest entry of the position closure φ in absolute value (…) [m, rad].
    inverted_condition : condition number (…) of the matrix that a formulation inverts.
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
    def of(cls, system: Evaluations | RunRows, records: Array) -> Self:
        """Return the columns of records as read-only views; the records must not be changed any more."""
        s = system
        records.flags.writeable = False
        edges = [*accumulate((1, s.nq, s.nv, s.nv, s.nu, s.nc))]
        vectors = [records[..., start:stop] for start, stop in pairwise(edges)]
        facts = [records[..., edges[-1] + k] for k in range(N_FACTS)]
        return cls(records[..., 0], *vectors, *facts)


# From when on A has which rank at generic configurations, and parameters which values.
Stretch = tuple[float, int, Mapping[str, float]]


class RunRows(NamedTuple):
    """The records of one run, from which the arrays of a trajectory are cut at the first access.

    ``stretches`` are (time, generic rank of A, parameters from then on); ``formulated``: a formulation solved for the
    accelerations. After the columns of `Quantities` come the forces of ``contact_row_count`` contact rows and the
    energy that contacts dissipated.
    """

    records: Array
    nq: int
    nv: int
    nu: int
    nc: int
    stretches: tuple[Stretch, ...]
    formulated: bool
    contact_row_count: int | None = None

    def contact_arrays(self) -> dict[str, Any]:
        """Return forces and dissipated energy of contacts, as attributes of a trajectory."""
        if self.contact_row_count is None:
            return {
                "contact_forces": self.records[:, :0],
                "contact_loss": read_only(np.zeros(len(self.records))),
            }
        forces, loss = self.records[:, -self.contact_row_count - 1 : -1], self.records[:, -1]
        return {"contact_forces": read_only(forces), "contact_loss": read_only(loss)}

    def array(self, name: str) -> Array:
        """Return one of the arrays "t", "q" and "v"."""
        behind = 1 + self.nq
        places: dict[str, int | slice] = {
            "t": 0, "q": slice(1, behind), "v": slice(behind, behind + self.nv)
        }  # fmt: skip
        self.records.flags.writeable = False
        return self.records[:, places[name]]

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by their names in a trajectory; ``condition`` only if it was recorded."""
        made = Quantities.of(self, self.records)
        return {
            "t": made.t,
            **{name: getattr(made, name) for name in QUANTITIES},
            "rank": read_only(made.rank.astype(np.int64)),
            **({"condition": made.inverted_condition} if self.formulated else {}),
        }

    def spans(self) -> Iterator[tuple[int, int, Stretch]]:
        """Yield (first record, record after the last one, stretch) of every stretch."""
        t = self.records[:, 0]
        starts = [max(0, int(t.searchsorted(time, "right")) - 1) for time, *_ in self.stretches] + [len(t)]
        yield from zip(starts, starts[1:], self.stretches)
