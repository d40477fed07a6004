"""Contacts as they are: a foot that loses the ground, told late or never; feet that slide, land, carry nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sarrus as sr
from c_code import Compiled
from conftest import load_example
from legged_robots import hopper
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError

NOISE = (0.003, 0.1)  # m and rad, m/s and rad/s


@cache
def hexapod() -> ModuleType:
    return load_example("hexapod")


@cache
def robot() -> sr.System:
    return sr.System(hexapod().build())


@cache
def standing(sensed: bool = True) -> control.LeggedController:
    return hexapod().standing_law(robot(), **({} if sensed else {"sense": False}))


def within_limits(run: Any) -> None:
    """Torques and speeds of the motors stay within what they can."""
    assert run.torque <= hexapod().TORQUE
    assert run.speed < hexapod().SPEED
    assert set(run.outcomes) <= {"exact", "relaxed"}


# --- a foot that loses the ground ------------------------------------------------------------------------------


@pytest.mark.parametrize("foot", ["L1", "L2", "R3"])
@pytest.mark.parametrize("told", [0.02, 0.1, None])
@pytest.mark.parametrize("noise", [(0.0, 0.0), NOISE], ids=["exact", "noisy"])
def test_a_hexapod_that_loses_a_foothold_stands_on_five(
    foot: str, told: float | None, noise: tuple[float, float]
) -> None:
    """Noticed as soon as the foot, pushed down by 17 N, is faster than noise; it stands again when the floor has
    come back."""
    module = hexapod()
    run = module.run(standing(), module.Loss(foot, told=told), noise=noise)
    within_limits(run)
    assert run.tilt < 0.03
    assert run.speed < 6.0
    if told != 0.02:  # then it may know before it notices
        first, gone = run.states.index("lost"), round(1.0 / module.SAMPLE)
        assert gone < first <= gone + 12  # 24 ms
    assert run.states[-1] == "closed"
    assert_allclose(run.loads, run.loads.sum() / 6.0, rtol=0.05 if noise == (0.0, 0.0) else 0.4)


def test_without_senses_it_tumbles() -> None:
    """What the senses are for: told never, it pushes on nothing."""
    module = hexapod()
    run = module.run(standing(False), module.Loss())
    assert run.tilt > 1.0
    assert run.torque <= module.TORQUE
    assert "damped" in run.outcomes


@pytest.mark.parametrize("foot", ["L1", "L2", "R3"])
def test_a_foot_finds_the_ground_in_a_hole(foot: str) -> None:
    module = hexapod()
    run = module.run(standing(), module.Loss(foot, lasts=5.0, depth=0.03), duration=2.0)
    within_limits(run)
    lost = [k for k, state in enumerate(run.states) if state == "lost"]
    # 3 cm at 0.2 m/s, the first of them faster, and the time to settle
    assert 0.05 < (lost[-1] - lost[0]) * module.SAMPLE < 0.3
    assert run.states[-1] == "closed"
    assert run.loads.min() > 10.0
    assert run.tilt < 0.03


# --- what is no loss -------------------------------------------------------------------------------------------


def test_noise_is_no_loss() -> None:
    """Ten seconds with 0.1 m/s and 3 mm of white noise: six feet stand at every sample."""
    module = hexapod()
    law = standing()
    run = module.run(law, module.Loss(start=100.0), duration=10.0, noise=NOISE)
    within_limits(run)
    assert set(run.states) == {"closed"}
    assert run.tilt < 0.01


def test_a_walk_on_a_floor_is_none() -> None:
    module = hexapod()
    for offsets, duty in ((module.WAVE, 0.8), (module.TRIPOD, 0.55)):
        run = module.run(module.walking_law(robot(), offsets, duty), module.Loss(start=100.0), duration=3.0)
        within_limits(run)
        assert set(run.states) == {"closed", "open"}


# --- all feet at once ------------------------------------------------------------------------------------------


def drop(law: control.LeggedController, height: float) -> tuple[Array, float, list[dict[str, str]]]:
    """Let the robot fall in MuJoCo: q after two seconds, the largest joint speed, what contacts were taken for."""
    module = hexapod()
    model = module.plant()
    model.pair_margin[:] = 0.0
    data = mujoco.MjData(model)
    data.qpos[2] += height
    law.reset()
    speed, told = 0.0, []
    for k in range(round(2.0 / module.SAMPLE)):
        data.ctrl[:] = law.sample(data.qpos, data.qvel, k * module.SAMPLE, module.SAMPLE)
        told.append(law.contact_states)
        mujoco.mj_step(model, data, round(module.SAMPLE / module.STEP))
        speed = max(speed, float(np.abs(data.qvel[6:]).max()))
    return data.qpos.copy(), speed, told


@pytest.mark.parametrize("height", [0.02, 0.1, 0.2])
def test_a_robot_that_is_dropped_lands_and_stands(height: float) -> None:
    q, speed, told = drop(standing(), height)
    assert speed < hexapod().SPEED
    assert set(told[20].values()) == {"lost"}
    assert set(told[-1].values()) == {"closed"}
    assert_allclose(q[2], hexapod().height(), atol=0.002)
    assert_allclose(q[4:6], 0.0, atol=1e-3)


def test_in_the_compiled_loop_it_is_the_same() -> None:
    """A drop on this library's floor: sampled from Python, and by the kernel."""
    module = hexapod()
    plant = sr.System(module.build(friction="coulomb", friction_coefficient=module.FLOOR))
    law, q = standing(), plant.neutral()
    q[2] += 0.05
    law.reset()
    runs = [
        sr.simulate(plant, q, duration=0.4, dt=1e-3, control=pilot, sample_time=module.SAMPLE)
        for pilot in (law, lambda q, v, t: law.sample(q, v, t, module.SAMPLE))
    ]
    assert_array_equal(runs[0].q, runs[1].q)
    assert set(law.contact_states.values()) == {"closed"}
    assert np.abs(runs[0].v[:, 6:]).max() < module.SPEED


