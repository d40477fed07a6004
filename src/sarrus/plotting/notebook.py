"""Mechanisms and motions as a notebook shows them: what they are made of, with a picture."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from sarrus.base.notebook import heading, table
from sarrus.mechanism.mechanism import Mechanism
from sarrus.plotting.picture_plane import choose_view
from sarrus.plotting.skeleton import build_skeleton
from sarrus.plotting.stroboscope import caption, draw_ground, draw_pose, picture_axes

if TYPE_CHECKING:
    from sarrus.simulation.trajectory import Trajectory

_RESOLUTION = 70  # dots per inch


def mechanism_html(mechanism: Mechanism) -> str:
    """Return what a mechanism is made of, and a drawing of it in the reference pose."""
    joints = [
        (joint.name, joint.kind, body.parent, body.name)
        for body in mechanism.bodies.values()
        for joint in body.joints
    ]
    closures = [(c.name, c.kind, c.body1, c.body2) for c in mechanism.closures.values()]
    rolling = [(r.name, r.kind, r.ground, r.body) for r in mechanism.rollings.values()]
    contacts = [(c.name, f"contact, {c.friction}", c.ground, c.body) for c in mechanism.contacts.values()]
    couplings = [
        (c.name, "coupling", "", ", ".join(t.coordinate for t in c.terms))
        for c in mechanism.couplings.values()
    ]
    gearings = [
        (g.name, g.kind, "", ", ".join(c for c, _ in g.approach)) for g in mechanism.gearings.values()
    ]
    head = ("name", "kind", "from", "to")
    parts = [heading(repr(mechanism)), picture(_reference_drawing(mechanism))]
    return "".join([*parts, table(head, [*joints, *closures, *couplings, *gearings, *rolling, *contacts])])


def trajectory_html(trajectory: Trajectory) -> str:
    """Return what a motion is, and a plot of it over time."""
    parts = [heading(repr(trajectory))]
    if len(trajectory.t) > 1:
        parts.append(picture(trajectory.plot()))
    return "".join(parts)


def picture(figure: Figure) -> str:
    """Return a figure as an image of PNG that stands in the text itself."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=_RESOLUTION)
    return f'<img alt="" src="data:image/png;base64,{b64encode(buffer.getvalue()).decode("ascii")}">'


def _reference_drawing(mechanism: Mechanism) -> Figure:
    """Draw the skeleton with all coordinates at their reference; nothing is compiled for it."""
    skeleton = build_skeleton(mechanism)
    poses = [
        *(mechanism.reference_pose(name) for name in mechanism.bodies),
        mechanism.reference_pose("world"),
    ]
    placed = np.array([poses[body].apply(point) for body, point in zip(skeleton.bodies, skeleton.points)])
    placed = placed.reshape(-1, 3)
    extent = np.ptp(placed, axis=0) if len(placed) else np.zeros(3)
    flat = [axis for axis in (1, 2, 0) if extent[axis] <= 1e-9 * extent.max()]
    plane = {1: "xz", 2: "xy", 0: "yz"}[flat[0]] if flat else "3d"
    view = choose_view(placed[None], plane, mechanism.gravity)
    points = view.project(placed)
    figure, axes = picture_axes(points[None], view)
    draw_pose(axes, skeleton, points, alpha=1.0, strong=True)
    draw_ground(axes, skeleton, points)
    caption(axes, mechanism.name, "reference pose")
    return figure
