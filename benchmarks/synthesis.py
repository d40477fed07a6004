"""Gradients of designs against central differences of the same goal: a four-bar whose lengths and masses are free."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import sarrus as sr
from benchmarks.rows import Row, conditions
from benchmarks.timing import batch, interleave
from sarrus import synthesis as sy

LENGTHS = {"a": 0.1, "b": 0.3, "c": 0.25, "g": 0.32}
STEP = 1e-6
LEAST = 20.0


def four_bar() -> sr.Mechanism:
    """Return the linkage."""
    mechanism = sr.Mechanism("four_bar", gravity=(0, -9.81, 0))
    for name, parent, place in (
        ("crank", "world", 0.0),
        ("coupler", "crank", 0.1),
        ("rocker", "world", 0.32),
    ):
        mechanism.add_body(name, 0.6, (0.08, 0.01, 0), (0.001, 0.003, 0.003))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(place, 0, 0))
    mechanism.add_closure("pin", "revolute", "coupler", "rocker", pose1=(0.3, 0, 0), pose2=(0.25, 0, 0))
    return mechanism


def parameters() -> dict[str, str]:
    """Return sixteen free numbers: lengths, and mass and centre of mass of each body."""
    out = {
        "a": "coupler.placement.x",
        "b": "pin.pose1.x",
        "c": "pin.pose2.x",
        "g": "rocker.placement.x",
    }
    for body in ("crank", "coupler", "rocker"):
        out |= {f"{body}_{part}": f"{body}.{number}" for part, number in NUMBERS.items()}
    return out


NUMBERS = {"m": "mass", "x": "com.x", "y": "com.y", "i": "inertia.zz"}


def problems() -> dict[str, sy.Problem]:
    """Return problems by the goal that they have, each at twelve angles of the crank."""
    at = sy.sweep({"crank": np.linspace(0.0, 6.0, 12)}, rates={"crank": 10.0}, guess=[0.0, 1.0, 2.0])
    still = sy.sweep({"crank": np.linspace(0.0, 6.0, 12)}, guess=[0.0, 1.0, 2.0])
    goals = {
        "coupler point": sy.point("coupler", (0.2, 0.1, 0), np.tile([0.1, 0.2], 12), still, axes="xy"),
        "shaking force": sy.shaking_force(at),
        "torque of the crank": sy.drive_force("crank", at),
    }
    return {name: sy.Problem(four_bar(), parameters(), [goal]) for name, goal in goals.items()}


def gradients(problem: sy.Problem) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return our gradient with its cost, and that of central differences, at a design beside the start."""
    problem.evaluate()
    evaluation, program, x = problem.evaluation, problem.program, problem.variables.start
    near = x * (1.0 + 1e-3)
    turn = [0]

    def ours() -> object:
        turn[0] += 1  # another design each time, so that loops are closed anew
        found = evaluation.at(x if turn[0] % 2 else near)
        return program.gradient(found)

    def differences() -> object:
        turn[0] += 1
        base = x if turn[0] % 2 else near
        out = np.empty(len(x))
        for k in range(len(x)):
            step = np.zeros(len(x))
            step[k] = STEP
            sides = [program.cost(evaluation.at(base + sign * step)) for sign in (1.0, -1.0)]
            out[k] = (sides[0] - sides[1]) / (2.0 * STEP)
        return out

    return ours, differences


def rows(quick: bool) -> list[Row]:
    """Measure a gradient, cost included, against central differences of the cost."""
    out = []
    for name, problem in problems().items():
        ours, differences = gradients(problem)
        found = interleave(batch(ours), batch(differences), 3 if quick else 9)
        note = (
            f"{len(problem.variables.names)} parameters, 12 configurations, loop closed with redundant rows"
        )
        out.append(
            Row(
                f"gradient of a {name}",
                "four_bar",
                found.ours_us,
                conditions(note=note, repeats=found.repeats),
                "central differences",
                found.peer_us,
                found.ratio,
                at_least=LEAST,
            )
        )
    return out
