"""Drawing of a mechanism in one pose: bodies, joints, and the symbols of all elements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.pictures.plots.contact_drawing import draw_contacts, marks_at
from sarrus.pictures.plots.skeleton import build_skeleton, drawn_mechanism, placements
from sarrus.pictures.plots.stroboscope import caption, draw_ground, draw_pose, picture_axes
from sarrus.pictures.plots.tolerances import FLAT_MECHANISM
from sarrus.pictures.symbols.picture_plane import choose_view
from sarrus.pictures.symbols.style import save_figure

if TYPE_CHECKING:
    from sarrus.dynamics.system import System


def mechanism(
    what: Mechanism | System,
    path: str | Path | None = None,
    *,
    q: ArrayLike | None = None,
    t: float = 0.0,
    plane: str | None = None,
) -> Figure:
    """Return a drawing of a mechanism in one pose with the symbols of all elements: gears, springs, motors, tendons, …

    Parameters
    ----------
    what : a `Mechanism`, drawn in its reference pose without being compiled, or a `System`.
    path : also saves the figure (.png, .pdf, .svg).
    q, t : (nq,) the configuration of a system and the time [s]; default: its reference pose. Open loops are drawn open.
    plane : "xy", "xz", "yz" or "3d". Default: the plane in which all points lie, or "3d".
    """
    if isinstance(what, Mechanism):
        drawn, said = what, "reference pose"
        poses = [drawn.reference_pose(name) for name in (*drawn.bodies, WORLD)]
        positions = np.array([pose.position for pose in poses])[None]
        rotations = np.array([pose.rotation for pose in poses])[None]
    else:
        drawn, said = drawn_mechanism(what), "reference pose" if q is None else f"t = {t:.3g} s"
        at = what.normalized(what.neutral() if q is None else np.asarray(q, dtype=float))
        positions, rotations = placements(what, at[None], np.array([t]))
    if not drawn.bodies:
        raise ArgumentError(f"{drawn.name}: no bodies to draw; add_body adds one", element="bodies")
    skeleton = build_skeleton(drawn)
    placed = skeleton.at(positions, rotations)
    if plane is None:
        extent = np.ptp(skeleton.own(placed)[0], axis=0)
        flat = [axis for axis in (1, 2, 0) if extent[axis] <= FLAT_MECHANISM * extent.max()]
        plane = {1: "xz", 2: "xy", 0: "yz"}[flat[0]] if flat else "3d"
    view = choose_view(placed, plane, drawn.gravity)
    marks = marks_at(drawn, skeleton, positions, rotations, view)
    points = view.project(placed)
    figure, axes = picture_axes(marks.with_planes(points), view)
    draw_pose(axes, skeleton, points[0], alpha=1.0, strong=True)
    draw_ground(axes, skeleton, points[0])
    draw_contacts(axes, marks, 0)
    caption(axes, drawn.name, said)
    return save_figure(figure, path)
