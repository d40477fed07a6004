"""Exported C of control laws: the same controls as from Python, memory and contacts included."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from c_code import Compiled
from legged_robots import hopper
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.status import Status

Example = Callable[[str], ModuleType]
Case = tuple[control.Law, Array]


def five_bar() -> tuple[sr.System, Array]:
    system = sr.System(sr.load("models/five_bar.xml"))
    return system, np.array(system.mechanism.keyframes["symmetric"].q)


def follow(t: Any) -> Any:
    return ca.vertcat(0.3 + 0.2 * ca.sin(t), -0.1 + 0.3 * ca.cos(2 * t))


def tracking(example: Example) -> Case:
    system, q = five_bar()
    return control.ProjectedInverseDynamics(
        system, ["left", "right"], follow, stiffness=90.0, damping=20.0
    ), q


def torque(example: Example) -> Case:
    system, q = five_bar()
    return control.ComputedTorque(system, ["left", "right"], follow, stiffness=90.0, damping=20.0), q


def regulator(example: Example) -> Case:
    system, q = five_bar()
    return control.Regulator(system, ["left", "right"], [2.0, 1.0], stiffness=30.0, damping=2.0), q


def hierarchy(example: Example) -> Case:
    """Three tasks of two, one and three rows: the last one is missed."""
    module = example("three_leg_platform")
    system = sr.System(module.build())
    tasks = [
        control.Task(control.point("platform", axes="xy"), follow, 60.0, 12.0, name="place"),
        control.Task(control.orientation("platform", "z"), 0.1, 40.0, 8.0, name="turn"),
    ]
    return control.TaskHierarchy(system, tasks), module.pose(system, 0.05, -0.03, 0.2)


def limited(example: Example) -> Case:
    """Limits of torque, speed and place, some of which bind, and a task that is half there."""
    system, q = five_bar()
    tasks = [
        control.Bound(["left"], lower=-0.2, upper=0.3, rate=15.0, speed=1.0, name="range"),
        control.Task(["left", "right"], follow, 90.0, 20.0, name="follow", on=0.5),
        control.Task(["left", "right"], [0.2, 0.1], 90.0, 20.0, name="rest", weight=[1.0, 2.0]),
    ]
    return control.TaskHierarchy(
        system, tasks, limits=(-2.0, 2.0), largest_rate=3.0, singular_damping=1e-3
    ), q


LAWS = {law.__name__: law for law in (tracking, torque, regulator, hierarchy, limited)}


def commands(law: control.Law, q: Array, count: int) -> list[tuple[Array, Array, float]]:
    """Return closed states near q."""
    system, rng, found = law.system, np.random.default_rng(7), []
    for k in range(count):
        closed = np.array(system.assemble(system.move(q, 0.2 * rng.standard_normal(system.nv))).q)
        v = np.array(system.project_velocity(closed, rng.standard_normal(system.nv)))
        found.append((closed, v, 0.3 * k))
    return found


@pytest.mark.parametrize("name", LAWS)
def test_laws_agree_with_python(tmp_path: Path, example: Example, name: str) -> None:
    law, q = LAWS[name](example)
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), law.system)
    got = np.zeros(law.system.nu)
    for state in commands(law, q, 5):
        status = compiled.call("law", *state, got)
        expected = law.solve(*state, throw=False)
        assert status == expected.status
        np.testing.assert_allclose(got, expected.u, rtol=0, atol=1e-12 * max(np.abs(expected.u).max(), 10.0))


def test_settings_change_without_another_export(tmp_path: Path, example: Example) -> None:
    law, q = tracking(example)
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), law.system)
    header = compiled.export.files[1].read_text()
    names = list(law.settings)
    for k, name in enumerate(names):
        assert f"= {k}{',' if k + 1 < len(names) else ''} /* {name} */" in header
    (state,) = commands(law, q, 1)
    before, after = np.zeros(2), np.zeros(2)
    compiled.call("law", *state, before)
    change = compiled.library.change_setting
    change(compiled.workspace, names.index("motion.stiffness[1]"), ctypes.c_double(200.0))
    law.settings["motion.stiffness[1]"] = 200.0
    compiled.call("law", *state, after)
    np.testing.assert_allclose(after, law(*state), rtol=1e-12)
    assert np.abs(after - before).max() > 1e-3


def test_what_is_missed_or_has_no_answer(tmp_path: Path) -> None:
    """A five-bar has no motors to spare for a force in its closure."""
    system, q = five_bar()
    row = next(
        n for n, r in zip(system.constraint_names, system.constraint_jacobian(q)) if np.abs(r).max() > 0
    )
    law = control.HybridMotionForce(system, ["left", "right"], [0.1, 0.2], {row: 30.0})
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), system)
    u = np.zeros(2)
    assert compiled.call("law", q, np.zeros(4), 0.0, u) == Status.NOT_ACHIEVABLE
    np.testing.assert_allclose(u, law(q, np.zeros(4)), rtol=0, atol=1e-11)
    u[:] = 5.0
    assert compiled.call("law", q, np.full(4, np.nan), 0.0, u) == Status.NOT_FINITE
    np.testing.assert_array_equal(u, 5.0)


def test_memory_goes_on_at_samples(tmp_path: Path, example: Example) -> None:
    """Integral force control with measured multipliers; reset begins anew."""
    module = example("two_arms")
    system = sr.System(module.build())
    q, _, _ = module.lift(0.6)
    law = control.HybridMotionForce(
        system,
        ["joint1", "joint2", "joint3"],
        q[:3],
        {"base2.p1": 10.0, "base2.p2": 2.0},
        stiffness=400.0,
        damping=40.0,
        proportional=0.2,
        integral=30.0,
    )
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), system)
    got, rng = np.zeros(system.nu), np.random.default_rng(0)
    first: Array | None = None
    for _ in range(2):
        law.reset()
        compiled.call("law_reset")
        q_now, v, measured = np.array(q), np.zeros(system.nv), None
        for k in range(10):
            assert compiled.call("law_sample", q_now, v, 1e-3 * k, 1e-3, measured, got) == Status.OK
            u = law.sample(q_now, v, 1e-3 * k, 1e-3, measured)
            np.testing.assert_allclose(got, u, rtol=0, atol=1e-12 * np.abs(u).max())
            measured = np.array(system.forward_dynamics(q_now, v, u).multipliers) + 0.1 * rng.standard_normal(
                system.nc
            )
        first = u if first is None else first
    assert np.abs(first - u).max() > 1e-3  # the noise differs


def test_what_comes_and_goes_does_so_in_c(tmp_path: Path, example: Example) -> None:
    system, q = five_bar()
    tasks = [
        control.Task(["left"], [0.3], 90.0, 20.0, name="first", on=1.0, ramp=0.01),
        control.Task(["right"], [0.2], 90.0, 20.0, name="second"),
    ]
    law = control.TaskHierarchy(system, tasks)
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), system)
    change, place = compiled.library.change_setting, list(law.settings).index("first.on")
    got, v = np.zeros(system.nu), np.zeros(system.nv)
    law.reset()
    compiled.call("law_reset")
    told: list[Array] = []
    for k in range(15):
        law.settings["first.on"] = float(k < 2)
        change(compiled.workspace, place, ctypes.c_double(float(k < 2)))
        told.append(law.sample(q, v, 1e-3 * k, 1e-3))
        assert compiled.call("law_sample", q, v, 1e-3 * k, 1e-3, None, got) == Status.OK
        np.testing.assert_allclose(got, told[-1], rtol=0, atol=1e-12 * np.abs(told[-1]).max())
    assert np.abs(told[-1] - told[0]).max() > 0.1


@pytest.mark.parametrize("friction", ["cone", "pyramid"])
def test_contact_forces_inside_their_cones(tmp_path: Path, friction: str) -> None:
    """A law with contacts: tasks that are kept, and tasks that friction does not allow."""
    system, q = hopper()
    tasks = (
        control.Task(control.orientation("trunk", "y"), 0.0, 30.0, 8.0, name="upright"),
        control.Task(control.centre_of_mass("xz"), (0.0, 0.5), 30.0, 8.0, name="centre"),
    )
    law = control.LeggedController(system, tasks, friction=friction)
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), system)
    got, rng, seen = np.zeros(system.nu), np.random.default_rng(1), set()
    law.reset()
    for k in range(12):
        speed = 0.02 * (1 + k % 3 * 20) * rng.standard_normal(system.nv)
        assert compiled.call("law_sample", q, speed, 0.01 * k, 0.01, None, got) in (
            Status.OK,
            Status.NOT_ACHIEVABLE,
        )
        u = law.sample(q, speed, 0.01 * k, 0.01)
        seen.add(law.outcome)
        np.testing.assert_allclose(got, u, rtol=0, atol=1e-9 * np.abs(u).max())
        force = compiled.library.force_of
        force.restype = ctypes.c_double
        forces = np.concatenate(list(law.contact_forces.values()))
        mine = np.array([force(compiled.workspace, place) for place in range(len(forces))])
        plane = np.arange(len(forces)) % 3 < 2  # across it the cost is a billionth of that of the controls
        np.testing.assert_allclose(mine[plane], forces[plane], rtol=0, atol=1e-9 * np.abs(forces).max())
    assert seen == {"exact", "relaxed"}


@pytest.mark.slow
def test_a_biped_that_steps_by_its_divergent_component(tmp_path: Path, example: Example) -> None:
    """The law of the walk at states of it: standing, on one foot, on two, pushed off its course."""
    module = example("biped_walk")
    system = sr.System(module.build())
    law, q = module.walking_law(system), module.pose(system, 0.0, 0.0)
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), system)
    got, rng = np.zeros(system.nu), np.random.default_rng(2)
    for t in (0.5, 1.03, 1.2, 1.43, 1.7):
        law.reset()
        compiled.call("law_reset")
        v = system.project_velocity(q, 0.02 * rng.standard_normal(system.nv))
        status = compiled.call("law_sample", q, v, t, module.SAMPLE, None, got)
        assert status in (Status.OK, Status.NOT_ACHIEVABLE)
        u = law.sample(q, v, t, module.SAMPLE)
        np.testing.assert_allclose(got, u, rtol=0, atol=1e-7 * np.abs(u).max())
