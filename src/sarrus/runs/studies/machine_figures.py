"""Timings on this machine: compilation of a model, and calls of its functions."""

from __future__ import annotations

import os
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from unittest import mock

import casadi as ca
import numpy as np

from sarrus.analysis.configurations.default_configuration import default_configuration
from sarrus.analysis.linear.along import linearize_along
from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.codegen.machine import host
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.laws.law import Law
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.kernels.platform.c_function import forward
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.many.rollout import rollout
from sarrus.motion.many.workers import default_threads
from sarrus.motion.simulate import simulate
from sarrus.runs.studies.tolerances import FIGURES_STEP, REPEAT_SECONDS, SHORTEST_TIMED_CALL
from sarrus.runs.studies.units import MICROSECONDS, MILLISECONDS

REPEATS = 7
LINEAR_MODELS = 200

# Angles of the five-bar at which its middle joint is above the middle of its ground [rad].
_SYMMETRIC = 2.0943951023931953, -1.2533264318252648, 1.0471975511965976, 1.2533264318252648


@dataclass(frozen=True)
class Figure:
    """A measured number with its unit; ``note`` says what was measured, or why it was not (``value`` is then NaN)."""

    what: str
    value: float
    unit: str
    note: str


def five_bar() -> Mechanism:
    """Return a planar five-bar with two motors, the default model: models/five_bar.xml."""
    mechanism = Mechanism("five_bar")
    for side, x in (("left", 0.0), ("right", 1.0)):
        upper, lower = f"{side}_upper", f"{side}_lower"
        mechanism.add_body(upper, 2.0, com=(0.5, 0, 0), inertia=(0.1, 1, 1))
        mechanism.add_body(lower, 3.0, com=(0.75, 0, 0), inertia=(0.2, 2, 2))
        mechanism.add_joint(side, "revolute", "world", upper, axis=(0, -1, 0), parent_pose=(x, 0, 0))
        mechanism.add_joint(f"{side}_elbow", "revolute", upper, lower, axis=(0, -1, 0), parent_pose=(1, 0, 0))
        mechanism.add_actuator(f"{side}_motor", side)
    mechanism.add_closure("tips", "point", "left_lower", "right_lower", pose1=(1.5, 0, 0), pose2=(1.5, 0, 0))
    mechanism.add_keyframe("symmetric", _SYMMETRIC)
    return mechanism


def machine() -> dict[str, str]:
    """Return processor, system and versions of this machine."""
    return {"processor": host().cpu, "platform": host().triple, "cores": str(default_threads())}


def measure(mechanism: Mechanism, progress: Callable[[str], None] = lambda what: None) -> list[Figure]:
    """Return the timings of a model at its first keyframe or reference pose, at rest; ``progress`` gets the
    next item.
    """
    progress("compiling the model")
    system, q, figures = _compiled(mechanism)
    v = np.zeros(system.nv)
    for what, function in (
        ("forward dynamics", _forward),
        ("step", _step),
        ("batch", _batch),
        ("linear models", _linear),
        ("control law", _law),
    ):
        progress(what)
        try:
            figures += function(system, q, v)
        except SarrusError as error:
            figures.append(Figure(what, float("nan"), "", str(error)))
    return figures


def _compiled(mechanism: Mechanism) -> tuple[System, Array, list[Figure]]:
    """Return the system, its configuration, and the compile times without and with a disk cache."""
    System(five_bar()).compiled.function("dynamics")  # loads the libraries
    figures = []
    with TemporaryDirectory() as directory, mock.patch.dict(os.environ, SARRUS_CACHE_DIR=directory):
        for cache in ("cold", "warm"):
            began = perf_counter()
            system = System(mechanism)
            work, start = system.workspace(), system.neutral()
            work.load_functions("dynamics", "checked", "position", "velocity")
            generic_rank(work, start)
            functions = list(system.compiled.compiled.values())
            note = f"trace and compile {len(functions)} functions, {cache} disk cache"
            figures.append(Figure(f"compile, {cache}", MILLISECONDS * (perf_counter() - began), "ms", note))
    count = sum(function.n_instructions for function in functions)
    figures.append(Figure("size", float(count), "instructions", "of these functions together"))
    return system, default_configuration(system), figures


def _median(run: Callable[[], float]) -> float:
    """Return the median of a few runs, without the first."""
    run()
    return median(run() for _ in range(REPEATS))


def _per_call(call: Callable[[], object]) -> float:
    """Return the duration of a call from Python [s]."""
    timer = timeit.Timer(call)
    timer.timeit(3)
    number = max(3, round(REPEAT_SECONDS / max(timer.timeit(10) / 10, SHORTEST_TIMED_CALL)))
    return _median(lambda: timer.timeit(number) / number)


def _forward(system: System, q: Array, v: Array) -> Iterator[Figure]:
    python = _per_call(lambda: system.forward_dynamics(q, v, contacts=False))
    yield Figure("forward dynamics", MICROSECONDS * python, "µs", "a, λ, Aᵀλ by a call from Python")
    table, out = system.workspace().table, np.empty(system.workspace().output_size)
    number = max(10, round(REPEAT_SECONDS / python))

    def run() -> float:
        began = perf_counter()
        forward(table, out, number)
        return (perf_counter() - began) / number

    yield Figure("forward dynamics", MICROSECONDS * _median(run), "µs", "the same in the kernel")


def _step(system: System, q: Array, v: Array) -> Iterator[Figure]:
    steps = 200

    def run() -> float:
        motion = simulate(
            system, q, v, duration=steps * FIGURES_STEP, dt=FIGURES_STEP, every=steps, progress=False
        )
        return motion.wall_seconds / motion.steps

    note = f"RK4 with projection, one of {steps} of {MILLISECONDS * FIGURES_STEP:g} ms in simulate"
    yield Figure("step", MICROSECONDS * _median(run), "µs", note)


def _batch(system: System, q: Array, v: Array) -> Iterator[Figure]:
    steps, runs = 500, 32 * default_threads()

    def run() -> float:
        many = rollout(
            system,
            np.tile(q, (runs, 1)),
            v,
            duration=steps * FIGURES_STEP,
            dt=FIGURES_STEP,
            switching=False,
            progress=False,
        )
        return many.wall_seconds / (runs * steps)

    note = f"of one of {runs} runs in rollout, {default_threads()} threads"
    yield Figure("step of a batch", MICROSECONDS * _median(run), "µs", note)


def _linear(system: System, q: Array, v: Array) -> Iterator[Figure]:
    many = [np.tile(part, (LINEAR_MODELS, 1)) for part in (q, v, np.zeros(system.nu))]

    def run() -> float:
        began = perf_counter()
        linearize_along(system, *many, contacts=False)
        return (perf_counter() - began) / LINEAR_MODELS

    yield Figure(
        "linear model", MICROSECONDS * _median(run), "µs", f"one of {LINEAR_MODELS} of linearize_along"
    )


def _law(system: System, q: Array, v: Array) -> Iterator[Figure]:
    settings = Settings()
    wanted = settings.add("a", 0.0, system.nv, "bench")
    demand = Demand("a", system.velocity_names, ca.SX.eye(system.nv), wanted)
    law = Law(system, [demand], settings, limits=(-np.inf, np.inf), contacts=False)
    note = "u of least norm for given accelerations, a call from Python"
    yield Figure("control law", MICROSECONDS * _per_call(lambda: law(q, v)), "µs", note)
