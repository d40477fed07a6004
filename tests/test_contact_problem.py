"""`solve_contact_problem`: the laws of Signorini and Coulomb themselves, scenes with known truth, what is unique."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import contact_problems
import sarrus as sr
from sarrus.dynamics.optimize import ConeProgram, Mode, SolverStage, friction_cone, solve_contact_problem


@pytest.mark.parametrize("sizes", [contact_problems.USUAL, contact_problems.ROLLING])
@pytest.mark.parametrize("seed", range(8))
def test_random_problems_obey_the_laws(seed: int, sizes: tuple[int, ...]) -> None:
    """Masses over six decades, contacts repeated, without friction, of one to six rows, dry friction beside them."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        problem = contact_problems.random_problem(rng, sizes=sizes)
        found = solve_contact_problem(problem.rows, problem.velocities, problem.contacts, problem.dry)
        assert found.status is sr.Status.OK
        assert found.residual < 1e-10
        assert contact_problems.broken(problem, found) < 1e-9
        # no contact and no friction does work on the motion there is
        assert found.forces @ found.velocities < 1e-9 * (1.0 + np.abs(found.forces).max())


def test_a_block_sticks_or_slides_and_never_lifts() -> None:
    """The convex relaxation gives it μ ‖u_t‖ of normal velocity."""
    push, mu = np.array([-1.0, 3.0, 4.0]), 0.5
    found = solve_contact_problem(np.eye(3), push, [(3, mu)])
    assert found.modes == (Mode.SLIDING,)
    assert_allclose(found.forces, [1.0, -0.3, -0.4], atol=1e-15)
    assert_allclose(found.velocities, [0.0, 2.7, 3.6], atol=1e-15)
    cone = friction_cone(np.eye(3), coefficient=mu)
    relaxed = ConeProgram(3, linear=cone.linear, cones=cone.cones).solve(np.eye(3), push, cone.G, cone.h)
    lifted = relaxed.x + push
    assert lifted[0] == pytest.approx(mu * np.hypot(*lifted[1:]), rel=1e-9)
    assert lifted[0] > 0.1
    held = solve_contact_problem(np.eye(3), [-1.0, 0.3, 0.39], [(3, mu)])
    assert held.modes == (Mode.STICKING,)
    assert_allclose(held.velocities, 0.0, atol=1e-15)
    opened = solve_contact_problem(np.eye(3), [0.1, 0.3, 0.4], [(3, mu)])
    assert opened.modes == (Mode.OPEN,)
    assert not opened.forces.any()


def test_a_table_on_four_legs_has_loads_that_are_not_determined() -> None:
    """Those of least norm, the same on all legs where it is loaded in the middle; the three equations hold."""
    feet = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    rows = np.column_stack([np.ones(4), feet[:, 1], -feet[:, 0]])
    found = solve_contact_problem(rows, [-1.0] * 4, [(1, 0)] * 4)
    assert_allclose(found.forces, 0.25, atol=1e-14)
    assert not found.determined.any()
    tilted = rows @ np.array([-1.0, -0.3, 0.2])
    assert_allclose(solve_contact_problem(rows, tilted, [(1, 0)] * 4).change, [1.0, 0.3, -0.2], atol=1e-14)
    three = solve_contact_problem(rows[:3], [-1.0] * 3, [(1, 0)] * 3)
    assert three.determined.all()
    assert_allclose(three.forces, [0.0, 0.5, 0.5], atol=1e-14)


def test_what_is_repeated_shares_its_force() -> None:
    rng = np.random.default_rng(3)
    rows, b = rng.standard_normal((3, 5)), np.array([-1.0, 0.2, 2.0])
    one = solve_contact_problem(rows, b, [(3, 0.4)])
    two = solve_contact_problem(np.vstack([rows, rows]), [*b, *b], [(3, 0.4)] * 2)
    assert_allclose(two.velocities, [*one.velocities, *one.velocities], atol=1e-13)
    assert_allclose(two.forces, [*one.forces / 2, *one.forces / 2], atol=1e-12)
    assert one.determined.all()
    assert not two.determined.any()


def test_walls_that_close_in_are_infeasible_with_a_proof() -> None:
    rows, b = np.array([[1.0], [-2.0]]), np.array([-1.0, -1.0])
    found = solve_contact_problem(rows, b, [(1, 0)] * 2, throw=False)
    assert found.status is sr.Status.INFEASIBLE
    assert (found.forces >= 0.0).all()
    assert_allclose(rows.T @ found.forces, 0.0, atol=1e-12)
    assert b @ found.forces < 0.0
    with pytest.raises(sr.SolveError) as caught:
        solve_contact_problem(rows, b, [(1, 0)] * 2)
    assert caught.value.result.status is sr.Status.INFEASIBLE
    stuck = solve_contact_problem(np.zeros((3, 2)), [-1.0, 0.0, 0.0], [(3, 0.5)], throw=False)
    assert stuck.status is sr.Status.INFEASIBLE


