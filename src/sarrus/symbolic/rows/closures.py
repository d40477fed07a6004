"""Residuals of loop closures and couplings, as jets: φ, φ̇ and the acceleration bias γ of every row.

Frame 1 is on body 1, frame 2 on body 2, d is the origin of frame 2 minus the origin of frame 1, u the
axis of body 1, u2 the axis of body 2; n1 and n2 = u × n1 are two normals of u, fixed to body 1. All vectors are in axes
of the carrier, the last body with a joint on the way from the world to both bodies, or of the world
(`Mechanism.carrier`), so that the motion of the carrier does not enter the rows.

===============  ================================================================================
rows             residual
===============  ================================================================================
x y z            d in axes of the carrier [m]; multiplier: force on body 2 [N] in these axes
p1 p2            d along n1, n2 [m]; multiplier: force on body 2 along them
height           d along u [m]
length           (d·d − L²) / 2L [m]; multiplier: thrust of the rod [N]
lead             (l/2π) sin(2π d·u / l − angle) [m] of a screw with pitch l
n1 n2            n1·u2, n2·u2 [rad, small]; multipliers: couples on body 2 [N m], for row n1
                 about n2 and for row n2 about −n1, the rotations that change the rows
perpendicular    u·u2 [rad, small]; multiplier: couple on body 2 about u2 × u [N m]
rx ry rz         2 × vector part of the relative quaternion; multiplier: couple on body 2 [N m];
                 both in axes of frame 2 [rad, small]
===============  ================================================================================

Of a contact, d is the point on the body minus the plane's origin on the ground:

===============  ================================================================================
n                d along the normal, the gap [m]; multiplier: push on the body [N], ≥ 0
t1 t2            d along the two tangents minus the anchors, where the point touched down [m];
                 multiplier: friction on the body [N]
===============  ================================================================================

Rows of rolling elements are in `sarrus.symbolic.rows.rolling`.

Rows n1, n2 vanish for parallel and for opposite axes u and u2. Closures with these rows (revolute, cylindrical, screw,
planar) mean parallel axes: `System.assemble` looks for such an assembly and names in ``antiparallel`` the closures for
which it finds none. No motion turns one into the other while the rows hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from sarrus.model.mechanism.elements import CLOSURE_ROWS, Closure, Contact, Coupling
from sarrus.model.mechanism.faults import Label
from sarrus.model.mechanism.pose import Pose, clean, perpendicular_to
from sarrus.symbolic.kinematics.frames import BodyFrames
from sarrus.symbolic.kinematics.jet import Jet, dot, vertcat
from sarrus.symbolic.kinematics.kinematics import cross, skew
from sarrus.symbolic.kinematics.moved_frames import MovedFrames
from sarrus.symbolic.kinematics.scalars import varies
from sarrus.symbolic.kinematics.timed import at_jet, number_at
from sarrus.symbolic.rows.tolerances import AXIS_WEIGHTS, HALF_TURN, NEAR_HALF_TURN


def closure_residual(closure: Closure, frames: BodyFrames, t: ca.SX) -> Jet:
    """Return the stacked jet of the rows of one closure, in the order of `Closure.row_names`; ``t`` is time."""
    length: Jet | None = None
    if closure.motion is not None:
        label = Label("closure", closure.name)
        if closure.kind == "distance":
            length = number_at(closure.motion, t, label, positive=True)
        else:
            closure, frames = _moved(closure, frames, t, label)
    d = frames.point(closure.body2, closure.pose2.position) - frames.point(
        closure.body1, closure.pose1.position
    )
    u = frames.direction(closure.body1, closure.axis1)
    normal1 = perpendicular_to(closure.axis1)
    normal2 = clean(np.cross(closure.axis1, normal1))
    n1, n2 = frames.direction(closure.body1, normal1), frames.direction(closure.body1, normal2)
    u2 = frames.direction(closure.body2, closure.axis2)
    rows: dict[str, Callable[[], Jet]] = {
        "x": lambda: d,  # with y and z
        "p1": lambda: dot(d, n1),
        "p2": lambda: dot(d, n2),
        "height": lambda: dot(d, u),
        "length": lambda: _length(d, closure.length, length),
        "lead": lambda: _lead(closure, frames, d, u, n1, n2),
        "n1": lambda: dot(n1, u2),
        "n2": lambda: dot(n2, u2),
        "perpendicular": lambda: dot(u, u2),
        "rx": lambda: _relative_rotation(closure, frames),  # with ry and rz
    }
    return vertcat([rows[name]() for name in CLOSURE_ROWS[closure.kind] if name in rows])


def coupling_residual(coupling: Coupling, coordinates: dict[str, Jet], t: ca.SX) -> Jet:
    """Return the jet of one coupling: the sum of its terms minus its motion; ``t`` is time."""
    label = Label("coupling", coupling.name)
    total: Jet | None = None
    for term in coupling.terms:
        x = coordinates[term.coordinate].shifted(-term.reference)
        part = x.polynomial(term.coefficients)
        if term.function is not None:
            part = part + at_jet(term.function, x, label, f"the function of {term.coordinate!r}")
        total = part if total is None else total + part
    assert total is not None
    return total if coupling.motion is None else total - number_at(coupling.motion, t, label)


def contact_residual(contact: Contact, frames: BodyFrames) -> Jet:
    """Return the jet of the rows of one contact in the order of `Contact.row_names`, anchors at the plane's origin."""
    d = frames.point(contact.body, contact.point) - frames.point(contact.ground, contact.origin)
    along = (contact.normal, contact.tangent1, contact.tangent2)[: len(contact.row_names)]
    return vertcat([dot(d, frames.direction(contact.ground, direction)) for direction in along])


