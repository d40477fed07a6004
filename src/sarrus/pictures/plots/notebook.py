"""HTML of mechanisms and motions for notebooks: a list of elements or a summary, with a picture."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from sarrus.base.notebook import heading, table
from sarrus.model.builders.mechanism import Mechanism
from sarrus.pictures.plots.mechanism_drawing import mechanism as drawing

if TYPE_CHECKING:
    from sarrus.motion.records.trajectory import Trajectory

_RESOLUTION = 70  # dots per inch


def mechanism_html(mechanism: Mechanism) -> str:
    """Return HTML with the elements of a mechanism, and a drawing of it in the reference pose."""
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
    shown = [picture(drawing(mechanism))] if mechanism.bodies else []
    kinds = [*joints, *closures, *couplings, *gearings, *rolling, *contacts]
    return "".join([heading(repr(mechanism)), *shown, table(head, kinds)])


def trajectory_html(trajectory: Trajectory) -> str:
    """Return HTML with the summary of a motion, and a plot of it over time."""
    parts = [heading(repr(trajectory))]
    if len(trajectory.t) > 1:
        parts.append(picture(trajectory.plot()))
    return "".join(parts)


def picture(figure: Figure) -> str:
    """Return a figure as an inline PNG image."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=_RESOLUTION)
    return f'<img alt="" src="data:image/png;base64,{b64encode(buffer.getvalue()).decode("ascii")}">'
