"""Motions drawn over each other: the first opaque, all others transparent and in colours of their own."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from sarrus.base.arrays import Array
from sarrus.dynamics.system import System
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.scene.drawing import Drawing, Poses
from sarrus.pictures.scene.part import Rgb
from sarrus.pictures.scene.parts import tints
from sarrus.pictures.scene.style import OVERLAY
from sarrus.pictures.scene.subjects import at


@dataclass(frozen=True, eq=False)
class Layer:
    """A run, or a configuration q without a run, and its look; ``tint`` None: the colours of the parts."""

    drawing: Drawing
    tint: Rgb | None
    opacity: float
    run: Trajectory | None
    q: Array

    def poses(self, time: float) -> Poses:
        """Return the poses of all parts at a time [s]."""
        return self.drawing.poses(self.q if self.run is None else at(self.run, time), time)


def layers(drawing: Drawing, q: Array, runs: Sequence[Trajectory], given: System) -> list[Layer]:
    """Return the layers of runs, or of the configuration q; ``drawing`` is of ``given`` or of a copy of it."""
    first, *others = tints(len(runs))
    found = [Layer(drawing, first, 1.0, runs[0] if runs else None, q)]
    for run, tint in zip(runs[1:], others):
        own = run.moved_system() or given
        shown = drawing if own is given or own is drawing.system else Drawing(copy(own), run.q)
        found.append(Layer(shown, tint, OVERLAY, run, q))
    return found
