"""Contacts with Coulomb friction: gaps, and the velocities with which bodies touch.

A ball touches where it is nearest to the plane, so its tangential velocity is that of the body there: it can roll.
"""

from __future__ import annotations

import casadi as ca

from sarrus.equations.equations import Touch
from sarrus.mechanism.elements import Contact
from sarrus.mechanism.mechanism import Mechanism
from sarrus.multibody.frames import JetFrames
from sarrus.multibody.jet import dot
from sarrus.multibody.kinematics import cross


def touches(
    mechanism: Mechanism, frames: JetFrames, q: ca.SX, v: ca.SX, t: ca.SX, rate: ca.SX
) -> tuple[Touch, ...]:
    """Return the contacts with Coulomb friction, over the symbols q, v, t; ``rate`` is N v."""
    found = []
    for contact in mechanism.contacts.values():
        if not contact.slides:
            continue
        gap, rates = contact_motion(contact, mechanism, frames)
        bias = ca.jtimes(rates, ca.vertcat(q, t), ca.vertcat(rate, 1))
        assert contact.friction_coefficient is not None
        found.append(
            Touch(
                contact.name,
                contact.row_names,
                gap,
                rates,
                bias,
                contact.friction_coefficient,
                contact.static_coefficient or contact.friction_coefficient,
                contact.restitution,
                contact.impact_law,
            )
        )
    return tuple(found)


def contact_motion(contact: Contact, mechanism: Mechanism, frames: JetFrames) -> tuple[ca.SX, ca.SX]:
    """Return the gap and the velocities of the rows: those of d along n, t1, t2 and of the turn about n."""
    carrier = mechanism.carrier(contact.body, contact.ground)
    frames = frames if carrier is None else frames.seen_from(carrier)
    d = frames.point(contact.body, contact.point) - frames.point(contact.ground, contact.origin)
    normal, *tangents = (
        frames.direction(contact.ground, way) for way in (contact.normal, contact.tangent1, contact.tangent2)
    )
    height = dot(d, normal)
    spin = frames.turning(contact.body).rate - frames.turning(contact.ground).rate
    # the point of the body that touches, as it moves against the ground: both turn about where they are
    slip = d.rate - cross(frames.turning(contact.ground).rate, d.value)
    slip -= contact.radius * cross(spin, normal.value)
    rows = [height.rate, *(ca.dot(slip, tangent.value) for tangent in tangents)]
    if contact.torsion:
        rows.append(contact.torsion * ca.dot(spin, normal.value))
    return height.value - contact.radius, ca.vertcat(*rows)
