"""Energy error, constraint residuals and condition number of several runs over time, in one figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from sarrus.base.arrays import Array
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.plots.style import LAYER_STEP, PANEL_DECADES, ZERO_SHOWN
from sarrus.pictures.plots.time_panels import finish, logarithmic, time_panels
from sarrus.pictures.symbols.style import colour, save_figure
from sarrus.pictures.symbols.text import legend, title

if TYPE_CHECKING:
    from sarrus.analysis.comparison.comparison import Comparison

INTERVALS = 200  # of time, of which each shows its largest value: lines instead of bands
MEMORY = 8  # intervals for which a residual holds its largest value, against the noise of rounding
MARKERS = "os^DvPX<>ph*"  # staggered along the lines, so that lines on top of each other can be distinguished
MARKS = 5  # per line


def comparison(compared: Comparison, path: str | Path | None = None) -> Figure:
    """Return a figure of energy error, constraint residual and condition number of compared runs over time,
    logarithmic.

    The largest value in each of 200 intervals of time is drawn; singular passages of the first run that has any are
    dotted lines. ``path`` also saves the figure (.png, .pdf, .svg).
    """
    runs = compared.trajectories
    panels = _quantities(compared)
    heading = f"{title(compared.name)}: {len(runs)} runs compared"
    figure, axes = time_panels(10.0, 2.3 * len(panels), [1.0] * len(panels), heading)
    times = np.concatenate([run.t for run in runs.values()])
    span = (float(times.min()), float(times.max())) if len(times) else (0.0, 1.0)
    for panel, (label, series) in zip(axes, panels.items()):
        logarithmic(panel)
        memory = MEMORY if "residual" in label else 1
        for k, name in enumerate(runs):
            t, values = _envelope(runs[name].t, series[name], span, memory)
            _line(panel, k, len(runs), t, values)
            if len(t) and not runs[name].status.ok:  # where it broke off
                panel.plot(t[-1], values[-1], "x", color=colour(k), markersize=8, markeredgewidth=2, zorder=4)
        panel.set_ylabel(label)
        low, high = panel.get_ylim()
        panel.set_ylim(low, max(high, low * 10.0**PANEL_DECADES))
        panel.yaxis.set_major_locator(LogLocator(numticks=7))
    _legend(figure, runs)
    finish(figure, axes, *span, next((run for run in runs.values() if run.passages), None))
    return save_figure(figure, path)


def _quantities(compared: Comparison) -> dict[str, dict[str, Array]]:
    """Return label of the panel → run → values over its time."""
    runs = compared.trajectories
    energy = "energy error [J]" if compared.conservative else "energy change [J]"
    panels = {}
    if compared.reference is not None:
        panels["position error [m, rad]"] = compared.position_errors
    panels |= {energy: {name: np.abs(run.energy - run.energy[:1]) for name, run in runs.items()}}
    system = next(iter(runs.values())).system
    if system is None or system.nc == 0:
        return panels
    if system.nh:
        panels["closure residual [m, rad]"] = {name: run.residual for name, run in runs.items()}
    if system.nc > system.nh:
        panels["velocity residual"] = compared.velocity_residuals
    panels["condition number"] = {name: run.condition for name, run in runs.items()}
    return panels


def _envelope(t: Array, values: Array, span: tuple[float, float], memory: int) -> tuple[Array, Array]:
    """Return the largest finite value in ``memory`` intervals of the span up to each one; few samples are returned
    unchanged.
    """
    finite = np.isfinite(values)
    t, values = t[finite], np.maximum(values[finite], ZERO_SHOWN)
    if len(t) <= INTERVALS:
        return t, values
    edges = np.linspace(*span, INTERVALS + 1)
    index = np.clip(np.searchsorted(edges, t, side="right") - 1, 0, INTERVALS - 1)
    largest = np.zeros(INTERVALS)
    np.maximum.at(largest, index, values)
    used = largest > 0.0
    before = np.concatenate([np.zeros(memory - 1), largest])
    held = np.lib.stride_tricks.sliding_window_view(before, memory).max(axis=1)
    return (0.5 * (edges[1:] + edges[:-1]))[used], held[used]


def _line(panel: Axes, k: int, count: int, t: Array, values: Array) -> None:
    every = max(1, INTERVALS // MARKS)
    panel.plot(
        t,
        values,
        linewidth=1.1,
        markevery=(min(int((k + 0.5) * every / count), max(len(t) - 1, 0)), every),
        zorder=3.0 - LAYER_STEP * k,
        **_look(k),
    )


def _look(k: int) -> dict:
    """Colour, dashes and marker of run k, different for the first 84 runs."""
    return {
        "color": colour(k),
        "linestyle": ("-", "--", ":")[k // 7 % 3],
        "marker": MARKERS[k % len(MARKERS)],
        "markersize": 6.0,
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
    }


def _legend(figure: Figure, runs: dict[str, Trajectory]) -> None:
    """Label the runs at the right; failed runs with their status, without a line if nothing is drawn."""
    handles, names = [], []
    for k, (name, run) in enumerate(runs.items()):
        ended = "" if run.status.ok else f": {run.status}" + (f" at {run.t[-1]:.3g} s" if len(run.t) else "")
        look = _look(k) if len(run.t) else {"linestyle": "none"}
        handles.append(Line2D([], [], linewidth=1.1, **look))
        names.append(name + ended)
    legend(figure, handles, names, loc="outside right upper", handlelength=2.2)
