"""Simulation: order and tolerance against exact motions, conservation laws, stabilization, output."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mechanisms import random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.inputs.inputs import Event
from sarrus.motion.inputs.run_options import Recording, Stabilization, Stepping
from sarrus.motion.simulate import simulate


@lru_cache
def pendulum(redundant: bool = False) -> System:
    """A particle of 1 kg on a circle of 1 m, in coordinates x, y; optionally with the row twice."""
    copies = 2 if redundant else 1
    return System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.vertcat(*[k * (ca.sumsqr(q) - 1) / 2 for k in range(1, copies + 1)]),
        inputs=lambda q: ca.vertcat(-q[1], q[0]),
        name="pendulum",
    )


@lru_cache
def exact_angle(speed: float, duration: float) -> float:
    """The angle of that pendulum from the horizontal, by order 8 on its one degree of freedom."""
    from scipy.integrate import solve_ivp

    def motion(t: float, y: Array) -> list[float]:
        return [y[1], -9.81 * np.cos(y[0])]

    return float(
        solve_ivp(motion, (0, duration), [0.0, speed], method="DOP853", rtol=1e-13, atol=1e-13).y[0, -1]
    )


def angle_error(**options: object) -> float:
    """Error of the angle after a second, turning with 6 rad/s at first."""
    motion = simulate(pendulum(), [1, 0], [0, 6], duration=1.0, **options)  # type: ignore[arg-type]
    x, y = motion.q[-1]
    difference = np.arctan2(y, x) - exact_angle(6.0, 1.0)
    return float(abs((difference + np.pi) % (2 * np.pi) - np.pi))


@pytest.mark.parametrize("stabilization", ["projection", "none"])
def test_order_of_the_fixed_step_method(stabilization: str) -> None:
    steps = np.array([0.02, 0.01, 0.005, 0.0025])
    errors = [angle_error(dt=dt, stabilization=stabilization) for dt in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(4.0, abs=0.2), errors


def test_an_infinite_tolerance_takes_fixed_steps_with_any_method() -> None:
    steps = np.array([0.01, 0.005, 0.0025])
    errors = [angle_error(method="dopri5", dt=dt, rtol=np.inf) for dt in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(5.0, abs=0.2), errors
    motion = simulate(pendulum(), [1, 0], duration=0.1, method="dop853", dt=0.01, rtol=np.inf)
    assert motion.steps == 10


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_error_follows_the_tolerance(method: str) -> None:
    tolerances = 10.0 ** np.arange(-5, -12, -2)
    errors = [angle_error(method=method, rtol=tol, atol=tol) for tol in tolerances]
    assert all(error < 200 * tol for error, tol in zip(errors, tolerances)), errors
    assert 0.6 < np.polyfit(np.log(tolerances), np.log(errors), 1)[0] < 1.4, errors


def test_constraint_given_twice_moves_the_same() -> None:
    one, two = (simulate(pendulum(again), [1, 0], [0, 6], duration=1.0, dt=1e-3) for again in (False, True))
    assert_allclose(two.q, one.q, atol=1e-11)
    assert set(two.rank) == {1}
    assert_allclose(two.multipliers @ [1, 2], one.multipliers[:, 0], rtol=1e-9)


@lru_cache
def spinning() -> System:
    """Free bodies joined by a ball and two hinges, without gravity: momentum is conserved."""
    mechanism = Mechanism("spinning", gravity=(0, 0, 0))
    rng = np.random.default_rng(4)
    parent = "world"
    for k, kind in enumerate(("free", "spherical", "revolute", "revolute")):
        mechanism.add_body(f"b{k}", rng.uniform(1, 2), 0.1 * rng.standard_normal(3), rng.uniform(0.5, 0.9, 3))
        poses = (
            {} if k == 0 else {"parent_pose": rng.standard_normal(3), "child_pose": rng.standard_normal(3)}
        )
        mechanism.add_joint(f"j{k}", kind, parent, f"b{k}", axis=rng.standard_normal(3), **poses)
        parent = f"b{k}"
    mechanism.add_closure("tie", "distance", "b0", "b3", length=2.0)
    return System(mechanism)


def momentum(system: System, q: Array, v: Array) -> Array:
    """Linear and angular momentum about the world's origin: conjugate to moving the whole rigidly."""
    about_origin = []
    base = system.body_placements(q)[1][0]
    for axis in np.eye(3):
        rigid = np.zeros(system.nv)
        rigid[:3], rigid[3:6] = np.cross(axis, q[:3]), base.T @ axis
        about_origin.append(rigid)
    moves = [*np.eye(system.nv)[:3], *about_origin]
    return np.array(moves) @ system.mass_matrix(q) @ v


