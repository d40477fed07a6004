"""Runs whose solves are no full answers say so: single runs and rollouts, long and short, fixed and adaptive steps."""

from __future__ import annotations

import re
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import SimulationError
from sarrus.base.status import Status

# Three rows that determine all of a, and a mass matrix with a condition number of 1e10: after refinement the residual
# is still 2e-9. Kernels have the same bits everywhere.
MASS = [
    [0.24452880225120677, 0.29371590739248427, 0.015557882205755616],
    [0.29371590739248427, 0.35280463225851194, 0.018691883250864946],
    [0.015557882205755616, 0.018691883250864946, 0.000992544866929423],
]
FORCE = [-0.0006050858759019125, -1.680389855696362e-05, 0.00041860623946097023]
ROWS = [
    [0.9871318145550052, 0.8180399697430084, 0.9030273108857461],
    [-1.089176206663288, 0.1970463749440833, 2.7413232400579726],
    [-1.8277417754569543, -1.2326358979154228, -0.7087930063225029],
]
GAMMA = [-0.06056235404942615, -0.11728871814502785, -0.4212873823530375]


def contradicting() -> sr.System:
    """v = 0 and v = 0.9 t: nothing that a force could do reconciles them."""
    return sr.System.from_lagrangian(
        1,
        lambda q, v, t: 0.5e-3 * v[0] ** 2 + 5e3 * q[0],
        velocity=lambda q, v, t: [v[0], v[0] - 0.9 * t],
    )


def contradicting_later() -> sr.System:
    """v = 0 and v = t²/1e5, which agree at the beginning."""
    return sr.System.from_lagrangian(
        2,
        lambda q, v, t: 0.5 * (v[0] ** 2 + v[1] ** 2) - q[0] - 2.0 * q[1],
        velocity=lambda q, v, t: [v[0], v[0] - 1e-5 * t * t],
    )


def faint(rows: bool) -> sr.System:
    """M has eigenvalues 1 and 1e-12, across the coordinates."""
    c, s = np.cos(0.4), np.sin(0.4)
    return sr.System.from_lagrangian(
        2,
        lambda q, v, t: 0.5 * (c * v[0] + s * v[1]) ** 2 + 0.5e-12 * (s * v[0] - c * v[1]) ** 2 - q[0],
        **({"velocity": lambda q, v, t: [v[0] + v[1]]} if rows else {}),
    )


def rough() -> sr.System:
    """See `MASS`."""
    return sr.System.from_equations(
        3,
        lambda q: MASS,
        lambda q, v: FORCE,
        velocity=lambda q, v, t: [
            row[0] * v[0] + row[1] * v[1] + row[2] * v[2] + g * t for row, g in zip(ROWS, GAMMA)
        ],
    )


CASES = {
    "contradicting": (contradicting, Status.INCONSISTENT),
    "contradicting later": (contradicting_later, Status.INCONSISTENT),
    "faint": (lambda: faint(False), Status.ILL_CONDITIONED),
    "faint, a row": (lambda: faint(True), Status.ILL_CONDITIONED),
    "rough": (rough, Status.ALMOST),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[sr.System, Status]:
    build, status = CASES[request.param]
    return build(), status


@pytest.mark.parametrize(
    "options",
    [
        {"duration": 0.1, "dt": 1e-3},
        {"duration": 2e-3, "dt": 1e-3},
        {"duration": 0.1, "dt": 1e-3, "every": 30},
        {"duration": 0.1, "rtol": 1e-8, "atol": 1e-10},
        {"duration": 1e-3, "rtol": 1e-8, "atol": 1e-10},
        {"duration": 0.1, "dt": 1e-3, "method": "rodas5p"},
    ],
    ids=str,
)
def test_a_run(case: tuple[sr.System, Status], options: dict[str, Any]) -> None:
    system, status = case
    q = np.zeros(system.nq)
    run = sr.simulate(system, q, throw=False, progress=False, **options)
    assert run.status is status
    assert run.success is status.ok
    rows = " ('psi1', 'psi2')" if status is Status.INCONSISTENT else ""
    told = {f"{status.diagnosis}, from t = {since:.6g} s on{rows}. {status.remedy}" for since in run.t[:2]}
    assert run.message in told
    assert run.t[-1] == options["duration"]
    with pytest.raises(SimulationError, match=status.diagnosis):
        sr.simulate(system, q, progress=False, **options)


@pytest.mark.parametrize(
    "options", [{}, {"dt": 1e-2}, {"error_estimate": False}, {"every": 50, "dt": 1e-2}], ids=str
)
def test_rows_that_contradict_each_other_from_an_instant_on(options: dict[str, Any]) -> None:
    """The speeds are one until t = 1 s; a run of few steps, of which the last alone shows it, says so too."""
    system = sr.System.from_lagrangian(
        2,
        lambda q, v, t: 0.5 * (v[0] ** 2 + v[1] ** 2),
        velocity=lambda q, v, t: [v[0] - 0.1, v[1] - 0.3, v[0] - 0.1 - 1e-2 * ca.fmax(0.0, t - 1.0) ** 2],
    )
    run = sr.simulate(system, [0.0, 0.0], [0.1, 0.3], duration=3.0, throw=False, **options)
    assert run.status is Status.INCONSISTENT
    since = float(re.search(r"from t = (\S+) s on \('psi1', 'psi3'\)", run.message)[1])
    assert 1.0 <= since <= (1.5 if "every" in options else 1.02)
    fine = sr.simulate(system, [0.0, 0.0], [0.1, 0.3], duration=0.9, **options)
    assert fine.status is Status.OK


@pytest.mark.parametrize("side_by_side", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {"duration": 0.1},
        {"duration": 0.1, "every": 10},
        {"duration": 2e-3},
        {"duration": 0.1, "method": "dop853", "rtol": 1e-8},
    ],
    ids=str,
)
def test_a_rollout(case: tuple[sr.System, Status], options: dict[str, Any], side_by_side: bool) -> None:
    system, status = case
    many = sr.rollout(
        system, np.zeros((3, system.nq)), dt=1e-3, side_by_side=side_by_side, progress=False, **options
    )
    assert all(found is status for found in many.status)
    assert list(many.success) == [status.ok] * 3
    assert list(many.failed) == [0, 1, 2]
    assert many.message[1] == f"{status.diagnosis} at t = {options['duration']:g} s. {status.remedy}"
    assert many.trajectory(2).status is status
