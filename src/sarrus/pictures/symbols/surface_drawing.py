"""Lines of the surface under a rolling element, in axes of its ground."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.model.mechanism.rolling import Rolling
from sarrus.model.mechanism.spline import Spline
from sarrus.model.mechanism.surfaces import Curve, Cylinder, Height, Parametric, Sphere
from sarrus.pictures.symbols.style import CURVE_WIDTH, ROLLED_LENGTH
from sarrus.pictures.symbols.tolerances import NO_ARM, SURFACE_MET, SURFACE_STEPS
from sarrus.symbolic.rows.surface_contacts import level, place

# Lines along each side of a surface, points of each line; corners of a circle; generators of a cylinder.
_LINES, _POINTS, _CORNERS, _GENERATORS = 9, 41, 48, 12


def surface_lines(rolling: Rolling, size: float) -> list[Array]:
    """Return polylines (n, 3) of the surface near its origin; ``size`` [m] is that of the mechanism. [] for a plane."""
    surface = rolling.surface
    if surface is None:
        return []
    if isinstance(surface, Sphere):
        axes = np.eye(3)
        local = [surface.radius * _circle(axes[k], axes[k - 1]) for k in range(3)]
    elif isinstance(surface, Cylinder):
        return [line + rolling.origin for line in _cylinder(surface)]
    elif isinstance(surface, (Parametric, Curve)):
        local = _of_places(rolling, surface, size)
    else:
        local = _of_levels(rolling, size)
    axes = np.array([rolling.tangent1, rolling.tangent2, rolling.normal])
    return [piece @ axes + rolling.origin for line in local for piece in _finite(line)]


def _circle(one: Array, other: Array) -> Array:
    angles = np.linspace(0.0, 2 * np.pi, _CORNERS + 1)
    return np.outer(np.cos(angles), one) + np.outer(np.sin(angles), other)


def _cylinder(surface: Cylinder) -> list[Array]:
    one = perpendicular_to(surface.axis)
    half = ROLLED_LENGTH * surface.radius * surface.axis
    ring = surface.radius * _circle(one, np.cross(surface.axis, one))
    rings = [ring + k * half for k in (-1.0, 0.0, 1.0)]
    return rings + [np.array([p - half, p + half]) for p in ring[:: _CORNERS // _GENERATORS][:-1]]


def _of_places(rolling: Rolling, surface: Parametric | Curve, size: float) -> list[Array]:
    """Return lines of a parametric surface or curve, over the range of points that are near."""
    s = ca.SX.sym("s", 2)
    x = place(rolling, s[0], s[1])
    points = ca.Function("points", [s], [x])
    near = np.asarray(surface.near)
    near = near[:, None] * [1.0, 0.0] if near.ndim == 1 else near
    low, high = near.min(axis=0), near.max(axis=0)
    slopes = np.array(ca.Function("slopes", [s], [ca.jacobian(x, s)])(low))
    beside = size / np.maximum(np.linalg.norm(slopes, axis=0), NO_ARM)
    if isinstance(surface, Curve):
        beside[1] = CURVE_WIDTH * size
        high[1], low[1] = beside[1], -beside[1]
    else:
        single = high[1] == low[1]
        low[1], high[1] = low[1] - single * beside[1], high[1] + single * beside[1]
    single = high[0] == low[0]
    low[0], high[0] = low[0] - single * beside[0], high[0] + single * beside[0]
    return _mesh(low, high, lambda grid: np.array(points(grid.T)).T, len(near))


def _of_levels(rolling: Rolling, size: float) -> list[Array]:
    """Return lines of a surface z = h(x, y) or f(x, y, z) = 0 over a square about the origin."""
    p = ca.SX.sym("p", 3)
    f = level(rolling, p)
    step = ca.Function("step", [p], [f / ca.jacobian(f, p[2]), f])
    low, high = np.array([-size, -size]), np.array([size, size])
    surface = rolling.surface
    if isinstance(surface, Height) and isinstance(surface.function, Spline):
        low[0], high[0] = surface.function.knots[[0, -1]]
        low[1], high[1] = -CURVE_WIDTH * size, CURVE_WIDTH * size

    def at(grid: Array) -> Array:
        points = np.column_stack([grid, np.zeros(len(grid))])
        with np.errstate(all="ignore"):
            for _ in range(SURFACE_STEPS):
                points[:, 2] -= np.array(step(points.T)[0]).ravel()
            left = np.abs(np.array(step(points.T)[0]).ravel())
        points[~(left <= SURFACE_MET * size)] = np.nan
        return points

    return _mesh(low, high, at)


def _mesh(low: Array, high: Array, at: Callable[[Array], Array], count: int = 0) -> list[Array]:
    """Return the images of lines along both sides of a rectangle."""
    lines = []
    for side in (0, 1):
        along = np.linspace(low[side], high[side], max(_POINTS, 4 * count if side == 0 else 0))
        for other in np.linspace(low[1 - side], high[1 - side], _LINES):
            grid = np.empty((len(along), 2))
            grid[:, side], grid[:, 1 - side] = along, other
            lines.append(at(grid))
    return lines


def _finite(line: Array) -> list[Array]:
    """Return the pieces of a line between points that are not finite."""
    good = np.isfinite(line).all(axis=1)
    breaks = np.flatnonzero(np.diff(good.astype(int))) + 1
    return [piece for piece in np.split(line, breaks) if len(piece) > 1 and np.isfinite(piece).all()]
