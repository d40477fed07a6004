"""Levels of tasks that the limits do not allow, one after the other: against another solver, level by level."""

from __future__ import annotations

from itertools import pairwise

import clarabel
import numpy as np
import pytest
from scipy import sparse

from legged_robots import LEGS, ByHand, moving, quadruped, rows_of, slack
from sarrus import control
from sarrus.base.errors import SolveError

MU = 0.6
STANCES = (LEGS, LEGS[1:], ("FL", "RR"), ("FR", "RL", "RR"))


@pytest.fixture(scope="module")
def robot():
    return quadruped(MU)


def random_tasks(rng, stand):
    """Return two to four tasks in random order, some of which contradict each other."""
    made = (
        lambda name: control.Task(control.orientation("trunk"), 0.1 * rng.normal(size=3), 30, 8, name=name),
        lambda name: control.Task(control.centre_of_mass("z"), 0.407 + 0.1 * rng.normal(), 30, 8, name=name),
        lambda name: control.Task(control.centre_of_mass("xy"), 1.5 * rng.normal(size=2), 30, 8, name=name),
        lambda name: control.Task(control.orientation("trunk", "z"), rng.normal(), 30, 8, name=name),
        lambda name: control.Task(
            control.point("trunk", (0.2, 0, 0)), stand[:3] + 0.5 * rng.normal(size=3), 30, 8, name=name
        ),
    )
    return tuple(made[k](f"task{j}") for j, k in enumerate(rng.permutation(5)[: rng.integers(2, 5)]))


def least_misses(system, q, v, tasks, closed, limit, coefficient=MU):
    """Return what each level misses at the least, with those before it as they are; None where the solver fails.

    A level is a task or several, of which lengths are measured by the characteristic one, angles in radians.
    """
    hand = ByHand(system, q, v, closed, coefficient=coefficient, limit=limit)
    length = system.characteristic.length
    A, b, k, n, missed = hand.A, hand.b, hand.rows, len(hand.c), []
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    for task in tasks:
        rows = [rows_of(system, part, q, v) for part in (task if isinstance(task, tuple) else (task,))]
        own, r = (np.concatenate(parts) for parts in zip(*rows))
        if isinstance(task, tuple):
            sizes = [1.0 if "orientation" in part.quantity.trace.__qualname__ else length for part in task]
            factors = np.repeat(1.0 / np.array(sizes), [len(own) for own, _ in rows])
            own, r = factors[:, None] * own, factors * r
        J = np.zeros((len(r), n))
        J[:, hand.a] = own
        cones = [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(k.linear)]
        cones += [clarabel.SecondOrderConeT(size) for size in k.cones]
        found = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(2.0 * J.T @ J)), -2.0 * J.T @ r, sparse.csc_matrix(np.vstack([A, k.G])),
            np.concatenate([b, k.h]), cones, settings,
        ).solve()  # fmt: skip
        if "Solved" not in str(found.status):
            return None
        x = np.array(found.x)
        missed.append(float(np.linalg.norm(J @ x - r)))
        A, b = np.vstack([A, J]), np.concatenate([b, J @ x])
    return np.array(missed)


@pytest.mark.parametrize("seed", range(40))
def test_each_level_is_as_near_as_it_can_be(robot, seed):
    """Whatever levels follow: none disturbs those before it, and all limits hold."""
    system, stand = robot
    rng = np.random.default_rng(seed)
    tasks, closed = random_tasks(rng, stand), STANCES[rng.integers(4)]
    limit = float(rng.choice([15.0, 25.0, 40.0]))
    q, v = moving(system, stand, int(rng.integers(1e6)), float(rng.choice([0.03, 0.1])))
    told = []
    for count in range(1, len(tasks) + 1):
        law = control.LeggedController(system, tasks[:count], limits=(-limit, limit))
        for name in law.terms.names:
            law.settings[f"{name}.closed"] = float(name in closed)
        try:
            told.append(law.solve(q, v, throw=False))
        except SolveError:  # no forces at all keep the robot's feet where they are
            assert least_misses(system, q, v, tasks[:1], closed, limit) is None
            return
    alone = [[level.residual for level in one.levels[1:]] for one in told]
    for before, after in pairwise(alone):
        np.testing.assert_allclose(after[: len(before)], before, rtol=1e-7, atol=1e-7)
    forces = {name: force for name, force in told[-1].contact_forces.items() if name in closed}
    assert slack(forces, MU) > -1e-9 * max(np.abs(force).max() for force in forces.values())
    assert np.abs(told[-1].u).max() <= limit
    truth = least_misses(system, q, v, tasks, closed, limit)
    if truth is not None:
        missed = np.flatnonzero(truth > 1e-6)
        first = int(missed[0]) + 1 if len(missed) else len(truth)
        assert (np.array(alone[-1])[:first] <= truth[:first] * (1.0 + 1e-6) + 1e-6).all()
        # Below that the solver's digits give it some freedom: cones bend by the square.
        assert (np.array(alone[-1]) <= truth * (1.0 + 1e-3) + 1e-3).all()


def test_a_level_misses_no_more_than_it_must_where_limits_bind_lightly(robot):
    """On feet that slip a level is nearly as near in quite other forces; it is to go all the way, from any start."""
    system, stand = robot
    trunk = (
        control.Task(control.orientation("trunk"), np.zeros(3), 200, 25, name="upright"),
        control.Task(control.centre_of_mass("z"), 0.407, 200, 25, name="height"),
    )
    coefficient, few, warm = 0.12, dict.fromkeys(LEGS, 0.12), None
    (one, v), (other, _) = moving(system, stand, 3, 0.03), moving(system, stand, 4, 0.03)
    for part in np.linspace(0.0, 0.25, 12):
        q = (1.0 - part) * one + part * other
        law = control.LeggedController(system, [trunk], coefficients=few)
        warm = warm or law
        told = [each.solve(q, part * v, throw=False) for each in (law, warm)]
        assert {each.outcome for each in told} == {"relaxed"}
        truth = least_misses(system, q, part * v, [trunk], LEGS, 40.0, coefficient)[0]
        missed = np.array([each.levels[1].residual for each in told])
        assert (missed <= truth * (1.0 + 2e-8)).all()
        assert (missed >= truth * (1.0 - 1e-6)).all()  # the solver's digits
        np.testing.assert_allclose(told[1].u, told[0].u, rtol=0, atol=2e-9 * np.abs(told[0].u).max())


def test_all_levels_weigh_the_same_where_that_is_asked_for(robot):
    """One weight for all trades the first level for the last; in order the first is kept."""
    system, stand = robot
    tasks = (
        control.Task(control.centre_of_mass("z"), 0.407, 30, 8, name="height"),
        control.Task(control.centre_of_mass("xy"), (1.0, 0.0), 30, 8, name="push"),
    )
    q, v = moving(system, stand, 3, 0.03)
    weighed, ordered = (
        control.LeggedController(system, tasks, relaxation=rho).solve(q, v, throw=False).levels
        for rho in (1e6, None)
    )
    assert weighed[1].residual > 0.1
    assert ordered[1].residual < 1e-9
    assert ordered[2].residual > weighed[2].residual
