"""One system, many threads and processes: the numbers are those of one thread, bit for bit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from bits import digest
from sarrus import control
from sarrus.dynamics.impacts import activity

THREADS = 8


def side_by_side(work: Callable[[int], Any], count: int) -> list[Any]:
    """Return what the calls give, made by eight threads that begin together."""
    gate = threading.Barrier(THREADS)

    def start(first: int) -> list[Any]:
        gate.wait()
        return [work(k) for k in range(first, count, THREADS)]

    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(pool.map(start, range(THREADS)))
    return [parts[k % THREADS][k // THREADS] for k in range(count)]


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))


@lru_cache
def bouncing_arm() -> sr.System:
    """Return an arm on a motor over a floor that both of its ends bounce on, and a parameter."""
    m = sr.Mechanism("bouncing arm")
    m.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.add_body("carriage", mass=0.5, inertia=(0.01, 0.01, 0.01))
    m.add_joint("slide", "prismatic", "world", "carriage", axis=(0, 0, 1))
    m.add_joint("hinge", "revolute", "carriage", "arm", axis=(0, 1, 0))
    m.add_actuator("motor", "hinge", gear=1.0)
    m.add_contact("tip", "arm", point=(1.0, 0, 0), restitution=0.6)
    m.add_contact("heel", "arm", point=(0.0, 0, 0), restitution=0.4)
    return sr.System(m, {"load": "arm.mass"})


def results(run: sr.Trajectory) -> tuple[Any, ...]:
    switches = [(s.time, s.closed, s.opened, s.bounced, s.slipping) for s in run.switches]
    return (
        run.t,
        run.q,
        run.v,
        run.a,
        run.multipliers,
        run.u,
        np.array(repr(switches)),
        np.array(str(run.status)),
    )


@pytest.mark.slow
def test_runs_with_contacts_switching_and_a_law() -> None:
    """Two hundred runs from different states, some of them driven by one law that all threads share."""
    system = bouncing_arm()
    law = control.ComputedTorque(system, ["hinge"], lambda t: [0.3 * ca.sin(3.0 * t)])
    before = dict(system.parameters)

    def run(k: int) -> tuple[Any, ...]:
        q = np.array([0.3 + 0.001 * k, 0.2 * np.sin(k)])
        return results(
            sr.simulate(
                system, q, [0.0, 0.1 * k % 1.0], duration=0.3, dt=2e-3, every=10, throw=False, progress=False,
                control=law if k % 3 == 0 else None,
            )
        )  # fmt: skip

    alone = [run(k) for k in range(200)]
    assert any("bounced=('" in str(r[6]) or "'tip'" in str(r[6]) for r in alone)
    assert sum(same(x, y) for x, y in zip(alone, side_by_side(run, 200))) == 200
    assert dict(system.parameters) == before


@lru_cache
def clutched_arm() -> sr.System:
    """Return the bouncing arm with a flywheel behind a clutch, and a brake on it."""
    m = sr.Mechanism("clutched arm")
    m.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.add_body("carriage", mass=0.5, inertia=(0.01, 0.01, 0.01))
    m.add_body("wheel", mass=0.2, inertia=(0.05, 0.05, 0.05))
    m.add_joint("slide", "prismatic", "world", "carriage", axis=(0, 0, 1))
    m.add_joint("hinge", "revolute", "carriage", "arm", axis=(0, 1, 0))
    m.add_joint("wheel", "revolute", "carriage", "wheel", axis=(0, 1, 0))
    m.add_actuator("motor", "hinge", gear=1.0)
    m.add_actuator("spin", "wheel", gear=1.0)
    m.add_coupling("clutch", {"hinge": 1.0, "wheel": -1.0}, active=False)
    m.add_coupling("brake", {"wheel": 1.0}, active=False)
    m.add_contact("tip", "arm", point=(1.0, 0, 0), restitution=0.5)
    return sr.System(m, {"load": "arm.mass", "tilt": "gravity.x"})


def test_runs_with_schedules_of_their_own() -> None:
    """Clutch and brake at times of each run, a contact beside them, and activity that some runs begin with."""
    system = clutched_arm()
    before = dict(system.parameters)

    def run(k: int) -> tuple[Any, ...]:
        on = 0.02 + 0.001 * k
        schedule = {"clutch": [(on, on + 0.06)], "brake": [(0.15, 0.2)] if k % 2 else []}
        view, q = system, np.array([0.25 + 0.002 * k, 0.1 * np.sin(k), 0.0])
        v = [0.0, 0.5, 0.0 if k % 3 == 0 else 2.0 + 0.1 * k]
        if k % 3 == 0:
            view = system.with_parameters()
            activity.switch_on(view, ["brake"], q)
            schedule = {"clutch": [(on, np.inf)]}
        return results(
            sr.simulate(
                view, q, v, duration=0.25, dt=2e-3, every=5, progress=False, throw=False,
                switching=sr.Switching(schedule),
            )
        )  # fmt: skip

    alone = [run(k) for k in range(40)]
    assert all("clutch" in str(r[6]) and str(r[7]) == "OK" for r in alone)
    assert any("tip" in str(r[6]) for r in alone)
    assert sum(same(x, y) for x, y in zip(alone, side_by_side(run, 40))) == 40
    assert dict(system.parameters) == before


def test_runs_with_sampled_laws() -> None:
    """A law with delay and noise, the same law with a memory of forces, and a Python function, in samples."""
    system = clutched_arm()
    law = control.ComputedTorque(system, ["hinge", "wheel"], lambda t: [0.3 * ca.sin(3.0 * t), 0.2 * t])
    gains = dict(law.settings)

    def function(q: Any, v: Any, t: float) -> Any:
        return [-2.0 * q[1] - 0.3 * v[1], np.sin(40.0 * t)]

    def run(k: int) -> tuple[Any, ...]:
        sampling: Any = control.Sampling(
            4e-3, delay=k % 4, position_noise=1e-3 * (k % 2), velocity_noise=1e-2, seed=k
        )
        return results(
            sr.simulate(
                system, [0.6, 0.1 * np.cos(k), 0.0], duration=0.2, dt=2e-3, every=5, progress=False, throw=False,
                control=function if k % 5 == 4 else law, sample_time=4e-3 if k % 5 == 4 else sampling,
            )
        )  # fmt: skip

    alone = [run(k) for k in range(80)]
    assert len({r[5].tobytes() for r in alone}) == 80
    assert sum(same(x, y) for x, y in zip(alone, side_by_side(run, 80))) == 80
    assert dict(law.settings) == gains


def test_parameters_and_gains_per_run() -> None:
    """Rollouts with parameters, views with parameters, and copies of a law with gains, on one system."""
    system = clutched_arm()
    law = control.ComputedTorque(system, ["hinge", "wheel"], lambda t: [0.3 * ca.sin(3.0 * t), 0.2 * t])
    name = next(iter(law.settings))

    def work(k: int) -> tuple[Any, ...]:
        load, tilt = 1.0 + 0.05 * k, 0.1 * k
        starts = np.array([[0.9, 0.1 * i, 0.0] for i in range(5)])
        many = sr.rollout(
            system, starts, duration=0.1, dt=2e-3, every=10, switching=False, threads=2, progress=False,
            parameters={"load": load + 0.1 * np.arange(5), "tilt": tilt}, control=law if k % 2 else None,
            side_by_side=k % 3 != 0,
        )  # fmt: skip
        view, own = system.with_parameters(), law.copy()
        view.parameters["load"] = load
        view.parameters["tilt"] = tilt
        own.settings[name] = 10.0 + k
        run = sr.simulate(
            view, [0.4, 0.1, 0.0], duration=0.2, dt=2e-3, every=20, progress=False, throw=False,
            control=own, sample_time=control.Sampling(4e-3, delay=1),
        )  # fmt: skip
        return many.q, many.v, many.u, many.status, *results(run)

    alone = [work(k) for k in range(48)]
    assert len({r[0].tobytes() for r in alone}) == 48
    assert len({r[5].tobytes() for r in alone}) == 48
    assert sum(same(x, y) for x, y in zip(alone, side_by_side(work, 48))) == 48
    assert (system.parameters["load"], system.parameters["tilt"]) == (1.0, 0.0)


def test_forward_dynamics_with_inputs_of_its_own() -> None:
    """Different q, v, u and tau, beside projections and law calls on the same system."""
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    q0 = system.assemble(mechanism.keyframes["symmetric"].q).q
    rng = np.random.default_rng(0)
    numbers = [(rng.standard_normal(system.nv), rng.standard_normal(system.nu)) for _ in range(64)]

    def work(k: int) -> tuple[Any, ...]:
        tau, u = numbers[k % 64]
        v = system.project_velocity(q0, tau)
        result = system.forward_dynamics(q0, v, u if k % 3 else None, tau=tau if k % 5 else None)
        return v, result.a, result.multipliers, result.constraint_force

    alone = [work(k) for k in range(4000)]
    assert sum(same(x, y) for x, y in zip(alone, side_by_side(work, 4000))) == 4000


def test_a_call_goes_by_the_parameters_at_its_start() -> None:
    system = bouncing_arm().with_parameters({"load": 2.0})
    view = system.with_parameters()

    def elsewhere() -> float:
        before = system.mass_matrix([0.0, 0.0])[0, 0]
        view.parameters["load"] = 3.0
        system.parameters["load"] = 4.0
        return float(before)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(elsewhere).result() == 2.5
    assert (view.parameters["load"], view.mass_matrix([0.0, 0.0])[0, 0]) == (3.0, 3.5)
    assert system.mass_matrix([0.0, 0.0])[0, 0] == 4.5
    heavy = system.forward_dynamics([0.0, 0.0], [0.0, 1.0]).a
    assert not np.array_equal(heavy, view.forward_dynamics([0.0, 0.0], [0.0, 1.0]).a)


def test_views_with_parameters_of_their_own() -> None:
    system = bouncing_arm()

    def work(k: int) -> tuple[Any, ...]:
        view = system.with_parameters({"load": 1.0 + 0.1 * k})
        run = sr.simulate(view, [0.3, 0.1], duration=0.2, dt=2e-3, every=20, progress=False)
        return (*results(run), view.forward_dynamics([0.3, 0.1], [0.0, 1.0]).a)

    alone = [work(k) for k in range(24)]
    assert not same(alone[0], alone[1])
    assert all(same(x, y) for x, y in zip(alone, side_by_side(work, 24)))
    assert system.parameters["load"] == 1.0


def test_functions_are_compiled_once_however_many_ask() -> None:
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    q = np.array(mechanism.keyframes["symmetric"].q)
    found = side_by_side(lambda k: (system.forward_dynamics(q, np.zeros(system.nv), throw=False).a,), THREADS)
    assert all(same(found[0], other) for other in found)
    names = ("mass_matrix", "bias_force", "energy", "jacobian")
    functions = side_by_side(lambda k: [id(system.compiled.function(name)) for name in names], THREADS)
    assert all(ids == functions[0] for ids in functions)


def everything(k: int) -> str:
    """Return the digest of a run with contacts, a clutch on schedule, a law in samples, and parameters of its own."""
    system = clutched_arm().with_parameters({"load": 1.0 + 0.05 * k, "tilt": 0.1 * k})
    law = arm_law()
    run = sr.simulate(
        system, [0.25 + 0.002 * k, 0.1 * np.sin(k), 0.0], [0.0, 0.5, 2.0], duration=0.25, dt=2e-3, every=5,
        progress=False, throw=False, control=law, sample_time=control.Sampling(4e-3, delay=k % 3),
        switching=sr.Switching({"clutch": [(0.02 + 0.001 * k, 0.1)]}),
    )  # fmt: skip
    model = sr.linearize_at(system, run.q[0], run.v[0], np.zeros(2))
    return digest([*(np.asarray(part, dtype=float) for part in results(run)[:6]), model.A, model.B])


@lru_cache
def arm_law() -> control.Law:
    return control.ComputedTorque(
        clutched_arm(), ["hinge", "wheel"], lambda t: [0.3 * ca.sin(3.0 * t), 0.2 * t]
    )


@pytest.mark.slow
def test_eight_threads_and_four_processes_come_to_the_same() -> None:
    """Contacts, a law and parameters on one model: the digests are those of one thread of this process."""
    alone = [everything(k) for k in range(32)]
    assert len(set(alone)) == 32
    assert side_by_side(everything, 32) == alone
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(everything, range(32))) == alone
