"""Jets: an expression together with its first and second time derivative along the motion.

A closure is written once, as products of points and directions; the jets carry its velocity and its
acceleration bias along (second derivative at zero joint acceleration), which are φ̇ and γ.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True)
class Jet:
    """A scalar or 3-vector x(t): ``value`` x, ``rate`` ẋ, ``bias`` the part of ẍ without accelerations v̇."""

    value: ca.SX
    rate: ca.SX
    bias: ca.SX

    def __add__(self, other: Jet) -> Jet:
        return Jet(self.value + other.value, self.rate + other.rate, self.bias + other.bias)

    def __sub__(self, other: Jet) -> Jet:
        return Jet(self.value - other.value, self.rate - other.rate, self.bias - other.bias)

    def __mul__(self, other: Jet) -> Jet:
        """Product, element by element (Leibniz)."""
        return Jet(
            self.value * other.value,
            self.rate * other.value + self.value * other.rate,
            self.bias * other.value + 2 * (self.rate * other.rate) + self.value * other.bias,
        )

    def scaled(self, factor: float) -> Jet:
        """Return factor × self."""
        return Jet(factor * self.value, factor * self.rate, factor * self.bias)

    def shifted(self, offset: float) -> Jet:
        """Return self + offset."""
        return Jet(self.value + offset, self.rate, self.bias)

    def map(self, value: ca.SX, slope: ca.SX, curvature: ca.SX) -> Jet:
        """Return f(self), from f, f′ and f″ at the value of self (chain rule)."""
        return Jet(value, slope * self.rate, slope * self.bias + curvature * (self.rate * self.rate))

    def sqrt(self) -> Jet:
        """Return the square root."""
        root = ca.sqrt(self.value)
        return self.map(root, 0.5 / root, -0.25 / (root * self.value))

    def reciprocal(self) -> Jet:
        """Return 1 / self."""
        inverse = 1 / self.value
        return self.map(inverse, -inverse * inverse, 2 * inverse * inverse * inverse)

    def sin(self) -> Jet:
        """Return the sine."""
        return self.map(ca.sin(self.value), ca.cos(self.value), -ca.sin(self.value))

    def cos(self) -> Jet:
        """Return the cosine."""
        return self.map(ca.cos(self.value), -ca.sin(self.value), -ca.cos(self.value))

    def polynomial(self, coefficients: tuple[float, ...]) -> Jet:
        """Return Σ_k coefficients[k] self^k (Horner, for f, f′ and f″ together)."""
        f, slope, half_curvature = ca.SX(0), ca.SX(0), ca.SX(0)
        for c in reversed(coefficients):
            half_curvature = half_curvature * self.value + slope
            slope = slope * self.value + f
            f = f * self.value + c
        return self.map(f, slope, 2 * half_curvature)


def dot(a: Jet, b: Jet) -> Jet:
    """Return the scalar product of two vector jets."""
    return Jet(
        ca.dot(a.value, b.value),
        ca.dot(a.rate, b.value) + ca.dot(a.value, b.rate),
        ca.dot(a.bias, b.value) + 2 * ca.dot(a.rate, b.rate) + ca.dot(a.value, b.bias),
    )


def constant(value: ca.SX) -> Jet:
    """Return the jet of something that does not move."""
    zero = ca.SX.zeros(*value.shape)
    return Jet(value, zero, zero)


def vertcat(jets: list[Jet]) -> Jet:
    """Stack jets into one column."""
    if not jets:
        empty = ca.SX(0, 1)
        return Jet(empty, empty, empty)
    return Jet(*(ca.vertcat(*(getattr(j, part) for j in jets)) for part in ("value", "rate", "bias")))
