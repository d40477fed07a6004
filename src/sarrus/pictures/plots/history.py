"""Coordinates, energy, closure residual and condition number of a trajectory over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sarrus.base.arrays import Array
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.plots.style import SPIKES_SHOWN, ZERO_SHOWN
from sarrus.pictures.plots.time_panels import finish, logarithmic, time_panels
from sarrus.pictures.symbols.style import FAINT, INK, colour, save_figure
from sarrus.pictures.symbols.text import BESIDE, legend, literal, title

QUANTITIES = {
    "rad": "angle [rad]",
    "m": "displacement [m]",
    "1": "quaternion",
    "A": "current [A]",
    "": "coordinate",
}
MAX_LEGEND = 14
MAX_POINTS = 6000
FEW_POINTS = 1500  # with fewer samples than this, coordinates are drawn through points between them


def history(trajectory: Trajectory, path: str | Path | None = None, *, singularity: bool = False) -> Figure:
    """Return a figure of coordinates, energy change, closure residual and condition number of a trajectory over time.

    ``singularity=True`` shows the smallest singular value and the spike indicator (with the spike acceleration) instead
    of the condition number. Singular passages are dotted lines; the time after ``determined_until`` is shaded. ``path``
    also saves the figure (.png, .pdf, .svg).
    """
    units = trajectory.coordinate_units or ("",) * len(trajectory.coordinate_names)
    groups = list(dict.fromkeys(units))
    constrained = bool(trajectory.constraint_names)
    of_constraints = [1.0, 1.5, 1.5] if singularity else [1.0, 1.0]
    heights = [2.0] * len(groups) + [1.0] + (of_constraints if constrained else [])
    figure, panels = time_panels(9.0, 1.4 * sum(heights), heights, title(trajectory.name))
    keep = slice(None, None, max(1, len(trajectory.t) // MAX_POINTS))
    t = trajectory.t[keep]

    dense, q = t, trajectory.q[keep]
    if 1 < len(t) < FEW_POINTS:
        dense = np.linspace(t[0], t[-1], FEW_POINTS)
        q = trajectory.at(dense)
    for panel, unit in zip(panels, groups):
        members = [k for k, u in enumerate(units) if u == unit]
        _coordinates(panel, dense, q[:, members], [trajectory.coordinate_names[k] for k in members])
        literal(panel.yaxis.label, QUANTITIES.get(unit, f"[{unit}]"))
    rest = panels[len(groups) :]
    if len(t):
        rest[0].plot(t, trajectory.energy[keep] - trajectory.energy[0], color=colour(0), linewidth=1.1)
    rest[0].set_ylabel("energy\nchange [J]")
    if constrained:
        _logarithmic(rest[1], t, trajectory.residual[keep], colour(2), linewidth=0.5)
        rest[1].set_ylabel("closure\nresidual")
        if singularity:
            _singularity(rest[2:], trajectory, keep)
        else:
            _logarithmic(rest[2], t, trajectory.condition[keep], colour(1), linewidth=1.1)
            rest[2].set_ylabel("condition\nnumber")
    if trajectory.determined_until < trajectory.t.max(
        initial=-np.inf
    ):  # behind it the motion is not determined
        for panel in panels:
            panel.axvspan(trajectory.determined_until, trajectory.t[-1], color=FAINT, alpha=0.15, linewidth=0)
    start, end = (t[0], t[-1]) if len(t) else (0.0, 0.0)
    finish(figure, panels, start, end, trajectory)
    return save_figure(figure, path)


def _coordinates(panel: Axes, t: Array, values: Array, names: list[str]) -> None:
    few = len(names) <= MAX_LEGEND
    drawn = []
    for k in range(len(names)):
        style = "-" if k < 7 else "--"
        drawn += panel.plot(t, values[:, k], style, color=colour(k), linewidth=1.3 if few else 0.7)
    if few and names:
        legend(panel, drawn, names, **BESIDE)
    else:
        panel.annotate(
            f"{len(names)} coordinates", (1.01, 0.95), xycoords="axes fraction", va="top", size=9, color=INK
        )


def _singularity(panels: Array, trajectory: Trajectory, keep: slice) -> None:
    """Plot the channels of singularity: σ from zero, and indicator and spike acceleration on a logarithmic axis."""
    t = trajectory.t[keep]
    value = trajectory.smallest_singular_value[keep]
    panels[0].plot(t, np.where(np.isfinite(value), value, np.nan), color=colour(0), linewidth=1.1)
    panels[0].set_ylim(bottom=0.0)
    panels[0].set_ylabel("smallest\nsingular value")
    lines = []
    for k, name in enumerate(("indicator", "acceleration")):
        values = getattr(trajectory, f"spike_{name}")[keep]
        lines += panels[1].plot(t, np.where(values > 0.0, values, np.nan), color=colour(1 + k), linewidth=1.1)
    logarithmic(panels[1])
    low, high = panels[1].get_ylim()
    panels[1].set_ylim(bottom=max(low, SPIKES_SHOWN * high))  # below it is rounding
    panels[1].set_ylabel("spike [1/s²]")
    legend(panels[1], lines, ["indicator", "acceleration"], **BESIDE)


def _logarithmic(panel: Axes, t: Array, values: Array, line_colour: str, linewidth: float) -> None:
    """Plot finite values on a logarithmic axis."""
    logarithmic(panel)
    shown = np.where(np.isfinite(values), np.maximum(values, ZERO_SHOWN), np.nan)
    panel.plot(t, shown, color=line_colour, linewidth=linewidth)
