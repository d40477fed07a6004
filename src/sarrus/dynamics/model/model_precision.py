"""What follows from the printed digits of a model: what counts as closed and as dependent because of them.

`sarrus.dynamics.model.closure_precision` finds it.
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
    """What follows from the digits of a model.

    Attributes
    ----------
    closing_error : largest residual of a row that the data leave, in characteristic lengths and radians, and largest
        change of one by a motion of one radian; 0 of a model whose loops close to rounding.
    cut : singular values of A below this part of the largest one are of the data; 0 likewise.
    """

    closing_error: float = 0.0
    cut: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the loops close to rounding."""
        return self.closing_error == 0.0

    @property
    def passing_cut(self) -> float:
        """The part of its ordinary value below which the smallest singular value counts as zero.

        Links that do not quite flatten together turn away from a singular configuration where that value is the root of
        what they disagree by; ideal ones pass. What the data do not tell is not to decide.
        """
        return min(0.3, PASSING_AS_DATA * float(np.sqrt(self.closing_error)))

    def closed(self, least: float = 0.0) -> float:
        """Return the residual below which loops count as closed, ``least`` of an exact model."""
        return max(least, CLOSED_AS_DATA * self.closing_error)

    def accepted(self, least: float) -> float:
        """Return the residual that a motion may leave where Newton's method stagnates, ``least`` of an exact model."""
        return max(least, ACCEPTED_AS_DATA * self.closing_error)

    def rank_cut(self, least: float) -> float:
        """Return the relative singular value below which rows are dependent, ``least`` of an exact model."""
        return max(least, self.cut)

    def loosen(self, settings: Settings, beside: float, *, holonomic: bool) -> None:
        """Change the tolerances of the kernels to those of these data, nothing for an exact model.

        ``beside`` is the size that the smallest pivot has nearby, relative to the largest one.
        """
        if self.exact:
            return
        settings.accepted_residual = self.accepted(settings.accepted_residual)
        settings.shortest_closing = SHORTEST_PROJECTED_STEP
        settings.singular_cut = max(settings.singular_cut, self.passing_cut * beside)
        # γ may differ by any part of it where little is left; holonomic rows are judged by where they are.
        settings.inconsistent = 1.0 if holonomic else max(settings.inconsistent, 0.1)


EXACT = DataTolerance()
