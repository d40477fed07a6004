"""Gaps and relative velocities of contacts with Coulomb friction, and of gearing flanks, which come after them.

A ball touches at its closest point, so its tangential velocity is the velocity of the body there: it rolls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from sarrus.kernels.contact.tolerances import OUT_OF_REACH
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.contact_features import BoxFeature, HullFeature
from sarrus.model.mechanism.elements import Contact, Geom, TurningFriction
from sarrus.model.mechanism.gearing import Gearing
from sarrus.model.mechanism.hulls import hull_of
from sarrus.model.mechanism.surface_contacts import SurfaceContact
from sarrus.symbolic.equations.equations import ContactEquations, Equations
from sarrus.symbolic.kinematics.frames import Frames, JetFrames
from sarrus.symbolic.kinematics.jet import Jet, dot
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.rows.box_pairs import BoxPair
from sarrus.symbolic.rows.hull_pairs import HullPair
from sarrus.symbolic.rows.surface_pairs import nearest, tangents

ContactElement = Contact | SurfaceContact


class ContactKinematics(NamedTuple):
    """The gap [m] of a contact while it is held, the velocities of its rows, its point and axes.

    ``place``, ``rolls``, ``border`` and ``hurry`` as in `ContactEquations`; ``open_gap`` [m] is the gap while it is
    open, None if it is the same.
    """

    gap: ca.SX
    rates: ca.SX
    point: ca.SX
    axes: Sequence[ca.SX]
    place: ca.SX | None
    rolls: bool
    border: ca.SX | None = None
    open_gap: ca.SX | None = None
    hurry: ca.SX | None = None


class PlacedPair(NamedTuple):
    """Two boxes or hulls and the frames in which they are seen: centre of the geom [m], vector d to it, axes of the
    base.
    """

    frames: JetFrames
    centre: ca.SX
    d: Jet
    axes: ca.SX
    features: Any  # a `BoxPair` or a `HullPair`


def elements_of_contacts(mechanism: Mechanism) -> Iterator[ContactElement]:
    """Iterate over the contacts with Coulomb friction that have a point, in the order of their rows."""
    yield from (contact for contact in mechanism.contacts.values() if contact.slides)
    yield from mechanism.surface_contacts


def friction_contacts(
    mechanism: Mechanism,
    frames: JetFrames,
    coordinates: dict[str, Jet],
    q: ca.SX,
    v: ca.SX,
    t: ca.SX,
    rate: ca.SX,
) -> tuple[ContactEquations, ...]:
    """Return the contacts with Coulomb friction, over the symbols q, v, t.

    ``rate`` is N v, ``coordinates`` are the scalar ones by name.
    """
    found: list[ContactEquations] = []
    pairs: dict[str, PlacedPair] = {}
    for element in elements_of_contacts(mechanism):
        law = element if isinstance(element, Contact) else element.pair
        motion = contact_motion(element, mechanism, frames, pairs)
        bias = ca.jtimes(motion.rates, ca.vertcat(q, t), ca.vertcat(rate, 1))
        assert law.friction_coefficient is not None
        found.append(
            ContactEquations(
                element.name,
                element.row_names,
                motion.gap if motion.open_gap is None else motion.open_gap,
                motion.rates,
                bias,
                law.friction_coefficient,
                law.static_coefficient or law.friction_coefficient,
                law.restitution,
                law.impact_law,
                place=motion.place,
                rolls=motion.rolls,
                held_gap=motion.gap,
                border=motion.border,
                hurry=motion.hurry,
            )
        )
    return (*found, *(flank for one in mechanism.gearings.values() for flank in _flanks(one, coordinates)))


def _flanks(gearing: Gearing, coordinates: dict[str, Jet]) -> Iterator[ContactEquations]:
    """Yield the two contacts of a gearing, which have no point."""
    references = dict(gearing.references)
    way = sum((w * (coordinates[c].value - references.get(c, 0.0)) for c, w in gearing.approach), ca.SX(0))
    closing = sum((w * coordinates[c].rate for c, w in gearing.approach), ca.SX(0))
    slip = sum((w * coordinates[c].rate for c, w in gearing.sliding), ca.SX(0))
    place = sum((w * coordinates[c].value for c, w in gearing.sliding), ca.SX(0))
    flanks = gearing.flanks
    for flank, other in zip(flanks, flanks[::-1]):
        rates = ca.vertcat(*(flank.sign * closing, slip)[: len(flank.row_names)])
        yield ContactEquations(
            flank.name,
            flank.row_names,
            flank.sign * way + 0.5 * gearing.play,
            rates,
            ca.SX.zeros(len(flank.row_names)),
            gearing.friction_coefficient,
            gearing.static_coefficient or gearing.friction_coefficient,
            gearing.restitution,
            opposite_flank=other.name,
            place=place,
        )


def contact_motion(
    element: ContactElement,
    mechanism: Mechanism,
    frames: JetFrames,
    pairs: dict[str, PlacedPair] | None = None,
) -> ContactKinematics:
    """Return the gap and the velocities of the rows, in axes of the carrier of both bodies; ``pairs`` as in
    `motion_in`.
    """
    known = pairs is not None and isinstance(element, SurfaceContact) and element.pair.name in pairs
    seen = frames if known else frames.seen_from(mechanism.carrier(element.body, element.ground))
    return motion_in(element, mechanism, seen, pairs)


def motion_in(
    element: ContactElement,
    mechanism: Mechanism,
    frames: JetFrames,
    pairs: dict[str, PlacedPair] | None = None,
) -> ContactKinematics:
    """Return the gap and the velocities of the rows: along n, t1, t2, and of the rotation about n, t1, t2.

    ``pairs`` collects pairs of boxes and hulls, which have many places, by name.
    """
    if isinstance(element, Contact):
        return _on_plane(element, frames)
    if isinstance(element.feature, BoxFeature | HullFeature):
        return _on_features(element, frames, {} if pairs is None else pairs)
    return _on_surface(element, mechanism, frames)


def surface_frames(mechanism: Mechanism, equations: Equations, places: Sequence[SurfaceContact]) -> ca.SX:
    """Return 13 numbers for each of the contact places of geometries: gap, point, n, t1, t2, in world axes.

    Gap and point are in m.
    """
    assert equations.tree is not None
    frames = Frames(equations.tree, links(equations.tree, equations.q, ca.SX.zeros(equations.nv)))
    pairs: dict[str, PlacedPair] = {}
    found = [motion_in(place, mechanism, frames, pairs) for place in places]
    return ca.vertcat(*(part for one in found for part in (one.gap, one.point, *one.axes)))


def _on_plane(contact: Contact, frames: JetFrames) -> ContactKinematics:
    """Return the contact motion of a point, or of a ball about it, with a plane."""
    centre = frames.point(contact.body, contact.point)
    d = centre - frames.point(contact.ground, contact.origin)
    axes = tuple(
        frames.direction(contact.ground, way) for way in (contact.normal, contact.tangent1, contact.tangent2)
    )
    height = dot(d, axes[0])
    arm = -contact.radius * axes[0].value
    ways = [axis.value for axis in axes]
    rates = _rates(frames, contact, d, arm, ways, contact)
    rates[0] = height.rate  # the same velocity, in fewer operations
    rolls = contact.radius > 0.0 or bool(contact.turns)
    return ContactKinematics(
        height.value - contact.radius, rates, centre.value + arm, ways, _place(d, ways), rolls
    )


def _on_surface(place: SurfaceContact, mechanism: Mechanism, frames: JetFrames) -> ContactKinematics:
    """Return the contact motion of two geoms at one of their places."""
    geom, base, pair = place.geom, place.base, place.pair
    centre = frames.point(geom.body, geom.pose.position if place.centre is None else place.centre)
    d = centre - frames.point(base.body, base.pose.position)
    axes = _axes(base, frames)
    found = nearest(place, axes.T @ d.value, axes.T @ _axes(geom, frames))
    if base.kind == "plane":
        ways = ca.horzsplit(axes[:, [2, 0, 1]])
    else:
        across = tangents(found.normal, _usual_normal(place, mechanism))
        ways = [axes @ way for way in (found.normal, *across)]
    arm = axes @ (found.arm - pair.margin * found.normal)
    rates = _rates(frames, place, d, arm, ways, pair)
    plane = base.kind == "plane"
    rolls = not plane or place.centre is None or place.radius + pair.margin > 0.0 or pair.width > len(ways)
    return ContactKinematics(
        found.gap - pair.margin,
        rates[: pair.width],
        centre.value + arm,
        ways,
        _place(d, ways) if plane else None,
        rolls and pair.width > 1,
        found.border,
        _open_gap(found.gap - pair.margin, found.hidden),
    )


def _on_features(place: SurfaceContact, frames: JetFrames, pairs: dict[str, PlacedPair]) -> ContactKinematics:
    """Return the contact motion of two boxes or hulls at one of their places."""
    geom, base, pair, feature = place.geom, place.base, place.pair, place.feature
    first = pair.name not in pairs
    if first:
        centre = frames.point(geom.body, geom.pose.position)
        d, axes = centre - frames.point(base.body, base.pose.position), _axes(base, frames)
        seen = axes.T @ d.value, axes.T @ _axes(geom, frames)
        features = (
            BoxPair(geom.size, base.size, *seen)
            if isinstance(feature, BoxFeature)
            else HullPair(hull_of(geom), hull_of(base), *seen)
        )
        pairs[pair.name] = PlacedPair(frames, centre.value, d, axes, features)
    frames, centre_of_geom, d, axes, features = pairs[pair.name]
    found = features.contact(feature)
    ways, arm = [axes @ way for way in found.axes], axes @ (found.arm - pair.margin * found.axes[0])
    rates = _rates(frames, place, d, arm, ways, pair)
    gap = found.gap - pair.margin
    hurry = None
    if first:
        slip, spin = _relative_motion(frames, place, d)
        hurry = (_size(slip) + features.reach * _size(spin)) / features.clear_way
    return ContactKinematics(
        gap,
        rates[: pair.width],
        centre_of_geom + arm,
        ways,
        None,
        pair.width > 1,
        found.border,
        _open_gap(gap, found.hidden),
        hurry,
    )


def _size(x: ca.SX) -> ca.SX:
    return ca.sqrt(ca.sumsqr(x))


def _open_gap(gap: ca.SX, hidden: ca.SX | None) -> ca.SX | None:
    """Return the gap of an open contact, out of reach where it is hidden; None if it never is."""
    return None if hidden is None else ca.if_else(hidden, OUT_OF_REACH, gap)


def _place(d: Jet, ways: Sequence[ca.SX]) -> ca.SX:
    """Return the coordinates of a point, or of the centre of a ball, along the tangents of a plane."""
    return ca.vertcat(*(ca.dot(d.value, way) for way in ways[1:]))


def _rates(
    frames: JetFrames,
    element: ContactElement,
    d: Jet,
    arm: ca.SX,
    ways: Sequence[ca.SX],
    law: TurningFriction,
) -> ca.SX:
    """Return the velocities of the rows along n, t1, t2, and of the rotations with friction, times lengths [m/s].

    d is the vector between the reference points of the two bodies; the contact point is at ``arm`` from the end of d.
    """
    motion, spin = _relative_motion(frames, element, d)
    slip = motion + cross(spin, arm)
    rows = [ca.dot(slip, way) for way in ways]
    return ca.vertcat(*rows, *(length * ca.dot(spin, ways[axis]) for axis, length in law.turns))


def _relative_motion(frames: JetFrames, element: ContactElement, d: Jet) -> tuple[ca.SX, ca.SX]:
    """Return velocity [m/s] and angular velocity [rad/s] of the body at the end of d relative to the ground."""
    turning = frames.turning(element.ground).rate
    return d.rate - cross(turning, d.value), frames.turning(element.body).rate - turning


def _axes(geom: Geom, frames: JetFrames) -> ca.SX:
    """Return the axes of a geom as columns."""
    return ca.horzcat(*(frames.direction(geom.body, axis).value for axis in geom.pose.rotation.T))


def _usual_normal(place: SurfaceContact, mechanism: Mechanism) -> np.ndarray:
    """Return the direction from the base to the geom in the reference pose, in axes of the base."""
    base = mechanism.reference_pose(place.ground) @ place.base.pose
    centre = place.geom.pose.position if place.centre is None else place.centre
    way = base.rotation.T @ (mechanism.reference_pose(place.body).apply(centre) - base.position)
    length = float(np.linalg.norm(way))
    return way / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
