"""Starts beyond limits of joints: at the limit by digits; else the coordinate may come back and goes no further out."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
import sarrus.runs.gym
from c_code import Compiled
from families.beyond_limits import check, draw

G = 9.81
METHODS = (
    {}, {"method": "rk4", "dt": 1e-3}, {"method": "rodas5p"}, {"method": "moreau-jean", "dt": 1e-3}
)  # fmt: skip


def slide(gravity: float = -G, motor: bool = False) -> sr.System:
    """Return 1 kg on a vertical slide from 0 to 1 m."""
    mechanism = sr.Mechanism("slide", gravity=(0, 0, gravity))
    mechanism.add_body("block", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("x", "prismatic", "world", "block", axis=(0, 0, 1), limits=(0.0, 1.0))
    if motor:
        mechanism.add_actuator("motor", "x")
    return sr.System(mechanism)


@cache
def falling_slide() -> sr.System:
    """Return the slide without a motor, with gravity."""
    return slide()


@pytest.mark.parametrize("number", range(14))
def test_generated_starts(number: int) -> None:
    assert check(draw(np.random.default_rng([40, number]))) == "right"


@pytest.mark.parametrize("options", METHODS)
def test_a_block_rests_where_it_begins_beyond_its_stop(options: dict[str, object]) -> None:
    """It fell by 4.9 m in the first second."""
    for depth, said in ((1e-10, False), (1e-8, False), (9e-7, False), (1e-4, True), (0.1, True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            motion = sr.simulate(falling_slide(), [-depth], duration=1.0, **options)
        assert motion.q.min() >= -depth - 1e-15
        assert abs(motion.q[-1, 0]) <= depth + 1e-15
        assert motion.contact_forces[-1, 0] == pytest.approx(G, rel=1e-9)
        named = f"x = {-depth:.6g} is beyond its lower limit 0"
        assert [named in str(one.message) for one in caught if one.category is sr.LimitWarning] == [
            True
        ] * said
        assert sum(named in event.name for event in motion.events) == said
        assert ("x beyond limits at the start" in repr(motion)) == said


@pytest.mark.filterwarnings("ignore::sarrus.LimitWarning")
@pytest.mark.parametrize("options", METHODS)
def test_it_comes_back_and_the_bound_follows(options: dict[str, object]) -> None:
    """Thrown up it stays where it turns; from inside it falls on the stop of the model."""
    error = 1e-5 if options.get("method") == "moreau-jean" else 1e-12
    turned = sr.simulate(falling_slide(), [-0.1], [0.5], duration=0.6, **options)
    assert turned.q[-1, 0] == pytest.approx(-0.1 + 0.125 / G, abs=error)
    back = sr.simulate(falling_slide(), [-0.1], [3.0], duration=1.6, **options)
    assert back.q.max() <= -0.1 + 4.5 / G + 1e-12
    assert back.q[-1, 0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.filterwarnings("ignore::sarrus.LimitWarning")
def test_it_is_the_same_in_many_runs_gym_statics_and_c(tmp_path) -> None:
    system = slide(motor=True)
    starts, speeds = np.array([[-0.1], [-0.1], [1.2], [-1e-8], [0.4]]), [[0.0], [0.5], [0.0], [0.0], [0.0]]
    singles = [
        sr.simulate(system, q, v, duration=0.3, dt=1e-3, method="moreau-jean") for q, v in zip(starts, speeds)
    ]
    many = sr.rollout(system, starts, speeds, duration=0.3, every=100, threads=2)
    assert_allclose(many.final_q, [run.q[-1] for run in singles], atol=1e-15)
    assert sorted(many.begun_beyond) == [0, 1, 2]
    assert "3 beyond limits at the start" in repr(many)
    assert many.trajectory(2).events[0].name.startswith("x = 1.2 is beyond its upper limit 1")
    for q, v, run in zip(starts, speeds, singles):
        copy = sarrus.gym.make(system, q=q, v=v, duration=1.0, sample_time=0.02)
        copy.reset(seed=0)
        for k in range(1, 16):
            state = copy.step(np.zeros(1))[0]
            assert state[0] == pytest.approx(run.q[20 * k, 0], abs=1e-12)
    code = Compiled(sr.export.c_code(system, tmp_path, ("contact_step",), name="plant", q=[0.5]), system)
    for q, v, run in zip(starts, speeds, singles):  # one workspace: every start is one that no step led to
        state, speed, t = q.copy(), np.array(v), np.zeros(1)
        for k in range(1, 301):
            assert code.call("contact_step", state, speed, None, t, None, 1e-3, np.zeros(2)) == 0
            assert state[0] == pytest.approx(run.q[k, 0], abs=1e-14)
    held = system.forward_dynamics([-0.1], [0.0])
    assert held.a[0] == pytest.approx(0.0, abs=1e-12)
    assert held.contacts.forces[0] == pytest.approx(G)
    with pytest.raises(sr.SolveError, match=r"stop 'x\.lower stop' closes with a velocity of 1"):
        system.forward_dynamics([-0.1], [-1.0])
    with pytest.warns(sr.LimitWarning):
        rest = sr.equilibrium(system, [-0.1])
    assert rest.q[0] == pytest.approx(-0.1, abs=1e-12)
    assert sr.equilibrium(slide(G), [-0.1]).q[0] == pytest.approx(1.0, abs=1e-12)


KEYFRAME = """<mujoco><compiler angle="radian"/><worldbody><body>
<joint name="j" axis="0 1 0" range="-1.570796 1.570796" limited="true"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" contype="0" conaffinity="0"/></body></worldbody>
<keyframe><key name="up" qpos="{}"/></keyframe></mujoco>"""


@pytest.mark.filterwarnings("ignore::sarrus.LimitWarning")
@pytest.mark.parametrize("angle", ["1.5708", "2.2"])
def test_a_keyframe_beyond_its_range(angle: str, tmp_path) -> None:
    """It swung to 4.67 rad: gravity pulls it down, so that what must hold it is a torque upwards."""
    path = tmp_path / "arm.xml"
    path.write_text(KEYFRAME.format(angle))
    mechanism = sr.load(path)
    system, start = sr.System(mechanism), mechanism.keyframes["up"].q
    for options in METHODS:
        up = sr.simulate(system, start, duration=1.0, force=lambda q, v, t: np.array([20.0]), **options)
        assert up.q.max() <= start[0] + 1e-9
        down = sr.simulate(system, start, duration=2.0, **options)
        assert down.q.max() == start[0]
        assert down.q.min() > -1.570796 - 1e-9


def four_bar(limits: tuple[float, float]) -> sr.System:
    """Return a four-bar whose crank has limits."""
    mechanism = sr.Mechanism("four-bar", gravity=(0, 0, -G))
    for name, length in (("crank", 0.2), ("rod", 0.5), ("rocker", 0.4)):
        mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(0.01, 0.01, 0.01))
    mechanism.add_joint("a", "revolute", "world", "crank", axis=(0, -1, 0), limits=limits)
    mechanism.add_joint("b", "revolute", "crank", "rod", axis=(0, -1, 0), parent_pose=(0.2, 0, 0))
    mechanism.add_joint("c", "revolute", "world", "rocker", axis=(0, -1, 0), parent_pose=(0.5, 0, 0))
    mechanism.add_closure("pin", "point", "rod", "rocker", pose1=(0.5, 0, 0), pose2=(0.4, 0, 0))
    return sr.System(mechanism)


@pytest.mark.filterwarnings("ignore::sarrus.LimitWarning")
def test_a_loop_beyond_its_limit_is_held_as_by_a_limit_there() -> None:
    system = four_bar((0.5, 1.5))
    q = system.assemble([0.2, 0.3, 1.4], locked=["a"]).q
    at = four_bar((0.2, 1.5))
    for options in METHODS:
        held, other = (sr.simulate(one, q, duration=0.5, **options) for one in (system, at))
        assert_allclose(held.q[-1], other.q[-1], atol=1e-9)
        assert held.q[:, 0].min() > 0.2 - 1e-9
    for v in (1.0, 12.0):  # it comes back and falls on the limit, or where it turned
        speed = system.project_velocity(q, [v, 0.0, 0.0])
        runs = [sr.simulate(system, q, speed, duration=1.0, **options).q[:, 0] for options in METHODS]
        for motion in runs:
            assert motion[-1] == pytest.approx(runs[0][-1], abs=2e-3)


def test_assembly_names_what_is_outside_and_brings_it_inside() -> None:
    system = four_bar((0.5, 1.0))
    for angle in (0.2, 1.4, -0.5):
        found = system.assemble([angle, 0.3, 1.4], locked=["a"])
        assert found.outside == {"a": pytest.approx(angle)}
        assert "beyond limits: 'a'" in found.message
        inside = system.assemble(found.q, within_limits=True)
        assert inside.status.ok
        assert not inside.outside
        assert inside.residual < 1e-12
        assert 0.5 - 1e-10 <= inside.q[0] <= 1.0 + 1e-10
    with pytest.raises(sr.SolveError, match=r"a\.lower stop: no configuration inside was found"):
        system.assemble(found.q, locked=["a"], within_limits=True)
    free = sr.inverse_kinematics(system, {"a": 1.4}, found.q, within_limits=False)
    assert free.outside == {"a": pytest.approx(1.4)}
    assert "beyond limits: 'a'" in free.message


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_assembly_lifts_contacts_out_of_their_planes(unit: float) -> None:
    mechanism = sr.Mechanism("ball", gravity=(0, 0, -G * unit))
    mechanism.add_body("ball", 1.0, inertia=np.full(3, 0.1) * unit**2)
    mechanism.add_joint("free", "free", "world", "ball")
    mechanism.add_contact("floor", "ball", radius=0.1 * unit, friction="coulomb", friction_coefficient=0.5)
    system = sr.System(mechanism)
    q = system.neutral()
    for call in (
        lambda: sr.simulate(system, q, duration=0.1),
        lambda: system.forward_dynamics(q, np.zeros(6)),
        lambda: sr.rollout(system, q, duration=0.1),
    ):
        with pytest.raises(sr.ArgumentError, match=r"system\.assemble\(q, within_limits=True\)"):
            call()
    lifted = system.assemble(q, within_limits=True)
    assert lifted.q[2] == pytest.approx(0.1 * unit, abs=1e-9 * unit)
    motion = sr.simulate(system, lifted.q, duration=0.2)
    assert_allclose(motion.q[-1], lifted.q, atol=1e-9 * unit)


def test_derivatives_of_a_step_are_refused_beyond_a_limit() -> None:
    with pytest.raises(sr.SolveError, match="holds a coordinate beyond its limit"):
        sr.sensitivity.step_derivatives(falling_slide(), [-0.1], [0.0], dt=1e-3)


@pytest.mark.filterwarnings("ignore::sarrus.LimitWarning")
def test_a_unit_of_fmi_begins_beyond_a_limit(tmp_path) -> None:
    pytest.importorskip("fmpy")
    from fmi_units import unit

    system = slide(motor=True)
    with pytest.warns(sr.LimitWarning, match="x = -0.1 is beyond its lower limit 0"):
        export = sr.export.fmu(system, tmp_path / "slide.fmu", q=[-0.1], v=[0.5])
    run = sr.simulate(system, [-0.1], [0.5], duration=0.3, dt=1e-3, method="moreau-jean")
    with unit(export.path, tmp_path / "unit") as one:
        one.begin()
        for k in range(15):
            one.fmu.doStep(0.02 * k, 0.02)
            assert one.get("q.x")[0] == pytest.approx(run.q[20 * (k + 1), 0], abs=1e-12)
