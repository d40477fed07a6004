"""What a run without options comes to, what its error is said to be, and whether wrong motions say that they are."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import generated_runs
import sarrus as sr
import stiff_references as stiff
from sarrus import Status
from sarrus.base.errors import AccuracyWarning
from sarrus.motion.motion import Motion


def pendulum(damping: float = 0.0, stiffness: float = 0.0) -> sr.System:
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("rod", 1.0, (0, 0, -1), (0.1, 0.1, 0.01))
    mechanism.add_joint(
        "hinge", "revolute", "world", "rod", axis=(0, 1, 0), damping=damping, stiffness=stiffness
    )
    return sr.System(mechanism)


def robot_with_stiff_damper() -> sr.System:
    """A body in free fall with a rod on a hinge whose damper acts within 0.2 ms, as robots with leaf springs have."""
    mechanism = sr.Mechanism("falling")
    mechanism.add_body("trunk", 10.0, (0, 0, 0), (0.4, 0.4, 0.4))
    mechanism.add_joint("float", "free", "world", "trunk")
    mechanism.add_body("rod", 0.05, (0.01, 0, 0), (2e-5, 2e-5, 2e-5))
    mechanism.add_joint("hinge", "revolute", "trunk", "rod", axis=(0, 1, 0), damping=0.13)
    return sr.System(mechanism)


# --- runs without options ------------------------------------------------------------------------------


def test_andrews_squeezing_mechanism() -> None:
    motion = sr.simulate(stiff.andrews(), stiff.ANDREWS_START, duration=stiff.ANDREWS_DURATION)
    assert motion.status is Status.OK
    assert_allclose(motion.q[-1], stiff.ANDREWS_END, rtol=1e-6)
    assert np.abs(motion.q[-1] - stiff.ANDREWS_END).max() < 100 * 16 * motion.error[-1]


@pytest.mark.parametrize("build", [stiff.car_axis, stiff.car_axis_from_bodies])
def test_car_axis(build) -> None:
    motion = sr.simulate(build(), stiff.CAR_START, stiff.CAR_SPEED, duration=stiff.CAR_DURATION)
    assert motion.status is Status.OK
    assert_allclose(motion.q[-1], stiff.CAR_END, rtol=1e-6)


def test_stiff_governor() -> None:
    system, spin = stiff.governor(), [stiff.GOVERNOR_SPEED, 0, 0, 0]
    exact = sr.simulate(system, np.zeros(4), spin, duration=1.0, method="rodas5p", rtol=1e-12)
    motion = sr.simulate(system, np.zeros(4), spin, duration=1.0)
    assert motion.status is Status.OK
    assert_allclose(motion.q[-1], exact.q[-1], rtol=1e-6, atol=1e-8)


def test_free_fall_with_a_stiff_damper() -> None:
    """9.81 m/s after a second whatever is inside; the damper asks for an implicit method, which takes over."""
    system = robot_with_stiff_damper()
    motion = sr.simulate(system, system.neutral(), duration=1.0)
    assert motion.status is Status.OK
    assert_allclose(motion.v[-1], [0, 0, -9.81, 0, 0, 0, 0], atol=1e-7)
    assert [event.name for event in motion.events] == ["rodas5p takes over"]
    assert motion.steps < 200


def test_methods_take_turns_in_both_directions() -> None:
    """Stiff until the damper lets go: an implicit method, then the explicit one again."""
    system = pendulum()

    def force(q, v, t):
        import casadi as ca

        return -ca.if_else(t < 1.0, 2e4 * v[0], 0)

    motion = sr.simulate(system, [1.0], duration=8.0, force=force)
    names = [event.name.split()[0] for event in motion.events]
    assert names[:2] == ["rodas5p", "dop853"]
    # Steps that feel for the jump are so short that they are not stiff: some may end just before it.
    assert motion.events[0].time < 1.0 - 1e-6 <= motion.events[1].time
    assert motion.status is Status.OK
    exact = sr.simulate(system, [1.0], duration=8.0, force=force, method="rodas5p", rtol=1e-11)
    assert_allclose(motion.q[-1], exact.q[-1], atol=1e-6)


# --- fixed steps ---------------------------------------------------------------------------------------


def test_unstable_steps_are_named_with_the_step_that_holds() -> None:
    """z = h d / I = 4 for rotational damping d: beyond 2.785 on the real axis. Errors grow from rounding."""
    inertia = 1.1
    system = pendulum(damping=4.0 * inertia / 1e-2)
    with pytest.raises(
        sr.SarrusError, match=r"h \|λ\| = 4, where rk4 is stable to 2.83.*smaller dt than 0.0071 s"
    ) as caught:
        sr.simulate(system, [1.0], duration=1.0, dt=1e-2)
    motion = caught.value.trajectory  # type: ignore[attr-defined]
    assert motion.status is Status.UNSTABLE_STEP
    within = sr.simulate(system, [1.0], duration=1.0, dt=6.5e-3)
    assert within.status is Status.OK


@pytest.mark.parametrize("side_by_side", [True, False])
def test_unstable_runs_of_a_batch_are_flagged(side_by_side: bool) -> None:
    """Each has the status that it has alone, whatever dampers the runs beside it have."""
    system = sr.System(pendulum(damping=1.0).mechanism, {"d": "hinge.damping"})
    damping = 1.1 / 1e-2 * np.array([0.5, 4.0, 2.5, 3.2, 0.1, 2.9, 6.0, 1.0, 2.0, 3.6, 50.0])
    options = {"duration": 1.0, "dt": 1e-2, "side_by_side": side_by_side, "progress": False}
    runs = sr.rollout(system, [1.0], parameters={"d": damping}, **options)
    assert runs.side_by_side is side_by_side
    unstable = damping * 1e-2 / 1.1 > 2.83
    assert list(runs.status[unstable]) == [Status.UNSTABLE_STEP] * unstable.sum()
    assert not runs.status[~unstable].any()
    assert "smaller dt" in runs.message[1]
    for k, d in enumerate(damping):
        alone = sr.rollout(system, [[1.0]], parameters={"d": [d]}, **options)
        assert alone.status[0] == runs.status[k]
        assert_array_equal(alone.final_q[0], runs.final_q[k])


def test_a_motion_without_a_digit_left_warns() -> None:
    system = stiff.andrews()
    with pytest.warns(AccuracyWarning, match=r"andrews: .* of its size, above 0.0003 from t = .* smaller dt"):
        motion = sr.simulate(system, stiff.ANDREWS_START, duration=stiff.ANDREWS_DURATION, dt=1e-3)
    assert motion.status is Status.INACCURATE
    assert not motion.status.ok
    assert motion.t[-1] == pytest.approx(stiff.ANDREWS_DURATION)


def test_step_of_the_file(tmp_path: Path) -> None:
    """Fixed steps without a number are those of the file, in MJCF, SDF and what is saved of a mechanism."""
    model = tmp_path / "one.xml"
    model.write_text(
        '<mujoco><option timestep="0.004"/><worldbody><body><joint type="hinge" axis="0 1 0"/>'
        '<geom size="0.1" pos="0 0 -1"/></body></worldbody></mujoco>'
    )
    mechanism = sr.load(model)
    assert mechanism.time_step == 0.004
    motion = sr.simulate(sr.System(mechanism), [0.1], duration=0.4, method="rk4")
    assert motion.steps == 100
    motion.save(tmp_path / "run.nc")
    again = sr.Trajectory.load(tmp_path / "run.nc")
    assert again.mechanism.time_step == 0.004
    assert_allclose(again.error, motion.error)
    mechanism.to_mjcf(tmp_path / "two.xml")
    assert sr.load(tmp_path / "two.xml").time_step == 0.004
    assert sr.simulate(pendulum(), [0.1], duration=0.4, method="rk4").steps == 400
    world = tmp_path / "world.sdf"
    world.write_text(
        '<sdf version="1.9"><world name="w"><physics type="ode"><max_step_size>0.002</max_step_size></physics>'
        '<model name="m"><link name="l"/></model></world></sdf>'
    )
    assert sr.load(world).time_step == 0.002


# --- the estimate --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"dt": 0.02}, {"dt": 5e-3}, {"rtol": 1e-5}, {"method": "dopri5", "rtol": 1e-6}]
)
def test_estimate_is_near_the_error(options: dict[str, float]) -> None:
    system = pendulum()
    exact = sr.simulate(system, [2.0], duration=5.0, rtol=1e-12)
    motion = sr.simulate(system, [2.0], duration=5.0, **options)
    error = abs(motion.q[-1, 0] - exact.q[-1, 0])
    assert 0.03 * error < motion.error[-1] < 300 * error


@pytest.mark.parametrize("duration", [0.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("rtol", [1e-4, 1e-5, 1e-7])
def test_estimate_of_a_few_long_steps_is_no_smaller_than_the_error(duration: float, rtol: float) -> None:
    """A run of five to a hundred steps, some as long as a tenth of it."""
    system = pendulum()
    exact = sr.simulate(system, [2.0], duration=duration, rtol=1e-13, atol=1e-14)
    motion = sr.simulate(system, [2.0], duration=duration, rtol=rtol, throw=False)
    error = np.abs(motion.q[-1, 0] - exact.q[-1, 0])
    assert 0.5 * error < motion.error[-1] < 300 * error
    assert (np.diff(motion.error) >= 0.0).all()


def test_estimate_does_not_change_the_motion() -> None:
    """Nor does it cost anything where it is not wanted."""
    system = pendulum()
    for options in ({}, {"dt": 1e-3}):
        one, two = (
            sr.simulate(system, [2.0], duration=1.0, error_estimate=wanted, **options)
            for wanted in (True, False)
        )
        assert one.q.tobytes() == two.q.tobytes()
        assert np.isnan(two.error).all()
        assert np.isfinite(one.error).all()


def test_motions_that_python_takes_part_in_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    repeated: list[Motion] = []
    monkeypatch.setattr(Motion, "repeat", lambda self, *rest: repeated.append(self))
    mechanism = sr.Mechanism("cart")
    mechanism.add_body("b", 1.0)
    mechanism.add_joint("slide", "prismatic", "world", "b", axis=(1, 0, 0))
    mechanism.add_actuator("push", "slide")
    motion = sr.simulate(
        sr.System(mechanism), [0.0], duration=0.1, control=lambda q, v, t: 1.0, sample_time=0.01
    )
    assert np.isnan(motion.error).all()
    assert not repeated


@pytest.mark.slow
def test_generated_runs_say_when_they_are_wrong() -> None:
    """Of motions wrong by 1e-3 all but one in a hundred are flagged, of those right to 1e-6 at most two."""
    wrong, right = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for run in generated_runs.generate(48, seed=3):
            judged = generated_runs.judge(run)
            if judged is not None:
                error, motion = judged
                (wrong if error > 1e-3 else right if error < 1e-6 else []).append(not motion.status.ok)
    assert len(wrong) >= 4
    assert len(right) >= 20
    assert sum(wrong) >= 0.99 * len(wrong)
    assert sum(right) <= 0.02 * len(right)


def test_absolute_tolerance_follows_the_relative_one() -> None:
    system = pendulum()
    one = sr.simulate(system, [2.0], duration=1.0, rtol=1e-6)
    two = sr.simulate(system, [2.0], duration=1.0, rtol=1e-6, atol=1e-8)
    assert one.q.tobytes() == two.q.tobytes()
