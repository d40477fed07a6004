"""Common parts of figures over time: stacked panels, heading, singular passages, logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from sarrus.base.arrays import Array
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.plots.style import LABEL_ROOM, SHORTEST_SHOWN
from sarrus.pictures.symbols.style import FAINT, INK, dress, new_figure
from sarrus.pictures.symbols.text import head


def time_panels(width: float, inches: float, heights: Sequence[float], heading: str) -> tuple[Figure, Array]:
    """Return a figure and its panels (n,), of these heights relative to each other and ``inches`` in all."""
    figure = new_figure(width, inches + 0.7)
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    head(figure, heading)
    return figure, panels


def finish(figure: Figure, panels: Array, start: float, end: float, run: Trajectory | None) -> None:
    """Dress the panels, mark the singular passages of a run, and set the range of time."""
    for panel in panels:
        dress(panel)
    if run is not None:
        _mark_passages(run, panels)
    panels[-1].set_xlabel("time [s]")
    if end > start:
        panels[-1].set_xlim(start, end)
    figure.align_ylabels(panels)


def logarithmic(panel: Axes) -> None:
    """Make a panel's axis logarithmic, without ticks between the decades."""
    panel.set_yscale("log")
    panel.yaxis.set_minor_locator(NullLocator())


def _mark_passages(run: Trajectory, panels: Array) -> None:
    """Draw a dotted line at every passage, and its time above the first panel where there is room."""
    last = -np.inf
    for passage in run.passages:
        for panel in panels:
            panel.axvline(passage.time, color=INK if passage.crossed else FAINT, linestyle=":", linewidth=0.9)
        if passage.time - last > LABEL_ROOM * max(run.duration, SHORTEST_SHOWN):
            panels[0].annotate(
                f"{passage.time:.2f} s", (passage.time, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
                textcoords="offset points", ha="center", size=8, color=INK,
            )  # fmt: skip
            last = passage.time