def _moved(closure: Closure, frames: BodyFrames, t: ca.SX, label: Label) -> tuple[Closure, MovedFrames]:
    """Return a closure whose frame 1 is on an auxiliary moving body, and frames that contain this body."""
    assert closure.motion is not None
    turned = closure.pose1.rotation.T @ closure.axis1
    name = f"{closure.name}: frame 1"
    moved = MovedFrames.on(frames, name, closure.body1, closure.pose1, closure.motion, t, label)
    return replace(closure, body1=name, pose1=Pose(), axis1=clean(turned), motion=None), moved


def _length(d: Jet, fixed: float, length: Jet | None) -> Jet:
    """Return the residual (d·d − L²) / 2L of a constant or prescribed length.

    For L < 0 it is (d·d + L²) / 2|L|, which has no zero.
    """
    if length is None:
        return dot(d, d).shifted(-(fixed**2)).scaled(0.5 / fixed)
    size = length.map(ca.fabs(length.value), ca.sign(length.value), ca.SX(0.0))
    return (dot(d, d) - length * size).scaled(0.5) * size.reciprocal()


def _relative_rotation(closure: Closure, frames: BodyFrames) -> Jet:
    """Return e = 2 × the vector part of the relative quaternion of frame 2, (R − Rᵀ)ᵛ / √(1 + tr R), as a jet.

    With w = √(1 + tr R)/2 its scalar part, ω and α the relative angular velocity and acceleration in axes of frame 2:

        ė = w ω + e × ω / 2,    ë = w α + e × α / 2 − |ω|² e / 4.
    """
    one, two = (
        ca.horzcat(*(frames.direction(body, column).value for column in pose.rotation.T))
        for body, pose in ((closure.body1, closure.pose1), (closure.body2, closure.pose2))
    )
    turn = one.T @ two
    trace = ca.trace(turn)
    scalar = ca.sqrt(1.0 + HALF_TURN + trace) / 2
    e = ca.vertcat(*(turn[k, j] - turn[j, k] for j, k in ((1, 2), (2, 0), (0, 1)))) / (2 * scalar)
    # At the half turn both vanish; the residual is then twice the axis n, from the matrix 1 + R = 2 n nᵀ.
    axis = ca.DM(AXIS_WEIGHTS) + turn @ ca.DM(AXIS_WEIGHTS)
    half_turn = 2 * axis / ca.sqrt(ca.dot(axis, axis) + HALF_TURN)
    e = ca.if_else(trace < NEAR_HALF_TURN, half_turn, e)
    spin1, spin2 = frames.turning(closure.body1), frames.turning(closure.body2)
    onto = (scalar * ca.DM.eye(3) + skew(e) / 2) @ two.T
    spin = spin2.rate - spin1.rate
    turning = spin2.bias - spin1.bias - cross(spin1.rate, spin2.rate)
    return Jet(e, onto @ spin, onto @ turning - ca.dot(spin, spin) / 4 * e)


def _lead(closure: Closure, frames: BodyFrames, d: Jet, u: Jet, n1: Jet, n2: Jet) -> Jet:
    """Return the residual of a screw: the advance along the axis tied to the rotation; smooth over full turns."""
    # direction in frame 2 that coincides with n1 when the two frames coincide
    along = closure.pose1.rotation.T @ perpendicular_to(closure.axis1)
    mark = frames.direction(closure.body2, closure.pose2.rotation @ along)
    sine, cosine = dot(mark, n2), dot(mark, n1)
    lead = closure.pitch / (2 * np.pi)
    if not varies(lead):
        return dot(d, u)
    advance = dot(d, u).scaled(1 / lead)
    return (advance.sin() * cosine - advance.cos() * sine).scaled(lead)


def coordinate_jets(
    names: tuple[str, ...], velocity_names: tuple[str, ...], q: ca.SX, v: ca.SX
) -> dict[str, Jet]:
    """Return the jets of the scalar coordinates by name (coordinates whose rate is a velocity of the same name)."""
    velocity = {name: v[i] for i, name in enumerate(velocity_names)}
    return {name: Jet(q[i], velocity[name], ca.SX(0)) for i, name in enumerate(names) if name in velocity}
