"""Contact points of rolling elements and their slip, and the reasons why their rows are undefined."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import SolveError
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.tolerances import MOMENTS_AFTER
from sarrus.model.mechanism.rolling import Rolling
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.rows.rolling import rolling_frame


@dataclass(frozen=True, eq=False)
class RollingContact:
    """Contact point of a wheel, ball, blade or cone with its plane or surface; all in world axes.

    Attributes
    ----------
    point : (3,) the lowest point [m], for a cone of its base.
    normal, longitudinal, lateral : (3,) the normal of the plane or surface at the point, and the directions of the rows
        tangential to it; for a ball its tangents.
    slip : (3,) velocity of the body minus velocity of the ground at the point [m/s]; zero along the active rows.
    height : of the point above the plane [m], zero in contact.
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
    """Return the contact of each rolling element by name, at q (nq,) and v (nv,), by default zero; empty without any.

    Raises `SolveError`, which names the element, if its contact point is undefined: a circle lies flat, a blade is
    normal to its plane, the surface is as curved as the body, or the body touches at a second place.
    """
    rollings = {} if system.mechanism is None else system.mechanism.rollings
    found = {}
    for name, x in _numbers(system, q, v, t).items():
        if not np.isfinite(x).all():
            raise SolveError(
                f"{system.name}: {_reason(rollings[name], x)} at q = {np.asarray(q)}", element=name
            )
        point, normal, longitudinal, lateral, slip = (read_only(part.copy()) for part in x[:15].reshape(5, 3))
        found[name] = RollingContact(name, point, normal, longitudinal, lateral, slip, float(x[15]))
    return found


def why_not_finite(system: Evaluations, row: int, q: Array, t: float = 0.0) -> str:
    """Return the reason why a row of A is not finite at q, as the end of a message; empty if unknown."""
    rollings = {} if system.mechanism is None else system.mechanism.rollings
    name = next((r.name for r in rollings.values() if system.constraint_names[row] in r.row_names), None)
    return "" if name is None else f": {_reason(rollings[name], _numbers(system, q, None, t)[name])}"


def why_it_ends(system: Evaluations, q: Array, v: Array, t: float) -> str:
    """Return the reason why rows of a rolling element are undefined at q or a moment later; empty if all exist."""
    rollings = {} if system.mechanism is None else system.mechanism.rollings
    if not rollings or not np.isfinite([*q, *v]).all():
        return ""
    for moment in (0.0, *MOMENTS_AFTER):
        for name, x in _numbers(system, system.move(q, moment * v), v, t + moment).items():
            if not np.isfinite(x).all():
                return _reason(rollings[name], x)
    return ""


def _numbers(system: Evaluations, q: ArrayLike, v: ArrayLike | None, t: float) -> dict[str, Array]:
    """Return the numbers of `_places` for each element."""
    rollings = {} if system.mechanism is None else system.mechanism.rollings
    if not rollings:
        return {}
    native = system.compiled.named("rolling", lambda: {"x": _places(system)})
    return dict(zip(rollings, native(system.pack(q, v, t=t)).reshape(len(rollings), -1)))


def _reason(rolling: Rolling, numbers: Array) -> str:
    """Return the reason why the rows of a rolling element are not finite."""
    name = rolling.name
    found, fits, single = numbers[16:19] > 0.5
    if not found:
        return (
            f"the contact point of rolling {name!r} was not found: it lies nearly flat on its surface, is hardly more "
            "curved than it, or is too far from it or from the start values near= of the surface"
        )
    if not fits:
        return (
            f"rolling {name!r} is less curved than its surface at the contact point, so that it would touch at a "
            "second place: give a smaller radius"
        )
    if not single:
        return f"rolling {name!r} touches its surface at a second place, and this element has rows for one"
    if rolling.kind == "ball":
        return (
            f"rolling {name!r} touches where the normal of its surface is opposite to normal=, so that t1 "
            "and t2 have no direction: give a normal= that points elsewhere"
        )
    return f"the axis of rolling {name!r} is along the normal of its plane, so that it has no lowest point"


def _places(system: Evaluations) -> ca.SX:
    """Return 19 numbers for each element: the attributes of `RollingContact` in order, then reasons to be undefined."""
    e = system.equations
    assert e.tree is not None
    frames = Frames(e.tree, links(e.tree, e.q, e.v))
    columns = []
    for element in system.model.symbolic_mechanism().rollings.values():
        frame = rolling_frame(element, frames)
        height = frame.height("n_rim" if element.kind == "cone" else "n")
        point = frame.centre.value + frame.arm.value
        own = point, *frame.directions, frame.slip(frame.arm).value, height.value
        columns.append(ca.vertcat(*own, *frame.conditions))
    return ca.vertcat(*columns)
