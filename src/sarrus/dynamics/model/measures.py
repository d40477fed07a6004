"""Sizes of residuals and steps in radians and characteristic lengths (`sarrus.dynamics.model.characteristic`)."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory.tolerances import NO_METRIC


def open_by(system: Evaluations, q: Array, t: float = 0.0) -> float:
    """Return the largest entry of φ in absolute value, in radians and characteristic lengths."""
    phi = system.constraint_residual(q, t)
    return float(np.abs(system.characteristic.rows[: system.nh] * phi).max(initial=0.0))


def longest(system: Evaluations, step: Array) -> float:
    """Return the largest entry of a step (nv,) in absolute value, in radians and characteristic lengths."""
    return float(np.abs(system.characteristic.columns * step).max(initial=0.0))


def metric_root(system: Evaluations, q: Array, t: float = 0.0, basis: Array | None = None) -> Array:
    """Return the lower triangle C with C Cᵀ = Bᵀ M B / (mass × length²), B the ``basis`` by columns (default: all).

    M is the metric of `CompiledEquations.metric`; if it is numerically not definite, or not finite, the characteristic
    metric.
    """
    size = system.characteristic
    name = "metric" if system.compiled.mass_is_singular else "mass_matrix"
    whole = system.compiled.function(name)(system.pack(q, t=t)).reshape(system.nv, system.nv)
    for metric in (whole / (size.mass * size.length**2), np.diag(size.columns**2)):
        part = metric if basis is None else dense.product(basis.T, metric, basis)
        if np.isfinite(part).all():
            try:
                root = dense.cholesky(part)
            except np.linalg.LinAlgError:
                continue
            if (np.diag(part) <= NO_METRIC * np.diag(root) ** 2).all():
                return root
    raise AssertionError("the characteristic metric is definite")