@pytest.mark.parametrize(
    "options", [{"dt": 1e-3}, {"rtol": 1e-10, "atol": 1e-10}, {"dt": 1e-3, "stabilization": "energy"}]
)
def test_conservation_laws(options: dict[str, float]) -> None:
    system = spinning()
    q = system.assemble(random_state(system, 1)[0]).q
    v = system.project_velocity(q, random_state(system, 2)[1])
    motion = simulate(system, q, v, duration=2.0, **options)
    assert motion.energy_drift < (1e-11 if "stabilization" in options else 1e-8)
    for part in slice(4 - 1, 7), slice(7, 11):
        assert_allclose(np.linalg.norm(motion.q[:, part], axis=1), 1.0, atol=1e-14)
    assert motion.residual.max() < 1e-13
    drift = momentum(system, motion.q[-1], motion.v[-1]) - momentum(system, q, v)
    # The projection, in the kinetic metric, is an impulse of the constraints and keeps it: this is of the method.
    assert np.abs(drift).max() < 2e-8


def test_a_step_may_pass_more_records_than_a_block_has() -> None:
    # One step covers more than the 256 rows of the first block; times that a step ends on are as good as others.
    motion = simulate(pendulum(), [0, -1], [0.01, 0], duration=0.5, rtol=1e-3, atol=1e-3, dt=1e-4)
    assert motion.steps < 15
    assert_allclose(motion.t, 1e-4 * np.arange(5001), atol=1e-12)
    assert np.abs(np.diff(motion.q[:, 0], 2)).max() < 1e-8


def test_recorded_values_are_those_of_the_system() -> None:
    motion = simulate(
        pendulum(), [1, 0], [0, 1], duration=0.02, control=lambda q, v, t: 0.3 * ca.sin(t) - v[0]
    )
    for k, t in enumerate(motion.t):
        found = pendulum().forward_dynamics(motion.q[k], motion.v[k], motion.u[k], float(t))
        assert motion.u[k, 0] == pytest.approx(0.3 * np.sin(t) - motion.v[k, 0], abs=1e-14)
        assert_allclose(found.a, motion.a[k], atol=1e-12)
        assert_allclose(found.multipliers, motion.multipliers[k], atol=1e-12)
        assert motion.energy[k] == pytest.approx(motion.v[k] @ motion.v[k] / 2 + 9.81 * motion.q[k, 1])


def test_stabilizations_keep_what_they_promise() -> None:
    def run(**options: object) -> tuple[float, float]:
        motion = simulate(pendulum(), [1, 0], [0, 6], duration=5.0, dt=0.02, **options)  # type: ignore[arg-type]
        return float(motion.residual.max()), motion.energy_drift

    free_gap, _ = run(stabilization="none")
    gap, drift = run(stabilization="projection")
    assert gap < 1e-13 < 1e-6 < free_gap
    energy_gap, energy_drift = run(stabilization="energy")
    assert energy_gap < 1e-13
    assert energy_drift < 1e-12 < drift
    baumgarte_gap, _ = run(stabilization="baumgarte")
    assert 1e-13 < baumgarte_gap < 0.2 * free_gap
    tenth = simulate(pendulum(), [1, 0], [0, 6], duration=1.0, dt=0.02, stabilization=Stabilization(every=10))
    projected = np.arange(len(tenth.t)) % 10 == 0
    assert tenth.residual[projected].max() < 1e-13 < tenth.residual[~projected].max()


def test_baumgarte_decays_as_designed() -> None:
    """A rail that jumps by a millimetre at 0.1 s: the gap follows ë + 2α ė + β² e = 0."""
    alpha, beta = 3.0, 5.0
    system = System.from_lagrangian(
        nq=1,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: q - ca.if_else(t < 0.1, 0, 1e-3),
    )
    motion = simulate(
        system, [0.0], duration=1.0, dt=1e-3, stabilization=Stabilization("baumgarte", gains=(alpha, beta))
    )
    after = motion.t >= 0.1005
    s, omega = motion.t[after] - 0.1, np.sqrt(beta**2 - alpha**2)
    exact = 1e-3 * np.exp(-alpha * s) * (np.cos(omega * s) + alpha / omega * np.sin(omega * s))
    assert_allclose(1e-3 - motion.q[after, 0], exact, atol=1e-5)
    assert motion.residual[motion.t < 0.0995].max() < 1e-15


