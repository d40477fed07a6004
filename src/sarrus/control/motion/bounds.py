"""`Bound`: limits of a quantity, its rate and its acceleration, as inequalities on accelerations."""

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
    """Inequalities J a ≤ r that keep ``lower`` ≤ x ≤ ``upper``, |ẋ| ≤ ``speed``, |ẍ| ≤ ``acceleration``.

    At the distance d = upper − x the speed of approach s(d) is allowed, and

        ẍ ≤ rate (s(d) − ẋ) − s′(d) ẋ,

    so that s(d) − ẋ ≥ 0 is preserved: it decays at ``rate`` or more slowly (a control barrier function of relative
    degree two; for s = rate · d that of Nguyen and Sreenath, Exponential control barrier functions, 2016). With D the
    ``deceleration``,

        s(d) = rate · d                        for d < D / rate²,
               √(2 D (d − D / (2 rate²)))      beyond: the speed from which the deceleration D stops in time.

    On ẋ = s(d) the deceleration s′ s is at most D and falls to zero with d, and so does the speed. For d < 0, x is
    beyond the bound and returns with ``rate``. ``speed`` caps s smoothly: with w = min(s, 3/2 speed) the cap is w −
    max(0, w − speed/2)² / (2 speed), with no larger value or slope than s, and equal to ``speed`` from s = 3/2 speed
    on, so that row and deceleration are continuous. On a side without a bound the row is ẍ ≤ rate (speed − ẋ). A
    quantity with an interior maximum, such as a `singularity_measure`, has zero slope there and then falls by itself:
    its ``rate`` is multiplied by exp(d / fade), at most 1000, while ẋ < s(d), with the ``fade`` of the quantity, so
    that far from the bound nothing is demanded. ``lower`` is the mirror image. For a quantity y of velocities, such as
    `momentum`, the row is ẏ ≤ rate (upper − y), and ``acceleration`` bounds ẏ; ``deceleration`` and ``speed`` are
    refused.

    Parameters
    ----------
    quantity : as in `Task`. An `orientation` has no lower and upper, because its rates are not derivatives of its
        values.
    lower, upper : in units of x, a number or one for each row; None or infinite: no row.
    rate : [1/s], a number or one for each row. In a sampled law rate · period must be well below 1.
    deceleration : D [unit of x / s²], a number or one for each row; None or infinite: s = rate · d everywhere, and fast
        approaches brake as hard as that requires. It should not exceed ``acceleration``, so that both can hold.
    speed, acceleration : [unit of x per s, per s²], a number or one for each row; None or infinite: no row.
    name, weight, on, ramp : as in `Task`.

    Finite numbers are settings of the law, NAME.upper and so on, with [k] for several rows, which may be changed while
    it runs; infinite ones have no row. Raises `ArgumentError` for NaN, lower above upper, and a bound without rows.
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
        """Return the bound as a `Demand` (inequalities) of a law of ``system``."""
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
        """Return the limits by name, a number for each row; infinite for missing rows."""
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
                f"{name}: the rates of {', '.join(x.rows)} are angular velocities, not derivatives, so lower and upper "
                "cannot bound them. Bound a gaze, coordinates, or a function of (q, t)",
                element=name,
            )
        for what in ("deceleration", "speed"):
            if x.degree == 1 and np.isfinite(found[what]).any():
                raise ArgumentError(
                    f"{name}: {', '.join(x.rows)} are velocities; their bounds are lower, upper and acceleration, "
                    f"and {what} is for positions",
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
        """Add the rows of one side of an entry, with the sign that makes x grow towards the bound."""
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
    """Return the allowed speed s(d) of approach to a bound at a distance d, and its slope s′(d); see `Bound`."""
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
    """Return the factor of a rate at a distance in units of ``Quantity.fade``: 1 at the bound, at most `_LOOSEST`."""
    return ca.exp(ca.fmin(ca.fmax(distance, 0.0), float(np.log(LOOSEST))))


def per_row(value: ArrayLike | None, size: int, what: str, missing: float) -> np.ndarray:
    """Return ``size`` numbers, ``missing`` (infinite) for None; raises `ArgumentError` that names ``what``."""
    numbers = real_array(missing if value is None else value)
    if numbers.shape not in ((), (size,)) or np.isnan(numbers).any() or (numbers == -missing).any():
        raise ArgumentError(f"{what} must be a number or {size} of them, got {value!r}", element=what)
    return np.broadcast_to(numbers, (size,))


def _entries(values: np.ndarray, settings: Settings, what: str) -> list[Any]:
    """Return a setting for each finite number, else None."""
    several = len(values) > 1
    return [
        settings.add(f"{what}[{k}]" if several else what, value, 1, what) if np.isfinite(value) else None
        for k, value in enumerate(values)
    ]
