"""Inverse dynamics (RNEA), mass matrix (CRBA) and energies of the tree (Featherstone 2008, ch. 5 and 6)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.kinematics import cross, forward_kinematics, skew
from sarrus.symbolic.kinematics.link import Link
from sarrus.symbolic.kinematics.scalars import as_casadi
from sarrus.symbolic.kinematics.tree import Tree


def bias_force(tree: Tree, links: list[Link]) -> ca.SX:
    """Return h(q, v) (nv,), the joint forces for v̇ = 0: Coriolis, centrifugal and gravity (RNEA).

    If the links have accelerations, the result is M a + h without armature.
    """
    motions = forward_kinematics(tree, links)
    torques = [ca.SX.zeros(3) for _ in tree.nodes]
    forces = [ca.SX.zeros(3) for _ in tree.nodes]
    h = ca.SX.zeros(tree.nv)
    for i in range(len(tree.nodes) - 1, -1, -1):
        node, link, m = tree.nodes[i], links[i], motions[i]
        torque, force = torques[i], forces[i]
        for part in node.parts:
            inertia = as_casadi(part.inertia_about_origin)
            force += part.mass * m.acceleration + m.carrying @ part.moment
            torque += (
                inertia @ m.turning + cross(m.spin, inertia @ m.spin) + cross(part.moment, m.acceleration)
            )
        h[node.iv : node.iv + node.nv] = link.s_angular.T @ torque + link.s_linear.T @ force
        if node.parent >= 0:
            turned = link.rotation @ force
            forces[node.parent] += turned
            torques[node.parent] += link.rotation @ torque + cross(link.position, turned)
    return h


@dataclass(frozen=True)
class Composite:
    """Mass, first moment and inertia about its origin of a node and its subtree with locked joints."""

    mass: ca.SX
    moment: ca.SX
    inertia: ca.SX

    def momentum(self, angular: ca.SX, linear: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the angular and linear momentum of n motions (3 × n each)."""
        lever = skew(self.moment)
        return self.inertia @ angular + lever @ linear, self.mass * linear - lever @ angular


def composites(tree: Tree, links: list[Link]) -> list[Composite]:
    """Return the composite bodies of all nodes."""
    mass = [sum((ca.SX(p.mass) for p in node.parts), ca.SX(0)) for node in tree.nodes]
    moment = [sum((p.moment for p in node.parts), ca.SX.zeros(3)) for node in tree.nodes]
    inertia = [
        sum((as_casadi(p.inertia_about_origin) for p in node.parts), ca.SX.zeros(3, 3)) for node in tree.nodes
    ]
    for i in range(len(tree.nodes) - 1, -1, -1):
        p, link = tree.nodes[i].parent, links[i]
        if p >= 0:
            r, shift = link.rotation, skew(link.position)
            turned = r @ moment[i]
            lever = skew(turned) @ shift
            inertia[p] += symmetric(r @ inertia[i] @ r.T - lever - lever.T - mass[i] * (shift @ shift))
            moment[p] += turned + mass[i] * link.position
            mass[p] += mass[i]
    return [Composite(*map(ca.SX, parts)) for parts in zip(mass, moment, inertia)]


def mass_matrix(tree: Tree, links: list[Link]) -> ca.SX:
    """Return M(q), armature included, by the composite-rigid-body algorithm."""
    matrix, bodies = ca.SX.zeros(tree.nv, tree.nv), composites(tree, links)
    # indices of the velocities in the subtree of each node, and the momenta of unit velocities, in its axes
    carried = [(list[int](), ca.SX(3, 0), ca.SX(3, 0)) for _ in tree.nodes]
    for i in range(len(tree.nodes) - 1, -1, -1):
        node, link = tree.nodes[i], links[i]
        own, (others, torque, force) = list(range(node.iv, node.iv + node.nv)), carried[i]
        if others:
            coupling = link.s_angular.T @ torque + link.s_linear.T @ force
            matrix[own, others] = coupling
            matrix[others, own] = coupling.T
        about, along = bodies[i].momentum(link.s_angular, link.s_linear)
        block = symmetric((link.s_angular.T @ about + link.s_linear.T @ along).T)
        for k, armature in enumerate(node.armature):
            block[k, k] += armature
        matrix[own, own] = block
        if node.parent >= 0:
            before, torques, forces = carried[node.parent]
            force = link.rotation @ ca.horzcat(along, force)
            torque = link.rotation @ ca.horzcat(about, torque) + skew(link.position) @ force
            carried[node.parent] = (
                before + own + others,
                ca.horzcat(torques, torque),
                ca.horzcat(forces, force),
            )
    return matrix


def symmetric(matrix: ca.SX) -> ca.SX:
    """Return a symmetric matrix made from its upper triangle, so that the lower one is not computed."""
    return ca.triu2symm(ca.triu(matrix))


def kinetic_energy(tree: Tree, links: list[Link]) -> ca.SX:
    """Return the kinetic energy [J], armature included."""
    energy, twists = ca.SX(0), list[tuple[ca.SX, ca.SX]]()
    for node, link in zip(tree.nodes, links):
        back = link.rotation.T
        if node.parent >= 0:
            below, carried = twists[node.parent]
        else:
            ground = tree.ground(node.parent)
            below, carried = ground.rotation.T @ ground.spin, ground.rotation.T @ ground.velocity
        spin = back @ below + link.s_angular @ link.rate
        velocity = back @ (carried + cross(below, link.position)) + link.s_linear @ link.rate
        twists.append((spin, velocity))
        for part in node.parts:
            at_centre = velocity + cross(spin, as_casadi(part.com))
            energy += 0.5 * part.mass * ca.dot(at_centre, at_centre)
            energy += 0.5 * ca.dot(spin, as_casadi(part.inertia) @ spin)
        for k, armature in enumerate(node.armature):
            energy += 0.5 * armature * link.rate[k] ** 2
    return energy


def gravity_potential(tree: Tree, frames: Frames) -> ca.SX:
    """Return the potential energy of gravity [J], zero if all centres of mass are at the world's origin."""
    g = as_casadi(tree.gravity)
    energy = ca.SX(0)
    for index, node in enumerate(tree.nodes):
        position, rotation = frames.node(index)
        for part in node.parts:
            energy -= part.mass * ca.dot(g, position + rotation @ as_casadi(part.com))
    return energy
