"""`method_table`: the coefficients of an integration method as the time loop reads them from its table."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.kernels.integrate.rosenbrock_tableau import (
    IMPLICIT_METHODS,
    RosenbrockTableau,
    rosenbrock_tableau,
)
from sarrus.kernels.integrate.tableau import Tableau, tableau
from sarrus.kernels.memory import layout as la

# Entries of the table for coefficients of the method.
METHOD_ENTRIES = [
    la.Table.places[name]
    for name in ("stage_weights", "end_weights", "nodes", "error_weights", "n_stages", "n_errors")
]


def tableau_of(method: str) -> Tableau | RosenbrockTableau:
    """Return the coefficients of a method, explicit or implicit."""
    return rosenbrock_tableau(method) if method in IMPLICIT_METHODS else tableau(method)


@lru_cache(maxsize=8)
def widest_gap(method: str) -> float:
    """Return the widest gap between two stages of a method, in steps."""
    scheme = tableau_of(method)
    nodes = scheme.nodes if isinstance(scheme, RosenbrockTableau) else scheme.c
    return float(np.diff(np.unique([0.0, *nodes, 1.0])).max())


class MethodTable(NamedTuple):
    """Entries of the table for a method, and the arrays of coefficients that they point to, kept alive."""

    arrays: tuple[Array, ...]  # of stages, ends, nodes and error estimates
    entries: NDArray[np.int64]  # at `METHOD_ENTRIES` of the table
    power: float
    between: float


@lru_cache(maxsize=64)
def method_table(method: str, adaptive: bool, place: float) -> MethodTable:
    """Return the table of a method that puts a singular configuration at ``place`` (0 to 1) between two stages."""
    scheme = tableau_of(method)
    if isinstance(scheme, RosenbrockTableau):
        # one slope, and the error estimate behind it
        weights, errors = [np.zeros(1)] * 3, np.array([[0.0, 1.0]])
    else:
        weights, errors = [scheme.a, scheme.b, scheme.c], scheme.errors
    given = (*weights, errors if adaptive else np.zeros((0, 0)))
    arrays = tuple(np.ascontiguousarray(array) for array in given)
    entries = [*(array.ctypes.data for array in arrays), len(arrays[1]), len(arrays[3])]
    return MethodTable(arrays, np.array(entries), -1.0 / (scheme.error_order + 1), scheme.between(place))
