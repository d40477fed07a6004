"""`Options`: the tolerances of the constrained solves of one system."""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.dynamics.model.tolerances import INCONSISTENT_ROWS, POSITION_TOLERANCE, SINGULAR_CUT


@dataclass(frozen=True)
class Options:
    """Tolerances of the constrained solves: ``system.options = Options(singular_cut=1e-8)`` holds from then on.

    singular_cut : a pivot of A below this multiple of the largest one nearby is singular. Redundant rows are
        cut by the generic rank, found at closed configurations nearby with a cut of 1e-6, or more if the
        digits of the model require it (`sarrus.dynamics.model.model_precision`).
    near_singular : smallest pivot, relative to its largest value in a run, below which `simulate` with fixed steps
        projects the Runge–Kutta stages onto the constraints; adaptive methods project all such stages. Infinite:
        all stages.
    inconsistent : a solve is INCONSISTENT if dependent rows contradict each other by more than this: if row j of A is
        Σ c_k (row k), |γ_j − Σ c_k γ_k| relative to the sum of the magnitudes of these terms.
    position_tolerance : closure residual at which a projection stops, in radians and multiples of the characteristic
        length of the mechanism; see `sarrus.dynamics.model.characteristic`.
    """

    singular_cut: float = SINGULAR_CUT
    near_singular: float = 0.2
    inconsistent: float = INCONSISTENT_ROWS
    position_tolerance: float = POSITION_TOLERANCE
