"""Motors with inductance: derivatives of steps, motions and places of rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import sarrus as sr
from sarrus.base.errors import ArgumentError
from windings import HENRY, MATRIX, axle, pump


def test_derivatives_of_steps_are_those_of_the_simulator() -> None:
    """Central differences of one step by current, voltage and numbers, with a redundant loop."""
    system = sr.System(pump(), {"inductance": "motor.inductance", "gain": "motor.gain", "rod": "rod.mass"})
    q = np.array(system.assemble([0.7, 0.0, 0.2, 0.5]).q)
    v = np.array(system.project_velocity(q, np.array([2.0, 0.0, 0.0])))
    start = dict(system.parameters)
    found = sr.sensitivity.step_derivatives(system, q, v, [3.0], dt=1e-4)
    assert found.names[-1] == "motor.current"
    assert found.F.shape == (7, 7)

    def end(current: float = 0.0, volts: float = 0.0, **numbers: float) -> np.ndarray:
        system.parameters.update({**start, **numbers})
        run = sr.simulate(
            system,
            q + current * np.eye(4)[3],
            v,
            duration=1e-4,
            dt=1e-4,
            control=lambda q, v, t: [3.0 + volts],
            error_estimate=False,
        )
        system.parameters.update(start)
        return np.concatenate([run.q[-1, :3], run.v[-1], run.q[-1, 3:]])

    for column, name in ((found.F[:, 6], "current"), (found.G[:, 0], "volts")):
        slope = (end(**{name: 1e-4}) - end(**{name: -1e-4})) / 2e-4
        np.testing.assert_allclose(column, slope, rtol=0, atol=1e-9)
    for column, (name, value) in zip(found.P.T, start.items()):
        h = 1e-5 * value
        slope = (end(**{name: value + h}) - end(**{name: value - h})) / (2 * h)
        np.testing.assert_allclose(column, slope, rtol=0, atol=1e-7 * (1 + np.abs(column).max()))


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.AccuracyWarning")  # of the step that meets the limit
def test_derivatives_of_motions_are_those_of_the_matrix_exponential() -> None:
    """By the start they are exp(A t), by the gain of a law what its closed loop says."""
    system = sr.System(axle(), {"inductance": "motor.inductance"})
    found = sr.sensitivity.motion_derivatives(
        system, [0.1, 2.0], [0.5], duration=4e-3, dt=2e-5, control=lambda q, v, t: [6.0 - 0.3 * q[1]]
    )
    closed = MATRIX.copy()
    closed[2, 2] -= 0.3 / HENRY
    np.testing.assert_allclose(found.by_start[-1], expm(closed * 4e-3), rtol=0, atol=1e-8)

    def end(henry: float) -> np.ndarray:
        a = closed.copy()
        a[2] *= HENRY / henry
        stacked = np.zeros((4, 4))
        stacked[:3, :3], stacked[2, 3] = a, 6.0 / henry
        return (expm(stacked * 4e-3) @ [0.1, 0.5, 2.0, 1.0])[:3]

    slope = (end(HENRY * 1.0001) - end(HENRY * 0.9999)) / (2e-4 * HENRY)
    dq, dv = found.dq[-1, :, 0], found.dv[-1, :, 0]
    np.testing.assert_allclose([dq[0], dv[0], dq[1]], slope, rtol=1e-6)
    limited = sr.System(axle(current_limits=(-3.0, 3.0)))
    with pytest.raises(
        sr.SolveError, match=r"no derivatives where 'motor\.current' is at its limit, at t = "
    ):
        sr.sensitivity.motion_derivatives(
            limited, [0.0, 2.9], duration=2e-3, dt=2e-5, control=lambda q, v, t: [12.0]
        )


def test_the_place_of_rest_follows_voltage_resistance_and_constant() -> None:
    """A crank that a motor holds against gravity: slopes of `sr.equilibrium`, with a redundant loop."""
    numbers = {"R": "motor.resistance", "k": "motor.gain", "m": "rod.mass", "L": "motor.inductance"}
    mechanism = pump()
    mechanism.add_coordinate_spring("hold", {"crank": 1.0}, stiffness=3.0)
    system = sr.System(mechanism, numbers)
    start = dict(system.parameters)

    def rest(volts: float = 2.0, **values: float) -> np.ndarray:
        system.parameters.update({**start, **values})
        q = np.array(sr.equilibrium(system, system.assemble([0.3, 0.0, 0.2, 0.0]).q, [volts]).q)
        system.parameters.update(start)
        return q

    found = sr.sensitivity.equilibrium_derivatives(system, rest(), [2.0])
    assert found.coordinate_names[-1] == "motor.current"
    np.testing.assert_allclose(found.dq[-1], [-2.0 / 0.3**2, 0.0, 0.0, 0.0], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.dq_du[-1], [1.0 / 0.3], rtol=1e-12)
    np.testing.assert_allclose(found.dq_du[:, 0], (rest(2.001) - rest(1.999)) / 2e-3, rtol=0, atol=1e-7)
    for column, (name, value) in zip(found.dq.T, start.items()):
        h = 1e-3 * value
        slope = (rest(**{name: value + h}) - rest(**{name: value - h})) / (2 * h)
        np.testing.assert_allclose(column, slope, rtol=0, atol=1e-5 * (1 + np.abs(column).max()))
    with pytest.raises(
        ArgumentError, match=r"derivatives of eigenvalues do not support activations \(motor\.curr"
    ):
        sr.sensitivity.eigenvalue_derivatives(system, rest(), [2.0])
