"""Spatial vectors and inertias: pairs of 3-vectors about one origin (Featherstone 2008, ch. 2)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.symbolic.kinematics.kinematics import cross


@dataclass(frozen=True)
class Spatial:
    """A motion (angular velocity, velocity at the origin) or a force (torque about the origin, force)."""

    angular: ca.SX
    linear: ca.SX

    def __add__(self, other: Spatial) -> Spatial:
        return Spatial(self.angular + other.angular, self.linear + other.linear)

    def __mul__(self, factor: ca.SX) -> Spatial:
        return Spatial(self.angular * factor, self.linear * factor)

    def dot(self, other: Spatial) -> ca.SX:
        """Power of a force in a motion."""
        return ca.dot(self.angular, other.angular) + ca.dot(self.linear, other.linear)

    def cross(self, other: Spatial) -> Spatial:
        """Rate of a motion that turns with this motion."""
        linear = cross(self.angular, other.linear) + cross(self.linear, other.angular)
        return Spatial(cross(self.angular, other.angular), linear)

    def cross_force(self, other: Spatial) -> Spatial:
        """Rate of a force that turns with this motion."""
        angular = cross(self.angular, other.angular) + cross(self.linear, other.linear)
        return Spatial(angular, cross(self.angular, other.linear))

    def at(self, point: ca.SX) -> ca.SX:
        """Velocity of a point."""
        return cross(self.angular, point) + self.linear


ZERO = Spatial(ca.SX.zeros(3), ca.SX.zeros(3))


@dataclass(frozen=True)
class Inertia:
    """Mass, first moment and inertia about the origin of bodies, their momentum, and the matrix B of Coriolis
    torques."""

    mass: float | ca.SX
    moment: ca.SX
    about: ca.SX
    momentum: ca.SX
    coriolis: ca.SX

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(*(a + b for a, b in zip(vars(self).values(), vars(other).values())))

    def times(self, motion: Spatial) -> Spatial:
        """Return I A."""
        angular = self.about @ motion.angular + cross(self.moment, motion.linear)
        return Spatial(angular, self.mass * motion.linear + cross(motion.angular, self.moment))

    def turning(self, angular: ca.SX) -> Spatial:
        """Return 2 B Ψ, which depends on the angular part of Ψ only."""
        return Spatial(self.coriolis @ angular, 2 * cross(angular, self.momentum))

    def turning_transposed(self, motion: Spatial) -> ca.SX:
        """Return the angular part of 2 Bᵀ S; the linear part is zero."""
        return self.coriolis.T @ motion.angular + 2 * cross(self.momentum, motion.linear)
