"""OK means checked: random problems of every kind, contradictions of any unit and force, numbers near overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from sarrus.base.arrays import Array
from sarrus.base.errors import SimulationError, SolveError
from sarrus.base.status import Status
from sarrus.formulations import METHODS, Formulation, null_space
from sarrus.formulations.checked import _verify
from sarrus.formulations.problem import Problem
from sarrus.formulations.tolerances import RESIDUAL_MET
from solve_survey import KINDS, draw, survey

RANK_FREE = {name: method for name, method in METHODS.items() if name not in ("lagrange", "kkt")}
every = pytest.mark.parametrize("name", METHODS)
rank_free = pytest.mark.parametrize("name", RANK_FREE)


def test_survey() -> None:
    """2000 solves, each judged without the library: OK is never wrong, and well-posed problems are solved."""
    found = survey(METHODS, range(10**6, 10**6 + 200))
    for name, tally in found.items():
        assert tally.wrong == [], name
        assert tally.far == [], name
        assert tally.refused == [], name
        assert tally.well_posed > 30, name
    assert {str(s) for s in (Status.OK, Status.INCONSISTENT, Status.ILL_CONDITIONED)} <= set(
        found["null-space"].statuses
    )


def plain(n: int, m: int, seed: int = 0) -> list[Array]:
    """Return M, h, A, γ, τ with nothing special about them."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    return [root @ root.T + n * np.eye(n), *(rng.standard_normal(size) for size in (n, (m, n), m, n))]


@every
@pytest.mark.parametrize("n", [1, 2, 3, 7, 30])
def test_a_plain_answer_takes_one_look(name: str, n: int) -> None:
    """The check of an ordinary problem is one compiled call: none of what a closer look needs is made."""
    found = METHODS[name](*plain(n, n // 2))
    assert found.status is Status.OK
    assert "balance" not in found.problem.__dict__
    r = found.residuals
    assert max(r.force, r.multipliers, r.constraint) < 1e-14
    assert 0.0 < r.error < 1e-9


@rank_free
def test_dependent_and_zero_rows_take_one_look(name: str) -> None:
    M, h, A, gamma, tau = plain(9, 3)
    mixing = np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0]])
    found = METHODS[name](M, h, np.vstack([A, mixing @ A]), np.concatenate([gamma, mixing @ gamma]), tau)
    assert found.status is Status.OK
    assert "balance" not in found.problem.__dict__


@pytest.mark.parametrize("entry", [1e-12, np.inf, np.nan])
def test_one_look_is_not_fooled(entry: float) -> None:
    """A force, a multiplier or an acceleration that is a little off, or no number, in one row alone."""
    problem = Problem.checked(*plain(6, 3))
    good = null_space(*plain(6, 3))
    parts = (good.a, good.constraint_force, good.multipliers)
    applied = problem.tau - problem.h

    def solve(force: Array, gamma: Array) -> tuple[Array, Array, Array]:
        raise AssertionError("residuals that are large need no estimate")

    for place, part in enumerate(parts):
        for k in range(len(part)):
            wrong = [other.copy() for other in parts]
            wrong[place][k] += entry * np.abs(part).max() * 10.0
            assert _verify(problem, solve, tuple(wrong), applied) is None, (place, k)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("mixed units", "tiny")])
def test_units_change_no_verdict(kind: str) -> None:
    """Rows and coordinates in other units, by powers of two, have the same status as long as the rank is the same."""
    for seed in range(20):
        p = draw(np.random.default_rng(seed), kind)
        rng = np.random.default_rng(seed)
        row, column = 2.0 ** rng.integers(-4, 5, len(p.gamma)), 2.0 ** rng.integers(-4, 5, len(p.h))
        one = null_space(*p.matrices, throw=False)
        two = null_space(
            column[:, None] * p.M * column, column * p.h, row[:, None] * p.A * column, row * p.gamma,
            column * p.tau, throw=False,
        )  # fmt: skip
        if one.rank != two.rank or one.status is Status.ILL_CONDITIONED:
            continue  # the rank is decided in the units of the data
        assert two.status is one.status, (kind, seed)


# --- contradictions ------------------------------------------------------------------------------------


@rank_free
@pytest.mark.parametrize("force", [0.0, -5e3, -5e9, 5e12])
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_contradictions_are_found_whatever_the_forces(name: str, force: float, unit: float) -> None:
    """v = 0 and v − 0.9 t = 0, in coordinates that a force moves on as well."""
    M, h = np.diag([1e-3, 2.0, 1.0]), np.array([0.0, force, 1.0])
    A = np.array([[1.0, 1.0, 0.0], [unit, unit, 0.0]])
    agree, contradict = (METHODS[name](M, h, A, [0.0, unit * g]) for g in (0.0, -0.9))
    assert agree.status is Status.OK
    assert contradict.status is Status.INCONSISTENT
    assert contradict.residuals.contradiction > 0.1
    assert not contradict.status.ok


