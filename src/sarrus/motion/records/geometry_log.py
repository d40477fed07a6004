"""Contacts between geometries in a run: pair, point, normal and force of each contact, record by record."""

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
    """A contact point of two geometries, in world axes; force (3,) [N] and moment (3,) [N m] act on the second
    geometry.

    With the method "moreau-jean" both are means over the step that ends at the record, with other methods instantaneous
    values. ``normal`` points from the first geometry to the second; the moment is torsional and rolling friction.
    """

    contact: str
    point: Array
    normal: Array
    gap: float
    force: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class ContactLog:
    """Contact points of geometries with a contact force: ``names`` of the pairs, ``table`` (n, 15) in order of time.

    `COLUMNS` names the columns: number of the sample, number of the pair, gap [m], point [m], normal [1], force [N],
    moment [N m].
    """

    names: tuple[str, ...] = ()
    table: Array = field(default_factory=lambda: np.zeros((0, len(COLUMNS))))

    def at(self, sample: int) -> tuple[Meeting, ...]:
        """Return the contact points at the sample with this number, 0 ≤ sample; negative numbers have none."""
        first, last = np.searchsorted(self.table[:, 0], [sample, sample + 1])
        return tuple(
            Meeting(self.names[int(row[1])], row[3:6], row[6:9], float(row[2]), row[9:12], row[12:15])
            for row in self.table[first:last]
        )

    def forces(self, sample: int) -> dict[str, Array]:
        """Return the force on the second geometry (3,) [N], world axes, of each pair in contact at a sample, by
        pair.
        """
        found: dict[str, Array] = {}
        for meeting in self.at(sample):
            found[meeting.contact] = found.get(meeting.contact, np.zeros(3)) + meeting.force
        return found


NONE = ContactLog()


def contact_log(
    names: tuple[str, ...], reversed_pairs: Sequence[bool], logged: Sequence[Array], t: Array
) -> ContactLog:
    """Return the contact points that the kernel has logged, with the numbers of the records at times t.

    ``reversed_pairs`` are the pairs whose geometries the kernel has in the other order.
    """
    rows = np.concatenate(logged).reshape(-1, cl.N_LOGGED) if logged else np.zeros((0, cl.N_LOGGED))
    sample = np.searchsorted(t, rows[:, 0])
    known = sample < len(t)
    table = np.column_stack([sample, rows[:, 1:-1]])[known]
    other = np.array(reversed_pairs, dtype=bool)[table[:, 1].astype(int)]
    table[other, 6:] = 0.0 - table[other, 6:]
    return ContactLog(names, read_only(table))


def merged(one: ContactLog, other: ContactLog) -> ContactLog:
    """Return the contact points of two logs of a run, at each sample those of ``one`` first."""
    names = tuple(dict.fromkeys((*one.names, *other.names)))
    tables = []
    for contact_log in (one, other):
        table = contact_log.table.copy()
        numbers = np.array([names.index(name) for name in contact_log.names], dtype=float)
        table[:, 1] = numbers[table[:, 1].astype(int)]
        tables.append(table)
    whole = np.vstack(tables)
    return ContactLog(names, read_only(whole[np.argsort(whole[:, 0], kind="stable")]))
