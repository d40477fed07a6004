"""Table of the invariants that the projection of a run keeps: the array at ``table.kept``."""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import view_fields


class Invariants(NamedTuple):
    """Target, size, change and error of each invariant that a run keeps."""

    target: Any  # value to keep
    size: Any  # unit of errors if the target is smaller
    change: Any  # change by the motion, the integral of its rate
    pending: Any  # change in the present step
    rate: Any  # rate at the start of the present step
    missed: Any  # error after the last projection, relative to the size


N_KEPT = len(Invariants._fields)


def invariants_of(table: Table):
    """Return the arrays of the invariants of a run, views of ``table.kept``."""
    k = table.n_invariants
    return view_fields(table.kept, Invariants(k, k, k, k, k, k))
