"""Interleaved timing: on a machine shared with others, ratios of neighbours are steadier than times."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Comparison:
    """Median microseconds on both sides, and the median of the ratios peer / ours of neighbouring repeats."""

    ours_us: float
    peer_us: float
    ratio: float
    repeats: int


def summarize(ours: Sequence[float], peer: Sequence[float]) -> Comparison:
    """Summarize paired times in seconds; ``ours[k]`` and ``peer[k]`` were taken one after the other.

    The ratio is the median of peer[k] / ours[k], which a slow spell that covers a pair leaves alone; it need
    not equal the ratio of the two medians.
    """
    if len(ours) != len(peer) or not ours:
        raise ValueError(f"paired times are needed, got {len(ours)} and {len(peer)}")
    if min(*ours, *peer) <= 0.0:
        raise ValueError("times must be positive")
    ratio = median(theirs / mine for mine, theirs in zip(ours, peer))
    return Comparison(1e6 * median(ours), 1e6 * median(peer), ratio, len(ours))


def interleave(ours: Callable[[], float], peer: Callable[[], float], repeats: int) -> Comparison:
    """Take turns; each function runs a batch and returns its seconds per unit. One batch each to warm up."""
    ours(), peer()
    pairs = [(ours(), peer()) for _ in range(repeats)]
    return summarize([mine for mine, _ in pairs], [theirs for _, theirs in pairs])


def batch(call: Callable[[], object], seconds: float = 0.01) -> Callable[[], float]:
    """Return a function that runs ``call`` for about ``seconds`` and returns the seconds per call."""
    timer = timeit.Timer(call)
    timer.timeit(10)
    number = max(10, round(seconds / (timer.timeit(100) / 100)))
    return lambda: timer.timeit(number) / number
