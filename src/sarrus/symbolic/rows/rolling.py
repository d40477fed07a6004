"""Rows of rolling elements on a plane or a curved surface: heights as jets, slips with A and γ.

Axes are those of the carrier of body and ground, as in `sarrus.symbolic.rows.closures`. n is the normal of the plane
and o its origin, c the centre and a the axis on the body, r the radius, d = c − o; e = (n − (n·a) a) / |…| is the
direction in the plane of a circle closest to n, x = a × n / |a × n| is longitudinal, y = n × x lateral. The contact
point is c − r e. The slip is the velocity of the body there minus the velocity of the ground.

================  ===============================================================================================
rows              residual
================  ===============================================================================================
n                 height of the lowest point [m]: d·n − r e·n, for a ball d·n − r, for a blade and an apex d·n;
                  multiplier: force of the ground on the body along n [N], negative if it pulls
n_rim             height of the lowest point of a cone's base, whose centre is c + a r / tan α [m]
longitudinal      slip along x [m/s]; multiplier: force on the body along x [N]; of a cone at its apex
longitudinal_rim  slip along x at the rim of a cone [m/s]
lateral           slip along y [m/s]; multiplier: force on the body along y [N]
t1 t2             slip along the two tangents of the plane [m/s]; multiplier: force on the body along them [N]
roller            slip along cos β y + sin β x, the axle of the touching roller, β the roller angle [m/s];
                  multiplier: force on the body along it [N]
================  ===============================================================================================

On a surface n is its normal at the contact point, which moves with the body, and row n the height there
(`sarrus.symbolic.rows.surface_contacts`); c − r e is the contact point, and t1, t2 turn with the normal.

Slips have no residual at position level. If a is along n, a circle lies flat and e, x, y are not defined: the rows are
not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from sarrus.model.mechanism.rolling import Rolling, RollingRows
from sarrus.symbolic.kinematics.frames import BodyFrames
from sarrus.symbolic.kinematics.jet import Jet, constant, dot, vertcat
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.rows import surface_contacts
from sarrus.symbolic.rows.tolerances import FLAT_CIRCLE


@dataclass(frozen=True)
class RollingFrame:
    """The directions and points of a rolling element, as jets in the axes of ``frames``.

    For slips only value and rate are valid: a slip is a velocity already.
    """

    rolling: Rolling
    frames: BodyFrames

    @cached_property
    def normal(self) -> Jet:
        """The normal n of the plane."""
        return self.frames.direction(self.rolling.ground, self.rolling.normal)

    @cached_property
    def axis(self) -> Jet:
        """The axis a on the body."""
        return self.frames.direction(self.rolling.body, self.rolling.axis)

    @cached_property
    def centre(self) -> Jet:
        """The centre on the body, for a cone its apex."""
        return self.frames.point(self.rolling.body, self.rolling.centre)

    @cached_property
    def away(self) -> Jet:
        """d, the centre relative to the origin of the plane."""
        return self.centre - self.frames.point(self.rolling.ground, self.rolling.origin)

    @cached_property
    def lean(self) -> Jet:
        """n·a."""
        return dot(self.normal, self.axis)

    @cached_property
    def across(self) -> Jet:
        """n − (n·a) a, whose length is the sine of the angle between a and n."""
        return self.normal - self.axis * self.lean

    @cached_property
    def sine(self) -> Jet:
        """|a × n|."""
        return self._sine_and_inverse[0]

    @cached_property
    def inverse(self) -> Jet:
        """1 / |a × n|, infinite if a circle lies flat to `FLAT`: below it the direction is rounding."""
        return self._sine_and_inverse[1]

    @cached_property
    def _sine_and_inverse(self) -> tuple[Jet, Jet]:
        square = dot(self.across, self.across)
        root = ca.sqrt(square.value)
        one = 1 / (root * (square.value > FLAT_CIRCLE**2))
        sine = square.map(root, 0.5 * one, -0.25 * one**3)
        return sine, square.map(one, -0.5 * one**3, 0.75 * one**5)

    @cached_property
    def up(self) -> Jet:
        """The direction e."""
        return self.across * self.inverse

    @cached_property
    def longitudinal(self) -> Jet:
        """The direction x."""
        return _cross(self.axis, self.normal) * self.inverse

    @cached_property
    def lateral(self) -> Jet:
        """The direction y."""
        return (self.axis - self.normal * self.lean) * self.inverse

    @property
    def tangents(self) -> tuple[Jet, Jet]:
        """The tangents of the plane, the directions of the rows of a ball."""
        r = self.rolling
        return self.frames.direction(r.ground, r.tangent1), self.frames.direction(r.ground, r.tangent2)

    @property
    def directions(self) -> list[ca.SX]:
        """The normal and the directions of the rows: longitudinal and lateral, for a ball the tangents."""
        along = self.tangents if self.rolling.kind == "ball" else (self.longitudinal, self.lateral)
        return [jet.value for jet in (self.normal, *along)]

    @property
    def base(self) -> float:
        """Distance of the base of a cone from its apex [m]."""
        return self.rolling.radius / ca.tan(self.rolling.half_angle)

    @property
    def conditions(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Conditions that are one if true: contact point found, surface less curved, single contact point."""
        return ca.SX(1), ca.SX(1), ca.SX(1)

    @cached_property
    def arm(self) -> Jet:
        """The lowest point relative to the centre, for a cone the lowest point of its base relative to the apex."""
        r = self.rolling
        if r.kind == "knife_edge":
            return constant(ca.SX.zeros(3))
        if r.kind == "ball":
            return self.normal.scaled(-r.radius)
        down = self.up.scaled(-r.radius)
        return down + self.axis.scaled(self.base) if r.kind == "cone" else down

    def height(self, row: str) -> Jet:
        """Return the jet of a height."""
        r, centre = self.rolling, dot(self.away, self.normal)
        if r.kind == "ball":
            return centre.shifted(-r.radius)
        if r.kind in ("disc", "omni"):
            return centre - self.sine.scaled(r.radius)
        if row == "n_rim":
            return centre + self.lean.scaled(self.base) - self.sine.scaled(r.radius)
        return centre

    def slip(self, arm: Jet) -> Jet:
        """Return the slip at ``arm`` from the centre, and its rate without accelerations."""
        ground = self.frames.turning(self.rolling.ground)
        spin = self.frames.turning(self.rolling.body) - ground
        d = self.away
        value = d.rate - cross(ground.rate, d.value) + cross(spin.rate, arm.value)
        rate = d.bias - cross(ground.bias, d.value) - cross(ground.rate, d.rate)
        rate += cross(spin.bias, arm.value) + cross(spin.rate, arm.rate)
        return Jet(value, rate, ca.SX.zeros(3))

    def slips(self, rows: tuple[str, ...]) -> list[Jet]:
        """Return the components of the slip along the rows, with their rates."""
        r = self.rolling
        at_centre = r.kind == "cone"
        low = self.slip(constant(ca.SX.zeros(3)) if at_centre else self.arm)
        beta = r.roller_angle
        directions: dict[str, Callable[[], Jet]] = {
            "longitudinal": lambda: dot(low, self.longitudinal),
            "longitudinal_rim": lambda: dot(self.slip(self.arm), self.longitudinal),
            "lateral": lambda: dot(low, self.lateral),
            "t1": lambda: dot(low, self.tangents[0]),
            "t2": lambda: dot(low, self.tangents[1]),
            "roller": lambda: dot(
                low, self.lateral.scaled(ca.cos(beta)) + self.longitudinal.scaled(ca.sin(beta))
            ),
        }
        return [directions[row]() for row in rows]


