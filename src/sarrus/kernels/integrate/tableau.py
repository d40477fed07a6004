"""Explicit Runge–Kutta methods: classical order 4, Dormand–Prince 5(4), Dormand–Prince 8(5,3).

Coefficients of the embedded pairs are in `sarrus.kernels.integrate.dormand_prince`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.kernels.integrate import dormand_prince as co
from sarrus.kernels.integrate.tolerances import EQUAL_NODES


@dataclass(frozen=True, eq=False)
class Tableau:
    """Coefficients ``a`` (s × s), ``b`` (s,), ``c`` (s,), and ``errors`` (0, 1 or 2) × (s + 1) of an explicit method.

    ``errors`` weigh the slopes of the stages and the slope at the end.
    """

    name: str
    order: int
    a: Array
    b: Array
    c: Array
    errors: Array
    error_order: int

    def between(self, place: float) -> float:
        """Return the fraction of a step, 0 to 1, at which a singular configuration is placed, see `widest_gap`."""
        return widest_gap(np.append(self.c, 1.0), place)


def widest_gap(nodes: Array, place: float) -> float:
    """Return the fraction of a step at ``place``, 0 to 1, in the widest gap between nodes; of equal gaps the last."""
    nodes = np.unique(nodes)
    gaps = np.diff(nodes)
    widest = int(np.flatnonzero(gaps > gaps.max() - EQUAL_NODES)[-1])
    return float(nodes[widest] + place * gaps[widest])


METHODS = ("rk4", "dopri5", "dop853")
# Name of the time-stepping method of `sarrus.kernels.integrate.time_stepping`.
TIME_STEPPING = "moreau-jean"


@lru_cache(maxsize=len(METHODS) + 1)
def tableau(name: str) -> Tableau:
    """Return the coefficients of the method ``name``: rk4 (fixed step), dopri5 or dop853 (adaptive), moreau-jean."""
    if name == "rk4":
        a = np.zeros((4, 4))
        a[1, 0] = a[2, 1] = 0.5
        a[3, 2] = 1.0
        b = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
        return Tableau(name, 4, a, b, np.array([0.0, 0.5, 0.5, 1.0]), np.zeros((0, 5)), 0)
    if name == TIME_STEPPING:
        # The time loop needs only its nodes: it evaluates the start and the middle of a step.
        return Tableau(
            name, 2, np.zeros((2, 2)), np.array([1.0, 0.0]), np.array([0.0, 0.5]), np.zeros((0, 3)), 0
        )
    if name == "dopri5":
        a, b, errors = _rows(co.DOPRI5_A, 6), _rows([co.DOPRI5_B], 6)[0], _rows([co.DOPRI5_ERROR], 7)
        return Tableau(name, 5, a, b, np.array(co.DOPRI5_C), errors, 4)
    if name == "dop853":
        a, b, errors = _rows(co.DOP853_A, 12), _rows([co.DOP853_B], 12)[0], _rows(co.DOP853_ERRORS, 13)
        return Tableau(name, 8, a, b, np.array(co.DOP853_C), errors, 7)
    raise ArgumentError(f"unknown method {name!r}. Known: {', '.join(METHODS)}", element=name, valid=METHODS)


def _rows(entries: Sequence[Mapping[int, float]], width: int) -> Array:
    """Return a matrix with ``width`` columns from the nonzero entries of its rows."""
    matrix = np.zeros((len(entries), width))
    for row, given in zip(matrix, entries):
        row[list(given)] = list(given.values())
    return matrix
