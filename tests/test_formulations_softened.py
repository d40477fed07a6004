"""Softened inverses: fifty digits, closed forms, limits, what they do to mechanisms, and that they say so."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus as sr
from conftest import load_example
from mechanisms import HOLONOMIC, random_loop
from sarrus.base.arrays import Array
from sarrus.base.errors import AccuracyWarning, ArgumentError, SolveError
from sarrus.formulations import (
    SOFTENED,
    Formulation,
    damped_least_squares,
    null_space,
    tikhonov,
    truncated_svd,
    udwadia_kalaba,
)
from sarrus.runs.cli.main import main

Method = Callable[..., Formulation]
MODEL = Path(__file__).parent.parent / "models" / "five_bar.xml"
WITH = {damped_least_squares: "damping", truncated_svd: "cut", tikhonov: "damping"}
every = pytest.mark.parametrize("method", WITH)
damped = pytest.mark.parametrize("method", [damped_least_squares, tikhonov])


# --- fifty digits --------------------------------------------------------------------------------------


def problem(kind: str, seed: int) -> tuple[list[Array], int, float]:
    """Return M, h, A, γ, τ of six velocities, the rank of A, whose first rows are independent, and its smallest σ."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    A = rng.standard_normal((4, 6))
    if kind == "redundant":
        A = np.vstack([A, A[0] - 2.0 * A[2], np.zeros(6)])
    elif kind != "regular":
        u, s, vt = np.linalg.svd(A, full_matrices=False)
        A = (u * [*s[:3], float(kind)]) @ vt
    gamma = A @ rng.standard_normal(6)
    given = [root @ root.T + np.eye(6), rng.standard_normal(6), A, gamma, rng.standard_normal(6)]
    return given, 4, float(np.linalg.svd(A)[1][3])


def exactly(method: Method, given: list[Array], rank: int, soft: float) -> Array:
    """Return the softened acceleration from its defining equations, in fifty digits."""
    with mp.workdps(50):
        M, h, A, gamma, tau = (mp.matrix(part.tolist()) for part in given)
        force, mu = tau - h, mp.mpf(soft) ** 2
        if method is tikhonov:
            S = A * mp.inverse(M) * A.T + mu * mp.eye(A.rows)
            multipliers = mp.lu_solve(S, -gamma - A * mp.lu_solve(M, force))
            return np.array(mp.lu_solve(M, force + A.T * multipliers).tolist(), dtype=float)[:, 0]
        if method is damped_least_squares:
            rows = A[:rank, :]
            particular = -A.T * mp.lu_solve(A * A.T + mu * mp.eye(A.rows), gamma)
        else:
            squares, vectors = mp.eigsy(A.T * A)
            kept = [k for k in range(6) if squares[k] > mu]
            rows = mp.matrix([[vectors[i, k] for i in range(6)] for k in kept])
            pulled = A.T * gamma
            particular = mp.zeros(6, 1)
            for k in kept:
                particular -= vectors[:, k] * (vectors[:, k].T * pulled)[0] / squares[k]
        n, m = 6, rows.rows
        matrix, right = mp.zeros(n + m), mp.zeros(n + m, 1)
        matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = M, -rows.T, rows
        right[:n, 0], right[n:, 0] = force, rows * particular
        return np.array(mp.lu_solve(matrix, right).tolist(), dtype=float)[:n, 0]


@every
@pytest.mark.parametrize("kind", ["regular", "redundant", "1e-3", "1e-7"])
@pytest.mark.parametrize("soft", [1e-1, 1e-2, 1e-4])
def test_against_fifty_digits(method: Method, kind: str, soft: float) -> None:
    for seed in range(4):
        given, rank, least = problem(kind, seed)
        found = method(*given, **{WITH[method]: soft})
        expected = exactly(method, given, rank, soft)
        closest = least if method is damped_least_squares else max(least, min(soft, 1.0))
        np.testing.assert_allclose(found.a, expected, rtol=0, atol=2e-13 * np.abs(expected).max() / closest)
        M, h, A, gamma, tau = given
        terms = np.abs(M) @ np.abs(found.a) + np.abs(A.T) @ np.abs(found.multipliers) + 1.0
        left = np.abs(M @ found.a + h - tau - A.T @ found.multipliers)
        np.testing.assert_array_less(left, 1e-14 * terms)
        np.testing.assert_allclose(found.details["violation"], A @ found.a + gamma, atol=1e-15)


