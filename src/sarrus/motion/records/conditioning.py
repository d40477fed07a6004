"""The condition number of the constraint Jacobian along runs, evaluated when it is first asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array, read_only
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.motion.records.readings import states_of
from sarrus.motion.records.recorded_motion import RecordedMotion
from sarrus.motion.records.singularity_channels import stretches
from sarrus.motion.records.tolerances import SINGULAR_MATRIX


def condition_along(trajectory: RecordedMotion) -> Array:
    """Return the condition number of A (T,) along a run, in characteristic units; see `sarrus.Trajectory`."""
    out, system = np.ones(len(trajectory.t)), trajectory.moved_system()
    if system is not None and system.nc:
        for start, stop, rank, values in stretches(trajectory, system):
            part = slice(start, stop)
            ranks = np.full(stop - start, rank)
            out[part] = condition_numbers(system, states_of(trajectory, system, values, part), ranks)
            out[part][trajectory.rank[part] < rank] = np.inf
    return read_only(out)


def condition_numbers(system: System, states: Array, ranks: NDArray[np.int64]) -> Array:
    """Return σ₁ / σ_r (n,) of A in characteristic units at states x (n, …), r the ``ranks`` (n,); 1 where r is 0.

    Infinite where σ_r is below rounding of σ₁; NaN where A is not finite.
    """
    sizes, out = system.characteristic, np.ones(len(states))
    native, seen = system.compiled.function("jacobian"), np.flatnonzero(np.asarray(ranks) > 0)
    if not len(seen):
        return out
    jacobian = native.each(np.ascontiguousarray(states[seen])).reshape(-1, system.nc, system.nv)
    for k, matrix in zip(seen, sizes.scaled_rows(jacobian)):
        rank = int(ranks[k])
        if not np.isfinite(matrix).all():
            out[k] = np.nan
            continue
        rows = matrix[(matrix != 0.0).any(axis=1)]
        values = dense.even_singular_values(rows) if len(rows) else np.zeros(1)
        least = float(values[rank - 1]) if rank <= len(values) else 0.0
        out[k] = values[0] / least if least > SINGULAR_MATRIX * values[0] else np.inf
    return out
