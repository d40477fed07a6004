"""OK is said of answers whose residuals are small: random problems, dependent and contradictory rows, mixed units."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from random_solves import draw, survey, system_of
from sarrus import Status


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (4, 5), (6, 4)])
def test_ok_means_checked(shape: tuple[int, int]) -> None:
    """Tolerances are far from what rounding does: residuals that are met are below 1e-9 or those of dependent rows."""
    tally = survey(shape, 160, exact_every=1)
    assert tally.well_posed > 50
    assert [*tally.wrong, *tally.far, *tally.refused] == []


def test_contradiction_is_measured_by_the_rows_not_by_the_forces() -> None:
    """v = 0 and v = 0.9 t, a light mass and a large force: nothing that the force could do reconciles them."""
    system = sr.System.from_equations(
        1, lambda q: [[1e-3]], lambda q, v: [-5e3], velocity=lambda q, v, t: [v[0], v[0] - 0.9 * t]
    )
    result = system.forward_dynamics([0.0], [0.0], throw=False)
    assert result.status is Status.INCONSISTENT
    assert result.a == pytest.approx([0.45])
    assert result.residual == pytest.approx(0.9 / np.sqrt(2.0))


def test_contradiction_is_not_hidden_by_what_a_light_direction_would_do() -> None:
    """cond M = 2e7, forces of 1e3: alone they would do 1e13 along one direction; 1e-13 of that is no excuse for 0.2."""
    rng = np.random.default_rng((4, 5))
    case = [draw(rng, 4, 5) for _ in range(3667)][-1]
    assert case.contradiction
    assert case.solve().status is Status.INCONSISTENT


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
