"""Cone programs solved by Clarabel."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from benchmarks.cone_instances import Instance


def clarabel_solver(
    program: Instance, tolerance: float, *, updates: bool = False, iterations: int = 200
) -> Any:
    """Return Clarabel's solver of a program with relative tolerances; ``updates`` keeps it able to take other data."""
    rows = program.rows
    cones = [
        clarabel.ZeroConeT(len(program.b)),
        clarabel.NonnegativeConeT(rows.linear),
        *[clarabel.SecondOrderConeT(size) for size in rows.cones],
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    settings.presolve_enable = not updates
    settings.max_iter = iterations
    return clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(program.P)),
        program.q,
        sparse.csc_matrix(np.vstack([program.A, rows.G])),
        np.concatenate([program.b, rows.h]),
        cones,
        settings,
    )
