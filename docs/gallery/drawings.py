"""Drawings of the gallery, in the look of `sarrus.pictures.plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray
from PIL import Image

import sarrus as sr
from sarrus.pictures.symbols.style import FAINT, INK, colour, dress, new_figure

Array = NDArray[np.float64]

MARGIN = 0.15  # around a drawing [m]
WINDOW = 0.1  # shown on each side of a passage [s]
LINE_STYLES = ("-", (0, (4, 2)))


def release(system: sr.System, run: sr.Trajectory, condition: Array) -> Figure:
    """Draw the fall from the singular configuration: poses, angles, energies, condition number and loop gap."""
    figure = new_figure(11.0, 7.0)
    grid = figure.add_gridspec(4, 2, width_ratios=(1.0, 1.6), height_ratios=(1.5, 1.2, 1.0, 1.0))
    falling = figure.add_subplot(grid[:2, 0])
    poses(falling, system, run, np.linspace(0.0, 0.9, 7))
    falling.set_title("0 to 0.9 s: falling", loc="left", size=9, color=INK)
    bobbing = figure.add_subplot(grid[2:, 0])
    poses(bobbing, system, run, np.linspace(0.9, 1.45, 5))
    bobbing.set_title("0.9 to 1.45 s: swinging through", loc="left", size=9, color=INK)

    angles = figure.add_subplot(grid[0, 1])
    for k, name in enumerate(run.coordinate_names):
        angles.plot(run.t, run.q[:, k], color=colour(k), linewidth=1.3, label=name.replace("_", " "))
    label(angles, "angle [rad]")
    legend(angles)
    energies = figure.add_subplot(grid[1, 1], sharex=angles)
    kinetic = np.array([system.kinetic_energy(q, v) for q, v in zip(run.q, run.v)])
    for k, (name, values) in enumerate(
        {"T": kinetic, "V": run.energy - kinetic, "T + V": run.energy}.items()
    ):
        energies.plot(run.t, values, color=colour(k), linewidth=1.3, label=name)
    label(energies, "energy [J]")
    legend(energies)
    number = figure.add_subplot(grid[2, 1], sharex=angles)
    logarithmic(number, "σ₁/σ_m of A")
    number.set_ylim(0.8, 1e6)
    number.plot(run.t[1:], condition[1:], color=colour(1), linewidth=1.2)
    errors = figure.add_subplot(grid[3, 1], sharex=angles)
    logarithmic(errors, "error")
    change = np.abs(run.energy - run.energy[0])
    for k, (name, values) in enumerate({"|T + V − E₀| [J]": change, "loop gap [m]": run.residual}.items()):
        errors.plot(
            run.t, np.where(values > 0.0, values, np.nan), color=colour(2 - 2 * k), linewidth=1.2, label=name
        )
    errors.set_ylim(1e-10, 1e-2)
    legend(errors)
    errors.set_xlabel("time [s]")
    errors.set_xlim(run.t[0], run.t[-1])
    for axes in (angles, energies, number):
        axes.tick_params(labelbottom=False)
    figure.align_ylabels([angles, energies, number, errors])
    return figure


def poses(axes: Axes, system: sr.System, run: sr.Trajectory, times: Array) -> None:
    """Draw the mechanism at several times, the last one strongest: one broken line per side, a ring per joint."""
    assert system.mechanism is not None
    names = list(system.mechanism.bodies)
    drawn = []
    for k, q in enumerate(run.at(times)):
        positions, rotations = system.body_placements(q)
        last = k == len(times) - 1
        strength = 1.0 if last else 0.2 + 0.5 * k / len(times)
        for side, links in enumerate((("link1", "link2"), ("link4", "link3"))):
            near, far = map(names.index, links)
            tip = positions[far] + rotations[far] @ (1.5, 0.0, 0.0)
            x, _, z = np.array([positions[near], positions[far], tip]).T
            axes.plot(
                x, z, "-o", color=colour(side), alpha=strength, linewidth=3.0 if last else 1.4,
                markersize=5.0 if last else 2.5, markerfacecolor="white", zorder=3 if last else 2,
            )  # fmt: skip
            drawn += [x, z]
    for pivot in (0.0, 1.0):
        axes.plot(pivot, -0.06, "^", markersize=9, color="#d5dbdf", markeredgecolor=INK, zorder=1)
    x, z = np.concatenate(drawn[::2]), np.concatenate(drawn[1::2])
    axes.set_xlim(min(x.min(), -1.0) - MARGIN, max(x.max(), 2.0) + MARGIN)
    axes.set_ylim(z.min() - MARGIN, z.max() + 2 * MARGIN)
    axes.set_aspect("equal")
    label(axes, "z [m]")
    axes.set_xlabel("x [m]")


def indicators(t: Array, found: Mapping[str, Any], passages: Sequence[float]) -> Figure:
    """Draw multipliers, spike indicator and its acceleration around each passage."""
    figure = new_figure(10.5, 6.5)
    grid = figure.subplots(3, len(passages), sharex="col", sharey="row", squeeze=False)
    quantities = {
        "multipliers": "largest |λ| [N]",
        "indicator": "indicator |u_mᵀγ̃| [m/s²]",
        "acceleration": "indicator / σ_m [rad/s²]",
    }
    for row, (quantity, text) in zip(grid, quantities.items()):
        for axes, passage in zip(row, passages):
            logarithmic(axes, text if axes is row[0] else "")
            near = np.abs(t - passage) <= WINDOW
            for k, (run, seen) in enumerate(found.items()):
                values = getattr(seen, quantity)[near]
                axes.plot(
                    t[near], values, color=colour(1 - k), linestyle=LINE_STYLES[k], linewidth=1.3, label=run,
                    zorder=2 + k,
                )  # fmt: skip
            axes.axvline(passage, color=INK, linestyle=":", linewidth=0.9)
            axes.set_xlim(passage - WINDOW, passage + WINDOW)
            axes.xaxis.set_major_locator(MaxNLocator(4))
    for axes, passage in zip(grid[0], passages):
        axes.set_title(f"passage at {passage:.2f} s", loc="left", size=9, color=INK)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=9, labelcolor=INK
    )
    return figure


def printed(runs: Sequence[sr.Trajectory], multipliers: Array, indicator: Array) -> Figure:
    """Draw figures 3.7 to 3.10 of the thesis in its layout: textbook at the left, null space at the right.

    ``runs`` are these two; ``multipliers`` (T, m) are those of the first, ``indicator`` (T,) that of the second.
    """
    figure = new_figure(10.5, 8.5)
    grid = figure.add_gridspec(4, 2)
    angles = figure.add_subplot(grid[0, :])
    for k, name in enumerate(runs[1].coordinate_names):
        angles.plot(runs[1].t, runs[1].q[:, k], color=colour(k), linewidth=1.2, label=name.replace("_", " "))
    angles.set_title("figure 3.7: joint angles [rad]", loc="left", size=9, color=INK)
    legend(angles)
    dress(angles)
    titles = (
        ("figure 3.8a: loop gap with Baumgarte [m]", "figure 3.8b: with projection [m]"),
        ("figure 3.9a: Lagrange's multipliers [N]", "figure 3.9b: |u_mᵀȦv| of the null space [m/s²]"),
        ("figure 3.10a: change of energy, multipliers [J]", "figure 3.10b: change of energy, null space [J]"),
    )
    for row, texts in enumerate(titles, 1):
        for side, (run, text) in enumerate(zip(runs, texts)):
            axes = figure.add_subplot(grid[row, side], sharex=angles)
            shown = (run.residual, (multipliers, indicator)[side], run.energy - run.energy[0])[row - 1]
            for k, values in enumerate(np.atleast_2d(shown.T)):
                axes.plot(run.t, values, color=colour(k), linewidth=1.1)
            axes.set_title(text, loc="left", size=9, color=INK)
            dress(axes)
            if row == len(titles):
                axes.set_xlabel("time [s]")
    angles.set_xlim(runs[0].t[0], runs[0].t[-1])
    return figure


def rounding(errors: Mapping[tuple[str, str], Array]) -> Figure:
    """Draw a dot per run: its energy error after the last passage, by layout and stabilisation."""
    layouts = list(dict.fromkeys(layout for layout, _ in errors))
    figure = new_figure(10.0, 3.6)
    panels = figure.subplots(1, len(layouts), sharey=True)
    rng = np.random.default_rng(0)
    for axes, layout in zip(panels, layouts):
        logarithmic(axes, "energy error after 3.91 s [J]" if axes is panels[0] else "")
        names = [name for place, name in errors if place == layout]
        for k, name in enumerate(names):
            values = errors[layout, name][:, -1]
            lost = np.count_nonzero(np.isnan(values))
            values = values[~np.isnan(values)]
            if lost:
                axes.annotate(
                    f"{lost} broke off", (k, values.max()), xytext=(0, 6), textcoords="offset points", ha="center",
                    size=8, color=INK,
                )  # fmt: skip
            shifts = rng.uniform(-0.25, 0.25, len(values))
            axes.plot(k + shifts, values, "o", color=colour(k), markersize=3.0, alpha=0.6, markeredgewidth=0)
        axes.set_xticks(range(len(names)), names, size=8)
        axes.set_xlim(-0.6, len(names) - 0.4)
        axes.set_title(f"cut at the {layout}", loc="left", size=9, color=INK)
    return figure


def logarithmic(axes: Axes, text: str) -> None:
    """Give axes a logarithmic scale with few ticks."""
    axes.set_yscale("log")
    label(axes, text)
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())


def label(axes: Axes, text: str) -> None:
    """Name the upright axis and dress both."""
    axes.set_ylabel(text)
    dress(axes)
    axes.spines[["left", "bottom"]].set_color(FAINT)


def legend(axes: Axes) -> None:
    """Name the lines at the right of the axes."""
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.05),
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        handlelength=1.4,
    )


def save(figure: Figure, path: Path, dpi: int = 110) -> None:
    """Save a figure with few colours, which keeps the file small."""
    figure.savefig(path, dpi=dpi)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
