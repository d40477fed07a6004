"""Contacts in exported C: gaps, rows, and steps that are those of runs with the method moreau-jean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from c_code import Compiled
from families import rope_friction, ropes
from sarrus.dynamics.contacts.contact_elements import contact_names
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.export.c import CExport
from test_rest_on_contacts import quadruped
from test_time_stepping import moving, point

MODELS = Path(__file__).parent.parent / "models"


def compiled(system: sr.System, folder: object, *functions: str, q: object = None) -> Compiled:
    """Return the export of a system, compiled."""
    export: CExport = sr.export.c_code(system, folder, functions, name="plant", q=q)
    return Compiled(export, system)


def test_gaps_and_rows(tmp_path) -> None:
    system, q = quadruped()
    code = compiled(system, tmp_path, "contacts", q=q)
    q = system.move(q, 0.1 * np.random.default_rng(0).standard_normal(system.nv))
    v = np.random.default_rng(1).standard_normal(system.nv)
    found = contact_row_state(system, q, v, 0.0)
    out = np.full(4 + 24 + 12 * system.nv + 1, 7.0)
    code.call("contacts", q, v, 0.0, out)
    parts = np.split(out, [4, 16, 28, 28 + 12 * system.nv])
    for part, wanted in zip(parts, (found.gaps, found.rates, found.bias, found.rows.ravel())):
        assert_allclose(part, wanted, rtol=1e-12, atol=1e-12)
    assert out[-1] == 7.0
    header = (tmp_path / "plant.h").read_text()
    for text in (
        "PLANT_CONTACT_FR_FOOT = 1",
        "PLANT_TOUCH_FR_FOOT_T2 = 5",
        "PLANT_FRICTION {0.6, 0.6, 0.6, 0.6}",
        "PLANT_POISSON {0, 0, 0, 0}",
    ):
        assert text in header


def steps(code: Compiled, q: object, v: object, h: float, count: int) -> tuple[np.ndarray, ...]:
    """Return q, v and forces after each step in C."""
    state, speed, t = np.array(q), np.array(v), np.zeros(1)
    forces = np.zeros(len(contact_names(code.system)))
    found = []
    for _ in range(count):
        assert code.call("contact_step", state, speed, None, t, None, h, forces) == 0
        found.append((state.copy(), speed.copy(), forces.copy()))
    assert t[0] == pytest.approx(h * count, rel=1e-12)
    return tuple(map(np.array, zip(*found)))


def test_steps_are_those_of_runs(tmp_path) -> None:
    """A quadruped that drops on its feet, slides and sags."""
    system, q = quadruped(friction=0.3)
    q = q.copy()
    q[2] += 0.01
    v = np.zeros(system.nv)
    v[0] = 0.5
    code = compiled(system, tmp_path, "contact_step", "contacts", q=q)
    motion = sr.simulate(system, q, v, duration=0.1, dt=1e-3, error_estimate=False)
    states, speeds, forces = steps(code, q, v, 1e-3, 100)
    assert_allclose(states, motion.q[1:], rtol=1e-7, atol=1e-7)
    assert_allclose(speeds, motion.v[1:], rtol=1e-6, atol=1e-6)
    assert_allclose(forces, motion.contact_forces[1:], rtol=1e-4, atol=1e-3)


def test_a_loop_that_falls_on_a_plane(tmp_path) -> None:
    """A five-bar, closed by redundant rows, whose tip meets a floor and slides; loops stay closed."""
    mechanism = sr.load(MODELS / "five_bar.xml")
    q = sr.System(mechanism).keyframe("symmetric").q
    positions, _ = sr.System(mechanism).body_placements(q)
    tip = list(mechanism.bodies)[1]
    at = positions[1]
    mechanism.add_contact(
        "tip", tip, friction="coulomb", friction_coefficient=0.3, offset=float(at[2]) - 0.05
    )
    system = sr.System(mechanism)
    code = compiled(system, tmp_path, "contact_step", q=q)
    motion = sr.simulate(system, q, duration=0.3, dt=1e-3, error_estimate=False)
    states, _, forces = steps(code, q, np.zeros(system.nv), 1e-3, 300)
    assert motion.contact_forces[:, 0].max() > 0.0
    assert_allclose(states, motion.q[1:], rtol=1e-8, atol=1e-8)
    assert_allclose(forces, motion.contact_forces[1:], rtol=1e-6, atol=1e-6)
    assert max(np.abs(system.constraint_residual(state)).max() for state in states) < 1e-12


def test_a_block_slides_and_stops(tmp_path) -> None:
    """v²/(2 μ g) of the closed form, with a static coefficient that holds it then."""
    system = point(0.3, static_coefficient=0.4)
    v = moving(system, vx=1.0)
    code = compiled(system, tmp_path, "contact_step")
    states, speeds, forces = steps(code, system.neutral(), v, 1e-3, 400)
    assert states[-1, 0] == pytest.approx(1.0 / (2.0 * 0.3 * 9.81), rel=1e-5)
    assert np.abs(states[:, 2]).max() < 1e-15
    assert np.abs(speeds[-1]).max() < 1e-14
    assert_allclose(forces[100], [2.0 * 9.81, -0.3 * 2.0 * 9.81, 0.0], rtol=1e-12)


def test_stops_and_dry_friction_without_contacts(tmp_path) -> None:
    mechanism = sr.Mechanism("slide", gravity=(-1.0, 0, 0))
    mechanism.add_body("slide", 2.0)
    mechanism.add_joint("x", "prismatic", "world", "slide", axis=(1, 0, 0), friction=0.5, limits=(0.0, 1.0))
    system = sr.System(mechanism)
    code = compiled(system, tmp_path, "contact_step")
    states, speeds, forces = steps(code, [0.5], [0.0], 1e-2, 200)
    assert states[-1, 0] == pytest.approx(0.0, abs=1e-15)
    assert speeds[-1, 0] == pytest.approx(0.0, abs=1e-15)
    assert states[40, 0] == pytest.approx(0.5 - 0.5 * 0.75 * 0.41**2, rel=1e-12)
    assert forces[-1, 0] + forces[-1, 2] == pytest.approx(2.0, rel=1e-9)  # the stop and friction hold 2 N
    motion = sr.simulate(system, [0.5], duration=2.0, dt=1e-2, method="moreau-jean", error_estimate=False)
    assert_allclose(states, motion.q[1:], atol=1e-12)


def test_a_system_without_contacts_says_so(tmp_path) -> None:
    mechanism = sr.Mechanism("free")
    mechanism.add_body("free", 2.0)
    mechanism.add_joint("x", "prismatic", "world", "free")
    for function in ("contacts", "contact_step"):
        with pytest.raises(sr.ArgumentError, match=f"asks for {function}, but the system has n"):
            sr.export.c_code(sr.System(mechanism), tmp_path, [function])


def test_ropes_and_friction_along_lengths(tmp_path) -> None:
    """An Atwood machine on a floor that goes slack, with a brake along the length of a second tendon."""
    mechanism = ropes.atwood().mechanism
    mechanism.add_tendon("brake", {"two": 1.0, "one": 0.5}, friction=1.5)
    system = sr.System(mechanism)
    q, v = np.array([-1.0, -1.0]), np.zeros(2)
    code = compiled(system, tmp_path, "contact_step", q=q)
    motion = sr.simulate(system, q, v, duration=1.2, dt=2e-3, error_estimate=False)
    assert motion.contact_row_names == ("floor.n", "floor.t1", "floor.t2", "rope.tension", "brake.friction")
    states, speeds, forces = steps(code, q, v, 2e-3, 600)
    assert motion.tensions["rope"].min() == 0.0 < motion.tensions["rope"][-1]
    assert_allclose(states, motion.q[1:], rtol=1e-9, atol=1e-9)
    assert_allclose(speeds, motion.v[1:], rtol=1e-9, atol=1e-9)
    assert_allclose(forces, motion.contact_forces[1:], rtol=1e-6, atol=1e-6)


def test_a_rope_with_friction_at_a_wrap(tmp_path) -> None:
    """Masses over a post slide, stop and slide back, as in the steps here."""
    system = rope_friction.over_post(2.0, 1.0, 0.2)
    q, v = np.array([-1.0, -1.0]), np.array([0.4, -0.4])
    code = compiled(system, tmp_path, "contact_step", q=q)
    motion = sr.simulate(system, q, v, duration=0.2, dt=2e-3, error_estimate=False)
    assert motion.contact_row_names == ("rope.tension", "rope.grip")
    states, speeds, forces = steps(code, q, v, 2e-3, 100)
    assert forces[0, 1] < 0.0 < forces[-1, 1]
    assert_allclose(states, motion.q[1:], rtol=1e-12, atol=1e-12)
    assert_allclose(speeds, motion.v[1:], rtol=1e-11, atol=1e-11)
    assert_allclose(forces, motion.contact_forces[1:], rtol=1e-9, atol=1e-9)
