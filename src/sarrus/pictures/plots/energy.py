"""Figures of an energy balance: work over time by element, and torque over speed of the actuators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sarrus.analysis.loads.energy_balance import EnergyBalance
from sarrus.pictures.plots.style import ZERO_SHOWN
from sarrus.pictures.plots.time_panels import finish, logarithmic, time_panels
from sarrus.pictures.symbols.style import FAINT, INK, colour, dress, new_figure, save_figure
from sarrus.pictures.symbols.text import BESIDE, head, legend, title

# Lines with a label; the others are drawn together.
_MOST = 10


def energy_shares(balance: EnergyBalance, path: str | Path | None = None) -> Figure:
    """Return a figure of the energy of a motion, the work of all forces over time [J], and the residual of the balance.

    The elements with the most work have a line each, all others one together. ``path`` also saves the figure (.png,
    .pdf, .svg).
    """
    figure, (upper, lower) = time_panels(9.0, 5.0, [3.0, 1.0], title(balance.name))
    t, most = balance.t, np.abs(balance.work).max(axis=0, initial=0.0)
    order = np.argsort(-most, kind="stable")
    shown = [k for k in order[:_MOST] if most[k] > 0.0]
    lines = upper.plot(t, balance.energy, color=INK, linewidth=2.0)
    labels = ["energy"]
    for k, i in enumerate(shown):
        lines += upper.plot(t, balance.work[:, i], "-" if k < 7 else "--", color=colour(k), linewidth=1.3)
        labels.append(balance.labels[i])
    if any(most[order[_MOST:]] > 0.0):
        lines += upper.plot(t, balance.work[:, order[_MOST:]].sum(axis=1), ":", color=FAINT, linewidth=1.3)
        labels.append(f"{len(order) - _MOST} others")
    upper.axhline(0.0, color=FAINT, linewidth=0.8)
    upper.set_ylabel("change and work [J]")
    legend(upper, lines, labels, **BESIDE)
    logarithmic(lower)
    lower.plot(t, np.maximum(np.abs(balance.residual), ZERO_SHOWN), color=colour(2), linewidth=0.8)
    lower.set_ylabel("residual [J]")
    finish(figure, np.array([upper, lower]), float(t[0]), float(t[-1]), None)
    return save_figure(figure, path)


def motor_diagram(balance: EnergyBalance, path: str | Path | None = None) -> Figure:
    """Return a figure of the scalar force of every actuator over the rate of its length: torque over speed of a motor.

    The start is a dot. In the shaded quadrants (first and third) an actuator drives, in the others it brakes. ``path``
    also saves the figure.
    """
    figure = new_figure(7.0, 5.0)
    axes = figure.subplots()
    head(figure, title(balance.name))
    lines = []
    for k, (speed, torque) in enumerate(zip(balance.speeds.T, balance.torques.T)):
        lines += axes.plot(speed, torque, "-" if k < 7 else "--", color=colour(k), linewidth=1.2)
        axes.plot(speed[:1], torque[:1], "o", color=colour(k), markersize=4)
    dress(axes)
    axes.margins(0.06)
    x, y = (np.abs(limits).max() for limits in (axes.get_xlim(), axes.get_ylim()))
    for side in (1.0, -1.0):
        axes.fill_between([0.0, side * x], 0.0, side * y, color=FAINT, alpha=0.12, linewidth=0)
    axes.axhline(0.0, color=FAINT, linewidth=0.8)
    axes.axvline(0.0, color=FAINT, linewidth=0.8)
    axes.set(xlim=(-x, x), ylim=(-y, y), xlabel="speed [rad/s, m/s]", ylabel="torque, force [N m, N]")
    if lines:
        legend(axes, lines, balance.actuator_names, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return save_figure(figure, path)
