"""The edge of what a map reaches, drawn between nodes: where the size of T, known inside, goes to zero."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array

_STRAIGHT = [(1, 0), (-1, 0), (0, 1), (0, -1)]
_OBLIQUE = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
# Nodes that are added on either side.
_ROOM = 3


def padded(array: Array, wraps: tuple[bool, bool], unknown: float) -> Array:
    """Return an array over nodes (n0, n1) with more on all sides.

    Those of the other end where a coordinate wraps, else ``unknown`` ones.
    """
    for axis, wrap in enumerate(wraps):
        width = [(_ROOM, _ROOM) if k == axis else (0, 0) for k in range(2)]
        array = np.pad(array, width, mode="wrap") if wrap else np.pad(array, width, constant_values=unknown)
    return array


def padded_nodes(nodes: Array) -> Array:
    """Return nodes with as many more at both ends."""
    step = nodes[1] - nodes[0]
    before, after = nodes[0] - step * np.arange(_ROOM, 0, -1), nodes[-1] + step * np.arange(1, _ROOM + 1)
    return np.concatenate([before, nodes, after])


def around(values: Array, free: np.ndarray) -> Array:
    """Return values (n0, n1), NaN where unknown, with means of their neighbours at the ``free`` nodes beside them."""
    neighbours = np.array([_shifted(values, way) for way in (*_STRAIGHT, *_OBLIQUE)])
    known = np.isfinite(neighbours)
    count = known.sum(axis=0)
    means = np.where(known, neighbours, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.where(np.isfinite(values) | (count == 0) | ~free, values, means)


def edge(sizes: Array, free: np.ndarray) -> Array:
    """Return a function (n0, n1) that is positive where something is reached and negative beyond; NaN far away.

    The square of the size of T, which falls linearly to zero on a fold, and two nodes beyond by the same slope.
    """
    found = sizes**2
    for _ in range(2):
        guesses = [-np.abs(_shifted(found, way)) for way in _OBLIQUE]
        for i, j in _STRAIGHT:
            first, second = _shifted(found, (i, j)), _shifted(found, (2 * i, 2 * j))
            guesses.append(np.where(np.isfinite(second), 2 * first - second, -np.abs(first)))
        least = np.fmin.reduce(guesses)
        outside = np.isnan(found) & free & np.isfinite(least)
        least = np.where(least < 0.0, least, -1e-3 * np.nanmax(np.abs(found)))
        found = np.where(outside, least, found)
    return np.asarray(found)


def _shifted(array: Array, way: tuple[int, int]) -> Array:
    """Return what is so many nodes further at each node, NaN outside."""
    out = np.full(array.shape, np.nan)
    source, target = [], []
    for k, n in zip(way, array.shape):
        source.append(slice(max(k, 0), n + min(k, 0)))
        target.append(slice(max(-k, 0), n + min(-k, 0)))
    out[tuple(target)] = array[tuple(source)]
    return out