# --- feet that slide -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sensed", [True, False])
def test_a_foot_on_ice_is_not_asked_for_friction(sensed: bool) -> None:
    """Pushed from the side with 30 N, one foot on a floor of μ = 0.05: with senses it stays, without it tumbles."""
    module, law = hexapod(), standing(sensed)
    model = module.plant()
    model.pair_margin[:] = 0.0
    before = model.pair_friction.copy()
    model.pair_friction[1, :2] = 0.05
    data, states, tilt = mujoco.MjData(model), [], 0.0
    law.reset()
    for k in range(round(2.0 / module.SAMPLE)):
        data.ctrl[:] = law.sample(data.qpos, data.qvel, k * module.SAMPLE, module.SAMPLE)
        states.append(law.contact_states["L2"])
        if states[-1] == "sliding":
            assert_allclose(law.contact_forces["L2"][1:], 0.0, atol=1e-9)
            assert law.contact_forces["L2"][0] >= 0.0
        data.xfrc_applied[1, 1] = 30.0 if 500 <= k < 750 else 0.0
        mujoco.mj_step(model, data, round(module.SAMPLE / module.STEP))
        tilt = max(tilt, float(np.arccos(np.clip(data.xmat[1][8], -1.0, 1.0))))
    model.pair_friction[:] = before
    if sensed:
        assert "sliding" in states
        assert "lost" not in states
        assert tilt < 0.02
        assert abs(data.qpos[1]) < 0.01
    else:
        assert tilt > 0.3


# --- one sample at a time --------------------------------------------------------------------------------------

PERIOD = 1e-3


@cache
def hopping() -> tuple[control.LeggedController, Array]:
    system, q = hopper(0.7)
    tasks = [control.Task("pitch", 0.0, 100, 20, name="upright")]
    return control.LeggedController(system, tasks, largest_force=200.0), q


def sampled(law: control.LeggedController, q: Array, v: Array, count: int = 1) -> dict[str, str]:
    for _ in range(count):
        law.sample(q, v, 0.0, PERIOD)
    return law.contact_states


def moving_foot(law: control.LeggedController, velocity: tuple[float, float]) -> tuple[Array, Array]:
    """Return joint velocities at which the front foot alone moves, (along, up) [m/s]."""
    q = hopping()[1]
    rows = law.system.compiled.named("front rows", lambda: {"rows": law.terms.rows}).evaluate(
        law.system.pack(q, np.zeros(law.system.nv), None, 0.0)
    )["rows"]
    v = np.zeros(law.system.nv)
    v[3:5] = np.linalg.solve(rows[[1, 0], 3:5], velocity)
    return q, v


