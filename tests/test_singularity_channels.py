"""Channels of a run: the smallest singular value of its constraints, Spencer's spike indicator, and their files."""

from __future__ import annotations

import csv

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.formulations import spike_indicator
from scaled import scaled, scales
from test_passages import four_bar as passing_four_bar
from test_redundancy import closed, four_bar
from test_singular import EqualSliderCrank, Parallelogram, RedundantParallelArm

CHANNELS = ("smallest_singular_value", "spike_indicator", "spike_acceleration", "singular_value_rate")


def smaller(rows: np.ndarray) -> np.ndarray:
    """Return the smaller singular value of matrices (…, 2, n), by the quadratic equation of A Aᵀ."""
    gram = rows @ np.swapaxes(rows, -1, -2)
    mean, half = (gram[..., 0, 0] + gram[..., 1, 1]) / 2, (gram[..., 0, 0] - gram[..., 1, 1]) / 2
    determinant = gram[..., 0, 0] * gram[..., 1, 1] - gram[..., 0, 1] ** 2
    return np.sqrt(np.maximum(determinant, 0.0) / (mean + np.hypot(half, gram[..., 0, 1])))


def five_bar_rows(q: np.ndarray) -> np.ndarray:
    """Return the Jacobian of the five-bar's loop (…, 2, 4), by hand: links of 1 m and 1.5 m, relative angles."""
    left, right = q[..., 0], q[..., 2]
    far_left, far_right = left + q[..., 1], right + q[..., 3]

    def turned(length: float, angle: np.ndarray) -> np.ndarray:
        return length * np.stack([-np.sin(angle), np.cos(angle)], axis=-1)

    columns = [turned(1.0, left) + turned(1.5, far_left), turned(1.5, far_left)]
    columns += [-turned(1.0, right) - turned(1.5, far_right), -turned(1.5, far_right)]
    return np.stack(columns, axis=-1)


@pytest.fixture(scope="module")
def five_bar():
    system = sr.System(sr.load("models/five_bar.xml"))
    start = system.mechanism.keyframes["symmetric"].q
    return sr.simulate(system, start, duration=3.0, rtol=1e-10, atol=1e-12)


def test_five_bar_has_the_closed_form(five_bar):
    kappa = five_bar.system.characteristic.length
    expected = smaller(five_bar_rows(five_bar.q)) / kappa
    assert np.abs(five_bar.smallest_singular_value - expected).max() < 1e-12 / expected.min()
    assert not five_bar.smallest_singular_value.flags.writeable


@pytest.mark.parametrize("case", [Parallelogram(), EqualSliderCrank()], ids=lambda case: type(case).__name__)
def test_it_goes_to_zero_linearly_and_there_is_no_spike(case):
    system = sr.System(case.build())
    motion = sr.simulate(system, *case.state(-0.05), duration=0.03, dt=1e-4)
    sigma, angle = motion.smallest_singular_value, motion.q[:, 0]
    if isinstance(case, EqualSliderCrank):
        exact = np.sqrt(5.0) * np.abs(np.cos(angle))
    else:
        s, c = np.sin(angle), np.cos(angle)
        rows = np.array([[-s, 0 * s, s], [c + 1.5, 0 * s + 1.5, -c]]) / 1.5
        exact = smaller(rows.transpose(2, 0, 1))
    assert np.abs(sigma - exact).max() < 1e-9
    (passage,) = motion.passages
    assert passage.crossed
    near = np.abs(motion.t - passage.time) < 2e-3
    away = motion.t[near] - passage.time
    slope = sigma[near] / np.abs(away)
    assert np.ptp(slope[np.abs(away) > 1e-6]) < 0.02 * slope.mean()
    # Where the motion passes, the indicator vanishes as fast: the ratio is the acceleration, which is finite.
    known = np.isfinite(motion.spike_acceleration)
    assert np.count_nonzero(~known) <= 1
    assert motion.spike_acceleration[known].max() < 1e3
    assert motion.spike_indicator[near].max() < 0.3 * slope.mean() * 2e-3 * 1e2


