"""`Regulation`: the regulator of Aghili 2022, eq. (22), as a level of laws with contacts."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from legged_robots import LEGS, moving, quadruped
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.impacts.activity import gaps

SPRING, HEIGHT = np.array([2000.0, 2000.0, 4000.0]), 0.40
DAMPER = np.r_[np.full(6, 20.0), np.full(12, 2.0)]


def regulating(system, **options):
    centre = control.Regulation(control.centre_of_mass(), [0.0, 0.0, HEIGHT], SPRING, DAMPER)
    return control.LeggedController(system, [centre], **options)


def test_it_is_the_constrained_motion_between_springs_and_dampers():
    """M a = M a_0 + Aᵀλ with the force of eq. (22) in the place of the controls, on four feet that stay."""
    system, stand = quadruped(0.8)
    law = regulating(system)
    q, v = moving(system, stand, 5, 0.02)
    told = law.solve(q, v)
    assert told.outcome == "exact"
    terms = law.native(law.arrays.input)
    A = terms[law.native.outputs["demands"][0]].reshape(-1, system.nv)[:12]
    wanted = terms[law.native.outputs["wanted"][0]][:12]
    M, free = system.mass_matrix(q), system.passive_force(q, v) - system.bias_force(q, v)
    still = np.zeros(system.nv)
    gravity = system.bias_force(q, still) - system.passive_force(q, still)
    whole = system.centroidal(q, v)
    pull = (whole.matrix[:3] / whole.mass).T @ (SPRING * (np.array([0.0, 0.0, HEIGHT]) - whole.centre))
    kkt = np.block([[M, A.T], [A, np.zeros((12, 12))]])
    expected = np.linalg.solve(kkt, np.r_[free + gravity - DAMPER * v + pull, wanted])[: system.nv]
    forces = np.concatenate([told.contact_forces[leg] for leg in LEGS])
    a = np.linalg.solve(M, free + system.actuation_matrix(q) @ told.u + A.T @ forces)
    np.testing.assert_allclose(a, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_the_robot_comes_to_rest_where_it_is_pulled():
    """On a floor with friction, from a stand that is 2 cm lower and pushed: the energy of springs and motion falls."""
    quadrupeds = load_example("quadruped_gaits")
    plant, model = quadrupeds.robot(0.7), quadruped(0.5)[0]
    law = regulating(model, largest_force=250.0)
    q = np.array(model.mechanism.keyframes["stand"].q)
    q[2] -= min(gaps(plant, q).values())
    v = np.zeros(model.nv)
    run = sr.simulate(
        plant,
        q,
        v,
        duration=2.5,
        dt=1e-3,
        sample_time=2e-3,
        control=lambda q, v, t: law.sample(q, v, t, 2e-3),
    )
    whole = model.centroidal(run.q[-1])
    np.testing.assert_allclose(whole.centre, [0.0, 0.0, HEIGHT], atol=2e-3)
    assert np.abs(run.v[-1]).max() < 0.01


def test_cones_and_limits_hold_where_springs_pull_too_hard():
    system, stand = quadruped(0.3)
    hard = control.Regulation(
        control.centre_of_mass(), [0.5, 0.0, HEIGHT], 50.0 * SPRING, DAMPER, name="pull"
    )
    law = control.LeggedController(system, [hard], limits=(-20.0, 20.0))
    told = law.solve(stand, np.zeros(system.nv))
    assert told.outcome == "relaxed"
    assert np.abs(told.u).max() <= 20.0
    assert all(np.hypot(f[1], f[2]) <= 0.3 * f[0] + 1e-7 for f in told.contact_forces.values())
    law.settings["pull.target[0]"] = 0.0
    law.settings["pull.stiffness[0]"] = 10.0


def test_it_is_a_level_of_its_own():
    system, _ = quadruped(0.5)
    centre = control.Regulation(control.centre_of_mass(), [0.0, 0.0, HEIGHT], SPRING, DAMPER)
    with pytest.raises(ArgumentError, match="a Regulation is a level of its own"):
        control.LeggedController(system, [[centre, control.Task("FL_knee", 0.0)]])
