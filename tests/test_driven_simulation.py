"""What drives a simulation from outside: controls, forces, constraints, events, interrupts, failures."""

from __future__ import annotations

import signal
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from sarrus.base.arrays import Array
from sarrus.base.errors import SimulationError
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.inputs.inputs import Event
from sarrus.motion.simulate import simulate

METHODS = [{"dt": 1e-2}, {"method": "dopri5"}, {"method": "dop853"}]


@lru_cache
def cart(limits: tuple[float, float] | None = None) -> System:
    """A cart of 2 kg on a rail along x, with a motor and limits of the rail at ±1 m."""
    mechanism = Mechanism("cart", gravity=(0, 0, 0))
    mechanism.add_body("b", 2.0)
    mechanism.add_joint("slide", "prismatic", "world", "b", axis=(1, 0, 0), limits=(-1.0, 1.0))
    mechanism.add_actuator("push", "slide", limits=limits)
    return System(mechanism)


@pytest.mark.parametrize("options", METHODS)
def test_compiled_control_follows_the_exact_motion(options: dict[str, Any]) -> None:
    """x″ + 2 x′ + 26 x = 0 by feedback: e^{−t} (cos 5t + sin 5t / 5)."""
    motion = simulate(
        cart(), [1.0], [0.0], duration=1.0, control=lambda q, v, t: -2 * (26 * q[0] + 2 * v[0]), **options
    )
    exact = np.exp(-motion.t) * (np.cos(5 * motion.t) + np.sin(5 * motion.t) / 5)
    assert_allclose(motion.q[:, 0], exact, atol=1e-6)
    assert_allclose(motion.u[:, 0], -2 * (26 * motion.q[:, 0] + 2 * motion.v[:, 0]), atol=1e-9)


@pytest.mark.parametrize("options", METHODS)
def test_sampled_control_is_held(options: dict[str, Any]) -> None:
    """Zero-order hold against the exact discrete motion; called once per sample, output grid or not."""
    times = []

    def control(q: Array, v: Array, t: float) -> Array:
        times.append(t)
        return -8 * q - 4 * v

    motion = simulate(cart(), [1.0], [0.0], duration=1.0, sample_time=0.05, control=control, **options)
    x, rate = 1.0, 0.0
    for _ in range(20):
        a = (-8 * x - 4 * rate) / 2
        x, rate = x + 0.05 * rate + 0.05**2 / 2 * a, rate + 0.05 * a
    assert motion.q[-1, 0] == pytest.approx(x, abs=1e-12)
    assert motion.v[-1, 0] == pytest.approx(rate, abs=1e-12)
    assert_allclose(times, 0.05 * np.arange(20), atol=1e-12)
    times.clear()
    simulate(cart(), [1.0], [0.0], duration=1.0, sample_time=0.05, control=control, rtol=1e-8, dt=0.02)
    assert_allclose(times, 0.05 * np.arange(20), atol=1e-12)


def test_sampled_control_approaches_the_compiled_one() -> None:
    def law(q: Any, v: Any, t: Any) -> Any:
        return -8 * q[0] - 4 * v[0]

    compiled = simulate(cart(), [1.0], duration=1.0, control=law)
    errors = [
        abs(simulate(cart(), [1.0], duration=1.0, control=law, sample_time=s).q[-1, 0] - compiled.q[-1, 0])
        for s in (0.02, 0.01, 0.005)
    ]
    # The next term of the series in the time of a sample is smaller by that time, here in units of 1 s.
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.02)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.01)


def test_records_do_not_depend_on_the_sample_time() -> None:
    fixed = simulate(
        cart(), [0.0], duration=1.0, dt=0.01, every=25, sample_time=0.1, control=lambda q, v, t: 1.0
    )
    assert_allclose(fixed.t, [0, 0.25, 0.5, 0.75, 1.0], atol=1e-12)
    grid = simulate(
        cart(), [0.0], duration=1.0, rtol=1e-6, dt=0.5, sample_time=0.1, control=lambda q, v, t: 1.0
    )
    assert_allclose(grid.t, [0, 0.5, 1.0], atol=1e-12)