def test_the_spike_is_the_acceleration_along_the_smallest_singular_vector(five_bar):
    system = five_bar.system
    sizes = system.characteristic
    for k in range(0, len(five_bar.t), 7):
        q, v = five_bar.q[k], five_bar.v[k]
        even = sizes.scaled_rows(system.constraint_jacobian(q))
        values, right = np.linalg.svd(even)[1:]
        along = abs(float(right[1] @ (sizes.columns * five_bar.a[k])))
        assert five_bar.spike_acceleration[k] == pytest.approx(along, abs=1e-9 / values[1] * (1 + along))
        # The definition at one state, with the rate of A by central differences.
        h = 1e-5
        ends = [sizes.scaled_rows(system.constraint_jacobian(system.move(q, s * h * v))) for s in (1, -1)]
        found = spike_indicator(even, (ends[0] - ends[1]) / (2 * h), sizes.columns * v, rank=2)
        assert five_bar.spike_indicator[k] == pytest.approx(found.indicator, abs=1e-7)
        assert five_bar.smallest_singular_value[k] == pytest.approx(found.sigma, abs=1e-14)


def test_its_rate_is_the_derivative_along_the_motion(five_bar):
    """Against central differences of the closed form along the motion, and the fall of σ from one sample to another."""
    system = five_bar.system
    kappa, h = system.characteristic.length, 1e-5
    for k in range(0, len(five_bar.t), 7):
        ends = [system.move(five_bar.q[k], s * h * five_bar.v[k]) for s in (1, -1)]
        expected = (smaller(five_bar_rows(ends[0])) - smaller(five_bar_rows(ends[1]))) / (2 * h * kappa)
        slack = 1e-8 * (1 + np.abs(five_bar.v[k]).max() ** 3) / five_bar.smallest_singular_value[k] ** 2
        assert five_bar.singular_value_rate[k] == pytest.approx(expected, abs=slack)


def test_the_rate_of_driven_rows_and_of_mirror_images():
    """σ = 1 + sin t by a row that time moves; σ = |t − 1| twice, whose rates are told apart by none."""
    driven = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        velocity=lambda q, v, t: (2 + ca.sin(t)) * v[0],
    )
    motion = sr.simulate(driven, [0.0, 0.0], [0.0, 1.0], duration=1.0, dt=0.1)
    assert np.allclose(motion.singular_value_rate, np.cos(motion.t), rtol=0, atol=1e-12)
    twice = sr.System.from_lagrangian(
        nq=4,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.vertcat(q[0] * q[1], q[2] * q[3]),
    )
    motion = sr.simulate(twice, [-1.0, 0.0, -1.0, 0.0], [1.0, 0.0, 1.0, 0.0], duration=0.9, dt=0.1)
    assert np.allclose(motion.singular_value_rate, -1.0, rtol=0, atol=1e-9)


def test_a_mechanism_that_is_turned_back_has_a_spike():
    """A parallelogram whose rocker is a little too long comes near its flat pose with speed."""
    system = passing_four_bar(0.5, 1.0, 0.5003, 1.0)
    q = system.assemble([1.0, -1.0, 1.0], locked=["crank"]).q
    v = system.project_velocity(q, [-3.0, 3.0, -3.0])
    motion = sr.simulate(system, q, v, duration=0.6, rtol=1e-10, atol=1e-12)
    near = motion.passages[0]
    assert not near.crossed
    spike = int(np.argmax(motion.spike_acceleration))
    assert abs(motion.t[spike] - near.time) < 5e-3
    assert motion.spike_acceleration[spike] > 100 * np.median(motion.spike_acceleration)
    closest = int(np.argmin(motion.smallest_singular_value))
    # The indicator keeps its size where the smallest singular value does not.
    assert (
        motion.spike_indicator[closest] > 0.3 * motion.spike_indicator[max(0, closest - 40) : closest].max()
    )


# --- redundancy, units, constraints that come and go --------------------------------------------------


def test_dead_rows_of_closures_in_space_do_not_count():
    reference = None
    for kind in ("point_on_line", "point", "revolute"):
        system = sr.System(four_bar(kind))
        motion = sr.simulate(system, closed(system), duration=0.5, dt=1e-2, rtol=1e-11, atol=1e-12)
        channels = np.array([getattr(motion, name) for name in CHANNELS])
        reference = channels if reference is None else reference
        assert np.abs(channels - reference).max() < 1e-9
    assert channels[0].min() > 0.1


