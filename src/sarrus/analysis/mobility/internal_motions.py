"""Internal motions: a part of the mechanism moves while every other body rests and all constraints hold.

Examples: a rod that spins between two ball joints, a leg that spins between its ends, a wheel that turns freely, an arm
outside of the loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.analysis.mobility.tolerances import NEW_MOTION, NO_TWIST, TRIAL_STEP
from sarrus.base.arrays import Array
from sarrus.dynamics.closing.manifold import close, stays_closed
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import NORMAL_DIRECTIONS
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links

# Bodies of a piece that are written out.
_WRITTEN = 4


@dataclass(frozen=True, eq=False)
class InternalMotion:
    """A motion of a part of the mechanism while every other body rests.

    ``velocity`` (nv,) has the largest entry 1; ``bodies`` move together as one rigid part (names of the velocities for
    equations of one's own).
    """

    velocity: Array
    bodies: tuple[str, ...]
    turns: bool

    def __str__(self) -> str:
        way = "turns" if self.turns else "slides"
        if len(self.bodies) == 1:
            return f"{self.bodies[0]} {way} alone"
        more = len(self.bodies) - _WRITTEN
        names = ", ".join(self.bodies[:_WRITTEN]) + (f" and {more} more" if more > 0 else "")
        return f"{names} move together, as one piece that {way}"


def internal_motions(system: System, q: Array, t: float, cut: float) -> tuple[InternalMotion, ...]:
    """Return independent internal motions at q, smallest parts first; empty without constraints.

    Candidates are a body with all bodies on it in the tree, the same without one of its descendants, and without all of
    its children. Each motion is confirmed by a finite step of 0.1 [rad, m].
    """
    if system.nc == 0:
        return ()
    pieces = _pieces(system.mechanism) if system.mechanism else [((i,), ()) for i in range(system.nv)]
    jacobian = system.constraint_jacobian(q, t=t)
    found: list[InternalMotion] = []
    basis = np.zeros((system.nv, 0))
    for columns, resting in pieces:
        select = np.eye(system.nv)[:, list(columns)]
        rows = [jacobian @ select]
        if resting:
            twists = body_twists(system, q, select, t)
            rows += [twists[name] for name in resting]
        for motion in (select @ ranked(np.vstack(rows), cut).null).T:
            beyond = motion - basis @ (basis.T @ motion)
            if np.linalg.norm(beyond) > NEW_MOTION and _goes_on(system, q, t, motion, select):
                basis = np.column_stack([basis, beyond / np.linalg.norm(beyond)])
                found.append(_describe(system, q, motion / motion[np.argmax(np.abs(motion))]))
    return tuple(found)


def _pieces(mechanism: Mechanism) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Return candidates: the velocities of the joints around a part, and the bodies that must rest."""
    columns: dict[str, tuple[int, ...]] = {}
    start = 0
    for body in mechanism.bodies.values():
        size = sum(joint.nv for joint in body.joints)
        columns[body.name] = tuple(range(start, start + size))
        start += size
    below: dict[str, list[str]] = {name: [] for name in columns}
    for name, body in mechanism.bodies.items():
        parent = body.parent
        while parent != WORLD:
            below[parent].append(name)
            parent = mechanism.bodies[parent].parent
    pieces = []
    for name, descendants in below.items():
        if not columns[name]:
            continue
        moving = [d for d in descendants if columns[d]]
        children = tuple(d for d in moving if mechanism.bodies[d].parent == name)
        choices = dict.fromkeys([children, *((d,) for d in moving), ()])
        pieces += [((*columns[name], *(c for d in rest for c in columns[d])), rest) for rest in choices]
    return sorted(pieces, key=lambda piece: len(piece[0]))


def body_twists(system: System, q: Array, directions: Array, t: float = 0.0) -> dict[str, Array]:
    """Return by body its angular velocity and the velocity of its origin (6, m), world axes, at velocities (nv, m).

    Prescribed motions of driven bodies are left out.
    """
    mechanism, tree = system.mechanism, system.equations.tree
    assert mechanism is not None
    assert tree is not None

    def twists() -> dict[str, ca.SX]:
        e = system.equations
        frames = Frames(tree, links(tree, e.q, e.v))
        origin = np.zeros(3)
        out: dict[str, ca.SX] = {}
        for k, name in enumerate(mechanism.bodies):
            out[f"angular{k}"] = frames.angular_velocity(name)
            out[f"linear{k}"] = frames.point(name, origin).rate
        return out

    native = system.compiled.named("twists", twists)
    values = np.array([native(system.pack(q, v, None, t)) for v in directions.T]).T.reshape(
        -1, directions.shape[1]
    )
    if mechanism.driven_bodies:
        values = values - native(system.pack(q, None, None, t))[:, None]
    return {name: values[6 * k : 6 * k + 6] for k, name in enumerate(mechanism.bodies)}


def _goes_on(system: System, q: Array, t: float, motion: Array, select: Array) -> bool:
    """Return whether a finite step along the motion keeps the loops closed with the other joints at rest."""
    x = motion / np.linalg.norm(motion)
    others = ranked(select.T, NORMAL_DIRECTIONS).null
    p = close(system, system.move(q, TRIAL_STEP * x), t, across=np.column_stack([others, x]))
    return stays_closed(system, p, q, t)


def _describe(system: System, q: Array, velocity: Array) -> InternalMotion:
    if system.mechanism is None:
        names = tuple(n for n, x in zip(system.velocity_names, velocity) if x != 0.0)
        return InternalMotion(velocity, names, turns=True)
    twists = body_twists(system, q, velocity[:, None])
    moving = {name: twist[:, 0] for name, twist in twists.items() if np.abs(twist).max() > NO_TWIST}
    turns = any(np.abs(twist[:3]).max() > NO_TWIST for twist in moving.values())
    return InternalMotion(velocity, tuple(moving), turns)
