"""Friction problems of Siconos' collection, up to 376 contacts: by W, by inertia and rows, to a residual of 1e-12."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.friction_blocks import Blocks, allowed_rows
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, csr_matrix

import contact_problems
import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.dynamics.optimize import Mode, SolverStage, solve_cone_program, solve_contact_problem

DATA = Path(__file__).parent / "data" / "contact_problems" / "given.npz"
NAMES = sorted({key.partition("/")[0] for key in np.load(DATA).files})


def given(name: str) -> dict[str, Any]:
    """Return contacts, W and q of a problem, and M, H (a row for each row of the contacts) and q if it has them."""
    stored = np.load(DATA)

    def matrix(letter: str, shape: tuple[int, int]) -> csr_matrix:
        parts = (stored[f"{name}/{letter}_{part}"] for part in ("data", "indices", "indptr"))
        return csr_matrix(tuple(parts), shape=shape)

    size, mu = int(stored[f"{name}/d"]), stored[f"{name}/mu"]
    m = size * len(mu)
    found: dict[str, Any] = {"contacts": [(size, float(number)) for number in mu]}
    if f"{name}/q" in stored.files:
        return found | {"W": matrix("W", (m, m)), "q": stored[f"{name}/q"]}
    n = len(stored[f"{name}/f"])
    M, H = matrix("M", (n, n)), matrix("H", (n, m))
    moved = np.linalg.solve(M.toarray(), np.column_stack([H.toarray(), stored[f"{name}/f"]]))
    W = H.T @ moved[:, :-1]
    q = H.T @ moved[:, -1] + stored[f"{name}/w"]
    return found | {"M": M, "H": csr_array(H.T), "W": csr_matrix(0.5 * (W + W.T)), "q": q}


def residual(problem: dict[str, Any], r: Array) -> float:
    """Return the residual of the laws, for rows of size one, relative to the largest of forces and velocities."""
    size, mu = problem["contacts"][0][0], np.array([number for _, number in problem["contacts"]])
    units = np.sqrt(problem["W"].diagonal().reshape(-1, size).sum(axis=1))
    units = np.exp2(np.rint(np.log2(np.where(units > 0.0, units, 1.0))))
    scale = np.repeat(1.0 / units, size)
    fast = np.abs(problem["q"] * scale).max()
    u = ((problem["W"] @ r + problem["q"]) * scale / fast).reshape(-1, size)
    r = (r / scale / fast).reshape(-1, size)
    z = r - u
    z[:, 0] -= mu * np.linalg.norm(u[:, 1:], axis=1)
    tail = np.linalg.norm(z[:, 1:], axis=1)
    height = np.maximum(z[:, 0] + mu * tail, 0.0) / (1.0 + mu * mu)
    nearest = np.column_stack([height, (mu * height / np.where(tail > 0.0, tail, 1.0))[:, None] * z[:, 1:]])
    nearest = np.where((tail <= mu * z[:, 0])[:, None], z, nearest)
    return float(np.abs(r - nearest).max() / max(1.0, np.abs(r).max()))


@pytest.mark.parametrize("name", NAMES)
def test_the_laws_hold_to_rounding(name: str) -> None:
    problem = given(name)
    found = solve_contact_problem(None, problem["q"], problem["contacts"], delassus=problem["W"])
    assert found.status is sr.Status.OK
    assert residual(problem, found.forces) < 1e-13
    assert_allclose(
        found.velocities, problem["W"] @ found.forces + problem["q"], atol=1e-12 * abs(problem["q"]).max()
    )


@pytest.mark.parametrize("name", [name for name in NAMES if "M" in given(name)])
def test_inertia_and_rows_give_the_same(name: str) -> None:
    problem = given(name)
    found = solve_contact_problem((problem["M"], problem["H"]), problem["q"], problem["contacts"])
    assert residual(problem, found.forces) < 1e-13
    moved = np.linalg.solve(problem["M"].toarray(), problem["H"].T @ found.forces)
    assert_allclose(found.change, moved, atol=1e-12 * np.abs(moved).max())
    by_delassus = solve_contact_problem(None, problem["q"], problem["contacts"], delassus=problem["W"])
    assert_allclose(found.velocities, by_delassus.velocities, atol=1e-9 * np.abs(found.velocities).max())


@pytest.mark.parametrize("enough", [1e-3, 1e-4, 1e-6])
def test_an_answer_may_be_rough(enough: float) -> None:
    """Sweeps alone are enough for 1e-4; the residual that is stated is the one of the laws."""
    problem = given("Capsules_i100_1090")
    found = solve_contact_problem(
        None, problem["q"], problem["contacts"], delassus=problem["W"], enough=enough
    )
    assert found.status is sr.Status.OK
    assert found.residual <= enough
    assert residual(problem, found.forces) <= 4.0 * enough
    assert found.stage is SolverStage.SWEEPS or enough < 1e-4


def test_where_the_time_ends_the_best_answer_is_returned() -> None:
    problem = given("Capsules_i101_404")
    found = solve_contact_problem(
        None, problem["q"], problem["contacts"], delassus=problem["W"], budget=0.0, throw=False
    )
    assert found.status is sr.Status.NOT_CONVERGED
    assert 0.0 < found.residual < 1.0
    assert residual(problem, found.forces) < 4.0 * found.residual
    with pytest.raises(sr.SolveError):
        solve_contact_problem(None, problem["q"], problem["contacts"], delassus=problem["W"], budget=0.0)


@pytest.mark.parametrize("seed", range(4))
def test_rows_with_an_inertia_are_rows_over_its_factor(seed: int) -> None:
    problem = contact_problems.random_problem(np.random.default_rng(seed), decades=1.0)
    rng = np.random.default_rng(100 + seed)
    k = problem.rows.shape[1]
    lower = np.tril(rng.uniform(-0.2, 0.2, (k, k)), -1) + np.diag(rng.uniform(0.5, 2.0, k))
    plain = solve_contact_problem(problem.rows, problem.velocities, problem.contacts, problem.dry)
    with_inertia = solve_contact_problem(
        (lower @ lower.T, problem.rows @ lower.T), problem.velocities, problem.contacts, problem.dry
    )
    size = np.abs(problem.velocities).max()
    assert_allclose(with_inertia.velocities, plain.velocities, atol=1e-9 * size)
    sparse = solve_contact_problem(csr_array(problem.rows), problem.velocities, problem.contacts, problem.dry)
    assert_allclose(sparse.velocities, plain.velocities, atol=1e-9 * size)


@pytest.mark.parametrize("seed", range(6))
def test_least_forces_are_those_of_a_cone_program(seed: int) -> None:
    """Many contacts hold one body: of all forces with its momentum in the cones, those of least norm."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((21, 6))
    for k in range(7):
        axes, point = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal(3)
        rows[3 * k : 3 * k + 3] = np.hstack([axes, np.cross(point, axes)])
        rows[3 * k : 3 * k + 3] *= 1.2 / np.linalg.norm(rows[3 * k : 3 * k + 3])  # one unit for all
    contacts = [(3, float(mu)) for mu in rng.uniform(0.6, 1.5, 7)]
    allowed = np.concatenate([[1.0, *rng.uniform(-0.3, 0.3, 2)] for _ in range(7)])
    found = solve_contact_problem(rows, -rows @ (rows.T @ allowed), contacts)  # those forces stop the body
    assert set(found.modes) == {Mode.STICKING}
    assert not found.determined.any()
    cones = allowed_rows(np.eye(21), np.zeros(21), Blocks.of(contacts))
    least = solve_cone_program(
        np.eye(21), np.zeros(21), cones.G, cones.h, rows.T, rows.T @ found.forces, cones=cones.cones
    )
    assert_allclose(found.forces, least.x, atol=1e-7)


