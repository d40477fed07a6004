"""A quadruped walks in MuJoCo: ten perturbed starts, then the same with a push from the side in the middle of the trot.

MuJoCo is an independent plant, with soft contacts and a floor of its own (μ = 0.7); the law plans with μ = 0.5 and sees
q and v every 2 ms. A fall is a trunk below 0.2 m or tilted by more than 0.8 rad; a slip is a foot under load whose
point at the floor moves by more than 5 mm. With ``--view`` MuJoCo's viewer shows one run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from quadruped_gaits import LEGS, MODEL, PLANNED, SAMPLE, SPEED, TORQUE, excess, robot, walking_law
from sarrus import control

Array = NDArray[np.float64]

STAND, TROT = 0.4, 6.0  # s: on four feet, then walking
PUSH, PUSH_LASTS = 150.0, 0.1  # N at the trunk, s
RADIUS, LOADED, SLIPPED = 0.02, 5.0, 5e-3  # m of a foot, N, m


class Push(NamedTuple):
    """A sideways force at the trunk [N] from a time on [s]."""

    start: float
    force: float


class Walk(NamedTuple):
    """What became of a run: metres forwards and most and last sideways, when it fell, slips, the worst of them [m], the
    largest torque [N m], ∫uᵀu dt [N² m² s], the share of relaxed samples, by how much commanded forces left their
    cones [N], the velocity at the end [m/s]."""

    forwards: float
    sideways: float
    aside: float
    fell: float | None
    slips: int
    worst_slip: float
    torque: float
    loss: float
    relaxed: float
    damped: int
    cones: float
    speed: float


class Plant:
    """MuJoCo's quadruped with perturbed joints (0.05 rad), tilt (0.05 rad) and velocity (0.1 m/s)."""

    def __init__(self, seed: int) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(MODEL))
        self.data = data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, data, 0)
        rng = np.random.default_rng(seed)
        data.qpos[7:] += 0.05 * rng.uniform(-1.0, 1.0, 12)
        tilt = 0.05 * rng.uniform(-1.0, 1.0, 3)
        angle = np.linalg.norm(tilt)
        data.qpos[3:7] = np.cos(0.5 * angle), *(np.sin(0.5 * angle) / angle * tilt)
        data.qvel[:3] = 0.1 * rng.uniform(-1.0, 1.0, 3)
        mujoco.mj_forward(self.model, data)
        data.qpos[2] += RADIUS - min(data.site(leg).xpos[2] for leg in LEGS)
        self.trunk = self.model.body("trunk").id
        self.feet = {self.model.geom(leg).id: k for k, leg in enumerate(LEGS)}
        self.bodies = [int(self.model.site_bodyid[self.model.site(leg).id]) for leg in LEGS]

    def step(self, u: Array, sideways: float) -> None:
        """Go on for a sample with controls held, and a force at the trunk."""
        self.data.ctrl[:] = u
        self.data.xfrc_applied[self.trunk, 1] = sideways
        mujoco.mj_step(self.model, self.data, round(SAMPLE / self.model.opt.timestep))

    def loads(self) -> Array:
        """Return the normal forces of the floor on the feet [N]."""
        loads, force = np.zeros(4), np.zeros(6)
        for k, contact in enumerate(self.data.contact):
            foot = self.feet.get(contact.geom1, self.feet.get(contact.geom2))
            if foot is not None:
                mujoco.mj_contactForce(self.model, self.data, k, force)
                loads[foot] += force[0]
        return loads

    def sliding(self) -> Array:
        """Return the velocities along the floor of the points of the feet that are lowest (4 × 2) [m/s]."""
        jacobian, found = np.zeros((3, self.model.nv)), np.zeros((4, 2))
        for k, (leg, body) in enumerate(zip(LEGS, self.bodies)):
            lowest = self.data.site(leg).xpos - (0.0, 0.0, RADIUS)
            mujoco.mj_jac(self.model, self.data, jacobian, None, lowest, body)
            found[k] = (jacobian @ self.data.qvel)[:2]
        return found

    def fallen(self) -> bool:
        """Tell whether the trunk is low or tilted."""
        return bool(self.data.qpos[2] < 0.2 or self.data.xmat[self.trunk][8] < np.cos(0.8))


def samples(plant: Plant, law: control.LeggedController, push: Push | None) -> Iterator[Array]:
    """Walk, and yield the controls after each sample."""
    law.reset()
    for k in range(round((STAND + TROT) / SAMPLE)):
        t = k * SAMPLE
        u = law.sample(plant.data.qpos, plant.data.qvel, t, SAMPLE)
        pushed = push is not None and push.start <= t < push.start + PUSH_LASTS
        plant.step(u, push.force if push is not None and pushed else 0.0)
        yield u