# --- closed forms --------------------------------------------------------------------------------------


def test_one_row_in_closed_form() -> None:
    """A block on a rail that vanishes, σ x: what is left of γ, the force, the largest spike, by each of the three."""
    m, gamma, push = 3.0, 0.7, 2.0
    for sigma in (1.0, 0.1, 1e-3, 1e-9):
        one = ([[m]], [-push], [[sigma]], [gamma])
        zeta = 0.05
        a = damped_least_squares(*one, damping=zeta, throw=False)
        assert a.a[0] == pytest.approx(-gamma * sigma / (sigma**2 + zeta**2), rel=1e-13)
        assert abs(a.a[0]) <= gamma / (2.0 * zeta) * (1.0 + 1e-14)
        assert a.details["violation"] == pytest.approx(gamma * zeta**2 / (sigma**2 + zeta**2), rel=1e-9)
        assert a.details["kept"] == pytest.approx(sigma**2 / (sigma**2 + zeta**2), rel=1e-12)
        soft = tikhonov(*one, damping=zeta, throw=False)
        multiplier = -(gamma + sigma * push / m) / (sigma**2 / m + zeta**2)
        assert soft.multipliers[0] == pytest.approx(multiplier, rel=1e-13)
        assert soft.a[0] == pytest.approx((push + sigma * multiplier) / m, rel=1e-13)
        assert soft.details["violation"] == pytest.approx(-(zeta**2) * multiplier, rel=1e-9)
        cut = truncated_svd(*one, cut=zeta, throw=False)
        assert cut.a[0] == pytest.approx(-gamma / sigma if sigma > zeta else push / m, rel=1e-13)
        assert cut.rank == (sigma > zeta)
        assert cut.status is (sr.Status.OK if sigma > zeta else sr.Status.SOFTENED)
        assert a.status is soft.status is sr.Status.SOFTENED


@damped
def test_without_damping_it_is_the_pseudo_inverse(method: Method) -> None:
    for kind in ("regular", "redundant", "1e-3"):
        given, _, least = problem(kind, 3)
        found, exact = method(*given, damping=0.0), null_space(*given)
        np.testing.assert_allclose(found.a, exact.a, atol=1e-11 / least)
        np.testing.assert_allclose(found.multipliers, exact.multipliers, atol=1e-10 / least**2)
        assert found.status is sr.Status.OK


@damped
@pytest.mark.parametrize("kind", ["regular", "redundant"])
def test_less_damping_is_less_error_by_its_square(method: Method, kind: str) -> None:
    for seed in range(5):
        given, _, _ = problem(kind, seed)
        exact = null_space(*given)
        sizes = np.array([1e-2, 1e-3, 1e-4])
        found = [method(*given, damping=size) for size in sizes]
        errors = [np.linalg.norm(one.a - exact.a) for one in found]
        order = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        assert abs(order - 2.0) < 0.02
        missed = [np.linalg.norm(one.multipliers - exact.multipliers) for one in found]
        assert abs(np.polyfit(np.log(sizes), np.log(missed), 1)[0] - 2.0) < 0.02


def test_truncated_values_are_a_cut_of_the_rank() -> None:
    for seed in range(10):
        given, _, _ = problem("regular", seed)
        sigma = np.linalg.svd(given[2])[1]
        for cut in (0.5 * sigma[3], np.sqrt(sigma[2] * sigma[3]), np.sqrt(sigma[1] * sigma[2])):
            found = truncated_svd(*given, cut=cut)
            by_rank = null_space(*given, tolerance=cut / sigma[0], throw=False)
            assert found.rank == by_rank.rank == np.count_nonzero(sigma > cut)
            np.testing.assert_allclose(found.a, by_rank.a, atol=1e-11)
            np.testing.assert_array_equal(found.determined, by_rank.determined)
            assert found.status is (sr.Status.OK if found.rank == 4 else sr.Status.SOFTENED)


