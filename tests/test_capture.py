"""Closures that hold the frames where they are when they are switched on, as grippers do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.errors import ArgumentError, ModelError
from sarrus.dynamics.impacts.activity import switch_off, switch_on
from sarrus.model.mechanism.elements import CLOSURE_KINDS, CLOSURE_ROWS


def pair(kind: str, capture: float) -> sr.System:
    """Two free bodies with a closure that is off."""
    m = sr.Mechanism("pair", gravity=(0, 0, -9.81))
    for name in ("one", "two"):
        m.add_body(name, 1.5, com=(0.02, -0.01, 0.03), inertia=(0.1, 0.2, 0.25))
        m.add_joint(name, "free", "world", name)
    options = {"length": 0.3} if kind == "distance" else {"pitch": 0.1} if kind == "screw" else {}
    m.add_closure("grip", kind, "one", "two", pose1=(0.1, 0, 0.2), active=False, capture=capture, **options)
    return sr.System(m)


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_what_is_there_is_held_for_every_kind(kind: str):
    system, rng = pair(kind, 1.0), np.random.default_rng(CLOSURE_KINDS.index(kind))
    off = rng.uniform(-0.05, 0.05, 3)
    q = np.array([0, 0, 0, 1, 0, 0, 0, *(np.array([0.1, 0, 0.2]) + off), 1, 0, 0, 0], dtype=float)
    if kind == "distance":
        q[7:10] += (0.0, 0.3, 0.0)
    q = system.move(q, np.concatenate([np.zeros(9), 0.05 * rng.standard_normal(3)]))
    switch_on(system, ["grip"], q)
    assert np.abs(system.constraint_residual(q)).max() < 1e-15
    # rows are those of the closure, differences of its residual
    A, step = system.constraint_jacobian(q), 1e-6
    for k in range(system.nv):
        way = step * np.eye(system.nv)[k]
        slope = (
            system.constraint_residual(system.move(q, way)) - system.constraint_residual(system.move(q, -way))
        ) / (2 * step)
        assert_allclose(A[:, k], slope, atol=1e-8)
    v = system.project_velocity(q, 0.2 * rng.standard_normal(system.nv))
    run = sr.simulate(system, q, v, duration=0.3)
    assert run.status is sr.Status.OK
    assert run.residual.max() < 1e-12
    assert run.energy_drift < 1e-8
    switch_off(system, ["grip"])
    assert len(CLOSURE_ROWS[kind]) == system.nc


def test_on_schedule_a_gripper_takes_a_body_where_it_is():
    m = sr.Mechanism("taken", gravity=(0, 0, 0))
    for name in ("hand", "thing"):
        m.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        m.add_joint(name, "prismatic", "world", name, axis=(1, 0, 0))
    m.add_closure("grip", "point_on_plane", "hand", "thing", axis=(1, 0, 0), active=False, capture=0.01)
    system = sr.System(m)
    schedule = sr.Switching({"grip": [(0.1, np.inf)]})
    run = sr.simulate(system, [0.0, 0.004], [0.3, 0.3], duration=0.5, switching=schedule)
    assert_allclose(run.q[-1], [0.15, 0.154], atol=1e-12)
    run = sr.simulate(system, [0.0, 0.02], [0.3, 0.3], duration=0.5, switching=schedule, throw=False)
    assert run.status is sr.Status.SWITCHING_FAILED
    assert "'grip' cannot be switched on, it is open by 0.02" in run.message
    assert "captures no more than 0.01" in run.message


def test_errors_name_what_is_wrong(tmp_path: Path):
    system = pair("weld", 0.01)
    q = system.neutral()
    with pytest.raises(ArgumentError, match=r"open by .* in row 'grip\..*' and captures no more than 0.01"):
        switch_on(system, ["grip"], q)
    m = sr.Mechanism("wrong")
    m.add_body("a", 1.0)
    m.add_joint("a", "free", "world", "a")
    with pytest.raises(ModelError, match="capture must be at least 0"):
        m.add_closure("grip", "weld", "world", "a", active=True, capture=-1.0)
    with pytest.raises(ModelError, match="capture is for switchable closures"):
        m.add_closure("grip", "weld", "world", "a", capture=0.1)
    with pytest.raises(sr.SarrusError, match="holds what is there when it is switched on"):
        system.mechanism.to_mjcf(tmp_path / "pair.xml")
