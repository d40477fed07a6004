"""Singular passages of a run: where the smallest pivot of the constraints goes through, or close to, zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.mechanism.pose import Array
from sarrus.records import LimitCrossing, Passage

if TYPE_CHECKING:
    from sarrus.system import System

# A local minimum of the smallest pivot below this fraction of the largest pivot of the run is a passage.
NEAR = 0.05


def find_passages(system: System, t: Array, q: Array, v: Array, pivots: Array, rank: int) -> tuple[Passage, ...]:
    """Return the passages of a run from the pivots (T × 2: largest, smallest at the generic ``rank``).

    A pivot has no sign, so a crossing shows as a V. Among "no crossing", "crossing before" and "crossing
    after" the lowest sample, the smoothest signed sequence decides; its zero is the time of a crossing. The
    singular value and the closures are those of A at the sample nearest to it.
    """
    if rank == 0 or len(t) < 5:
        return ()
    scale = float(pivots[:, 0].max())
    s = pivots[:, 1] / scale if scale > 0.0 else pivots[:, 1]
    low = np.flatnonzero((s[1:-1] <= s[:-2]) & (s[1:-1] < s[2:]) & (s[1:-1] < NEAR)) + 1
    passages = []
    for k in low:
        if k < 2 or k > len(t) - 3:
            continue
        window = slice(k - 2, k + 3)
        time, crossed = _crossing(t[window] - t[k], s[window])
        value, closures = _closest(system, q[k], v[k], float(t[k]), rank)
        passages.append(Passage(float(t[k] + time), value, closures, crossed))
    return tuple(passages)


def _crossing(t: Array, s: Array) -> tuple[float, bool]:
    """Return the time of the minimum or the zero, relative to the middle of five samples, and which it is."""
    best: tuple[float, float, bool] | None = None
    for flip in (None, 2, 3):
        signed = s.copy()
        if flip is not None:
            signed[flip:] *= -1.0
        coefficients = np.polyfit(t, signed, 2)
        misfit = float(np.linalg.norm(np.polyval(coefficients, t) - signed))
        if best is None or misfit < best[0]:
            if flip is None:
                time = -coefficients[1] / (2 * coefficients[0]) if coefficients[0] > 0 else 0.0
            else:
                a, b = flip - 1, flip
                time = t[a] + (t[b] - t[a]) * signed[a] / (signed[a] - signed[b])
            best = (misfit, float(np.clip(time, t[0], t[-1])), flip is not None)
    assert best is not None
    return best[1], best[2]


def _closest(system: System, q: Array, v: Array, t: float, rank: int) -> tuple[float, tuple[str, ...]]:
    """Return the singular value at the generic rank and the closures with most of its left singular vector."""
    left, values, _ = np.linalg.svd(system.constraint_jacobian(q, t, v))
    weight = {name: float(np.linalg.norm(left[rows, rank - 1])) for name, rows in system.closure_rows.items()}
    largest = max(weight.values())
    return float(values[rank - 1]), tuple(name for name, w in weight.items() if w > 0.3 * largest)


def find_limit_crossings(system: System, t: Array, q: Array) -> tuple[LimitCrossing, ...]:
    """Return where coordinates leave the limits of their joints, in order of time."""
    if system.mechanism is None:
        return ()
    crossings = []
    index = {name: i for i, name in enumerate(system.coordinate_names)}
    for joint in system.mechanism.joints():
        for name, limit in zip(joint.velocity_names, joint.limits):
            if limit is None or name not in index:
                continue
            values = q[:, index[name]]
            for bound, beyond in ((limit[0], values < limit[0]), (limit[1], values > limit[1])):
                starts = np.flatnonzero(beyond & ~np.concatenate([[False], beyond[:-1]]))
                crossings += [LimitCrossing(name, float(t[k]), float(values[k]), float(bound)) for k in starts]
    return tuple(sorted(crossings, key=lambda c: c.time))
