"""Table of the invariants that the projection of a run keeps: the array at ``table.kept``."""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import view_fields


class Invariants(NamedTuple):
    """Target, size, change and error of each invariant that a run keeps."""

    target: Any  # its value
    size: Any  # what it is measured by where the target is smaller
    change: Any  # by which the motion has changed it, its rate added up
    pending: Any  # in the step under way
    rate: Any  # where that began
    missed: Any  # part of the size by which the last projection missed it


N_KEPT = len(Invariants._fields)


def invariants_of(table: Table):
    """Return the arrays of the invariants of a run, views of ``table.kept``."""
    k = table.n_invariants
    return view_fields(table.kept, Invariants(k, k, k, k, k, k))
