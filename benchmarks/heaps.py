"""Spheres that fall into a pit until they lie in a heap, stepped in time, beside MuJoCo.

MuJoCo has elliptic cones and Newton's method with its default tolerance; its contacts are springs, so spheres are in
each other, and by how much is told. Both do it in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import mujoco
import numpy as np

import sarrus as sr
from benchmarks.rows import Row, conditions
from benchmarks.timing import interleave
from sarrus.base.arrays import Array

RADIUS, FRICTION, DT = 0.05, 0.5, 1e-3
SIZES = (8, 27, 64, 125)
# How long runs are [s]: the lowest spheres have landed; most lie on each other.
STRETCHES = {"falling": 0.25, "until they lie in a heap": 0.8}
# Slower than MuJoCo by this at the most.
SLOWER = 3.0

Batch = Callable[[], float]


def places(number: int) -> tuple[Array, float]:
    """Return where the centres of so many spheres begin (n, 3), and half the width of the pit [m]."""
    edge = round(number ** (1.0 / 3.0))
    grid = np.array([(k % edge, k // edge % edge, k // edge**2) for k in range(number)], dtype=float)
    grid[:, :2] -= 0.5 * (edge - 1)
    found = 2.2 * RADIUS * grid + (0.0, 0.0, RADIUS + 5e-3)
    return found + np.random.default_rng(0).uniform(-4e-3, 4e-3, found.shape), 1.1 * RADIUS * edge + 0.02


def walls(width: float) -> list[tuple[Array, Array]]:
    """Return points of the planes of the pit and their normals, that of the floor first."""
    sides = [(-width, 0, 0), (width, 0, 0), (0, -width, 0), (0, width, 0)]
    return [(np.zeros(3), np.array([0.0, 0.0, 1.0])), *((np.array(p), -np.array(p) / width) for p in sides)]


def ours(number: int) -> tuple[sr.System, Array]:
    """Return the spheres in sarrus, and where they begin."""
    mechanism, (centres, width) = sr.Mechanism("heap", gravity=(0.0, 0.0, -9.81)), places(number)
    for k, (point, normal) in enumerate(walls(width)):
        across = np.cross((0.0, 1.0, 0.3), normal)
        across /= np.linalg.norm(across)
        turn = np.column_stack([across, np.cross(normal, across), normal])
        mechanism.add_geom(f"wall{k}", "world", "plane", pose=sr.Pose.of(point, rotation=turn))
    for k, centre in enumerate(centres):
        mechanism.add_body(f"b{k}", mass=1.0, inertia=(0.4 * RADIUS**2,) * 3)
        mechanism.add_joint(f"b{k}", "free", "world", f"b{k}", parent_pose=centre)
        mechanism.add_geom(f"b{k}", f"b{k}", "sphere", (RADIUS,))
    mechanism.add_geometry_contacts(friction_coefficient=FRICTION)
    system = sr.System(mechanism)
    return system, system.neutral()


def theirs(number: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return them in MuJoCo."""
    centres, width = places(number)
    text = f'<mujoco><option cone="elliptic" solver="Newton" timestep="{DT}"/><default><geom friction="{FRICTION}"/>'
    text += "</default><worldbody>"
    for point, normal in walls(width):
        where = " ".join(map(repr, map(float, point)))
        text += f'<geom type="plane" size="1 1 1" pos="{where}" zaxis="{normal[0]} {normal[1]} {normal[2]}"/>'
    for x, y, z in centres.tolist():
        text += f'<body pos="{x!r} {y!r} {z!r}"><freejoint/><geom size="{RADIUS}" mass="1"/></body>'
    model = mujoco.MjModel.from_xml_string(text + "</worldbody></mujoco>")
    return model, mujoco.MjData(model)


def stretch(number: int, name: str, system: sr.System, repeats: int) -> Row:
    """Return a row for runs of one length."""
    steps = round(STRETCHES[name] / DT)
    q, v, facts = system.neutral(), np.zeros(system.nv), dict[str, float]()
    options: dict[str, Any] = {
        "dt": DT,
        "error_estimate": False,
        "throw": False,
        "every": 1000,
        "progress": False,
    }
    model, data = theirs(number)

    def own() -> float:
        motion = sr.simulate(system, q, v, duration=STRETCHES[name], **options)
        gaps = [meeting.gap for meeting in motion.contact_log.at(len(motion.t) - 1)]
        facts.update(residual=motion.contact_residual, contacts=len(gaps), deepest=-min(gaps, default=0.0))
        return motion.wall_seconds / steps

    def other() -> float:
        mujoco.mj_resetData(model, data)
        began, iterations = perf_counter(), 0
        for _ in range(steps):
            mujoco.mj_step(model, data)
            iterations += int(data.solver_niter.sum())
        spent = perf_counter() - began
        facts["their_deepest"] = -float(min(data.contact.dist, default=0.0))
        facts["their_contacts"], facts["their_iterations"] = int(data.ncon), iterations / steps
        return spent / steps

    found = interleave(own, other, repeats)
    note = (
        f"dt {DT:g} s; laws of contact broken by {facts['residual']:.0e} of the largest force at the most, spheres "
        f"{max(facts['deepest'], 0.0):.0e} m in each other at the end; MuJoCo: default tolerance, "
        f"{facts['their_deepest']:.0e} m in each other"
    )
    return Row(
        name=f"step of {number} spheres, {name}",
        model="heap",
        ours_us=found.ours_us,
        conditions=conditions("mujoco", note=note, repeats=repeats),
        peer="MuJoCo, elliptic, Newton",
        peer_us=found.peer_us,
        ratio=found.ratio,
        at_least=round(1.0 / SLOWER, 2) if number == 64 else None,
        extra={"spheres": number, "stretch": name, **facts},
    )


def rows(quick: bool) -> list[Row]:
    """Return a row for every number of spheres and length of runs."""
    found = []
    for number in SIZES[:2] if quick else SIZES:
        system, _ = ours(number)
        found += [stretch(number, name, system, 1 if quick else 3) for name in STRETCHES]
    return found


def exponents(found: list[Row]) -> dict[str, tuple[float, float]]:
    """Return by stretch the exponents with which our times and those of MuJoCo grow with the number of spheres."""
    slopes = {}
    for name in STRETCHES:
        own = [row for row in found if row.extra["stretch"] == name]
        sizes = np.log([row.extra["spheres"] for row in own])
        slopes[name] = (
            float(np.polyfit(sizes, np.log([row.ours_us for row in own]), 1)[0]),
            float(np.polyfit(sizes, np.log([row.peer_us or np.nan for row in own]), 1)[0]),
        )
    return slopes