@dataclass(frozen=True)
class CurvedFrame(RollingFrame):
    """The directions and points of a rolling element on a curved surface.

    Where rows are not defined the normal is not finite.
    """

    @cached_property
    def contact_point(self) -> surface_contacts.ContactPoint:
        """The contact, in local axes of the surface."""
        d, a = (vertcat([dot(vector, axis) for axis in self._axes]) for vector in (self.away, self.axis))
        return surface_contacts.contact_point(self.rolling, d, a)

    @property
    def conditions(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Conditions that are one if true: contact point found, surface less curved, single contact point."""
        return self.contact_point.found, self.contact_point.fits, self.contact_point.single

    @cached_property
    def normal(self) -> Jet:
        """The normal of the surface at the contact point."""
        local = self.contact_point.normal
        one = 1 / self.contact_point.defined
        return self._turned(Jet(one * local.value, one * local.rate, one * local.bias))

    @cached_property
    def arm(self) -> Jet:
        """The contact point relative to the centre."""
        return self._turned(self.contact_point.arm)

    @property
    def tangents(self) -> tuple[Jet, Jet]:
        """The tangents of the surface, the directions of the rows of a ball."""
        one, other = surface_contacts.tangents(self.rolling, self.contact_point.normal)
        return self._turned(one), self._turned(other)

    def height(self, row: str) -> Jet:
        """Return the jet of the height."""
        one, height = 1 / self.contact_point.defined, self.contact_point.height
        return Jet(height.value, one * height.rate, one * height.bias)  # an open gap keeps its value

    @cached_property
    def _axes(self) -> tuple[Jet, Jet, Jet]:
        r = self.rolling
        one, other, up = (self.frames.direction(r.ground, way) for way in (r.tangent1, r.tangent2, r.normal))
        return one, other, up

    def _turned(self, local: Jet) -> Jet:
        """Return a vector in the axes of ``frames``."""
        parts = [
            axis * Jet(local.value[k], local.rate[k], local.bias[k]) for k, axis in enumerate(self._axes)
        ]
        return parts[0] + parts[1] + parts[2]


def rolling_frame(rolling: Rolling, frames: BodyFrames) -> RollingFrame:
    """Return the directions and points of a rolling element."""
    return (RollingFrame if rolling.surface is None else CurvedFrame)(rolling, frames)


def rolling_residual(part: RollingRows, frames: BodyFrames) -> Jet:
    """Return the jet of the rows of a part; for slips rates and biases only, without value."""
    frame = rolling_frame(part.rolling, frames)
    if part.holonomic:
        return vertcat([frame.height(row) for row in part.rows])
    slips = vertcat(frame.slips(part.rows))
    return Jet(ca.SX(0, 1), slips.value, slips.rate)


def _cross(a: Jet, b: Jet) -> Jet:
    """Return the cross product of two jets."""
    return Jet(
        cross(a.value, b.value),
        cross(a.rate, b.value) + cross(a.value, b.rate),
        cross(a.bias, b.value) + 2 * cross(a.rate, b.rate) + cross(a.value, b.bias),
    )
