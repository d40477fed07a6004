"""`LeastConditionRule`: a projection formulation with the scalar g or ν of least condition number, for runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from sarrus.base.errors import check_known
from sarrus.formulations.problem import Formulation
from sarrus.formulations.projections.constraint_inertia import MINIMAL_CONDITION, parameterized_projection
from sarrus.formulations.projections.least_condition import PARAMETERS
from sarrus.formulations.projections.oblique import oblique_projection

_METHODS: dict[str, Callable[..., Formulation]] = {
    "parameterized-projection": parameterized_projection,
    "oblique-projection": oblique_projection,
}
OVER = ("motion", "state")


@dataclass(frozen=True)
class LeastConditionRule:
    """A formulation for ``sarrus.simulate(formulation=)`` with the scalar of least condition of its constraint inertia
    matrix.

    PM + g (I − P) of Aghili 2005 (29), where g is called γ, and PMP + ν (I − P) of Aghili 2022 (5b). Accelerations do
    not depend on the scalar, rounding errors do (2005, section 5.1.2). Called as a formulation, it takes the scalar of
    least condition at that state.

    Parameters
    ----------
    formulation : "parameterized-projection" (scalar g) or "oblique-projection" (scalar ν).
    over : "motion", one number for the whole run with the least largest condition number; a constant ν keeps dM̄/dt −
        2C̄ skew. `sarrus.simulate` then runs the motion with the compiled solve first, and takes the number of
        `sarrus.formulations.least_condition` along it. "state": the number of least condition at each
        state.

    By name: `sarrus.formulations.LEAST_CONDITION`, over the motion. Redundant, zero and singular rows are as for the
    formulation. If A has no rows, or allows no motion, the scalar has no effect.
    """

    formulation: str = "oblique-projection"
    over: str = "motion"

    def __post_init__(self) -> None:
        check_known("formulation with a parameter", self.formulation, _METHODS)
        check_known("over", self.over, OVER)

    @property
    def parameter(self) -> str:
        """Name of the scalar: "g" or "nu"."""
        return PARAMETERS[self.formulation]

    def __call__(
        self,
        M: ArrayLike,
        h: ArrayLike,
        A: ArrayLike,
        gamma: ArrayLike,
        tau: ArrayLike | None = None,
        **more: Any,
    ) -> Formulation:
        """Return the `Formulation` with the scalar of least condition at this state."""
        return self.having(MINIMAL_CONDITION)(M, h, A, gamma, tau, **more)

    def having(self, value: float | str) -> Callable[..., Formulation]:
        """Return the formulation with this value of its scalar."""
        name, method = self.parameter, _METHODS[self.formulation]

        def solve(*arguments: Any, **more: Any) -> Formulation:
            return method(*arguments, **{name: value}, **more)

        return solve


LEAST_CONDITION = {f"{name}-least-condition": LeastConditionRule(name) for name in _METHODS}
