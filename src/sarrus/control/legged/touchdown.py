"""Stance of the feet of a gait: by schedule, and by the motion of a foot that meets the ground early or late."""

from __future__ import annotations

import casadi as ca

from sarrus.control.laws.demands import Settings
from sarrus.control.legged.tolerances import FOOT_HELD_UP


class Stance:
    """Stance of each foot over the symbols of a system, by contact 1 or 0.

    A foot that is scheduled to stand does so once its gap is below ``search``, or once it is stopped on its way down; a
    swinging foot once it is stopped in the second half of its swing. It then stands until its next swing. A stop is
    detected at samples, by the accumulated lag behind half of the commanded descent. Without samples there is no
    memory, and the gap alone decides.

    Contacts of one body are one foot: once one of them has met the ground the whole sole stands.

    Attributes
    ----------
    stands, stood : which feet stand now, and which stood at the last sample.
    since : duration of stance [s], 0 for feet that do not stand.
    """

    def __init__(self, bodies: dict[str, str], settings: Settings, search: ca.SX) -> None:
        names = tuple(bodies)
        self._names, self._search, self._period = names, search, settings.period
        self._soles = [
            [k for k, name in enumerate(names) if bodies[name] == body]
            for body in dict.fromkeys(bodies.values())
        ]
        self._stood = [settings.remember(f"{name}.stands", 0.0, 1, name) for name in names]
        self._since = [settings.remember(f"{name}.since", 1.0, 1, name) for name in names]
        self._lag = [settings.remember(f"{name}.lag", 0.0, 1, name) for name in names]
        self.stood = ca.vertcat(*[state.value for state in self._stood])
        self.since = ca.vertcat(*[state.value for state in self._since])
        self.stands = ca.SX(self.stood)

    def find(
        self, scheduled: list[ca.SX], falling: list[ca.SX], down: list[ca.SX], rate: list[ca.SX], gap: ca.SX
    ) -> None:
        """Trace which feet stand, and the memory of it.

        ``scheduled`` to stand; ``falling``: in the second half of a swing; ``down``: commanded speed of descent, and
        ``rate``: growth rate of the gap [m/s].
        """
        sampled, lags, met, waits = self._period > 0.0, [], [], []
        for k in range(len(self._names)):
            stood = ca.logic_and(self._stood[k].value > 0.5, sampled)
            waits.append(ca.logic_or(scheduled[k] > 0.5, falling[k] > 0.5))
            lags.append(ca.fmax(self._lag[k].value + self._period * (0.5 * down[k] + rate[k]), 0.0))
            held = ca.logic_and(lags[k] > FOOT_HELD_UP, sampled)
            reached = ca.logic_and(scheduled[k] > 0.5, gap[k] < self._search)
            met.append(ca.logic_or(reached, ca.logic_and(waits[k], ca.logic_or(stood, held))))
        for sole in self._soles:
            found = ca.if_else(ca.sum1(ca.vertcat(*[met[k] for k in sole])) > 0.5, 1.0, 0.0)
            for k in sole:
                self._lag[k].next = ca.if_else(waits[k], ca.if_else(found > 0.5, 0.0, lags[k]), 0.0)
                self._stood[k].next = found
                self._since[k].next = ca.if_else(found > 0.5, self._since[k].value + self._period, 0.0)
                self.stands[k] = found