@rank_free
def test_a_row_of_nothing_that_asks_for_something(name: str) -> None:
    M, h = np.eye(2), [1.0, 2.0]
    for asked, status in ((1e-3, Status.INCONSISTENT), (1e-20, Status.OK), (0.0, Status.OK)):
        assert METHODS[name](M, h, [[1.0, 0.0], [0.0, 0.0]], [1.0, asked]).status is status
    assert METHODS[name](M, h, [[1.0, 0.0], [3e-17, -1e-17]], [1.0, 2e-17]).status is Status.OK
    assert METHODS[name](M, h, [[0.0, 0.0]], [1.0]).status is Status.INCONSISTENT


@rank_free
def test_a_row_too_small_to_be_counted_is_not_passed_over(name: str) -> None:
    """A row of 1e-12, below the tolerance of the rank: the answer violates it, and says so; scaled, it is met."""
    M, h, A, gamma = np.eye(3), [1.0, 2.0, 3.0], np.eye(3)[:2] * [[1.0], [1e-12]], np.array([1.0, 1e-12])
    found = METHODS[name](M, h, A, gamma)
    assert (found.rank, found.status) == (1, Status.ILL_CONDITIONED)
    assert found.residuals.dropped > 0.1
    scaled = METHODS[name](M, h, A * [[1.0], [1e12]], gamma * [1.0, 1e12])
    assert (scaled.rank, scaled.status) == (2, Status.OK)
    doubled = METHODS[name](M, h, A[[0, 1, 1]], [1.0, 1e-12, 2e-12])
    assert doubled.status is Status.INCONSISTENT


# --- conditioning --------------------------------------------------------------------------------------


def nearly_massless() -> tuple[Array, Array]:
    """Return M = Q diag(1, 1e-12) Qᵀ and an acceleration."""
    c, s = np.cos(0.7), np.sin(0.7)
    Q = np.array([[c, -s], [s, c]])
    M = (Q * [1.0, 1e-12]) @ Q.T
    return 0.5 * (M + M.T), np.array([0.005, 0.015])


@every
def test_digits_that_the_data_do_not_have(name: str) -> None:
    """Nothing determines the motion along a mass of 1e-12 to better than 1e-4: near, and said; with a row, exact."""
    M, a = nearly_massless()
    free = METHODS[name](M, -M @ a, np.zeros((0, 2)), [])
    assert free.status is Status.ILL_CONDITIONED
    assert 1e-5 < free.residuals.error < 1e-2
    # Rounding of M and of the force, over the small mass.
    np.testing.assert_allclose(free.a, a, rtol=0.0, atol=8 * np.finfo(float).eps * np.linalg.norm(a) / 1e-12)
    guided = METHODS[name](M, -M @ a, [[1.0, 1.0]], [-0.02])
    assert guided.status is Status.OK
    np.testing.assert_allclose(guided.a, a, rtol=1e-9)


@every
def test_refinement_gains_the_digits_that_a_method_loses(name: str) -> None:
    """Inertias over twelve decades and rows over six: answers agree with the scaled problem, which loses nothing."""
    rng = np.random.default_rng(4)
    root, A = rng.standard_normal((6, 6)), rng.standard_normal((3, 6))
    M, h, gamma = root @ root.T + np.eye(6), rng.standard_normal(6), rng.standard_normal(3)
    exact = null_space(M, h, A, gamma).a
    row, column = 10.0 ** np.array([-3.0, 0.0, 3.0]), 10.0 ** np.array([-3.0, 1.0, 3.0, -2.0, 0.0, 2.0])
    row, column = 2.0 ** np.round(np.log2(row)), 2.0 ** np.round(np.log2(column))
    found = METHODS[name](
        column[:, None] * M * column, column * h, row[:, None] * A * column, row * gamma, throw=False
    )
    if found.status is Status.OK:
        np.testing.assert_allclose(column * found.a, exact, rtol=1e-9)
        assert found.residuals.largest <= RESIDUAL_MET
    else:
        assert found.status in (Status.ILL_CONDITIONED, Status.ILL_POSED, Status.NOT_CONVERGED)


@every
def test_at_rest(name: str) -> None:
    """Forces in balance: every acceleration is rounding, and the answer is a good one."""
    A = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
    load = A.T @ [3.7, -11.3]
    found = METHODS[name](np.diag([2.0, 1.0, 3.0]), -load, A, [0.0, 0.0])
    assert found.status is Status.OK
    assert np.abs(found.a).max() < 1e-13
    np.testing.assert_allclose(found.constraint_force, -load, rtol=1e-13)


