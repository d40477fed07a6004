"""All formulations, the kernel and exact arithmetic give one answer, or refuse it; docs/formulations/agreement.md."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.formulations import METHODS, Formulation, null_space

SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "formulations" / "agreement.py"
EPSILON = float(np.finfo(float).eps)

NAMES = {
    "projection", "symmetric-projection", "parameterized-projection", "oblique-projection", "udwadia-kalaba",
    "udwadia-phohomsiri",
    "null-space", "mass-weighted", "lagrange", "kkt", "augmented-lagrangian",
}  # fmt: skip
SQUARING = ("lagrange", "kkt")  # refuse dependent rows, and lose twice the digits close to them
ALL = METHODS | {"null-space by QR": partial(null_space, basis="qr")}
RANK_FREE = {name: method for name, method in ALL.items() if name not in SQUARING}
DIRECT = {name: method for name, method in RANK_FREE.items() if name != "augmented-lagrangian"}


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agreement", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["agreement"] = module
    spec.loader.exec_module(module)
    return module


agreement = _load()
seeds = st.integers(0, 2**32 - 1)
random_cases = settings(max_examples=20, deadline=None, derandomize=True)


def condition(case: Any) -> float:
    """Return by how much rounding grows: κ(A) κ(M^½), or κ(A M^(−½)) if that is more, A on its range."""

    def spread(matrix: Array) -> float:
        sigma = np.linalg.svd(matrix)[1]
        kept = sigma[: np.linalg.matrix_rank(case.A, tol=1e-10 * np.linalg.norm(case.A, 2))]
        return float(kept[0] / kept[-1]) if len(kept) else 1.0

    weighted = np.linalg.solve(np.linalg.cholesky(case.M), case.A.T).T
    return max(spread(case.A) * float(np.linalg.cond(case.M)) ** 0.5, spread(weighted))


def check(case: Any, methods: dict[str, Callable[..., Formulation]], status: Status, power: int = 1) -> None:
    """Compare with the exact acceleration, and forces and multipliers with those that belong to it.

    Allowed: 100 n ε times the condition number to the given power, relative in the norm of the kinetic energy.
    """
    n = len(case.h)
    allowed = 100.0 * n * EPSILON * condition(case) ** power
    assert allowed < 1e-2, "the case is too ill-conditioned for a comparison"
    exact = agreement.exact_acceleration(case)
    force = case.M @ exact + case.h - case.tau
    root = np.linalg.cholesky(case.M)
    sizes = root.T @ exact, np.linalg.solve(root, case.h - case.tau), case.gamma / np.linalg.norm(case.A, 2)
    size = max(map(np.linalg.norm, sizes))
    for name, method in methods.items():
        found = method(*case.matrices)
        assert found.status is status, name
        assert np.linalg.norm(root.T @ (found.a - exact)) <= allowed * size, name
        assert np.linalg.norm(np.linalg.solve(root, found.constraint_force - force)) <= allowed * size, name
        np.testing.assert_allclose(
            found.problem.A.T @ found.multipliers, found.constraint_force, rtol=0,
            atol=allowed * max(1e-300, np.abs(case.M).max() ** 0.5 * size), err_msg=name,
        )  # fmt: skip
        # λ of minimum norm lies in the range of A.
        outside = found.multipliers - case.A @ (found.problem.inverse @ found.multipliers)
        assert np.linalg.norm(outside) <= 100 * n * EPSILON * condition(case) * np.linalg.norm(
            found.multipliers
        ), name


# --- random families -----------------------------------------------------------------------------------


@random_cases
@given(seed=seeds, n=st.integers(1, 6), data=st.data())
def test_well_posed(seed: int, n: int, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, n))
    case = agreement.well_posed(np.random.default_rng(seed), n, m)
    check(case, DIRECT, Status.OK)
    check(case, METHODS, Status.OK, power=2)


@random_cases
@given(seed=seeds, n=st.integers(1, 6), data=st.data())
def test_redundant(seed: int, n: int, data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, n))
    m = data.draw(st.integers(rank + 1, rank + 4))
    case = agreement.redundant(np.random.default_rng(seed), n, m, rank)
    check(case, RANK_FREE, Status.OK)
    assert_refused(case, m, rank)
    marks = [method(*case.matrices).determined for method in RANK_FREE.values()]
    assert all((mark == marks[0]).all() for mark in marks)


@random_cases
@given(seed=seeds, n=st.integers(2, 6), data=st.data())
def test_rank_that_drops(seed: int, n: int, data: st.DataObject) -> None:
    """At σ = 0 exactly, and approaching it: what is lost is ε / σ, and nothing jumps."""
    m = data.draw(st.integers(2, n))
    binary = data.draw(st.sampled_from([None, 8, 14, 20, 26]))
    distance = 0.0 if binary is None else 2.0**-binary
    case = agreement.near_singular(np.random.default_rng(seed), n, m, distance)
    check(case, DIRECT, Status.OK)
    if distance == 0.0:
        check(case, RANK_FREE, Status.OK)
        assert_refused(case, m, m - 1)


@random_cases
@given(seed=seeds, n=st.integers(2, 6), data=st.data())
def test_below_the_tolerance_the_direction_is_left_free(seed: int, n: int, data: st.DataObject) -> None:
    """At 1e-12 of a singular configuration the answer is the one at it."""
    m = data.draw(st.integers(2, n))
    at, beside = (
        agreement.near_singular(np.random.default_rng(seed), n, m, distance) for distance in (0.0, 2.0**-40)
    )
    assume(np.linalg.norm(at.gamma) > 0.1)  # else what is lost of γ is most of it, a contradiction
    exact = agreement.exact_acceleration(at)
    for name, method in RANK_FREE.items():
        found = method(*beside.matrices)
        assert (found.rank, found.status) == (m - 1, Status.OK), name
        assert agreement.deviation(at, found.a, exact) < 1e-8, name
    assert_refused(beside, m, m - 1)


@random_cases
@given(seed=seeds, n=st.integers(1, 6), data=st.data())
def test_inconsistent(seed: int, n: int, data: st.DataObject) -> None:
    """One answer for all: rows weighted alike, and Gauss's principle on what is left."""
    rank = data.draw(st.integers(1, n))
    m = data.draw(st.integers(rank + 1, rank + 4))
    case = agreement.inconsistent(np.random.default_rng(seed), n, m, rank)
    check(case, RANK_FREE, Status.INCONSISTENT, power=2)
    assert_refused(case, m, rank)


