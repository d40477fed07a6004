"""Singular passages of a run, from the log of the time loop."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.tolerances import INVOLVED_CLOSURE
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory import crossing_layout as pl
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.tolerances import PASSAGE_PIVOT
from sarrus.motion.loop.tolerances import CROSSED_TOGETHER, LEAST_DISTANCE
from sarrus.motion.records.records import Passage

# Rows in the log of the kernel, which comes back to have it emptied.
ROOM = 64


def passage_sizes(table: Table) -> pl.PassageArray:
    """Return the lengths of the parts of the array for a table."""
    return pl.passage_sizes(table, ROOM)


class PassageLog:
    """Singularity crossings of one run as its kernel logs them: rows (time, …, q, v), each with its stretch of time."""

    def __init__(self, sizes: pl.PassageArray, array: Array | None = None) -> None:
        """Allocate the array with the `passage_sizes` of a table, or take over ``array``."""
        self.sizes, self.array = sizes, np.zeros(sum(sizes)) if array is None else array
        self.header = self.array[: sizes.header].view(pl.PassageHeader)
        self.log = self.array[-sizes.log :].reshape(ROOM, -1)
        if array is None:
            self.header.room, self.header.lowest, self.header.wanted = ROOM, np.inf, 1.0
        self.rows: list[tuple[int, Array]] = []
        self.largest: dict[int, float] = {}

    def attach(self, table: Table) -> None:
        """Have the kernel write to the log; when the log is full the kernel stops until `collect` has emptied it."""
        table.passage = self.array

    def pause(self) -> None:
        """Stop looking for passages; the steps do not change."""
        self.header.wanted = 0.0

    def forget(self) -> None:
        """Forget the states before this one, because velocity or constraints have changed."""
        self.header.known, self.header.lowest = 0.0, np.inf
        self.header.stay += 1.0

    def collect(self, stretch: int) -> None:
        """Move the logged rows to the list, with the number of the stretch."""
        if logged := int(self.header.logged):
            self.rows += [(stretch, row.copy()) for row in self.log[:logged]]
            self.header.logged = 0.0
        self.largest[stretch] = self.header.highest

    def passages(
        self, system: Evaluations, stretches: Iterable[tuple[float, int, dict[str, float]]]
    ) -> tuple[Passage, ...]:
        """Return the passages in order of time; if the motion stays near without crossing, the point of closest
        approach.
        """
        if not self.rows:
            return ()
        known, found = list(stretches), []
        for (stretch, _), stay in groupby(self.rows, lambda item: (item[0], item[1][pl.STAY_OF])):
            rows = [row for _, row in stay]
            crossed = [row for row in rows if row[pl.CROSSED]]
            _, rank, parameters = known[stretch]
            closest = min(rows, key=lambda r: float(r[pl.LEAST]))
            # The pivot that the survey found at the start may be larger than all of the motion.
            near = [closest] if closest[pl.LEAST] < PASSAGE_PIVOT * self.largest[stretch] else []
            there = system.varied(parameters)
            found += [_passage(there, row, rank) for row in crossed or near]
        return tuple(sorted(found, key=lambda passage: passage.time))


def _passage(system: Evaluations, row: Array, rank: int) -> Passage:
    """Return a `Passage` from its row in the log, with the singular values of A there in characteristic units."""
    t, crossed = float(row[pl.TIME]), bool(row[pl.CROSSED])
    q, v = np.split(row[pl.LOG_HEADER :], [system.nq])
    left, sigma, _ = dense.svd(system.characteristic.scaled_rows(system.constraint_jacobian(q, v, t)))
    least = float(
        sigma[rank - 1]
    )  # where it crosses zero, what is left is the distance of this state in time
    together = sigma[:rank] <= (max(CROSSED_TOGETHER * sigma[0], least) if crossed else least)
    vectors = left[:, :rank][:, together]
    weight = {name: dense.norm(vectors[rows]) for name, rows in system.closure_rows.items()}
    largest = max(weight.values())
    closures = tuple(name for name, size in weight.items() if size > INVOLVED_CLOSURE * largest)
    digits = max(0.0, -2.0 * float(np.log10(max(row[pl.NEAREST], LEAST_DISTANCE))))
    return Passage(t, 0.0 if crossed else least, closures, crossed, digits)
