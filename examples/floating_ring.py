"""A ring of hinged links that floats freely, for a long time in coarse steps: what keeping its invariants gains.

Nothing acts on it from outside, so linear momentum, angular momentum about the centre of mass and energy stay as
they are: four functions of the state. RK4 keeps none of them, and errors add up. Projection on the energy alone makes
the others worse: it corrects v in the direction that changes the energy with the least ‖δv‖, which has momentum. With
``Stabilization(invariants=)`` the projection after a step ends on all their values, as it ends on the closure.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

Array = NDArray[np.float64]

LINKS, STEP = 6, 0.05  # step [s]
LENGTH, MASS = 1.0, 1.0  # of a link [m, kg]
INVARIANTS = ("momentum.x", "momentum.y", sr.Invariant.angular_momentum((0, 0, 1), name="spin"), "energy")
WAYS = {
    "closure alone": sr.Stabilization(),
    "and energy": sr.Stabilization("energy"),
    "and all four": sr.Stabilization(invariants=INVARIANTS),
}


def build() -> sr.Mechanism:
    """Return a closed ring of equal links in a plane, without gravity; springs at its hinges hold it open."""
    m = sr.Mechanism("floating_ring", gravity=(0, 0, 0))
    turn = 2 * np.pi / LINKS
    for k in range(LINKS):
        name = f"link{k}"
        m.add_body(name, mass=MASS, com=(LENGTH / 2, 0, 0), inertia=(1e-3, 1 / 12, 1 / 12))
        if k == 0:
            m.add_joint("base", "planar", "world", name, axis=(0, 0, 1))
        else:
            m.add_joint(
                f"hinge{k}", "revolute", f"link{k - 1}", name, axis=(0, 0, 1), parent_pose=(LENGTH, 0, 0),
                stiffness=1.0, spring_reference=turn,
            )  # fmt: skip
    m.add_closure(
        f"hinge{LINKS}", "point", f"link{LINKS - 1}", "link0", pose1=(LENGTH, 0, 0), pose2=(0, 0, 0)
    )
    return m


def start(system: sr.System) -> tuple[Array, Array]:
    """Return a regular hexagon that drifts, turns and swings."""
    q = system.assemble(np.concatenate([[0, 0, 0], np.full(LINKS - 1, 2 * np.pi / LINKS)])).q
    v = np.concatenate([[0.1, 0.05, 0.6], 0.4 * np.cos(np.arange(1, LINKS))])
    return q, system.project_velocity(q, v)


def drifts(duration: float, records: int = 400) -> tuple[Array, dict[str, dict[str, Array]]]:
    """Return times, and of every way by how much each quantity is off (T,), in the unit that its name ends with."""
    system = sr.System(build())
    q, v = start(system)
    every = max(round(duration / STEP) // records, 1)
    found = {}
    for name, way in WAYS.items():
        run = sr.simulate(
            system, q, v, duration=duration, dt=STEP, every=every, stabilization=way, error_estimate=False
        )
        values = values_along(system, run)
        line = values["centre"][0] + np.outer(run.t, values["momentum"][0] / (MASS * LINKS))
        found[name] = {
            "momentum [kg m/s]": np.linalg.norm(values["momentum"] - values["momentum"][0], axis=1),
            "angular momentum [kg m²/s]": np.abs(values["spin"] - values["spin"][0]),
            "energy [J]": np.abs(run.energy - run.energy[0]),
            "centre of mass [m]": np.linalg.norm(values["centre"] - line, axis=1),
        }
    return run.t, found


def values_along(system: sr.System, run: sr.Trajectory) -> dict[str, Array]:
    """Return the momentum, that about the centre of mass, and this centre, by sums over the links."""
    momentum, angular = np.zeros((len(run.t), 2)), np.zeros(len(run.t))
    angle, turn = np.cumsum(run.q[:, 2:], axis=1), np.cumsum(run.v[:, 2:], axis=1)
    place, speed = run.q[:, :2].copy(), run.v[:, :2].copy()
    middle = np.zeros((len(run.t), 2))
    for k in range(LINKS):
        along = LENGTH * np.stack([np.cos(angle[:, k]), np.sin(angle[:, k])], axis=1)
        across = turn[:, k, None] * np.stack([-along[:, 1], along[:, 0]], axis=1)
        p, own = MASS * (speed + across / 2), place + along / 2
        momentum += p
        angular += own[:, 0] * p[:, 1] - own[:, 1] * p[:, 0] + turn[:, k] / 12
        middle += own / LINKS
        place, speed = place + along, speed + across
    spin = angular - middle[:, 0] * momentum[:, 1] + middle[:, 1] * momentum[:, 0]
    return {"momentum": momentum, "spin": spin, "centre": middle}


def main(duration: float = 200.0) -> None:
    """Compare what is off at the end; what is kept is right to rounding."""
    _, found = drifts(duration)
    figures = {f"{way}: {what}": float(off.max()) for way, own in found.items() for what, off in own.items()}
    for what, off in found["and all four"].items():
        assert off.max() < 1e-9 or "centre" in what, (what, off.max())
    print(json.dumps(figures))


if __name__ == "__main__":
    main(2000.0)