def test_energy_projection_needs_a_conservative_run() -> None:
    """Neither a control law nor an applied force may be undone by the projection on the energy."""
    for driven in ({"control": lambda q, v, t: 1.0}, {"force": lambda q, v, t: [1.0, 0.0]}):
        for sample_time in (None, 0.01):
            with pytest.raises(ArgumentError, match="pendulum: stabilization='energy' needs a conservative"):
                simulate(
                    pendulum(),
                    [1, 0],
                    duration=0.1,
                    stabilization="energy",
                    sample_time=sample_time,
                    **driven,
                )  # type: ignore[arg-type]
    damped = System(random_tree(1, ("revolute",)).mechanism)
    with pytest.raises(ArgumentError, match="needs a conservative system, and this one has dampers"):
        simulate(damped, [0.1], duration=0.1, stabilization="energy")


def test_singular_start_goes_on_along_the_velocity() -> None:
    """Equal-link slider-crank started folded, where its row vanishes: the rod keeps turning twice as fast."""
    mechanism = Mechanism("slider_crank", gravity=(0, -9.81, 0))
    for name, parent, at in (("crank", "world", 0.0), ("rod", "crank", 1.0)):
        mechanism.add_body(name, 1.0, com=(1, 0, 0))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    mechanism.add_closure("slider", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(1, 0, 0))
    system = System(mechanism)
    for options in ({"dt": 1e-3}, {"rtol": 1e-9, "atol": 1e-9}):
        motion = simulate(system, [np.pi / 2, np.pi], [8, -16], duration=0.6, **options)  # type: ignore[arg-type]
        assert_allclose(motion.q[:, 1] + 2 * motion.q[:, 0], 2 * np.pi, atol=1e-8)
        assert motion.energy_drift < 1e-5
        assert motion.q[-1, 0] > np.pi / 2 + 3


def test_output_of_fixed_steps() -> None:
    run = simulate(pendulum(), [1, 0], duration=0.35, dt=0.1, t0=5.0)
    assert_allclose(run.t, [5.0, 5.1, 5.2, 5.3, 5.35], atol=1e-12)
    assert run.t[-1] == 5.35
    assert (run.steps, run.rejected, run.status, run.duration) == (4, 0, Status.OK, pytest.approx(0.35))
    sparse = simulate(pendulum(), [1, 0], duration=0.35, dt=0.1, t0=5.0, every=2)
    assert_allclose(sparse.t, [5.0, 5.2, 5.35], atol=1e-12)
    assert_allclose(sparse.q, run.q[[0, 2, 4]], atol=1e-15)
    long = simulate(pendulum(), [1, 0], duration=20.0, dt=1e-3)
    assert_allclose(long.t, 1e-3 * np.arange(20001), atol=1e-11)


@pytest.mark.parametrize("method", ["rk4", "dop853", "rodas5p"])
def test_records_at_given_times_leave_the_steps_alone(method: str) -> None:
    how = {"duration": 1.0, "method": method, "dt": 0.01 if method == "rk4" else None}
    whole = simulate(pendulum(), [1, 0], [0, 3], **how)
    times = (0.0, 0.1234, 0.5, 0.98765, 1.0)
    some = simulate(pendulum(), [1, 0], [0, 3], **how, every=Recording(at=times))
    assert_allclose(some.t, times, atol=1e-12)
    assert some.steps == whole.steps
    assert_allclose(some.q, whole.at(times), atol=1e-7)
    ends = simulate(pendulum(), [1, 0], [0, 3], **how, every=Recording(None))
    assert_array_equal(ends.q, whole.q[[0, -1]])


@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_output_of_adaptive_steps(method: str) -> None:
    grid = simulate(pendulum(), [1, 0], [0, 3], duration=1.0, method=method, dt=0.3)
    assert_allclose(grid.t, [0, 0.3, 0.6, 0.9, 1.0], atol=1e-14)
    free = simulate(pendulum(), [1, 0], [0, 3], duration=1.0, method=method)
    assert len(free.t) == free.steps + 1
    assert free.t[-1] == 1.0
    assert_allclose(grid.q[-1], free.q[-1], atol=1e-7)
    assert (
        np.diff(simulate(pendulum(), [1, 0], duration=1.0, method=Stepping(method, max_step=0.01)).t).max()
        <= 0.01 + 1e-15
    )
    third = simulate(pendulum(), [1, 0], [0, 3], duration=1.0, method=method, every=3)
    assert_allclose(third.t[:-1], free.t[::3][: len(third.t) - 1])


