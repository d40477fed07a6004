"""`JointLimitBound`: the joint limits of a mechanism as a `Bound`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, place_of
from sarrus.base.numbers import number_between
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.motion.bounds import Bound
from sarrus.control.quantities.quantities import mechanism_of
from sarrus.dynamics.model.joint_limits import joint_limits
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class JointLimitBound:
    """A `Bound` that keeps all joints of a mechanism within their limits.

    ``margin`` [m, rad] is the distance kept from the limits. ``coordinates`` names the bounded coordinates, also ones
    without limits if ``speed`` is given; None: all with limits. ``rate``, ``deceleration``, ``speed``,
    ``acceleration``, ``on`` and ``ramp`` are those of `Bound`, a number or one for each coordinate. The allowed speed
    near a limit is ``rate`` times the distance: 30 1/s is enough for a swinging leg, 10 1/s is not. Settings are
    NAME.lower[k] and so on, in the order of ``coordinates``, by default that of the mechanism.

    Limits of a mechanism are positions; give ``speed`` for the speed of motors. Raises `ArgumentError` if no coordinate
    has a limit, and if the margin leaves no range.
    """

    rate: ArrayLike = 30.0
    deceleration: ArrayLike | None = None
    speed: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    margin: float = 0.0
    coordinates: Sequence[str] | None = None
    name: str = "joint limits"
    on: float | None = None
    ramp: float = 0.0

    def demand(self, system: System, settings: Settings, name: str) -> Demand:
        """Return the limits as a level of a law of ``system``."""
        mechanism_of(system)
        margin = number_between(self.margin, 0.0, np.inf, f"{name}.margin")
        known = joint_limits(system)
        limits = {sign: dict(zip(known.names[k::2], known.bounds[k::2])) for k, sign in enumerate((-1, 1))}
        chosen = list(limits[1]) if self.coordinates is None else list(self.coordinates)
        for coordinate in chosen:
            place_of("coordinate", coordinate, system.coordinate_names)
        if not chosen:
            raise ArgumentError(
                f"{name}: no joint of {system.name} has limits; name coordinates= with a speed", element=name
            )
        lower, upper = (
            np.array([limits[sign].get(coordinate, sign * np.inf) for coordinate in chosen]) - sign * margin
            for sign in (-1, 1)
        )
        bound = Bound(
            chosen,
            lower,
            upper,
            self.rate,
            self.deceleration,
            self.speed,
            self.acceleration,
            on=self.on,
            ramp=self.ramp,
        )
        return bound.demand(system, settings, name)
