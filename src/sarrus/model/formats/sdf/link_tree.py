"""Choice of the tree in SDF's graph of joints: which joints are cut.

Joints are taken into the tree one by one (Kruskal's algorithm); a joint that would close a loop is cut and becomes a
closure of its own kind. Order in which joints are taken:

1. properties that a closure cannot have come first: fixed joints and joints of a mimic or a gearbox; then springs,
   dampers and dry friction; then a finite effort limit, the mark of an actuated joint; then position limits; last
   joints marked by ``must_be_loop_joint``;
2. then by distance to the world, in joints along the shortest path: without the first rule the tree is a
   breadth-first tree, as shallow as possible;
3. then prismatic, screw and universal joints before revolute ones, these before ball joints, whose closure has the
   fewest rows; then file order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sarrus.model.formats.sdf.joints import SdfJoint

_KEPT_FIRST = {"ball": 2, "revolute": 1, "continuous": 1}


def choose_tree(
    joints: Sequence[SdfJoint], roots: Sequence[str], coupled: Iterable[str] = ()
) -> tuple[list[tuple[SdfJoint, bool]], list[SdfJoint]]:
    """Return the tree joints, parents first, each with whether it is reversed, and the cut joints.

    ``roots`` are the bodies from which the tree grows: the world, bodies fixed to it, and one body of each floating
    part. ``coupled`` names the joints of mimics and gearboxes, which must be in the tree.
    """
    depth = _depths(joints, roots)
    needed = set(coupled)
    group = {body: body for body in depth}
    group.update(dict.fromkeys(roots, roots[0]))

    def key(joint: SdfJoint) -> tuple[int, int, int, int]:
        near, far = sorted((depth[joint.parent], depth[joint.child]))
        return _loss(joint, joint.name in needed), near, far, _KEPT_FIRST.get(joint.kind, 0)

    taken, cut = [], []
    for joint in sorted(joints, key=key):
        one, two = _root(group, joint.parent), _root(group, joint.child)
        if one == two:
            cut.append(joint)
        else:
            group[two] = one
            taken.append(joint)
    return _outward(taken, roots), [joint for joint in joints if joint in cut]


def _loss(joint: SdfJoint, coupled: bool) -> int:
    """Return the rank of a joint by the loss of a cut, 0 for the greatest loss."""
    if joint.must_be_cut:
        return 5
    if coupled or joint.kind == "fixed" or (len(joint.axes) == 2 and not joint.perpendicular):
        return 0
    if any(axis.stiffness or axis.damping or axis.friction for axis in joint.axes):
        return 1
    if any(0.0 < axis.effort < np.inf for axis in joint.axes):
        return 2
    return 3 if any(axis.limits for axis in joint.axes) else 4


def _neighbours(joints: Iterable[SdfJoint]) -> dict[str, list[tuple[str, SdfJoint]]]:
    found: dict[str, list[tuple[str, SdfJoint]]] = {}
    for joint in joints:
        found.setdefault(joint.parent, []).append((joint.child, joint))
        found.setdefault(joint.child, []).append((joint.parent, joint))
    return found


def _depths(joints: Sequence[SdfJoint], roots: Sequence[str]) -> dict[str, int]:
    """Return for each body the number of movable joints on the shortest path from a root."""
    neighbours, depth, queue = _neighbours(joints), dict.fromkeys(roots, 0), deque(roots)
    while queue:
        body = queue.popleft()
        for other, joint in neighbours.get(body, ()):
            step = 0 if joint.kind == "fixed" else 1
            if other not in depth or depth[body] + step < depth[other]:
                depth[other] = depth[body] + step
                (queue.append if step else queue.appendleft)(other)
    return depth


def _outward(taken: Sequence[SdfJoint], roots: Sequence[str]) -> list[tuple[SdfJoint, bool]]:
    """Return the joints of a forest from its roots outward, each with whether it is reversed."""
    neighbours, queue, seen = _neighbours(taken), deque(roots), set(roots)
    ordered = []
    while queue:
        body = queue.popleft()
        for other, joint in neighbours.get(body, ()):
            if other not in seen:
                ordered.append((joint, joint.child == body))
                seen.add(other)
                queue.append(other)
    return ordered


def parts(bodies: Sequence[str], joints: Sequence[SdfJoint]) -> list[list[str]]:
    """Return the sets of bodies that joints connect, each in the order of ``bodies``."""
    group = {body: body for body in bodies}
    for joint in joints:
        group[_root(group, joint.child)] = _root(group, joint.parent)
    found: dict[str, list[str]] = {}
    for body in bodies:
        found.setdefault(_root(group, body), []).append(body)
    return list(found.values())


def _root(group: Mapping[str, str], body: str) -> str:
    """Return the representative of all bodies connected with a body."""
    while group[body] != body:
        body = group[body]
    return body
