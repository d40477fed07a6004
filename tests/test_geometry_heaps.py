"""Boxes and other bodies that fall on each other: redundant contacts that do not quite agree, at rest in the end."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from geometry_scenes import add_free, cube, run, scene
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.platform.c_function import contact_problem

KINDS = {
    "box": lambda half: half, "mesh": lambda half: (), "sphere": lambda half: half[:1],
    "capsule": lambda half: half[:2], "cylinder": lambda half: half[:2], "ellipsoid": lambda half: half,
}  # fmt: skip


def thrown(kinds, rng, friction=0.5):
    """Return a system of bodies above a floor, one above the other, and q and v with which they are thrown."""
    mechanism = scene("heap")
    for k, kind in enumerate(kinds):
        half = rng.uniform(0.06, 0.12, 3)
        shape = {"points": cube(half[0]) * (1.0, 1.3, 0.8)} if kind == "mesh" else {}
        place = (*rng.uniform(-0.2, 0.2, 2), 0.3 + 0.4 * k)
        add_free(mechanism, f"b{k}", kind, KINDS[kind](half), place, float(rng.uniform(0.5, 2.0)), **shape)
    mechanism.add_geometry_contacts(friction_coefficient=friction, closed_form=False)
    system = sr.System(mechanism)
    q = system.neutral().copy()
    turns = rng.normal(size=(len(kinds), 4))
    q.reshape(-1, 7)[:, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    return system, q, rng.normal(size=system.nv)


@pytest.mark.parametrize("seed", range(4))
def test_boxes_come_to_rest_in_a_heap(seed):
    """Corners that cannot all be closed at once throw nothing away: they flew to 1e21 m."""
    system, q, v = thrown(["box"] * 6, np.random.default_rng(seed))
    motion = run(system, q, v, duration=2.5)
    assert motion.status.ok
    assert motion.contact_residual < 1e-8
    change = np.ptp(motion.energy)
    assert (motion.energy - np.minimum.accumulate(motion.energy)).max() < 2e-3 * change
    assert np.abs(motion.energy[0] - motion.energy - motion.contact_loss).max() < 1e-2 * change
    assert np.abs(motion.v[-1]).max() < 1e-5
    weight = 9.81 * sum(body.mass for body in system.mechanism.bodies.values())
    carried = sum(
        force for name, force in motion.contact_log.forces(len(motion.t) - 1).items() if "floor" in name
    )
    assert carried[2] == pytest.approx(weight, rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_bodies_of_all_kinds_create_no_energy(seed):
    rng = np.random.default_rng(seed)
    kinds = [str(kind) for kind in rng.choice(list(KINDS), rng.integers(2, 7))]
    system, q, v = thrown(kinds, rng, friction=float(rng.choice([0.0, 0.3, 1.0])))
    motion = run(system, q, v, duration=1.2)
    assert motion.status.ok
    assert motion.contact_residual < 1e-8
    change = np.ptp(motion.energy)
    assert (motion.energy - np.minimum.accumulate(motion.energy)).max() < 2e-3 * change


def test_rows_agree_on_their_turn():
    """Of what is given as turn the part that no motion has is taken off: what is left is solved to rounding."""
    rng = np.random.default_rng(0)
    corners = [np.array([x, y, -0.1]) for x in (0.1, -0.1) for y in (0.08, -0.08)]
    rows = []
    for corner in corners:
        crossed = np.cross(corner, np.eye(3)[[2, 0, 1]])
        rows.append(np.hstack([np.eye(3)[[2, 0, 1]], crossed / 0.07]))
    H = np.vstack(rows)
    for size in (1e-9, 1e-6, 1e-3):
        turn = size * rng.normal(size=12)
        free = H @ np.array([1e-7, 2e-7, -1.0, 0.1, -0.2, 1e-7])
        ours, residual = solve(H, free + turn, turn)
        assert residual < 1e-11
        agreed = free + H @ np.linalg.lstsq(H, turn, rcond=None)[0]
        exact = sr.optimize.solve_contact_problem(H, agreed, [(3, 0.5)] * 4)
        np.testing.assert_allclose(H.T @ ours, exact.change, atol=1e-7 * max(1.0, size / 1e-6))


def solve(H, b, turn):
    """Return the forces of a contact problem as steps in time pose it, and their residual."""
    m, blocks = len(b), len(b) // 3
    table, forces = cp.ContactProblem.zeros(), np.zeros(m)
    work = np.zeros(sum(cp.contact_sizes(m, blocks, m * m)))
    sizes, numbers, operator = np.full(blocks, 3), np.full(blocks, 0.5), H @ H.T
    table.rows, table.blocks, table.contacts = m, blocks, blocks
    table.sizes, table.numbers, table.delassus = sizes, numbers, operator
    table.velocities, table.turn, table.forces, table.work = b, turn, forces, work
    assert contact_problem.entry(table.ctypes.data, forces.ctypes.data, 5) == cp.SOLVED
    return forces, work.view(cp.ContactFacts).residual


@pytest.mark.parametrize("kind", ["sphere", "box"])
def test_walls_that_close_in_end_a_run_by_name(kind):
    """Between two driven walls no motion keeps both from closing further: an error, no run that never ends."""
    mechanism = scene("vice", floor=False)
    add_free(mechanism, "b", kind, KINDS[kind](np.full(3, 0.1)))
    for name, side in (("left", -1), ("right", 1)):
        mechanism.add_body(name)
        mechanism.add_joint(name, "fixed", "world", name)
        mechanism.drive(name, lambda t, side=side: (side * (0.35 - t), 0, 0))
        mechanism.add_geom(name, name, "box", (0.15, 0.5, 0.5))
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), throw=False)
    assert motion.status is sr.Status.INFEASIBLE
    assert "no motion keeps these contacts from closing further: b-left, b-right" in motion.message
    assert motion.t[-1] == pytest.approx(0.1, abs=2e-3)
