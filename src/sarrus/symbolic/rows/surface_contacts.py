"""Contact of a ball, a circle or a blade with a curved surface: arm, normal and gap, as jets.

All vectors are in local axes of the surface. d is the centre, a the axis of a circle and r the radius; N(p) = ∇F/|∇F|
is the normal of F(p) = 0. The contact point is

    p = d − r e(N(p)),    e = N for a ball,    e = (N − (N·a) a)/|…| for a circle,    p = d for a blade,

three equations for p, solved by Newton's method. F is smallest on the ball or circle at p if det(1 + r ∂e/∂p) > 0, that
is if the surface is less curved than the rolling body. For a surface x(s, w) the equations are (p − x)·∂x/∂s =
(p − x)·∂x/∂w = 0 with p = d − r e(N(s, w)).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.base.errors import ModelError
from sarrus.model.mechanism.faults import Label, fault
from sarrus.model.mechanism.rolling import Rolling
from sarrus.model.mechanism.spline import Spline
from sarrus.model.mechanism.surfaces import Curve, Cylinder, Height, Implicit, Parametric, Sphere
from sarrus.symbolic.equations.symbolic import traced_matrix
from sarrus.symbolic.kinematics.implicit import ImplicitFunction, determinant
from sarrus.symbolic.kinematics.jet import Jet, constant, inlined, through, vertcat
from sarrus.symbolic.rows.tolerances import (
    PLACE_INSIDE,
    ROLLS_IN_PLANE,
    SECOND_PLACE_APART,
    SECOND_PLACE_HIGHER,
    SURFACE_CONVERGED,
    SURFACE_NO_STEP,
    SURFACE_STEP,
)

# Steps of Newton's method: the first number must suffice to converge, the rest is for derivatives of p.
_STEPS, _MORE = 10, 2
# Angles from the contact point at which the search for a second one starts, and its steps p → d − r e(N(p)).
_BESIDE, _AROUND, _WAYS = (np.pi / 3, 2 * np.pi / 3), 4, 3


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """Contact point in local axes: ``arm`` from the centre to it, ``normal`` and ``height`` there.

    ``found``, ``fits`` and ``single`` are one if true and zero if not: Newton's method converged; the surface is less
    curved than the body; the contact point is the only one.
    """

    arm: Jet
    normal: Jet
    height: Jet
    found: ca.SX
    fits: ca.SX
    single: ca.SX

    @property
    def defined(self) -> ca.SX:
        """One if the rows are defined, zero elsewhere."""
        return self.found * self.fits * self.single


def contact_point(rolling: Rolling, d: Jet, a: Jet) -> ContactPoint:
    """Return the contact of an element with its surface, for the jets of its centre and axis in local axes."""
    surface = rolling.surface
    if isinstance(surface, (Parametric, Curve)):
        return _on_places(rolling, surface, d, a)
    return _on_level(rolling, d, a)


def across(rolling: Rolling, normal: ca.SX, axis: ca.SX) -> ca.SX:
    """Return e, the direction from the contact point to the centre, in units of the radius; zero for a blade."""
    if rolling.kind == "knife_edge":
        return ca.SX.zeros(3)
    if rolling.kind == "ball":
        return normal
    # at stages quaternions are not of unit length, and so the axis is not either
    return _unit(normal - ca.dot(normal, axis) / ca.dot(axis, axis) * axis)


def level(rolling: Rolling, p: ca.SX) -> ca.SX:
    """Return F at a point in local axes, positive on the side of the bodies."""
    surface = rolling.surface
    if isinstance(surface, Sphere):
        return _outward(surface) * (ca.norm_2(p) - surface.radius)
    if isinstance(surface, Cylinder):
        u = ca.DM(_local(rolling, surface.axis))
        return _outward(surface) * (ca.norm_2(p - ca.dot(u, p) * u) - surface.radius)
    if isinstance(surface, Height):
        x, y, z = ca.vertsplit(p)
        if isinstance(surface.function, Spline):
            return z - surface.function(x)[0]
        return z - _values(rolling, surface.function, (x, y), 1)
    assert isinstance(surface, Implicit)
    return _values(rolling, surface.function, tuple(ca.vertsplit(p)), 1)


def place(rolling: Rolling, s: ca.SX, w: ca.SX) -> ca.SX:
    """Return the point x(s, w) of a surface, in local axes."""
    surface = rolling.surface
    if isinstance(surface, Curve):
        if isinstance(surface.function, Spline):
            x, z = ca.vertsplit(surface.function(s))
        else:
            x, z = ca.vertsplit(_values(rolling, surface.function, (s,), 2))
        return ca.vertcat(x, w, z)
    assert isinstance(surface, Parametric)
    return _values(rolling, surface.function, (s, w), 3)


def tangents(rolling: Rolling, normal: Jet) -> tuple[Jet, Jet]:
    """Return the tangents of a ball in local axes: along a cylinder, else rotated by the shortest arc from z to N."""
    if isinstance(rolling.surface, Cylinder):
        u = ca.SX(ca.DM(_local(rolling, rolling.surface.axis)))
        return constant(u), through(lambda n: ca.cross(n, u), normal)

    def turned(n: ca.SX) -> ca.SX:
        return ca.vertcat(1, 0, 0) - n[0] / (1 + n[2]) * (n + ca.vertcat(0, 0, 1))

    first = through(turned, normal)
    return first, through(ca.cross, normal, first)


def _on_level(rolling: Rolling, d: Jet, a: Jet) -> ContactPoint:
    r, x = rolling.radius, ca.SX.sym("x", 3)
    f = level(rolling, x)
    slope = ca.gradient(f, x)
    gap, normal_at = inlined([x], [f / ca.norm_2(slope)]), inlined([x], [_unit(slope)])

    def normal(p: ca.SX) -> ca.SX:
        return normal_at(p)[0]

    def height(p: ca.SX) -> ca.SX:
        return gap(p)[0]

    def residual(p: ca.SX, data: ca.SX) -> ca.SX:
        return p - data[:3] + r * across(rolling, normal(p), data[3:])

    one = ca.SX(1)
    if rolling.kind == "knife_edge":
        return ContactPoint(constant(ca.SX.zeros(3)), through(normal, d), through(height, d), one, one, one)

    def longer(p: ca.SX, step: ca.SX) -> ca.SX:
        return _longer(step, r)

    equations, data = ImplicitFunction(residual, 3, 6, longer), vertcat([d, a])
    p = d.value - r * across(rolling, normal(d.value), a.value)
    if not _exact(rolling):
        p = equations.improved(p, data.value, _STEPS)
    off, bend = equations.at(p, data.value)
    found = ca.norm_2(off) <= SURFACE_CONVERGED * (r + ca.norm_2(d.value))
    fits = determinant(bend) > 0
    if rolling.kind == "ball":
        fits = fits * (ca.trace(bend) > 1)  # eigenvalues 1, 1 + r κ₁, 1 + r κ₂
    single = one if _exact(rolling) else _single(rolling, normal, height, p, d.value, a.value)
    if not _exact(rolling):
        p = equations.improved(p, data.value, _MORE)
    touching = equations.jet(p, data)
    return ContactPoint(
        touching - d, through(normal, touching), through(height, touching), found, fits, single
    )


def _single(
    rolling: Rolling, normal: Callable[[ca.SX], ca.SX], height: Callable[[ca.SX], ca.SX],
    p: ca.SX, d: ca.SX, a: ca.SX,
) -> ca.SX:  # fmt: skip
    """Return whether no other point of the ball or circle is as deep as p, by descents from points around."""
    r, n, deepest = rolling.radius, normal(p), height(p)
    least = deepest - ca.fabs(deepest) + SECOND_PLACE_HIGHER * r
    one = a if rolling.kind != "ball" else ca.if_else(ca.fabs(n[0]) < 0.8, ca.SX([1, 0, 0]), ca.SX([0, 1, 0]))
    one = _unit(ca.cross(one, n))
    other = ca.cross(n, one)
    single = ca.SX(1)
    for angle in _BESIDE:
        for turn in 2 * np.pi * np.arange(_AROUND) / _AROUND:
            way = np.cos(angle) * n + np.sin(angle) * (np.cos(turn) * one + np.sin(turn) * other)
            if rolling.kind != "ball" and abs(np.sin(turn)) > 0.5:
                continue  # not in the plane of the circle
            deep = d - r * across(rolling, way, a)
            for _ in range(_WAYS):
                deep = d - r * across(rolling, normal(deep), a)
            single = single * ca.logic_not(ca.logic_and(height(deep) < least, _apart(deep, p, r)))
    return single


def _apart(one: ca.SX, other: ca.SX, radius: float) -> ca.SX:
    """Return whether two points are different contact points."""
    return ca.dot(one - other, one - other) > (SECOND_PLACE_APART * radius) ** 2


def _on_places(rolling: Rolling, surface: Parametric | Curve, d: Jet, a: Jet) -> ContactPoint:
    r, side = rolling.radius, -1.0 if surface.flip else 1.0
    y = ca.SX.sym("y", 2)
    x = place(rolling, y[0], y[1])
    along, beside = ca.jacobian(x, y[0]), ca.jacobian(x, y[1])
    n = side * _unit(ca.cross(along, beside))
    frame = inlined([y], [x, along, beside, n])

    def residual(y: ca.SX, data: ca.SX) -> ca.SX:
        x, along, beside, n = frame(y)
        off = data[:3] - r * across(rolling, n, data[3:]) - x
        return ca.vertcat(ca.dot(off, along), ca.dot(off, beside))

    def normal(y: ca.SX) -> ca.SX:
        return frame(y)[3]

    def height(y: ca.SX, d: ca.SX, a: ca.SX) -> ca.SX:
        x, _, _, n = frame(y)
        return ca.dot(d - r * across(rolling, n, a) - x, n)

    def from_point(y: ca.SX, p: ca.SX) -> ca.SX:
        x, along, beside, _ = frame(y)
        return ca.vertcat(ca.dot(p - x, along), ca.dot(p - x, beside))

    def longer(y: ca.SX, step: ca.SX) -> ca.SX:
        _, along, beside, _ = frame(y)
        return _longer(step[0] * along + step[1] * beside, r)

    def at_will(y: ca.SX, step: ca.SX) -> ca.SX:
        return ca.SX(0)

    circle = rolling.kind not in ("ball", "knife_edge")
    equations = ImplicitFunction(residual, 2, 6, longer if circle else at_will)
    data = vertcat([d, a])
    own, single = _nearest(rolling, surface, d.value, a.value)
    if circle:  # the contact is near the surface point below the lowest point of the circle
        nearest, p = ImplicitFunction(from_point, 2, 3, at_will), d.value
        for _ in range(2):
            own = nearest.improved(own, p, _STEPS // 2)
            p = d.value - r * across(rolling, normal(own), a.value)
    own = equations.improved(own, data.value, _STEPS)
    off, bend = equations.at(own, data.value)
    _, along, beside, _ = frame(own)
    size = ca.sqrt(ca.dot(along, along) + ca.dot(beside, beside))
    found = ca.norm_2(off) <= SURFACE_CONVERGED * size * (r + ca.norm_2(d.value))
    fits = determinant(bend) > 0
    if rolling.kind == "ball":
        fits = fits * (ca.trace(bend) < 0)
    if len(np.asarray(surface.near)) > 1 and rolling.kind != "knife_edge":
        beneath = ImplicitFunction(from_point, 2, 3, at_will)
        middle, n = d.value, normal(own)
        here, deepest = frame(own)[0], height(own, d.value, a.value)
        for way in (along, beside) if rolling.kind == "ball" else (ca.cross(a.value, n),):
            for angle in (*_BESIDE, *(-one for one in _BESIDE)):
                turned = np.cos(angle) * n + np.sin(angle) * _unit(way)
                p = middle - r * across(rolling, turned, a.value)
                other = _nearest(rolling, surface, p, a.value)[0]
                for _ in range(2):
                    other = beneath.improved(other, p, _WAYS)
                    p = middle - r * across(rolling, normal(other), a.value)
                lower = height(other, middle, a.value) < deepest - ca.fabs(deepest) + SECOND_PLACE_HIGHER * r
                apart = _apart(frame(other)[0], here, r)
                near_it = ca.norm_2(equations.at(other, data.value)[0]) < SECOND_PLACE_APART * r * size
                single = single * ca.logic_not(ca.logic_and(ca.logic_and(lower, apart), near_it))
    own = equations.improved(own, data.value, _MORE)
    solution = equations.jet(own, data)
    normals = through(normal, solution)
    arm = through(lambda n, a: -r * across(rolling, n, a), normals, a)
    return ContactPoint(arm, normals, through(height, solution, d, a), found, fits, single)


def _nearest(rolling: Rolling, surface: Parametric | Curve, d: ca.SX, a: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the nearest start value, and for a curve whether all points inside the body are connected to it."""
    flat = isinstance(surface, Curve)
    s = ca.SX.sym("s", 2)
    points = ca.Function("points", [s], [place(rolling, s[0], s[1])])
    near = np.asarray(surface.near, dtype=float)
    pairs = [(float(k), 0.0) for k in near] if flat else [(float(k), float(w)) for k, w in near]
    weights = ca.DM([1, 0, 1] if flat else [1, 1, 1])
    distances, best, start = [], ca.SX(np.inf), ca.SX.zeros(2)
    for pair in pairs:
        away = weights * (d - points(ca.DM(pair)))
        distances.append(ca.dot(away, away))
        closer = distances[-1] < best
        start = ca.if_else(closer, ca.SX(ca.DM(pair)), start)
        best = ca.fmin(distances[-1], best)
    if not flat:
        return start, ca.SX(1)
    start[1] = d[1]
    return start, _in_one_run(rolling, distances, a)


