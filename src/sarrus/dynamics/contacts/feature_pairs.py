"""Normal, gap and contact point of two features, which a narrow phase knows less exactly.

With n from the first body to the second, the farthest points s₁(n) and s₂(−n) of both features and D = s₂ − s₁, the
tangents t along which no feature is straight have t · D = 0. The points move by R ṅ with the radii of curvature R, so
Newton's method for n solves

    (W (R₁ + R₂) Wᵀ + d) y = W D,    n + Wᵀ y,

W the tangents as rows, d = n · D. `sarrus.symbolic.rows.feature_pairs` is the same over q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.surface_features import Feature, cross
from sarrus.dynamics.contacts.tolerances import (
    FEATURE_GAP,
    FEATURE_NORMAL,
    FEATURE_POINT,
    NORMAL_FOUND,
    NORMAL_STEPS,
    ON_FEATURE,
)
from sarrus.kernels.linalg.ranked import ranked


class FeatureContact(NamedTuple):
    """Gap [m] between two features, the contact point half way between them, and the unit normal, (3,)."""

    gap: float
    point: Array
    normal: Array


class ProperPair(NamedTuple):
    """Two features that determine normal and point.

    ``borders``: those that touch do not, such as a corner on an edge.
    """

    features: tuple[Feature, Feature]
    borders: bool


def proper_pair(features: tuple[Feature, Feature], point: Array, normal: Array, margin: float) -> ProperPair:
    """Return features that determine normal and point, for those that touch at a point with a normal.

    Others, such as a corner on an edge or a corner, an edge along a face, and edges in one line, have the normal fixed
    to the second body, or to the first if only that has an edge or a face. Two lines are turned so that their vector
    product is along n.
    """
    first, second = features
    kinds = {first.kind, second.kind}
    if "ridge" in kinds:
        pass
    elif kinds == {"line"}:
        turn = cross(first.axes[:, 2], second.axes[:, 2])
        if np.linalg.norm(turn) > ON_FEATURE:
            if turn @ normal < 0.0:
                second = second._replace(axes=-second.axes)
            return ProperPair((first, second), False)
    elif "face" in kinds:
        if not kinds <= {"face", "line"}:
            return ProperPair((first, second), False)
    else:
        lines = [each.axes[:, 2] for each in features if each.kind == "line"]
        _, stiff = _stiffness(first, second, normal, margin, lines)
        least = ON_FEATURE * max(float(first.size.max()), float(second.size.max()))
        if float(np.linalg.eigvalsh(stiff)[0]) > least:
            return ProperPair((first, second), False)
    across = cross(np.eye(3)[int(np.argmin(np.abs(normal)))], normal)
    across /= np.linalg.norm(across)
    axes = np.column_stack([across, cross(normal, across), normal])
    corner, face = (Feature(kind, point, axes, np.zeros(3), normal) for kind in ("point", "face"))
    if first.kind in ("line", "face") and second.kind not in ("line", "face"):
        return ProperPair((face, corner._replace(outward=-normal)), True)
    return ProperPair((corner, face._replace(axes=-axes, outward=-normal)), True)


def contact_of_features(pair: ProperPair, normal: Array) -> FeatureContact:
    """Return how two features touch whose normal is near to ``normal``."""
    one, two = pair.features
    n = _normal(one, two, normal)
    first, second = one.farthest(n), two.farthest(-n)
    gap = float(n @ (second - first))
    if one.kind == two.kind == "line":
        aside = cross(two.axes[:, 2], n)
        along = (second - first) @ aside / (one.axes[:, 2] @ aside)
        return FeatureContact(gap, first + along * one.axes[:, 2] + 0.5 * gap * n, n)
    if one.kind in ("face", "line"):
        return FeatureContact(gap, second - 0.5 * gap * n, n)
    return FeatureContact(gap, first + 0.5 * gap * n, n)


def agrees(pair: ProperPair, found: FeatureContact, given: FeatureContact, length: float) -> bool:
    """Tell whether the features touch as a narrow phase says: ``given``, with a characteristic length [m]."""
    sizes = np.concatenate([one.size for one in pair.features])
    size = float(sizes[sizes > 0.0].min(initial=length))
    return bool(
        abs(found.gap - given.gap) <= FEATURE_GAP * length
        and np.abs(found.normal - given.normal).max() <= FEATURE_NORMAL
        and np.abs(found.point - given.point).max() <= FEATURE_POINT * size
    )


def _normal(one: Feature, two: Feature, start: Array) -> Array:
    if one.kind == "face":
        return one.axes[:, 2]
    if two.kind == "face":
        return -two.axes[:, 2]
    lines = [each.axes[:, 2] for each in (one, two) if each.kind == "line"]
    if len(lines) == 2:
        turn = cross(*lines)
        return turn / np.linalg.norm(turn)
    n = start
    for _ in range(NORMAL_STEPS):
        for line in lines:
            n = n - (n @ line) * line
        n = n / np.linalg.norm(n)
        apart = two.farthest(-n) - one.farthest(n)
        ways, stiff = _stiffness(one, two, n, float(n @ apart), lines)
        step = ways.T @ np.linalg.solve(stiff, ways @ apart)
        n = n + step
        if np.abs(step).max() <= NORMAL_FOUND:
            break
    return n / np.linalg.norm(n)


def _stiffness(one: Feature, two: Feature, n: Array, gap: float, lines: list[Array]) -> tuple[Array, Array]:
    """Return the tangents W along which no feature is straight, and W (R₁ + R₂) Wᵀ + d."""
    ways = ranked(np.array([n, *lines])).null.T
    radii = one._replace(outward=n).curvature.radii + two._replace(outward=-n).curvature.radii
    return ways, ways @ radii @ ways.T + gap * np.eye(len(ways))
