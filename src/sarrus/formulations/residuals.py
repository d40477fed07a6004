"""`Residuals` of an answer, and the status that follows from them: the meaning of OK."""

from __future__ import annotations

from typing import NamedTuple

from sarrus.base.status import Status
from sarrus.formulations.tolerances import ACCELERATION_LOST, RESIDUAL_MET, RESIDUAL_NEAR


class Residuals(NamedTuple):
    """Relative residuals of an answer, the largest of any row, and the estimated error; they determine the status.

    Attributes
    ----------
    force : of M a + h = τ + F, with F the force of the constraints.
    multipliers : of M a + h = τ + Aᵀλ (and the non-ideal force).
    constraint : of A a + γ = 0, the part that an acceleration could remove. Zero where rows are met as well as they
        can be.
    remainder : of A a + γ = 0, all of it. Rows at the rounding of the largest row do not count.
    dropped : ``remainder`` where a row was dropped for its size or unit that is independent in balanced units; else 0.
    contradiction : by how much dependent rows disagree, relative to their γ; 0 where that is rounding.
    error : estimated relative error of a, from the residuals and the rounding of the data; in the norm of the kinetic
        energy of uncoupled coordinates.
    """

    force: float
    multipliers: float
    constraint: float
    remainder: float
    dropped: float
    contradiction: float
    error: float

    @property
    def largest(self) -> float:
        """Largest residual that refinement can lower."""
        return max(self.force, self.multipliers, self.constraint)

    @property
    def status(self) -> Status:
        """NOT_FINITE, INCONSISTENT, ILL_CONDITIONED, ALMOST or OK; the first that applies."""
        largest = self.largest
        if largest != largest or self.contradiction != self.contradiction or self.error != self.error:
            return Status.NOT_FINITE
        if largest > RESIDUAL_NEAR:
            return Status.ILL_CONDITIONED
        if self.contradiction > 0.0:
            return Status.INCONSISTENT
        if self.dropped > RESIDUAL_NEAR or self.error > ACCELERATION_LOST:
            return Status.ILL_CONDITIONED
        return Status.ALMOST if largest > RESIDUAL_MET else Status.OK


NOTHING = Residuals(*[float("nan")] * 7)
