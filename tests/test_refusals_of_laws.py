"""What laws say where limits are in the way: smallest sets that contradict, answers all the same, soft levels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from legged_robots import box
from random_levels import carts
from sarrus import control, optimize
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.model.mechanism.faults import ModelError

N = 4


def hierarchy(system: sr.System, rows: optimize.ConeRows, limits: object) -> control.TaskHierarchy:
    """Return a law with rows of the user beside the limits of its motors."""
    return control.TaskHierarchy(system, [control.Task("x0", 1.0)], constraints=rows, limits=limits)


def picked(rows: optimize.ConeRows, kept: set[int]) -> optimize.ConeRows:
    """Return some of the half-lines."""
    some = sorted(kept)
    return optimize.ConeRows(rows.G[some], rows.h[some], len(some))


@pytest.mark.parametrize("seed", range(30))
def test_what_a_refusal_names_is_infeasible_and_every_part_of_it_is_not(seed: int) -> None:
    """Random half-lines and motors' limits, some of which contradict each other: laws with what is named alone."""
    rng, system = np.random.default_rng(seed), carts(N)
    count = int(rng.integers(5, 12))
    rows = optimize.ConeRows(rng.normal(size=(count, N)), rng.normal(size=count) - 0.5, count)
    limit = rng.uniform(0.3, 2.0, N)
    q = v = np.zeros(N)
    law = hierarchy(system, rows, (-limit, limit))
    told = law.solve(q, v, throw=False)
    if told.outcome != "infeasible":
        assert told.status is not Status.INFEASIBLE
        return
    assert told.status is Status.INFEASIBLE
    assert np.abs(told.u).max() <= limit.max()
    with pytest.raises(SolveError, match=f"no controls lie inside all limits: {told.conflict[0]}"):
        law.solve(q, v)
    with pytest.raises(SolveError, match="no controls lie inside all limits"):
        law(q, v)
    lines = {int(name.split()[1]) for name in told.conflict if name.startswith("constraint")}
    motors = {int(name[-2]) for name in told.conflict if name.startswith("actuator")}
    assert len(lines) + len(motors) == len(told.conflict) > 1

    def answer(lines: set[int], motors: set[int]) -> bool:
        most = np.array([limit[k] if k in motors else 1e6 for k in range(N)])
        found = hierarchy(system, picked(rows, lines), (-most, most)).solve(q, v, throw=False)
        return found.outcome != "infeasible"

    assert not answer(lines, motors)
    for k in lines:
        assert answer(lines - {k}, motors)
    for k in motors:
        assert answer(lines, motors - {k})


def test_enough_of_these_random_limits_contradict_each_other() -> None:
    refused = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(5, 12))
        rows = optimize.ConeRows(rng.normal(size=(count, N)), rng.normal(size=count) - 0.5, count)
        limit = rng.uniform(0.3, 2.0, N)
        law = hierarchy(carts(N), rows, (-limit, limit))
        refused += law.solve(np.zeros(N), np.zeros(N), throw=False).outcome == "infeasible"
    assert refused >= 8


def test_contacts_and_motors_that_are_named_contradict_each_other() -> None:
    """A box whose feet leave the ground is to be pulled back: no contact pulls, and the motor is too weak."""
    system = box(0.2)
    q = system.neutral()
    for speed in (0.1, 0.3, 1.0):
        leaving = np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0])

        def solve(x: float, y: float, z: float) -> control.Command:
            limit = np.array([x, y, z])
            law = control.LeggedController(system, [], limits=(-limit, limit), contact_damping=200.0)
            return law.solve(q, leaving, throw=False)  # noqa: B023

        told = solve(1.0, 1.0, 1.0)
        assert (told.outcome, told.status) == ("infeasible", Status.INFEASIBLE)
        assert np.abs(told.u).max() <= 1.0
        feet = {f"contact 'foot.{k}'" for k in range(1, 5)}
        assert set(told.conflict) - feet == {"actuator 'z'"}
        assert set(told.conflict) <= feet | {"actuator 'z'"}
        assert solve(1e6, 1e6, 1.0).outcome == "infeasible"
        assert solve(1.0, 1.0, 1e6).outcome == "exact"


def test_only_a_soft_level_that_gives_way_is_said_so() -> None:
    """The task of x0 is met; what the rest would do without motors takes more than a motor has."""
    system = carts(2)
    law = control.TaskHierarchy(
        system, [control.Task("x0", 0.1, 100.0)], rest=lambda q, v, t: 50.0 + 0.0 * v, limits=(-20.0, 20.0)
    )
    told = law.solve(np.zeros(2), np.zeros(2))
    assert told.status is Status.OK
    assert (told.outcome, told.relaxed) == ("relaxed", ("rest",))
    assert "only the soft level 'rest' gives way to the limits of actuator 'u1'" in told.message
    assert_allclose(told.u[0], 10.0, rtol=1e-9)
    within = law.solve([0.1, 0.0], np.zeros(2))
    assert within.relaxed in ((), ("rest",))


SCENE = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/>
  <body name="ball" pos="0 0 1"><freejoint/>
    <geom name="skin" type="sphere" size="0.1" contype="0" conaffinity="0" mass="0"/>
    <geom name="core" type="sphere" size="0.1" mass="1"/>
  </body></worldbody></mujoco>"""


def test_a_geom_that_never_collides_is_called_that(tmp_path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    mechanism = sr.load(path)
    never = "geom 'skin' is in the file, but its contype and conaffinity are 0.*so it never collides"
    with pytest.raises(ModelError, match=never):
        mechanism.add_contact("foot", geom="skin", friction_coefficient=0.5)
    with pytest.raises(ModelError, match=never):
        mechanism.add_geometry_contacts(geoms=["skin"])
    with pytest.raises(ArgumentError, match=never):
        control.Bound(control.clearance("skin", "floor"), lower=0.0).demand(
            sr.System(mechanism), control.Settings(), "wall"
        )
    with pytest.raises(ModelError, match="unknown geom 'shell'"):
        mechanism.add_contact("foot", geom="shell", friction_coefficient=0.5)
    assert set(mechanism.idle_geoms) == {"skin"}
