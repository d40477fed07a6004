"""The whole tick of `LeggedController` in the kernel: terms, tasks, hierarchy and friction cones of a quadruped."""

from __future__ import annotations

import numpy as np

import sarrus as sr
from benchmarks.kernel import law_batch
from benchmarks.models import ROOT
from benchmarks.rows import Row, conditions
from sarrus import control
from sarrus.activity import gaps
from sarrus.mechanism.pose import Array

LEGS = ("FL", "FR", "RL", "RR")
STATES = 60


def controller(gait: control.Gait | None) -> control.LeggedController:
    """Return the controller of the quadruped, standing or in a gait."""
    mechanism = sr.load(ROOT / "models" / "quadruped.xml")
    for leg in LEGS:
        mechanism.add_contact(leg, geom=leg, friction_coefficient=0.5)
    system, task = sr.System(mechanism), control.Task
    trunk = [
        task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="orientation"),
        task(control.centre_of_mass("z"), [0.41], 200.0, 25.0, name="height"),
    ]
    centre = task(control.centre_of_mass("xy"), np.zeros(2), 25.0, 8.0, name="centre")
    rest = [control.SwingFeet(), control.Travel()] if gait else [centre]
    return control.LeggedController(system, [trunk, *rest], gait=gait, largest_force=250.0)


def states(law: control.LeggedController, period: float) -> list[tuple[Array, Array, float]]:
    """Return states near standing with the lowest foot on the ground, at times over a period."""
    rng, system = np.random.default_rng(1), law.system
    stand = np.array(system.mechanism.keyframes["stand"]) if system.mechanism else np.zeros(system.nq)
    found = []
    for k in range(STATES):
        q = stand.copy()
        q[7:] += rng.uniform(-0.03, 0.03, 12)
        q[2] -= min(gaps(system, q).values())
        found.append((q, 0.05 * rng.standard_normal(system.nv), period * (k + 0.5) / STATES))
    return found


def rows(quick: bool) -> list[Row]:
    """Return the medians over states, standing and trotting."""
    repeats = 100 if quick else 400
    # feet that should stand do, whether or not they have found the ground at these states
    offsets = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}
    trot = control.Gait("trunk", offsets, velocity=(0.4, 0.0), search=0.1)
    return [
        _row("tick, four feet standing", controller(None), 1.0, repeats),
        _row("tick, trot", controller(trot), trot.period, repeats),
    ]


def _row(name: str, law: control.LeggedController, period: float, repeats: int) -> Row:
    times, relaxed = [], 0
    for q, v, t in states(law, period):
        times.append(law_batch(law, q, v, t, repeats)())
        relaxed += law.outcome != "exact"
    note = (
        "models/quadruped.xml: 18 velocities, 12 actuators, 12 multipliers, friction cones, limits of torques and of "
        f"forces; median of {STATES} states near standing, of which {relaxed} with relaxed tasks; warm starts"
    )
    return Row(
        name=name,
        model="quadruped",
        ours_us=1e6 * float(np.median(times)),
        conditions=conditions(note=note, repeats=repeats),
        within_us=60.0,
        extra={"slowest_us": 1e6 * max(times), "relaxed": relaxed},
    )
