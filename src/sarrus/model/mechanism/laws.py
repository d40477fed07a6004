"""Laws of dampers and springs, functions of CasADi expressions for `add_spring_damper` and `add_coordinate_spring`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array


def stribeck(
    coulomb: float,
    static: float | None = None,
    stribeck_speed: float = 0.01,
    viscous: float = 0.0,
    *,
    smooth_speed: float = 1e-3,
    shape: float = 2.0,
) -> Callable[[Any], Any]:
    """Return friction as a smooth function F(ẋ) of the speed, for ``damper_law`` of a spring.

        F(ẋ) = (F_C + (F_S − F_C) exp(−|ẋ / v_S|^shape)) tanh(ẋ / v_0) + b ẋ

    (Armstrong-Hélouvry, Dupont and Canudas de Wit, Automatica 30, 1994, section 2.2, with tanh in the place of the
    The sign is replaced by tanh. Below ``smooth_speed`` the law is a damper F_S / v_0, so the friction does not hold at
    rest: it creeps. Coulomb friction that sticks is ``friction=`` of a joint.

    Parameters
    ----------
    coulomb : F_C, friction at high speed [N, N m], ≥ 0. static : F_S, its maximum [N, N m]; by default F_C.
    stribeck_speed, smooth_speed : v_S and v_0 [m/s, rad/s], positive.
    viscous : b [N s/m, N m s/rad], ≥ 0. shape : exponent, positive.
    """
    peak = coulomb if static is None else static
    numbers = {
        "coulomb": coulomb,
        "static": peak,
        "viscous": viscous,
        "stribeck_speed": stribeck_speed,
        "smooth_speed": smooth_speed,
        "shape": shape,
    }
    for name, value in numbers.items():
        number = real_array(value)
        positive = name in ("stribeck_speed", "smooth_speed", "shape")
        if number.shape != () or not 0.0 <= number < float("inf") or (positive and number == 0.0):
            bound = "positive" if positive else "not negative"
            raise ArgumentError(
                f"stribeck: {name} must be a number that is {bound}, got {value!r}", element=name
            )
    if peak < coulomb:
        raise ArgumentError(
            f"stribeck: static must be at least coulomb = {coulomb:g}, got {peak:g}", element="static"
        )

    def friction(rate: Any) -> Any:
        import casadi as ca  # here, because a description does not need CasADi

        extra = (peak - coulomb) * ca.exp(-(ca.fabs(rate / stribeck_speed) ** shape))
        return (coulomb + extra) * ca.tanh(rate / smooth_speed) + viscous * rate

    return friction
