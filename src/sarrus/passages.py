"""Singular passages of a run: where the smallest pivot of the constraints goes through, or close to, zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus import dense
from sarrus.mechanism.pose import Array
from sarrus.records import Passage

if TYPE_CHECKING:
    from sarrus.system import System

# A local minimum of the smallest pivot below this fraction of its largest value in the run is a passage. Steps may land
# far on both sides of a crossing: any minimum is one where the singular value changes sign, above the second fraction
# only if its vectors leave no doubt about the sign.
NEAR, FAR = 0.05, 0.5


def find_passages(
    system: System, t: Array, q: Array, v: Array, pivots: Array, rank: int
) -> tuple[Passage, ...]:
    """Return the passages of a run from the pivots (T × 2: largest, smallest at the generic ``rank``).

    Singular values have no sign, so a crossing shows as a V; the sign follows from the singular vectors,
    which are continuous through it. The time of a crossing is the zero of the signed values, else that of the
    minimum; the singular value and the closures are those of A at the record nearest to it.
    """
    if rank == 0 or len(t) < 4:
        return ()
    s = pivots[:, 1] / max(float(pivots[:, 1].max()), 1e-300)
    low = _valleys(s)
    passages = []
    for k in low:
        window = slice(max(k - 2, 0), min(k + 3, len(t)))
        signed, closures, clear = _signed_values(system, t[window], q[window], v[window], rank)
        middle = k - window.start
        crossed = (clear or s[k] < FAR) and _crosses(t[window], signed)
        if not crossed and (s[k] >= NEAR or k == len(t) - 1):
            continue
        time = _zero(t[window], signed) if crossed else _minimum(t[window], np.abs(signed), middle)
        passages.append(Passage(time, float(abs(signed[middle])), closures[middle], crossed))
    return tuple(passages)


def _valleys(s: Array) -> list[int]:
    """Return the local minima of s that may be passages, the lowest one of each stay below `NEAR`.

    The last value may be one too: a single step may have gone through and ended the run.
    """
    after = np.append(s[2:], np.inf)
    minima = np.flatnonzero((s[1:] <= s[:-1]) & (s[1:] < after)) + 1
    valleys: list[int] = []
    for k in minima:
        if valleys and s[valleys[-1] : k + 1].max() < NEAR:
            valleys[-1] = min(valleys[-1], int(k), key=lambda j: float(s[j]))
        else:
            valleys.append(int(k))
    return valleys


def _signed_values(
    system: System, t: Array, q: Array, v: Array, rank: int
) -> tuple[Array, list[tuple[str, ...]], bool]:
    """Return the singular values at the generic rank, signed by continuity, and the closures each involves.

    Where several values vanish together their vectors mix and carry no sign; then the smoother of the two
    signed sequences decides. Returns also whether the vectors were clear.
    """
    values, closures = np.empty(len(t)), []
    sign, clear = 1.0, True
    left_before = right_before = np.empty(0)
    flips = np.ones(len(t))
    for k in range(len(t)):
        left, sigma, right = dense.svd(system.constraint_jacobian(q[k], float(t[k]), v[k]), rank)
        u, w = left[:, rank - 1], right[rank - 1]
        if k:
            agreement = dense.dot(u, left_before), dense.dot(w, right_before)
            clear = clear and min(map(abs, agreement)) > 0.5
            sign *= float(np.sign(agreement[0] * agreement[1]) or 1.0)
        flips[k] = sign
        values[k] = sigma[rank - 1]
        left_before, right_before = u, w
        weight = {name: dense.norm(u[rows]) for name, rows in system.closure_rows.items()}
        largest = max(weight.values())
        closures.append(tuple(name for name, size in weight.items() if size > 0.3 * largest))
    if clear:
        return values * flips, closures, True
    return _smoothest(t - t[0], values), closures, False


def _smoothest(t: Array, values: Array) -> Array:
    """Return the values with the signs, at most one change, that a parabola fits best."""
    best, misfit = values, np.inf
    for flip in range(len(t)):
        signed = values.copy()
        signed[:flip] *= -1.0
        error = dense.norm(np.polyval(_parabola(t, signed), t) - signed) if len(t) > 3 else np.inf
        if error < misfit:
            best, misfit = signed, error
    return best


def _parabola(t: Array, values: Array) -> Array:
    """Return the coefficients of the parabola nearest to the values, the highest power first."""
    size = float(np.abs(t).max())
    powers = np.stack([(t / size) ** 2, t / size, np.ones(len(t))], axis=1)
    return dense.product(dense.pseudoinverse(powers), values) / np.array([size * size, size, 1.0])


def _crosses(t: Array, signed: Array) -> bool:
    """Tell whether the signed values go through zero as smoothly as they move beside it."""
    change = np.flatnonzero(signed[1:] * signed[:-1] < 0.0)
    if len(change) != 1:
        return False
    k = int(change[0])
    step = abs(signed[k + 1] - signed[k]) / (t[k + 1] - t[k])
    beside = [
        abs(signed[j + 1] - signed[j]) / (t[j + 1] - t[j]) for j in (k - 1, k + 1) if 0 <= j < len(t) - 1
    ]
    return bool(beside) and bool(0.3 * step < max(beside))


def _zero(t: Array, signed: Array) -> float:
    """Return the time of the sign change by inverse interpolation of the neighbouring values."""
    k = int(np.flatnonzero(signed[1:] * signed[:-1] < 0.0)[0])
    near = slice(max(k - 1, 0), min(k + 3, len(t)))
    x, y = t[near], signed[near]
    if np.all(np.diff(y) > 0.0) or np.all(np.diff(y) < 0.0):
        weights = [np.prod([y[j] / (y[j] - y[i]) for j in range(len(y)) if j != i]) for i in range(len(y))]
        time = dense.dot(np.array(weights), x)
        if t[k] <= time <= t[k + 1]:
            return time
    return float(t[k] + (t[k + 1] - t[k]) * signed[k] / (signed[k] - signed[k + 1]))


def _minimum(t: Array, values: Array, middle: int) -> float:
    """Return the time of the minimum of the parabola through the three values around the lowest one."""
    if not 0 < middle < len(t) - 1:
        return float(t[middle])
    near = slice(middle - 1, middle + 2)
    c = _parabola(t[near] - t[middle], values[near])
    shift = -c[1] / (2 * c[0]) if c[0] > 0.0 else 0.0
    return float(np.clip(t[middle] + shift, t[middle - 1], t[middle + 1]))
