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


@pytest.mark.parametrize("kind", ["sphere", "box"])
def test_contacts_of_a_narrow_phase_rub_as_at_the_next_moment(kind):
    """A slider on a geometry; the reference are Newton and Euler body by body, with the slip of the geometry."""
    for seed in (12, 36):
        known = dead_centres.mechanism(seed // 12)[0]
        model = sr.Mechanism("crank", gravity=(0, 0, -known.gravity))
        for name, mass, size in (("crank", known.crank, known.r), ("rod", known.rod, known.l)):
            model.add_body(name, mass, com=(size / 2, 0, 0), inertia=(known.turns * mass * size**2,) * 3)
        model.add_body("guide", 1e-12, inertia=(1e-12,) * 3)
        model.add_body("slider", known.slider, inertia=(0.01,) * 3)
        model.add_joint("crank", "revolute", "world", "crank", axis=(0, -1, 0))
        model.add_joint("rod", "revolute", "crank", "rod", axis=(0, -1, 0), parent_pose=(known.r, 0, 0))
        model.add_joint("x", "prismatic", "world", "guide", axis=(1, 0, 0), parent_pose=(0, 0, known.offset))
        model.add_joint("z", "prismatic", "guide", "slider", axis=(0, 0, 1))
        model.add_closure("pin", "point", "rod", "slider", pose1=(known.l, 0, 0))
        model.add_actuator("motor", "crank")
        model.add_geom("floor", "world", "plane", pose=(0, 0, known.offset - 0.05))
        model.add_geom("shoe", "slider", kind, (0.05,) * (3 if kind == "box" else 1), friction=known.friction)
        model.add_geometry_contacts(closed_form=False)
        system = sr.System(model)
        for stretched in (True, False):
            angle = known.dead_centre(stretched)
            sb, cb, b1, _, _, x2 = known.geometry(angle)
            q = np.array([angle, np.arctan2(sb, cb) - angle, known.r * np.cos(angle) + known.l * cb, 0.0])
            for speed, torque in ((0.0, 0.3), (0.4, -0.2)):
                v = np.array([speed, (b1 - 1.0) * speed, 0.0, 0.0])
                found = system.forward_dynamics(q, v, np.array([torque]))
                wanted = known.sliding(angle, speed, torque, np.sign(x2))
                assert_allclose(found.a[0], wanted, rtol=1e-8)
                normal, rub = (found.contacts.forces.reshape(-1, 3).sum(axis=0)[k] for k in (0, slice(1, 3)))
                assert found.contacts.status.ok
                assert normal > 0.0
                assert_allclose(np.linalg.norm(rub), known.friction * normal, rtol=1e-9)
