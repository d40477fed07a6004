"""Limits that are far away, and limits of what nothing can change, do not disturb cone programs and laws."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from sarrus import control
from sarrus.dynamics.optimize import bounds, friction_cone, solve_cone_program, stack


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("far", [1e3, 1e6, 1e10, 1e15])
def test_bounds_far_away_change_no_solution(seed, far):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(9, 9))
    P, q = root @ root.T + 0.1 * np.eye(9), 10.0 * rng.normal(size=9)
    cones = [friction_cone(np.eye(9)[[k, k + 1, k + 2]], coefficient=0.4) for k in (0, 3, 6)]
    near = stack(cones)
    alone = solve_cone_program(P, q, near.G, near.h, linear=near.linear, cones=near.cones)
    both = stack([bounds(np.full(9, -far), np.full(9, far)), *cones])
    wide = solve_cone_program(P, q, both.G, both.h, linear=both.linear, cones=both.cones)
    np.testing.assert_allclose(wide.x, alone.x, atol=1e-9 * (1.0 + np.abs(alone.x).max()))


def grasp(**options):
    """Return a law that holds the object of the grasp at rest, and where."""
    example = load_example("three_finger_grasp")
    system = sr.System(example.build())
    tasks = [[
        control.Task(control.point("object"), (0.0, 0.0, example.HEIGHT), name="position"),
        control.Task(control.orientation("object"), (0.0, 0.0, 0.0), name="orientation"),
    ]]  # fmt: skip
    law = control.LeggedController(system, tasks, weights=example.LOSS, **options)
    return law, system.neutral(), np.zeros(system.nv)


@pytest.mark.parametrize("limit", [1.0, 1e4, 1e10, np.inf])
def test_limits_of_a_motor_that_nothing_free_drives(limit):
    # The swings hold still by symmetry whatever the squeeze is: their limits are rows of rounding errors.
    law, q, v = grasp(limits=(-limit, limit), largest_force=1e10)
    normals = [force[0] for force in law.solve(q, v).contact_forces.values()]
    np.testing.assert_allclose(normals, 0.3 * 9.81 / (3 * 0.5), rtol=1e-9)


@pytest.mark.parametrize("limit", [1.0, 0.0, -1e-17])
def test_rows_that_are_rounding_hold_nothing(limit):
    G = np.array([[1.0, 2.0], [3e-17, -1e-17]])
    found = solve_cone_program(np.eye(2), [-1.0, -2.0], G, [4.0, limit])
    np.testing.assert_allclose(found.x, [0.8, 1.6], atol=1e-9)


def test_a_motion_given_up_for_limits_names_them():
    """Weak motors of the bends alone; where these are strong, those of the lifts with the friction at their fingers."""
    law, q, v = grasp(limits=(-0.05, 0.05))
    told = law.solve(q, v, throw=False)
    assert told.outcome == "relaxed"
    assert set(told.conflict) == {f"actuator '{finger}_bend'" for finger in "abc"}
    strong = np.where([name.endswith("bend") for name in law.system.actuator_names], 1.0, 0.05)
    reached = grasp(limits=(-strong, strong))[0].solve(q, v, throw=False)
    expected = [f"{what}'" for finger in "abc" for what in (f"actuator '{finger}_lift", f"contact '{finger}")]
    assert set(reached.conflict) == set(expected)
    with pytest.raises(
        sr.SolveError, match=r"relaxed: position, orientation, because of the limits of .*'a_bend'"
    ):
        law.solve(q, v)
