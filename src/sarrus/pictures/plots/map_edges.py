"""Edges of the reached region of a map between its nodes: the zero of a function known inside."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.pictures.plots.style import EDGE_OUTSIDE

_STRAIGHT = [(1, 0), (-1, 0), (0, 1), (0, -1)]
_OBLIQUE = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
# Nodes that are added on either side.
_ROOM = 3


def padded(array: Array, wraps: tuple[bool, bool], unknown: float) -> Array:
    """Return an array over nodes (n0, n1) extended on all sides.

    The added values are those of the other end if a coordinate wraps, else ``unknown``.
    """
    for axis, wrap in enumerate(wraps):
        width = [(_ROOM, _ROOM) if k == axis else (0, 0) for k in range(2)]
        array = np.pad(array, width, mode="wrap") if wrap else np.pad(array, width, constant_values=unknown)
    return array


def padded_nodes(nodes: Array) -> Array:
    """Return nodes extended at both ends."""
    step = nodes[1] - nodes[0]
    before, after = nodes[0] - step * np.arange(_ROOM, 0, -1), nodes[-1] + step * np.arange(1, _ROOM + 1)
    return np.concatenate([before, nodes, after])


def around(values: Array, free: np.ndarray) -> Array:
    """Return values (n0, n1), NaN where unknown, with means of their neighbours at adjacent ``free`` nodes."""
    neighbours = np.array([_shifted(values, way) for way in (*_STRAIGHT, *_OBLIQUE)])
    known = np.isfinite(neighbours)
    count = known.sum(axis=0)
    means = np.where(known, neighbours, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.where(np.isfinite(values) | (count == 0) | ~free, values, means)


def edge(values: Array, free: np.ndarray) -> Array:
    """Return values (n0, n1), positive in the reached region, extrapolated to negative ones two nodes beyond.

    The slope is kept if it leads below zero, at the ``free`` nodes; NaN farther away.
    """
    found = values
    for _ in range(2):
        guesses = [-np.abs(_shifted(found, way)) for way in _OBLIQUE]
        for i, j in _STRAIGHT:
            first, second = _shifted(found, (i, j)), _shifted(found, (2 * i, 2 * j))
            guesses.append(np.where(np.isfinite(second), 2 * first - second, -np.abs(first)))
        least = np.fmin.reduce(guesses)
        outside = np.isnan(found) & free & np.isfinite(least)
        least = np.where(least < 0.0, least, -EDGE_OUTSIDE * np.nanmax(np.abs(found)))
        found = np.where(outside, least, found)
    return np.asarray(found)


def beside(where: np.ndarray) -> np.ndarray:
    """Return the mask of nodes in ``where`` or adjacent to one."""
    marked = where.astype(float)
    neighbours = [_shifted(marked, way) for way in (*_STRAIGHT, *_OBLIQUE)]
    return np.asarray(where | (np.nan_to_num(neighbours) > 0.0).any(axis=0))


def finer(values: Array, parts: int) -> Array:
    """Return values (n0,) or (n0, n1) refined into ``parts`` per step, linear between nodes; NaN beside a NaN."""
    for axis in range(values.ndim):
        share = np.arange(parts) / parts
        ahead = np.moveaxis(values, axis, 0)
        between = ahead[:-1, None] * (1 - share).reshape(-1, *[1] * (values.ndim - 1))
        between = between + ahead[1:, None] * share.reshape(-1, *[1] * (values.ndim - 1))
        joined = np.concatenate([between.reshape(-1, *ahead.shape[1:]), ahead[-1:]])
        values = np.moveaxis(joined, 0, axis)
    return values


def _shifted(array: Array, way: tuple[int, int]) -> Array:
    """Return the array shifted by a number of nodes, NaN outside."""
    out = np.full(array.shape, np.nan)
    source, target = [], []
    for k, n in zip(way, array.shape):
        source.append(slice(max(k, 0), n + min(k, 0)))
        target.append(slice(max(-k, 0), n + min(-k, 0)))
    out[tuple(target)] = array[tuple(source)]
    return out
