"""A row of the table of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sarrus.base.status import Answer, Status


def _column(*header: str, form: str = ".2g", unit: str = "") -> Any:
    """Return a field of numbers with the two lines of its header in a terminal, its format there, and its unit."""
    return field(default=np.nan, metadata={"header": header, "form": form, "unit": unit})


@dataclass(frozen=True)
class ComparisonRow(Answer):
    """Figures of one run; NaN where the run has no sample.

    Attributes
    ----------
    formulation : label of the run.
    position_error : largest entry of q − q of the reference in absolute value [m, rad], along velocities; NaN
        without a reference, or where it does not cover the run.
    energy_error : largest change of T + V [J], which is an error where energy is conserved.
    closure_residual : largest entry of φ in absolute value [m, rad].
    velocity_residual : largest entry of ψ = A v − b in absolute value [m/s, rad/s].
    condition_median, condition_largest : condition number over time: of A for the kernel, of the matrix that it
        inverts for a formulation.
    steps_per_second : accepted steps over the time that the run took.
    status, message : how the run ended.
    """

    formulation: str
    position_error: float = _column("position error", "largest", unit="m, rad")
    energy_error: float = _column("energy error", "largest [J]", unit="J")
    closure_residual: float = _column("closure", "residual", unit="m, rad")
    velocity_residual: float = _column("velocity", "residual", unit="m/s, rad/s")
    condition_median: float = _column("condition", "median", form=".3g")
    condition_largest: float = _column("condition", "largest", form=".3g")
    steps_per_second: float = _column("steps", "per second", form=",.0f", unit="1/s")
    status: Status = Status.OK
    message: str = ""
