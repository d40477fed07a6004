"""Figures of linkages: coupler curve with the mechanism, transmission angle, clearance from singular configurations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from sarrus.base.arrays import Array
from sarrus.pictures.plots.skeleton import build_skeleton
from sarrus.pictures.plots.stroboscope import caption, draw_ground, draw_pose, picture_axes
from sarrus.pictures.plots.style import DISTANCES_SHOWN, GOOD_ANGLE
from sarrus.pictures.symbols.picture_plane import choose_view
from sarrus.pictures.symbols.style import FAINT, INK, WARNING, colour, dress, new_figure, save_figure
from sarrus.pictures.symbols.text import literal, title

if TYPE_CHECKING:
    from sarrus.analysis.linkages.coupler_curve import CouplerCurve
    from sarrus.analysis.linkages.transmission import TransmissionAngle
    from sarrus.analysis.singularities.singular_path import SingularityProfile


def coupler_curve(
    found: CouplerCurve, path: str | Path | None = None, *, plane: str | None = None, pose: int = 0
) -> Figure:
    """Return a figure of a coupler curve, the mechanism in one configuration, dead centres, double points and cusps.

    Parameters
    ----------
    path : also saves the figure (.png, .pdf, .svg).
    plane : "xy", "xz", "yz" or "3d". Default: the plane of the motion, or "3d".
    pose : index of the configuration of ``found.curve.q`` that is drawn.
    """
    system = found.system
    mechanism = system.current_mechanism()
    skeleton = build_skeleton(mechanism)
    t = found.curve.t
    every = max(1, len(found.points) // 40)
    configurations = np.concatenate([found.curve.q[::every], found.curve.q[[pose]]])
    placed = skeleton.place(system, configurations, np.full(len(configurations), t))
    traced = found.points[::every, None]
    seen = np.concatenate([skeleton.own(placed)[: len(traced)], traced], axis=1)
    view = choose_view(seen, plane, mechanism.gravity)
    line = view.project(found.points)
    shown = view.project(placed[-1])
    figure, axes = picture_axes(np.concatenate([line, shown])[None], view)
    draw_pose(axes, skeleton, shown, alpha=0.45, strong=True)
    draw_ground(axes, skeleton, shown)
    own = system.jacobian(found.curve.q[pose], t=t, body=found.body).position
    axes.plot(*np.stack([view.project(own), line[pose]]).T, "--", color=INK, linewidth=0.9, zorder=3)
    axes.plot(*line.T, color=colour(0), linewidth=1.8, zorder=5)
    axes.plot(*line[pose], "o", color=colour(0), markersize=6, zorder=7)
    dead = [view.project(_point(found, point.q)) for point in found.curve.turning_points]
    marks = (
        (dead, "s", WARNING, "dead centre"),
        ([view.project(one.point) for one in found.double_points], "X", colour(2), "double point"),
        ([view.project(one.point) for one in found.cusps], "^", colour(1), "cusp"),
    )
    for places, sign, shade, label in marks:
        if places:
            axes.plot(*np.array(places).T, sign, color=shade, markersize=6, zorder=8, label=label)
    if any(len(places) for places, *_ in marks):
        axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="best")
    caption(axes, system.name, f"path of {found.body}, length {found.length:.4g} m, {found.curve.shape}")
    return save_figure(figure, path)


def transmission_angle(found: TransmissionAngle, path: str | Path | None = None) -> Figure:
    """Return a figure of the transmission angle [deg] over the driven coordinate; ``path`` also saves it."""
    figure = new_figure(7.0, 3.8)
    axes = figure.subplots()
    axes.axhspan(0.0, GOOD_ANGLE, color=WARNING, alpha=0.06, linewidth=0.0)
    axes.plot(found.parameter, np.degrees(found.angle), color=colour(0), linewidth=1.6)
    axes.plot(found.least_at, np.degrees(found.least), "o", color=WARNING, markersize=6)
    axes.annotate(
        f"{np.degrees(found.least):.1f} deg", (found.least_at, np.degrees(found.least)), (8, -12),
        textcoords="offset points", size=9, color=INK,
    )  # fmt: skip
    axes.set_ylim(0.0, 93.0)
    dress(axes)
    literal(axes.set_xlabel("", size=10, color=INK), f"{found.driven} [{_unit(found)}]")
    axes.set_ylabel("transmission angle [deg]")
    heading = f"{title(found.system.name)}: from {found.driven} to {found.output}"
    literal(axes.set_title("", loc="left", size=12, color=INK, weight="bold"), heading)
    return save_figure(figure, path)


def clearance(found: SingularityProfile, path: str | Path | None = None, *, name: str = "") -> Figure:
    """Return a figure of the distance of a path from singular configurations; ``path`` also saves it.

    It shows the signed smallest singular value and the first-order distance, in radians and characteristic lengths κ,
    over time or the number of the configuration. ``name`` is a heading.
    """
    figure = new_figure(7.0, 4.6)
    panels = figure.subplots(2, 1, sharex=True)
    x = np.arange(len(found.values)) if found.t is None else found.t
    panels[0].plot(x, found.values, color=colour(0), linewidth=1.5)
    panels[0].axhline(0.0, color=FAINT, linewidth=0.8)
    panels[1].plot(x, found.distance, color=colour(1), linewidth=1.5)
    for panel, label in zip(panels, ("smallest singular value", "distance [rad, κ]")):
        dress(panel)
        panel.set_ylabel(label)
        for k in found.crossings:
            panel.axvline(0.5 * (x[k] + x[k + 1]), color=WARNING, linestyle=":", linewidth=1.0)
    known = found.distance[np.isfinite(found.distance)]
    if len(known) and known.max() > 0.0:
        panels[1].set_ylim(
            0.0, 1.05 * min(known.max(), DISTANCES_SHOWN * max(float(np.median(known)), known.min()))
        )
    panels[1].set_xlabel("time [s]" if found.t is not None else "configuration")
    heading = title(name) if name else "Clearance to singular configurations"
    literal(panels[0].set_title("", loc="left", size=12, color=INK, weight="bold"), heading)
    figure.align_ylabels(panels)
    return save_figure(figure, path)


def _point(found: CouplerCurve, q: Array) -> Array:
    return found.system.jacobian(q, t=found.curve.t, body=found.body, point=found.point).position


def _unit(found: TransmissionAngle) -> str:
    from sarrus.dynamics.model.units import coordinate_units

    units = coordinate_units(found.system)
    return units[found.system.coordinate_names.index(found.driven)]
