"""Which feet of a gait stand: by its schedule, and by how they move where they meet the ground early or late."""

from __future__ import annotations

import casadi as ca

from sarrus.control.demands import Settings

# A foot that goes down at less than half of the speed at which it is to, for so far [m], is held up by something.
_HELD = 0.004


class Footing:
    """Touchdowns over the symbols of a system, by contact 1 or 0.

    A foot that is scheduled to stand does so from when its gap is below ``search``, or from when it is held up on its
    way down; and one that swings from when it is held up in the second half of its swing. Then it stands until its next
    swing begins. Whether it is held up shows at samples: the way by which it lags behind half of what it was sent down,
    summed up. Without samples nothing is remembered, and the gap alone counts.

    Attributes
    ----------
    stands, stood : which feet stand now, and which did so at the last sample.
    since : for how long [s], 0 where they do not.
    """

    def __init__(self, names: tuple[str, ...], settings: Settings, search: ca.SX) -> None:
        self._names, self._search, self._period = names, search, settings.period
        self._stood = [settings.remember(f"{name}.stands", 0.0, 1, name) for name in names]
        self._since = [settings.remember(f"{name}.since", 1.0, 1, name) for name in names]
        self._lag = [settings.remember(f"{name}.lag", 0.0, 1, name) for name in names]
        self.stood = ca.vertcat(*[state.value for state in self._stood])
        self.since = ca.vertcat(*[state.value for state in self._since])
        self.stands = ca.SX(self.stood)

    def find(
        self, scheduled: list[ca.SX], falling: list[ca.SX], down: list[ca.SX], rate: list[ca.SX], gap: ca.SX
    ) -> None:
        """Find out which feet stand, and remember it.

        ``scheduled`` to stand; ``falling`` in the second half of a swing; ``down`` the speed at which a foot is to go
        down, and ``rate`` at which its gap grows [m/s].
        """
        for k in range(len(self._names)):
            sampled = self._period > 0.0
            stood = ca.logic_and(self._stood[k].value > 0.5, sampled)
            waits = ca.logic_or(scheduled[k] > 0.5, falling[k] > 0.5)
            lag = ca.fmax(self._lag[k].value + self._period * (0.5 * down[k] + rate[k]), 0.0)
            held = ca.logic_and(lag > _HELD, sampled)
            found = ca.logic_or(stood, held)
            reached = ca.logic_and(scheduled[k] > 0.5, gap[k] < self._search)
            stands = ca.if_else(ca.logic_or(reached, ca.logic_and(waits, found)), 1.0, 0.0)
            self._lag[k].next = ca.if_else(waits, ca.if_else(stands > 0.5, 0.0, lag), 0.0)
            self._stood[k].next = stands
            self._since[k].next = ca.if_else(stands > 0.5, self._since[k].value + self._period, 0.0)
            self.stands[k] = stands
