"""Solutions y(x) of traced equations G(y, x) = 0: unrolled Newton's method, and their jets."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from sarrus.symbolic.kinematics.jet import Jet, inlined
from sarrus.symbolic.kinematics.kinematics import cross

Residual = Callable[[ca.SX, ca.SX], ca.SX]


class ImplicitFunction:
    """The equations G(y, x) = 0 of two or three unknowns y with data x."""

    def __init__(self, residual: Residual, unknowns: int, data: int, longer: Residual) -> None:
        """``longer`` returns the factor by which a step exceeds the longest one, from y and the step."""
        self._y, self._x = ca.SX.sym("y", unknowns), ca.SX.sym("x", data)
        self._longer = longer
        self._residual = residual(self._y, self._x)
        self._slope = ca.jacobian(self._residual, self._y)
        step = solve(self._slope, self._residual)
        inputs = [self._y, self._x]
        self._step = inlined(inputs, [step])
        self._at = inlined(inputs, [self._residual, self._slope])

    def improved(self, y: ca.SX, x: ca.SX, steps: int) -> ca.SX:
        """Return y after ``steps`` steps of Newton's method."""
        for _ in range(steps):
            (step,) = self._step(y, x)
            y = y - step / ca.fmax(1, self._longer(y, step))
        return y

    def at(self, y: ca.SX, x: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return G and ∂G/∂y."""
        residual, slope = self._at(y, x)
        return residual, slope

    def jet(self, y: ca.SX, x: Jet) -> Jet:
        """Return the jet of the solution y at the jet of the data: G_y ẏ = −G_x ẋ, and its derivative."""
        rate, second = ca.SX.sym("rate", x.value.numel()), ca.SX.sym("second", x.value.numel())
        speed = ca.SX.sym("speed", y.numel())
        place, way = ca.vertcat(self._y, self._x), ca.vertcat(speed, rate)
        first = ca.jtimes(self._residual, self._x, rate)
        moving = ca.jtimes(ca.jtimes(self._residual, place, way), place, way)
        turning = moving + ca.jtimes(self._residual, self._x, second)
        inputs = [self._y, self._x, rate]
        (own,) = inlined(inputs, [-solve(self._slope, first)])(y, x.value, x.rate)
        after = inlined([*inputs, speed, second], [-solve(self._slope, turning)])
        return Jet(y, own, *after(y, x.value, x.rate, own, x.bias))


def determinant(matrix: ca.SX) -> ca.SX:
    """Return the determinant of a matrix of two or three rows."""
    if matrix.shape[0] == 2:
        return matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
    return ca.dot(matrix[:, 0], cross(matrix[:, 1], matrix[:, 2]))


def solve(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Return the solution of two or three linear equations by Cramer's rule, without branches."""
    scale = 1 / determinant(matrix)
    if matrix.shape[0] == 2:
        adjugate = ca.vertcat(
            ca.horzcat(matrix[1, 1], -matrix[0, 1]), ca.horzcat(-matrix[1, 0], matrix[0, 0])
        )
        return scale * (adjugate @ right)
    a, b, c = (matrix[:, k] for k in range(3))
    return scale * ca.vertcat(
        ca.dot(right, cross(b, c)), ca.dot(right, cross(c, a)), ca.dot(right, cross(a, b))
    )
