"""Quaternions (wxyz) over CasADi scalars: products, rotation vectors, and how bodies of the tree are turned."""

from __future__ import annotations

import casadi as ca

from sarrus.mechanism.pose import quaternion_of_rotation
from sarrus.multibody.jet import ZERO_LENGTH
from sarrus.multibody.tree import GROUND, Tree


def product(a: ca.SX | ca.DM, b: ca.SX | ca.DM) -> ca.SX:
    """Return a ∘ b, the rotation b and then a."""
    return ca.vertcat(
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def conjugate(a: ca.SX | ca.DM) -> ca.SX | ca.DM:
    """Return the quaternion of the rotation back."""
    return ca.vertcat(a[0], -a[1:])


def rotation_vector(quaternion: ca.SX) -> ca.SX:
    """Return axis × angle of the rotation of a unit quaternion, with an angle of at most π."""
    scalar, vector = quaternion[0], quaternion[1:]
    sine = ca.sqrt(ca.dot(vector, vector) + ZERO_LENGTH)
    side = ca.if_else(scalar < 0, -1, 1)
    angle = 2 * ca.atan2(sine, side * scalar)
    return side * angle / sine * vector


def world_quaternion(tree: Tree, body: str, q: ca.SX) -> ca.SX:
    """Return the rotation from world axes to those of a body, the product of those on the way: it makes no jumps."""
    return _turn(tree, body, way(tree, body), q)


def relative_quaternion(tree: Tree, reference: str, body: str, q: ca.SX) -> ca.SX:
    """Return the rotation from the axes of one body to those of another; what carries both is left out."""
    ways = [way(tree, name) for name in (reference, body)]
    shared = _shared(*ways)
    turns = [_turn(tree, name, on[shared:], q) for name, on in zip((reference, body), ways)]
    return product(conjugate(turns[0]), turns[1])


def last_shared(tree: Tree, one: str, two: str) -> int:
    """Return the last node or ground that carries both bodies, the world if nothing does."""
    on = way(tree, one)
    shared = _shared(on, way(tree, two))
    return on[shared - 1] if shared else GROUND


def way(tree: Tree, body: str) -> list[int]:
    """Return the nodes that carry a body, in order, after the ground that they stand on."""
    out = [tree.location[body][0]]
    while out[0] >= 0:
        out.insert(0, tree.nodes[out[0]].parent)
    return out


def _shared(one: list[int], two: list[int]) -> int:
    return next((k for k, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))


def _turn(tree: Tree, body: str, on: list[int], q: ca.SX) -> ca.SX:
    """Return the rotation along a way to a body."""
    total = ca.SX([1, 0, 0, 0])
    for node in on:
        if node >= 0:
            total = product(
                product(total, _constant(tree.nodes[node].placement.rotation)), _joint(tree, node, q)
            )
        elif node != GROUND:
            total = tree.driven[GROUND - 1 - node].quaternion
    return product(total, _constant(tree.location[body][1].rotation))


def _constant(rotation: object) -> ca.DM:
    return ca.DM(quaternion_of_rotation(rotation))  # type: ignore[arg-type]


def _joint(tree: Tree, index: int, q: ca.SX) -> ca.SX:
    node = tree.nodes[index]
    if node.kind in ("spherical", "free"):
        return q[node.iq + node.nq - 4 : node.iq + node.nq]
    if node.kind == "prismatic":
        return ca.SX([1, 0, 0, 0])
    half = 0.5 * (q[node.iq] - node.reference)
    return ca.vertcat(ca.cos(half), ca.sin(half) * ca.DM(node.axis))