PENDULUM_ERRORS = {
    "duration must be positive and finite": {"duration": -1.0},
    "duration must be": {"duration": "long"},
    "dt must be positive and finite": {"dt": 0.0},
    "sample_time must be a number, got nan": {"sample_time": np.nan, "control": lambda q, v, t: 0.0},
    "t0 must be": {"t0": np.nan},
    "every must be a whole number of steps ≥ 1, got 0": {"every": 0},
    "rtol is given twice: put it into the Stepping only": {"method": Stepping("dop853"), "rtol": 1e-6},
    "unknown method 'euler'. Known: 'auto', 'rk4', 'dopri5', 'dop853'": {"method": "euler"},
    "unknown stabilization 'magic'. Known: 'projection', 'energy', 'baumgarte', 'none'": {
        "stabilization": "magic"
    },
    "rk4 has a fixed step": {"method": "rk4", "rtol": 1e-6},
    "rtol must be positive": {"rtol": 0.0},
    "atol must be": {"atol": "small"},
    "control: must return 1 entries, got 2": {"control": lambda q, v, t: [1.0, 2.0]},
    "control: the function could not be traced": {"control": lambda q, v, t: [1.0, 2.0][q[0]]},
    "control: the function gives NaN over CasADi symbols, as float(q[0]) does": {
        "control": lambda q, v, t: float(q[0])
    },
    "control: the function gives NaN": {"control": lambda q, v, t: float("nan") * q[0]},
    "force: must return 2 entries, got 1": {"force": lambda q, v, t: 1.0},
    "sample_time needs a control or a force": {"sample_time": 0.1},
    "events: names must be unique": {
        "events": [Event("a", lambda q, v, t: t), Event("a", lambda q, v, t: t)]
    },
    "events must be": {"events": Event("a", lambda q, v, t: t)},
    "event 'a': must return 1 entries": {"events": [Event("a", lambda q, v, t: q)]},
    "pendulum: q must be finite": {"q": [np.nan, 0]},
    "pendulum: v must have 2 entries": {"v": [0.0]},
    "the initial q leaves the loops open by 0.105": {"q": [1.1, 0.0]},
    "the initial v violates the constraints by 1": {"v": [1.0, 0.0]},
}


@pytest.mark.parametrize("text", PENDULUM_ERRORS)
def test_bad_arguments_are_named(text: str) -> None:
    arguments = {"q": [1.0, 0.0], "duration": 0.1} | PENDULUM_ERRORS[text]
    with pytest.raises(ArgumentError) as caught:
        simulate(pendulum(), **arguments)  # type: ignore[arg-type]
    assert text in str(caught.value)


OPTION_ERRORS: dict[str, Callable[[], object]] = {
    "max_step must be positive": lambda: Stepping(max_step=0.0),
    "at must be ascending times": lambda: Recording(at=(1.0, 1.0)),
    "at must be a number, got nan": lambda: Recording(at=(np.nan,)),
    "at must lie in the run, from 1 to 1.5 s, got 1.6": lambda: simulate(
        pendulum(), [1, 0], t0=1.0, duration=0.5, every=Recording(at=(1.2, 1.6))
    ),
    "reduce must be a sequence of min, max, mean, rms, got 'max'": lambda: Recording.of(1, "max"),
    "reduce is given twice: put it into the Recording only": lambda: Recording.of(Recording(), ("max",)),
    "max_steps must be a whole number of steps ≥ 1, got 0": lambda: Stepping(max_steps=0),
    "max_bytes must be positive": lambda: Stepping(max_bytes=-1.0),
    "every must be a whole number of steps ≥ 1, got 1.5": lambda: Stabilization(every=1.5),  # type: ignore[arg-type]
    "gains must be two finite numbers": lambda: Stabilization("baumgarte", gains=(1.0,)),  # type: ignore[arg-type]
    "unknown stabilization 'magic'": lambda: Stabilization("magic"),
}


@pytest.mark.parametrize("text", OPTION_ERRORS)
def test_bad_options_are_named(text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        OPTION_ERRORS[text]()
    assert text in str(caught.value)


def test_no_actuators_and_no_system() -> None:
    with pytest.raises(ArgumentError, match="event 'a': direction must be -1, 0 or 1, got 'up'"):
        Event("a", lambda q, v, t: t, direction="up")  # type: ignore[arg-type]
    system = System(random_tree(0, ("revolute",)).mechanism)
    with pytest.raises(ArgumentError, match="random0 has no actuators to control"):
        simulate(system, [0.1], duration=0.1, control=lambda q, v, t: 1.0)
    with pytest.raises(ArgumentError, match="simulate needs a System, got Mechanism"):
        simulate(system.mechanism, [0.1], duration=0.1)  # type: ignore[arg-type]
