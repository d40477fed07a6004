"""Arguments that make no sense: every function says which of its arguments is wrong, and none goes on without end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sarrus as sr
from sarrus import control, gym
from sarrus.base.errors import SarrusError

MODELS = Path(__file__).parent.parent / "models"
ABSURD: tuple[Any, ...] = (
    5, -1, 10**12, 2.5, np.nan, -np.inf, 1j, "a", "", b"a", True, None, [], [None], [1, [2]], ["a"], ["a", "a"], {},
    {"a": 1}, {"a": (1,)}, {5: (0, 1)}, {"a": (0.0, np.nan)}, object(), (lambda: None), np.zeros((2, 0, 3)), range(3),
    sr.Status.OK,
)  # fmt: skip
SECONDS = 60  # after which a call counts as one without end


class EndlessError(Exception):
    """A call has taken too long."""


@contextmanager
def bounded() -> Iterator[None]:
    """End what takes too long."""

    def end(number: int, frame: object) -> None:
        raise EndlessError

    usual = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


@pytest.fixture(scope="module")
def five_bar() -> tuple[sr.System, np.ndarray]:
    system = sr.System(sr.load(MODELS / "five_bar.xml"))
    return system, system.assemble(system.neutral()).q


def calls(system: sr.System, q: np.ndarray) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return functions with arguments that are right."""
    names, body = system.coordinate_names, list(system.mechanism.bodies)[-1]
    v = np.zeros(system.nv)
    pair = [names[0], names[2]]
    here = {"system": system, "q": q}
    fall = sr.simulate(system, q, duration=0.02, dt=1e-3)
    place = system.body_placements(q)[0][-1]
    around = ((place[0] - 0.02, place[0] + 0.02), (place[2] - 0.02, place[2] + 0.02))
    least = {"lower": q[0] - 0.02, "upper": q[0] + 0.02}
    return {
        "assembly_modes": (sr.assembly_modes, {
            "system": system, "driven": names[0], "value": q[0], "by": (), "t": 0.0, "seed": 0, "throw": True,
            "targets": None}),
        "coupler_curve": (sr.coupler_curve, {
            **here, "driven": names[0], "body": body, "point": (0.1, 0, 0), "locked": (pair[1],), "t": 0.0}),
        "distance_to_singularity": (sr.distance_to_singularity, {
            "system": system, "path": fall, "driven": (), "t": 0.0}),
        "energy_balance": (sr.energy_balance, {"trajectory": fall}),
        "equilibrium": (sr.equilibrium, {
            **here, "u": None, "hold": False, "stable": False, "t": 0.0, "tau": None, "within_limits": True,
            "contacts": True, "throw": True}),
        "find_singularity": (sr.find_singularity, {**here, "driven": pair, "t": 0.0, "reach": 0.1, "throw": True}),
        "follow_curve": (sr.follow_curve, {**here, "driven": names[0], **least, "locked": (pair[1],), "t": 0.0}),
        "impact": (sr.impact, {**here, "v": v, "t": 0.0, "closing": None, "restitution": None}),
        "inverse_kinematics": (sr.inverse_kinematics, {
            "system": system, "targets": {names[0]: float(q[0])}, "q": q, "locked": (), "within_limits": True, "t": 0.0,
            "throw": True}),
        "linearize_at": (sr.linearize_at, {
            **here, "v": v, "u": None, "t": 0.0, "tau": None, "coordinates": "partition", "outputs": None,
            "contacts": True}),
        "linearize_along": (sr.linearize_along, {
            "system": system, "q": [q], "v": [v], "u": None, "t": None, "coordinates": "partition", "contacts": True}),
        "mobility": (sr.mobility, {**here, "t": 0.0, "tolerance": None, "contacts": True}),
        "parametrize": (sr.parametrize, {**here, "v": None, "t": 0.0, "coordinates": "partition"}),
        "reactions": (sr.reactions, {
            **here, "v": v, "u": None, "t": 0.0, "tau": None, "frame": "world", "points": None, "stiffness": None,
            "contacts": True, "throw": True}),
        "reactions_along": (sr.reactions_along, {
            "trajectory": fall, "frame": "world", "points": None, "stiffness": None}),
        "singularity_locus": (sr.singularity_locus, {
            **here, "driven": pair, "output": None, "locked": (), "rays": 2}),
        "singularity_map": (sr.singularity_map, {
            **here, "over": pair, "driven": (), "output": None, "locked": (), "region": around, "limits": None,
            "resolution": 3, "modes": 1, "measure": "smallest singular value", "t": 0.0}),
        "transmission_angle": (sr.transmission_angle, {
            "system": system, "path": [q], "driven": names[0], "output": names[2], "through": None,
            "locked": (names[1],), "t": 0.0}),
        "without_redundancy": (sr.without_redundancy, {**here, "t": 0.0}),
        "workspace": (sr.workspace, {
            **here, "body": body, "point": (0.1, 0, 0), "resolution": 4, "locked": (), "limits": None, "rays": 2,
            "halvings": 2, "t": 0.0}),
        "rollout": (sr.rollout, {
            "system": system, "q": [q], "v": None, "duration": 0.01, "dt": 1e-3, "t0": 0.0, "u": None,
            "parameters": None, "method": None, "rtol": None, "atol": None,
            "stabilization": "projection", "every": 1, "threads": 1,
            "side_by_side": True, "switching": True, "assemble": False, "reduce": ()}),
        "simulate": (sr.simulate, {
            **here, "v": None, "duration": 0.01, "dt": 1e-3, "t0": 0.0, "method": None, "rtol": None, "atol": None,
            "sample_time": None, "coordinates": None, "formulation": None, "stabilization": "projection", "events": (),
            "switching": True, "every": 1, "error_estimate": False, "progress": False, "throw": True, "control": None,
            "force": None}),
        "make": (gym.make, {
            "system": system, "q": q, "v": None, "duration": 0.1, "sample_time": 0.02, "dt": None, "method": None,
            "stabilization": "projection", "limits": (-1.0, 1.0), "num_envs": 2, "switching": True, "threads": 1,
            "reward": None, "terminated": None, "observation": None, "reset": None}),
        "ComputedTorque": (control.ComputedTorque, {
            "system": system, "coordinates": pair, "reference": [0.0, 0.0], "stiffness": 10.0, "damping": 1.0,
            "actuators": None, "limits": None}),
        "ProjectedInverseDynamics": (control.ProjectedInverseDynamics, {
            "system": system, "quantity": pair, "reference": [0.0, 0.0], "stiffness": 10.0, "damping": 1.0,
            "weights": None, "limits": (-1.0, 1.0), "hold": False, "relaxation": None}),
        "Regulator": (control.Regulator, {
            "system": system, "quantity": pair, "target": [0.0, 0.0], "stiffness": 10.0, "damping": 1.0,
            "weights": None}),
        "Task": (control.Task, {
            "quantity": pair, "reference": [0.0, 0.0], "stiffness": 10.0, "damping": 1.0, "name": "", "weight": None,
            "on": None, "ramp": 0.0}),
        "Sampling": (control.Sampling, {
            "sample_time": 0.1, "delay": 0, "position_noise": 0.0, "velocity_noise": 0.0, "seed": 0}),
        "controllability": (control.controllability, {**here, "v": None, "t": 0.0}),
    }  # fmt: skip


