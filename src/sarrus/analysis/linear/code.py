"""Selection of straight-line code for a linear model: code in the state's own coordinates, or code for any coordinates.

`StraightLine` runs it over states in a compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.partition import Partition, partition
from sarrus.analysis.linear.pieces import Pieces, pieces_of
from sarrus.analysis.linear.tolerances import CLEAR_PIVOT, OWN_CLEAR_PIVOT, OWN_VELOCITY, ROW_PART, VANISHING
from sarrus.analysis.linear.traced import own_model, whole_model
from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.system import System
from sarrus.kernels.memory.models_layout import StraightLineTable, straight_line_room
from sarrus.kernels.platform.c_function import bridge, own_models, whole_models
from sarrus.kernels.platform.python_call import bound
from sarrus.symbolic.equations.sparse import rows_of

# Instructions beyond which code is not made: half a minute of compiling.
LONGEST = 400_000
_OWN, _WHOLE = "linear model of", "linear models by"


def native_model(system: System, x: Array, independent: tuple[int, ...]) -> NativeFunction | None:
    """Return code whose pivots are clear of zero at the state x; None if there is none.

    Its output is that of `own_model` in the ``independent`` velocities (empty: no preference) if these clearly
    determine the dependent ones, else that of `whole_model`. Of redundant rows it uses independent ones; nonholonomic
    rows have no such code.
    """
    rows, compiled = served_rows(system), system.compiled
    if rows is None or len(rows) == system.nv:  # nothing moves
        return None
    if _length(system, len(rows)) > LONGEST:
        return None
    by = " ".join(map(str, ("with rows", *rows)))
    own = " ".join(map(str, (_OWN, *independent, by)))
    made = [native for name, native in compiled.compiled.items() if name == own]
    made += [f for name, f in compiled.compiled.items() if name.startswith(_WHOLE) and name.endswith(by)]
    for native in made:
        clear, size = _conditioning(native, x)
        if clear > 0.0 and size > VANISHING**2:
            return native
    pieces = pieces_of(system)
    evaluate = _numbers(system, pieces)
    jacobian, mass = evaluate(x)

    def sized(chosen: Partition) -> Partition:
        return replace(chosen, sizes=tuple(_sizes(system, evaluate)[list(chosen.rows)]))

    if independent and own not in compiled.compiled:
        dependent = [i for i in range(system.nv) if i not in independent]
        chosen = replace(partition(jacobian, mass, rows, dependent), independent=independent)
        if chosen.least > OWN_CLEAR_PIVOT:
            return compiled.named(own, lambda: own_model(system, pieces, sized(chosen)))
    best = partition(jacobian, mass, rows)
    clear = CLEAR_PIVOT if best.least > CLEAR_PIVOT else OWN_CLEAR_PIVOT
    name = " ".join(map(str, (_WHOLE, *best.independent, "clear by", clear, by)))
    return compiled.named(name, lambda: whole_model(system, pieces, sized(best), clear))


def served_rows(system: System) -> tuple[int, ...] | None:
    """Return the rows that straight-line code eliminates, as many as the generic rank; None if it does not apply.

    They are all rows that are not structurally zero, or independent ones of redundant rows if no parameter shapes A
    (otherwise other rows could be independent at other values).
    """
    near, live = system.workspace().near, system.compiled.live
    if near is None or live is None or system.nc > system.nh:
        return None
    if near.rank == len(live):
        return tuple(live)
    if system.equations.shaping_parameters or len(near.independent) != near.rank:
        return None
    return near.independent


def _length(system: System, rank: int) -> int:
    """Return the approximate number of instructions of a model: those of the tree, and solves with a full reduced M."""
    dof, entries = system.nv - rank, sum(map(len, rows_of(system.equations.mass_matrix)))
    return 70 * entries + 2 * dof**2 * (2 * dof + system.nu)


def _conditioning(native: NativeFunction, x: Array) -> tuple[float, float]:
    """Return the two numbers that tell whether pivots are clear of zero at a state."""
    values, (_, (_, width)) = native(x), next(iter(native.outputs.values()))
    clear, size = (values[0], values[width - 2]) if "model" in native.outputs else values[-2:]
    return float(clear), float(size)


def _numbers(system: System, pieces: Pieces) -> Callable[[Array], tuple[Array, Array]]:
    """Return A and M as a function of x."""
    inputs = system.compiled.inputs
    evaluate = ca.Function("numbers", inputs, [pieces.jacobian, pieces.mass])
    ends = np.cumsum([symbols.numel() for symbols in inputs])[:-1]

    def numbers(x: Array) -> tuple[Array, Array]:
        jacobian, mass = (np.array(matrix) for matrix in evaluate(*np.split(x, ends)))
        return jacobian, mass

    return numbers


def _sizes(system: System, evaluate: Callable[[Array], tuple[Array, Array]]) -> Array:
    """Return the sizes of rows at ordinary configurations (nc,), columns divided by √M_jj, rounded to powers of two.

    It is the median over some configurations near the neutral one, so that a model has one code wherever motions begin;
    loops are open there, and a weld may be near its half turn.
    """
    rng, found = np.random.default_rng(5), []
    for _ in range(7):
        step = 0.3 * rng.standard_normal(system.nv) / system.characteristic.columns
        place = system.move(system.neutral(), step)
        jacobian, mass = evaluate(system.pack(place, None, None, 0.0))
        rows = jacobian / np.sqrt(np.diag(mass))
        found.append(np.sqrt(np.add.reduce(rows * rows, axis=1)))
    largest = np.median(np.nan_to_num(found, posinf=0.0), axis=0)
    closures = np.array(system.compiled.units.closures)
    beside = np.array([largest[closures == one].max() for one in closures])
    largest = np.where(largest > ROW_PART * beside, largest, ROW_PART * beside)
    return np.asarray(2.0 ** np.round(np.log2(np.where(largest > 0.0, largest, 1.0))))


class StraightLine:
    """Models at many states in the coordinates of a `LinearSystem`, by straight-line code.

    ``native`` is the code, None if it does not apply.
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
        """Return the loop as a function of q, v, u, t and the output array, and objects to keep alive."""
        (n, nu), rows, table = self._size, model.coordinate_rows, StraightLineTable.zeros()
        least, room = np.array([VANISHING**2]), np.empty(straight_line_room(system.nq, nu, n // 2))
        starts = np.concatenate([[0], np.cumsum((rows != 0.0).sum(axis=1))]).astype(np.int64)
        columns, weights = np.nonzero(rows)[1].astype(np.int64), rows[rows != 0.0]
        table.native, table.x, table.least, table.work = native.address, self._x, least, room
        table.nq, table.nv, table.nu, table.dof = system.nq, system.nv, nu, n // 2
        table.starts, table.columns, table.weights = starts, columns, weights
        kernel = own_models if "model" in native.outputs else whole_models
        function, needed = bound(kernel.address, bridge.address, table)
        return function, [needed, least, room, starts, columns, weights]

    def __call__(self, q: Array, v: Array, u: Array, t: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return [A | B | E | affine] (N, n, n + nu + 2) at the states, and the mask (N,) of valid models.

        q (N, nq), v (N, nv), u (N, nu), t (N,) are C-contiguous; they are not checked.
        """
        n, nu = self._size
        out, good = np.empty((len(q), n, n + nu + 2)), np.zeros(len(q))
        if self.native is not None:
            self._models(q, v, u, t, good, out)
        return out, good > 0.0


def _own_velocities(model: LinearSystem) -> tuple[int, ...]:
    """Return the independent velocities if each is the rate of one coordinate y; else ()."""
    rows = model.coordinate_rows
    if ((rows != 0.0).sum(axis=1) == 1).all() and np.abs(rows.sum(axis=1) - 1.0).max(
        initial=0.0
    ) < OWN_VELOCITY:
        return model.coordinate_indices
    return ()
