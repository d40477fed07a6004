"""States of bodies whose geometries touch and are pressed together, and their motion with modes and features held.

`HeldGeometries` is `HeldPhase` with the rows of the narrow phase at each state: contact points of the same pair that
are nearest to those of the state are the same contact.
"""

from __future__ import annotations

import numpy as np

import sarrus as sr
from contact_phases import HeldPhase, Scene, apart_from_steps
from geometry_scenes import add_free, scene
from sarrus.analysis.sensitivity.phase_flow import flow_of
from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_state import contact_row_state

# [m] Gaps up to which the narrow phase looks at states beside.
WITHIN = 0.02


class Unknown(Exception):
    """A narrow phase finds something else than the features say."""


class HeldGeometries(HeldPhase):
    """The motion with the modes of contacts between geometries at a state held, by the rows of the narrow phase."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.start = contact_row_state(scene.system, scene.q, scene.v, scene.t)

    def rows(self, q: Array, v: Array, t: float) -> tuple[Array, Array, Array, Array, Array]:
        """Return gaps, H, their velocities and biases, and P."""
        found, start = contact_row_state(self.scene.system, q, v, t, within=WITHIN), self.start
        fixed = len(start.rows) - len(start.geometry.rows)
        order, chosen = list(range(fixed)), list[int]()
        numbers = [k for k, one in enumerate(found.elements) if one.rows.start >= fixed]
        for point in start.geometry.points:
            there = [
                (np.linalg.norm(other.point - point.point), k)
                for other, k in zip(found.geometry.points, numbers)
                if other.pair is point.pair
            ]
            chosen.append(min(there)[1])
            if not found.geometry.points[numbers.index(chosen[-1])].on_features(1.0)[2]:
                raise Unknown
            rows = found.elements[chosen[-1]].rows
            order += range(rows.start, rows.stop)
        before = [k for k in range(len(found.elements)) if k not in numbers]
        places = iter(chosen)
        own = iter(before)
        elements = [next(places if one.rows.start >= fixed else own) for one in start.elements]
        gaps, rows, rates, bias = (
            found.gaps[elements],
            found.rows[order],
            found.rates[order],
            found.bias[order],
        )
        push = rows.copy()
        for normal, tails, friction in self.sliding:
            slip = rates[tails]
            push[normal] -= friction * slip / max(np.linalg.norm(slip), 1e-300) @ rows[tails]
        k = self.held
        return gaps[[k for k, _ in self.gaps]], rows[k], rates[k], bias[k], push[k]


def pair(
    base: tuple[str, tuple[float, ...]] | None, geom: tuple[str, tuple[float, ...]], friction: float, **more
) -> sr.System:
    """Return a free geometry and one on a hinge with a spring, or the plane for base None."""
    mechanism = scene("pair", floor=base is None)
    if base is not None:
        mechanism.add_body("carrier", mass=1.0, com=(0.02, 0.0, 0.01), inertia=(0.1, 0.12, 0.15))
        mechanism.add_joint(
            "hinge", "revolute", "world", "carrier", axis=(1.0, 2.0, 0.5), stiffness=20.0, damping=0.1
        )
        mechanism.add_geom("base", "carrier", *base)
    add_free(mechanism, "body", *geom, mass=2.0, **more)
    mechanism.add_geometry_contacts(friction_coefficient=friction, closed_form=False)
    return sr.System(mechanism)


def pressed(system: sr.System, q: Array, rng: np.random.Generator, mode: str) -> Scene:
    """Return a state in which what touches at q is pressed together and ``mode`` "sticks", "rolls" or "slides"."""
    still = np.zeros(system.nv)
    state = contact_row_state(system, q, still, 0.0)
    points = state.geometry.points
    keep = [
        row
        for one in points
        for row in range(one.rows.start, one.rows.start + 1 if mode == "slides" else one.rows.stop)
    ]
    rows = state.geometry.rows[keep]
    v = rng.normal(size=system.nv) * (1.0 if mode == "slides" else 0.3)
    v -= np.linalg.pinv(rows, rcond=1e-9) @ (rows @ v)
    if not all(one.on_features(1.0)[2] for one in points) or len(points) != 1:
        raise Unknown
    place = points[0].point
    row = state.geometry.rows[points[0].rows.start]
    normal = row[-6:-3]  # on the body
    tau = np.zeros(system.nv)
    turn = system.body_placements(q)[1][-1]
    tau[-6:-3] = -60.0 * normal
    tau[-3:] = turn.T @ np.cross(place - q[-7:-4], tau[-6:-3]) + 0.1 * rng.normal(size=3)
    return Scene(system, q, v, np.zeros(0), 0.0, tau)


def step_error(scene: Scene, dt: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the differences of the end of a step from a plain RK4 step of the held phase, and of F from its own.

    Rows are not projected there: they are violated by dt⁵ at the end.
    """
    system, held = scene.system, HeldGeometries(scene)
    found = sr.sensitivity.step_derivatives(system, scene.q, scene.v, scene.u, scene.t, dt=dt, tau=scene.tau)
    start = system.pack(scene.q, scene.v, scene.u, scene.t)
    start[system.parts.tau] = scene.tau
    flow = flow_of(system.workspace().copy(), start, [], True)

    def step(q: Array, v: Array) -> tuple[Array, Array]:
        x, slopes = np.concatenate([q, v]), list[Array]()
        for part in (0.0, 0.5, 0.5, 1.0):
            y = x + part * dt * (slopes[-1] if slopes else 0.0)
            p, w = system.normalized(y[: len(q)]), y[len(q) :]
            a = held.acceleration(p, w, scene.u, scene.t)
            slopes.append(np.concatenate([system.coordinate_rate(y[: len(q)], w), a]))
        end = x + dt / 6.0 * (slopes[0] + 2.0 * slopes[1] + 2.0 * slopes[2] + slopes[3])
        return system.normalized(end[: len(q)]), end[len(q) :]

    def closed(q: Array, v: Array) -> tuple[Array, Array]:
        x = start.copy()
        x[system.parts.q], x[system.parts.v] = q, v
        assert flow._close(x)
        return x[system.parts.q], x[system.parts.v]

    return apart_from_steps(scene, found, step, closed, 4e-3, rng)
