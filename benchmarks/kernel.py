"""The one place that knows how the compiled kernels are called."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numba import njit

import sarrus as sr
from sarrus import control
from sarrus.analysis.linear.code import StraightLine
from sarrus.base.arrays import Array
from sarrus.kernels.memory.law_layout import ANSWER_ONLY
from sarrus.kernels.platform.c_function import forward


def kernel_batch(system: sr.System, q: Array, v: Array, repeats: int) -> Callable[[], float]:
    """Return a function that evaluates a, λ, Aᵀλ ``repeats`` times in the kernel: seconds per evaluation."""
    expected = system.forward_dynamics(q, v, contacts=False).a
    table, out = system.workspace().table, np.empty(system.workspace().output_size)

    def run() -> float:
        began = perf_counter()
        forward(table, out, repeats)
        return (perf_counter() - began) / repeats

    run()
    if not np.allclose(out[: system.nv], expected, rtol=1e-12, atol=1e-12):
        raise RuntimeError(f"{system.name}: the kernel and forward_dynamics differ")
    return run


def law_batch(law: control.Law, q: Array, v: Array, t: float, repeats: int) -> Callable[[], float]:
    """Return a function that evaluates a control law ``repeats`` times in the kernel: seconds per evaluation."""
    expected = law(q, v, t)
    table, state = law.table, np.concatenate([q, v, np.zeros(law.system.nu), [t]])

    def run() -> float:
        began = perf_counter()
        _call_many(law.kernel.entry, table, state, repeats)
        return (perf_counter() - began) / repeats

    run()
    if not np.allclose(law.arrays.answer[: law.system.nu], expected, rtol=1e-6, atol=1e-6):
        raise RuntimeError(f"{law.name}: the kernel and the call from Python differ")
    return run


@njit
def _call_many(function: Callable[..., int], table: Array, state: Array, repeats: int) -> None:
    for _ in range(repeats):
        function(table.ctypes, state.ctypes, ANSWER_ONLY)


def linear_batch(system: sr.System, q: Array, v: Array, states: int) -> Callable[[], float]:
    """Return a function that finds linear models at a state, repeated, in the compiled loop: seconds per model."""
    model = sr.linearize_at(system, q, v, contacts=False)
    loop, (n, nu) = StraightLine(system, model), model.B.shape
    given = [np.tile(part, (states, 1)) for part in (q, v, np.zeros(nu))]
    times = np.zeros(states)

    def run() -> float:
        began = perf_counter()
        _, clear = loop(*given, times)
        taken = (perf_counter() - began) / states
        if not clear.all():
            raise RuntimeError(f"{system.name}: the straight-line code does not serve this state")
        return taken

    out, _ = loop(*given, times)
    if not np.allclose(out[-1, :, :n], model.A, rtol=1e-11, atol=1e-11 * np.abs(model.A).max()):
        raise RuntimeError(f"{system.name}: the compiled loop and linearize_at differ")
    return run