@pytest.mark.parametrize("sample_time", [None, 0.01])
@pytest.mark.parametrize("acts", [True, False])
def test_controls_are_clipped_and_limits_act_and_are_reported(
    sample_time: float | None, *, acts: bool
) -> None:
    motion = simulate(
        cart((-3.0, 5.0)),
        [0.0],
        [0.0],
        duration=1.0,
        control=lambda q, v, t: 100.0 + 0 * q[0],
        sample_time=sample_time,
        switching=acts,
    )
    assert_allclose(motion.u, 5.0)
    assert motion.q[-1, 0] == pytest.approx(1.0 if acts else 1.25, abs=1e-12)
    (crossing,) = motion.limit_crossings
    assert (crossing.name, crossing.limit) == ("slide", 1.0)
    assert crossing.time == pytest.approx(np.sqrt(0.8), abs=1e-9)
    assert crossing.value == pytest.approx(1.0, abs=1e-9)
    assert ("slide = 1 is at its limit 1" in str(crossing)) is acts


@pytest.mark.parametrize("options", METHODS)
def test_applied_forces(options: dict[str, Any]) -> None:
    """Compiled or sampled: f = 4 t gives x = t³/3; held over samples of T, x = Σ …"""
    compiled = simulate(cart(), [0.0], duration=1.0, force=lambda q, v, t: 4 * t, **options)
    assert_allclose(compiled.q[:, 0], compiled.t**3 / 3, atol=1e-9)
    sampled = simulate(cart(), [0.0], duration=1.0, force=lambda q, v, t: 4 * t, sample_time=0.1, **options)
    x = rate = 0.0
    for k in range(10):
        x, rate = x + 0.1 * rate + 0.005 * 2 * 0.1 * k, rate + 0.1 * 2 * 0.1 * k
    assert sampled.q[-1, 0] == pytest.approx(x, abs=1e-12)


def test_control_exceptions_surface_with_their_time() -> None:
    def control(q: Array, v: Array, t: float) -> float:
        if t > 0.35:
            raise RuntimeError("sensor lost")
        return 1.0

    with pytest.raises(SimulationError, match=r"RuntimeError at t = 0\.4 s: sensor lost") as caught:
        simulate(cart(), [0.0], duration=1.0, sample_time=0.1, control=control)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.time == pytest.approx(0.4)
    partial = caught.value.trajectory
    assert partial.status is Status.CONTROL_FAILED  # type: ignore[attr-defined]
    assert_allclose(partial.q[:, 0], partial.t**2 / 4, atol=1e-12)  # type: ignore[attr-defined]
    kept = simulate(cart(), [0.0], duration=1.0, sample_time=0.1, control=control, throw=False)
    assert (kept.status, kept.t[-1]) == (Status.CONTROL_FAILED, pytest.approx(0.4))


@pytest.mark.parametrize(("value", "text"), [(np.nan, "finite"), ([1.0, 2.0], "1 entries"), (None, "")])
def test_bad_values_of_a_sampled_control(value: object, text: str) -> None:
    with pytest.raises(SimulationError, match=f"at t = 0 s: control .*{text}"):
        simulate(cart(), [0.0], duration=1.0, sample_time=0.1, control=lambda q, v, t: value)


def test_interrupt_returns_what_is_done() -> None:
    def control(q: Array, v: Array, t: float) -> float:
        if t > 0.55:
            raise KeyboardInterrupt
        return 1.0

    motion = simulate(cart(), [0.0], duration=1.0, sample_time=0.1, dt=1e-3, control=control)
    assert motion.status is Status.INTERRUPTED
    assert motion.t[-1] == pytest.approx(0.6)
    assert len(motion.t) == 601
    assert "interrupted at t = 0.6 s" in motion.message


