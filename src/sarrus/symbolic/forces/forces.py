"""Springs, dampers and user forces of a mechanism, each by its virtual power.

A force F on a rate ẋ(q, v), linear in v, gives the generalized force (∂ẋ/∂v)ᵀ F.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from sarrus.base.errors import ModelError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import CoordinateSpring, SpringDamper, UserForce
from sarrus.model.mechanism.faults import Label
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.spline import Spline
from sarrus.model.mechanism.tendons import Tendon
from sarrus.symbolic.equations.symbolic import traced_matrix
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.kinematics.rotations import conjugate, product, quaternion_rotation_vector
from sarrus.symbolic.kinematics.scalars import stacked_numbers, varies
from sarrus.symbolic.kinematics.timed import value_at

AnySpring = SpringDamper | CoordinateSpring | Tendon


class Tension(NamedTuple):
    """Tension of a spring and damper [N], the part of it that is in no potential energy [N], and the energy [J]."""

    whole: ca.SX
    lost: ca.SX
    energy: ca.SX


def power_conjugate(rate: ca.SX, v: ca.SX, force: ca.SX) -> ca.SX:
    """Return the generalized force (nv,) of a ``force`` on a ``rate``."""
    return ca.jtimes(rate, v, force, True)


def has_slack(rest: tuple[float | ca.SX, float | ca.SX]) -> bool:
    """Tell whether a rest interval has different bounds."""
    lower, upper = rest
    return not ca.is_equal(ca.SX(lower), ca.SX(upper))


def stretch(length: ca.SX, rest: tuple[float | ca.SX, float | ca.SX]) -> ca.SX:
    """Return the signed distance of a length from the rest interval, negative below it."""
    lower, upper = rest
    if not has_slack(rest):
        return length - lower
    return ca.fmax(length - upper, 0) + ca.fmin(length - lower, 0)


def elastic_force(spring: AnySpring, length: Jet, v: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the generalized force and the potential energy of a spring and damper along a length."""
    found = tension(spring, length)
    return power_conjugate(length.rate, v, -found.whole), found.energy


def tension(spring: AnySpring, length: Jet) -> Tension:
    """Return the tension of a spring and damper along a length."""
    rate, extension = length.rate, stretch(length.value, spring.rest_length)
    lost = spring.damping * rate
    whole, energy = spring.stiffness * extension + lost, 0.5 * spring.stiffness * extension**2
    if isinstance(spring, Tendon):
        for k, c in enumerate(spring.stiffness_higher):
            whole += c * extension ** (k + 2)
            energy += c * extension ** (k + 3) / (k + 3)
        for k, c in enumerate(spring.damping_higher):
            part = c * rate * ca.fabs(rate) ** (k + 1)
            whole, lost = whole + part, lost + part
        return Tension(ca.SX(whole), ca.SX(lost), ca.SX(energy))
    label = Label("spring", spring.name)
    if spring.law is not None:
        part, of_law = value_at(spring.law, extension, label, "law"), law_energy(spring)
        if has_slack(spring.rest_length):  # no force inside the rest interval, whatever the law at zero
            part = ca.if_else(extension == 0.0, 0.0, part)
        whole += part
        if of_law is None:
            lost += part
        else:
            energy += of_law(extension)
    if spring.damper_law is not None:
        part = value_at(spring.damper_law, rate, label, "damper_law")
        whole, lost = whole + part, lost + part
    return Tension(ca.SX(whole), ca.SX(lost), ca.SX(energy))


def law_energy(spring: SpringDamper | CoordinateSpring) -> Spline | None:
    """Return the energy of the law of a spring as a spline; None without law, or for one without known energy."""
    law = spring.law
    return law.integral() if isinstance(law, Spline) and law.period is None else None


def conserves(spring: SpringDamper | CoordinateSpring) -> bool:
    """Tell whether all work of a spring is the change of a known energy."""
    unknown = spring.law is not None and law_energy(spring) is None
    return not (unknown or varies(spring.damping) or spring.damper_law is not None)


def elastic(tendon: Tendon) -> bool:
    """Tell whether a tendon has stiffness, or a parameter that drives it."""
    return any(map(varies, (tendon.stiffness, *tendon.stiffness_higher)))


def damped(tendon: Tendon) -> bool:
    """Tell whether a tendon has damping, or a parameter that drives it."""
    return any(map(varies, (tendon.damping, *tendon.damping_higher)))


def coordinate_length(spring: CoordinateSpring, coordinates: dict[str, Jet]) -> Jet:
    """Return the linear combination of coordinates of a spring."""
    value = sum((w * coordinates[name].value for name, w in spring.terms), ca.SX(0))
    rate = sum((w * coordinates[name].rate for name, w in spring.terms), ca.SX(0))
    return Jet(value, rate, ca.SX(0))


def joint_spring(joint: Joint, q: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the force (nv of the joint) and the potential energy of a joint's own spring.

    Quaternions: the torque is −stiffness × rotation vector from the reference, in body axes, as in MuJoCo.
    """
    reference = stacked_numbers(joint.spring_reference)
    if joint.kind not in ("spherical", "free"):
        extension = q - reference
        return -joint.stiffness * extension, 0.5 * joint.stiffness * ca.dot(extension, extension)
    split = joint.nq - 4
    translation = q[:split] - reference[:split]
    turn = quaternion_rotation_vector(product(conjugate(reference[split:]), q[split:]))
    force = -joint.stiffness * ca.vertcat(translation, turn)
    return force, 0.5 * joint.stiffness * (ca.dot(translation, translation) + ca.dot(turn, turn))


def damping_force(mechanism: Mechanism, v: ca.SX) -> ca.SX:
    """Return −damping × velocity of all joints."""
    coefficients = [d for joint in mechanism.joints() for d in joint.damping]
    return -stacked_numbers(coefficients) * v if any(map(varies, coefficients)) else ca.SX.zeros(v.shape[0])


def rotor_inertia(tendon: Tendon, length: Jet, v: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return the terms of the armature α of a tendon in M, h and the kinetic energy: α JᵀJ, α Jᵀ J̇v and ½ α (J v)²."""
    moment = ca.jacobian(length.rate, v)
    return (
        tendon.armature * (moment.T @ moment),
        tendon.armature * length.bias * moment.T,
        0.5 * tendon.armature * length.rate**2,
    )


def user_force(force: UserForce, frames: Frames, q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
    """Return the generalized force of a user's function; its size is checked."""
    expected, what = v.shape[0] if force.body is None else 3, f"force {force.name!r}"
    remedy = "Write it with CasADi operations as function(q, v, t)"
    value = traced_matrix(force.function, (q, v, t), what, remedy, ModelError, force.name)
    if value.shape not in ((expected, 1), (1, expected)):
        raise ModelError(
            f"{what}: function(q, v, t) must return {expected} entries, got shape {value.shape}",
            element=force.name,
        )
    value = ca.vec(value)
    if force.body is None:
        return value
    return power_conjugate(frames.point(force.body, force.point).rate, v, value)
