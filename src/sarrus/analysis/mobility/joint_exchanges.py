"""Joints of the tree with an additional freedom that make a mechanism statically determinate.

A freedom that the closures hold adds a column to A and leaves the motion unchanged. Redundant rows, Uᵀ A = 0, become
independent if Uᵀ E is regular, with as many new columns E as there are dependent combinations U. All columns come from
one mechanism in which every exchangeable joint is followed by the possible additional freedoms, at rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from sarrus.analysis.mobility.internal_motions import body_twists
from sarrus.analysis.mobility.removable_rows import Place
from sarrus.analysis.mobility.tolerances import (
    BODY_PLACED,
    COMBINATIONS_BUILT,
    COMBINATIONS_TRIED,
    FREEDOM_SHARE,
)
from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.pose import Pose, clean, perpendicular_to, quaternion_of_rotation

# Kinds that a joint may become, and the freedoms that this adds: along the axis, about it, about two normals of it.
_BECOMES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "revolute": (
        ("cylindrical", ("slide",)),
        ("universal", ("nod",)),
        ("universal", ("tilt",)),
        ("spherical", ("nod", "tilt")),
    ),
    "prismatic": (("cylindrical", ("turn",)),),
    "universal": (("spherical", ("tilt",)),),
}


@dataclass(frozen=True, eq=False)
class JointExchange:
    """A joint of the tree with another kind; ``before`` and ``after`` are `sarrus.model.mechanism.joint.Joint`."""

    before: Joint
    after: Joint

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self.before.name

    @property
    def rows(self) -> int:
        """Number of freedoms that it adds, equal to the number of rows that are no longer redundant."""
        return self.after.nv - self.before.nv

    def __str__(self) -> str:
        more = f"{self.rows} freedom{'s' * (self.rows != 1)} more"
        return f"joint {self.name!r}: {self.before.kind} → {self.after.kind}, {more}"


@dataclass(frozen=True)
class _Option:
    """A kind that a joint may become, with the numbers of the columns that it adds in the loosened mechanism."""

    joint: Joint
    kind: str
    axis2: Array
    columns: tuple[int, ...]


def exchanged_joints(
    system: System, t: float, found: Sequence[Place]
) -> tuple[tuple[JointExchange, ...], Mechanism, Array] | None:
    """Return (joints of other kinds that make all rows independent, the mechanism with them, q in its coordinates).

    None if there are none. A joint is not changed if an element other than a closure or contact refers to it (actuator,
    spring, limit, sensor), nor if its body has several joints. Keyframes are left out.
    """
    mechanism = system.current_mechanism()
    if mechanism.forces or any(not place.rows.size for place in found):
        return None
    loosened, options = _loosened(mechanism)
    if not options:
        return None
    loose = System(loosened)
    spread = [_spread(system, loose, place.q) for place in found]
    size = loose.characteristic
    blocks = []
    for place, q in zip(found, spread):
        extra = size.scaled_rows(loose.constraint_jacobian(q, t=t))
        free = place.free(np.ones(system.nc, dtype=bool))
        blocks.append(dense.product(np.ascontiguousarray(free.T), extra))
    for chosen in islice(_chosen(options, blocks), COMBINATIONS_BUILT):
        joints = {option.joint.name: _as(option) for option in chosen}
        other = _with_joints(mechanism, joints)
        start = _same(system, System(other), t, found, joints)
        if start is not None:
            pairs = tuple(JointExchange(j, joints[j.name]) for j in mechanism.joints() if j.name in joints)
            return pairs, other, start
    return None


def _chosen(options: Sequence[_Option], blocks: Sequence[Array]) -> Iterator[list[_Option]]:
    """Yield options, at most one for each joint, whose columns make Uᵀ E regular at all configurations; few joints
    first.
    """
    count = len(blocks[0])
    largest = [max(dense.largest(block), LEAST_DIVISOR) for block in blocks]
    tried = 0

    def grow(start: int, chosen: list[_Option], joints: int) -> Iterator[list[_Option]]:
        nonlocal tried
        tried += 1
        columns = [c for option in chosen for c in option.columns]
        parts = [dense.singular_values(block[:, columns]) for block in blocks if columns]
        if any(values.min(initial=np.inf) < FREEDOM_SHARE * most for values, most in zip(parts, largest)):
            return
        if len(columns) == count and joints == 0:
            yield chosen
        if joints == 0 or tried > COMBINATIONS_TRIED:
            return
        for k in range(start, len(options)):
            option = options[k]
            fits = len(columns) + len(option.columns) <= count
            if fits and option.joint.name not in {o.joint.name for o in chosen}:
                yield from grow(k + 1, [*chosen, option], joints - 1)

    for joints in range(1, count + 1):
        yield from grow(0, [], joints)


def _loosened(mechanism: Mechanism) -> tuple[Mechanism, list[_Option]]:
    """Return a mechanism whose joints are followed by further freedoms, and the options of each joint."""
    used = set(_strings([getattr(mechanism, table) for table in _REFERRING]))
    copy, added, kinds = mechanism.snapshot(), [], []
    copy.keyframes = {}
    for body in mechanism.bodies.values():
        (joint, *more) = body.joints or (None,)
        if joint is None or more or joint.kind not in _BECOMES or not _is_bare(joint, used):
            continue
        normal = perpendicular_to(joint.axis) if joint.kind != "universal" else joint.axis2
        ways = {
            "slide": ("prismatic", joint.axis), "turn": ("revolute", joint.axis),
            "nod": ("revolute", normal), "tilt": ("revolute", clean(np.cross(joint.axis, normal))),
        }  # fmt: skip
        needed = dict.fromkeys(way for _, freedoms in _BECOMES[joint.kind] for way in freedoms)
        extra = [_joint(f"{joint.name}.{way}", *ways[way], joint.anchor) for way in needed]
        copy.replace_body(replace(body, joints=(joint, *extra)))
        added += [one.name for one in extra]
        kinds += [(joint, kind, ways[freedoms[0]][1], freedoms) for kind, freedoms in _BECOMES[joint.kind]]
    names = list(copy.velocity_names)
    options = [
        _Option(joint, kind, axis2, tuple(names.index(f"{joint.name}.{way}") for way in freedoms))
        for joint, kind, axis2, freedoms in kinds
    ]
    duplicate = Mechanism(mechanism.name)
    duplicate.restore(vars(copy))  # finds out which body has which joint
    return duplicate, options


_REFERRING = ("actuators", "coordinate_springs", "couplings", "gearings", "tendons", "sensors")


def _strings(value: Any) -> Iterable[str]:
    """Yield all texts in a description."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _strings([getattr(value, f.name) for f in fields(value)])