def test_tikhonov_is_damped_least_squares_in_the_metric_of_the_mass() -> None:
    """With M = I and no force the two are one; with any M, B^ζ stands in the place of B⁺ of Udwadia and Kalaba."""
    (M, h, A, gamma, tau), _, _ = problem("regular", 1)
    plain = (np.eye(6), np.zeros(6), A, gamma)
    np.testing.assert_allclose(tikhonov(*plain).a, damped_least_squares(*plain).a, atol=1e-14)
    values, vectors = np.linalg.eigh(M)
    root = (vectors / np.sqrt(values)) @ vectors.T
    B, free = A @ root, np.linalg.solve(M, tau - h)
    a = free + root @ B.T @ np.linalg.solve(B @ B.T + 0.01 * np.eye(4), -gamma - A @ free)
    np.testing.assert_allclose(tikhonov(M, h, A, gamma, tau, damping=0.1).a, a, atol=1e-12)
    np.testing.assert_allclose(
        tikhonov(M, h, A, gamma, tau, damping=1e-7).a, udwadia_kalaba(M, h, A, gamma, tau).a, atol=1e-11
    )


# --- redundant, inconsistent, singular -----------------------------------------------------------------


@every
def test_rows_that_contradict_each_other(method: Method) -> None:
    """INCONSISTENT whatever is softened; less and less damping goes to the least-squares answer, λ stays finite."""
    given, _, _ = problem("redundant", 2)
    given[3] = given[3] + [0.3, 0, 0, 0, 0.5, 0.7]
    exact = null_space(*given)
    found = method(*given, **{WITH[method]: 1e-6})
    assert exact.status is found.status is sr.Status.INCONSISTENT
    np.testing.assert_allclose(found.a, exact.a, atol=1e-9)
    np.testing.assert_allclose(found.multipliers, exact.multipliers, atol=1e-8)


@every
def test_a_zero_matrix_and_no_rows(method: Method) -> None:
    for A, gamma in ((np.zeros((1, 2)), [0.0]), (np.zeros((0, 2)), [])):
        found = method(np.eye(2), [1.0, -2.0], A, gamma)
        np.testing.assert_array_equal(found.a, [-1.0, 2.0])
        assert (found.status, found.rank) == (sr.Status.OK, 0)


@lru_cache
def system_of(kind: str) -> tuple[sr.System, Array]:
    """Return a mechanism of tests or examples and a closed configuration of it."""
    if kind == "five-bar":
        mechanism = sr.load(MODEL)
        return sr.System(mechanism), mechanism.keyframes["collinear"].q
    if kind == "Bricard":
        system = sr.System(load_example("bricard").build())
        return system, system.neutral()
    if kind == "flat four-bar":
        system = sr.System(load_example("parallelogram").build())
        return system, np.zeros(system.nq)
    mechanism, q = random_loop(kind)
    return sr.System(mechanism), q


@pytest.mark.parametrize("kind", [*HOLONOMIC, "five-bar", "Bricard", "flat four-bar"])
def test_on_mechanisms(kind: str) -> None:
    """With admissible velocities: no work by the constraint of the damped inverse, the limit, and honest statuses."""
    system, q = system_of(kind)
    for seed in range(4):
        v = system.project_velocity(q, np.random.default_rng(seed).standard_normal(system.nv))
        given = (
            system.mass_matrix(q), system.bias_force(q, v) - system.passive_force(q, v),
            system.constraint_jacobian(q), system.constraint_bias(q, v), None,
        )  # fmt: skip
        exact = null_space(*given, tolerance=1e-7, throw=False)
        if exact.status not in (sr.Status.OK, sr.Status.INCONSISTENT):
            continue
        scale = np.abs(exact.a).max() + 1.0
        for method in WITH:
            for soft in (1e-6, 1e-2):
                found = method(*given, **{WITH[method]: soft}, tolerance=1e-7, throw=False)
                left = np.abs(
                    found.details["violation"] - exact.problem.A @ exact.a - exact.problem.gamma
                ).max()
                if left > 1e-6 * scale:
                    assert found.status in (sr.Status.SOFTENED, sr.Status.INCONSISTENT)
                if soft == 1e-6:
                    sigma = found.details["singular_values"]
                    error = 1e-12 / sigma[-1] ** 2 if len(sigma) else 0.0
                    assert np.abs(found.a - exact.a).max() < (1e3 * error + 1e-8) * scale
            work = damped_least_squares(*given, damping=0.1, tolerance=1e-7, throw=False).constraint_force @ v
            assert abs(work) < 1e-9 * scale * (1.0 + np.linalg.norm(v)) * np.abs(given[0]).max()


