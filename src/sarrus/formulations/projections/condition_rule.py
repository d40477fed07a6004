"""`LeastConditionRule`: a projection formulation whose scalar g or ν is chosen by its condition number, for runs."""

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
    """A formulation for ``sarrus.simulate(formulation=)`` that chooses the scalar of its constraint inertia matrix.

    PM + g (I − P) of Aghili 2005 (29), its γ, and PMP + ν (I − P) of Aghili 2022 (5b); accelerations do not depend on
    the scalar, digits do (2005, section 5.1.2). Called as the formulation itself is, it takes the scalar of least
    condition at that state.

    Parameters
    ----------
    formulation : "parameterized-projection", whose g it is, or "oblique-projection", with ν.
    over : "motion", one number for the whole run, whose largest condition number is least: a constant ν keeps dM̄/dt −
        2C̄ skew. `sarrus.simulate` does the motion by the compiled solve first, and takes the number of
        `sarrus.formulations.least_condition` along it. "state": the number of least condition at each
        state.

    By name: `sarrus.formulations.LEAST_CONDITION`, over the motion. Redundant, zero and singular rows are as for the
    formulation: where A has no rows, or leaves no motion, no number is better than another.
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
        """Return what the formulation does with the scalar of least condition at this state."""
        return self.having(MINIMAL_CONDITION)(M, h, A, gamma, tau, **more)

    def having(self, value: float | str) -> Callable[..., Formulation]:
        """Return the formulation with this value of its scalar."""
        name, method = self.parameter, _METHODS[self.formulation]

        def solve(*arguments: Any, **more: Any) -> Formulation:
            return method(*arguments, **{name: value}, **more)

        return solve


LEAST_CONDITION = {f"{name}-least-condition": LeastConditionRule(name) for name in _METHODS}
