"""Work as the integral of a power given at samples, which are dense at events and sparse between them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sarrus.analysis.loads.tolerances import BOTH_SIDES_OF_INSTANT
from sarrus.base.arrays import Array

# Degree of the polynomials between samples, and the rule that integrates them exactly.
_DEGREE = 5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
# Samples that lie closer than this part of an interval beside it are at an event: what is beyond may be different.
_EVENT = 1 / 5


def sides(t: Array) -> NDArray[np.bool_]:
    """Return which intervals (T − 1,) have both ends at one instant, before and after an impact."""
    same: NDArray[np.bool_] = np.diff(t) <= BOTH_SIDES_OF_INSTANT * np.abs(t).max(initial=0.0)
    return same


def integral(t: Array, power: Array) -> tuple[Array, float]:
    """Return ∫ power dt from the start to each sample (T,), and the estimated error at the end, summed over all
    intervals.

    Between two samples the power is a straight line, or the polynomial of degree three or five through the nearest
    samples, whichever has the least estimated error: for a line the local range of the power times the interval, for a
    polynomial the contribution of its last two terms. If a spline of degree five through all samples is within that
    error, the spline is taken, with its distance to the polynomial and to the cubic spline as the error. So a power
    that grows fast towards an event is not extrapolated, and peaks that are sampled too coarsely increase the error. No
    polynomial spans a time that occurs twice.
    """
    steps, error = np.zeros(len(t)), 0.0
    edges = [0, *(np.flatnonzero(sides(t)) + 1).tolist(), len(t)]
    for start, end in pairwise(edges):
        if end > start + 1:
            steps[start + 1 : end], off = _steps(t[start:end], power[start:end])
            error += float(off.sum())
    return np.cumsum(steps), error


def _steps(t: Array, power: Array) -> tuple[Array, Array]:
    """Return the integrals over all intervals (T − 1,) and their errors."""
    terms = _newton_terms(t, power)
    nearby = np.lib.stride_tricks.sliding_window_view(np.pad(power, 1, mode="edge"), 4)
    sums, errors = [terms[0] + terms[1]], [np.diff(t) * np.ptp(nearby, axis=1)]
    for two in range(2, len(terms) - 1, 2):
        sums.append(sums[-1] + terms[two] + terms[two + 1])
        errors.append(np.abs(terms[two]) + np.abs(terms[two + 1]))
    best = np.argmin(errors, axis=0)
    near, off = np.choose(best, sums), np.choose(best, errors)
    if len(t) <= _DEGREE:
        return near, off
    fine, coarse = (_spline_steps(t, power, degree) for degree in (_DEGREE, _DEGREE - 2))
    away = np.abs(fine - near)
    agrees = away <= off
    told = np.minimum(off, away + np.abs(fine - coarse))
    return np.where(agrees, fine, near), np.where(agrees, told, off)


def _spline_steps(t: Array, power: Array, degree: int) -> Array:
    """Return the integrals of an interpolating spline over all intervals (T − 1,)."""
    from scipy.interpolate import make_interp_spline  # here, because its import takes a third of a second

    return np.diff(make_interp_spline(t, power, k=degree).antiderivative()(t))


def _newton_terms(t: Array, power: Array) -> list[Array]:
    """Return the contribution of each degree of Newton's polynomial to the integrals over all intervals (T − 1,).

    The nearest samples come first; samples beyond an event count as farther than all others.
    """
    h, first = np.diff(t), t[:-1]
    within = h[:, None] * (1.0 + _NODES) / 2.0  # times of the quadrature, from the start of the interval
    low, high = np.arange(len(h)), np.arange(len(h)) + 1  # the samples that are in
    divided, product = np.diff(power) / h, within
    terms = [h * power[:-1], h / 2.0 * (product @ _WEIGHTS) * divided]
    ends, whole = np.concatenate([[-np.inf], t, [np.inf]]), t[-1] - t[0]
    product = product * (within - h[:, None])
    for degree in range(2, min(_DEGREE, len(h)) + 1):
        divided = np.diff(divided) / (t[degree:] - t[:-degree])
        before, after = ends[low], ends[high + 2]
        way_down = first - before + whole * (t[low] - before < _EVENT * h)
        way_up = after - t[1:] + whole * (after - t[high] < _EVENT * h)
        new = np.where(way_down < way_up, low - 1, high + 1)
        low, high = np.minimum(low, new), np.maximum(high, new)
        terms.append(h / 2.0 * (product @ _WEIGHTS) * divided[low])
        product = product * (within + (first - t[new])[:, None])
    return terms
