"""Where what rolls touches its plane and how fast it slips there, by name, and why rows have no answer."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SolveError
from sarrus.dynamics.described import Described
from sarrus.dynamics.evaluations import Evaluations
from sarrus.multibody.frames import Frames
from sarrus.multibody.link import links
from sarrus.multibody.rolling import RollingFrame


@dataclass(frozen=True, eq=False)
class RollingContact:
    """Where a wheel, a ball, a blade or a cone touches its plane; all in world axes.

    Attributes
    ----------
    point : (3,) the lowest point [m], of a cone that of its base.
    normal, longitudinal, lateral : (3,) the normal of the plane, and along the plane the directions of the rows; of a
        ball those are its tangents.
    slip : (3,) velocity of the material of the body less that of the ground there [m/s]; zero along the rows that hold.
    height : of the point above the plane [m], zero where it touches.
    """

    name: str
    point: Array
    normal: Array
    longitudinal: Array
    lateral: Array
    slip: Array
    height: float


def rolling(
    system: Evaluations, q: ArrayLike, v: ArrayLike | None = None, t: float = 0.0
) -> dict[str, RollingContact]:
    """Return what rolls by name, at q (nq,) and v (nv,), by default at rest; empty where nothing does.

    `SolveError` where a circle lies flat, or a blade stands across its plane: it names the element, which touches
    nowhere in particular there.
    """
    rollings = {} if system.mechanism is None else system.mechanism.rollings
    if not rollings:
        return {}
    native = system.compiled.named("rolling", lambda: {"x": _places(system)})
    found = {}
    for name, x in zip(rollings, native(system.pack(q, v, t=t)).reshape(len(rollings), -1)):
        if not np.isfinite(x).all():
            raise SolveError(f"{system.name}: {no_lowest_point(name)} at q = {np.asarray(q)}", element=name)
        point, normal, longitudinal, lateral, slip = (read_only(part.copy()) for part in x[:15].reshape(5, 3))
        found[name] = RollingContact(name, point, normal, longitudinal, lateral, slip, float(x[15]))
    return found


def no_lowest_point(name: str) -> str:
    """Say why the rows of an element that rolls are no numbers."""
    return f"the axis of rolling {name!r} is along the normal of its plane, so that it has no lowest point"


def why_not_finite(system: Described, row: int) -> str:
    """Return why a row of A is no number, to go on in an error, where that is known."""
    rollings = {} if system.mechanism is None else system.mechanism.rollings
    name = next((r.name for r in rollings.values() if system.constraint_names[row] in r.row_names), None)
    return "" if name is None else f": {no_lowest_point(name)}"


def _places(system: Evaluations) -> ca.SX:
    """Return 16 numbers for each element: those of `RollingContact` in their order."""
    e = system.equations
    assert e.tree is not None
    frames = Frames(e.tree, links(e.tree, e.q, e.v))
    columns = []
    for element in system.model.symbolic_mechanism().rollings.values():
        frame = RollingFrame(element, frames)
        height = frame.height("n_rim" if element.kind == "cone" else "n")
        point = frame.centre.value + frame.arm.value
        columns.append(ca.vertcat(point, *frame.directions, frame.slip(frame.arm).value, height.value))
    return ca.vertcat(*columns)
