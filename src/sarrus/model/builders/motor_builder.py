"""`MotorBuilder`: adds electric motors: winding, rotor, friction, gear and limits of current and voltage."""

from __future__ import annotations

from dataclasses import replace

from sarrus.model.builders.force_builder import ForceBuilder
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.elements import Actuator, Winding
from sarrus.model.mechanism.faults import fault
from sarrus.model.mechanism.pose import scalar


class MotorBuilder(ForceBuilder):
    """The methods of `Mechanism` that add forces and motors."""

    def add_motor(
        self,
        name: str,
        joint: str,
        *,
        torque_constant: float,
        resistance: float,
        inductance: float = 0.0,
        gear: float = 1.0,
        rotor_inertia: float = 0.0,
        rotor_damping: float = 0.0,
        rotor_friction: float = 0.0,
        voltage_limits: tuple[float, float] | None = None,
        current_limits: tuple[float, float] | None = None,
    ) -> Actuator:
        """Add a direct-current motor with control u [V], its voltage, to a joint of one degree of freedom.

        With the speed ω = gear × q̇ of the rotor, the current and the generalized force on the joint are

            i = (u − k ω) / R,    gear × k i,

        with i held within ``current_limits`` by the drive. Without inductance the current follows at once, and the
        motor is an actuator with gain k/R and bias (0, 0, −k²/R). With ``inductance`` L the current is a state, the
        coordinate "NAME.current" [A] after the coordinates of the joints, zero in ``neutral``, with

            L di/dt = u − R i − k ω,

        and the motor is an actuator with gain k and a `sarrus.model.mechanism.elements.Winding`. At its current limit
        the drive replaces u by R i + k ω, which keeps the current constant; as soon as u leads i back inside, u is
        applied again. In both cases the rotor adds armature gear² J, damping gear² b and dry friction |gear| T to the
        joint.

        Parameters
        ----------
        torque_constant : k [N m/A], equal to the constant of the induced voltage [V s/rad].
        resistance : R of the winding [Ω], positive. inductance : L of the winding [H], zero to neglect it: the time
            constant L/R, 0.1 to 1 ms, is far below the time scale of most mechanisms. Fixed steps must be shorter
            than L/R.
        gear : turns of the rotor per turn of the joint, or radians per metre of a slide; negative reverses it. The
            gear has no losses; model them as damping and friction of the joint.
        rotor_inertia, rotor_damping, rotor_friction : J [kg m²], b [N m s/rad] and T [N m] at the rotor, ≥ 0.
        voltage_limits, current_limits : (lower, upper) [V], [A].

        Power balance: the source delivers u i, the winding loses R i², the joint receives the rest; with
        ``inductance`` also the magnetic field, whose energy ½ L i² is part of the potential energy. An ideal motor,
        which follows a motion exactly, is `add_motion`.
        """
        label = self._fresh(name, "motor", self.actuators)
        found = self._velocity(joint, label)
        if found.name != joint or found.nv != 1:
            raise fault(
                label, f"joint {found.name!r} has {found.nv} degrees of freedom; a motor needs a joint of one"
            )
        k, ratio = scalar(torque_constant, "torque_constant", label), scalar(gear, "gear", label)
        ohm = checks.nonnegative(resistance, "resistance", label)
        if ohm == 0.0:
            raise fault(label, "resistance must be positive; a motor without losses is an actuator")
        if k == 0.0 or ratio == 0.0:
            raise fault(label, "torque_constant and gear must not be zero")
        current = checks.bounds(current_limits, "current_limits", label)
        henry = checks.nonnegative(inductance, "inductance", label)
        inertia = ratio**2 * checks.nonnegative(rotor_inertia, "rotor_inertia", label)
        damping = ratio**2 * checks.nonnegative(rotor_damping, "rotor_damping", label)
        friction = abs(ratio) * checks.nonnegative(rotor_friction, "rotor_friction", label)
        with_rotor = replace(
            found,
            armature=(found.armature[0] + inertia,),
            damping=(found.damping[0] + damping,),
            friction=((found.friction or (0.0,))[0] + friction,),
        )
        body = self._bodies[self._owners[joint]]
        joints = tuple(with_rotor if j.name == joint else j for j in body.joints)
        volts = checks.bounds(voltage_limits, "voltage_limits", label)
        if henry:
            wound = Winding(henry, ohm, current)
            motor = self.add_actuator(name, joint, gear=ratio, gain=k, limits=volts, activation=wound)
        else:
            motor = self.add_actuator(
                name,
                joint,
                gear=ratio,
                gain=k / ohm,
                bias=(0.0, 0.0, -k * k / ohm),
                limits=volts,
                force_limits=None if current is None else tuple(sorted(k * i for i in current)),  # type: ignore[arg-type]
                motor_constant=abs(k) / ohm**0.5,
            )
        self.replace_body(replace(body, joints=joints))  # last: an error leaves no rotor behind
        return motor