def walk(law: control.LeggedController, seed: int, push: Push | None = None) -> Walk:
    """Return what became of one run."""
    plant = Plant(seed)
    start = plant.data.qpos[:2].copy()
    moved, slipping, slips, worst = np.zeros((4, 2)), np.zeros(4, dtype=bool), 0, 0.0
    outcomes, torque, loss, cones, aside, speeds, fell = [], 0.0, 0.0, -np.inf, 0.0, [], None
    for k, u in enumerate(samples(plant, law, push)):
        outcomes.append(law.outcome)
        forces = np.array([law.contact_forces[leg] for leg in LEGS])
        cones = max(cones, float(excess(forces, PLANNED).max()))
        torque, loss = max(torque, float(np.abs(u).max())), loss + SAMPLE * float(u @ u)
        loaded = plant.loads() > LOADED
        moved = np.where(loaded[:, None], moved + SAMPLE * plant.sliding(), 0.0)
        far = np.linalg.norm(moved, axis=1)
        slips += int(np.count_nonzero((far > SLIPPED) & ~slipping))
        slipping, worst = far > SLIPPED, max(worst, float(far.max()))
        aside = max(aside, abs(float(plant.data.qpos[1] - start[1])))
        speeds.append(float(plant.data.qvel[0]))
        if plant.fallen():
            fell = k * SAMPLE
            break
    forwards, sideways = plant.data.qpos[:2] - start
    return Walk(
        float(forwards), float(sideways), aside, fell, slips, worst, torque, loss,
        outcomes.count("relaxed") / len(outcomes), outcomes.count("damped"), cones,
        float(np.mean(speeds[-round(0.8 / SAMPLE) :])),
    )  # fmt: skip


def view() -> None:
    """Show the run of seed 0 with a push, in real time."""
    import mujoco.viewer

    plant, law = Plant(0), walking_law(robot(), STAND, SPEED)
    with mujoco.viewer.launch_passive(plant.model, plant.data) as window:
        for _ in samples(plant, law, Push(3.0, PUSH)):
            if not window.is_running():
                break
            window.sync()
            time.sleep(SAMPLE)


def summary(name: str, walks: list[Walk]) -> dict[str, Any]:
    """Print a row of the table; return its figures."""
    found = {
        "falls": sum(walk.fell is not None for walk in walks),
        "least_distance": min(walk.forwards for walk in walks),
        "most_aside": max(walk.aside for walk in walks),
        "aside_at_the_end": max(abs(walk.sideways) for walk in walks),
        "slips": sum(walk.slips for walk in walks),
        "worst_slip": max(walk.worst_slip for walk in walks),
        "peak_torque": max(walk.torque for walk in walks),
        "loss_per_second": float(np.mean([walk.loss for walk in walks])) / (STAND + TROT),
        "relaxed": float(np.mean([walk.relaxed for walk in walks])),
        "damped": sum(walk.damped for walk in walks),
        "cone_excess": max(walk.cones for walk in walks),
        "least_speed_at_the_end": min(walk.speed for walk in walks),
    }
    print(
        f"{name:22} {len(walks):4} {found['falls']:5} {found['least_distance']:7.2f} {found['most_aside']:6.2f} "
        f"{found['slips']:5} {1e3 * found['worst_slip']:5.1f} {found['peak_torque']:6.1f} "
        f"{found['loss_per_second']:6.0f} {100 * found['relaxed']:7.1f} {found['cone_excess']:8.0e}"
    )
    return found


def main(runs: int = 10) -> dict[str, Any]:
    """Walk ``runs`` times undisturbed and as often with a push, to the left and to the right by turns."""
    law = walking_law(robot(), STAND, SPEED)
    print(
        f"{'':22} runs falls  metres  aside slips    mm    N m  N²m² relaxed    cones\n"
        f"{'':22}                 ≥      ≤           ≤      ≤  mean       %      ≤ N"
    )
    figures = {"undisturbed": summary("trot", [walk(law, seed) for seed in range(runs)])}
    # at a different phase of the gait each time
    pushes = [Push(2.0 + 0.04 * k, PUSH if k % 2 else -PUSH) for k in range(runs)]
    pushed = [walk(law, seed, push) for seed, push in enumerate(pushes)]
    figures["pushed"] = summary(f"{PUSH:.0f} N for {PUSH_LASTS} s", pushed)
    for found in figures.values():
        assert found["falls"] == found["damped"] == 0
        assert found["least_distance"] >= 2.0
        assert found["cone_excess"] < 1e-9
        assert found["peak_torque"] <= TORQUE + 1e-9
        assert found["aside_at_the_end"] < 0.1
        assert found["least_speed_at_the_end"] > 0.9 * SPEED
    print(json.dumps(figures))
    return figures


if __name__ == "__main__":
    if "--view" in sys.argv[1:]:
        view()
    else:
        main()
