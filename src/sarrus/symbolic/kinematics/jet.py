"""Jets: an expression together with its first and second time derivative along the motion.

A closure is written once, as products of points and directions; its jet has the value φ, the rate φ̇, and the
acceleration bias γ (second derivative at zero joint acceleration).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

# Keeps the direction of a vector of length zero finite [m²]; far below any relevant length.
from sarrus.symbolic.kinematics.tolerances import ZERO_LENGTH


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


def norm(d: Jet) -> Jet:
    """Return the length of a vector jet; at length zero its direction, and so its rate, is zero."""
    length = ca.sqrt(ca.dot(d.value, d.value) + ZERO_LENGTH)
    rate = ca.dot(d.value, d.rate) / length
    return Jet(length, rate, (ca.dot(d.rate, d.rate) + ca.dot(d.value, d.bias) - rate * rate) / length)


def through(function: Callable[..., ca.SX], *jets: Jet) -> Jet:
    """Return the jet of a function of vectors at the jets of these vectors, by automatic differentiation."""
    x, rate, bias = ([ca.SX.sym(part, *j.value.shape) for j in jets] for part in ("x", "rate", "bias"))
    place, speed, second = ca.vertcat(*x), ca.vertcat(*rate), ca.vertcat(*bias)
    value = function(*x)
    first = ca.jtimes(value, place, speed)
    turning = ca.jtimes(first, place, speed) + ca.jtimes(value, place, second)
    inputs = [ca.vertcat(*(getattr(j, part) for j in jets)) for part in ("value", "rate", "bias")]
    return Jet(*inlined([place, speed, second], [value, first, turning])(*inputs))


def inlined(inputs: list[ca.SX], outputs: list[ca.SX]) -> Callable[..., list[ca.SX]]:
    """Return a function that substitutes expressions for symbols; other symbols (parameters) stay."""
    own = {symbol.element_hash() for symbol in ca.symvar(ca.veccat(*inputs))}
    others = [s for s in ca.symvar(ca.veccat(*outputs)) if s.element_hash() not in own]
    function = ca.Function("inlined", [*inputs, *others], outputs)

    def call(*values: ca.SX) -> list[ca.SX]:
        return list(function.call([*values, *others], True))

    return call


def constant(value: ca.SX) -> Jet:
    """Return the jet of a constant expression."""
    zero = ca.SX.zeros(*value.shape)
    return Jet(value, zero, zero)


def vertcat(jets: list[Jet]) -> Jet:
    """Stack jets into one column."""
    parts = ("value", "rate", "bias")
    return Jet(*(ca.vertcat(ca.SX(0, 1), *(getattr(jet, part) for jet in jets)) for part in parts))