def _in_one_run(rolling: Rolling, distances: list[ca.SX], a: ca.SX) -> ca.SX:
    """Return whether the points of a curve inside a ball, or a wheel in the plane of the curve, are contiguous."""
    square = ((1 - PLACE_INSIDE) * rolling.radius) ** 2
    inside = [one < square for one in distances]
    entered = sum((ca.logic_and(ca.logic_not(i), j) for i, j in itertools.pairwise(inside)), inside[0])
    several = ca.logic_or(entered > 2, ca.logic_and(entered > 1, ca.logic_not(inside[0])))
    if rolling.kind != "ball":
        several = ca.logic_and(several, ca.fabs(a[1]) > 1 - ROLLS_IN_PLANE)
    return ca.logic_not(several)


def _exact(rolling: Rolling) -> bool:
    """Whether N(d) gives the contact point: for a sphere, and for a ball on a cylinder."""
    surface = rolling.surface
    return isinstance(surface, Sphere) or (isinstance(surface, Cylinder) and rolling.kind == "ball")


def _outward(surface: Sphere | Cylinder) -> float:
    return -1.0 if surface.inside else 1.0


def _local(rolling: Rolling, direction: np.ndarray) -> np.ndarray:
    axes = np.array([rolling.tangent1, rolling.tangent2, rolling.normal])
    return np.asarray(axes @ direction)


