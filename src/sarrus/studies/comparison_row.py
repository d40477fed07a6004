"""A row of the table of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.base.status import Answer, Status


@dataclass(frozen=True)
class ComparisonRow(Answer):
    """Figures of one run; NaN where the run has no sample.

    Attributes
    ----------
    formulation : label of the run.
    energy_error : largest change of T + V [J], which is an error where energy is conserved.
    closure_residual : largest entry of φ in absolute value [m, rad].
    velocity_residual : largest entry of ψ = A v − b in absolute value [m/s, rad/s].
    condition_median, condition_largest : condition number over time: of A for the kernel, of the matrix that it
        inverts for a formulation.
    steps_per_second : accepted steps over the time that the run took.
    status, message : how the run ended.
    """

    formulation: str
    energy_error: float
    closure_residual: float
    velocity_residual: float
    condition_median: float
    condition_largest: float
    steps_per_second: float
    status: Status
    message: str = ""
