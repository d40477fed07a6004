"""`NodeNewton`: Newton's method from many configurations at once to given values of some quantities, with
loops closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from sarrus.analysis.configurations.many_configurations import ManyConfigurations
from sarrus.analysis.linkages.tolerances import (
    FARTHEST,
    NODE_AS_OPEN,
    NODE_FALLS,
    NODE_MET,
    NODE_RIDGE,
    NODE_STEPS,
)
from sarrus.base.arrays import Array
from sarrus.dynamics.model.measures import open_by
from sarrus.kernels.linalg.tolerances import RANK_CUT

# Into how many parts a step is divided that fails, one of κ at most.
_PARTS = 4


def parts_of(size: float) -> int:
    """Return the number of parts into which a failed step of this size [rad, κ] is divided."""
    return int(np.ceil(_PARTS * max(1.0, size)))


class Aims(Protocol):
    """Quantities of a configuration: two coordinates, or the position of a point.

    ``factors`` (d,) convert to characteristic units; ``evaluate`` returns values (n, d) and rows (n, d, nv), ``short``
    differences of values modulo full turns.
    """

    factors: Array

    def evaluate(self, q: Array) -> tuple[Array, Array]: ...

    def short(self, gaps: Array) -> Array: ...


class NodeNewton:
    """Newton's method for φ(q) = 0 and given values of some quantities, in characteristic units.

    T has the rows of the closures, then those of the quantities, and the columns of velocities that are not locked.
    ``steps`` computes T⁺ b: `direct_steps` if T has full column rank, `least_steps` in general.
    """

    def __init__(
        self,
        many: ManyConfigurations,
        aims: Aims,
        free: np.ndarray,
        start: Array,
        steps: Callable[[Array, Array], Array],
    ) -> None:
        self.many, self.aims, self.free, self.steps = many, aims, free, steps
        sizes = many.system.characteristic
        self.met = max(NODE_MET, NODE_AS_OPEN * open_by(many.system, start, many.t))
        self.scale, self.row_scale = sizes.columns, sizes.rows[: many.system.nh]

    def rows(self, q: Array, goals: Array) -> tuple[Array, Array]:
        """Return the residuals (n, m) at goals (n, d), and T (n, m, k)."""
        residual, jacobian = self.many.closures(q)
        values, rows = self.aims.evaluate(q)
        factors = self.aims.factors
        missing = np.hstack([self.row_scale * residual, factors * self.aims.short(values - goals)])
        matrix = np.concatenate([self.row_scale[:, None] * jacobian, factors[:, None] * rows], axis=1)
        return missing, (matrix / self.scale)[:, :, self.free]

    def moved(self, q: Array, steps: Array) -> Array:
        """Return q ⊕ steps (n, k), steps in characteristic units."""
        x = np.zeros((len(q), len(self.scale)))
        x[:, self.free] = steps
        return self.many.move(q, x / self.scale)

    def ahead(self, q: Array, goals: Array) -> Array:
        """Return the steps (n, k) to goals to first order, the first steps of Newton's method."""
        missing, matrix = self.rows(q, goals)
        return -self.steps(matrix, missing)

    def meets(self, q: Array, goals: Array) -> np.ndarray:
        """Return which configurations are at the goals, with loops closed (n,)."""
        return np.asarray(np.abs(self.rows(q, goals)[0]).max(axis=1) < self.met)

    def solve(self, q: Array, goals: Array) -> tuple[Array, Array, np.ndarray]:
        """Return (configurations next to q at goals, T there, mask of the ones found)."""
        q, found, alive = q.copy(), np.zeros(len(q), dtype=bool), np.ones(len(q), dtype=bool)
        before = np.full(len(q), np.inf)
        matrices = np.zeros((len(q), len(self.row_scale) + len(self.aims.factors), len(self.free)))
        for k in range(NODE_STEPS):
            which = np.flatnonzero(alive)
            if not len(which):
                break
            missing, matrix = self.rows(q[which], goals[which])
            size = np.abs(missing).max(axis=1)
            met = size < self.met
            found[which[met]], matrices[which[met]] = True, matrix[met]
            going = ~met & np.isfinite(size) & ((k < 2) | (size < NODE_FALLS * before[which]))
            before[which] = size
            alive[which[~going]] = False
            steps = -self.steps(matrix[going], missing[going])
            long = np.linalg.norm(steps, axis=1) > FARTHEST
            alive[which[going][long]] = False
            q[which[going]] = self.moved(q[which[going]], np.where(long[:, None], 0.0, steps))
        return q, matrices, found


def decomposed(matrices: Array) -> tuple[Array, Array, Array]:
    """Return the singular value decompositions (left, sizes, right) of matrices (n, m, k)."""
    left, sizes, right = np.linalg.svd(matrices, full_matrices=False)
    return left, sizes, right


def solved(parts: tuple[Array, Array, Array], right_sides: Array) -> Array:
    """Return T⁺ b (n, k), with singular values below `CUT` of the largest one set to zero."""
    left, sizes, right = parts
    counted = sizes > RANK_CUT * sizes[:, :1]
    along = np.einsum("nij,ni->nj", left, right_sides) * counted / np.where(counted, sizes, 1.0)
    return np.einsum("nij,ni->nj", right, along)


def least_steps(matrices: Array, right_sides: Array) -> Array:
    """Return T⁺ b (n, k) for T of any rank: the least-norm step."""
    return solved(decomposed(matrices), right_sides)


def direct_steps(matrices: Array, right_sides: Array) -> Array:
    """Return T⁺ b (n, k) by the normal equations, accurate enough for Newton's method if the columns are
    independent.
    """
    across = np.swapaxes(matrices, 1, 2)
    gram = across @ matrices
    diagonal = np.einsum("nii->ni", gram)
    diagonal += NODE_RIDGE * diagonal.sum(axis=1, keepdims=True) + np.finfo(float).tiny
    return np.asarray(np.linalg.solve(gram, across @ right_sides[:, :, None])[:, :, 0])