def test_what_is_wrong_with_an_inertia_or_a_delassus_matrix_is_said() -> None:
    b, contacts = [-1.0, 0.0, 0.0], [(3, 0.5)]
    with pytest.raises(sr.ArgumentError, match="must be symmetric"):
        solve_contact_problem(None, b, contacts, delassus=np.triu(np.ones((3, 3))))
    with pytest.raises(sr.ArgumentError, match="M must be symmetric"):
        solve_contact_problem((np.triu(np.ones((3, 3))), np.eye(3)), b, contacts)
    with pytest.raises(sr.ArgumentError, match="positive definite"):
        solve_contact_problem((np.diag([1.0, -1.0, 1.0]), np.eye(3)), b, contacts)
    with pytest.raises(sr.ArgumentError, match="either rows or delassus"):
        solve_contact_problem(np.eye(3), b, contacts, delassus=np.eye(3))
    with pytest.raises(sr.ArgumentError, match="shape"):
        solve_contact_problem(None, b, contacts, delassus=np.eye(2))
    with pytest.raises(sr.ArgumentError, match="enough"):
        solve_contact_problem(np.eye(3), b, contacts, enough=-1.0)
    with pytest.raises(sr.ArgumentError, match="budget"):
        solve_contact_problem(np.eye(3), b, contacts, budget=-1.0)
