"""`TracedFunctions`: functions of a user for observation, reward and end, compiled for all copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.state_functions import arguments_beyond
from sarrus.dynamics.system import System
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.kernels.memory.functions_layout import FunctionsTable
from sarrus.kernels.platform.c_function import functions_of_states
from sarrus.runs.gym.stepper import Stepper
from sarrus.symbolic.equations.symbolic import traced

# Entries that each function must return; None for any number.
_SIZES = {"observation": None, "reward": 1, "terminated": 1}


class TracedFunctions:
    """Functions f(q, v, u, t) or f(q, v, u, t, p) of CasADi vectors in machine code, for eight copies at a time.

    q (nq,), v (nv,), u (nu,) and t are those of one copy; p gives its parameters by name. All functions are one
    straight-line program, so that they share common subexpressions. A copy's values do not depend on the others.
    """

    def __init__(self, system: System, functions: Mapping[str, Callable[..., Any]], stepper: Stepper) -> None:
        outputs = {name: _trace(system, name, function) for name, function in functions.items()}
        native = self._native = system.compiled.compile("environment", outputs, lanes=LANES)
        count, width = stepper.states.shape
        self.values, self._stepper = np.zeros((count, native.n_out)), stepper  # whose arrays the table names
        self._room = np.zeros(LANES * width), np.zeros(LANES * native.n_out)
        table = self._table = FunctionsTable.zeros()
        table.native, table.width, table.n_out, table.nu = native.address, width, native.n_out, system.nu
        table.place_of_u, table.place_of_t = system.parts.u.start, system.parts.t
        table.states, table.controls, table.times = stepper.states, stepper.u, stepper.t
        table.values, (table.inputs, table.answer) = self.values, self._room

    def evaluate(self, first: int, last: int) -> None:
        """Evaluate all functions at the present states of the copies ``first`` … ``last`` − 1, and of some before."""
        self._table.first, self._table.last = first - first % LANES, last
        functions_of_states(self._table, self.values, 0)

    def __getitem__(self, name: str) -> Array:
        """Return the values of a function (count, entries) of the last evaluation."""
        place, _ = self._native.outputs[name]
        return self.values[:, place]

    def __contains__(self, name: str) -> bool:
        return name in self._native.outputs


def _trace(system: System, name: str, function: Callable[..., Any]) -> ca.SX:
    e = system.equations
    values = ca.vertsplit(e.p) if e.parameter_values else ()
    more = arguments_beyond(partial(function, None), e.parameter_values, values)
    remedy = "Write it with CasADi operations for one copy, such as q[0], or leave the name out of traced="
    return traced(function, (e.q, e.v, e.u, e.t, *more), f"{system.name}: {name}", remedy, _SIZES[name])
