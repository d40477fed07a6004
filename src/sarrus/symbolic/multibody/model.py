"""The equations of motion of a `Mechanism`: one trace of the recursions over CasADi scalars."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.description import Constraint
from sarrus.model.mechanism.elements import Closure, Contact, CoordinateSpring, Coupling, SpringDamper
from sarrus.symbolic.equations.equations import ContactRows, Equations
from sarrus.symbolic.forces import actuators, forces
from sarrus.symbolic.forces.lengths import Lengths, constraint_residual, dry_lengths, rope_rows
from sarrus.symbolic.kinematics.frames import Frames, JetFrames
from sarrus.symbolic.kinematics.jet import Jet, vertcat
from sarrus.symbolic.kinematics.kinematics import coordinate_rate
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.kinematics.scalars import varies
from sarrus.symbolic.kinematics.tree import Tree, build_tree
from sarrus.symbolic.multibody.dynamics import bias_force, gravity_potential, kinetic_energy, mass_matrix
from sarrus.symbolic.multibody.fixed_offsets import less_offset
from sarrus.symbolic.multibody.parameters import NO_PARAMETERS, MechanismParameters
from sarrus.symbolic.multibody.switches import Switches
from sarrus.symbolic.rows.closures import coordinate_jets
from sarrus.symbolic.rows.contacts import friction_contacts


def trace(mechanism: Mechanism, parameters: MechanismParameters = NO_PARAMETERS) -> Equations:
    """Return the equations of a mechanism; raises `ModelError` if its description is incomplete."""
    mechanism.check()
    p = {name: ca.SX.sym(name) for name in parameters.values}
    mechanism = parameters.apply(mechanism, p)
    t = ca.SX.sym("t")
    tree = build_tree(mechanism, t)
    coordinates, velocities = mechanism.coordinate_names, mechanism.velocity_names
    q, v = ca.SX.sym("q", len(coordinates)), ca.SX.sym("v", tree.nv)
    u = ca.SX.sym("u", len(mechanism.actuators))
    joints = links(tree, q, v)
    frames = Frames(tree, joints)

    jets, switches = coordinate_jets(coordinates, velocities, q, v), Switches()
    start = ca.vertcat(ca.SX(0, 1), *p.values()), list(parameters.values.values())
    lengths = Lengths(mechanism, tree, frames, jets, q, v)
    residual = constraint_rows(mechanism, frames, jets, t, switches, (q, v, *start), tree)
    values = dict(zip(coordinates, ca.vertsplit(q)))
    passive, potential = _passive(mechanism, frames, lengths, q, v, t)
    potential += sum(actuators.magnetic_energies(mechanism, values).values(), ca.SX(0))
    rotors, rates = _rotors(mechanism, lengths, v), actuators.activation_rate(mechanism, lengths, values, u)
    rate = ca.vertcat(coordinate_rate(tree, q, v), ca.SX(len(coordinates) - tree.nq, 1))
    return Equations(
        name=mechanism.name,
        q=q,
        v=v,
        u=u,
        t=t,
        p=ca.vertcat(start[0], switches.symbols),
        mass_matrix=sum((m for m, _, _ in rotors), mass_matrix(tree, joints)),
        bias_force=sum((h for _, h, _ in rotors), bias_force(tree, joints)),
        passive_force=passive,
        actuation=actuators.actuation_matrix(mechanism, lengths),
        input_force=actuators.input_force(mechanism, lengths, values, v, u),
        rate=rate,
        position_residual=residual.value,
        velocity_residual=residual.rate,
        jacobian=ca.jacobian(residual.rate, v),
        constraint_bias=residual.bias,
        kinetic_energy=sum((energy for _, _, energy in rotors), kinetic_energy(tree, joints)),
        potential_energy=potential + gravity_potential(tree, frames),
        non_ideal=ca.SX.zeros(tree.nv),
        coordinate_names=coordinates,
        velocity_names=velocities,
        constraint_names=tuple(name for c in mechanism.constraints() for name in c.row_names),
        actuator_names=tuple(mechanism.actuators),
        conservative=_conservative(mechanism),
        drift=ca.vertcat(ca.SX(tree.nq, 1), rates) if rates.numel() else None,
        activations=len(coordinates) - tree.nq,
        parameter_values={**parameters.values, **switches.values},
        quaternions=quaternion_places(tree),
        contacts=_contact_rows(mechanism),
        friction_contacts=(
            *friction_contacts(mechanism, frames, jets, q, v, t, rate),
            *rope_rows(mechanism, lengths, t, rate),
        ),
        dry_lengths=tuple(dry_lengths(mechanism, lengths.tendon)),
        tree=tree,
        rotors=bool(rotors),
    )


def quaternion_places(tree: Tree) -> tuple[int, ...]:
    """Return the indices in q where quaternions begin."""
    return tuple(n.iq + n.nq - 4 for n in tree.nodes if n.kind in ("spherical", "free"))


def constraint_rows(
    mechanism: Mechanism,
    frames: JetFrames,
    coordinates: dict[str, Jet],
    t: ca.SX,
    switches: Switches,
    start: tuple[ca.SX, ca.SX, ca.SX, list[float]] | None,
    tree: Tree | None = None,
) -> Jet:
    """Return the jet of all rows; its value has the holonomic rows only, which come first.

    ``t`` is time. ``start`` has the symbols q, v, p and the start values of p; without it the anchors of contacts are
    at the origins of their planes, and no offset is kept.
    """
    rows = []
    for constraint in mechanism.constraints():
        residual = constraint_residual(constraint, mechanism, frames, coordinates, t)
        if (
            isinstance(constraint, Closure)
            and constraint.keep_offset
            and start is not None
            and tree is not None
        ):
            q, v, p, values = start
            neutral, quaternions = mechanism.neutral(), np.array(quaternion_places(tree), dtype=np.int64)
            residual = less_offset(residual, q, v, t, p, values, neutral, quaternions)
        rows.append(switches.apply(constraint, residual, _anchors(mechanism, constraint, residual, t, start)))
    return vertcat(rows)


def body_placements(tree: Tree, bodies: Iterable[str], q: ca.SX) -> ca.SX:
    """Return 12 numbers per body: position, then rotation by rows."""
    frames = Frames(tree, links(tree, q, ca.SX.zeros(tree.nv)))
    columns = []
    for body in bodies:
        position, rotation = frames.placement(body)
        columns.append(ca.vertcat(position, ca.vec(rotation.T)))
    return ca.vertcat(*columns)


def _anchors(
    mechanism: Mechanism,
    constraint: Constraint,
    residual: Jet,
    t: ca.SX,
    start: tuple[ca.SX, ca.SX, ca.SX, list[float]] | None,
) -> dict[int, float]:
    """Return the rows that keep a residual, with its value: contacts at their place in the reference pose at t = 0,
    switchable constraints at their residual at the start."""
    if isinstance(constraint, Closure):
        return dict.fromkeys(range(residual.value.shape[0]), 0.0) if constraint.capture else {}
    if not isinstance(constraint, Contact):
        return {0: 0.0} if isinstance(constraint, Coupling) else {}
    tangential = range(1, residual.value.shape[0])
    if start is None:
        return dict.fromkeys(tangential, 0.0)
    q, _, p, values = start
    place = ca.Function("place", [q, p, t], [residual.value])(mechanism.neutral(), values, 0.0)
    return {row: float(place[row]) for row in tangential}


def _contact_rows(mechanism: Mechanism) -> tuple[ContactRows, ...]:
    """Return the rows of each contact."""
    out, start = [], 0
    for element in mechanism.constraints():
        end = start + len(element.row_names)
        if isinstance(element, Contact):
            tangential = tuple(range(start + 1, end))
            out.append(
                ContactRows(
                    element.name, start, tangential, element.restitution, element.friction_coefficient
                )
            )
        start = end
    return tuple(out)


def _passive(
    mechanism: Mechanism,
    frames: Frames,
    lengths: Lengths,
    q: ca.SX,
    v: ca.SX,
    t: ca.SX,
) -> tuple[ca.SX, ca.SX]:
    """Return the passive and user forces k(q, v, t) and the potential energy of the springs."""
    total, potential = forces.damping_force(mechanism, v), ca.SX(0)
    iq = iv = 0
    for joint in mechanism.joints():
        if varies(joint.stiffness):
            force, energy = forces.joint_spring(joint, q[iq : iq + joint.nq])
            total[iv : iv + joint.nv] += force
            potential += energy
        iq, iv = iq + joint.nq, iv + joint.nv
    for spring, length in lengths.springs():
        force, energy = forces.elastic_force(spring, length, v)
        total, potential = total + force, potential + energy
    total += actuators.bias_force(mechanism, lengths, v)
    for user in mechanism.forces.values():
        total += forces.user_force(user, frames, q, v, t)
    return total, potential


def _rotors(mechanism: Mechanism, lengths: Lengths, v: ca.SX) -> list[tuple[ca.SX, ca.SX, ca.SX]]:
    """Return the terms of tendon armatures in M, h and the kinetic energy."""
    return [
        forces.rotor_inertia(tendon, lengths.tendon(tendon.name), v)
        for tendon in mechanism.tendons.values()
        if varies(tendon.armature)
    ]


def _conservative(mechanism: Mechanism) -> bool:
    """Tell whether only springs and gravity do work in free motion."""
    servos = mechanism.actuators.values()
    numbers = [d for joint in mechanism.joints() for d in joint.damping]
    numbers += [b for actuator in servos for b in actuator.bias]
    springs: list[SpringDamper | CoordinateSpring]
    springs = [*mechanism.springs.values(), *mechanism.coordinate_springs.values()]
    constraints: list[Closure | Coupling] = [*mechanism.closures.values(), *mechanism.couplings.values()]
    ropes = [rope for tendon in mechanism.tendons.values() for rope in tendon.ropes]
    return not (
        mechanism.forces
        or not all(map(forces.conserves, springs))
        or any(map(varies, numbers))
        or any(map(forces.damped, mechanism.tendons.values()))
        or any(actuator.activation for actuator in servos)
        or any(body.function is not None for body in mechanism.driven_bodies.values())
        or any(constraint.motion is not None for constraint in constraints)
        or any(callable(rope.bound) for rope in ropes)
    )
