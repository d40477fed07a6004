"""Crates on three to eight feet, on patches and on boxes that begin to slide, creep, turn and stop.

``python tests/families/sliding_crates.py --cases N`` runs N of them, prints what is wrong and how many. References: the
closed form of a block where all feet slide alike; elsewhere an integration of its own of the plane motion (Radau), with
friction −μ N u/√(‖u‖² + ε²), ε = 3e-10 m/s, and the normal forces on equal springs, linear over the ground, that hold
the crate upright: what `simulate` has where statics does not determine them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import sarrus as sr

G = 9.81
# Excess over the limit of friction, of either sign.
EXCESSES = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10]
KINDS = ("ramp", "constant", "slope", "turning", "turning patch", "stopping")
# Largest error of a place [m] or an angle that counts as right, and steps that a run may take.
RIGHT, MOST_STEPS = 1e-6, 400_000


@dataclass
class Crate:
    """One case: a crate, its feet below the centre of mass, how it is pushed, and for how long; lengths in metres."""

    kind: str
    points: np.ndarray  # (n, 2)
    height: float  # of the centre of mass
    mass: float
    inertia: np.ndarray
    friction: float
    tilt: float  # of the ground
    heading: np.ndarray  # of the push, or downhill
    push: tuple[float, float]  # at first, and its rate
    at: np.ndarray  # where it pushes, from the centre of mass
    velocity: np.ndarray  # (vx, vy, ω)
    duration: float
    excess: float
    feet: str  # points, patch or box
    turn: np.ndarray  # of the whole scene
    unit: float  # lengths in metres times this


def rotation(rng: np.random.Generator) -> np.ndarray:
    """Return a random rotation matrix."""
    q = rng.standard_normal(4)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_crate(seed: int) -> Crate:
    """Return the case of this number."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    feet = str(rng.choice(["points", "points", "patch", "box"]))
    count = 4 if feet != "points" else int(rng.integers(3, 9))
    if kind == "turning":
        feet, count = "points", 3
    if feet == "points":
        angles = np.sort(2 * np.pi * (np.arange(count) + rng.uniform(-0.3, 0.3, count)) / count)
        points = rng.uniform(0.15, 0.3, count)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
        points -= 0.5 * points.mean(axis=0)
    else:
        half = rng.uniform(0.15, 0.3, 2)
        points = half * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    height, mass, mu = (
        float(rng.uniform(0.03, 0.1)),
        float(rng.uniform(0.5, 5.0)),
        float(rng.uniform(0.2, 0.7)),
    )
    inertia = mass * rng.uniform(0.015, 0.03, 3)
    angle = rng.uniform(0, 2 * np.pi)
    heading = np.array([np.cos(angle), np.sin(angle)])
    excess = float(rng.choice([-1.0, 1.0]) * EXCESSES[(seed // len(KINDS)) % len(EXCESSES)])
    tilt, push, at, velocity, duration = (
        0.0,
        (0.0, 0.0),
        np.zeros(3),
        np.zeros(3),
        float(rng.uniform(2.0, 8.0)),
    )
    at[2] = float(rng.uniform(-height, 0.5 * height))
    load = mu * mass * G
    if kind == "ramp":
        rate = load * 10.0 ** rng.uniform(-1.3, 0.5)
        push, duration = (0.0, rate), load / rate + 10.0 ** rng.uniform(-0.5, 0.3)
    elif kind == "constant":
        push = (load * (1.0 + excess), 0.0)
    elif kind == "slope":
        tilt = float(np.arctan(mu * (1.0 + excess)))
    elif kind == "stopping":
        velocity = np.array([*(heading * rng.uniform(0.1, 1.5)), rng.uniform(-4.0, 4.0)])
        duration = 1.5
    else:
        rate = load * 10.0 ** rng.uniform(-0.7, 0.5)
        at[:2] = rng.uniform(0.02, 0.1) * np.array([-heading[1], heading[0]]) * rng.choice([-1.0, 1.0])
        push, duration = (0.0, rate), load / rate + 0.7
    turn = rotation(rng) if rng.random() < 0.5 else np.eye(3)
    unit = 1e3 if rng.random() < 0.25 else 1.0
    return Crate(
        kind,
        points,
        height,
        mass,
        inertia,
        mu,
        tilt,
        heading,
        push,
        at,
        velocity,
        duration,
        excess,
        feet,
        turn,
        unit,
    )


def quaternion(R: np.ndarray) -> np.ndarray:
    """Return the unit quaternion of a rotation matrix."""
    K = np.array(
        [
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    _, vectors = np.linalg.eigh(K, UPLO="U")
    return vectors[:, -1] * np.sign(vectors[0, -1] or 1.0)


def built(case: Crate) -> tuple[sr.System, np.ndarray, np.ndarray]:
    """Return the system, and the state in which it begins."""
    u, R = case.unit, case.turn
    down = np.array(
        [case.heading[0] * np.sin(case.tilt), case.heading[1] * np.sin(case.tilt), -np.cos(case.tilt)]
    )
    mechanism = sr.Mechanism("crate", gravity=tuple(R @ down * G * u))
    mechanism.add_body("crate", case.mass, inertia=tuple(case.inertia * u * u))
    mechanism.add_joint("float", "free", "world", "crate")
    normal = tuple(R[:, 2])
    if case.feet == "patch":
        mechanism.add_contact_patch(
            "sole", "crate", sr.Pose((0, 0, -case.height * u)), extent=tuple(case.points[0] * u), normal=normal,
            tangent=tuple(R[:, 0]), friction="coulomb", friction_coefficient=case.friction,
        )  # fmt: skip
    elif case.feet == "box":
        mechanism.add_geom("floor", "world", "plane", pose=sr.Pose((0, 0, 0), R))
        half = tuple(np.array([*case.points[0], case.height]) * u)
        mechanism.add_geom("box", "crate", "box", half)
        mechanism.add_geometry_contacts(friction_coefficient=case.friction)
    else:
        for k, (x, y) in enumerate(case.points * u):
            mechanism.add_contact(
                f"c{k}", "crate", (x, y, -case.height * u), normal=normal, friction="coulomb",
                friction_coefficient=case.friction,
            )  # fmt: skip
    along, (first, rate) = R @ np.array([*case.heading, 0.0]) * u, case.push

    def push(q: Any, v: Any, t: Any) -> Any:
        return tuple(float(part) * (first + rate * t) for part in along)

    if first or rate:
        mechanism.add_force("push", push, body="crate", point=tuple(case.at * u))
    q = np.array([*(R[:, 2] * case.height * u), *quaternion(R)])
    v = np.array([*(R @ np.array([*case.velocity[:2], 0.0]) * u), 0.0, 0.0, case.velocity[2]])
    return sr.System(mechanism), q, v


def closed_form(case: Crate, t: np.ndarray) -> np.ndarray:
    """Return (x, y, θ) at times t where the crate slides along its heading, or rests."""
    rate = case.push[1]
    load = case.friction * case.mass * G * np.cos(case.tilt)
    if rate > 0.0:
        way = rate / (6.0 * case.mass) * np.maximum(t - load / rate, 0.0) ** 3
    else:  # the excess, as rounding leaves it
        way = 0.5 * max(case.excess, 0.0) * load / case.mass * t**2
    return np.column_stack([way * case.heading[0], way * case.heading[1], 0.0 * t])


def integrated(case: Crate, t: np.ndarray) -> np.ndarray:
    """Return (x, y, θ) at times t by an integration of its own."""
    n, slow, h = len(case.points), 1e-9 * 0.3, case.height
    izz, m, (first, rate) = case.inertia[2], case.mass, case.push

    def slope(time: float, z: np.ndarray) -> np.ndarray:
        c, s = np.cos(z[2]), np.sin(z[2])
        turn = np.array([[c, -s], [s, c]])
        r, at = case.points @ turn.T, turn @ case.at[:2]
        force = case.heading * (first + rate * time)
        u = z[3:5] + z[5] * np.column_stack([-r[:, 1], r[:, 0]])
        d = case.friction * u / np.sqrt((u**2).sum(axis=1) + slow**2)[:, None]
        # Normal forces: vertical balance, and that of moments about horizontal axes through the centre of mass, where
        # (r, −h) × (−N d, N) = (r_y − h d_y, h d_x − r_x) N, and the push gives (−z F_y, z F_x).
        A = np.vstack([np.ones(n), r[:, 1] - h * d[:, 1], h * d[:, 0] - r[:, 0]])
        loads = np.array([m * G, case.at[2] * force[1], -case.at[2] * force[0]])
        plate = np.vstack([np.ones(n), r[:, 1], -r[:, 0]])  # on equal springs: linear over the ground
        N = plate.T @ np.linalg.solve(A @ plate.T, loads)
        assert (N.real > 0.0).all()
        f = -N[:, None] * d
        a = (force + f.sum(axis=0)) / m
        torque = (r[:, 0] * f[:, 1] - r[:, 1] * f[:, 0]).sum() + at[0] * force[1] - at[1] * force[0]
        return np.array([*z[3:], *a, torque / izz])

    def jacobian(time: float, z: np.ndarray) -> np.ndarray:
        """Return exact derivatives, by a step along the imaginary axis."""
        return np.column_stack([slope(time, z + 1e-30j * e).imag / 1e-30 for e in np.eye(6)])

    z = np.array([0.0, 0.0, 0.0, *case.velocity])
    found = solve_ivp(
        slope, (0.0, t[-1]), z, "Radau", t_eval=t, rtol=1e-10, atol=1e-13, first_step=1e-6, jac=jacobian
    )
    assert found.success
    return np.asarray(found.y[:3].T)


def tips(case: Crate) -> bool:
    """Tell whether a foot comes near to lose its load, so that the crate is not what this family is about."""
    load = (
        case.friction * case.mass * G * np.cos(case.tilt)
        if not case.push[1]
        else case.push[1] * case.duration
    )
    shift = case.heading * (load * case.height + abs(load * case.at[2])) / (case.mass * G)
    n = len(case.points)
    A = np.vstack([np.ones(n), case.points.T])
    worst = min(
        (np.linalg.pinv(A) @ np.array([1.0, *(sign * shift * f)])).min() * n
        for sign in (-1, 1)
        for f in (0.0, 1.0)
    )
    return bool(worst < 0.1)


def outcome(case: Crate, **options: Any) -> tuple[str, float, sr.Trajectory, float]:
    """Return what became of a run, its largest error, it, and how long it took [s]."""
    system, q, v = built(case)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = sr.simulate(
            system, q, v, duration=case.duration, throw=False, error_estimate=False,
            **{"method": sr.Stepping(max_steps=MOST_STEPS), **options},
        )  # fmt: skip
    took = time.perf_counter() - began
    at = np.linspace(0.2, 1.0, 9) * run.t[-1]
    near = np.unique(np.searchsorted(run.t, at - 1e-12).clip(0, len(run.t) - 1))
    place = run.q[near, :3] @ case.turn / case.unit
    turned = quaternion(case.turn)
    dot = run.q[near, 3:] @ turned  # cos θ/2, sin θ/2 by products of quaternions
    w, x, y, z = turned
    axis = run.q[near, 3:] @ np.array([-z, y, -x, w])  # z part of conj(turned) * q
    angle = 2.0 * np.arctan2(axis, dot)
    straight = case.kind in ("ramp", "constant", "slope")
    expected = closed_form(case, run.t[near]) if straight else integrated(case, run.t[near])
    error = np.abs(np.column_stack([place[:, :2], angle]) - expected)
    error[:, 2] = np.abs((error[:, 2] + np.pi) % (2 * np.pi) - np.pi)
    worst = max(float(error.max()), float(np.abs(place[:, 2] - case.height).max()))
    ended = run.status.ok or run.status.name == "INACCURATE"
    word = run.status.name if not ended else "right" if worst <= RIGHT else "wrong"
    return word, worst, run, took


def cases(number: int) -> list[tuple[int, Crate]]:
    """Return so many cases that do not tip."""
    found, seed = list[tuple[int, Crate]](), 0
    while len(found) < number:
        if not tips(case := random_crate(seed)):
            found.append((seed, case))
        seed += 1
    return found


def main() -> None:
    """Run the cases asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    chosen = [(asked.seed, random_crate(asked.seed))] if asked.seed is not None else cases(asked.cases)
    count, slowest, largest = dict[str, int](), 0.0, 0.0
    for seed, case in chosen:
        try:
            word, worst, run, took = outcome(case)
            said = f"{len(run.t)} states, {len(run.switches)} switches, error {worst:.1e}, {took:.2f} s"
            slowest, largest = max(slowest, took), max(largest, worst if word == "right" else 0.0)
        except Exception as error:  # a family counts what goes wrong
            word, said = type(error).__name__, str(error)[:200]
        count[word] = count.get(word, 0) + 1
        if word != "right" or asked.verbose:
            how = f"{case.kind}, {len(case.points)} {case.feet}, excess {case.excess:.0e}, unit {case.unit:g}"
            print(f"{seed}: {word}: {how}: {said}", flush=True)
    print(f"{count}, largest error of right ones {largest:.1e}, slowest {slowest:.2f} s")


if __name__ == "__main__":
    main()
