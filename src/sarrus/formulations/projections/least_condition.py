"""The scalar of a constraint inertia matrix that keeps its condition number least, at a state or along a motion.

M_c″ = PM + g (I − P) of Aghili 2005 (29), whose γ is our g, and M̄ = PMP + ν(I − P) of Aghili 2022 (5b) have a free
scalar. The source takes ‖M‖ and says that some value has the least condition number (2005, section 5.1.2). Here is
which. In an orthonormal basis of the null space of A and of the range of Aᵀ, with blocks B, C of M,

    M_c″ = [B C; 0 g I]     cond² = λ_max / λ_min of [B C]ᵀ[B C] + g² diag(0, I)
    M̄ = [B 0; 0 ν I]        cond = max(ν, b) / min(ν, a), with a, b the extreme eigenvalues of B

Both fall in the parameter, then rise: one valley. So does the largest over the states of a motion, and one number
serves a whole motion: for M̄ it is √(min a · max b), with the largest condition max(max b/a, √(max b / min a)). A
constant ν keeps dM̄/dt − 2C̄ skew; one that follows the state does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from sarrus.base.arrays import read_only
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import real_array
from sarrus.formulations.metric import Scales, WeightedProblem
from sarrus.formulations.problem import Array, Problem
from sarrus.formulations.projections.tolerances import LOG_PARAMETER, SAME_VALUES
from sarrus.formulations.tolerances import MASSLESS, RANK_TOLERANCE

PARAMETERS = {"parameterized-projection": "g", "oblique-projection": "nu"}
_MATRICES = {"g": "PM + g (I − P)", "nu": "PMP + ν (I − P)"}
_SYMBOLS = {"g": "g", "nu": "ν"}


@dataclass(frozen=True, eq=False)
class Blocks:
    """B (d × d) and C (d × r) of M_W, in an orthonormal basis of the null space of A_W and of the range of A_Wᵀ."""

    along: Array
    across: Array
    norm: float

    @classmethod
    def of(cls, problem: Problem) -> Blocks:
        """Return the blocks of a problem."""
        along, across = problem.basis, problem.svd[2][: problem.rank].T
        return cls(along.T @ problem.M @ along, along.T @ problem.M @ across, problem.mass_norm)

    @property
    def is_free(self) -> bool:
        """Whether the scalar has an effect: A has rows and allows motion."""
        return 0 not in self.across.shape

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue of B; the smallest of one that is not positive definite is zero."""
        masses = np.linalg.eigvalsh(self.along)
        least = float(masses[0])
        return (least if least > MASSLESS * self.norm else 0.0), float(masses[-1])

    def condition(self, parameter: str, value: float) -> float:
        """Return the 2-norm condition number of M_c″, "g", or M̄, "nu"."""
        if not self.is_free and not self.along.size:
            return 1.0
        if parameter == "nu":
            a, b = self.extremes
            low, high = (min(a, value), max(b, value)) if self.across.size else (a, b)
            return high / low if low > 0.0 else np.inf
        return float(np.linalg.cond(self._matrix(value)))

    def _matrix(self, g: float) -> Array:
        d, r = self.across.shape
        return np.vstack([np.hstack([self.along, self.across]), np.hstack([np.zeros((r, d)), g * np.eye(r)])])


def best_parameter(parameter: str, blocks: Sequence[Blocks]) -> float:
    """Return the g or ν whose largest condition number over the blocks is least; ‖M‖ if it has no effect.

    For g a bounded search in its one valley: with σ the smallest singular value of B and s the norm of [B C], g = s
    gives at most √6 s / σ, and any g at least max(s / g, g / σ), so that the best g for a state lies between σ / √6 and
    √6 s; the best one for several states lies between the least and the largest of these.
    """
    free = [block for block in blocks if block.is_free]
    norm = max((block.norm for block in blocks), default=1.0) or 1.0
    if not free or min(block.extremes[0] for block in free) == 0.0:
        return norm
    if parameter == "nu":
        extremes = np.array([block.extremes for block in free])
        return float(np.sqrt(extremes[:, 0].min() * extremes[:, 1].max()))
    sizes = [
        (float(np.linalg.eigvalsh(b.along)[0]), float(np.linalg.norm(np.hstack([b.along, b.across]), 2)))
        for b in free
    ]
    found = minimize_scalar(
        lambda log_g: max(float(np.log(block.condition("g", np.exp(log_g)))) for block in free),
        bounds=(
            np.log(min(low for low, _ in sizes) / np.sqrt(6.0)),
            np.log(np.sqrt(6.0) * max(s for _, s in sizes)),
        ),
        method="bounded",
        options={"xatol": LOG_PARAMETER},
    )
    return float(np.exp(found.x))


