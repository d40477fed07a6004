"""Base parameters: the identifiable combinations of parameters (Gautier 1991; Khalil, Dombre 2002, ch. 9)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.identification.random_states import random_states
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.tolerances import (
    COLUMN_CUT,
    LEAST_COLUMN,
    NO_COEFFICIENT,
    WHOLE_COEFFICIENT,
)

_ROWS_EACH = 3  # random equations for each number


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The combinations β = K p of parameters on which the equations depend.

    Attributes
    ----------
    names : (n,) all parameters. kept : places of the leaders, one for each combination. matrix : K (n_base, n), with
        ones at the leaders and zeros at the other leaders.
    gap : ratio of the independent part of the least independent column to that of the most dependent one; a large gap
        means a clear decision.

    Columns are taken in a fixed order, inertia before first moments before mass before all others; a column leads a
    combination if more than 1e-7 of it is independent of the columns before. So masses join the inertias of the bodies
    that carry them, as in textbooks, and rounding decides nothing.
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    matrix: Array
    gap: float

    def __len__(self) -> int:
        return len(self.kept)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The combinations as text, such as "link1.origin_inertia.yy + link2.mass"."""
        return tuple(self._label(row) for row in self.matrix)

    @cached_property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters on which no motion depends."""
        return tuple(n for n, column in zip(self.names, self.matrix.T) if not column.any())

    @cached_property
    def identifiable(self) -> tuple[str, ...]:
        """Parameters that are a base parameter by themselves."""
        alone = [k for row in self.matrix if np.count_nonzero(row) == 1 for k in np.flatnonzero(row)]
        return tuple(self.names[k] for k in sorted(alone))

    @cached_property
    def unidentifiable(self) -> tuple[str, ...]:
        """Parameters without effect, or identifiable in combinations only."""
        known = set(self.identifiable)
        return tuple(n for n in self.names if n not in known)

    def _label(self, row: Array) -> str:
        text = ""
        for k in sorted(np.flatnonzero(row), key=lambda k: (k not in self.kept, k)):
            sign = "-" if row[k] < 0 else "+"
            size = "" if abs(row[k]) == 1.0 else f"{abs(row[k]):.6g} "
            term = f"{size}{self.names[k]}"
            text += f" {sign} {term}" if text else (term if sign == "+" else f"-{term}")
        return text

    def restricted(self, rows: Array, cut: float) -> tuple[list[int], Array]:
        """Return the base parameters that equations (m, n_base) distinguish, and K of these among them."""
        kept, matrix, _ = combinations(rows, list(range(rows.shape[1])), cut)
        return kept, matrix

    def __str__(self) -> str:
        lines = [f"{len(self)} base parameters of {len(self.names)} numbers"]
        lines += [f"  {label}" for label in self.labels]
        if self.without_effect:
            lines.append("without effect: " + ", ".join(self.without_effect))
        return "\n".join(lines)


def base_parameters(regressor: Regressor, *, seed: int = 0) -> BaseParameters:
    """Return the `BaseParameters` of all motions, from random states on the loops (structural identifiability).

    Redundant closures and passive joints change nothing. Branches of the loops that random steps from the neutral
    configuration do not reach are not included. Raises `SolveError` if the loops cannot be closed.
    """
    n = len(regressor.names)
    rows: list[Array] = []
    for state in random_states(regressor, seed):
        rows.append(regressor.rows(*state)[0])
        if sum(map(len, rows)) >= _ROWS_EACH * n + 10:
            break
    order = sorted(range(n), key=lambda k: (_rank(regressor.names[k]), k))
    stacked = np.vstack(rows) * regressor.size
    kept, matrix, gap = combinations(stacked, order, COLUMN_CUT)
    matrix = matrix * regressor.size[kept][:, None] / regressor.size
    return BaseParameters(regressor.names, tuple(kept), read_only(_tidy(matrix)), gap)


def _rank(name: str) -> int:
    for k, what in enumerate((".origin_inertia.", ".first_moment.", ".mass")):
        if what in name:
            return k
    return 3


def combinations(rows: Array, order: list[int], cut: float) -> tuple[list[int], Array, float]:
    """Return (columns independent of those before them in an order, K over all columns, gap)."""
    n = rows.shape[1]
    left = rows.copy()
    whole = np.sqrt((rows**2).sum(axis=0))
    largest = whole.max(initial=0.0)
    kept: list[int] = []
    least, most = np.inf, 0.0
    for k in order:
        column = left[:, k]
        size = float(np.sqrt(column @ column))
        share = size / max(whole[k], LEAST_COLUMN * largest) if largest else 0.0
        if share <= cut:
            most = max(most, share)
            continue
        least = min(least, share)
        kept.append(k)
        q = column / size
        for _ in range(2):  # twice is enough
            rest = [j for j in range(n) if j not in kept]
            left[:, rest] -= np.outer(q, q @ left[:, rest])
    kept.sort()
    matrix = np.zeros((len(kept), n))
    if kept:
        chosen = rows[:, kept]
        scale = whole[kept]
        rest = [j for j in range(n) if j not in kept]
        matrix[:, kept] = np.eye(len(kept))
        matrix[:, rest] = np.linalg.lstsq(chosen / scale, rows[:, rest], rcond=None)[0] / scale[:, None]
        unseen = whole[rest] <= cut * largest
        matrix[:, [j for j, zero in zip(rest, unseen) if zero]] = 0.0
        size = np.maximum(whole[None, :], LEAST_DIVISOR) / scale[:, None]
        matrix[np.abs(matrix) < NO_COEFFICIENT * size] = 0.0
    return kept, matrix, least / most if most > 0.0 else np.inf


def _tidy(matrix: Array) -> Array:
    """Return coefficients without rounding: integers if they are near, else ten digits."""
    out = np.array([float(f"{x:.10g}") for x in matrix.ravel()]).reshape(matrix.shape)
    near = np.round(out)
    return np.where(np.abs(out - near) < WHOLE_COEFFICIENT * np.maximum(np.abs(near), 1.0), near, out)
