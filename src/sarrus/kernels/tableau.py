"""Explicit Runge–Kutta methods: classical order 4, Dormand–Prince 5(4), Dormand–Prince 8(5,3).

Coefficients of the embedded pairs as in Hairer, Nørsett and Wanner, Solving Ordinary Differential
Equations I, 2nd ed., II.4 and II.10, read from SciPy's public solver classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Tableau:
    """``a`` (s × s), ``b`` (s,), ``c`` (s,); ``errors`` (0, 1 or 2) × (s + 1) weigh the stages and the new slope."""

    name: str
    order: int
    a: Array
    b: Array
    c: Array
    errors: Array
    error_order: int

    def between(self, place: float) -> float:
        """Return where a singular configuration is laid in a step, see `widest_gap`."""
        return widest_gap(np.append(self.c, 1.0), place)


def widest_gap(nodes: Array, place: float) -> float:
    """Return the fraction of a step at a ``place``, 0 to 1, in the widest gap between nodes; of equal gaps the last."""
    nodes = np.unique(nodes)
    gaps = np.diff(nodes)
    widest = int(np.flatnonzero(gaps > gaps.max() - 1e-9)[-1])
    return float(nodes[widest] + place * gaps[widest])


METHODS = ("rk4", "dopri5", "dop853")


@lru_cache(maxsize=len(METHODS))
def tableau(name: str) -> Tableau:
    """Return a method by name: rk4 (fixed step), dopri5 or dop853 (adaptive)."""
    if name == "rk4":
        a = np.zeros((4, 4))
        a[1, 0] = a[2, 1] = 0.5
        a[3, 2] = 1.0
        b = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
        return Tableau(name, 4, a, b, np.array([0.0, 0.5, 0.5, 1.0]), np.zeros((0, 5)), 0)
    from scipy.integrate import DOP853, RK45

    if name == "dopri5":
        a = np.zeros((6, 6))
        a[:, :5] = RK45.A
        return Tableau(name, 5, a, RK45.B.copy(), RK45.C.copy(), RK45.E[None, :].copy(), 4)
    if name == "dop853":
        errors = np.stack([DOP853.E5, DOP853.E3])
        return Tableau(name, 8, DOP853.A.copy(), DOP853.B.copy(), DOP853.C.copy(), errors, 7)
    raise ArgumentError(f"unknown method {name!r}. Known: {', '.join(METHODS)}", element=name, valid=METHODS)