@dataclass(frozen=True, eq=False)
class LeastCondition:
    """The scalar of least condition along a motion and its gain (read-only arrays (T,)); ``print`` gives a summary.

    Attributes
    ----------
    formulation, parameter : "parameterized-projection" and "g", or "oblique-projection" and "nu".
    constant : the one value with the least largest condition number over the motion.
    each : the value of least condition at each state. norm : ‖M_W‖ there, the choice of the source.
    with_constant, with_each, with_norm : condition number of the inertia matrix at each state with these values.
    """

    formulation: str
    parameter: str
    constant: float
    each: Array
    norm: Array
    with_constant: Array
    with_each: Array
    with_norm: Array

    @property
    def gain(self) -> float:
        """Largest condition number with ‖M‖ divided by that with the constant."""
        return float(self.with_norm.max() / self.with_constant.max())

    def __str__(self) -> str:
        symbol = _SYMBOLS[self.parameter]
        lines = [
            f"{_MATRICES[self.parameter]} at {len(self.each)} states",
            f"{'':14}{symbol:>22}{'largest condition':>20}{'mean (geometric)':>19}",
        ]
        for name, values, conditions in (
            (f"{symbol} = ‖M‖", self.norm, self.with_norm),
            ("one for all", np.array([self.constant]), self.with_constant),
            ("one for each", self.each, self.with_each),
        ):
            low, high = float(values.min()), float(values.max())
            span = f"{low:.4g}" if high - low <= SAME_VALUES * high else f"{low:.4g} to {high:.4g}"
            mean = float(np.exp(np.log(conditions).mean()))
            lines.append(f"{name:14}{span:>22}{conditions.max():>20.4g}{mean:>19.4g}")
        return "\n".join(lines)


def least_condition(
    M: ArrayLike,
    A: ArrayLike,
    formulation: str = "parameterized-projection",
    *,
    metric: ArrayLike | None = None,
    row_metric: ArrayLike | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> LeastCondition:
    """Return the scalar of a constraint inertia matrix that keeps its condition number least along a motion.

    Accelerations and forces do not depend on the scalar, rounding errors of the inversion do. Pass ``constant`` as
    ``g=`` or ``nu=`` of the formulation. States at which A has no rows, or allows no motion, do not count and have ‖M‖.

    Parameters
    ----------
    M, A : (T, n, n) and (T, m, n) along the motion, or (n, n) and (m, n) of one state. The rank of A may change.
    formulation : "parameterized-projection", whose g it is, or "oblique-projection", with ν.
    metric, row_metric, tolerance : as for `sarrus.formulations.projection`, the same at all states.

    Raises
    ------
    ArgumentError
        A wrong shape, no states, an unknown formulation; M not positive definite on the null space of A, with the index
        of the first such state.
    """
    check_known("formulation with a parameter", formulation, PARAMETERS)
    parameter = PARAMETERS[formulation]
    masses, rows = real_array(M), real_array(A)
    if masses.ndim == 2 and rows.ndim == 2:
        masses, rows = masses[None], rows[None]
    if masses.ndim != 3 or rows.ndim != 3 or len(masses) != len(rows) or len(masses) == 0:
        raise ArgumentError(
            f"M and A must be of shapes (T, n, n) and (T, m, n), got {masses.shape} and {rows.shape}",
            element="M",
        )
    scales: Scales = {"metric": metric, "row_metric": row_metric}
    blocks = []
    for k, (mass, jacobian) in enumerate(zip(masses, rows)):
        zeros = np.zeros(len(mass)), np.zeros(len(jacobian))
        problem = WeightedProblem.weighted(
            mass, zeros[0], jacobian, zeros[1], None, tolerance=tolerance, **scales
        )
        block = Blocks.of(problem.image)
        if block.along.size and block.extremes[0] == 0.0:
            raise ArgumentError(f"M[{k}] is not positive definite on the null space of A[{k}]", element="M")
        blocks.append(block)
    constant = best_parameter(parameter, blocks)
    each = np.array([best_parameter(parameter, [block]) for block in blocks])
    norm = np.array([block.norm for block in blocks])

    def conditions(values: Array) -> Array:
        return read_only(np.array([block.condition(parameter, x) for block, x in zip(blocks, values)]))

    return LeastCondition(
        formulation,
        parameter,
        constant,
        read_only(each),
        read_only(norm),
        conditions(np.full(len(blocks), constant)),
        conditions(each),
        conditions(norm),
    )
