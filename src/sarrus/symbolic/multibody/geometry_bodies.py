"""Motion of the bodies that carry geometries, as expressions of the state.

Two velocities are in one component if they move the same body, or if a force on one accelerates the other: velocities
of one tree, and of trees joined by closures.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.sparse import rows_of
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links


def components(equations: Equations) -> list[list[int]]:
    """Return the velocities of each component, ascending; components are ordered by their first velocity."""
    leader = list(range(equations.nv))

    def find(k: int) -> int:
        while leader[k] != k:
            k = leader[k]
        return k

    tree = equations.tree
    assert tree is not None
    coupled = [[k, *row] for k, row in enumerate(rows_of(equations.mass_matrix))]
    for node in tree.nodes:
        above = [tree.nodes[node.parent].iv] if node.parent >= 0 else []
        coupled.append([*above, *range(node.iv, node.iv + node.nv)])
    for together in (*coupled, *map(list, rows_of(equations.jacobian))):
        for other in together[1:]:
            one, two = find(together[0]), find(other)
            leader[max(one, two)] = min(one, two)
    found: dict[int, list[int]] = {}
    for k in range(equations.nv):
        found.setdefault(find(k), []).append(k)
    return list(found.values())


def geometry_bodies(mechanism: Mechanism) -> list[str]:
    """Return the bodies with geometries whose contacts a narrow phase finds, without those fixed to the world."""
    geoms = (mechanism.geoms[name] for pair in mechanism.geometry_pairs for name in (pair.geom1, pair.geom2))
    return [body for body in dict.fromkeys(g.body for g in geoms) if mechanism.carrier(body, body) != WORLD]


def places(equations: Equations, bodies: Sequence[str]) -> ca.SX:
    """Return 12 numbers per body: position [m], then rotation by rows."""
    frames = _frames(equations)
    found = []
    for body in bodies:
        position, rotation = frames.placement(body)
        found.append(ca.vertcat(position, ca.vec(rotation.T)))
    return ca.vertcat(*found)


def motions(equations: Equations, bodies: Sequence[str], velocities: Sequence[Sequence[int]]) -> ca.SX:
    """Return for each body the velocity of its origin and its angular velocity, both in world axes.

    First the part without v (6 numbers), then, by rows, the derivatives by the given ``velocities``.
    """
    frames, found = _frames(equations), []
    still = ca.SX.zeros(equations.nv)
    for body, own in zip(bodies, velocities):
        speed = ca.vertcat(frames.point(body, np.zeros(3)).rate, frames.turning(body).rate)
        jacobian = ca.jacobian(speed, equations.v[list(own)]) if own else ca.SX(6, 0)
        found += [ca.substitute(speed, equations.v, still), ca.vec(ca.densify(jacobian).T)]
    return ca.vertcat(*found)


def twists(equations: Equations, bodies: Sequence[str]) -> ca.SX:
    """Return 12 numbers per body, in world axes: velocity of its origin, angular velocity, and their rates at v̇ = 0."""
    frames, none = _frames(equations), np.zeros(3)
    jets = [jet for body in bodies for jet in (frames.point(body, none), frames.turning(body))]
    pairs = zip(jets[::2], jets[1::2])
    return ca.vertcat(*(x for one, two in pairs for x in (one.rate, two.rate, one.bias, two.bias)))


def wrench_force(equations: Equations, bodies: Sequence[str], wrenches: ca.SX) -> ca.SX:
    """Return the generalized force of wrenches (6 n,) in world axes: force, and moment about the body's origin."""
    frames = _frames(equations)
    rates = ca.vertcat(
        *(x for b in bodies for x in (frames.point(b, np.zeros(3)).rate, frames.turning(b).rate))
    )
    return ca.jtimes(rates, equations.v, wrenches, True)


def wrench_stiffness(equations: Equations, bodies: Sequence[str], wrenches: ca.SX) -> ca.SX:
    """Return minus the derivative of `wrench_force` along the velocity v, for constant wrenches."""
    return -ca.jtimes(wrench_force(equations, bodies, wrenches), equations.q, equations.rate)


def _frames(equations: Equations) -> Frames:
    tree = equations.tree
    assert tree is not None
    return Frames(tree, links(tree, equations.q, equations.v))
