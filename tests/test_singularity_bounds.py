"""Bounds, tasks, goals and terms of a distance to singular configurations: laws, designs, programs, exported C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import casadi as ca
import clarabel
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import brentq

import sarrus as sr
from c_code import Compiled
from families.near_singularities import check
from sarrus import control, synthesis
from sarrus.base.arrays import Array
from sarrus.control.quantities.quantities import quantity
from sarrus.control.quantities.singularity_measure import LEAST, LOG, MEASURES, SMOOTH, VOLUME
from test_singularity_measure import TIP, measure, planar_arm, seen

Example = Callable[[str], ModuleType]


def test_a_law_leaves_a_singular_start() -> None:
    """There the bound has no way out and is missed; the task leads out, and then the bound counts."""
    system = planar_arm()
    away = control.Bound(measure(TIP), lower=0.2, deceleration=3.0, name="away")
    law = control.TaskHierarchy(
        system, [away, control.Task(["shoulder", "elbow"], [0.5, -0.1], 60.0, 15.0, name="bend")]
    )
    start = law.solve([0.3, 0.0], [0.0, 0.0], throw=False)
    assert start.missed == ("away",)
    assert np.abs(start.u).max() < 100.0
    motion = sr.simulate(system, [0.3, 0.0], duration=3.0, control=law, sample_time=1e-3)
    assert seen(system, measure(TIP), motion.q[-1]) > 0.1999
    assert motion.q[-1, 1] < 0.0


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}, {"dt": 1e-3, "method": "moreau-jean"}])
def test_bounds_hold_in_every_kind_of_run(options: dict[str, Any]) -> None:
    """Told to go through the stretched arm: it stays at 0.2, on its side."""
    system = planar_arm()
    bounds = [control.Bound(measure(TIP), lower=0.2, deceleration=3.0, name="away")]
    law = control.ProjectedInverseDynamics(
        system, ["shoulder", "elbow"], [0.5, -0.8], stiffness=60.0, damping=15.0, bounds=bounds
    )
    seen_by = control.TaskSpace(system, measure(TIP))
    motion = sr.simulate(system, [0.2, 1.4], duration=3.0, control=law, **options)
    least = min(float(seen_by.kinematics(q).value[0]) for q in motion.q)
    assert 0.2 - 1e-9 < least < 0.2 + 1e-6
    runs = sr.rollout(system, np.array([[0.2, 1.4], [0.0, 1.0]]), duration=1.0, dt=1e-3, control=law)
    assert min(float(seen_by.kinematics(q).value[0]) for run in runs.q for q in run[::20]) > 0.2 - 1e-9


def least_controls(
    system: sr.System, law: control.TaskHierarchy, bound: Any, task: Any, q: Array, v: Array
) -> Array:
    """Return u of min ‖task missed‖ under the bound, a(u) from forward dynamics, by Clarabel."""
    nu = system.nu
    free = np.array(system.forward_dynamics(q, v, np.zeros(nu)).a)
    by = np.array([system.forward_dynamics(q, v, e).a - free for e in np.eye(nu)]).T
    (J, r), (Jb, rb) = task, bound
    T, d, G, h = J @ by, r - J @ free, Jb @ by, rb - Jb @ free
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-14
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(2 * T.T @ T), -2 * T.T @ d, sparse.csc_matrix(G), h,
        [clarabel.NonnegativeConeT(len(h))], settings,
    ).solve()  # fmt: skip
    return np.array(found.x)


def test_bound_is_the_quadratic_program() -> None:
    """An arm that runs towards being stretched: the bound is active, and u that of Clarabel."""
    system = planar_arm()
    part = measure(TIP)
    away = control.Bound(part, lower=0.2, rate=8.0, name="away")
    task = control.Task(["shoulder", "elbow"], [0.5, 0.0], 100.0, 20.0, name="stretch")
    law = control.TaskHierarchy(system, [away, task])
    active, fade = 0, quantity(system, part).fade
    for q2 in (0.9, 0.6, 0.52, 0.5, 0.45, 0.4):
        q, v = np.array([0.1, q2]), np.array([0.2, -1.0])
        found = control.TaskSpace(system, part).kinematics(q, v)
        x, rate = found.value[0], found.velocity[0]
        left = 8.0 * (x - 0.2) + rate  # s(d) less the speed towards the bound
        looser = min(np.exp(max(x - 0.2, 0.0) / fade), 1000.0) if left > 0.0 else 1.0
        bound = -found.jacobian, np.array([8.0 * looser * left + 8.0 * rate + found.bias[0]])
        wanted = np.eye(2), 100.0 * (np.array([0.5, 0.0]) - q) - 20.0 * v
        u = law.solve(q, v, throw=False).u
        assert_allclose(
            u, least_controls(system, law, bound, wanted, q, v), rtol=0, atol=1e-7 * max(1, np.abs(u).max())
        )
        a = np.array(system.forward_dynamics(q, v, u).a)
        row, right, nearest = bound[0][0], bound[1][0], wanted[1]
        nearest = nearest - max(row @ nearest - right, 0.0) * row / (row @ row)  # onto the half-space
        assert_allclose(a, nearest, rtol=0, atol=1e-9 * max(1, np.abs(wanted[1]).max()))
        slack = bound[1] - bound[0] @ a
        assert slack[0] > -1e-9
        active += int(slack[0] < 1e-9)
    assert active >= 2


@pytest.mark.parametrize("what", [SMOOTH, VOLUME, LOG])
def test_the_best_pose_is_passed_at_speed(what: str) -> None:
    """There the measure has no slope and falls by itself: nothing is asked for, but the task."""
    system = planar_arm()
    part = measure(TIP, measure=what)
    seen_by = control.TaskSpace(system, part)

    def slope(q2: float) -> float:
        return float(seen_by.kinematics([0.3, q2]).jacobian[0, 1])

    best = brentq(slope, 0.5, 3.0)
    lower = float(seen_by.kinematics([0.3, 0.4]).value[0])
    go = control.Task(["shoulder", "elbow"], [0.3, 0.6], 20.0, 9.0, name="go")
    laws = [
        control.TaskHierarchy(system, [*first, go])
        for first in ([], [control.Bound(part, lower=lower, name="away")])
    ]
    for offset in (-1e-3, 0.0, 1e-3):
        free, bounded = (law.solve([0.3, best + offset], [0.5, -8.0], throw=False).u for law in laws)
        assert_allclose(bounded, free, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 8])
def test_bounds_hold_in_random_mechanisms(seed: int) -> None:
    """Arms in the plane and in space, five-bars with redundant rows: values by hand, never nearer than the bound."""
    found = check(seed, duration=0.6)
    assert found.kept, found.label
    assert found.difference < 1e-9
    assert found.status in ("OK", "INACCURATE")


def test_measure_as_task_keeps_its_reference() -> None:
    system = planar_arm()
    part = measure(TIP, measure=VOLUME)
    law = control.TaskHierarchy(system, [control.Task(part, 0.3, 100.0, 20.0, name="manipulability")])
    motion = sr.simulate(system, [0.2, 1.4], duration=2.0, control=law)
    kappa = system.characteristic.length
    assert_allclose(0.77 * np.sin(motion.q[-1, 1]) / kappa**2, 0.3, atol=1e-7)


def test_platform_stays_a_tenth_away(example: Example) -> None:
    """A commanded orientation crosses the singular configurations of type 2; the bound keeps it on its side."""
    module = example("platform_singularity")
    bare, kept = (module.run(bounded) for bounded in (False, True))
    assert bare.least < 0.01 * bare.regular
    assert kept.least > 0.0999 * kept.regular
    assert kept.place_error < 5e-5
    assert kept.largest_torque < 0.02 * bare.largest_torque


def test_exported_law_has_the_bound(tmp_path: Path, example: Example) -> None:
    module = example("platform_singularity")
    system, law, q = module.law_of(bounded=True)
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), system)
    rng, got = np.random.default_rng(3), np.zeros(system.nu)
    for k in range(4):
        place = np.array(system.assemble(system.move(q, 0.1 * rng.standard_normal(system.nv))).q)
        v = np.array(system.project_velocity(place, rng.standard_normal(system.nv)))
        status = compiled.call("law", place, v, 0.3 * k, got)
        expected = law.solve(place, v, 0.3 * k, throw=False)
        assert status == expected.status
        assert_allclose(got, expected.u, rtol=0, atol=1e-10 * max(np.abs(expected.u).max(), 10.0))


def test_goal_of_a_design() -> None:
    """A crank of a four-bar that a rocker drives: gradients against differences, and a limit that is kept."""
    mechanism = sr.Mechanism("four-bar", gravity=(0, -9.81, 0))
    for name, length in (("crank", 0.1), ("coupler", 0.3), ("rocker", 0.25)):
        mechanism.add_body(name, 0.5, (length / 2, 0, 0), (1e-3, 1e-3, 1e-3))
    mechanism.add_joint("crank", "revolute", "world", "crank")
    mechanism.add_joint("coupler", "revolute", "crank", "coupler", parent_pose=(0.1, 0, 0))
    mechanism.add_joint("rocker", "revolute", "world", "rocker", parent_pose=(0.32, 0, 0))
    mechanism.add_closure("pin", "revolute", "coupler", "rocker", pose1=(0.3, 0, 0), pose2=(0.25, 0, 0))
    guess = np.array([0.0, 1.0, 2.0])
    turn = synthesis.sweep({"crank": np.arange(6) * np.pi / 3}, guess=guess)
    start = np.array(sr.System(mechanism).assemble(guess).q)

    def regular(what: str) -> Callable[[Any], Any]:
        return lambda s: s.quantity(measure(driven=["rocker"], measure=what, q=start))

    free = {"length": "pin.pose1.x", "ground": "rocker.placement.x"}
    problem = synthesis.Problem(
        mechanism, free, [synthesis.cost(regular(what), turn, name=what) for what in MEASURES]
    )
    value = problem.evaluate()
    for k, name in enumerate(free):
        step = 1e-5
        place = {"length": 0.3, "ground": 0.32}
        sides = [problem.evaluate({**place, name: place[name] + s}).cost for s in (step, -step)]
        assert_allclose(value.gradient[k], (sides[0] - sides[1]) / (2 * step), rtol=1e-6)
    limited = synthesis.Problem(
        mechanism,
        {"length": "pin.pose1.x"},
        [
            synthesis.squares(lambda s: s.parameters["length"] - 0.3, turn[:1], name="as it is"),
            synthesis.between(regular(LEAST), turn, 0.05, name="regular"),
        ],
        bounds={"length": (0.2, 0.5)},
    )
    design = limited.solve()
    assert design.success
    after = sr.System(design.mechanism)
    least = [seen(after, measure(driven=["rocker"], measure=LEAST, q=q), q) for q in design.q]
    before = limited.evaluate({"length": 0.3}).goals["regular"].min()
    assert min(least) > min(0.05, before) - 1e-3


def test_term_of_an_optimal_control_program() -> None:
    """The configuration nearest to a stretched arm that has a manipulability of c is at sin q₂ = c κ² / l₁ l₂."""
    system = planar_arm()
    f = system.to_casadi("quantity", quantity=measure(TIP, measure=VOLUME))
    q = ca.MX.sym("q", 2)
    value = f(q=q)["value"]
    solver = ca.nlpsol(
        "solver", "ipopt", {"x": q, "f": ca.sumsqr(q - ca.DM([0.4, 0.1])), "g": value},
        {"ipopt.print_level": 0, "print_time": False, "ipopt.tol": 1e-12},
    )  # fmt: skip
    found = solver(x0=[0.4, 0.9], lbg=0.3, ubg=ca.inf)
    assert solver.stats()["success"]
    angle = np.arcsin(0.3 * system.characteristic.length**2 / 0.77)
    assert_allclose(np.array(found["x"]).ravel(), [0.4, angle], atol=1e-7)
