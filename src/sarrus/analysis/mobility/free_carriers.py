"""`FreeCarrier`: a floating base, a body that no constraint ties to the ground, such as a robot in the air.

Rows of closures between two bodies that it carries have no entries for its joints (`Mechanism.carrier`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.analysis.mobility.internal_motions import InternalMotion
from sarrus.analysis.mobility.motion_text import describe
from sarrus.base.arrays import Array
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD, Body


@dataclass(frozen=True)
class FreeCarrier:
    """A body whose joints to the ground leave it a plane or all of space, and whose velocities enter no constraint.

    ``body`` and all bodies on it (``carries``, names) move as one along ``velocities`` (names). ``joints`` are the
    joints between it and the ground; ``whole``: no other body can move.
    """

    body: str
    joints: tuple[str, ...]
    velocities: tuple[str, ...]
    carries: tuple[str, ...]
    whole: bool

    def __str__(self) -> str:
        on = f"{self.body} with {len(self.carries)} bodies on it" if self.carries else self.body
        what = "the whole mechanism" if self.whole else on
        joints = ("joint " if len(self.joints) == 1 else "joints ") + ", ".join(self.joints)
        return f"{what} moves freely: {len(self.velocities)} degrees of freedom, {joints}"


def free_carriers(mechanism: Mechanism | None, jacobian: Array) -> tuple[FreeCarrier, ...]:
    """Return the free carriers of a mechanism with the constraint Jacobian A (nc, nv)."""
    if mechanism is None:
        return ()
    noticed = dict(zip(mechanism.velocity_names, np.any(jacobian != 0.0, axis=0)))
    found, bodies = [], mechanism.bodies
    for body in bodies.values():
        velocities = tuple(name for joint in body.joints for name in joint.velocity_names)
        if not _roams(body) or _held(bodies, body.parent) or any(noticed[name] for name in velocities):
            continue
        carries = tuple(name for name in bodies if _hangs_on(bodies, name, body.name))
        others = [b for b in bodies.values() if b.joints and b.name != body.name and b.name not in carries]
        joints = tuple(joint.name for joint in body.joints)
        found.append(FreeCarrier(body.name, joints, velocities, carries, not others))
    return tuple(found)


def _roams(body: Body) -> bool:
    """Return whether the joints of a body leave it at least planar motion: two translations and a rotation."""
    kinds = [kind for joint in body.joints for kind, _ in joint.series]
    turns = any(kind in ("revolute", "spherical") for kind in kinds)
    return "free" in kinds or (kinds.count("prismatic") >= 2 and turns)


def _held(bodies: dict[str, Body], name: str) -> bool:
    """Return whether there are joints between a body and the ground."""
    while name != WORLD:
        if bodies[name].joints:
            return True
        name = bodies[name].parent
    return False


def _hangs_on(bodies: dict[str, Body], name: str, base: str) -> bool:
    while name != WORLD:
        name = bodies[name].parent
        if name == base:
            return True
    return False


def motion_rows(
    names: Sequence[str], motions: Array, carriers: Sequence[FreeCarrier]
) -> list[tuple[str, str]]:
    """Return table lines (label, text) for a basis of motions (nv, dof): one for each free carrier and each other
    motion.
    """
    alone = {name for carrier in carriers for name in carrier.velocities}
    texts = list(map(str, carriers))
    texts += [describe(names, x) for x in motions.T if not {n for n, rate in zip(names, x) if rate} <= alone]
    return list(zip(("motion", *[""] * len(texts)), texts))


def internal_rows(
    names: Sequence[str],
    motions: Sequence[InternalMotion],
    carriers: Sequence[FreeCarrier],
    mechanism: Mechanism | None,
) -> list[tuple[str, str]]:
    """Return table lines on internal motions, without those of free carriers; joints that carry several bodies share
    one line.
    """
    alone = {name for carrier in carriers for name in carrier.velocities}
    owners = (
        {v: joint.name for joint in mechanism.joints() for v in joint.velocity_names} if mechanism else {}
    )
    texts: list[str] = []
    joints: dict[str, list[str]] = {}  # those that carry several bodies, and their motions
    for motion in motions:
        moved = {name for name, rate in zip(names, motion.velocity) if rate}
        if moved <= alone:
            continue
        owner = {owners.get(name, "") for name in moved}
        if len(motion.bodies) > 1 and len(owner) == 1:
            joints.setdefault(owner.pop(), []).append(str(motion))
        else:
            texts.append(str(motion))
    if len(joints) == 1:
        texts += next(iter(joints.values()))
    elif joints:
        texts.append(f"each of these joints moves all bodies on it and no other: {', '.join(joints)}")
    return list(zip(("internal", *[""] * len(texts)), texts))
