"""The shortest path of a string around a sphere or a cylinder, in closed form.

The problem is planar, in the plane of the circle: through the centre and both ends for a sphere, normal to the axis for
a cylinder, whose developed surface adds the advance along the axis. Let the ends be at distances a₀ and a₁ from the
centre, G ≤ π the angle between them, βᵢ = acos(r / aᵢ) the angle from an end to its tangent point, and tᵢ = √(aᵢ² − r²)
the free lengths. The string of length t₀ + t₁ + r s lies on the arc s = G − β₀ − β₁ or, on the opposite side,
s = 2π − G − β₀ − β₁; the circle blocks the straight line if the first s is positive. The gradient of a shortest path is
the unit vectors at its ends; automatic differentiation finds it.

An end or a side point whose distance from the centre is the radius within ``ON_SURFACE`` is on the surface: an end has
the free length tᵢ = 0 and leaves along the tangent, a side point is outside. A rope fastened to the rim of a drum has
an end on the surface; without the tolerance rounding would choose between arc and chord.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.kernels.contact.tolerances import AT_BOUND
from sarrus.symbolic.forces.tolerances import ON_CIRCLE
from sarrus.symbolic.kinematics.tolerances import ZERO_LENGTH

# Share of the radius by which a point may lie inside the surface and still count as on it: rounding of printed
# coordinates.
ON_SURFACE = AT_BOUND
# Newton steps for the contact point of a string inside: 8 suffice except for ends close to the circle.
_STEPS = 14


def wrapped_length(
    start: ca.SX, end: ca.SX, axis: ca.SX | None, radius: float, side: ca.SX | None, inside: bool | None
) -> tuple[ca.SX, ca.SX]:
    """Return length [m] and turn [rad] of a string from ``start`` to ``end`` around a sphere or the ``axis`` of a
    cylinder.

    The turn is the integral of the curvature over the length: the angle of the arc, on a cylinder times the cosine of
    the angle between the string and the circle; 0 for a straight string.

    Points are relative to the centre. ``inside`` tells whether the ``side`` point is within the surface (the string
    then touches from inside), None if this depends on the configuration; see `sarrus.model.mechanism.tendons.Wrap`.
    """
    within = ca.SX(0) if side is None else ca.sqrt(ca.dot(side, side) + ZERO_LENGTH) < inner_radius(radius)
    advance = ca.SX(0)
    if axis is not None:
        advance = ca.dot(axis, end - start)
        start, end = start - axis * ca.dot(axis, start), end - axis * ca.dot(axis, end)
        side = None if side is None else side - axis * ca.dot(axis, side)
    plane = _Plane(start, end, radius)
    if side is None:
        flat, turn = plane.around(None)
    elif inside is not None:
        flat, turn = plane.through() if inside else plane.around(side)
    else:
        inner, outer = plane.through(), plane.around(side)
        flat, turn = (ca.if_else(within, one, other) for one, other in zip(inner, outer))
    if axis is None:
        return flat, turn
    whole = ca.sqrt(flat * flat + advance * advance)
    return whole, turn * flat / whole


def inner_radius(radius: float) -> float:
    """Return the distance from the centre [m] below which a point is inside the surface, not on it."""
    return radius * (1 - ON_SURFACE)


class _Plane:
    """The two ends, the circle, and the angles between them."""

    def __init__(self, start: ca.SX, end: ca.SX, radius: float) -> None:
        self.start, self.end, self.radius = start, end, radius
        squares = ca.dot(start, start), ca.dot(end, end)
        self.distances = tuple(ca.sqrt(ca.fmax(s, radius**2 * ON_CIRCLE)) for s in squares)
        self.outside = ca.logic_and(*(s >= inner_radius(radius) ** 2 for s in squares))
        self.free = tuple(ca.sqrt(ca.fmax(s - radius**2, radius**2 * ON_CIRCLE)) for s in squares)
        self.tangents = tuple(ca.atan2(t, radius) for t in self.free)
        normal = ca.cross(start, end)
        self.sine = ca.sqrt(ca.dot(normal, normal) + ZERO_LENGTH)
        self.angle = ca.atan2(self.sine, ca.dot(start, end))
        self.short = self.angle - self.tangents[0] - self.tangents[1]
        self.blocked = self.short > 0
        along = end - start
        self.straight = ca.sqrt(ca.dot(along, along) + ZERO_LENGTH)

    def around(self, side: ca.SX | None) -> tuple[ca.SX, ca.SX]:
        """Return length and turn around the outside, on the side of the side point if given."""
        wraps, arc = self.blocked, self.short
        if side is not None:
            wrong = self._wrong_side(side)
            wraps = ca.logic_or(wraps, wrong)
            arc = ca.if_else(wrong, 2 * np.pi - self.angle - self.tangents[0] - self.tangents[1], arc)
        curved = self.free[0] + self.free[1] + self.radius * arc
        bent = ca.logic_and(self.outside, wraps)
        return ca.if_else(bent, curved, self.straight), ca.if_else(bent, arc, 0)

    def _wrong_side(self, side: ca.SX) -> ca.SX:
        """Return whether the straight line crosses the ray from the centre opposite to the side point."""
        first = self.start / self.distances[0]
        across = (self.end - first * ca.dot(first, self.end)) * (self.distances[0] / self.sine)
        behind = ca.atan2(-ca.dot(side, across), -ca.dot(side, first))
        return ca.logic_and(behind > 0, behind < self.angle)

    def through(self) -> tuple[ca.SX, ca.SX]:
        """Return length and turn of the path that touches the circle from inside, like a ray of light reflected there.

        With the angle of incidence ζ the triangles of centre, end and contact point have the angle
        ζ − asin(r/aᵢ sin ζ) at the centre, together G. The left side is convex in ζ, so that Newton's method from π/2
        stays above the root. If the straight line meets the circle, it is the path.
        """
        a0, a1 = self.distances
        ratios = [ca.fmin(self.radius / a, 1 - ON_CIRCLE) for a in (a0, a1)]
        zeta = ca.SX(0.5 * np.pi)
        for _ in range(_STEPS):
            sine, cosine = ca.sin(zeta), ca.cos(zeta)
            excess = 2 * zeta - self.angle - sum(ca.asin(k * sine) for k in ratios)
            slope = 2 - sum(k * cosine / ca.sqrt(1 - (k * sine) ** 2) for k in ratios)
            zeta = zeta - excess / slope
        turn = zeta - ca.asin(ratios[0] * ca.sin(zeta))
        broken = self._chord(a0, turn) + self._chord(a1, self.angle - turn)
        bent = ca.logic_and(self.outside, ca.logic_not(self.blocked))
        return ca.if_else(bent, broken, self.straight), ca.if_else(bent, np.pi - 2 * zeta, 0)

    def _chord(self, distance: ca.SX, angle: ca.SX) -> ca.SX:
        """Return the distance of an end from the point of the circle at this angle (law of cosines)."""
        gap, half = distance - self.radius, ca.sin(0.5 * angle)
        return ca.sqrt(gap * gap + 4 * distance * self.radius * half * half + ZERO_LENGTH)
