"""Inverse dynamics (RNEA), mass matrix (CRBA) and energies of the tree (Featherstone 2008, ch. 5 and 6)."""

from __future__ import annotations

import casadi as ca

from sarrus.multibody.frames import Frames
from sarrus.multibody.kinematics import cross, skew
from sarrus.multibody.link import Link
from sarrus.multibody.motion import Motion
from sarrus.multibody.scalars import as_casadi
from sarrus.multibody.tree import Tree


def bias_force(tree: Tree, links: list[Link], motions: list[Motion]) -> ca.SX:
    """Return h(q, v), the joint forces that hold v̇ = 0: Coriolis, centrifugal and gravity (RNEA)."""
    torques = [ca.SX.zeros(3) for _ in tree.nodes]
    forces = [ca.SX.zeros(3) for _ in tree.nodes]
    h = ca.SX.zeros(tree.nv)
    for i in range(len(tree.nodes) - 1, -1, -1):
        node, link, m = tree.nodes[i], links[i], motions[i]
        torque, force = torques[i], forces[i]
        for part in node.parts:
            c, about_origin = as_casadi(part.com), as_casadi(part.inertia_about_origin)
            w, vel = m.angular, m.linear
            acceleration = m.linear_bias - m.gravity
            momentum = part.mass * (vel + cross(w, c))
            spin = about_origin @ w + part.mass * cross(c, vel)
            force += part.mass * (acceleration + cross(m.angular_bias, c)) + cross(w, momentum)
            torque += (
                about_origin @ m.angular_bias
                + part.mass * cross(c, acceleration)
                + cross(w, spin)
                + cross(vel, momentum)
            )
        h[node.iv : node.iv + node.nv] = link.s_angular.T @ torque + link.s_linear.T @ force
        if node.parent >= 0:
            turned = link.rotation @ force
            forces[node.parent] += turned
            torques[node.parent] += link.rotation @ torque + cross(link.position, turned)
    return h


def mass_matrix(tree: Tree, links: list[Link]) -> ca.SX:
    """Return M(q), armature included, by the composite-rigid-body algorithm."""
    n = len(tree.nodes)
    mass = [sum((ca.SX(p.mass) for p in node.parts), ca.SX(0)) for node in tree.nodes]
    moment = [sum((p.moment for p in node.parts), ca.SX.zeros(3)) for node in tree.nodes]
    inertia = [
        sum((as_casadi(p.inertia_about_origin) for p in node.parts), ca.SX.zeros(3, 3)) for node in tree.nodes
    ]
    matrix = ca.SX.zeros(tree.nv, tree.nv)
    for i in range(n - 1, -1, -1):
        node, m = tree.nodes[i], links[i]
        columns = range(node.iv, node.iv + node.nv)
        # Momentum of the composite body for each unit velocity of this joint.
        force = mass[i] * m.s_linear - skew(moment[i]) @ m.s_angular
        torque = inertia[i] @ m.s_angular + skew(moment[i]) @ m.s_linear
        block = m.s_angular.T @ torque + m.s_linear.T @ force
        for a, row in enumerate(columns):
            for b, column in enumerate(columns):
                armature = node.armature[a] if a == b else 0.0
                matrix[row, column] = (block[a, b] if a >= b else block[b, a]) + armature
        j, link = i, m
        while tree.nodes[j].parent >= 0:
            force = link.rotation @ force
            torque = link.rotation @ torque + skew(link.position) @ force
            j = tree.nodes[j].parent
            link = links[j]
            coupling = link.s_angular.T @ torque + link.s_linear.T @ force
            for a in range(tree.nodes[j].nv):
                for b, column in enumerate(columns):
                    row = tree.nodes[j].iv + a
                    matrix[row, column] = matrix[column, row] = coupling[a, b]
        if node.parent >= 0:
            p, r = node.parent, m.rotation
            turned = r @ moment[i]
            shift, lever = skew(m.position), skew(turned)
            inertia[p] += r @ inertia[i] @ r.T - lever @ shift - shift @ lever - mass[i] * (shift @ shift)
            moment[p] += turned + mass[i] * m.position
            mass[p] += mass[i]
    return matrix


def kinetic_energy(tree: Tree, links: list[Link], motions: list[Motion]) -> ca.SX:
    """Return the kinetic energy [J], armature included."""
    energy = ca.SX(0)
    for node, link, m in zip(tree.nodes, links, motions):
        for part in node.parts:
            velocity = m.linear + cross(m.angular, as_casadi(part.com))
            energy += 0.5 * part.mass * ca.dot(velocity, velocity)
            energy += 0.5 * ca.dot(m.angular, as_casadi(part.inertia) @ m.angular)
        for k, armature in enumerate(node.armature):
            energy += 0.5 * armature * link.rate[k] ** 2
    return energy


def gravity_potential(tree: Tree, frames: Frames) -> ca.SX:
    """Return the potential energy of gravity [J], zero with all centres of mass at the world's origin."""
    g = as_casadi(tree.gravity)
    energy = ca.SX(0)
    for index, node in enumerate(tree.nodes):
        position, rotation = frames.node(index)
        for part in node.parts:
            energy -= part.mass * ca.dot(g, position + rotation @ as_casadi(part.com))
    return energy