def _longer(step: ca.SX, radius: float) -> ca.SX:
    """Return the factor by which a step exceeds the longest one; differentiable for a step of zero, too."""
    return ca.sqrt(ca.dot(step, step) / (SURFACE_STEP * radius) ** 2 + SURFACE_NO_STEP)


def _unit(vector: ca.SX) -> ca.SX:
    return vector / ca.norm_2(vector)


def _values(
    rolling: Rolling, function: Callable[..., object], arguments: tuple[ca.SX, ...], count: int
) -> ca.SX:
    """Return the value of a user's surface function as a column of ``count`` entries; errors name the element."""
    label = Label("rolling", rolling.name)
    symbols = tuple(ca.SX.sym(f"x{k}") for k in range(len(arguments)))
    remedy = "Write the function of the surface with CasADi operations"
    column = ca.vec(traced_matrix(function, symbols, label, remedy, ModelError, label.name))
    if column.numel() != count:
        raise fault(label, f"the function of the surface must return {count} entries, got {column.numel()}")
    known = {s.element_hash() for s in symbols}
    foreign = [s.name() for s in ca.symvar(column) if s.element_hash() not in known]
    if foreign:
        raise fault(label, f"the function of the surface depends on other symbols: {foreign}")
    return ca.substitute(column, ca.vertcat(*symbols), ca.vertcat(*arguments))
