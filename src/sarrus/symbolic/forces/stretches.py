"""Lengths of the parts of a tendon between two points, straight or around a wrap."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from sarrus.model.mechanism.tendons import Segment, Wrap
from sarrus.symbolic.forces.wrapping import inner_radius, wrapped_length
from sarrus.symbolic.kinematics.frames import JetFrames
from sarrus.symbolic.kinematics.jet import Jet, constant, norm, through


def stretch(segment: Segment, frames: JetFrames) -> Jet:
    """Return the jet of the length of a part of a tendon [m]."""
    one, two, wrap = segment.start, segment.end, segment.wrap
    if wrap is None and one.body == two.body:
        return constant(ca.SX(float(np.linalg.norm(two.point - one.point))))
    if wrap is None:
        return norm(frames.point(two.body, two.point) - frames.point(one.body, one.point))
    vectors, length = wrapped(segment, wrap, frames)
    return through(lambda *places: length(*places)[0], *vectors)


def wrapped(
    segment: Segment, wrap: Wrap, frames: JetFrames
) -> tuple[list[Jet], Callable[..., tuple[ca.SX, ca.SX]]]:
    """Return the jets of vectors and the function that returns the length [m] and the turn [rad] from their values.

    The vectors lead from the centre to the start and to the end of the part; then come the axis of a cylinder and the
    vector to the side point.
    """
    centre = frames.point(wrap.body, wrap.pose.position)
    vectors = [frames.point(end.body, end.point) - centre for end in (segment.start, segment.end)]
    if wrap.kind == "cylinder":
        vectors.append(frames.direction(wrap.body, wrap.pose.rotation[:, 2]))
    inside: bool | None = False
    if wrap.side is not None:
        body, point = wrap.side
        vectors.append(frames.point(body, point) - centre)
        distance = float(np.linalg.norm(point - wrap.pose.position))
        inside = distance < inner_radius(wrap.radius) if body == wrap.body else None

    def length(start: ca.SX, end: ca.SX, *more: ca.SX) -> tuple[ca.SX, ca.SX]:
        axis = more[0] if wrap.kind == "cylinder" else None
        side = None if wrap.side is None else more[-1]
        return wrapped_length(start, end, axis, wrap.radius, side, inside)

    return vectors, length