def foreign(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    """Return what is wrong with how a call ended, nothing where it worked or said what is wrong."""
    try:
        with bounded():
            function(**arguments)
    except SarrusError as error:
        return "" if str(error) else "no text"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


NAMES = (
    "assembly_modes",
    "coupler_curve",
    "distance_to_singularity",
    "energy_balance",
    "equilibrium",
    "find_singularity",
    "follow_curve",
    "impact",
    "inverse_kinematics",
    "linearize_at",
    "linearize_along",
    "mobility",
    "parametrize",
    "reactions",
    "reactions_along",
    "singularity_locus",
    "singularity_map",
    "transmission_angle",
    "without_redundancy",
    "workspace",
    "rollout",
    "simulate",
    "make",
    "ComputedTorque",
    "ProjectedInverseDynamics",
    "Regulator",
    "Task",
    "Sampling",
    "controllability",
)
# A step of seconds, and steps without number, which are what was asked for.
LONG = {("simulate", "duration"), ("rollout", "duration"), ("make", "duration")}


@pytest.mark.parametrize("name", NAMES)
def test_absurd_arguments_are_refused_by_name(name: str, five_bar: tuple[sr.System, np.ndarray]) -> None:
    """Every argument of every function in turn, with values that no function means; what works with one may."""
    function, arguments = calls(*five_bar)[name]
    assert set(calls(*five_bar)) == set(NAMES)
    assert foreign(function, arguments) == ""
    assert mistakes(name, function, arguments, every=4) == {}


def mistakes(
    name: str, function: Callable[..., Any], arguments: dict[str, Any], every: int
) -> dict[tuple[str, str], str]:
    """Return what is wrong with how calls ended, for each of the arguments in turn and every so many-th value."""
    wrong = {}
    for k, argument in enumerate(arguments):
        for value in ABSURD[k % every :: every]:
            if (name, argument) in LONG and value == 10**12:
                continue
            if found := foreign(function, {**arguments, argument: value}):
                wrong[argument, repr(value)] = found
    return wrong


if __name__ == "__main__":  # all of them
    model = sr.System(sr.load(MODELS / "five_bar.xml"))
    for each, (called, right) in calls(model, model.assemble(model.neutral()).q).items():
        print(each, mistakes(each, called, right, every=1), flush=True)