def _is_bare(joint: Joint, used: set[str]) -> bool:
    """Return whether a joint has no properties except its placement, and no element refers to it."""
    numbers = (*joint.damping, *joint.armature, *joint.friction, joint.stiffness)
    named = any(name == joint.name or name.startswith(f"{joint.name}.") for name in used)
    return not (any(numbers) or any(joint.limits) or joint.actuator_force_limits or named)


def _joint(name: str, kind: str, axis: Array, anchor: Array, axis2: Array | None = None) -> Joint:
    """Return a joint of a body with its axes and its place there, as a mechanism makes it."""
    scratch = Mechanism()
    scratch.add_body("body")
    return scratch.add_joint(
        name, kind, WORLD, "body", axis=axis, axis2=axis2, child_pose=anchor, parent_pose=anchor
    )


def _as(option: _Option) -> Joint:
    """Return the joint of another kind."""
    joint, kind = option.joint, option.kind
    other = _joint(joint.name, kind, joint.axis, joint.anchor, option.axis2 if kind == "universal" else None)
    reference = other.reference
    if kind == "cylindrical":
        reference = (0.0, *joint.reference) if joint.kind == "revolute" else (*joint.reference, 0.0)
    elif kind == "universal":
        reference = (*joint.reference, 0.0)
    return replace(other, reference=reference, spring_reference=reference)


def _with_joints(mechanism: Mechanism, joints: dict[str, Joint]) -> Mechanism:
    copy = mechanism.snapshot()
    copy.keyframes = {}
    for body in mechanism.bodies.values():
        copy.replace_body(replace(body, joints=tuple(joints.get(joint.name, joint) for joint in body.joints)))
    return copy


def _spread(system: System, other: System, q: Array) -> Array:
    """Return q with zeros for the additional coordinates of the other system."""
    values = dict(zip(system.coordinate_names, q))
    return np.array([values.get(name, 0.0) for name in other.coordinate_names])


def _same(
    system: System, other: System, t: float, found: Sequence[Place], joints: dict[str, Joint]
) -> Array | None:
    """Return the first configuration in coordinates of the other system; None unless motions agree and rows are
    independent.
    """
    starts = []
    for place in found:
        q = _mapped(system, other, place.q, joints)
        starts.append(q)
        places, turns = zip(system.body_placements(place.q, t), other.body_placements(q, t))
        if np.abs(places[0] - places[1]).max() > BODY_PLACED * system.characteristic.length or (
            np.abs(turns[0] - turns[1]).max() > BODY_PLACED
        ):
            return None
        moved = [
            ranked(s.characteristic.scaled_rows(s.constraint_jacobian(at, t=t)), relative=RANK_CUT)
            for s, at in ((system, place.q), (other, q))
        ]
        if moved[1].rank != other.nc or moved[0].null.shape[1] != moved[1].null.shape[1]:
            return None
        twists = [
            np.vstack(list(body_twists(s, at, one.null / s.characteristic.columns[:, None], t).values()))
            for s, at, one in ((system, place.q, moved[0]), (other, q, moved[1]))
        ]
        if ranked(np.hstack(twists), relative=RANK_CUT).rank > ranked(twists[0], relative=RANK_CUT).rank:
            return None
    return starts[0]


def _mapped(system: System, other: System, q: Array, joints: dict[str, Joint]) -> Array:
    """Return q in the coordinates of the mechanism with other joints, with the same placement of all bodies."""
    mechanism = system.current_mechanism()
    values = dict(zip(system.coordinate_names, q))
    for joint in mechanism.joints():
        if joint.name not in joints:
            continue
        after, own = joints[joint.name], [values.pop(name) for name in joint.coordinate_names]
        if after.kind == "spherical":
            turn = np.eye(3)
            for axis, x, reference in zip((joint.axis, joint.axis2), own, joint.reference):
                turn = dense.product(turn, _about(axis, x - reference))
            new = quaternion_of_rotation(turn).tolist()
        elif joint.kind == "prismatic":
            new = [*own, 0.0]
        else:
            new = [0.0, *own] if after.kind == "cylindrical" else [*own, 0.0]
        values |= zip(after.coordinate_names, new)
    return np.array([values[name] for name in other.coordinate_names])


def _about(axis: Array, angle: float) -> Array:
    half = angle / 2
    return Pose.of(quaternion=[np.cos(half), *(np.sin(half) * axis)]).rotation
