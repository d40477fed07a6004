"""OK is said of answers whose residuals are small: random problems, dependent and contradictory rows, mixed units."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.linalg import qr

import sarrus as sr
from random_solves import Case, draw, system_of
from sarrus import Status

Array = np.ndarray


def truth(case: Case) -> Array:
    """Return a in fifty digits, from as many rows of A as were made independent."""
    n, scaled = len(case.h), case.A / np.sqrt(np.diag(case.M))
    scaled = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300)
    rows = qr(scaled.T, pivoting=True)[2][: case.rank] if case.rank else []
    with mp.workdps(50):
        whole, right = mp.zeros(n + len(rows)), mp.zeros(n + len(rows), 1)
        for i in range(n):
            right[i] = -mp.mpf(case.h[i])
            for j in range(n):
                whole[i, j] = mp.mpf(case.M[i, j])
        for k, j in enumerate(rows):
            right[n + k] = -mp.mpf(case.gamma[j])
            for i in range(n):
                whole[n + k, i] = whole[i, n + k] = mp.mpf(case.A[j, i])
        solution = mp.lu_solve(whole, right)
        return np.array([float(solution[i]) for i in range(n)])


def error(case: Case, a: Array) -> float:
    """Return how far a is from the truth in units 1/√M_kk, next to it and to 1e-10 of what forces alone would do."""
    unit, exact = np.sqrt(np.diag(case.M)), truth(case)
    values, vectors = np.linalg.eigh(case.M / np.outer(unit, unit))
    free = vectors @ ((vectors.T @ (case.h / unit)) / values)
    return float(np.abs((a - exact) * unit).max() / (np.abs(exact * unit).max() + 1e-10 * np.abs(free).max()))


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (4, 5), (6, 4)])
def test_ok_means_checked(shape: tuple[int, int]) -> None:
    """Tolerances are far from what rounding does: residuals that are met are below 1e-9 or those of dependent rows."""
    rng = np.random.default_rng(shape)
    well = flagged = 0
    for _ in range(160):
        case = draw(rng, *shape)
        result = case.solve()
        if case.contradiction:
            assert result.status in (Status.INCONSISTENT, Status.ILL_CONDITIONED)
            continue
        if result.status is Status.OK:
            assert max(case.residuals(result.a, result.multipliers)) < 1e-5
            assert error(case, result.a) < 1e-3
        if case.condition < 1e6 and case.row_condition < 1e6:
            well, flagged = well + 1, flagged + (result.status is not Status.OK)
    assert well > 50
    assert flagged == 0


def test_contradiction_is_measured_by_the_rows_not_by_the_forces() -> None:
    """v = 0 and v = 0.9 t, a light mass and a large force: nothing that the force could do reconciles them."""
    system = sr.System.from_equations(
        1, lambda q: [[1e-3]], lambda q, v: [-5e3], velocity=lambda q, v, t: [v[0], v[0] - 0.9 * t]
    )
    result = system.forward_dynamics([0.0], [0.0], throw=False)
    assert result.status is Status.INCONSISTENT
    assert result.a == pytest.approx([0.45])
    assert result.residual == pytest.approx(0.9 / np.sqrt(2.0))


def test_a_mass_matrix_near_to_singular_is_named() -> None:
    """M = Q diag(1, 1e-12) Qᵀ: the residuals are small, and a may still be wrong in all digits."""
    c, s = np.cos(0.4), np.sin(0.4)
    turn = np.array([[c, -s], [s, c]])
    mass = turn @ np.diag([1.0, 1e-12]) @ turn.T
    system = sr.System.from_equations(2, lambda q: (0.5 * (mass + mass.T)).tolist(), lambda q, v: [0.3, 0.2])
    assert system.forward_dynamics(np.zeros(2), np.zeros(2), throw=False).status is Status.ILL_CONDITIONED
    # in units of its own every coordinate is as light as it is heavy
    system = sr.System.from_equations(2, lambda q: [[1.0, 0.0], [0.0, 1e-12]], lambda q, v: [0.3, 2e-12])
    result = system.forward_dynamics(np.zeros(2), np.zeros(2))
    assert result.status is Status.OK
    np.testing.assert_allclose(result.a, [-0.3, -2.0], rtol=1e-14)


def test_a_wheel_that_turns_as_a_whole_does_not_contradict_itself() -> None:
    """Two hubs of one wheel at the same place: γ of both cancels to rounding, with nothing else to compare it with."""
    m = sr.Mechanism("wheel", gravity=(0, 0, 0))
    m.add_body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_body("rim", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("axle", "revolute", "world", "wheel", axis=(0, 1, 0))
    m.add_joint("own axle", "revolute", "world", "rim", axis=(0, 1, 0))
    for k, angle in enumerate((0.3, 1.1, 2.7)):
        place = (0.7 * np.cos(angle), 0.0, 0.7 * np.sin(angle))
        m.add_closure(f"bolt {k}", "point", "wheel", "rim", pose1=place, pose2=place)
    system = sr.System(m)
    result = system.forward_dynamics([0.4, 0.4], [7.0, 7.0], throw=False)
    assert result.status is Status.OK
    np.testing.assert_allclose(result.a, 0.0, atol=1e-12)


def test_the_system_of_the_survey_takes_its_numbers_as_parameters() -> None:
    assert len(system_of(2, 3).parameters) == 3 + 2 + 6 + 3
