"""The step of a level whose rows nearly depend on each other: directions that take much for little are damped.

With T = Σ σ_i v_i g_iᵀ the step is Σ σ_i / (σ_i² + λ_i²) (v_iᵀ d) g_i, with λ_i² = ¼ (ε² − σ_i²) where σ_i < ε and none
elsewhere (Chiaverini, Egeland and Kanestrøm 1991; direction by direction, so that the others are exact). No factor is
above 2 / (√3 ε): the step is no longer than 1.16 ‖d‖ / ε, whatever the configuration.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.dense import orthogonalize
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.platform.pointers import internal


@internal
def damp_step(table: LawTable, work: LawWorkspace, first: int, count: int, done: int, least: float):
    """Write the step of the level whose ``count`` rows begin at ``first``, damped below the size ``least``; return what
    it misses."""
    nu, step, right = table.nu, work.step, work.right
    left = nu - done
    for i in range(count):
        copy(work.table + ((first + i) * nu + done), work.spread + i * left, left)
    orthogonalize(work.spread, work.spin, work.y, work.along, count, left)
    fill(step, 0.0, left)
    for i in range(count):
        size = work.y[i]
        wanted = dot(work.spin + i * count, right + first, count)
        damping = max(0.0, 0.25 * (least * least - size * size))
        if size * size + damping > 0.0:
            axpy(wanted / (size * size + damping), work.spread + i * left, step, left)
    missed = 0.0
    for i in range(count):
        missed += (right[first + i] - dot(work.table + ((first + i) * nu + done), step, left)) ** 2
    return np.sqrt(missed)