def test_dry_friction_and_torsion() -> None:
    """A plate pressed down that slides and spins: both are slowed by one cone; joints with friction beside it."""
    held = solve_contact_problem(np.eye(2), [1.0, 0.3], [], [(1, 0.25), (1, 0.5)])
    assert_allclose(held.forces, [-0.25, -0.3])
    assert held.modes == (Mode.SLIDING, Mode.STICKING)
    disc = solve_contact_problem(np.eye(2), [3.0, 4.0], [], [(2, 1.0)])
    assert_allclose(disc.forces, [-0.6, -0.8], atol=1e-15)
    radius, mu = 0.1, 0.5
    rows = np.diag([1.0, 1.0, 1.0, radius])
    spun = solve_contact_problem(rows, rows @ [-1.0, 0.0, 0.0, 50.0], [(4, mu)])
    assert_allclose(spun.forces, [1.0, 0.0, 0.0, -mu], atol=1e-15)
    both = solve_contact_problem(rows, rows @ [-1.0, 3.0, 0.0, 40.0], [(4, mu)])
    slip = both.velocities[1:]
    assert_allclose(both.forces[1:], -mu * slip / np.linalg.norm(slip), atol=1e-14)


def test_no_friction_at_all_and_no_contact_at_all() -> None:
    smooth = solve_contact_problem(np.eye(3), [-1.0, 2.0, 0.0], [(3, 0.0)])
    assert_allclose(smooth.forces, [1.0, 0.0, 0.0], atol=1e-15)
    assert smooth.forces[1:].tolist() == [0.0, 0.0]
    assert smooth.modes == (Mode.SLIDING,)
    nothing = solve_contact_problem(np.zeros((0, 4)), [], [])
    assert nothing.status is sr.Status.OK
    assert nothing.change.tolist() == [0.0] * 4


def test_the_last_answer_begins_the_next_one() -> None:
    problem = contact_problems.random_problem(np.random.default_rng(11))
    found = solve_contact_problem(problem.rows, problem.velocities, problem.contacts, problem.dry)
    again = solve_contact_problem(
        problem.rows, problem.velocities, problem.contacts, problem.dry, start=found.forces
    )
    assert again.stage <= SolverStage.NEWTON
    assert again.steps <= 1
    assert_allclose(again.velocities, found.velocities, atol=1e-9 * np.abs(found.velocities).max())


def test_scales_do_not_matter() -> None:
    problem = contact_problems.random_problem(np.random.default_rng(5), most=6)
    plain = solve_contact_problem(problem.rows, problem.velocities, problem.contacts, problem.dry)
    for factor in (1e-6, 1e6):
        scaled = solve_contact_problem(
            factor * problem.rows,
            problem.velocities,
            problem.contacts,
            [(size, limit / factor**2) for size, limit in problem.dry],
        )
        assert_allclose(factor**2 * scaled.forces, plain.forces, atol=1e-9 * np.abs(plain.forces).max())


def test_newton_is_quadratic() -> None:
    """From forces that are off by 1e-4 it takes three steps or four: its derivatives are exact."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((9, 12))
    problem = rows, rng.standard_normal(9) - np.tile([3.0, 0.0, 0.0], 3), [(3, 0.1), (3, 0.4), (3, 2.0)]
    found = solve_contact_problem(*problem)
    assert {Mode.SLIDING, Mode.STICKING} <= set(found.modes)
    start = found.forces * (1.0 + 1e-4 * rng.standard_normal(9))
    again = solve_contact_problem(*problem, start=start)
    assert again.steps <= 4
    assert_allclose(again.forces, found.forces, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"contacts": [(3, np.nan)]}, r"contacts\[0\]"),
        ({"contacts": [(3, np.inf)]}, "finite number of at least 0"),
        ({"contacts": [(3, -0.1)]}, "at least 0"),
        ({"contacts": [(0, 0.5)]}, "at least one row"),
        ({"contacts": [(2, 0.5)]}, r"2 rows of contacts"),
        ({"rows": np.full((3, 3), np.nan)}, "finite"),
        ({"velocities": [1.0, np.inf, 0.0]}, "finite"),
        ({"start": [1.0]}, "start"),
        ({"contacts": [], "dry": [(3, np.inf)]}, r"dry\[0\]"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, object], words: str) -> None:
    arguments = {"rows": np.eye(3), "velocities": [1.0, 2.0, 3.0], "contacts": [(3, 0.5)], **change}
    with pytest.raises(sr.ArgumentError, match=words):
        solve_contact_problem(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("small", [1e-90, 1e-200, 1e-318])
def test_velocities_that_are_next_to_none(small: float) -> None:
    """What dry friction has stopped goes on by less and less: that is no infinite force of before."""
    found = solve_contact_problem([[1.0], [0.5]], [small, -small], [(1, 0.0)], [(1, 1e3)], start=[0.0, 1e-3])
    assert found.status is sr.Status.OK
    assert np.abs(found.forces).max() <= max(10.0 * small, 1e-14 * 1e-3)  # rounding of what it began with


def redundant(seed: int, contacts: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of contacts that all press on few motions, and velocities of one of these that closes them."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(3 * contacts, rank))
    H[::3] = np.abs(H[::3])  # one motion opens all of them
    return H, H @ (rng.normal(size=rank) - 2.0)


@pytest.mark.parametrize("seed", range(3))
def test_many_rows_of_small_rank(seed: int) -> None:
    """A hundred rows and more that press on six motions, as the points of two feet do."""
    H, b = redundant(seed, 40, 6)
    found = solve_contact_problem(H, b, [(3, 0.8)] * 40)
    assert found.residual < 1e-10
    force = found.forces.reshape(-1, 3)
    assert (np.hypot(force[:, 1], force[:, 2]) <= 0.8 * force[:, 0] + 1e-9 * np.abs(force).max()).all()
    assert (found.velocities[::3] >= -1e-9).all()
