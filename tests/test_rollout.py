"""Many runs in one call are the runs that `simulate` does one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from conftest import load_example
from mechanisms import LOOPS, four_bar, random_loop, random_state, random_tree, three_legs
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control import ComputedTorque
from sarrus.dynamics.system import System

MODELS = Path(__file__).resolve().parent.parent / "models"


@pytest.fixture(scope="module")
def five_bar() -> System:
    return System(sr.load(MODELS / "five_bar.xml"))


def starts(system: System, count: int, seed: int = 0, spread: float = 0.1) -> tuple[Array, Array]:
    """Return states on the constraints, scattered about a keyframe or the neutral configuration."""
    rng = np.random.default_rng(seed)
    frames = system.mechanism.keyframes if system.mechanism is not None else {}
    middle = np.array(frames.get("symmetric", system.neutral()))
    q = np.array([system.assemble(middle + spread * rng.normal(size=system.nq)).q for _ in range(count)])
    v = np.array([system.project_velocity(row, spread * rng.normal(size=system.nv)) for row in q])
    return q, v


def compare(system: System, many: sr.Rollout, q: Array, v: Array, tolerance: float, **options: Any) -> None:
    """Assert that every run is the one that `simulate` does."""
    for run in range(len(many)):
        one = sr.simulate(system, q[run], v[run], progress=False, **options)
        np.testing.assert_allclose(many.t, one.t, rtol=0, atol=1e-12)
        for name in ("q", "v", "a", "u", "multipliers", "energy"):
            ours, theirs = getattr(many, name)[run], getattr(one, name)
            scale = 1.0 + np.abs(theirs).max(initial=0.0)
            np.testing.assert_allclose(
                ours, theirs, rtol=0, atol=tolerance * scale, err_msg=f"{name} of run {run}"
            )
        np.testing.assert_array_equal(many.rank[run], one.rank)
        assert many.steps[run] == one.steps
        assert many.status[run] == one.status


@pytest.mark.parametrize(
    "options",
    [
        {"dt": 1e-3, "every": 7},
        {"dt": 1e-3, "every": 20, "stabilization": "energy"},
        {"dt": 2e-3, "every": 10, "stabilization": "baumgarte"},
        {"dt": 5e-3, "method": "rodas5p", "rtol": np.inf, "every": 2},
    ],
    ids=["rk4", "energy", "baumgarte", "rodas5p"],
)
def test_one_after_the_other_bit_for_bit(five_bar: System, options: dict[str, Any]) -> None:
    q, v = starts(five_bar, 5)
    many = sr.rollout(five_bar, q, v, duration=0.15, side_by_side=False, **options)
    assert not many.side_by_side
    compare(five_bar, many, q, v, 0.0, duration=0.15, **options)


def test_adaptive_runs_bit_for_bit(five_bar: System) -> None:
    """Samples on a grid do not disturb the steps, here as in `simulate`."""
    q, v = starts(five_bar, 4)
    many = sr.rollout(five_bar, q, v, duration=1.0, dt=0.05, every=2, rtol=1e-9, atol=1e-11)
    compare(five_bar, many, q, v, 0.0, duration=1.0, dt=0.1, rtol=1e-9, atol=1e-11)
    end = sr.rollout(five_bar, q, v, duration=1.0, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(end.q[:, -1], many.q[:, -1])


@pytest.mark.parametrize("name", ["five_bar", "three_leg_platform", "quadruped"])
def test_side_by_side_to_rounding(name: str, five_bar: System) -> None:
    """Straight-line code in lanes gives the motion of the kernels that decide ranks; the quadruped has a quaternion."""
    module = None if name == "five_bar" else load_example(name)
    system = five_bar if module is None else System(module.build())
    guess = {"three_leg_platform": "pose", "quadruped": "standing"}.get(name)
    rng = np.random.default_rng(3)
    q, v = starts(system, 11) if guess is None else (np.array([getattr(module, guess)(system)] * 11), None)
    if v is None:
        q = np.array([system.assemble(row).q for row in q])
        v = np.array([system.project_velocity(row, 0.3 * rng.normal(size=system.nv)) for row in q])
    many = sr.rollout(system, q, v, duration=0.1, dt=1e-3, every=25)
    assert many.side_by_side
    assert many.residual.max() < 1e-12
    compare(system, many, q, v, 1e-11, duration=0.1, dt=1e-3, every=25)


def test_random_mechanisms_side_by_side() -> None:
    """Trees with all kinds of joints, and loops: free motion, quaternions, redundant rows."""
    for seed in range(6):
        plan = random_tree(seed)
        system = System(plan.mechanism)
        states = [random_state(system, k) for k in range(9)]
        q, v = np.array([s[0] for s in states]), np.array([s[1] for s in states])
        many = sr.rollout(system, q, v, duration=0.02, dt=1e-3, every=10)
        compare(system, many, q, v, 1e-11, duration=0.02, dt=1e-3, every=10)
    for kind in LOOPS:
        mechanism, closed = random_loop(kind)
        system = System(mechanism)
        q = np.array([system.assemble(closed).q] * 9)
        v = np.array([system.project_velocity(row, random_state(system, k)[1]) for k, row in enumerate(q)])
        many = sr.rollout(system, q, v, duration=0.02, dt=1e-3, every=10)
        compare(system, many, q, v, 1e-10, duration=0.02, dt=1e-3, every=10)


def test_through_singular_configurations(five_bar: System) -> None:
    """Lanes that come near a singular configuration go through it alone, as exactly as a single run does."""
    q, v = starts(five_bar, 9, spread=0.01)
    many = sr.rollout(five_bar, q, 0 * v, duration=1.2, dt=1e-3, every=200)
    assert many.side_by_side
    exact = sr.rollout(five_bar, q, 0 * v, duration=1.2, rtol=1e-12, atol=1e-12, dt=0.2, every=1)
    passed = [sr.simulate(five_bar, row, duration=1.2, dt=1e-3, progress=False).passages for row in q]
    assert all(passed), "every run is to pass a singular configuration"
    assert many.residual.max() < 1e-13
    single = np.array(
        [sr.simulate(five_bar, row, duration=1.2, dt=1e-3, every=200, progress=False).q for row in q]
    )
    ours, theirs = (np.abs(runs - exact.q).max() for runs in (many.q, single))
    assert ours < 2.0 * theirs + 1e-9


def test_a_run_does_not_depend_on_the_others(five_bar: System) -> None:
    """Order, company and threads change no bit."""
    q, v = starts(five_bar, 13)
    options: dict[str, Any] = {"duration": 0.8, "dt": 1e-3, "every": 100}
    all_of_them = sr.rollout(five_bar, q, v, threads=1, **options)
    for threads in (2, 3):
        np.testing.assert_array_equal(sr.rollout(five_bar, q, v, threads=threads, **options).q, all_of_them.q)
    turned = sr.rollout(five_bar, q[::-1], v[::-1], **options)
    np.testing.assert_array_equal(turned.q[::-1], all_of_them.q)
    np.testing.assert_array_equal(turned.multipliers[::-1], all_of_them.multipliers)
    alone = sr.rollout(five_bar, q[4:5], v[4:5], **options)
    np.testing.assert_array_equal(alone.q[0], all_of_them.q[4])


def test_a_run_does_not_depend_on_how_often_others_are_closed() -> None:
    """A link a hundred times as heavy needs more Newton steps; the light one beside it is not to get them too."""
    system = System(sr.load(MODELS / "five_bar.xml"), parameters={"m": "link1.mass"})
    start = system.mechanism.keyframes["symmetric"].q
    masses = np.array([0.01, 0.1, 1.0, 2.0, 10.0, 100.0, 1000.0, 3.0])
    together = sr.rollout(system, start, duration=2.0, dt=1e-3, parameters={"m": masses})
    for run, mass in enumerate(masses):
        alone = sr.rollout(system, start, duration=2.0, dt=1e-3, parameters={"m": [mass]})
        np.testing.assert_array_equal(alone.final_q[0], together.final_q[run])
        np.testing.assert_array_equal(alone.final_v[0], together.final_v[run])


def test_the_end_alone_and_folds(five_bar: System) -> None:
    q, v = starts(five_bar, 10)
    options: dict[str, Any] = {"duration": 0.1003, "dt": 1e-3}
    folds = ("min", "max", "mean", "rms")
    for side_by_side in (True, False):
        steps = sr.rollout(five_bar, q, v, every=1, side_by_side=side_by_side, **options)
        end = sr.rollout(five_bar, q, v, reduce=folds, side_by_side=side_by_side, **options)
        recording = sr.Recording(None, reduce=folds)
        same = sr.rollout(five_bar, q, v, every=recording, side_by_side=side_by_side, **options)
        np.testing.assert_array_equal(same.mean.q, end.mean.q)
        assert end.t.tolist() == [0.1003]
        assert len(steps.t) == 102
        np.testing.assert_array_equal(end.q[:, 0], steps.q[:, -1])
        np.testing.assert_array_equal(end.final_v, steps.v[:, -1])
        for name in ("q", "v", "a", "multipliers", "energy", "residual"):
            every_step = getattr(steps, name)
            np.testing.assert_array_equal(getattr(end.minimum, name), every_step.min(axis=1))
            np.testing.assert_array_equal(getattr(end.maximum, name), every_step.max(axis=1))
            np.testing.assert_allclose(
                getattr(end.mean, name), every_step.mean(axis=1), rtol=1e-12, atol=1e-14
            )
            rms = np.sqrt((every_step**2).mean(axis=1))
            np.testing.assert_allclose(getattr(end.rms, name), rms, rtol=1e-12, atol=1e-14)


GUESS = np.array([-1.0, 0.7, 1.6])


def test_controls_that_are_held() -> None:
    """A sequence of controls is that of a sampled law, within the limits of the motors."""
    system = System(four_bar(), parameters={})
    closed = system.assemble(GUESS).q
    rng = np.random.default_rng(5)
    u = rng.uniform(-3.0, 3.0, (10, 20, 1))
    for side_by_side in (True, False):
        many = sr.rollout(system, closed, u=u, duration=0.2, dt=1e-3, every=10, side_by_side=side_by_side)
        assert many.side_by_side == side_by_side
        for run in (0, 9):
            held = u[run]
            one = sr.simulate(
                system,
                closed,
                duration=0.2,
                dt=1e-3,
                control=lambda q, v, t, held=held: held[min(round(t / 0.01), 19)],
                sample_time=0.01,
                progress=False,
            )
            np.testing.assert_allclose(many.q[run], one.q[::10], rtol=0, atol=1e-12 if side_by_side else 0.0)
            assert np.abs(many.u).max() <= 2.0
    constant = sr.rollout(system, closed, u=[[0.5], [-5.0]], duration=0.05)
    assert constant.u[:, -1, 0].tolist() == [0.5, -2.0]
    adaptive = sr.rollout(system, closed, u=u, duration=0.2, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(adaptive.q[:, -1], many.q[:, -1], rtol=0, atol=1e-7)


def test_control_laws() -> None:
    system = System(four_bar(), parameters={})
    closed = system.assemble(GUESS).q

    def damping(q: Any, v: Any, t: Any) -> Any:
        return ca.vertcat(-3.0 * v[0] + ca.sin(5 * t))

    v = np.array([system.project_velocity(closed, [k, 0, 0]) for k in np.linspace(-4, 4, 9)])
    many = sr.rollout(system, closed, v, control=damping, duration=0.1, dt=1e-3, every=20)
    q = np.array([closed] * 9)
    compare(system, many, q, v, 1e-11, control=damping, duration=0.1, dt=1e-3, every=20)
    turn = sr.references.minimum_jerk(closed[:1], closed[:1] + 0.5, 0.3)
    law = ComputedTorque(system, "crank", turn, stiffness=25.0, damping=10.0)
    for threads in (1, 3):
        many = sr.rollout(system, closed, v, control=law, duration=0.1, dt=1e-3, every=20, threads=threads)
        compare(system, many, q, v, 0.0, control=law, duration=0.1, dt=1e-3, every=20)
    copied = law.copy()
    copied.settings["motion.stiffness"] = 100.0
    assert law.settings["motion.stiffness"] == 25.0
    still = np.zeros(system.nv)
    assert copied(closed, still, 0.05)[0] != law(closed, still, 0.05)[0]


def test_parameters_of_each_run() -> None:
    """Masses and lengths of their own, with loops closed anew; the system has its own parameters again."""
    targets = {"mass": "coupler.mass", "length": "pin.pose2.x"}
    system = System(four_bar(), parameters=targets)
    masses, lengths = np.linspace(0.5, 3.0, 10), np.linspace(0.55, 0.65, 10)
    for side_by_side in (True, False):
        many = sr.rollout(
            system, GUESS, duration=0.1, dt=1e-3, every=25, parameters={"mass": masses, "length": lengths},
            assemble=True, side_by_side=side_by_side,
        )  # fmt: skip
        assert many.side_by_side == side_by_side
        assert system.parameters == {"mass": 1.0, "length": 0.6}
        for run in (0, 5, 9):
            system.parameters.update({"mass": masses[run], "length": lengths[run]})
            one = sr.simulate(system, many.q[run, 0], duration=0.1, dt=1e-3, every=25, progress=False)
            np.testing.assert_allclose(many.q[run], one.q, rtol=0, atol=1e-12)
            system.parameters.update({"mass": 1.0, "length": 0.6})
    np.testing.assert_array_equal(many.parameters["mass"], masses)
    with pytest.raises(ArgumentError, match=r"run 0: the initial q leaves the loops open by .*assemble=True"):
        sr.rollout(system, GUESS, duration=0.1, parameters={"length": lengths})


def test_a_loop_that_cannot_be_closed_is_a_row() -> None:
    system = System(four_bar(), parameters={"length": "pin.pose2.x"})
    many = sr.rollout(system, GUESS, duration=0.1, parameters={"length": [0.6, 2.5, 0.62]}, assemble=True)
    assert list(many.status) == [sr.Status.OK, sr.Status.PROJECTION_FAILED, sr.Status.OK]
    assert many.failed.tolist() == [1]
    assert np.isnan(many.q[1]).all()
    assert np.isfinite(many.q[[0, 2]]).all()
    assert "projected back" in many.message[1]


def test_a_run_that_fails_is_a_row() -> None:
    """A spring that is too stiff for the step: the motion explodes, and the lanes beside it do not notice."""
    mechanism = sr.Mechanism("runaway")
    mechanism.add_body("cart", 1.0)
    mechanism.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0), stiffness=1.0)
    system = System(mechanism, parameters={"k": "slide.stiffness"})
    stiffness = np.array([1.0, 1e7, 4.0])
    for side_by_side in (True, False):
        many = sr.rollout(
            system,
            [0.1],
            duration=2.0,
            dt=0.01,
            every=50,
            parameters={"k": stiffness},
            side_by_side=side_by_side,
        )
        assert list(many.status) == [sr.Status.OK, sr.Status.UNSTABLE_STEP, sr.Status.OK]
        assert many.reached[1] < 2.0
        assert np.isnan(many.q[1, -1]).all()
        assert np.isfinite(many.q[1, 0]).all()
        for run in (0, 2):
            exact = 0.1 * np.cos(np.sqrt(stiffness[run]) * many.t)
            np.testing.assert_allclose(many.q[run, :, 0], exact, rtol=0, atol=1e-8)
    path = many.trajectory(2)
    assert path.t.tolist() == many.t.tolist()
    assert len(many.trajectory(1).t) < len(many.t)


def test_runs_with_ranks_of_their_own() -> None:
    """The third leg of a parallelogram is redundant; where it is of another length nothing moves: rank 4, not 3."""
    system = System(three_legs(), parameters={"l": "middle.pose2.z", "x": "middle.pose1.x"})
    system.parameters.update({"x": 0.5, "l": -np.hypot(0.1, 1.0)})
    locked = system.assemble([0.0, 0.0, 0.0, -0.1]).q
    system.parameters.update({"x": 0.4, "l": -1.0})
    free = system.assemble([0.3, 0.3, 0.3, -0.3], locked=["one"]).q
    many = sr.rollout(
        system, [free, locked, free], duration=0.1, dt=1e-3, every=50,
        parameters={"x": [0.4, 0.5, 0.4], "l": [-1.0, -np.hypot(0.1, 1.0), -1.0]},
    )  # fmt: skip
    assert many.rank[:, -1].tolist() == [3, 4, 3]
    np.testing.assert_allclose(many.q[1], np.array([locked] * 3), atol=1e-12)
    one = sr.simulate(system, free, duration=0.1, dt=1e-3, every=50, progress=False)
    for run in (0, 2):
        np.testing.assert_array_equal(many.q[run], one.q)
    assert many.failed.size == 0


def test_xarray_has_labels(five_bar: System) -> None:
    q, v = starts(five_bar, 3)
    data = sr.rollout(five_bar, q, v, duration=0.02, every=10, reduce=("max",)).to_xarray()
    assert data.q.dims == ("run", "time", "coordinate")
    assert data.q.shape == (3, 3, 4)
    assert data.energy_maximum.dims == ("run",)
    assert data.status.values.tolist() == ["OK"] * 3
    assert data.coordinate.values.tolist() == list(five_bar.coordinate_names)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"q": np.zeros((3, 7))}, r"q must be \(4,\) or \(runs, 4\) for 3 runs, got shape \(3, 7\)"),
        ({"v": np.zeros((4, 4))}, r"the number of runs is not the same everywhere: q has 3, v has 4"),
        ({"u": np.zeros(3)}, r"u must be \(2,\), \(runs, 2\) or \(runs, intervals, 2\) for 3 runs"),
        ({"parameters": {"mass": [1.0, 2.0]}}, "q has 3, parameters.*has 2"),
        ({"parameters": {"mass": 1.0}}, "mass"),
        ({"every": 0}, "every must be a whole number of steps"),
        ({"every": 2, "rtol": 1e-8}, "need dt, the interval of its samples"),
        ({"reduce": ["max"], "rtol": 1e-8}, "need dt, the interval of its samples"),
        ({"reduce": ("median",)}, "reduce must be a sequence of min, max, mean, rms"),
        ({"every": sr.Recording(at=(0.1,))}, "every so many steps, not at times"),
        ({"threads": 0}, "threads must be a whole number"),
        ({"method": "euler"}, "unknown method"),
        ({"duration": -1.0}, "duration must be positive"),
    ],
)
def test_errors_name_what_is_wrong(five_bar: System, options: dict[str, Any], text: str) -> None:
    q, _ = starts(five_bar, 3)
    arguments: dict[str, Any] = {"q": q, "duration": 0.1, **options}
    with pytest.raises(ArgumentError, match=text):
        sr.rollout(five_bar, **arguments)


def test_errors_name_the_run(five_bar: System) -> None:
    q, v = starts(five_bar, 3)
    bad = q.copy()
    bad[1, 0] = np.nan
    with pytest.raises(ArgumentError, match="run 1: q has entries that are not finite"):
        sr.rollout(five_bar, bad, duration=0.1)
    bad = q.copy()
    bad[2, 0] += 0.1
    with pytest.raises(ArgumentError, match="run 2: the initial q leaves the loops open"):
        sr.rollout(five_bar, bad, duration=0.1)
    with pytest.raises(ArgumentError, match="run 0: the initial v violates the constraints"):
        sr.rollout(five_bar, q, v + 1.0, duration=0.1)
    assert sr.rollout(five_bar, bad, duration=0.1, assemble=True).failed.size == 0


def test_a_contact_that_begins_below_its_plane_is_named() -> None:
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("free", "free", "world", "ball")
    mechanism.add_contact("touch", "ball", point=(0, 0, -0.1))
    system = System(mechanism)
    with pytest.raises(ArgumentError, match="run 0: contact 'touch' begins"):
        sr.rollout(system, system.neutral(), duration=0.1)


def test_quaternions_have_a_length() -> None:
    """Quaternions are scaled to length one, and those without a length refused by run."""
    mechanism = sr.Mechanism("top")
    mechanism.add_body("body", 1.0, inertia=(0.1, 0.2, 0.3))
    mechanism.add_joint("ball", "spherical", "world", "body")
    system = System(mechanism)
    v = np.array([1.0, 2.0, 3.0])
    many = sr.rollout(system, [[1.0, 0, 0, 0], [2.0, 0, 0, 0]], v, duration=0.1)
    np.testing.assert_array_equal(many.q[0], many.q[1])
    with pytest.raises(ArgumentError, match="run 1: a quaternion in q has no length"):
        sr.rollout(system, [[1.0, 0, 0, 0], [0.0, 0, 0, 0]], v, duration=0.1)
