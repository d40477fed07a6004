"""Power of each actuator, damper and user force on a mechanism, as expressions of its state and controls.

Springs and gravity are not included: their work is the change of the potential energy.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import Winding
from sarrus.model.mechanism.transmissions import TendonTransmission
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.forces import actuators, forces
from sarrus.symbolic.forces.lengths import Lengths
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.kinematics.scalars import varies
from sarrus.symbolic.rows.closures import coordinate_jets


def element_powers(mechanism: Mechanism, e: Equations) -> dict[tuple[str, str], ca.SX]:
    """Return powers [W] by (kind, name): of actuators, dampers and user forces of a mechanism at v.

    ``mechanism`` may have expressions of e.p as its numbers. Kinds: "actuator"; "actuator limits" (power removed by
    limits of the total force on a joint, and by force limits of motors with inductance); "source" and "winding" (of
    such motors, instead of "actuator": u i, with the voltage u of the drive at a limit, and −R i²); "joint damping";
    "damper" (of springs and tendons, and of spring laws without known energy); "force".
    """
    v = e.v
    lengths, values = _lengths(mechanism, e)
    out: dict[tuple[str, str], ca.SX] = {}

    fields = magnetic_fields(mechanism, e)
    limited, total = actuators.forces(mechanism, lengths, values, e.u), ca.SX.zeros(e.nv)
    for name, force in limited.items():
        actuator = mechanism.actuators[name]
        along = lengths.of(actuator)
        if isinstance(actuator.activation, Winding):
            i, induced = actuators.current(actuator, values), actuator.gain * ca.dot(along.moment, v)
            ohm = actuator.activation.resistance
            out["source", name] = (ohm * i + induced) * i + fields[name][1]
            out["winding", name] = -ohm * i**2
            if actuator.force_limits or isinstance(actuator.transmission, TendonTransmission):
                out["actuator limits", name] = force * ca.dot(along.moment, v) - induced * i
        else:
            out["actuator", name] = force * ca.dot(along.moment, v)
        total += along.moment * force
    iv = 0
    for joint in mechanism.joints():
        speeds = v[iv : iv + joint.nv]
        if joint.actuator_force_limits:
            held = actuators.clamp(total[iv], joint.actuator_force_limits) - total[iv]
            out["actuator limits", joint.name] = held * speeds
        if any(map(varies, joint.damping)):
            losses = (d * s**2 for d, s in zip(joint.damping, ca.vertsplit(speeds)))
            out["joint damping", joint.name] = -sum(losses, ca.SX(0))
        iv += joint.nv
    for spring, length in lengths.springs():
        lost = forces.tension(spring, length).lost
        if not lost.is_zero():
            out["damper", spring.name] = -lost * length.rate
    for user in mechanism.forces.values():
        out["force", user.name] = ca.dot(forces.user_force(user, lengths.frames, e.q, v, e.t), v)
    return out


def magnetic_fields(mechanism: Mechanism, e: Equations) -> dict[str, tuple[ca.SX, ca.SX]]:
    """Return the energy ½ L i² [J] of the winding of every motor with inductance, and the power into it [W]."""
    energies = actuators.magnetic_energies(mechanism, dict(zip(e.coordinate_names, ca.vertsplit(e.q))))
    return {name: (energy, ca.jtimes(energy, e.q, e.whole_rate)) for name, energy in energies.items()}


def actuator_drives(mechanism: Mechanism, e: Equations) -> tuple[ca.SX, ca.SX]:
    """Return the rates of the actuators' lengths (nu,), and their scalar forces within limits (nu,)."""
    lengths, values = _lengths(mechanism, e)
    limited = actuators.forces(mechanism, lengths, values, e.u)
    rates = [ca.dot(lengths.of(a).moment, e.v) for a in mechanism.actuators.values()]
    return ca.vertcat(ca.SX(0, 1), *rates), ca.vertcat(ca.SX(0, 1), *limited.values())


def motor_losses(mechanism: Mechanism, e: Equations) -> dict[str, ca.SX]:
    """Return the copper loss [W] of each motor, by the names of the actuators known to be motors.

    R i² for motors with inductance, (F / K_m)² for actuators with a ``motor_constant``, F their scalar force within
    limits.
    """
    lengths, values = _lengths(mechanism, e)
    out: dict[str, ca.SX] = {}
    for name, force in actuators.forces(mechanism, lengths, values, e.u).items():
        actuator = mechanism.actuators[name]
        if isinstance(actuator.activation, Winding):
            out[name] = actuator.activation.resistance * actuators.current(actuator, values) ** 2
        elif actuator.motor_constant is not None:
            out[name] = (force / actuator.motor_constant) ** 2
    return out


def tendon_paths(mechanism: Mechanism, e: Equations, names: Sequence[str]) -> dict[str, ca.SX]:
    """Return lengths (n,) [m] of tendons and their derivatives by the velocities (n × nv)."""
    lengths, _ = _lengths(mechanism, e)
    jets = [lengths.tendon(name) for name in names]
    rates = ca.vertcat(*(jet.rate for jet in jets))
    return {"lengths": ca.vertcat(*(jet.value for jet in jets)), "moments": ca.jacobian(rates, e.v)}


def _lengths(mechanism: Mechanism, e: Equations) -> tuple[Lengths, dict[str, ca.SX]]:
    """Return the lengths of a mechanism in the symbols of its equations, and the coordinates by name."""
    frames = Frames(e.tree, links(e.tree, e.q, e.v))
    jets = coordinate_jets(e.coordinate_names, e.velocity_names, e.q, e.v)
    values = dict(zip(e.coordinate_names, ca.vertsplit(e.q)))
    return Lengths(mechanism, e.tree, frames, jets, e.q, e.v), values
