"""Forces that hold rows, H a + Ḣ v = 0: of redundant ones those nearest to the forces with which the phase began.

Those of contacts are measured alike, wherever they are and however they rub: with W Z = 0 for forces that do nothing,
Zᵀ r is what it was, so that the share of each contact follows from the state.
"""

from __future__ import annotations

from sarrus.kernels.dense import eliminate
from sarrus.kernels.flat import internal
from sarrus.kernels.vectors import copy, dot, fill, is_finite

# Part of the diagonal that keeps redundant rows regular, and how often its effect is taken back.
RIDGE, REFINEMENTS = 1e-8, 3


@internal
def solve_held(table, m, work):
    """Find the forces for W and accelerations that are known, and the inverse of W; return whether there are any."""
    copy(work.operator, work.matrix, m * m)
    fill(work.inverse, 0.0, m * m)
    contacts, largest = table.touching.contacts, 0.0
    for i in range(m):
        if 0 <= work.owner[i] < contacts:
            largest = max(largest, abs(work.operator[i * (m + 1)]))
    for i in range(m):
        own = work.operator[i * (m + 1)]
        held, size = own == 0.0, largest if 0 <= work.owner[i] < contacts else abs(own)
        work.matrix[i * (m + 1)] += 1.0 if held else RIDGE * size
        work.inverse[i * (m + 1)] = 0.0 if held else 1.0
    if eliminate(work.matrix, work.inverse, m, m) != 0:
        return False
    for i in range(m):
        held = work.operator[i * (m + 1)] == 0.0
        work.impulses[i] = 0.0 if held else table.touching.begun[int(work.which[i])]
    for _ in range(REFINEMENTS):
        for i in range(m):
            work.left[i] = -work.given[i] - dot(work.operator + i * m, work.impulses, m)
        for i in range(m):
            work.impulses[i] += dot(work.inverse + i * m, work.left, m)
    return is_finite(work.impulses, m)