# --- overflow ------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    ("M", "h", "row", "gamma"),
    [
        (1.0, 0.0, 1e-200, 1e200), (1.0, 0.0, 1e-200, 1e-200), (1.0, 1.0, 1e200, 3e200), (1e-300, 1e-300, 1.0, 1.0),
        (1e300, 1e300, 1.0, 1.0), (1e300, 1.0, 1.0, 1.0), (1e-300, 1e300, 1.0, 1.0), (1.0, 1.5e308, 1.0, 1.0),
        (1.0, 1e-300, 1.0, 1e-300), (1e-160, 1.0, 1e160, 1e-160),
    ],
)  # fmt: skip
def test_numbers_near_the_ends(name: str, M: float, h: float, row: float, gamma: float) -> None:
    """Two coordinates and one row: an answer that is OK is finite and right, and no other is passed off as one."""
    arguments = M * np.eye(2), [h, 0.0], [[row, row]], [gamma], [-h, 0.0]
    found = METHODS[name](*arguments, throw=False)
    if found.status is Status.OK:
        assert np.isfinite(found.a).all()
        wide = found.a.astype(np.longdouble)
        sides = np.longdouble(row) * wide.sum() + np.longdouble(gamma)
        assert abs(sides) <= 1e-9 * (np.longdouble(row) * np.abs(wide).sum() + np.longdouble(abs(gamma)))
    else:
        assert found.status in (Status.NOT_FINITE, Status.ILL_CONDITIONED)
        with pytest.raises(
            SolveError, match=rf"{METHODS[name].__name__}: .*(infinite|ill-conditioned|singular)"
        ):
            METHODS[name](*arguments)


def test_an_acceleration_beyond_the_largest_number_is_no_answer() -> None:
    for method in METHODS.values():
        assert method(np.eye(1), [0.0], [[1e-200]], [1e200], throw=False).status is Status.NOT_FINITE


# --- runs ----------------------------------------------------------------------------------------------


def blurred(*arguments: Any, **options: Any) -> Formulation:
    """Solve with a mass matrix that has two scales twelve decades apart."""
    M, h, A, gamma, tau = arguments
    n = len(M)
    direction = np.ones(n) / np.sqrt(n)
    light = 1e-12 * np.trace(M) * (np.eye(n) - np.outer(direction, direction))
    return null_space(
        np.outer(direction, direction) * np.trace(M) + light, h, A[:0], gamma[:0], tau, **options
    )


def contradicting(
    M: Array, h: Array, A: Array, gamma: Array, tau: Array | None, **options: Any
) -> Formulation:
    """Ask for each row twice, with different γ."""
    both = null_space(M, h, np.vstack([A, A]), np.concatenate([gamma, gamma + 1.0]), tau, **options)
    half = null_space(M, h, A, gamma, tau, **options)
    return sr.formulations.Formulation(**{**vars(half), "status": both.status, "residuals": both.residuals})


@pytest.mark.parametrize(
    ("method", "status"), [(blurred, Status.ILL_CONDITIONED), (contradicting, Status.INCONSISTENT)]
)
def test_a_run_says_that_a_state_was_not_ok(method: Callable[..., Formulation], status: Status) -> None:
    if method is blurred:
        system, q = sr.System.from_equations(
            2, lambda q: [[1.0, 0.0], [0.0, 1.0]], lambda q, v: [1.0, -2.0]
        ), np.zeros(2)  # fmt: skip
    else:
        example = load_example("five_bar")
        system, q = sr.System(example.build()), example.SYMMETRIC
    options = {"duration": 0.004, "dt": 1e-3, "formulation": method, "stabilization": "projection"}
    with pytest.raises(SimulationError, match=rf"{status.diagnosis}: 5 of 5 states, the first at t = 0 s"):
        sr.simulate(system, q, **options)
    comparison = sr.compare(
        system, q, duration=0.004, dt=1e-3, formulations={"doubtful": {"formulation": method}}
    )
    (row,) = comparison.table()
    assert row.status is status
    assert len(comparison["doubtful"].t) == 5
    assert status.remedy in row.message


def test_a_run_that_fails_has_the_status_of_its_solve() -> None:
    def iterating(*arguments: Any, **options: Any) -> Formulation:
        return METHODS["augmented-lagrangian"](*arguments, penalty=1e-6, iterations=2, **options)

    example = load_example("five_bar")
    run = sr.simulate(
        sr.System(example.build()),
        example.SYMMETRIC,
        duration=0.01,
        dt=1e-3,
        formulation=iterating,
        throw=False,
    )
    assert run.status is Status.NOT_CONVERGED
    assert "no convergence in 2 iterations" in run.message
