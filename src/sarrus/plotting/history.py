"""Coordinates, energy, closure residual and condition number of a trajectory over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sarrus.base.arrays import Array
from sarrus.plotting.style import FAINT, INK, colour, save_figure
from sarrus.plotting.text import legend, literal, title
from sarrus.plotting.time_panels import FLOOR, finish, logarithmic, time_panels
from sarrus.simulation.trajectory import Trajectory

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


def history(trajectory: Trajectory, path: str | Path | None = None) -> Figure:
    """Plot coordinates, energy change, closure residual and condition number of a trajectory over time.

    Passages are dotted lines; what is behind ``determined_until`` is shaded. Returns the Matplotlib figure;
    ``path`` also saves it (.png, .pdf, .svg).
    """
    units = trajectory.coordinate_units or ("",) * len(trajectory.coordinate_names)
    groups = list(dict.fromkeys(units))
    constrained = bool(trajectory.constraint_names)
    heights = [2.0] * len(groups) + [1.0] * (3 if constrained else 1)
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
        legend(
            panel,
            drawn,
            names,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.03),
            frameon=False,
            fontsize=9,
            labelcolor=INK,
            handlelength=1.4,
        )
    else:
        panel.annotate(
            f"{len(names)} coordinates", (1.01, 0.95), xycoords="axes fraction", va="top", size=9, color=INK
        )


def _logarithmic(panel: Axes, t: Array, values: Array, line_colour: str, linewidth: float) -> None:
    """Plot finite values on a logarithmic axis."""
    logarithmic(panel)
    shown = np.where(np.isfinite(values), np.maximum(values, FLOOR), np.nan)
    panel.plot(t, shown, color=line_colour, linewidth=linewidth)
