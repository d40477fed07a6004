"""A quadruped stands up from a crouch, shifts its weight, trots in place and walks, on a floor with friction.

The plant is this library's, in steps of a millisecond: feet are balls that touch down with an impact, stick or slide as
Coulomb has it, roll, and leave the ground when they would have to pull; nothing tells it the gait. Two laws of
`LeggedController` see its state every 2 ms: one stands on four feet, one has a `Gait`. At every sample the same tasks
are also given to laws with pyramids instead of friction cones and with none, to compare what the motors lose as heat.
Planned with μ = 0.5, on a floor of 0.7.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control
from sarrus.control import references
from sarrus.dynamics.impacts.activity import gaps

Array = NDArray[np.float64]

MODEL = Path(__file__).resolve().parent.parent / "models" / "quadruped.xml"
LEGS = ("FL", "FR", "RL", "RR")
SAMPLE, STEP = 2e-3, 1e-3  # s
HEIGHT, SPEED = 0.41, 0.4  # m of the centre of mass, m/s
PLANNED, FLOOR = 0.5, 0.7  # coefficients of friction
TORQUE, FORCE = 40.0, 250.0  # N m of a motor, N of a foot
# Standing up; shifting the weight; trotting in place; walking [s].
PHASES = {"stand up": 1.5, "shift": 2.5, "trot in place": 2.0, "walk": 4.0}
BRIEF = {"stand up": 0.8, "shift": 1.2, "trot in place": 0.4, "walk": 0.4}


def robot(floor: float | None = None) -> sr.System:
    """Return the quadruped of the model file with a contact at each foot: for laws, or a plant on a rough floor."""
    mechanism = sr.load(MODEL)
    for leg in LEGS:
        if floor is None:
            mechanism.add_contact(leg, geom=leg)
        else:
            mechanism.add_contact(leg, geom=leg, friction="coulomb", friction_coefficient=floor)
    return sr.System(mechanism)


def upright(height: Any) -> list[control.Task]:
    """Return the first level: the trunk level, and the height of the centre of mass."""
    return [
        control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright"),
        control.Task(control.centre_of_mass("z"), height, 200.0, 25.0, name="height"),
    ]


def walking_law(system: sr.System, start: float, speed: float, **options: Any) -> control.LeggedController:
    """Return the law of a trot that begins at ``start``; options are those of `LeggedController`."""
    gait = control.Gait(
        "trunk", {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}, velocity=(speed, 0.0), start=start
    )
    joints = [name for name in system.coordinate_names if name.startswith(LEGS)]
    posture = control.Task(joints, np.zeros(len(joints)), 0.0, 20.0, name="posture")
    level = control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright")
    levels = [[level, control.Height(HEIGHT)], control.SwingFeet(), control.Travel(), posture]
    return control.LeggedController(system, levels, gait=gait, **limits() | options)


def standing_law(system: sr.System, q: Array, times: list[float], **options: Any) -> control.LeggedController:
    """Return the law that rises from q until times[1] and moves the centre of mass on loops until times[2]."""
    here = centre_of_mass(system, q)
    up = references.minimum_jerk(here[2:], [HEIGHT], 0.9 * times[1])
    lasts = times[2] - times[1]
    loops = max(1, round(0.8 * lasts))

    def shift(t: Any) -> Any:
        part = ca.fmin(ca.fmax((t - times[1]) / lasts, 0.0), 1.0)
        size, angle = ca.sin(ca.pi * part) ** 2, 2.0 * loops * ca.pi * part
        return ca.vertcat(here[0] + 0.05 * size * ca.cos(angle), here[1] + 0.05 * size * ca.sin(angle))

    tasks = [upright(up), control.Task(control.centre_of_mass("xy"), shift, 25.0, 8.0, name="centre")]
    return control.LeggedController(system, tasks, **limits(), **options)


def limits() -> dict[str, Any]:
    """Return what all laws respect."""
    return {"coefficients": dict.fromkeys(LEGS, PLANNED), "largest_force": FORCE, "hold": True}


def centre_of_mass(system: sr.System, q: Array) -> Array:
    """Return the centre of mass [m]."""
    bodies = system.mechanism.bodies.values()
    masses, coms = np.array([body.mass for body in bodies]), np.array([body.com for body in bodies])
    positions, rotations = system.body_placements(q)
    return masses @ (positions + np.einsum("kij,kj->ki", rotations, coms)) / masses.sum()


class Pilot:
    """Has the laws of each phase take samples, and keeps what they command."""

    def __init__(self, laws: dict[str, list[control.LeggedController]], start: float, walk: float) -> None:
        self.laws, self.start, self.walk = laws, start, walk
        self.forces: list[Array] = []
        self.outcomes: list[str] = []
        self.losses: dict[str, list[float]] = {name: [] for name in laws}
        self.beyond = 0

    def __call__(self, q: Array, v: Array, t: float) -> Array:
        """Return the controls of the law with cones."""
        stage = int(t > self.start - 0.5 * SAMPLE)
        answers = {}
        for name, laws in self.laws.items():
            law = laws[stage]
            if stage:
                law.settings["gait.velocity[0]"] = SPEED if t >= self.walk else 0.0
            answers[name] = law.sample(q, v, t, SAMPLE)
            self.losses[name].append(SAMPLE * float(answers[name] @ answers[name]))
            forces = np.array([law.contact_forces[leg] for leg in LEGS])
            if name == "cone":
                self.forces.append(forces)
                self.outcomes.append(law.outcome)
            elif name == "none":
                self.beyond += bool((excess(forces, PLANNED) > 1e-6).any())
        return answers["cone"]


def excess(forces: Array, coefficient: float) -> Array:
    """Return √(λ_t1² + λ_t2²) − μ λ_n of forces (n, t1, t2) on the last axis."""
    return np.hypot(forces[..., 1], forces[..., 2]) - coefficient * forces[..., 0]


def crouched(system: sr.System) -> Array:
    """Return q with deeply bent knees and the feet on the floor."""
    q = system.neutral()
    q[7:] = np.tile([0.0, 1.15, -2.3], 4)
    q[2] -= min(gaps(system, q).values())
    return q


def main(phases: dict[str, float] = PHASES) -> dict[str, Any]:
    """Go through the phases, lasting so many seconds, and compare what was commanded with what the plant made of it."""
    system, plant = robot(), robot(FLOOR)
    q, times = crouched(system), np.cumsum([0.0, *phases.values()]).tolist()
    modes = ("cone", "pyramid", "none")
    laws = {
        mode: [
            standing_law(system, q, times, friction=mode),
            walking_law(system, times[2], 0.0, friction=mode),
        ]
        for mode in modes
    }
    pilot = Pilot(laws, times[2], times[3])
    run = sr.simulate(plant, q, duration=times[-1], dt=STEP, control=pilot, sample_time=SAMPLE)
    print(run)

    # What was commanded: in the cones, at every sample.
    commanded = np.array(pilot.forces)
    cones = float(excess(commanded, PLANNED).max())
    torque = float(np.abs(run.u).max())
    assert cones < 1e-9
    assert torque <= TORQUE + 1e-9
    assert "damped" not in pilot.outcomes

    # What the plant made of it: forces of the feet, means over each step.
    assert run.contact_row_names[:3] == ("FL.n", "FL.t1", "FL.t2")
    real = run.contact_forces[:, :12].reshape(-1, 4, 3)
    stands = real[..., 0] > 0.0
    touchdowns = int((stands[1:] & ~stands[:-1]).sum())
    slips = int((stands & (excess(real, FLOOR) > -1e-9 * real[..., 0])).sum())
    leaving = {mu: float(excess(real, mu).max()) for mu in (PLANNED, FLOOR)}
    near = np.searchsorted(run.t, SAMPLE * np.arange(len(commanded)) + STEP + 1e-9) - 1
    planned = np.abs(real[near] - commanded).max(axis=(1, 2))

    assert slips < 0.01 * stands.sum()
    assert leaving[FLOOR] < 1e-9
    assert run.contact_residual < 1e-10
    assert run.q[:, 2].min() > 0.15
    assert float(np.abs(run.q[:, 4:6]).max()) < 0.1  # the trunk stays level
    assert np.median(planned) < 1.0
    walked = float(run.q[-1, 0] - run.q[np.searchsorted(run.t, times[3]), 0])

    assert walked > 0.85 * SPEED * (phases["walk"] - 0.4)

    print(f"{'phase':15} {'s':>5} " + " ".join(f"{mode:>9}" for mode in modes) + "   ∫uᵀu dt [N² m² s]")
    losses = {}
    for name, (begin, end) in zip(phases, pairwise(np.round(np.array(times) / SAMPLE).astype(int))):
        losses[name] = {mode: sum(pilot.losses[mode][begin:end]) for mode in modes}
        row = " ".join(f"{losses[name][mode]:9.2f}" for mode in modes)
        print(f"{name:15} {(end - begin) * SAMPLE:5.1f} {row}")
    figures = {
        "seconds": times[-1],
        "samples": len(commanded),
        "walked": walked,
        "commanded_cone_excess": cones,
        "plant_excess_planned": leaving[PLANNED],
        "plant_excess_floor": leaving[FLOOR],
        "plan_error_median": float(np.median(planned)),
        "slips": slips / int(stands.sum()),
        "touchdowns": touchdowns,
        "peak_torque": torque,
        "loss": {mode: sum(pilot.losses[mode]) for mode in modes},
        "relaxed": pilot.outcomes.count("relaxed") / len(pilot.outcomes),
        "beyond_cones_without_them": pilot.beyond / len(pilot.outcomes),
        "energy_lost_in_contacts": float(run.contact_loss[-1]),
    }
    print(json.dumps(figures))
    return figures


if __name__ == "__main__":
    main()