@random_cases
@given(seed=seeds, n=st.integers(2, 6), decades=st.sampled_from([2.0, 4.0]), data=st.data())
def test_badly_scaled(seed: int, n: int, decades: float, data: st.DataObject) -> None:
    """Inertias over eight decades, rows over two to four."""
    m = data.draw(st.integers(1, n))
    case = agreement.badly_scaled(np.random.default_rng(seed), n, m, decades)
    exact = agreement.exact_acceleration(case)
    inertia = np.sqrt(np.diagonal(case.M))
    scaled_mass = float(np.linalg.cond(case.M / np.outer(inertia, inertia)))
    for name, method in (DIRECT | {name: METHODS[name] for name in SQUARING}).items():
        found = method(*case.matrices)
        # What scales rows and inertias itself loses no more than its scaled matrix and the scaled M say.
        growth = found.condition * scaled_mass
        if name not in SQUARING:  # the symmetric root of M in Udwadia and Kalaba's equation costs all of κ(M)
            growth = max(growth, condition(case), float(np.linalg.cond(case.M)))
        allowed = min(100 * n * EPSILON * growth, 1e-2)
        assert found.status is Status.OK, name
        assert agreement.deviation(case, found.a, exact) <= allowed, name
        assert found.force_residual <= allowed, name


def assert_refused(case: Any, rows: int, rank: int) -> None:
    """The two baselines say that rows are dependent, in words or by NaN."""
    for name in SQUARING:
        with pytest.raises(SolveError, match=rf"A has {rows} rows of rank {rank}"):
            METHODS[name](*case.matrices)
        found = METHODS[name](*case.matrices, throw=False)
        assert found.status is Status.ILL_POSED
        assert np.isnan(found.a).all()


@random_cases
@given(seed=seeds, consistent=st.booleans())
def test_weights_of_rows_matter_only_where_they_contradict_each_other(seed: int, consistent: bool) -> None:
    rng = np.random.default_rng(seed)
    case = (agreement.redundant if consistent else agreement.inconsistent)(rng)
    weights = 2.0 ** rng.permutation([0, 1, 2, 3])[:, None]
    M, h, A, gamma, tau = case.matrices
    shift = {
        name: np.abs(method(*case.matrices).a - method(M, h, weights * A, weights[:, 0] * gamma, tau).a).max()
        for name, method in RANK_FREE.items()
    }
    if consistent:
        assert max(shift.values()) < 1e-10
    else:
        assert max(shift.values()) - min(shift.values()) < 1e-9, "all use the same weights"


# --- the kernel ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernel() -> Any:
    return agreement.Kernel()


@pytest.mark.parametrize("family", [name for name in agreement.FAMILIES if "8 decades" not in name])
def test_kernel(kernel: Any, family: str) -> None:
    """Acceleration, force, multipliers, rank and determined rows of the compiled kernel."""
    for seed in range(100, 106):
        case = agreement.FAMILIES[family](np.random.default_rng(seed))
        expected, found = null_space(*case.matrices, basis="qr"), kernel(case)
        allowed = 100 * len(case.h) * EPSILON * condition(case) ** (2 if family == "inconsistent" else 1)
        exact = agreement.exact_acceleration(case)
        assert agreement.deviation(case, found.a, exact) < allowed
        assert agreement.deviation(case, found.a, expected.a) < 2.0 * allowed
        assert found.rank == expected.rank
        np.testing.assert_array_equal(found.determined, expected.determined)
        # Its forces are as exact as the condition number of the rows lets them be: 1e-8 is not enough for OK.
        almost = family == "1e-8 from singular" and found.status is Status.ALMOST
        assert almost or found.status is (Status.SINGULAR if family == "singular" else expected.status)
        if family != "badly scaled":
            size = np.linalg.norm(case.M, 2) * np.linalg.norm(exact)
            np.testing.assert_allclose(
                found.constraint_force, expected.constraint_force, rtol=0, atol=allowed * size
            )
            multiplier = np.linalg.norm(expected.multipliers)
            np.testing.assert_allclose(
                found.multipliers,
                expected.multipliers,
                rtol=0,
                atol=allowed * condition(case) * multiplier + 1e-12,
            )


