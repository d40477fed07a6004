"""The divergent component of motion of a walk, in closed form over CasADi expressions or numbers.

A centre of mass at the height z above the ground, whose angular momentum does not change, is driven off its centre of
pressure p by ẍ = ω² (x − p) with ω² = g / z. Of its two motions, the divergent component ξ = x + ẋ/ω flees from p,
ξ̇ = ω (ξ − p), and x follows ξ by itself, ẋ = ω (ξ − x) (Takenaka, Matsumoto and Yoshiike, IROS 2009; Englsberger, Ott
and Albu-Schäffer, IEEE Transactions on Robotics 31, 2015). So whoever guides ξ walks, and ξ is guided by where the next
foot goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from sarrus.control.legged.tolerances import LEAST_DOUBLE_SUPPORT, SHORT_STEP


@dataclass(frozen=True)
class DivergentSteps:
    """Steps that all last as long: ``double`` seconds on two feet, while p goes straight from one to the other at
    constant speed, then ``single`` seconds on the new one. ``rate`` is ω [1/s]. All are positive, one of the two times
    may be 0.

    The divergent component is told at the touchdown of a foot, from the foot that has stood alone until then, as an
    offset c [m]; a step is the way D [m] from that foot to the one that touches down. All of them are vectors in the
    plane, or any component of these.
    """

    rate: Any
    single: Any
    double: Any

    @property
    def _carry(self) -> Any:
        """ω d / (1 − e^(−ω d)), the step that takes up an offset of one; 1 without double support."""
        x = self.rate * self.double
        some = ca.fmax(x, SHORT_STEP)
        return ca.if_else(x < SHORT_STEP, 1.0 + 0.5 * x + x * x / 12.0, some / (1.0 - ca.exp(-some)))

    @property
    def _decay(self) -> Any:
        """e^(−ω T), T from touchdown to touchdown."""
        return ca.exp(-self.rate * (self.single + self.double))

    def offset(self, travel: Any, across: Any) -> Any:
        """Return c of the walk that goes on for ever by steps ``travel`` + ``across``, ``travel`` − ``across``, ….

        It is that at the touchdown of the first of them.
        """
        return (travel / (1.0 - self._decay) + across / (1.0 + self._decay)) / self._carry

    def step(self, offset: Any, following: Any) -> Any:
        """Return the step D for which an offset c is followed by another one at the next touchdown.

        D = ω d / (1 − e^(−ω d)) (c − e^(−ω T) c'): one step makes up for any disturbance. Without double support it is
        the capture point less what the next step needs.
        """
        return self._carry * (offset - self._decay * following)

    def grown(self, distance: Any, time: Any) -> Any:
        """Return ξ − p after ``time`` at rest of p."""
        return distance * ca.exp(self.rate * time)

    def course(self, step: Any, following: Any, since: Any) -> tuple[Any, Any]:
        """Return ξ and p, from the new foot, ``since`` seconds after a step that is to end with the offset c'."""
        alone = following * ca.exp(-self.rate * self.single)
        left = ca.fmax(self.double - since, 0.0)
        speed = step / ca.fmax(self.double, LEAST_DOUBLE_SUPPORT)
        lead = speed / self.rate
        on_two = lead - speed * left + (alone - lead) * ca.exp(-self.rate * left)
        on_one = following * ca.exp(-self.rate * ca.fmax(self.single + self.double - since, 0.0))
        both = since < self.double
        return ca.if_else(both, on_two, on_one), -speed * left