@pytest.mark.parametrize(
    ("velocity", "said"),
    [((0.0, -0.3), "closed"), ((0.0, -0.6), "lost"), ((0.0, 0.6), "lost"), ((0.3, 0.0), "closed"),
     ((0.6, 0.0), "sliding"), ((0.6, -0.6), "lost")],
)  # fmt: skip
def test_what_a_contact_is_taken_for(velocity: tuple[float, float], said: str) -> None:
    """At rest the first sample sees nothing; a foot at 0.6 m/s is seen after ten samples of a millisecond."""
    law, _ = hopping()
    q, v = moving_foot(law, velocity)
    law.reset()
    assert sampled(law, q, 0.0 * v)["front"] == "closed"
    assert sampled(law, q, v)["front"] == "closed"
    assert sampled(law, q, v, 10) == {"front": said, "rear": "closed"}
    forces = law.contact_forces["front"]
    if said == "lost":
        assert_allclose(forces, 0.0, atol=1e-9)
        assert list(law.closed) == [False, True]
    assert law.needs_samples is False


def test_a_lost_contact_comes_back_and_takes_over_by_and_by() -> None:
    law, _ = hopping()
    q, v = moving_foot(law, (0.0, -0.6))
    law.reset()
    assert sampled(law, q, v, 10)["front"] == "lost"
    # as fast as it is told to go: nothing holds it; slower than half of that: something does
    free = moving_foot(law, (0.0, -0.2))[1]
    assert sampled(law, q, free, 200)["front"] == "lost"
    assert sampled(law, q, 0.0 * v, 22)["front"] == "lost"
    assert sampled(law, q, 0.0 * v, 8)["front"] == "closed"
    risen = []
    for _ in range(60):
        sampled(law, q, 0.0 * v)
        risen.append(law.contact_forces["front"][0] / 200.0 - law.settings["front.risen"])
    assert max(risen) < 1e-9  # never more than its share
    assert law.settings["front.risen"] == 1.0


def test_what_is_measured_counts_at_once() -> None:
    law, q = hopping()
    still, (_, down) = np.zeros(law.system.nv), moving_foot(law, (0.0, -0.6))
    law.reset()
    law.settings["front.measured"] = 0.0
    assert sampled(law, q, still)["front"] == "lost"
    law.settings["front.measured"] = 1.0
    assert sampled(law, q, still)["front"] == "closed"
    assert sampled(law, q, down, 20)["front"] == "closed"
    law.settings["front.measured"] = -1.0
    assert sampled(law, q, down, 20)["front"] == "lost"
    law.settings["front.closed"] = 0.0
    assert sampled(law, q, still)["front"] == "open"
    law.settings["front.closed"] = 1.0
    assert sampled(law, q, still)["front"] == "closed"


def test_a_contact_above_its_plane_is_lost_and_calls_alone_sense_nothing() -> None:
    law, q = hopping()
    deaf = control.LeggedController(
        law.system, [control.Task("pitch", 0.0, 100, 20, name="upright")], largest_force=200.0, sense=False
    )
    high, v = q.copy(), moving_foot(law, (0.3, -0.9))[1]
    high[1] += 0.04
    law.reset()
    assert_allclose(law(high, v), deaf(high, v), atol=1e-9)
    assert set(law.contact_states.values()) == {"closed"}
    assert set(sampled(law, high, 0.0 * v).values()) == {"lost"}
    law.settings["sense.gap"] = 0.1
    law.reset()
    assert set(sampled(law, high, 0.0 * v).values()) == {"closed"}
    law.settings["sense.gap"] = 0.03
    assert [level.name for level in law.solve(q, 0.0 * v).levels] == ["contacts", "upright"]


def test_exported_c_senses_the_same(tmp_path: Path) -> None:
    """Lost, held up, taking over again, reset."""
    law, q = hopping()
    compiled, got = Compiled(sr.export.c_code(law, tmp_path, q=q), law.system), np.zeros(law.system.nu)
    down, still = moving_foot(law, (0.0, -0.6))[1], np.zeros(law.system.nv)
    seen = set()
    for _ in range(2):
        law.reset()
        compiled.call("law_reset")
        for v in [still] + 10 * [down] + 50 * [still]:
            compiled.call("law_sample", q, v, 0.0, PERIOD, None, got)
            u = law.sample(q, v, 0.0, PERIOD)
            seen.add(law.contact_states["front"])
            assert_allclose(got, u, rtol=0, atol=1e-8 * max(1.0, np.abs(u).max()))
    assert seen == {"closed", "lost"}


@pytest.mark.parametrize("name", ["speed", "slip", "smoothing", "depth", "settle", "rise"])
def test_errors_name_what_is_wrong(name: str) -> None:
    system, _ = hopper(0.7)
    with pytest.raises(ArgumentError, match=rf"sense: {name} must be positive, got -1\.0"):
        control.LeggedController(system, [], sense=control.ContactSense(**{name: -1.0}))
