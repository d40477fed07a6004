"""Forward dynamics of one workspace from Python: where a state goes, and what is called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.c_function import forward

if TYPE_CHECKING:
    from sarrus.dynamics.workspace import Workspace

# Of a kernel that returns within microseconds: the interpreter's lock is kept.
_SHORT = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class ForwardCall(NamedTuple):
    """Parts of the input x of a workspace, as memory that takes arrays of float64 of its own shape and no others.

    ``solve`` evaluates forward dynamics at x, writes `sarrus.kernels.forward.answer_at`'s output to ``answer`` and
    returns its code.
    """

    x: memoryview
    q: memoryview
    v: memoryview
    tau: memoryview
    at_t: int
    no_force: memoryview
    answer: Array
    solve: Callable[[], int]


def forward_call(work: Workspace) -> ForwardCall:
    """Return forward dynamics of a workspace; it writes to that."""
    x, parts, answer = memoryview(work.x), work.parts, np.zeros(work.output_size)
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (work.table, answer)]
    solve = partial(_SHORT(forward.address), *addresses, ctypes.c_int64(1))
    no_force = memoryview(np.zeros(work.nv))
    return ForwardCall(x, x[parts.q], x[parts.v], x[parts.tau], parts.t, no_force, answer, solve)
