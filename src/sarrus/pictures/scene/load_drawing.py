"""The loads in pictures, films and pages, with the scale of their arrows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import check_known
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.system import System
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.force_arrows import Scale
from sarrus.pictures.scene.loads import SIDES, Loads, RunLoads, at_rest, chosen, loads_of
from sarrus.pictures.scene.style import ARROW_FRAMED
from sarrus.pictures.scene.subjects import Subject, at, sample

_SAMPLES = 24  # of a run, whose arrows are to be in the picture


@dataclass(frozen=True)
class Wanted:
    """The joints, closures and contacts whose loads are drawn, the body they act on, and whether numbers are
    written.
    """

    names: frozenset[str] = frozenset()
    numbers: bool = False
    side: str = SIDES[0]

    @classmethod
    def of(cls, system: System, forces: bool | str | Iterable[str], numbers: bool, side: str) -> Wanted:
        """Return the loads selected by the arguments of `sarrus.render`; errors name the wrong argument."""
        check_known("side", side, SIDES, element="side")
        return cls(chosen(system, forces), numbers, side)


class LoadDrawing:
    """Loads of the first run at a time, or of a configuration at rest, on one scale."""

    def __init__(self, drawing: Drawing, subject: Subject, wanted: Wanted) -> None:
        self.drawing, self.subject, self.wanted = drawing, subject, wanted
        self.scale = Scale(0.0, 0.0)
        self._run: RunLoads | None = None
        self._rest: Loads | None = None
        if not wanted.names:
            return
        options = self._options
        if subject.runs:
            self._run = RunLoads(drawing, subject.runs[0])
            typical, length = self._run.typical(**options), self._run.length
        else:
            self._rest = loads_of(at_rest(drawing.system, subject.q).found, **options)
            typical, length = self._rest.largest, self._rest.length
        self.scale = Scale.of(*typical, length, drawing.size)

    @property
    def _options(self) -> dict[str, Any]:
        return {"names": self.wanted.names, "side": self.wanted.side}

    def reach(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the corners of a box [m] extended so that arrows of typical loads fit in."""
        if self._rest is not None:
            shown = [self._rest]
        elif self._run is not None:
            count = len(self.subject.runs[0].t)
            some = np.unique(np.linspace(0, count - 1, _SAMPLES).astype(int))
            shown = [self._run.at(int(k), **self._options) for k in some]
        else:
            return low, high
        most, points = ARROW_FRAMED * self.drawing.size, [low[None], high[None]]
        for loads in shown:
            for vectors in (loads.determined, loads.undetermined):
                ways = self.scale.force * vectors
                far = np.linalg.norm(ways, axis=1, keepdims=True)
                points.append(loads.points + ways * np.minimum(1.0, most / np.maximum(far, LEAST_DIVISOR)))
            radii = self.scale.couple * np.linalg.norm(loads.whole_couples, axis=1, keepdims=True)
            radii = 1.2 * np.minimum(radii, most)
            points += [loads.points - radii, loads.points + radii]
        every = np.concatenate(points)
        return every.min(axis=0), every.max(axis=0)

    def at(self, time: float) -> Loads | None:
        """Return the loads at a time [s]; None if none are selected."""
        if self._run is None:
            return self._rest
        run = self.subject.runs[0]
        return self._run.at(sample(run, time), at(run, time), **self._options)