# --- refusals ------------------------------------------------------------------------------------------


@every
def test_refusals(method: Method) -> None:
    one = (np.eye(2), np.zeros(2), [[1.0, 0.0]], [0.0])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ArgumentError, match=WITH[method]):
            method(*one, **{WITH[method]: bad})
    massless = (np.diag([0.0, 1.0]), np.zeros(2), [[0.0, 1.0]], [0.0])
    with pytest.raises(SolveError, match=f"{method.__name__}: .*smallest eigenvalue"):
        method(*massless)
    found = method(*massless, throw=False)
    assert found.status is sr.Status.ILL_POSED
    assert np.isnan(found.a).all()


def test_a_cut_of_zero_is_refused() -> None:
    with pytest.raises(ArgumentError, match="cut must be a positive number, got 0"):
        truncated_svd(np.eye(1), [0.0], [[1.0]], [0.0], cut=0.0)


# --- on a motion ---------------------------------------------------------------------------------------

ROD, TURN = 1.002, (1.1, 3.6)  # rod over crank; start near the spike: crank angle and speed [rad, rad/s]


@lru_cache
def slider_crank() -> sr.System:
    """Return a slider-crank whose rod is 2 mm longer than its crank: the slider turns back 63 mm before the pivot."""
    return sr.System(load_example("slider_crank").build(ROD))


def rod_angle(crank: Array | float) -> Array:
    """Return the angle of the rod to the x axis on the branch with the slider to the right."""
    return -np.arcsin(np.sin(crank) / ROD)


def closed_form(t: Array) -> Array:
    """Return q (T, 2) of the slider-crank, from its equation of one degree of freedom, by an own integration."""

    def slope(t: float, y: Array) -> Array:
        # bobs at the crank pin and at the slider: T = ½ (1 + x′²) θ̇², x = cos θ + √(ROD² − sin²θ), V = g sin θ
        sine, cosine = np.sin(y[0]), np.cos(y[0])
        root = np.sqrt(ROD**2 - sine**2)
        x1 = -sine - sine * cosine / root
        x2 = -cosine - (cosine**2 - sine**2) / root - (sine * cosine) ** 2 / root**3
        return np.array([y[1], (-9.81 * cosine - x1 * x2 * y[1] ** 2) / (1.0 + x1**2)])

    crank = solve_ivp(slope, (0.0, t[-1]), TURN, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=t).y[0]
    return np.stack([crank, rod_angle(crank) - crank], axis=1)


@pytest.fixture(scope="module")
def spike() -> sr.studies.Comparison:
    """The three softened so that they act where the slider turns back, beside the null space and the kernel."""
    runs = {
        "kernel": {},
        "null space": {"formulation": "null-space"},
        **{
            f"{method.__name__} {soft:g}": {"formulation": partial(method, **{WITH[method]: soft})}
            for method in WITH
            for soft in (0.03, 0.3)
        },
    }
    crank, speed = TURN
    rate = -speed * np.cos(crank) / (ROD * np.cos(rod_angle(crank)))
    system = slider_crank()
    times = np.arange(161) * 2e-3
    motion = closed_form(times)
    return sr.compare(
        system, motion[0], [speed, rate - speed], duration=0.32, dt=2e-3, formulations=runs,
        reference=lambda t: motion[round(t / 2e-3)],
    )  # fmt: skip


