"""`Bound`: keep a quantity within limits, as inequalities on accelerations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.control.laws.activation import adjusted
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.motion.tolerances import LOOSEST
from sarrus.control.quantities.quantities import Quantity, quantity
from sarrus.dynamics.system import System

_SIDES = ((1.0, "upper"), (-1.0, "lower"))


@dataclass(frozen=True, eq=False)
class Bound:
    """Keep ``lower`` ≤ x ≤ ``upper``, |ẋ| ≤ ``speed``, |ẍ| ≤ ``acceleration``: a level of inequalities J a ≤ r.

    At the distance d = upper − x the speed s(d) is allowed, and

        ẍ ≤ rate (s(d) − ẋ) − s′(d) ẋ,

    so that s(d) − ẋ, once positive, stays so: it falls no faster than with ``rate`` (a control barrier function of
    relative degree two; with s = rate · d that of Nguyen and Sreenath, Exponential control barrier functions, 2016).
    With D the ``deceleration``,

        s(d) = rate · d                        for d < D / rate²,
               √(2 D (d − D / (2 rate²)))      beyond: what a deceleration of D brings to rest in time.

    On ẋ = s(d) the deceleration s′ s is D at most and falls to zero with d, and at d = 0 so does the speed. Below zero
    x is beyond the bound, and comes back with ``rate``. ``speed`` caps s smoothly: with w = min(s, 3/2 speed) it is
    w − max(0, w − speed/2)² / (2 speed), which has neither larger values nor a larger slope than s, and is ``speed``
    from s = 3/2 speed on; so neither the row nor the deceleration jumps. Towards a side without a bound the row is
    ẍ ≤ rate (speed − ẋ). A quantity that is largest somewhere inside, as a `singularity_measure` is, has no slope
    there, and falls by itself when that place is passed: its ``rate`` grows as exp(d / fade), up to 1000 times, while
    ẋ < s(d), with the fade of the quantity, so that far from the bound nothing is asked for. ``lower`` is the mirror
    image. Of a quantity y of velocities, such as `momentum`, it is ẏ ≤ rate (upper − y), and ``acceleration`` is that
    of ẏ; ``deceleration`` and ``speed`` are refused.

    Parameters
    ----------
    quantity : as in `Task`, but that an `orientation` has no lower and upper: its rates are none of its values.
    lower, upper : in units of x, a number or one for each row; None or infinite: no such row.
    rate : [1/s], a number or one for each row. In a sampled law rate · period must stay well below 1.
    deceleration : D, likewise; None or infinite: s = rate · d everywhere, and fast approaches brake as hard as that
        takes. Where there is an ``acceleration``, one that is no larger leaves both possible.
    speed, acceleration : likewise; None or infinite: no such row.
    name, weight, on, ramp : as in `Task`.

    What is finite is a setting of the law, NAME.upper and so on, with [k] where there are several rows, to be changed
    while it runs; what was not finite stays without a row. Raises `ArgumentError` for NaN, lower above upper, a bound
    without rows.
    """

    quantity: Any
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    rate: ArrayLike = 10.0
    deceleration: ArrayLike | None = None
    speed: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    name: str = ""
    weight: ArrayLike | None = None
    on: float | None = None
    ramp: float = 0.0

    def demand(self, system: System, settings: Settings, name: str) -> Demand:
        """Return the bound as a level of a law of ``system``."""
        x = quantity(system, self.quantity)
        numbers = self._numbers(x, name)
        rows = _Rows(
            x, {what: _entries(values, settings, f"{name}.{what}") for what, values in numbers.items()}
        )
        for k in range(len(x.rows)):
            for sign, side in _SIDES:
                rows.add(k, sign, side)
        if not rows.names:
            raise ArgumentError(
                f"{name}: a bound needs a finite lower, upper, speed or acceleration", element=name
            )
        demand = Demand(
            name,
            tuple(rows.names),
            ca.vertcat(*rows.jacobian),
            ca.vertcat(*rows.right),
            at_most=True,
            units=tuple(rows.units),
        )
        return adjusted(demand, settings, self.weight, self.on, self.ramp)

    def _numbers(self, x: Quantity, name: str) -> dict[str, np.ndarray]:
        """Return what is given for each row; infinite where there is no row."""
        none = {"lower": -np.inf}
        found = {
            what: per_row(getattr(self, what), len(x.rows), f"{name}.{what}", none.get(what, np.inf))
            for what in ("lower", "upper", "rate", "deceleration", "speed", "acceleration")
        }
        for what in ("rate", "deceleration", "speed", "acceleration"):
            if not np.all(found[what] > 0.0) or (what == "rate" and not np.isfinite(found[what]).all()):
                raise ArgumentError(
                    f"{name}: {what} must be positive, got {getattr(self, what)!r}", element=f"{name}.{what}"
                )
        crossed = found["lower"] > found["upper"]
        if crossed.any():
            k = int(np.argmax(crossed))
            raise ArgumentError(
                f"{name}: lower must not be above upper, got {found['lower'][k]} and "
                f"{found['upper'][k]} for {x.rows[k]}",
                element=f"{name}.lower",
            )
        sided = np.isfinite(found["lower"]) | np.isfinite(found["upper"])
        if sided.any() and not x.direct:
            raise ArgumentError(
                f"{name}: {', '.join(x.rows)} have angular velocities for rates, so lower and upper do not bound them; "
                "give a gaze, coordinates, or a function of (q, t)",
                element=name,
            )
        for what in ("deceleration", "speed"):
            if x.degree == 1 and np.isfinite(found[what]).any():
                raise ArgumentError(
                    f"{name}: {', '.join(x.rows)} are velocities, whose bounds are lower, upper and acceleration; "
                    f"{what} is for positions",
                    element=f"{name}.{what}",
                )
        return found


class _Rows:
    """The rows of a bound; ``numbers`` has by name and row the setting, or None."""

    def __init__(self, x: Quantity, numbers: dict[str, list[Any]]) -> None:
        self._x, self._numbers = x, numbers
        self.names: list[str] = []
        self.units: list[str] = []
        self.jacobian: list[ca.SX] = []
        self.right: list[ca.SX] = []

    def add(self, k: int, sign: float, side: str) -> None:
        """Add the rows of one side of an entry; seen from there, x grows towards the bound."""
        x, bound = self._x, self._numbers[side][k]
        rate, deceleration, speed, acceleration = (
            self._numbers[what][k] for what in ("rate", "deceleration", "speed", "acceleration")
        )
        moving = sign * x.rate[k]
        if bound is not None and x.degree == 1:
            self._append(k, sign, side, rate * (sign * bound - moving))
        elif bound is not None:
            distance = sign * (bound - x.value[k])
            allowed, slope = approach(distance, rate, deceleration, speed)
            if x.fade is not None:
                rate = ca.if_else(allowed > moving, rate * _looser(distance / x.fade), rate)
            self._append(k, sign, side, rate * (allowed - moving) - slope * moving)
        elif speed is not None:
            self._append(k, sign, f"speed {side}", rate * (speed - moving))
        if acceleration is not None:
            self._append(k, sign, f"acceleration {side}", acceleration)

    def _append(self, k: int, sign: float, label: str, right: ca.SX) -> None:
        self.names.append(f"{self._x.rows[k]} {label}")
        self.units += self._x.units[k : k + 1]
        self.jacobian.append(sign * self._x.jacobian[k, :])
        self.right.append(right - sign * self._x.bias[k])


def approach(
    distance: ca.SX, rate: ca.SX, deceleration: ca.SX | None = None, speed: ca.SX | None = None
) -> tuple[ca.SX, ca.SX]:
    """Return the speed s(d) with which a bound may be approached at a distance d, and its slope s′(d); see `Bound`."""
    allowed, slope = rate * distance, rate
    if deceleration is not None:
        near = deceleration / rate**2  # up to here it is linear
        root = ca.sqrt(2.0 * deceleration * (ca.fmax(distance, near) - 0.5 * near))
        far = distance > near
        allowed, slope = ca.if_else(far, root, allowed), ca.if_else(far, deceleration / root, slope)
    if speed is not None:
        below = ca.fmin(allowed, 1.5 * speed)
        excess = ca.fmax(below - 0.5 * speed, 0.0)
        allowed, slope = below - excess**2 / (2.0 * speed), slope * (1.0 - excess / speed)
    return allowed, slope


def _looser(distance: ca.SX) -> ca.SX:
    """Return the factor of a rate at a distance in units of ``Quantity.fade``: from 1 on the bound to `LOOSEST`."""
    return ca.exp(ca.fmin(ca.fmax(distance, 0.0), float(np.log(LOOSEST))))


def per_row(value: ArrayLike | None, size: int, what: str, missing: float) -> np.ndarray:
    """Return ``size`` numbers, ``missing``, an infinite one, where there is nothing; raise `ArgumentError` by name."""
    numbers = real_array(missing if value is None else value)
    if numbers.shape not in ((), (size,)) or np.isnan(numbers).any() or (numbers == -missing).any():
        raise ArgumentError(f"{what} must be a number or {size} of them, got {value!r}", element=what)
    return np.broadcast_to(numbers, (size,))


def _entries(values: np.ndarray, settings: Settings, what: str) -> list[Any]:
    """Return a setting for each finite number."""
    several = len(values) > 1
    return [
        settings.add(f"{what}[{k}]" if several else what, value, 1, what) if np.isfinite(value) else None
        for k, value in enumerate(values)
    ]
