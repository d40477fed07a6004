"""Which straight-line code serves a state: that of its own coordinates, or code for any coordinates, made once.

`StraightLine` runs it over states in a compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.system import System
from sarrus.kernels.c_function import bridge, own_models, whole_models
from sarrus.kernels.models_layout import StraightLineTable, straight_line_room
from sarrus.kernels.python_call import bound
from sarrus.linear.linear_system import LinearSystem
from sarrus.linear.partition import OWN_CLEAR, partition
from sarrus.linear.pieces import Pieces, pieces_of
from sarrus.linear.traced import own_model, whole_model

# Pivots below this fraction of the largest singular value of A M^(−1/2) nearby are not believed.
VANISHING = 1e-3
_OWN, _WHOLE = "linear model of", "linear models by"


def native_model(system: System, x: Array, independent: tuple[int, ...]) -> NativeFunction | None:
    """Return code whose pivots are clear at the state x, None where there is none.

    Its output is that of `own_model` in the ``independent`` velocities (empty: none in particular) where these
    determine the others clearly, else that of `whole_model`. Of redundant rows it takes the independent ones;
    nonholonomic rows have no such code.
    """
    basis, compiled = system.workspace().basis, system.compiled
    if basis is None or system.nc > system.nh:
        return None
    rows = basis.independent
    if len(rows) == system.nv:  # nothing moves
        return None
    own = " ".join(map(str, (_OWN, *independent)))
    made = [native for name, native in compiled.compiled.items() if name == own]
    made += [native for name, native in compiled.compiled.items() if name.startswith(_WHOLE)]
    for native in made:
        clear, size = _gauge(native, x)
        if clear > 0.0 and size > least_pivot(system):
            return native
    pieces = pieces_of(system)
    jacobian, mass = numbers_at(system, pieces, x)
    if independent and own not in compiled.compiled:
        dependent = [i for i in range(system.nv) if i not in independent]
        chosen = replace(partition(jacobian, mass, rows, dependent), independent=independent)
        if chosen.least > OWN_CLEAR:
            return compiled.named(own, lambda: own_model(system, pieces, chosen))
    best = partition(jacobian, mass, rows)
    name = " ".join(map(str, (_WHOLE, *best.independent)))
    return compiled.named(name, lambda: whole_model(system, pieces, best))


def _gauge(native: NativeFunction, x: Array) -> tuple[float, float]:
    """Return the two numbers that say whether pivots are clear at a state."""
    values, (_, (_, width)) = native(x), next(iter(native.outputs.values()))
    clear, size = (values[0], values[width - 2]) if "model" in native.outputs else values[-2:]
    return float(clear), float(size)


def numbers_at(system: System, pieces: Pieces, x: Array) -> tuple[Array, Array]:
    """Return A and M at a state."""
    inputs = system.compiled.inputs
    evaluate = ca.Function("numbers", inputs, [pieces.jacobian, pieces.mass])
    given = np.split(x, np.cumsum([symbols.numel() for symbols in inputs])[:-1])
    jacobian, mass = (np.array(matrix) for matrix in evaluate(*given))
    return jacobian, mass


def least_pivot(system: System) -> float:
    """Return what the square of the smallest pivot must exceed."""
    return float((VANISHING * system.workspace().settings().scale_of_weighted_rows) ** 2)


class StraightLine:
    """Models at many states in the coordinates of a `LinearSystem`, by straight-line code; see `sarrus.linear.code`.

    ``native`` is that code, None where there is none.
    """

    def __init__(self, system: System, model: LinearSystem) -> None:
        self._x = system.pack(model.q, model.v, model.u, model.t)
        self.native: NativeFunction | None = native_model(system, self._x, _own_velocities(model))
        self._size = model.B.shape
        if self.native is not None:
            self._models, self._needed = self._bound(system, model, self.native)

    def _bound(
        self, system: System, model: LinearSystem, native: NativeFunction
    ) -> tuple[Callable[..., int], list[Any]]:
        """Return the loop as a function of q, v, u, t and room for answers, and what must be kept for it."""
        (n, nu), rows, table = self._size, model.coordinate_rows, StraightLineTable.zeros()
        least, room = np.array([least_pivot(system)]), np.empty(straight_line_room(system.nq, nu, n // 2))
        starts = np.concatenate([[0], np.cumsum((rows != 0.0).sum(axis=1))]).astype(np.int64)
        columns, weights = np.nonzero(rows)[1].astype(np.int64), rows[rows != 0.0]
        table.native, table.x, table.least, table.work = native.address, self._x, least, room
        table.nq, table.nv, table.nu, table.dof = system.nq, system.nv, nu, n // 2
        table.starts, table.columns, table.weights = starts, columns, weights
        kernel = own_models if "model" in native.outputs else whole_models
        function, needed = bound(kernel.address, bridge.address, table)
        return function, [needed, least, room, starts, columns, weights]

    def __call__(self, q: Array, v: Array, u: Array, t: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return [A | B | E | affine] (N, n, n + nu + 2) at the states, and where these models can be trusted.

        q (N, nq), v (N, nv), u (N, nu), t (N,) are C-contiguous; nothing is checked.
        """
        n, nu = self._size
        out, good = np.empty((len(q), n, n + nu + 2)), np.zeros(len(q))
        if self.native is not None:
            self._models(q, v, u, t, good, out)
        return out, good > 0.0


def _own_velocities(model: LinearSystem) -> tuple[int, ...]:
    """Return the independent velocities where each is the rate of one coordinate, which is its y; else nothing."""
    rows = model.coordinate_rows
    if ((rows != 0.0).sum(axis=1) == 1).all() and np.abs(rows.sum(axis=1) - 1.0).max(initial=0.0) < 1e-12:
        return model.coordinate_indices
    return ()
