"""Retraction q ⊕ δ of configurations, and the size of steps and residuals in characteristic units."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import add, copy, divide
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import internal


@internal
def normalize(table: Table, x: Floats):
    """Scale the quaternions in x to length one, in place."""
    for k in range(table.n_quaternions):
        i = table[la.QUATERNIONS + k]
        size = np.sqrt(x[i] ** 2 + x[i + 1] ** 2 + x[i + 2] ** 2 + x[i + 3] ** 2)
        divide(x + i, size, 4)


@internal
def retract(table: Table, x: Floats, step: Floats, scratch: Floats):
    """Replace q in x by q ⊕ ``step`` (nv,): q + N(q) step, with quaternions scaled to length one.

    ``scratch`` is a buffer for x and q̇.
    """
    nq, nv = table.nq, table.nv
    if table.simple_rate == 1:
        add(step, x, nq)
        return
    copy(x, scratch, la.input_size(table))
    copy(step, scratch + nq, nv)
    rate = scratch + la.input_size(table)
    call_native(table.rate, scratch, rate)
    add(rate, x, nq)
    normalize(table, x)


@internal
def longest_entry(table: Table, step: Floats):
    """Return the largest |entry| of ``step`` (nv,), in radians and characteristic lengths."""
    factors, longest = la.factors_of(table), 0.0
    for i in range(table.nv):
        longest = max(longest, abs(step[i]) * factors.velocities[i])
    return longest


@internal
def largest_gap(table: Table, residual: Floats, count: int):
    """Return the largest |residual| of the first ``count`` rows in characteristic units; infinite for a NaN."""
    factors, largest = la.factors_of(table), 0.0
    for j in range(count):
        value = abs(residual[j]) * factors.rows[j]
        if not value <= largest:
            largest = value if value < np.inf else np.inf
    return largest
