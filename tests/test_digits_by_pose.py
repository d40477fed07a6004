"""Digits are of the model, whatever pose it is drawn in: closed, stretched or flat."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus as sr
from families import digits_by_pose
from families.digits_by_pose import FourBar, build, closed_angles, urdf
from sarrus import Status
from sarrus.dynamics.closing.levenberg_marquardt import data_of

LENGTHS = np.array([1.0, 0.4, 1.1, 0.9])
CASE = FourBar(
    LENGTHS, np.array([1.0, 2.0, 0.5]), 1.0, 0.0, "stretched", False, "revolute", (False, False, False, True),
    np.full(5, 1.5708 - np.pi / 2), 1.0, False, "default",
)  # fmt: skip


def test_a_hinge_turned_by_a_printed_angle_closes_a_loop_drawn_along_its_links() -> None:
    assert 'rpy="1.5708 -0.0 0"' in urdf(CASE)
    text, error = digits_by_pose.moved(CASE, 0.5)
    assert text == "OK"
    assert error < 1e-6


@pytest.mark.parametrize("tilt", [1e-3, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("drawn", ["stretched", "flat", "closed"])
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_the_judgement_is_the_same_in_every_pose(drawn: str, tilt: float, unit: float) -> None:
    """In proportion to the tilt, and no singular value of a flat pose is taken for one of the digits."""
    lengths = np.array([1.0, 0.4, 1.1, 0.5]) if drawn == "flat" else LENGTHS
    system, guess, _ = build(replace(CASE, lengths=lengths, drawn=drawn, tilts=np.full(5, tilt), unit=unit))
    data = data_of(system)
    assert 0.1 * tilt < data.closing_error < 10.0 * tilt
    assert data.cut < 0.03
    start = system.assemble(guess, locked=["crank"])
    assert (start.status, start.rank) == (Status.OK, 2)


@pytest.mark.parametrize("tilt", [1e-4, 1e-6, 1e-8])
def test_a_flat_pose_stays_singular(tilt: float) -> None:
    """Not an ordinary configuration of rank 2, whose second row is of the digits."""
    lengths = np.array([1.0, 0.5, 1.2, 0.7])
    exact, _, _ = build(replace(CASE, lengths=lengths, drawn="flat", tilts=np.zeros(5)))
    system, _, _ = build(replace(CASE, lengths=lengths, drawn="flat", tilts=np.full(5, tilt)))
    found, expected = (s.forward_dynamics(np.zeros(3), np.zeros(3), throw=False) for s in (system, exact))
    assert (found.status, found.rank) == (expected.status, expected.rank) == (Status.SINGULAR, 1)
    np.testing.assert_allclose(found.a, expected.a, atol=1e-3)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
def test_all_functions_agree_with_the_exact_model(unit: float) -> None:
    """Inverse dynamics, laws, linear models and accelerations, of a loop drawn stretched with a tilt of 2e-4 rad."""
    answers = []
    for tilt in (2e-4, 0.0):
        case = replace(CASE, tilts=tilt * np.array([1.0, -1.0, 1.0, -1.0, 1.0]), unit=unit)
        mechanism = build(case)[0].mechanism
        assert mechanism is not None
        mechanism.add_actuator("motor", "crank")
        system, (_, guess, places) = sr.System(mechanism), build(case)
        q = system.assemble(guess, locked=["crank"]).q
        v = system.project_velocity(q, np.eye(3)[places[0]])
        v = v / v[places[0]]
        law = sr.control.ProjectedInverseDynamics(system, ["crank"], [0.3], stiffness=25.0, damping=10.0)
        limited = sr.control.ProjectedInverseDynamics(
            system, ["crank"], [0.3], stiffness=25.0, damping=10.0, limits=([-1e12], [1e12])
        )
        u = law(q, v)
        found = system.forward_dynamics(q, v, u)
        assert found.status is Status.OK
        assert found.a[places[0]] == pytest.approx(25.0 * (0.3 - q[places[0]]) - 10.0, rel=1e-6)
        np.testing.assert_allclose(limited(q, v), u, rtol=1e-6)
        needed = system.inverse_dynamics(q, v, found.a)
        np.testing.assert_allclose(needed.u, u, rtol=1e-6)
        linear = sr.linearize_at(system, q, v, u, coordinates=["crank"])
        rest = sr.equilibrium(system, q, u=None, throw=False)
        answers.append([*(u / unit**2), *found.a, *linear.A.ravel(), *(rest.q - q)])
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-5, atol=1e-5)


def test_a_family_of_files() -> None:
    counts, worst = digits_by_pose.run(4, seed=3)
    assert set(counts) <= {"right", "refused"}, (counts, worst[:3])


def test_the_closed_form_closes() -> None:
    angles = closed_angles(LENGTHS, 1.0)
    end = np.exp(1j * angles) @ (LENGTHS[1:] * [1, 1, -1])
    assert end == pytest.approx(LENGTHS[0])
