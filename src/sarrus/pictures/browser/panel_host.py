"""`PanelHost`: the interface of a viewer for its panels."""

from __future__ import annotations

from typing import Any, Protocol

from sarrus.base.arrays import Array
from sarrus.dynamics.system import System
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.browser.worker_thread import WorkerThread
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.part import Rgb
from sarrus.pictures.scene.scene_nodes import SceneNodes


class PanelHost(Protocol):
    """A viewer as seen by its panels; all calls are on its worker thread."""

    system: System
    drawing: Drawing
    q: Array
    runs: list[Trajectory]
    labels: list[str]
    server: Any
    worker: WorkerThread
    timeline: Any
    nodes: list[SceneNodes]

    @property
    def shades(self) -> list[Rgb | None]:
        """Colours of the runs."""

    def show(self, q: Array, *, note: str = "", keep: str | None = None) -> None:
        """Show a configuration."""

    def show_run(self, time: float) -> None:
        """Show the runs at a time [s]."""

    def set_runs(self, runs: list[Trajectory], labels: list[str]) -> None:
        """Show other runs."""

    def pause(self) -> None:
        """Stop all animation."""
