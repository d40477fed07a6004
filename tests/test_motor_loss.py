"""Loss of motors and energy per metre along runs, against closed forms and quadrature of their own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

import sarrus as sr
from families import motor_losses
from sarrus import control
from sarrus.base.errors import ArgumentError

CONSTANT, MASS = 0.8, 2.0
DATA = {"torque_constant": 0.5, "resistance": 1.6}


@cache
def cart(kind: str = "force") -> sr.System:
    """Return a mass on a rail with a motor: of a known constant, by its data sheet, or with a winding."""
    mechanism = sr.Mechanism(f"cart, {kind}", gravity=(0, 0, -9.81))
    mechanism.add_body("cart", MASS, inertia=(1, 1, 1))
    stops = {"limits": (-0.3, 0.3), "limit_restitution": 0.5} if kind == "stops" else {}
    mechanism.add_joint("x", "prismatic", "world", "cart", axis=(1, 0, 0), **stops)
    if kind == "voltage":
        mechanism.add_motor("motor", "x", **DATA, gear=2.0)
    elif kind == "winding":
        mechanism.add_motor("motor", "x", **DATA, inductance=0.02)
    else:
        mechanism.add_actuator("motor", "x", motor_constant=None if kind == "unknown" else CONSTANT)
    return sr.System(mechanism)


def push(q, v, t):
    return [3.0 * ca.sin(2.0 * t) + 0.5]


def push_of_numbers(q, v, t):
    return [3.0 * np.sin(2.0 * t) + 0.5]


EXACT = quad(lambda t: (push_of_numbers(0, 0, t)[0] / CONSTANT) ** 2, 0.0, 1.5, epsabs=1e-13)[0]


@pytest.mark.parametrize(
    "stepping",
    [{"dt": 1e-2}, {"dt": 1e-2, "method": "dop853"}, {"dt": 1e-2, "method": "rodas5p"},
     {"dt": 2e-3, "method": "moreau-jean"}],
)  # fmt: skip
def test_a_force_that_is_a_function_of_time(stepping: dict, tmp_path: Path) -> None:
    run = sr.simulate(cart(), [0.0], [0.4], duration=1.5, control=push, **stepping)
    loss = run.motor_loss()
    assert_allclose(loss.total, EXACT, rtol=1e-9)
    assert loss.error[0] < 1e-5
    assert_allclose(loss.power[:, 0], (run.u[:, 0] / CONSTANT) ** 2)
    assert_allclose(loss.mean_power, loss.total / 1.5)
    assert "motor" in str(loss)
    again = sr.Trajectory.load(run.save(tmp_path / "run.nc")).motor_loss()
    assert again.total == loss.total
    assert_allclose(run.motor_loss([1.0 / CONSTANT**2]).total, loss.total, rtol=1e-14)


def test_the_motor_of_a_data_sheet_under_constant_voltage() -> None:
    """i = (U/R) e^(−t/τ) with τ = m R / (gear k)²."""
    run = sr.simulate(cart("voltage"), [0.0], duration=2.0, dt=1e-2, control=lambda q, v, t: [12.0])
    k, ohm = DATA["torque_constant"] * 2.0, DATA["resistance"]
    rate = k * k / (MASS * ohm)
    exact = 12.0**2 / ohm * (1.0 - np.exp(-2.0 * rate * 2.0)) / (2.0 * rate)
    assert_allclose(run.motor_loss().total, exact, rtol=1e-9)
    spent = run.energy_per_metre("cart")
    assert_allclose(spent.work[-1], 0.5 * MASS * run.v[-1, 0] ** 2, rtol=1e-9)
    metres = 12.0 / k * (2.0 - (1.0 - np.exp(-rate * 2.0)) / rate)
    assert_allclose(spent.length[-1], metres, rtol=1e-9)
    assert_allclose(spent.loss_per_metre, exact / metres, rtol=1e-9)
    assert_allclose(spent.cost_of_transport, spent.energy_per_metre / (MASS * 9.81), rtol=1e-14)


def test_a_winding_loses_what_the_energy_balance_says() -> None:
    run = sr.simulate(
        cart("winding"), [0.0, 0.0], duration=0.5, dt=1e-3, rtol=1e-10, control=lambda q, v, t: [9.0]
    )
    loss, balance = run.motor_loss(), sr.energy_balance(run)
    assert_allclose(loss.energy[:, 0], -balance.of("winding"), atol=1e-12)
    k, ohm, henry = DATA["torque_constant"], DATA["resistance"], 0.02
    roots = np.roots([henry, ohm, k * k / MASS])  # of i: L s² + R s + k²/m
    size = 9.0 / henry / (roots[0] - roots[1])
    exact = quad(
        lambda t: ohm * (size * (np.exp(roots[0] * t) - np.exp(roots[1] * t))) ** 2, 0, 0.5, epsabs=1e-13
    )[0]
    assert_allclose(loss.total, exact, rtol=1e-7)


def held_voltages(period: float, duration: float) -> tuple[float, float, float]:
    """Return loss, speed and place of the motor under a voltage that is held between samples, phase by phase."""
    k, ohm, speed, loss, t, x = DATA["torque_constant"] * 2.0, DATA["resistance"], 0.0, 0.0, 0.0, 0.0
    rate = k * k / (MASS * ohm)
    while t < duration - 1e-12:
        span = min(period, duration - t)
        volt = 6.0 + 5.0 * np.sin(9.0 * t)
        i = (volt - k * speed) / ohm
        loss += ohm * i * i * (1.0 - np.exp(-2.0 * rate * span)) / (2.0 * rate)
        x += volt / k * span + (speed - volt / k) * (1.0 - np.exp(-rate * span)) / rate
        speed = volt / k + (speed - volt / k) * np.exp(-rate * span)
        t += period
    return loss, speed, x


class Voltage(control.Law):
    """The voltage as a law, whose samples are taken in the compiled loop: one demand for the force at standstill."""

    def __init__(self, system: sr.System) -> None:
        volt = 6.0 + 5.0 * ca.sin(9.0 * system.equations.t)
        force = system.equations.actuation @ volt
        super().__init__(system, [control.ForceDemand("voltage", force)], control.Settings())


@pytest.mark.parametrize("law", [False, True])
@pytest.mark.parametrize(
    "stepping",
    [{"dt": 0.05}, {"dt": 0.02}, {"dt": 0.025}, {"dt": 0.03, "method": "dop853"}, {}],
    ids=["one a step", "more", "two a sample", "beside samples", "adaptive"],
)
def test_held_controls_are_integrated_as_steps(law: bool, stepping: dict) -> None:
    system = cart("voltage")
    voltage = Voltage(system) if law else (lambda q, v, t: [6.0 + 5.0 * np.sin(9.0 * t)])
    run = sr.simulate(system, [0.0], duration=0.83, control=voltage, sample_time=0.05, **stepping)
    exact, speed, _ = held_voltages(0.05, 0.83)
    assert_allclose(run.v[-1, 0], speed, rtol=1e-6)
    loss = run.motor_loss()
    at_samples = stepping.get("dt") in (0.05, 0.025) or ("dt" in stepping and "method" not in stepping)
    assert_allclose(loss.total, exact, rtol=1e-8 if at_samples else 1e-5)
    assert loss.error[0] < 1e-3 * exact
    if at_samples:
        assert np.abs(sr.energy_balance(run).residual).max() < 1e-7 * speed**2
        for t in (0.012, 0.333, 0.61):
            assert_allclose(run.at(t)[0], held_voltages(0.05, t)[2], atol=1e-8)
    spent = run.energy_per_metre(coordinate="x")
    assert_allclose(spent.work[-1], 0.5 * MASS * speed**2, rtol=1e-8 if at_samples else 3e-5)
    assert_allclose(spent.length[-1], run.q[-1, 0], rtol=1e-9)  # it goes one way


def test_records_that_miss_samples_say_so() -> None:
    run = sr.simulate(
        cart(), [0.0], duration=1.0, dt=0.01, every=10, control=push_of_numbers, sample_time=0.03
    )
    loss = run.motor_loss()
    exact = sum(
        (push_of_numbers(0, 0, t)[0] / CONSTANT) ** 2 * min(0.03, 1.0 - t) for t in np.arange(34) * 0.03
    )
    assert abs(loss.total - exact) < loss.error[0]


def test_across_impacts_and_switches() -> None:
    """u = −c v between stops: the loss is c / K_m² times what the damper takes, impacts take the rest."""
    run = sr.simulate(
        cart("stops"),
        [0.0],
        [2.0],
        duration=1.2,
        dt=2e-3,
        rtol=1e-11,
        method="dop853",
        control=lambda q, v, t: -1.5 * v,
    )
    assert len(run.switches) >= 2
    hits = sum(switch.energy_loss for switch in run.switches)
    damped = 0.5 * MASS * (2.0**2 - run.v[-1, 0] ** 2) - hits
    assert hits > 1.0
    assert_allclose(run.motor_loss().total, 1.5 * damped / CONSTANT**2, rtol=1e-9)
    there_and_back = run.energy_per_metre("cart", (0.1, 0.2, 0.3))
    turns = [0.0, *(switch.time for switch in run.switches), 1.2]
    at = [run.q[np.searchsorted(run.t, t - 1e-9), 0] for t in turns]
    assert_allclose(there_and_back.length[-1], np.abs(np.diff(at)).sum(), rtol=1e-8)


def test_paths_that_turn_round_and_go_round() -> None:
    """∫ |sin| of a mass that swings; a circle."""
    run = sr.simulate(cart(), [0.1], duration=3.0, dt=1e-2, control=lambda q, v, t: -8.0 * q)
    spent = run.energy_per_metre("cart")
    assert_allclose(
        spent.length[-1], 0.1 * quad(lambda t: abs(2 * np.sin(2 * t)), 0, 3, points=[np.pi / 2])[0], rtol=1e-9
    )
    assert_allclose(spent.work[-1], 0.5 * MASS * run.v[-1, 0] ** 2, atol=1e-10)
    assert spent.length_error < 1e-6
    arm = sr.Mechanism("arm", gravity=(0, 0, 0))
    arm.add_body("arm", 1.0, inertia=(1, 1, 1))
    arm.add_joint("turn", "revolute", "world", "arm")
    arm.add_actuator("motor", "turn", gear=3.0, motor_constant=0.5)
    round_ = sr.simulate(
        sr.System(arm), [0.0], [0.7], duration=2.0, dt=1e-2, control=lambda q, v, t: [0.1 * t]
    )
    found = round_.energy_per_metre("arm", (0.0, 0.4, 0.2))
    assert_allclose(found.length[-1], 0.4 * (round_.q[-1, 0] - round_.q[0, 0]), rtol=1e-9)
    assert_allclose(found.loss[-1], (0.1 / 0.5) ** 2 * 2.0**3 / 3.0, rtol=1e-9)
    with pytest.raises(ArgumentError, match="the weight m g is zero"):
        _ = found.cost_of_transport


def test_many_runs_have_parameters_of_their_own() -> None:
    system = sr.System(cart().mechanism, parameters={"constant": "motor.motor_constant"})
    constants = np.array([0.5, 0.8, 1.7])
    many = sr.rollout(
        system, np.zeros((3, 1)), np.full((3, 1), 0.4), duration=1.5, dt=1e-2, every=1, control=push,
        parameters={"constant": constants},
    )  # fmt: skip
    assert_allclose(many.motor_loss()[:, 0], EXACT * CONSTANT**2 / constants**2, rtol=1e-9)
    for k, constant in enumerate(constants):
        assert_allclose(many.trajectory(k).motor_loss().total, EXACT * CONSTANT**2 / constant**2, rtol=1e-9)


def test_at_states_and_for_rewards() -> None:
    system, rng = cart("voltage"), np.random.default_rng(3)
    q, v, u = rng.normal(size=(4, 5, 1)), rng.normal(size=(4, 5, 1)), rng.normal(size=(4, 5, 1))
    i = (u - DATA["torque_constant"] * 2.0 * v) / DATA["resistance"]
    assert_allclose(sr.motor_loss(system, q, v, u), DATA["resistance"] * i**2, rtol=1e-12)
    assert sr.motor_loss(system, [0.0], [0.0], [1.0], 2.0).shape == (1,)
    task = sr.gym.make(
        system,
        duration=1.0,
        sample_time=0.1,
        dt=0.01,
        reward=lambda q, v, u, t: -sr.motor_loss(system, q, v, u, t).sum(axis=-1),
    )
    task.reset(seed=1)
    _, reward, *_ = task.step(np.array([5.0]))
    speed = 5.0 / 1.0 * (1.0 - np.exp(-0.1 / (MASS * 1.6)))
    assert_allclose(reward, -1.6 * ((5.0 - speed) / 1.6) ** 2, rtol=1e-6)


def test_weights_of_laws_are_the_loss() -> None:
    mechanism = cart().mechanism.snapshot()
    mechanism.add_actuator("other", "x", gain=3.0, motor_constant=0.2)
    system = sr.System(mechanism)
    W, u = control.loss_weights(system), np.array([0.7, -0.2])
    assert_allclose(u @ (W * u), sr.motor_loss(system, [0.0], [0.3], u).sum(), rtol=1e-14)
    least = system.inverse_dynamics([0.0], [0.0], [1.0], weights=W).u
    share = np.array([1.0, 3.0]) / W
    assert_allclose(least, MASS * share / (share @ [1.0, 3.0]), rtol=1e-12)
    with pytest.raises(ArgumentError, match="'motor' depends on more"):
        control.loss_weights(cart("voltage"))
    with pytest.raises(ArgumentError, match="'motor' is unknown"):
        control.loss_weights(cart("unknown"))


def test_a_metric_of_the_controls() -> None:
    mechanism = sr.Mechanism("pair", gravity=(0, 0, 0))
    for k in "ab":
        mechanism.add_body(k, 1.0)
        mechanism.add_joint(k, "prismatic", "world", k, axis=(1, 0, 0))
        mechanism.add_actuator(k, k)
    run = sr.simulate(sr.System(mechanism), [0, 0], duration=1.0, dt=1e-2, control=lambda q, v, t: [t, 1 - t])
    W = np.array([[2.0, 0.3], [0.3, 1.0]])
    loss = run.motor_loss(W)
    assert_allclose(loss.power.sum(axis=1), np.einsum("ti,ij,tj->t", run.u, W, run.u), rtol=1e-13)
    assert_allclose(loss.total, 2 / 3 + 1 / 3 + 0.6 / 6, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("'motor' is unknown", lambda: moved("unknown").motor_loss()),
        ("positive", lambda: moved("force").motor_loss([-1.0])),
        ("positive", lambda: moved("force").motor_loss([1.0, 2.0])),
        ("'motor' is not gain × u", lambda: moved("voltage").motor_loss([1.0])),
        ("fewer than two", lambda: moved("force").revised(**{
            name: getattr(moved("force"), name)[:1] for name in ("t", "q", "v", "a", "u", "multipliers")
        }).motor_loss()),
        ("does not move", lambda: still().energy_per_metre("cart")),
        ("give either body", lambda: moved("force").energy_per_metre()),
        ("wheel", lambda: moved("force").energy_per_metre("wheel")),
        ("q must be of shape", lambda: sr.motor_loss(cart(), [0.0, 1.0], [0.0], [0.0])),
        ("motor_constant", lambda: cart().mechanism.snapshot().add_actuator("m", "x", motor_constant=-1.0)),
    ],
)  # fmt: skip
def test_what_is_not_known_is_named(text: str, call) -> None:
    with pytest.raises((ArgumentError, sr.ModelError), match=text):
        call()


@cache
def moved(kind: str) -> sr.Trajectory:
    return sr.simulate(cart(kind), [0.0], [0.1], duration=0.1, dt=1e-2)


def still() -> sr.Trajectory:
    return sr.simulate(cart(), [0.0], duration=0.1, dt=1e-2)


def test_generated_motions() -> None:
    """``python tests/families/motor_losses.py`` does more."""
    counts = motor_losses.run(8, seed=5)
    assert counts["right"] + counts["told"] == 8
    assert counts["right"] >= 4
