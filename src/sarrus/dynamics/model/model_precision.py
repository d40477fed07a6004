"""`DataTolerance`: the residual and the singular values due to the printed digits of a model.

`sarrus.dynamics.model.closure_precision` determines it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.dynamics.model.tolerances import (
    ACCEPTED_AS_DATA,
    CLOSED_AS_DATA,
    PASSING_AS_DATA,
    SHORTEST_PROJECTED_STEP,
)
from sarrus.kernels.memory.layout import Settings


@dataclass(frozen=True)
class DataTolerance:
    """The precision of the data of a model.

    Attributes
    ----------
    closing_error : largest residual of a row due to the digits [characteristic lengths, rad], and largest change of it
        in a motion of one radian; 0 for a model whose loops close to rounding.
    cut : singular values of A below this share of the largest one are due to the digits; 0 likewise.
    """

    closing_error: float = 0.0
    cut: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the loops close to rounding."""
        return self.closing_error == 0.0

    @property
    def passing_cut(self) -> float:
        """Share of its ordinary value below which the smallest singular value counts as zero.

        Links that do not quite flatten together miss the singular configuration: the singular value stays above the
        square root of their disagreement. Ideal links pass through it. The digits of the data must not decide this.
        """
        return min(0.3, PASSING_AS_DATA * float(np.sqrt(self.closing_error)))

    def closed(self, least: float = 0.0) -> float:
        """Return the residual below which loops count as closed; ``least`` for an exact model."""
        return max(least, CLOSED_AS_DATA * self.closing_error)

    def accepted(self, least: float) -> float:
        """Return the residual allowed in a motion where Newton's method stagnates; ``least`` for an exact model."""
        return max(least, ACCEPTED_AS_DATA * self.closing_error)

    def rank_cut(self, least: float) -> float:
        """Return the relative singular value below which rows are dependent; ``least`` for an exact model."""
        return max(least, self.cut)

    def loosen(self, settings: Settings, beside: float, *, holonomic: bool) -> None:
        """Loosen the tolerances of the kernels to the precision of the data; no change for an exact model.

        ``beside`` is the ordinary size of the smallest pivot nearby, relative to the largest one.
        """
        if self.exact:
            return
        settings.accepted_residual = self.accepted(settings.accepted_residual)
        settings.shortest_closing = SHORTEST_PROJECTED_STEP
        settings.singular_cut = max(settings.singular_cut, self.passing_cut * beside)
        # γ may differ by any share of it where it is small; holonomic rows are judged by their residual
        settings.inconsistent = 1.0 if holonomic else max(settings.inconsistent, 0.1)


EXACT = DataTolerance()