def test_what_softening_costs_where_the_spike_is_true(spike: sr.studies.Comparison) -> None:
    rows = {row.formulation: row for row in spike.table()}
    for exact in ("kernel", "null space"):
        assert rows[exact].status is sr.Status.OK
        assert rows[exact].position_error < 1e-3
    sound = rows["null space"].position_error
    for method in WITH:
        soft, softer = (rows[f"{method.__name__} {size:g}"] for size in (0.03, 0.3))
        assert softer.status is sr.Status.SOFTENED
        assert softer.position_error > 10 * sound
        assert softer.energy_error > soft.energy_error or method is truncated_svd
    print(spike)
    assert "position" in str(spike)
    assert "off by that" not in str(spike)  # asked for: no message below the table
    assert spike.plot().axes[0].get_ylabel() == "position error [m, rad]"


def test_position_errors_are_those_of_the_coordinates(spike: sr.studies.Comparison) -> None:
    run = spike["tikhonov 0.3"]
    expected = np.abs(run.q - closed_form(run.t)).max(axis=1)
    np.testing.assert_allclose(spike.position_errors["tikhonov 0.3"], expected, atol=1e-12)


def test_a_run_says_that_it_was_softened() -> None:
    system = slider_crank()
    q = system.assemble([0.5, -1.0], locked=["crank"]).q
    with pytest.warns(AccuracyWarning, match="softens the constraints.* first at t = 0 s"):
        run = sr.simulate(system, q, duration=0.01, dt=1e-3, formulation="tikhonov")
    assert run.status is sr.Status.SOFTENED
    assert run.status.complete
    assert not run.status.ok
    untouched = sr.simulate(system, q, duration=0.01, dt=1e-3, formulation="truncated-svd")
    assert untouched.status is sr.Status.OK


def test_compare_by_name_and_bad_references(capsys: pytest.CaptureFixture[str]) -> None:
    system = slider_crank()
    q = system.assemble([0.5, -1.0], locked=["crank"]).q
    brief = {"duration": 4e-3, "dt": 1e-3}
    compared = sr.compare(system, q, formulations=["kernel", *SOFTENED], reference="kernel", **brief)
    assert [row.position_error < 1e-6 for row in compared.table()] == 4 * [True]
    assert compared.table()[0].position_error == 0.0
    assert float(compared.to_xarray()["position_error"].sel(formulation="tikhonov")) > 0.0
    run = sr.simulate(system, q, duration=2e-3, dt=1e-3)
    short = sr.compare(system, q, formulations=["kernel"], reference=run, **brief)
    np.testing.assert_array_equal(
        np.isnan(short.position_errors["kernel"]), [False, False, False, True, True]
    )
    np.testing.assert_allclose(short.position_errors["kernel"][:3], 0.0, atol=1e-12)
    assert "position" not in str(sr.compare(system, q, formulations=["kernel"], **brief))
    pendulum = sr.Mechanism("pendulum")
    pendulum.add_body("bob", 1.0, com=(1, 0, 0))
    pendulum.add_joint("pin", "revolute", "world", "bob", axis=(0, 1, 0))
    other = sr.simulate(sr.System(pendulum), [0.1], duration=1e-3, dt=1e-3)
    for reference, message in (
        ("null-space", "unknown reference 'null-space'"),
        (other, "has the coordinates pin; it must have those of slider_crank, crank, rod"),
        (lambda t: [0.0], r"q\(t\) must be \(2,\), got shape \(1,\)"),
        (5.0, "label of a run, a Trajectory or a function of time, got float"),
    ):
        with pytest.raises(ArgumentError, match=message):
            sr.compare(system, q, formulations=["kernel"], reference=reference, **brief)
    assert main(["compare", str(MODEL), "--formulations", "kernel,tikhonov", "--duration", "0.003"]) == 0
    assert "SOFTENED" in capsys.readouterr().out