# --- mechanisms ----------------------------------------------------------------------------------------


def state_of(example: Callable[[str], ModuleType], name: str) -> tuple[sr.System, Array, Array]:
    """Return a system and a state that its constraints allow."""
    model = example(name.split()[0])
    system = sr.System(model.build(free=True) if name == "bricard of free bodies" else model.build())
    if name == "five_bar collinear":
        return system, model.COLLINEAR, np.zeros(4)
    if name == "parallelogram flat":
        return system, model.closed(0.3, 0.3), np.array([1.5, -0.7, 2.2, -2.2])
    q = {
        "five_bar": lambda: model.SYMMETRIC,
        "parallelogram": lambda: model.closed(0.3, -1.2),
        "quadruped": lambda: model.standing(system),
    }.get(name, system.neutral)()
    return system, q, system.project_velocity(q, np.random.default_rng(3).standard_normal(system.nv))


@pytest.mark.parametrize(
    "name",
    [
        "five_bar", "five_bar collinear", "parallelogram", "parallelogram flat", "quadruped", "bricard",
        "bricard of free bodies",
    ],
)  # fmt: skip
def test_mechanisms(example: Callable[[str], ModuleType], name: str) -> None:
    system, q, v = state_of(example, name)
    expected = system.forward_dynamics(q, v)
    even = system.characteristic.rows  # λ of redundant rows is the shortest in characteristic units
    assert expected.status is (Status.SINGULAR if " flat" in name or " collinear" in name else Status.OK)
    matrices = (
        system.mass_matrix(q),
        system.bias_force(q, v),
        even[:, None] * system.constraint_jacobian(q),
        even * system.constraint_bias(q, v),
        system.passive_force(q, v),
    )
    answers = {"a": expected.a, "constraint_force": expected.constraint_force}
    answers["multipliers"] = expected.multipliers / even
    dependent = expected.rank < system.nc
    assert dependent == (name not in ("five_bar", "parallelogram", "quadruped"))
    scale = 1.0 + max(np.abs(x).max() for x in answers.values())
    for method_name, method in (RANK_FREE if dependent else ALL).items():
        found = method(*matrices)
        assert (found.status, found.rank) == (Status.OK, expected.rank), method_name
        for what, answer in answers.items():
            np.testing.assert_allclose(
                getattr(found, what), answer, rtol=0, atol=1e-9 * scale, err_msg=method_name
            )
        np.testing.assert_array_equal(found.determined, expected.determined, err_msg=method_name)
        assert found.force_residual < 1e-11, method_name
        assert found.constraint_residual < 1e-11, method_name
    if dependent:
        for method_name in SQUARING:
            with pytest.raises(SolveError, match=f"A has {system.nc} rows of rank {expected.rank}"):
                METHODS[method_name](*matrices)


# --- the table -----------------------------------------------------------------------------------------


def test_registry() -> None:
    assert set(METHODS) == NAMES
    for name, method in METHODS.items():
        assert method.__name__ == name.replace("-", "_")


def cells(page: str) -> dict[tuple[str, str], tuple[float | None, str]]:
    """Return deviation and statuses of every cell of the page by row and column."""
    lines = [line for line in page.splitlines() if line.startswith("|")]
    header, rows = lines[0].split("|")[2:-1], [line.split("|")[1:-1] for line in lines[2:]]
    found = {}
    for row in rows:
        for family, text in zip(header, row[1:]):
            match = re.fullmatch(r" (?:(\S+e[+-]\d+); )?([\w, ]+) ", text)
            assert match, text
            worst = None if match[1] is None else float(match[1])
            found[row[0].strip(), family.strip()] = worst, match[2]
    return found


def test_committed_table_is_what_the_script_writes() -> None:
    """The same text, the same statuses, and deviations within a factor of 100."""
    committed = agreement.PAGE.read_text(encoding="utf-8")
    fresh = agreement.render(agreement.measure())

    def prose(page: str) -> list[str]:
        return [line for line in page.splitlines() if not line.startswith("|")]

    assert prose(committed) == prose(fresh)
    expected, found = cells(committed), cells(fresh)
    assert list(expected) == list(found)
    assert {row for row, _ in found} == {*METHODS, "null-space, QR", "kernel"}
    for key, (worst, statuses) in found.items():
        assert statuses == expected[key][1], key
        if worst is not None:
            assert 1e-2 < max(worst, 1e-15) / max(expected[key][0], 1e-15) < 1e2, key