def test_interrupt_from_the_keyboard_keeps_every_step() -> None:
    """A signal arrives while compiled code runs; the steps of that call are kept too."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        motion = simulate(cart(), [0.0], [1e-9], duration=1e4, dt=1e-3, every=100)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert motion.status is Status.INTERRUPTED
    assert motion.t[-1] > 1.0
    assert motion.steps - 100 < 100 * (len(motion.t) - 1) <= motion.steps


@pytest.mark.parametrize("options", [*METHODS, {"rtol": 1e-6, "dt": 0.1}])
def test_failed_run_keeps_the_motion_up_to_then(options: dict[str, Any]) -> None:
    """A force that stops being a number at t = 0.5."""
    arguments: dict[str, Any] = {"duration": 1.0, "force": lambda q, v, t: ca.sqrt(0.5 - t), **options}
    with pytest.raises(SimulationError, match=r"cart: .* at t = 0\.[45]") as caught:
        simulate(cart(), [0.0], **arguments)
    motion = simulate(cart(), [0.0], throw=False, **arguments)
    assert motion.status in (Status.NOT_FINITE, Status.STEP_TOO_SMALL)
    assert not motion.status.ok
    for array in (motion.t, motion.q, motion.v, motion.energy):
        assert np.isfinite(array).all()
    assert 0.35 < motion.t[-1] <= 0.5
    assert_allclose(motion.t, caught.value.trajectory.t)  # type: ignore[attr-defined]


def test_numbers_that_are_none_from_the_start() -> None:
    """The diagnosis is that of the numbers, not of the masses."""
    for system in (cart(), cart((-3.0, 5.0))):
        for driven in ({"control": lambda q, v, t: ca.log(q[0])}, {"force": lambda q, v, t: ca.log(q[0])}):
            motion = simulate(system, [-1.0], duration=1.0, throw=False, **driven)  # type: ignore[arg-type]
            assert motion.status is Status.NOT_FINITE


def test_time_dependent_constraint() -> None:
    """A bead of 1 kg on a rod that turns with ω: r = r₀ cosh ωt."""
    omega = 1.7
    system = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: q[1] * ca.cos(omega * t) - q[0] * ca.sin(omega * t),
    )
    v = system.project_velocity([1.0, 0.0], [0.0, 0.0])
    assert_allclose(v, [0.0, omega], atol=1e-14)
    for options in METHODS:
        motion = simulate(system, [1.0, 0.0], v, duration=1.0, **options)
        assert_allclose(np.linalg.norm(motion.q, axis=1), np.cosh(omega * motion.t), rtol=1e-6)
        assert motion.residual.max() < 1e-13
    late = simulate(
        system,
        [0.0, 1.0],
        system.project_velocity([0.0, 1.0], [0, 0], np.pi / 2 / omega),
        t0=np.pi / 2 / omega,
        duration=0.5,
    )
    assert np.linalg.norm(late.q[-1]) == pytest.approx(np.cosh(omega * 0.5), rel=1e-9)


@pytest.mark.parametrize("options", METHODS)
def test_events_are_located(options: dict[str, Any]) -> None:
    """x = cos 5t: zeros of x, of v, rising and falling, to 1e-9 s for the adaptive methods."""
    events = [
        Event("falling", lambda q, v, t: q[0], direction=-1),
        Event("rising", lambda q, v, t: q[0], direction=1),
        Event("turn", lambda q, v, t: v[0]),
        Event("clock", lambda q, v, t: t - 0.7531),
    ]
    tight = options | ({} if "dt" in options else {"rtol": 1e-11, "atol": 1e-11})
    motion = simulate(cart(), [1.0], duration=2.0, force=lambda q, v, t: -50 * q, events=events, **tight)
    exact = [((1 + 4 * k) * np.pi / 10, "falling") for k in range(2)]
    exact += [((3 + 4 * k) * np.pi / 10, "rising") for k in range(2)]
    exact += [(k * np.pi / 5, "turn") for k in range(1, 4)] + [(0.7531, "clock")]
    exact = sorted(pair for pair in exact if pair[0] <= 2.0)
    assert [event.name for event in motion.events] == [name for _, name in exact]
    tolerance = 1e-5 if "dt" in options else 1e-9
    assert_allclose([event.time for event in motion.events], [time for time, _ in exact], atol=tolerance)
    assert motion.t[-1] == 2.0


@pytest.mark.parametrize("options", METHODS)
def test_terminal_event_ends_the_run_there(options: dict[str, Any]) -> None:
    """Several events in one step: those before the terminal one count, in order of time, later ones not."""
    events = [
        Event("later", lambda q, v, t: q[0] - 0.2002),
        Event("second", lambda q, v, t: q[0] - 0.1999),
        Event("first", lambda q, v, t: q[0] - 0.1998),
        Event("end", lambda q, v, t: q[0] - 0.2, terminal=True),
    ]
    motion = simulate(
        cart(), [0.0], [0.1], duration=9.0, events=events, control=lambda q, v, t: 4.0, **options
    )
    assert motion.status is Status.EVENT
    assert [event.name for event in motion.events] == ["first", "second", "end"]
    times = [(-0.1 + np.sqrt(0.01 + 4 * x)) / 2 for x in (0.1998, 0.1999, 0.2)]
    assert_allclose([event.time for event in motion.events], times, atol=1e-9)
    assert motion.events[-1].terminal
    assert motion.t[-1] == pytest.approx(times[-1], abs=1e-9)
    assert motion.q[-1, 0] == pytest.approx(0.2, abs=1e-9)
    assert motion.t[-1] == motion.events[-1].time
