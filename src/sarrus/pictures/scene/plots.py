"""Histories of runs as small SVG pictures, and the cursor that moves over them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.motion.records.trajectory import Trajectory
from sarrus.pictures.scene.markup import Html, element
from sarrus.pictures.scene.style import NARROWEST_AXIS, SHORTEST_TIME_AXIS, SMALLEST_SHOWN
from sarrus.pictures.scene.tolerances import FLAT_CURVE
from sarrus.pictures.symbols.style import FAINT, GRID, INK, WARNING, colour

WIDTH, HEIGHT = 420, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 20, 18
_POINTS, _LINES = 400, 7  # of a line, and of a panel


@dataclass(frozen=True)
class Quantity:
    """A field of a trajectory, its label and the labels of its entries, and whether its axis is logarithmic."""

    field: str
    title: str
    entries: str = ""
    logarithmic: bool = False


QUANTITIES = (
    Quantity("energy_change", "energy change [J]"),
    Quantity("residual", "closure residual [m, rad]", logarithmic=True),
    Quantity("condition", "condition number", logarithmic=True),
    Quantity("q", "coordinates [rad, m]", "coordinate"),
    Quantity("v", "velocities [rad/s, m/s]", "velocity"),
    Quantity("a", "accelerations [rad/s², m/s²]", "velocity"),
    Quantity("u", "controls", "actuator"),
    Quantity("multipliers", "multipliers [N, N m]", "constraint"),
    Quantity("rank", "rank of A"),
)


def svg(quantity: Quantity, runs: list[Trajectory], labels: list[str], span: tuple[float, float]) -> Html:
    """Return the picture of a quantity over time; one run shows all its entries, several the first of each."""
    curves = _curves(quantity, runs, labels)
    shown = [values[np.isfinite(values)] for _, _, values in curves]
    every = np.concatenate([*shown, np.zeros(0)])
    if not every.size:
        every = np.array([1.0])
    low, high = float(every.min()), float(every.max())
    if quantity.logarithmic:
        low, high = np.floor(np.log10(low)), np.ceil(np.log10(high))
    if high - low < FLAT_CURVE * max(abs(low), abs(high), LEAST_DIVISOR) or high == low:
        low, high = low - 0.5 * max(abs(low), NARROWEST_AXIS), high + 0.5 * max(abs(high), NARROWEST_AXIS)
    lines = []
    for k, (_, t, values) in enumerate(curves):
        y = np.log10(values) if quantity.logarithmic else values
        points = np.stack([x_of(t, span), _y_of(y, low, high)], axis=1)[np.isfinite(y)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(element("polyline", points=path, fill="none", stroke=colour(k), stroke_width=1.4))
    marks = [
        _upright(p.time, span, WARNING, stroke_width=1, stroke_dasharray="2 3")
        for run in runs
        for p in run.passages
    ]
    names = [name for name, _, _ in curves] if len(curves) > 1 else []
    legend = [element("tspan", name, fill=colour(k), dx=6) for k, name in enumerate(names)]
    heading = element("text", quantity.title, *legend, x=_LEFT, y=12, font_weight=600)
    axes = _axes(low, high, quantity.logarithmic, span)
    return _picture(quantity.field, *axes, *marks, *lines, heading, font_size=9, fill=INK)


def cursor(time: float, span: tuple[float, float]) -> Html:
    """Return the line at a time, to be laid over a picture."""
    return _picture("cursor", _upright(time, span, INK, stroke_width=1.2))


def _picture(name: str, *content: Html, **attributes: str | float) -> Html:
    """Return an SVG picture."""
    box = f"0 0 {WIDTH} {HEIGHT}"
    return element(
        "svg", *content, viewBox=box, style="width:100%;display:block", data_sarrus=name, **attributes
    )


def _upright(time: float, span: tuple[float, float], stroke: str, **attributes: str | float) -> Html:
    """Return the line at a time."""
    x = f"{float(x_of(np.array(time), span)):.1f}"
    return element("line", x1=x, x2=x, y1=_TOP, y2=HEIGHT - _BOTTOM, stroke=stroke, **attributes)


def x_of(t: Array, span: tuple[float, float]) -> Array:
    """Return the horizontal positions of times in a plot [pixels]."""
    return _LEFT + (np.asarray(t) - span[0]) / max(span[1] - span[0], SHORTEST_TIME_AXIS) * (
        WIDTH - _LEFT - _RIGHT
    )


def _y_of(values: Array, low: float, high: float) -> Array:
    return HEIGHT - _BOTTOM - (values - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM)


def _curves(quantity: Quantity, runs: list[Trajectory], labels: list[str]) -> list[tuple[str, Array, Array]]:
    """Return name, times and values of each line."""
    found = []
    for run, label in zip(runs, labels):
        values = (
            run.energy - run.energy[:1] if quantity.field == "energy_change" else getattr(run, quantity.field)
        )
        table = np.asarray(values, dtype=float).reshape(len(run.t), -1)
        names = run.names(quantity.entries) if quantity.entries else ("",)
        single = table.shape[1] == 1
        for k in range(min(table.shape[1], _LINES if len(runs) == 1 else 1)):
            name = label if len(runs) > 1 else "" if single else names[k]
            if len(runs) > 1 and not single:
                name = f"{label}: {names[k]}"
            t, column = _thinned(run.t, table[:, k])
            found.append((name, t, np.maximum(column, SMALLEST_SHOWN) if quantity.logarithmic else column))
    return found


def _thinned(t: Array, values: Array) -> tuple[Array, Array]:
    """Return lowest and highest value of each interval if there are more samples than pixels."""
    if len(t) <= _POINTS:
        return t, values
    edges = np.linspace(0, len(t), _POINTS // 2 + 1).astype(int)
    keep = sorted(
        {
            int(start + extreme(np.nan_to_num(values[start:end], posinf=np.inf)))
            for start, end in pairwise(edges)
            for extreme in (np.argmin, np.argmax)
        }
        | {0, len(t) - 1}
    )
    return t[keep], values[keep]


def _axes(low: float, high: float, logarithmic: bool, span: tuple[float, float]) -> list[Html]:
    found = []
    ticks = np.linspace(low, high, 4)
    if logarithmic:
        ticks = np.unique(np.round(np.linspace(low, high, 5)))
    for value in ticks:
        y = float(_y_of(np.array(value), low, high))
        label = f"1e{value:.0f}" if logarithmic else f"{value:.3g}"
        height = f"{y:.1f}"
        found.append(element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=height, y2=height, stroke=GRID))
        found.append(element("text", label, x=_LEFT - 4, y=f"{y + 3:.1f}", text_anchor="end"))
    for value in np.linspace(*span, 6):
        x = f"{float(x_of(np.array(value), span)):.1f}"
        found.append(element("text", f"{value:.3g} s", x=x, y=HEIGHT - 6, text_anchor="middle", fill=FAINT))
    return found
