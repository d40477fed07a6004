"""Largest forces and couples of joints, closures and contacts along a run, with their times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.analysis.loads.reaction_table import aligned, floors
from sarrus.analysis.loads.tolerances import SAME_PEAK
from sarrus.base.arrays import Array
from sarrus.base.errors import check_known
from sarrus.symbolic.multibody.connections import Connection


@dataclass(frozen=True)
class ReactionPeak:
    """The largest force [N] and couple [N m] of a joint, closure or contact, and their times [s].

    ``force_determined`` and ``couple_determined``: whether all components are unique at these times.
    """

    name: str
    body: str
    kind: str
    force: float
    force_time: float
    force_determined: bool
    couple: float
    couple_time: float
    couple_determined: bool


@dataclass(frozen=True)
class ReactionMaxima:
    """The peaks of all joints, closures and contacts; ``print`` shows a table, ``maxima["hinge"]`` is a
    `ReactionPeak`.
    """

    system: str
    part: str
    peaks: tuple[ReactionPeak, ...]

    def __getitem__(self, name: str) -> ReactionPeak:
        names = [peak.name for peak in self.peaks]
        check_known("joint", name, names, self.system)
        return self.peaks[names.index(name)]

    def __iter__(self) -> Iterator[ReactionPeak]:
        return iter(self.peaks)

    def __len__(self) -> int:
        return len(self.peaks)

    def __str__(self) -> str:
        rows = [("", "on", "", "force [N]", "at [s]", "couple [N m]", "at [s]")]
        for peak in self.peaks:
            one = ("" if peak.force_determined else "~") + f"{peak.force:.5g}"
            two = ("" if peak.couple_determined else "~") + f"{peak.couple:.5g}"
            rows.append(
                (
                    peak.name,
                    peak.body,
                    peak.kind,
                    one,
                    f"{peak.force_time:.4g}",
                    two,
                    f"{peak.couple_time:.4g}",
                )
            )
        lines = [
            f"{self.system}: largest loads on the child, on body 2 of closures ({self.part})",
            *aligned(rows),
        ]
        if not all(peak.force_determined and peak.couple_determined for peak in self.peaks):
            lines.append("~ not unique, the mechanism is overconstrained; one possible value is shown")
        return "\n".join(lines)


def maxima_of(
    system: str,
    part: str,
    connections: Sequence[Connection],
    t: Array,
    force: Array,
    couple: Array,
    settled: np.ndarray,
    length: float,
) -> ReactionMaxima:
    """Return the peaks of forces and couples (T, n, 3); ``settled`` (T, n, 6) marks the unique components."""
    peaks, floor = [], floors(force, couple, length)
    for k, one in enumerate(connections if len(t) else ()):
        (f, at_f), (c, at_c) = _peak(force[:, k], floor[0]), _peak(couple[:, k], floor[3])
        sure = bool(settled[at_f, k, :3].all()), bool(settled[at_c, k, 3:].all())
        here = ReactionPeak(
            one.label, one.body, one.kind, f, float(t[at_f]), sure[0], c, float(t[at_c]), sure[1]
        )
        peaks.append(here)
    return ReactionMaxima(system, part, tuple(peaks))


def _peak(vectors: Array, least: float) -> tuple[float, int]:
    """Return the largest length of vectors (T, 3) and the first index at which it occurs; lengths up to ``least`` are
    zero.
    """
    sizes = np.sqrt((vectors**2).sum(axis=1))
    sizes = np.where(sizes > least, sizes, 0.0)  # none where it is NaN
    first = int(np.argmax(sizes >= (1.0 - SAME_PEAK) * float(sizes.max())))
    return float(sizes[first]), first
