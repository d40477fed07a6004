"""Generated motions with motors of all kinds, against loss and path by an integration of their own.

``python tests/families/motor_losses.py --cases 200 --seed 0`` prints how many are right: energy that each motor lost,
work of all of them and length of the path of the tip, to 1e-7 of their sizes; how many are further off, but within
three times the error that the answer tells; how many are wrong, refused or without end.

An arm of two joints in any plane, in metres or millimetres, with or without gravity, and a mass between stops from
which it bounces. Motors are given by force and motor constant, by their data sheet, or with a winding; the control is a
function of time and speed, or a Python function that is held between samples. The equations are written out below and
integrated by `scipy.integrate.solve_ivp` with losses and path as states, from sample to sample and from hit to hit.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import sarrus as sr
from sarrus.base.errors import AccuracyWarning, SarrusError

METHODS = ("rk4", "dop853", "dopri5", "rodas5p", "adaptive", "rollout")
RIGHT, DURATION, PERIOD = 1e-7, 0.6, 0.02
# Of many runs with stops, by steps in time of 0.2 ms.
STEPS_IN_TIME = 1e-2
# Motions with more hits come to rest at a stop, which the equations here do not know: left out, another is drawn.
MOST_HITS = 30


@dataclass
class Motor:
    """A motor on a coordinate: kind, numbers, and the law of its control, size sin(rate t + phase) and a damper."""

    kind: str
    constant: float
    k: float
    ohm: float
    henry: float
    gear: float
    size: float
    rate: float
    phase: float
    damping: float

    def control(self, t: float, v: float, sin=np.sin):
        return self.size * sin(self.rate * t + self.phase) - np.sign(self.gear) * self.damping * v

    def add(self, mechanism: sr.Mechanism, name: str, joint: str) -> None:
        data = {"torque_constant": self.k, "resistance": self.ohm, "gear": self.gear}
        if self.kind == "force":
            mechanism.add_actuator(name, joint, gear=self.gear, motor_constant=self.constant)
        elif self.kind == "voltage":
            mechanism.add_motor(name, joint, **data)
        else:
            mechanism.add_motor(name, joint, **data, inductance=self.henry)

    def acts(self, u: float, v: float, i: float) -> tuple[float, float, float]:
        """Return the force on the coordinate, the loss, and the rate of the current."""
        if self.kind == "force":
            return self.gear * u, (u / self.constant) ** 2, 0.0
        if self.kind == "voltage":
            i = (u - self.k * self.gear * v) / self.ohm
        rate = 0.0 if self.kind == "voltage" else (u - self.ohm * i - self.k * self.gear * v) / self.henry
        return self.gear * self.k * i, self.ohm * i * i, rate


@dataclass
class Case:
    """A mechanism, its motors, start, and how its motion is asked for."""

    scene: str
    method: str
    held: bool
    unit: float
    motors: list[Motor]
    numbers: dict[str, float]
    q: np.ndarray
    v: np.ndarray
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))

    def __str__(self) -> str:
        kinds = ", ".join(m.kind for m in self.motors)
        return f"{self.scene}, {self.method}{', held' if self.held else ''}, unit {self.unit:g}, {kinds}"

    # --- the mechanism as it is given to sarrus ---------------------------------------------------

    def mechanism(self) -> sr.Mechanism:
        n, unit = self.numbers, self.unit
        along = lambda *way: tuple(self.turn @ np.array(way))  # noqa: E731
        mechanism = sr.Mechanism(self.scene, gravity=along(0, -n["g"] * unit, 0))
        if self.scene == "stops":
            mechanism.add_body("mass", n["m1"], inertia=(1, 1, 1))
            mechanism.add_joint(
                "one", "prismatic", "world", "mass", axis=along(1, 0, 0), limits=(-0.1 * unit, 0.1 * unit),
                limit_restitution=n["e"],
            )  # fmt: skip
        else:
            parent, place = "world", 0.0
            for name, k in (("one", "1"), ("two", "2")):
                mechanism.add_body(
                    name, n["m" + k], along(n["c" + k] * unit, 0, 0), (n["I" + k] * unit**2,) * 3
                )
                mechanism.add_joint(
                    name, "revolute", parent, name, axis=along(0, 0, 1), parent_pose=along(place, 0, 0)
                )
                parent, place = name, n["l"] * unit
        for motor, name in zip(self.motors, ("one", "two")):
            motor.add(mechanism, f"{name} motor", name)
        return mechanism

    @property
    def tip(self) -> tuple[str, tuple[float, ...]]:
        return (
            ("mass", (0, 0, 0))
            if self.scene == "stops"
            else ("two", tuple(self.turn @ [0.3 * self.unit, 0.1 * self.unit, 0]))
        )

    # --- the motion of its own ---------------------------------------------------------------------

    def accelerations(self, q: np.ndarray, v: np.ndarray, f: np.ndarray) -> np.ndarray:
        n, unit = self.numbers, self.unit
        if self.scene == "stops":
            return f / n["m1"]
        m1, m2, c1, c2, l = n["m1"], n["m2"], n["c1"] * unit, n["c2"] * unit, n["l"] * unit  # noqa: E741
        b = n["I2"] * unit**2 + m2 * c2**2
        a, k = n["I1"] * unit**2 + m1 * c1**2 + m2 * l**2 + b, m2 * l * c2
        M = np.array([[a + 2 * k * np.cos(q[1]), b + k * np.cos(q[1])], [b + k * np.cos(q[1]), b]])
        g = n["g"] * unit
        h = k * np.sin(q[1]) * np.array([-v[1] * (2 * v[0] + v[1]), v[0] ** 2])
        weight = g * np.array([(m1 * c1 + m2 * l) * np.cos(q[0]), 0.0]) + g * m2 * c2 * np.cos(q[0] + q[1])
        return np.linalg.solve(M, f - h - weight)

    def speed(self, q: np.ndarray, v: np.ndarray) -> float:
        if self.scene == "stops":
            return abs(v[0])
        l, x, y = self.numbers["l"] * self.unit, 0.3 * self.unit, 0.1 * self.unit  # noqa: E741
        angle, rate = q[0] + q[1], v[0] + v[1]
        return float(np.hypot(
            -l * np.sin(q[0]) * v[0] - (x * np.sin(angle) + y * np.cos(angle)) * rate,
            l * np.cos(q[0]) * v[0] + (x * np.cos(angle) - y * np.sin(angle)) * rate,
        ))  # fmt: skip

    def exact(self) -> tuple[np.ndarray, float, float] | None:
        """Return losses of the motors, their work, and the length of the path; None for a motion of too many hits."""
        n = len(self.motors)
        state, t = np.concatenate([self.q, self.v, np.zeros(2 * n + 2)]), 0.0
        held, hit = None, 0

        def rates(t: float, x: np.ndarray) -> np.ndarray:
            q, v, i = x[:n], x[n : 2 * n], x[2 * n : 3 * n]
            u = held if held is not None else [m.control(t, w) for m, w in zip(self.motors, v)]
            f, loss, current = np.array([m.acts(*one) for m, one in zip(self.motors, zip(u, v, i))]).T
            a = self.accelerations(q, v, f)
            return np.concatenate([v, a, current, loss, [f @ v, self.speed(q, v)]])

        def hits(t: float, x: np.ndarray) -> float:
            return 0.1 * self.unit - abs(x[0])

        def turns(t: float, x: np.ndarray) -> float:
            return x[n]

        hits.terminal = turns.terminal = True
        hits.direction = -1.0
        events = [hits, turns] if self.scene == "stops" else []
        while t < DURATION - 1e-13:
            end = DURATION
            if self.held:
                sample = round(t / PERIOD) if abs(t / PERIOD - round(t / PERIOD)) < 1e-9 else None
                if sample is not None:
                    held = [m.control(t, w) for m, w in zip(self.motors, state[n : 2 * n])]
                end = min(DURATION, PERIOD * (np.floor(t / PERIOD + 1e-9) + 1))
            scale = np.abs(state).max() + self.unit**2
            found = solve_ivp(
                rates,
                (t, end),
                state,
                method="DOP853",
                rtol=1e-12,
                atol=1e-13 * scale,
                events=events,
                max_step=5e-4,
            )
            state, t = found.y[:, -1], float(found.t[-1])
            if events and len(found.t_events[0]):
                hit += 1
                if hit > MOST_HITS:
                    return None
                state[n] *= -self.numbers["e"]
                state[0] = np.sign(state[0]) * 0.1 * self.unit * (1 - 1e-15)
            elif events and len(found.t_events[1]):
                state[n] = 1e-14 * np.sign(rates(t, state)[n])
        return state[3 * n : 4 * n], float(state[-2]), float(state[-1])

    # --- the motion by sarrus ----------------------------------------------------------------------

    def found(self) -> tuple[np.ndarray, float, float, float, float]:
        """Return losses, work, length, and what is told of the errors of energies and of the length."""
        system = sr.System(self.mechanism())
        n = len(self.motors)
        q = np.concatenate([self.q, np.zeros(system.nq - n)])

        def numbers(q, v, t):
            return [m.control(t, w) for m, w in zip(self.motors, v)]

        def traced(q, v, t):
            return ca.vertcat(*(m.control(t, v[k], ca.sin) for k, m in enumerate(self.motors)))

        options = {"control": numbers, "sample_time": PERIOD} if self.held else {"control": traced}
        dense = {"rtol": 1e-11, "dt": 2e-3}
        steps = {"rk4": {"dt": 2e-4}, "adaptive": {"rtol": 1e-10}}.get(
            self.method, {**dense, "method": self.method}
        )
        start = self.v if len(self.v) == system.nv else np.concatenate([self.v, np.zeros(system.nv - n)])
        if self.method == "rollout":
            many = sr.rollout(
                system, q[None], start[None], duration=DURATION, dt=2e-4, every=5, control=traced
            )
            run = many.trajectory(0)
        else:
            run = sr.simulate(system, q, start, duration=DURATION, **options, **steps)
        loss, metre = run.motor_loss(), run.energy_per_metre(*self.tip)
        told = float(loss.error.sum()) + metre.error
        return loss.energy[-1], float(metre.work[-1]), float(metre.length[-1]), told, metre.length_error


def draw(rng: np.random.Generator) -> Case:
    """Return a case; combinations that are refused by name are not drawn."""
    scene, unit = ("arm", "arm", "stops")[rng.integers(3)], float(rng.choice([1.0, 1e3]))
    kinds = ["force", "voltage", "winding"]
    method = str(rng.choice(METHODS))
    held = bool(rng.integers(2)) and method != "rollout"
    if method == "rodas5p" or (method == "rollout" and scene == "stops"):
        kinds = ["force", "voltage"]
    count = 1 if scene == "stops" else 2
    motors = []
    for kind in rng.choice(kinds, count):
        turns = scene == "arm"
        strong = unit**2 if kind == "force" and turns else unit
        soft = strong if turns else 1.0
        motors.append(
            Motor(
                kind=str(kind),
                constant=rng.uniform(0.5, 2) * unit,
                k=rng.uniform(0.3, 0.8) * (unit if turns else 1.0),
                ohm=rng.uniform(1, 3),
                henry=0.01,
                gear=rng.choice([-1.0, 1.0]) * rng.uniform(1, 3),
                size=rng.uniform(2, 6) * strong,
                rate=rng.uniform(3, 15),
                phase=rng.uniform(0, 6),
                damping=rng.uniform(0.0, 0.5) * soft,
            )
        )
    gravity = 9.81 * rng.integers(2) if scene == "arm" else 0.0
    ranges = {"m": (0.5, 2), "c": (-0.1, 0.3), "I": (0.05, 0.2)}
    numbers = {f"{name}{k}": rng.uniform(*ranges[name]) for name in ranges for k in (1, 2)}
    numbers |= {"l": rng.uniform(0.3, 0.6), "g": gravity, "e": rng.uniform(0.4, 0.9)}
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn = turn if np.linalg.det(turn) > 0 else turn[:, [1, 0, 2]]
    q = rng.uniform(-0.05, 0.05, count) * unit if scene == "stops" else rng.uniform(-1, 1, count)
    v = rng.uniform(0.5, 1.5, count) * unit if scene == "stops" else rng.uniform(-2, 2, count)
    return Case(scene, method, held, unit, motors, numbers, q, v, turn)


def judge(case: Case) -> tuple[str, str]:
    """Return "right", "told", "wrong", "refused" or "left out", and what is off."""
    expected = case.exact()
    if expected is None:
        return "left out", ""
    losses, work, length = expected
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            found = case.found()
    except SarrusError as error:
        return "refused", str(error)
    size = losses.sum() + abs(work)
    off = max(np.abs(found[0] - losses).max(), abs(found[1] - work))
    far = abs(found[2] - length)
    energy, path = (
        f"{x:.1e} (told {y:.1e})"
        for x, y in ((off / size, found[3] / size), (far / length, found[4] / length))
    )
    text = f"energy {energy}, path {path}"
    if case.method == "rollout" and case.scene == "stops":  # steps in time, of order one
        return ("right" if max(off / size, far / length) < STEPS_IN_TIME else "wrong"), text
    if off <= RIGHT * size and far <= RIGHT * length:
        return "right", text
    if off <= max(RIGHT * size, 3 * found[3]) and far <= max(RIGHT * length, 3 * found[4]):
        return "told", text
    return "wrong", text


def run(cases: int, seed: int, *, report: bool = False) -> Counter[str]:
    """Return how many cases are right, told, wrong and refused."""
    rng, counts = np.random.default_rng(seed), Counter()
    while (k := counts.total()) < cases:
        case = draw(rng)
        verdict, text = judge(case)
        if verdict == "left out":
            continue
        counts[verdict] += 1
        if report and verdict != "right":
            print(f"{k}: {case}: {verdict}: {text}")
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(dict(run(given.cases, given.seed, report=True)))