def test_a_closure_twice_is_the_same_by_the_root_of_two():
    once, twice = four_bar("point_on_line"), four_bar("point_on_line")
    ends = twice.closures["pin"]
    twice.add_closure(
        "again", "point_on_line", "coupler", "rocker", axis=(0, 1, 0), pose1=ends.pose1, pose2=ends.pose2
    )
    runs = []
    for mechanism in (once, twice):
        system = sr.System(mechanism)
        runs.append(sr.simulate(system, closed(system), duration=0.5, dt=1e-2))
    assert np.allclose(
        runs[1].smallest_singular_value, np.sqrt(2) * runs[0].smallest_singular_value, rtol=1e-10
    )
    assert np.allclose(runs[1].spike_acceleration, runs[0].spike_acceleration, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("free", [False, True], ids=["tree", "free bodies"])
def test_bricard_never_comes_near_a_singular_configuration(example, free):
    system = sr.System(example("bricard").build(free))
    motion = sr.simulate(system, system.neutral(), duration=0.3, dt=5e-3)
    rank = int(motion.rank[0])
    even = [system.characteristic.scaled_rows(system.constraint_jacobian(q)) for q in motion.q]
    expected = np.linalg.svd(even, compute_uv=False)
    assert np.abs(motion.smallest_singular_value - expected[:, rank - 1]).max() < 1e-12
    assert motion.smallest_singular_value.min() > 1e6 * expected[:, rank].max()


def test_a_redundant_arm_goes_to_zero_at_its_generic_rank():
    case = RedundantParallelArm()
    system = sr.System(case.build())
    motion = sr.simulate(system, *case.state(-0.05), duration=0.03, dt=1e-3)
    least = int(np.argmin(motion.smallest_singular_value))
    assert motion.smallest_singular_value[least] < 5e-3
    assert motion.smallest_singular_value[0] > 5 * motion.smallest_singular_value[least]


def test_equal_singular_values_count_together():
    """Two four-bars of the same dimensions in one mechanism, one running twice as fast."""
    both = sr.Mechanism("pair", gravity=(0, 0, 0))
    for side, y in (("a", 0.0), ("b", 1.0)):
        for link, parent, x, length in (
            ("crank", "world", 0.0, 0.4),
            ("coupler", "crank", 0.4, 0.9),
            ("rocker", "world", 1.0, 0.8),
        ):
            body, base = side + link, parent if parent == "world" else side + parent
            both.add_body(body, 1.0, com=(length / 2, 0, 0), inertia=(0.1, 0.1, 0.1))
            pose = (x, y if parent == "world" else 0.0, 0)
            both.add_joint(body, "revolute", base, body, axis=(0, -1, 0), parent_pose=pose)
        both.add_closure(
            f"{side}pin", "revolute", f"{side}coupler", f"{side}rocker", axis=(0, 1, 0),
            pose1=(0.9, 0, 0), pose2=(0.8, 0, 0),
        )  # fmt: skip
    system = sr.System(both)
    one = closed(sr.System(four_bar("point_on_line")))
    q = system.assemble(np.concatenate([one, one])).q
    runs = []
    for speeds in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        v = system.project_velocity(q, np.array([speeds[0], 0, 0, speeds[1], 0, 0]))
        runs.append(sr.simulate(system, q, v, duration=1e-3, dt=1e-3))
    single, mirrored, whole = (run.spike_indicator[0] for run in runs)
    assert single > 1e-3
    assert mirrored == pytest.approx(single, rel=1e-9)
    assert whole == pytest.approx(np.sqrt(2) * single, rel=1e-6)


@pytest.mark.parametrize("length", [1e3, 1e-3])
def test_millimetres_and_metres_agree(example, length):
    for build in (
        example("slider_crank").build,
        example("stewart").build,
        lambda: sr.load("models/five_bar.xml"),
    ):
        system = sr.System(build())
        other = sr.System(scaled(system, length))
        places, speeds = scales(system, length)
        q = system.assemble(system.neutral() + 0.1).q
        v = system.project_velocity(q, np.linspace(0.3, 1.0, system.nv))
        one = sr.simulate(system, q, v, duration=0.05, dt=5e-3)
        two = sr.simulate(other, places * q, speeds * v, duration=0.05, dt=5e-3)
        for name in CHANNELS:
            assert np.allclose(getattr(one, name), getattr(two, name), rtol=1e-8, atol=1e-9), name


def test_nothing_that_is_constrained_is_never_singular():
    mechanism = sr.Mechanism("pendulum")
    mechanism.add_body("bob", 1.0, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("pin", "revolute", "world", "bob", axis=(0, 1, 0))
    motion = sr.simulate(sr.System(mechanism), [0.1], duration=0.1, dt=1e-2)
    assert (motion.smallest_singular_value == np.inf).all()
    assert not motion.spike_indicator.any()
    assert not motion.spike_acceleration.any()


def test_constraints_are_those_that_hold_at_the_time(tmp_path):
    mechanism = sr.Mechanism("drop")
    mechanism.add_body("ball", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("slide", "prismatic", "world", "ball", axis=(0, 0, 1))
    mechanism.add_contact("floor", "ball", friction="frictionless")
    system = sr.System(mechanism)
    motion = sr.simulate(system, [0.05], duration=0.3, dt=1e-3)
    landed = motion.switches[0].time
    assert (motion.smallest_singular_value[motion.t < landed - 2e-3] == np.inf).all()
    assert np.allclose(motion.smallest_singular_value[motion.t > landed + 2e-3], 1.0, rtol=1e-12)
    with pytest.raises(ArgumentError, match="its file does not say when the constraints"):
        _ = sr.Trajectory.load(motion.save(tmp_path / "run.nc")).smallest_singular_value
    kept = sr.Trajectory.load(motion.save(tmp_path / "run.nc", singularity=True))
    assert np.array_equal(kept.smallest_singular_value, motion.smallest_singular_value)


def test_one_s_own_equations_in_the_units_that_they_have():
    system = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: q[0] * q[1]
    )
    motion = sr.simulate(system, [-1.0, 0.0], [1.0, 0.0], duration=2.0, dt=1e-2)
    assert np.allclose(motion.smallest_singular_value, np.abs(motion.t - 1.0), rtol=0, atol=1e-9)


# --- files and pictures -------------------------------------------------------------------------------


def test_files_hold_the_channels_that_were_asked_for(five_bar, tmp_path):
    plain = sr.Trajectory.load(five_bar.save(tmp_path / "plain.nc"))
    assert plain.channels is None
    asked = sr.Trajectory.load(five_bar.save(tmp_path / "asked.nc", singularity=True))
    again = sr.Trajectory.load(asked.save(tmp_path / "again.nc"))  # what came from a file stays
    data = five_bar.to_xarray(singularity=True)
    for name in CHANNELS:
        expected = getattr(five_bar, name)
        assert data[name].dims == ("time",)
        assert np.array_equal(data[name], expected, equal_nan=True)
        for run in (asked, again):
            assert np.array_equal(getattr(run, name), expected, equal_nan=True)
        assert np.allclose(getattr(plain, name), expected, rtol=1e-9, atol=1e-9, equal_nan=True)
    assert not set(CHANNELS) & set(five_bar.to_xarray())
    with open(five_bar.to_csv(tmp_path / "run.csv", singularity=True), encoding="utf-8") as file:
        head, first = list(csv.reader(file))[:2]
    assert [h for h in head if h.startswith("s")][:2] == ["smallest_singular_value", "spike_indicator [s-2]"]
    assert float(first[head.index("smallest_singular_value")]) == five_bar.smallest_singular_value[0]


def test_a_run_whose_equations_are_unknown_says_so(tmp_path):
    system = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: q[0] - q[1]
    )
    motion = sr.simulate(system, [0.0, 0.0], [1.0, 1.0], duration=0.1, dt=1e-2)
    with pytest.raises(ArgumentError, match="Save the run with singularity=True"):
        _ = sr.Trajectory.load(motion.save(tmp_path / "run.nc")).spike_indicator
    kept = sr.Trajectory.load(motion.save(tmp_path / "kept.nc", singularity=True))
    assert np.allclose(kept.smallest_singular_value, np.sqrt(2.0), rtol=1e-14)


def test_the_plot_has_them(five_bar, tmp_path):
    figure = five_bar.plot(tmp_path / "run.png", singularity=True)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert "smallest\nsingular value" in labels
    assert "spike [1/s²]" in labels
    assert (tmp_path / "run.png").stat().st_size > 10_000
