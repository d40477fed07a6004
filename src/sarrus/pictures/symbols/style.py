"""The common look of all figures, independent of Matplotlib's global settings and of a display."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sarrus.base.files.atomic import checked_path, replacing

# Okabe and Ito's colours, distinct to colour-blind readers too; yellow left out, too faint on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#4d4d4d")
INK = "#26323c"
FAINT = "#9aa5ad"
GRID = "#e6eaed"
WARNING = "#b3261e"
COUPLE = "#7c2e8a"
# [1, of the width of the page] Where titles begin.
TITLE_LEFT = 0.01

SUFFIXES = (".png", ".pdf", ".svg", ".jpg")


def colour(k: int) -> str:
    """Return the k-th colour of the palette, which repeats."""
    return PALETTE[k % len(PALETTE)]


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of width × height inches with its own Agg canvas."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Axes) -> None:
    """Give axes a thin grid, no box and small ticks."""
    axes.set_axisbelow(True)
    axes.grid(True, color=GRID, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(labelsize=9, colors=INK, length=3, color=FAINT)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(size=10, color=INK)


def save_figure(figure: Figure, path: str | Path | None, **options: Any) -> Figure:
    """Save the figure if a path is given; the suffix chooses the format."""
    if path is not None:
        path = checked_path(path, SUFFIXES, "a picture is saved as PNG, PDF, SVG or JPEG")
        with replacing(path, kept="the figure is still in memory") as partial:
            figure.savefig(partial, dpi=150, **options)
    return figure


# [1, of the distance of the axes] Radius of the larger pulley.
PULLEY = 0.3

# [1, radii of marks] Radii of two wheels on one axis.
COAXIAL = (1.6, 2.4)

# [1] A worm turns at least so much faster than its wheel.
WORM_FAST = 4.0

# [1, radii] Half length of a cylinder that a tendon wraps.
WRAPPED_LENGTH = 3.0

# [1, radii] Half length of a cylinder on which a body rolls.
ROLLED_LENGTH = 1.5

# [1, of the size of the mechanism] Half width of a curve on which a body rolls.
CURVE_WIDTH = 0.1

# [1, of the size of the mechanism] Radius of a mark.
MARK = 0.035

# [1, of the size of the mechanism] Half width of springs and dashpots.
WIDTH = 0.022
