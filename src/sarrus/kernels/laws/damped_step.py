"""Damped least-squares step of a priority level whose rows nearly depend on each other.

With the singular value decomposition T = Σ σ_i v_i g_iᵀ the step is Σ σ_i / (σ_i² + λ_i²) (v_iᵀ d) g_i. The damping
is λ_i² = ¼ (ε² − σ_i²) where σ_i < ε and zero elsewhere, so directions with σ_i ≥ ε are solved exactly (Chiaverini,
Egeland and Kanestrøm 1991). No factor is above 2 / (√3 ε): the step is no longer than 1.16 ‖d‖ / ε, whatever the
configuration.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.dense import orthogonalize
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.platform.pointers import internal


@internal
def damp_step(table: LawTable, work: LawWorkspace, first: int, count: int, done: int, least: float):
    """Write the damped step of a priority level to ``work.step`` (nu − done,); return the norm of the residual d − T
    step.

    The ``count`` rows of T begin at row ``first``. Singular values below ``least`` (ε) are damped.
    """
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
