"""`StraightLine`: the compiled loop over states with the code that serves their coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.system import System
from sarrus.linear.code import least_pivot, native_model
from sarrus.linear.fast import own_models, whole_models
from sarrus.linear.linear_system import LinearSystem


class StraightLine:
    """Models at many states in the coordinates of a `LinearSystem`, by straight-line code; see `sarrus.linear.code`.

    ``native`` is that code, None where there is none.
    """

    def __init__(self, system: System, model: LinearSystem) -> None:
        self._x = system.pack(model.q, model.v, model.u, model.t)
        self.native: NativeFunction | None = native_model(system, self._x, _own_velocities(model))
        self._least, self._size = least_pivot(system), model.B.shape
        rows = model.coordinate_rows
        starts = np.concatenate([[0], np.cumsum((rows != 0.0).sum(axis=1))])
        self._chart = starts, np.nonzero(rows)[1], rows[rows != 0.0]

    def __call__(self, q: Array, v: Array, u: Array, t: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return [A | B | E | affine] (N, n, n + nu + 2) at the states, and where these models can be trusted.

        q (N, nq), v (N, nv), u (N, nu), t (N,) are C-contiguous; nothing is checked.
        """
        n, nu = self._size
        out, clear, native = np.empty((len(q), n, n + nu + 2)), np.zeros(len(q), dtype=np.bool_), self.native
        if native is not None:
            state = self._x, q, v, u, t
            if "model" in native.outputs:
                own_models(native.address, *state, self._least, clear, out)
            else:
                room = np.empty(native.n_out)
                whole_models(native.address, room, *state, *self._chart, self._least, clear, out)
        return out, clear


def _own_velocities(model: LinearSystem) -> tuple[int, ...]:
    """Return the independent velocities where each is the rate of one coordinate, which is its y; else nothing."""
    rows = model.coordinate_rows
    if ((rows != 0.0).sum(axis=1) == 1).all() and np.abs(rows.sum(axis=1) - 1.0).max(initial=0.0) < 1e-12:
        return model.coordinate_indices
    return ()
