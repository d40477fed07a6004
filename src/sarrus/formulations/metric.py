"""Metric tensors: projections, norms and multipliers that do not depend on units of measurement.

Where coordinates mix metres and radians, vᵀv adds square metres to square radians, and everything that is made
from it, such as P = I − A⁺A or the minimum-norm torque, changes with the unit of length. A metric tensor W of the
velocities and a metric tensor R of the constraint rows lead to homogeneous coordinates:

    v_W = W^{1/2} v    f_W = W^{−1/2} f    M_W = W^{−1/2} M W^{−1/2}    A_W = R^{1/2} A W^{−1/2}
                       γ_W = R^{1/2} γ     λ_W = R^{−1/2} λ

with the symmetric root W^{1/2}. (Aghili 2005, eqs. (8)–(10), (49), (50) and section 7.2;
A_W = A W^{1/2} in its section 2.1.1 is a slip. R is an addition: the source leaves redundant λ open.)

What depends on what, for M positive definite on the null space of A and an unambiguous rank:

- a and the constraint force Aᵀλ depend on neither W nor R if the constraints agree. If they contradict each
  other, a minimises (A a + γ)ᵀR(A a + γ), so it depends on R, and still not on W.
- `determined`, and the multipliers it marks, depend on neither. The others are the λ with the least λᵀR⁻¹λ, whatever
  W is.
- P_W, potent and impotent force and the minimum-norm force depend on W, not on R.
- Which singular values count as zero, and the condition number of an inverted matrix, depend on both.

Given W and R in the units of the data, none of these depends on the units, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import positive_number
from sarrus.formulations.problem import Array, Problem, as_array, is_symmetric
from sarrus.formulations.tolerances import DEFINITE_TENSOR, RANK_TOLERANCE

# Units of coordinates, velocities and multipliers by the unit of the row of W that they lead to.
_LENGTHS = ("m", "m/s", "m/s^2", "N")
_ANGLES = ("rad", "rad/s", "rad/s^2", "N m", "1")


def characteristic_metric(units: Sequence[str], length: float) -> Array:
    """Return diag(κ⁻² where the unit is a length, 1 where it is an angle), with κ a characteristic length.

    A translation by κ then counts as much as a turn by one radian. (Aghili 2005, eq.
    (50).)

    Parameters
    ----------
    units : kinds of the entries, as `sarrus.dynamics.model.units.velocity_units` and
        `sarrus.dynamics.model.units.constraint_units` name them: "m", "m/s" or the force "N" dual to them; "rad",
        "rad/s", the torque "N m" or "1" (no unit). The words stand for the kind only: with data in millimetres write
        "m" all the same.
    length : κ > 0 in the unit of length of the data, such as the length of a link.

    Returns
    -------
    (n, n) metric, of the velocities for units of velocities; of the rows for units of constraints.

    Raises
    ------
    ArgumentError
        For an unknown unit, which it names with its place, and for a length that is not positive.
    """
    length = positive_number(length, "length")
    for place, unit in enumerate(units):
        if unit not in _LENGTHS + _ANGLES:
            known = ", ".join(repr(name) for name in _LENGTHS + _ANGLES)
            raise ArgumentError(
                f"units[{place}] is {unit!r}, which is no length and no angle. Known: {known}. Build the metric "
                "with numpy.diag where an entry has another unit",
                element=f"units[{place}]",
            )
    return np.diag([length**-2.0 if unit in _LENGTHS else 1.0 for unit in units])


def actuator_metric(maxima: ArrayLike) -> Array:
    """Return diag(maxima²), by which the norm of a force is √Σ (fᵢ / fᵢ,max)².

    (Aghili 2005, section 7.2: W^{1/2} = diag(f_max, t_max).)

    Parameters
    ----------
    maxima : (n,) largest force [N] or torque [N m] of each coordinate, positive. A passive coordinate needs a number
        too, since the metric is one of all velocities: any force that is typical there.

    Raises
    ------
    ArgumentError
        Where an entry is not a positive number; it is named by its place.
    """
    if np.ndim(maxima) != 1:
        raise ArgumentError(f"maxima must be a vector, got shape {np.shape(maxima)}", element="maxima")
    limits = as_array(maxima, np.shape(maxima), "maxima")
    for place, value in enumerate(limits):
        if not value > 0.0:
            raise ArgumentError(f"maxima[{place}] must be positive, got {value}", element=f"maxima[{place}]")
    return np.diag(limits**2)


class Scales(TypedDict, total=False):
    """Metrics of coordinates and rows: see `WeightedProblem.weighted`."""

    metric: ArrayLike | None
    row_metric: ArrayLike | None
    absolute_tolerance: float


class Weighing(Scales, total=False):
    """Metrics of coordinates and rows, and tolerances of singular values."""

    tolerance: float


@dataclass(frozen=True, eq=False)
class WeightedProblem(Problem):
    """A problem with metrics: rank, pseudo-inverse and projector are those of A_W, in the units of the data.

    Attributes
    ----------
    image : the same problem in homogeneous coordinates (M_W, h_W, A_W, γ_W, τ_W).
    root, inverse_root : (n, n) W^{1/2} and W^{−1/2}.
    row_root : (m, m) R^{1/2}.
    """

    image: Problem = field(kw_only=True, repr=False)
    root: Array = field(kw_only=True, repr=False)
    inverse_root: Array = field(kw_only=True, repr=False)
    row_root: Array = field(kw_only=True, repr=False)

    @classmethod
    def weighted(
        cls,
        M: ArrayLike,
        h: ArrayLike,
        A: ArrayLike,
        gamma: ArrayLike,
        tau: ArrayLike | None,
        *,
        metric: ArrayLike | None = None,
        row_metric: ArrayLike | None = None,
        tolerance: float = RANK_TOLERANCE,
        absolute_tolerance: float = 0.0,
    ) -> WeightedProblem:
        """Return the problem checked as `Problem.checked` does, with its image.

        ``metric`` and ``row_metric`` are (n, n) and (m, m), symmetric positive definite, or vectors of the
        diagonals; None is the identity. A singular value of A_W counts as zero below ``tolerance`` times the largest
        one, and below ``absolute_tolerance``, which is what sees a row vanish where there is no other.

        Raises
        ------
        ArgumentError
            As `Problem.checked`; for a metric of the wrong shape or not positive definite.
        """
        given = Problem.checked(M, h, A, gamma, tau, tolerance)
        root, inverse_root = _roots(metric, given.n, "metric")
        row_root, _ = _roots(row_metric, len(given.gamma), "row_metric")
        jacobian = row_root @ given.A @ inverse_root
        if not 0.0 <= absolute_tolerance < np.inf:
            raise ArgumentError(
                f"absolute_tolerance must not be negative, got {absolute_tolerance}",
                element="absolute_tolerance",
            )
        cut = given.tolerance
        if absolute_tolerance > 0.0 and jacobian.any():
            cut = max(cut, absolute_tolerance / float(np.linalg.norm(jacobian, 2)))
        image = Problem(
            M=inverse_root @ given.M @ inverse_root,
            h=inverse_root @ given.h,
            A=jacobian,
            gamma=row_root @ given.gamma,
            tau=inverse_root @ given.tau,
            tolerance=cut,
        )
        roots = {"root": root, "inverse_root": inverse_root, "row_root": row_root}
        return cls(given.M, given.h, given.A, given.gamma, given.tau, cut, image=image, **roots)

    @cached_property
    def svd(self) -> tuple[Array, Array, Array]:
        """Full singular value decomposition of A_W, from which the rank is decided."""
        return self.image.svd

    @cached_property
    def inverse(self) -> Array:
        """Weighted pseudo-inverse W^{−1/2} A_W⁺ R^{1/2} of A."""
        return self.inverse_root @ self.image.inverse @ self.row_root

    @cached_property
    def basis(self) -> Array:
        """Basis of the null space of A, orthonormal in W."""
        return self.inverse_root @ self.image.basis

    @cached_property
    def projector(self) -> Array:
        """P = W^{−1/2} P_W W^{1/2}, orthogonal in W; it acts on velocities, its transpose on forces."""
        return self.inverse_root @ self.image.projector @ self.root

    @property
    def contradiction(self) -> float:
        """Norm of the part of γ_W outside the range of A_W."""
        return self.image.contradiction

    @cached_property
    def rows(self) -> Array:
        """Orthonormal basis of the range of A_Wᵀ (n, rank), across the constraints."""
        return self.svd[2][: self.rank].T


def by_diagonal(tensor: Array) -> tuple[Array, Array]:
    """Return the roots of the diagonal (n,), and the matrix divided by them: zeros where one of them is zero."""
    scale = np.sqrt(np.abs(np.diag(tensor)))
    return scale, tensor / np.outer(scale, scale) if scale.all() else np.zeros(tensor.shape)


def _roots(metric: ArrayLike | None, size: int, name: str) -> tuple[Array, Array]:
    """Return W^{1/2} and W^{−1/2} of a metric, its diagonal, or None for the identity."""
    if metric is None:
        return np.eye(size), np.eye(size)
    if np.ndim(metric) == 1:
        metric = np.diag(as_array(metric, (size,), name))
    tensor = as_array(metric, (size, size), name)
    relative = by_diagonal(tensor)[1]
    if not is_symmetric(relative) or (np.linalg.eigvalsh(relative) < DEFINITE_TENSOR).any():
        raise ArgumentError(f"{name} must be symmetric and positive definite", element=name)
    values, vectors = np.linalg.eigh(tensor)
    return (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T
