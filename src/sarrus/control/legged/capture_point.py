"""The divergent component of motion of a walk, in closed form over CasADi expressions or numbers.

A centre of mass at constant height z above the ground, with constant angular momentum, accelerates away from its centre
of pressure p: ẍ = ω² (x − p), ω² = g / z. The divergent component ξ = x + ẋ/ω obeys ξ̇ = ω (ξ − p), and x follows ξ
stably, ẋ = ω (ξ − x) (Takenaka, Matsumoto and Yoshiike, IROS 2009; Englsberger, Ott and Albu-Schäffer, IEEE
Transactions on Robotics 31, 2015). So it is enough to control ξ, by the place of the next foot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from sarrus.control.legged.tolerances import LEAST_DOUBLE_SUPPORT, SHORT_STEP


@dataclass(frozen=True)
class DivergentSteps:
    """Steps of equal duration: ``double`` seconds of double support, while p moves at constant speed to the new foot,
    then ``single`` seconds on the new foot. ``rate`` is ω [1/s]. All are positive; one of the two times may be 0.

    The divergent component is given at the touchdown of a foot as the offset c [m] from the previous stance foot; a
    step is the vector D [m] from that foot to the new one. All are vectors in the plane, or components of them.
    """

    rate: Any
    single: Any
    double: Any

    @property
    def _carry(self) -> Any:
        """ω d / (1 − e^(−ω d)), the step for an offset of one; 1 without double support."""
        x = self.rate * self.double
        some = ca.fmax(x, SHORT_STEP)
        return ca.if_else(x < SHORT_STEP, 1.0 + 0.5 * x + x * x / 12.0, some / (1.0 - ca.exp(-some)))

    @property
    def _decay(self) -> Any:
        """e^(−ω T), T [s] the time from touchdown to touchdown."""
        return ca.exp(-self.rate * (self.single + self.double))

    def offset(self, travel: Any, across: Any) -> Any:
        """Return the offset c of the periodic walk with steps ``travel`` + ``across``, ``travel`` − ``across``, ….

        It is the offset at the touchdown of the first of them.
        """
        return (travel / (1.0 - self._decay) + across / (1.0 + self._decay)) / self._carry

    def step(self, offset: Any, following: Any) -> Any:
        """Return the step D that turns an offset c into the offset c' (``following``) at the next touchdown.

        D = ω d / (1 − e^(−ω d)) (c − e^(−ω T) c'): one step corrects any disturbance. Without double support it is the
        capture point minus the contribution of the next step.
        """
        return self._carry * (offset - self._decay * following)

    def grown(self, distance: Any, time: Any) -> Any:
        """Return ξ − p after ``time`` [s] with p at rest."""
        return distance * ca.exp(self.rate * time)

    def course(self, step: Any, following: Any, since: Any) -> tuple[Any, Any]:
        """Return ξ and p, relative to the new foot, ``since`` seconds after a step that is to end with the offset
        c'.
        """
        alone = following * ca.exp(-self.rate * self.single)
        left = ca.fmax(self.double - since, 0.0)
        speed = step / ca.fmax(self.double, LEAST_DOUBLE_SUPPORT)
        lead = speed / self.rate
        on_two = lead - speed * left + (alone - lead) * ca.exp(-self.rate * left)
        on_one = following * ca.exp(-self.rate * ca.fmax(self.single + self.double - since, 0.0))
        both = since < self.double
        return ca.if_else(both, on_two, on_one), -speed * left
