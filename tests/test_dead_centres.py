"""Sliders with friction that start at their dead centre, against an integration of the crank's angle alone."""

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr

sys.path.insert(0, str(Path(__file__).resolve().parent / "families"))
import dead_centres
import implicit_phases


@pytest.mark.parametrize("first", [0, 12])
def test_starts_at_dead_centres_by_all_methods(first):
    for seed in range(first, first + 12):
        found = dead_centres.judge(seed)
        assert found.status == "OK", (seed, found)
        assert not found.wrong, (seed, found)


def test_forward_dynamics_has_the_friction_of_the_next_moment():
    case = replace(dead_centres.make(0), speed=0.0)
    q, v = dead_centres.start(case)
    u = [case.mass * case.length**2]
    found = case.system.forward_dynamics(q, v, u)
    slipping = np.sign(case.crank.geometry(case.crank.dead_centre(case.stretched))[5])
    assert_allclose(
        found.contacts.forces, -slipping * case.crank.friction * case.mass * case.length, rtol=1e-12
    )
    assert_allclose(found.a, case.system.forward_dynamics(q, v, u, contacts=False).a, atol=1e-9)


def test_what_slides_in_a_plane_stops_whatever_the_axes():
    """Across the plane the row of friction is rounding: no force belongs there, and no motion comes of it."""
    case = dead_centres.make(115)
    q, v = dead_centres.start(case)
    u = np.array([case.torque * case.mass * case.length**2])
    run = sr.simulate(case.system, q, v, duration=0.4, control=lambda q, v, t: u, throw=False)
    assert run.status.ok
    assert run.steps < 100
    own = list(case.system.coordinate_names).index("crank")
    assert_allclose(run.q[-1, own], 0.29195283433354563, atol=1e-9)


@pytest.mark.parametrize("seed", [375, 376])
def test_accelerations_far_above_gravity_leave_steps_as_long_as_they_are(seed):
    """A spring that gives 2e5 rad/s² beside a stop that holds: some thousand steps were rounding."""
    _, case = implicit_phases.make(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = sr.simulate(
            case.system, case.q, case.v, duration=8e-4, method=sr.Stepping(case.method, max_steps=2000), throw=False,
            error_estimate=False,
        )  # fmt: skip
    assert run.status.ok
    assert run.steps < 300
