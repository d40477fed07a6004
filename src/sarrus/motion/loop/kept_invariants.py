"""The array in which the kernels keep the invariants of one run, and its entries in the table."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.invariant_layout import N_KEPT, Invariants
from sarrus.kernels.memory.record import view_fields
from sarrus.motion.inputs.invariants import InvariantFunctions, TracedInvariants

# The array of a run that keeps none.
NONE_KEPT = np.zeros((N_KEPT, 0))


def kept_array(traced: TracedInvariants) -> Array:
    """Return the array of a run with the scales: a row for each part of `Invariants`, a column for each invariant."""
    kept = np.zeros((N_KEPT, len(traced.names)))
    known_of(kept).size[:] = traced.sizes
    return kept


def known_of(kept: Array) -> Invariants:
    """Return the parts of the array, views."""
    return view_fields(kept.ravel(), Invariants(*[kept.shape[1]] * N_KEPT))


def with_room(table: la.Table, kept: Array) -> la.Table:
    """Return a copy of a table whose permutation has room for the rows of the invariants."""
    return np.concatenate([table, np.zeros(kept.shape[1], dtype=np.int64)]).view(la.Table)


def attach(table: la.Table, kept: Array, functions: InvariantFunctions, x: Array) -> None:
    """Hand the invariants to the kernels, to be kept at their values at x."""
    table.n_invariants, table.kept = kept.shape[1], kept
    table.invariants, table.invariant_values = functions.projected.address, functions.values.address
    table.invariant_rates = functions.rates.address
    keep_values(kept, functions, x)


def keep_values(kept: Array, functions: InvariantFunctions | None, x: Array) -> None:
    """Store the values at x as the ones to be kept from now on."""
    if functions is None:
        return
    known = known_of(kept)
    known.target[:] = functions.values(x)
    known.change[:] = known.pending[:] = known.missed[:] = 0.0
