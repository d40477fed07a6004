"""Bodies that carry geometries: where they are and how they move, as expressions of the state.

Velocities belong together where they move the same body, or a force on one changes the other: those of a tree, and of
trees that closures join.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.sparse import rows_of
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links


def components(equations: Equations) -> list[list[int]]:
    """Return the velocities of each component, ascending; the components by their first ones."""
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


def places(equations: Equations, bodies: Sequence[str]) -> ca.SX:
    """Return 12 numbers per body: position [m], then rotation by rows."""
    frames = _frames(equations)
    found = []
    for body in bodies:
        position, rotation = frames.placement(body)
        found.append(ca.vertcat(position, ca.vec(rotation.T)))
    return ca.vertcat(*found)


def motions(equations: Equations, bodies: Sequence[str], velocities: Sequence[Sequence[int]]) -> ca.SX:
    """Return of each body the velocity of its origin and its angular velocity, both in world axes.

    First what it has by itself, without v (6 numbers), then, by rows, their derivatives by the given ``velocities``.
    """
    frames, found = _frames(equations), []
    still = ca.SX.zeros(equations.nv)
    for body, own in zip(bodies, velocities):
        speed = ca.vertcat(frames.point(body, np.zeros(3)).rate, frames.turning(body).rate)
        jacobian = ca.jacobian(speed, equations.v[list(own)]) if own else ca.SX(6, 0)
        found += [ca.substitute(speed, equations.v, still), ca.vec(ca.densify(jacobian).T)]
    return ca.vertcat(*found)


def _frames(equations: Equations) -> Frames:
    tree = equations.tree
    assert tree is not None
    return Frames(tree, links(tree, equations.q, equations.v))
