"""Adding electric motors to a mechanism: winding, rotor, friction, gear and limits of current and voltage."""

from __future__ import annotations

from dataclasses import replace

from sarrus.model.builders.force_builder import ForceBuilder
from sarrus.model.mechanism import checks
from sarrus.model.mechanism.elements import Actuator, Winding
from sarrus.model.mechanism.faults import fault
from sarrus.model.mechanism.pose import scalar


class MotorBuilder(ForceBuilder):
    """The methods of a mechanism that add forces and motors."""

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
        """Drive a joint of one degree of freedom by a direct-current motor, whose control u is its voltage [V].

        With the speed ω = gear × q̇ of the rotor, the current and the generalized force on the joint are

            i = (u − k ω) / R,    gear × k i,

        i held within ``current_limits``, as its drive does: the current follows at once, and the motor is the actuator
        of that name with gain k/R and bias (0, 0, −k²/R). With an ``inductance`` the current is a state, the
        coordinate "NAME.current" [A] after those of the joints, zero in ``neutral``, with

            L di/dt = u − R i − k ω,

        and the motor the actuator with gain k and a `sarrus.model.mechanism.elements.Winding`. At a limit of the
        current the drive chops the voltage, u becomes R i + k ω, and the current stays until u leads it back: nothing
        winds up. Either way the rotor adds armature gear² J, damping gear² b and dry friction |gear| T to the joint.

        Parameters
        ----------
        torque_constant : k [N m/A], which is the constant of the voltage that turning induces [V s/rad].
        resistance : R of the winding [Ω], positive. inductance : L of the winding [H], zero where it is left out: its
            time L/R, some 0.1 to 1 ms, is far below that of most mechanisms. Fixed steps have to be shorter than it.
        gear : turns of the rotor per turn of the joint, or radians per metre of a slide; negative turns it back. The
            gear has no losses; give what is known of them as damping and friction of the joint.
        rotor_inertia, rotor_damping, rotor_friction : J [kg m²], b [N m s/rad] and T [N m] at the rotor, ≥ 0.
        voltage_limits, current_limits : (lower, upper) [V], [A].

        The power from the source is u i, that which heats the winding R i², the rest is that of the joint, and with
        ``inductance`` that of the magnetic field, whose energy ½ L i² is part of the potential energy. A motor that
        is to follow a motion exactly, whatever it takes, is `add_motion`.
        """
        label = self._fresh(name, "motor", self.actuators)
        found = self._velocity(joint, label)
        if found.name != joint or found.nv != 1:
            raise fault(
                label, f"joint {found.name!r} has {found.nv} degrees of freedom; a motor drives one of one"
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
        self.replace_body(replace(body, joints=joints))  # last: what is refused leaves no rotor behind
        return motor
