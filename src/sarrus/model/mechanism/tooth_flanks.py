"""Flanks of threads and teeth: normal approach, slip, and the friction coefficient equivalent to an efficiency."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.model.mechanism import checks
from sarrus.model.mechanism.faults import Label, fault
from sarrus.model.mechanism.pose import scalar

# A linear combination of coordinates: pairs of a name and a factor.
Weights = dict[str, float]


class Flanks(NamedTuple):
    """Normal approach and slip [m] as sums of coordinates, friction coefficients, backlash along the normal [m]."""

    approach: Weights
    sliding: Weights
    friction: float
    static: float | None
    play: float


def teeth(
    one: Weights,
    other: Weights,
    ratio: float,
    radius: float,
    efficiency: float,
    static_efficiency: float | None,
    backlash: float,
    label: Label,
) -> Flanks:
    """Return the flanks of a gear pair with one = ratio × other, at the pitch circle of radius ``radius`` [m] of one.

    The slip velocity is the mean of both pitch line velocities, so each side carries half of the friction force μ N:
    with the normal force N the forces on the two sides are N (1 + μ/2) and N (1 − μ/2). Their quotient is the
    efficiency.
    """
    eta = efficiency_of(efficiency, "efficiency", label)
    static = None
    if static_efficiency is not None:
        least = efficiency_of(static_efficiency, "static_efficiency", label)
        if least > eta:
            raise fault(label, f"static_efficiency must be at most efficiency {eta:g}, got {least:g}")
        static = 2.0 * (1.0 - least) / (1.0 + least)
    return Flanks(
        total((radius, one), (-ratio * radius, other)),
        total((0.5 * radius, one), (0.5 * ratio * radius, other)),
        2.0 * (1.0 - eta) / (1.0 + eta),
        static,
        radius * checks.nonnegative(backlash, "backlash", label),
    )


def thread(
    travel: Weights,
    turn: Weights,
    lead: float,
    radius: float,
    friction_coefficient: float | None,
    efficiency: float | None,
    static_coefficient: float | None,
    flank_angle: float,
    backlash: float,
    label: Label,
) -> Flanks:
    """Return the flanks of a thread with travel = lead × turn [m], lead [m/rad], on a cylinder of the radius [m].

    Unrolled, a point of the nut moves by x = travel along the axis and by y = radius × turn around it. With the lead
    angle λ, tan λ = lead / radius, this is cos λ x − sin λ y along the normal of the thread and sin λ x + cos λ y along
    the thread. The normal of the flank is tilted by the flank angle against the normal of the thread. The backlash is
    along the axis.
    """
    slant, tilt = float(np.arctan2(lead, radius)), scalar(flank_angle, "flank_angle", label)
    if not 0.0 <= tilt < 0.5 * np.pi:
        raise fault(label, f"flank_angle must be from 0 to below π/2, got {tilt:g}")
    face = float(np.cos(tilt))
    if (friction_coefficient is None) == (efficiency is None):
        raise fault(label, "give either friction_coefficient or efficiency")
    if friction_coefficient is not None:
        mu = checks.nonnegative(friction_coefficient, "friction_coefficient", label)
    else:
        eta, angle = efficiency_of(efficiency, "efficiency", label), abs(slant)
        mu = face * float(np.tan(max(0.0, np.arctan(np.tan(angle) / eta) - angle)))
    along, across = float(np.cos(slant)), float(np.sin(slant))
    return Flanks(
        total((face * along, travel), (-face * across * radius, turn)),
        total((across, travel), (along * radius, turn)),
        mu,
        checks.static_coefficient(static_coefficient, mu, label),
        face * along * checks.nonnegative(backlash, "backlash", label),
    )


def total(*parts: tuple[float, Weights]) -> Weights:
    """Return a linear combination of coordinates: the sum of the parts, each multiplied by its factor."""
    found: Weights = {}
    for factor, way in parts:
        for coordinate, weight in way.items():
            found[coordinate] = found.get(coordinate, 0.0) + float(factor) * weight
    return found


def efficiency_of(value: Any, what: str, label: Label) -> float:
    """Return an efficiency: a number above 0 and at most 1."""
    out = scalar(value, what, label)
    if not 0.0 < out <= 1.0:
        raise fault(label, f"{what} must be above 0 and at most 1, got {out:g}")
    return out
