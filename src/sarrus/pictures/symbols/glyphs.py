"""Lines of technical symbols: circles, arrows, helices, springs, dashpots, letters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import perpendicular_to
from sarrus.pictures.symbols.tolerances import UPRIGHT

_CORNERS = 36  # of a circle
_COILS = 5  # of a spring
# Strokes of letters in a square of half size one.
_LETTERS: dict[str, list[list[tuple[float, float]]]] = {
    "M": [[(-0.5, -0.5), (-0.5, 0.5), (0.0, -0.1), (0.5, 0.5), (0.5, -0.5)]],
    "S": [[(0.4, 0.4), (0.1, 0.55), (-0.35, 0.4), (-0.3, 0.1), (0.3, -0.1), (0.35, -0.4), (-0.1, -0.55), (-0.4, -0.4)]],
    "F": [[(-0.3, -0.55), (-0.3, 0.5), (0.4, 0.5)], [(-0.3, 0.05), (0.25, 0.05)]],
}  # fmt: skip


def across(axis: ArrayLike, x: ArrayLike | None = None) -> tuple[Array, Array]:
    """Return two directions that form a right-handed frame with the axis; the first is ``x`` if given."""
    axis = np.asarray(axis, dtype=float)
    one = perpendicular_to(axis) if x is None else np.asarray(x, dtype=float)
    return one, np.cross(axis, one)


def arc(
    centre: Array,
    axis: Array,
    radius: float,
    start: float = 0.0,
    stop: float = 2 * np.pi,
    x: Array | None = None,
) -> Array:
    """Return an arc about an axis from an angle to another, from the direction ``x`` on (n, 3)."""
    one, other = across(axis, x)
    count = max(2, int(np.ceil(_CORNERS * abs(stop - start) / (2 * np.pi))) + 1)
    angles = np.linspace(start, stop, count)[:, None]
    return centre + radius * (np.cos(angles) * one + np.sin(angles) * other)


def turning_arrow(centre: Array, axis: Array, radius: float) -> list[Array]:
    """Return three quarters of a circle with a head at the end."""
    line = arc(centre, axis, radius, 0.0, 1.5 * np.pi)
    one, other = across(axis)
    tip = line[-1]
    return [line, np.array([tip + 0.35 * radius * (-one + other), tip, tip + 0.35 * radius * (-one - other)])]


def arrow(start: Array, end: Array, side: Array, *, both: bool = False) -> list[Array]:
    """Return a straight arrow, whose head spreads along ``side``; with ``both`` it has one at each end."""
    way = end - start
    barb = 0.25 * (way - 0.0)
    wide = 0.14 * float(np.linalg.norm(way)) * side
    lines = [np.array([start, end]), np.array([end - barb + wide, end, end - barb - wide])]
    if both:
        lines.append(np.array([start + barb + wide, start, start + barb - wide]))
    return lines


def helix(
    centre: Array, axis: Array, radius: float, half: float, turns: float, *, left: bool = False
) -> Array:
    """Return a helix about an axis through a centre, right-handed unless ``left``."""
    one, other = across(axis)
    angles = np.linspace(0.0, 2 * np.pi * turns, int(16 * turns) + 1)[:, None]
    side = np.sin(-angles if left else angles)
    height = np.linspace(-half, half, len(angles))[:, None]
    return centre + radius * (np.cos(angles) * one + side * other) + height * np.asarray(axis)


def spiral(centre: Array, axis: Array, radius: float) -> Array:
    """Return two turns of a spiral: a spring that is turned."""
    one, other = across(axis)
    angles = np.linspace(0.0, 4 * np.pi, 50)[:, None]
    return centre + radius * (0.35 + 0.65 * angles / angles[-1]) * (
        np.cos(angles) * one + np.sin(angles) * other
    )


def letter(sign: str, centre: Array, axis: Array, half: float, up: Array) -> list[Array]:
    """Return a letter in a circle perpendicular to an axis, upright along ``up`` if possible."""
    upright = up - axis * (axis @ up)
    size = float(np.linalg.norm(upright))
    upright = upright / size if size > UPRIGHT else perpendicular_to(axis)
    right = np.cross(upright, axis)
    strokes = [centre + half * (np.array(line) @ np.stack([right, upright])) for line in _LETTERS[sign]]
    return [arc(centre, axis, half), *strokes]


def plate(centre: Array, normal: Array, half: float, x: Array | None = None) -> list[Array]:
    """Return the outline of a square across a normal, with a diagonal."""
    one, other = across(normal, x)
    corners = [centre + half * (a * one + b * other) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1))]
    return [np.array(corners), np.array([corners[0], corners[2]])]


def box(half: ArrayLike) -> list[Array]:
    """Return the edges of a box around the origin."""
    signs = np.array(list(product((-1.0, 1.0), repeat=3)))
    corners = signs * np.asarray(half, dtype=float)
    return [
        corners[[i, j]] for i in range(8) for j in range(i + 1, 8) if np.abs(signs[i] - signs[j]).sum() == 2.0
    ]


def rounded(radius: float, half: float) -> list[Array]:
    """Return circles and lines of a cylinder about z, of a sphere if ``half`` is zero."""
    z, x, y = np.eye(3)[[2, 0, 1]]
    if half == 0.0:
        return [arc(np.zeros(3), way, radius) for way in (x, y, z)]
    rings = [arc(side * half * z, z, radius) for side in (-1.0, 1.0)]
    sides = [radius * (np.cos(a) * x + np.sin(a) * y) for a in np.pi / 4 * np.array([1.0, 3.0, 5.0, 7.0])]
    return [*rings, *(np.array([side - half * z, side + half * z]) for side in sides)]


def profile(glyph: str) -> list[Array]:
    """Return a link between two points on paper: x from 0 to 1 along it, y in half widths (n, 2)."""
    if glyph == "spring":
        return [_zigzag(0.0, 1.0)]
    if glyph == "damper":
        return _dashpot(0.0)
    if glyph == "spring damper":
        ends = [[(0.12, -1.0), (0.12, 1.0)], [(0.88, -1.0), (0.88, 1.0)], [(0.0, 0.0), (0.12, 0.0)]]
        lines = [np.array(line) for line in (*ends, [(0.88, 0.0), (1.0, 0.0)])]
        upper = [(0.12 + 0.76 * x, 1.0 + 0.55 * y) for x, y in _zigzag(0.0, 1.0)]
        lower = [np.array([(0.12 + 0.76 * x, -1.0 + 0.55 * y) for x, y in line]) for line in _dashpot(0.0)]
        return [*lines, np.array(upper), *lower]
    return [np.array([(0.0, 0.0), (1.0, 0.0)])]


def _zigzag(start: float, stop: float) -> Array:
    steps = np.linspace(0.2, 0.8, 2 * _COILS + 1)
    heights = np.array([0.0, *np.resize([1.0, -1.0], 2 * _COILS - 1), 0.0])
    x = np.concatenate([[0.0], steps, [1.0]])
    return np.stack([start + (stop - start) * x, np.concatenate([[0.0], heights, [0.0]])], axis=1)


def _dashpot(y: float) -> list[Array]:
    strokes: Sequence[Sequence[tuple[float, float]]] = (
        [(0.0, y), (0.48, y)],
        [(0.48, y - 0.7), (0.48, y + 0.7)],
        [(0.36, y + 1.0), (0.66, y + 1.0), (0.66, y - 1.0), (0.36, y - 1.0)],
        [(0.66, y), (1.0, y)],
    )
    return [np.array(stroke) for stroke in strokes]
