"""Singular passages: found while stepping, in time and kind, and how long they leave a motion determined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

import sarrus as sr

G = 9.81
ADAPTIVE = {"rtol": 1e-10, "atol": 1e-12}


# --- the five-bar, whose mirror-symmetric motion has one degree of freedom ---------------------------


def tip_angle(alpha):
    """Return the direction of the long left link, and its derivative, where the short one is α below the level.

    The joint in the middle stays halfway between the supports: cos α + 1/2 = 3/2 cos ψ, so sin(α/2) = √1.5 sin(ψ/2).
    """
    s = np.sin(alpha / 2) / np.sqrt(1.5)
    return 2 * np.arcsin(s), np.cos(alpha / 2) / np.sqrt(1.5 - np.sin(alpha / 2) ** 2)


def inertia_and_height(alpha):
    """Return the inertia about α and the height of the weights, m z summed over both halves."""
    psi, rate = tip_angle(alpha)
    across = np.sin(alpha) - 0.75 * rate * np.sin(psi)
    up = np.cos(alpha) + 0.75 * rate * np.cos(psi)
    inertia = 2 * (1 + 2 * 0.25) + 2 * (3 * (across**2 + up**2) + 2 * rate**2)
    return inertia, 2 * (2 * 0.5 * np.sin(alpha) + 3 * (np.sin(alpha) + 0.75 * np.sin(psi)))


def crossings(duration):
    """Return the times at which the symmetric fall goes through α = 0, by its one equation of motion."""

    def rate(t, y):
        d = 1e-4
        # derivatives of sixth order
        points = [inertia_and_height(y[0] + k * d) for k in (-3, -2, -1, 1, 2, 3)]
        weights = np.array([-1, 9, -45, 45, -9, 1]) / (60 * d)
        dm, dz = (float(weights @ [p[k] for p in points]) for k in (0, 1))
        return [y[1], (-G * dz - 0.5 * dm * y[1] ** 2) / inertia_and_height(y[0])[0]]

    def level(t, y):
        return np.sin(y[0] / 2)

    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    run = solve_ivp(rate, [0, duration], [np.pi / 3, 0.0], events=level, max_step=0.02, **options)
    times = []
    for time, state in zip(run.t_events[0], run.y_events[0]):
        # The dense output is of lower order: a Newton step from a state that was stepped to.
        start = run.t[np.searchsorted(run.t, time) - 1]
        before = solve_ivp(rate, [0, time], [np.pi / 3, 0.0], **options).y[:, -1]
        assert start < time
        assert abs(before[0] - state[0]) < 1e-7
        turn = 2 * np.pi * round(before[0] / (2 * np.pi))
        times.append(time - (before[0] - turn) / before[1])
    return times


@pytest.fixture(scope="module")
def five_bar():
    return sr.System(sr.load("models/five_bar.xml"))


@pytest.fixture(scope="module")
def symmetric(five_bar):
    return five_bar.mechanism.keyframes["symmetric"].q


@pytest.fixture(scope="module")
def exact():
    return crossings(5.0)


def test_times_are_those_of_the_exact_motion(five_bar, symmetric, exact):
    motion = sr.simulate(five_bar, symmetric, duration=5.0, **ADAPTIVE)
    assert [p.crossed for p in motion.passages] == [True] * 3
    assert [p.closures for p in motion.passages] == [("tips",)] * 3
    assert max(abs(p.time - t) for p, t in zip(motion.passages, exact, strict=True)) < 1e-8
    assert [p.smallest_singular_value for p in motion.passages] == [0.0] * 3


@pytest.mark.parametrize("method", ["dopri5", "rodas5p"])
def test_every_method_has_the_same_times(five_bar, symmetric, exact, method):
    motion = sr.simulate(five_bar, symmetric, duration=2.0, method=method, **ADAPTIVE)
    assert max(abs(p.time - t) for p, t in zip(motion.passages, exact[:2], strict=True)) < 1e-8


@pytest.mark.parametrize("options", [{"dt": 1e-3}, ADAPTIVE], ids=["fixed", "adaptive"])
def test_passages_do_not_depend_on_what_is_recorded(five_bar, symmetric, exact, options):
    all_steps = sr.simulate(five_bar, symmetric, duration=2.0, **options)
    assert len(all_steps.passages) == 2
    assert max(abs(p.time - t) for p, t in zip(all_steps.passages, exact)) < 1e-8
    for fewer in ({"every": 500}, {"every": 10**6}, *([] if "dt" in options else [{"dt": 0.5}])):
        assert (
            sr.simulate(five_bar, symmetric, duration=2.0, **options, **fewer).passages == all_steps.passages
        )


# --- kinds ------------------------------------------------------------------------------------------


def four_bar(crank, coupler, rocker, ground, name="four_bar"):
    """Return a planar four-bar of rods of 1 kg/m in the x-z plane, cut at the tip of the rocker."""
    mechanism = sr.Mechanism(name)
    parent, at = "world", 0.0
    for joint, length, base in (("crank", crank, 0.0), ("coupler", coupler, crank)):
        moment = length**3 / 12
        mechanism.add_body(joint, length, com=(length / 2, 0, 0), inertia=(1e-3, moment, moment))
        mechanism.add_joint(joint, "revolute", parent, joint, axis=(0, -1, 0), parent_pose=(base, 0, 0))
        parent, at = joint, length
    moment = rocker**3 / 12
    mechanism.add_body("rocker", rocker, com=(rocker / 2, 0, 0), inertia=(1e-3, moment, moment))
    mechanism.add_joint("rocker", "revolute", "world", "rocker", axis=(0, -1, 0), parent_pose=(ground, 0, 0))
    mechanism.add_closure(
        "pin", "point_on_line", "coupler", "rocker", axis=(0, 1, 0), pose1=(at, 0, 0), pose2=(rocker, 0, 0)
    )
    return sr.System(mechanism)


def smallest(system, q):
    even = system.characteristic.scaled_rows(system.constraint_jacobian(q))
    return float(np.linalg.svd(even, compute_uv=False)[-1])


@pytest.mark.parametrize("options", [{"dt": 1e-3}, {"dt": 2e-4}, ADAPTIVE], ids=["1ms", "0.2ms", "adaptive"])
def test_a_near_miss_is_no_crossing_and_its_time_is_that_of_the_minimum(options):
    # A parallelogram whose rocker is a little too long: it comes near its flat pose, and turns there.
    system = four_bar(0.5, 1.0, 0.5003, 1.0)
    q0 = system.assemble([1.0, -1.0, 1.0], locked=["crank"]).q
    v0 = system.project_velocity(q0, [-3.0, 3.0, -3.0])
    motion = sr.simulate(system, q0, v0, duration=0.8, **options)
    assert (
        motion.status.complete
    )  # what comes behind it is another matter: steps of 1 ms lose two digits there
    near = motion.passages[0]
    assert not near.crossed
    assert near.closures == ("pin",)
    # An independent look: a fine run around that time, and the least singular value of A on it.
    before = sr.simulate(system, q0, v0, duration=near.time - 2e-3, rtol=1e-12, atol=1e-13)
    x = before.q[-1], before.v[-1]

    def value(h):
        return smallest(system, sr.simulate(system, *x, duration=h, rtol=1e-12, atol=1e-13).q[-1])

    least = minimize_scalar(value, bounds=(1e-4, 4e-3), method="bounded", options={"xatol": 1e-9})
    assert near.time - 2e-3 + least.x == pytest.approx(near.time, abs=2e-6)
    assert near.smallest_singular_value == pytest.approx(least.fun, rel=1e-4)


@pytest.mark.parametrize("options", [{"dt": 1e-3}, ADAPTIVE], ids=["fixed", "adaptive"])
def test_motion_that_turns_back_before_the_singular_pose_comes_near_it(options):
    # Released from rest below its flat pose, it swings to as much below the other one, and rests there.
    system = four_bar(0.5, 1.0, 0.5, 1.0)
    motion = sr.simulate(system, [-0.03, 0.03, -0.03], duration=3.0, **options)
    assert 2 <= len(motion.passages) <= 4
    assert not any(p.crossed for p in motion.passages)
    assert np.diff([p.time for p in motion.passages], 2) == pytest.approx(0.0, abs=1e-7)  # half periods
    for turn in motion.passages:
        there = sr.simulate(system, [-0.03, 0.03, -0.03], duration=turn.time, rtol=1e-12, atol=1e-13)
        assert np.abs(there.v[-1]).max() < 1e-5
    assert motion.determined_until == np.inf


def test_a_value_that_is_small_all_the_time_is_no_passage():
    """A row whose size is 1e-5 along the motion, ten times that nearby, and moves by a thousandth of it."""
    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: 0.5 * (v[0] ** 2 + v[1] ** 2 + v[2] ** 2) - 50.0 * (q[2] - 1e-5) ** 2,
        holonomic=lambda q, t: [q[0], q[1] * q[2]],
    )
    motion = sr.simulate(system, [0.0, 0.0, 1.001e-5], duration=3.0, dt=1e-3)
    assert np.ptp(motion.q[:, 2]) > 1e-8
    assert motion.passages == ()


def test_values_that_vanish_together_name_all_their_closures(example):
    module = example("four_bar_chain")
    system = sr.System(module.build(3))
    motion = sr.simulate(system, *module.start(system), duration=2.0, dt=2e-3)
    assert [p.crossed for p in motion.passages] == [True] * len(motion.passages)
    assert all(set(p.closures) == set(system.closure_rows) for p in motion.passages)


def test_more_passages_than_the_kernel_can_note_at_once():
    # A parallelogram that spins without gravity passes its flat pose at every half turn.
    mechanism_system = four_bar(0.5, 1.0, 0.5, 1.0)
    mechanism_system.mechanism.gravity = np.zeros(3)
    system = sr.System(mechanism_system.mechanism)
    speed = 40 * np.pi
    q0 = np.array([1.0, -1.0, 1.0])
    motion = sr.simulate(system, q0, speed * np.array([1.0, -1.0, 1.0]), duration=4.0, dt=1e-3, every=4000)
    assert len(motion.passages) == 160
    expected = (np.pi * np.arange(1, 161) - 1.0) / speed
    assert max(abs(p.time - t) for p, t in zip(motion.passages, expected)) < 1e-7


# --- what is lost ------------------------------------------------------------------------------------


def test_digits_lost_grow_as_stages_come_closer(five_bar, symmetric):
    lost = [
        sr.simulate(five_bar, symmetric, duration=1.0, dt=dt).passages[0].digits_lost
        for dt in (1e-2, 1e-3, 1e-4)
    ]
    # σ falls in proportion to the time: a tenth of the step is two digits more, up to where in a step it falls.
    assert np.diff(lost) == pytest.approx([2.0, 2.0], abs=1.0)


def five_bar_cut_at(place):
    """Return the five-bar with its loop cut at one of its joints, and its symmetric pose."""
    order = ("left", "left_elbow", "tips", "right_elbow", "right")
    bodies = ("world", "link1", "link2", "link3", "link4", "world")
    length = {"world": 1.0, "link1": 1.0, "link2": 1.5, "link3": 1.5, "link4": 1.0}
    mechanism = sr.Mechanism(f"five_bar_{place}")
    for body, mass, moment in (("link1", 2, 1), ("link2", 3, 2), ("link3", 3, 2), ("link4", 2, 1)):
        mechanism.add_body(body, mass, com=(length[body] / 2, 0, 0), inertia=(0.1 * moment, moment, moment))
    cut = order.index(place)
    psi = float(tip_angle(np.pi / 3)[0])
    angle = {"link1": 2 * np.pi / 3, "link2": psi, "link3": np.pi - psi, "link4": np.pi / 3}
    angles = []
    for side, joints in ((0, range(cut)), (1, range(4, cut, -1))):
        before = 0.0
        for k in joints:
            parent, child = (bodies[k], bodies[k + 1]) if side == 0 else (bodies[k + 1], bodies[k])
            at = (0.0 if side == 0 else 1.0) if parent == "world" else length[parent]
            mechanism.add_joint(order[k], "revolute", parent, child, axis=(0, -1, 0), parent_pose=(at, 0, 0))
            # A body that hangs from its tip points the other way.
            turned = np.pi if child in (("link3", "link4"), ("link1", "link2"))[side] else 0.0
            angles.append(angle[child] + turned - before)
            before = angle[child] + turned
    ends = [
        ((0.0, 1.0)[k] if body == "world" else length[body], 0, 0)
        for k, body in enumerate(bodies[cut : cut + 2])
    ]
    mechanism.add_closure(
        place, "point_on_line", *bodies[cut : cut + 2], axis=(0, 1, 0), pose1=ends[0], pose2=ends[1]
    )
    return sr.System(mechanism), np.array(angles)


@pytest.mark.parametrize("place", ["left", "right", "left_elbow", "right_elbow"])
@pytest.mark.parametrize("options", [{"dt": 1e-3}, {"rtol": 1e-8}, {"rtol": 1e-12, "atol": 1e-12}])
def test_a_motion_that_loses_all_digits_says_when(place, options, exact):
    """The symmetric motion is unstable: what differs by 1e-13 at first differs by 1e-3 after 5 s."""
    system, q0 = five_bar_cut_at(place)
    motion = sr.simulate(system, q0, duration=5.0, **options)
    assert motion.determined_until < 5.0
    early = [p for p in motion.passages if p.time < motion.determined_until]
    assert max((abs(p.time - t) for p, t in zip(early, exact)), default=0.0) < 1e-5
    assert f"determined until {motion.determined_until:.4g} s" in repr(motion)
    if motion.status is sr.Status.NOT_DETERMINED:
        later = motion.t > motion.determined_until
        assert np.isinf(motion.error[later]).all()
        assert np.isfinite(motion.error[~later]).all()
    # A motion that turns about the third tip instead of going through has lost them all.
    assert motion.status is not sr.Status.OK or [p.crossed for p in motion.passages] == [True] * 3


def test_errors_fall_with_the_step_through_singular_configurations(example):
    """With the fourth power to 1e-11, and then no longer: rounding leaves some 1e-12; nine passages."""
    module = example("parallelogram")
    system, start, errors = sr.System(module.build()), module.closed(0.4, 1.4), []
    for dt in (1e-3, 5e-4, 2.5e-4, 1e-4):
        every = round(1e-3 / dt)
        motion = sr.simulate(system, start, duration=3.0, dt=dt, every=every, error_estimate=False)
        errors.append(np.abs(motion.q[:, :2] - module.angles(0.4, 1.4, motion.t)).max())
    assert len(motion.passages) == 9
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.2)
    assert max(errors[2:]) < 1e-10


@pytest.mark.parametrize("apart", [0.02, 0.05, 0.2])
def test_slow_steps_next_to_a_singular_configuration_keep_their_order(example, apart):
    """From rest, where stages are next to no way beside the constraints, into a passage, where they would be."""
    module = example("parallelogram")
    system, start, errors = sr.System(module.build()), module.closed(apart, 0.0), []
    for dt in (8e-3, 4e-3, 2e-3):
        motion = sr.simulate(system, start, duration=0.4, dt=dt, error_estimate=False)
        errors.append(np.abs(motion.q[:, :2] - module.angles(apart, 0.0, motion.t)).max())
    assert motion.passages
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.2)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.2)


def test_motions_that_errors_do_not_decide_are_determined_to_the_end(example):
    module = example("parallelogram")
    system = sr.System(module.build())
    motion = sr.simulate(system, module.closed(0.3, -1.2), duration=3.0, dt=1e-3)
    assert len(motion.passages) == 6
    assert motion.determined_until == np.inf
    assert "determined" not in repr(motion)


def test_what_python_samples_is_not_asked_twice(example):
    module = example("parallelogram")
    system = sr.System(module.build())
    asked = []

    def control(q, v, t):
        asked.append(t)
        return np.zeros(2)

    motion = sr.simulate(
        system, module.closed(0.3, -1.2), duration=1.0, dt=1e-3, control=control, sample_time=0.1
    )
    assert motion.passages
    assert np.isnan(motion.determined_until)
    assert len(asked) == len(set(asked))


def test_a_file_keeps_what_is_lost(five_bar, symmetric, tmp_path):
    motion = sr.simulate(five_bar, symmetric, duration=1.0, dt=1e-3)
    read = sr.Trajectory.load(motion.save(tmp_path / "run.nc"))
    assert read.passages == motion.passages
    assert read.passages[0].digits_lost > 3.0
    assert read.determined_until == motion.determined_until
