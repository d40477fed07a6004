"""Loops that are open by more than runs take are NOT_CLOSED everywhere, with the name of the row."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import sarrus as sr
from sarrus import Status
from sarrus.base.errors import SolveError

FIRST = np.eye(4)[0]


@pytest.fixture(scope="module")
def five_bar() -> sr.System:
    return sr.System(sr.load("models/five_bar.xml"))


@pytest.fixture(scope="module")
def closed(five_bar: sr.System) -> np.ndarray:
    assert five_bar.mechanism is not None
    return five_bar.assemble(five_bar.mechanism.keyframes["symmetric"].q).q


def solves(system: sr.System) -> dict[str, Callable[..., object]]:
    still, names = np.zeros(system.nv), [system.coordinate_names[0], system.coordinate_names[2]]
    law = sr.control.ProjectedInverseDynamics(system, names, [0.1, 0.2])
    return {
        "forward_dynamics": lambda q, **more: system.forward_dynamics(q, still, **more),
        "inverse_dynamics": lambda q, **more: system.inverse_dynamics(q, still, still, **more),
        "reactions": lambda q, **more: sr.reactions(system, q, still, **more),
        "law": lambda q, **more: law.solve(q, still, **more),
    }


def test_open_loops_are_named(five_bar: sr.System, closed: np.ndarray) -> None:
    """By the rule of `simulate`: open by 1e-5 lengths or radians."""
    for name, solve in solves(five_bar).items():
        for step in (0.0, 1e-7, 2e-6):
            status = solve(closed + step * FIRST, throw=False).status  # type: ignore[attr-defined]
            assert status is not Status.NOT_CLOSED, (name, step)
        for step in (1e-4, 0.02, 1.0):
            q = closed + step * FIRST
            found = solve(q, throw=False)
            assert found.status is Status.NOT_CLOSED, (name, step)  # type: ignore[attr-defined]
            told = r"q leaves the loops open by .*\(row 'tips.x'\); close them"
            if name in ("inverse_dynamics", "law"):
                with pytest.raises(SolveError, match=told):
                    solve(q)
            elif name == "forward_dynamics":
                assert re.match(told, found.message)  # type: ignore[attr-defined]
            with pytest.raises(sr.ArgumentError, match=r"q leaves the loops open by"):
                sr.simulate(five_bar, q, duration=0.01)


def test_numbers_of_open_loops_are_those_of_the_rows(five_bar: sr.System, closed: np.ndarray) -> None:
    q = closed + 0.02 * FIRST
    found, v = five_bar.forward_dynamics(q, np.zeros(4), throw=False), np.zeros(4)
    np.testing.assert_allclose(five_bar.constraint_jacobian(q) @ found.a, 0.0, atol=1e-10)
    force = five_bar.mass_matrix(q) @ found.a + five_bar.bias_force(q, v) - five_bar.passive_force(q, v)
    np.testing.assert_allclose(force, found.constraint_force, atol=1e-10)
    assert "tips.x" in found.message
