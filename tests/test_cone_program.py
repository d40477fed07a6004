"""Cone programs: closed forms, conditions of optimality, degenerate and impossible programs."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.clarabel_peer import clarabel_solver
from benchmarks.cone_instances import FAMILIES, instance
from benchmarks.cones import VERDICTS

from cone_precision import refined
from cone_programs import Array, Program, check, depth, of_family, random_program
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.optimize import (
    ConeProgram,
    ConeRows,
    bounds,
    friction_cone,
    quadratic_constraint,
    solve_cone_program,
    stack,
)

WEIGHT = 1.2 * 9.81  # N


# --- closed forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("force", "nearest"),
    [
        ((2.0, 3.0, 4.0), (3.448275862068965, 0.827586206896552, 1.103448275862069)),
        ((-1.0, 3.0, 4.0), (0.862068965517241, 0.206896551724138, 0.275862068965517)),
        ((-3.0, 3.0, 4.0), (0.0, 0.0, 0.0)),
        ((1.0, 0.1, 0.2), (1.0, 0.1, 0.2)),
    ],
)
def test_projection_on_a_cone(force: tuple, nearest: tuple) -> None:
    """The nearest point of the friction cone of μ = 0.4: side, side, apex, and the force itself."""
    r = friction_cone(np.eye(3), coefficient=0.4)
    found = solve_cone_program(np.eye(3), -np.array(force), r.G, r.h, cones=r.cones)
    np.testing.assert_allclose(found.x, nearest, rtol=0, atol=1e-14)
    check(Program(np.eye(3), -np.array(force), r.G, r.h, np.zeros((0, 3)), np.zeros(0), 0, r.cones), found)


def grasp(normals: list, mu: float, limit: bool) -> tuple[Array, Array, ConeRows, Array]:
    """Return equilibrium A x = b under the weight along −z for point fingers at the tips of −normals, and their cones.

    x is (n, t_vertical, t_horizontal) of each finger, and if ``limit`` a bound on the lengths of all forces.
    """
    count = 3 * len(normals) + limit
    A, cones = np.zeros((6, count)), []
    for k, normal in enumerate(np.array(normals, dtype=float)):
        up = np.array([0.0, 0.0, 1.0])
        axes = np.array([normal, up, np.cross(normal, up)])
        A[:3, 3 * k : 3 * k + 3] = axes.T
        A[3:, 3 * k : 3 * k + 3] = np.cross(-normal, axes).T
        force = np.eye(3, count, 3 * k)
        cones.append(friction_cone(force, coefficient=mu))
        if limit:
            cones.append(ConeRows(-np.vstack([np.eye(1, count, count - 1), force]), np.zeros(4), 0, (4,)))
    return A, np.array([0.0, 0.0, WEIGHT, 0.0, 0.0, 0.0]), stack(cones), np.eye(1, count, count - 1)[0]


def test_two_antipodal_fingers() -> None:
    """Least sum of normal forces: n = m g / 2 μ, t = m g / 2; least largest force: m g / 2 √(1 + 1/μ²)."""
    fingers = [[1, 0, 0], [-1, 0, 0]]
    A, b, r, _ = grasp(fingers, 0.5, False)
    found = solve_cone_program(np.zeros((6, 6)), [1.0, 0, 0, 1, 0, 0], r.G, r.h, A, b, cones=r.cones)
    np.testing.assert_allclose(found.x, [11.772, 5.886, 0, 11.772, 5.886, 0], rtol=0, atol=1e-12)
    assert found.cost == pytest.approx(2 * 11.772, rel=1e-14)
    assert found.rank == 5  # the fingers cannot turn it about the line between them
    A, b, r, last = grasp(fingers, 0.5, True)
    found = solve_cone_program(np.zeros((7, 7)), last, r.G, r.h, A, b, cones=r.cones)
    assert found.cost == pytest.approx(13.161496115563763, rel=1e-12)


def test_three_fingers_on_a_cylinder() -> None:
    angles = 2.0 * np.pi / 3.0 * np.arange(3)
    A, b, r, _ = grasp([[np.cos(a), np.sin(a), 0.0] for a in angles], 0.5, False)
    found = solve_cone_program(np.zeros((9, 9)), np.tile([1.0, 0.0, 0.0], 3), r.G, r.h, A, b, cones=r.cones)
    assert found.cost == pytest.approx(23.544, rel=1e-13)
    np.testing.assert_allclose(found.x[::3], 7.848, rtol=1e-12)


def test_quadratic_constraint_as_a_disc() -> None:
    """The nearest point of the disc of radius 2 about (1, 1): on the line to its centre."""
    r = quadratic_constraint(2.0 * np.eye(2), [-2.0, -2.0], 2.0 - 4.0)
    found = solve_cone_program(np.eye(2), [-4.0, -5.0], r.G, r.h, cones=r.cones)
    np.testing.assert_allclose(found.x, 1.0 + 2.0 * np.array([3.0, 4.0]) / 5.0, rtol=0, atol=1e-13)


def test_linear_programs() -> None:
    """x + y ≥ 1 in the positive quadrant: a corner for the cost (1, 2), a whole side for (1, 1)."""
    r = stack([bounds(np.zeros(2)), ConeRows(np.array([[-1.0, -1.0]]), np.array([-1.0]), 1)])
    corner = solve_cone_program(np.zeros((2, 2)), [1.0, 2.0], r.G, r.h)
    np.testing.assert_allclose(corner.x, [1.0, 0.0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(corner.dual, [0.0, 1.0, 1.0], rtol=0, atol=1e-14)
    side = solve_cone_program(np.zeros((2, 2)), [1.0, 1.0], r.G, r.h)
    assert side.cost == pytest.approx(1.0, abs=1e-14)
    assert (side.x >= -1e-14).all()


def test_cones_of_one_row_are_half_lines() -> None:
    rng = np.random.default_rng(5)
    G, h, q = rng.normal(size=(6, 3)), rng.uniform(0.0, 1.0, 6), rng.normal(size=3)
    one = solve_cone_program(np.eye(3), q, G, h)
    other = solve_cone_program(np.eye(3), q, G, h, linear=2, cones=[1, 1, 1, 1])
    np.testing.assert_allclose(other.x, one.x, rtol=0, atol=1e-14)
    assert (one.dual > 0.1).sum() >= 1


# --- conditions of optimality ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "duplicate rows", "zero rows", "zero column", "redundant"])
def test_conditions_of_optimality(kind: str) -> None:
    for seed in range(60):
        p = random_program(np.random.default_rng(seed), kind)
        found = p.solve(throw=False)
        assert found.status is Status.OK, (seed, found)
        check(p, found)


@pytest.mark.parametrize("family", FAMILIES)
def test_against_clarabel(family: str) -> None:
    """Status, cost and controls; where Clarabel stops short of its tolerance the cost to its gap then, 5e-5.

    How far it comes then depends on the BLAS that made the instance. There the controls are compared with the
    solution in many digits.
    """
    for seed in range(FAMILIES.index(family), 110, len(FAMILIES)):
        p, program = of_family(seed), instance(seed)
        ours, theirs = p.solve(throw=False), clarabel_solver(program, 1e-12).solve()
        assert ours.status is VERDICTS[str(theirs.status)], seed
        check(p, ours)
        if ours.status is Status.OK:
            solved = str(theirs.status) == "Solved"
            assert ours.cost == pytest.approx(theirs.obj_val, rel=1e-9 if solved else 5e-5), seed
            other = np.array(theirs.x) if solved else refined(*p, ours)[0]
            u, other = ours.x[: program.controls], other[: program.controls]
            assert np.abs(u - other).max() < 5e-7 * (1.0 + np.abs(u).max()), seed


@pytest.mark.parametrize("seed", [6, 61, 167, 308, 70, 111])
def test_fourteen_digits(seed: int) -> None:
    """Against the same active rows in fifty digits; on such instances Clarabel is some 1e-7 to 1e-4 away."""
    p, nu = of_family(seed), instance(seed).controls
    found = p.solve()
    exact, residual = refined(*p, found)
    assert residual < 1e-40
    assert depth(p.h - p.G @ exact, p.linear, p.cones) > -1e-13 * np.abs(p.h).max()
    np.testing.assert_allclose(
        found.x[:nu], exact[:nu], rtol=0, atol=1e-13 * (1.0 + np.abs(exact[:nu]).max())
    )


# --- equalities --------------------------------------------------------------------------------------------


def test_equalities_that_determine_x() -> None:
    """Nothing is left free: the rows hold or not, with a proof; a row exactly at its limit holds."""
    A, x = np.random.default_rng(2).normal(size=(3, 3)), np.array([1.0, -2.0, 0.5])
    for limit, status in (([1.0, 0.0, 2.0], Status.OK), ([0.9, 0.0, 2.0], Status.INFEASIBLE)):
        p = Program(np.eye(3), np.ones(3), np.eye(3), np.array(limit), A, A @ x, 3, ())
        found = p.solve(throw=False)
        assert (found.status, found.rank) == (status, 3)
        check(p, found)
        np.testing.assert_allclose(found.x, x, rtol=0, atol=1e-13)


def test_redundant_equalities_count_once() -> None:
    A = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    p = Program(np.eye(3), np.zeros(3), np.zeros((0, 3)), np.zeros(0), A, np.array([2.0, 4.0, 0.0]), 0, ())
    found = p.solve()
    assert found.rank == 1
    np.testing.assert_allclose(found.x, [1.0, 1.0, 0.0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(A.T @ found.multipliers, [-1.0, -1.0, 0.0], rtol=0, atol=1e-14)
    check(p, found)


def test_contradicting_equalities() -> None:
    A = np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
    p = Program(np.eye(2), np.zeros(2), np.eye(2), np.ones(2), A, np.array([2.0, 5.0, 0.0]), 2, ())
    found = p.solve(throw=False)
    assert found.status is Status.INFEASIBLE
    np.testing.assert_array_equal(found.dual, 0.0)
    assert abs(found.multipliers[2]) < 1e-13  # the third has no part in it
    check(p, found)
    with pytest.raises(SolveError, match="no point satisfies all constraints") as caught:
        p.solve()
    assert caught.value.result.status is Status.INFEASIBLE


def test_without_rows() -> None:
    P, q = np.diag([2.0, 0.0, 4.0]), np.array([1.0, 0.0, -4.0])
    found = solve_cone_program(P, q)
    np.testing.assert_allclose(found.x, [-0.5, 0.0, 1.0], rtol=0, atol=1e-13)
    assert found.gap == pytest.approx(0.0, abs=1e-13)


# --- no solution -------------------------------------------------------------------------------------------


def unbounded_programs() -> dict[str, Program]:
    none = np.zeros((0, 2)), np.zeros(0)
    flat = np.diag([1.0, 0.0])
    cone = friction_cone(np.eye(3), coefficient=0.5)
    return {
        "no rows": Program(flat, np.array([0.0, 1.0]), *none, *none, 0, ()),
        "a half-line": Program(flat, np.array([0.0, -1.0]), -np.eye(2), np.zeros(2), *none, 2, ()),
        "along the equalities": Program(
            np.zeros((2, 2)), np.array([1.0, 0.0]), *none, np.array([[1.0, 1.0]]), np.ones(1), 0, ()
        ),
        "in a cone": Program(
            np.zeros((3, 3)),
            np.array([-1.0, 1.9, 0.0]),
            cone.G,
            cone.h,
            np.array([[0.0, 0.0, 1.0]]),
            np.zeros(1),
            0,
            (3,),
        ),
    }


@pytest.mark.parametrize("name", unbounded_programs())
def test_unbounded(name: str) -> None:
    p = unbounded_programs()[name]
    found = p.solve(throw=False)
    assert found.status is Status.UNBOUNDED
    check(p, found, 1e-8)
    with pytest.raises(SolveError, match="falls without bound"):
        p.solve()


def test_infeasible_by_little_and_by_much() -> None:
    """x ≥ 1 and x ≤ 1 − δ: the proof is z = (1, 1) / δ."""
    for gap in (1e-6, 1e-3, 1.0, 1e6):
        p = Program(
            np.eye(1),
            np.zeros(1),
            np.array([[-1.0], [1.0]]),
            np.array([-1.0, 1.0 - gap]),
            np.zeros((0, 1)),
            np.zeros(0),
            2,
            (),
        )
        found = p.solve(throw=False)
        assert found.status is Status.INFEASIBLE, gap
        np.testing.assert_allclose(found.dual, 1.0 / gap, rtol=1e-6)
        check(p, found)


def test_infeasible_and_unbounded_is_infeasible() -> None:
    """Where no point satisfies the rows it does not matter that the cost falls along another direction."""
    G, h = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([-1.0, 0.0])
    p = Program(np.zeros((2, 2)), np.array([0.0, 1.0]), G, h, np.zeros((0, 2)), np.zeros(0), 2, ())
    found = p.solve(throw=False)
    assert found.status is Status.INFEASIBLE
    check(p, found)


# --- degenerate --------------------------------------------------------------------------------------------


def test_a_single_point() -> None:
    """x ≤ 1 and x ≥ 1 in every coordinate: no interior."""
    r = bounds(np.ones(3), np.ones(3))
    p = Program(np.eye(3), np.array([1.0, -5.0, 0.0]), r.G, r.h, np.zeros((0, 3)), np.zeros(0), 6, ())
    found = p.solve()
    np.testing.assert_allclose(found.x, 1.0, rtol=0, atol=1e-12)
    check(p, found)


def test_a_cone_and_a_half_space_that_touch_in_a_line() -> None:
    """x₀ ≥ ‖(x₁, x₂)‖ and x₀ ≤ x₂ leave x₁ = 0, x₀ = x₂: no interior, and no multipliers either."""
    cone = -np.eye(3)
    p = Program(
        np.eye(3),
        np.array([-3.0, 1.0, 0.0]),
        np.vstack([np.array([[1.0, 0.0, -1.0]]), cone]),
        np.zeros(4),
        np.zeros((0, 3)),
        np.zeros(0),
        1,
        (3,),
    )
    found = p.solve()
    np.testing.assert_allclose(found.x, [1.5, 0.0, 1.5], rtol=0, atol=1e-6)
    assert found.cost == pytest.approx(-2.25, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_badly_scaled_data(seed: int) -> None:
    """Units of 1e±6 on variables, rows and the cost change the numbers, not the answer."""
    rng = np.random.default_rng(seed)
    p = random_program(rng, "redundant")
    n = len(p.q)
    units, row = 10 ** rng.uniform(-6, 6, n), 10 ** rng.uniform(-6, 6, p.linear + len(p.cones))
    row = np.repeat(row, [*([1] * p.linear), *p.cones])
    equality, cost = 10 ** rng.uniform(-6, 6, len(p.b)), 10 ** rng.uniform(-6, 6)
    other = Program(
        cost * p.P * units * units[:, None],
        cost * p.q * units,
        p.G * units * row[:, None],
        p.h * row,
        p.A * units * equality[:, None],
        p.b * equality,
        p.linear,
        p.cones,
    )
    one, two = p.solve(), other.solve()
    assert two.cost == pytest.approx(cost * one.cost, rel=1e-7, abs=1e-7 * cost)


# --- warm starts -------------------------------------------------------------------------------------------


def test_warm_starts() -> None:
    """After a small change the same answer in no more iterations, mostly none; after a large one the right one too."""
    used, usual = 0, 0
    for seed in range(0, 60, 5):
        p, rng = of_family(seed), np.random.default_rng(seed)
        sizes = {"equalities": len(p.b), "linear": p.linear, "cones": p.cones}
        warm, cold = ConeProgram(len(p.q), **sizes), ConeProgram(len(p.q), **sizes)
        warm.solve(*p[:6])
        near = p._replace(b=p.b * (1.0 + 1e-3 * rng.standard_normal(len(p.b))))
        far = p._replace(b=-0.3 * p.b, q=10.0 * rng.standard_normal(len(p.q)) * (np.diag(p.P) > 0.0))
        for step, changed in enumerate((near, far, near, p)):
            again = warm.solve(*changed[:6], warm=True, throw=False)
            anew = cold.solve(*changed[:6], throw=False)
            assert again.status is anew.status
            check(changed, again)
            if anew.status.ok:
                assert again.cost == pytest.approx(anew.cost, rel=1e-9)
            if step == 0:
                used, usual = used + again.iterations, usual + anew.iterations
    assert used < 0.2 * usual


def test_a_program_without_solution_does_not_spoil_the_next() -> None:
    solver = ConeProgram(1, linear=2)
    G = np.array([[-1.0], [1.0]])
    assert solver.solve(np.eye(1), [0.0], G, [-1.0, 0.0], throw=False).status is Status.INFEASIBLE
    for warm in (False, True):
        assert solver.solve(np.eye(1), [0.0], G, [-1.0, 3.0], warm=warm).x[0] == pytest.approx(1.0, abs=1e-14)


# --- arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"P": np.eye(3)}, r"P must have the shape \(2, 2\), got \(3, 3\)"),
        ({"P": np.array([[1.0, 2.0], [0.0, 1.0]])}, "P must be symmetric"),
        ({"P": np.diag([1.0, -2.0])}, "P must be positive semidefinite"),
        ({"P": np.array([[0.0, 1.0], [1.0, 0.0]])}, "P must be positive semidefinite"),
        ({"q": np.zeros((2, 1))}, "q must be a vector"),
        ({"q": np.array([0.0, np.nan])}, "q must be finite"),
        ({"G": np.eye(3)}, r"G must have the shape \(2, 2\)"),
        ({"G": None}, r"G must have the shape \(2, 2\), got None"),
        ({"h": np.array([1.0, np.inf])}, "h must be finite"),
        ({"A": np.array([[np.nan, 0.0]])}, "A must be finite"),
        ({"A": np.eye(2)}, r"A must have the shape \(1, 2\)"),
        ({"b": np.array([-np.inf])}, "b must be finite"),
        ({"linear": 1}, "must add up to the 2 rows"),
        ({"cones": (3,)}, "must add up to the 2 rows"),
    ],
)
def test_errors_name_the_argument(changed: dict, message: str) -> None:
    given = {
        "P": np.eye(2),
        "q": np.zeros(2),
        "G": np.eye(2),
        "h": np.ones(2),
        "A": np.ones((1, 2)),
        "b": np.ones(1),
    }
    given |= changed
    with pytest.raises(ArgumentError, match=message) as caught:
        solve_cone_program(**given)
    assert caught.value.element == ("cones" if "linear" in changed else next(iter(changed)))


@pytest.mark.parametrize(
    "sizes", [{"variables": 0}, {"variables": 2, "cones": [0]}, {"variables": 2, "linear": -1}]
)
def test_sizes_that_are_none(sizes: dict) -> None:
    with pytest.raises(ArgumentError, match="variables ≥ 1"):
        ConeProgram(**sizes)


def test_numbers_too_large_to_work_with() -> None:
    """Squares that overflow are reported, and no NaN comes back."""
    found = solve_cone_program(1e300 * np.eye(2), [1e300, 0.0], 1e200 * np.eye(2), [1e-300, 1.0], throw=False)
    facts = [found.cost, found.dual_cost, found.gap, found.primal_residual, found.dual_residual]
    assert np.isfinite(np.concatenate([found.x, found.slack, found.dual, found.multipliers])).all()
    assert not np.isnan(facts).any()
