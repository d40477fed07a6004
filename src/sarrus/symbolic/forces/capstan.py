"""Friction of a rope on a wrap (capstan): the two sides of the wrap have tensions T₁ and T₂ with T₁ ≤ T₂ exp(μθ) and
T₂ ≤ T₁ exp(μθ).

With the mean T and half the difference f of the tensions the law is |f| ≤ T tanh(μθ/2), against the slip: Coulomb's
law of a contact with one tangent (Euler and Eytelwein). The tangential row is scaled by tanh(μθ/2), so that its
coefficient is 1 at all angles θ. The friction acts along the rope; a rope that moves sideways over the surface meets no
resistance.

Several wraps with friction are on one body, and the path between them, too: its length is constant, so that the rope
slides over all of them or over none. Their factors multiply, and α = Σ μθ takes the place of μθ. The tensions between
them do no work.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.model.mechanism.tendons import Segment, Tendon, TendonJoint, Wrap, segments
from sarrus.symbolic.forces.stretches import stretch, wrapped
from sarrus.symbolic.kinematics.frames import JetFrames
from sarrus.symbolic.kinematics.jet import Jet, inlined
from sarrus.symbolic.kinematics.kinematics import cross


@dataclass(frozen=True, eq=False)
class Slip:
    """Rates of the lengths [m/s] before the first and behind the last wrap with friction, cut at points of their
    surfaces, and tanh(α/2)."""

    before: ca.SX
    behind: ca.SX
    grip: ca.SX

    def rate(self, paid_out: ca.SX) -> ca.SX:
        """Return the velocity of the row [m/s]; the winch at the end of the path pays out rope at this rate [m/s].

        While the rope is taut it is −2 tanh(α/2) × the velocity of the rope over the surface, positive towards the
        start of the path.
        """
        return self.grip * (self.behind - self.before - paid_out)


def slip_of(tendon: Tendon, frames: JetFrames, coordinates: dict[str, Jet]) -> Slip:
    """Return the slip of a tendon over its wraps with friction.

    Joint terms before the first wrap are drums at the start of the path, those after it are drums at the end.
    """
    first, last = tendon.rubbing[0], tendon.rubbing[-1]
    rates = {True: ca.SX(0), False: ca.SX(0)}
    before, within, turn = True, False, ca.SX(0)
    for segment in segments(tendon.path):
        wrap = segment.wrap
        if wrap is not None and any(wrap is one for one in tendon.rubbing):
            near, far, angle = _ends(segment, wrap, frames)
            turn += wrap.friction_coefficient * angle
            if wrap is first:
                rates[True] += near / segment.divisor
                before, within = False, True
            if wrap is last:
                rates[False] += far / segment.divisor
                within = False
        elif not within:  # the path between the wraps has a constant length
            rates[before] += stretch(segment, frames).rate / segment.divisor
    before = True
    for item in tendon.path:
        if isinstance(item, TendonJoint):
            rates[before] += item.weight * coordinates[item.coordinate].rate
        before = before and item is not first
    return Slip(rates[True], rates[False], ca.tanh(0.5 * turn))


def rope_rates(
    tendon: Tendon, frames: JetFrames, coordinates: dict[str, Jet], gap_rate: ca.SX, paid_out: ca.SX
) -> tuple[ca.SX, ca.SX | None]:
    """Return the velocities of the rows of a rope [m/s] and tanh(α/2).

    The rows are those of its gap, and of its slip if a wrap has friction; without friction None.
    """
    if not tendon.rubbing:
        return gap_rate, None
    slip = slip_of(tendon, frames, coordinates)
    return ca.vertcat(gap_rate, slip.rate(paid_out)), slip.grip


def _ends(segment: Segment, wrap: Wrap, frames: JetFrames) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return the rates of the lengths from both ends to a point of the surface, and the turn θ [rad] of the rope.

    The gradients of the length by the ends are unit vectors; the rates are those of the ends relative to the surface.
    """
    vectors, length = wrapped(segment, wrap, frames)
    places = [ca.SX.sym("place", 3) for _ in vectors]
    whole, turn = length(*places)
    found = [*(ca.gradient(whole, place) for place in places[:2]), turn]
    *ways, angle = inlined(places, found)(*(vector.value for vector in vectors))
    spin = frames.turning(wrap.body).rate
    near, far = (ca.dot(way, one.rate - cross(spin, one.value)) for way, one in zip(ways, vectors))
    return near, far, angle
