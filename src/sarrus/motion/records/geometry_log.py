"""Contacts between geometries in a run: which pairs touched where and with what force, record by record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.kernels.memory import geometry_layout as cl

# Columns of the table.
COLUMNS = ("sample", "contact", "gap", "x", "y", "z", "nx", "ny", "nz", "fx", "fy", "fz", "mx", "my", "mz")


class Meeting(NamedTuple):
    """One point where two geometries touch, in world axes; force [N] and moment [N m] are those on the second one.

    Means over the step that ends there; with other methods than steps in time those of that moment. The normal points
    from the first one to the second one; the moment is that of torsional and rolling friction.
    """

    contact: str
    point: Array
    normal: Array
    gap: float
    force: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class Meetings:
    """Contacts between geometries that had a force: ``names`` of the pairs, ``table`` (n, columns), by time.

    ``COLUMNS`` names the columns: number of the sample and of the pair, gap, point, normal, force and moment.
    """

    names: tuple[str, ...] = ()
    table: Array = field(default_factory=lambda: np.zeros((0, len(COLUMNS))))

    def at(self, sample: int) -> tuple[Meeting, ...]:
        """Return the contacts of a sample; negative ones are not counted from the end here."""
        first, last = np.searchsorted(self.table[:, 0], [sample, sample + 1])
        return tuple(
            Meeting(self.names[int(row[1])], row[3:6], row[6:9], float(row[2]), row[9:12], row[12:15])
            for row in self.table[first:last]
        )

    def forces(self, sample: int) -> dict[str, Array]:
        """Return of every pair that touches at a sample the force on its second geometry (3,) [N]."""
        found: dict[str, Array] = {}
        for meeting in self.at(sample):
            found[meeting.contact] = found.get(meeting.contact, np.zeros(3)) + meeting.force
        return found


NONE = Meetings()


def meetings_of(names: tuple[str, ...], logged: Sequence[Array], t: Array) -> Meetings:
    """Return what the kernel has logged, with the numbers of the records at times t."""
    rows = np.concatenate(logged).reshape(-1, cl.N_LOGGED) if logged else np.zeros((0, cl.N_LOGGED))
    sample = np.searchsorted(t, rows[:, 0])
    known = sample < len(t)
    table = np.column_stack([sample, rows[:, 1:-1]])[known]
    return Meetings(names, read_only(table))
